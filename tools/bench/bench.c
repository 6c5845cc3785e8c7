/* coppice bench: a running daemon's rates and latencies, and how fast logs are read. Options may stand before the word
 * that names what is measured, so all are read first and then compared with what that kind takes. */
#include "bench.h"

#include <stdio.h>
#include <string.h>

#include "tools/common/command.h"
#include "tools/common/options.h"

#define NAME "bench"

static const char usage_text[] = "usage: coppice bench load --endpoint EP --model NAME --features D [OPTION ...]\n"
                                 "       coppice bench daemon --endpoint EP --model NAME --features D [OPTION ...]\n"
                                 "       coppice bench parse --format FORMAT FILE [--as dense|hashed] [--json]\n\n"
                                 "load: sends random contexts and their losses to a running daemon, one at a time\n"
                                 "and then pipelined. The model learns from them: use a model for trials.\n\n"
                                 "daemon: the rates of four kinds of requests that a running daemon answers, and\n"
                                 "the latency of decisions at half of the rate at which it decides and learns,\n"
                                 "counted from when each was to leave. The model learns from them: use a model\n"
                                 "for trials.\n\n"
                                 "parse: reads a bandit log into events, as replay does, and reports how fast.\n\n"
                                 "  --endpoint EP   the daemon's request socket\n"
                                 "  --key FILE      the client's secret key, where the endpoint is encrypted\n"
                                 "  --server-key FILE\n"
                                 "                  the daemon's public key\n"
                                 "  --model NAME    the daemon's model, which has --features D dense features\n"
                                 "  --inflight N    requests under way at once in the pipelined parts (default 64)\n"
                                 "  --events N      load: events of each part (default 20000)\n"
                                 "  --batch B       events in one request (default 1; daemon: in its batches,\n"
                                 "                  default 64)\n"
                                 "  --timeout S     wait so long for an answer (default 5)\n"
                                 "  --rounds N      daemon: how often each figure is measured (default 7)\n"
                                 "  --seconds S     daemon: so long for each measurement (default 0.5)\n"
                                 "  --floats        daemon: contexts as arrays of float64, as scripts send them,\n"
                                 "                  instead of packed float32\n"
                                 "  --format FORMAT parse: vw, dsjson, csv or journal\n"
                                 "  --as dense|hashed\n"
                                 "                  parse: features to columns or to 2^18 places (default: as\n"
                                 "                  replay chooses)\n"
                                 "  --json          one JSON object on standard output\n";

typedef enum kind { LOAD, DAEMON, PARSE, KINDS } kind;

static const char *const kind_names[KINDS] = { "load", "daemon", "parse" };

typedef struct options {
	const char *endpoint, *model, *path;
	cop_client_keys keys;
	uint64_t features, inflight, events, batch, rounds;
	uint64_t format, as; /* places in their words, from 1 */
	double timeout, seconds;
	bool floats, json;
} options;

static const char *const as_words[] = { "dense", "hashed", NULL };

/* Groups: the kinds that an option is not for. */
enum { NOT_LOAD = 1 << LOAD, NOT_DAEMON = 1 << DAEMON, NOT_PARSE = 1 << PARSE };

#define OF(member) COP_OPTION_OF(options, member)

static const cop_option rows[] = {
	{ "endpoint", COP_OPTION_TEXT, OF(endpoint), .groups = NOT_PARSE },
	{ "key", COP_OPTION_TEXT, OF(keys.own), .groups = NOT_PARSE },
	{ "server-key", COP_OPTION_TEXT, OF(keys.server), .groups = NOT_PARSE },
	{ "model", COP_OPTION_TEXT, OF(model), .groups = NOT_PARSE },
	{ "features", COP_OPTION_WHOLE, OF(features), 1, 1000000, .groups = NOT_PARSE },
	{ "inflight", COP_OPTION_WHOLE, OF(inflight), 1, 4096, .groups = NOT_PARSE },
	{ "events", COP_OPTION_WHOLE, OF(events), 1, 100000000, .groups = NOT_DAEMON | NOT_PARSE },
	{ "batch", COP_OPTION_WHOLE, OF(batch), 1, 4096, .groups = NOT_PARSE },
	{ "timeout", COP_OPTION_NUMBER, OF(timeout), .low = 0.001, .high = 86400.0, .groups = NOT_PARSE },
	{ "rounds", COP_OPTION_WHOLE, OF(rounds), 1, COP_BENCH_MOST_ROUNDS, .groups = NOT_LOAD | NOT_PARSE },
	{ "seconds", COP_OPTION_NUMBER, OF(seconds), .low = 0.001, .high = 3600.0, .groups = NOT_LOAD | NOT_PARSE },
	{ "floats", COP_OPTION_FLAG, OF(floats), .groups = NOT_LOAD | NOT_PARSE },
	{ "format", COP_OPTION_WORD, OF(format), 1, .words = cop_reader_formats, .groups = NOT_LOAD | NOT_DAEMON },
	{ "as", COP_OPTION_WORD, OF(as), 1, .words = as_words, .groups = NOT_LOAD | NOT_DAEMON },
	{ "json", COP_OPTION_FLAG, OF(json) },
	{ .name = NULL },
};

static cop_err run_load(const options *o, cop_json_writer *json, cop_diag *diag)
{
	const cop_bench_load load = {
		.endpoint = o->endpoint,
		.keys = o->keys,
		.model = o->model,
		.features = (size_t)o->features,
		.inflight = o->inflight,
		.events = o->events,
		.batch = o->batch != 0 ? o->batch : 1,
		.timeout = o->timeout,
	};
	return cop_bench_load_run(&load, json, diag);
}

static cop_err run_daemon(const options *o, cop_json_writer *json, cop_diag *diag)
{
	const cop_bench_daemon daemon = {
		.target = { .endpoint = o->endpoint,
		        .keys = o->keys,
		        .model = o->model,
		        .features = (size_t)o->features,
		        .floats = o->floats,
		        .timeout = o->timeout },
		.requests = { .inflight = (size_t)o->inflight,
		        .batch = o->batch != 0 ? (size_t)o->batch : 64,
		        .rounds = (size_t)o->rounds,
		        .seconds = o->seconds },
	};
	return cop_bench_daemon_run(&daemon, json, diag);
}

static cop_err run_parse(const options *o, cop_json_writer *json, cop_diag *diag)
{
	static const cop_reader_features features[] = { COP_READER_FEATURES_AUTO, COP_READER_FEATURES_DENSE,
		COP_READER_FEATURES_HASHED };
	const cop_bench_parse parse = {
		.path = o->path, .format = cop_reader_formats[o->format - 1], .features = features[o->as]
	};
	return cop_bench_parse_run(&parse, json, diag);
}

static int run(kind what, const options *o)
{
	static cop_err (*const runs[KINDS])(
	        const options *, cop_json_writer *, cop_diag *) = { run_load, run_daemon, run_parse };
	cop_json_writer *json = NULL;
	cop_diag diag = { 0 };
	cop_err err = cop_command_json_begin(o->json, &json);
	if (err == COP_OK)
		err = runs[what](o, json, &diag);
	return cop_command_end(NAME, err, json, &diag);
}

/* What is wrong with the options for this kind; NULL: nothing. */
static const char *wrong(kind what, const options *o, const cop_option_set *set, bool word_too_many)
{
	if (word_too_many)
		return "expected load, daemon or parse FILE (coppice bench --help)";
	if (cop_options_given(set, 1u << what) != NULL)
		return "does not take all of these options (coppice bench --help)";
	if (what == PARSE)
		return o->format == 0 || o->path == NULL ? "expected --format FORMAT and a FILE" : NULL;
	bool whole = o->endpoint != NULL && o->model != NULL && o->features != 0;
	if ((o->keys.own == NULL) != (o->keys.server == NULL))
		return "--key and --server-key go together";
	return whole ? NULL : "expected --endpoint EP, --model NAME and --features D";
}

/* What is to be measured, from the words that are no options; false: complained. */
static bool read_words(int argc, char **argv, const cop_option_set *set, options *o, kind *what)
{
	const char *word = optind < argc ? argv[optind] : "";
	size_t at = 0;
	while (at < KINDS && strcmp(word, kind_names[at]) != 0)
		at++;
	*what = (kind)at;
	o->path = optind + 1 < argc ? argv[optind + 1] : NULL;
	bool too_many = at == KINDS || argc > optind + (*what == PARSE ? 2 : 1);
	const char *fault = wrong(*what, o, set, too_many);
	if (fault != NULL && too_many)
		cop_command_complain(NAME, "%s", fault);
	else if (fault != NULL)
		cop_command_complain(NAME, strncmp(fault, "does", 4) == 0 ? "%s %s" : "%s: %s", word, fault);
	return fault == NULL;
}

int cop_command_bench(int argc, char **argv)
{
	options o = { .inflight = 64, .events = 20000, .rounds = 7, .seconds = 0.5, .timeout = 5.0 };
	bool given[sizeof rows / sizeof *rows] = { false };
	const cop_options table = { NAME, usage_text, .sets = { { rows, &o, given } } };
	kind what;
	int status = cop_options_read(&table, argc, argv);
	if (status != COP_OPTIONS_READ)
		return status;
	return read_words(argc, argv, &table.sets[0], &o, &what) ? run(what, &o) : COP_EXIT_USAGE;
}
