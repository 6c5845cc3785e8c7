/* tests/unit/learn/ridge_fixture.h: events for learner ridge, and what their normal equations predict.
 *
 * The oracle finds means and deviations from the events themselves, and solves the equations by elimination. */
#ifndef COP_TESTS_LEARN_RIDGE_FIXTURE_H
#define COP_TESTS_LEARN_RIDGE_FIXTURE_H

#include "learner_fixture.h"

#include "learn/sums.h"

#define RIDGE_D FIXTURE_D

typedef struct ridge_event {
	float x[RIDGE_D];
	uint32_t arm;
	double loss;
} ridge_event;

static inline void ridge_draw(ridge_event *events, size_t count, uint64_t seed)
{
	cop_rng rng;
	cop_rng_init(&rng, seed, 3);
	for (size_t i = 0; i < count; i++) {
		ridge_event *e = &events[i];
		for (size_t j = 0; j < RIDGE_D; j++)
			e->x[j] = (float)(100.0 * (double)j + (1.0 + (double)j) * cop_rng_normal(&rng));
		e->x[RIDGE_D - 1] = 7.0f; /* never varies */
		e->x[1] += e->x[0];       /* correlated */
		e->arm = (uint32_t)cop_rng_below(&rng, FIXTURE_ARMS);
		double z = (double)e->x[2] - 200.0;
		e->loss = fmin(
		        fmax(0.4 + 0.1 * e->arm + 0.03 * z * (double)e->arm + 0.1 * cop_rng_normal(&rng), 0.0), 1.0);
	}
}

static inline void ridge_teach(cop_learner *learner, const ridge_event *e)
{
	const cop_row row = { .d = learner->settings.features, .dense = e->x };
	const cop_decision decision = { .arm = e->arm, .p = 0.5 };
	assert_int_equal(cop_learner_learn(learner, &row, NULL, &decision, &e->loss, false), COP_OK);
}

static inline double ridge_prediction(cop_learner *learner, const float *x, uint32_t arm)
{
	const cop_row row = { .d = learner->settings.features, .dense = x };
	cop_policy_view view;
	cop_decision decision = { .arm = arm };
	assert_int_equal(cop_learner_view(learner, &row, NULL, &decision, &view), COP_OK);
	return (double)view.loss[arm];
}

/* Gauss with pivots, of n equations. */
static inline void ridge_eliminate(size_t n, double a[RIDGE_D][RIDGE_D + 1], double *x)
{
	for (size_t c = 0; c < n; c++) {
		size_t pivot = c;
		for (size_t r = c + 1; r < n; r++)
			pivot = fabs(a[r][c]) > fabs(a[pivot][c]) ? r : pivot;
		for (size_t j = 0; j <= n; j++) {
			double kept = a[c][j];
			a[c][j] = a[pivot][j];
			a[pivot][j] = kept;
		}
		for (size_t r = 0; r < n; r++) {
			double factor = r == c ? 0.0 : a[r][c] / a[c][c];
			for (size_t j = 0; j <= n; j++)
				a[r][j] -= factor * a[c][j];
		}
	}
	for (size_t c = 0; c < n; c++)
		x[c] = a[c][n] / a[c][c];
}

/* By the first d features of the events: two passes for the moments, one for the equations. */
static inline double ridge_reference(const ridge_event *events, size_t count, size_t d, const float *x, uint32_t arm)
{
	double n = 0.0, q = 0.0, mean[RIDGE_D] = { 0 }, deviation[RIDGE_D] = { 0 }, a[RIDGE_D][RIDGE_D + 1] = { { 0 } },
	       w[RIDGE_D];
	for (size_t i = 0; i < count; i++) {
		if (events[i].arm != arm)
			continue;
		n += 1.0;
		q += events[i].loss - 0.5;
		for (size_t j = 0; j < d; j++)
			mean[j] += (double)events[i].x[j];
	}
	for (size_t j = 0; j < d && n > 0.0; j++)
		mean[j] /= n;
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < d && events[i].arm == arm; j++)
			deviation[j] += pow((double)events[i].x[j] - mean[j], 2) / n;
	for (size_t j = 0; j < d; j++) {
		deviation[j] = sqrt(deviation[j]);
		a[j][j] = 1.0;
	}
	for (size_t i = 0; i < count; i++) {
		double z[RIDGE_D];
		if (events[i].arm != arm)
			continue;
		for (size_t j = 0; j < d; j++)
			z[j] = deviation[j] > 1e-9 ? ((double)events[i].x[j] - mean[j]) / deviation[j] : 0.0;
		for (size_t j = 0; j < d; j++) {
			for (size_t l = 0; l < d; l++)
				a[j][l] += z[j] * z[l];
			a[j][d] += z[j] * (events[i].loss - 0.5);
		}
	}
	ridge_eliminate(d, a, w);
	double sum = 0.5 + q / (n + 1.0);
	for (size_t j = 0; j < d; j++)
		sum += deviation[j] > 1e-9 ? w[j] * ((double)x[j] - mean[j]) / deviation[j] : 0.0;
	return fmin(fmax(sum, 0.0), 1.0);
}

/* ---- merging ---- */

static inline void ridge_life(cop_learner *learner, uint64_t life) { cop_learner_sums(learner)->life = life; }

static inline cop_summary ridge_summary(cop_learner *from, uint32_t part, uint64_t number, cop_bytes *room)
{
	const cop_sums *sums = cop_learner_sums(from);
	cop_bytes_clear(room);
	cop_sums_put_own(sums, room);
	return (cop_summary){ part, sums->life, number, 1.0, room->data, room->length };
}

#endif
