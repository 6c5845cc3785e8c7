/* Settings are written field by field, so that a reader can make a model of the same shape before it loads the rest. */
#include "online/model_state.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "store/section_file.h"

#define SHAPE_TEXT         400
#define SETTINGS_VERSION   1
#define LEARNER_VERSION    1
#define PENDING_VERSION    1
#define COUNTERS_VERSION   1
#define SHADOW_VERSION     1
#define APPRENTICE_VERSION 1

static bool has_candidates(const cop_learner_settings *l) { return strcmp(l->learner, "rank") == 0; }

static void put_arm_shares(const cop_arm_shares *shares, cop_bytes *bytes)
{
	cop_bytes_put_u32(bytes, (uint32_t)shares->count);
	for (size_t i = 0; i < shares->count; i++) {
		cop_bytes_put_u32(bytes, shares->arm[i]);
		cop_bytes_put_f64(bytes, shares->share[i]);
	}
}

static void get_arm_shares(cop_cursor *cursor, cop_arm_shares *shares)
{
	uint32_t count = cop_cursor_u32(cursor);
	*shares = (cop_arm_shares){ .count = 0 };
	if (cursor->err == COP_OK && count > COP_SHARES_ARMS)
		cursor->err = COP_EFORMAT;
	while (cursor->err == COP_OK && shares->count < count) {
		shares->arm[shares->count] = cop_cursor_u32(cursor);
		shares->share[shares->count++] = cop_cursor_f64(cursor);
	}
}

static void put_settings(const cop_model_settings *s, cop_bytes *bytes)
{
	const cop_learner_settings *l = &s->learner;
	cop_bytes_put_text(bytes, l->learner);
	cop_bytes_put_u64(bytes, l->features);
	cop_bytes_put_u32(bytes, l->bits);
	cop_bytes_put_u64(bytes, l->max_nonzeros);
	cop_bytes_put_u64(bytes, l->arms);
	cop_bytes_put_text(bytes, l->policy);
	cop_bytes_put_f64(bytes, l->exploration.epsilon);
	cop_bytes_put_f64(bytes, l->exploration.epsilon_decay);
	cop_bytes_put_f64(bytes, l->exploration.epsilon_floor);
	cop_bytes_put_f64(bytes, l->exploration.gamma);
	cop_bytes_put_u32(bytes, l->height);
	cop_bytes_put_u64(bytes, l->trees);
	cop_bytes_put_f64(bytes, l->learning_rate);
	cop_bytes_put_u8(bytes, l->literal);
	cop_bytes_put_f64(bytes, l->delta);
	cop_bytes_put_u8(bytes, (uint8_t)l->feedback);
	cop_bytes_put_u64(bytes, l->seed);
	cop_bytes_put_f64(bytes, s->reward_window);
	cop_bytes_put_u8(bytes, s->has_default_loss);
	cop_bytes_put_f64(bytes, s->default_loss);
	cop_bytes_put_u8(bytes, (uint8_t)s->reward);
	cop_bytes_put_f64(bytes, s->loss_low);
	cop_bytes_put_f64(bytes, s->loss_high);
	cop_bytes_put_f64(bytes, s->value_low);
	cop_bytes_put_f64(bytes, s->value_high);
	cop_bytes_put_u64(bytes, s->pending_max);
	cop_bytes_put_u64(bytes, s->pending_bytes);
	cop_bytes_put_u64(bytes, s->explain_keep);
	cop_bytes_put_u64(bytes, l->candidate_features);
	cop_bytes_put_u64(bytes, l->max_candidates);
	cop_bytes_put_f64(bytes, l->exploration.optimism);
	cop_bytes_put_u32(bytes, l->experts);
	cop_bytes_put_f64(bytes, l->exploration.shares.least_propensity);
	put_arm_shares(&l->exploration.shares.min, bytes);
	put_arm_shares(&l->exploration.shares.max, bytes);
	cop_bytes_put_f64(bytes, l->delta_decay);
	cop_bytes_put_f64(bytes, l->delta_floor);
}

static void get_learner_settings(cop_cursor *cursor, cop_learner_settings *l)
{
	cop_cursor_text(cursor, l->learner, sizeof l->learner);
	l->features = (size_t)cop_cursor_u64(cursor);
	l->bits = cop_cursor_u32(cursor);
	l->max_nonzeros = (size_t)cop_cursor_u64(cursor);
	l->arms = (size_t)cop_cursor_u64(cursor);
	cop_cursor_text(cursor, l->policy, sizeof l->policy);
	l->exploration.epsilon = cop_cursor_f64(cursor);
	l->exploration.epsilon_decay = cop_cursor_f64(cursor);
	l->exploration.epsilon_floor = cop_cursor_f64(cursor);
	l->exploration.gamma = cop_cursor_f64(cursor);
	l->height = cop_cursor_u32(cursor);
	l->trees = (size_t)cop_cursor_u64(cursor);
	l->learning_rate = cop_cursor_f64(cursor);
	l->literal = cop_cursor_u8(cursor) != 0;
	l->delta = cop_cursor_f64(cursor);
	uint8_t feedback = cop_cursor_u8(cursor);
	l->feedback = feedback < COP_VALUE_FEEDBACKS ? (cop_value_feedback)feedback : COP_VALUE_FEEDBACKS;
	l->seed = cop_cursor_u64(cursor);
}

static cop_err get_settings(const cop_section_file *file, cop_model_settings *s)
{
	cop_model_section section;
	cop_err err = cop_section_file_find(file, "settings", 0, SETTINGS_VERSION, &section);
	if (err != COP_OK)
		return err == COP_ENOTFOUND ? COP_EFORMAT : err;
	cop_cursor cursor;
	cop_cursor_init(&cursor, section.data, section.length);
	*s = (cop_model_settings){ 0 };
	get_learner_settings(&cursor, &s->learner);
	if (s->learner.feedback == COP_VALUE_FEEDBACKS)
		return COP_EFORMAT;
	s->reward_window = cop_cursor_f64(&cursor);
	s->has_default_loss = cop_cursor_u8(&cursor) != 0;
	s->default_loss = cop_cursor_f64(&cursor);
	uint8_t reward = cop_cursor_u8(&cursor);
	if (reward > COP_REWARD_FIRST)
		return COP_EFORMAT;
	s->reward = (cop_reward_rule)reward;
	s->loss_low = cop_cursor_f64(&cursor);
	s->loss_high = cop_cursor_f64(&cursor);
	s->value_low = cop_cursor_f64(&cursor);
	s->value_high = cop_cursor_f64(&cursor);
	s->pending_max = (size_t)cop_cursor_u64(&cursor);
	s->pending_bytes = (size_t)cop_cursor_u64(&cursor);
	s->explain_keep = (size_t)cop_cursor_u64(&cursor);
	cop_shares *shares = &s->learner.exploration.shares;
	s->learner.candidate_features = (size_t)cop_cursor_u64(&cursor);
	s->learner.max_candidates = (size_t)cop_cursor_u64(&cursor);
	s->learner.exploration.optimism = cop_cursor_f64(&cursor);
	s->learner.experts = cop_cursor_u32(&cursor);
	shares->least_propensity = cop_cursor_f64(&cursor);
	get_arm_shares(&cursor, &shares->min);
	get_arm_shares(&cursor, &shares->max);
	s->learner.delta_decay = cop_cursor_f64(&cursor);
	s->learner.delta_floor = cop_cursor_f64(&cursor);
	return cursor.err != COP_OK || cop_cursor_left(&cursor) == 0 ? cursor.err : COP_EFORMAT;
}

static cop_err load_counters(cop_model *model, cop_cursor *cursor)
{
	return cop_model_counters_load(&model->counters, cursor);
}

void cop_model_save(const cop_model *model, cop_bytes *bytes)
{
	size_t mark = cop_section_file_begin_section(bytes, "settings", SETTINGS_VERSION);
	put_settings(&model->set, bytes);
	cop_section_file_end_section(bytes, mark);
	mark = cop_section_file_begin_section(bytes, "learner", LEARNER_VERSION);
	cop_learner_save(model->learner, bytes);
	cop_section_file_end_section(bytes, mark);
	mark = cop_section_file_begin_section(bytes, "pending", PENDING_VERSION);
	cop_pending_save(model->pending, bytes);
	cop_section_file_end_section(bytes, mark);
	mark = cop_section_file_begin_section(bytes, "counters", COUNTERS_VERSION);
	cop_model_counters_save(&model->counters, bytes);
	cop_section_file_end_section(bytes, mark);
	if (cop_model_shadow_is_used(model)) {
		mark = cop_section_file_begin_section(bytes, "shadow", SHADOW_VERSION);
		cop_model_shadow_save(model, bytes);
		cop_section_file_end_section(bytes, mark);
	}
	if (cop_apprentice_is_used(&model->apprentice)) {
		mark = cop_section_file_begin_section(bytes, "apprentice", APPRENTICE_VERSION);
		cop_apprentice_save(&model->apprentice, bytes);
		cop_section_file_end_section(bytes, mark);
	}
}

static void put_experts(const cop_learner_settings *l, char *out, size_t size)
{
	out[0] = '\0';
	if (strcmp(l->learner, "ensemble") != 0)
		return;
	size_t used = (size_t)snprintf(out, size, ", experts%s", l->experts == 0 ? " all" : "");
	for (size_t i = 0; cop_learner_expert_names[i] != NULL; i++)
		if ((l->experts >> i & 1u) != 0 && used < size)
			used += (size_t)snprintf(out + used, size - used, " %s", cop_learner_expert_names[i]);
}

static void shape_text(const cop_model_settings *s, char out[SHAPE_TEXT])
{
	const cop_learner_settings *l = &s->learner;
	char input[80];
	char action[128];
	char experts[64];
	put_experts(l, experts, sizeof experts);
	if (l->features != 0)
		(void)snprintf(input, sizeof input, "features %zu", l->features);
	else
		(void)snprintf(
		        input, sizeof input, "sparse features, bits %u, max_nonzeros %zu", l->bits, l->max_nonzeros);
	if (has_candidates(l))
		(void)snprintf(action, sizeof action, "candidate_features %zu, max_candidates %zu",
		        l->candidate_features, l->max_candidates);
	else if (l->arms != 0)
		(void)snprintf(action, sizeof action, "arms %zu", l->arms);
	else
		(void)snprintf(action, sizeof action, "value_range {%g, %g}, delta %g, feedback %s", s->value_low,
		        s->value_high, l->delta, cop_value_feedback_words[l->feedback]);
	(void)snprintf(out, SHAPE_TEXT, "learner %s%s, %s, %s, loss_range {%g, %g}, height %u, trees %zu%s", l->learner,
	        l->literal ? " without shared_bias" : "", action, input, s->loss_low, s->loss_high, l->height, l->trees,
	        experts);
}

static bool same_input(const cop_learner_settings *l, const cop_learner_settings *m)
{
	return l->features == m->features && l->candidate_features == m->candidate_features &&
	       (!has_candidates(l) || l->max_candidates <= m->max_candidates) &&
	       (l->features != 0 || (l->bits == m->bits && l->max_nonzeros <= m->max_nonzeros));
}

/* a is what was saved: what waits in it must still mean the same under b. */
static bool same_shape(const cop_model_settings *a, const cop_model_settings *b)
{
	const cop_learner_settings *l = &a->learner;
	const cop_learner_settings *m = &b->learner;
	bool values = l->arms == 0 && !has_candidates(l);
	return strcmp(l->learner, m->learner) == 0 && l->arms == m->arms && same_input(l, m) &&
	       l->height == m->height && l->trees == m->trees && l->literal == m->literal &&
	       (strcmp(l->learner, "ensemble") != 0 || l->experts == m->experts) && a->loss_low == b->loss_low &&
	       a->loss_high == b->loss_high &&
	       (!values || (l->feedback == m->feedback && l->delta == m->delta && l->delta_decay == m->delta_decay &&
	                           l->delta_floor == m->delta_floor && a->value_low == b->value_low &&
	                           a->value_high == b->value_high));
}

cop_err cop_model_can_load(const cop_model_settings *saved, const cop_model_settings *settings, cop_diag *diag)
{
	char was[SHAPE_TEXT];
	char is[SHAPE_TEXT];
	if (same_shape(saved, settings))
		return COP_OK;
	shape_text(saved, was);
	shape_text(settings, is);
	cop_diag_message(diag, "saved with %s; configured with %s", was, is);
	return COP_ESHAPE;
}

typedef cop_err load_section(cop_model *model, cop_cursor *cursor);

static cop_err load_learner(cop_model *model, cop_cursor *cursor) { return cop_learner_load(model->learner, cursor); }

static cop_err load_pending(cop_model *model, cop_cursor *cursor)
{
	cop_pending_set_max(model->pending, SIZE_MAX); /* a lowered bound does not lose what waited */
	cop_err err = cop_pending_load(model->pending, cursor);
	cop_pending_set_max(model->pending, model->set.pending_max);
	return err;
}

static cop_err load_named(
        cop_model *model, const cop_section_file *file, const char *name, uint32_t version, load_section *load)
{
	cop_model_section section;
	cop_err err = cop_section_file_find(file, name, 0, version, &section);
	if (err != COP_OK)
		return err == COP_ENOTFOUND ? COP_EFORMAT : err;
	cop_cursor cursor;
	cop_cursor_init(&cursor, section.data, section.length);
	err = load(model, &cursor);
	return err != COP_OK || cop_cursor_left(&cursor) == 0 ? err : COP_EFORMAT;
}

/* After all else: a second learner is made like the first. */
static cop_err load_shadow(cop_model *model, const cop_section_file *file)
{
	cop_model_section section;
	cop_model_shadow_forget(model);
	cop_err err = cop_section_file_find(file, "shadow", 0, SHADOW_VERSION, &section);
	if (err == COP_OK)
		err = load_named(model, file, "shadow", SHADOW_VERSION, cop_model_shadow_load);
	else if (err == COP_ENOTFOUND)
		err = COP_OK;
	if (err == COP_OK)
		err = cop_model_explain_also(model, model->learner);
	if (err == COP_OK && model->shadow.learner != NULL)
		err = cop_model_explain_also(model, model->shadow.learner);
	cop_model_shadow_extend(model);
	return err;
}

static cop_err load_apprentice_section(cop_model *model, cop_cursor *cursor)
{
	return cop_apprentice_load(&model->apprentice, cursor);
}

/* What waits is to be weighed yet, and was counted. */
static cop_err load_apprentice(cop_model *model, const cop_section_file *file)
{
	cop_model_section section;
	cop_apprentice_init(&model->apprentice);
	cop_err err = cop_section_file_find(file, "apprentice", 0, APPRENTICE_VERSION, &section);
	if (err == COP_OK)
		err = load_named(model, file, "apprentice", APPRENTICE_VERSION, load_apprentice_section);
	else if (err == COP_ENOTFOUND)
		err = COP_OK;
	const cop_apprentice *a = &model->apprentice;
	bool room = cop_pending_observed(model->pending) <= a->observed - a->evidence.n;
	return err == COP_OK && !room ? COP_EFORMAT : err;
}

cop_err cop_model_load(cop_model *model, const void *data, size_t length, cop_diag *diag)
{
	cop_section_file file;
	cop_model_settings saved;
	cop_err err = cop_section_file_open(&file, data, length, NULL, diag);
	if (err != COP_OK)
		return err;
	err = get_settings(&file, &saved);
	if (err == COP_OK)
		err = cop_model_can_load(&saved, &model->set, diag);
	if (err == COP_ESHAPE)
		return err;
	saved.explain_keep = model->set.explain_keep;
	if (err == COP_OK)
		err = cop_model_adjust(model, &saved, diag);
	if (err == COP_OK)
		err = load_named(model, &file, "learner", LEARNER_VERSION, load_learner);
	if (err == COP_OK)
		err = load_named(model, &file, "pending", PENDING_VERSION, load_pending);
	if (err == COP_OK)
		err = load_named(model, &file, "counters", COUNTERS_VERSION, load_counters);
	if (err == COP_OK)
		err = load_shadow(model, &file);
	if (err == COP_OK)
		err = load_apprentice(model, &file);
	if (err != COP_OK)
		cop_diag_message(diag, "saved model: %s", cop_err_text(err));
	return err;
}

cop_err cop_model_peek(const void *data, size_t length, cop_model_settings *settings, cop_diag *diag)
{
	cop_section_file file;
	cop_err err = cop_section_file_open(&file, data, length, NULL, diag);
	if (err != COP_OK)
		return err;
	err = get_settings(&file, settings);
	if (err != COP_OK)
		cop_diag_message(diag, "saved settings: %s", cop_err_text(err));
	return err;
}
