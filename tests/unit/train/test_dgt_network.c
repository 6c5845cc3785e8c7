/* The linear layers against the same written literally, both forms of gradients, and the collapsed product. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "train/dgt_network.h"
#include "unit/train/naive_tree.h"

#define MOST 4096

typedef struct problem {
	cop_dgt_network_shape shape;
	cop_dgt_network *network;
	float w[MOST], x[MOST], a[MOST], da[MOST], g[MOST];
} problem;

static void draw(cop_rng *rng, size_t n, float *v)
{
	assert_true(n <= MOST);
	for (size_t i = 0; i < n; i++)
		v[i] = (float)cop_rng_normal(rng) * 0.5f;
}

static void make(problem *p, cop_rng *rng, cop_dgt_network_shape shape)
{
	p->shape = shape;
	assert_int_equal(cop_dgt_network_new(&shape, &p->network), COP_OK);
	draw(rng, cop_dgt_network_weights(p->network), p->w);
	draw(rng, shape.rows * (shape.d + 1), p->x);
	draw(rng, shape.rows * shape.nodes, p->da);
	for (size_t i = 0; i < shape.rows; i++)
		p->x[i * (shape.d + 1) + shape.d] = 1.0f;
}

/* sum da a in double, of the first `rows` rows. */
static double value(const problem *p, size_t rows)
{
	const cop_dgt_network_shape *s = &p->shape;
	double sum = 0.0, a[NAIVE_LEAVES];
	for (size_t i = 0; i < rows; i++) {
		naive_margins(s->d, s->width, s->nodes, s->layers, p->w, p->x + i * (s->d + 1), a);
		for (size_t t = 0; t < s->nodes; t++)
			sum += a[t] * (double)p->da[t * rows + i];
	}
	return sum;
}

static void check(problem *p, size_t rows)
{
	const cop_dgt_network_shape *s = &p->shape;
	double a[NAIVE_LEAVES];
	cop_dgt_network_forward(p->network, p->w, rows, p->x, p->a);
	for (size_t i = 0; i < rows; i++) {
		naive_margins(s->d, s->width, s->nodes, s->layers, p->w, p->x + i * (s->d + 1), a);
		for (size_t t = 0; t < s->nodes; t++)
			assert_true(fabs((double)p->a[t * rows + i] - a[t]) < 2e-5);
	}
	cop_dgt_network_backward(p->network, p->w, rows, p->x, p->da, p->g);
	for (size_t k = 0; k < cop_dgt_network_weights(p->network); k++) {
		float kept = p->w[k]; /* the value is linear in each weight: differences are exact */
		p->w[k] = kept + 0.5f;
		double up = value(p, rows), step = (double)p->w[k];
		p->w[k] = kept - 0.5f;
		double want = (up - value(p, rows)) / (step - (double)p->w[k]);
		p->w[k] = kept;
		if (fabs((double)p->g[k] - want) > 1e-4 * (1.0 + fabs(want)))
			fail_msg("layers %u collapsed %d rows %zu weight %zu: %g, want %g", s->layers, s->collapsed,
			        rows, k, (double)p->g[k], want);
	}
}

static const cop_dgt_network_shape shapes[] = {
	{ .d = 3, .width = 0, .nodes = 7, .layers = 1, .rows = 5 },
	{ .d = 2, .width = 4, .nodes = 3, .layers = 2, .rows = 6 },
	{ .d = 3, .width = 5, .nodes = 7, .layers = 3, .rows = 4 },
	{ .d = 7, .width = 3, .nodes = 1, .layers = 3, .rows = 2 },
	{ .d = 2, .width = 3, .nodes = 3, .layers = 5, .rows = 3 },
	{ .d = 1, .width = 2, .nodes = 1, .layers = 8, .rows = 1 },
};

static void test_forward_backward_both_forms_equal_literal_layers(void **state)
{
	(void)state;
	static problem p;
	cop_rng rng;
	print_message("seed 41\n");
	cop_rng_init(&rng, 41, 0);
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		for (int collapsed = 0; collapsed < 2; collapsed++) {
			cop_dgt_network_shape shape = shapes[i];
			shape.collapsed = collapsed;
			make(&p, &rng, shape);
			for (size_t rows = shape.rows; rows > 0; rows--)
				check(&p, rows);
			cop_dgt_network_free(p.network);
		}
}

/* Sizes at which BLAS takes its usual ways. */
static void test_backward_collapsed_equals_layered_on_a_whole_batch(void **state)
{
	(void)state;
	cop_dgt_network_shape shape = { .d = 16, .width = 150, .nodes = 63, .layers = 3, .rows = 128 };
	cop_dgt_network *form[2];
	float *a[2], *g[2];
	cop_rng rng;
	print_message("seed 42\n");
	cop_rng_init(&rng, 42, 0);
	for (int i = 0; i < 2; i++) {
		shape.collapsed = i;
		assert_int_equal(cop_dgt_network_new(&shape, &form[i]), COP_OK);
		a[i] = cop_mem_alloc(shape.nodes * shape.rows, sizeof(float));
		g[i] = cop_mem_alloc(cop_dgt_network_weights(form[i]), sizeof(float));
	}
	size_t n = cop_dgt_network_weights(form[0]), inputs = shape.d + 1;
	assert_int_equal(n, 150 * 17 + 150 * 151 + 63 * 151);
	float *w = cop_mem_alloc(n, sizeof *w), *x = cop_mem_alloc(shape.rows, inputs * sizeof *x);
	float *da = cop_mem_alloc(shape.nodes * shape.rows, sizeof *da);
	cop_dgt_network_start(form[0], &rng, w);
	for (size_t i = 0; i < shape.rows * inputs; i++)
		x[i] = i % inputs == shape.d ? 1.0f : (float)cop_rng_normal(&rng);
	for (size_t i = 0; i < shape.nodes * shape.rows; i++)
		da[i] = (float)cop_rng_normal(&rng);
	for (int i = 0; i < 2; i++) {
		cop_dgt_network_forward(form[i], w, shape.rows, x, a[i]);
		cop_dgt_network_backward(form[i], w, shape.rows, x, da, g[i]);
	}
	for (size_t i = 0; i < shape.nodes * shape.rows; i++)
		assert_true(fabsf(a[0][i] - a[1][i]) < 1e-5f);
	for (size_t i = 0; i < n; i++)
		assert_true(fabsf(g[0][i] - g[1][i]) < 2e-4f * (1.0f + fabsf(g[0][i])));
	for (int i = 0; i < 2; i++) {
		cop_dgt_network_free(form[i]);
		cop_mem_free(a[i]);
		cop_mem_free(g[i]);
	}
	cop_mem_free(w);
	cop_mem_free(x);
	cop_mem_free(da);
}

/* The product alone gives the margins, also where its columns are more than the rows of a batch. */
static void test_collapse_gives_the_margins(void **state)
{
	(void)state;
	static problem p;
	float product[MOST];
	cop_rng rng;
	print_message("seed 43\n");
	cop_rng_init(&rng, 43, 0);
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		for (int collapsed = 0; collapsed < 2; collapsed++) {
			cop_dgt_network_shape shape = shapes[i];
			shape.collapsed = collapsed;
			make(&p, &rng, shape);
			cop_dgt_network_forward(p.network, p.w, shape.rows, p.x, p.a);
			cop_dgt_network_collapse(p.network, p.w, product);
			for (size_t t = 0; t < shape.nodes; t++)
				for (size_t r = 0; r < shape.rows; r++) {
					double sum = 0.0;
					for (size_t j = 0; j <= shape.d; j++)
						sum += (double)product[t * (shape.d + 1) + j] *
						       (double)p.x[r * (shape.d + 1) + j];
					assert_true(fabs(sum - (double)p.a[t * shape.rows + r]) < 2e-5);
				}
			cop_dgt_network_free(p.network);
		}
}

static void test_start_is_within_the_root_of_the_inputs_and_biases_are_zero(void **state)
{
	(void)state;
	static problem p;
	cop_rng rng;
	cop_rng_init(&rng, 44, 0);
	make(&p, &rng, shapes[2]);
	cop_dgt_network_start(p.network, &rng, p.w);
	for (size_t i = 0; i < 5; i++) {
		for (size_t j = 0; j < 3; j++)
			assert_true(fabs((double)p.w[i * 4 + j]) <= 1.0 / sqrt(3.0) && p.w[i * 4 + j] != 0.0f);
		assert_true(p.w[i * 4 + 3] == 0.0f);
	}
	for (size_t i = 0; i < 25; i++)
		assert_true(fabs((double)p.w[20 + i]) <= 1.0 / sqrt(5.0) && p.w[20 + i] != 0.0f);
	for (size_t i = 0; i < 5; i++)
		assert_true(p.w[45 + i] == 0.0f);
	for (size_t i = 0; i < 7; i++)
		assert_true(p.w[50 + 35 + i] == 0.0f);
	cop_dgt_network_free(p.network);
}

static void test_collapsed_is_cheaper_when_features_are_few(void **state)
{
	(void)state;
	cop_dgt_network_shape letter = { .d = 16, .width = 1530, .nodes = 255, .layers = 3, .rows = 128 };
	cop_dgt_network_shape mnist = letter, plain = letter;
	mnist.d = 784;
	plain.layers = 1;
	assert_true(cop_dgt_network_collapsed_is_cheaper(&letter));
	assert_false(cop_dgt_network_collapsed_is_cheaper(&mnist));
	assert_false(cop_dgt_network_collapsed_is_cheaper(&plain));
}

/* Shapes for which a multiplication more or less decides; of the first both forms need as many. */
static void test_collapsed_is_cheaper_by_the_number_of_multiplications(void **state)
{
	(void)state;
	static const struct {
		cop_dgt_network_shape shape;
		bool cheaper;
	} cases[] = {
		{ { .d = 15, .width = 8, .nodes = 8, .layers = 2, .rows = 16 }, false },
		{ { .d = 3, .width = 3, .nodes = 18, .layers = 2, .rows = 22 }, true },
		{ { .d = 4, .width = 20, .nodes = 18, .layers = 1, .rows = 7 }, false },
		{ { .d = 10, .width = 19, .nodes = 6, .layers = 2, .rows = 6 }, true },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_int_equal(cop_dgt_network_collapsed_is_cheaper(&cases[i].shape), cases[i].cheaper);
}

static void test_new_bad_shape_is_refused(void **state)
{
	(void)state;
	cop_dgt_network *network;
	for (int i = 0; i < 6; i++) {
		cop_dgt_network_shape shape = shapes[2];
		size_t *numbers[] = { &shape.d, &shape.width, &shape.nodes, &shape.rows };
		if (i < 4)
			*numbers[i] = 0;
		else
			shape.layers = i == 4 ? 0 : COP_DGT_NETWORK_MAX_LAYERS + 1;
		assert_int_equal(cop_dgt_network_new(&shape, &network), COP_EINVAL);
		assert_null(network);
	}
	cop_dgt_network_shape huge = { .d = SIZE_MAX, .width = 1, .nodes = 1, .layers = 3, .rows = 1 };
	assert_int_equal(cop_dgt_network_new(&huge, &network), COP_ENOMEM);
	huge.d = SIZE_MAX / 2;
	huge.width = 3;
	assert_int_equal(cop_dgt_network_new(&huge, &network), COP_ENOMEM);
	cop_dgt_network_free(NULL);
}

static void test_new_allocation_failure_every_one_is_enomem(void **state)
{
	(void)state;
	for (int collapsed = 0; collapsed < 2; collapsed++) {
		cop_dgt_network_shape shape = shapes[2];
		cop_dgt_network *network;
		cop_err err = COP_ENOMEM;
		shape.collapsed = collapsed;
		for (unsigned long n = 1; err != COP_OK; n++) {
			cop_test_alloc_fail(n, 0);
			err = cop_dgt_network_new(&shape, &network);
			cop_test_alloc_fail(0, 0);
			assert_int_equal(err != COP_OK, cop_test_alloc_failed());
			assert_true(err == COP_OK ? n > 4 : err == COP_ENOMEM && network == NULL);
		}
		cop_dgt_network_free(network);
	}
}

/* Of layered ones a vector for each layer but the last, two gradients and the rows' W^(1); of collapsed ones one for
 * each layer but the first, and two gradients. */
static void test_new_takes_the_memory_that_its_form_needs(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		for (int collapsed = 0; collapsed < 2; collapsed++) {
			cop_dgt_network_shape shape = shapes[i];
			cop_dgt_network *network;
			shape.collapsed = collapsed;
			cop_test_alloc_fail(0, 0);
			assert_int_equal(cop_dgt_network_new(&shape, &network), COP_OK);
			unsigned long want = shape.layers + (collapsed ? 2 : 3);
			assert_int_equal(cop_test_alloc_count(), shape.layers == 1 ? 1 : want);
			cop_dgt_network_free(network);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forward_backward_both_forms_equal_literal_layers),
		cmocka_unit_test(test_backward_collapsed_equals_layered_on_a_whole_batch),
		cmocka_unit_test(test_collapse_gives_the_margins),
		cmocka_unit_test(test_start_is_within_the_root_of_the_inputs_and_biases_are_zero),
		cmocka_unit_test(test_collapsed_is_cheaper_when_features_are_few),
		cmocka_unit_test(test_collapsed_is_cheaper_by_the_number_of_multiplications),
		cmocka_unit_test(test_new_bad_shape_is_refused),
		cmocka_unit_test(test_new_allocation_failure_every_one_is_enomem),
		cmocka_unit_test(test_new_takes_the_memory_that_its_form_needs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
