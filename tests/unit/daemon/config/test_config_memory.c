/* What a configuration says that models take, against what is allocated. */
#include <math.h>
#include <string.h>

#include "daemon/config/config.h"
#include "daemon/models/model_table.h"
#include "support.h"

/* A challenger is one more learner, and explains nothing. */
static void test_refits_take_the_memory_of_one_more_learner(void **state)
{
	(void)state;
	static const char text[] = "sockets { requests = { \"ipc://r.ipc\" } }\n"
	                           "model a { arms = 5 features = 30 explain_keep = 65536 }\n"
	                           "model b { arms = 5 features = 30 explain_keep = 65536 refit { enabled = true } }\n";
	cop_config *config;
	cop_config_report report;
	cop_learner *learner;
	cop_config_report_init(&report);
	assert_int_equal(cop_config_parse(text, strlen(text), "test.conf", NULL, &config, &report), COP_OK);
	cop_config_report_fini(&report);
	cop_test_alloc_fail(0, 0);
	assert_int_equal(cop_learner_new(&config->models[1].set.learner, &learner, NULL), COP_OK);
	double one = (double)cop_test_alloc_bytes();
	double more = (double)(cop_config_model_bytes(&config->models[1]) - cop_config_model_bytes(&config->models[0]));
	assert_true(fabs(more - one) <= 0.05 * one + 65536.0);
	cop_learner_free(learner);
	cop_config_free(config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refits_take_the_memory_of_one_more_learner),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
