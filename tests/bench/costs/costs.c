/* What this tree costs, for those who work on it: kernels beside the machine's limit and OpenBLAS, learners, a daemon
 * beside a bare server, decisions beside a refit. Built with the tests, not installed. */
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>

#include "bench_costs.h"
#include "bench_grid.h"
#include "bench_learners.h"
#include "client_echo.h"
#include "tools/common/options.h"
#include "tools/common/command.h"
#include "version.h"

/* ---- options ---- */

typedef struct options {
	const char *endpoint, *model;
	uint64_t features, inflight, batch, arms, rounds, events;
	double timeout, seconds;
	bool floats, tcp, json;
} options;

#define ROW(name, kind, member)                                                                                        \
	{                                                                                                              \
		name, COP_OPTION_##kind, COP_OPTION_OF(options, member)                                                \
	}
#define WHOLE(name, member, least, most)                                                                               \
	{                                                                                                              \
		name, COP_OPTION_WHOLE, COP_OPTION_OF(options, member), least, most                                    \
	}
#define NUMBER(name, member, from, to)                                                                                 \
	{                                                                                                              \
		name, COP_OPTION_NUMBER, COP_OPTION_OF(options, member), .low = from, .high = to                       \
	}
#define OWN_DAEMON                                                                                                     \
	WHOLE("features", features, 1, 1000000), WHOLE("inflight", inflight, 1, 4096), WHOLE("batch", batch, 1, 4096), \
	        NUMBER("timeout", timeout, 0.001, 86400.0), WHOLE("arms", arms, 2, 65536),                             \
	        WHOLE("rounds", rounds, 1, COP_BENCH_MOST_ROUNDS), NUMBER("seconds", seconds, 0.001, 3600.0),          \
	        ROW("floats", FLAG, floats), ROW("tcp", FLAG, tcp), ROW("json", FLAG, json)
#define END                                                                                                            \
	{                                                                                                              \
		.name = NULL                                                                                           \
	}

static const cop_option kernels_options[] = { ROW("json", FLAG, json), END };
static const cop_option daemon_options[] = { ROW("endpoint", TEXT, endpoint), ROW("model", TEXT, model), OWN_DAEMON,
	END };
static const cop_option refit_options[] = { WHOLE("events", events, 1, 100000000), OWN_DAEMON, END };
static const cop_option echo_options[] = { ROW("endpoint", TEXT, endpoint), END };

static const char kernels_usage[] = "usage: costs kernels [--json]\n\n"
                                    "Medians of deciding and learning one event (54 features, 7 arms) by each\n"
                                    "learner, beside the bare cost of OpenBLAS on matrices of the same shape, and of\n"
                                    "the vector kernels.\n\n"
                                    "  --json          one JSON object on standard output\n";

#define OWN_DAEMON_USAGE(most, seconds)                                                                                \
	"  --features D    dense features of the model (default 54)\n"                                                 \
	"  --arms K        arms of its own daemon's model (default 7)\n"                                               \
	"  --inflight N    requests under way at once (default 64)\n"                                                  \
	"  --batch B       events in a batch (default 64)\n"                                                           \
	"  --timeout S     wait so long for an answer (default 5)\n"                                                   \
	"  --rounds N      how often " most " (default 7)\n"                                                           \
	"  --seconds S     so long for each measurement (default " seconds ")\n"                                       \
	"  --floats        contexts as arrays of float64, as scripts send them,\n"                                     \
	"                  instead of packed float32\n"                                                                \
	"  --tcp           over loopback TCP instead of ipc\n"                                                         \
	"  --json          one JSON object on standard output\n"

static const char daemon_usage[] =
        "usage: costs daemon [--endpoint EP --model NAME] [OPTION ...]\n\n"
        "A daemon beside a bare server that unpacks the same messages with msgpack-c and\n"
        "packs answers of the same shape, in turns: requests per second, and latency at\n"
        "half load. Starts a daemon of its own (learner dgt, journal on `interval`) in a\n"
        "temporary folder unless --endpoint names one, whose model then learns from it.\n\n"
        "  --endpoint EP   the daemon's request socket\n"
        "  --model NAME    the daemon's model\n" OWN_DAEMON_USAGE("both are measured", "0.5");

static const char refit_usage[] = "usage: costs refit [OPTION ...]\n\n"
                                  "Latency of a daemon's decisions at a quarter of what it sustains, with a refit\n"
                                  "under way in the worker and without, in turns. Always a daemon of its own.\n\n"
                                  "  --events N      events that are fitted, doubled until a refit outlasts a round\n"
                                  "                  (default 100000)\n" OWN_DAEMON_USAGE("both are measured", "2");

static const char echo_usage[] = "usage: costs echo --endpoint EP\n\n"
                                 "The bare server of `costs daemon` alone, until it is terminated.\n\n"
                                 "  --endpoint EP   where to listen\n";

/* False with an exit status in *status: the command is over. No word but options is expected. */
static bool read_options(
        const char *name, const char *usage, const cop_option *table, int argc, char **argv, options *o, int *status)
{
	const cop_options command = { name, usage, .sets = { { table, o, NULL } } };
	*status = cop_options_read(&command, argc, argv);
	if (*status != COP_OPTIONS_READ)
		return false;
	if (optind == argc)
		return true;
	cop_command_complain(name, "unexpected word \"%s\" (costs %s --help)", argv[optind], name);
	*status = COP_EXIT_USAGE;
	return false;
}

static const options defaults = {
	.features = 54, .inflight = 64, .batch = 64, .arms = 7, .rounds = 7, .events = 100000, .timeout = 5.0
};

/* ---- subcommands ---- */

static int kernels_command(int argc, char **argv)
{
	options o = defaults;
	int status;
	if (!read_options("kernels", kernels_usage, kernels_options, argc, argv, &o, &status))
		return status;
	cop_json_writer *json = NULL;
	cop_diag diag = { 0 };
	cop_err err = cop_command_json_begin(o.json, &json);
	if (err == COP_OK)
		err = cop_bench_kernels(json, &diag);
	return cop_command_end("kernels", err, json, &diag);
}

static int measure(const char *name, const options *o, bool refit)
{
	const cop_bench_costs settings = {
		.endpoint = o->endpoint,
		.model = o->model,
		.features = (size_t)o->features,
		.arms = (size_t)o->arms,
		.requests = { .inflight = (size_t)o->inflight,
		        .batch = (size_t)o->batch,
		        .rounds = (size_t)o->rounds,
		        .seconds = o->seconds },
		.timeout = o->timeout,
		.floats = o->floats,
		.tcp = o->tcp,
		.refit = refit,
		.events = o->events,
	};
	cop_json_writer *json = NULL;
	cop_diag diag = { 0 };
	cop_err err = cop_command_json_begin(o->json, &json);
	if (err == COP_OK)
		err = refit ? cop_bench_refit_run(&settings, json, &diag)
		            : cop_bench_compare_run(&settings, json, &diag);
	return cop_command_end(name, err, json, &diag);
}

static int daemon_command(int argc, char **argv)
{
	options o = defaults;
	int status;
	o.seconds = 0.5;
	if (!read_options("daemon", daemon_usage, daemon_options, argc, argv, &o, &status))
		return status;
	if ((o.endpoint != NULL) != (o.model != NULL)) {
		cop_command_complain("daemon", "expected --endpoint EP and --model NAME, or neither");
		return COP_EXIT_USAGE;
	}
	return measure("daemon", &o, false);
}

static int refit_command(int argc, char **argv)
{
	options o = defaults;
	int status;
	o.seconds = 2.0;
	return read_options("refit", refit_usage, refit_options, argc, argv, &o, &status) ? measure("refit", &o, true)
	                                                                                  : status;
}

static int echo_command(int argc, char **argv)
{
	options o = defaults;
	int status;
	if (!read_options("echo", echo_usage, echo_options, argc, argv, &o, &status))
		return status;
	if (o.endpoint == NULL) {
		cop_command_complain("echo", "expected --endpoint EP");
		return COP_EXIT_USAGE;
	}
	cop_diag diag = { 0 };
	return cop_command_end("echo", cop_client_echo(o.endpoint, &diag), NULL, &diag);
}

int main(int argc, char **argv)
{
	static const cop_command commands[] = {
		{ "kernels", "learners and vector kernels, beside OpenBLAS", kernels_command },
		{ "grid", "kernels over a grid of shapes, beside the machine's limit", cop_bench_grid_command },
		{ "events", "decide and learn, for a tool that counts instructions", cop_bench_events_command },
		{ "daemon", "a daemon beside a bare server of the same messages", daemon_command },
		{ "refit", "latency of decisions with a refit under way and without", refit_command },
		{ "echo", "the bare server alone", echo_command },
	};
	static const cop_program program = { "costs", COP_VERSION, commands, sizeof commands / sizeof *commands };
	return cop_command_main(&program, argc, argv);
}
