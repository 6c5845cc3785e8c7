/* A node of a convex polytope tree: values against formulas in doubles, gradients against their finite differences,
 * and the convexity of what goes left. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "train/polytope_node.h"

#define SEED    20U
#define N       40
#define D       3
#define K       4
#define CLASSES 3
#define NUMBERS (K * (D + 1) + K) /* beta, then ln r */

static const cop_polytope_prior prior = { .gamma0 = 2.0, .c0 = 0.7, .a0 = 0.3, .b0 = 0.2 };

typedef struct scene {
	float x[N * (D + 1)], beta[K * (D + 1)], log_r[K];
	uint32_t label[N];
	double numbers[NUMBERS];
	cop_polytope_node node;
} scene;

static void begin(scene *s)
{
	cop_rng rng;
	cop_rng_init(&rng, SEED, 0);
	for (size_t i = 0; i < N; i++) {
		for (size_t j = 0; j < D; j++)
			s->x[i * (D + 1) + j] = (float)cop_rng_normal(&rng);
		s->x[i * (D + 1) + D] = 1.0f;
		s->label[i] = (uint32_t)cop_rng_below(&rng, CLASSES);
	}
	for (size_t e = 0; e < K * (D + 1); e++)
		s->numbers[e] = (double)(s->beta[e] = (float)cop_rng_normal(&rng));
	for (size_t k = 0; k < K; k++)
		s->numbers[K * (D + 1) + k] = (double)(s->log_r[k] = (float)(0.3 * cop_rng_normal(&rng) - 1.0));
	s->node = (cop_polytope_node){ D, K, s->beta, s->log_r };
}

static double naive_sum(const double *numbers, const float *x)
{
	double sum = 0.0;
	for (size_t k = 0; k < K; k++) {
		double z = 0.0;
		for (size_t j = 0; j <= D; j++)
			z += numbers[k * (D + 1) + j] * (double)x[j];
		sum += exp(numbers[K * (D + 1) + k]) * log(1.0 + exp(z));
	}
	return sum;
}

static double naive_entropy(const scene *s, const double *numbers)
{
	double mass[2][CLASSES] = { { 0 } }, sum = 0.0;
	for (size_t i = 0; i < N; i++) {
		const double f = 1.0 - exp(-naive_sum(numbers, s->x + i * (D + 1)));
		mass[0][s->label[i]] += 1.0 - f;
		mass[1][s->label[i]] += f;
	}
	for (size_t side = 0; side < 2; side++)
		for (size_t c = 0; c < CLASSES; c++)
			sum -= mass[side][c] * log(mass[side][c] / (mass[side][0] + mass[side][1] + mass[side][2]));
	return sum / N;
}

static double naive_prior(const double *numbers)
{
	double sum = 0.0;
	for (size_t e = 0; e < K * (D + 1); e++)
		sum += (prior.a0 + 0.5) * log(1.0 + numbers[e] * numbers[e] / (2.0 * prior.b0));
	for (size_t e = K * (D + 1); e < NUMBERS; e++)
		sum += prior.c0 * exp(numbers[e]) - (prior.gamma0 / K - 1.0) * numbers[e];
	return sum;
}

static void test_gradients_equal_finite_differences(void **state)
{
	(void)state;
	scene s;
	float z[N * K], g_beta[K * (D + 1)], g_log_r[K];
	double sums[N], ds[N], room[2 * CLASSES];
	const double share = 0.01, h = 1e-5;
	cop_polytope_node gradient = { D, K, g_beta, g_log_r };
	begin(&s);
	cop_polytope_node_sums(&s.node, N, s.x, z, sums);
	for (size_t i = 0; i < N; i++)
		assert_true(fabs(sums[i] - naive_sum(s.numbers, s.x + i * (D + 1))) < 1e-5);
	assert_true(fabs(cop_polytope_node_entropy(N, CLASSES, s.label, sums, room, ds) -
	                    naive_entropy(&s, s.numbers)) < 1e-6);
	cop_polytope_node_gradient(&s.node, N, s.x, ds, z, &gradient);
	assert_true(fabs(cop_polytope_node_prior(&s.node, &prior, share, &gradient) - naive_prior(s.numbers)) < 1e-9);
	for (size_t e = 0; e < NUMBERS; e++) {
		const double at = s.numbers[e];
		s.numbers[e] = at + h;
		double difference = naive_entropy(&s, s.numbers) + share * naive_prior(s.numbers);
		s.numbers[e] = at - h;
		difference -= naive_entropy(&s, s.numbers) + share * naive_prior(s.numbers);
		s.numbers[e] = at;
		const double got = (double)(e < K * (D + 1) ? g_beta[e] : g_log_r[e - K * (D + 1)]);
		assert_true(fabs(difference / (2.0 * h) - got) < 1e-6);
	}
}

static void test_segments_between_rows_on_the_left_stay_there(void **state)
{
	(void)state;
	scene s;
	float x[3 * (D + 1)], z[3 * K];
	double sums[3];
	cop_rng rng;
	size_t tried = 0;
	begin(&s);
	cop_rng_init(&rng, SEED, 1);
	for (size_t trial = 0; trial < 5000; trial++) {
		const float t = (float)cop_rng_unit(&rng);
		for (size_t j = 0; j <= D; j++) {
			x[j] = j < D ? (float)(3.0 * cop_rng_normal(&rng)) : 1.0f;
			x[D + 1 + j] = j < D ? (float)(3.0 * cop_rng_normal(&rng)) : 1.0f;
			x[2 * (D + 1) + j] = (1.0f - t) * x[j] + t * x[D + 1 + j];
		}
		cop_polytope_node_sums(&s.node, 3, x, z, sums);
		tried += sums[0] <= 2.0 && sums[1] <= 2.0;
		assert_true(sums[0] > 2.0 || sums[1] > 2.0 || sums[2] <= 2.0 + 1e-5);
	}
	assert_true(tried > 100);
}

static double naive_variance(const double *s, const float *target)
{
	double mass[2] = { 0 }, mean[2] = { 0 }, sum = 0.0;
	for (size_t i = 0; i < N; i++)
		for (size_t side = 0; side < 2; side++) {
			const double p = side == 0 ? exp(-s[i]) : 1.0 - exp(-s[i]);
			mass[side] += p;
			mean[side] += p * (double)target[i];
		}
	for (size_t i = 0; i < N; i++)
		for (size_t side = 0; side < 2; side++)
			sum += (side == 0 ? exp(-s[i]) : 1.0 - exp(-s[i])) *
			       pow((double)target[i] - mean[side] / mass[side], 2.0);
	return sum / N;
}

static void test_variance_and_its_gradient_equal_the_formula(void **state)
{
	(void)state;
	float target[N];
	double s[N], ds[N], other[N];
	const double h = 1e-6;
	cop_rng rng;
	cop_rng_init(&rng, SEED, 2);
	for (size_t i = 0; i < N; i++) {
		target[i] = (float)cop_rng_normal(&rng);
		s[i] = 2.0 * cop_rng_unit(&rng);
	}
	assert_true(fabs(cop_polytope_node_variance(N, target, s, ds) - naive_variance(s, target)) < 1e-12);
	for (size_t i = 0; i < N; i++) {
		const double at = s[i];
		s[i] = at + h;
		double difference = cop_polytope_node_variance(N, target, s, other);
		s[i] = at - h;
		difference -= cop_polytope_node_variance(N, target, s, other);
		s[i] = at;
		assert_true(fabs(difference / (2.0 * h) - ds[i]) < 1e-8);
	}
}

static void test_sums_out_of_range_of_exponentials_stay_finite(void **state)
{
	(void)state;
	const float x[2 * 2] = { 1.0f, 1.0f, -1.0f, 1.0f };
	float beta[2] = { 5000.0f, 0.0f }, log_r[1] = { 0.0f }, z[2], g_beta[2], g_log_r[1];
	const uint32_t label[2] = { 0, 1 };
	double s[2], ds[2], room[4];
	const cop_polytope_node node = { 1, 1, beta, log_r };
	cop_polytope_node gradient = { 1, 1, g_beta, g_log_r };
	cop_polytope_node_sums(&node, 2, x, z, s);
	assert_true(s[0] == 5000.0 && s[1] == 0.0);
	assert_true(cop_polytope_node_entropy(2, 2, label, s, room, ds) == 0.0);
	cop_polytope_node_gradient(&node, 2, x, ds, z, &gradient);
	assert_true(isfinite(g_beta[0]) && isfinite(g_beta[1]) && isfinite(g_log_r[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gradients_equal_finite_differences),
		cmocka_unit_test(test_segments_between_rows_on_the_left_stay_there),
		cmocka_unit_test(test_variance_and_its_gradient_equal_the_formula),
		cmocka_unit_test(test_sums_out_of_range_of_exponentials_stay_finite),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
