/* The scanned file's values, judged together, each with its line. */
#include "daemon/config/config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "daemon/common/refit_program.h"
#include "daemon/config/config_live.h"
#include "daemon/config/config_scan.h"

void cop_config_report_init(cop_config_report *report) { memset(report, 0, sizeof *report); }

void cop_config_report_fini(cop_config_report *report)
{
	cop_mem_free(report->items);
	cop_config_report_init(report);
}

static void report_add(cop_config_reading *reading, uint64_t line, const char *text)
{
	cop_config_report *report = reading->report;
	reading->wrong = true;
	if (report->count == COP_CONFIG_MAX_MESSAGES) {
		report->omitted++;
		return;
	}
	cop_diag *items = cop_mem_resize(report->items, report->count, report->count + 1, sizeof *items);
	if (items == NULL) {
		reading->out_of_memory = true;
		return;
	}
	report->items = items;
	bool live = line == COP_CONFIG_LIVE_LINE;
	cop_diag_at_line(&items[report->count++], live ? "live change" : reading->source, live ? 0 : line, "%s", text);
}

void cop_config_complain(cop_config_reading *reading, uint64_t line, const char *option, const char *format, ...)
{
	char text[sizeof((cop_diag *)NULL)->message];
	int start = option[0] == '\0' ? 0 : snprintf(text, sizeof text, "%s: ", option);
	va_list args;
	va_start(args, format);
	if (start >= 0 && (size_t)start < sizeof text)
		(void)vsnprintf(text + start, sizeof text - (size_t)start, format, args);
	va_end(args);
	for (char *c = text; *c != '\0'; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
	report_add(reading, line, text);
}

bool cop_config_has(cfg_t *section, const char *option)
{
	cfg_opt_t *found = cfg_getopt(section, option);
	return found != NULL && (found->flags & CFGF_MODIFIED) != 0;
}

uint64_t cop_config_line(cfg_t *section, const char *option)
{
	unsigned count = cfg_size(section, option);
	const cop_config_text *value = count == 0 ? NULL : cfg_getnptr(section, option, count - 1);
	if (value != NULL)
		return value->line;
	return cfg_title(section) == NULL ? 0 : (uint64_t)section->line;
}

/* From rule `first` on. */
static void read_section(cop_config_reading *reading, cfg_t *cfg, const cop_config_section *section, size_t first,
        unsigned learners, void *base)
{
	for (size_t i = first; section->rules[i].name != NULL; i++) {
		const cop_setting rule = cop_config_rules_at(section, i);
		char names[48];
		bool armed = (rule.flags & COP_SETTING_IS_ARMED) != 0;
		if (!cop_config_has(cfg, rule.name) || armed != (reading->arms != NULL))
			continue;
		if ((rule.learners & learners) == learners) {
			cop_config_value_read(reading, cfg, &rule, base);
			continue;
		}
		cop_setting_name_words(cop_model_options_learners, rule.learners, " or ", " or ", names, sizeof names);
		cop_config_complain(reading, cop_config_line(cfg, rule.name), rule.name,
		        "this learner has no such option, expected it only in models of learner %s", names);
	}
}

static bool name_fits(const char *name)
{
	size_t length = strlen(name);
	return length >= 1 && length <= COP_CONFIG_NAME_MAX &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == length;
}

static void read_name(cop_config_reading *reading, cfg_t *cfg, cop_config_model *model)
{
	const char *name = cfg_title(cfg);
	if (name_fits(name))
		(void)snprintf(model->name, sizeof model->name, "%s", name);
	else
		cop_config_complain(reading, (uint64_t)cfg->line, "model",
		        "\"%.80s\" is no name for a model, expected 1 to 64 of A-Z a-z 0-9 . _ -", name);
}

/* The learner, on which hangs what else there is, and features, as some defaults do. False: the learner is not known.
 */
static bool read_kind(
        cop_config_reading *reading, cfg_t *cfg, const cop_config_adopted *adopted, cop_config_model *model)
{
	const cop_setting *rules = cop_config_model_section.rules;
	bool wrong = reading->wrong;
	reading->wrong = false;
	if (adopted->found) {
		cop_setting_copy(&rules[0], model, &adopted->was);
		cop_setting_copy(&rules[1], model, &adopted->was);
	}
	cop_config_value_read(reading, cfg, &rules[0], model);
	bool known = !reading->wrong && (!adopted->missing || cop_config_has(cfg, "learner"));
	reading->wrong |= wrong;
	cop_config_value_read(reading, cfg, &rules[1], model);
	return known;
}

static bool has_probes(cfg_t *cfg, const cop_config_model *model)
{
	bool found = model->refit.given;
	for (size_t i = 0; cop_model_options[i].name != NULL; i++)
		found |= cop_model_options_is_of_probes(&cop_model_options[i]) &&
		         cop_config_has(cfg, cop_model_options[i].name);
	return found;
}

/* Defaults that hang on other options. */
static void fill_dependent(cfg_t *cfg, const cop_config_adopted *adopted, cop_config_model *model)
{
	cop_learner_settings *l = &model->set.learner;
	if (adopted->found && strcmp(l->learner, adopted->was.set.learner.learner) == 0)
		return;
	if (!cop_config_has(cfg, "gamma"))
		l->exploration.gamma = -1.0;
	if (!cop_config_has(cfg, "least_propensity"))
		l->exploration.shares.least_propensity = -1.0;
	cop_model_options_fill(&model->set);
	if (!cop_config_model_is(model, COP_SETTING_OF_VALUE))
		return;
	if (!cop_config_has(cfg, "feedback") && has_probes(cfg, model))
		l->feedback = COP_VALUE_TWO;
	if (!cop_config_has(cfg, "delta"))
		l->delta *= model->set.value_high - model->set.value_low;
}

static void read_model(cop_config_reading *reading, cfg_t *cfg, cop_config_model *model)
{
	cop_config_adopted adopted;
	cop_model_settings_init(&model->set);
	read_name(reading, cfg, model);
	cop_config_live_name(reading, model);
	cop_config_adopt_find(reading, cfg, model, &adopted);
	reading->adopted = adopted.found || adopted.missing;
	bool learner_known = read_kind(reading, cfg, &adopted, model); /* if not, each option is judged as if some
	                                                                * learner had it */
	cop_config_model_defaults(model);
	cop_config_adopt_take(&adopted, model);
	unsigned learner = learner_known ? cop_model_options_learner(&model->set) : 0;
	read_section(reading, cfg, &cop_config_model_section, 2, learner, model);
	cop_config_rules_read_arm_names(reading, cfg, model);
	cop_config_rules_adopt_arms(&adopted, model);
	reading->arms = &model->arm_name_list;
	read_section(reading, cfg, &cop_config_model_section, 2, learner, model);
	reading->arms = NULL;
	model->refit.given = cfg_size(cfg, "refit") != 0;
	if (cop_config_model_is(model, COP_SETTING_OF_DGT))
		model->refit.height = model->set.learner.height;
	if (model->refit.given) {
		read_section(reading, cfg_getsec(cfg, "refit"), &cop_config_refit_section, 0, 0, model);
		model->refit.said = cop_config_has(cfg_getsec(cfg, "refit"), "enabled");
	}
	fill_dependent(cfg, &adopted, model);
	cop_config_check_model(reading, cfg, model, learner_known);
	if (model->set.holdout <= 0.0) { /* a baseline that stays in the file has no group to decide for */
		model->set.has_baseline = false;
		model->set.baseline = 0.0;
	}
	cop_config_read_names(reading, cfg, model);
	cop_config_adopt_check(reading, cfg, &adopted, model);
}

static void read_models(cop_config_reading *reading, cfg_t *root, cop_config *config)
{
	unsigned count = cfg_size(root, "model");
	if (count < 1 || count > COP_CONFIG_MAX_MODELS) {
		cop_config_complain(reading, 0, "model", "%u sections, expected 1 to %d", count, COP_CONFIG_MAX_MODELS);
		return;
	}
	config->models = cop_mem_alloc(count, sizeof *config->models);
	if (config->models == NULL) {
		reading->out_of_memory = true;
		return;
	}
	config->model_count = count;
	for (unsigned i = 0; i < count; i++)
		read_model(reading, cfg_getnsec(root, "model", i), &config->models[i]);
}

/* Texts that every configuration has. */
static void fill_texts(cop_config_reading *reading, cop_config *config)
{
	if (config->state_dir == NULL)
		config->state_dir = cop_mem_strdup("/var/lib/coppice");
	if (config->log_facility == NULL)
		config->log_facility = cop_mem_strdup("daemon");
	reading->out_of_memory |= config->state_dir == NULL || config->log_facility == NULL;
}

/* The endpoint of administration is in the state folder unless the file has it elsewhere; where its path is longer than
 * one of a socket may be, there is none, and the start warns. */
static void fill_admin(cop_config_reading *reading, cfg_t *root, cop_config *config)
{
	char endpoint[COP_CONFIG_IPC_PATH + sizeof "ipc://"];
	cfg_t *section = cfg_size(root, "sockets") == 0 ? NULL : cfg_getsec(root, "sockets");
	if ((section != NULL && cop_config_has(section, "admin")) || config->state_dir == NULL ||
	        (size_t)snprintf(endpoint, sizeof endpoint, "ipc://%s/admin.ipc", config->state_dir) >= sizeof endpoint)
		return;
	config->admin.items = cop_mem_alloc(1, sizeof *config->admin.items);
	char *copy = config->admin.items == NULL ? NULL : cop_mem_strdup(endpoint);
	reading->out_of_memory |= copy == NULL;
	if (copy != NULL)
		config->admin.items[config->admin.count++] = copy;
}

static void read_all(cop_config_reading *reading, cfg_t *root, cop_config *config)
{
	cop_config_defaults(config);
	read_section(reading, root, &cop_config_sections[0], 0, 0, config);
	for (size_t i = 1; i < COP_CONFIG_SECTIONS; i++) {
		const cop_config_section *section = &cop_config_sections[i];
		if (cfg_size(root, section->name) != 0)
			read_section(reading, cfg_getsec(root, section->name), section, 0, 0, config);
	}
	config->http_given = cfg_size(root, "http") != 0;
	config->api_given = cfg_size(root, "api") != 0;
	config->curve_given = cfg_size(root, "curve") != 0;
	config->journal_given = cfg_size(root, "journal") != 0;
	config->replica_given = cfg_size(root, "replica") != 0;
	config->partition_given = cfg_size(root, "partition") != 0;
	fill_texts(reading, config);
	fill_admin(reading, root, config);
	reading->state_dir = config->state_dir;
	cop_config_live_merge(reading, root);
	read_models(reading, root, config);
	cop_config_default_refits(config, false);
	cop_config_check(reading, root, config);
}

/* reading: report, source, folder and origin are set. */
static cop_err parse(cop_config_reading *reading, const char *text, size_t length, cop_config **out)
{
	*out = NULL;
	cop_bytes_init(&reading->checkpoint);
	reading->checkpoint_read = false;
	reading->met_count = 0;
	cfg_t *root;
	cop_config *config = NULL;
	cop_err err = cop_config_scan(reading, text, length, &root);
	if (err != COP_OK)
		goto fail;
	config = cop_mem_alloc(1, sizeof *config);
	err = COP_ENOMEM;
	if (config == NULL)
		goto fail;
	read_all(reading, root, config);
	err = reading->out_of_memory ? COP_ENOMEM : reading->wrong ? COP_EINVAL : COP_OK;
	if (err != COP_OK)
		goto fail;
	*out = config;
	config = NULL;
fail:
	cop_config_free(config);
	cop_bytes_fini(&reading->checkpoint);
	cop_config_scan_free(root);
	return err;
}

cop_err cop_config_parse(const char *text, size_t length, const char *source, const char *folder, cop_config **out,
        cop_config_report *report)
{
	cop_config_reading reading = { .report = report, .source = source, .folder = folder };
	return parse(&reading, text, length, out);
}

/* The whole file into *text, which the caller frees with cop_mem_free. */
static cop_err read_file(const char *path, char **text, size_t *length)
{
	*text = NULL;
	FILE *file = fopen(path, "re");
	if (file == NULL)
		return COP_EIO;
	cop_err err = COP_ENOMEM;
	char *room = cop_mem_alloc(COP_CONFIG_SCAN_MAX + 1, 1); /* one more, so that a longer file shows */
	if (room == NULL)
		goto done;
	*length = fread(room, 1, COP_CONFIG_SCAN_MAX + 1, file);
	err = ferror(file) ? COP_EIO : COP_OK;
	if (err == COP_OK)
		*text = room;
	else
		cop_mem_free(room);
done:
	if (fclose(file) != 0 && err == COP_OK) {
		cop_mem_free(*text);
		*text = NULL;
		err = COP_EIO;
	}
	return err;
}

static cop_err find_programs(const char *launcher, cop_diag *why)
{
	char program[COP_REFIT_PROGRAM_ROOM];
	char *words[COP_REFIT_LAUNCHER_MOST];
	unsigned count;
	if (launcher == NULL)
		return cop_refit_program_find(COP_REFIT_ALONE, program, why);
	char *text = cop_mem_strdup(launcher);
	cop_err err = text == NULL ? COP_ENOMEM : cop_refit_program_launcher(text, program, words, &count, why);
	if (err == COP_OK)
		err = cop_refit_program_find(COP_REFIT_BY_MPI, program, why);
	cop_mem_free(text);
	return err;
}

/* Refits that are enabled need their program; by default they are where it is. */
static cop_err need_programs(const char *path, cop_config **config, cop_config_report *report)
{
	cop_config_reading reading = { .report = report, .source = path };
	cop_diag why = { 0 };
	bool found = find_programs((*config)->refit_launcher, &why) == COP_OK;
	cop_config_default_refits(*config, found);
	if (found)
		return COP_OK;
	for (size_t i = 0; i < (*config)->model_count; i++)
		if ((*config)->models[i].refit.enabled)
			cop_config_complain(&reading, 0, "", "model \"%s\": refit: enabled: %s",
			        (*config)->models[i].name, why.message);
	if (!reading.wrong)
		return COP_OK;
	cop_config_free(*config);
	*config = NULL;
	return reading.out_of_memory ? COP_ENOMEM : COP_EINVAL;
}

/* Once more, with the live changes over it, if there are any. */
static cop_err apply_live(cop_config_reading *reading, const char *text, size_t length, cop_config **config)
{
	cop_live_changes live = { 0 };
	cop_config *file = *config, *both = NULL;
	cop_diag why = { 0 };
	/* Another folder takes a restart. */
	const char *folder = reading->origin.live != NULL ? reading->origin.live->state_dir : file->state_dir;
	cop_err err = reading->origin.changes != NULL ? cop_live_copy(reading->origin.changes, &live)
	                                              : cop_live_read(folder, &live, &why);
	if (why.message[0] != '\0')
		cop_config_complain(reading, 0, "", "%s: %s", why.source, why.message);
	reading->live = &live;
	if (err == COP_OK && live.count > 0) {
		err = parse(reading, text, length, &both);
		if (err == COP_OK) {
			cop_config_live_judge(reading, file, both);
			err = reading->out_of_memory ? COP_ENOMEM : reading->wrong ? COP_EINVAL : COP_OK;
		}
		cop_config_free(file);
		file = both;
	}
	if (err != COP_OK) {
		cop_config_free(file);
		file = NULL;
	} else {
		file->live = live;
		live = (cop_live_changes){ 0 };
	}
	*config = file;
	reading->live = NULL;
	cop_live_free(&live);
	return err;
}

static cop_err load(cop_config_reading *reading, const char *text, size_t length, cop_config **out)
{
	cop_err err = parse(reading, text, length, out);
	if (err == COP_OK)
		err = apply_live(reading, text, length, out);
	return err == COP_OK ? need_programs(reading->source, out, reading->report) : err;
}

cop_err cop_config_load(const char *path, const cop_config_origin *origin, cop_config **out, cop_config_report *report)
{
	cop_config_reading reading = { .report = report, .source = path };
	*out = NULL;
	if (origin != NULL)
		reading.origin = *origin;
	if (path == NULL) {
		reading.source = "built-in configuration";
		reading.folder = ".";
		return load(&reading, (const char *)cop_demo_conf, cop_demo_conf_length, out);
	}
	char *text;
	size_t length;
	cop_err err = read_file(path, &text, &length);
	if (err == COP_EIO)
		cop_config_complain(&reading, 0, "", "cannot be read: %s", strerror(errno));
	if (err != COP_OK)
		return err;
	char *folder = cop_mem_strdup(path);
	err = COP_ENOMEM;
	if (folder != NULL) {
		char *slash = strrchr(folder, '/');
		if (slash == NULL)
			(void)strcpy(folder, ".");
		else
			slash[slash == folder ? 1 : 0] = '\0';
		reading.folder = folder;
		err = load(&reading, text, length, out);
	}
	cop_mem_free(folder);
	cop_mem_free(text);
	return err;
}

static void section_free(const cop_config_section *section, void *base)
{
	for (size_t i = 0; section->rules[i].name != NULL; i++) {
		const cop_setting rule = cop_config_rules_at(section, i);
		cop_config_value_free(&rule, base);
	}
}

void cop_config_free(cop_config *config)
{
	if (config == NULL)
		return;
	for (size_t i = 0; i < COP_CONFIG_SECTIONS; i++)
		section_free(&cop_config_sections[i], config);
	for (size_t i = 0; i < config->model_count; i++) {
		section_free(&cop_config_model_section, &config->models[i]);
		cop_mem_free(config->models[i].start_from_path);
		for (size_t n = 0; n < COP_CONFIG_NAMES; n++)
			cop_config_list_free(
			        cop_config_rules_names_list(&cop_config_name_files[n], &config->models[i]));
	}
	cop_live_free(&config->live);
	cop_access_free(config->api_access);
	cop_certificate_free(config->api_pair);
	cop_access_free(config->curve_access);
	explicit_bzero(config->curve_secret, sizeof config->curve_secret);
	cop_mem_free(config->models);
	cop_mem_free(config);
}

const cop_config_model *cop_config_find(const cop_config *config, const char *name, size_t length)
{
	for (size_t i = 0; i < config->model_count; i++) {
		const cop_config_model *model = &config->models[i];
		if (strlen(model->name) == length && memcmp(model->name, name, length) == 0)
			return model;
	}
	return NULL;
}
