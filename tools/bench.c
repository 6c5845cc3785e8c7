/* coppice bench: what deciding and learning cost, in this process and in a daemon. */
#include "bench.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

#define NAME "bench"

static const char usage_text[] =
        "usage: coppice bench [kernels] [--json]\n"
        "       coppice bench load --endpoint EP --model NAME --features D [OPTION ...]\n\n"
        "kernels: medians of deciding and learning one event (54 features, 7 arms) by each learner, beside the bare "
        "cost\n"
        "of OpenBLAS on matrices of the same shape, and of the vector kernels.\n\n"
        "load: decides and teaches random contexts in a running daemon, one at a time and then pipelined. The model\n"
        "learns from them: use one that may.\n\n"
        "  --endpoint EP   the daemon's request socket\n"
        "  --model NAME    the daemon's model, with --features D dense features\n"
        "  --inflight N    requests under way at once in the pipelined part (default 64)\n"
        "  --events N      events of each part (default 20000)\n"
        "  --batch B       events in one request (default 1)\n"
        "  --timeout S     wait so long for an answer (default 5)\n"
        "  --json          one JSON object on standard output\n";

enum { ENDPOINT = 256, MODEL, FEATURES, INFLIGHT, EVENTS, BATCH, TIMEOUT, JSON, HELP };

static const struct option long_options[] = {
	{ "endpoint", required_argument, NULL, ENDPOINT },
	{ "model", required_argument, NULL, MODEL },
	{ "features", required_argument, NULL, FEATURES },
	{ "inflight", required_argument, NULL, INFLIGHT },
	{ "events", required_argument, NULL, EVENTS },
	{ "batch", required_argument, NULL, BATCH },
	{ "timeout", required_argument, NULL, TIMEOUT },
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

static bool read_option(cop_bench_load *load, bool *json, bool *of_load, int option)
{
	uint64_t whole = 0;
	bool ok;
	*of_load = *of_load || option != JSON;
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
	case TIMEOUT:
		return cop_command_number(NAME, "--timeout", optarg, 0.001, 86400.0, &load->timeout);
	default:
		*json = true;
		return true;
	}
}

static int run(const char *what, const cop_bench_load *load, bool as_json)
{
	cop_json_writer *json = NULL;
	cop_diag diag = { 0 };
	cop_err err = as_json ? cop_json_writer_new(COP_JSON_COMPACT, &json) : COP_OK;
	if (json != NULL)
		cop_json_begin_object(json);
	if (err == COP_OK)
		err = strcmp(what, "load") == 0 ? cop_bench_load_run(load, json, &diag)
		                                : cop_bench_kernels(json, &diag);
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
		cop_diag_set(&diag, "", 0, 0, "%s", cop_err_text(err));
	return cop_command_failed(NAME, &diag);
}

int cop_bench_command(int argc, char **argv)
{
	cop_bench_load load = { .inflight = 64, .events = 20000, .batch = 1, .timeout = 5.0 };
	bool json = false;
	bool of_load = false;
	optind = 1;
	for (int option; (option = getopt_long(argc, argv, "h", long_options, NULL)) != -1;) {
		if (option == HELP || option == 'h') {
			(void)fputs(usage_text, stdout);
			return 0;
		}
		if (option == '?' || !read_option(&load, &json, &of_load, option))
			return COP_EXIT_USAGE;
	}
	const char *what = optind < argc ? argv[optind] : "kernels";
	bool is_load = strcmp(what, "load") == 0;
	if (optind + 1 < argc || (!is_load && strcmp(what, "kernels") != 0)) {
		cop_command_complain(NAME, "expected kernels or load (coppice bench --help)");
		return COP_EXIT_USAGE;
	}
	if (!is_load && of_load) {
		cop_command_complain(NAME, "kernels takes no option but --json (coppice bench --help)");
		return COP_EXIT_USAGE;
	}
	if (is_load && (load.endpoint == NULL || load.model == NULL || load.features == 0)) {
		cop_command_complain(NAME, "load: expected --endpoint EP, --model NAME and --features D");
		return COP_EXIT_USAGE;
	}
	return run(what, &load, json);
}
