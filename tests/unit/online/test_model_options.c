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
	else if (strcmp(learner, "value") != 0)
		s.learner.arms = 2;
	return s;
}

static void test_model_options_rows_are_whole(void **state)
{
	(void)state;
	for (size_t i = 0; cop_model_options[i].name != NULL; i++) {
		const cop_option *o = &cop_model_options[i];
		assert_ptr_equal(cop_model_options_find(o->name), o);
		assert_true(o->learners != 0 && o->text != NULL);
		if (o->kind != COP_OPTION_OTHER)
			assert_true(o->offset + cop_option_size(o) <= sizeof(cop_model_settings));
	}
	assert_null(cop_model_options_find("heigth"));
}

static void test_model_options_fill_gives_what_a_model_has(void **state)
{
	(void)state;
	for (size_t i = 0; cop_model_options_learners[i] != NULL; i++)
		for (int sparse = 0; sparse < 2; sparse++) {
			cop_model_settings s = settings_of(cop_model_options_learners[i], sparse == 1);
			cop_model *model;
			cop_diag diag = { .message = "" };
			assert_int_equal(cop_model_options_learner(&s), 1u << i);
			if (cop_model_new(&s, &model, &diag) != COP_OK)
				fail_msg("%s", diag.message);
			cop_model_options_fill(&s);
			for (size_t j = 0; cop_model_options[j].name != NULL; j++) {
				const cop_option *o = &cop_model_options[j];
				if (o->kind != COP_OPTION_OTHER && cop_model_options_has(&s, o) &&
				        !cop_option_equal(o, &s, cop_model_get_settings(model)))
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
	char names[48];
	cop_model_options_name_learners(COP_OPTION_OF_POLICY, " or ", names, sizeof names);
	assert_string_equal(names, "ensemble or dgt or rank");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model_options_rows_are_whole),
		cmocka_unit_test(test_model_options_fill_gives_what_a_model_has),
		cmocka_unit_test(test_model_options_go_with_learner_and_policy),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
