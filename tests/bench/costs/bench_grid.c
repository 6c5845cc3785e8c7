/* A figure is the fastest of TRIES samples; kernel, limit and OpenBLAS take turns, so that all see the same machine.
 * The limit of a call is the longer of two times: its operations at the rate of multiply-adds out of registers, and as
 * many bytes, of a working set as large, read or rewritten in order by the plainest loop. */
#include "bench_grid.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "bench_learners.h"
#include "bench_peak.h"
#include "linalg/blas.h"
#include "tools/common/options.h"
#include "tools/common/command.h"

#define NAME       "grid"
#define TRIES      25
#define SAMPLE     1e-4 /* seconds, at least */
#define MOST_CALLS ((size_t)1 << 20)

/* ---- time ---- */

typedef struct contender {
	void (*run)(void *context); /* NULL: not there */
	void *context;
	size_t calls; /* of a sample */
	double best;  /* ns of a call */
} contender;

static double sample(const contender *c)
{
	double start = cop_command_now();
	for (size_t i = 0; i < c->calls; i++)
		c->run(c->context);
	return cop_command_now() - start;
}

static void race(contender *all, size_t count, size_t least_calls)
{
	for (size_t i = 0; i < count; i++) {
		all[i].best = 0.0;
		all[i].calls = least_calls;
		while (all[i].run != NULL && sample(&all[i]) < SAMPLE && all[i].calls < MOST_CALLS)
			all[i].calls *= 2;
	}
	for (int round = 0; round < TRIES; round++)
		for (size_t i = 0; i < count; i++) {
			if (all[i].run == NULL)
				continue;
			double ns = 1e9 * sample(&all[i]) / (double)all[i].calls;
			all[i].best = round == 0 || ns < all[i].best ? ns : all[i].best;
		}
}

/* ---- limits ---- */

/* The arrays that a call goes through, and nothing else done with them. */
typedef struct traffic {
	const cop_bench_peak *peak;
	const cop_bench_cost *cost;
	cop_bench_case *of;
	bool sparse;
	size_t rows, ahead; /* sparse: rows of a draw */
} traffic;

static void go_by_rows(const traffic *t, const cop_bench_array *array, const uint32_t *index)
{
	size_t n = array->floats / t->rows;
	if (array->written)
		t->peak->update_rows(t->rows, index, t->ahead, n, array->at);
	else
		t->peak->load_rows(t->rows, index, t->ahead, n, array->at);
}

static void go_in_order(const traffic *t, const cop_bench_array *array)
{
	if (array->written)
		t->peak->update(array->floats, array->at);
	else
		t->peak->load(array->floats, array->at);
}

static void go_through(void *context)
{
	const traffic *t = context;
	const uint32_t *index = t->sparse ? cop_bench_case_draw(t->of) : NULL;
	for (size_t k = 0; k < COP_BENCH_ARRAYS; k++)
		for (size_t i = 0; i < t->cost->arrays[k].ways; i++)
			if (t->sparse && t->cost->arrays[k].block)
				go_by_rows(t, &t->cost->arrays[k], index);
			else
				go_in_order(t, &t->cost->arrays[k]);
}

/* Read and written. */
static double bytes_of(const cop_bench_cost *cost)
{
	size_t floats = 0;
	for (size_t k = 0; k < COP_BENCH_ARRAYS; k++)
		floats += cost->arrays[k].floats * cost->arrays[k].ways * (cost->arrays[k].written ? 2 : 1);
	return (double)(floats * sizeof(float));
}

/* Where all of them have to be, one call after the other. */
static size_t room_of(const cop_bench_cost *cost, bool sparse)
{
	size_t floats = 0;
	for (size_t k = 0; k < COP_BENCH_ARRAYS && cost->arrays[k].ways > 0; k++)
		floats += cost->arrays[k].floats * (sparse && cost->arrays[k].block ? COP_BENCH_DRAWS : 1);
	return floats * sizeof(float);
}

/* In bytes, as the kernel reports this processor's share; 0 when the kernel reports none. */
static size_t cache_size(int index)
{
	char path[80];
	unsigned long kib = 0;
	(void)snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", index);
	FILE *file = fopen(path, "r");
	char text[16];
	if (file == NULL)
		return 0;
	if (fgets(text, sizeof text, file) != NULL)
		kib = strtoul(text, NULL, 10);
	(void)fclose(file);
	return (size_t)kib * 1024;
}

static const char *size_class(size_t bytes)
{
	static const struct {
		const char *name;
		int index;
	} caches[] = { { "L1", 0 }, { "L2", 2 }, { "L3", 3 } };
	for (size_t i = 0; i < sizeof caches / sizeof *caches; i++)
		if (bytes <= cache_size(caches[i].index))
			return caches[i].name;
	return "memory";
}

/* ---- one line ---- */

typedef struct report {
	cop_json_writer *json; /* NULL: text */
	const cop_kernel *kernel;
	const cop_bench_peak *peak;
	double gflops; /* its multiply-adds */
	double read[4], rewritten[4];
} report;

typedef struct line {
	const cop_bench_operation *operation;
	const cop_bench_shape *shape;
	cop_bench_cost cost;
	double ns, limit, blas;
	bool by_flops;
	const char *class;
} line;

/* One size of each class, far from its bounds. */
static const struct {
	const char *name;
	size_t floats;
} sizes[] = { { "L1", (size_t)1 << 12 }, { "L2", (size_t)1 << 16 }, { "L3", (size_t)1 << 20 },
	{ "memory", (size_t)1 << 25 } };
#define SIZES (sizeof sizes / sizeof *sizes)

static cop_err measure_sizes(report *r)
{
	float *x = cop_mem_alloc(sizes[SIZES - 1].floats, sizeof *x);
	if (x == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < SIZES; i++) {
		r->read[i] = cop_bench_peak_read_gbytes(r->peak, sizes[i].floats, x);
		r->rewritten[i] = cop_bench_peak_rewrite_gbytes(r->peak, sizes[i].floats, x);
	}
	cop_mem_free(x);
	return COP_OK;
}

static void print_head(const report *r)
{
	(void)printf("kernels %s, one thread; multiply-adds %.1f GFLOP/s; in order, GB/s:\n", r->peak->name, r->gflops);
	for (size_t i = 0; i < SIZES; i++)
		(void)printf("  %6zu KiB (%s) read %.0f, rewritten %.0f\n", sizes[i].floats / 256, sizes[i].name,
		        r->read[i], r->rewritten[i]);
	(void)printf("\n%-10s %-30s %9s %-6s %11s %8s %8s %-6s %8s %9s\n", "kernel", "inputs", "weights", "in", "ns",
	        "GFLOP/s", "GB/s", "limit", "reached", "OpenBLAS");
}

static void head_json(const report *r)
{
	cop_json_key(r->json, "kernels");
	cop_json_text(r->json, r->peak->name);
	cop_json_put_number(r->json, "multiply_add_gflops", r->gflops);
	cop_json_key(r->json, "in_order");
	cop_json_begin_array(r->json);
	for (size_t i = 0; i < SIZES; i++) {
		cop_json_begin_object(r->json);
		cop_json_put_unsigned(r->json, "bytes", sizes[i].floats * sizeof(float));
		cop_json_put_number(r->json, "read_gbytes", r->read[i]);
		cop_json_put_number(r->json, "rewritten_gbytes", r->rewritten[i]);
		cop_json_end_object(r->json);
	}
	cop_json_end_array(r->json);
	cop_json_key(r->json, "grid");
	cop_json_begin_array(r->json);
}

static void show_text(const line *l, const char *shape, size_t weights)
{
	(void)printf("%-10s %-30s %9zu %-6s %11.0f %8.1f %8.1f %-6s %6.0f %%", l->operation->name, shape, weights,
	        l->class, l->ns, l->cost.flops / l->ns, bytes_of(&l->cost) / l->ns, l->by_flops ? "flops" : "bytes",
	        100.0 * l->limit / l->ns);
	if (l->blas > 0.0)
		(void)printf(" %8.2fx\n", l->blas / l->ns);
	else
		(void)printf("\n");
}

static void put_text(cop_json_writer *json, const char *key, const char *value)
{
	cop_json_key(json, key);
	cop_json_text(json, value);
}

static void show_json(cop_json_writer *json, const line *l, size_t weights)
{
	cop_json_begin_object(json);
	put_text(json, "kernel", l->operation->name);
	cop_json_put_number(json, "inputs", (double)l->shape->d);
	if (l->shape->sparse)
		cop_json_put_number(json, "bits", COP_BENCH_HASHED_BITS);
	if (l->shape->block > 0) {
		cop_json_put_number(json, "block", (double)l->shape->block);
	} else {
		cop_json_put_number(json, "trees", (double)l->shape->trees);
		cop_json_put_number(json, "height", l->shape->height);
	}
	cop_json_put_number(json, "weights", (double)weights);
	put_text(json, "class", l->class);
	cop_json_put_number(json, "ns", l->ns);
	cop_json_put_number(json, "gflops", l->cost.flops / l->ns);
	cop_json_put_number(json, "gbytes", bytes_of(&l->cost) / l->ns);
	put_text(json, "limit", l->by_flops ? "flops" : "bytes");
	cop_json_put_number(json, "limit_ns", l->limit);
	cop_json_put_number(json, "reached", l->limit / l->ns);
	if (l->blas > 0.0)
		cop_json_put_number(json, "openblas_ns", l->blas);
	cop_json_end_object(json);
}

static void show(const report *r, const line *l)
{
	size_t weights = l->shape->d * cop_bench_shape_columns(l->shape);
	char text[64];
	cop_bench_shape_text(l->shape, text, sizeof text);
	if (r->json != NULL)
		show_json(r->json, l, weights);
	else
		show_text(l, text, weights);
}

typedef struct call {
	void (*run)(cop_bench_case *c);
	cop_bench_case *c;
} call;

static void run_call(void *context)
{
	call *of = context;
	of->run(of->c);
}

/* Scattered rows may be asked for in advance: the limit is the best of not at all, and so many cache lines. */
static const size_t lines_ahead[] = { 0, 32, 64, 128 };
#define WAYS (sizeof lines_ahead / sizeof *lines_ahead)

enum { KERNEL, BLAS, BYTES, CONTENDERS = BYTES + WAYS };

static void bench_line(const report *r, cop_bench_case *c, const cop_bench_shape *shape, const cop_bench_operation *o)
{
	line l = { .operation = o, .shape = shape, .cost = o->cost(c) };
	call kernel = { o->run, c };
	call blas = { o->blas, c };
	size_t lines = cop_bench_shape_columns(shape) * sizeof(float) / 64; /* of a row */
	traffic bytes[WAYS];
	contender all[CONTENDERS] = {
		[KERNEL] = { .run = run_call, .context = &kernel },
		[BLAS] = { .run = o->blas != NULL && !shape->sparse ? run_call : NULL, .context = &blas },
	};
	size_t ways = shape->sparse ? WAYS : 1;
	for (size_t i = 0; i < ways; i++) {
		bytes[i] = (traffic){
			.peak = r->peak, .cost = &l.cost, .of = c, .sparse = shape->sparse, .rows = shape->d
		};
		bytes[i].ahead = (lines_ahead[i] + lines - 1) / lines;
		all[BYTES + i] = (contender){ .run = go_through, .context = &bytes[i] };
	}
	race(all, BYTES + ways, shape->sparse ? COP_BENCH_DRAWS : 1);
	double by_bytes = all[BYTES].best;
	for (size_t i = 1; i < ways; i++)
		by_bytes = all[BYTES + i].best < by_bytes ? all[BYTES + i].best : by_bytes;
	double by_flops = l.cost.flops / r->gflops;
	l.by_flops = by_flops > by_bytes;
	l.limit = l.by_flops ? by_flops : by_bytes;
	l.ns = all[KERNEL].best;
	l.blas = all[BLAS].best;
	l.class = size_class(room_of(&l.cost, shape->sparse));
	show(r, &l);
}

static cop_err bench_shape(const report *r, const cop_bench_shape *shape)
{
	cop_bench_case *c;
	const cop_bench_operation *o;
	cop_err err = cop_bench_case_new(shape, r->kernel, &c);
	for (size_t i = 0; err == COP_OK && (o = cop_bench_operation_at(i)) != NULL; i++)
		if (o->suits(shape))
			bench_line(r, c, shape, o);
	cop_bench_case_free(c);
	(void)fflush(stdout);
	return err;
}

/* ---- the grid ---- */

/* Shapes that learners have, most of them from 4,096 weights up. */
static const cop_bench_shape usual[] = {
	{ .d = 54, .trees = 1, .height = 6 },
	{ .d = 784, .trees = 1, .height = 6 },
	{ .d = 4096, .trees = 1, .height = 8 },
	{ .d = 54, .trees = 16, .height = 4 },
	{ .d = 54, .trees = 64, .height = 4 },
	{ .d = 4096, .block = 16 },
	{ .d = 4096, .block = 64 },
	{ .d = 256, .block = 256 },
	{ .d = 10, .sparse = true, .trees = 1, .height = 6 },
	{ .d = 100, .sparse = true, .trees = 1, .height = 6 },
	{ .d = 1000, .sparse = true, .trees = 1, .height = 6 },
};

static cop_err bench_usual(const report *r)
{
	cop_err err = COP_OK;
	for (size_t i = 0; i < sizeof usual / sizeof *usual && err == COP_OK; i++)
		err = bench_shape(r, &usual[i]);
	return err;
}

#define MOST_WEIGHTS ((size_t)1 << 24) /* beyond it, nothing new is to be seen */

static cop_err bench_trees(const report *r, size_t d, bool sparse)
{
	static const size_t trees[] = { 1, 16, 64 };
	cop_err err = COP_OK;
	size_t rows = sparse ? (size_t)1 << COP_BENCH_HASHED_BITS : d;
	for (size_t m = 0; m < sizeof trees / sizeof *trees; m++)
		for (unsigned height = 2; height <= 12 && err == COP_OK; height += 2) {
			cop_bench_shape shape = { .d = d, .trees = trees[m], .height = height, .sparse = sparse };
			if (rows * cop_bench_shape_columns(&shape) <= MOST_WEIGHTS << (sparse ? 1 : 0))
				err = bench_shape(r, &shape);
		}
	return err;
}

static cop_err bench_whole(const report *r)
{
	static const size_t inputs[] = { 8, 16, 54, 128, 784, 4096 };
	static const size_t present[] = { 10, 100, 1000 };
	cop_err err = COP_OK;
	for (size_t i = 0; i < sizeof inputs / sizeof *inputs && err == COP_OK; i++) {
		err = bench_trees(r, inputs[i], false);
		cop_bench_shape shape = { .d = inputs[i], .block = COP_KERNEL_LANES };
		if (err == COP_OK && shape.d >= shape.block)
			err = bench_shape(r, &shape);
		shape.block = 64;
		if (err == COP_OK)
			err = bench_shape(r, &shape);
		shape.block = cop_kernel_pad(inputs[i]);
		if (err == COP_OK && shape.block > 64)
			err = bench_shape(r, &shape);
	}
	for (size_t i = 0; i < sizeof present / sizeof *present && err == COP_OK; i++)
		err = bench_trees(r, present[i], true);
	return err;
}

static cop_err bench(cop_json_writer *json, const cop_kernel *kernel, bool whole)
{
	report r = { .json = json, .kernel = kernel, .peak = cop_bench_peak_find(kernel->name) };
	cop_blas_threads(1);
	r.gflops = cop_bench_peak_gflops(r.peak);
	cop_err err = measure_sizes(&r);
	if (err != COP_OK)
		return err;
	if (json == NULL)
		print_head(&r);
	else
		head_json(&r);
	err = whole ? bench_whole(&r) : bench_usual(&r);
	if (json != NULL)
		cop_json_end_array(json);
	return err == COP_OK ? cop_bench_learners(json, whole) : err;
}

/* ---- the command ---- */

static const char usage_text[] = "usage: costs grid [--all] [--kernels NAME] [--json]\n\n"
                                 "Kernels over shapes of models, each beside the machine's limit for as many\n"
                                 "operations and bytes and beside OpenBLAS; then whole learners.\n\n"
                                 "  --all           every shape: takes half a minute\n"
                                 "  --kernels NAME  plain, avx2, avx512 or neon (default: the widest that the\n"
                                 "                  processor runs, which learners take)\n"
                                 "  --json          one JSON object on standard output\n";

typedef struct options {
	const char *kernels;
	bool all, json;
} options;

static const cop_option table[] = {
	{ "all", COP_OPTION_FLAG, COP_OPTION_OF(options, all) },
	{ "kernels", COP_OPTION_TEXT, COP_OPTION_OF(options, kernels) },
	{ "json", COP_OPTION_FLAG, COP_OPTION_OF(options, json) },
	{ .name = NULL },
};

int cop_bench_grid_command(int argc, char **argv)
{
	options o = { 0 };
	const cop_options command = { NAME, usage_text, .sets = { { table, &o, NULL } } };
	int status = cop_options_read(&command, argc, argv);
	if (status != COP_OPTIONS_READ)
		return status;
	const cop_kernel *kernel = o.kernels != NULL ? cop_kernel_find(o.kernels) : cop_kernel_best();
	if (kernel == NULL) {
		cop_command_complain(
		        NAME, "--kernels: expected plain, avx2, avx512 or neon, one that this processor runs");
		return COP_EXIT_USAGE;
	}
	if (optind < argc) {
		cop_command_complain(NAME, "unexpected word \"%s\" (costs grid --help)", argv[optind]);
		return COP_EXIT_USAGE;
	}
	cop_json_writer *json = NULL;
	cop_diag diag = { 0 };
	cop_err err = cop_command_json_begin(o.json, &json);
	if (err == COP_OK)
		err = bench(json, kernel, o.all);
	return cop_command_end(NAME, err, json, &diag);
}
