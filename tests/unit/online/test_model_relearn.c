/* Records that another model made, taken by a model's own rules: as if it had lived through them itself. Decisions are
 * drawn evenly, so that models that learned differently decide alike, and what each is then is known. */
#include "model_fixture.h"
#include "replay_fixture.h"

#include "learn/sums.h"
#include "online/model_relearn.h"
#include "online/model_state.h"

#define MANY 400

typedef struct pair {
	cop_model *live, *other; /* that made the records; that has other rules, and lives through the same events */
	cop_model *relearned;    /* of the other's settings, from records */
	cop_model_relearning how;
} pair;

static void begin(pair *p, const cop_model_settings *live, const cop_model_settings *other)
{
	*p = (pair){ model_new(live), model_new(other), model_new(other), { .own = true, .rules = true } };
}

static void check_and_end(pair *p)
{
	cop_bytes want, got;
	cop_bytes_init(&want);
	cop_bytes_init(&got);
	model_save(p->other, &want);
	model_save(p->relearned, &got);
	assert_bytes_equal(&want, &got);
	cop_bytes_fini(&want);
	cop_bytes_fini(&got);
	cop_model_free(p->live);
	cop_model_free(p->other);
	cop_model_free(p->relearned);
}

static void expire(pair *p, double now)
{
	cop_wire_record record = { .time = now };
	(void)cop_model_expire(p->other, now, SIZE_MAX);
	(void)cop_model_expire(p->live, now, SIZE_MAX);
	cop_model_record_ended(p->live, &record);
	assert_int_equal(cop_model_relearn(p->relearned, COP_WIRE_RECORD_EXPIRY, &record, &p->how), COP_OK);
}

/* The best arm, if it is the one that was played. */
static double decide(pair *p, cop_rng *rng, uint64_t n, double now)
{
	fixture_event e;
	cop_decision made, others;
	bool repeated;
	const cop_event_id id = model_id(n);
	fixture_draw(&e, rng, false);
	const cop_model_context context = { .id = &id, .x = &e.row };
	cop_wire_record record = { .time = now };
	expire(p, now);
	assert_int_equal(cop_model_decide(p->live, &context, now, &made, &repeated), COP_OK);
	assert_int_equal(cop_model_decide(p->other, &context, now, &others, &repeated), COP_OK);
	assert_int_equal(made.arm, others.arm);
	cop_model_record_decision(p->live, &context, &made, &record);
	assert_int_equal(cop_model_relearn(p->relearned, COP_WIRE_RECORD_DECISION, &record, &p->how), COP_OK);
	return made.arm == e.best ? 0.0 : 1.0;
}

static void answer(pair *p, uint64_t n, double loss, double now, cop_feedback_result results[3])
{
	cop_wire_record record = { .time = now, .id = model_id(n), .loss = { loss }, .losses = 1 };
	expire(p, now);
	results[0] = model_feedback(p->live, n, loss, now);
	results[1] = model_feedback(p->other, n, loss, now);
	record.result = cop_model_record_result(results[0]);
	cop_model_record_ended(p->live, &record);
	assert_int_equal(cop_model_relearn(p->relearned, COP_WIRE_RECORD_FEEDBACK, &record, &p->how), COP_OK);
	results[2] = p->how.result;
	assert_int_equal(results[1], results[2]);
}

static void settings(cop_model_settings *s)
{
	model_settings(s, "dgt", false);
	strcpy(s->learner.policy, "epsilon");
	s->learner.exploration.epsilon = 1.0;
	s->reward_window = 10.0;
}

/* Feedback that comes after `lag` seconds; how many results of the other one were what. */
static void live(const cop_model_settings *is, const cop_model_settings *other, size_t lag,
        size_t counts[2][COP_FEEDBACK_RESULTS])
{
	pair p;
	cop_rng rng;
	double loss[MANY];
	cop_rng_init(&rng, FIXTURE_SEED, 7);
	begin(&p, is, other);
	for (uint64_t n = 0; n < MANY + lag; n++) {
		cop_feedback_result results[3];
		if (n < MANY)
			loss[n] = decide(&p, &rng, n, (double)n);
		if (n < lag)
			continue;
		answer(&p, n - lag, loss[n - lag], (double)n + 0.5, results);
		counts[0][results[0]]++;
		counts[1][results[1]]++;
	}
	check_and_end(&p);
}

static void test_longer_window_learns_what_came_too_late(void **state)
{
	(void)state;
	cop_model_settings is, other;
	size_t counts[2][COP_FEEDBACK_RESULTS] = { { 0 } };
	settings(&is);
	other = is;
	other.reward_window = 100.0;
	live(&is, &other, 15, counts);
	assert_int_equal(counts[0][COP_FEEDBACK_LATE], MANY);
	assert_int_equal(counts[1][COP_FEEDBACK_APPLIED], MANY);
}

static void test_shorter_window_learns_the_default_loss(void **state)
{
	(void)state;
	cop_model_settings is, other;
	size_t counts[2][COP_FEEDBACK_RESULTS] = { { 0 } };
	settings(&is);
	other = is;
	other.reward_window = 3.0;
	other.has_default_loss = true;
	other.default_loss = 1.0;
	live(&is, &other, 5, counts);
	assert_int_equal(counts[0][COP_FEEDBACK_APPLIED], MANY);
	assert_int_equal(counts[1][COP_FEEDBACK_LATE], MANY);
}

static void test_other_reward_rule_and_fewer_that_wait(void **state)
{
	(void)state;
	cop_model_settings is, other;
	size_t counts[2][COP_FEEDBACK_RESULTS] = { { 0 } };
	settings(&is);
	other = is;
	other.reward = COP_REWARD_LAST;
	other.pending_max = 4;
	live(&is, &other, 3, counts);
	assert_true(counts[1][COP_FEEDBACK_RECORDED] == MANY);
	live(&is, &other, 6, counts);
	assert_in_range(counts[1][COP_FEEDBACK_RECORDED], MANY, MANY + 4); /* the last ones alone wait still */
}

/* What another instance learned enters a relearned model of sums as it entered the live one, by either rules; a learner
 * without sums goes on without. */
static void test_summaries_enter_models_of_sums_alone(void **state)
{
	(void)state;
	static const char *const learners[] = { "ridge", "dgt" };
	for (size_t i = 0; i < 4; i++) {
		cop_model_settings set;
		cop_rng rng;
		cop_bytes sums, before, live, relearned;
		cop_model_relearning how = { .own = true, .rules = i >= 2 };
		cop_rng_init(&rng, i, 1);
		model_settings(&set, "ridge", false);
		cop_model *teacher = model_new(&set);
		model_settings(&set, learners[i % 2], false);
		cop_model *models[2] = { model_new(&set), model_new(&set) };
		cop_bytes *saved[2] = { &live, &relearned };
		model_run(teacher, &rng, false, 1, 50);
		cop_bytes_init(&sums);
		cop_bytes_init(&before);
		model_save(models[0], &before);
		cop_sums_put_own(cop_learner_sums(teacher->learner), &sums);
		assert_int_equal(sums.err, COP_OK);
		const cop_wire_record merge = { .time = 60.0,
			.life = 7,
			.count = 9,
			.part = 1,
			.at = 50.0,
			.sums = sums.data,
			.sums_length = sums.length };
		if (i % 2 == 0)
			assert_int_equal(cop_model_apply(models[0], COP_WIRE_RECORD_MERGE, &merge), COP_OK);
		assert_int_equal(cop_model_relearn(models[1], COP_WIRE_RECORD_MERGE, &merge, &how), COP_OK);
		for (size_t k = 0; k < 2; k++) {
			cop_bytes_init(saved[k]);
			model_save(models[k], saved[k]);
			cop_model_free(models[k]);
		}
		assert_bytes_equal(&live, &relearned);
		assert_true((before.length != live.length || memcmp(before.data, live.data, live.length) != 0) ==
		            (i % 2 == 0));
		cop_model_free(teacher);
		cop_bytes_fini(&sums);
		cop_bytes_fini(&before);
		cop_bytes_fini(&live);
		cop_bytes_fini(&relearned);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_longer_window_learns_what_came_too_late),
		cmocka_unit_test(test_shorter_window_learns_the_default_loss),
		cmocka_unit_test(test_other_reward_rule_and_fewer_that_wait),
		cmocka_unit_test(test_summaries_enter_models_of_sums_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
