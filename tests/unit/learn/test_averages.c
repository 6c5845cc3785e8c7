/* Averages of arms against the header's formulae, coded once more from the whole history: the spread by DerSimonian and
 * Laird's textbook weights, the rest as plain sums. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "learn/averages.h"

#define SEED    1201U
#define MAX     12
#define HISTORY 600
#define MOST    1e5  /* losses that count of an arm */
#define NEAR    1e-6 /* predictions and deviations are floats */

/* What was learned. */
typedef struct history {
	size_t arms, count;
	double n[MAX], sum[MAX]; /* of each arm */
	double squares;          /* of errors before each loss was learned */
} history;

/* v: a running mean that begins with one event of 1/4. */
static double variance(const history *h) { return (0.25 + h->squares) / ((double)h->count + 1.0); }

/* t = tau^2 / v. A study of n losses has weight n / v. */
static double spread(const history *h, double v)
{
	double weights = 0.0, squared = 0.0, weighted = 0.0, q = 0.0;
	int studies = 0;
	for (size_t k = 0; k < h->arms; k++) {
		double w = h->n[k] / v;
		if (h->n[k] <= 0.0)
			continue;
		studies++;
		weights += w;
		squared += w * w;
		weighted += w * h->sum[k] / h->n[k];
	}
	if (studies == 0)
		return 0.1;
	for (size_t k = 0; k < h->arms; k++)
		if (h->n[k] > 0.0)
			q += h->n[k] / v * pow(h->sum[k] / h->n[k] - weighted / weights, 2.0);
	double excess = q - (double)(studies - 1);
	double scale = (weights - squared / weights) * v; /* in units of v; times tau^2 / v the excess to be expected */
	return ((excess > 0.0 ? excess : 0.0) + 1.0) / (scale + 1.0 / 0.1);
}

/* c: every arm's mean counts by 1 / (t + 1 / n), and 1/2 by 0.01. */
static double centre(const history *h, double t)
{
	double above = 0.01 * 0.5, below = 0.01;
	for (size_t k = 0; k < h->arms; k++) {
		if (h->n[k] <= 0.0)
			continue;
		double weight = 1.0 / (t + 1.0 / h->n[k]);
		above += weight * h->sum[k] / h->n[k];
		below += weight;
	}
	return above / below;
}

static void oracle(const history *h, double *average, double *deviation)
{
	double v = fmax(variance(h), 1e-4);
	double t = spread(h, v), c = centre(h, t);
	for (size_t k = 0; k < h->arms; k++) {
		average[k] = (h->sum[k] + c / t) / (h->n[k] + 1.0 / t);
		deviation[k] = 1.0 / sqrt(h->n[k] + 1.0 / t);
	}
}

static cop_averages *make(size_t arms)
{
	cop_averages *averages;
	assert_int_equal(cop_averages_new(arms, &averages), COP_OK);
	return averages;
}

static void check(const cop_averages *averages, const history *h)
{
	double average[MAX], deviation[MAX];
	float said[MAX], doubt[MAX];
	oracle(h, average, deviation);
	cop_averages_predict(averages, said);
	cop_averages_deviations(averages, doubt);
	for (size_t k = 0; k < h->arms; k++) {
		if (!(fabs((double)said[k] - average[k]) < NEAR) ||
		        !(fabs((double)doubt[k] / deviation[k] - 1.0) < NEAR))
			fail_msg("after %zu losses arm %zu of %zu: %.9g +- %.9g, formula %.9g +- %.9g", h->count, k,
			        h->arms, (double)said[k], (double)doubt[k], average[k], deviation[k]);
	}
}

static void learn(cop_averages *averages, history *h, size_t arm, double loss)
{
	double average[MAX], deviation[MAX];
	oracle(h, average, deviation);
	h->squares += (loss - average[arm]) * (loss - average[arm]);
	h->count++;
	h->n[arm] += 1.0;
	h->sum[arm] += loss;
	cop_averages_learn(averages, arm, loss);
}

static double draw(cop_rng *rng, double rate, int kind)
{
	if (kind == 2) /* hardly any variance: v is at its least */
		return rate;
	return kind == 1 ? rate * cop_rng_unit(rng) : (double)(cop_rng_unit(rng) < rate);
}

static void test_averages_random_streams_equal_formula(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, SEED, 0);
	printf("seed %u\n", SEED);
	for (int round = 0; round < 60; round++) {
		history h = { .arms = 1 + (size_t)cop_rng_below(&rng, MAX) };
		cop_averages *averages = make(h.arms);
		size_t played = 1 + (size_t)cop_rng_below(&rng, h.arms); /* the others never are */
		double rate[MAX];
		for (size_t k = 0; k < h.arms; k++)
			rate[k] = round % 3 == 0 ? 0.3 : cop_rng_unit(&rng);
		for (size_t i = 0; i < HISTORY; i++) {
			size_t arm = (size_t)cop_rng_below(&rng, played);
			arm = cop_rng_below(&rng, 4) == 0 ? 0 : arm;
			learn(averages, &h, arm, draw(&rng, rate[arm], round % 4));
			if (i < 20 || i % 29 == 0)
				check(averages, &h);
		}
		cop_averages_free(averages);
	}
}

static void test_averages_before_the_first_loss_are_a_half(void **state)
{
	(void)state;
	cop_averages *averages = make(3);
	float said[3], doubt[3];
	cop_averages_predict(averages, said);
	cop_averages_deviations(averages, doubt);
	for (size_t k = 0; k < 3; k++) {
		assert_true(said[k] == 0.5f);
		assert_true(fabs((double)doubt[k] - sqrt(0.1)) < NEAR);
	}
	cop_averages_free(averages);
}

/* An arm that was never played is expected to be like the others, and as unlike as they are among each other. */
static void test_averages_never_played_is_the_centre_with_the_spread(void **state)
{
	(void)state;
	static const double means[][2] = { { 0.2, 0.8 }, { 0.5, 0.5 } };
	double unsure[2];
	for (size_t i = 0; i < 2; i++) {
		history h = { .arms = 4 };
		cop_averages *averages = make(4);
		float said[4], doubt[4];
		for (size_t n = 0; n < 500; n++) {
			learn(averages, &h, 1, n % 10 < 10.0 * means[i][0] ? 1.0 : 0.0);
			learn(averages, &h, 3, n % 10 < 10.0 * means[i][1] ? 1.0 : 0.0);
		}
		check(averages, &h);
		cop_averages_predict(averages, said);
		cop_averages_deviations(averages, doubt);
		assert_true(said[0] == said[2] && doubt[0] == doubt[2]);
		assert_true(fabs((double)said[0] - 0.5) < 1e-3);
		assert_true(doubt[0] > doubt[1] && doubt[2] > doubt[3]);
		assert_true(fabs((double)said[1] - means[i][0]) < 0.01 && fabs((double)said[3] - means[i][1]) < 0.01);
		unsure[i] = (double)doubt[0];
		cop_averages_free(averages);
	}
	assert_true(unsure[0] > 5.0 * unsure[1]);
}

/* Few losses are drawn towards the others' mean, and the further the more alike the others are. */
static void test_averages_few_losses_are_drawn_towards_the_centre(void **state)
{
	(void)state;
	double after[2];
	for (size_t alike = 0; alike < 2; alike++) {
		history h = { .arms = 5 };
		cop_averages *averages = make(5);
		float said[5];
		for (size_t n = 0; n < 1200; n++) /* fewer than v remembers */
			for (size_t k = 0; k < 4; k++)
				learn(averages, &h, k, n % 10 < (alike ? 5 : 2 + 2 * k) ? 1.0 : 0.0);
		for (size_t n = 0; n < 5; n++)
			learn(averages, &h, 4, 0.0);
		check(averages, &h);
		cop_averages_predict(averages, said);
		after[alike] = (double)said[4];
		cop_averages_free(averages);
	}
	assert_true(after[0] > 0.1 && after[0] < 0.4);
	assert_true(after[1] > 0.49 && after[1] < 0.5);
}

static void test_averages_one_arm_keeps_the_first_spread(void **state)
{
	(void)state;
	history h = { .arms = 1 };
	cop_averages *averages = make(1);
	for (size_t n = 1; n <= 300; n++) {
		float doubt;
		learn(averages, &h, 0, n % 4 == 0 ? 1.0 : 0.0);
		cop_averages_deviations(averages, &doubt);
		assert_true(fabs((double)doubt * sqrt((double)n + 10.0) - 1.0) < NEAR);
		check(averages, &h);
	}
	cop_averages_free(averages);
}

/* Losses that hardly vary: v is held at 1e-4, or means that differ by nothing would count as spread. */
static void test_averages_of_constant_losses_equal_formula(void **state)
{
	(void)state;
	history h = { .arms = 3 };
	cop_averages *averages = make(3);
	for (size_t n = 0; n < 4900; n++)
		learn(averages, &h, n % 2, 0.3 + 0.001 * (double)(n % 2));
	assert_true(variance(&h) < 0.8e-4);
	check(averages, &h);
	cop_averages_free(averages);
}

/* From the cap on a mean moves by 1e-5 of the difference. */
static void test_averages_after_the_cap_follow_what_changes(void **state)
{
	(void)state;
	cop_averages *averages = make(2);
	float said[2], doubt[2], later[2];
	for (size_t n = 0; n < 100000; n++)
		cop_averages_learn(averages, 0, 0.0);
	cop_averages_learn(averages, 1, 0.0);
	cop_averages_deviations(averages, doubt);
	for (size_t n = 0; n < 100000; n++)
		cop_averages_learn(averages, 0, 1.0);
	cop_averages_predict(averages, said);
	cop_averages_deviations(averages, later);
	double want = 1.0 - pow(1.0 - 1.0 / MOST, MOST); /* 0.632; the mean of all is 1/2 */
	assert_true(fabs((double)said[0] - want) < 0.001);
	assert_true(fabs((double)doubt[0] * sqrt(MOST) - 1.0) < 1e-3); /* 1 / t is far below n */
	assert_true(fabs((double)later[0] * sqrt(MOST) - 1.0) < 1e-3);
	cop_averages_free(averages);
}

static void save(const cop_averages *averages, cop_bytes *bytes)
{
	cop_bytes_clear(bytes);
	cop_averages_save(averages, bytes);
	assert_int_equal(bytes->err, COP_OK);
}

static cop_err load(cop_averages *averages, const void *data, size_t length, size_t *left)
{
	cop_cursor cursor;
	cop_cursor_init(&cursor, data, length);
	cop_err err = cop_averages_load(averages, &cursor);
	*left = cop_cursor_left(&cursor);
	return err;
}

static cop_averages *experienced(size_t arms)
{
	cop_averages *averages = make(arms);
	for (size_t n = 0; n < 50; n++)
		cop_averages_learn(averages, n % (arms - 1), n % 3 == 0 ? 1.0 : 0.25);
	return averages;
}

static void test_averages_reading_changes_no_state(void **state)
{
	(void)state;
	cop_averages *averages = experienced(3);
	cop_bytes before, after;
	float out[3];
	cop_bytes_init(&before);
	cop_bytes_init(&after);
	save(averages, &before);
	for (int i = 0; i < 100; i++) {
		cop_averages_predict(averages, out);
		cop_averages_deviations(averages, out);
	}
	save(averages, &after);
	assert_int_equal(before.length, after.length);
	assert_memory_equal(before.data, after.data, before.length);
	cop_bytes_fini(&before);
	cop_bytes_fini(&after);
	cop_averages_free(averages);
}

static void test_averages_loaded_go_on_alike(void **state)
{
	(void)state;
	cop_averages *first = experienced(4), *second = make(4);
	cop_bytes bytes, again;
	size_t left;
	cop_bytes_init(&bytes);
	cop_bytes_init(&again);
	save(first, &bytes);
	assert_int_equal(load(second, bytes.data, bytes.length, &left), COP_OK);
	assert_int_equal(left, 0);
	for (int i = 0; i < 2; i++) {
		float one[4], other[4];
		save(first, &bytes);
		save(second, &again);
		assert_int_equal(bytes.length, again.length);
		assert_memory_equal(bytes.data, again.data, bytes.length);
		cop_averages_predict(first, one);
		cop_averages_predict(second, other);
		assert_memory_equal(one, other, sizeof one);
		cop_averages_learn(first, 2, 0.75);
		cop_averages_learn(second, 2, 0.75);
	}
	cop_bytes_fini(&bytes);
	cop_bytes_fini(&again);
	cop_averages_free(first);
	cop_averages_free(second);
}

/* One that was saved with fewer arms: the others are as in a new one. */
static void test_averages_load_of_fewer_arms_leaves_the_others_new(void **state)
{
	(void)state;
	cop_averages *averages = experienced(3), *more = experienced(5);
	float before[3], after[5];
	cop_bytes bytes;
	size_t left;
	cop_bytes_init(&bytes);
	save(averages, &bytes);
	assert_int_equal(load(more, bytes.data, bytes.length, &left), COP_OK);
	assert_int_equal(left, 0);
	cop_averages_predict(averages, before);
	cop_averages_predict(more, after);
	assert_memory_equal(before, after, sizeof before);
	for (size_t k = 3; k < 5; k++) {
		assert_true(after[k] == after[3]);
		assert_true(cop_averages_plays(more, k) == 0.0);
	}
	cop_bytes_fini(&bytes);
	cop_averages_free(averages);
	cop_averages_free(more);
}

static void test_averages_load_of_more_arms_or_cut_is_refused(void **state)
{
	(void)state;
	cop_averages *averages = experienced(3), *fewer = make(2);
	cop_bytes bytes;
	size_t left;
	cop_bytes_init(&bytes);
	save(averages, &bytes);
	assert_int_equal(load(fewer, bytes.data, bytes.length, &left), COP_ESHAPE);
	for (size_t length = 0; length < bytes.length; length++)
		assert_int_equal(load(averages, bytes.data, length, &left), COP_EFORMAT);
	cop_bytes_fini(&bytes);
	cop_averages_free(averages);
	cop_averages_free(fewer);
}

/* The arms' number, then each a double: n of all, means of all, v, losses behind it, c, 1 / t. */
enum { N = 0, MEAN = 3, VARIANCE = 6, EVENTS, CENTRE, PULL, FIELDS };

static cop_err load_with(cop_averages *averages, const cop_bytes *bytes, size_t field, double value)
{
	uint8_t damaged[8 + 8 * FIELDS];
	size_t left;
	assert_int_equal(bytes->length, sizeof damaged);
	memcpy(damaged, bytes->data, sizeof damaged);
	memcpy(damaged + 8 + 8 * field, &value, sizeof value);
	return load(averages, damaged, sizeof damaged, &left);
}

static void test_averages_load_of_damaged_values_is_refused(void **state)
{
	(void)state;
	static const struct {
		size_t field;
		double value;
	} wrong[] = { { N, -1.0 }, { N + 2, 100001.0 }, { MEAN, -0.01 }, { MEAN + 2, 1.01 }, { VARIANCE, -0.01 },
		{ VARIANCE, 1.01 }, { EVENTS, -1.0 }, { EVENTS, 5001.0 }, { CENTRE, -0.01 }, { CENTRE, 1.01 },
		{ PULL, 0.0 }, { PULL, -1.0 } };
	static const double right[FIELDS] = { 0.0, 1e5, 7.0, 0.0, 1.0, 0.5, 1.0, 5000.0, 1.0, 1e9 };
	cop_averages *averages = experienced(3);
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	save(averages, &bytes);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		if (load_with(averages, &bytes, wrong[i].field, wrong[i].value) != COP_EFORMAT)
			fail_msg("field %zu as %g was taken", wrong[i].field, wrong[i].value);
	for (size_t field = 0; field < FIELDS; field++) {
		assert_int_equal(load_with(averages, &bytes, field, (double)NAN), COP_ENONFINITE);
		assert_int_equal(load_with(averages, &bytes, field, (double)INFINITY), COP_ENONFINITE);
		assert_int_equal(load_with(averages, &bytes, field, right[field]), COP_OK);
	}
	cop_bytes_fini(&bytes);
	cop_averages_free(averages);
}

static void test_averages_without_memory_are_not_made(void **state)
{
	(void)state;
	cop_averages *averages = NULL;
	unsigned long n = 0;
	cop_err err;
	do {
		cop_test_alloc_fail(++n, 0);
		err = cop_averages_new(5, &averages);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		assert_true(err == COP_OK || (err == COP_ENOMEM && averages == NULL));
	} while (err != COP_OK);
	assert_true(n > 1);
	cop_averages_free(averages);
	cop_averages_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_averages_random_streams_equal_formula),
		cmocka_unit_test(test_averages_before_the_first_loss_are_a_half),
		cmocka_unit_test(test_averages_never_played_is_the_centre_with_the_spread),
		cmocka_unit_test(test_averages_few_losses_are_drawn_towards_the_centre),
		cmocka_unit_test(test_averages_one_arm_keeps_the_first_spread),
		cmocka_unit_test(test_averages_of_constant_losses_equal_formula),
		cmocka_unit_test(test_averages_after_the_cap_follow_what_changes),
		cmocka_unit_test(test_averages_reading_changes_no_state),
		cmocka_unit_test(test_averages_loaded_go_on_alike),
		cmocka_unit_test(test_averages_load_of_fewer_arms_leaves_the_others_new),
		cmocka_unit_test(test_averages_load_of_more_arms_or_cut_is_refused),
		cmocka_unit_test(test_averages_load_of_damaged_values_is_refused),
		cmocka_unit_test(test_averages_without_memory_are_not_made),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
