/* The options of `coppice convert`, and which of them go together. */
#include <stdio.h>
#include <string.h>

#include "convert.h"
#include "tools/common/command.h"

#define NAME   COP_CONVERT_NAME
#define JOINED 64

static const char usage_text[] =

        "usage: coppice convert --from FORMAT --to FORMAT IN [IN ...] OUT [OPTION ...]\n\n"
        "Writes bandit logs in another format, or makes one of labelled rows: a logging\n"
        "policy chooses an arm for each row, whose cost says whether it was the class.\n"
        "'-' is standard input or output; .gz and .zst are compressed.\n\n"
        "  --from FORMAT        vw, dsjson, csv or journal (a folder or segment); class:\n"
        "                       csv or libsvm rows whose last column (libsvm: first) is\n"
        "                       the class, 0, 1 ...\n"
        "  --to FORMAT          vw, dsjson or csv\n"
        "  --events N           stop after N events\n"
        "  --zeros keep|drop    vw, dsjson: whether columns of value zero are written\n"
        "                       (default: drop when IN is vw or dsjson, else keep)\n"
        "  --rename             what the format cannot have in names becomes '_'\n"
        "                       (default: it is an error)\n"
        "  --json               one JSON object on standard output\n\n"
        "From class:\n"
        "  --logging POLICY     uniform (default), epsilon, softmax, or constant\n"
        "  --epsilon E          share of uniform exploration (default: epsilon 0.1,\n"
        "                       softmax 0.01)\n"
        "  --temperature T      softmax: of predicted costs (default 0.1)\n"
        "  --base linear|trees|K\n"
        "                       epsilon and softmax: the policy's model, fitted to the\n"
        "                       first rows (default linear), or always arm K; constant:\n"
        "                       the arm (default 0)\n"
        "  --base-rows N        rows from which the model learns (default 500)\n"
        "  --cost zero-one|negative\n"
        "                       of the class and of other arms: 0 and 1 (default), or -1\n"
        "                       and 0\n"
        "  --shuffle            rows in random order, another one in each pass\n"
        "  --passes P           passes over the rows (default 1)\n"
        "  --seed S             of order, draws and model (default 1)\n\n"
        "From journal:\n"
        "  --model NAME         the model whose events are converted (default: the\n"
        "                       journal's only one)\n\n"
        "How a log is read:\n" COP_READER_USAGE;

enum {
	FROM = 1000,
	TO,
	EVENTS,
	ZEROS,
	RENAME,
	JSON,
	MODEL,
	LOGGING, /* from here on: class */
	EPSILON,
	TEMPERATURE,
	BASE,
	BASE_ROWS,
	SHUFFLE,
	PASSES,
	SEED,
	HELP,
};

static const struct option own[] = {
	{ "from", required_argument, NULL, FROM },
	{ "to", required_argument, NULL, TO },
	{ "events", required_argument, NULL, EVENTS },
	{ "zeros", required_argument, NULL, ZEROS },
	{ "rename", no_argument, NULL, RENAME },
	{ "json", no_argument, NULL, JSON },
	{ "model", required_argument, NULL, MODEL },
	{ "logging", required_argument, NULL, LOGGING },
	{ "epsilon", required_argument, NULL, EPSILON },
	{ "temperature", required_argument, NULL, TEMPERATURE },
	{ "base", required_argument, NULL, BASE },
	{ "base-rows", required_argument, NULL, BASE_ROWS },
	{ "shuffle", no_argument, NULL, SHUFFLE },
	{ "passes", required_argument, NULL, PASSES },
	{ "seed", required_argument, NULL, SEED },
	{ "help", no_argument, NULL, HELP },
	{ NULL, 0, NULL, 0 },
};

typedef struct reading {
	cop_convert_options *o;
	bool given[HELP - FROM];
	bool reader_given; /* any option of readers but --cost */
	const char *cost;
} reading;

static bool read_base(cop_convert_options *o, const char *text)
{
	static const char *const kinds[] = { "linear", "trees" };
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strcmp(kinds[i], text) == 0) {
			o->logging.base = i == 0 ? COP_LOGGING_LINEAR : COP_LOGGING_TREES;
			return true;
		}
	o->logging.base = COP_LOGGING_ARM;
	if (text[0] >= '0' && text[0] <= '9')
		return cop_command_whole(NAME, "--base", text, 0, COP_DATASET_MAX_CLASSES - 1, &o->logging.arm);
	cop_command_complain(NAME, "--base: '%s' given, expected linear, trees or an arm's number", text);
	return false;
}

static bool read_class_option(cop_convert_options *o, int option, const char *text)
{
	static const char *const policies[] = { "uniform", "epsilon", "softmax", "constant", NULL };
	size_t place = 0;
	uint64_t whole = 0;
	bool ok;
	switch (option) {
	case LOGGING:
		ok = cop_command_word(NAME, "--logging", text, policies, &place);
		o->logging.kind = (cop_logging_kind)place;
		return ok;
	case EPSILON:
		return cop_command_number(NAME, "--epsilon", text, 0.0, 1.0, &o->logging.epsilon);
	case TEMPERATURE:
		return cop_command_number(NAME, "--temperature", text, 1e-6, 1e6, &o->logging.temperature);
	case BASE:
		return read_base(o, text);
	case BASE_ROWS:
		ok = cop_command_whole(NAME, "--base-rows", text, 1, COP_DATASET_MAX_ROWS, &whole);
		o->logging.rows = (size_t)whole;
		return ok;
	case SHUFFLE:
		o->shuffle = true;
		return true;
	case PASSES:
		return cop_command_whole(NAME, "--passes", text, 1, 1000000, &o->passes);
	default:
		return cop_command_whole(NAME, "--seed", text, 0, UINT64_MAX, &o->logging.seed);
	}
}

static bool read_to(cop_convert_options *o, const char *text)
{
	static const char *const formats[] = { "vw", "dsjson", "csv", NULL };
	size_t place = 0;
	if (!cop_command_word(NAME, "--to", text, formats, &place))
		return false;
	o->to = cop_event_writer_find(text);
	return true;
}

static bool read_own_option(cop_convert_options *o, int option, const char *text)
{
	static const char *const sources[] = { "vw", "dsjson", "csv", "journal", "class", NULL };
	static const char *const zeros[] = { "keep", "drop", NULL };
	size_t place = 0;
	bool ok;
	switch (option) {
	case FROM:
		o->from = text;
		return cop_command_word(NAME, "--from", text, sources, &place);
	case TO:
		return read_to(o, text);
	case EVENTS:
		return cop_command_whole(NAME, "--events", text, 1, UINT64_MAX / 2, &o->events);
	case ZEROS:
		ok = cop_command_word(NAME, "--zeros", text, zeros, &place);
		o->zeros = place == 0 ? COP_CONVERT_ZEROS_KEEP : COP_CONVERT_ZEROS_DROP;
		return ok;
	case RENAME:
		o->rename = true;
		return true;
	case JSON:
		o->json = true;
		return true;
	case MODEL:
		o->reader.model = text;
		return true;
	default:
		return read_class_option(o, option, text);
	}
}

/* --cost is a column, or what classes cost: which one shows when all options are read. */
static bool read_option(reading *r, int option, const char *text)
{
	if (option == COP_READER_COST)
		r->cost = text;
	else if (cop_reader_options_has(option) && option != COP_READER_ON_ERROR)
		r->reader_given = true;
	if (cop_reader_options_has(option))
		return cop_reader_options_read(&r->o->reader, option, text);
	r->given[option - FROM] = true;
	return read_own_option(r->o, option, text);
}

static bool complain(const char *text)
{
	cop_command_complain(NAME, "%s (coppice convert --help)", text);
	return false;
}

static bool check_classes(const reading *r)
{
	static const char *const costs[] = { "zero-one", "negative", NULL };
	cop_convert_options *o = r->o;
	cop_logging_kind kind = o->logging.kind;
	bool mixes = kind == COP_LOGGING_EPSILON || kind == COP_LOGGING_SOFTMAX;
	bool learned = mixes && o->logging.base != COP_LOGGING_ARM;
	size_t cost = 0;
	if (r->reader_given || r->given[MODEL - FROM])
		return complain("how a log is read does not go with --from class");
	if (r->cost != NULL && !cop_command_word(NAME, "--cost", r->cost, costs, &cost))
		return false;
	if (cost == 1) {
		o->cost_right = -1.0;
		o->cost_wrong = 0.0;
	}
	if (r->given[EPSILON - FROM] && !mixes)
		return complain("--epsilon goes with --logging epsilon or softmax");
	if (r->given[TEMPERATURE - FROM] && kind != COP_LOGGING_SOFTMAX)
		return complain("--temperature goes with --logging softmax");
	if (r->given[BASE - FROM] && kind == COP_LOGGING_UNIFORM)
		return complain("--base goes with --logging epsilon, softmax or constant");
	if (r->given[BASE - FROM] && kind == COP_LOGGING_CONSTANT && o->logging.base != COP_LOGGING_ARM)
		return complain("--logging constant: expected an arm's number for --base");
	if (r->given[BASE_ROWS - FROM] && !learned)
		return complain("--base-rows goes with --base linear or trees");
	if (!r->given[EPSILON - FROM])
		o->logging.epsilon = kind == COP_LOGGING_SOFTMAX ? 0.01 : 0.1;
	return true;
}

static bool check_logs(const reading *r)
{
	cop_convert_options *o = r->o;
	for (int option = LOGGING; option < HELP; option++)
		if (r->given[option - FROM]) {
			cop_command_complain(
			        NAME, "--%s goes with --from class (coppice convert --help)", own[option - FROM].name);
			return false;
		}
	o->reader.format = o->from;
	if (r->given[MODEL - FROM] && strcmp(o->from, "journal") != 0)
		return complain("--model goes with --from journal");
	return cop_reader_options_check(&o->reader);
}

static bool check_together(const reading *r)
{
	cop_convert_options *o = r->o;
	size_t inputs = 0;
	if (o->from == NULL || o->to == NULL)
		return complain(o->from == NULL ? "expected --from FORMAT" : "expected --to FORMAT");
	if (o->files == 0 || o->out == NULL)
		return complain("expected IN and OUT");
	for (size_t i = 0; i < o->files; i++)
		inputs += strcmp(o->in[i], "-") == 0;
	if (inputs > 1)
		return complain("standard input can be read once only");
	if (o->json && strcmp(o->out, "-") == 0)
		return complain("--json and OUT cannot both go to standard output");
	if (o->zeros != COP_CONVERT_ZEROS_AUTO && o->to == cop_event_writer_find("csv"))
		return complain("--zeros goes with --to vw or dsjson");
	return strcmp(o->from, "class") == 0 ? check_classes(r) : check_logs(r);
}

static bool take_files(cop_convert_options *o, int count, char **files)
{
	if (count < 2 || count > COP_CONVERT_MOST_FILES)
		return complain(count < 2 ? "expected IN and OUT" : "more than 63 files");
	o->files = (size_t)count - 1;
	for (size_t i = 0; i < o->files; i++)
		o->in[i] = files[i];
	o->out = files[count - 1];
	return true;
}

int cop_convert_options_read(int argc, char **argv, cop_convert_options *out)
{
	struct option joined[JOINED];
	reading r = { .o = out };
	*out = (cop_convert_options){
		.logging = { .temperature = 0.1, .rows = 500, .seed = 1 },
		.passes = 1,
		.cost_wrong = 1.0,
	};
	cop_reader_options_init(&out->reader, NAME);
	cop_reader_options_join(own, joined, JOINED);
	optind = 1;
	for (;;) {
		int option = getopt_long(argc, argv, "h" COP_READER_SHORT_OPTIONS, joined, NULL);
		if (option == -1)
			break;
		if (option == HELP || option == 'h') {
			(void)fputs(usage_text, stdout);
			return 0;
		}
		if (option == '?' || !read_option(&r, option, optarg))
			return COP_EXIT_USAGE;
	}
	return take_files(out, argc - optind, argv + optind) && check_together(&r) ? -1 : COP_EXIT_USAGE;
}
