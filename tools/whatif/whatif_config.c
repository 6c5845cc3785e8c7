/* What is not printed has its default: what the model's learner or policy does not have, and what is quiet while it is
 * 0. */
#include "whatif_config.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "online/model_shadow.h"

#define MOST_VALUES 65 /* of one option */

/* What stands between the section's first line and its closing brace; false: there is none. *from is NULL at first. */
static bool find(const char *text, size_t length, const char *name, size_t name_length, const char **from, size_t *size)
{
	static const char head[] = "model \"";
	const char *end = text + length;
	for (const char *line = text; line < end;) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));
		if (stop == NULL)
			return false;
		size_t wide = (size_t)(stop - line), front = sizeof head - 1;
		bool is = *from == NULL && wide > front + name_length && memcmp(line, head, front) == 0 &&
		          memcmp(line + front, name, name_length) == 0 && line[front + name_length] == '"';
		if (*from != NULL && *line == '}') {
			*size = (size_t)(line - *from);
			return true;
		}
		line = stop + 1;
		if (is)
			*from = line;
	}
	return false;
}

/* "a" becomes a; quotes within are none of any value that is read here. */
static char *unquote(char *text)
{
	size_t length = strlen(text);
	if (length < 2 || text[0] != '"' || text[length - 1] != '"')
		return text;
	text[length - 1] = '\0';
	return text + 1;
}

/* { a, b } into its parts. */
static size_t split(char *value, const char *texts[MOST_VALUES])
{
	size_t count = 0;
	if (value[0] != '{') {
		texts[0] = unquote(value);
		return 1;
	}
	char *end = strrchr(value, '}');
	if (end != NULL)
		*end = '\0';
	char *rest = value + 1, *part;
	while (count < MOST_VALUES && (part = strsep(&rest, ",")) != NULL) {
		part += strspn(part, " ");
		part[strcspn(part, " ")] = '\0';
		if (*part != '\0')
			texts[count++] = unquote(part);
	}
	return count;
}

static cop_err read_option(const char *name, char *value, cop_whatif_config *out)
{
	const char *texts[MOST_VALUES];
	size_t place;
	const cop_setting *o = cop_model_options_find(name);
	if (o == NULL)
		return COP_EFORMAT;
	out->starts_from |= strcmp(name, "start_from") == 0;
	out->has_delta |= strcmp(name, "delta") == 0;
	if (o->kind >= COP_SETTING_OTHER)
		return COP_OK;
	size_t count = split(value, texts);
	return cop_setting_read(o, texts, count, &out->set, &place) ? COP_OK : COP_EFORMAT;
}

/* Of the section's own section refit: what later challengers are judged by. */
static void read_refit(const char *name, char *value, cop_whatif_config *out)
{
	const char *text = unquote(value);
	if (strcmp(name, "margin") == 0)
		out->rule.margin = strtod(text, NULL);
	else if (strcmp(name, "risk") == 0)
		out->rule.risk = strtod(text, NULL);
	else if (strcmp(name, "promote") == 0 && strcmp(text, "bound") == 0)
		out->rule.estimator = COP_PROMOTION_TEST_DR;
}

static cop_err read_lines(char *lines, cop_whatif_config *out)
{
	char *line;
	bool refit = false;
	while ((line = strsep(&lines, "\n")) != NULL) {
		line += strspn(line, "\t");
		char *equals = strstr(line, " = ");
		if (equals == NULL) {
			refit = strncmp(line, "refit", 5) == 0;
			continue;
		}
		*equals = '\0';
		cop_err err = COP_OK;
		if (refit)
			read_refit(line, equals + 3, out);
		else
			err = read_option(line, equals + 3, out);
		if (err != COP_OK)
			return err;
	}
	return COP_OK;
}

cop_err cop_whatif_config_read(
        const char *text, size_t length, const char *name, size_t name_length, cop_whatif_config *out)
{
	const char *from = NULL;
	size_t size = 0;
	if (!find(text, length, name, name_length, &from, &size))
		return COP_ENOTFOUND;
	char *copy = cop_mem_alloc(size + 1, 1);
	if (copy == NULL)
		return COP_ENOMEM;
	memcpy(copy, from, size);
	*out = (cop_whatif_config){ .starts_from = false };
	cop_model_settings_init(&out->set);
	cop_model_judge_defaults(&out->rule);
	cop_err err = read_lines(copy, out);
	if (err == COP_OK)
		cop_model_options_fill(&out->set);
	if (!out->has_delta && cop_learner_plays_values(&out->set.learner)) /* its default is of a range of 1 */
		out->set.learner.delta *= out->set.value_high - out->set.value_low;
	cop_mem_free(copy);
	return err;
}
