/* The stack's weights, the variance of what it misses and the weights' deviations against the header's formulae, coded
 * once more with an inverse by elimination. */
#include "support.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "learn/stacking.h"

#define SEED 1409U
#define MOST COP_STACKING_MOST
#define NEAR 1e-7

typedef struct naive {
	size_t count;
	double w[MOST], r[MOST][MOST];
	double v, events;
} naive;

static void invert(const naive *n, double out[MOST][MOST])
{
	double a[MOST][2 * MOST] = { { 0.0 } };
	for (size_t i = 0; i < n->count; i++) {
		memcpy(a[i], n->r[i], sizeof n->r[i]);
		a[i][MOST + i] = 1.0;
	}
	for (size_t i = 0; i < n->count; i++) {
		double pivot = a[i][i];
		for (size_t k = 0; k < 2 * MOST; k++)
			a[i][k] /= pivot;
		for (size_t j = 0; j < n->count; j++) {
			double times = j == i ? 0.0 : a[j][i];
			for (size_t k = 0; k < 2 * MOST; k++)
				a[j][k] -= times * a[i][k];
		}
	}
	for (size_t i = 0; i < n->count; i++)
		memcpy(out[i], a[i] + MOST, sizeof out[i]);
}

static void naive_begin(naive *n, size_t count)
{
	*n = (naive){ .count = count, .v = 0.25 };
	for (size_t i = 0; i < count; i++) {
		n->w[i] = 1.0 / (double)count;
		n->r[i][i] = 50.0;
	}
}

/* R <- f R + (1 - f) / START I + z zᵀ / v,   w += R^-1 z (y - w z) / v */
static double naive_settle(naive *n, const double *z, double y)
{
	double error = y, trace = 0.0, inverse[MOST][MOST];
	for (size_t i = 0; i < n->count; i++) {
		error -= n->w[i] * z[i];
		trace += n->r[i][i] - 50.0;
	}
	n->events = fmin(n->events + 1.0, 2000.0);
	n->v += (fmin(error * error, 4.0) - n->v) / (n->events + 1.0);
	const double v = fmax(n->v, 1e-3), f = 1.0 - 0.0005 * fmin(trace / (1000.0 * (double)n->count), 1.0);
	for (size_t i = 0; i < n->count; i++)
		for (size_t j = 0; j < n->count; j++)
			n->r[i][j] = f * n->r[i][j] + (i == j ? (1.0 - f) * 50.0 : 0.0) + z[i] * z[j] / v;
	invert(n, inverse);
	for (size_t i = 0; i < n->count; i++)
		for (size_t j = 0; j < n->count; j++)
			n->w[i] += inverse[i][j] * z[j] * error / v;
	return error;
}

static void check(const cop_stacking *stack, const naive *n, int event)
{
	double inverse[MOST][MOST];
	invert(n, inverse);
	bool near = fabs(stack->variance - n->v) < NEAR;
	for (size_t i = 0; i < n->count; i++) {
		near = near && fabs(stack->weight[i] - n->w[i]) < NEAR;
		near = near && fabs(cop_stacking_deviation(stack, i) / sqrt(inverse[i][i]) - 1.0) < NEAR;
	}
	if (!near)
		fail_msg("event %d of %zu predictors: w %.12g, formula %.12g; v %.12g, formula %.12g; %.12g, %.12g",
		        event, n->count, stack->weight[0], n->w[0], stack->variance, n->v,
		        cop_stacking_deviation(stack, 0), sqrt(inverse[0][0]));
}

static void test_stack_random_predictions_equal_formula(void **state)
{
	(void)state;
	static const double sizes[] = { 1.0, 0.1, 0.01 };
	cop_rng rng;
	cop_rng_init(&rng, SEED, 0);
	printf("seed %u\n", SEED);
	for (int round = 0; round < 12; round++) {
		size_t count = 1 + (size_t)round % MOST;
		double size = sizes[round % 3];
		cop_stacking stack;
		naive n;
		cop_stacking_begin(&stack, count);
		naive_begin(&n, count);
		for (int event = 0; event < 6000; event++) {
			double y = size * cop_rng_normal(&rng), z[MOST];
			for (size_t i = 0; i < count; i++)
				z[i] = fmax(fmin(0.3 * y + size * 0.3 * cop_rng_normal(&rng), 2.0), -2.0);
			double error = naive_settle(&n, z, y);
			assert_true(fabs(cop_stacking_settle(&stack, z, y) - error) < NEAR);
			if (event % 13 == 0)
				check(&stack, &n, event);
		}
	}
}

static void test_stack_begins_with_equal_weights_of_one_deviation(void **state)
{
	(void)state;
	cop_stacking stack;
	cop_stacking_begin(&stack, 4);
	assert_true(stack.variance == 0.25 && stack.events == 0.0);
	for (size_t i = 0; i < 4; i++) {
		assert_true(stack.weight[i] == 0.25);
		assert_true(fabs(cop_stacking_deviation(&stack, i) - sqrt(0.02)) < 1e-15);
	}
	cop_stacking_join(&stack);
	assert_true(stack.weight[4] == 0.0);
	assert_true(fabs(cop_stacking_deviation(&stack, 4) - sqrt(0.02 / 0.2)) < 1e-15); /* little is certain of it */
}

/* n events of a truth that is size * (a + b) beside noise of the same size; the predictors say size * a and size * b,
 * and further ones nothing. */
static void run(cop_stacking *stack, double size, int n)
{
	cop_rng rng;
	cop_rng_init(&rng, SEED, 1);
	for (int i = 0; i < n; i++) {
		double a = 0.2 * cop_rng_normal(&rng), b = 0.2 * cop_rng_normal(&rng);
		const double z[COP_STACKING_MOST] = { size * a, size * b };
		(void)cop_stacking_settle(stack, z, size * (a + b + 0.4 * cop_rng_normal(&rng)));
	}
}

static void test_stack_variance_becomes_that_of_what_is_missed(void **state)
{
	(void)state;
	static const double sizes[] = { 0.1, 0.5, 1.0 };
	for (size_t i = 0; i < 3; i++) {
		cop_stacking stack;
		cop_stacking_begin(&stack, 2);
		run(&stack, sizes[i], 6000);
		double missed = pow(0.4 * sizes[i], 2.0);
		assert_true(fabs(stack.variance / missed - 1.0) < 0.1);
	}
}

/* As surely where all is a tenth as large: the same weights and deviations after as many events. */
static void test_stack_learns_small_differences_as_surely(void **state)
{
	(void)state;
	cop_stacking large, small;
	cop_stacking_begin(&large, 2);
	cop_stacking_begin(&small, 2);
	run(&large, 1.0, 4000);
	run(&small, 0.1, 4000);
	for (size_t i = 0; i < 2; i++) {
		assert_true(fabs(large.weight[i] - 1.0) < 0.15);
		assert_true(fabs(large.weight[i] - small.weight[i]) < 0.05);
		assert_true(fabs(cop_stacking_deviation(&large, i) / cop_stacking_deviation(&small, i) - 1.0) < 0.1);
	}
}

/* Less than v = 1e-3 would make one event weigh more than all that came before. */
static void test_stack_of_truths_hit_exactly_stays_sound(void **state)
{
	(void)state;
	cop_stacking stack;
	cop_rng rng;
	cop_rng_init(&rng, SEED, 2);
	cop_stacking_begin(&stack, 2);
	for (int i = 0; i < 20000; i++) {
		const double z[2] = { cop_rng_normal(&rng), 0.5 };
		double y = fmax(fmin(z[0], 2.0), -2.0);
		assert_true(isfinite(cop_stacking_settle(&stack, z, y)));
	}
	assert_true(stack.variance < 1e-3);
	assert_true(fabs(stack.weight[0] - 1.0) < 1e-3 && fabs(stack.weight[1]) < 1e-2);
	assert_true(cop_stacking_deviation(&stack, 0) > 0.0 && cop_stacking_deviation(&stack, 0) < 0.01);
}

static void test_stack_deviation_falls_with_events_in_their_direction_alone(void **state)
{
	(void)state;
	cop_stacking stack;
	double before[2];
	cop_stacking_begin(&stack, 2);
	for (int i = 0; i < 200; i++) {
		const double z[2] = { i % 2 == 0 ? 0.5 : -0.5, 0.0 };
		before[0] = cop_stacking_deviation(&stack, 0);
		before[1] = cop_stacking_deviation(&stack, 1);
		(void)cop_stacking_settle(&stack, z, i % 3 == 0 ? 0.5 : -0.5);
		assert_true(cop_stacking_deviation(&stack, 0) < before[0]);
		assert_true(fabs(cop_stacking_deviation(&stack, 1) / before[1] - 1.0) < 1e-12);
	}
}

static void test_stack_error_taken_into_the_variance_is_bounded(void **state)
{
	(void)state;
	cop_stacking stack;
	cop_stacking_begin(&stack, 1);
	const double z = 0.0;
	for (int i = 1; i <= 3000; i++) {
		(void)cop_stacking_settle(&stack, &z, 1e9);
		double n = fmin((double)i, 2000.0);
		assert_true(stack.events == n && stack.variance <= 4.0);
		assert_true(i > 2000 || fabs(stack.variance - (0.25 + 4.0 * n) / (n + 1.0)) < 1e-9);
	}
}

static void test_stack_not_finite_changes_nothing(void **state)
{
	(void)state;
	static const double strange[] = { (double)NAN, (double)INFINITY, -(double)INFINITY };
	cop_stacking stack, before;
	cop_stacking_begin(&stack, 2);
	run(&stack, 1.0, 50);
	before = stack;
	for (size_t i = 0; i < 3; i++) {
		const double z[2] = { 0.5, strange[i] }, sound[2] = { 0.5, 0.25 };
		assert_true(isnan(cop_stacking_settle(&stack, z, 0.5)));
		assert_true(isnan(cop_stacking_settle(&stack, sound, strange[i])));
	}
	assert_memory_equal(&stack, &before, sizeof stack);
}

static void save(const cop_stacking *stack, cop_bytes *bytes)
{
	cop_bytes_clear(bytes);
	cop_stacking_save(stack, bytes);
	assert_int_equal(bytes->err, COP_OK);
}

/* Without one, the weights of the rest are the least squares over what was seen: R' w' = R' w + r_i w_i. */
static void test_stack_weights_of_the_rest_take_over_who_leaves(void **state)
{
	(void)state;
	cop_stacking stack;
	cop_rng rng;
	double shared[3], sum[3];
	cop_rng_init(&rng, SEED, 30);
	cop_stacking_begin(&stack, 3);
	for (int n = 0; n < 600; n++) {
		double z[3] = { cop_rng_unit(&rng), 0.0, cop_rng_unit(&rng) };
		z[1] = 0.8 * z[0] + 0.2 * cop_rng_unit(&rng);
		(void)cop_stacking_settle(&stack, z, 0.5 * z[1] + 0.4 * z[2] + 0.1 * cop_rng_normal(&rng));
	}
	const cop_stacking before = stack;
	for (size_t j = 0; j < 3; j += 2)
		shared[j] = before.r[j][0] * before.weight[0] + before.r[j][1] * before.weight[1] +
		            before.r[j][2] * before.weight[2];
	assert_true(fabs(before.weight[1]) > 0.2);
	cop_stacking_leave(&stack, 1);
	assert_true(stack.away[1] && stack.weight[1] == 0.0 && stack.r[1][1] == 50.0);
	for (size_t j = 0; j < 3; j += 2) {
		assert_true(stack.r[1][j] == 0.0 && stack.r[j][1] == 0.0 && stack.r[j][j] == before.r[j][j]);
		sum[j] = stack.r[j][0] * stack.weight[0] + stack.r[j][2] * stack.weight[2];
		assert_true(fabs(sum[j] - shared[j]) < 1e-6 * fabs(shared[j]));
	}
	/* What he says from then on counts for nothing, and the others go on as two of their own would. */
	cop_stacking same = stack;
	naive two = { .count = 2, .v = stack.variance, .events = stack.events };
	for (size_t a = 0; a < 2; a++) {
		two.w[a] = stack.weight[2 * a];
		for (size_t b = 0; b < 2; b++)
			two.r[a][b] = stack.r[2 * a][2 * b];
	}
	for (int n = 0; n < 300; n++) {
		double z[3] = { cop_rng_unit(&rng), 7.0, cop_rng_unit(&rng) }, y = cop_rng_unit(&rng);
		const double plain[2] = { z[0], z[2] };
		double error = cop_stacking_settle(&stack, z, y);
		z[1] = -3.0;
		assert_true(cop_stacking_settle(&same, z, y) == error);
		assert_true(fabs(naive_settle(&two, plain, y) - error) < NEAR);
	}
	assert_memory_equal(stack.weight, same.weight, sizeof stack.weight);
	assert_true(fabs(two.w[0] - stack.weight[0]) < NEAR && fabs(two.w[1] - stack.weight[2]) < NEAR);
	cop_stacking_return(&stack, 1);
	assert_true(!stack.away[1] && stack.weight[1] == 0.0 && stack.r[1][1] == 10.0);
	assert_true(stack.r[0][1] == 0.0 && stack.r[1][2] == 0.0);
}

static cop_err load(cop_stacking *stack, size_t count, const void *data, size_t length)
{
	cop_cursor cursor;
	cop_stacking_begin(stack, count);
	cop_cursor_init(&cursor, data, length);
	return cop_stacking_load(stack, &cursor);
}

static void test_stack_loaded_goes_on_alike(void **state)
{
	(void)state;
	cop_stacking first, second;
	cop_bytes bytes, again;
	cop_bytes_init(&bytes);
	cop_bytes_init(&again);
	cop_stacking_begin(&first, 2);
	run(&first, 0.3, 700);
	save(&first, &bytes);
	assert_int_equal(load(&second, 2, bytes.data, bytes.length), COP_OK);
	assert_true(second.variance == first.variance && second.events == 700.0);
	assert_true(cop_stacking_deviation(&second, 1) == cop_stacking_deviation(&first, 1));
	run(&first, 0.3, 700);
	run(&second, 0.3, 700);
	save(&first, &bytes);
	save(&second, &again);
	assert_int_equal(bytes.length, again.length);
	assert_memory_equal(bytes.data, again.data, bytes.length);
	assert_int_equal(load(&second, 3, bytes.data, bytes.length), COP_ESHAPE);
	for (size_t length = 0; length < bytes.length; length++)
		assert_int_equal(load(&second, 2, bytes.data, length), COP_EFORMAT);
	cop_bytes_fini(&bytes);
	cop_bytes_fini(&again);
}

/* v and the events behind it are the last two doubles. */
static void test_stack_load_of_a_damaged_variance_is_refused(void **state)
{
	(void)state;
	static const struct {
		size_t back;
		double value;
		cop_err err;
	} cases[] = { { 16, -1e-9, COP_EFORMAT }, { 16, 4.01, COP_EFORMAT }, { 16, (double)NAN, COP_ENONFINITE },
		{ 16, 0.0, COP_OK }, { 16, 4.0, COP_OK }, { 8, -1.0, COP_EFORMAT }, { 8, 2001.0, COP_EFORMAT },
		{ 8, (double)INFINITY, COP_ENONFINITE }, { 8, 0.0, COP_OK }, { 8, 2000.0, COP_OK } };
	cop_stacking stack;
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	cop_stacking_begin(&stack, 2);
	run(&stack, 1.0, 100);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cop_stacking other;
		save(&stack, &bytes);
		memcpy(bytes.data + bytes.length - cases[i].back, &cases[i].value, sizeof cases[i].value);
		if (load(&other, 2, bytes.data, bytes.length) != cases[i].err)
			fail_msg("case %zu", i);
	}
	cop_bytes_fini(&bytes);
}

/* The largest R is that of predictions cut at 2, v of 1e-3 and a memory of 1 / 0.0005 events: 4 / 5e-7, and what it
 * began with. */
static void test_stack_load_of_what_cannot_have_been_learned_is_refused(void **state)
{
	(void)state;
	const double most = 4.0 / (1e-3 * (1.0 - 0.9995)) + 100.0 + 1000.0;
	enum { W0, W1, R00, R01, R10, R11 };
	const struct {
		size_t at[2]; /* both get the value */
		double value;
		cop_err err;
	} cases[] = { { { W0, W0 }, 1e6, COP_OK }, { { W1, W1 }, 1.001e6, COP_EFORMAT },
		{ { W0, W0 }, -1.001e6, COP_EFORMAT }, { { R00, R00 }, most, COP_OK },
		{ { R00, R00 }, 1.0001 * most, COP_EFORMAT }, { { R11, R11 }, 1.0001 * most, COP_EFORMAT },
		{ { R01, R10 }, 7.0, COP_OK }, { { R01, R01 }, 7.0, COP_EFORMAT }, { { R10, R10 }, 7.0, COP_EFORMAT },
		{ { R01, R10 }, -1e4, COP_EFORMAT }, /* no covariances are such */
		{ { R11, R11 }, -1.0, COP_EFORMAT } };
	cop_stacking stack, other;
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	cop_stacking_begin(&stack, 2);
	run(&stack, 1.0, 100);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		save(&stack, &bytes);
		for (size_t k = 0; k < 2; k++)
			memcpy(bytes.data + 4 + 8 * cases[i].at[k], &cases[i].value, sizeof cases[i].value);
		if (load(&other, 2, bytes.data, bytes.length) != cases[i].err)
			fail_msg("case %zu", i);
	}
	cop_bytes_fini(&bytes);
}

/* Who is away has no weight, shares nothing with the others, and is not the last. */
static void test_stack_of_one_who_cannot_be_away_says_so(void **state)
{
	(void)state;
	cop_stacking stack, other;
	cop_stacking_begin(&stack, 3);
	run(&stack, 1.0, 100);
	other = stack;
	assert_false(cop_stacking_stay_away(&other, 1));
	cop_stacking_leave(&stack, 1);
	stack.away[1] = false; /* as when it was loaded */
	other = stack;
	assert_true(cop_stacking_stay_away(&other, 1) && other.away[1]);
	for (size_t j = 0; j < 3; j += 2) {
		other = stack;
		other.r[1][j] = 1e-9;
		assert_false(cop_stacking_stay_away(&other, 1));
	}
	other = stack;
	other.weight[1] = 1e-9;
	assert_false(cop_stacking_stay_away(&other, 1));
	other = stack;
	other.away[0] = other.away[2] = true;
	assert_false(cop_stacking_stay_away(&other, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stack_random_predictions_equal_formula),
		cmocka_unit_test(test_stack_begins_with_equal_weights_of_one_deviation),
		cmocka_unit_test(test_stack_variance_becomes_that_of_what_is_missed),
		cmocka_unit_test(test_stack_learns_small_differences_as_surely),
		cmocka_unit_test(test_stack_of_truths_hit_exactly_stays_sound),
		cmocka_unit_test(test_stack_deviation_falls_with_events_in_their_direction_alone),
		cmocka_unit_test(test_stack_error_taken_into_the_variance_is_bounded),
		cmocka_unit_test(test_stack_not_finite_changes_nothing),
		cmocka_unit_test(test_stack_weights_of_the_rest_take_over_who_leaves),
		cmocka_unit_test(test_stack_loaded_goes_on_alike),
		cmocka_unit_test(test_stack_load_of_a_damaged_variance_is_refused),
		cmocka_unit_test(test_stack_load_of_what_cannot_have_been_learned_is_refused),
		cmocka_unit_test(test_stack_of_one_who_cannot_be_away_says_so),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
