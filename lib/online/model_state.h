/* online/model_state.h: the inside of a model, for model.c and its saving in model_file_state.c alone. */
#ifndef COP_ONLINE_MODEL_STATE_H
#define COP_ONLINE_MODEL_STATE_H

#include "online/model.h"

struct cop_model {
	cop_model_settings set;
	cop_learner *learner;
	cop_pending *pending;
	cop_model_counters counters;
	cop_explanation *kept; /* kept_count of them, a ring */
	uint32_t *kept_handle; /* waiting decision that each one explains */
	size_t kept_count;     /* explain_keep */
	size_t kept_next;
	cop_explanation fresh; /* of the model as it is */
};

/* Whether it can decide the context: an eligible arm, or candidates where it ranks, and none where not. */
bool cop_model_fits(const cop_model *model, const cop_model_context *context);

#endif
