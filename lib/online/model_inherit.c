/* All that can fail comes first: memory is made beside a state that goes on serving. Then what does not lie arm by arm
 * changes hands, and the rest is copied; nothing of that can fail. */
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "online/model_state.h"

bool cop_model_inherits(const cop_model *model, const cop_model *from)
{
	const cop_learner_settings *is = &model->set.learner, *was = &from->set.learner;
	return model->learner->class->make_room != NULL && is->features == was->features && is->bits == was->bits &&
	       is->max_nonzeros == was->max_nonzeros && is->seed == was->seed && is->arms >= was->arms &&
	       cop_model_can_load(&from->set, &model->set, NULL) == COP_OK;
}

/* A second learner for that in the shadow, and memory in both. */
static cop_err make_room(cop_model *model, const cop_model *from)
{
	cop_err err = cop_learner_make_room(model->learner, from->learner);
	if (err != COP_OK || from->shadow.learner == NULL)
		return err;
	err = model->learner->class->create(&model->learner->settings, &model->shadow.learner);
	return err == COP_OK ? cop_learner_make_room(model->shadow.learner, from->shadow.learner) : err;
}

cop_err cop_model_make_room(cop_model *model, const cop_model *from, cop_diag *diag)
{
	COP_ASSERT(cop_model_inherits(model, from));
	cop_err err = make_room(model, from);
	if (err == COP_OK)
		err = cop_model_explain_also(model, from->learner);
	if (err == COP_OK && from->shadow.learner != NULL)
		err = cop_model_explain_also(model, from->shadow.learner);
	if (err == COP_ESHAPE)
		cop_model_state_refuse_growth(&from->set, &model->set, diag);
	else if (err != COP_OK)
		cop_diag_message(diag, "%s", cop_err_text(err));
	return err;
}

static void inherit_explanations(cop_model *model, cop_model *from)
{
	model->explains_applied = from->explains_applied;
	if (model->kept_count != from->kept_count)
		return; /* so many are wanted from here on: those there are go */
	cop_mem_exchange(&model->kept, &from->kept, sizeof model->kept);
	cop_mem_exchange(&model->kept_handle, &from->kept_handle, sizeof model->kept_handle);
	cop_mem_exchange(&model->fresh, &from->fresh, sizeof model->fresh);
	model->kept_next = from->kept_next;
}

static void inherit_shadow(cop_model *model, const cop_model *from)
{
	cop_learner *learner = model->shadow.learner;
	const cop_promotion_test_settings rule = model->shadow.rule;
	if (learner != NULL)
		cop_learner_inherit(learner, from->shadow.learner);
	model->shadow = from->shadow;
	model->shadow.learner = learner;
	model->shadow.rule = rule;
	cop_model_shadow_extend(model);
}

void cop_model_inherit(cop_model *model, cop_model *from)
{
	cop_model_settings settings = from->set;
	settings.explain_keep = model->kept_count;
	cop_mem_exchange(&model->named, &from->named, sizeof model->named);
	cop_mem_exchange(&model->set.losses, &from->set.losses, sizeof model->set.losses);
	cop_err err = cop_model_adjust(model, &settings, NULL);
	COP_ASSERT(err == COP_OK); /* they are another model's, and take no memory */
	inherit_explanations(model, from);
	cop_learner_inherit(model->learner, from->learner);
	cop_pending_inherit(model->pending, from->pending);
	inherit_shadow(model, from);
	model->counters = from->counters;
	model->apprentice = from->apprentice;
	model->control = from->control;
	model->made_by = from->made_by;
	cop_constant_arms_inherit(&model->constant, &from->constant);
}
