/* One row per option: how getopt_long knows it, and the formats for which it means something. */
#include "reader_options.h"

#include <string.h>

#include "base/assert.h"
#include "command.h"
#include "history/journal_history.h"

#define MOST_TOLD 10 /* complaints about events passed over; the others are only counted */

enum { VW = 1, DSJSON = 2, CSV = 4, JOURNAL = 8, TEXT = VW | DSJSON | CSV, NAMED = VW | DSJSON };

const char *const cop_reader_formats[] = { "vw", "dsjson", "csv", "journal", NULL };

static const struct row {
	const char *name;
	int argument;
	int option;
	unsigned formats;
} rows[] = {
	{ "context", required_argument, COP_READER_CONTEXT, CSV },
	{ "action", required_argument, COP_READER_ACTION, CSV },
	{ "cost", required_argument, COP_READER_COST, CSV },
	{ "probability", required_argument, COP_READER_PROBABILITY, CSV },
	{ "reward", optional_argument, COP_READER_REWARD, CSV },
	{ "items", required_argument, COP_READER_ITEMS, CSV },
	{ "first-action", required_argument, COP_READER_FIRST_ACTION, CSV },
	{ "assume-probability", required_argument, COP_READER_ASSUME, TEXT },
	{ "lines", required_argument, COP_READER_LINES, VW },
	{ "features", required_argument, COP_READER_FEATURES, TEXT },
	{ "bits", required_argument, COP_READER_BITS, TEXT },
	{ "hash", required_argument, COP_READER_HASH, TEXT },
	{ "keep", required_argument, COP_READER_KEEP, NAMED },
	{ "ignore", required_argument, COP_READER_IGNORE, NAMED },
	{ NULL, required_argument, COP_READER_PAIR, TEXT },
	{ "on-error", required_argument, COP_READER_ON_ERROR, TEXT | JOURNAL },
};

#define ROWS (sizeof rows / sizeof *rows)

static const struct row *row_of(int option)
{
	option = option == 'q' ? COP_READER_PAIR : option;
	for (size_t i = 0; i < ROWS; i++)
		if (rows[i].option == option)
			return &rows[i];
	return NULL;
}

void cop_reader_options_init(cop_reader_options *options, const char *command)
{
	*options = (cop_reader_options){ .command = command };
}

void cop_reader_options_join(const struct option *own, struct option *joined, size_t room)
{
	size_t used = 0;
	for (; own->name != NULL; own++) {
		COP_ASSERT(used < room);
		joined[used++] = *own;
	}
	for (size_t i = 0; i < ROWS; i++) {
		if (rows[i].name == NULL)
			continue;
		COP_ASSERT(used < room);
		joined[used++] = (struct option){ rows[i].name, rows[i].argument, NULL, rows[i].option };
	}
	COP_ASSERT(used < room);
	joined[used] = (struct option){ NULL, 0, NULL, 0 };
}

bool cop_reader_options_has(int option) { return row_of(option) != NULL; }

bool cop_reader_options_given(const cop_reader_options *options, int option)
{
	return options->given[option - COP_READER_FIRST];
}

/* Several lists of first characters are one. */
static bool add_characters(const char *command, const char *option, char *list, size_t size, const char *text)
{
	size_t used = strlen(list);
	size_t length = strlen(text);
	if (length == 0 || length >= size - used) {
		cop_command_complain(command, "%s: '%s' given, expected first characters of namespaces", option, text);
		return false;
	}
	memcpy(list + used, text, length + 1);
	return true;
}

static bool add_pair(cop_reader_options *o, const char *text)
{
	if (strlen(text) != 2 || o->pair_count == COP_READER_MOST_PAIRS) {
		cop_command_complain(o->command,
		        "-q: '%s' given, expected the first characters of two namespaces, "
		        "at most %d times",
		        text, COP_READER_MOST_PAIRS);
		return false;
	}
	o->pairs[o->pair_count++] = text;
	return true;
}

static bool read_feature_option(cop_reader_options *o, int option, const char *text)
{
	static const char *const kinds[] = { "dense", "hashed", NULL };
	static const char *const hashes[] = { "strings", "all", NULL };
	size_t place = 0;
	uint64_t whole = 0;
	bool ok;
	switch (option) {
	case COP_READER_FEATURES:
		ok = cop_command_word(o->command, "--features", text, kinds, &place);
		o->features = place == 0 ? COP_READER_FEATURES_DENSE : COP_READER_FEATURES_HASHED;
		return ok;
	case COP_READER_BITS:
		ok = cop_command_whole(o->command, "--bits", text, 1, COP_FEATURE_SPACE_MAX_BITS, &whole);
		o->bits = (unsigned)whole;
		return ok;
	case COP_READER_HASH:
		ok = cop_command_word(o->command, "--hash", text, hashes, &place);
		o->hash_all = place == 1;
		return ok;
	case COP_READER_KEEP:
		return add_characters(o->command, "--keep", o->keep, sizeof o->keep, text);
	case COP_READER_IGNORE:
		return add_characters(o->command, "--ignore", o->ignore, sizeof o->ignore, text);
	default:
		return add_pair(o, text);
	}
}

static bool read_other_option(cop_reader_options *o, int option, const char *text)
{
	static const char *const firsts[] = { "0", "1", NULL };
	static const char *const lines[] = { "one", "several", NULL };
	static const char *const ends[] = { "stop", "skip", NULL };
	size_t place = 0;
	bool ok;
	switch (option) {
	case COP_READER_FIRST_ACTION:
		ok = cop_command_word(o->command, "--first-action", text, firsts, &place);
		o->reader.action_from_one = place == 1;
		return ok;
	case COP_READER_ASSUME:
		return cop_command_number(o->command, "--assume-probability", text, COP_LOGGED_PROBABILITY_MIN, 1.0,
		        &o->reader.assumed_probability);
	case COP_READER_LINES:
		ok = cop_command_word(o->command, "--lines", text, lines, &place);
		o->reader.lines = place == 0 ? COP_EVENT_LINES_ONE : COP_EVENT_LINES_SEVERAL;
		return ok;
	default:
		ok = cop_command_word(o->command, "--on-error", text, ends, &place);
		o->skip = place == 1;
		return ok;
	}
}

bool cop_reader_options_read(cop_reader_options *options, int option, const char *text)
{
	cop_event_columns *columns = &options->reader.columns;
	option = option == 'q' ? COP_READER_PAIR : option;
	options->given[option - COP_READER_FIRST] = true;
	switch (option) {
	case COP_READER_CONTEXT:
		columns->context = text;
		return true;
	case COP_READER_ACTION:
		columns->action = text;
		return true;
	case COP_READER_COST:
		columns->cost = text;
		return true;
	case COP_READER_PROBABILITY:
		columns->probability = text;
		return true;
	case COP_READER_REWARD:
		columns->reward = true;
		columns->cost = text != NULL ? text : columns->cost;
		return true;
	case COP_READER_ITEMS:
		columns->items = text;
		return true;
	default:
		return option >= COP_READER_FEATURES && option <= COP_READER_PAIR
		               ? read_feature_option(options, option, text)
		               : read_other_option(options, option, text);
	}
}

static const char *shown(const struct row *row) { return row->name == NULL ? "q" : row->name; }

static bool complain_format(const cop_reader_options *o, const struct row *row)
{
	char expected[64] = "";
	for (size_t i = 0; cop_reader_formats[i] != NULL; i++)
		if ((row->formats & 1u << i) != 0) {
			(void)strcat(expected, expected[0] == '\0' ? "" : ", ");
			(void)strcat(expected, cop_reader_formats[i]);
		}
	cop_command_complain(o->command, "%s%s goes with the format %s, not with %s (coppice %s --help)",
	        row->name == NULL ? "-" : "--", shown(row), expected, o->format, o->command);
	return false;
}

static bool complain_together(const cop_reader_options *o, const char *text)
{
	cop_command_complain(o->command, "%s (coppice %s --help)", text, o->command);
	return false;
}

bool cop_reader_options_check(const cop_reader_options *options)
{
	size_t format = 0;
	if (!cop_command_word(options->command, "format", options->format, cop_reader_formats, &format))
		return false;
	for (size_t i = 0; i < ROWS; i++)
		if (cop_reader_options_given(options, rows[i].option) && (rows[i].formats & 1u << format) == 0)
			return complain_format(options, &rows[i]);
	if (options->features == COP_READER_FEATURES_DENSE) {
		if (cop_reader_options_given(options, COP_READER_BITS) ||
		        cop_reader_options_given(options, COP_READER_HASH))
			return complain_together(options, "--bits and --hash go with --features hashed");
		if (options->pair_count > 0)
			return complain_together(options, "-q goes with --features hashed");
	}
	return true;
}

cop_err cop_reader_space_new(
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

cop_err cop_reader_open(const cop_reader_options *options, const char *path, cop_feature_space *space,
        cop_event_reader **out, cop_diag *diag)
{
	*out = NULL;
	if (strcmp(options->format, "journal") == 0) {
		const cop_journal_history_settings journal = { .model = options->model, .skip = options->skip };
		return cop_journal_history_open(path, &journal, out, diag);
	}
	cop_event_reader_settings settings = options->reader;
	settings.space = space;
	const cop_event_format *format = cop_event_format_find(options->format);
	COP_ASSERT(format != NULL); /* cop_reader_options_check */
	return cop_event_reader_open(format, path, &settings, out, diag);
}

cop_err cop_reader_next(const cop_reader_options *options, cop_event_reader *reader, cop_logged_event *event,
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
