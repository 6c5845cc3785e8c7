/* The first decisions are even, and then the policy's; the generator moves alike. */
#include "support.h"

#include <string.h>

#include "learn/explorer.h"

enum { ARMS = 4, FIRST = 5 };

static const float losses[ARMS] = { 0.9f, 0.1f, 0.5f, 0.7f };

static void begin(cop_explorer *explorer, cop_learner_settings *s, const char *policy, uint64_t first)
{
	cop_learner_settings_init(s);
	s->arms = ARMS;
	strcpy(s->policy, policy);
	s->exploration = (cop_policy_settings){ .epsilon = 0.1, .gamma = 50.0, .first = first };
	assert_int_equal(cop_explorer_init(explorer, s), COP_OK);
}

static void test_explorer_first_decisions_are_even(void **state)
{
	(void)state;
	static const char *const policies[] = { "epsilon", "squarecb", "fastcb" };
	static const uint8_t mask[ARMS] = { 1, 1, 0, 1 };
	for (size_t i = 0; i < 3; i++) {
		cop_explorer even, usual;
		cop_learner_settings s, t;
		begin(&even, &s, policies[i], FIRST);
		begin(&usual, &t, policies[i], 0);
		for (size_t n = 0; n < 2 * FIRST; n++) {
			cop_decision d = { 0 }, u = { 0 };
			const uint8_t *eligible = n % 2 == 0 ? NULL : mask;
			assert_int_equal(cop_explorer_choose(&even, &s.exploration, losses, eligible, &d), COP_OK);
			assert_int_equal(cop_explorer_choose(&usual, &t.exploration, losses, eligible, &u), COP_OK);
			assert_true(u.p != 1.0 / (eligible == NULL ? 4 : 3));
			assert_true(n < FIRST ? d.p == 1.0 / (eligible == NULL ? 4 : 3) : d.p == u.p && d.arm == u.arm);
			assert_true(eligible == NULL || mask[d.arm] != 0);
			assert_int_equal(d.greedy, d.arm == 1);
		}
		cop_explorer_fini(&even);
		cop_explorer_fini(&usual);
	}
}

static void test_explorer_shares_hold_in_the_first_decisions(void **state)
{
	(void)state;
	cop_explorer explorer;
	cop_learner_settings s;
	cop_policy_view view;
	begin(&explorer, &s, "fastcb", FIRST);
	assert_null(cop_shares_add(&s.exploration.shares.min, "2=0.7"));
	assert_int_equal(cop_explorer_view(&explorer, &s.exploration, losses, NULL, &view), COP_OK);
	assert_true(view.p[2] == 0.7 && view.p[0] == view.p[1]);
	cop_explorer_fini(&explorer);
}

/* Arm 1 is best, and gets nearly all: others are raised, by which option is known from their number. */
static void test_explorer_choices_have_the_limit_that_decided(void **state)
{
	(void)state;
	cop_explorer explorer;
	cop_learner_settings s;
	size_t times[ARMS] = { 0 };
	begin(&explorer, &s, "fastcb", 0);
	s.exploration.gamma = 1e6;
	s.exploration.shares.least_propensity = 0.4;
	assert_null(cop_shares_add(&s.exploration.shares.min, "2=0.3"));
	for (int n = 0; n < 400; n++) {
		cop_decision d = { 0 };
		assert_int_equal(cop_explorer_choose(&explorer, &s.exploration, losses, NULL, &d), COP_OK);
		times[d.arm]++;
		assert_int_equal(d.limit, d.arm == 1   ? COP_SHARES_LIMIT_NONE
		                          : d.arm == 2 ? COP_SHARES_LIMIT_MIN
		                                       : COP_SHARES_LIMIT_LEAST);
	}
	s.exploration.shares = (cop_shares){ .least_propensity = 0.0 };
	assert_null(cop_shares_add(&s.exploration.shares.max, "1=0.25"));
	for (int n = 0; n < 100; n++) {
		cop_decision d = { 0 };
		assert_int_equal(cop_explorer_choose(&explorer, &s.exploration, losses, NULL, &d), COP_OK);
		assert_int_equal(
		        d.limit, COP_SHARES_LIMIT_MAX); /* at its largest, or raised by what that arm gives up */
	}
	s.exploration.shares.max.count = 0;
	for (int n = 0; n < 20; n++) {
		cop_decision d = { 0 };
		assert_int_equal(cop_explorer_choose(&explorer, &s.exploration, losses, NULL, &d), COP_OK);
		assert_int_equal(d.limit, COP_SHARES_LIMIT_NONE);
	}
	for (size_t k = 0; k < ARMS; k++)
		assert_true(times[k] > 10);
	cop_explorer_fini(&explorer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_explorer_first_decisions_are_even),
		cmocka_unit_test(test_explorer_shares_hold_in_the_first_decisions),
		cmocka_unit_test(test_explorer_choices_have_the_limit_that_decided),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
