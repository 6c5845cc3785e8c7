/* Whole batches through a tree and back, against sums over all leaves, finite differences and recorded numbers. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "train/dgt_network.h"
#include "train/dgt_paths.h"
#include "unit/train/naive_tree.h"

#define MOST_H    5
#define MOST_ROWS 19
#define MOST_K    4

typedef struct batch {
	unsigned h;
	size_t nodes, leaves, rows, outputs;
	float a[NAIVE_LEAVES * MOST_ROWS], theta[NAIVE_LEAVES * MOST_K], g[MOST_ROWS * MOST_K];
	float f[MOST_ROWS * MOST_K], da[NAIVE_LEAVES * MOST_ROWS], dtheta[NAIVE_LEAVES * MOST_K];
} batch;

static void draw_all(cop_rng *rng, size_t n, float *v)
{
	for (size_t i = 0; i < n; i++)
		v[i] = (float)cop_rng_normal(rng);
}

static void draw_batch(cop_rng *rng, batch *b, unsigned h, size_t rows, size_t outputs)
{
	static const float edges[] = { 0.0f, -0.0f, 1.0f, -1.0f };
	*b = (batch){
		.h = h, .leaves = (size_t)1 << h, .nodes = ((size_t)1 << h) - 1, .rows = rows, .outputs = outputs
	};
	draw_all(rng, b->nodes * rows, b->a);
	draw_all(rng, b->leaves * outputs, b->theta);
	draw_all(rng, rows * outputs, b->g);
	for (size_t i = 0; i < b->nodes * rows; i++)
		if (cop_rng_below(rng, 8) == 0)
			b->a[i] = edges[cop_rng_below(rng, 4)];
}

/* Through the library; dtheta starts at 1 to see that it is added to. */
static void run(batch *b, bool product, bool annealed, bool scaled, double steepness)
{
	cop_dgt_paths_shape shape = { .height = b->h,
		.outputs = b->outputs,
		.rows = MOST_ROWS,
		.product = product,
		.annealed = annealed,
		.scaled = scaled };
	cop_dgt_paths *paths;
	assert_int_equal(cop_dgt_paths_new(&shape, &paths), COP_OK);
	cop_dgt_paths_set_steepness(paths, steepness);
	for (size_t i = 0; i < b->leaves * b->outputs; i++)
		b->dtheta[i] = 1.0f;
	cop_dgt_paths_forward(paths, b->rows, b->a, b->theta, b->f);
	cop_dgt_paths_backward(paths, b->rows, b->a, b->theta, b->g, b->da, b->dtheta);
	cop_dgt_paths_free(paths);
}

static void row_of(const batch *b, size_t i, double *a, double *u)
{
	for (size_t t = 0; t < b->nodes; t++)
		a[t] = (double)b->a[t * b->rows + i];
	for (size_t l = 0; l < b->leaves; l++) {
		u[l] = 0.0;
		for (size_t k = 0; k < b->outputs; k++)
			u[l] += (double)b->g[i * b->outputs + k] * (double)b->theta[l * b->outputs + k];
	}
}

/* Predictions and leaf gradients of the hard walk. */
static void check_hard(const batch *b)
{
	double want[NAIVE_LEAVES * MOST_K], a[NAIVE_LEAVES], u[NAIVE_LEAVES];
	for (size_t i = 0; i < b->leaves * b->outputs; i++)
		want[i] = 1.0;
	for (size_t i = 0; i < b->rows; i++) {
		row_of(b, i, a, u);
		size_t leaf = naive_leaf(b->h, a);
		for (size_t k = 0; k < b->outputs; k++) {
			assert_true(b->f[i * b->outputs + k] == b->theta[leaf * b->outputs + k]);
			want[leaf * b->outputs + k] += (double)b->g[i * b->outputs + k];
		}
	}
	for (size_t i = 0; i < b->leaves * b->outputs; i++)
		assert_true(fabs((double)b->dtheta[i] - want[i]) < 1e-5);
}

static void near_or_fail(const char *what, const batch *b, size_t t, size_t i, double want, double within)
{
	double got = (double)b->da[t * b->rows + i];
	if (!(fabs(got - want) < within * (1.0 + fabs(want))))
		fail_msg("%s h %u row %zu node %zu: %g, want %g", what, b->h, i, t, got, want);
}

static void for_each_batch(unsigned seed, void (*check)(batch *b))
{
	static batch b;
	cop_rng rng;
	print_message("seed %u\n", seed);
	cop_rng_init(&rng, seed, 0);
	for (unsigned h = 1; h <= MOST_H; h++)
		for (size_t outputs = 1; outputs <= MOST_K; outputs += 3)
			for (size_t rows = 1; rows <= MOST_ROWS; rows += 6) {
				draw_batch(&rng, &b, h, rows, outputs);
				check(&b);
			}
}

static void check_sum(batch *b)
{
	double a[NAIVE_LEAVES], u[NAIVE_LEAVES], want[NAIVE_LEAVES];
	run(b, false, false, false, 1.0);
	check_hard(b);
	for (size_t i = 0; i < b->rows; i++) {
		row_of(b, i, a, u);
		naive_backward(b->h, 1.0, a, u, want);
		for (size_t t = 0; t < b->nodes; t++)
			near_or_fail("sum", b, t, i, want[t], 1e-5);
	}
}

static void test_sum_whole_batch_equals_algorithm_2(void **state)
{
	(void)state;
	for_each_batch(51, check_sum);
}

static void check_scaled(batch *b)
{
	double a[NAIVE_LEAVES], u[NAIVE_LEAVES], want[NAIVE_LEAVES], fac = 0.0;
	run(b, false, false, true, 1.0);
	check_hard(b);
	for (size_t i = 0; i < b->nodes * b->rows; i++)
		fac += fabs((double)b->a[i]) / (double)(b->nodes * b->rows);
	for (size_t i = 0; i < b->rows; i++) {
		row_of(b, i, a, u);
		naive_backward(b->h, fac, a, u, want);
		for (size_t t = 0; t < b->nodes; t++)
			near_or_fail("scaled", b, t, i, 2.0 * want[t], 1e-5);
	}
}

static void test_scaled_uses_the_mean_magnitude_and_doubles(void **state)
{
	(void)state;
	for_each_batch(52, check_scaled);
}

static double clip(double a) { return a > 1.0 ? 1.0 : a < -1.0 ? -1.0 : a; }

/* Value of the smooth function at margins a: what the nodes' values are is the form's. */
static double smooth(
        const batch *b, bool product, bool annealed, double k, const double *a, const double *a0, const double *u)
{
	double s[NAIVE_LEAVES], q[NAIVE_LEAVES], sum = 0.0;
	for (size_t t = 0; t < b->nodes; t++)
		s[t] = annealed ? tanh(0.5 * k * a[t]) : naive_sign(a0[t]) + clip(a[t]) - clip(a0[t]);
	naive_weights(b->h, product, s, q);
	for (size_t l = 0; l < b->leaves; l++)
		sum += q[l] * u[l];
	return sum;
}

static void check_differences(batch *b, bool product, bool annealed, double k)
{
	double a0[NAIVE_LEAVES], a[NAIVE_LEAVES], u[NAIVE_LEAVES];
	for (size_t i = 0; i < b->nodes * b->rows && !annealed; i++)
		if (fabsf(b->a[i]) == 1.0f) /* the window's kink */
			b->a[i] *= 0.75f;
	run(b, product, annealed, false, k);
	for (size_t i = 0; i < b->rows; i++) {
		row_of(b, i, a0, u);
		memcpy(a, a0, sizeof a);
		for (size_t t = 0; t < b->nodes; t++) {
			a[t] = a0[t] + 1e-5;
			double up = smooth(b, product, annealed, k, a, a0, u);
			a[t] = a0[t] - 1e-5;
			double down = smooth(b, product, annealed, k, a, a0, u);
			a[t] = a0[t];
			near_or_fail(product ? "product" : "sum", b, t, i, (up - down) / 2e-5, 3e-5);
		}
	}
}

static void check_product(batch *b)
{
	check_differences(b, true, false, 1.0);
	check_hard(b);
}

static void test_product_equals_finite_differences(void **state)
{
	(void)state;
	for_each_batch(53, check_product);
}

static void check_annealed_sum(batch *b)
{
	check_differences(b, false, true, 3.0);
	check_hard(b);
}

static void test_annealed_sum_equals_finite_differences(void **state)
{
	(void)state;
	for_each_batch(54, check_annealed_sum);
}

/* The probabilistic tree is smooth throughout: also its predictions and leaves are checked. */
static void check_probabilistic(batch *b)
{
	check_differences(b, true, true, 2.0);
	double a[NAIVE_LEAVES], u[NAIVE_LEAVES], s[NAIVE_LEAVES], q[NAIVE_LEAVES], dtheta[NAIVE_LEAVES * MOST_K];
	for (size_t i = 0; i < b->leaves * b->outputs; i++)
		dtheta[i] = 1.0;
	for (size_t i = 0; i < b->rows; i++) {
		row_of(b, i, a, u);
		for (size_t t = 0; t < b->nodes; t++)
			s[t] = tanh(a[t]);
		naive_weights(b->h, 1, s, q);
		for (size_t k = 0; k < b->outputs; k++) {
			double f = 0.0;
			for (size_t l = 0; l < b->leaves; l++) {
				f += q[l] * (double)b->theta[l * b->outputs + k];
				dtheta[l * b->outputs + k] += q[l] * (double)b->g[i * b->outputs + k];
			}
			assert_true(fabs((double)b->f[i * b->outputs + k] - f) < 1e-5);
		}
	}
	for (size_t i = 0; i < b->leaves * b->outputs; i++)
		assert_true(fabs((double)b->dtheta[i] - dtheta[i]) < 1e-5);
}

static void test_annealed_product_is_the_probabilistic_tree(void **state)
{
	(void)state;
	for_each_batch(55, check_probabilistic);
}

/* Steep sigmoids reach neither infinity nor NaN. */
static void test_annealed_steep_stays_finite(void **state)
{
	(void)state;
	static batch b;
	cop_rng rng;
	cop_rng_init(&rng, 56, 0);
	for (int product = 0; product < 2; product++) {
		draw_batch(&rng, &b, 5, 7, 2);
		for (size_t i = 0; i < b.nodes * b.rows; i++)
			b.a[i] = b.a[i] == 0.0f ? 1.0f : b.a[i] * 1e10f;
		run(&b, product, true, false, 1e6);
		for (size_t i = 0; i < b.nodes * b.rows; i++)
			assert_true(isfinite(b.da[i]));
		check_hard(&b);
	}
}

/* From an independent float64 implementation that shares no code with this one: h 2, L 2, K 2, three rows. */
static const float recorded_w[] = { 0.0f, 0.21f, -0.19f, 0.02f, -0.62f, -0.32f, -0.69f, -0.19f, 0.04f, 0.94f, -0.34f,
	-0.01f, -0.43f, 0.34f, 0.25f, 0.14f, -0.94f, -0.32f, -1.33f, -0.9f, -1.29f, -0.16f, -0.89f, 0.19f, 0.11f,
	-0.13f, -1.76f, -0.38f, -0.01f, 0.02f, -0.31f };
static const float recorded_theta[] = { -0.48f, -0.98f, -0.81f, 1.06f, -0.81f, -0.03f, 0.88f, -0.58f };
static const float recorded_x[] = { -0.11f, 0.11f, 0.06f, 1.0f, -1.23f, 0.08f, 1.36f, 1.0f, -1.55f, 0.86f, 0.12f,
	1.0f };
static const float recorded_g[] = { -0.64f, 2.0f, 0.76f, -1.2f, 0.07f, 0.58f };
static const double recorded_a[] = { -0.283278, -0.015226, -2.25045, -0.00466, 0.962643, -0.680035, -0.492543, 0.108452,
	-1.99737 };
static const double recorded_dtheta[] = { -0.57, 2.58, 0.76, -1.2, 0.0, 0.0, 0.0, 0.0 };
static const double recorded_gradient[2][31] = {
	{ 0.131396062, -0.3958554856, 0.4449983317, -1.340092318, 0.2085603432, -0.06509890729, -0.1552954462,
	        -0.353473977, 1.151366426, -0.3312783773, -0.8722907583, -1.691124496, 0.8485472815, -0.02213666516,
	        -1.010795533, -0.7206527539, -0.1166718006, -0.2776318876, -0.2336943833, 0.6546256831, 0.2303424052,
	        0.2018136372, 0.5505519344, -0.2496236826, -0.06373610268, -0.07143176186, -0.1291595324, 0.2352643463,
	        0.8480416557, 0.4296404869, 0.102755148 },
	{ 0.3765937396, -0.986881084, 1.06613254, -3.273765593, 0.5279202386, -0.1592755762, -0.3964974737,
	        -0.8466227967, 2.918379688, -0.8150849953, -2.227186254, -4.077426706, 2.115763645, -0.03996764616,
	        -2.5313104, -1.673531459, -0.2992302472, -0.6702670512, -0.6001390054, 1.615219986, 0.5728062468,
	        0.4974549388, 1.372658275, -0.5923446313, -0.1603808727, -0.1785119881, -0.3250306097, 0.5901207994,
	        1.987255673, 1.111300549, 0.253022257 },
};

static void check_recorded(bool scaled, bool collapsed)
{
	cop_dgt_network_shape below = {
		.d = 3, .width = 4, .nodes = 3, .layers = 2, .rows = 3, .collapsed = collapsed
	};
	cop_dgt_paths_shape above = { .height = 2, .outputs = 2, .rows = 3, .scaled = scaled };
	cop_dgt_network *network;
	cop_dgt_paths *paths;
	float a[9], f[6], da[9], dtheta[8] = { 0.0f }, g[31];
	assert_int_equal(cop_dgt_network_new(&below, &network), COP_OK);
	assert_int_equal(cop_dgt_paths_new(&above, &paths), COP_OK);
	assert_int_equal(cop_dgt_network_weights(network), 31);
	cop_dgt_network_forward(network, recorded_w, 3, recorded_x, a);
	cop_dgt_paths_forward(paths, 3, a, recorded_theta, f);
	cop_dgt_paths_backward(paths, 3, a, recorded_theta, recorded_g, da, dtheta);
	cop_dgt_network_backward(network, recorded_w, 3, recorded_x, da, g);
	for (size_t i = 0; i < 9; i++)
		assert_true(fabs((double)a[i] - recorded_a[i]) < 1e-6);
	for (size_t i = 0; i < 8; i++)
		assert_true(fabs((double)dtheta[i] - recorded_dtheta[i]) < 1e-6);
	for (size_t i = 0; i < 31; i++)
		assert_true(fabs((double)g[i] - recorded_gradient[scaled][i]) < 3e-6);
	cop_dgt_network_free(network);
	cop_dgt_paths_free(paths);
}

static void test_network_and_sum_fixed_batch_give_recorded_numbers(void **state)
{
	(void)state;
	for (int scaled = 0; scaled < 2; scaled++)
		for (int collapsed = 0; collapsed < 2; collapsed++)
			check_recorded(scaled, collapsed);
}

static void test_new_bad_shape_is_refused(void **state)
{
	(void)state;
	static const cop_dgt_paths_shape bad[] = {
		{ .height = 0, .outputs = 1, .rows = 1 },
		{ .height = 13, .outputs = 1, .rows = 1 },
		{ .height = 1, .outputs = 0, .rows = 1 },
		{ .height = 1, .outputs = 1, .rows = 0 },
		{ .height = 1, .outputs = 1, .rows = 1, .scaled = true, .product = true },
		{ .height = 1, .outputs = 1, .rows = 1, .scaled = true, .annealed = true },
	};
	cop_dgt_paths *paths;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(cop_dgt_paths_new(&bad[i], &paths), COP_EINVAL);
		assert_null(paths);
	}
	cop_dgt_paths_free(NULL);
}

static void test_new_allocation_failure_every_one_is_enomem(void **state)
{
	(void)state;
	for (int form = 0; form < 4; form++) {
		cop_dgt_paths_shape shape = {
			.height = 3, .outputs = 2, .rows = 5, .product = form & 1, .annealed = form & 2
		};
		cop_dgt_paths *paths;
		cop_err err = COP_ENOMEM;
		for (unsigned long n = 1; err != COP_OK; n++) {
			cop_test_alloc_fail(n, 0);
			err = cop_dgt_paths_new(&shape, &paths);
			cop_test_alloc_fail(0, 0);
			assert_int_equal(err != COP_OK, cop_test_alloc_failed());
			assert_true(err == COP_OK ? n > 4 : err == COP_ENOMEM && paths == NULL);
		}
		cop_dgt_paths_free(paths);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sum_whole_batch_equals_algorithm_2),
		cmocka_unit_test(test_scaled_uses_the_mean_magnitude_and_doubles),
		cmocka_unit_test(test_product_equals_finite_differences),
		cmocka_unit_test(test_annealed_sum_equals_finite_differences),
		cmocka_unit_test(test_annealed_product_is_the_probabilistic_tree),
		cmocka_unit_test(test_annealed_steep_stays_finite),
		cmocka_unit_test(test_network_and_sum_fixed_batch_give_recorded_numbers),
		cmocka_unit_test(test_new_bad_shape_is_refused),
		cmocka_unit_test(test_new_allocation_failure_every_one_is_enomem),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
