/* Affinities against plain bisection on beta, and at the edges: ties, duplicates, one neighbour, infinite distances. */
#include "graph_fixture.h"

#include "graph/affinity.h"

#define SEED 13U

static double perplexity_of(const float *weight, size_t k)
{
	double entropy = 0.0;
	for (size_t i = 0; i < k; i++)
		entropy -= weight[i] > 0.0f ? (double)weight[i] * log((double)weight[i]) : 0.0;
	return exp(entropy);
}

static double sum_of(const float *weight, size_t k)
{
	double sum = 0.0;
	for (size_t i = 0; i < k; i++)
		sum += (double)weight[i];
	return sum;
}

/* By 200 halvings of beta's logarithm; distances as they are. */
static void bisect(const float *d, size_t k, double perplexity, double *weight)
{
	double low = -100.0, high = 100.0;
	for (int step = 0; step < 200; step++) {
		double beta = exp(0.5 * (low + high)), sum = 0.0, entropy = 0.0;
		for (size_t i = 0; i < k; i++)
			sum += weight[i] = exp(-beta * ((double)d[i] - (double)d[0]));
		for (size_t i = 0; i < k; i++) {
			weight[i] /= sum;
			entropy -= weight[i] > 0.0 ? weight[i] * log(weight[i]) : 0.0;
		}
		if (entropy > log(perplexity))
			low = 0.5 * (low + high);
		else
			high = 0.5 * (low + high);
	}
}

static void test_entropic_of_clouds_reaches_the_perplexity(void **state)
{
	(void)state;
	static const double wanted[] = { 1.2, 2.0, 5.0, 14.0, 19.0, 19.8 };
	enum { N = 400, K = 20 };
	static float weight[N * K], again[N * K];
	cop_rng rng;
	cop_pool *pool;
	cop_neighbours neighbours;
	cop_rng_init(&rng, SEED, 0);
	printf("seed %u\n", SEED);
	float *x = clouds(&rng, N, 8, 5);
	cop_points points = { .n = N, .d = 8, .x = x };
	assert_int_equal(cop_pool_new(2, &pool), COP_OK);
	assert_int_equal(cop_neighbours_exact(&points, NULL, K, NULL, &neighbours), COP_OK);
	for (size_t p = 0; p < sizeof wanted / sizeof wanted[0]; p++) {
		assert_int_equal(cop_affinity_entropic(&neighbours, wanted[p], NULL, weight), COP_OK);
		assert_int_equal(cop_affinity_entropic(&neighbours, wanted[p], pool, again), COP_OK);
		assert_memory_equal(weight, again, sizeof weight);
		for (size_t i = 0; i < N; i++) {
			double want[K];
			bisect(neighbours.distance2 + i * K, K, wanted[p], want);
			for (size_t j = 0; j < K; j++)
				assert_true(fabs((double)weight[i * K + j] - want[j]) < 1e-6);
			assert_true(fabs(sum_of(weight + i * K, K) - 1.0) < 1e-6);
			assert_true(fabs(perplexity_of(weight + i * K, K) - wanted[p]) < 1e-4);
		}
	}
	cop_pool_free(pool);
	cop_neighbours_fini(&neighbours);
	cop_mem_free(x);
}

/* One point, its four distances as given. */
static void weigh(const float *distance2, double perplexity, float *weight)
{
	uint32_t index[4] = { 1, 2, 3, 4 };
	float copy[4];
	memcpy(copy, distance2, sizeof copy);
	cop_neighbours one = { .n = 1, .k = 4, .index = index, .distance2 = copy };
	assert_int_equal(cop_affinity_entropic(&one, perplexity, NULL, weight), COP_OK);
	assert_true(fabs(sum_of(weight, 4) - 1.0) < 1e-6);
	for (size_t i = 1; i < 4; i++)
		assert_true(weight[i] >= 0.0f && weight[i] <= weight[i - 1]);
}

static void test_entropic_of_ties_comes_as_near_as_can_be(void **state)
{
	(void)state;
	static const float duplicates[4] = { 0, 0, 0, 0 }, equal[4] = { 7, 7, 7, 7 }, three[4] = { 2, 2, 2, 5 };
	float w[4];
	for (double p = 1.0; p < 6.0; p += 0.5) {
		weigh(duplicates, p, w);
		assert_true(perplexity_of(w, 4) > 3.99999);
		weigh(equal, p, w);
		assert_true(perplexity_of(w, 4) > 3.99999);
		weigh(three, p, w);
		double want = p < 3.0 ? 3.0 : p > 3.96 ? 3.96 : p;
		assert_true(fabs(perplexity_of(w, 4) - want) < 1e-4);
	}
}

static void test_entropic_of_extreme_distances_reaches_the_perplexity(void **state)
{
	(void)state;
	static const float rows[][4] = { { 0, 1, 2, 3 }, { 0, 1e-45f, 1, 3e38f }, { 1e-45f, 3e-45f, 4e-45f, 1e-44f },
		{ 1e30f, 1.0000001e30f, 2e30f, 3e38f }, { 5, 5.0000005f, 5.000001f, 9 } };
	float w[4];
	for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++)
		for (double p = 1.05; p < 3.96; p += 0.1) {
			weigh(rows[r], p, w);
			assert_true(fabs(perplexity_of(w, 4) - p) < 1e-4);
		}
}

static void test_entropic_at_the_limits_is_clamped(void **state)
{
	(void)state;
	static const float row[4] = { 1, 2, 3, 4 }, far[4] = { 1, 2, INFINITY, INFINITY };
	static const float farther[4] = { INFINITY, INFINITY, INFINITY, INFINITY };
	float w[4];
	weigh(row, 1.0, w);
	assert_true(w[0] == 1.0f && w[1] == 0.0f);
	weigh(row, 1e300, w);
	assert_true(fabs(perplexity_of(w, 4) - 3.96) < 1e-4);
	weigh(far, 3.0, w);
	assert_true(fabs(perplexity_of(w, 4) - 1.98) < 1e-4 && w[2] == 0.0f);
	weigh(farther, 3.0, w);
	assert_true(w[0] == 0.25f && w[3] == 0.25f);
	uint32_t index = 0;
	float distance2 = 3.0f;
	cop_neighbours one = { .n = 1, .k = 1, .index = &index, .distance2 = &distance2 };
	assert_int_equal(cop_affinity_entropic(&one, 5.0, NULL, w), COP_OK);
	assert_true(w[0] == 1.0f);
}

static void test_entropic_of_a_last_point_alone_in_its_task_is_weighed(void **state)
{
	(void)state;
	enum { MANY = 1025 };
	static uint32_t index[MANY];
	static float distance2[MANY], weight[MANY];
	cop_neighbours many = { .n = MANY, .k = 1, .index = index, .distance2 = distance2 };
	assert_int_equal(cop_affinity_entropic(&many, 1.0, NULL, weight), COP_OK);
	for (size_t i = 0; i < MANY; i++)
		assert_true(weight[i] == 1.0f);
}

static void test_entropic_of_no_perplexity_is_refused(void **state)
{
	(void)state;
	cop_neighbours none = { .n = 0, .k = 1 };
	float w = 0.0f;
	assert_int_equal(cop_affinity_entropic(&none, 0.99, NULL, &w), COP_EINVAL);
	assert_int_equal(cop_affinity_entropic(&none, -1.0, NULL, &w), COP_EINVAL);
	assert_int_equal(cop_affinity_entropic(&none, (double)NAN, NULL, &w), COP_EINVAL);
	assert_int_equal(cop_affinity_entropic(&none, (double)INFINITY, NULL, &w), COP_EINVAL);
	assert_int_equal(cop_affinity_entropic(&none, 2.0, NULL, &w), COP_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_entropic_of_clouds_reaches_the_perplexity),
		cmocka_unit_test(test_entropic_of_ties_comes_as_near_as_can_be),
		cmocka_unit_test(test_entropic_of_extreme_distances_reaches_the_perplexity),
		cmocka_unit_test(test_entropic_at_the_limits_is_clamped),
		cmocka_unit_test(test_entropic_of_a_last_point_alone_in_its_task_is_weighed),
		cmocka_unit_test(test_entropic_of_no_perplexity_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
