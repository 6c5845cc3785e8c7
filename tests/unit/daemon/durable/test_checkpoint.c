/* What a series of checkpoints needs of the journal, under any number of files kept; begun, taken in and passed over;
 * what is counted and logged of it. */
#include "daemon/durable/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "store/checkpoint_file.h"
#include "store/section_file.h"
#include "store/state_dir.h"
#include "support.h"
#include "support_io.h"

/* Threads and clocks go through here (CMake). While `held`, a thread does not begin until let_run. */
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument);
int __real_pthread_join(pthread_t thread, void **result);
int __wrap_pthread_join(pthread_t thread, void **result);
int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

static bool no_threads, held, stopped; /* stopped: the clocks stand */
static unsigned joined;                /* threads that were held */
static time_t real_now, monotonic_now; /* while they do */
static void *(*held_run)(void *);
static void *held_argument;

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument)
{
	if (no_threads)
		return EAGAIN;
	if (!held)
		return __real_pthread_create(thread, attributes, run, argument);
	held_run = run;
	held_argument = argument;
	return 0;
}

int __wrap_pthread_join(pthread_t thread, void **result)
{
	if (!held)
		return __real_pthread_join(thread, result);
	joined++;
	return 0;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	if (!stopped)
		return __real_clock_gettime(clock, now);
	*now = (struct timespec){ .tv_sec = clock == CLOCK_REALTIME ? real_now : monotonic_now };
	return 0;
}

static void let_run(void) { (void)held_run(held_argument); }

static char lines[4096]; /* that were logged since log_open, each with its end */

static void note_line(void *context, cop_log_level level, const char *line)
{
	size_t used = strlen(lines);
	(void)context;
	(void)snprintf(lines + used, sizeof lines - used, "%d %s\n", (int)level, line);
}

static cop_log *log_open(void)
{
	const cop_log_settings logging = { .level = COP_LOG_DEBUG, .sink = note_line };
	cop_log *log;
	lines[0] = '\0';
	assert_int_equal(cop_log_open(&logging, &log), COP_OK);
	return log;
}

static void expect_lines(cop_log *log, const char *expected)
{
	assert_int_equal(cop_log_close(log, 30000), COP_OK);
	assert_string_equal(lines, expected);
}

static char folder[64];
static cop_config *config;
static cop_model_table models;

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
	return err != COP_OK || cop_model_table_init(&models, config, NULL) != COP_OK;
}

static int drop_all(void **state)
{
	char command[96];
	(void)state;
	cop_model_table_fini(&models);
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
	assert_int_equal(
	        cop_checkpoint_finish(checkpoint, &(cop_checkpoint_keeping){ .newest = keep }, true, NULL, NULL),
	        COP_OK);
	assert_int_equal(
	        cop_checkpoint_finish(checkpoint, &(cop_checkpoint_keeping){ .newest = keep }, true, NULL, NULL),
	        COP_EEND);
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
			assert_int_equal(cop_checkpoint_kept_needs(&checkpoint.kept, keep), oldest);
			for (size_t i = 0; i < checkpoint.kept.count; i++)
				assert_int_equal(checkpoint.kept.next[i], 10 * (n - i));
		}
		assert_int_equal(files(), keep);
		write_one(&checkpoint, 200, keep + 2); /* more are kept from here on */
		assert_int_equal(cop_checkpoint_kept_needs(&checkpoint.kept, keep + 2), 0);
		write_one(&checkpoint, 210, keep + 2);
		assert_int_equal(cop_checkpoint_kept_needs(&checkpoint.kept, keep + 2), 10 * (9 - keep + 1));
		write_one(&checkpoint, 220, 1);
		assert_int_equal(cop_checkpoint_kept_needs(&checkpoint.kept, 1), 220);
		assert_int_equal(files(), 1);
		cop_checkpoint_fini(&checkpoint);
	}
}

static const char *path_of(uint64_t sequence)
{
	static char path[256];
	char name[COP_CHECKPOINT_NAME_ROOM];
	cop_checkpoint_name(COP_STATE_DIR_CHECKPOINT, sequence, name);
	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

static void mark_not_durable(uint64_t sequence)
{
	int file = open(path_of(sequence), O_WRONLY | O_TRUNC | O_CLOEXEC);
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
	assert_int_equal(cop_checkpoint_kept_needs(&checkpoint.kept, 3), 10);
	cop_checkpoint_fini(&checkpoint);
	mark_not_durable(3);
	cop_checkpoint_init(&checkpoint, folder);
	assert_int_equal(cop_checkpoint_restore(&checkpoint, &models, config, NULL, NULL, NULL), COP_OK);
	assert_true(checkpoint.sequence == 2 && checkpoint.highest == 3 && checkpoint.mark.journal_next == 20);
	write_one(&checkpoint, 40, 3);
	assert_int_equal(checkpoint.sequence, 4);
	assert_int_equal(cop_checkpoint_kept_needs(&checkpoint.kept, 3), 10);
	cop_checkpoint_fini(&checkpoint);
}

static void test_written_one_is_measured_and_logged(void **state)
{
	(void)state;
	const cop_checkpoint_mark mark = { .time = 1.5, .journal_next = 7, .journal_base = 5 };
	cop_checkpoint checkpoint;
	cop_log *log = log_open();
	char expected[200];
	cop_checkpoint_init(&checkpoint, folder);
	held = stopped = true;
	monotonic_now = 1000;
	assert_int_equal(cop_checkpoint_start(&checkpoint, &models, &mark, log), COP_OK);
	assert_int_equal(cop_checkpoint_finish(&checkpoint, &(cop_checkpoint_keeping){ .newest = 3 }, false, log, NULL),
	        COP_EEND); /* not written yet */
	assert_true(checkpoint.job.started && checkpoint.written == 0 && joined == 0);
	let_run();
	monotonic_now = 1003;
	real_now = 5000;
	assert_int_equal(
	        cop_checkpoint_finish(&checkpoint, &(cop_checkpoint_keeping){ .newest = 3 }, false, log, NULL), COP_OK);
	stopped = false;
	assert_int_equal(joined, 1);
	assert_true(checkpoint.seconds == 3.0 && checkpoint.at == 1003.0 && checkpoint.time == 5000.0);
	assert_int_equal(checkpoint.durations.sum, 3000000000u);
	assert_true(checkpoint.bytes > 0 && checkpoint.bytes == checkpoint.body.length);
	assert_true(checkpoint.written == 1 && checkpoint.failed == 0);
	(void)snprintf(expected, sizeof expected, "%d event=checkpoint sequence=1 bytes=%u seconds=3.000\n",
	        COP_LOG_INFO, (unsigned)checkpoint.bytes);
	uint64_t bytes = checkpoint.bytes;
	assert_int_equal(cop_checkpoint_start(&checkpoint, &models, &mark, NULL), COP_OK); /* nor is the next one */
	assert_int_equal(
	        cop_checkpoint_finish(&checkpoint, &(cop_checkpoint_keeping){ .newest = 3 }, false, NULL, NULL),
	        COP_EEND);
	let_run();
	assert_int_equal(
	        cop_checkpoint_finish(&checkpoint, &(cop_checkpoint_keeping){ .newest = 3 }, false, NULL, NULL),
	        COP_OK);
	held = false;
	expect_lines(log, expected);
	cop_checkpoint_fini(&checkpoint);
	cop_checkpoint_init(&checkpoint, folder);
	log = log_open();
	assert_int_equal(cop_checkpoint_restore(&checkpoint, &models, config, NULL, log, NULL), COP_OK);
	assert_true(
	        checkpoint.mark.time == 1.5 && checkpoint.mark.journal_next == 7 && checkpoint.mark.journal_base == 5);
	assert_int_equal(checkpoint.bytes, bytes);
	(void)snprintf(
	        expected, sizeof expected, "%d event=restored sequence=2 bytes=%u\n", COP_LOG_NOTICE, (unsigned)bytes);
	expect_lines(log, expected);
	cop_checkpoint_fini(&checkpoint);
}

/* Without memory for the list everything is needed. */
static void test_list_of_what_is_needed_may_find_no_memory(void **state)
{
	(void)state;
	const cop_checkpoint_mark mark = { .journal_next = 7 };
	cop_checkpoint checkpoint;
	cop_checkpoint_init(&checkpoint, folder);
	assert_int_equal(cop_checkpoint_start(&checkpoint, &models, &mark, NULL), COP_OK);
	while (!atomic_load(&checkpoint.job.done)) /* its thread is over, or as good as */
		(void)sched_yield();
	cop_test_alloc_fail(1, 1);
	cop_err err = cop_checkpoint_finish(&checkpoint, &(cop_checkpoint_keeping){ .newest = 1 }, true, NULL, NULL);
	cop_test_alloc_fail(0, 0);
	assert_int_equal(err, COP_OK);
	assert_int_equal(checkpoint.sequence, 1);
	assert_int_equal(cop_checkpoint_kept_needs(&checkpoint.kept, 1), 0);
	write_one(&checkpoint, 9, 1);
	assert_int_equal(cop_checkpoint_kept_needs(&checkpoint.kept, 1), 9);
	cop_checkpoint_fini(&checkpoint);
}

static void test_one_that_is_written_at_the_end_is_waited_for(void **state)
{
	(void)state;
	const cop_checkpoint_mark mark = { .journal_next = 1 };
	cop_checkpoint checkpoint;
	cop_checkpoint_init(&checkpoint, folder);
	joined = 0;
	cop_checkpoint_fini(&checkpoint); /* there is none */
	cop_checkpoint_init(&checkpoint, folder);
	held = true;
	assert_int_equal(cop_checkpoint_start(&checkpoint, &models, &mark, NULL), COP_OK);
	let_run();
	cop_checkpoint_fini(&checkpoint);
	held = false;
	assert_int_equal(joined, 1);
	assert_int_equal(files(), 1);
}

static void test_one_that_cannot_be_written_is_counted_and_logged(void **state)
{
	(void)state;
	const cop_checkpoint_mark mark = { .journal_next = 1 };
	cop_checkpoint checkpoint;
	cop_diag diag = { .message = "" };
	cop_log *log = log_open();
	char expected[1024], nowhere[96];
	(void)snprintf(nowhere, sizeof nowhere, "%s/nowhere", folder);
	cop_checkpoint_init(&checkpoint, nowhere);
	no_threads = true;
	assert_int_equal(cop_checkpoint_start(&checkpoint, &models, &mark, log), COP_EIO);
	no_threads = false;
	assert_true(!checkpoint.job.started && checkpoint.failed == 1);
	assert_int_equal(cop_checkpoint_start(&checkpoint, &models, &mark, log), COP_OK);
	assert_int_equal(cop_checkpoint_finish(&checkpoint, &(cop_checkpoint_keeping){ .newest = 3 }, true, log, &diag),
	        COP_ENOTFOUND);
	assert_true(diag.message[0] != '\0');
	assert_true(!checkpoint.job.started && checkpoint.failed == 2 && checkpoint.written == 0);
	assert_true(checkpoint.sequence == 0 && checkpoint.highest == 0 && checkpoint.kept.count == 0);
	assert_int_equal(mkdir(nowhere, 0700), 0);
	assert_int_equal(cop_checkpoint_start(&checkpoint, &models, &mark, NULL), COP_OK);
	assert_true(checkpoint.why.message[0] == '\0' && checkpoint.why.source[0] == '\0');
	assert_int_equal(
	        cop_checkpoint_finish(&checkpoint, &(cop_checkpoint_keeping){ .newest = 3 }, true, NULL, &diag),
	        COP_OK);
	assert_true(checkpoint.sequence == 1 && checkpoint.failed == 2 && checkpoint.written == 1);
	(void)snprintf(expected, sizeof expected,
	        "%d event=checkpoint_failed reason=\"no thread to write it\"\n%d event=checkpoint_failed "
	        "reason=\"%s\"\n",
	        COP_LOG_ERROR, COP_LOG_ERROR, diag.message);
	expect_lines(log, expected);
	cop_checkpoint_fini(&checkpoint);
}

static void test_old_one_that_cannot_be_removed_is_logged(void **state)
{
	(void)state;
	cop_checkpoint checkpoint;
	char expected[100];
	const cop_checkpoint_mark mark = { .journal_next = 1 };
	cop_log *log = log_open();
	cop_checkpoint_init(&checkpoint, folder);
	write_one(&checkpoint, 10, 1);
	assert_int_equal(cop_checkpoint_start(&checkpoint, &models, &mark, log), COP_OK);
	cop_test_io_fail(COP_TEST_IO_REMOVE, 1, false, EIO);
	assert_int_equal(
	        cop_checkpoint_finish(&checkpoint, &(cop_checkpoint_keeping){ .newest = 1 }, true, log, NULL), COP_OK);
	assert_true(cop_test_io_failed());
	cop_test_io_fail(0, 0, false, 0);
	assert_true(checkpoint.written == 2 && checkpoint.failed == 0);
	assert_int_equal(files(), 2);
	assert_int_equal(cop_log_close(log, 30000), COP_OK);
	(void)snprintf(expected, sizeof expected, "\n%d event=checkpoint_prune_failed reason=\"", COP_LOG_WARNING);
	assert_non_null(strstr(lines, expected));
	assert_non_null(strstr(lines, strerror(EIO)));
	cop_checkpoint_fini(&checkpoint);
}

static uint32_t section_version = 1;

/* A file with as many bytes of the daemon's section as that (0: none), of a mark of 2.5, 11 and 9, and the models. */
static void write_body(uint64_t sequence, size_t bytes)
{
	cop_bytes body, mark;
	cop_bytes_init(&body);
	cop_bytes_init(&mark);
	cop_bytes_put_f64(&mark, 2.5);
	cop_bytes_put_u64(&mark, 11);
	cop_bytes_put_u64(&mark, 9);
	size_t file = cop_section_file_begin(&body);
	if (bytes > 0) {
		size_t section = cop_section_file_begin_section(&body, "daemon", section_version);
		cop_bytes_put(&body, mark.data, bytes);
		cop_section_file_end_section(&body, section);
	}
	cop_model_table_save(&models, &body);
	cop_section_file_end(&body, file);
	assert_int_equal(body.err, COP_OK);
	assert_int_equal(
	        cop_checkpoint_write(folder, COP_STATE_DIR_CHECKPOINT, sequence, body.data, body.length, NULL), COP_OK);
	cop_bytes_fini(&body);
	cop_bytes_fini(&mark);
}

static void test_marks_are_read_where_there_are_some(void **state)
{
	(void)state;
	static const struct {
		size_t bytes;
		uint64_t next, base;
	} cases[] = { { 0, 0, 0 }, { 24, 11, 9 } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cop_checkpoint checkpoint;
		write_body(i + 1, cases[i].bytes);
		cop_checkpoint_init(&checkpoint, folder);
		assert_int_equal(cop_checkpoint_restore(&checkpoint, &models, config, NULL, NULL, NULL), COP_OK);
		assert_true(checkpoint.sequence == i + 1 && checkpoint.highest == i + 1);
		assert_true(checkpoint.mark.time == (i == 0 ? 0.0 : 2.5));
		assert_int_equal(checkpoint.mark.journal_next, cases[i].next);
		assert_int_equal(checkpoint.mark.journal_base, cases[i].base);
		cop_checkpoint_fini(&checkpoint);
	}
}

static void test_folder_that_is_not_there_is_an_error(void **state)
{
	(void)state;
	cop_checkpoint checkpoint;
	cop_diag diag = { .message = "" };
	cop_checkpoint_init(&checkpoint, "/nonexistent/state");
	assert_int_equal(cop_checkpoint_restore(&checkpoint, &models, config, NULL, NULL, &diag), COP_ENOTFOUND);
	assert_true(diag.message[0] != '\0');
	assert_true(checkpoint.sequence == 0 && checkpoint.highest == 0);
	cop_checkpoint_fini(&checkpoint);
	cop_checkpoint_init(&checkpoint, folder); /* nor are there files in it */
	cop_log *log = log_open();
	assert_int_equal(cop_checkpoint_restore(&checkpoint, &models, config, NULL, log, &diag), COP_OK);
	expect_lines(log, "");
	assert_true(checkpoint.sequence == 0 && checkpoint.highest == 0);
	cop_checkpoint_fini(&checkpoint);
}

/* All of them: models begin anew, behind the highest number. */
static void test_damaged_ones_are_passed_over_and_logged(void **state)
{
	(void)state;
	cop_checkpoint checkpoint;
	char line[1024];
	size_t length = 0;
	cop_checkpoint_init(&checkpoint, folder);
	for (uint64_t n = 1; n <= 2; n++)
		write_one(&checkpoint, 10 * n, 2);
	cop_checkpoint_fini(&checkpoint);
	cop_checkpoint_init(&checkpoint, folder);
	for (uint64_t sequence = 2; sequence >= 1; sequence--) {
		cop_bytes body;
		cop_diag why = { .message = "" };
		cop_bytes_init(&body);
		mark_not_durable(sequence);
		assert_int_equal(cop_checkpoint_read(path_of(sequence), &body, &why), COP_EFORMAT);
		cop_bytes_fini(&body);
		length += (size_t)snprintf(line + length, sizeof line - length,
		        "%d event=checkpoint_damaged sequence=%u reason=\"%s\"\n", COP_LOG_WARNING, (unsigned)sequence,
		        why.message);
	}
	(void)snprintf(line + length, sizeof line - length,
	        "%d event=checkpoints_lost files=2 reason=\"none can be read\"\n", COP_LOG_ERROR);
	cop_log *log = log_open();
	assert_int_equal(cop_checkpoint_restore(&checkpoint, &models, config, NULL, log, NULL), COP_OK);
	expect_lines(log, line);
	assert_true(checkpoint.sequence == 0 && checkpoint.highest == 2 && checkpoint.bytes == 0);
	assert_true(checkpoint.mark.time == 0.0 && checkpoint.mark.journal_next == 0);
	assert_int_equal(models.count, 1);
	cop_checkpoint_fini(&checkpoint);
}

static void test_marks_that_are_cut_off_are_damage(void **state)
{
	(void)state;
	for (size_t bytes = 1; bytes < 24; bytes++) {
		cop_checkpoint checkpoint;
		write_body(1, bytes);
		cop_checkpoint_init(&checkpoint, folder);
		cop_log *log = log_open();
		assert_int_equal(cop_checkpoint_restore(&checkpoint, &models, config, NULL, log, NULL), COP_OK);
		assert_int_equal(cop_log_close(log, 30000), COP_OK);
		assert_int_equal(checkpoint.sequence, 0);
		assert_non_null(strstr(lines, "event=checkpoints_lost files=1 "));
		cop_checkpoint_fini(&checkpoint);
	}
}

/* What is no damage ends the search: going back behind it would lose what the file holds. */
static void test_one_of_a_newer_version_ends_the_search(void **state)
{
	(void)state;
	cop_checkpoint checkpoint;
	cop_diag diag = { .message = "" };
	write_body(1, 24);
	section_version = 2;
	write_body(2, 24);
	section_version = 1;
	cop_checkpoint_init(&checkpoint, folder);
	assert_int_equal(cop_checkpoint_restore(&checkpoint, &models, config, NULL, NULL, &diag), COP_EVERSION);
	assert_true(checkpoint.sequence == 0 && diag.source[0] == '\0');
	assert_int_equal(cop_checkpoint_restore(&checkpoint, &models, config, NULL, NULL, NULL), COP_EVERSION);
	cop_checkpoint_fini(&checkpoint);
}

static void test_one_of_another_shape_is_named(void **state)
{
	(void)state;
	cop_checkpoint checkpoint;
	cop_diag diag = { .message = "" };
	write_body(1, 24);
	config->models[0].set.learner.features = 1;
	cop_model_table_fini(&models);
	assert_int_equal(cop_model_table_init(&models, config, NULL), COP_OK);
	cop_checkpoint_init(&checkpoint, folder);
	assert_int_equal(cop_checkpoint_restore(&checkpoint, &models, config, NULL, NULL, &diag), COP_ESHAPE);
	assert_non_null(strstr(diag.message, "features 1"));
	assert_int_equal(cop_checkpoint_restore(&checkpoint, &models, config, NULL, NULL, NULL), COP_ESHAPE);
	cop_checkpoint_fini(&checkpoint);
	static const char *const reset[] = { "m", NULL }; /* it may begin anew */
	cop_checkpoint_init(&checkpoint, folder);
	assert_int_equal(cop_checkpoint_restore(&checkpoint, &models, config, reset, NULL, NULL), COP_OK);
	assert_int_equal(checkpoint.sequence, 1);
	cop_checkpoint_fini(&checkpoint);
}

static void test_models_of_no_configuration_are_parked_and_logged(void **state)
{
	(void)state;
	cop_checkpoint checkpoint;
	char expected[200];
	cop_checkpoint_init(&checkpoint, folder);
	write_one(&checkpoint, 1, 3);
	cop_checkpoint_fini(&checkpoint);
	(void)snprintf(config->models[0].name, sizeof config->models[0].name, "other");
	(void)snprintf(config->models[0].stored, sizeof config->models[0].stored, "other");
	cop_checkpoint_init(&checkpoint, folder);
	cop_log *log = log_open();
	cop_model_table_fini(&models);
	assert_int_equal(cop_model_table_init(&models, config, NULL), COP_OK);
	assert_int_equal(cop_checkpoint_restore(&checkpoint, &models, config, NULL, log, NULL), COP_OK);
	(void)snprintf(expected, sizeof expected,
	        "%d event=restored sequence=1 bytes=%u\n%d event=model_parked model=m reason=\"in the checkpoint but "
	        "not in the "
	        "configuration; kept as it is\"\n",
	        COP_LOG_NOTICE, (unsigned)checkpoint.bytes, COP_LOG_WARNING);
	expect_lines(log, expected);
	cop_checkpoint_fini(&checkpoint);
}

static bool is_there(uint64_t sequence) { return access(path_of(sequence), F_OK) == 0; }

static void test_files_since_a_record_are_removed_and_older_ones_stay(void **state)
{
	(void)state;
	uint64_t removed;
	cop_checkpoint checkpoint;
	cop_checkpoint_init(&checkpoint, folder);
	for (uint64_t n = 1; n <= 5; n++)
		write_one(&checkpoint, 10 * n, 9);
	mark_not_durable(2); /* damaged: nobody can tell what is in it */
	assert_int_equal(cop_checkpoint_remove_since(folder, 30, 5, &removed, NULL), COP_OK);
	assert_int_equal(removed, 2);
	assert_true(is_there(1) && !is_there(2) && is_there(3) && !is_there(4) && is_there(5));
	cop_checkpoint_removed_since(&checkpoint, 30);
	assert_int_equal(checkpoint.kept.count, 4); /* 2 cannot be told from 1 here */
	assert_true(checkpoint.kept.next[0] == 50 && checkpoint.kept.next[1] == 30 && checkpoint.kept.next[3] == 10);
	assert_int_equal(cop_checkpoint_kept_needs(&checkpoint.kept, 9), 0);
	assert_int_equal(cop_checkpoint_remove_since(folder, 0, 5, &removed, NULL), COP_OK);
	assert_true(removed == 2 && files() == 1 && is_there(5));
	assert_int_equal(cop_checkpoint_remove_since(folder, 0, 5, &removed, NULL), COP_OK);
	assert_int_equal(removed, 0);
	assert_int_equal(cop_checkpoint_remove_since("/nowhere", 0, 5, &removed, NULL), COP_ENOTFOUND);
	cop_checkpoint_fini(&checkpoint);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_journal_is_needed_from_the_oldest_file_kept, make_all, drop_all),
		cmocka_unit_test_setup_teardown(
		        test_restored_one_knows_what_the_files_before_it_need, make_all, drop_all),
		cmocka_unit_test_setup_teardown(test_written_one_is_measured_and_logged, make_all, drop_all),
		cmocka_unit_test_setup_teardown(test_one_that_is_written_at_the_end_is_waited_for, make_all, drop_all),
		cmocka_unit_test_setup_teardown(
		        test_one_that_cannot_be_written_is_counted_and_logged, make_all, drop_all),
		cmocka_unit_test_setup_teardown(test_old_one_that_cannot_be_removed_is_logged, make_all, drop_all),
		cmocka_unit_test_setup_teardown(test_marks_are_read_where_there_are_some, make_all, drop_all),
		cmocka_unit_test_setup_teardown(test_marks_that_are_cut_off_are_damage, make_all, drop_all),
		cmocka_unit_test_setup_teardown(test_damaged_ones_are_passed_over_and_logged, make_all, drop_all),
		cmocka_unit_test_setup_teardown(test_one_of_a_newer_version_ends_the_search, make_all, drop_all),
		cmocka_unit_test_setup_teardown(
		        test_models_of_no_configuration_are_parked_and_logged, make_all, drop_all),
		cmocka_unit_test_setup_teardown(test_one_of_another_shape_is_named, make_all, drop_all),
		cmocka_unit_test_setup_teardown(test_list_of_what_is_needed_may_find_no_memory, make_all, drop_all),
		cmocka_unit_test_setup_teardown(
		        test_files_since_a_record_are_removed_and_older_ones_stay, make_all, drop_all),
		cmocka_unit_test_setup_teardown(test_folder_that_is_not_there_is_an_error, make_all, drop_all),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
