/* Shrinkage against the header's formulae coded once more from the whole history, and what it is for: the best guess
 * of effects whose size nobody told. */
#include "support.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "learn/shrinkage.h"

#define SEED  1511U
#define SIZES COP_SHRINKAGE_SIZES
#define NEAR  1e-9

static const double sizes[SIZES] = { 1e6, 1.0, 0.25, 0.0625, 0.015625, 0.00390625, 0.0009765625, 0.000244140625, 0.0 };

typedef struct naive {
	double behind[SIZES]; /* how far the likelihood is below the greatest */
	double v, events;
} naive;

/* Of effects of size i, so much of what is seen is real; of none nothing. */
static double real(size_t i, double square) { return i + 1 == SIZES ? 0.0 : sizes[i] / (sizes[i] + square); }

static double naive_reach(const naive *n, double square)
{
	double sum = 0.0, all = 0.0;
	for (size_t i = 0; i < SIZES; i++) {
		sum += exp(-n->behind[i]) * square * real(i, square) * sizes[i] / (sizes[i] + 0.25);
		all += exp(-n->behind[i]);
	}
	return sqrt(sum / all);
}

static double naive_factor(const naive *n, double square)
{
	double sum = 0.0, all = 0.0;
	for (size_t i = 0; i < SIZES; i++) {
		sum += exp(-n->behind[i]) * real(i, square);
		all += exp(-n->behind[i]);
	}
	return sum / all;
}

static void naive_learn(naive *n, double z, double square, double y)
{
	double v = n->v < 1e-4 ? 1e-4 : n->v, least = 1e300;
	double error = fmin(pow(y - z * naive_factor(n, square), 2.0), 4.0);
	for (size_t i = 0; i < SIZES; i++) {
		n->behind[i] += fmin(pow(y - z * real(i, square), 2.0), 4.0) / (2.0 * v);
		least = fmin(least, n->behind[i]);
	}
	for (size_t i = 0; i < SIZES; i++)
		n->behind[i] = fmin(n->behind[i] - least, 8.0);
	n->events = fmin(n->events + 1.0, 2000.0);
	n->v += (error - n->v) / (n->events + 1.0);
}

/* An effect of N(0, r v), seen with u^2 = square, and a loss around it. */
typedef struct scene {
	double r, v;
	double z, square, y;
} scene;

static void draw(scene *s, cop_rng *rng)
{
	s->square = exp(2.0 * cop_rng_normal(rng) - 4.0);
	double effect = sqrt(s->r * s->v) * cop_rng_normal(rng);
	s->z = effect + sqrt(s->square * s->v) * cop_rng_normal(rng);
	s->y = effect + sqrt(s->v) * cop_rng_normal(rng);
}

static void test_shrinkage_random_effects_equal_formula(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, SEED, 0);
	printf("seed %u\n", SEED);
	for (int round = 0; round < 12; round++) {
		scene s = { .r = sizes[1 + round % 8], .v = round % 2 == 0 ? 0.1 : 0.001 };
		cop_shrinkage shrinkage;
		naive n = { .v = 0.25 };
		cop_shrinkage_begin(&shrinkage);
		for (int i = 0; i < 4000; i++) {
			draw(&s, &rng);
			double factor = cop_shrinkage_factor(&shrinkage, s.square);
			assert_true(factor > 0.0 && factor < 1.0 && fabs(factor - naive_factor(&n, s.square)) < NEAR);
			assert_true(fabs(cop_shrinkage_reach(&shrinkage, s.square) - naive_reach(&n, s.square)) < NEAR);
			cop_shrinkage_learn(&shrinkage, s.z, s.square, s.y);
			naive_learn(&n, s.z, s.square, s.y);
			assert_true(fabs(shrinkage.variance - n.v) < NEAR);
		}
	}
}

/* Whatever the size of effects, guesses come near the best there are, which know it; or what they lose by it, in units
 * of v, is nothing beside the loss's own 1. */
static void test_shrinkage_finds_the_size_of_effects(void **state)
{
	(void)state;
	for (size_t i = 1; i < SIZES; i++) { /* of the last there is none */
		scene s = { .r = sizes[i], .v = 0.02 };
		cop_shrinkage shrinkage;
		cop_rng rng;
		cop_rng_init(&rng, SEED, i);
		cop_shrinkage_begin(&shrinkage);
		for (int k = 0; k < 40000; k++) {
			draw(&s, &rng);
			cop_shrinkage_learn(&shrinkage, s.z, s.square, s.y);
		}
		for (double square = 1e-4; square < 1.0; square *= 3.0) {
			double best = s.r / (s.r + square), factor = cop_shrinkage_factor(&shrinkage, square);
			double excess = (factor - best) * (factor - best) * (s.r + square);
			if (fabs(factor - best) > 0.2 && excess > 5e-4)
				fail_msg("r %g, u^2 %g: %g, best %g", s.r, square, factor, best);
		}
		assert_true(fabs(shrinkage.variance / s.v - 1.0) < 0.2);
	}
}

/* Effects that vanish are doubted soon, and believed again when they are back: nothing is ever certain. */
static void test_shrinkage_follows_what_changes(void **state)
{
	(void)state;
	scene s = { .r = 1.0, .v = 0.02 };
	cop_shrinkage shrinkage;
	cop_rng rng;
	cop_rng_init(&rng, SEED, 20);
	cop_shrinkage_begin(&shrinkage);
	for (int phase = 0; phase < 4; phase++) {
		s.r = phase % 2 == 0 ? 1.0 : 0.0;
		for (int k = 0; k < 5000; k++) {
			draw(&s, &rng);
			cop_shrinkage_learn(&shrinkage, s.z, s.square, s.y);
		}
		double factor = cop_shrinkage_factor(&shrinkage, 0.1);
		assert_true(phase % 2 == 0 ? factor > 0.7 : factor < 0.05);
	}
}

static void test_shrinkage_what_is_not_finite_changes_nothing(void **state)
{
	(void)state;
	static const double bad[] = { (double)NAN, (double)INFINITY, -(double)INFINITY };
	cop_shrinkage shrinkage;
	cop_shrinkage_begin(&shrinkage);
	cop_shrinkage_learn(&shrinkage, 0.1, 0.1, 0.2);
	const cop_shrinkage before = shrinkage;
	for (size_t i = 0; i < 3; i++) {
		cop_shrinkage_learn(&shrinkage, bad[i], 0.1, 0.2);
		cop_shrinkage_learn(&shrinkage, 0.1, bad[i], 0.2);
		cop_shrinkage_learn(&shrinkage, 0.1, 0.1, bad[i]);
	}
	assert_memory_equal(&before, &shrinkage, sizeof before);
	cop_shrinkage_learn(&shrinkage, 1e300, 0.1, -1e300);
	assert_true(isfinite(shrinkage.variance) && isfinite(cop_shrinkage_factor(&shrinkage, 0.1)));
}

static cop_err load_with(const cop_shrinkage *s, size_t field, double value, cop_shrinkage *out)
{
	cop_bytes bytes;
	cop_cursor cursor;
	cop_shrinkage changed = *s;
	if (field < SIZES)
		changed.evidence[field] = value;
	else
		*(field == SIZES ? &changed.variance : &changed.events) = value;
	cop_bytes_init(&bytes);
	cop_shrinkage_save(&changed, &bytes);
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	cop_err err = cop_shrinkage_load(out, &cursor);
	cop_bytes_fini(&bytes);
	return err;
}

static void test_shrinkage_loaded_is_the_same_and_damage_is_refused(void **state)
{
	(void)state;
	static const struct {
		size_t field;
		double value;
	} wrong[] = { { 0, 1e-9 }, { 0, -8.001 }, { SIZES, -1e-9 }, { SIZES, 4.001 }, { SIZES + 1, -1e-9 },
		{ SIZES + 1, 2000.001 } },
	  ends[] = { { 0, -8.0 }, { SIZES, 0.0 }, { SIZES, 4.0 }, { SIZES + 1, 0.0 }, { SIZES + 1, 2000.0 } };
	scene s = { .r = 1.0, .v = 0.02 };
	cop_shrinkage shrinkage, loaded;
	cop_rng rng;
	cop_rng_init(&rng, SEED, 21);
	cop_shrinkage_begin(&shrinkage);
	for (int k = 0; k < 300; k++) {
		draw(&s, &rng);
		cop_shrinkage_learn(&shrinkage, s.z, s.square, s.y);
	}
	assert_int_equal(load_with(&shrinkage, SIZES, shrinkage.variance, &loaded), COP_OK);
	assert_memory_equal(&loaded, &shrinkage, sizeof loaded);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		if (load_with(&shrinkage, wrong[i].field, wrong[i].value, &loaded) != COP_EFORMAT)
			fail_msg("field %zu as %g was taken", wrong[i].field, wrong[i].value);
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		if (load_with(&shrinkage, ends[i].field, ends[i].value, &loaded) != COP_OK)
			fail_msg("field %zu as %g was refused", ends[i].field, ends[i].value);
	for (size_t field = 0; field < SIZES + 2; field++)
		assert_int_equal(load_with(&shrinkage, field, (double)NAN, &loaded), COP_ENONFINITE);
	for (size_t i = 0; i < SIZES; i++)
		shrinkage.evidence[i] = -1.0; /* the greatest is 0 */
	assert_int_equal(load_with(&shrinkage, 0, -1.0, &loaded), COP_EFORMAT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shrinkage_random_effects_equal_formula),
		cmocka_unit_test(test_shrinkage_finds_the_size_of_effects),
		cmocka_unit_test(test_shrinkage_follows_what_changes),
		cmocka_unit_test(test_shrinkage_what_is_not_finite_changes_nothing),
		cmocka_unit_test(test_shrinkage_loaded_is_the_same_and_damage_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
