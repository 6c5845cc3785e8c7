/* The graph and its products against dense matrices. */
#include "graph_fixture.h"

#include "graph/affinity.h"
#include "graph/graph.h"

#define SEED 14U

enum { N = 60, K = 4, OUTPUTS = 3 };

/* Made-up neighbours: distinct, none itself, within blocks of 20 points, the last of which are chained to nobody;
 * some weights are 0. */
static void make(cop_rng *rng, uint32_t *index, float *weight)
{
	for (uint32_t i = 0; i < N; i++) {
		uint32_t order[19];
		for (uint32_t j = 0; j < 19; j++)
			order[j] = i / 20 * 20 + (i % 20 + 1 + j) % 20;
		cop_rng_shuffle(rng, 19, order);
		memcpy(index + i * K, order, K * sizeof *order);
		for (size_t j = 0; j < K; j++)
			weight[i * K + j] = cop_rng_below(rng, 4) == 0 ? 0.0f : (float)cop_rng_unit(rng);
	}
}

static void to_dense(const uint32_t *index, const float *weight, double (*w)[N])
{
	static double p[N][N];
	memset(p, 0, sizeof p);
	for (size_t i = 0; i < N; i++)
		for (size_t j = 0; j < K; j++)
			p[i][index[i * K + j]] = (double)weight[i * K + j];
	for (size_t i = 0; i < N; i++)
		for (size_t j = 0; j < N; j++)
			w[i][j] = (p[i][j] + p[j][i]) / 2.0;
}

static void assert_matrix(const cop_graph *g, double (*w)[N])
{
	size_t entries = 0;
	for (size_t i = 0; i < N; i++) {
		double degree = 0.0;
		for (size_t j = 0; j < N; j++) {
			entries += w[i][j] > 0.0;
			degree += w[i][j];
		}
		assert_true(fabs(g->degree[i] - degree) < 1e-6);
		for (size_t e = g->start[i]; e < g->start[i + 1]; e++) {
			assert_true(e == g->start[i] || g->index[e - 1] < g->index[e]);
			assert_true(fabs((double)g->weight[e] - w[i][g->index[e]]) < 1e-7);
		}
	}
	assert_int_equal(g->start[N], entries);
}

/* Parts by spreading the lowest number of a part along the edges. */
static void assert_parts(const cop_graph *g, double (*w)[N])
{
	size_t lowest[N];
	uint32_t parts = 0;
	for (size_t i = 0; i < N; i++)
		lowest[i] = i;
	for (size_t round = 0; round < N; round++)
		for (size_t i = 0; i < N; i++)
			for (size_t j = 0; j < N; j++)
				if (w[i][j] > 0.0 && lowest[j] < lowest[i])
					lowest[i] = lowest[j];
	for (size_t i = 0; i < N; i++)
		assert_int_equal(g->part[i], lowest[i] == i ? parts++ : g->part[lowest[i]]);
	assert_int_equal(g->parts, parts);
}

static void assert_products(const cop_graph *g, double (*w)[N], cop_rng *rng)
{
	static double z[N * OUTPUTS], out[N * OUTPUTS], again[N * OUTPUTS];
	double rough = 0.0;
	cop_pool *pool;
	for (size_t i = 0; i < (size_t)N * OUTPUTS; i++)
		z[i] = cop_rng_normal(rng);
	cop_graph_laplacian(g, OUTPUTS, z, NULL, out);
	assert_int_equal(cop_pool_new(3, &pool), COP_OK);
	cop_graph_laplacian(g, OUTPUTS, z, pool, again);
	cop_pool_free(pool);
	assert_memory_equal(out, again, sizeof out);
	for (size_t i = 0; i < N; i++)
		for (size_t o = 0; o < OUTPUTS; o++) {
			double want = 0.0;
			for (size_t j = 0; j < N; j++) {
				want += w[i][j] * (z[i * OUTPUTS + o] - z[j * OUTPUTS + o]);
				rough += 0.5 * w[i][j] * pow(z[i * OUTPUTS + o] - z[j * OUTPUTS + o], 2.0);
			}
			assert_true(fabs(out[i * OUTPUTS + o] - want) < 1e-5);
		}
	assert_true(fabs(cop_graph_roughness(g, OUTPUTS, z) - rough) < 1e-5 * rough);
	for (size_t i = 0; i < (size_t)N * OUTPUTS; i++)
		z[i] = 0.1;
	cop_graph_laplacian(g, OUTPUTS, z, NULL, out);
	for (size_t i = 0; i < (size_t)N * OUTPUTS; i++)
		assert_true(out[i] == 0.0);
	assert_true(cop_graph_roughness(g, OUTPUTS, z) == 0.0);
}

static void test_graph_of_random_weights_equals_dense(void **state)
{
	(void)state;
	static uint32_t index[N * K];
	static float weight[N * K], distance2[N * K];
	static double w[N][N];
	cop_rng rng;
	cop_rng_init(&rng, SEED, 0);
	printf("seed %u\n", SEED);
	for (int round = 0; round < 30; round++) {
		cop_graph *g;
		make(&rng, index, weight);
		if (round % 3 == 0) /* a point that nobody knows, and that knows nobody */
			for (size_t e = 0; e < (size_t)N * K; e++)
				weight[e] = e / K == 25 || index[e] == 25 ? 0.0f : weight[e];
		cop_neighbours neighbours = { .n = N, .k = K, .index = index, .distance2 = distance2 };
		to_dense(index, weight, w);
		assert_int_equal(cop_graph_new(&neighbours, weight, &g), COP_OK);
		assert_matrix(g, w);
		assert_parts(g, w);
		assert_true(g->parts >= 3);
		assert_products(g, w, &rng);
		cop_graph_free(g);
	}
}

static void test_graph_of_points_is_symmetric_bit_for_bit(void **state)
{
	(void)state;
	enum { POINTS = 5000, EACH = 6 };
	static float weight[POINTS * EACH];
	cop_rng rng;
	cop_neighbours neighbours;
	cop_graph *g;
	cop_rng_init(&rng, SEED, 1);
	float *x = clouds(&rng, POINTS, 3, 9);
	cop_points points = { .n = POINTS, .d = 3, .x = x };
	assert_int_equal(cop_neighbours_exact(&points, NULL, EACH, NULL, &neighbours), COP_OK);
	assert_int_equal(cop_affinity_entropic(&neighbours, 3.0, NULL, weight), COP_OK);
	assert_int_equal(cop_graph_new(&neighbours, weight, &g), COP_OK);
	double total = 0.0;
	for (uint32_t i = 0; i < POINTS; i++) {
		total += g->degree[i];
		for (size_t e = g->start[i]; e < g->start[i + 1]; e++) {
			uint32_t j = g->index[e];
			size_t back = g->start[j];
			while (back < g->start[j + 1] && g->index[back] != i)
				back++;
			assert_true(j != i && back < g->start[j + 1]);
			assert_true(g->weight[back] == g->weight[e] && g->part[i] == g->part[j]);
		}
	}
	assert_true(fabs(total - POINTS) < 1e-2); /* each row of P sums to 1 */
	cop_graph_free(g);
	cop_neighbours_fini(&neighbours);
	cop_mem_free(x);
}

/* One row more than a task has, joined to the first one. */
static void test_laplacian_of_a_last_row_alone_in_its_task_is_that_of_the_row(void **state)
{
	(void)state;
	enum { MANY = 2049 };
	static size_t start[MANY + 1];
	static uint32_t index[] = { MANY - 1, 0 };
	static float weight[] = { 2.0F, 2.0F };
	static double z[MANY], out[MANY];
	for (size_t i = 0; i < MANY; i++) {
		start[i + 1] = i + 1 < MANY ? 1 : 2;
		z[i] = (double)i;
		out[i] = 7.0;
	}
	const cop_graph graph = { .n = MANY, .start = start, .index = index, .weight = weight };
	cop_graph_laplacian(&graph, 1, z, NULL, out);
	assert_true(out[0] == -2.0 * (MANY - 1) && out[MANY - 1] == 2.0 * (MANY - 1));
	for (size_t i = 1; i + 1 < MANY; i++)
		assert_true(out[i] == 0.0);
	assert_true(cop_graph_roughness(&graph, 1, z) == 2.0 * (MANY - 1) * (MANY - 1));
}

static void test_graph_without_memory_says_so_and_leaves_nothing(void **state)
{
	(void)state;
	uint32_t index[3] = { 1, 0, 1 };
	float weight[3] = { 1, 1, 1 }, distance2[3] = { 1, 1, 1 };
	cop_neighbours neighbours = { .n = 3, .k = 1, .index = index, .distance2 = distance2 };
	cop_err err = COP_ENOMEM;
	unsigned long n = 1;
	for (; err != COP_OK && n < 100; n++) {
		cop_graph *g;
		cop_test_alloc_fail(n, 0);
		err = cop_graph_new(&neighbours, weight, &g);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		assert_true(err == COP_OK || (err == COP_ENOMEM && g == NULL));
		cop_graph_free(g);
	}
	assert_true(n > 8 && n < 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_graph_of_random_weights_equals_dense),
		cmocka_unit_test(test_graph_of_points_is_symmetric_bit_for_bit),
		cmocka_unit_test(test_laplacian_of_a_last_row_alone_in_its_task_is_that_of_the_row),
		cmocka_unit_test(test_graph_without_memory_says_so_and_leaves_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
