/* A model's section of a printed configuration: what stands in it, what does not, and what is none of this version. */
#include "tools/whatif/whatif_config.h"
#include "support.h"

#include <string.h>

static const char text[] = "state_dir = \"/tmp/model \\\"m\\\" {\"\n"
                           "model \"other\" {\n\tlearner = \"dgt\"\n\tfeatures = 9\n\tarms = 4\n}\n"
                           "model \"m\" {\n"
                           "\tlearner = \"ensemble\"\n\tfeatures = 3\n\tarms = 5\n\tpolicy = \"epsilon\"\n"
                           "\tepsilon = 0.25\n\tshare_min = { \"1=0.1\", \"2=0.05\" }\n"
                           "\texperts = { \"linear\", \"trees\" }\n\treward_window = \"10min\"\n"
                           "\tdefault_loss = \"none\"\n\tloss_range = { -1, 4.5 }\n\tpending_bytes = \"1GiB\"\n"
                           "\tapprentice = false\n\tunheard = \"wait\"\n\texplain_keep = 256\n"
                           "\trefit {\n\t\tenabled = true\n\t\theight = 6\n\t\tpromote = \"bound\"\n"
                           "\t\tmargin = 0.02\n\t\trisk = 0.01\n\t}\n}\n"
                           "model \"v\" {\n\tlearner = \"value\"\n\tfeatures = 2\n\tvalue_range = { 2, 5 }\n"
                           "\tfeedback = \"bins\"\n\tstart_from = \"v.model\"\n}\n"
                           "model \"wrong\" {\n\tlearner = \"dgt\"\n\tcolour = 3\n}\n"
                           "model \"high\" {\n\tlearner = \"dgt\"\n\tepsilon = 2\n}\n"
                           "model \"cut\" {\n\tlearner = \"dgt\"\n";

static cop_err read_section(const char *name, cop_whatif_config *out)
{
	return cop_whatif_config_read(text, strlen(text), name, strlen(name), out);
}

static void test_section_is_read(void **state)
{
	(void)state;
	cop_whatif_config c;
	assert_int_equal(read_section("m", &c), COP_OK);
	const cop_learner_settings *l = &c.set.learner;
	assert_string_equal(l->learner, "ensemble");
	assert_string_equal(l->policy, "epsilon");
	assert_true(l->features == 3 && l->arms == 5 && l->exploration.epsilon == 0.25 && l->experts == 3);
	assert_true(l->exploration.shares.min.count == 2 && l->exploration.shares.min.arm[1] == 2);
	assert_true(c.set.reward_window == 600.0 && !c.set.has_default_loss);
	assert_true(c.set.loss_low == -1.0 && c.set.loss_high == 4.5 && c.set.explain_keep == 256);
	assert_true(c.rule.margin == 0.02 && c.rule.risk == 0.01 && c.rule.estimator == COP_PROMOTION_TEST_DR);
	assert_false(c.starts_from);
	assert_int_equal(read_section("other", &c), COP_OK);
	assert_true(c.set.learner.features == 9 && c.set.learner.arms == 4);
}

static void test_what_is_not_printed_has_its_default(void **state)
{
	(void)state;
	cop_whatif_config c;
	assert_int_equal(read_section("v", &c), COP_OK);
	assert_true(c.starts_from && !c.has_delta && c.set.value_low == 2.0 && c.set.value_high == 5.0);
	cop_model_settings one = { .loss_low = 0.0 };
	cop_model_settings_init(&one);
	strcpy(one.learner.learner, "value");
	cop_model_options_fill(&one);
	assert_true(c.set.learner.delta == one.learner.delta * 3.0);
}

static void test_what_is_none_is_refused(void **state)
{
	(void)state;
	cop_whatif_config c;
	assert_int_equal(read_section("none", &c), COP_ENOTFOUND);
	assert_int_equal(read_section("mm", &c), COP_ENOTFOUND);
	assert_int_equal(read_section("cut", &c), COP_ENOTFOUND);
	assert_int_equal(read_section("wrong", &c), COP_EFORMAT);
	assert_int_equal(read_section("high", &c), COP_EFORMAT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_section_is_read),
		cmocka_unit_test(test_what_is_not_printed_has_its_default),
		cmocka_unit_test(test_what_is_none_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
