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
        "       coppice bench load --endpoint EP --model NAME --features D [OPTION ...]\n"
        "       coppice bench parse --format FORMAT FILE [--as dense|hashed] [--json]\n\n"
        "kernels: medians of deciding and learning one event (54 features, 7 arms) by each learner, beside the bare "
        "cost\n"
        "of OpenBLAS on matrices of the same shape, and of the vector kernels.\n\n"
        "load: decides and teaches random contexts in a running daemon, one at a time and then pipelined. The model\n"
        "learns from them: use one that may.\n\n"
        "parse: reads a bandit log into events, as replay does, and tells how fast.\n\n"
        "  --endpoint EP   the daemon's request socket\n"
        "  --model NAME    the daemon's model, with --features D dense features\n"
        "  --inflight N    requests under way at once in the pipelined part (default 64)\n"
        "  --events N      events of each part (default 20000)\n"
        "  --batch B       events in one request (default 1)\n"
        "  --timeout S     wait so long for an answer (default 5)\n"
        "  --format FORMAT parse: vw, dsjson, csv or journal\n"
        "  --as dense|hashed\n"
        "                  parse: features to columns or to 2^18 places (default: as replay chooses)\n"
        "  --json          one JSON object on standard output\n";

enum { ENDPOINT = 256, MODEL, FEATURES, INFLIGHT, EVENTS, BATCH, TIMEOUT, FORMAT, AS, JSON, HELP };

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

typedef enum kind { KERNELS, LOAD, PARSE } kind;

typedef struct options {
	cop_bench_load load;
	cop_bench_parse parse;
	bool json;
	bool of[PARSE + 1]; /* an option that only this one takes was given */
} options;

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

static bool read_option(options *o, int option)
{
	if (option == JSON) {
		o->json = true;
		return true;
	}
	bool of_parse = option == FORMAT || option == AS;
	o->of[of_parse ? PARSE : LOAD] = true;
	return of_parse ? read_parse_option(&o->parse, option) : read_load_option(&o->load, option);
}

static int run(kind what, const options *o)
{
	cop_json_writer *json = NULL;
	cop_diag diag = { 0 };
	cop_err err = o->json ? cop_json_writer_new(COP_JSON_COMPACT, &json) : COP_OK;
	if (json != NULL)
		cop_json_begin_object(json);
	if (err == COP_OK)
		err = what == LOAD    ? cop_bench_load_run(&o->load, json, &diag)
		      : what == PARSE ? cop_bench_parse_run(&o->parse, json, &diag)
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

/* What is to be measured, from the words that are no options; false: complained. */
static bool read_words(int argc, char **argv, options *o, kind *what)
{
	static const char *const names[] = { "kernels", "load", "parse" };
	const char *word = optind < argc ? argv[optind] : names[KERNELS];
	size_t at = 0;
	while (at <= PARSE && strcmp(word, names[at]) != 0)
		at++;
	*what = (kind)at;
	o->parse.path = optind + 1 < argc ? argv[optind + 1] : NULL;
	if (at > PARSE || argc > optind + (*what == PARSE ? 2 : 1))
		cop_command_complain(NAME, "expected kernels, load or parse FILE (coppice bench --help)");
	else if (*what == KERNELS && (o->of[LOAD] || o->of[PARSE]))
		cop_command_complain(NAME, "kernels takes no option but --json (coppice bench --help)");
	else if (*what != KERNELS && o->of[*what == LOAD ? PARSE : LOAD])
		cop_command_complain(NAME, "%s does not take all of these options (coppice bench --help)", word);
	else if (*what == LOAD && (o->load.endpoint == NULL || o->load.model == NULL || o->load.features == 0))
		cop_command_complain(NAME, "load: expected --endpoint EP, --model NAME and --features D");
	else if (*what == PARSE && (o->parse.format == NULL || o->parse.path == NULL))
		cop_command_complain(NAME, "parse: expected --format FORMAT and a FILE");
	else
		return true;
	return false;
}

int cop_bench_command(int argc, char **argv)
{
	options o = { .load = { .inflight = 64, .events = 20000, .batch = 1, .timeout = 5.0 } };
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
