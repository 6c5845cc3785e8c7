/* Settings are written option by option, each as its kind is, so that a reader can make a model of the same shape
 * before it loads the rest. */
#include "online/model_state.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "online/model_options.h"
#include "store/section_file.h"

#define SHAPE_TEXT         400
#define SETTINGS_VERSION   1
#define LEARNER_VERSION    1
#define PENDING_VERSION    1
#define COUNTERS_VERSION   1
#define SHADOW_VERSION     1
#define APPRENTICE_VERSION 1
#define CONTROL_VERSION    1
#define GAINS_VERSION      1
#define LOSSES_VERSION     1
#define POSITIONS_VERSION  1

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

static void put_loss_weights(const cop_loss_weights *weights, cop_bytes *bytes)
{
	cop_bytes_put_u32(bytes, (uint32_t)weights->count);
	for (size_t i = 0; i < weights->count; i++) {
		cop_bytes_put_text(bytes, weights->name[i]);
		cop_bytes_put_f64(bytes, weights->weight[i]);
	}
}

static void get_loss_weights(cop_cursor *cursor, cop_loss_weights *weights)
{
	char name[COP_NAMED_LOSSES_NAME];
	uint32_t count = cop_cursor_u32(cursor);
	*weights = (cop_loss_weights){ .count = 0 };
	for (uint32_t i = 0; i < count && cursor->err == COP_OK; i++) {
		cop_cursor_text(cursor, name, sizeof name);
		double weight = cop_cursor_f64(cursor);
		if (cursor->err == COP_OK && cop_named_losses_put_weight(weights, name, strlen(name), weight) != NULL)
			cursor->err = COP_EFORMAT;
	}
}

static void put_loss_ranges(const cop_loss_ranges *ranges, cop_bytes *bytes)
{
	cop_bytes_put_u32(bytes, (uint32_t)ranges->count);
	for (size_t i = 0; i < ranges->count; i++) {
		cop_bytes_put_text(bytes, ranges->name[i]);
		cop_bytes_put_f64(bytes, ranges->low[i]);
		cop_bytes_put_f64(bytes, ranges->high[i]);
	}
}

static void get_loss_ranges(cop_cursor *cursor, cop_loss_ranges *ranges)
{
	char name[COP_NAMED_LOSSES_NAME];
	uint32_t count = cop_cursor_u32(cursor);
	*ranges = (cop_loss_ranges){ .count = 0 };
	for (uint32_t i = 0; i < count && cursor->err == COP_OK; i++) {
		cop_cursor_text(cursor, name, sizeof name);
		double low = cop_cursor_f64(cursor), high = cop_cursor_f64(cursor);
		if (cursor->err == COP_OK && cop_named_losses_put_range(ranges, name, strlen(name), low, high) != NULL)
			cursor->err = COP_EFORMAT;
	}
}

/* In the order of the section. Options that came later follow by name, where they are not 0. */
static const char *const saved_options[] = { "learner", "features", "bits", "max_nonzeros", "arms", "policy", "epsilon",
	"epsilon_decay", "epsilon_floor", "gamma", "height", "trees", "learning_rate", "shared_bias", "delta",
	"feedback", "seed", "reward_window", "default_loss", "reward", "loss_range", "value_range", "pending_max",
	"pending_bytes", "explain_keep", "candidate_features", "max_candidates", "optimism", "experts",
	"least_propensity", "share_min", "share_max", "delta_decay", "delta_floor" };
#define SAVED_OPTIONS (sizeof saved_options / sizeof *saved_options)

static void put_option(const cop_setting *o, const cop_model_settings *s, cop_bytes *bytes)
{
	const void *field = (const char *)s + o->offset;
	const double *numbers = field;
	const cop_setting_maybe *maybe = field;
	switch (o->kind) {
	case COP_SETTING_NAME:
		cop_bytes_put_text(bytes, field);
		return;
	case COP_SETTING_WORD:
		cop_bytes_put_u8(bytes, (uint8_t) * (const unsigned *)field);
		return;
	case COP_SETTING_UNLESS:
		cop_bytes_put_u8(bytes, *(const bool *)field);
		return;
	case COP_SETTING_COUNT:
	case COP_SETTING_WORDS:
		cop_bytes_put_u32(bytes, *(const uint32_t *)field);
		return;
	case COP_SETTING_MAYBE:
		cop_bytes_put_u8(bytes, maybe->given);
		cop_bytes_put_f64(bytes, maybe->value);
		return;
	case COP_SETTING_SHARES:
		put_arm_shares(field, bytes);
		return;
	case COP_SETTING_WEIGHTS:
		put_loss_weights(field, bytes);
		return;
	case COP_SETTING_RANGES:
		put_loss_ranges(field, bytes);
		return;
	case COP_SETTING_NUMBER:
	case COP_SETTING_SECONDS:
	case COP_SETTING_RANGE:
		for (size_t i = 0; i < cop_setting_size(o) / sizeof(double); i++)
			cop_bytes_put_f64(bytes, numbers[i]);
		return;
	default:
		cop_bytes_put_u64(bytes, *(const uint64_t *)field);
		return;
	}
}

static void get_word(cop_cursor *cursor, const char *const *words, unsigned *field)
{
	unsigned count = 0;
	while (words[count] != NULL)
		count++;
	*field = cop_cursor_u8(cursor);
	if (cursor->err == COP_OK && *field >= count)
		cursor->err = COP_EFORMAT;
}

static void get_option(const cop_setting *o, cop_cursor *cursor, cop_model_settings *s)
{
	void *field = (char *)s + o->offset;
	double *numbers = field;
	cop_setting_maybe *maybe = field;
	switch (o->kind) {
	case COP_SETTING_NAME:
		cop_cursor_text(cursor, field, COP_SETTING_NAME_ROOM);
		return;
	case COP_SETTING_WORD:
		get_word(cursor, o->words, field);
		return;
	case COP_SETTING_UNLESS:
		*(bool *)field = cop_cursor_u8(cursor) != 0;
		return;
	case COP_SETTING_COUNT:
	case COP_SETTING_WORDS:
		*(uint32_t *)field = cop_cursor_u32(cursor);
		return;
	case COP_SETTING_MAYBE:
		maybe->given = cop_cursor_u8(cursor) != 0;
		maybe->value = cop_cursor_f64(cursor);
		if (!isfinite(maybe->value))
			cursor->err = COP_ENONFINITE;
		return;
	case COP_SETTING_SHARES:
		get_arm_shares(cursor, field);
		return;
	case COP_SETTING_WEIGHTS:
		get_loss_weights(cursor, field);
		return;
	case COP_SETTING_RANGES:
		get_loss_ranges(cursor, field);
		return;
	case COP_SETTING_NUMBER:
	case COP_SETTING_SECONDS:
	case COP_SETTING_RANGE:
		for (size_t i = 0; i < cop_setting_size(o) / sizeof(double); i++)
			numbers[i] = cop_cursor_f64(cursor);
		return;
	default:
		*(uint64_t *)field = cop_cursor_u64(cursor);
		return;
	}
}

static void put_settings(const cop_model_settings *s, cop_bytes *bytes)
{
	for (size_t i = 0; i < SAVED_OPTIONS; i++)
		put_option(cop_model_options_find(saved_options[i]), s, bytes);
	for (const cop_setting *o = cop_model_options; o->name != NULL; o++)
		if ((o->flags & COP_SETTING_IS_QUIET) != 0 && !cop_setting_is_silent(o, s)) {
			cop_bytes_put_text(bytes, o->name);
			put_option(o, s, bytes);
		}
}

/* Options behind those that every section has, each by its name. */
static void get_named(cop_cursor *cursor, cop_model_settings *s)
{
	char name[32];
	while (cursor->err == COP_OK && cop_cursor_left(cursor) > 0) {
		cop_cursor_text(cursor, name, sizeof name);
		const cop_setting *o = cursor->err == COP_OK ? cop_model_options_find(name) : NULL;
		if (o != NULL && (o->flags & COP_SETTING_IS_QUIET) != 0)
			get_option(o, cursor, s);
		else if (cursor->err == COP_OK)
			cursor->err = COP_EFORMAT;
	}
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
	for (size_t i = 0; i < SAVED_OPTIONS; i++)
		get_option(cop_model_options_find(saved_options[i]), &cursor, s);
	get_named(&cursor, s);
	return cursor.err;
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
	if (model->control.terms.share > 0.0) {
		mark = cop_section_file_begin_section(bytes, "control", CONTROL_VERSION);
		cop_control_save(&model->control, bytes);
		cop_constant_arms_save(&model->constant, bytes);
		cop_section_file_end_section(bytes, mark);
	}
	if (cop_arm_gains_is_used(&model->gains)) {
		mark = cop_section_file_begin_section(bytes, "gains", GAINS_VERSION);
		cop_arm_gains_save(&model->gains, bytes);
		cop_section_file_end_section(bytes, mark);
	}
	if (model->named.count > 0) {
		mark = cop_section_file_begin_section(bytes, "losses", LOSSES_VERSION);
		cop_named_accounts_save(&model->named, bytes);
		cop_section_file_end_section(bytes, mark);
	}
	if (model->positions.count > 0) {
		mark = cop_section_file_begin_section(bytes, "positions", POSITIONS_VERSION);
		cop_positions_save(&model->positions, bytes);
		cop_section_file_end_section(bytes, mark);
	}
}

static bool has_experts(const cop_learner_settings *l)
{
	const cop_learner_class *class = cop_learner_find(l->learner);
	return class != NULL && class->experts;
}

static void put_experts(const cop_learner_settings *l, char *out, size_t size)
{
	out[0] = '\0';
	if (!has_experts(l))
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
	if (cop_learner_plays_candidates(l))
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

/* Whether b has as much room as was saved, and its rows lie in the same places. */
static bool same_input(const cop_learner_settings *a, const cop_learner_settings *b)
{
	return (!cop_learner_plays_candidates(a) || a->max_candidates <= b->max_candidates) &&
	       (a->features != 0 || a->max_nonzeros <= b->max_nonzeros);
}

/* Whether the option may differ, since further arms or features can be added to what was saved. */
static bool may_grow(const cop_setting *o, const cop_learner_settings *a, const cop_learner_settings *b)
{
	if (strcmp(o->name, "arms") == 0)
		return a->arms > 0 && a->arms < b->arms;
	return strcmp(o->name, "features") == 0 && a->features < b->features &&
	       cop_learner_takes_features(a, b->features);
}

/* a is what was saved: what waits in it must still mean the same under b. */
static bool same_shape(const cop_model_settings *a, const cop_model_settings *b)
{
	if (strcmp(a->learner.learner, b->learner.learner) != 0 || !same_input(&a->learner, &b->learner))
		return false;
	unsigned learner = cop_model_options_learner(a);
	for (const cop_setting *o = cop_model_options; o->name != NULL; o++) {
		/* Saved states of other learners may hold anything in these. */
		bool foreign = (o->learners == COP_SETTING_OF_VALUE || o->learners == COP_SETTING_OF_ENSEMBLE) &&
		               o->learners != learner;
		bool counts = (o->flags & COP_SETTING_IS_SHAPE) != 0 && !foreign &&
		              (a->learner.features == 0 || strcmp(o->name, "bits") != 0);
		if (counts && !may_grow(o, &a->learner, &b->learner) && !cop_setting_equal(o, a, b))
			return false;
	}
	return true;
}

cop_err cop_model_can_load(const cop_model_settings *saved, const cop_model_settings *settings, cop_diag *diag)
{
	char was[SHAPE_TEXT];
	char is[SHAPE_TEXT];
	if (same_shape(saved, settings))
		return COP_OK;
	shape_text(saved, was);
	shape_text(settings, is);
	const size_t features = saved->learner.features;
	const bool more = features > 0 && features < settings->learner.features;
	const char *reason = more ? cop_learner_keeps_features(&saved->learner, settings->learner.features) : NULL;
	cop_diag_message(diag, "saved with %s; configured with %s%s%s", was, is, reason == NULL ? "" : "; ",
	        reason == NULL ? "" : reason);
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

/* The same of one that may be missing. */
static cop_err load_optional(
        cop_model *model, const cop_section_file *file, const char *name, uint32_t version, load_section *load)
{
	cop_model_section section;
	bool missing = cop_section_file_find(file, name, 0, version, &section) == COP_ENOTFOUND;
	return missing ? COP_OK : load_named(model, file, name, version, load);
}

/* After all else: a second learner is made like the first. */
static cop_err load_shadow(cop_model *model, const cop_section_file *file)
{
	cop_model_shadow_forget(model);
	cop_err err = load_optional(model, file, "shadow", SHADOW_VERSION, cop_model_shadow_load);
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
	cop_apprentice_init(&model->apprentice);
	cop_err err = load_optional(model, file, "apprentice", APPRENTICE_VERSION, load_apprentice_section);
	const cop_apprentice *a = &model->apprentice;
	bool room = cop_pending_observed(model->pending) <= a->observed - a->evidence.n;
	return err == COP_OK && !room ? COP_EFORMAT : err;
}

static cop_err load_control_section(cop_model *model, cop_cursor *cursor)
{
	cop_control_load(&model->control, cursor);
	if (cursor->err == COP_OK)
		(void)cop_constant_arms_load(&model->constant, cursor);
	return cursor->err;
}

static cop_err load_control(cop_model *model, const cop_section_file *file)
{
	cop_control_init(&model->control);
	cop_constant_arms_clear(&model->constant);
	return load_optional(model, file, "control", CONTROL_VERSION, load_control_section);
}

static cop_err load_gains_section(cop_model *model, cop_cursor *cursor)
{
	cop_arm_gains_load(&model->gains, cursor);
	return cursor->err;
}

static cop_err load_gains(cop_model *model, const cop_section_file *file)
{
	cop_arm_gains_clear(&model->gains, 0.0);
	return load_optional(model, file, "gains", GAINS_VERSION, load_gains_section);
}

/* The saved state's size, for what is loaded next. */
static void expect(cop_model *model, const cop_learner_settings *saved)
{
	const size_t known = model->learner->known;
	cop_pending_expect(model->pending, saved->arms, saved->features, known);
	model->learner->saved_arms = saved->arms;
	model->learner->saved_features = saved->features;
}

static bool grown(const cop_learner_settings *a, const cop_learner_settings *b)
{
	return a->arms < b->arms || a->features < b->features;
}

void cop_model_state_refuse_growth(const cop_model_settings *saved, const cop_model_settings *is, cop_diag *diag)
{
	const cop_learner_settings *a = &saved->learner, *b = &is->learner;
	const bool arms = a->arms < b->arms;
	const char *what = arms ? "arms" : "features";
	cop_diag_message(diag,
	        "saved with %zu %s, in a form that has no room for %zu; expected as many %s as before, or to begin "
	        "anew",
	        arms ? a->arms : a->features, what, arms ? b->arms : b->features, what);
}

static cop_err load_losses_section(cop_model *model, cop_cursor *cursor)
{
	cop_named_accounts_load(&model->named, cursor);
	return cursor->err;
}

/* By the names of the saved settings. */
static cop_err load_losses(cop_model *model, const cop_section_file *file)
{
	return model->named.count == 0 ? COP_OK
	                               : load_named(model, file, "losses", LOSSES_VERSION, load_losses_section);
}

static cop_err load_positions_section(cop_model *model, cop_cursor *cursor)
{
	return cop_positions_load(&model->positions, cursor);
}

static cop_err load_positions(cop_model *model, const cop_section_file *file)
{
	cop_positions_fini(&model->positions);
	return load_optional(model, file, "positions", POSITIONS_VERSION, load_positions_section);
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
	expect(model, &saved.learner);
	if (err == COP_OK)
		err = load_named(model, &file, "learner", LEARNER_VERSION, load_learner);
	expect(model, &saved.learner); /* of a second one, too, and of what waits */
	if (err == COP_OK)
		err = load_named(model, &file, "pending", PENDING_VERSION, load_pending);
	if (err == COP_OK)
		err = load_named(model, &file, "counters", COUNTERS_VERSION, load_counters);
	if (err == COP_OK)
		err = load_shadow(model, &file);
	if (err == COP_OK)
		err = load_apprentice(model, &file);
	if (err == COP_OK)
		err = load_control(model, &file);
	if (err == COP_OK)
		err = load_gains(model, &file);
	if (err == COP_OK)
		err = load_losses(model, &file);
	if (err == COP_OK)
		err = load_positions(model, &file);
	cop_pending_expect(model->pending, 0, 0, 0);
	model->learner->saved_arms = model->learner->saved_features = 0;
	if (err == COP_ESHAPE && grown(&saved.learner, &model->set.learner))
		cop_model_state_refuse_growth(&saved, &model->set, diag);
	else if (err != COP_OK)
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

cop_err cop_model_open(const void *data, size_t length, cop_model **out, cop_diag *diag)
{
	cop_model_settings settings;
	*out = NULL;
	cop_err err = cop_model_peek(data, length, &settings, diag);
	if (err == COP_OK)
		err = cop_model_new(&settings, out, diag);
	if (err == COP_OK)
		err = cop_model_load(*out, data, length, diag);
	if (err != COP_OK) {
		cop_model_free(*out);
		*out = NULL;
	}
	return err;
}
