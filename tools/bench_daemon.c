/* Echo and daemon are measured in turns, part by part; of each part, the median over the rounds, and the median of the
 * rounds' ratios: what disturbs the machine for longer than a round disturbs both. */
#include <signal.h>
#include <stdio.h>

#include "base/mem.h"
#include "bench.h"
#include "bench_drive.h"
#include "bench_pair.h"

#define MOST_ROUNDS     1000
#define BATCHES         4 /* under way */
#define OWN_MODEL       "bench"
#define LOAD_OF_LATENCY 0.5 /* of what the daemon sustains: decisions that it learns from too */

enum { ECHO, DAEMON, SIDES };
enum { ALONE, PIPELINED, LEARNED, BATCHED, PARTS };
enum { P50, P99, P999, QUANTILES };

static const double shares[QUANTILES] = { 0.5, 0.99, 0.999 };
static const char *const quantile_keys[QUANTILES] = { "p50_us", "p99_us", "p999_us" };
static const char *const side_keys[SIDES] = { "echo", "daemon" };

typedef struct figure {
	double median[SIDES];
	double ratio, low, high; /* daemon / echo: median, least and greatest of the rounds' */
} figure;

typedef struct bench {
	const cop_bench_daemon *set;
	cop_bench_pair pair;
	cop_bench_driver *driver[SIDES];
	cop_diag *diag;
	double *values[SIDES]; /* of each round, of the figure in hand */
	figure rates[PARTS];
	double rate; /* of the latencies: requests a second */
	figure latency[QUANTILES];
} bench;

static const char *const part_keys[PARTS] = { "decide_one_at_a_time", "decide_pipelined", "learn_pipelined",
	"learn_batched" };

static cop_bench_part part_of(const cop_bench_daemon *set, int which)
{
	cop_bench_part part = { .inflight = 1, .batch = 1, .learns = which >= LEARNED, .seconds = set->seconds };
	if (which == PIPELINED || which == LEARNED)
		part.inflight = set->inflight;
	if (which == BATCHED) {
		part.inflight = BATCHES;
		part.batch = set->batch;
	}
	return part;
}

/* The signals that would end the process are held back, and looked for between measurements. */
static void hold_signals(sigset_t *before)
{
	sigset_t held;
	(void)sigemptyset(&held);
	(void)sigaddset(&held, SIGINT);
	(void)sigaddset(&held, SIGTERM);
	(void)sigaddset(&held, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &held, before);
}

static cop_err look_around(bench *b)
{
	sigset_t waiting;
	(void)sigpending(&waiting);
	if (sigismember(&waiting, SIGINT) == 1 || sigismember(&waiting, SIGTERM) == 1 ||
	        sigismember(&waiting, SIGHUP) == 1) {
		cop_diag_set(b->diag, "", 0, 0, "interrupted");
		return COP_EEND;
	}
	return cop_bench_pair_check(&b->pair, b->diag);
}

static void conclude(bench *b, figure *out)
{
	size_t rounds = b->set->rounds;
	double ratios[MOST_ROUNDS];
	for (size_t i = 0; i < rounds; i++)
		ratios[i] = b->values[DAEMON][i] / b->values[ECHO][i];
	out->ratio = cop_bench_quantile(ratios, rounds, 0.5);
	out->low = ratios[0]; /* sorted now */
	out->high = ratios[rounds - 1];
	for (int side = 0; side < SIDES; side++)
		out->median[side] = cop_bench_quantile(b->values[side], rounds, 0.5);
}

static cop_err measure_rates(bench *b, int which)
{
	cop_bench_part part = part_of(b->set, which);
	cop_err err = COP_OK;
	for (size_t round = 0; round < b->set->rounds && err == COP_OK; round++)
		for (int side = 0; side < SIDES && err == COP_OK; side++) {
			err = cop_bench_drive(b->driver[side], &part, &b->values[side][round], b->diag);
			if (err == COP_OK)
				err = look_around(b);
		}
	if (err == COP_OK)
		conclude(b, &b->rates[which]);
	return err;
}

/* quantiles: of each side, QUANTILES of each round. */
static cop_err measure_latency(bench *b, double *const quantiles[SIDES])
{
	cop_bench_latencies taken = { 0 };
	cop_err err = COP_OK;
	b->rate = LOAD_OF_LATENCY * b->rates[LEARNED].median[DAEMON];
	for (size_t round = 0; round < b->set->rounds && err == COP_OK; round++)
		for (int side = 0; side < SIDES && err == COP_OK; side++) {
			taken.count = 0;
			err = cop_bench_drive_at(b->driver[side], b->rate, b->set->seconds, &taken, b->diag);
			for (int q = 0; q < QUANTILES && err == COP_OK; q++)
				quantiles[side][round * QUANTILES + (size_t)q] =
				        1e6 * cop_bench_quantile(taken.of, taken.count, shares[q]);
			if (err == COP_OK)
				err = look_around(b);
		}
	for (size_t q = 0; q < QUANTILES && err == COP_OK; q++) {
		for (int side = 0; side < SIDES; side++)
			for (size_t round = 0; round < b->set->rounds; round++)
				b->values[side][round] = quantiles[side][round * QUANTILES + q];
		conclude(b, &b->latency[q]);
	}
	cop_mem_free(taken.of);
	return err;
}

static cop_err measure_all(bench *b)
{
	double *quantiles[SIDES] = { NULL, NULL };
	cop_err err = COP_OK;
	for (int side = 0; side < SIDES; side++) {
		b->values[side] = cop_mem_alloc(b->set->rounds, sizeof **b->values);
		quantiles[side] = cop_mem_alloc(b->set->rounds, QUANTILES * sizeof **quantiles);
		if (b->values[side] == NULL || quantiles[side] == NULL)
			err = COP_ENOMEM;
	}
	for (int which = 0; which < PARTS && err == COP_OK; which++)
		err = measure_rates(b, which);
	if (err == COP_OK)
		err = measure_latency(b, quantiles);
	for (int side = 0; side < SIDES; side++) {
		cop_mem_free(quantiles[side]);
		cop_mem_free(b->values[side]);
	}
	return err;
}

static cop_err connect_both(bench *b)
{
	const char *const endpoints[SIDES] = { b->pair.echo_endpoint, b->pair.daemon_endpoint };
	cop_err err = COP_OK;
	for (int side = 0; side < SIDES && err == COP_OK; side++) {
		const cop_bench_target target = {
			.endpoint = endpoints[side],
			.model = b->set->model != NULL ? b->set->model : OWN_MODEL,
			.features = b->set->features,
			.floats = b->set->floats,
			.timeout = b->set->timeout,
		};
		err = cop_bench_driver_open(&target, &b->driver[side], b->diag);
		if (err != COP_OK) /* the reason may be that it has ended */
			(void)!cop_bench_pair_check(&b->pair, b->diag);
	}
	return err;
}

static void describe_part(const cop_bench_daemon *set, int which, char *out, size_t size)
{
	switch (which) {
	case ALONE:
		(void)snprintf(out, size, "decide, one at a time");
		break;
	case PIPELINED:
		(void)snprintf(out, size, "decide, %zu in flight", set->inflight);
		break;
	case LEARNED:
		(void)snprintf(out, size, "decide + feedback, %zu in flight", set->inflight);
		break;
	default:
		(void)snprintf(out, size, "the same in batches of %zu, %d in flight", set->batch, BATCHES);
	}
}

static void show_figure(const char *text, const figure *f)
{
	(void)printf("%-44s %10.0f %10.0f %8.2f  (%.2f to %.2f)\n", text, f->median[ECHO], f->median[DAEMON], f->ratio,
	        f->low, f->high);
}

static void show_text(const bench *b)
{
	static const char *const names[QUANTILES] = { "p50", "p99", "p99.9" };
	const cop_bench_daemon *set = b->set;
	char text[64];
	if (set->endpoint != NULL)
		(void)printf("%s, model %s", set->endpoint, set->model);
	else
		(void)printf("learner dgt, %zu arms, journal synced every 10 ms, over %s", set->arms,
		        set->tcp ? "tcp" : "ipc");
	(void)printf("; %zu features as %s; medians of %zu rounds of %g s\n\n", set->features,
	        set->floats ? "an array of float64" : "packed float32", set->rounds, set->seconds);
	(void)printf("%-44s %10s %10s %8s\n", "events per second", "bare echo", "daemon", "ratio");
	for (int which = 0; which < PARTS; which++) {
		describe_part(set, which, text, sizeof text);
		show_figure(text, &b->rates[which]);
	}
	(void)printf("\nlatency in us of %.0f decisions a second, from when each was to leave\n", b->rate);
	for (int q = 0; q < QUANTILES; q++)
		show_figure(names[q], &b->latency[q]);
}

static void put_figure(cop_json_writer *json, const char *key, const figure *f)
{
	const double values[] = { f->median[ECHO], f->median[DAEMON], f->ratio, f->low, f->high };
	const char *const keys[] = { side_keys[ECHO], side_keys[DAEMON], "ratio", "ratio_low", "ratio_high" };
	cop_json_key(json, key);
	cop_json_begin_object(json);
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		cop_json_key(json, keys[i]);
		cop_json_number(json, values[i]);
	}
	cop_json_end_object(json);
}

static void put_size(cop_json_writer *json, const char *key, size_t value)
{
	cop_json_key(json, key);
	cop_json_unsigned(json, value);
}

static void put_json(const bench *b, cop_json_writer *json)
{
	put_size(json, "features", b->set->features);
	put_size(json, "inflight", b->set->inflight);
	put_size(json, "batch", b->set->batch);
	put_size(json, "rounds", b->set->rounds);
	cop_json_key(json, "seconds");
	cop_json_number(json, b->set->seconds);
	cop_json_key(json, "events_per_second");
	cop_json_begin_object(json);
	for (int which = 0; which < PARTS; which++)
		put_figure(json, part_keys[which], &b->rates[which]);
	cop_json_end_object(json);
	cop_json_key(json, "latency");
	cop_json_begin_object(json);
	cop_json_key(json, "requests_per_second");
	cop_json_number(json, b->rate);
	for (int q = 0; q < QUANTILES; q++)
		put_figure(json, quantile_keys[q], &b->latency[q]);
	cop_json_end_object(json);
}

cop_err cop_bench_daemon_run(const cop_bench_daemon *settings, cop_json_writer *json, cop_diag *diag)
{
	bench b = { .set = settings, .diag = diag };
	sigset_t before;
	hold_signals(&before);
	cop_err err = cop_bench_pair_start(&b.pair, settings, diag);
	if (err == COP_OK)
		err = connect_both(&b);
	if (err == COP_OK)
		err = measure_all(&b);
	for (int side = 0; side < SIDES; side++)
		cop_bench_driver_close(b.driver[side]);
	cop_bench_pair_stop(&b.pair);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	if (err == COP_OK && json == NULL)
		show_text(&b);
	else if (err == COP_OK)
		put_json(&b, json);
	return err;
}
