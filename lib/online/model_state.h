/* online/model_state.h: the inside of a model, for model.c, model_events.c, model_shadow.c and model_state.c alone. */
#ifndef COP_ONLINE_MODEL_STATE_H
#define COP_ONLINE_MODEL_STATE_H

#include "online/model_shadow.h"

/* The pair of learners: who serves and who is in the shadow. */
typedef struct cop_shadow {
	cop_learner *learner; /* NULL: none */
	uint32_t pair;        /* its number, from 1; 0: there was none yet */
	bool second;          /* the serving one is its second */
	uint64_t survivors;   /* bit g mod 64: of pair g the second one stayed */
	bool frozen;
	uint64_t frozen_losses;
	double frozen_loss_sum;
	uint64_t refused;
	cop_promotion_settings rule; /* of coming evidence */
	cop_promotion evidence;
} cop_shadow;

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
	cop_shadow shadow;
};

/* Whether it can decide the context: an eligible arm, or candidates where it ranks, and none where not. */
bool cop_model_fits(const cop_model *model, const cop_model_context *context);

/* Room for explanations of that learner, too. COP_ENOMEM: nothing changed. */
COP_CHECK cop_err cop_model_explain_also(cop_model *model, const cop_learner *learner);

void cop_model_shadow_init(cop_model *model);
/* Tells the pending table what coming decisions will carry. */
void cop_model_shadow_extend(cop_model *model);
/* The learner in the shadow goes along with a decision for the context; *out is for its entry. */
void cop_model_shadow_follow(
        cop_model *model, const cop_model_context *context, const cop_decision *decision, cop_pending_shadow *out);
/* Both learn from the entry's losses, which are evidence too. Errors of the serving one; nothing changed then. */
COP_CHECK cop_err cop_model_shadow_learn(cop_model *model, const cop_pending_entry *entry, const double *scaled);
void cop_model_shadow_weigh(cop_model *model, double p, double champion, double challenger, double loss);
/* Whether there is anything to save. */
bool cop_model_shadow_is_used(const cop_model *model);
void cop_model_shadow_save(const cop_model *model, cop_bytes *bytes);
/* As if there never had been one; not frozen. */
void cop_model_shadow_forget(cop_model *model);
/* Into such a model. COP_EFORMAT, COP_ENONFINITE, COP_ESHAPE, COP_EVERSION, COP_ENOMEM. */
COP_CHECK cop_err cop_model_shadow_load(cop_model *model, cop_cursor *cursor);

#endif
