/* tests/unit/door/door_fixture.h: models of every kind of action by the front door, and a made-up problem for each. */
#ifndef COP_TESTS_DOOR_FIXTURE_H
#define COP_TESTS_DOOR_FIXTURE_H

#include <coppice.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"

#define ARMS_TEXT   "arms = 3  features = 2  seed = 5  reward_window = 10s  pending_max = 50  height = 2"
#define SPARSE_TEXT "arms = 3  features = 0  bits = 6  max_nonzeros = 4  seed = 5  reward_window = 10s"
#define RANK_TEXT   "learner = rank  features = 2  candidate_features = 2  max_candidates = 4  seed = 5"
#define BINS_TEXT   "learner = value  features = 2  seed = 5  value_range = { -10, 30 }"
#define TWO_TEXT    BINS_TEXT "  feedback = two  delta = 2"

static inline coppice_model *door_model(const char *settings)
{
	coppice_model *model;
	coppice_message message = { "" };
	coppice_err err = coppice_model_new(settings, &model, &message);
	if (err != COPPICE_OK)
		fail_msg("%s: %s", settings, message.text);
	return model;
}

static inline void door_draw(cop_rng *rng, float *x, size_t count)
{
	for (size_t i = 0; i < count; i++)
		x[i] = (float)cop_rng_unit(rng);
}

/* Of arms: arm 0 is right where x0 < 1/3, 1 where x0 < 2/3, else 2. */
static inline double door_loss(const float *x, uint32_t arm) { return (uint32_t)(x[0] * 2.999f) == arm ? 0.0 : 1.0; }

/* One decision of a model of arms or values with 2 features, and its loss unless `silent`. */
static inline coppice_decision door_step(coppice_model *model, cop_rng *rng, uint64_t n, double now, bool silent)
{
	coppice_decision d;
	float x[2];
	door_draw(rng, x, 2);
	coppice_row row = coppice_row_dense(x, 2);
	assert_int_equal(coppice_model_decide(model, coppice_id_number(n), &row, NULL, now, &d), COPPICE_OK);
	if (silent)
		return d;
	double loss = coppice_model_actions(model) == COPPICE_ARMS ? door_loss(x, d.action) : 0.5;
	const double both[2] = { loss, loss };
	if (coppice_model_losses(model) == 2)
		assert_int_equal(coppice_model_feedback_two(model, coppice_id_number(n), both, now, NULL), COPPICE_OK);
	else
		assert_int_equal(coppice_model_feedback(model, coppice_id_number(n), loss, now, NULL), COPPICE_OK);
	return d;
}

static inline void door_expect(const coppice_model *model, coppice_err err, coppice_err expected, const char *words)
{
	if (err != expected || strstr(coppice_model_message(model), words) == NULL)
		fail_msg("error %d (%s), expected %d (%s)", (int)err, coppice_model_message(model), (int)expected,
		        words);
}

#endif
