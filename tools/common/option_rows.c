/* A value on the command line is cut up, and then read and described as in a configuration. An option that takes no
 * argument sets its flag. */
#include "option_rows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "command.h"
#include "option_list.h"

#define MOST_VALUES 65 /* one more than any option takes */
#define VALUE_ROOM  64
#define INDENT      23
#define WIDTH       79
#define TELLING     1e5 /* higher limits are only there so that numbers fit */

void cop_option_rows_join(const cop_setting *rows, int first, struct option *table, size_t room)
{
	size_t used = 0;
	while (table[used].name != NULL)
		used++;
	for (int i = 0; rows[i].name != NULL; i++) {
		COP_ASSERT(i < COP_OPTION_ROWS_MOST && used + 1 < room);
		if (rows[i].line == NULL)
			continue;
		if (rows[i].words != NULL)
			cop_option_list_words(rows[i].line, rows[i].words);
		table[used++] = (struct option){ rows[i].line,
			rows[i].argument != NULL ? required_argument : no_argument, NULL, first + i };
	}
	table[used] = (struct option){ NULL, 0, NULL, 0 };
}

int cop_option_rows_find(const cop_setting *rows, int first, const char *name, size_t length, bool *takes_argument)
{
	for (int i = 0; rows[i].name != NULL; i++)
		if (rows[i].line != NULL && strlen(rows[i].line) == length && memcmp(rows[i].line, name, length) == 0) {
			*takes_argument = rows[i].argument != NULL;
			return first + i;
		}
	return 0;
}

/* How many values there are; values holds them. */
static size_t cut(const cop_setting *option, const char *text, char values[MOST_VALUES][VALUE_ROOM])
{
	const char *dividers = cop_setting_is_list(option) ? ",+" : "";
	for (size_t count = 0;; text++) {
		size_t length = strcspn(text, dividers);
		(void)snprintf(
		        values[count++], VALUE_ROOM, "%.*s", (int)(length < VALUE_ROOM ? length : VALUE_ROOM), text);
		text += length;
		if (*text == '\0' || count == MOST_VALUES)
			return count;
	}
}

bool cop_option_rows_read(const char *command, const cop_setting *option, const char *text, void *base)
{
	char values[MOST_VALUES][VALUE_ROOM], expected[192];
	const char *texts[MOST_VALUES];
	size_t wrong = 0;
	if (option->argument == NULL) {
		*(bool *)((char *)base + option->offset) = true;
		return true;
	}
	size_t count = cut(option, text, values);
	for (size_t i = 0; i < count; i++)
		texts[i] = values[i];
	if (cop_setting_read(option, texts, count, base, &wrong))
		return true;
	cop_setting_describe(option, expected, sizeof expected);
	cop_command_complain(
	        command, "--%s: '%s' given, expected %s", option->line, wrong < count ? values[wrong] : text, expected);
	return false;
}

/* ---- --help ---- */

static void wrap(char *text)
{
	int column = INDENT;
	char *at = NULL;
	for (char *word = strtok_r(text, " ", &at); word != NULL; word = strtok_r(NULL, " ", &at)) {
		int length = (int)strlen(word);
		if (column > INDENT && column + 1 + length > WIDTH) {
			(void)printf("\n%*s", INDENT, "");
			column = INDENT;
		}
		column += printf("%s%s", column > INDENT ? " " : "", word);
	}
	(void)printf("\n");
}

/* ", 0 to 1", ": a, b or c", or nothing. */
static void put_values(const cop_setting *o, char *out, size_t size)
{
	char words[192];
	bool number = o->kind == COP_SETTING_NUMBER || o->kind == COP_SETTING_COUNT || o->kind == COP_SETTING_WHOLE ||
	              (o->kind == COP_SETTING_MAYBE && !isinf(o->high));
	out[0] = '\0';
	if (number && o->high < TELLING) {
		(void)snprintf(out, size, ", %.12g to %.12g", o->low, o->high);
	} else if (!number && o->words != NULL) {
		cop_setting_describe(o, words, sizeof words);
		(void)snprintf(out, size, ": %s", words);
	}
}

void cop_option_rows_usage(const cop_setting *option, const char *before, const char *standard)
{
	char name[64], values[200], text[640];
	(void)snprintf(name, sizeof name, "--%s%s%s", option->line, option->argument != NULL ? " " : "",
	        option->argument != NULL ? option->argument : "");
	put_values(option, values, sizeof values);
	(void)snprintf(text, sizeof text, "%s%s%s%s%s%s", before, option->text, values,
	        standard[0] != '\0' ? " (default " : "", standard, standard[0] != '\0' ? ")" : "");
	(void)printf("  %-20s ", name);
	wrap(text);
}

void cop_option_rows_write(const cop_setting *rows, const bool *given, const void *base, char *out, size_t size)
{
	cop_bytes text;
	cop_bytes_init(&text);
	for (size_t i = 0; rows[i].name != NULL; i++) {
		if (!given[i])
			continue;
		cop_bytes_put(&text, " --", 3);
		cop_bytes_put(&text, rows[i].line, strlen(rows[i].line));
		if (rows[i].argument == NULL)
			continue;
		cop_bytes_put(&text, " ", 1);
		cop_setting_print(&rows[i], &cop_setting_on_line, base, &text);
	}
	cop_bytes_put_u8(&text, 0);
	(void)snprintf(out, size, "%s", text.err == COP_OK ? (const char *)text.data : "");
	cop_bytes_fini(&text);
}
