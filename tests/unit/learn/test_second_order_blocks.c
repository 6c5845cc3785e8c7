/* Second-order models whose P is cut into blocks, against explicit matrices in double that do what the header says. */
#include "rows.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "learn/second_order.h"

#define SEED  301U
#define WIDE  140 /* inputs at most */
#define ARMS  20
#define RIDGE 0.75

typedef struct shape {
	size_t inputs, arms, block;
} shape;

static const shape shapes[] = { { 5, 1, 16 }, { 16, 3, 16 }, { 17, 1, 16 }, { 33, 20, 16 }, { 40, 3, 64 },
	{ 64, 1, 64 }, { 65, 3, 64 }, { 130, 1, 64 }, { 130, 3, 16 }, { 47, 2, 32 }, { 37, 2, 48 }, { 37, 2, 4096 },
	{ 130, 1, 144 }, { 9, 20, 0 }, { 40, 1, 0 } };
#define SHAPES (sizeof shapes / sizeof *shapes)

/* One arm. Blocks of `block` inputs, the diagonal being blocks of one. */
typedef struct oracle {
	size_t inputs, block;
	double p[WIDE][WIDE], w[WIDE];
} oracle;

static oracle oracles[ARMS];

static void oracle_init(oracle *o, const shape *s)
{
	memset(o, 0, sizeof *o);
	o->inputs = s->inputs;
	o->block = s->block == 0 ? 1 : s->block;
	for (size_t i = 0; i < s->inputs; i++)
		o->p[i][i] = 1.0 / RIDGE;
}

static double oracle_predict(const oracle *o, const float *x)
{
	double sum = 0.5;
	for (size_t j = 0; j < o->inputs; j++)
		sum += o->w[j] * (double)x[j];
	return sum;
}

static void oracle_learn(oracle *o, const float *x, double loss)
{
	double px[WIDE], spread[WIDE], all = 1.0, error = loss - oracle_predict(o, x);
	for (size_t from = 0; from < o->inputs; from += o->block) {
		size_t to = from + o->block < o->inputs ? from + o->block : o->inputs;
		double own = 1.0;
		for (size_t i = from; i < to; i++) {
			px[i] = 0.0;
			for (size_t j = from; j < to; j++)
				px[i] += o->p[i][j] * (double)x[j];
			own += px[i] * (double)x[i];
		}
		for (size_t i = from; i < to; i++)
			spread[i] = own;
		all += own - 1.0;
	}
	for (size_t i = 0; i < o->inputs; i++) {
		o->w[i] += px[i] / all * error;
		for (size_t j = i - i % o->block; j < o->inputs && j < i - i % o->block + o->block; j++)
			o->p[i][j] -= px[i] * px[j] / spread[i];
	}
}

static double oracle_spread(const oracle *o, const float *x)
{
	double sum = 0.0;
	for (size_t i = 0; i < o->inputs; i++)
		for (size_t j = i - i % o->block; j < o->inputs && j < i - i % o->block + o->block; j++)
			sum += (double)x[i] * o->p[i][j] * (double)x[j];
	return sum;
}

static cop_second_order *model_of(const shape *s)
{
	cop_second_order *model;
	assert_int_equal(cop_second_order_new(cop_kernel_best(), s->inputs, s->arms, s->block, RIDGE, &model), COP_OK);
	return model;
}

/* Correlated within and across blocks, the last the constant. */
static void draw(cop_rng *rng, size_t inputs, float *x)
{
	double common = cop_rng_normal(rng);
	for (size_t j = 0; j < inputs; j++) {
		double own = cop_rng_normal(rng);
		x[j] = (float)(j % 3 == 0   ? own
		               : j % 3 == 1 ? 0.8 * common + 0.6 * own
		                            : (double)(cop_rng_below(rng, 2) == 0));
	}
	x[inputs - 1] = 1.0f;
}

static cop_row row_of(size_t inputs, const float *x) { return (cop_row){ .d = inputs, .dense = x }; }

static void weights_of(const cop_second_order *model, const shape *s, size_t arm, double *w)
{
	_Alignas(64) float loss[32];
	float unit[WIDE] = { 0 };
	for (size_t j = 0; j < s->inputs; j++) {
		cop_row row = row_of(s->inputs, unit);
		unit[j] = 1.0f;
		cop_second_order_predict(model, &row, loss);
		unit[j] = 0.0f;
		w[j] = (double)loss[arm] - 0.5;
	}
}

static void copy_state(const cop_second_order *from, cop_second_order *to)
{
	cop_bytes bytes;
	cop_cursor cursor;
	cop_bytes_init(&bytes);
	cop_second_order_save(from, &bytes);
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	assert_int_equal(cop_second_order_load(to, &cursor), COP_OK);
	assert_int_equal(cop_cursor_left(&cursor), 0);
	cop_bytes_fini(&bytes);
}

/* Column i of an arm's P, from what a huge error on the i-th unit vector does to the weights of a copy. */
static void column_of(const cop_second_order *model, const shape *s, size_t arm, size_t i, double *column)
{
	const double huge = 1e7;
	double before[WIDE];
	float unit[WIDE] = { 0 };
	cop_second_order *copy = model_of(s);
	cop_row row = row_of(s->inputs, unit);
	copy_state(model, copy);
	weights_of(copy, s, arm, before);
	unit[i] = 1.0f;
	assert_int_equal(cop_second_order_learn(copy, &row, arm, huge), COP_OK);
	weights_of(copy, s, arm, column);
	double error = huge - 0.5 - before[i], gain = (column[i] - before[i]) / error; /* P_ii / (1 + P_ii) */
	for (size_t j = 0; j < s->inputs; j++)
		column[j] = (column[j] - before[j]) / error / (1.0 - gain);
	cop_second_order_free(copy);
}

static void check_weights(const cop_second_order *model, const shape *s, size_t arm)
{
	double w[WIDE], norm = 0.0;
	const oracle *o = &oracles[arm];
	weights_of(model, s, arm, w);
	for (size_t j = 0; j < s->inputs; j++)
		norm = fmax(norm, fabs(o->w[j]));
	for (size_t j = 0; j < s->inputs; j++)
		if (!(fabs(w[j] - o->w[j]) <= 2e-4 * norm + 1e-6))
			fail_msg("%zu inputs, block %zu, arm %zu, weight %zu: %.9g, expected %.9g", s->inputs, s->block,
			        arm, j, w[j], o->w[j]);
}

static void check_p(const cop_second_order *model, const shape *s, size_t arm)
{
	static double p[WIDE][WIDE];
	const oracle *o = &oracles[arm];
	for (size_t i = 0; i < s->inputs; i++)
		column_of(model, s, arm, i, p[i]);
	for (size_t i = 0; i < s->inputs; i++) {
		assert_true(p[i][i] > 0.0);
		for (size_t j = 0; j < s->inputs; j++) {
			double scale = sqrt(o->p[i][i] * o->p[j][j]);
			if (!(fabs(p[i][j] - o->p[i][j]) <= 2e-3 * scale))
				fail_msg("%zu inputs, block %zu, arm %zu, P[%zu][%zu]: %.9g, expected %.9g", s->inputs,
				        s->block, arm, i, j, p[i][j], o->p[i][j]);
			assert_true(fabs(p[i][j] - p[j][i]) <= 2e-5 * scale);
		}
	}
}

static void test_learn_any_block_equals_explicit_matrices(void **state)
{
	(void)state;
	printf("seed %u\n", SEED);
	for (size_t n = 0; n < SHAPES; n++) {
		const shape *s = &shapes[n];
		cop_second_order *model = model_of(s);
		cop_rng rng;
		cop_rng_init(&rng, SEED, n);
		for (size_t k = 0; k < s->arms; k++)
			oracle_init(&oracles[k], s);
		for (size_t i = 0; i < 200 * (s->arms < 4 ? s->arms : 4); i++) {
			_Alignas(64) float loss[32];
			float x[WIDE], spread[32];
			draw(&rng, s->inputs, x);
			size_t arm = (size_t)cop_rng_below(&rng, s->arms);
			double target = 0.5 + 0.1 * (double)x[0] - 0.05 * (double)x[s->inputs / 2] * (double)arm;
			cop_row row = row_of(s->inputs, x);
			cop_second_order_predict(model, &row, loss);
			cop_second_order_spreads(model, &row, spread);
			for (size_t k = 0; k < s->arms; k++) {
				double want = oracle_spread(&oracles[k], x);
				assert_true(fabs((double)loss[k] - oracle_predict(&oracles[k], x)) < 1e-3);
				assert_true(fabs((double)spread[k] - want) < 1e-3 * (1.0 + want));
			}
			oracle_learn(&oracles[arm], x, target);
			assert_int_equal(cop_second_order_learn(model, &row, arm, target), COP_OK);
		}
		for (size_t k = 0; k < s->arms; k++)
			check_weights(model, s, k);
		check_p(model, s, s->arms - 1);
		cop_second_order_free(model);
	}
}

/* The arm that learns is the only one that moves, to the bit. */
static void test_learn_leaves_other_arms_alone(void **state)
{
	(void)state;
	static double before[ARMS][WIDE], after[WIDE];
	const shape *s = &shapes[3];
	cop_second_order *model = model_of(s);
	cop_rng rng;
	float x[WIDE];
	cop_row row = row_of(s->inputs, x);
	cop_rng_init(&rng, SEED, 100);
	for (size_t i = 0; i < 100; i++) {
		draw(&rng, s->inputs, x);
		assert_int_equal(cop_second_order_learn(model, &row, i % s->arms, cop_rng_unit(&rng)), COP_OK);
	}
	for (size_t k = 0; k < s->arms; k++)
		weights_of(model, s, k, before[k]);
	assert_int_equal(cop_second_order_learn(model, &row, 7, 3.0), COP_OK);
	for (size_t k = 0; k < s->arms; k++) {
		weights_of(model, s, k, after);
		assert_true((memcmp(before[k], after, s->inputs * sizeof *after) == 0) == (k != 7));
	}
	cop_second_order_free(model);
}

static void train(cop_second_order *model, const shape *s, uint64_t stream, size_t events)
{
	cop_rng rng;
	cop_rng_init(&rng, SEED, stream);
	for (size_t i = 0; i < events; i++) {
		float x[WIDE];
		draw(&rng, s->inputs, x);
		cop_row row = row_of(s->inputs, x);
		size_t arm = (size_t)cop_rng_below(&rng, s->arms);
		assert_int_equal(cop_second_order_learn(model, &row, arm, cop_rng_unit(&rng)), COP_OK);
	}
}

static void test_load_then_continue_equals_never_stopped(void **state)
{
	(void)state;
	for (size_t n = 0; n < SHAPES; n++) {
		const shape *s = &shapes[n];
		cop_second_order *a = model_of(s), *b = model_of(s);
		cop_bytes first, second;
		cop_bytes_init(&first);
		cop_bytes_init(&second);
		train(b, s, 200, 5); /* what it knew is gone after load */
		train(a, s, 201, 70);
		copy_state(a, b);
		train(a, s, 202, 70);
		train(b, s, 202, 70);
		cop_second_order_save(a, &first);
		cop_second_order_save(b, &second);
		assert_bytes_equal(&first, &second);
		for (size_t cut = 0; cut < first.length; cut += cut < 64 || first.length - cut < 64 ? 1 : 61) {
			cop_cursor cursor;
			cop_cursor_init(&cursor, first.data, cut);
			assert_int_not_equal(cop_second_order_load(b, &cursor), COP_OK);
		}
		cop_bytes_fini(&first);
		cop_bytes_fini(&second);
		cop_second_order_free(a);
		cop_second_order_free(b);
	}
}

static void test_load_other_shape_or_block_is_refused(void **state)
{
	(void)state;
	static const shape kinds[] = { { 70, 2, 16 }, { 70, 2, 32 }, { 70, 2, 64 }, { 70, 2, 80 }, { 70, 2, 0 },
		{ 71, 2, 16 }, { 70, 3, 16 }, { 69, 2, 64 }, { 70, 1, 64 }, { 65, 2, 16 } };
	const size_t count = sizeof kinds / sizeof *kinds;
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < count; k++) {
			cop_second_order *from = model_of(&kinds[i]), *to = model_of(&kinds[k]);
			cop_bytes bytes;
			cop_cursor cursor;
			cop_bytes_init(&bytes);
			train(from, &kinds[i], 300, 20);
			cop_second_order_save(from, &bytes);
			cop_cursor_init(&cursor, bytes.data, bytes.length);
			bool wider = kinds[i].inputs < kinds[k].inputs && kinds[i].block > 0 && kinds[k].block > 0;
			bool same = kinds[i].inputs == kinds[k].inputs && kinds[i].block == kinds[k].block;
			bool grown = (same || wider) && kinds[i].arms <= kinds[k].arms;
			assert_int_equal(cop_second_order_load(to, &cursor), grown ? COP_OK : COP_ESHAPE);
			cop_bytes_fini(&bytes);
			cop_second_order_free(from);
			cop_second_order_free(to);
		}
}

/* Any block that holds all inputs is the full P. */
static void test_blocks_beyond_the_inputs_are_one_and_the_same(void **state)
{
	(void)state;
	static const size_t blocks[] = { 48, 64, 128, 1 << 20, SIZE_MAX - 15 };
	cop_bytes first, other;
	cop_bytes_init(&first);
	cop_bytes_init(&other);
	for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
		shape s = { 40, 2, blocks[i] };
		cop_second_order *model = model_of(&s);
		train(model, &s, 400, 100);
		cop_bytes_clear(&other);
		cop_second_order_save(model, i == 0 ? &first : &other);
		if (i > 0)
			assert_bytes_equal(&first, &other);
		cop_second_order_free(model);
	}
	cop_bytes_fini(&first);
	cop_bytes_fini(&other);
}

/* Where input i's variance is in the saved bytes of a model of one arm that has learned nothing: the i-th 1/RIDGE. */
static uint8_t *variance_at(cop_bytes *bytes, size_t i)
{
	const float start = (float)(1.0 / RIDGE);
	for (size_t at = 0; at + sizeof start <= bytes->length; at++)
		if (memcmp(bytes->data + at, &start, sizeof start) == 0 && i-- == 0)
			return bytes->data + at;
	fail_msg("no variance in the saved bytes");
	return NULL;
}

/* Two inputs of block `block`: their 2 x 2 of P becomes [a, b; b, c]. */
static void spoil(cop_second_order *model, size_t block, float a, float b, float c)
{
	cop_bytes bytes;
	cop_cursor cursor;
	cop_bytes_init(&bytes);
	cop_second_order_save(model, &bytes);
	uint8_t *first = variance_at(&bytes, block * 16), *second = variance_at(&bytes, block * 16 + 1);
	memcpy(first, &a, sizeof a);
	memcpy(first + sizeof a, &b, sizeof b);
	memcpy(second - sizeof b, &b, sizeof b);
	memcpy(second, &c, sizeof c);
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	assert_int_equal(cop_second_order_load(model, &cursor), COP_OK);
	cop_bytes_fini(&bytes);
}

static void test_indefinite_block_begins_again_alone(void **state)
{
	(void)state;
	const shape s = { 40, 1, 16 };
	for (size_t block = 0; block < 2; block++) {
		cop_second_order *model = model_of(&s);
		cop_rng rng;
		float x[WIDE] = { 0 };
		cop_row row = row_of(s.inputs, x);
		size_t at = block * 16;
		spoil(model, block, 0.5f, 3.0f, 0.25f);
		oracle_init(&oracles[0], &s);
		oracles[0].p[at][at] = 0.5; /* its own diagonal */
		oracles[0].p[at + 1][at + 1] = 0.25;
		x[at] = 1.0f;
		x[at + 1] = -1.0f; /* x'Px = 0.75 - 6 */
		x[35] = 2.0f;
		x[39] = 1.0f;
		assert_int_equal(cop_second_order_learn(model, &row, 0, 1.0), COP_OK);
		oracle_learn(&oracles[0], x, 1.0);
		check_weights(model, &s, 0);
		check_p(model, &s, 0);
		cop_rng_init(&rng, SEED, 500);
		for (size_t i = 0; i < 300; i++) {
			draw(&rng, s.inputs, x);
			double loss = cop_rng_unit(&rng);
			assert_int_equal(cop_second_order_learn(model, &row, 0, loss), COP_OK);
			oracle_learn(&oracles[0], x, loss);
		}
		check_weights(model, &s, 0);
		check_p(model, &s, 0);
		cop_second_order_free(model);
	}
}

static void test_spoiled_blocks_never_spoil_weights(void **state)
{
	(void)state;
	static const float spoiled[] = { FLT_MAX, -FLT_MAX, 1e20f, -1e20f, -1.0f, 1e10f, 0.0f };
	const size_t count = sizeof spoiled / sizeof *spoiled;
	const shape s = { 40, 1, 16 };
	for (size_t i = 0; i < count * count; i++) {
		cop_second_order *model = model_of(&s), *copy = model_of(&s);
		spoil(model, i % 2, spoiled[i / count], spoiled[i % count], spoiled[i / count]);
		for (size_t n = 0; n < 50; n++) {
			float x[WIDE];
			for (size_t j = 0; j < s.inputs; j++)
				x[j] = (j + n) % 2 == 0 ? 5.0f : -4.5f;
			cop_row row = row_of(s.inputs, x);
			cop_err err = cop_second_order_learn(model, &row, 0, 1.0);
			assert_true(err == COP_OK || err == COP_EDIVERGED);
		}
		for (size_t j = 0; j < s.inputs; j++)
			assert_true(isfinite(cop_second_order_weights(model)[j]));
		copy_state(model, copy); /* what is saved loads */
		cop_second_order_free(model);
		cop_second_order_free(copy);
	}
}

/* 100,000 nearly equal rows: rounding has every chance; predictions stay right. */
static void test_learn_very_many_repeats_stays_finite(void **state)
{
	(void)state;
	const shape s = { 40, 1, 16 };
	cop_second_order *model = model_of(&s);
	cop_rng rng;
	float base[WIDE], x[WIDE];
	_Alignas(64) float loss[16];
	cop_row row = row_of(s.inputs, x);
	cop_rng_init(&rng, SEED, 600);
	draw(&rng, s.inputs, base);
	for (size_t n = 0; n < 100000; n++) {
		memcpy(x, base, sizeof x);
		x[n % (s.inputs - 1)] += (float)(1e-3 * cop_rng_normal(&rng));
		assert_int_equal(cop_second_order_learn(model, &row, 0, 0.75), COP_OK);
	}
	memcpy(x, base, sizeof x);
	cop_second_order_predict(model, &row, loss);
	assert_true(fabs((double)loss[0] - 0.75) < 0.02);
	cop_second_order_free(model);
}

static void test_new_wrong_block_or_short_of_memory_is_refused(void **state)
{
	(void)state;
	static const size_t wrong[] = { 1, 8, 15, 17, 63, 65, 100 };
	const cop_kernel *kernel = cop_kernel_best();
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		cop_second_order *model;
		assert_int_equal(cop_second_order_new(kernel, 200, 2, wrong[i], 1.0, &model), COP_EINVAL);
		assert_null(model);
	}
	for (size_t n = 0; n < SHAPES; n++) {
		const shape *s = &shapes[n];
		cop_second_order *model = NULL;
		for (unsigned long at = 1; model == NULL; at++) {
			cop_test_alloc_fail(at, 0);
			cop_err err = cop_second_order_new(kernel, s->inputs, s->arms, s->block, 1.0, &model);
			assert_int_equal(err != COP_OK, cop_test_alloc_failed());
			assert_true(err == COP_OK || (err == COP_ENOMEM && model == NULL));
		}
		cop_test_alloc_fail(1, 1);
		train(model, s, 700, 20);
		assert_int_equal(cop_test_alloc_count(), 0);
		cop_test_alloc_fail(0, 0);
		cop_second_order_free(model);
	}
}

static void test_footprint_is_what_is_allocated(void **state)
{
	(void)state;
	static const shape sizes[] = { { 300, 20, 64 }, { 300, 20, 16 }, { 300, 20, 304 }, { 300, 20, 0 },
		{ 1000, 7, 64 }, { 4097, 2, 64 }, { 2000, 1, 2000 }, { 20, 500, 32 } };
	for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
		const shape *s = &sizes[n];
		cop_second_order *model;
		cop_test_alloc_fail(0, 0);
		assert_int_equal(
		        cop_second_order_new(cop_kernel_best(), s->inputs, s->arms, s->block, RIDGE, &model), COP_OK);
		double bytes = (double)cop_test_alloc_bytes();
		double told = cop_second_order_footprint(s->inputs, s->arms, s->block);
		if (!(fabs(told - bytes) <= 0.05 * bytes + 4096.0))
			fail_msg("%zu inputs, %zu arms, block %zu: %.0f bytes, told %.0f", s->inputs, s->arms, s->block,
			        bytes, told);
		cop_second_order_free(model);
	}
	assert_true(cop_second_order_footprint((size_t)1 << 30, 10000, SIZE_MAX - 15) > 1e20); /* no overflow */
}

static void test_best_block_is_all_inputs_or_sixty_four(void **state)
{
	(void)state;
	static const size_t inputs[] = { 1, 2, 9, 17, 55, 64, 65, 101, 300, 785, 2000, 4097, 65537 };
	static const size_t arms[] = { 1, 2, 10, 100, 1000, 10000 };
	for (size_t a = 0; a < sizeof arms / sizeof *arms; a++) {
		bool all = true;
		for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
			size_t block = cop_second_order_block(inputs[i], arms[a]);
			assert_true(block == 64 || block >= inputs[i]);
			assert_int_equal(block % COP_KERNEL_LANES, 0);
			assert_true(all || block < inputs[i] || inputs[i] <= 64); /* never all again for more */
			all = block >= inputs[i];
			double full = 4.0 * (double)inputs[i] * (double)inputs[i] * (double)arms[a];
			bool affordable = cop_second_order_affordable(inputs[i], arms[a]);
			if (full > 67108864.0)
				assert_false(affordable);
			if (full < 67108864.0 / 64.0 && inputs[i] >= 64) /* less than what padding could add */
				assert_true(affordable);
		}
	}
	assert_true(cop_second_order_block(9, 2) >= 9);
	assert_true(cop_second_order_block(301, 10) >= 301); /* texts of 300 words and the constant: whole */
	assert_int_equal(cop_second_order_block(385, 2), 64);
	assert_int_equal(cop_second_order_block(65537, 2), 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_learn_any_block_equals_explicit_matrices),
		cmocka_unit_test(test_learn_leaves_other_arms_alone),
		cmocka_unit_test(test_load_then_continue_equals_never_stopped),
		cmocka_unit_test(test_load_other_shape_or_block_is_refused),
		cmocka_unit_test(test_blocks_beyond_the_inputs_are_one_and_the_same),
		cmocka_unit_test(test_indefinite_block_begins_again_alone),
		cmocka_unit_test(test_spoiled_blocks_never_spoil_weights),
		cmocka_unit_test(test_learn_very_many_repeats_stays_finite),
		cmocka_unit_test(test_new_wrong_block_or_short_of_memory_is_refused),
		cmocka_unit_test(test_footprint_is_what_is_allocated),
		cmocka_unit_test(test_best_block_is_all_inputs_or_sixty_four),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
