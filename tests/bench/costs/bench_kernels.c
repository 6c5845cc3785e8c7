/* Calls are timed in blocks, so that the clock's own cost vanishes; a figure is the median block's. Learning is timed
 * both ways, event by event (the median event, the clock's cost included) and in blocks (the mean event), because a
 * learner may do more at some events than at others. OpenBLAS runs with one thread in the same process between the
 * others, so that all see the same machine. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "bench_costs.h"
#include "learn/learner.h"
#include "linalg/blas.h"
#include "linalg/kernel.h"
#include "tools/common/command.h"

enum {
	FEATURES = 54,
	ARMS = 7,
	NODES = 63, /* decision nodes of a tree of height 6 */
	ROWS = 1024,
	BLOCK = 64, /* events, or calls, timed together */
	WARM = 40,  /* blocks before the first that counts */
	REPEATS = 401
};

#define COLUMNS 64 /* NODES in whole lanes */

typedef struct bench {
	cop_json_writer *json;
	float *rows;                           /* ROWS x FEATURES */
	double decide[REPEATS], mean[REPEATS]; /* ns, of blocks */
	double learn[REPEATS * BLOCK];         /* ns, of events */
	double blas;                           /* sgemv + sger, ns */
} bench;

static cop_row row_of(const bench *b, size_t i)
{
	return (cop_row){ .d = FEATURES, .dense = b->rows + (i % ROWS) * FEATURES };
}

/* ---- learners ---- */

/* Arm losses that a linear rule decides, value losses that are squared distances to it. */
static void losses(const bench *b, size_t i, const cop_decision *d, bool values, double *loss)
{
	const float *x = b->rows + (i % ROWS) * FEATURES;
	if (!values) {
		loss[0] = d->arm == (unsigned)(x[0] > 0.0F) + 2 * (unsigned)(x[1] > 0.0F) ? 0.0 : 1.0;
		return;
	}
	double target = x[0] > 0.0F ? 0.7 : 0.3;
	for (int k = 0; k < 2; k++)
		loss[k] = (d->probe[k] - target) * (d->probe[k] - target);
}

/* learn: BLOCK events. */
static cop_err one_block(bench *b, cop_learner *learner, size_t block, double *decide, double *mean, double *learn)
{
	cop_decision decision[BLOCK];
	double loss[BLOCK][2];
	cop_err err = COP_OK;
	double start = cop_command_now();
	for (size_t i = 0; i < BLOCK && err == COP_OK; i++) {
		cop_row row = row_of(b, block * BLOCK + i);
		err = cop_learner_decide(learner, &row, NULL, &decision[i]);
	}
	*decide = 1e9 * (cop_command_now() - start) / BLOCK;
	for (size_t i = 0; i < BLOCK; i++)
		losses(b, block * BLOCK + i, &decision[i], learner->class->values, loss[i]);
	double begin = cop_command_now();
	double before = begin;
	for (size_t i = 0; i < BLOCK && err == COP_OK; i++) {
		cop_row row = row_of(b, block * BLOCK + i);
		err = cop_learner_learn(learner, &row, NULL, &decision[i], loss[i], true);
		double after = cop_command_now();
		learn[i] = 1e9 * (after - before);
		before = after;
	}
	*mean = 1e9 * (before - begin) / BLOCK;
	return err;
}

static void show_learner(bench *b, const char *key, const char *text)
{
	double decide = cop_bench_measures_quantile(b->decide, REPEATS, 0.5);
	double learn = cop_bench_measures_quantile(b->learn, (size_t)REPEATS * BLOCK, 0.5);
	double mean = cop_bench_measures_quantile(b->mean, REPEATS, 0.5);
	if (b->json == NULL) {
		(void)printf("%-32s %9.0f %9.0f %11.0f %13.2f\n", text, decide, learn, mean, mean / b->blas);
		return;
	}
	cop_json_key(b->json, key);
	cop_json_begin_object(b->json);
	cop_json_key(b->json, "decide_ns");
	cop_json_number(b->json, decide);
	cop_json_key(b->json, "learn_ns");
	cop_json_number(b->json, learn);
	cop_json_key(b->json, "learn_mean_ns");
	cop_json_number(b->json, mean);
	cop_json_key(b->json, "learn_mean_over_blas");
	cop_json_number(b->json, mean / b->blas);
	cop_json_end_object(b->json);
}

static cop_err bench_learner(bench *b, const char *name, const char *text, cop_diag *diag)
{
	cop_learner_settings settings;
	cop_learner *learner;
	cop_learner_settings_init(&settings);
	(void)snprintf(settings.learner, sizeof settings.learner, "%s", name);
	settings.features = FEATURES;
	settings.arms = strcmp(name, "value") == 0 ? 0 : ARMS;
	settings.seed = 1;
	cop_err err = cop_learner_new(&settings, &learner, diag);
	if (err != COP_OK)
		return err;
	for (size_t i = 0; i < WARM + REPEATS && err == COP_OK; i++) {
		size_t at = i < WARM ? 0 : i - WARM;
		err = one_block(b, learner, i, &b->decide[at], &b->mean[at], &b->learn[at * BLOCK]);
	}
	if (err == COP_OK)
		show_learner(b, name, text);
	else
		cop_diag_of(diag, name, "%s", cop_err_text(err));
	cop_learner_free(learner);
	return err;
}

static cop_err bench_learners(bench *b, cop_diag *diag)
{
	if (b->json == NULL)
		(void)printf("%d features, %d arms; ns per event\n%-32s %9s %9s %11s %13s\n%-32s %9s %9s %11s %13s\n",
		        FEATURES, ARMS, "", "decide", "learn", "learn", "mean learn", "", "", "(median)", "(mean)",
		        "/ OpenBLAS");
	cop_err err = bench_learner(b, "dgt", "dgt: one tree of height 6", diag);
	if (err == COP_OK)
		err = bench_learner(b, "ensemble", "ensemble as shipped", diag);
	if (err == COP_OK)
		err = bench_learner(b, "value", "value as shipped (two-point)", diag);
	return err;
}

/* ---- BLAS and kernels ---- */

typedef struct matrices {
	float *w; /* FEATURES x COLUMNS, or NODES x FEATURES for BLAS */
	float *s; /* AdaGrad's sums */
	float *x; /* FEATURES */
	float *g; /* COLUMNS */
	float *a; /* COLUMNS */
	const cop_kernel *kernel;
} matrices;

typedef void call(matrices *m);

static void gemv(matrices *m) { cop_blas_gemv(NODES, FEATURES, 1.0F, m->w, m->x, 0.0F, m->a); }
static void ger(matrices *m) { cop_blas_ger(NODES, FEATURES, 1e-6F, m->g, m->x, m->w); }
static void forward(matrices *m) { m->kernel->forward(FEATURES, COLUMNS, m->x, m->w, m->a); }
static void rank1(matrices *m) { m->kernel->rank1(FEATURES, COLUMNS, m->x, m->g, m->w); }
static void adagrad(matrices *m) { m->kernel->adagrad(FEATURES, COLUMNS, m->x, m->g, 1e-6F, m->w, m->s); }

/* Median ns of one call. Sums that run over calls are set back outside of the timing, lest they overflow. */
static double time_call(bench *b, matrices *m, call *function)
{
	for (size_t i = 0; i < WARM + REPEATS; i++) {
		memset(m->a, 0, COLUMNS * sizeof *m->a);
		for (size_t j = 0; j < FEATURES * COLUMNS; j++)
			m->s[j] = 1.0F;
		double start = cop_command_now();
		for (size_t j = 0; j < BLOCK; j++)
			function(m);
		b->mean[i < WARM ? 0 : i - WARM] = 1e9 * (cop_command_now() - start) / BLOCK;
	}
	return cop_bench_measures_quantile(b->mean, REPEATS, 0.5);
}

static void show_call(bench *b, const char *group, const char *name, double ns, double flops)
{
	if (b->json == NULL) {
		(void)printf("%-10s %-33s %9.0f %9.1f\n", group, name, ns, flops / ns);
		return;
	}
	cop_json_begin_object(b->json);
	cop_json_key(b->json, "variant");
	cop_json_text(b->json, group);
	cop_json_key(b->json, "call");
	cop_json_text(b->json, name);
	cop_json_key(b->json, "ns");
	cop_json_number(b->json, ns);
	cop_json_key(b->json, "gflops");
	cop_json_number(b->json, flops / ns);
	cop_json_end_object(b->json);
}

static void bench_kernel(bench *b, matrices *m)
{
	double size = (double)FEATURES * COLUMNS;
	const char *name = m->kernel->name;
	show_call(b, name, "forward", time_call(b, m, forward), 2.0 * size);
	show_call(b, name, "rank1", time_call(b, m, rank1), 2.0 * size);
	show_call(b, name, "adagrad", time_call(b, m, adagrad), 7.0 * size);
}

static void bench_calls(bench *b, matrices *m, double gemv_ns, double ger_ns)
{
	static const char *const variants[] = { "plain", "avx2", "avx512", "neon" };
	if (b->json == NULL)
		(void)printf("\n%d x %d; median ns per call, one thread\n%-44s %9s %9s\n", NODES, FEATURES, "", "ns",
		        "GFLOP/s");
	else
		cop_json_key(b->json, "calls");
	if (b->json != NULL)
		cop_json_begin_array(b->json);
	show_call(b, "openblas", "sgemv", gemv_ns, 2.0 * NODES * FEATURES);
	show_call(b, "openblas", "sger", ger_ns, 2.0 * NODES * FEATURES);
	for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
		m->kernel = cop_kernel_find(variants[i]);
		if (m->kernel != NULL)
			bench_kernel(b, m);
	}
	if (b->json != NULL)
		cop_json_end_array(b->json);
}

static cop_err new_matrices(matrices *m, cop_rng *rng)
{
	m->w = cop_mem_alloc((size_t)FEATURES * COLUMNS, sizeof *m->w);
	m->s = cop_mem_alloc((size_t)FEATURES * COLUMNS, sizeof *m->s);
	m->x = cop_mem_alloc(FEATURES, sizeof *m->x);
	m->g = cop_mem_alloc(COLUMNS, sizeof *m->g);
	m->a = cop_mem_alloc(COLUMNS, sizeof *m->a);
	if (m->w == NULL || m->s == NULL || m->x == NULL || m->g == NULL || m->a == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < FEATURES; i++)
		m->x[i] = (float)cop_rng_normal(rng);
	for (size_t i = 0; i < COLUMNS; i++)
		m->g[i] = (float)cop_rng_normal(rng);
	return COP_OK;
}

cop_err cop_bench_kernels(cop_json_writer *json, cop_diag *diag)
{
	bench *b = cop_mem_alloc(1, sizeof *b);
	matrices m = { 0 };
	cop_rng rng;
	cop_rng_init(&rng, 1, 0);
	cop_err err = b != NULL ? new_matrices(&m, &rng) : COP_ENOMEM;
	if (err == COP_OK)
		b->rows = cop_mem_alloc((size_t)ROWS * FEATURES, sizeof *b->rows);
	if (err == COP_OK && b->rows != NULL) {
		b->json = json;
		for (size_t i = 0; i < (size_t)ROWS * FEATURES; i++)
			b->rows[i] = (float)cop_rng_normal(&rng);
		cop_blas_threads(1);
		double gemv_ns = time_call(b, &m, gemv);
		double ger_ns = time_call(b, &m, ger);
		b->blas = gemv_ns + ger_ns;
		if (json != NULL) {
			cop_json_key(json, "blas_ns");
			cop_json_number(json, b->blas);
		} else {
			(void)printf("OpenBLAS sgemv + sger, %d x %d: %.0f ns\n\n", NODES, FEATURES, b->blas);
		}
		err = bench_learners(b, diag);
		if (err == COP_OK)
			bench_calls(b, &m, gemv_ns, ger_ns);
	}
	cop_mem_free(m.w);
	cop_mem_free(m.s);
	cop_mem_free(m.x);
	cop_mem_free(m.g);
	cop_mem_free(m.a);
	if (b != NULL)
		cop_mem_free(b->rows);
	cop_mem_free(b);
	return err;
}
