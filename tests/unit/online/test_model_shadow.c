/* A challenger beside the serving learner: what waits over swaps is learned by both as if each had always been alone;
 * evidence tells good from poisoned; saved and loaded at every stage a model goes on to the same bytes. */
#include <stdlib.h>

#include "support.h"

#include "model_fixture.h"
#include "online/model_state.h"
#include "online/model_state.h"
#include "unit/learn/rank_fixture.h"
#include "unit/learn/refitted_fixture.h"

static cop_model *new_model(const char *learner, bool sparse)
{
	cop_model_settings s;
	model_settings(&s, learner, sparse);
	if (strcmp(learner, "rank") == 0)
		rank_settings(&s.learner, sparse);
	s.explain_keep = 2;
	return model_new(&s);
}

static cop_trees *trees_for(cop_model *model, uint64_t seed)
{
	const cop_learner *l = cop_model_learner(model);
	const cop_learner_settings *s = &l->settings;
	size_t d = cop_learner_dimension(s) + (l->class->candidates ? cop_learner_candidate_dimension(s) : 0);
	const refit_shape shape = { .d = d,
		.outputs = s->arms == 0 ? 1 : s->arms,
		.depth = 3,
		.sparse = s->features == 0 && !l->class->candidates };
	return refit_trees(&shape, 1, seed);
}

static void challenge(cop_model *model, const cop_trees *trees)
{
	cop_diag diag = { 0 };
	cop_err err = cop_model_challenge(model, trees, &diag);
	if (err != COP_OK)
		fail_msg("%s: %s", cop_err_text(err), diag.message);
}

static void challenge_with(cop_model *model, uint64_t seed)
{
	cop_trees *trees = trees_for(model, seed);
	challenge(model, trees);
	cop_trees_free(trees);
}

static void assert_models_equal(const cop_model *a, const cop_model *b)
{
	cop_bytes one, two;
	cop_bytes_init(&one);
	cop_bytes_init(&two);
	model_save(a, &one);
	model_save(b, &two);
	assert_bytes_equal(&one, &two);
	cop_bytes_fini(&one);
	cop_bytes_fini(&two);
}

/* A ranking event under id n; answered three events later. */
static void rank_step(cop_model *model, cop_rng *rng, bool sparse, uint64_t n)
{
	static rank_event e; /* rows are copied by the model */
	cop_decision d;
	bool repeated;
	cop_event_id id = model_id(n);
	rank_draw(&e, rng, sparse, 0);
	const cop_model_context context = {
		.id = &id, .x = &e.row, .candidate = e.candidate, .candidates = e.set.count
	};
	assert_int_equal(cop_model_decide(model, &context, (double)n, &d, &repeated), COP_OK);
	if (n >= 3)
		(void)model_feedback(model, n - 3, cop_rng_unit(rng), (double)n);
	(void)cop_model_expire(model, (double)n, 10);
}

static void run(cop_model *model, cop_rng *rng, bool sparse, uint64_t *from, size_t n)
{
	bool ranks = cop_model_learner(model)->class->candidates;
	if (!ranks)
		model_run(model, rng, sparse, *from, n);
	for (uint64_t i = *from; ranks && i < *from + n; i++)
		rank_step(model, rng, sparse, i);
	*from += n;
}

static const struct {
	const char *learner;
	bool sparse;
} kinds[] = { { "ensemble", false }, { "ensemble", true }, { "dgt", false }, { "value", false }, { "rank", false },
	{ "rank", true } };
#define KINDS (sizeof kinds / sizeof *kinds)

static void turn(cop_model *model, size_t stage)
{
	switch (stage) {
	case 0:
	case 4:
		challenge_with(model, 5 + stage);
		break;
	case 1:
	case 5:
		assert_int_equal(cop_model_promote(model), COP_OK);
		break;
	case 2:
		assert_int_equal(cop_model_rollback(model), COP_OK);
		break;
	case 3:
		assert_int_equal(cop_model_promote(model), COP_OK);
		break;
	case 6:
		assert_int_equal(cop_model_retire(model), COP_OK);
		break;
	default:
		cop_model_freeze(model, stage == 7);
		break;
	}
}

static void test_saved_at_every_stage_goes_on_to_the_same_bytes(void **state)
{
	(void)state;
	for (size_t kind = 0; kind < KINDS; kind++) {
		const bool sparse = kinds[kind].sparse;
		cop_model *model = new_model(kinds[kind].learner, sparse);
		cop_rng rng;
		uint64_t from = 0;
		cop_bytes bytes;
		cop_bytes_init(&bytes);
		cop_rng_init(&rng, FIXTURE_SEED, 200 + kind);
		run(model, &rng, sparse, &from, 60);
		for (size_t stage = 0; stage < 9; stage++) {
			turn(model, stage);
			run(model, &rng, sparse, &from, 40);
			cop_model *same = new_model(kinds[kind].learner, sparse);
			cop_rng fork = rng;
			uint64_t again = from;
			model_save(model, &bytes);
			assert_int_equal(cop_model_load(same, bytes.data, bytes.length, NULL), COP_OK);
			assert_models_equal(model, same);
			run(model, &rng, sparse, &from, 40);
			run(same, &fork, sparse, &again, 40);
			assert_models_equal(model, same);
			cop_model_free(same);
		}
		cop_bytes_fini(&bytes);
		cop_model_free(model);
	}
}

static void test_model_without_a_shadow_is_saved_without_one(void **state)
{
	(void)state;
	cop_model *model = new_model("ensemble", false), *used = new_model("ensemble", false);
	cop_rng rng;
	cop_bytes bytes;
	cop_section_file file;
	cop_model_section section;
	uint64_t from = 0;
	cop_bytes_init(&bytes);
	cop_rng_init(&rng, FIXTURE_SEED, 210);
	run(model, &rng, false, &from, 60);
	model_save(model, &bytes);
	assert_int_equal(cop_section_file_open(&file, bytes.data, bytes.length, NULL, NULL), COP_OK);
	assert_int_equal(cop_section_file_find(&file, "shadow", 0, 9, &section), COP_ENOTFOUND);
	challenge_with(used, 3); /* is forgotten by a load */
	assert_int_equal(cop_model_promote(used), COP_OK);
	cop_model_freeze(used, true);
	assert_int_equal(cop_model_load(used, bytes.data, bytes.length, NULL), COP_OK);
	assert_models_equal(model, used);
	challenge_with(model, 3);
	model_save(model, &bytes);
	assert_int_equal(cop_section_file_open(&file, bytes.data, bytes.length, NULL, NULL), COP_OK);
	assert_int_equal(cop_section_file_find(&file, "shadow", 0, 1, &section), COP_OK);
	cop_bytes_fini(&bytes);
	cop_model_free(used);
	cop_model_free(model);
}

/* The same by hand: two learners that see everything and are never told of swaps. */
#define WAITING 8

typedef struct by_hand {
	cop_model *model;
	cop_learner *first, *second;
	fixture_event e[WAITING];
	cop_decision of_first[WAITING], of_second[WAITING];
} by_hand;

static void begin_by_hand(by_hand *b, const char *name, cop_rng *rng)
{
	uint64_t from = 0;
	cop_feedback_result result;
	b->model = new_model(name, false);
	run(b->model, rng, false, &from, 50);
	for (uint64_t i = 0; i < from; i++) { /* nothing waits */
		cop_event_id id = model_id(i);
		double loss = 0.5;
		assert_int_equal(cop_model_feedback(b->model, &id, &loss, 1, (double)from, &result), COP_OK);
	}
	cop_trees *trees = trees_for(b->model, 9);
	assert_int_equal(cop_learner_clone(cop_model_learner(b->model), &b->first), COP_OK);
	assert_int_equal(cop_learner_clone(b->first, &b->second), COP_OK);
	assert_int_equal(cop_learner_refit(b->second, trees, NULL), COP_OK);
	challenge(b->model, trees);
	cop_trees_free(trees);
}

static void decide_by_hand(by_hand *b, cop_rng *rng, size_t i, bool second)
{
	cop_policy_view view;
	cop_decision d, served, followed;
	bool repeated;
	cop_event_id id = model_id(1000 + i);
	const cop_row *x = &b->e[i].row;
	fixture_draw(&b->e[i], rng, false);
	assert_int_equal(decide_context(b->model, &id, x, NULL, 60.0, &d, &repeated), COP_OK);
	assert_int_equal(cop_learner_decide(second ? b->second : b->first, x, NULL, &served), COP_OK);
	followed = (cop_decision){ .arm = served.arm, .p = served.p };
	assert_int_equal(cop_learner_follow(second ? b->first : b->second, x, NULL, &followed, &view), COP_OK);
	assert_int_equal(d.arm, served.arm);
	assert_true(d.p == served.p);
	b->of_first[i] = second ? followed : served;
	b->of_second[i] = second ? served : followed;
}

static void learn_by_hand(by_hand *b, size_t i)
{
	double loss = 0.125 * (double)i;
	const cop_row *x = &b->e[i].row;
	(void)model_feedback(b->model, 1000 + i, loss, 61.0);
	assert_int_equal(cop_learner_learn(b->first, x, NULL, &b->of_first[i], &loss, true), COP_OK);
	assert_int_equal(cop_learner_learn(b->second, x, NULL, &b->of_second[i], &loss, true), COP_OK);
}

static void check_by_hand(const char *name, unsigned swaps)
{
	static by_hand b;
	cop_rng rng;
	cop_rng_init(&rng, FIXTURE_SEED, 220);
	begin_by_hand(&b, name, &rng);
	for (size_t i = 0; i < WAITING; i++) {
		if (i == WAITING / 2)
			assert_int_equal(cop_model_promote(b.model), COP_OK);
		decide_by_hand(&b, &rng, i, i >= WAITING / 2);
	}
	if (swaps == 1)
		assert_int_equal(cop_model_rollback(b.model), COP_OK);
	for (size_t i = 0; i < WAITING; i++) {
		learn_by_hand(&b, i);
		if (swaps == 2 && i == 3) { /* back and forth between losses */
			assert_int_equal(cop_model_rollback(b.model), COP_OK);
			assert_int_equal(cop_model_promote(b.model), COP_OK);
		}
	}
	refit_assert_same(cop_model_learner(b.model), swaps == 1 ? b.first : b.second);
	assert_int_equal(swaps == 1 ? cop_model_promote(b.model) : cop_model_rollback(b.model), COP_OK);
	refit_assert_same(cop_model_learner(b.model), swaps == 1 ? b.second : b.first);
	cop_learner_free(b.first);
	cop_learner_free(b.second);
	cop_model_free(b.model);
}

static void test_decisions_that_wait_over_swaps_are_learned_by_both(void **state)
{
	(void)state;
	for (unsigned swaps = 0; swaps < 3; swaps++) {
		check_by_hand("ensemble", swaps);
		check_by_hand("dgt", swaps);
	}
}

/* One that waits over a whole pair: what the one that stayed had said then is good for its descendants. */
static void test_decisions_that_wait_over_pairs_are_learned(void **state)
{
	(void)state;
	for (unsigned promoted = 0; promoted < 2; promoted++) {
		static by_hand b;
		cop_rng rng;
		cop_learner *stays, *third;
		double loss = 0.25;
		cop_rng_init(&rng, FIXTURE_SEED, 221);
		begin_by_hand(&b, "ensemble", &rng);
		decide_by_hand(&b, &rng, 0, false);
		if (promoted)
			assert_int_equal(cop_model_promote(b.model), COP_OK);
		stays = promoted ? b.second : b.first;
		cop_trees *trees = trees_for(b.model, 10);
		assert_int_equal(cop_learner_clone(stays, &third), COP_OK);
		assert_int_equal(cop_learner_refit(third, trees, NULL), COP_OK);
		challenge(b.model, trees);
		const cop_decision *said = promoted ? &b.of_second[0] : &b.of_first[0];
		(void)model_feedback(b.model, 1000, loss, 61.0);
		assert_int_equal(cop_learner_learn(stays, &b.e[0].row, NULL, said, &loss, true), COP_OK);
		assert_int_equal(cop_learner_learn(third, &b.e[0].row, NULL, said, &loss, true), COP_OK);
		refit_assert_same(cop_model_learner(b.model), stays);
		assert_int_equal(cop_model_promote(b.model), COP_OK);
		refit_assert_same(cop_model_learner(b.model), third);
		cop_trees_free(trees);
		cop_learner_free(third);
		cop_learner_free(b.first);
		cop_learner_free(b.second);
		cop_model_free(b.model);
	}
}

/* What a journal holds of a ranking model's events makes the same model again. */
static void replay_ranks(bool sparse)
{
	cop_model *live = new_model("rank", sparse), *again = new_model("rank", sparse);
	cop_rng rng;
	cop_rng_init(&rng, FIXTURE_SEED, 225);
	for (uint64_t i = 0; i < 300; i++) {
		static rank_event e;
		uint8_t mask[RANK_MOST];
		cop_decision d;
		bool repeated;
		cop_event_id id = model_id(i);
		if (i == 50 || i == 150)
			challenge_with(live, i), challenge_with(again, i);
		if (i == 100 || i == 200)
			assert_int_equal(cop_model_promote(live) + cop_model_promote(again), COP_OK);
		rank_draw(&e, &rng, sparse, 0);
		for (size_t k = 0; k < e.set.count; k++)
			mask[k] = k == 0 || cop_rng_below(&rng, 4) != 0;
		const cop_model_context context = {
			.id = &id, .x = &e.row, .candidate = e.candidate, .candidates = e.set.count, .mask = mask
		};
		assert_int_equal(cop_model_decide(live, &context, (double)i, &d, &repeated), COP_OK);
		assert_int_equal(model_replay(live, again, &context, (double)i, &d, NULL), COP_OK);
		double loss = cop_rng_unit(&rng);
		for (uint64_t back = 3; back < 60 && back <= i; back += 50) {
			(void)model_feedback(live, i - back, loss, (double)i);
			(void)model_feedback(again, i - back, loss, (double)i);
		}
	}
	assert_models_equal(live, again);
	cop_model_free(live);
	cop_model_free(again);
}

static void test_replay_of_ranking_events_gives_the_same_bytes(void **state)
{
	(void)state;
	replay_ranks(false);
	replay_ranks(true);
}

/* Events until there is a verdict. */
static cop_promotion_test_verdict judge(cop_model *model, cop_rng *rng, uint64_t *from, size_t most)
{
	for (size_t i = 0; i < most; i++) {
		fixture_event e;
		cop_decision d;
		bool repeated;
		double now = (double)*from;
		cop_event_id id = model_id(*from);
		++*from;
		fixture_draw(&e, rng, false);
		assert_int_equal(decide_context(model, &id, &e.row, NULL, now, &d, &repeated), COP_OK);
		(void)model_feedback(model, *from - 1, d.arm == e.best ? 0.0 : 1.0, now);
		if (cop_model_verdict(model) != COP_PROMOTION_TEST_OPEN)
			return cop_model_verdict(model);
	}
	return COP_PROMOTION_TEST_OPEN;
}

static void show(cop_model *model, const char *what)
{
	cop_model_evidence e;
	cop_model_get_evidence(model, &e);
	print_message("%s: %llu events, losses %.3f (serving) %.3f (shadow), gain in [%.3f, %.3f]\n", what,
	        (unsigned long long)e.summary.events, e.summary.champion_snips, e.summary.challenger_snips,
	        e.summary.low[COP_PROMOTION_TEST_DR], e.summary.high[COP_PROMOTION_TEST_DR]);
}

static void test_good_challenger_is_found_better_and_poisoned_one_worse(void **state)
{
	(void)state;
	for (int poisoned = 0; poisoned < 2; poisoned++) {
		cop_model_settings s;
		model_settings(&s, "dgt", false);
		strcpy(s.learner.policy, "epsilon");
		s.learner.exploration.epsilon = 0.2;
		cop_model *model = model_new(&s);
		cop_rng rng;
		uint64_t from = 0;
		cop_model_evidence e;
		cop_rng_init(&rng, FIXTURE_SEED, 230);
		assert_int_equal(judge(model, &rng, &from, 3000), COP_PROMOTION_TEST_OPEN);
		cop_trees *trees = refit_oracle(poisoned != 0);
		challenge(model, trees);
		cop_promotion_test_verdict verdict = judge(model, &rng, &from, 5000);
		show(model, poisoned ? "poisoned" : "good");
		assert_int_equal(verdict, poisoned ? COP_PROMOTION_TEST_WORSE : COP_PROMOTION_TEST_BETTER);
		assert_int_equal(cop_model_promote(model), COP_OK); /* of the poisoned one: by mistake */
		cop_model_get_evidence(model, &e);
		assert_true(e.shadow && e.promoted && e.summary.events == 0);
		verdict = judge(model, &rng, &from, 5000);
		show(model, poisoned ? "poisoned, promoted" : "good, promoted");
		assert_int_equal(verdict, poisoned ? COP_PROMOTION_TEST_BETTER : COP_PROMOTION_TEST_WORSE);
		cop_trees_free(trees);
		cop_model_free(model);
	}
}

/* Where two policies do the same, the interval knows: what was drawn and paid does not widen it then. */
static void test_interval_is_narrow_for_policies_that_agree(void **state)
{
	(void)state;
	cop_model *model = new_model("ensemble", false);
	cop_rng rng;
	uint64_t from = 0;
	cop_model_evidence e;
	cop_rng_init(&rng, FIXTURE_SEED, 232);
	run(model, &rng, false, &from, 500);
	challenge_with(model, 3);
	run(model, &rng, false, &from, 2000);
	cop_model_get_evidence(model, &e);
	show(model, "agreeing");
	assert_true(e.summary.events > 300 && e.summary.models == e.summary.events);
	assert_true(e.summary.low[COP_PROMOTION_TEST_DR] <= 0.0 && e.summary.high[COP_PROMOTION_TEST_DR] >= 0.0);
	assert_true(e.summary.high[COP_PROMOTION_TEST_DR] - e.summary.low[COP_PROMOTION_TEST_DR] < 0.5);
	cop_model_free(model);
}

/* By policies alone, the verdict of a learner with experts is the interval's and nothing else; by default predictions
 * settle it while the interval is open. */
static void test_rule_says_what_is_judged(void **state)
{
	(void)state;
	for (int policies = 0; policies < 2; policies++) {
		cop_model *model = new_model("ensemble", false);
		cop_promotion_test_settings rule;
		cop_rng rng;
		uint64_t from = 0;
		cop_model_evidence e;
		cop_model_judge_defaults(&rule);
		assert_int_equal(rule.estimator, COP_PROMOTION_TEST_ERROR);
		if (policies)
			rule.estimator = COP_PROMOTION_TEST_DR;
		assert_int_equal(cop_model_judge_by(model, &rule), COP_OK);
		cop_rng_init(&rng, FIXTURE_SEED, 231);
		assert_int_equal(judge(model, &rng, &from, 300), COP_PROMOTION_TEST_OPEN);
		cop_trees *trees = refit_oracle(true);
		challenge(model, trees);
		cop_promotion_test_verdict verdict = judge(model, &rng, &from, 3000);
		cop_model_get_evidence(model, &e);
		show(model, policies ? "policies" : "predictions");
		bool open = e.summary.low[COP_PROMOTION_TEST_DR] <= 0.0 && e.summary.high[COP_PROMOTION_TEST_DR] >= 0.0;
		assert_true(policies ? open == (verdict == COP_PROMOTION_TEST_OPEN)
		                     : open && verdict != COP_PROMOTION_TEST_OPEN);
		cop_trees_free(trees);
		cop_model_free(model);
	}
}

static void test_order_of_turns_is_kept_to(void **state)
{
	(void)state;
	cop_model *model = new_model("ensemble", false);
	cop_model_evidence e;
	assert_int_equal(cop_model_promote(model), COP_ENOTFOUND);
	assert_int_equal(cop_model_rollback(model), COP_ENOTFOUND);
	assert_int_equal(cop_model_retire(model), COP_ENOTFOUND);
	challenge_with(model, 1);
	assert_int_equal(cop_model_rollback(model), COP_ENOTFOUND);
	assert_int_equal(cop_model_promote(model), COP_OK);
	assert_int_equal(cop_model_promote(model), COP_ENOTFOUND);
	assert_int_equal(cop_model_rollback(model), COP_OK);
	assert_int_equal(cop_model_promote(model), COP_OK);
	assert_int_equal(cop_model_retire(model), COP_OK);
	assert_int_equal(cop_model_rollback(model), COP_ENOTFOUND);
	cop_model_get_evidence(model, &e);
	assert_true(!e.shadow && e.promoted && e.challenges == 1);
	cop_promotion_test_settings rule;
	cop_promotion_test_defaults(&rule);
	rule.risk = 2.0;
	assert_int_equal(cop_model_judge_by(model, &rule), COP_EINVAL);
	cop_model_free(model);
}

static void test_trees_that_do_not_fit_change_nothing(void **state)
{
	(void)state;
	cop_model *model = new_model("dgt", false), *other = new_model("dgt", true);
	cop_rng rng;
	cop_bytes before, after;
	uint64_t from = 0;
	cop_diag diag = { 0 };
	cop_bytes_init(&before);
	cop_bytes_init(&after);
	cop_rng_init(&rng, FIXTURE_SEED, 240);
	run(model, &rng, false, &from, 40);
	model_save(model, &before);
	cop_trees *trees = trees_for(other, 1);
	assert_int_equal(cop_model_challenge(model, trees, &diag), COP_ESHAPE);
	assert_true(diag.message[0] != '\0');
	model_save(model, &after);
	assert_bytes_equal(&before, &after);
	cop_trees_free(trees);
	cop_bytes_fini(&before);
	cop_bytes_fini(&after);
	cop_model_free(other);
	cop_model_free(model);
}

static void test_failed_allocations_of_a_challenge_change_nothing(void **state)
{
	(void)state;
	for (size_t kind = 0; kind < KINDS; kind++) {
		cop_model *model = new_model(kinds[kind].learner, kinds[kind].sparse);
		cop_bytes before, after;
		cop_rng rng;
		uint64_t from = 0;
		cop_bytes_init(&before);
		cop_bytes_init(&after);
		cop_rng_init(&rng, FIXTURE_SEED, 250);
		run(model, &rng, kinds[kind].sparse, &from, 30);
		model_save(model, &before);
		cop_trees *trees = trees_for(model, 1);
		unsigned long nth = 1;
		for (;; nth++) {
			cop_test_alloc_fail(nth, 0);
			cop_err err = cop_model_challenge(model, trees, NULL);
			cop_test_alloc_fail(0, 0);
			assert_int_equal(err != COP_OK, cop_test_alloc_failed());
			if (err == COP_OK)
				break;
			assert_int_equal(err, COP_ENOMEM);
			model_save(model, &after);
			assert_bytes_equal(&before, &after);
		}
		assert_true(nth > 10);
		cop_trees_free(trees);
		cop_bytes_fini(&before);
		cop_bytes_fini(&after);
		cop_model_free(model);
	}
}

/* The spare was made long before, when exploration was another. */
static void test_challenge_with_a_spare_is_the_same(void **state)
{
	(void)state;
	for (size_t kind = 0; kind < KINDS; kind++) {
		cop_model *models[2];
		cop_learner_spare spares[2];
		cop_trees *trees = NULL;
		for (int with = 0; with < 2; with++) {
			cop_rng rng;
			uint64_t from = 0;
			cop_model *model = models[with] = new_model(kinds[kind].learner, kinds[kind].sparse);
			cop_learner_settings then = cop_model_learner(model)->settings;
			then.exploration.gamma = 77.0;
			cop_rng_init(&rng, FIXTURE_SEED, 255);
			for (int i = 0; i < 2; i++) {
				assert_int_equal(cop_learner_spare_init(&spares[i], &then, 1u << 20), COP_OK);
				run(model, &rng, kinds[kind].sparse, &from, 40);
				cop_trees_free(trees);
				trees = trees_for(model, 3);
				if (with == 0)
					challenge(model, trees);
				else
					assert_int_equal(
					        cop_model_challenge_with(model, trees, &spares[i], NULL), COP_OK);
				assert_true((spares[i].learner == NULL) == (with == 1 && i == 0));
				cop_learner_spare_fini(&spares[i]);
				run(model, &rng, kinds[kind].sparse, &from, 40);
			}
			assert_int_equal(cop_model_promote(model), COP_OK);
			run(model, &rng, kinds[kind].sparse, &from, 40);
		}
		assert_models_equal(models[0], models[1]);
		cop_trees_free(trees);
		cop_model_free(models[0]);
		cop_model_free(models[1]);
	}
}

static void test_clone_into_a_spare_allocates_nothing(void **state)
{
	(void)state;
	for (size_t kind = 0; kind < KINDS; kind++) {
		cop_model *model = new_model(kinds[kind].learner, kinds[kind].sparse);
		const cop_learner *learner = cop_model_learner(model);
		cop_learner_spare spare;
		cop_bytes one, two;
		cop_rng rng;
		uint64_t from = 0;
		cop_bytes_init(&one);
		cop_bytes_init(&two);
		cop_rng_init(&rng, FIXTURE_SEED, 256);
		assert_int_equal(cop_learner_spare_init(&spare, &learner->settings, 1u << 20), COP_OK);
		run(model, &rng, kinds[kind].sparse, &from, 200);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(cop_learner_clone_into(learner, &spare), COP_OK);
		assert_int_equal(cop_test_alloc_count(), 0);
		cop_learner_save(learner, &one);
		cop_learner_save(spare.learner, &two);
		assert_bytes_equal(&one, &two);
		cop_bytes_fini(&one);
		cop_bytes_fini(&two);
		cop_learner_spare_fini(&spare);
		cop_model_free(model);
	}
}

static void test_a_section_cut_anywhere_is_refused(void **state)
{
	(void)state;
	for (int challenged = 0; challenged < 2; challenged++) {
		cop_model *model = new_model("ensemble", false), *other = new_model("ensemble", false);
		cop_bytes bytes;
		cop_cursor cursor;
		cop_bytes_init(&bytes);
		if (challenged)
			challenge_with(model, 1);
		cop_model_freeze(model, true);
		cop_model_shadow_save(model, &bytes);
		for (size_t cut = 0; cut < bytes.length; cut += cut < 100 ? 1 : 997) {
			cop_cursor_init(&cursor, bytes.data, cut);
			assert_int_not_equal(cop_model_shadow_load(other, &cursor), COP_OK);
			cop_model_shadow_forget(other);
		}
		cop_cursor_init(&cursor, bytes.data, bytes.length);
		assert_int_equal(cop_model_shadow_load(other, &cursor), COP_OK);
		cop_bytes_fini(&bytes);
		cop_model_free(model);
		cop_model_free(other);
	}
}

static void test_failed_allocations_of_a_load_are_errors(void **state)
{
	(void)state;
	static const char *const names[] = { "ensemble", "value" };
	for (size_t n = 0; n < 2; n++) {
		cop_model *model = new_model(names[n], false);
		cop_rng rng;
		cop_bytes bytes;
		uint64_t from = 0;
		cop_bytes_init(&bytes);
		cop_rng_init(&rng, FIXTURE_SEED, 260);
		challenge_with(model, 1);
		run(model, &rng, false, &from, 20);
		assert_int_equal(cop_model_promote(model), COP_OK);
		model_save(model, &bytes);
		size_t passed_over = 0;
		for (unsigned long nth = 1;; nth++) {
			cop_model *same = new_model(names[n], false);
			cop_test_alloc_fail(nth, 0);
			cop_err err = cop_model_load(same, bytes.data, bytes.length, NULL);
			cop_test_alloc_fail(0, 0);
			cop_model_free(same);
			assert_true(err == COP_OK || err == COP_ENOMEM);
			if (!cop_test_alloc_failed())
				break;
			passed_over += err == COP_OK;
		}
		assert_true(passed_over <= 2); /* a model may forget who was answered, and decides as before */
		cop_bytes_fini(&bytes);
		cop_model_free(model);
	}
}

static void test_load_of_damaged_bytes_is_an_error_or_valid(void **state)
{
	(void)state;
	cop_model *model = new_model("ensemble", false);
	cop_rng rng;
	cop_bytes bytes;
	cop_section_file file;
	cop_model_section section;
	uint64_t from = 0;
	cop_bytes_init(&bytes);
	cop_rng_init(&rng, FIXTURE_SEED, 270);
	challenge_with(model, 1);
	run(model, &rng, false, &from, 20);
	model_save(model, &bytes);
	static const char *const names[] = { "shadow", "pending" };
	for (size_t i = 0; i < 400; i++) {
		cop_bytes damaged;
		cop_bytes_init(&damaged);
		size_t mark = cop_section_file_begin(&damaged);
		size_t at = 0;
		assert_int_equal(cop_section_file_open(&file, bytes.data, bytes.length, NULL, NULL), COP_OK);
		while (cop_section_file_next(&file, &at, &section)) {
			size_t begun = cop_section_file_begin_section(&damaged, section.name, section.version);
			size_t first = damaged.length;
			cop_bytes_put(&damaged, section.data, section.length);
			size_t where = (size_t)cop_rng_below(&rng, i % 4 < 2 ? 200 : section.length);
			if (strcmp(section.name, names[i % 2]) == 0 && where < section.length)
				damaged.data[first + where] ^= (uint8_t)(1 + cop_rng_below(&rng, 255));
			cop_section_file_end_section(&damaged, begun);
		}
		cop_section_file_end(&damaged, mark);
		cop_model *same = new_model("ensemble", false);
		if (cop_model_load(same, damaged.data, damaged.length, NULL) == COP_OK) {
			cop_rng fork = rng;
			uint64_t again = from + 1000;
			run(same, &fork, false, &again, 20);
		}
		cop_model_free(same);
		cop_bytes_fini(&damaged);
	}
	cop_bytes_fini(&bytes);
	cop_model_free(model);
}

static void test_events_with_a_shadow_allocate_nothing(void **state)
{
	(void)state;
	for (size_t kind = 0; kind < KINDS; kind++) {
		cop_model *model = new_model(kinds[kind].learner, kinds[kind].sparse);
		cop_rng rng;
		uint64_t from = 0;
		cop_rng_init(&rng, FIXTURE_SEED, 280);
		challenge_with(model, 1);
		run(model, &rng, kinds[kind].sparse, &from, 200);
		cop_test_alloc_fail(0, 0);
		run(model, &rng, kinds[kind].sparse, &from, 100);
		assert_int_equal(cop_model_promote(model), COP_OK);
		run(model, &rng, kinds[kind].sparse, &from, 100);
		assert_int_equal(cop_model_rollback(model), COP_OK);
		run(model, &rng, kinds[kind].sparse, &from, 100);
		assert_int_equal(cop_test_alloc_count(), 0);
		cop_model_free(model);
	}
}

static void test_frozen_model_counts_and_weighs_but_stays(void **state)
{
	(void)state;
	cop_model *model = new_model("ensemble", false);
	cop_rng rng;
	uint64_t from = 0;
	cop_model_evidence before, after;
	cop_rng_init(&rng, FIXTURE_SEED, 290);
	challenge_with(model, 1);
	run(model, &rng, false, &from, 50);
	cop_model_get_evidence(model, &before);
	uint64_t rev = cop_model_learner(model)->rev, learned = cop_model_get_counters(model)->learned;
	cop_model_freeze(model, true);
	run(model, &rng, false, &from, 50);
	cop_model_get_evidence(model, &after);
	assert_int_equal(cop_model_learner(model)->rev, rev);
	assert_int_equal(after.rev, before.rev);
	assert_int_equal(cop_model_get_counters(model)->learned, learned);
	assert_true(after.frozen && after.frozen_losses > 20 && after.frozen_loss_sum > 0.0);
	assert_int_equal(after.summary.events, before.summary.events + after.frozen_losses);
	cop_model_freeze(model, false);
	run(model, &rng, false, &from, 50);
	assert_true(cop_model_learner(model)->rev > rev);
	cop_model_free(model);
}

static void test_logged_events_are_evidence_too(void **state)
{
	(void)state;
	cop_model *model = new_model("ensemble", false);
	cop_rng rng;
	cop_model_evidence e;
	cop_rng_init(&rng, FIXTURE_SEED, 300);
	cop_trees *trees = refit_oracle(false);
	challenge(model, trees);
	for (size_t i = 0; i < 200; i++) {
		fixture_event event;
		cop_policy_view view;
		fixture_draw(&event, &rng, false);
		cop_model_logged logged = { .x = &event.row, .p = 0.25, .learn = true };
		logged.arm = (uint32_t)cop_rng_below(&rng, FIXTURE_ARMS);
		logged.loss = logged.arm == event.best ? 0.0 : 1.0;
		assert_int_equal(cop_model_take_logged(model, &logged, &view), COP_OK);
	}
	cop_model_get_evidence(model, &e);
	assert_int_equal(e.summary.events, 200);
	assert_true(e.summary.challenger_snips <= e.summary.champion_snips + 0.2);
	cop_trees_free(trees);
	cop_model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_saved_at_every_stage_goes_on_to_the_same_bytes),
		cmocka_unit_test(test_model_without_a_shadow_is_saved_without_one),
		cmocka_unit_test(test_decisions_that_wait_over_swaps_are_learned_by_both),
		cmocka_unit_test(test_decisions_that_wait_over_pairs_are_learned),
		cmocka_unit_test(test_replay_of_ranking_events_gives_the_same_bytes),
		cmocka_unit_test(test_good_challenger_is_found_better_and_poisoned_one_worse),
		cmocka_unit_test(test_interval_is_narrow_for_policies_that_agree),
		cmocka_unit_test(test_rule_says_what_is_judged),
		cmocka_unit_test(test_order_of_turns_is_kept_to),
		cmocka_unit_test(test_trees_that_do_not_fit_change_nothing),
		cmocka_unit_test(test_failed_allocations_of_a_challenge_change_nothing),
		cmocka_unit_test(test_challenge_with_a_spare_is_the_same),
		cmocka_unit_test(test_clone_into_a_spare_allocates_nothing),
		cmocka_unit_test(test_a_section_cut_anywhere_is_refused),
		cmocka_unit_test(test_failed_allocations_of_a_load_are_errors),
		cmocka_unit_test(test_load_of_damaged_bytes_is_an_error_or_valid),
		cmocka_unit_test(test_events_with_a_shadow_allocate_nothing),
		cmocka_unit_test(test_frozen_model_counts_and_weighs_but_stays),
		cmocka_unit_test(test_logged_events_are_evidence_too),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
