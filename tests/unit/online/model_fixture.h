/* tests/unit/online/model_fixture.h: small models of every learner, driven by the problem of learner_fixture.h. */
#ifndef COP_TESTS_ONLINE_MODEL_FIXTURE_H
#define COP_TESTS_ONLINE_MODEL_FIXTURE_H

#include "online/model.h"
#include "store/section_file.h"
#include "unit/learn/learner_fixture.h"
#include "unit/online/replay_fixture.h"

#define WINDOW 10.0

static inline void model_settings(cop_model_settings *s, const char *learner, bool sparse)
{
	cop_model_settings_init(s);
	fixture_settings(&s->learner, learner, sparse);
	s->reward_window = WINDOW;
	s->pending_max = 100;
}

static inline cop_model *model_new(const cop_model_settings *s)
{
	cop_model *model;
	cop_diag diag = { 0 };
	cop_err err = cop_model_new(s, &model, &diag);
	if (err != COP_OK)
		fail_msg("%s: %s", cop_err_text(err), diag.message);
	return model;
}

static inline cop_event_id model_id(uint64_t n)
{
	cop_event_id id;
	cop_event_id_from_unsigned(&id, n);
	return id;
}

static inline cop_err decide_context(cop_model *model, const cop_event_id *id, const cop_row *x, const uint8_t *mask,
        double now, cop_decision *out, bool *repeated)
{
	const cop_model_context context = { .id = id, .x = x, .mask = mask };
	return cop_model_decide(model, &context, now, out, repeated);
}

/* Decides under id n for the next context. */
static inline cop_decision model_decide(cop_model *model, cop_rng *rng, bool sparse, uint64_t n, double now)
{
	fixture_event e;
	cop_decision d;
	bool repeated;
	cop_event_id id = model_id(n);
	fixture_draw(&e, rng, sparse);
	assert_int_equal(decide_context(model, &id, &e.row, NULL, now, &d, &repeated), COP_OK);
	assert_false(repeated);
	return d;
}

static inline cop_feedback_result model_feedback(cop_model *model, uint64_t n, double loss, double now)
{
	cop_feedback_result result;
	cop_event_id id = model_id(n);
	const double losses[2] = { loss, loss / 2.0 };
	const cop_learner_settings *l = &cop_model_get_settings(model)->learner;
	size_t count = cop_learner_losses(l);
	assert_int_equal(cop_model_feedback(model, &id, losses, count, now, &result), COP_OK);
	return result;
}

/* n events from number `from`: most are answered a little later, some never. */
static inline void model_run(cop_model *model, cop_rng *rng, bool sparse, uint64_t from, size_t n)
{
	for (uint64_t i = from; i < from + n; i++) {
		double now = (double)i;
		(void)model_decide(model, rng, sparse, i, now);
		if (i >= 3 && i % 5 != 0)
			(void)model_feedback(model, i - 3, cop_rng_unit(rng), now);
		(void)cop_model_expire(model, now, 10);
	}
}

static inline void model_save(const cop_model *model, cop_bytes *bytes)
{
	cop_bytes_clear(bytes);
	size_t mark = cop_section_file_begin(bytes);
	cop_model_save(model, bytes);
	cop_section_file_end(bytes, mark);
	assert_int_equal(bytes->err, COP_OK);
}

#endif
