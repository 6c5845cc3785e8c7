/* Refits and their files with every allocation and every call to the operating system failing in turn (support_fail.h).
 */
#include "support.h"

#include "refit/refit_file.h"
#include "refit_fixture.h"
#include "store/checkpoint_file.h"
#include "support_fail.h"

static cop_refit_settings settings;
static cop_refit_file file;

static cop_err run(void *context, cop_diag *diag)
{
	cop_refit_report report;
	cop_trees *trees;
	(void)context;
	cop_err err = cop_refit_run(&settings, folder, NULL, NULL, NULL, &report, &trees, diag);
	assert_int_equal(trees != NULL, err == COP_OK);
	cop_trees_free(trees);
	return err;
}

/* What serves says the same of every arm. */
static cop_err say_half(void *context, const cop_row *x, size_t arms, float *out)
{
	(void)context;
	(void)x;
	for (size_t k = 0; k < arms; k++)
		out[k] = 0.5f;
	return COP_OK;
}

static cop_err run_beside(void *context, cop_diag *diag)
{
	const cop_refit_estimate serving = { say_half, NULL };
	cop_refit_report report;
	cop_trees *trees;
	(void)context;
	cop_err err = cop_refit_run(&settings, folder, &serving, NULL, NULL, &report, &trees, diag);
	cop_trees_free(trees);
	return err;
}

static cop_err write_file(void *context, cop_diag *diag)
{
	(void)context;
	return cop_refit_file_write(folder, "m.refit", 42, &file, diag);
}

static cop_err read_file(void *context, cop_diag *diag)
{
	char path[256], name[COP_CHECKPOINT_NAME_ROOM];
	cop_refit_file read;
	(void)context;
	cop_checkpoint_name("m.refit", 42, name);
	(void)snprintf(path, sizeof path, "%s/%.180s", folder, name);
	cop_err err = cop_refit_file_read(path, &read, diag);
	assert_int_equal(read.trees != NULL, err == COP_OK);
	cop_refit_file_fini(&read);
	return err;
}

#define LIST_AND_STAT (COP_TEST_IO_LIST | COP_TEST_IO_STAT)
#define OPEN_AND_READ (COP_TEST_IO_OPEN | COP_TEST_IO_READ)

static const cop_test_attempt refit = { "refit", NULL, run, NULL, .calls = LIST_AND_STAT, .tolerated = OPEN_AND_READ,
	.allocations = 40, .failures = 10 };

static const cop_test_attempt beside = { "refit beside what serves", NULL, run_beside, NULL, .calls = LIST_AND_STAT,
	.allocations = 40, .failures = 10 };

static void test_refits_of_each_method_under_every_failure(void **state)
{
	(void)state;
	world w = plain_world;
	w.events = 60;
	settings = quick();
	settings.least = 5;
	settings.iterations = 1;
	settings.rounds = 1;
	settings.height = 1;
	settings.trees = 2;
	settings.alpha = 0.1;
	for (int sparse = 0; sparse < 2; sparse++) {
		w.sparse = sparse != 0;
		empty_folder();
		(void)write_arms(&w);
		for (unsigned method = 0; method < COP_REFIT_METHODS; method++) {
			settings.method = (cop_refit_method)method;
			cop_test_fail_each(&refit, NULL);
		}
		settings.method = COP_REFIT_TAO;
		cop_test_fail_each(&beside, NULL);
	}
}

static void test_refit_files_under_every_failure(void **state)
{
	(void)state;
	const cop_test_attempt writing = { "write", NULL, write_file, NULL,
		.calls = COP_TEST_IO_OPEN | COP_TEST_IO_WRITE | COP_TEST_IO_SYNC | COP_TEST_IO_RENAME, .allocations = 2,
		.failures = 7 };
	const cop_test_attempt reading = { "read", NULL, read_file, NULL, .calls = OPEN_AND_READ | COP_TEST_IO_STAT,
		.allocations = 5, .failures = 4 };
	world w = plain_world;
	w.events = 200;
	(void)write_arms(&w);
	file = (cop_refit_file){ .settings = quick() };
	file.settings.height = 2;
	file.trees = refit_with(&file.settings, NULL, NULL, &file.report);
	cop_test_fail_each(&writing, NULL);
	cop_test_fail_each(&reading, NULL);
	cop_trees_free(file.trees);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_refits_of_each_method_under_every_failure),
		TEST(test_refit_files_under_every_failure),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
