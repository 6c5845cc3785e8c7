/* The options of `coppice convert`, and which of them go together. */
#include <stdio.h>
#include <string.h>

#include "convert.h"
#include "tools/common/command.h"

#define NAME COP_CONVERT_NAME

static const char usage_text[] =

        "usage: coppice convert --from FORMAT --to FORMAT IN [IN ...] OUT [OPTION ...]\n\n"
        "Writes bandit logs in another format, or makes one of labelled rows: a logging\n"
        "policy chooses an arm for each row, whose cost is 0 if it was the class, else 1.\n"
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

typedef struct reading {
	cop_convert_options *o;
	cop_option_set own, reader;
} reading;

static bool read_base(void *options, const cop_option *row, char *text)
{
	static const char *const kinds[] = { "linear", "trees" };
	cop_convert_options *o = options;
	(void)row;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strcmp(kinds[i], text) == 0) {
			o->logging.base = i == 0 ? COP_LOGGING_LINEAR : COP_LOGGING_TREES;
			return true;
		}
	o->logging.base = COP_LOGGING_ARM;
	if (text[0] >= '0' && text[0] <= '9')
		return cop_command_whole(NAME, "--base", text, 0, COP_DATASET_MAX_CLASSES - 1, &o->logging.arm);
	return cop_command_complain(NAME, "--base: '%s' given, expected linear, trees or an arm's number", text);
}

static bool read_from(void *options, const cop_option *row, char *text)
{
	static const char *const sources[] = { "vw", "dsjson", "csv", "journal", "class", NULL };
	size_t place = 0;
	(void)row;
	((cop_convert_options *)options)->from = text;
	return cop_command_word(NAME, "--from", text, sources, &place);
}

static bool read_to(void *options, const cop_option *row, char *text)
{
	static const char *const formats[] = { "vw", "dsjson", "csv", NULL };
	size_t place = 0;
	(void)row;
	if (!cop_command_word(NAME, "--to", text, formats, &place))
		return false;
	((cop_convert_options *)options)->to = cop_event_writer_find(text);
	return true;
}

enum { CLASS = 1 }; /* a group: options of --from class */
enum {
	FROM,
	TO,
	EVENTS,
	ZEROS,
	RENAME,
	JSON,
	MODEL,
	LOGGING,
	EPSILON,
	TEMPERATURE,
	BASE,
	BASE_ROWS,
	SHUFFLE,
	PASSES,
	SEED,
	ROWS
};

static const char *const zeros_words[] = { "keep", "drop", NULL };
static const char *const logging_words[] = { "uniform", "epsilon", "softmax", "constant", NULL };

#define OF(member) COP_OPTION_OF(cop_convert_options, member)

static const cop_option own_rows[] = {
	[FROM] = { "from", COP_OPTION_CALL, .read = read_from },
	[TO] = { "to", COP_OPTION_CALL, .read = read_to },
	[EVENTS] = { "events", COP_OPTION_WHOLE, OF(events), 1, UINT64_MAX / 2 },
	[ZEROS] = { "zeros", COP_OPTION_WORD, OF(zeros), COP_CONVERT_ZEROS_KEEP, .words = zeros_words },
	[RENAME] = { "rename", COP_OPTION_FLAG, OF(rename) },
	[JSON] = { "json", COP_OPTION_FLAG, OF(json) },
	[MODEL] = { "model", COP_OPTION_TEXT, OF(reader.model) },
	[LOGGING] = { "logging", COP_OPTION_WORD, OF(logging.kind), .words = logging_words, .groups = CLASS },
	[EPSILON] = { "epsilon", COP_OPTION_NUMBER, OF(logging.epsilon), .low = 0.0, .high = 1.0, .groups = CLASS },
	[TEMPERATURE] = { "temperature", COP_OPTION_NUMBER, OF(logging.temperature), .low = 1e-6, .high = 1e6,
	        .groups = CLASS },
	[BASE] = { "base", COP_OPTION_CALL, .read = read_base, .groups = CLASS },
	[BASE_ROWS] = { "base-rows", COP_OPTION_WHOLE, OF(logging.rows), 1, COP_DATASET_MAX_ROWS, .groups = CLASS },
	[SHUFFLE] = { "shuffle", COP_OPTION_FLAG, OF(shuffle), .groups = CLASS },
	[PASSES] = { "passes", COP_OPTION_WHOLE, OF(passes), 1, 1000000, .groups = CLASS },
	[SEED] = { "seed", COP_OPTION_WHOLE, OF(logging.seed), 0, UINT64_MAX, .groups = CLASS },
	[ROWS] = { .name = NULL },
};

static bool complain(const char *text) { return cop_command_complain(NAME, "%s (coppice convert --help)", text); }

/* How a log is read; --cost has a meaning of its own for classes, and --on-error one for both. */
static bool is_reader_given(const cop_reader_options *reader)
{
	for (int option = COP_READER_FIRST; option < COP_READER_END; option++)
		if (option != COP_READER_COST && option != COP_READER_ON_ERROR &&
		        cop_reader_options_given(reader, option))
			return true;
	return false;
}

static bool check_classes(const reading *r)
{
	static const char *const costs[] = { "zero-one", "negative", NULL };
	cop_convert_options *o = r->o;
	cop_logging_kind kind = o->logging.kind;
	bool mixes = kind == COP_LOGGING_EPSILON || kind == COP_LOGGING_SOFTMAX;
	bool learned = mixes && o->logging.base != COP_LOGGING_ARM;
	const char *text = o->reader.reader.columns.cost;
	size_t cost = 0;
	if (is_reader_given(&o->reader) || r->own.given[MODEL])
		return complain("how a log is read does not go with --from class");
	if (text != NULL && !cop_command_word(NAME, "--cost", text, costs, &cost))
		return false;
	if (cost == 1) {
		o->cost_right = -1.0;
		o->cost_wrong = 0.0;
	}
	if (r->own.given[EPSILON] && !mixes)
		return complain("--epsilon goes with --logging epsilon or softmax");
	if (r->own.given[TEMPERATURE] && kind != COP_LOGGING_SOFTMAX)
		return complain("--temperature goes with --logging softmax");
	if (r->own.given[BASE] && kind == COP_LOGGING_UNIFORM)
		return complain("--base goes with --logging epsilon, softmax or constant");
	if (r->own.given[BASE] && kind == COP_LOGGING_CONSTANT && o->logging.base != COP_LOGGING_ARM)
		return complain("--logging constant: expected an arm's number for --base");
	if (r->own.given[BASE_ROWS] && !learned)
		return complain("--base-rows goes with --base linear or trees");
	if (!r->own.given[EPSILON])
		o->logging.epsilon = kind == COP_LOGGING_SOFTMAX ? 0.01 : 0.1;
	return true;
}

static bool check_logs(const reading *r)
{
	cop_convert_options *o = r->o;
	const cop_option *of_class = cop_options_given(&r->own, CLASS);
	if (of_class != NULL)
		return cop_command_complain(
		        NAME, "--%s goes with --from class (coppice convert --help)", of_class->name);
	o->reader.format = o->from;
	if (r->own.given[MODEL] && strcmp(o->from, "journal") != 0)
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
	bool given[ROWS] = { false };
	*out = (cop_convert_options){
		.logging = { .temperature = 0.1, .rows = 500, .seed = 1 },
		.passes = 1,
		.cost_wrong = 1.0,
	};
	cop_reader_options_init(&out->reader, NAME);
	const reading r = { out, { own_rows, out, given }, cop_reader_options_set(&out->reader) };
	const cop_options options = { NAME, usage_text, .sets = { r.own, r.reader } };
	int status = cop_options_read(&options, argc, argv);
	if (status != COP_OPTIONS_READ)
		return status;
	return take_files(out, argc - optind, argv + optind) && check_together(&r) ? -1 : COP_EXIT_USAGE;
}
