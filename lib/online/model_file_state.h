/* online/model_file_state.h: the inside of a model, for model.c and its saving in model_file_state.c alone. */
#ifndef COP_ONLINE_MODEL_FILE_STATE_H
#define COP_ONLINE_MODEL_FILE_STATE_H

#include "online/model.h"

struct cop_model {
	cop_model_settings set;
	cop_learner *learner;
	cop_pending *pending;
	uint64_t serial; /* decisions so far, names the next one */
	cop_model_counters counters;
	size_t kept_count; /* explain_keep */
	cop_explanation *kept;
	uint64_t *kept_serial; /* whose explanation the slot holds */
	cop_explanation fresh; /* of the model as it is */
};

#endif
