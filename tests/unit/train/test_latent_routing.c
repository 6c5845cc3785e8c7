/* Routing against its definition node by node, and the gradients of routing and perceptron against central
 * differences. */
#include "support.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/rng.h"
#include "train/latent_routing.h"
#include "train/mlp.h"

#define SEED   4711U
#define DEPTH  3
#define SPLITS 7
#define NODES  15
#define ROWS   9
#define STRIDE (NODES + 2)
#define STEP   (1.0f / 1024)

typedef struct scene {
	cop_latent_routing *routing;
	double lambda, a[NODES];
	float split[SPLITS * ROWS], z[ROWS * STRIDE], weight[ROWS * STRIDE];
} scene;

static void begin(scene *s, cop_rng *rng, bool elu)
{
	assert_int_equal(cop_latent_routing_new(DEPTH, ROWS, elu, &s->routing), COP_OK);
	s->lambda = pow(10.0, -1.0 + 2.0 * cop_rng_unit(rng));
	for (size_t j = 0; j < SPLITS * ROWS; j++)
		s->split[j] = roundf((float)cop_rng_normal(rng) / STEP) * STEP; /* differences are exact */
	for (size_t j = 0; j < ROWS * STRIDE; j++)
		s->weight[j] = (float)cop_rng_normal(rng);
}

static double value(scene *s)
{
	double sum = 0.0;
	cop_latent_routing_solve(s->routing, ROWS, s->split, s->lambda, NULL, s->a, s->z, STRIDE);
	for (size_t i = 0; i < ROWS; i++)
		for (size_t t = 0; t < NODES; t++)
			sum += (double)(s->weight[i * STRIDE + t] * s->z[i * STRIDE + t]);
	return sum;
}

static void test_reach_is_bounded_by_the_way_and_by_what_is_kept(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, SEED, 1);
	for (int elu = 0; elu < 2; elu++) {
		scene s;
		float again[ROWS * STRIDE];
		begin(&s, &rng, elu != 0);
		(void)value(&s);
		for (size_t i = 0; i < ROWS; i++)
			for (size_t leaf = 0; leaf < NODES; leaf++) {
				double q = 1.0;
				for (size_t t = leaf; t > 0; t = (t - 1) / 2) {
					double v = (double)s.split[(t - 1) / 2 * ROWS + i];
					v = elu != 0 && v < 0.0 ? expm1(v) : v;
					q = fmin(q, t % 2 == 1 ? -v : v);
				}
				double z = fmin(fmax(q + 0.5, 0.0), s.a[leaf]);
				assert_true(fabs(z - (double)s.z[i * STRIDE + leaf]) < 1e-6);
			}
		cop_latent_routing_apply(s.routing, ROWS, s.split, s.a, again, STRIDE);
		for (size_t i = 0; i < ROWS; i++)
			assert_memory_equal(again + i * STRIDE, s.z + i * STRIDE, NODES * sizeof *again);
		cop_latent_routing_free(s.routing);
	}
}

static void test_gradient_of_routing_is_that_of_central_differences(void **state)
{
	(void)state;
	cop_rng rng;
	size_t differ = 0, compared = 0;
	cop_rng_init(&rng, SEED, 2);
	for (size_t c = 0; c < 100; c++) {
		scene s;
		float ds[SPLITS * ROWS];
		begin(&s, &rng, c % 2 == 1);
		(void)value(&s);
		cop_latent_routing_gradient(s.routing, s.split, s.a, s.weight, STRIDE, ds);
		for (size_t j = 0; j < SPLITS * ROWS; j++) {
			const float at = s.split[j];
			s.split[j] = at + STEP;
			double up = value(&s);
			s.split[j] = at - STEP;
			double down = value(&s);
			s.split[j] = at;
			compared++;
			differ += fabs((up - down) / (2.0 * (double)STEP) - (double)ds[j]) >
			          2e-3 * (1.0 + fabs((double)ds[j]));
		}
		cop_latent_routing_free(s.routing);
	}
	printf("%zu of %zu differ, which lie at a kink\n", differ, compared);
	assert_true(differ * 50 < compared);
}

static void check_perceptron(unsigned layers, double dropout)
{
	enum { IN = 5, OUT = 3 };
	cop_mlp_shape shape = { .layers = layers, .size = { IN, 4, 8 }, .dropout = dropout, .rows = ROWS };
	shape.size[layers] = OUT;
	cop_mlp *mlp;
	cop_rng rng, again;
	float x[ROWS * IN], y[ROWS * OUT], dy[ROWS * OUT], dx[ROWS * IN];
	cop_rng_init(&rng, SEED, layers);
	assert_int_equal(cop_mlp_new(&shape, &mlp), COP_OK);
	const size_t weights = cop_mlp_weights(mlp);
	float *w = cop_mem_alloc(weights, sizeof *w), *g = cop_mem_alloc(weights, sizeof *g);
	cop_mlp_start(mlp, &rng, w);
	for (size_t j = 0; j < ROWS * IN; j++)
		x[j] = (float)cop_rng_normal(&rng);
	for (size_t j = 0; j < ROWS * OUT; j++)
		dy[j] = (float)cop_rng_normal(&rng);
	again = rng;
	cop_mlp_forward(mlp, w, ROWS, x, &rng, y);
	cop_mlp_backward(mlp, w, ROWS, x, dy, g, dx);
	for (size_t j = 0; j < weights + ROWS * IN; j++) {
		float *at = j < weights ? w + j : x + (j - weights);
		const float kept = *at, e = 1e-2f;
		double by[2];
		for (int side = 0; side < 2; side++) {
			cop_rng drawn = again; /* the same numbers are dropped */
			*at = side == 0 ? kept + e : kept - e;
			cop_mlp_forward(mlp, w, ROWS, x, &drawn, y);
			by[side] = 0.0;
			for (size_t k = 0; k < ROWS * OUT; k++)
				by[side] += (double)(y[k] * dy[k]);
		}
		*at = kept;
		const double got = (double)(j < weights ? g[j] : dx[j - weights]);
		assert_true(fabs((by[0] - by[1]) / (2.0 * (double)e) - got) < 5e-3 * (1.0 + fabs(got)));
	}
	cop_mem_free(w);
	cop_mem_free(g);
	cop_mlp_free(mlp);
}

static void test_gradient_of_the_perceptron_is_that_of_central_differences(void **state)
{
	(void)state;
	check_perceptron(1, 0.0);
	check_perceptron(3, 0.0);
	check_perceptron(3, 0.4);
}

static void test_dropout_keeps_the_mean(void **state)
{
	(void)state;
	const cop_mlp_shape shape = { .layers = 2, .size = { 1, 1000, 1 }, .dropout = 0.25, .rows = 1 };
	cop_mlp *mlp;
	cop_rng rng;
	const float x = 1.0f;
	float y = 0.0f;
	cop_rng_init(&rng, SEED, 9);
	assert_int_equal(cop_mlp_new(&shape, &mlp), COP_OK);
	float *w = cop_mem_alloc(cop_mlp_weights(mlp), sizeof *w);
	for (size_t j = 0; j < cop_mlp_weights(mlp) - 1; j++)
		w[j] = j < 1000 ? 1.0f : j < 2000 ? 0.0f : 1e-3f;
	cop_mlp_forward(mlp, w, 1, &x, NULL, &y);
	assert_true(fabsf(y - 1.0f) < 1e-5f);
	cop_mlp_forward(mlp, w, 1, &x, &rng, &y);
	assert_true(y != 1.0f && fabsf(y - 1.0f) < 0.1f);
	cop_mem_free(w);
	cop_mlp_free(mlp);
}

static void test_wrong_shapes_are_refused_and_memory_is_reported(void **state)
{
	(void)state;
	cop_latent_routing *routing;
	cop_mlp *mlp;
	const cop_mlp_shape good = { .layers = 2, .size = { 2, 4, 1 }, .rows = 3 };
	cop_mlp_shape bad[6] = { good, good, good, good, good, good };
	assert_int_equal(cop_latent_routing_new(0, 1, false, &routing), COP_EINVAL);
	assert_int_equal(cop_latent_routing_new(COP_LATENT_MAX_DEPTH + 1, 1, false, &routing), COP_EINVAL);
	assert_int_equal(cop_latent_routing_new(2, 0, false, &routing), COP_EINVAL);
	bad[0].size[0] = 0;
	bad[1].size[2] = 0;
	bad[2].rows = 0;
	bad[3].layers = COP_MLP_MAX_LAYERS + 1;
	bad[4].size[1] = 0;
	bad[5].dropout = 1.0;
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(cop_mlp_new(&bad[i], &mlp), COP_EINVAL);
	for (unsigned long n = 1;; n++) {
		cop_test_alloc_fail(n, 1);
		cop_err err = cop_latent_routing_new(2, 3, false, &routing);
		cop_err other = cop_mlp_new(&good, &mlp);
		cop_test_alloc_fail(0, 0);
		assert_true((err == COP_OK) == (routing != NULL) && (other == COP_OK) == (mlp != NULL));
		cop_latent_routing_free(routing);
		cop_mlp_free(mlp);
		if (err == COP_OK && other == COP_OK)
			break;
		assert_true(other == COP_ENOMEM && (err == COP_OK || err == COP_ENOMEM));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reach_is_bounded_by_the_way_and_by_what_is_kept),
		cmocka_unit_test(test_gradient_of_routing_is_that_of_central_differences),
		cmocka_unit_test(test_gradient_of_the_perceptron_is_that_of_central_differences),
		cmocka_unit_test(test_dropout_keeps_the_mean),
		cmocka_unit_test(test_wrong_shapes_are_refused_and_memory_is_reported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
