/* What a model with start_from is like comes from its saved state: options that the file leaves out have the saved
 * values, those that it gives must not contradict. The state is looked for where the daemon will find it: in the
 * running configuration (a reload), else in the newest checkpoint, else in the file that start_from names. Whatever
 * a checkpoint or a running model contradicts is said elsewhere, when it is loaded or compared. */
#include <stdio.h>
#include <string.h>

#include "daemon/config/config_rules.h"
#include "base/mem.h"
#include "online/model_names.h"
#include "online/model_trained.h"
#include "store/checkpoint_file.h"
#include "store/section_file.h"
#include "store/state_dir.h"

/* ---- where it is found ---- */

/* A list of names has a limit for each; without them arms are numbers. */
static bool fits_list(char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const unsigned char *at = (const unsigned char *)names[i];
		if (*at == '\0' || strlen(names[i]) > COP_CONFIG_LISTED_NAME)
			return false;
		for (; *at != '\0'; at++)
			if (*at < 0x20 || *at == 0x7f)
				return false;
	}
	return true;
}

/* Those of a trained model in a saved state. Without memory it stays without them. */
static cop_err read_arms(const void *data, size_t length, cop_config_adopted *out)
{
	cop_config_list list = { 0 };
	cop_err err = cop_model_trained_arms(data, length, &list.items, &list.count);
	if (err == COP_OK && fits_list(list.items, list.count))
		out->arms = list;
	else
		cop_config_list_free(&list);
	return err;
}

static bool copy_list(const cop_config_list *from, cop_config_list *out)
{
	*out = (cop_config_list){ .items = cop_mem_alloc(from->count, sizeof *out->items) };
	for (; out->items != NULL && out->count < from->count; out->count++) {
		out->items[out->count] = cop_mem_strdup(from->items[out->count]);
		if (out->items[out->count] == NULL)
			break;
	}
	if (out->count == from->count)
		return true;
	cop_config_list_free(out);
	return false;
}

static bool find_running(
        const cop_config_reading *reading, const cop_config_model *asked, const char *file, cop_config_adopted *found)
{
	cop_config_model *out = &found->was;
	const cop_config *live = reading->origin.live;
	const cop_config_model *model = live == NULL ? NULL : cop_config_find(live, asked->name, strlen(asked->name));
	if (model == NULL || model->life != asked->life || model->start_from == NULL ||
	        strcmp(model->start_from, file) != 0)
		return false;
	*out = *model;
	if (cop_config_model_is(model, COP_SETTING_OF_TRAINED) && model->arm_names == NULL)
		return copy_list(&model->arm_name_list, &found->arms);
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

static bool find_checkpointed(
        cop_config_reading *reading, const char *name, const char *stored, cop_config_adopted *out)
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
		const void *state = cop_cursor_take(&cursor, left);
		if (cursor.err != COP_OK || strcmp(saved, stored) != 0 ||
		        cop_model_peek(state, left, &settings, NULL) != COP_OK)
			continue;
		out->was.set = settings;
		return read_arms(state, left, out) == COP_OK;
	}
	return false;
}

/* *space: NULL when it has none. COP_ENOTFOUND, COP_EFORMAT ... with *why. */
static cop_err read_saved(const char *path, cop_config_adopted *out, cop_diag *why)
{
	cop_bytes bytes;
	cop_section_file file;
	cop_model_settings settings;
	cop_bytes_init(&bytes);
	cop_err err = cop_model_trained_load(path, &bytes, why);
	if (err == COP_OK)
		err = cop_model_peek(bytes.data, bytes.length, &settings, why);
	if (err == COP_OK)
		err = cop_section_file_open(&file, bytes.data, bytes.length, NULL, why);
	if (err == COP_OK) {
		out->was.set = settings;
		err = cop_model_names_load(&file, &settings.learner, &out->space, why);
		err = err == COP_ENOTFOUND ? COP_OK : err;
	}
	if (err == COP_OK)
		err = read_arms(bytes.data, bytes.length, out);
	cop_bytes_fini(&bytes);
	return err;
}

/* Whether the section says enough to make the model without the file. */
static bool says_all(cfg_t *section)
{
	const cop_config_text *learner = cop_config_has(section, "learner") ? cfg_getptr(section, "learner") : NULL;
	const cop_learner_class *class = cop_learner_find(learner != NULL ? learner->text : "ensemble");
	bool arms = class != NULL && !class->values && !class->candidates;
	return cop_config_has(section, "features") && (!arms || cop_config_has(section, "arms"));
}

void cop_config_adopt_find(
        cop_config_reading *reading, cfg_t *section, const cop_config_model *model, cop_config_adopted *out)
{
	const char *name = cfg_title(section);
	cop_diag why = { 0 };
	*out = (cop_config_adopted){ .found = false };
	if (!cop_config_locate(reading, section, "start_from", out->path))
		return;
	const cop_config_text *file = cfg_getptr(section, "start_from");
	out->found = find_running(reading, model, file->text, out) ||
	             find_checkpointed(reading, model->name, model->stored, out);
	if (out->found)
		return;
	cop_err err = read_saved(out->path, out, &why);
	out->found = out->from_file = err == COP_OK;
	if (err == COP_OK || says_all(section))
		return;
	cop_config_complain(reading, file->line, "start_from",
	        "%.250s: %s; expected a saved model, from which comes what model \"%.64s\" leaves out", out->path,
	        why.message, name);
	out->missing = true;
}

static bool same_learner(const cop_config_model *a, const cop_config_model *b)
{
	return strcmp(a->set.learner.learner, b->set.learner.learner) == 0;
}

void cop_config_adopt_take(const cop_config_adopted *adopted, cop_config_model *model)
{
	if (!adopted->found || !same_learner(model, &adopted->was))
		return;
	for (size_t i = 2; cop_model_options[i].name != NULL;
	        i++) /* learner and features were taken before the others */
		if ((cop_model_options[i].flags & COP_SETTING_IS_SAVED) != 0)
			cop_setting_copy(&cop_model_options[i], model, &adopted->was);
}

void cop_config_rules_adopt_arms(cop_config_adopted *adopted, cop_config_model *model)
{
	if (model->arm_names == NULL && cop_config_model_is(model, COP_SETTING_OF_TRAINED) &&
	        adopted->arms.count == model->set.learner.arms) {
		model->arm_name_list = adopted->arms;
		adopted->arms = (cop_config_list){ 0 };
	}
	cop_config_list_free(&adopted->arms);
}

/* ---- what contradicts ---- */

static void complain(cop_config_reading *reading, cfg_t *section, const cop_config_adopted *adopted,
        const cop_setting *rule, const cop_config_model *model)
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

/* Bounds may be larger than they were, and arms and features may be added. */
static bool agrees(const cop_setting *rule, const cop_config_model *is, const cop_config_model *was)
{
	const cop_learner_settings *l = &is->set.learner, *m = &was->set.learner;
	if (strcmp(rule->name, "max_nonzeros") == 0)
		return l->max_nonzeros >= m->max_nonzeros;
	if (strcmp(rule->name, "arms") == 0 && !cop_config_model_is(was, COP_SETTING_OF_TRAINED))
		return l->arms >= m->arms;
	if (strcmp(rule->name, "features") == 0 && cop_learner_takes_features(m, l->features))
		return l->features >= m->features;
	if (strcmp(rule->name, "max_candidates") == 0)
		return !cop_config_model_is(was, COP_SETTING_OF_RANK) || l->max_candidates >= m->max_candidates;
	return (rule->flags & COP_SETTING_IS_SHAPE) == 0 || cop_setting_equal(rule, is, was);
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
	if (adopted->from_file && !same_learner(model, &adopted->was)) {
		complain(reading, section, adopted, &cop_model_options[0], model);
	} else if (adopted->from_file) {
		unsigned learner = cop_model_options_learner(&model->set);
		for (size_t i = 0; cop_model_options[i].name != NULL; i++) {
			const cop_setting *rule = &cop_model_options[i];
			if (cop_config_has(section, rule->name) && (rule->learners & learner) != 0 &&
			        !agrees(rule, model, &adopted->was))
				complain(reading, section, adopted, rule, model);
		}
		check_names(reading, section, adopted, model);
	}
	cop_feature_space_free(adopted->space);
	adopted->space = NULL;
}
