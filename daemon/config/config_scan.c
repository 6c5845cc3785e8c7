/* Every option is declared to libconfuse as a pointer whose parse callback keeps the text and its line. So libconfuse
 * only judges syntax and names, and all values are judged afterwards, together, each with its line.
 *
 * Sections have no way to a caller's context in libconfuse's callbacks, hence `current`, set for the length of a parse.
 * libconfuse lets a later option or section replace or add to an earlier one of the same name: meet() refuses
 * it, called for values by the validation callback, for lists with their first value.
 * Its lexer is one for the whole process, and cfg_free ends it; a lock is for that, since recovery reads recorded
 * configurations on another thread than the loop's (daemon/durable/forget_work.c).
 * libconfuse takes the end of the file inside a section or comment for a good end; END_MARK, an option that is added
 * behind the text, must be met at the top level. */
#include "daemon/config/config_scan.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "daemon/config/config_hint.h"

#define END_MARK     "end-of-configuration"
#define OPTIONS_MOST 72 /* of a section or of the file, with their end */

static pthread_mutex_t lexer = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local cop_config_reading *current;

static void __attribute__((format(printf, 2, 0))) on_error(cfg_t *cfg, const char *format, va_list args)
{
	char text[256];
	uint64_t line =
	        (uint64_t)cfg->line < current->lines ? (uint64_t)cfg->line : current->lines; /* not END_MARK's */
	(void)vsnprintf(text, sizeof text, format, args);
	cop_config_hint(text, sizeof text);
	if (strstr(text, END_MARK) != NULL)
		cop_config_complain(current, line, "", "the file ends inside a section, expected }");
	else
		cop_config_complain(current, line, "", "%s", text);
}

/* Where the option, of this very section, was met before in the file, and notes it; 0: nowhere. */
static uint64_t met_before(cop_config_reading *reading, const cfg_opt_t *option, const cfg_t *section, uint64_t line)
{
	for (size_t i = 0; i < reading->met_count; i++)
		if (reading->met[i].option == option)
			return reading->met[i].line;
	if (reading->met_count < COP_CONFIG_MET)
		reading->met[reading->met_count++] = (cop_config_met){ option, line, section };
	return 0;
}

/* Notes that the file sets the option, or has the section, and complains if it did before. */
static void meet(const cfg_t *cfg, const cfg_opt_t *option)
{
	uint64_t line = (uint64_t)cfg->line;
	uint64_t before = met_before(current, option, cfg, line);
	if (before != 0)
		cop_config_complain(current, line, option->name, "stands twice, expected once (the first %s line %llu)",
		        option->type == CFGT_SEC ? "ends on" : "is on", (unsigned long long)before);
}

/* A value was set, or a section is complete, whose own options are then no longer of interest. */
static int on_complete(cfg_t *cfg, cfg_opt_t *option)
{
	const cop_config_met *met = current->met;
	while (option->type == CFGT_SEC && current->met_count > 0 && met[current->met_count - 1].section != cfg &&
	        met[current->met_count - 1].section != current->root)
		current->met_count--;
	if ((option->flags & CFGF_MULTI) == 0) /* models: libconfuse refuses a second one of the same name */
		meet(cfg, option);
	return 0;
}

static int on_value(cfg_t *cfg, cfg_opt_t *option, const char *text, void *result)
{
	if (!current->merging && (option->flags & CFGF_LIST) != 0 &&
	        option->nvalues == 1) /* the first of a list, which is no += */
		meet(cfg, option);
	size_t length = strlen(text) + 1;
	cop_config_text *value = cop_mem_alloc(sizeof *value + length, 1);
	if (value == NULL) {
		current->out_of_memory = true;
		return -1;
	}
	value->line = current->merging ? COP_CONFIG_LIVE_LINE : (uint64_t)cfg->line;
	memcpy(value->text, text, length);
	*(void **)result = value;
	return 0;
}

void cop_config_scan_put(cop_config_reading *reading, cfg_t *section, cfg_opt_t *option, const char *text)
{
	current = reading;
	reading->merging = true;
	reading->out_of_memory |= cfg_setopt(section, option, text) == NULL;
	option->flags |= CFGF_MODIFIED;
	reading->merging = false;
	current = NULL;
}

/* options: OPTIONS_MOST. How many they are. */
static size_t declare(const cop_config_section *section, cfg_opt_t *options)
{
	size_t i;
	for (i = 0; i < OPTIONS_MOST - COP_CONFIG_SECTIONS - 4 && section->rules[i].name != NULL; i++) {
		const cop_setting rule = cop_config_rules_at(section, i);
		bool list = cop_setting_is_list(&rule) || cop_config_rules_is_list(&rule);
		cfg_opt_t single = CFG_PTR_CB(rule.name, NULL, CFGF_NODEFAULT, on_value, cop_mem_free);
		cfg_opt_t several = CFG_PTR_LIST_CB(rule.name, NULL, CFGF_NODEFAULT, on_value, cop_mem_free);
		single.validcb = on_complete; /* for a list it would be called for each value */
		options[i] = list ? several : single;
	}
	COP_ASSERT(section->rules[i].name == NULL);
	options[i] = (cfg_opt_t)CFG_END();
	return i;
}

/* The file's grammar; NULL when memory is short. cfg_init copies what it is given. */
static cfg_t *grammar(void)
{
	cfg_opt_t options[COP_CONFIG_SECTIONS][OPTIONS_MOST];
	cfg_opt_t model[OPTIONS_MOST], refit[OPTIONS_MOST], top[OPTIONS_MOST];
	size_t n = declare(&cop_config_sections[0], top);
	for (size_t i = 1; i < COP_CONFIG_SECTIONS; i++) {
		(void)declare(&cop_config_sections[i], options[i]);
		top[n] = (cfg_opt_t)CFG_SEC(cop_config_sections[i].name, options[i], CFGF_NODEFAULT);
		top[n++].validcb = on_complete;
	}
	size_t last = declare(&cop_config_model_section, model);
	(void)declare(&cop_config_refit_section, refit);
	model[last] = (cfg_opt_t)CFG_SEC("refit", refit, CFGF_NODEFAULT);
	model[last].validcb = on_complete;
	model[last + 1] = (cfg_opt_t)CFG_END();
	top[n] = (cfg_opt_t)CFG_SEC("model", model, CFGF_MULTI | CFGF_TITLE | CFGF_NO_TITLE_DUPES);
	top[n++].validcb = on_complete;
	top[n++] = (cfg_opt_t)CFG_PTR_CB(END_MARK, NULL, CFGF_NODEFAULT, on_value, cop_mem_free);
	top[n] = (cfg_opt_t)CFG_END();
	return cfg_init(top, CFGF_NONE);
}

static cop_err scan_stream(cop_config_reading *reading, FILE *stream, cfg_t *root)
{
	(void)cfg_set_error_function(root, on_error);
	current = reading;
	reading->root = root;
	int result = cfg_parse_fp(root, stream);
	bool whole = cop_config_has(root, END_MARK);
	if (result == CFG_SUCCESS && !whole)
		cop_config_complain(reading, 0, "", "the file ends inside a section, comment or text");
	current = NULL;
	if (reading->out_of_memory)
		return COP_ENOMEM;
	if (result != CFG_SUCCESS &&
	        !reading->wrong) /* libconfuse has no word for some, an empty option name for one */
		cop_config_complain(
		        reading, (uint64_t)root->line, "", "not understood, expected option = value or a section");
	return result != CFG_SUCCESS || !whole ? COP_EFORMAT : COP_OK;
}

static uint64_t count_lines(const char *text, size_t length)
{
	uint64_t lines = length != 0 && text[length - 1] != '\n';
	for (size_t i = 0; i < length; i++)
		lines += text[i] == '\n';
	return lines;
}

cop_err cop_config_scan(cop_config_reading *reading, const char *text, size_t length, cfg_t **root)
{
	static const char tail[] = "\n" END_MARK " = 1";
	*root = NULL;
	if (length > COP_CONFIG_SCAN_MAX || memchr(text, '\0', length) != NULL) {
		cop_config_complain(reading, 0, "", "not a configuration, expected at most 1 MiB of text");
		return COP_EFORMAT;
	}
	char *whole = cop_mem_alloc(length + sizeof tail, 1);
	FILE *stream = NULL;
	cop_err err = COP_ENOMEM;
	if (whole == NULL)
		return err;
	memcpy(whole, text, length);
	reading->lines = count_lines(text, length);
	memcpy(whole + length, tail, sizeof tail);
	(void)pthread_mutex_lock(&lexer);
	*root = grammar();
	stream = fmemopen(whole, length + sizeof tail - 1, "r");
	if (*root != NULL && stream != NULL)
		err = scan_stream(reading, stream, *root);
	(void)pthread_mutex_unlock(&lexer);
	if (err == COP_OK && reading->folder != NULL) /* a journal's text has them replaced */
		cop_config_check_variables(reading, text, length);
	if (stream != NULL)
		(void)fclose(stream);
	cop_mem_free(whole);
	return err;
}

void cop_config_scan_free(cfg_t *root)
{
	(void)pthread_mutex_lock(&lexer);
	(void)cfg_free(root);
	(void)pthread_mutex_unlock(&lexer);
}
