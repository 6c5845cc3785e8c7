/* Two learners that differ in their policy alone follow the same decisions and learn the same losses: what one says of
 * the other's policy is what the other says itself, with its clock, shares, optimism and beliefs; and nothing of the
 * one that was asked has changed. */
#include "learner_fixture.h"
#include "rank_fixture.h"

#include "bandit/policy.h"

enum { EVENTS = 400, MOST = FIXTURE_ARMS > RANK_MOST ? FIXTURE_ARMS : RANK_MOST };

static void compare(const cop_policy_view *asked, const cop_policy_view *is)
{
	assert_true(asked->arms == is->arms && asked->best == is->best);
	for (size_t k = 0; k < is->arms; k++)
		assert_true(asked->p[k] == is->p[k] && asked->loss[k] == is->loss[k]);
}

static void other_policy(cop_learner_settings *s, size_t which)
{
	cop_policy_settings *e = &s->exploration;
	static const char *const names[] = { "epsilon", "squarecb", "fastcb", "matching", "epsilon" };
	strcpy(s->policy, names[which]);
	e->epsilon = 0.4;
	e->epsilon_decay = which == 0 ? 0.1 : 0.0; /* the clock is seen */
	e->gamma = 7.0;
	e->first = which == 4 ? EVENTS / 2 : 0;
	e->optimism = which == 2 ? 1.0 : which == 3 ? 0.2 : -1.0;
	if (s->arms > 0 && which == 1) {
		assert_null(cop_shares_add(&e->shares.min, "1=0.2"));
		assert_null(cop_shares_add(&e->shares.max, "2=0.1"));
	}
}

/* The first is asked as the second is; both learn. */
static void take(cop_learner *learner[2], const cop_row *x, const cop_candidates *c, const cop_row *played,
        const cop_decision *made, const double *loss)
{
	cop_policy_view view[2], again, asked;
	double p[MOST], before[MOST];
	cop_decision d[2] = { *made, *made };
	const cop_candidates left = { .row = played, .mask = c->mask };
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(cop_learner_follow(learner[i], x, c, &d[i], &view[i]), COP_OK);
	memcpy(before, view[0].p, view[0].arms * sizeof *before);
	const cop_learner_settings *s = &learner[1]->settings;
	const cop_policy_other other = { cop_policy_find(s->policy), &s->exploration, p };
	assert_int_equal(cop_learner_view_as(learner[0], &other, c, &asked), COP_OK);
	compare(&asked, &view[1]);
	again = cop_learner_last_policy(learner[0]);
	assert_memory_equal(again.p, before, again.arms * sizeof *before);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(
		        cop_learner_learn(learner[i], x, played != NULL ? &left : c, &d[i], loss, true), COP_OK);
}

static void free_both(cop_learner *learner[2])
{
	cop_learner_free(learner[0]);
	cop_learner_free(learner[1]);
}

static void run_arms(const char *name, bool sparse, size_t which)
{
	cop_learner_settings s;
	cop_learner *learner[2];
	cop_rng rng;
	fixture_settings(&s, name, sparse);
	learner[0] = fixture_learner(&s);
	other_policy(&s, which);
	learner[1] = fixture_learner(&s);
	cop_rng_init(&rng, FIXTURE_SEED, which);
	for (size_t n = 0; n < EVENTS; n++) {
		static const uint8_t mask[FIXTURE_ARMS] = { 1, 0, 1, 1 };
		fixture_event e;
		fixture_draw(&e, &rng, sparse);
		const cop_candidates c = { .mask = n % 3 == 0 ? mask : NULL };
		cop_decision d = { .arm = n % 3 == 0 ? 2 : (uint32_t)(n % FIXTURE_ARMS), .p = 0.25 };
		const double loss = d.arm == e.best ? 0.0 : 1.0;
		take(learner, &e.row, &c, NULL, &d, &loss);
	}
	free_both(learner);
}

static void test_arms(void **state)
{
	(void)state;
	for (size_t which = 0; which < 5; which++) {
		const bool matching = which == 3;
		run_arms("ensemble", false, which);
		run_arms("ensemble", true, which);
		if (!matching)
			run_arms("dgt", false, which);
		if (!matching)
			run_arms("ridge", false, which);
	}
}

static void run_rank(bool sparse, size_t which)
{
	cop_learner_settings s;
	cop_learner *learner[2];
	cop_rng rng;
	rank_settings(&s, sparse);
	learner[0] = rank_learner(&s);
	other_policy(&s, which);
	learner[1] = rank_learner(&s);
	cop_rng_init(&rng, FIXTURE_SEED, which);
	for (size_t n = 0; n < EVENTS; n++) {
		rank_event e;
		rank_draw(&e, &rng, sparse, 0);
		cop_decision d = { .arm = (uint32_t)(n % e.set.count), .p = 1.0 / (double)e.set.count };
		take(learner, &e.row, &e.set, &e.candidate[d.arm], &d, &e.loss[d.arm]);
	}
	free_both(learner);
}

static void test_rank(void **state)
{
	(void)state;
	for (size_t which = 0; which < 5; which++) {
		if (which == 3)
			continue; /* it believes nothing */
		run_rank(false, which);
		run_rank(true, which);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arms),
		cmocka_unit_test(test_rank),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
