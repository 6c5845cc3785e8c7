/* A row's place is its option's number above COP_READER_FIRST; its groups are the formats for which it means
 * something. */
#include "reader_options.h"

#include <string.h>

#include "base/assert.h"
#include "command.h"
#include "history/journal_history.h"

#define MOST_TOLD 10 /* complaints about events passed over; the others are only counted */

enum { VW = 1, DSJSON = 2, CSV = 4, JOURNAL = 8, TEXT = VW | DSJSON | CSV, NAMED = VW | DSJSON };

const char *const cop_reader_formats[] = { "vw", "dsjson", "csv", "journal", NULL };

static bool add_characters(const cop_reader_options *o, const char *option, char *list, size_t size, const char *text)
{
	size_t used = strlen(list);
	size_t length = strlen(text);
	if (length == 0 || length >= size - used)
		return cop_command_complain(
		        o->command, "%s: '%s' given, expected first characters of namespaces", option, text);
	memcpy(list + used, text, length + 1);
	return true;
}

/* Several lists of first characters are one. */
static bool read_keep(void *options, const cop_option *row, char *text)
{
	cop_reader_options *o = options;
	(void)row;
	return add_characters(o, "--keep", o->keep, sizeof o->keep, text);
}

static bool read_ignore(void *options, const cop_option *row, char *text)
{
	cop_reader_options *o = options;
	(void)row;
	return add_characters(o, "--ignore", o->ignore, sizeof o->ignore, text);
}

static bool read_pair(void *options, const cop_option *row, char *text)
{
	cop_reader_options *o = options;
	(void)row;
	if (strlen(text) != 2 || o->pair_count == COP_READER_MOST_PAIRS)
		return cop_command_complain(o->command,
		        "-q: '%s' given, expected the first characters of two namespaces, "
		        "at most %d times",
		        text, COP_READER_MOST_PAIRS);
	o->pairs[o->pair_count++] = text;
	return true;
}

static bool read_reward(void *options, const cop_option *row, char *text)
{
	cop_event_columns *columns = &((cop_reader_options *)options)->reader.columns;
	(void)row;
	columns->reward = true;
	columns->cost = text != NULL ? text : columns->cost;
	return true;
}

static const char *const firsts[] = { "0", "1", NULL };
static const char *const lines[] = { "one", "several", NULL };
static const char *const features[] = { "dense", "hashed", NULL };
static const char *const hashes[] = { "strings", "all", NULL };
static const char *const ends[] = { "stop", "skip", NULL };

#define OF(member) COP_OPTION_OF(cop_reader_options, member)

const cop_option cop_reader_options_rows[] = {
	{ "context", COP_OPTION_TEXT, OF(reader.columns.context), .groups = CSV },
	{ "action", COP_OPTION_TEXT, OF(reader.columns.action), .groups = CSV },
	{ "cost", COP_OPTION_TEXT, OF(reader.columns.cost), .groups = CSV },
	{ "probability", COP_OPTION_TEXT, OF(reader.columns.probability), .groups = CSV },
	{ "reward", COP_OPTION_CALL_OPTIONAL, .read = read_reward, .groups = CSV },
	{ "items", COP_OPTION_TEXT, OF(reader.columns.items), .groups = CSV },
	{ "first-action", COP_OPTION_WORD, OF(reader.action_from_one), .words = firsts, .groups = CSV },
	{ "assume-probability", COP_OPTION_NUMBER, OF(reader.assumed_probability), .low = COP_LOGGED_PROBABILITY_MIN,
	        .high = 1.0, .groups = TEXT },
	{ "lines", COP_OPTION_WORD, OF(reader.lines), COP_EVENT_LINES_ONE, .words = lines, .groups = VW },
	{ "features", COP_OPTION_WORD, OF(features), COP_READER_FEATURES_DENSE, .words = features, .groups = TEXT },
	{ "bits", COP_OPTION_WHOLE, OF(bits), 1, COP_FEATURE_SPACE_MAX_BITS, .groups = TEXT },
	{ "hash", COP_OPTION_WORD, OF(hash_all), .words = hashes, .groups = TEXT },
	{ "keep", COP_OPTION_CALL, .read = read_keep, .groups = NAMED },
	{ "ignore", COP_OPTION_CALL, .read = read_ignore, .groups = NAMED },
	{ "q", COP_OPTION_CALL, .read = read_pair, .groups = TEXT, .letter = 'q' },
	{ "on-error", COP_OPTION_WORD, OF(skip), .words = ends, .groups = TEXT | JOURNAL },
	{ .name = NULL },
};

#define ROWS (sizeof cop_reader_options_rows / sizeof *cop_reader_options_rows - 1)

void cop_reader_options_init(cop_reader_options *options, const char *command)
{
	*options = (cop_reader_options){ .command = command };
}

cop_option_set cop_reader_options_set(cop_reader_options *options)
{
	return (cop_option_set){ cop_reader_options_rows, options, options->given };
}

void cop_reader_options_join(const struct option *own, struct option *joined, size_t room)
{
	size_t used = 0;
	for (; own->name != NULL; own++) {
		COP_ASSERT(used < room);
		joined[used++] = *own;
	}
	for (size_t i = 0; i < ROWS; i++) {
		if (cop_reader_options_rows[i].letter != 0)
			continue;
		COP_ASSERT(used < room);
		joined[used++] = cop_options_long(&cop_reader_options_rows[i], COP_READER_FIRST + (int)i);
	}
	COP_ASSERT(used < room);
	joined[used] = (struct option){ NULL, 0, NULL, 0 };
}

bool cop_reader_options_has(int option)
{
	return option == 'q' || (option >= COP_READER_FIRST && option < COP_READER_END);
}

bool cop_reader_options_given(const cop_reader_options *options, int option)
{
	return options->given[option - COP_READER_FIRST];
}

bool cop_reader_options_read(cop_reader_options *options, int option, char *text)
{
	const cop_option_set set = cop_reader_options_set(options);
	option = option == 'q' ? COP_READER_PAIR : option;
	return cop_options_take(options->command, &set, &set.rows[option - COP_READER_FIRST], text);
}

static bool complain_format(const cop_reader_options *o, const cop_option *row)
{
	char expected[64] = "";
	for (size_t i = 0; cop_reader_formats[i] != NULL; i++)
		if ((row->groups & 1u << i) != 0) {
			(void)strcat(expected, expected[0] == '\0' ? "" : ", ");
			(void)strcat(expected, cop_reader_formats[i]);
		}
	return cop_command_complain(o->command, "%s%s goes with the format %s, not with %s (coppice %s --help)",
	        row->letter != 0 ? "-" : "--", row->name, expected, o->format, o->command);
}

static bool complain_together(const cop_reader_options *o, const char *text)
{
	return cop_command_complain(o->command, "%s (coppice %s --help)", text, o->command);
}

bool cop_reader_options_check(const cop_reader_options *options)
{
	size_t format = 0;
	if (!cop_command_word(options->command, "format", options->format, cop_reader_formats, &format))
		return false;
	for (size_t i = 0; i < ROWS; i++)
		if (options->given[i] && (cop_reader_options_rows[i].groups & 1u << format) == 0)
			return complain_format(options, &cop_reader_options_rows[i]);
	if (options->features == COP_READER_FEATURES_DENSE) {
		if (cop_reader_options_given(options, COP_READER_BITS) ||
		        cop_reader_options_given(options, COP_READER_HASH))
			return complain_together(options, "--bits and --hash go with --features hashed");
		if (options->pair_count > 0)
			return complain_together(options, "-q goes with --features hashed");
	}
	return true;
}

cop_err cop_reader_options_space_new(
        const cop_reader_options *options, bool otherwise_dense, cop_feature_space **out, cop_diag *diag)
{
	cop_feature_space_settings settings = {
		.dense = options->features == COP_READER_FEATURES_AUTO ? otherwise_dense
		                                                       : options->features == COP_READER_FEATURES_DENSE,
		.bits = options->bits,
		.hash_all = options->hash_all,
		.keep = options->keep[0] != '\0' ? options->keep : NULL,
		.ignore = options->ignore[0] != '\0' ? options->ignore : NULL,
		.pairs = options->pairs,
		.pair_count = options->pair_count,
	};
	bool hashed = options->pair_count > 0 || options->bits > 0 || options->hash_all;
	if (options->features == COP_READER_FEATURES_AUTO && hashed)
		settings.dense = false; /* they mean nothing else */
	return cop_feature_space_new(&settings, out, diag);
}

cop_err cop_reader_options_open(const cop_reader_options *options, const char *path, cop_feature_space *space,
        cop_event_reader **out, cop_diag *diag)
{
	*out = NULL;
	if (strcmp(options->format, "journal") == 0) {
		const cop_journal_history_settings journal = { .model = options->model, .skip = options->skip };
		return cop_journal_history_open(path, &journal, out, diag);
	}
	cop_event_reader_settings settings = options->reader;
	settings.space = space;
	const cop_event_format *format = cop_event_reader_format(options->format);
	COP_ASSERT(format != NULL); /* cop_reader_options_check */
	return cop_event_reader_open(format, path, &settings, out, diag);
}

cop_err cop_reader_options_next(const cop_reader_options *options, cop_event_reader *reader, cop_logged_event *event,
        uint64_t *skipped, cop_diag *diag)
{
	for (;;) {
		cop_err err = cop_event_reader_next(reader, event, diag);
		if (!options->skip || (err != COP_EFORMAT && err != COP_ENONFINITE))
			return err;
		if (++*skipped <= MOST_TOLD)
			(void)cop_command_failed(options->command, diag);
		if (*skipped == MOST_TOLD)
			cop_command_complain(options->command, "further bad events are counted, not shown");
	}
}
