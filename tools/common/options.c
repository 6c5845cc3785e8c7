/* getopt_long knows a row by FIRST and its place among the rows of all sets, or by its letter; -h and --help need no
 * row. */
#include "options.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "command.h"
#include "option_list.h"

#define FIRST 256

static void store(const cop_option *row, void *at, uint64_t value)
{
	if (row->size == sizeof(bool))
		*(bool *)at = value != 0;
	else if (row->size == sizeof(unsigned))
		*(unsigned *)at = (unsigned)value;
	else
		*(uint64_t *)at = value;
}

static bool read_value(const char *command, const cop_option *row, void *settings, char *text)
{
	char option[40];
	void *at = (char *)settings + row->offset;
	uint64_t whole = 0;
	size_t place = 0;
	(void)snprintf(option, sizeof option, "%s%s", row->letter != 0 ? "-" : "--", row->name);
	switch (row->kind) {
	case COP_OPTION_FLAG:
		return *(bool *)at = true;
	case COP_OPTION_TEXT:
		*(const char **)at = text;
		return true;
	case COP_OPTION_NUMBER:
		return cop_command_number(command, option, text, row->low, row->high, at);
	case COP_OPTION_TIME:
		return cop_command_time(command, option, text, at);
	case COP_OPTION_WHOLE:
		if (!cop_command_whole(command, option, text, row->least, row->most, &whole))
			return false;
		store(row, at, whole);
		return true;
	case COP_OPTION_WORD:
		if (!cop_command_word(command, option, text, row->words, &place))
			return false;
		store(row, at, place + row->least);
		return true;
	default:
		return row->read(settings, row, text);
	}
}

bool cop_options_take(const char *command, const cop_option_set *set, const cop_option *row, char *text)
{
	if (set->given != NULL)
		set->given[row - set->rows] = true;
	return read_value(command, row, set->settings, text);
}

struct option cop_options_long(const cop_option *row, int value)
{
	bool none = row->kind == COP_OPTION_FLAG || row->kind == COP_OPTION_CALL_BARE;
	int argument = row->kind == COP_OPTION_CALL_OPTIONAL ? optional_argument : required_argument;
	if (row->kind == COP_OPTION_WORD)
		cop_option_list_words(row->name, row->words);
	return (struct option){ row->name, none ? no_argument : argument, NULL, value };
}

/* What getopt_long has to know. */
static void gather(const cop_options *o, struct option known[COP_OPTIONS_MOST + 2], char letters[16])
{
	int value = FIRST;
	size_t count = 0;
	strcpy(letters, o->in_order ? "+h" : "h");
	for (size_t s = 0; s < COP_OPTIONS_MOST_SETS && o->sets[s].rows != NULL; s++)
		for (const cop_option *row = o->sets[s].rows; row->name != NULL; row++, value++) {
			if (row->letter != 0) {
				const char with_argument[] = { row->letter, ':', '\0' };
				(void)strcat(letters, with_argument);
				continue;
			}
			COP_ASSERT(count < COP_OPTIONS_MOST);
			known[count++] = cop_options_long(row, value);
		}
	known[count] = (struct option){ "help", no_argument, NULL, 'h' };
	known[count + 1] = (struct option){ NULL, 0, NULL, 0 };
}

static bool take(const cop_options *o, int option)
{
	int value = FIRST;
	for (size_t s = 0; s < COP_OPTIONS_MOST_SETS && o->sets[s].rows != NULL; s++)
		for (const cop_option *row = o->sets[s].rows; row->name != NULL; row++, value++)
			if (option == (row->letter != 0 ? row->letter : value))
				return cop_options_take(o->command, &o->sets[s], row, optarg);
	return false; /* '?': getopt_long has complained */
}

int cop_options_next(const cop_options *options, int argc, char **argv)
{
	struct option known[COP_OPTIONS_MOST + 2];
	char letters[16];
	gather(options, known, letters);
	int option = cop_option_list_getopt(argc, argv, letters, known);
	if (option == -1)
		return COP_OPTIONS_END;
	if (option != 'h')
		return take(options, option) ? COP_OPTIONS_READ : COP_EXIT_USAGE;
	(void)fputs(options->usage, stdout);
	if (options->usage_end != NULL)
		options->usage_end(stdout);
	return 0;
}

int cop_options_read(const cop_options *options, int argc, char **argv)
{
	int status;
	optind = 1;
	while ((status = cop_options_next(options, argc, argv)) == COP_OPTIONS_READ)
		;
	return status == COP_OPTIONS_END ? COP_OPTIONS_READ : status;
}

const cop_option *cop_options_given(const cop_option_set *set, unsigned groups)
{
	for (const cop_option *row = set->rows; row->name != NULL; row++)
		if (set->given[row - set->rows] && (row->groups & groups) != 0)
			return row;
	return NULL;
}
