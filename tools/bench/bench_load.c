/* Two parts by bench_drive, one request under way and then `inflight` of them; the latency of a request is counted from
 * its sending. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "bench.h"

typedef struct part {
	double events_per_second;
	double latency[2][COP_BENCH_QUANTILES]; /* feedback, decide: in microseconds */
} part;

typedef struct load {
	const cop_bench_load *set;
	cop_bench_driver *driver;
	cop_bench_latencies latency[2]; /* of feedback, of decisions; room for an event each */
} load;

static cop_err run_part(load *l, size_t inflight, part *out, cop_diag *diag)
{
	const cop_bench_part what = {
		.inflight = inflight,
		.batch = (size_t)l->set->batch,
		.learns = true,
		.judges = true,
		.events = l->set->events,
		.seconds = (double)INFINITY,
		.latency = l->latency,
	};
	l->latency[0].count = l->latency[1].count = 0;
	cop_err err = cop_bench_drive(l->driver, &what, &out->events_per_second, diag);
	for (size_t i = 0; i < 2 && err == COP_OK; i++)
		for (size_t k = 0; k < COP_BENCH_QUANTILES; k++)
			out->latency[i][k] = 1e6 * cop_bench_measures_quantile(l->latency[i].of, l->latency[i].count,
			                                   cop_bench_quantiles[k].share);
	return err;
}

static void show_part(cop_json_writer *json, const char *key, const char *text, const part *p)
{
	static const char *const verbs[] = { "feedback", "decide" };
	if (json == NULL) {
		(void)printf("%-16s %10.0f events/s\n", text, p->events_per_second);
		for (int i = 1; i >= 0; i--)
			(void)printf("  %-14s p50 %8.1f us, p99 %8.1f us, p99.9 %8.1f us\n", verbs[i], p->latency[i][0],
			        p->latency[i][1], p->latency[i][2]);
		return;
	}
	cop_json_put_object(json, key);
	cop_json_key(json, "events_per_second");
	cop_json_number(json, p->events_per_second);
	for (int i = 1; i >= 0; i--) {
		cop_json_put_object(json, verbs[i]);
		for (int k = 0; k < COP_BENCH_QUANTILES; k++) {
			cop_json_key(json, cop_bench_quantiles[k].key);
			cop_json_number(json, p->latency[i][k]);
		}
		cop_json_end_object(json);
	}
	cop_json_end_object(json);
}

static cop_err prepare(load *l, cop_diag *diag)
{
	const cop_bench_load *set = l->set;
	const cop_bench_target target = {
		.endpoint = set->endpoint,
		.keys = set->keys,
		.model = set->model,
		.features = set->features,
		.untried = true,
		.timeout = set->timeout,
	};
	for (size_t i = 0; i < 2; i++) {
		l->latency[i].of = cop_mem_alloc((size_t)set->events, sizeof *l->latency[i].of);
		if (l->latency[i].of == NULL) {
			cop_diag_message(diag, "%s", cop_err_text(COP_ENOMEM));
			return COP_ENOMEM;
		}
	}
	return cop_bench_drive_open(&target, &l->driver, diag);
}

static void show(const load *l, const part *alone, const part *pipelined, cop_json_writer *json)
{
	char text[64];
	(void)snprintf(text, sizeof text, "%" PRIu64 " in flight", l->set->inflight);
	if (json == NULL && l->set->batch > 1)
		(void)printf("%" PRIu64 " events in each request\n", l->set->batch);
	if (json != NULL) {
		cop_json_put_unsigned(json, "events", l->set->events);
		cop_json_put_unsigned(json, "batch", l->set->batch);
		cop_json_put_unsigned(json, "inflight", l->set->inflight);
	}
	show_part(json, "one_at_a_time", "one at a time", alone);
	show_part(json, "pipelined", text, pipelined);
}

cop_err cop_bench_load_run(const cop_bench_load *settings, cop_json_writer *json, cop_diag *diag)
{
	load l = { .set = settings };
	part alone, pipelined;
	cop_err err = prepare(&l, diag);
	if (err == COP_OK)
		err = run_part(&l, 1, &alone, diag);
	if (err == COP_OK)
		err = run_part(&l, (size_t)settings->inflight, &pipelined, diag);
	if (err == COP_OK)
		show(&l, &alone, &pipelined, json);
	cop_bench_drive_close(l.driver);
	cop_mem_free(l.latency[0].of);
	cop_mem_free(l.latency[1].of);
	return err;
}
