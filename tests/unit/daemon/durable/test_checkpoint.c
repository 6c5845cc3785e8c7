/* What a series of checkpoints needs of the journal, under any number of files kept; begun, taken in and passed over.
 */
#include "daemon/durable/checkpoint.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "store/checkpoint_file.h"
#include "store/state_dir.h"
#include "support.h"

static char folder[64];
static cop_config *config;
static cop_served_set models;

static int make_all(void **state)
{
	char text[512];
	cop_config_report report;
	(void)state;
	(void)snprintf(folder, sizeof folder, "/tmp/test_checkpoint_XXXXXX");
	if (mkdtemp(folder) == NULL)
		return 1;
	(void)snprintf(text, sizeof text,
	        "sockets { requests = { \"ipc://%s/r\" } }\ncheckpoint { keep = 3 }\n"
	        "model \"m\" { learner = dgt arms = 2 features = 2 height = 1 }\n",
	        folder);
	cop_config_report_init(&report);
	cop_err err = cop_config_parse(text, strlen(text), "text", NULL, &config, &report);
	cop_config_report_fini(&report);
	return err != COP_OK || cop_served_init(&models, config, NULL) != COP_OK;
}

static int drop_all(void **state)
{
	char command[96];
	(void)state;
	cop_served_fini(&models);
	cop_config_free(config);
	config = NULL;
	(void)snprintf(command, sizeof command, "rm -rf %s", folder);
	return system(command);
}

static void write_one(cop_checkpoint *checkpoint, uint64_t journal_next, size_t keep)
{
	const cop_checkpoint_mark mark = { .time = 1.0, .journal_next = journal_next };
	assert_int_equal(cop_checkpoint_start(checkpoint, &models, &mark, NULL), COP_OK);
	assert_int_equal(cop_checkpoint_start(checkpoint, &models, &mark, NULL), COP_EEXIST);
	assert_int_equal(cop_checkpoint_finish(checkpoint, keep, true, NULL, NULL), COP_OK);
	assert_int_equal(cop_checkpoint_finish(checkpoint, keep, true, NULL, NULL), COP_EEND);
}

static size_t files(void)
{
	uint64_t *all = NULL;
	size_t count = 0;
	assert_int_equal(cop_checkpoint_list(folder, COP_STATE_DIR_CHECKPOINT, &all, &count, NULL), COP_OK);
	cop_mem_free(all);
	return count;
}

static void test_journal_is_needed_from_the_oldest_file_kept(void **state)
{
	(void)state;
	for (size_t keep = 1; keep <= 4; keep++) {
		cop_checkpoint checkpoint;
		cop_checkpoint_init(&checkpoint, folder);
		checkpoint.highest = 100 * keep;
		for (uint64_t n = 1; n <= 9; n++) {
			write_one(&checkpoint, 10 * n, keep);
			assert_int_equal(checkpoint.sequence, 100 * keep + n);
			assert_int_equal(checkpoint.mark.journal_next, 10 * n);
			assert_int_equal(checkpoint.written, n);
			uint64_t oldest = n < keep ? 0 : 10 * (n - keep + 1);
			assert_int_equal(cop_checkpoint_needs(&checkpoint, keep), oldest);
			for (size_t i = 0; i < checkpoint.kept_count; i++)
				assert_int_equal(checkpoint.kept[i], 10 * (n - i));
		}
		assert_int_equal(files(), keep);
		write_one(&checkpoint, 200, keep + 2); /* more are kept from here on */
		assert_int_equal(cop_checkpoint_needs(&checkpoint, keep + 2), 0);
		write_one(&checkpoint, 210, keep + 2);
		assert_int_equal(cop_checkpoint_needs(&checkpoint, keep + 2), 10 * (9 - keep + 1));
		write_one(&checkpoint, 220, 1);
		assert_int_equal(cop_checkpoint_needs(&checkpoint, 1), 220);
		assert_int_equal(files(), 1);
		cop_checkpoint_fini(&checkpoint);
	}
}

static void spoil(uint64_t sequence)
{
	char path[256], name[COP_CHECKPOINT_NAME_ROOM];
	cop_checkpoint_name(COP_STATE_DIR_CHECKPOINT, sequence, name);
	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	int file = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	assert_true(file >= 0);
	(void)close(file);
}

static void test_restored_one_knows_what_the_files_before_it_need(void **state)
{
	(void)state;
	cop_checkpoint checkpoint;
	cop_checkpoint_init(&checkpoint, folder);
	for (uint64_t n = 1; n <= 3; n++)
		write_one(&checkpoint, 10 * n, 3);
	cop_checkpoint_fini(&checkpoint);
	cop_checkpoint_init(&checkpoint, folder);
	assert_int_equal(cop_checkpoint_restore(&checkpoint, &models, config, NULL, NULL, NULL), COP_OK);
	assert_true(checkpoint.sequence == 3 && checkpoint.highest == 3 && checkpoint.mark.journal_next == 30);
	assert_int_equal(cop_checkpoint_needs(&checkpoint, 3), 10);
	cop_checkpoint_fini(&checkpoint);
	spoil(3);
	cop_checkpoint_init(&checkpoint, folder);
	assert_int_equal(cop_checkpoint_restore(&checkpoint, &models, config, NULL, NULL, NULL), COP_OK);
	assert_true(checkpoint.sequence == 2 && checkpoint.highest == 3 && checkpoint.mark.journal_next == 20);
	write_one(&checkpoint, 40, 3);
	assert_int_equal(checkpoint.sequence, 4);
	assert_int_equal(cop_checkpoint_needs(&checkpoint, 3), 10);
	cop_checkpoint_fini(&checkpoint);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_journal_is_needed_from_the_oldest_file_kept, make_all, drop_all),
		cmocka_unit_test_setup_teardown(
		        test_restored_one_knows_what_the_files_before_it_need, make_all, drop_all),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
