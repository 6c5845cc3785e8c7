/* tests/unit/learn/forest_fixture.h: forests of any shape, and problems to set them: a loss for each row and arm. */
#ifndef COP_TESTS_ONLINE_FOREST_FIXTURE_H
#define COP_TESTS_ONLINE_FOREST_FIXTURE_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "learn/forest.h"
#include "rows.h"

#define FOREST_SEED 907U
#define FOREST_D    9 /* inputs: features, then the constant */
#define FOREST_ARMS 16

typedef struct forest_events {
	cop_rng rng;
	double (*loss)(const float *x, size_t arm, cop_rng *rng);
	size_t arms;
	bool sparse;  /* give rows sparse */
	bool present; /* features are 0 or 1, not numbers of [-1.7, 1.7) */
	test_row row;
	cop_row x;
	size_t arm;
	double y;
} forest_events;

static inline double forest_threshold(const float *x, size_t arm, cop_rng *rng)
{
	(void)rng;
	return x[arm % 4] >= 0.3f ? 1.0 : 0.0;
}

static inline double forest_band(const float *x, size_t arm, cop_rng *rng) /* no line tells it */
{
	(void)rng;
	return fabsf(x[arm % 4]) < 0.6f ? 1.0 : 0.0;
}

static inline double forest_corner(const float *x, size_t arm, cop_rng *rng)
{
	(void)rng;
	return x[arm % 4] > 0.0f && x[4] > 0.0f ? 1.0 : 0.0;
}

static inline double forest_xor(const float *x, size_t arm, cop_rng *rng)
{
	(void)rng;
	return (x[arm % 4] > 0.1f) != (x[4] > 0.1f) ? 1.0 : 0.0;
}

static inline double forest_noise(const float *x, size_t arm, cop_rng *rng)
{
	(void)x;
	(void)arm;
	return cop_rng_unit(rng) < 0.5 ? 1.0 : 0.0;
}

static inline double forest_noisy_threshold(const float *x, size_t arm, cop_rng *rng)
{
	return cop_rng_unit(rng) < (x[arm % 4] >= 0.3f ? 0.8 : 0.2) ? 1.0 : 0.0;
}

static inline double forest_same(const float *x, size_t arm, cop_rng *rng)
{
	(void)x;
	(void)rng;
	return arm % 2 == 0 ? 0.75 : 0.25;
}

static inline cop_forest *forest_of(size_t inputs, size_t entries, size_t arms, size_t trees, uint64_t seed)
{
	cop_forest_settings set = { .inputs = inputs, .entries = entries, .arms = arms, .trees = trees };
	cop_forest *forest;
	cop_rng rng;
	cop_rng_init(&rng, seed, 0);
	assert_int_equal(cop_forest_new(&set, &rng, &forest), COP_OK);
	return forest;
}

static inline void forest_begin(
        forest_events *e, double (*loss)(const float *, size_t, cop_rng *), size_t arms, uint64_t stream)
{
	*e = (forest_events){ .loss = loss, .arms = arms };
	cop_rng_init(&e->rng, FOREST_SEED, stream);
}

static inline void forest_draw(forest_events *e)
{
	e->row.d = FOREST_D;
	for (size_t j = 0; j + 1 < FOREST_D; j++) {
		double u = cop_rng_unit(&e->rng);
		e->row.dense[j] = e->present ? (u < 0.5 ? 1.0f : 0.0f) : (float)(3.4 * u - 1.7);
	}
	e->row.dense[FOREST_D - 1] = 1.0f;
	row_index(&e->row);
	e->x = e->sparse ? row_sparse(&e->row) : row_dense(&e->row);
	e->arm = (size_t)cop_rng_below(&e->rng, e->arms);
	e->y = e->loss(e->row.dense, e->arm, &e->rng);
}

/* n events: predict, then learn; the mean squared error. */
static inline double forest_run(cop_forest *forest, forest_events *e, size_t n)
{
	double sum = 0.0;
	for (size_t i = 0; i < n; i++) {
		float loss[FOREST_ARMS];
		forest_draw(e);
		cop_forest_predict(forest, &e->x, loss);
		double error = e->y - (double)loss[e->arm];
		sum += error * error;
		cop_forest_learn(forest, &e->x, e->arm, e->y, true);
	}
	return sum / (double)n;
}

#endif
