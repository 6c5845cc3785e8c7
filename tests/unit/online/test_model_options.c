/* The table is whole, and defaults are what a new model has. */
#include "support.h"

#include <stdio.h>

#include "online/model_options.h"

static cop_model_settings settings_of(const char *learner, bool sparse)
{
	cop_model_settings s;
	cop_model_settings_init(&s);
	(void)snprintf(s.learner.learner, sizeof s.learner.learner, "%s", learner);
	s.learner.features = sparse ? 0 : 3;
	if (strcmp(learner, "rank") == 0)
		s.learner.candidate_features = sparse ? 0 : 2;
	else if (strstr(learner, "value") == NULL)
		s.learner.arms = 2;
	return s;
}

static void test_model_options_rows_are_whole(void **state)
{
	(void)state;
	for (size_t i = 0; cop_model_options[i].name != NULL; i++) {
		const cop_setting *o = &cop_model_options[i];
		assert_ptr_equal(cop_model_options_find(o->name), o);
		assert_true(o->learners != 0 && o->text != NULL);
		if (o->kind != COP_SETTING_OTHER)
			assert_true(o->offset + cop_setting_size(o) <= sizeof(cop_model_settings));
	}
	assert_null(cop_model_options_find("heigth"));
}

static void test_model_options_fill_gives_what_a_model_has(void **state)
{
	(void)state;
	for (size_t i = 0; cop_model_options_learners[i] != NULL; i++)
		for (int sparse = 0; sparse < (1u << i == COP_SETTING_OF_RIDGE ? 1 : 2); sparse++) {
			cop_model_settings s = settings_of(cop_model_options_learners[i], sparse == 1);
			cop_model *model;
			cop_diag diag = { .message = "" };
			assert_int_equal(cop_model_options_learner(&s), 1u << i);
			if (cop_model_new(&s, &model, &diag) != COP_OK)
				fail_msg("%s", diag.message);
			cop_model_options_fill(&s);
			for (size_t j = 0; cop_model_options[j].name != NULL; j++) {
				const cop_setting *o = &cop_model_options[j];
				if (o->kind != COP_SETTING_OTHER && cop_model_options_has(&s, o) &&
				        !cop_setting_equal(o, &s, cop_model_get_settings(model)))
					fail_msg("%s: %s", s.learner.learner, o->name);
			}
			cop_model_free(model);
		}
}

static void test_model_options_go_with_learner_and_policy(void **state)
{
	(void)state;
	cop_model_settings s = settings_of("dgt", false);
	cop_model_options_fill(&s);
	assert_true(cop_model_options_has(&s, cop_model_options_find("epsilon")));
	assert_false(cop_model_options_has(&s, cop_model_options_find("gamma")));
	assert_false(cop_model_options_has(&s, cop_model_options_find("trees")));
	s = settings_of("value", false);
	cop_model_options_fill(&s);
	assert_false(cop_model_options_has(&s, cop_model_options_find("delta")));
	s.learner.feedback = COP_VALUE_TWO;
	assert_true(cop_model_options_has(&s, cop_model_options_find("delta")));
}

static void test_model_options_default_in_words(void **state)
{
	(void)state;
	static const struct {
		const char *option;
		unsigned learners;
		const char *expected;
	} cases[] = {
		{ "learner", COP_SETTING_OF_ENSEMBLE, "ensemble" },
		{ "policy", COP_SETTING_OF_ALL, "matching; dgt epsilon; rank fastcb; ridge fastcb" },
		{ "epsilon", COP_SETTING_OF_ALL, "0.1; dgt 0.3" },
		{ "gamma", COP_SETTING_OF_ALL, "60, squarecb 100; dgt 30; rank 400, squarecb 60" },
		{ "least_propensity", COP_SETTING_OF_ALL, "0.004, policy epsilon 0; dgt 0" },
		{ "trees", COP_SETTING_OF_ALL, "4, sparse 8; value 16; rank 16, sparse 8" },
		{ "trees", COP_SETTING_OF_RANK, "16, sparse 8" },
		{ "experts", COP_SETTING_OF_ALL, "all that can help" },
		{ "share_min", COP_SETTING_OF_ALL, "" },
		{ "trees", COP_SETTING_OF_DGT, "" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cop_bytes out;
		cop_bytes_init(&out);
		cop_model_options_default(cop_model_options_find(cases[i].option), cases[i].learners, &out);
		cop_bytes_put_u8(&out, 0);
		assert_string_equal((const char *)out.data, cases[i].expected);
		cop_bytes_fini(&out);
	}
}

static void test_options_of_the_daemon_are_silent_where_they_are_quiet(void **state)
{
	(void)state;
	cop_model_settings settings;
	size_t others = 0;
	cop_model_settings_init(&settings);
	for (const cop_setting *o = cop_model_options; o->name != NULL; o++) {
		if (o->kind < COP_SETTING_OTHER)
			continue;
		assert_int_equal(cop_setting_is_silent(o, &settings), (o->flags & COP_SETTING_IS_QUIET) != 0);
		others++;
	}
	assert_true(others >= 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_options_of_the_daemon_are_silent_where_they_are_quiet),
		cmocka_unit_test(test_model_options_rows_are_whole),
		cmocka_unit_test(test_model_options_fill_gives_what_a_model_has),
		cmocka_unit_test(test_model_options_go_with_learner_and_policy),
		cmocka_unit_test(test_model_options_default_in_words),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
