/* Live changes over the file: put into the scanned file as if they stood there, so that what follows judges all alike;
 * and compared with what the file says by itself, so that neither side is overruled unseen. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "daemon/config/config_scan.h"
#include "daemon/config/config_live.h"

#define REFIT "refit."

/* ---- into the file ---- */

static cfg_t *refit_of(cfg_t *model)
{
	cfg_opt_t *refit = cfg_getopt(model, "refit");
	if (cfg_opt_size(refit) == 0)
		(void)cfg_setopt(model, refit, NULL);
	return cfg_getsec(model, "refit");
}

static bool is_of_refit(const char *option) { return strncmp(option, REFIT, sizeof REFIT - 1) == 0; }

/* cfg_getopt would call an unknown one an error of the file. */
static cfg_opt_t *find_option(cfg_t *section, const char *name)
{
	for (cfg_opt_t *o = section == NULL ? NULL : section->opts; o != NULL && o->name != NULL; o++)
		if (strcmp(o->name, name) == 0)
			return o->type == CFGT_PTR ? o : NULL;
	return NULL;
}

/* The options of one model. */
static void put_values(cop_config_reading *reading, cfg_t *model, const cop_live_model *change)
{
	const char *last = NULL;
	if (change->kind == COP_LIVE_ADDED) /* what is missing, or wrong by a default */
		model->line = (int)COP_CONFIG_LIVE_LINE;
	for (size_t i = 0; i < change->values.count; i++) {
		const cop_live_value *value = &change->values.items[i];
		bool refit = is_of_refit(value->option);
		const char *name = value->option + (refit ? sizeof REFIT - 1 : 0);
		cfg_t *section = refit ? refit_of(model) : model;
		cfg_opt_t *option = find_option(section, name);
		if (option == NULL) {
			cop_config_complain(reading, COP_CONFIG_LIVE_LINE, value->option,
			        "no such option of a model, changed live in model %s", change->name);
			continue;
		}
		if (last == NULL || strcmp(last, value->option) != 0)
			(void)cfg_free_value(option);
		if (value->text[0] == '\0' && (option->flags & CFGF_LIST) != 0)
			option->flags |= CFGF_MODIFIED; /* a list of nothing */
		else
			cop_config_scan_put(reading, section, option, value->text);
		last = value->option;
	}
}

void cop_config_live_merge(cop_config_reading *reading, cfg_t *root)
{
	const cop_live_changes *live = reading->live;
	for (size_t i = 0; live != NULL && i < live->count; i++) {
		const cop_live_model *change = &live->items[i];
		cfg_t *model = cfg_gettsec(root, "model", change->name);
		if (change->kind == COP_LIVE_REMOVED && model != NULL)
			(void)cfg_rmtsec(root, "model", change->name);
		if (change->kind == COP_LIVE_REMOVED)
			continue;
		if (change->kind == COP_LIVE_ADDED && model == NULL)
			model = cfg_addtsec(root, "model", change->name);
		if (model == NULL) /* what it was set over is gone, which was complained of */
			continue;
		put_values(reading, model, change);
	}
}

void cop_config_live_name(cop_config_reading *reading, cop_config_model *model)
{
	const cop_live_model *change = reading->live == NULL ? NULL : cop_live_find(reading->live, model->name);
	model->life = change == NULL ? 0 : change->life;
	int length = model->life == 0
	                     ? snprintf(model->stored, sizeof model->stored, "%s", model->name)
	                     : snprintf(model->stored, sizeof model->stored, "%s#%u", model->name, model->life);
	if (length >= (int)sizeof model->stored)
		cop_config_complain(reading, COP_CONFIG_LIVE_LINE, "model",
		        "%s in its life %u: too long, expected at most %d bytes of name, # and number", model->name,
		        model->life, COP_CONFIG_NAME_MAX);
}

/* ---- against the file ---- */

/* The rule of an option as live changes call it. */
static bool find_rule(const char *option, cop_setting *out)
{
	bool refit = is_of_refit(option);
	const cop_config_section *section = refit ? &cop_config_refit_section : &cop_config_model_section;
	const char *name = option + (refit ? sizeof REFIT - 1 : 0);
	for (size_t i = 0; section->rules[i].name != NULL; i++) {
		*out = cop_config_rules_at(section, i);
		if (strcmp(out->name, name) == 0)
			return true;
	}
	return false;
}

bool cop_config_live_print(const char *option, const cop_config_model *model, cop_bytes *out)
{
	cop_setting rule;
	if (!find_rule(option, &rule))
		return false;
	cop_bytes_put(out, option, strlen(option));
	cop_bytes_put(out, " = ", 3);
	cop_config_value_print(&rule, model, out);
	cop_bytes_put_u8(out, 0);
	return true;
}

bool cop_config_live_is_list(const char *option)
{
	cop_setting rule;
	return find_rule(option, &rule) && cop_setting_is_list(&rule);
}

/* One line of a set option: as it is, and as the file has it. */
static void put_set(const cop_live_model *change, const cop_config_model *model, size_t i, cop_bytes *out)
{
	const char *option = change->values.items[i].option;
	cop_bytes now;
	cop_bytes_init(&now);
	if (model != NULL && cop_config_live_print(option, model, &now) && now.err == COP_OK)
		cop_bytes_put(out, now.data, now.length - 1);
	for (size_t n = 0; n < change->were.count; n++) {
		if (strcmp(change->were.items[n].option, option) != 0)
			continue;
		cop_bytes_put(out, ", in the file ", 14);
		cop_bytes_put(out, change->were.items[n].text, strlen(change->were.items[n].text));
	}
	cop_bytes_fini(&now);
}

void cop_config_live_put(const cop_config *config, cop_bytes *out)
{
	for (size_t i = 0; i < config->live.count; i++) {
		const cop_live_model *change = &config->live.items[i];
		const cop_config_model *model = cop_config_find(config, change->name, strlen(change->name));
		char line[COP_CONFIG_NAME_MAX + 96];
		int length = snprintf(
		        line, sizeof line, "# live: model %s: %s", change->name, cop_live_kind_text(change->kind));
		if (change->life > 0)
			length += snprintf(
			        line + length, sizeof line - (size_t)length, ", begun anew (life %u)", change->life);
		if (change->kind == COP_LIVE_SET && change->values.count == 0 && change->life == 0)
			continue;
		cop_bytes_put(out, line, (size_t)length);
		for (size_t n = 0; n < change->values.count; n++) {
			if (n > 0 && strcmp(change->values.items[n - 1].option, change->values.items[n].option) == 0)
				continue;
			cop_bytes_put(out, n == 0 ? ": " : "; ", 2);
			put_set(change, model, n, out);
		}
		cop_bytes_put(out, "\n", 1);
	}
}

/* The option's texts as one. */
static void join(const cop_live_model *change, const char *option, char *out, size_t size)
{
	size_t used = 0;
	out[0] = '\0';
	for (size_t i = 0; i < change->values.count && used < size; i++)
		if (strcmp(change->values.items[i].option, option) == 0)
			used += (size_t)snprintf(
			        out + used, size - used, "%s%s", used == 0 ? "" : ", ", change->values.items[i].text);
}

/* The option's value in the file is another now than when it was changed live, and not that of the change. */
static void judge_value(cop_config_reading *reading, const cop_config_model *file, const cop_config_model *both,
        const cop_live_model *change, const cop_live_value *was)
{
	cop_bytes now, then;
	char live[256];
	cop_bytes_init(&now);
	cop_bytes_init(&then);
	bool known = cop_config_live_print(was->option, file, &now) && cop_config_live_print(was->option, both, &then);
	reading->out_of_memory |= now.err != COP_OK || then.err != COP_OK;
	if (known && !reading->out_of_memory && strcmp((const char *)now.data, was->text) != 0 &&
	        strcmp((const char *)now.data, (const char *)then.data) != 0) {
		join(change, was->option, live, sizeof live);
		cop_config_complain(reading, 0, "",
		        "model %s: %.120s contradicts the live change %s = %s, made over %.120s; expected one of the "
		        "two: coppice ctl model unset %s %s, or the file as it was",
		        change->name, (const char *)now.data, was->option, live, was->text, change->name, was->option);
	}
	cop_bytes_fini(&now);
	cop_bytes_fini(&then);
}

/* A model that was added live, and that the file has now too: the same one, or a contradiction. */
static void judge_added(cop_config_reading *reading, const cop_config_model *file, const cop_config_model *both)
{
	const cop_config_section *sections[] = { &cop_config_model_section, &cop_config_refit_section };
	for (size_t s = 0; s < 2; s++) {
		for (size_t i = 0; sections[s]->rules[i].name != NULL; i++) {
			const cop_setting rule = cop_config_rules_at(sections[s], i);
			if (cop_config_value_equal(&rule, file, both))
				continue;
			cop_config_complain(reading, 0, "",
			        "model %s: the file has it now, with another %s%s than the model of that name that was "
			        "added live; expected them alike, or coppice ctl model remove %s before",
			        file->name, s == 0 ? "" : REFIT, rule.name, file->name);
			return;
		}
	}
}

void cop_config_live_judge(cop_config_reading *reading, const cop_config *file, const cop_config *both)
{
	for (size_t i = 0; i < reading->live->count; i++) {
		const cop_live_model *change = &reading->live->items[i];
		const cop_config_model *there = cop_config_find(file, change->name, strlen(change->name));
		const cop_config_model *merged = cop_config_find(both, change->name, strlen(change->name));
		if (change->kind == COP_LIVE_SET && there == NULL)
			cop_config_complain(reading, 0, "",
			        "model %s: it is no longer there, and contradicts what was set in it live; expected "
			        "the "
			        "model, or coppice ctl model remove %s before",
			        change->name, change->name);
		if (there == NULL || merged == NULL)
			continue;
		if (change->kind == COP_LIVE_ADDED)
			judge_added(reading, there, merged);
		for (size_t n = 0; change->kind == COP_LIVE_SET && n < change->were.count; n++)
			judge_value(reading, there, merged, change, &change->were.items[n]);
	}
}
