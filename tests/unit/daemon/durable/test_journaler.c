/* The journaler alone: what is durable when, what it counts, and how it breaks, says so, and goes on. */
#include "daemon/durable/journaler.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/common/clock.h"
#include "daemon/models/model_set.h"
#include "store/journal_reader.h"
#include "store/journal_segment.h"
#include "support.h"
#include "support_lock.h"

#define PATIENCE 30000 /* milliseconds */

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);

static _Atomic unsigned syncs;
static _Atomic bool no_sync;

int __wrap_fdatasync(int fd)
{
	syncs++;
	if (!no_sync)
		return __real_fdatasync(fd);
	errno = EIO;
	return -1;
}

static char folder[64];

static int make_folder(void **state)
{
	(void)state;
	(void)snprintf(folder, sizeof folder, "/tmp/test_journaler_XXXXXX");
	return mkdtemp(folder) == NULL;
}

static int drop_folder(void **state)
{
	char command[96];
	(void)state;
	(void)snprintf(command, sizeof command, "rm -rf %s", folder);
	return system(command);
}

static cop_config *configured(const char *sync)
{
	char text[512];
	cop_config *config = NULL;
	cop_config_report report;
	(void)snprintf(text, sizeof text,
	        "sockets { requests = { \"ipc://%s.r\" } actions_bind = { \"ipc://%s.a\" } }\n"
	        "journal { sync = %s }\n"
	        "model \"m\" { learner = dgt arms = 2 features = 2 height = 1 }\n",
	        folder, folder, sync);
	cop_config_report_init(&report);
	cop_err err = cop_config_parse(text, strlen(text), "text", NULL, &config, &report);
	if (err != COP_OK)
		fail_msg("%s", report.count > 0 ? report.items[0].message : cop_err_text(err));
	cop_config_report_fini(&report);
	return config;
}

static cop_journaler *opened(const char *sync, uint64_t next)
{
	cop_journaler *journaler;
	cop_config *config = configured(sync);
	assert_int_equal(cop_journaler_open(folder, config, next, &journaler, NULL), COP_OK);
	cop_config_free(config);
	return journaler;
}

/* Its sequence number. */
static uint64_t put(cop_journaler *journaler, uint64_t id)
{
	cop_wire_record feedback = { .model = "m", .model_length = 1, .time = 1e9, .losses = 1, .loss = { 0.5 } };
	cop_event_id_from_unsigned(&feedback.id, id);
	return cop_journaler_put(journaler, COP_WIRE_RECORD_FEEDBACK, &feedback);
}

/* Until a sync has ended. */
static bool take(cop_journaler *journaler, cop_diag *diag)
{
	struct pollfd wake = { .fd = cop_journaler_fd(journaler), .events = POLLIN };
	assert_int_equal(poll(&wake, 1, PATIENCE), 1);
	return cop_journaler_take(journaler, diag);
}

static void test_records_are_durable_once_they_are_synced(void **state)
{
	(void)state;
	cop_journaler *j = opened("always", 5);
	assert_int_equal(cop_journaler_next(j), 5);
	assert_int_equal(cop_journaler_base(j), 5);
	assert_int_equal(put(j, 1), 5);
	assert_int_equal(put(j, 2), 6);
	size_t bytes = (size_t)cop_journaler_lag(j);
	assert_true(bytes > 0 && bytes == cop_journaler_get_counts(j)->bytes);
	assert_int_equal(cop_journaler_committed(j), 4);
	assert_int_equal(cop_journaler_get_counts(j)->records, 2);
	assert_int_equal(cop_journaler_get_counts(j)->writes, 0);
	assert_true(cop_journaler_commit(j, NULL));
	assert_int_equal(cop_journaler_get_counts(j)->writes, 1);
	assert_true(take(j, NULL));
	assert_int_equal(cop_journaler_durable(j), 6);
	assert_int_equal(cop_journaler_committed(j), 6);
	assert_int_equal(cop_journaler_lag(j), 0);
	assert_int_equal(cop_journaler_get_counts(j)->syncs, 1);
	assert_true(cop_journaler_commit(j, NULL)); /* nothing is left to sync */
	assert_int_equal(put(j, 3), 7);
	cop_diag diag = { .message = "" };
	assert_int_equal(cop_journaler_flush(j, &diag), COP_OK);
	assert_string_equal(diag.message, "");
	assert_int_equal(cop_journaler_durable(j), 7);
	assert_int_equal(cop_journaler_lag(j), 0);
	assert_int_equal(cop_journaler_get_counts(j)->failures, 0);
	assert_int_equal(cop_journaler_close(j, NULL), COP_OK);
}

static bool woken(const cop_journaler *journaler)
{
	struct pollfd wake = { .fd = cop_journaler_fd(journaler), .events = POLLIN };
	return poll(&wake, 1, 0) != 0;
}

static void test_each_sync_is_one_call_and_wakes_once(void **state)
{
	(void)state;
	cop_journaler *j = opened("always", 1);
	assert_false(woken(j));
	for (unsigned i = 1; i <= 3; i++) {
		unsigned before = syncs;
		assert_int_equal(put(j, i), i);
		assert_true(cop_journaler_commit(j, NULL));
		assert_true(take(j, NULL));
		assert_int_equal(syncs, before + 1);
		assert_int_equal(cop_journaler_get_counts(j)->syncs, i);
		assert_false(woken(j));
		assert_true(cop_journaler_take(j, NULL)); /* there is nothing to take */
		assert_int_equal(cop_journaler_get_counts(j)->syncs, i);
	}
	assert_int_equal(cop_journaler_close(j, NULL), COP_OK);
}

/* Whether the second record goes along with the first one's sync or not, its bytes are owed until it is durable. */
static void test_record_put_during_a_sync_is_owed_until_its_own(void **state)
{
	(void)state;
	cop_journaler *j = opened("always", 1);
	for (uint64_t id = 1; id < 200; id += 2) {
		assert_int_equal(put(j, id), id);
		uint64_t first = cop_journaler_lag(j);
		assert_true(cop_journaler_commit(j, NULL));
		assert_int_equal(put(j, id + 1), id + 1);
		uint64_t second = cop_journaler_lag(j) - first;
		assert_true(cop_journaler_commit(j, NULL));
		while (cop_journaler_durable(j) < id + 1) {
			assert_int_equal(cop_journaler_lag(j), cop_journaler_durable(j) < id ? first + second : second);
			assert_true(take(j, NULL));
		}
		assert_int_equal(cop_journaler_lag(j), 0);
	}
	assert_int_equal(cop_journaler_close(j, NULL), COP_OK);
}

static uint64_t nanoseconds(struct timespec at) { return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec; }

/* The second sync is to begin an interval behind the beginning of the first. */
static void test_syncs_are_an_interval_apart(void **state)
{
	(void)state;
	const uint64_t interval = UINT64_C(60000000000);
	cop_journaler *j = opened("interval interval = 60s", 1);
	uint64_t before = cop_clock_monotonic_ns();
	assert_int_equal(put(j, 1), 1);
	assert_int_equal(cop_journaler_flush(j, NULL), COP_OK);
	assert_int_equal(put(j, 2), 2);
	assert_true(cop_journaler_commit(j, NULL));
	if (before > interval) /* else the first one waits, too */
		assert_true(take(j, NULL));
	uint64_t behind = cop_clock_monotonic_ns();
	assert_int_equal(put(j, 3), 3);
	assert_true(cop_journaler_commit(j, NULL));
	assert_int_equal(put(j, 4), 4);
	assert_true(cop_journaler_commit(j, NULL));
	for (uint64_t due = 0; before > interval && due < before + interval;) { /* until the thread waits for it */
		due = nanoseconds(cop_test_lock_deadline());
		assert_true(cop_clock_monotonic_ns() < behind + PATIENCE * UINT64_C(1000000));
		assert_true(due <= behind + interval);
	}
	assert_false(woken(j));
	assert_int_equal(cop_journaler_committed(j), 4);
	assert_true(cop_journaler_durable(j) < 4);
	assert_int_equal(cop_journaler_flush(j, NULL), COP_OK); /* waits for no interval */
	assert_int_equal(cop_journaler_durable(j), 4);
	assert_int_equal(cop_journaler_close(j, NULL), COP_OK);
}

static void test_sync_that_fails_breaks_the_journal_until_it_heals(void **state)
{
	(void)state;
	for (unsigned flushed = 0; flushed < 2; flushed++) {
		cop_diag diag = { .message = "" };
		cop_journaler *j = opened(flushed ? "never" : "always", 1 + 2 * flushed);
		assert_int_equal(put(j, 1), 1 + 2 * flushed);
		no_sync = true;
		if (flushed) {
			assert_int_equal(cop_journaler_flush(j, &diag), COP_EIO);
		} else {
			assert_true(cop_journaler_commit(j, NULL));
			assert_false(take(j, &diag));
		}
		no_sync = false;
		assert_non_null(strstr(diag.message, strerror(EIO)));
		assert_true(cop_journaler_broken(j));
		assert_int_equal(cop_journaler_get_counts(j)->failures, 1);
		assert_int_equal(cop_journaler_durable(j), 2 * flushed);
		assert_false(cop_journaler_take_lost(j));
		assert_int_equal(put(j, 9), 0);
		assert_int_equal(cop_journaler_heal(j, &diag), COP_OK);
		assert_true(cop_journaler_take_lost(j));
		assert_int_equal(cop_journaler_durable(j), 1 + 2 * flushed);
		assert_int_equal(cop_journaler_lag(j), 0);
		assert_int_equal(put(j, 2), 2 + 2 * flushed);
		assert_int_equal(cop_journaler_close(j, &diag), COP_OK);
	}
}

/* What waited in the batch while the journal broke goes along with what is written again. */
static void test_record_that_waits_when_a_sync_fails_is_kept(void **state)
{
	(void)state;
	cop_journaler *j = opened("always", 1);
	assert_int_equal(put(j, 1), 1);
	no_sync = true;
	assert_true(cop_journaler_commit(j, NULL));
	assert_int_equal(put(j, 2), 2);
	assert_false(take(j, NULL));
	no_sync = false;
	assert_true(cop_journaler_broken(j));
	assert_int_equal(cop_journaler_durable(j), 0);
	assert_true(cop_journaler_lag(j) > 0);
	assert_int_equal(cop_journaler_heal(j, NULL), COP_OK);
	assert_false(cop_journaler_take_lost(j)); /* all of it is there */
	assert_int_equal(cop_journaler_durable(j), 2);
	assert_int_equal(cop_journaler_lag(j), 0);
	assert_int_equal(cop_journaler_next(j), 3);
	assert_int_equal(put(j, 3), 3);
	assert_int_equal(cop_journaler_flush(j, NULL), COP_OK);
	assert_int_equal(cop_journaler_durable(j), 3);
	assert_int_equal(cop_journaler_close(j, NULL), COP_OK);
}

/* A flush that waits for the sync of what was written, which fails. */
static void test_flush_behind_a_sync_that_fails_reports_why(void **state)
{
	(void)state;
	cop_diag diag = { .message = "" };
	cop_journaler *j = opened("always", 1);
	assert_int_equal(put(j, 1), 1);
	no_sync = true;
	assert_true(cop_journaler_commit(j, NULL));
	assert_int_equal(cop_journaler_flush(j, &diag), COP_EIO);
	no_sync = false;
	assert_non_null(strstr(diag.message, strerror(EIO)));
	assert_int_equal(cop_journaler_get_counts(j)->failures, 1);
	assert_int_equal(cop_journaler_heal(j, NULL), COP_OK);
	assert_int_equal(cop_journaler_close(j, NULL), COP_OK);
}

static void test_segments_have_the_models_that_were_set(void **state)
{
	(void)state;
	cop_config *config = configured("never");
	cop_bytes expected;
	cop_journal_reader *reader;
	cop_journal_record record;
	size_t length;
	cop_bytes_init(&expected);
	for (unsigned round = 0; round < 2; round++) {
		cop_journaler *j = opened("never", round + 1);
		if (round == 1) {
			config->models[0].set.learner.arms = 3;
			cop_journaler_set_models(j, config);
			cop_journaler_rebreak(j);
			assert_int_equal(cop_journaler_begin_anew(j, NULL), COP_OK);
		}
		assert_int_equal(put(j, 1), round + 1);
		assert_int_equal(cop_journaler_close(j, NULL), COP_OK);
		cop_bytes_clear(&expected);
		assert_int_equal(cop_model_set_put(config, NULL, &expected), 0);
		assert_int_equal(cop_journal_reader_open(folder, round + 1, true, &reader, NULL), COP_OK);
		assert_int_equal(cop_journal_next(reader, &record, NULL), COP_OK);
		const uint8_t *models = cop_journal_reader_model_set(reader, &length);
		assert_int_equal(length, expected.length);
		assert_memory_equal(models, expected.data, length);
		cop_journal_reader_close(reader);
	}
	cop_bytes_fini(&expected);
	cop_config_free(config);
}

static void test_unsynced_journal_is_committed_when_it_is_written(void **state)
{
	(void)state;
	cop_journaler *j = opened("never", 1);
	assert_int_equal(put(j, 1), 1);
	assert_int_equal(cop_journaler_committed(j), 0);
	assert_true(cop_journaler_commit(j, NULL));
	assert_int_equal(cop_journaler_committed(j), 1);
	assert_int_equal(cop_journaler_durable(j), 0);
	assert_true(cop_journaler_lag(j) > 0);
	assert_int_equal(cop_journaler_flush(j, NULL), COP_OK);
	assert_int_equal(cop_journaler_durable(j), 1);
	assert_int_equal(cop_journaler_lag(j), 0);
	assert_int_equal(cop_journaler_close(j, NULL), COP_OK);
}

/* Before the limit nothing can be opened. */
static void limit_files(const struct rlimit *before, bool none)
{
	int spare = dup(STDIN_FILENO);
	assert_true(spare >= 0);
	(void)close(spare); /* the lowest that is free */
	struct rlimit limit = *before;
	if (none)
		limit.rlim_cur = (rlim_t)spare;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void test_sync_that_cannot_begin_breaks_the_journal_until_it_heals(void **state)
{
	(void)state;
	struct rlimit before;
	char expected[128], text[800];
	cop_diag diag = { .message = "" };
	cop_journaler *j = opened("always", 1);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(put(j, 1), 1);
	limit_files(&before, true);
	bool whole = cop_journaler_commit(j, &diag);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_false(whole);
	(void)snprintf(expected, sizeof expected, "%s: the journal cannot be synced: %s", folder, strerror(EMFILE));
	cop_diag_text(&diag, text, sizeof text);
	assert_string_equal(text, expected);
	assert_true(cop_journaler_broken(j) && !cop_journaler_gone(j));
	assert_int_equal(cop_journaler_base(j), 0);
	assert_int_equal(cop_journaler_get_counts(j)->failures, 1);
	assert_int_equal(put(j, 2), 0);
	assert_true(cop_journaler_commit(j, &diag) && cop_journaler_check(j, &diag)); /* it is known */
	assert_int_equal(cop_journaler_flush(j, &diag), COP_EIO);
	assert_true(diag.line == 0 && diag.offset == 0);
	(void)snprintf(expected, sizeof expected, "%s: the journal is broken and has not healed yet", folder);
	cop_diag_text(&diag, text, sizeof text);
	assert_string_equal(text, expected);
	assert_int_equal(cop_journaler_heal(j, &diag), COP_OK);
	assert_false(cop_journaler_broken(j));
	assert_int_equal(cop_journaler_heal(j, &diag), COP_OK); /* nothing to do */
	assert_int_equal(put(j, 2), 2);
	assert_int_equal(cop_journaler_flush(j, &diag), COP_OK);
	assert_int_equal(cop_journaler_durable(j), 2);
	cop_journaler_rebreak(j);
	assert_true(cop_journaler_broken(j));
	assert_int_equal(cop_journaler_heal(j, &diag), COP_OK);
	assert_int_equal(cop_journaler_close(j, &diag), COP_OK);
}

/* With ever more descriptors there are at last enough, but for the one that wakes the loop. */
static void test_journal_without_descriptors_is_not_opened(void **state)
{
	(void)state;
	struct rlimit before, limit;
	cop_journaler *j = NULL;
	cop_config *config = configured("never");
	bool woken = true;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	int spare = dup(STDIN_FILENO);
	assert_true(spare >= 0);
	(void)close(spare);
	for (rlim_t more = 0; j == NULL && more < 32; more++) {
		cop_diag diag = { .message = "" };
		limit = before;
		limit.rlim_cur = (rlim_t)spare + more;
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
		cop_err err = cop_journaler_open(folder, config, 1, &j, &diag);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
		assert_true((err == COP_OK) == (j != NULL));
		if (err == COP_OK)
			break;
		assert_int_equal(err, COP_EIO);
		assert_non_null(strstr(diag.message, strerror(EMFILE)));
		woken = strstr(diag.message, "the journal's sync thread cannot be started") == NULL;
	}
	assert_false(woken); /* the last that was missing */
	assert_int_equal(cop_journaler_close(j, NULL), COP_OK);
	cop_config_free(config);
}

static void remove_segments(void)
{
	DIR *files = opendir(folder);
	assert_non_null(files);
	for (const struct dirent *entry; (entry = readdir(files)) != NULL;)
		if (entry->d_name[0] != '.')
			assert_int_equal(unlinkat(dirfd(files), entry->d_name, 0), 0);
	(void)closedir(files);
}

static void test_journal_whose_file_is_gone_begins_anew_behind_what_was_put(void **state)
{
	(void)state;
	cop_diag diag = { .message = "" };
	cop_journaler *j = opened("never", 1);
	assert_int_equal(put(j, 1), 1);
	assert_int_equal(cop_journaler_flush(j, NULL), COP_OK);
	assert_true(cop_journaler_check(j, &diag));
	remove_segments();
	assert_int_equal(put(j, 2), 2);
	assert_false(cop_journaler_check(j, &diag));
	assert_true(diag.message[0] != '\0');
	assert_true(cop_journaler_broken(j) && cop_journaler_gone(j));
	assert_int_equal(cop_journaler_heal(j, &diag), COP_ENOTFOUND);
	assert_true(cop_journaler_broken(j));
	assert_int_equal(rmdir(folder), 0);
	assert_int_equal(cop_journaler_begin_anew(j, &diag), COP_OK); /* makes the folder, too */
	assert_false(cop_journaler_broken(j));
	assert_true(cop_journaler_take_lost(j));
	assert_false(cop_journaler_take_lost(j)); /* once */
	assert_int_equal(cop_journaler_base(j), 3);
	assert_int_equal(cop_journaler_lag(j), 0);
	assert_int_equal(put(j, 3), 3);
	assert_int_equal(cop_journaler_close(j, &diag), COP_OK);
}

static void test_journal_that_is_off_takes_nothing(void **state)
{
	(void)state;
	assert_int_equal(put(NULL, 1), 0);
	cop_journaler_set_models(NULL, NULL);
	assert_int_equal(cop_journaler_close(NULL, NULL), COP_OK);
}

static void test_folder_that_cannot_be_made_is_named(void **state)
{
	(void)state;
	char text[800], expected[160], inside[80];
	cop_diag diag = { .message = "" };
	(void)snprintf(inside, sizeof inside, "%s/inside", folder);
	cop_config *config = configured("never");
	cop_journaler *j;
	assert_int_equal(cop_journaler_open(inside, config, 1, &j, &diag), COP_ENOTFOUND);
	assert_null(j);
	(void)snprintf(expected, sizeof expected, "%s: ", inside);
	cop_diag_text(&diag, text, sizeof text);
	assert_memory_equal(text, expected, strlen(expected));
	cop_config_free(config);
	j = opened("never", 1);
	remove_segments();
	assert_int_equal(rmdir(folder), 0);
	int file = open(folder, O_WRONLY | O_CREAT | O_CLOEXEC, 0600); /* in its place */
	assert_true(file >= 0);
	(void)close(file);
	assert_int_not_equal(cop_journaler_begin_anew(j, &diag), COP_OK);
	assert_int_equal(unlink(folder), 0);
	(void)!cop_journaler_close(j, NULL);
	assert_int_equal(mkdir(folder, 0700), 0);
	assert_int_equal(mkdir(inside, 0700), 0);
	config = configured("never");
	assert_int_equal(cop_journaler_open(inside, config, 1, &j, &diag), COP_OK);
	cop_config_free(config);
	assert_int_equal(drop_folder(NULL), 0);
	assert_int_equal(cop_journaler_begin_anew(j, &diag), COP_EIO);
	(void)snprintf(expected, sizeof expected, "%s: cannot make the journal's folder: %s", inside, strerror(ENOENT));
	cop_diag_text(&diag, text, sizeof text);
	assert_string_equal(text, expected);
	(void)!cop_journaler_close(j, NULL);
}

static void test_listener_hears_each_record_as_it_stands_in_the_segment(void **state)
{
	(void)state;
	cop_bytes heard;
	cop_journal_record record;
	size_t need;
	cop_bytes_init(&heard);
	cop_journaler *j = opened("never", 1);
	assert_int_equal(put(j, 1), 1);
	cop_journaler_listen(j, &heard);
	assert_int_equal(put(j, 2), 2);
	assert_true(cop_journaler_commit(j, NULL));
	assert_int_equal(put(j, 3), 3);
	cop_journaler_listen(j, NULL);
	assert_int_equal(put(j, 4), 4);
	assert_int_equal(cop_journal_segment_frame_parse(heard.data, heard.length, &record, &need), COP_OK);
	assert_true(record.sequence == 2 && record.type == COP_WIRE_RECORD_FEEDBACK);
	size_t first = COP_JOURNAL_FRAME_HEAD + record.length;
	assert_int_equal(
	        cop_journal_segment_frame_parse(heard.data + first, heard.length - first, &record, &need), COP_OK);
	assert_int_equal(record.sequence, 3);
	assert_int_equal(heard.length, first + COP_JOURNAL_FRAME_HEAD + record.length);
	cop_bytes_fini(&heard);
	assert_int_equal(cop_journaler_close(j, NULL), COP_OK);
}

static void test_roll_closes_the_segment_unless_it_is_empty(void **state)
{
	(void)state;
	cop_journaler *j = opened("never", 1);
	assert_int_equal(cop_journaler_roll(j, NULL), COP_OK);
	assert_int_equal(cop_journaler_base(j), 1);
	assert_int_equal(put(j, 1), 1);
	assert_int_equal(put(j, 2), 2);
	assert_int_equal(cop_journaler_roll(j, NULL), COP_OK);
	assert_int_equal(cop_journaler_base(j), 3);
	assert_true(cop_journaler_durable(j) == 2 && cop_journaler_next(j) == 3);
	assert_int_equal(cop_journaler_roll(j, NULL), COP_OK);
	assert_int_equal(put(j, 3), 3);
	assert_int_equal(cop_journaler_base(j), 3);
	assert_int_equal(cop_journaler_close(j, NULL), COP_OK);
}

static void test_roll_that_fails_breaks_the_journal(void **state)
{
	(void)state;
	cop_diag why = { 0 };
	cop_journaler *j = opened("never", 1);
	assert_int_equal(put(j, 1), 1);
	no_sync = true;
	assert_int_equal(cop_journaler_roll(j, &why), COP_EIO);
	no_sync = false;
	assert_true(cop_journaler_broken(j) && why.message[0] != '\0');
	assert_int_equal(cop_journaler_heal(j, NULL), COP_OK);
	assert_int_equal(cop_journaler_roll(j, NULL), COP_OK);
	assert_int_equal(cop_journaler_close(j, NULL), COP_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		        test_records_are_durable_once_they_are_synced, make_folder, drop_folder),
		cmocka_unit_test_setup_teardown(
		        test_unsynced_journal_is_committed_when_it_is_written, make_folder, drop_folder),
		cmocka_unit_test_setup_teardown(
		        test_sync_that_cannot_begin_breaks_the_journal_until_it_heals, make_folder, drop_folder),
		cmocka_unit_test_setup_teardown(
		        test_journal_without_descriptors_is_not_opened, make_folder, drop_folder),
		cmocka_unit_test_setup_teardown(
		        test_journal_whose_file_is_gone_begins_anew_behind_what_was_put, make_folder, drop_folder),
		cmocka_unit_test_setup_teardown(test_each_sync_is_one_call_and_wakes_once, make_folder, drop_folder),
		cmocka_unit_test_setup_teardown(
		        test_record_put_during_a_sync_is_owed_until_its_own, make_folder, drop_folder),
		cmocka_unit_test_setup_teardown(test_syncs_are_an_interval_apart, make_folder, drop_folder),
		cmocka_unit_test_setup_teardown(test_segments_have_the_models_that_were_set, make_folder, drop_folder),
		cmocka_unit_test_setup_teardown(
		        test_sync_that_fails_breaks_the_journal_until_it_heals, make_folder, drop_folder),
		cmocka_unit_test_setup_teardown(
		        test_record_that_waits_when_a_sync_fails_is_kept, make_folder, drop_folder),
		cmocka_unit_test_setup_teardown(
		        test_flush_behind_a_sync_that_fails_reports_why, make_folder, drop_folder),
		cmocka_unit_test_setup_teardown(
		        test_listener_hears_each_record_as_it_stands_in_the_segment, make_folder, drop_folder),
		cmocka_unit_test_setup_teardown(
		        test_roll_closes_the_segment_unless_it_is_empty, make_folder, drop_folder),
		cmocka_unit_test_setup_teardown(test_roll_that_fails_breaks_the_journal, make_folder, drop_folder),
		cmocka_unit_test(test_journal_that_is_off_takes_nothing),
		cmocka_unit_test_setup_teardown(test_folder_that_cannot_be_made_is_named, make_folder, drop_folder),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
