/* coppice bench: what deciding and learning cost, in this process and in a daemon. */
#include "bench.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_grid.h"
#include "bench_learners.h"
#include "client_echo.h"
#include "tools/common/command.h"

#define NAME "bench"

static const char usage_text[] = "usage: coppice bench [kernels] [--json]\n"
                                 "       coppice bench grid [--all] [--kernels NAME] [--json]\n"
                                 "       coppice bench events --learner NAME --events N [OPTION ...]\n"
                                 "       coppice bench load --endpoint EP --model NAME --features D [OPTION ...]\n"
                                 "       coppice bench parse --format FORMAT FILE [--as dense|hashed] [--json]\n"
                                 "       coppice bench daemon [--endpoint EP --model NAME] [OPTION ...]\n"
                                 "       coppice bench echo --endpoint EP\n\n"
                                 "kernels: medians of deciding and learning one event (54 features, 7 arms) by\n"
                                 "each learner, beside the bare cost of OpenBLAS on matrices of the same shape,\n"
                                 "and of the vector kernels.\n\n"
                                 "grid: kernels over shapes of models, each beside the machine's limit and beside\n"
                                 "OpenBLAS; then learners' events per second. --all: every shape. --kernels:\n"
                                 "plain, avx2 or avx512 instead of the widest.\n\n"
                                 "events: decides and learns, measuring nothing, for a tool that counts\n"
                                 "instructions (bench events --help).\n\n"
                                 "load: decides and teaches random contexts in a running daemon, one at a time and\n"
                                 "then pipelined. The model learns from them: use one that may.\n\n"
                                 "parse: reads a bandit log into events, as replay does, and tells how fast.\n\n"
                                 "daemon: a daemon beside a bare server that unpacks the same messages with\n"
                                 "msgpack-c and packs answers of the same shape, in turns: requests per second,\n"
                                 "and latency at half load. Starts a daemon of its own (learner dgt, journal on\n"
                                 "`interval`) in a temporary folder unless --endpoint names one, whose model then\n"
                                 "learns from it.\n\n"
                                 "daemon --refit: latency of a daemon's decisions at a quarter of what it\n"
                                 "sustains, with a refit under way in the worker and without, in turns. Always a\n"
                                 "daemon of its own.\n\n"
                                 "echo: that bare server alone, until it is terminated.\n\n"
                                 "  --endpoint EP   the daemon's request socket; echo: where to listen\n"
                                 "  --model NAME    the daemon's model, with --features D dense features (daemon:\n"
                                 "                  default 54)\n"
                                 "  --inflight N    requests under way at once in the pipelined part (default 64)\n"
                                 "  --events N      load: events of each part (default 20000); daemon --refit:\n"
                                 "                  events that are fitted, doubled until a refit outlasts a round\n"
                                 "                  (default 100000)\n"
                                 "  --batch B       events in one request (default 1; daemon: in its batches,\n"
                                 "                  default 64)\n"
                                 "  --timeout S     wait so long for an answer (default 5)\n"
                                 "  --arms K        daemon: arms of its own daemon's model (default 7)\n"
                                 "  --rounds N      daemon: how often both are measured (default 7)\n"
                                 "  --seconds S     daemon: so long for each measurement (default 0.5; with\n"
                                 "                  --refit 2)\n"
                                 "  --floats        daemon: contexts as arrays of float64, as scripts send them,\n"
                                 "                  instead of packed float32\n"
                                 "  --tcp           daemon: over loopback TCP instead of ipc\n"
                                 "  --refit         daemon: with a refit and without, instead of beside a bare\n"
                                 "                  server\n"
                                 "  --format FORMAT parse: vw, dsjson, csv or journal\n"
                                 "  --as dense|hashed\n"
                                 "                  parse: features to columns or to 2^18 places (default: as\n"
                                 "                  replay chooses)\n"
                                 "  --json          one JSON object on standard output\n";

enum {
	ENDPOINT = 256,
	MODEL,
	FEATURES,
	INFLIGHT,
	EVENTS,
	BATCH,
	TIMEOUT,
	FORMAT,
	AS,
	ARMS,
	ROUNDS,
	SECONDS,
	FLOATS,
	TCP,
	REFIT,
	JSON,
	HELP,
};

static const struct option long_options[] = {
	{ "endpoint", required_argument, NULL, ENDPOINT },
	{ "model", required_argument, NULL, MODEL },
	{ "features", required_argument, NULL, FEATURES },
	{ "inflight", required_argument, NULL, INFLIGHT },
	{ "events", required_argument, NULL, EVENTS },
	{ "batch", required_argument, NULL, BATCH },
	{ "timeout", required_argument, NULL, TIMEOUT },
	{ "format", required_argument, NULL, FORMAT },
	{ "as", required_argument, NULL, AS },
	{ "arms", required_argument, NULL, ARMS },
	{ "rounds", required_argument, NULL, ROUNDS },
	{ "seconds", required_argument, NULL, SECONDS },
	{ "floats", no_argument, NULL, FLOATS },
	{ "tcp", no_argument, NULL, TCP },
	{ "refit", no_argument, NULL, REFIT },
	{ "json", no_argument, NULL, JSON },
	{ "help", no_argument, NULL, HELP },
	{ NULL, 0, NULL, 0 },
};

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;
	return (x > y) - (x < y);
}

double cop_bench_quantile(double *samples, size_t count, double share)
{
	qsort(samples, count, sizeof *samples, ascending);
	size_t at = (size_t)(share * (double)count);
	return samples[at < count ? at : count - 1];
}

typedef enum kind { KERNELS, LOAD, PARSE, DAEMON, ECHO, KINDS } kind;

static const char *const kind_names[KINDS + 1] = { "kernels", "load", "parse", "daemon", "echo", NULL };

typedef struct options {
	cop_bench_load load; /* what daemon shares with it is here too */
	cop_bench_parse parse;
	cop_bench_daemon daemon;
	bool json;
	unsigned takers; /* bit k: kind k takes all options that were given */
} options;

/* Bits of the kinds that take an option. */
static unsigned takers_of(int option)
{
	switch (option) {
	case ENDPOINT:
		return 1u << LOAD | 1u << DAEMON | 1u << ECHO;
	case MODEL:
	case FEATURES:
	case INFLIGHT:
	case BATCH:
	case TIMEOUT:
		return 1u << LOAD | 1u << DAEMON;
	case EVENTS:
		return 1u << LOAD | 1u << DAEMON;
	case FORMAT:
	case AS:
		return 1u << PARSE;
	case JSON:
		return (1u << KINDS) - 1;
	default:
		return 1u << DAEMON;
	}
}

static bool read_load_option(cop_bench_load *load, int option)
{
	uint64_t whole = 0;
	bool ok;
	switch (option) {
	case ENDPOINT:
		load->endpoint = optarg;
		return true;
	case MODEL:
		load->model = optarg;
		return true;
	case FEATURES:
		ok = cop_command_whole(NAME, "--features", optarg, 1, 1000000, &whole);
		load->features = (size_t)whole;
		return ok;
	case INFLIGHT:
		return cop_command_whole(NAME, "--inflight", optarg, 1, 4096, &load->inflight);
	case EVENTS:
		return cop_command_whole(NAME, "--events", optarg, 1, 100000000, &load->events);
	case BATCH:
		return cop_command_whole(NAME, "--batch", optarg, 1, 4096, &load->batch);
	default:
		return cop_command_number(NAME, "--timeout", optarg, 0.001, 86400.0, &load->timeout);
	}
}

static bool read_parse_option(cop_bench_parse *parse, int option)
{
	static const char *const kinds[] = { "dense", "hashed", NULL };
	size_t place = 0;
	bool ok;
	if (option == FORMAT) {
		ok = cop_command_word(NAME, "--format", optarg, cop_reader_formats, &place);
		parse->format = cop_reader_formats[place];
		return ok;
	}
	ok = cop_command_word(NAME, "--as", optarg, kinds, &place);
	parse->features = place == 0 ? COP_READER_FEATURES_DENSE : COP_READER_FEATURES_HASHED;
	return ok;
}

static bool read_daemon_option(cop_bench_daemon *daemon, int option)
{
	uint64_t whole = 0;
	bool ok;
	switch (option) {
	case ARMS:
		ok = cop_command_whole(NAME, "--arms", optarg, 2, 65536, &whole);
		daemon->arms = (size_t)whole;
		return ok;
	case ROUNDS:
		ok = cop_command_whole(NAME, "--rounds", optarg, 1, 1000, &whole);
		daemon->rounds = (size_t)whole;
		return ok;
	case SECONDS:
		return cop_command_number(NAME, "--seconds", optarg, 0.001, 3600.0, &daemon->seconds);
	case FLOATS:
		daemon->floats = true;
		return true;
	case TCP:
		daemon->tcp = true;
		return true;
	default:
		daemon->refit = true;
		return true;
	}
}

static bool read_option(options *o, int option)
{
	o->takers &= takers_of(option);
	switch (option) {
	case JSON:
		o->json = true;
		return true;
	case FORMAT:
	case AS:
		return read_parse_option(&o->parse, option);
	case ARMS:
	case ROUNDS:
	case SECONDS:
	case FLOATS:
	case TCP:
	case REFIT:
		return read_daemon_option(&o->daemon, option);
	default:
		return read_load_option(&o->load, option);
	}
}

/* Gaps are filled with what daemon has other defaults for. */
static cop_err run_daemon(const options *o, cop_json_writer *json, cop_diag *diag)
{
	cop_bench_daemon daemon = o->daemon;
	daemon.endpoint = o->load.endpoint;
	daemon.model = o->load.model;
	daemon.features = o->load.features != 0 ? o->load.features : 54;
	daemon.inflight = (size_t)o->load.inflight;
	daemon.batch = o->load.batch != 0 ? (size_t)o->load.batch : 64;
	daemon.timeout = o->load.timeout;
	if (daemon.seconds <= 0.0)
		daemon.seconds = daemon.refit ? 2.0 : 0.5;
	daemon.events = o->load.events != 0 ? o->load.events : 100000;
	return daemon.refit ? cop_bench_refit_run(&daemon, json, diag) : cop_bench_daemon_run(&daemon, json, diag);
}

static cop_err run_kind(kind what, const options *o, cop_json_writer *json, cop_diag *diag)
{
	cop_bench_load load = o->load;
	load.batch = load.batch != 0 ? load.batch : 1;
	load.events = load.events != 0 ? load.events : 20000;
	switch (what) {
	case LOAD:
		return cop_bench_load_run(&load, json, diag);
	case PARSE:
		return cop_bench_parse_run(&o->parse, json, diag);
	case DAEMON:
		return run_daemon(o, json, diag);
	case ECHO:
		return cop_client_echo(o->load.endpoint, diag);
	default:
		return cop_bench_kernels(json, diag);
	}
}

static int run(kind what, const options *o)
{
	cop_json_writer *json = NULL;
	cop_diag diag = { 0 };
	cop_err err = o->json ? cop_json_writer_new(COP_JSON_COMPACT, &json) : COP_OK;
	if (json != NULL)
		cop_json_begin_object(json);
	if (err == COP_OK)
		err = run_kind(what, o, json, &diag);
	const char *text;
	if (err == COP_OK && json != NULL) {
		cop_json_end_object(json);
		err = cop_json_writer_finish(json, &text, NULL);
		if (err == COP_OK)
			(void)puts(text);
	}
	cop_json_writer_free(json);
	if (err == COP_OK)
		return fflush(stdout) == 0 ? 0 : COP_EXIT_FAILED;
	if (diag.message[0] == '\0')
		cop_diag_message(&diag, "%s", cop_err_text(err));
	return cop_command_failed(NAME, &diag);
}

/* What is wrong with the options for this kind; NULL: nothing. */
static const char *wrong(kind what, const options *o, bool word_too_many)
{
	const cop_bench_load *load = &o->load;
	bool both = load->endpoint != NULL && load->model != NULL;
	if (word_too_many)
		return "expected kernels, load, parse FILE, daemon or echo (coppice bench --help)";
	if (what == KERNELS && (o->takers & 1u << KERNELS) == 0)
		return "kernels takes no option but --json (coppice bench --help)";
	if ((o->takers & 1u << what) == 0)
		return "does not take all of these options (coppice bench --help)";
	if (what == LOAD && (!both || load->features == 0))
		return "load: expected --endpoint EP, --model NAME and --features D";
	if (what == PARSE && (o->parse.format == NULL || o->parse.path == NULL))
		return "parse: expected --format FORMAT and a FILE";
	if (what == DAEMON && !both && (load->endpoint != NULL || load->model != NULL))
		return "daemon: expected --endpoint EP and --model NAME, or neither";
	if (what == DAEMON && o->daemon.refit && both)
		return "daemon: --refit is of a daemon of its own; expected no --endpoint";
	if (what == DAEMON && !o->daemon.refit && load->events != 0)
		return "daemon: --events goes with --refit";
	if (what == ECHO && load->endpoint == NULL)
		return "echo: expected --endpoint EP";
	return NULL;
}

/* What is to be measured, from the words that are no options; false: complained. */
static bool read_words(int argc, char **argv, options *o, kind *what)
{
	const char *word = optind < argc ? argv[optind] : kind_names[KERNELS];
	size_t at = 0;
	while (at < KINDS && strcmp(word, kind_names[at]) != 0)
		at++;
	*what = (kind)at;
	o->parse.path = optind + 1 < argc ? argv[optind + 1] : NULL;
	const char *fault = wrong(*what, o, at == KINDS || argc > optind + (*what == PARSE ? 2 : 1));
	if (fault != NULL && strncmp(fault, "does", 4) == 0)
		cop_command_complain(NAME, "%s %s", word, fault);
	else if (fault != NULL)
		cop_command_complain(NAME, "%s", fault);
	return fault == NULL;
}

int cop_bench_command(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "grid") == 0) /* these have options of their own */
		return cop_bench_grid_command(argc - 1, argv + 1);
	if (argc > 1 && strcmp(argv[1], "events") == 0)
		return cop_bench_events_command(argc - 1, argv + 1);
	options o = {
		.load = { .inflight = 64, .timeout = 5.0 },
		.daemon = { .arms = 7, .rounds = 7 },
		.takers = (1u << KINDS) - 1,
	};
	kind what;
	optind = 1;
	for (int option; (option = getopt_long(argc, argv, "h", long_options, NULL)) != -1;) {
		if (option == HELP || option == 'h') {
			(void)fputs(usage_text, stdout);
			return 0;
		}
		if (option == '?' || !read_option(&o, option))
			return COP_EXIT_USAGE;
	}
	return read_words(argc, argv, &o, &what) ? run(what, &o) : COP_EXIT_USAGE;
}
