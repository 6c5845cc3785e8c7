/* What an apprentice is said to be worth: its figures against plain sums, its interval against policies whose losses
 * are known, and the logs of which nothing may be said. */
#include "support.h"

#include <math.h>
#include <stdio.h>

#include "base/rng.h"
#include "online/apprentice.h"

#define SEED 23U
#define ARMS 4

/* A system and a model that never change, and the mean losses of the arms, which are 0 or 1. */
typedef struct world {
	double system[ARMS], model[ARMS], loss[ARMS];
	double said[ARMS]; /* what the system says its propensities are; all 0: the truth */
} world;

static const world better = { { 0.7, 0.1, 0.1, 0.1 }, { 0.05, 0.85, 0.05, 0.05 }, { 0.7, 0.2, 0.5, 0.5 }, { 0.0 } };
static const world worse = { { 0.1, 0.7, 0.1, 0.1 }, { 0.85, 0.05, 0.05, 0.05 }, { 0.7, 0.2, 0.5, 0.5 }, { 0.0 } };
static const world equal = { { 0.4, 0.2, 0.2, 0.2 }, { 0.2, 0.2, 0.2, 0.4 }, { 0.4, 0.6, 0.1, 0.4 }, { 0.0 } };

static double value_of(const double *policy, const world *w)
{
	double sum = 0.0;
	for (size_t k = 0; k < ARMS; k++)
		sum += policy[k] * w->loss[k];
	return sum;
}

static double gain_of(const world *w) { return value_of(w->system, w) - value_of(w->model, w); }

typedef struct event {
	double p, own_p, loss;
	bool agrees;
} event;

static event draw(const world *w, cop_rng *rng)
{
	double u = cop_rng_unit(rng);
	size_t arm = 0, best = 0;
	for (; arm + 1 < ARMS && u >= w->system[arm]; arm++)
		u -= w->system[arm];
	for (size_t k = 1; k < ARMS; k++)
		if (w->model[k] > w->model[best])
			best = k;
	double said = w->said[arm] > 0.0 ? w->said[arm] : w->system[arm];
	return (event){ said, w->model[arm], cop_rng_unit(rng) < w->loss[arm] ? 1.0 : 0.0, arm == best };
}

static void take(cop_apprentice *a, const event *e)
{
	cop_apprentice_note(a, e->own_p, e->agrees);
	cop_apprentice_weigh(a, e->p, e->own_p, e->loss);
}

static bool near(double a, double b) { return fabs(a - b) <= 1e-12 * (1.0 + fabs(b)); }

static void test_figures_equal_plain_sums(void **state)
{
	(void)state;
	cop_apprentice a;
	cop_apprentice_summary is;
	cop_rng rng;
	double n = 0.0, agreed = 0.0, own = 0.0, weights = 0.0, gain = 0.0, losses = 0.0, weighed = 0.0;
	printf("seed %u\n", SEED);
	cop_rng_init(&rng, SEED, 0);
	cop_apprentice_init(&a);
	assert_false(cop_apprentice_is_used(&a));
	cop_apprentice_summarise(&a, &is);
	assert_true(isnan(is.agreement) && isnan(is.own_p) && isnan(is.support) && isnan(is.gain));
	for (size_t i = 0; i < 1000; i++) {
		event e = draw(&equal, &rng);
		bool answered = i % 5 != 0;
		cop_apprentice_note(&a, e.own_p, e.agrees);
		n += 1.0;
		agreed += e.agrees;
		own += e.own_p;
		if (answered) {
			cop_apprentice_weigh(&a, e.p, e.own_p, e.loss);
			gain += (1.0 - e.own_p / e.p) * (e.loss - (weighed > 0.0 ? losses / weighed : 0.5));
			weights += e.own_p / e.p;
			losses += e.loss;
			weighed += 1.0;
		}
		cop_apprentice_summarise(&a, &is);
		assert_true((double)is.observed == n && (double)is.agreed == agreed && (double)is.losses == weighed);
		assert_true(near(is.agreement, agreed / n) && near(is.own_p, own / n));
		assert_true(weighed == 0.0 || near(is.support, weights / weighed));
		assert_true(weighed >= COP_APPRENTICE_LEAST || is.doubt == COP_APPRENTICE_FEW);
		if (is.doubt == COP_APPRENTICE_SURE)
			assert_true(near(is.gain, gain / weighed) && is.low <= is.gain && is.gain <= is.high);
		else
			assert_true(isnan(is.gain) && isnan(is.low) && isnan(is.high));
	}
	assert_true(cop_apprentice_is_used(&a));
	assert_int_equal(is.doubt, COP_APPRENTICE_SURE);
	assert_string_equal(cop_apprentice_doubt_text(is.doubt), "");
}

/* Looked at all along. Returns whether the interval ever missed the true gain; *end: as it was last. */
static bool misses(const world *w, uint64_t stream, size_t events, cop_apprentice_summary *end)
{
	cop_apprentice a;
	cop_rng rng;
	bool missed = false;
	cop_rng_init(&rng, SEED, stream);
	cop_apprentice_init(&a);
	for (size_t i = 0; i < events; i++) {
		event e = draw(w, &rng);
		take(&a, &e);
		if (i % 20 != 19)
			continue;
		cop_apprentice_summarise(&a, end);
		missed |= end->low > gain_of(w) || end->high < gain_of(w); /* false while unknown */
	}
	return missed;
}

static void test_interval_covers_the_gain_and_finds_its_sign(void **state)
{
	(void)state;
	static const world *const worlds[] = { &better, &worse, &equal };
	for (size_t k = 0; k < 3; k++) {
		size_t missed = 0, up = 0, down = 0, sure = 0;
		for (uint64_t seed = 1; seed <= 60; seed++) {
			cop_apprentice_summary end;
			missed += misses(worlds[k], seed, 4000, &end);
			sure += end.doubt == COP_APPRENTICE_SURE;
			up += end.low > 0.0;
			down += end.high < 0.0;
		}
		printf("gain %.3f: missed %zu, above 0 %zu, below 0 %zu of 60\n", gain_of(worlds[k]), missed, up, down);
		assert_true(sure > 54);
		assert_true(missed <= 7); /* 3 expected at most; 8 or more by chance: below 1 % */
		assert_true(k == 0 ? up > 50 && down == 0 : k == 1 ? down > 50 && up == 0 : up + down <= 7);
	}
}

/* Whatever the model does, and however it agrees: nothing is claimed of a system that never explores. */
static void test_deterministic_system_yields_no_gain(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 30; seed++) {
		cop_apprentice a;
		cop_rng rng;
		cop_rng_init(&rng, SEED, 100 + seed);
		cop_apprentice_init(&a);
		double share = (double)seed / 30.0; /* how often the model is likely to do the same */
		for (size_t i = 0; i < 3000; i++) {
			cop_apprentice_summary is;
			bool same = cop_rng_unit(&rng) < share;
			/* Where the model would not follow, the system does badly: as tempting as can be. */
			event e = { 1.0, same ? 0.97 : 0.01, cop_rng_unit(&rng) < (same ? 0.1 : 0.9) ? 1.0 : 0.0,
				same };
			take(&a, &e);
			cop_apprentice_summarise(&a, &is);
			assert_true(is.doubt == COP_APPRENTICE_FEW || is.doubt == COP_APPRENTICE_NARROW);
			assert_true(isnan(is.gain) && isnan(is.low) && isnan(is.high));
		}
		cop_promotion_test_summary evidence;
		cop_promotion_test_summarise(&a.evidence, &evidence);
		assert_true(evidence.low[COP_PROMOTION_TEST_DR] <= 0.0);
	}
}

/* It explores, but never plays what the model would. */
static void test_arms_that_are_never_played_are_no_support(void **state)
{
	(void)state;
	static const world w = { { 0.5, 0.5, 0.0, 0.0 }, { 0.1, 0.3, 0.5, 0.1 }, { 0.9, 0.8, 0.1, 0.1 }, { 0.0 } };
	for (uint64_t seed = 1; seed <= 30; seed++) {
		cop_apprentice_summary end;
		(void)misses(&w, 200 + seed, 2000, &end);
		assert_int_equal(end.doubt, COP_APPRENTICE_NARROW);
		assert_true(isnan(end.gain) && end.support < 0.6);
	}
}

static void test_propensities_that_are_too_low_are_told(void **state)
{
	(void)state;
	static const world w = { { 0.7, 0.1, 0.1, 0.1 }, { 0.7, 0.1, 0.1, 0.1 }, { 0.5, 0.5, 0.5, 0.5 },
		{ 0.25, 0.25, 0.25, 0.25 } };
	for (uint64_t seed = 1; seed <= 30; seed++) {
		cop_apprentice_summary end;
		(void)misses(&w, 300 + seed, 2000, &end);
		assert_int_equal(end.doubt, COP_APPRENTICE_WRONG);
		assert_true(isnan(end.gain) && end.support > 1.5);
	}
}

static void test_save_and_load_go_on_to_the_same_bytes(void **state)
{
	(void)state;
	cop_apprentice a, b;
	cop_rng rng;
	cop_bytes bytes, again;
	cop_cursor cursor;
	cop_bytes_init(&bytes);
	cop_bytes_init(&again);
	cop_rng_init(&rng, SEED, 1);
	cop_apprentice_init(&a);
	cop_apprentice_init(&b);
	for (size_t i = 0; i < 400; i++) {
		event e = draw(&better, &rng);
		take(&a, &e);
		if (i < 200)
			continue;
		if (i == 200) {
			cop_apprentice_save(&a, &bytes);
			cop_cursor_init(&cursor, bytes.data, bytes.length);
			assert_int_equal(cop_apprentice_load(&b, &cursor), COP_OK);
			assert_int_equal(cop_cursor_left(&cursor), 0);
		} else {
			take(&b, &e);
		}
	}
	cop_bytes_clear(&bytes);
	cop_apprentice_save(&a, &bytes);
	cop_apprentice_save(&b, &again);
	assert_int_equal(bytes.length, again.length);
	assert_memory_equal(bytes.data, again.data, bytes.length);
	cop_bytes_fini(&bytes);
	cop_bytes_fini(&again);
}

static void test_load_damaged_bytes_is_refused_or_works(void **state)
{
	(void)state;
	static const uint8_t flips[] = { 0x01, 0x40, 0x80, 0xff };
	cop_apprentice a, b;
	cop_rng rng;
	cop_bytes bytes;
	cop_cursor cursor;
	size_t refused = 0;
	cop_bytes_init(&bytes);
	cop_rng_init(&rng, SEED, 2);
	cop_apprentice_init(&a);
	for (size_t i = 0; i < 150; i++) {
		event e = draw(&equal, &rng);
		take(&a, &e);
	}
	cop_apprentice_save(&a, &bytes);
	cop_apprentice_init(&b);
	for (size_t length = 0; length < bytes.length; length++) {
		cop_cursor_init(&cursor, bytes.data, length);
		assert_int_not_equal(cop_apprentice_load(&b, &cursor), COP_OK);
		assert_false(cop_apprentice_is_used(&b));
	}
	for (size_t at = 0; at < 4 * bytes.length; at++) {
		cop_apprentice_summary is;
		bytes.data[at / 4] ^= flips[at % 4];
		cop_cursor_init(&cursor, bytes.data, bytes.length);
		if (cop_apprentice_load(&b, &cursor) == COP_OK) {
			const event e = { 0.5, 0.25, 1.0, true };
			take(&b, &e);
			cop_apprentice_summarise(&b, &is);
			assert_true(is.agreed <= is.observed && is.losses <= is.observed);
		} else {
			refused++;
		}
		bytes.data[at / 4] ^= flips[at % 4];
	}
	assert_true(refused > 100);
	cop_bytes_fini(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_figures_equal_plain_sums),
		cmocka_unit_test(test_interval_covers_the_gain_and_finds_its_sign),
		cmocka_unit_test(test_deterministic_system_yields_no_gain),
		cmocka_unit_test(test_arms_that_are_never_played_are_no_support),
		cmocka_unit_test(test_propensities_that_are_too_low_are_told),
		cmocka_unit_test(test_save_and_load_go_on_to_the_same_bytes),
		cmocka_unit_test(test_load_damaged_bytes_is_refused_or_works),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
