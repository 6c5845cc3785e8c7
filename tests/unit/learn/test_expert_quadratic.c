/* The quadratic expert against recursive least squares in double on inputs and products, which its explanations show;
 * its prior is read off the first event. */
#include "rows.h"

#include <math.h>
#include <stdio.h>

#include "learn/expert.h"

#define SEED   83U
#define INPUTS 3 /* two features: all 6 inputs and products fit into an explanation */
#define ALL    6

static void *expert_of(size_t inputs, size_t arms)
{
	const cop_expert_settings set = {
		.kernel = cop_kernel_best(), .inputs = inputs, .typical = inputs, .arms = arms, .rate = 1.0f
	};
	cop_rng rng;
	void *expert;
	cop_rng_init(&rng, SEED, 0);
	assert_int_equal(cop_expert_quadratic.create(&set, &rng, &expert), COP_OK);
	return expert;
}

/* Inputs and products as the expert sees them, by index from 0; the number of shown ones. */
static size_t seen(void *expert, const cop_row *x, size_t arm, double *z, double *prediction)
{
	cop_explanation e;
	cop_explained_expert why = { .name = "quadratic" };
	_Alignas(64) float loss[16];
	assert_int_equal(cop_explanation_init(&e, 0, 0), COP_OK);
	cop_expert_quadratic.predict(expert, x, loss);
	cop_expert_quadratic.explain(expert, x, arm, &e, &why);
	cop_explanation_fini(&e);
	*prediction = (double)loss[arm];
	assert_true(fabs(0.5 + why.linear - *prediction) < 1e-5);
	size_t next = INPUTS; /* products by ascending index */
	uint32_t after = INPUTS - 1;
	for (size_t i = 0; i < why.count; i++)
		if (why.features[i].index < INPUTS)
			z[why.features[i].index] = (double)why.features[i].value;
	for (;;) {
		const cop_explained_feature *least = NULL;
		for (size_t i = 0; i < why.count; i++)
			if (why.features[i].index > after && (least == NULL || why.features[i].index < least->index))
				least = &why.features[i];
		if (least == NULL || next == ALL)
			return why.count;
		after = least->index;
		z[next++] = (double)least->value;
	}
}

static void test_inputs_and_products_equal_least_squares(void **state)
{
	(void)state;
	void *expert = expert_of(INPUTS, 2);
	double p[ALL][ALL] = { { 0 } }, w[ALL] = { 0 }, prediction;
	cop_rng rng;
	cop_rng_init(&rng, SEED, 1);
	printf("seed %u\n", SEED);
	for (size_t n = 0; n < 500; n++) {
		float x[INPUTS] = { (float)(2.0 * cop_rng_unit(&rng) - 1.0), (float)(2.0 * cop_rng_unit(&rng) - 1.0),
			1.0f };
		const cop_row row = { .d = INPUTS, .dense = x };
		double loss = 0.5 + 0.2 * (double)(x[0] * x[1]) + 0.1 * (double)x[0] + 0.05 * cop_rng_normal(&rng);
		double z[ALL] = { 0 }, pz[ALL] = { 0 }, spread = 1.0, told = 0.5;
		if (n == 0) { /* what has no weight is not shown: a first step, in an expert that is thrown away */
			void *first = expert_of(INPUTS, 2);
			double squares = 0.0;
			assert_int_equal(cop_expert_quadratic.learn(first, &row, 1, 1.0, false), COP_OK);
			assert_int_equal(seen(first, &row, 1, z, &prediction), ALL);
			for (size_t i = 0; i < ALL; i++)
				squares += z[i] * z[i];
			double variance = (prediction - 0.5) / (1.0 - prediction) / squares; /* 1 / ridge */
			printf("ridge %.4f\n", 1.0 / variance);
			for (size_t i = 0; i < ALL; i++)
				p[i][i] = variance;
			cop_expert_quadratic.member.destroy(first);
			_Alignas(64) float losses[16];
			cop_expert_quadratic.predict(expert, &row, losses);
			assert_true(losses[0] == 0.5f && losses[1] == 0.5f);
		} else {
			assert_int_equal(seen(expert, &row, 1, z, &prediction), ALL);
			for (size_t i = 0; i < ALL; i++)
				told += w[i] * z[i];
			assert_true(fabs(told - prediction) < 1e-4);
		}
		for (size_t i = 0; i < ALL; i++) {
			for (size_t j = 0; j < ALL; j++)
				pz[i] += p[i][j] * z[j];
			spread += pz[i] * z[i];
		}
		for (size_t i = 0; i < ALL; i++) {
			w[i] += pz[i] / spread * (loss - told);
			for (size_t j = 0; j < ALL; j++)
				p[i][j] -= pz[i] * pz[j] / spread;
		}
		assert_int_equal(cop_expert_quadratic.learn(expert, &row, 1, loss, n % 2 == 0 && n > 0), COP_OK);
	}
	cop_expert_quadratic.member.destroy(expert);
}

/* A product of two features, one of their squares, is what no line tells. */
static void test_products_are_learned(void **state)
{
	(void)state;
	static const size_t sizes[] = { 4, 20, 60 };
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
		size_t inputs = sizes[s];
		void *expert = expert_of(inputs, 2);
		float x[ROW_MAX];
		const cop_row row = { .d = inputs, .dense = x };
		double late = 0.0, sum = 0.0, squares = 0.0;
		cop_rng rng;
		cop_rng_init(&rng, SEED, 2);
		for (size_t n = 0; n < 3000; n++) {
			_Alignas(64) float losses[16];
			for (size_t j = 0; j < inputs; j++)
				x[j] = (float)fmin(fmax(cop_rng_normal(&rng), -2.0), 2.0);
			x[inputs - 1] = 1.0f;
			double loss = 0.3 + 0.05 * (double)(x[0] * x[1]) + 0.1 * (double)(x[2] * x[2]) / 2.0;
			cop_expert_quadratic.predict(expert, &row, losses);
			double error = loss - (double)losses[0];
			sum += loss / 3000.0;
			squares += loss * loss / 3000.0;
			late += n >= 2500 ? error * error / 500.0 : 0.0;
			assert_int_equal(cop_expert_quadratic.learn(expert, &row, 0, loss, true), COP_OK);
		}
		double variance = squares - sum * sum;
		printf("%zu inputs: mean squared error %.6f, variance %.6f\n", inputs, late, variance);
		assert_true(late < (inputs <= 20 ? 0.05 : 1.0) * variance);
		cop_expert_quadratic.member.destroy(expert);
	}
}

static void test_product_indices_are_pairs_in_order(void **state)
{
	(void)state;
	static const size_t sizes[] = { 2, 3, 10, 60, 500 };
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
		void *expert = expert_of(sizes[s], 2);
		size_t i = 0, j = 0, before = 0, found = 0, features = sizes[s] - 1;
		for (size_t index = 0; index < 100000; index++) {
			if (!cop_expert_quadratic.product(expert, index, &i, &j))
				continue;
			assert_true(index >= sizes[s] && i <= j && j < features);
			assert_true(found == 0 || i * features + j > before);
			before = i * features + j;
			found++;
		}
		printf("%zu features: %zu products\n", features, found);
		assert_true(found > 0 && found <= features * (features + 1) / 2);
		if (features < 60)
			assert_int_equal(found, features * (features + 1) / 2);
		assert_false(cop_expert_quadratic.product(expert, SIZE_MAX, &i, &j));
		cop_expert_quadratic.member.destroy(expert);
	}
}

static void save(void *expert, cop_bytes *bytes)
{
	cop_bytes_clear(bytes);
	cop_expert_quadratic.member.save(expert, bytes);
	assert_int_equal(bytes->err, COP_OK);
}

static void train(void *expert, size_t inputs, uint64_t stream, size_t events, bool again)
{
	float x[ROW_MAX];
	const cop_row row = { .d = inputs, .dense = x };
	cop_rng rng;
	cop_rng_init(&rng, SEED, stream);
	for (size_t n = 0; n < events; n++) {
		_Alignas(64) float losses[16];
		for (size_t j = 0; j < inputs; j++)
			x[j] = (float)cop_rng_normal(&rng);
		x[inputs - 1] = 1.0f;
		cop_expert_quadratic.predict(expert, &row, losses);
		assert_int_equal(cop_expert_quadratic.learn(expert, &row, n % 3, cop_rng_unit(&rng), again), COP_OK);
	}
}

static void test_saved_again_and_continued_gives_the_same_bits(void **state)
{
	(void)state;
	static const size_t sizes[] = { 3, 20, 40, 64 };
	for (size_t s = 0; s < 4; s++) {
		void *a = expert_of(sizes[s], 3), *b = expert_of(sizes[s], 3), *c = expert_of(sizes[s] - 1, 3);
		cop_bytes first, second;
		cop_cursor cursor;
		cop_bytes_init(&first);
		cop_bytes_init(&second);
		train(a, sizes[s], 3, 60, true);
		save(a, &first);
		cop_cursor_init(&cursor, first.data, first.length);
		assert_int_equal(cop_expert_quadratic.member.load(b, &cursor), COP_OK);
		assert_int_equal(cop_cursor_left(&cursor), 0);
		train(a, sizes[s], 4, 60, true);
		train(b, sizes[s], 4, 60, false);
		cop_cursor_init(&cursor, first.data, first.length);
		assert_int_equal(cop_expert_quadratic.member.load(c, &cursor), COP_ESHAPE);
		save(a, &first);
		save(b, &second);
		assert_bytes_equal(&first, &second);
		for (size_t cut = 0; cut < first.length; cut += 1 + cut / 10) {
			cop_cursor_init(&cursor, first.data, cut);
			assert_int_not_equal(cop_expert_quadratic.member.load(b, &cursor), COP_OK);
		}
		cop_bytes_fini(&first);
		cop_bytes_fini(&second);
		cop_expert_quadratic.member.destroy(a);
		cop_expert_quadratic.member.destroy(b);
		cop_expert_quadratic.member.destroy(c);
	}
}

static void test_create_takes_what_footprint_tells_and_no_more_later(void **state)
{
	(void)state;
	static const size_t shapes[][2] = { { 3, 2 }, { 20, 10 }, { 64, 3 }, { 300, 20 }, { 785, 10 }, { 10, 1000 } };
	for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
		const cop_expert_settings set = { .kernel = cop_kernel_best(),
			.inputs = shapes[s][0],
			.typical = shapes[s][0],
			.arms = shapes[s][1],
			.rate = 1.0f };
		cop_rng rng;
		void *expert = NULL;
		cop_rng_init(&rng, SEED, 5);
		if (cop_expert_quadratic.can_help != NULL && !cop_expert_quadratic.can_help(&set))
			continue;
		for (unsigned long n = 1; expert == NULL; n++) {
			cop_test_alloc_fail(n, 0);
			cop_err err = cop_expert_quadratic.create(&set, &rng, &expert);
			assert_int_equal(err != COP_OK, cop_test_alloc_failed());
			assert_true(err == COP_OK || (err == COP_ENOMEM && expert == NULL));
		}
		double bytes = (double)cop_test_alloc_bytes(), told = cop_expert_quadratic.footprint(&set);
		if (!(fabs(told - bytes) <= 0.05 * bytes + 8192.0))
			fail_msg(
			        "%zu inputs, %zu arms: %.0f bytes, told %.0f", shapes[s][0], shapes[s][1], bytes, told);
		cop_test_alloc_fail(1, 1);
		if (shapes[s][0] <= ROW_MAX && shapes[s][1] >= 3 && shapes[s][1] <= 16)
			train(expert, shapes[s][0], 6, 10, true);
		assert_int_equal(cop_test_alloc_count(), 0);
		cop_test_alloc_fail(0, 0);
		cop_expert_quadratic.member.destroy(expert);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inputs_and_products_equal_least_squares),
		cmocka_unit_test(test_products_are_learned),
		cmocka_unit_test(test_product_indices_are_pairs_in_order),
		cmocka_unit_test(test_saved_again_and_continued_gives_the_same_bits),
		cmocka_unit_test(test_create_takes_what_footprint_tells_and_no_more_later),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
