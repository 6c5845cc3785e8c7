/* tests/unit/learn/learner_fixture.h: a small problem that any learner can learn, and streams of it.
 *
 * Dense contexts have FIXTURE_D features, sparse ones the same numbers under scattered indices of a hashed space. Arms:
 * loss 0 for the arm whose hidden direction fits the context best, else 1. Values: loss (y - target)^2. */
#ifndef COP_TESTS_ONLINE_LEARNER_FIXTURE_H
#define COP_TESTS_ONLINE_LEARNER_FIXTURE_H

#include <math.h>
#include <string.h>

#include "learn/learner.h"
#include "rows.h"

#define FIXTURE_SEED 41U
#define FIXTURE_D    6
#define FIXTURE_ARMS 4
#define FIXTURE_BITS 8

typedef struct fixture_event {
	float dense[FIXTURE_D];
	uint32_t index[FIXTURE_D];
	size_t best;   /* arm of loss 0 */
	double target; /* value of least loss, in [0.2, 0.8] */
	cop_row row;   /* of the kind asked for, into this */
} fixture_event;

static inline void fixture_settings(cop_learner_settings *s, const char *learner, bool sparse)
{
	cop_learner_settings_init(s);
	strcpy(s->learner, learner);
	s->features = sparse ? 0 : FIXTURE_D;
	s->bits = FIXTURE_BITS;
	s->max_nonzeros = FIXTURE_D;
	s->arms = strcmp(learner, "value") == 0 ? 0 : FIXTURE_ARMS;
	s->height = 3;
	if (strcmp(learner, "dgt") != 0)
		s->trees = 3;
	s->feedback = COP_VALUE_TWO; /* whoever means bins sets that */
	s->seed = 7;
}

static inline void fixture_draw(fixture_event *e, cop_rng *rng, bool sparse)
{
	double top = -1e30, sum = 0.0;
	for (size_t j = 0; j < FIXTURE_D; j++) {
		e->dense[j] = (float)(3.0 + 2.0 * (double)j * cop_rng_normal(rng) + cop_rng_normal(rng));
		if (sparse)
			e->dense[j] = (float)cop_rng_normal(rng);
		e->index[j] = (uint32_t)(j * 37 + 5);
	}
	for (size_t k = 0; k < FIXTURE_ARMS; k++) {
		double centre = sparse ? 0.0 : 3.0, width = sparse ? 1.0 : 2.0 * (double)k + 1.0;
		double fit = ((double)e->dense[k] - centre) / width;
		if (fit > top) {
			top = fit;
			e->best = k;
		}
		sum += fit;
	}
	e->target = 0.5 + 0.3 * tanh(0.5 * sum);
	if (sparse)
		e->row = (cop_row){
			.d = (size_t)1 << FIXTURE_BITS, .nnz = FIXTURE_D, .index = e->index, .value = e->dense
		};
	else
		e->row = (cop_row){ .d = FIXTURE_D, .dense = e->dense };
}

static inline cop_learner *fixture_learner(const cop_learner_settings *s)
{
	cop_learner *learner;
	cop_diag diag = { 0 };
	cop_err err = cop_learner_new(s, &learner, &diag);
	if (err != COP_OK)
		fail_msg("%s: %s", cop_err_text(err), diag.message);
	return learner;
}

/* The loss or losses of a decision; returns their mean. */
static inline double fixture_loss(
        const cop_learner *learner, const fixture_event *e, const cop_decision *d, double *loss)
{
	if (!learner->class->values) {
		loss[0] = loss[1] = d->arm == e->best ? 0.0 : 1.0;
		return loss[0];
	}
	for (size_t i = 0; i < 2; i++)
		loss[i] = (d->probe[i] - e->target) * (d->probe[i] - e->target);
	return learner->settings.feedback != COP_VALUE_TWO ? loss[0] : (loss[0] + loss[1]) / 2.0;
}

/* n events of the stream: decide, then learn; returns the mean loss. */
static inline double fixture_run(cop_learner *learner, cop_rng *rng, bool sparse, size_t n)
{
	double total = 0.0;
	for (size_t i = 0; i < n; i++) {
		fixture_event e;
		cop_decision decision;
		double loss[2];
		fixture_draw(&e, rng, sparse);
		assert_int_equal(cop_learner_decide(learner, &e.row, NULL, &decision), COP_OK);
		total += fixture_loss(learner, &e, &decision, loss);
		assert_int_equal(cop_learner_learn(learner, &e.row, NULL, &decision, loss, true), COP_OK);
	}
	return total / (double)n;
}

static inline void fixture_save(const cop_learner *learner, cop_bytes *bytes)
{
	cop_bytes_clear(bytes);
	cop_learner_save(learner, bytes);
	assert_int_equal(bytes->err, COP_OK);
}

#endif
