/* Echo and daemon are measured in turns, part by part. */
#include <stdio.h>

#include "base/mem.h"
#include "bench_costs.h"
#include "bench_pair.h"
#include "bench_rounds.h"

enum { ECHO, DAEMON, SIDES = COP_BENCH_SIDES };

static const char *const side_keys[SIDES] = { "echo", "daemon" };

typedef struct bench {
	const cop_bench_costs *set;
	cop_bench_pair pair;
	cop_bench_driver *driver[SIDES];
	cop_diag *diag;
	double *values[SIDES]; /* of each round, of the figure in hand */
	cop_bench_figure rates[COP_BENCH_RATES];
	double rate; /* of the latencies: requests a second */
	cop_bench_figure latency[COP_BENCH_QUANTILES];
} bench;

static cop_err look_around(bench *b)
{
	cop_err err = cop_bench_interrupted(b->diag);
	return err == COP_OK ? cop_bench_pair_check(&b->pair, b->diag) : err;
}

static cop_err measure_rates(bench *b, int which)
{
	cop_bench_part part = cop_bench_measures_part(&b->set->requests, which);
	cop_err err = COP_OK;
	for (size_t round = 0; round < b->set->requests.rounds && err == COP_OK; round++)
		for (int side = 0; side < SIDES && err == COP_OK; side++) {
			err = cop_bench_drive(b->driver[side], &part, &b->values[side][round], b->diag);
			if (err == COP_OK)
				err = look_around(b);
		}
	if (err == COP_OK)
		cop_bench_figure_conclude(b->values, b->set->requests.rounds, &b->rates[which]);
	return err;
}

static cop_err take_turn(void *context, int side, cop_bench_latencies *out)
{
	bench *b = context;
	cop_err err = cop_bench_drive_at(b->driver[side], b->rate, b->set->requests.seconds, out, b->diag);
	return err == COP_OK ? look_around(b) : err;
}

static cop_err measure_all(bench *b)
{
	cop_err err = COP_OK;
	for (int side = 0; side < SIDES; side++) {
		b->values[side] = cop_mem_alloc(b->set->requests.rounds, sizeof **b->values);
		err = b->values[side] == NULL ? COP_ENOMEM : err;
	}
	for (int which = 0; which < COP_BENCH_RATES && err == COP_OK; which++)
		err = measure_rates(b, which);
	b->rate = COP_BENCH_LOAD_OF_LATENCY * b->rates[COP_BENCH_LEARN_PIPELINED].median[DAEMON];
	if (err == COP_OK)
		err = cop_bench_latency_measure(b->set->requests.rounds, take_turn, b, b->latency);
	for (int side = 0; side < SIDES; side++)
		cop_mem_free(b->values[side]);
	return err;
}

static cop_err connect_both(bench *b)
{
	const char *const endpoints[SIDES] = { b->pair.echo_endpoint, b->pair.daemon_endpoint };
	cop_err err = COP_OK;
	for (int side = 0; side < SIDES && err == COP_OK; side++) {
		const cop_bench_target target = {
			.endpoint = endpoints[side],
			.model = b->set->model != NULL ? b->set->model : COP_BENCH_OWN_MODEL,
			.features = b->set->features,
			.floats = b->set->floats,
			.timeout = b->set->timeout,
		};
		err = cop_bench_drive_open(&target, &b->driver[side], b->diag);
		if (err != COP_OK) /* the reason may be that it has ended */
			(void)!cop_bench_pair_check(&b->pair, b->diag);
	}
	return err;
}

static void show_text(const bench *b)
{
	const cop_bench_costs *set = b->set;
	char text[64];
	if (set->endpoint != NULL)
		(void)printf("%s, model %s", set->endpoint, set->model);
	else
		(void)printf("learner dgt, %zu arms, journal synced every 10 ms, over %s", set->arms,
		        set->tcp ? "tcp" : "ipc");
	(void)printf("; %zu features as %s; medians of %zu rounds of %g s\n\n", set->features,
	        set->floats ? "an array of float64" : "packed float32", set->requests.rounds, set->requests.seconds);
	(void)printf("%-44s %10s %10s %8s\n", "events per second", "bare echo", "daemon", "ratio");
	for (int which = 0; which < COP_BENCH_RATES; which++) {
		cop_bench_measures_text(&set->requests, which, text, sizeof text);
		cop_bench_figure_show(text, &b->rates[which]);
	}
	(void)printf("\nlatency in us of %.0f decisions a second, from when each was to leave\n", b->rate);
	cop_bench_latency_show(b->latency);
}

static void put_json(const bench *b, cop_json_writer *json)
{
	cop_json_put_unsigned(json, "features", b->set->features);
	cop_json_put_unsigned(json, "inflight", b->set->requests.inflight);
	cop_json_put_unsigned(json, "batch", b->set->requests.batch);
	cop_json_put_unsigned(json, "rounds", b->set->requests.rounds);
	cop_json_put_number(json, "seconds", b->set->requests.seconds);
	cop_json_key(json, "events_per_second");
	cop_json_begin_object(json);
	for (int which = 0; which < COP_BENCH_RATES; which++)
		cop_bench_figure_put(json, cop_bench_measures_key(which), side_keys, &b->rates[which]);
	cop_json_end_object(json);
	cop_bench_latency_put(json, side_keys, b->rate, b->latency);
}

cop_err cop_bench_compare_run(const cop_bench_costs *settings, cop_json_writer *json, cop_diag *diag)
{
	bench b = { .set = settings, .diag = diag };
	sigset_t before;
	cop_bench_signals_hold(&before);
	cop_err err = cop_bench_pair_start(&b.pair, settings, diag);
	if (err == COP_OK)
		err = connect_both(&b);
	if (err == COP_OK)
		err = measure_all(&b);
	for (int side = 0; side < SIDES; side++)
		cop_bench_drive_close(b.driver[side]);
	cop_bench_pair_stop(&b.pair);
	cop_bench_signals_release(&before);
	if (err == COP_OK && json == NULL)
		show_text(&b);
	else if (err == COP_OK)
		put_json(&b, json);
	return err;
}
