/* Recovery reads recorded configurations on a thread of its own (daemon/durable/forget_work.c) while the loop reads the
 * file's. */
#include <pthread.h>
#include <string.h>

#include "daemon/config/config.h"
#include "support.h"

#define ROUNDS 200

typedef struct reader {
	pthread_t thread;
	const char *text, *name;
	size_t good;
} reader;

static void *parse_again_and_again(void *argument)
{
	reader *r = argument;
	for (int i = 0; i < ROUNDS; i++) {
		cop_config *config = NULL;
		cop_config_report report;
		cop_config_report_init(&report);
		cop_err err = cop_config_parse(r->text, strlen(r->text), "test.conf", NULL, &config, &report);
		r->good += err == COP_OK && strcmp(config->models[0].name, r->name) == 0;
		cop_config_free(config);
		cop_config_report_fini(&report);
	}
	return NULL;
}

static void test_configurations_are_read_on_two_threads_at_a_time(void **state)
{
	(void)state;
	reader readers[] = {
		{ .text = "model one { arms = 2 features = 3 }\nsockets { requests = { \"ipc://r.ipc\" } }\n",
		        .name = "one" },
		{ .text = "# another one\nsockets { requests = { \"ipc://r.ipc\", \"ipc://s.ipc\" } }\n"
		          "model 'two' { arms = 12 features = 30 learner = dgt refit { enabled = false } }\n",
		        .name = "two" },
	};
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&readers[i].thread, NULL, parse_again_and_again, &readers[i]), 0);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(pthread_join(readers[i].thread, NULL), 0);
	assert_int_equal(readers[0].good, ROUNDS);
	assert_int_equal(readers[1].good, ROUNDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_configurations_are_read_on_two_threads_at_a_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
