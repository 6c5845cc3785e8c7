/* The worth of a context against the header's formula, coded once more from the whole history. */
#include "support.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "learn/worth.h"

#define SEED 1301U
#define ARMS 3
#define NEAR 1e-9

static double cut(double x, double least, double most) { return x < least ? least : x > most ? most : x; }

/* Means over all events, while there are fewer than are remembered. */
typedef struct history {
	double n[ARMS], said[ARMS];         /* sums */
	double count, plain, linear, other; /* sums of squared errors */
	double gain, gain_square;           /* sums */
} history;

/* The mixture says what is half way between the predictor and 0.3. */
static double mixed_of(double predicted) { return 0.15 + 0.5 * predicted; }

static void tell(cop_worth *worth, size_t arm, double predicted, double linear, double loss)
{
	const cop_worth_said said = { predicted, linear, mixed_of(predicted) };
	cop_worth_learn(worth, arm, &said, loss);
}

static void note(history *h, size_t arm, double predicted, double linear, double loss)
{
	double said = cut(predicted, -1000.0, 1000.0);
	double d = h->n[arm] > 0.0 ? h->said[arm] / h->n[arm] : said; /* at an arm's first event it is the predictor */
	h->plain += pow(loss - d, 2.0);
	double line = pow(loss - (isfinite(linear) ? cut(linear, -1000.0, 1000.0) : d), 2.0);
	double gain = line - pow(loss - cut(mixed_of(predicted), -1000.0, 1000.0), 2.0);
	h->linear += line;
	h->gain += gain;
	h->gain_square += gain * gain;
	h->other += pow(loss - said, 2.0);
	h->n[arm] += 1.0;
	h->said[arm] += said;
	h->count += 1.0;
}

/* 10 (min(E, L) - F) / E of the events, 1.5 of 50 events before them. */
static double oracle(const history *h)
{
	double shown = h->plain > 0.0 ? 10.0 * (fmin(h->plain, h->linear) - h->other) / h->plain : 0.0;
	return cut((h->count * shown + 50.0 * 1.5) / (h->count + 50.0), 0.0, 1.0);
}

/* (z n + 300) / (n + 200), z the mean of gains by its standard error. */
static double oracle_beyond(const history *h)
{
	double n = h->count, mean = h->gain / n;
	double deviation = sqrt(fmax(h->gain_square / n - mean * mean, 1e-12));
	return cut((mean * sqrt(n) / deviation * n + 300.0) / (n + 200.0), 0.0, 1.0);
}

static void start(cop_worth *worth) { assert_int_equal(cop_worth_init(worth, ARMS), COP_OK); }

static void check(const cop_worth *worth, const history *h)
{
	if (!(fabs(cop_worth_of_context(worth) - oracle(h)) < NEAR))
		fail_msg("after %g losses %.12g, formula %.12g", h->count, cop_worth_of_context(worth), oracle(h));
	if (!(fabs(cop_worth_beyond_line(worth) - oracle_beyond(h)) < 1e-6))
		fail_msg("beyond, after %g losses %.12g, formula %.12g", h->count, cop_worth_beyond_line(worth),
		        oracle_beyond(h));
}

static void test_worth_random_predictions_equal_formula(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, SEED, 0);
	printf("seed %u\n", SEED);
	int between = 0, straight = 0, beyond = 0;
	for (int round = 0; round < 40; round++) {
		cop_worth worth;
		history h = { .count = 0.0 };
		double knows = round % 4 == 3 ? 0.0 : 0.4 * cop_rng_unit(&rng), noise = 0.3 * cop_rng_unit(&rng);
		start(&worth);
		for (int i = 0; i < 900; i++) {
			size_t arm = (size_t)cop_rng_below(&rng, ARMS);
			double loss = (double)(cop_rng_unit(&rng) < 0.3);
			double predicted =
			        0.3 + 0.1 * (double)arm + knows * (loss - 0.3) + noise * (cop_rng_unit(&rng) - 0.5);
			double linear = 0.4 + 0.15 * (loss - 0.4) + 0.1 * cop_rng_normal(&rng);
			if (round % 3 == 0)
				linear = (double)NAN;
			note(&h, arm, predicted, linear, loss);
			tell(&worth, arm, predicted, linear, loss);
			straight += h.linear < h.plain;
			check(&worth, &h);
			between += oracle(&h) > 0.05 && oracle(&h) < 0.95;
			beyond += oracle_beyond(&h) > 0.05 && oracle_beyond(&h) < 0.95;
		}
		cop_worth_fini(&worth);
	}
	assert_true(between > 2000 && straight > 2000 && beyond > 2000); /* or the formula was hardly compared */
}

static void test_worth_begins_in_full(void **state)
{
	(void)state;
	cop_worth worth;
	start(&worth);
	assert_true(cop_worth_of_context(&worth) == 1.0);
	cop_worth_fini(&worth);
}

/* n events of a predictor that adds `knows` of the loss's deviation and noise to the arm's mean. */
static void run(cop_worth *worth, cop_rng *rng, double knows, double noise, int n)
{
	for (int i = 0; i < n; i++) {
		size_t arm = (size_t)cop_rng_below(rng, ARMS);
		double mean = 0.2 + 0.2 * (double)arm, loss = (double)(cop_rng_unit(rng) < mean);
		tell(worth, arm, mean + knows * (loss - mean) + noise * cop_rng_normal(rng), (double)NAN, loss);
	}
}

static void test_worth_of_noise_becomes_none(void **state)
{
	(void)state;
	cop_worth worth;
	cop_rng rng;
	cop_rng_init(&rng, SEED, 1);
	start(&worth);
	run(&worth, &rng, 0.0, 0.2, 3000);
	assert_true(cop_worth_of_context(&worth) == 0.0);
	cop_worth_fini(&worth);
}

/* Knowing the arms alone, however different they are, is worth nothing: what is left of the beginning goes away. */
static void test_worth_of_knowing_the_arm_alone_fades(void **state)
{
	(void)state;
	cop_worth worth;
	cop_rng rng;
	cop_rng_init(&rng, SEED, 2);
	start(&worth);
	run(&worth, &rng, 0.0, 0.0, 25);
	assert_true(cop_worth_of_context(&worth) == 1.0);
	for (int n = 25; n < 2000; n += 5) {
		assert_true(fabs(cop_worth_of_context(&worth) - 75.0 / ((double)n + 50.0)) < NEAR);
		run(&worth, &rng, 0.0, 0.0, 5);
	}
	cop_worth_fini(&worth);
}

/* 1 - (1 - k)^2 of what the arms leave open is explained: a tenth of it is worth 1. */
static void test_worth_of_what_explains_is_ten_times_its_share(void **state)
{
	(void)state;
	static const double shares[] = { 0.02, 0.05, 0.08, 0.1, 0.5, 1.0 };
	for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
		cop_worth worth;
		cop_rng rng;
		cop_rng_init(&rng, SEED, 3);
		start(&worth);
		run(&worth, &rng, 1.0 - sqrt(1.0 - shares[i]), 0.0, 10000);
		double want = cut(10.0 * shares[i], 0.0, 1.0);
		if (!(fabs(cop_worth_of_context(&worth) - want) < 0.05))
			fail_msg("share %g: %g", shares[i], cop_worth_of_context(&worth));
		assert_true(shares[i] < 0.2 || cop_worth_of_context(&worth) == 1.0);
		cop_worth_fini(&worth);
	}
}

static void test_worth_of_less_than_nothing_is_cut_and_recovers(void **state)
{
	(void)state;
	cop_worth worth;
	cop_rng rng;
	cop_rng_init(&rng, SEED, 4);
	start(&worth);
	run(&worth, &rng, -2.0, 0.5, 500);
	assert_true(cop_worth_of_context(&worth) == 0.0);
	run(&worth, &rng, 0.5, 0.0, 20000); /* the past counts less and less */
	assert_true(cop_worth_of_context(&worth) == 1.0);
	cop_worth_fini(&worth);
}

/* What a linear predictor knows as well is worth nothing more; what it does not is. */
static void test_worth_beyond_what_is_linear(void **state)
{
	(void)state;
	static const double knows[] = { 0.5, 0.4 };
	for (size_t round = 0; round < 2; round++) {
		cop_worth worth;
		cop_rng rng;
		cop_rng_init(&rng, SEED, 8);
		start(&worth);
		for (int i = 0; i < 6000; i++) {
			double loss = (double)(cop_rng_unit(&rng) < 0.3);
			tell(&worth, 0, 0.3 + 0.5 * (loss - 0.3), 0.3 + knows[round] * (loss - 0.3), loss);
		}
		assert_true(round == 0 ? cop_worth_of_context(&worth) < 0.05 : cop_worth_of_context(&worth) > 0.95);
		cop_worth_fini(&worth);
	}
}

/* A mixture that sees what the linear predictor does not is soon believed; one that only adds noise to it never is, and
 * neither is one that says the same. */
static void test_worth_of_a_mixture_beyond_the_line(void **state)
{
	(void)state;
	static const struct {
		double knows, noise;
		bool beyond;
	} rounds[] = { { 0.1, 0.02, true }, { 0.0, 0.1, false }, { 0.0, 0.0, false } };
	for (size_t round = 0; round < sizeof rounds / sizeof *rounds; round++) {
		cop_worth worth;
		cop_rng rng;
		cop_rng_init(&rng, SEED, 9);
		start(&worth);
		assert_true(cop_worth_beyond_line(&worth) == 1.0);
		for (int i = 0; i < 2000; i++) {
			double loss = (double)(cop_rng_unit(&rng) < 0.3), line = 0.3 + 0.2 * (loss - 0.3);
			double mixed = line + rounds[round].knows * (loss - 0.3);
			const cop_worth_said said = { 0.3, line, mixed + rounds[round].noise * cop_rng_normal(&rng) };
			cop_worth_learn(&worth, 0, &said, loss);
			if (i == 49) /* 300 / 250: the beginning still speaks */
				assert_true(rounds[round].noise > 0.0 || cop_worth_beyond_line(&worth) == 1.0);
		}
		assert_true(rounds[round].beyond ? cop_worth_beyond_line(&worth) == 1.0
		                                 : cop_worth_beyond_line(&worth) < 0.15);
		cop_worth_fini(&worth);
	}
}

/* 2,000 events are remembered: another 2,000 leave (1 - 1/2,000)^2,000 of what was. */
static void test_worth_remembers_two_thousand_events(void **state)
{
	(void)state;
	cop_worth worth;
	start(&worth);
	for (int i = 0; i < 4000; i++)
		tell(&worth, 0, 0.5, (double)NAN, (double)(i % 2));
	assert_true(worth.events == 2000.0 && worth.n[0] == 1000.0 && fabs(worth.plain - 0.25) < NEAR);
	for (int i = 0; i < 2000; i++)
		tell(&worth, 0, 0.5, (double)NAN, 0.5);
	assert_true(fabs(worth.plain - 0.25 * pow(1.0 - 1.0 / 2000.0, 2000.0)) < 1e-6);
	for (int i = 0; i < 1000; i++)
		tell(&worth, 0, 1.0, (double)NAN, 1.0);
	assert_true(fabs(worth.said[0] - (1.0 - 0.5 * pow(1.0 - 1.0 / 1000.0, 1000.0))) < 1e-6);
	cop_worth_fini(&worth);
}

static void test_worth_runaway_predictions_stay_bounded(void **state)
{
	(void)state;
	static const double far[] = { 1e30, -1e30, 1e300, -1e300, 1000.5, -1000.5 };
	cop_worth worth;
	history h = { .count = 0.0 };
	cop_rng rng;
	cop_rng_init(&rng, SEED, 5);
	start(&worth);
	for (int i = 0; i < 600; i++) {
		size_t arm = (size_t)i % ARMS;
		double loss = (double)(i % 2), predicted = i % 50 == 7 ? far[(i / 50) % 6] : 0.5;
		double linear = i % 50 == 9 ? far[(i / 50) % 6] : 0.5;
		note(&h, arm, predicted, linear, loss);
		tell(&worth, arm, predicted, linear, loss);
		check(&worth, &h);
		assert_true(isfinite(worth.plain) && isfinite(worth.other) && worth.other <= 1001.0 * 1001.0);
		assert_true(fabs(worth.said[arm]) <= 1000.0);
	}
	run(&worth, &rng, 0.5, 0.0, 60000);
	assert_true(cop_worth_of_context(&worth) == 1.0);
	cop_worth_fini(&worth);
}

static void save(const cop_worth *worth, cop_bytes *bytes)
{
	cop_bytes_clear(bytes);
	cop_worth_save(worth, bytes);
	assert_int_equal(bytes->err, COP_OK);
}

static cop_err load(cop_worth *worth, const void *data, size_t length)
{
	cop_cursor cursor;
	cop_cursor_init(&cursor, data, length);
	return cop_worth_load(worth, worth->arms, &cursor);
}

static void test_worth_loaded_goes_on_alike(void **state)
{
	(void)state;
	cop_worth first, second;
	cop_bytes bytes, again;
	cop_rng rng, same;
	cop_rng_init(&rng, SEED, 6);
	cop_bytes_init(&bytes);
	cop_bytes_init(&again);
	start(&first);
	start(&second);
	run(&first, &rng, 0.02, 0.01, 300);
	save(&first, &bytes);
	assert_int_equal(load(&second, bytes.data, bytes.length), COP_OK);
	assert_true(cop_worth_of_context(&first) == cop_worth_of_context(&second));
	same = rng;
	run(&first, &rng, 0.02, 0.01, 100);
	run(&second, &same, 0.02, 0.01, 100);
	save(&first, &bytes);
	save(&second, &again);
	assert_int_equal(bytes.length, again.length);
	assert_memory_equal(bytes.data, again.data, bytes.length);
	for (size_t length = 0; length < bytes.length; length++)
		assert_int_equal(load(&second, bytes.data, length), COP_EFORMAT);
	cop_bytes_fini(&bytes);
	cop_bytes_fini(&again);
	cop_worth_fini(&first);
	cop_worth_fini(&second);
}

/* Each a double: n of all arms, d of all, the events, E, L, F, G and S. */
enum { N = 0, SAID = ARMS, EVENTS = 2 * ARMS, PLAIN, LINEAR, OTHER, GAIN, GAIN_SQUARE, FIELDS };

static cop_err load_with(cop_worth *worth, const cop_bytes *bytes, size_t field, double value)
{
	uint8_t damaged[8 * FIELDS];
	assert_int_equal(bytes->length, sizeof damaged);
	memcpy(damaged, bytes->data, sizeof damaged);
	memcpy(damaged + 8 * field, &value, sizeof value);
	return load(worth, damaged, sizeof damaged);
}

static void test_worth_load_of_damaged_values_is_refused(void **state)
{
	(void)state;
	static const struct {
		size_t field;
		double value;
	} wrong[] = { { N, -1.0 }, { N + 2, 1001.0 }, { SAID, 1000.5 }, { SAID + 2, -1000.5 }, { EVENTS, -1.0 },
		{ EVENTS, 2000.001 }, { PLAIN, -1e-9 }, { PLAIN, 4.001e6 }, { LINEAR, -1e-9 }, { LINEAR, 4.001e6 },
		{ OTHER, -1e-9 }, { OTHER, 4.001e6 }, { GAIN, -4.001e6 }, { GAIN, 4.001e6 }, { GAIN_SQUARE, -1e-9 },
		{ GAIN_SQUARE, 1.601e13 } };
	static const double right[FIELDS] = { 0.0, 1000.0, 1.0, 1000.0, -1000.0, 0.0, 2000.0, 4e6, 4e6, 4e6, -4e6,
		1.6e13 };
	cop_worth worth;
	cop_bytes bytes;
	cop_rng rng;
	cop_rng_init(&rng, SEED, 7);
	cop_bytes_init(&bytes);
	start(&worth);
	run(&worth, &rng, 0.1, 0.1, 50);
	save(&worth, &bytes);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		if (load_with(&worth, &bytes, wrong[i].field, wrong[i].value) != COP_EFORMAT)
			fail_msg("field %zu as %g was taken", wrong[i].field, wrong[i].value);
	for (size_t field = 0; field < FIELDS; field++) {
		assert_int_equal(load_with(&worth, &bytes, field, (double)NAN), COP_ENONFINITE);
		assert_int_equal(load_with(&worth, &bytes, field, -(double)INFINITY), COP_ENONFINITE);
		assert_int_equal(load_with(&worth, &bytes, field, right[field]), COP_OK);
		assert_int_equal(load_with(&worth, &bytes, field, 0.0), COP_OK);
	}
	cop_bytes_fini(&bytes);
	cop_worth_fini(&worth);
}

static void test_worth_without_memory_is_refused(void **state)
{
	(void)state;
	for (unsigned long n = 1; n <= 2; n++) {
		cop_worth worth;
		cop_test_alloc_fail(n, 0);
		assert_int_equal(cop_worth_init(&worth, ARMS), COP_ENOMEM);
		cop_test_alloc_fail(0, 0);
		cop_worth_fini(&worth);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_worth_random_predictions_equal_formula),
		cmocka_unit_test(test_worth_begins_in_full),
		cmocka_unit_test(test_worth_of_noise_becomes_none),
		cmocka_unit_test(test_worth_of_knowing_the_arm_alone_fades),
		cmocka_unit_test(test_worth_of_what_explains_is_ten_times_its_share),
		cmocka_unit_test(test_worth_of_less_than_nothing_is_cut_and_recovers),
		cmocka_unit_test(test_worth_beyond_what_is_linear),
		cmocka_unit_test(test_worth_of_a_mixture_beyond_the_line),
		cmocka_unit_test(test_worth_remembers_two_thousand_events),
		cmocka_unit_test(test_worth_runaway_predictions_stay_bounded),
		cmocka_unit_test(test_worth_loaded_goes_on_alike),
		cmocka_unit_test(test_worth_load_of_damaged_values_is_refused),
		cmocka_unit_test(test_worth_without_memory_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
