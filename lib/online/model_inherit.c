/* All that can fail comes first: memory is made beside a state that goes on serving, most of it on another thread,
 * which knows of that state what was measured of it. Then what does not lie arm by arm changes hands, and the rest is
 * copied; nothing of that can fail. Where further features change all that a learner, or a part of it, consists of,
 * that is saved and loaded before, while the rest and what waits change hands all the same. */
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "learn/footprint.h"
#include "online/model_state.h"

#define MOST_BYTES ((size_t)1 << 30) /* that are made ready for what is saved */

static bool same_features(const cop_model *model, const cop_model_settings *from)
{
	return model->set.learner.features == from->learner.features;
}

static bool inherits(const cop_model *model, const cop_model_settings *from)
{
	const cop_learner_settings *is = &model->set.learner, *was = &from->learner;
	const bool ready = same_features(model, from) ? model->learner->class->make_room != NULL : was->features > 0;
	return ready && is->features >= was->features && is->bits == was->bits &&
	       is->max_nonzeros == was->max_nonzeros && is->seed == was->seed && is->arms >= was->arms &&
	       cop_model_can_load(from, &model->set, NULL) == COP_OK;
}

bool cop_model_inherits(const cop_model *model, const cop_model *from) { return inherits(model, &from->set); }

static cop_err refuse(const cop_model_settings *from, const cop_model *model, cop_err err, cop_diag *diag)
{
	if (err == COP_ESHAPE)
		cop_model_state_refuse_growth(from, &model->set, diag);
	else if (err != COP_OK)
		cop_diag_message(diag, "%s", cop_err_text(err));
	return err;
}

/* ---- beside it ---- */

/* At least what there is of memory, unless it has grown beyond what is meant for it. */
static size_t saved_bytes(const cop_model *model)
{
	const double bytes = cop_footprint(&model->set.learner, 0);
	return bytes < (double)MOST_BYTES ? (size_t)bytes : MOST_BYTES;
}

void cop_model_measure(const cop_model *model, cop_model_extent *out)
{
	const cop_learner *shadow = model->shadow.learner;
	*out = (cop_model_extent){
		.set = model->set,
		.leaves = cop_learner_grown(model->learner),
		.shadow = shadow != NULL,
		.shadow_leaves = shadow == NULL ? 0 : cop_learner_grown(shadow),
		.bytes = saved_bytes(model),
	};
}

/* A second learner, for that in the shadow. */
static cop_err make_shadow(cop_model *model)
{
	return model->learner->class->create(&model->learner->settings, &model->shadow.learner);
}

cop_err cop_model_hold(cop_model *model, const cop_model_extent *extent, cop_diag *diag)
{
	cop_err err = cop_learner_hold(model->learner, extent->leaves);
	if (err == COP_OK && extent->shadow && inherits(model, &extent->set)) {
		err = make_shadow(model);
		if (err == COP_OK)
			err = cop_learner_hold(model->shadow.learner, extent->shadow_leaves);
	}
	return refuse(&extent->set, model, err, diag);
}

/* ---- between two events ---- */

/* Of further features: its state, by saving and loading it in that memory. */
static cop_err load_learner(cop_learner *learner, const cop_learner *from, cop_bytes *room)
{
	cop_cursor cursor;
	cop_bytes_clear(room);
	cop_learner_save(from, room);
	if (room->err != COP_OK)
		return room->err;
	cop_cursor_init(&cursor, room->data, room->length);
	learner->saved_arms = from->settings.arms;
	learner->saved_features = from->settings.features;
	cop_err err = cop_learner_load(learner, &cursor);
	return err != COP_OK || cop_cursor_left(&cursor) == 0 ? err : COP_EFORMAT;
}

static bool hands_over(const cop_learner *learner, const cop_learner *from)
{
	return learner->settings.features == from->settings.features || learner->class->widens;
}

static cop_err make_learner(cop_learner *learner, const cop_learner *from, cop_bytes *room)
{
	return hands_over(learner, from) ? cop_learner_make_room(learner, from) : load_learner(learner, from, room);
}

/* A challenger may have come or gone since it was measured. */
static cop_err make_learners(cop_model *model, const cop_model *from, cop_bytes *room)
{
	cop_err err = make_learner(model->learner, from->learner, room);
	if (from->shadow.learner == NULL) {
		cop_learner_free(model->shadow.learner);
		model->shadow.learner = NULL;
		return err;
	}
	if (err == COP_OK && model->shadow.learner == NULL)
		err = make_shadow(model);
	return err == COP_OK ? make_learner(model->shadow.learner, from->shadow.learner, room) : err;
}

cop_err cop_model_make_room(cop_model *model, const cop_model *from, cop_bytes *room, cop_diag *diag)
{
	COP_ASSERT(cop_model_inherits(model, from));
	cop_err err = make_learners(model, from, room);
	if (err == COP_OK)
		err = cop_pending_make_room(model->pending, from->pending);
	if (err == COP_OK)
		err = cop_model_explain_also(model, from->learner);
	if (err == COP_OK && from->shadow.learner != NULL)
		err = cop_model_explain_also(model, from->shadow.learner);
	return refuse(&from->set, model, err, diag);
}

static void inherit_explanations(cop_model *model, cop_model *from)
{
	model->explains_applied = from->explains_applied;
	if (model->kept_count != from->kept_count || !same_features(model, &from->set))
		return; /* so many, or such large ones, are wanted from here on: those there are go */
	cop_mem_exchange(&model->kept, &from->kept, sizeof model->kept);
	cop_mem_exchange(&model->kept_handle, &from->kept_handle, sizeof model->kept_handle);
	cop_mem_exchange(&model->fresh, &from->fresh, sizeof model->fresh);
	model->kept_next = from->kept_next;
}

/* What is not saved comes to a learner that was loaded, too. */
static void inherit_learner(cop_learner *learner, cop_learner *from)
{
	if (hands_over(learner, from)) {
		cop_learner_inherit(learner, from);
		return;
	}
	learner->frozen = from->frozen;
	learner->unlearnt = from->unlearnt;
}

static void inherit_shadow(cop_model *model, const cop_model *from)
{
	cop_learner *learner = model->shadow.learner;
	const cop_promotion_test_settings rule = model->shadow.rule;
	if (learner != NULL)
		inherit_learner(learner, from->shadow.learner);
	model->shadow = from->shadow;
	model->shadow.learner = learner;
	model->shadow.rule = rule;
	cop_model_shadow_extend(model);
}

void cop_model_inherit(cop_model *model, cop_model *from)
{
	cop_model_settings settings = from->set;
	settings.explain_keep = model->kept_count;
	cop_mem_exchange(&model->positions, &from->positions, sizeof model->positions);
	cop_mem_exchange(&model->named, &from->named, sizeof model->named);
	cop_mem_exchange(&model->set.losses, &from->set.losses, sizeof model->set.losses);
	cop_err err = cop_model_adjust(model, &settings, NULL);
	COP_ASSERT(err == COP_OK); /* they are another model's, and take no memory */
	inherit_explanations(model, from);
	inherit_learner(model->learner, from->learner);
	cop_pending_inherit(model->pending, from->pending);
	inherit_shadow(model, from);
	model->counters = from->counters;
	model->apprentice = from->apprentice;
	model->control = from->control;
	model->made_by = from->made_by;
	cop_constant_arms_inherit(&model->constant, &from->constant);
	cop_arm_gains_inherit(&model->gains, &from->gains);
}
