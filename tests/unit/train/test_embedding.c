/* The objectives are those of the equations, their gradients finite differences, and the minimiser goes down to where
 * nothing pulls any more. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "graph/affinity.h"
#include "train/embedding.h"

#define SEED 11U
#define N    120
#define D    4
#define K    12

static cop_graph *make_graph(void)
{
	static float x[N * D], weight[N * K];
	const cop_points points = { .n = N, .d = D, .x = x };
	cop_neighbours near;
	cop_graph *graph;
	cop_rng rng;
	cop_rng_init(&rng, SEED, 1);
	for (size_t i = 0; i < (size_t)N * D; i++)
		x[i] = (float)(cop_rng_normal(&rng) + 6.0 * (double)(i / D % 3));
	assert_int_equal(cop_neighbours_exact(&points, NULL, K, NULL, &near), COP_OK);
	assert_int_equal(cop_affinity_entropic(&near, 4.0, NULL, weight), COP_OK);
	assert_int_equal(cop_graph_new(&near, weight, &graph), COP_OK);
	cop_neighbours_fini(&near);
	return graph;
}

static void draw(double scale, double *z)
{
	cop_rng rng;
	cop_rng_init(&rng, SEED, 2);
	for (size_t i = 0; i < 2 * N; i++)
		z[i] = scale * cop_rng_normal(&rng);
}

/* (4.1) with p and q as matrices; (4.2). */
static double by_the_book(cop_embedding_method method, const cop_graph *graph, double alpha, const double *z)
{
	static double p[N][N], k[N][N];
	double sum = 0.0, value = 0.0;
	memset(p, 0, sizeof p);
	for (size_t i = 0; i < N; i++)
		for (size_t e = graph->start[i]; e < graph->start[i + 1]; e++)
			p[i][graph->index[e]] = (double)graph->weight[e] / N;
	for (size_t i = 0; i < N; i++)
		for (size_t m = 0; m < N; m++) {
			double d2 = pow(z[2 * i] - z[2 * m], 2.0) + pow(z[2 * i + 1] - z[2 * m + 1], 2.0);
			k[i][m] = i == m ? 0.0 : method == COP_EMBEDDING_TSNE ? 1.0 / (1.0 + d2) : exp(-d2);
			sum += k[i][m];
			value += method == COP_EMBEDDING_ELASTIC ? p[i][m] * d2 + alpha * k[i][m] : 0.0;
		}
	for (size_t i = 0; i < N && method == COP_EMBEDDING_TSNE; i++)
		for (size_t m = 0; m < N; m++)
			value += p[i][m] > 0.0 ? p[i][m] * log(p[i][m] / (k[i][m] / sum)) : 0.0;
	return value;
}

static void test_objectives_and_gradients(void **state)
{
	cop_graph *graph = make_graph();
	(void)state;
	for (int method = 0; method < COP_EMBEDDING_METHODS; method++) {
		const double scale[] = { 0.3, 3.0 };
		double b = method == COP_EMBEDDING_TSNE ? 1.0 : 100.0, z[2 * N], g[2 * N];
		cop_embedding *e;
		assert_int_equal(cop_embedding_new((cop_embedding_method)method, graph, NULL, &e), COP_OK);
		for (int s = 0; s < 2; s++) {
			draw(scale[s], z);
			double value = cop_embedding_objective(e, b, 0.0, z, g);
			double book = by_the_book((cop_embedding_method)method, graph, b, z);
			assert_true(fabs(value - book) < 1e-7 * fabs(book));
			for (size_t i = 0; i < 2 * N; i += 7) {
				double h = 1e-5, was = z[i];
				z[i] = was + h;
				double up = by_the_book((cop_embedding_method)method, graph, b, z);
				z[i] = was - h;
				double down = by_the_book((cop_embedding_method)method, graph, b, z);
				z[i] = was;
				assert_true(fabs((up - down) / (2.0 * h) - g[i]) < 1e-7 * fmax(1.0, fabs(book)));
			}
		}
		cop_embedding_free(e);
	}
	cop_graph_free(graph);
}

static void test_descent_ends_where_the_gradient_vanishes(void **state)
{
	cop_graph *graph = make_graph();
	(void)state;
	for (int method = 0; method < COP_EMBEDDING_METHODS; method++) {
		double z[2 * N], g[2 * N], centre[2 * N], first = 0.0, last = 0.0, value;
		const cop_embedding_descent how = { .b = method == COP_EMBEDDING_TSNE ? 1.0 : 100.0,
			.mu = 1e-3,
			.centre = centre,
			.tolerance = 1e-12,
			.steps = 2000 };
		cop_embedding *e;
		assert_int_equal(cop_embedding_new((cop_embedding_method)method, graph, NULL, &e), COP_OK);
		draw(2.0, centre);
		memcpy(z, centre, sizeof z);
		double before = cop_embedding_objective(e, how.b, 0.0, z, g);
		for (size_t i = 0; i < 2 * N; i++)
			first += g[i] * g[i];
		cop_embedding_descend(e, &how, z, &value);
		double away = 0.0, after = cop_embedding_objective(e, how.b, 0.0, z, g);
		for (size_t i = 0; i < 2 * N; i++) {
			away += pow(z[i] - centre[i], 2.0);
			last += pow(g[i] + 2.0 * how.mu * (z[i] - centre[i]), 2.0);
		}
		printf("method %d: %.6g to %.6g, gradient %.2g to %.2g\n", method, before, value, sqrt(first),
		        sqrt(last));
		assert_true(value < before && fabs(after + how.mu * away - value) < 1e-9 * fabs(value));
		assert_true(last < 1e-6 * first);
		cop_embedding_free(e);
	}
	cop_graph_free(graph);
}

static void test_threads_do_not_change_the_result(void **state)
{
	cop_graph *graph = make_graph();
	cop_pool *pool;
	double z[2][2 * N];
	(void)state;
	assert_int_equal(cop_pool_new(3, &pool), COP_OK);
	for (int run = 0; run < 2; run++) {
		const cop_embedding_descent how = { .b = 1.0, .theta = 0.5, .steps = 30 };
		cop_embedding *e;
		assert_int_equal(cop_embedding_new(COP_EMBEDDING_TSNE, graph, run == 0 ? NULL : pool, &e), COP_OK);
		draw(0.01, z[run]);
		cop_embedding_descend(e, &how, z[run], NULL);
		cop_embedding_free(e);
	}
	assert_memory_equal(z[0], z[1], sizeof z[0]);
	cop_pool_free(pool);
	cop_graph_free(graph);
}

static void test_memory_failures_are_reported(void **state)
{
	cop_graph *graph = make_graph();
	(void)state;
	for (unsigned long n = 1;; n++) {
		cop_embedding *e;
		cop_test_alloc_fail(n, 1);
		cop_err err = cop_embedding_new(COP_EMBEDDING_TSNE, graph, NULL, &e);
		cop_test_alloc_fail(0, 0);
		cop_embedding_free(e);
		if (err == COP_OK)
			break;
		assert_true(err == COP_ENOMEM && e == NULL);
	}
	cop_graph_free(graph);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_objectives_and_gradients),
		cmocka_unit_test(test_descent_ends_where_the_gradient_vanishes),
		cmocka_unit_test(test_threads_do_not_change_the_result),
		cmocka_unit_test(test_memory_failures_are_reported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
