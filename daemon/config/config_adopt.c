/* What a model with start_from is like comes from its saved state: options that the file leaves out have the saved
 * values, those that it gives must not contradict. The state is looked for where the daemon will find it: in the
 * running configuration (a reload), else in the newest checkpoint, else in the file that start_from names. Whatever
 * a checkpoint or a running model contradicts is said elsewhere, when it is loaded or compared. */
#include <stdio.h>
#include <string.h>

#include "daemon/config/config_rules.h"
#include "online/model_names.h"
#include "store/checkpoint_file.h"
#include "store/section_file.h"
#include "store/state_dir.h"

/* Options that are saved; of those that are shape, a given one must be as it was. */
static const struct {
	const char *option;
	bool shape;
} saved_options[] = {
	{ "features", true }, /* read before the others: some defaults hang on it */
	{ "arms", true },
	{ "bits", true },
	{ "max_nonzeros", false },
	{ "max_candidates", false },
	{ "candidate_features", true },
	{ "policy", false },
	{ "epsilon", false },
	{ "epsilon_decay", false },
	{ "epsilon_floor", false },
	{ "gamma", false },
	{ "optimism", false },
	{ "least_propensity", false },
	{ "share_min", false },
	{ "share_max", false },
	{ "experts", true },
	{ "height", true },
	{ "trees", true },
	{ "learning_rate", false },
	{ "seed", false },
	{ "loss_range", true },
	{ "value_range", true },
	{ "delta", true },
	{ "delta_decay", true },
	{ "delta_floor", true },
	{ "feedback", true },
	{ "shared_bias", true },
};
#define SAVED_OPTIONS (sizeof saved_options / sizeof *saved_options)

static const cop_config_rule *rule_of(const char *option)
{
	const cop_config_section *section = &cop_config_model_section;
	size_t i = 0;
	while (i < section->count && strcmp(section->rules[i].name, option) != 0)
		i++;
	return i < section->count ? &section->rules[i] : NULL;
}

static unsigned word_of(const char *option, const char *text, unsigned otherwise)
{
	const char *const *words = rule_of(option)->words;
	for (unsigned i = 0; words[i] != NULL; i++)
		if (words[i][0] != '\0' && strcmp(words[i], text) == 0)
			return i;
	return otherwise;
}

/* Saved settings as a section would say them. */
static void tell(const cop_model_settings *from, cop_config_model *out)
{
	const cop_learner_settings *l = &from->learner;
	const cop_policy_settings *e = &l->exploration;
	*out = (cop_config_model){ .learner = (cop_config_learner)word_of("learner", l->learner, 0) };
	out->features = (uint32_t)l->features;
	cop_config_model_defaults(out);
	out->arms = (uint32_t)l->arms;
	out->bits = l->bits;
	out->max_nonzeros = (uint32_t)l->max_nonzeros;
	out->max_candidates = (uint32_t)l->max_candidates;
	out->candidate_features = (uint32_t)l->candidate_features;
	out->policy = (cop_config_policy)word_of("policy", l->policy, out->policy);
	out->epsilon = e->epsilon;
	out->epsilon_decay = e->epsilon_decay;
	out->epsilon_floor = e->epsilon_floor;
	out->gamma = e->gamma;
	out->optimism = e->optimism;
	out->least_propensity = e->shares.least_propensity;
	out->share_min = e->shares.min;
	out->share_max = e->shares.max;
	out->experts = l->experts;
	out->height = l->height;
	out->trees = (uint32_t)l->trees;
	out->learning_rate = l->learning_rate;
	out->seed = l->seed;
	out->loss_range[0] = from->loss_low;
	out->loss_range[1] = from->loss_high;
	out->value_range[0] = from->value_low;
	out->value_range[1] = from->value_high;
	out->delta = l->delta;
	out->delta_decay = l->delta_decay;
	out->delta_floor = l->delta_floor;
	out->feedback = (cop_config_feedback)l->feedback;
	out->shared_bias = !l->literal;
}

/* ---- where it is found ---- */

static bool find_running(const cop_config_reading *reading, const char *name, const char *file, cop_config_model *out)
{
	const cop_config *live = reading->origin.live;
	const cop_config_model *model = live == NULL ? NULL : cop_config_find(live, name, strlen(name));
	if (model == NULL || model->start_from == NULL || strcmp(model->start_from, file) != 0)
		return false;
	*out = *model;
	return true;
}

/* The newest checkpoint, read once. False: there is none that is whole. */
static bool open_checkpoint(cop_config_reading *reading, cop_section_file *file)
{
	uint64_t sequence;
	if (!reading->checkpoint_read && reading->state_dir != NULL)
		(void)!cop_checkpoint_newest(reading->state_dir, COP_STATE_DIR_CHECKPOINT, &reading->checkpoint,
		        &sequence, NULL, NULL); /* whatever is wrong with it stops the start, and says so */
	reading->checkpoint_read = true;
	return reading->checkpoint.length > 0 &&
	       cop_section_file_open(file, reading->checkpoint.data, reading->checkpoint.length, NULL, NULL) == COP_OK;
}

static bool find_checkpointed(cop_config_reading *reading, const char *name, cop_config_model *out)
{
	cop_section_file file;
	cop_model_section section;
	cop_model_settings settings;
	for (const char *const *reset = reading->origin.reset; reset != NULL && *reset != NULL; reset++)
		if (strcmp(*reset, name) == 0)
			return false;
	if (!open_checkpoint(reading, &file))
		return false;
	for (size_t at = 0; cop_section_file_next(&file, &at, &section);) {
		char saved[COP_CONFIG_NAME_MAX + 1];
		cop_cursor cursor;
		cop_cursor_init(&cursor, section.data, section.length);
		if (strcmp(section.name, COP_STATE_DIR_MODEL) != 0)
			continue;
		cop_cursor_text(&cursor, saved, sizeof saved);
		size_t left = cop_cursor_left(&cursor);
		if (cursor.err != COP_OK || strcmp(saved, name) != 0 ||
		        cop_model_peek(cop_cursor_take(&cursor, left), left, &settings, NULL) != COP_OK)
			continue;
		tell(&settings, out);
		return true;
	}
	return false;
}

/* *space: NULL when it has none. COP_ENOTFOUND, COP_EFORMAT ... with *why. */
static cop_err read_saved(const char *path, cop_config_model *out, cop_feature_space **space, cop_diag *why)
{
	cop_bytes bytes;
	cop_section_file file;
	cop_model_settings settings;
	*space = NULL;
	cop_bytes_init(&bytes);
	cop_err err = cop_section_file_load(path, &bytes, why);
	if (err == COP_OK)
		err = cop_model_peek(bytes.data, bytes.length, &settings, why);
	if (err == COP_OK)
		err = cop_section_file_open(&file, bytes.data, bytes.length, NULL, why);
	if (err == COP_OK) {
		tell(&settings, out);
		err = cop_model_names_load(&file, &settings.learner, space, why);
		err = err == COP_ENOTFOUND ? COP_OK : err;
	}
	cop_bytes_fini(&bytes);
	return err;
}

/* Whether the section says enough to make the model without the file. */
static bool says_all(cfg_t *section)
{
	const cop_config_text *learner = cop_config_has(section, "learner") ? cfg_getptr(section, "learner") : NULL;
	bool arms = learner == NULL || strcmp(learner->text, "ensemble") == 0 || strcmp(learner->text, "dgt") == 0;
	return cop_config_has(section, "features") && (!arms || cop_config_has(section, "arms"));
}

void cop_config_adopt_find(cop_config_reading *reading, cfg_t *section, cop_config_adopted *out)
{
	const char *name = cfg_title(section);
	cop_diag why = { 0 };
	*out = (cop_config_adopted){ .found = false };
	if (!cop_config_locate(reading, section, "start_from", out->path))
		return;
	const cop_config_text *file = cfg_getptr(section, "start_from");
	out->found = find_running(reading, name, file->text, &out->was) || find_checkpointed(reading, name, &out->was);
	if (out->found)
		return;
	cop_err err = read_saved(out->path, &out->was, &out->space, &why);
	out->found = out->from_file = err == COP_OK;
	if (err == COP_OK || says_all(section))
		return;
	cop_config_complain(reading, file->line, "start_from",
	        "%.250s: %s; expected a saved model, from which comes what model \"%.64s\" leaves out", out->path,
	        why.message, name);
	out->missing = true;
}

void cop_config_adopt_take(const cop_config_adopted *adopted, cop_config_model *model)
{
	cop_config_model was = adopted->was;
	if (!adopted->found || model->learner != was.learner)
		return;
	for (size_t i = 1; i < SAVED_OPTIONS; i++)
		cop_config_value_swap(rule_of(saved_options[i].option), model, &was);
}

/* ---- what contradicts ---- */

static void complain(cop_config_reading *reading, cfg_t *section, const cop_config_adopted *adopted,
        const cop_config_rule *rule, const cop_config_model *model)
{
	cop_bytes is, was;
	cop_bytes_init(&is);
	cop_bytes_init(&was);
	cop_config_value_print(rule, model, &is);
	cop_config_value_print(rule, &adopted->was, &was);
	cop_bytes_put_u8(&is, 0);
	cop_bytes_put_u8(&was, 0);
	if (is.err == COP_OK && was.err == COP_OK)
		cop_config_complain(reading, cop_config_line(section, rule->name), rule->name,
		        "configured with %s %s, but %.250s was saved with %s %s; expected the same, or no %s",
		        rule->name, (const char *)is.data, adopted->path, rule->name, (const char *)was.data,
		        rule->name);
	reading->out_of_memory |= is.err != COP_OK || was.err != COP_OK;
	cop_bytes_fini(&is);
	cop_bytes_fini(&was);
}

/* Bounds may be larger than they were. */
static bool agrees(const cop_config_rule *rule, const cop_config_model *is, const cop_config_model *was)
{
	if (strcmp(rule->name, "max_nonzeros") == 0)
		return is->max_nonzeros >= was->max_nonzeros;
	if (strcmp(rule->name, "max_candidates") == 0)
		return was->learner != COP_LEARNER_RANK || is->max_candidates >= was->max_candidates;
	return cop_config_value_equal(rule, is, was);
}

static void check_names(
        cop_config_reading *reading, cfg_t *section, const cop_config_adopted *adopted, const cop_config_model *model)
{
	const cop_config_list *list = &model->feature_name_list;
	if (adopted->space == NULL || !cop_feature_space_is_dense(adopted->space))
		return;
	for (size_t i = 0; i < list->count && i < cop_feature_space_dimension(adopted->space); i++) {
		const char *was = cop_feature_space_column(adopted->space, i);
		if (strcmp(was, list->items[i]) == 0)
			continue;
		cop_config_complain(reading, cop_config_line(section, "feature_names"), "feature_names",
		        "feature %zu is \"%.64s\", but %.250s was saved with \"%.64s\"; expected its names, or no "
		        "feature_names",
		        i, list->items[i], adopted->path, was);
		return;
	}
}

void cop_config_adopt_check(
        cop_config_reading *reading, cfg_t *section, cop_config_adopted *adopted, const cop_config_model *model)
{
	const cop_config_rule *learner = rule_of("learner");
	if (adopted->from_file && model->learner != adopted->was.learner) {
		complain(reading, section, adopted, learner, model);
	} else if (adopted->from_file) {
		for (size_t i = 0; i < SAVED_OPTIONS; i++) {
			const cop_config_rule *rule = rule_of(saved_options[i].option);
			bool bound = strncmp(rule->name, "max_", 4) == 0;
			if ((saved_options[i].shape || bound) && cop_config_has(section, rule->name) &&
			        (rule->learners & 1u << model->learner) != 0 && !agrees(rule, model, &adopted->was))
				complain(reading, section, adopted, rule, model);
		}
		check_names(reading, section, adopted, model);
	}
	cop_feature_space_free(adopted->space);
	adopted->space = NULL;
}
