/* Recovery from journals that this test writes, record by record: what is refused, and by which name. */
#include "daemon/durable/recovery.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "daemon/common/clock.h"
#include "store/journal_segment.h"
#include "support.h"
#include "wire/wire_put.h"
#include "wire/wire_record.h"

static char state_dir[64], journal[96];

static int make_folder(void **state)
{
	(void)state;
	(void)snprintf(state_dir, sizeof state_dir, "/tmp/test_recovery.XXXXXX");
	if (mkdtemp(state_dir) == NULL)
		return 1;
	(void)snprintf(journal, sizeof journal, "%s/journal", state_dir);
	return mkdir(journal, 0700);
}

static int drop_folder(void **state)
{
	char command[96];
	(void)state;
	(void)snprintf(command, sizeof command, "rm -rf %s", state_dir);
	return system(command);
}

static const char *path_of(uint64_t base)
{
	static char path[200];
	char name[COP_JOURNAL_NAME_ROOM];
	cop_journal_name(base, false, name);
	(void)snprintf(path, sizeof path, "%s/%s", journal, name);
	return path;
}

static void save_segment(uint64_t base, const cop_bytes *bytes)
{
	FILE *file = fopen(path_of(base), "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes->data, 1, bytes->length, file), bytes->length);
	assert_int_equal(fclose(file), 0);
}

/* A segment with these records from `base` on; bodies[i].length 0: a right decision of model m. */
static void write_segment(uint64_t base, const cop_bytes *bodies, size_t count)
{
	static const float x[2] = { 0.5f, 1.0f };
	cop_bytes bytes, body;
	cop_bytes_init(&bytes);
	cop_bytes_init(&body);
	cop_journal_segment_header_put(&bytes, base, 0, "", 0);
	for (uint64_t i = 0; i < count; i++) {
		cop_wire_record r = {
			.model = "m", .model_length = 1, .time = 1e9, .arms = 2, .p = 0.5, .has_x = true
		};
		cop_event_id_from_unsigned(&r.id, base + i);
		r.x = (cop_row){ .d = 2, .dense = x };
		cop_bytes_clear(&body);
		if (bodies == NULL || bodies[i].length == 0)
			cop_wire_record_put(&body, COP_WIRE_RECORD_DECISION, &r);
		else
			cop_bytes_put(&body, bodies[i].data, bodies[i].length);
		cop_journal_record_put(&bytes, base + i, COP_WIRE_RECORD_DECISION, body.data, body.length);
	}
	assert_int_equal(bytes.err, COP_OK);
	save_segment(base, &bytes);
	cop_bytes_fini(&bytes);
	cop_bytes_fini(&body);
}

static char lines[4096];         /* that the last recovery logged, each with its end */
static uint32_t pending_most;    /* that its model had then */
static uint64_t learned[2];      /* of models m and c */
static unsigned long fail_at;    /* this allocation of it fails; 0: none */
static bool aside;               /* the journal was set aside */
static const char *const *reset; /* models that it passes over */

static void note_line(void *context, cop_log_level level, const char *line)
{
	(void)context, (void)level;
	size_t used = strlen(lines);
	(void)snprintf(lines + used, sizeof lines - used, "%s\n", line);
}

static cop_err recover(const cop_checkpoint_mark *mark, bool salvaged, cop_recovery *recovery, cop_diag *diag)
{
	static const char text[] = "sockets { requests = { \"ipc://r\" } }\n"
	                           "model \"m\" { learner = \"dgt\" arms = 2 features = 2 height = 1 }\n"
	                           "model \"c\" { learner = rank max_candidates = 2 candidate_features = 1 "
	                           "features = 2 }\n";
	const cop_log_settings logging = { .level = COP_LOG_DEBUG, .sink = note_line };
	cop_config *config;
	cop_config_report report;
	cop_model_table set;
	cop_log *log;
	cop_config_report_init(&report);
	assert_int_equal(cop_config_parse(text, strlen(text), "test", NULL, &config, &report), COP_OK);
	cop_config_report_fini(&report);
	assert_int_equal(cop_model_table_init(&set, config, NULL), COP_OK);
	lines[0] = '\0';
	assert_int_equal(cop_log_open(&logging, &log), COP_OK);
	*recovery = (cop_recovery){ .state_dir = state_dir,
		.folder = journal,
		.salvaged = salvaged,
		.aside = aside,
		.log = log,
		.reset = reset };
	diag->message[0] = diag->source[0] = '\0';
	cop_test_alloc_fail(fail_at, 0);
	cop_err err = cop_recovery_run(recovery, &set, mark, diag);
	cop_test_alloc_fail(0, 0);
	assert_int_equal(cop_log_close(log, 30000), COP_OK);
	for (size_t i = 0; i < 2; i++)
		learned[i] = cop_model_get_counters(cop_model_table_find(&set, i == 0 ? "m" : "c", 1)->model)->learned;
	pending_most = (uint32_t)cop_model_get_settings(cop_model_table_find(&set, "m", 1)->model)->pending_max;
	cop_model_table_fini(&set);
	cop_config_free(config);
	return err;
}

/* A decision's body, all but the model's name, which may be there and empty. */
static void put_nameless(cop_bytes *body, bool empty)
{
	cop_wire_put_map(body, 7u + empty);
	cop_wire_put_key_double(body, "t", 1e9);
	if (empty)
		cop_wire_put_key_text(body, "m", "");
	cop_wire_put_key_unsigned(body, "id", 1);
	cop_wire_put_text(body, "x");
	cop_wire_put_array(body, 2);
	cop_wire_put_double(body, 0.5);
	cop_wire_put_double(body, 1.0);
	cop_wire_put_key_unsigned(body, "a", 0);
	cop_wire_put_key_double(body, "p", 0.5);
	cop_wire_put_key_bool(body, "g", true);
	cop_wire_put_key_unsigned(body, "rev", 0);
}

static void test_recovery_of_a_record_without_a_model_is_refused_by_file_and_offset(void **state)
{
	(void)state;
	const cop_checkpoint_mark mark = { 0 };
	for (int empty = 0; empty < 2; empty++) {
		cop_recovery recovery;
		cop_diag diag;
		cop_bytes bodies[3];
		for (size_t i = 0; i < 3; i++)
			cop_bytes_init(&bodies[i]);
		put_nameless(&bodies[1], empty);
		write_segment(1, bodies, 3);
		assert_int_equal(recover(&mark, false, &recovery, &diag), COP_EFORMAT);
		assert_string_equal(diag.source, path_of(1));
		assert_true(diag.offset > COP_JOURNAL_HEADER_MIN);
		assert_int_equal(recovery.applied, 1);
		assert_non_null(strstr(diag.message, "record 2"));
		assert_non_null(strstr(diag.message, "names no model"));
		assert_non_null(strstr(diag.message, "coppice journal salvage"));
		assert_int_equal(recover(&mark, true, &recovery, &diag), COP_OK);
		assert_int_equal(recovery.applied, 2);
		assert_int_equal(recovery.skipped, 1);
		cop_bytes_fini(&bodies[1]);
	}
}

static void test_recovery_says_what_of_a_record_does_not_fit(void **state)
{
	(void)state;
	cop_bytes body;
	cop_recovery recovery;
	cop_diag diag;
	const cop_checkpoint_mark mark = { 0 };
	cop_bytes_init(&body);
	cop_wire_put_map(&body, 2);
	cop_wire_put_key_text(&body, "m", "m");
	cop_wire_put_key_text(&body, "p", "half");
	write_segment(1, &body, 1);
	assert_int_equal(recover(&mark, false, &recovery, &diag), COP_EFORMAT);
	assert_non_null(strstr(diag.message, "record: p:"));
	cop_bytes_fini(&body);
}

static void test_recovery_without_the_segment_that_was_written_last_is_refused_by_name(void **state)
{
	(void)state;
	cop_recovery recovery;
	cop_diag diag;
	write_segment(1, NULL, 4);
	write_segment(5, NULL, 3);
	const cop_checkpoint_mark mark = { .time = 1e9, .journal_next = 5, .journal_base = 5 };
	assert_int_equal(recover(&mark, false, &recovery, &diag), COP_OK);
	assert_int_equal(recovery.applied, 3);
	assert_int_equal(unlink(path_of(5)), 0);
	assert_int_equal(recover(&mark, false, &recovery, &diag), COP_EFORMAT);
	assert_non_null(strstr(diag.message, "00000000000000000005.journal is missing"));
	assert_non_null(strstr(diag.message, "--checkpoint-only"));
	assert_int_equal(recover(&mark, true, &recovery, &diag), COP_OK);
	assert_int_equal(recovery.next, 5);
	/* No segment was being written; one that begins later but not behind the mark will do. */
	const cop_checkpoint_mark none = { .time = 1e9, .journal_next = 5 };
	assert_int_equal(recover(&none, false, &recovery, &diag), COP_OK);
	const cop_checkpoint_mark rolled = { .time = 1e9, .journal_next = 7, .journal_base = 5 };
	write_segment(7, NULL, 2);
	assert_int_equal(recover(&rolled, false, &recovery, &diag), COP_OK);
	assert_int_equal(recovery.applied, 2);
	/* The whole journal is moved away: from the checkpoint alone. */
	assert_int_equal(unlink(path_of(1)), 0);
	assert_int_equal(unlink(path_of(7)), 0);
	assert_int_equal(recover(&mark, false, &recovery, &diag), COP_OK);
	assert_int_equal(recovery.next, 5);
}

static void test_recovery_of_strange_numbers_is_refused_by_name(void **state)
{
	(void)state;
	cop_recovery recovery;
	cop_diag diag;
	const cop_checkpoint_mark mark = { 0 };
	write_segment(1, NULL, 2);
	write_segment(UINT64_MAX, NULL, 1);
	assert_int_equal(recover(&mark, false, &recovery, &diag), COP_EFORMAT);
	assert_non_null(strstr(diag.message, "18446744073709551615.journal"));
	assert_int_equal(access(path_of(UINT64_MAX), F_OK), 0); /* it is left alone */
}

static void expect_logged(const char *expected)
{
	if (strcmp(lines, expected) != 0)
		fail_msg("logged: %s\nexpected: %s", lines, expected);
}

/* "replayed", of so many records, in no more seconds than have passed. */
static void expect_replayed(const char *before, unsigned records, unsigned skipped, double started)
{
	unsigned found[2];
	double seconds;
	assert_memory_equal(lines, before, strlen(before));
	assert_int_equal(sscanf(lines + strlen(before), "event=replayed records=%u skipped=%u seconds=%lf\n", &found[0],
	                         &found[1], &seconds),
	        3);
	assert_int_equal(found[0], records);
	assert_int_equal(found[1], skipped);
	assert_true(seconds >= 0.0 && seconds <= cop_clock_monotonic() - started + 0.001);
}

static void test_recovery_logs_what_it_replayed_and_cut(void **state)
{
	(void)state;
	cop_recovery recovery;
	cop_diag diag;
	struct stat whole;
	char torn[256], name[COP_JOURNAL_NAME_ROOM];
	const cop_checkpoint_mark mark = { .time = 5e8, .journal_next = 2, .journal_base = 1 };
	double started = cop_clock_monotonic();
	write_segment(1, NULL, 4);
	assert_int_equal(recover(&mark, false, &recovery, &diag), COP_OK);
	expect_replayed("", 3, 0, started);
	assert_true(recovery.time == 1e9 && recovery.next == 5);
	assert_int_equal(stat(path_of(1), &whole), 0);
	FILE *file = fopen(path_of(1), "ab");
	assert_non_null(file);
	assert_int_equal(fwrite("torn", 1, 4, file), 4);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(recover(&mark, false, &recovery, &diag), COP_OK);
	cop_journal_name(1, false, name);
	(void)snprintf(torn, sizeof torn, "event=journal_torn file=\"%s\" offset=%lld bytes=4 cut=1\n", name,
	        (long long)whole.st_size);
	expect_replayed(torn, 3, 0, started);
	assert_int_equal(recover(&mark, false, &recovery, &diag), COP_OK); /* it is whole again */
	expect_replayed("", 3, 0, started);
	const cop_checkpoint_mark all = { .time = 2e9, .journal_next = 5, .journal_base = 1 };
	assert_int_equal(recover(&all, false, &recovery, &diag), COP_OK);
	expect_logged("");
	assert_true(recovery.time == 2e9 && recovery.next == 5 && recovery.applied == 0);
}

static void test_recovery_logs_what_ought_to_be_there(void **state)
{
	(void)state;
	cop_recovery recovery;
	cop_diag diag;
	char expected[256], name[COP_JOURNAL_NAME_ROOM];
	const cop_checkpoint_mark mark = { .journal_next = 9, .journal_base = 5 };
	const cop_checkpoint_mark first = { .journal_next = 2, .journal_base = 1 }, none = { .journal_next = 3 };
	(void)snprintf(expected, sizeof expected, "event=journal_missing file=\"%s\"\n", journal);
	assert_int_equal(recover(&mark, false, &recovery, &diag), COP_OK); /* moved away as a whole */
	expect_logged(expected);
	assert_int_equal(recover(&first, false, &recovery, &diag), COP_OK);
	expect_logged(expected);
	assert_int_equal(recover(&none, false, &recovery, &diag), COP_OK); /* there never was one */
	expect_logged("");
	aside = true;
	assert_int_equal(recover(&mark, false, &recovery, &diag), COP_OK);
	aside = false;
	expect_logged("");
	write_segment(1, NULL, 4);
	assert_int_equal(recover(&mark, true, &recovery, &diag), COP_OK);
	cop_journal_name(5, false, name);
	(void)snprintf(expected, sizeof expected, "event=journal_missing file=\"%s\"\n", name);
	expect_logged(expected);
	write_segment(5, NULL, 2);
	assert_int_equal(recover(&mark, false, &recovery, &diag), COP_OK);
	(void)snprintf(expected, sizeof expected, "event=journal_short file=\"%s\" next=7 checkpoint_next=9\n", name);
	expect_logged(expected);
	assert_int_equal(recovery.next, 9);
	const cop_checkpoint_mark exact = { .journal_next = 7, .journal_base = 5 };
	assert_int_equal(recover(&exact, false, &recovery, &diag), COP_OK);
	expect_logged("");
}

static void test_recovery_makes_the_folder_of_the_journal(void **state)
{
	(void)state;
	cop_recovery recovery;
	cop_diag diag;
	struct stat made;
	const cop_checkpoint_mark mark = { 0 };
	assert_int_equal(rmdir(journal), 0);
	mode_t before = umask(0);
	assert_int_equal(recover(&mark, false, &recovery, &diag), COP_OK);
	(void)umask(before);
	assert_int_equal(stat(journal, &made), 0);
	assert_int_equal(made.st_mode & 0777, 0750);
	assert_int_equal(recovery.next, 1);
	assert_int_equal(drop_folder(NULL), 0);
	assert_int_equal(recover(&mark, false, &recovery, &diag), COP_EIO);
	assert_string_equal(diag.source, journal);
	assert_string_equal(diag.message, "cannot make the journal's folder: No such file or directory");
}

/* A byte of the first record is another one, with more behind it. */
static void test_recovery_of_damage_is_refused_with_the_ways_out(void **state)
{
	(void)state;
	cop_recovery recovery;
	cop_diag diag;
	char where[64];
	const cop_checkpoint_mark mark = { 0 };
	write_segment(1, NULL, 4);
	FILE *file = fopen(path_of(1), "r+b");
	assert_non_null(file);
	assert_int_equal(fseek(file, COP_JOURNAL_HEADER_MIN + 60, SEEK_SET), 0);
	assert_int_equal(fputc(0xff, file), 0xff);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(recover(&mark, false, &recovery, &diag), COP_EFORMAT);
	assert_string_equal(diag.source, path_of(1));
	(void)snprintf(where, sizeof where, "(offset %llu)", (unsigned long long)diag.offset);
	assert_non_null(strstr(diag.message, where));
	assert_non_null(strstr(diag.message, "coppice journal salvage"));
	assert_int_equal(recovery.applied, 0);
}

/* A segment of one record, the models' configuration. */
static void write_config(uint64_t base, const char *text)
{
	cop_bytes bytes, body;
	const cop_wire_record r = { .time = 1e9, .text = text, .text_length = (uint32_t)strlen(text) };
	cop_bytes_init(&bytes);
	cop_bytes_init(&body);
	cop_journal_segment_header_put(&bytes, base, 0, "", 0);
	cop_wire_record_put(&body, COP_WIRE_RECORD_CONFIG, &r);
	cop_journal_record_put(&bytes, base, COP_WIRE_RECORD_CONFIG, body.data, body.length);
	save_segment(base, &bytes);
	cop_bytes_fini(&bytes);
	cop_bytes_fini(&body);
}

static void test_recovery_takes_settings_from_the_journal(void **state)
{
	(void)state;
	cop_recovery recovery;
	cop_diag diag;
	const cop_checkpoint_mark mark = { 0 };
	write_config(1, "sockets { requests = { \"ipc://r\" } }\n"
	                "model \"m\" { learner = dgt arms = 2 features = 2 height = 1 pending_max = 77 }\n");
	assert_int_equal(recover(&mark, false, &recovery, &diag), COP_OK);
	assert_int_equal(pending_most, 77);
	assert_int_equal(recovery.applied, 1);
	write_config(1, "sockets { requests = { \"ipc://r\" } }\nmodel \"m\" { no_such_option = 1 }\n");
	assert_int_equal(recover(&mark, false, &recovery, &diag), COP_EFORMAT);
	assert_non_null(strstr(diag.message, "record 1"));
	assert_int_not_equal(pending_most, 77);
	assert_int_equal(recover(&mark, true, &recovery, &diag), COP_OK);
	assert_int_equal(recovery.skipped, 1);
}

static void test_recovery_nth_allocation_fails_says_so(void **state)
{
	(void)state;
	const cop_checkpoint_mark mark = { 0 };
	unsigned refused = 0;
	write_segment(1, NULL, 4);
	for (fail_at = 1;; fail_at++) {
		cop_recovery recovery;
		cop_diag diag;
		cop_err err = recover(&mark, false, &recovery, &diag);
		if (err == COP_OK && recovery.applied == 4 && fail_at > 200)
			break;
		assert_true(err == COP_OK || err == COP_ENOMEM);
		assert_true(err != COP_OK || recovery.applied == 4);
		if (err == COP_OK)
			continue;
		refused++;
		assert_true(diag.message[0] != '\0');
		assert_memory_equal(diag.source, journal, strlen(journal));
	}
	fail_at = 0;
	assert_true(refused > 3);
}

static void test_recovery_set_aside_fails_where_it_cannot_rename(void **state)
{
	(void)state;
	char to[200];
	cop_diag diag;
	assert_int_equal(cop_recovery_set_aside(journal, to, sizeof to, &diag), COP_OK);
	assert_int_equal(access(to, F_OK), 0);
	assert_int_equal(cop_recovery_set_aside(journal, to, sizeof to, &diag), COP_OK); /* there is none */
	assert_int_equal(chdir(state_dir), 0);
	assert_int_equal(cop_recovery_set_aside(".", to, sizeof to, &diag), COP_EIO); /* busy */
	assert_non_null(strstr(diag.message, "cannot be set aside"));
	assert_int_equal(chdir("/"), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, drop_folder)

/* Without memory to look for it the segment is missing as well. */
static void test_recovery_nth_allocation_fails_never_passes_over_a_missing_segment(void **state)
{
	(void)state;
	const cop_checkpoint_mark mark = { .time = 1e9, .journal_next = 5, .journal_base = 5 };
	bool refused = false;
	write_segment(1, NULL, 4);
	for (fail_at = 1; fail_at <= 200; fail_at++) {
		cop_recovery recovery;
		cop_diag diag;
		cop_err err = recover(&mark, false, &recovery, &diag);
		assert_true(err == COP_ENOMEM || err == COP_EFORMAT);
		refused |= err == COP_ENOMEM;
	}
	fail_at = 0;
	assert_true(refused);
}

static void test_recovery_of_a_journal_that_begins_behind_the_checkpoint_is_refused(void **state)
{
	(void)state;
	cop_recovery recovery;
	cop_diag diag;
	const cop_checkpoint_mark none = { 0 }, mark = { .time = 1e9, .journal_next = 3 };
	assert_int_equal(recover(&none, false, &recovery, &diag), COP_OK);
	expect_logged("");
	write_segment(5, NULL, 4);
	assert_int_equal(recover(&none, false, &recovery, &diag), COP_ENOTFOUND);
	assert_non_null(strstr(diag.message, "begins after record 1,"));
	assert_int_equal(recover(&mark, false, &recovery, &diag), COP_ENOTFOUND);
	assert_string_equal(diag.source, journal);
	assert_non_null(strstr(diag.message, "begins after record 3,"));
	assert_non_null(strstr(diag.message, "--checkpoint-only"));
}

/* A segment of one record, feedback that carries its context. */
static void write_contained(const char *model, size_t candidates)
{
	static const float x[2] = { 0.5f, 1.0f };
	const cop_row candidate = { .d = 1, .dense = x };
	cop_bytes bytes, body;
	cop_wire_record r = { .model = model,
		.model_length = 1,
		.time = 1e9,
		.arms = candidates == 0 ? 2 : 0,
		.candidate = &candidate,
		.candidates = candidates,
		.p = 0.5,
		.has_x = true,
		.loss = { 0.25 },
		.losses = 1,
		.result = COP_WIRE_APPLIED };
	cop_event_id_from_unsigned(&r.id, 1);
	r.x = (cop_row){ .d = 2, .dense = x };
	cop_bytes_init(&bytes);
	cop_bytes_init(&body);
	cop_journal_segment_header_put(&bytes, 1, 0, "", 0);
	cop_wire_record_put(&body, COP_WIRE_RECORD_FEEDBACK, &r);
	cop_journal_record_put(&bytes, 1, COP_WIRE_RECORD_FEEDBACK, body.data, body.length);
	assert_int_equal(bytes.err, COP_OK);
	save_segment(1, &bytes);
	cop_bytes_fini(&bytes);
	cop_bytes_fini(&body);
}

static void test_recovery_of_feedback_with_its_context_is_learned(void **state)
{
	(void)state;
	cop_recovery recovery;
	cop_diag diag;
	const cop_checkpoint_mark mark = { 0 };
	for (size_t candidates = 0; candidates < 2; candidates++) {
		write_contained(candidates == 0 ? "m" : "c", candidates);
		cop_err err = recover(&mark, false, &recovery, &diag);
		if (err != COP_OK)
			fail_msg("%s", diag.message);
		assert_int_equal(recovery.applied, 1);
		assert_int_equal(learned[candidates], 1);
	}
}

static void test_recovery_passes_over_models_that_are_reset(void **state)
{
	(void)state;
	static const char *const others[] = { "mm", "n", "", NULL };
	static const char *const it[] = { "n", "m", NULL };
	const cop_checkpoint_mark mark = { 0 };
	cop_recovery recovery;
	cop_diag diag;
	write_segment(1, NULL, 4);
	for (int i = 0; i < 2; i++) {
		reset = i == 0 ? others : it;
		assert_int_equal(recover(&mark, false, &recovery, &diag), COP_OK);
		assert_int_equal(recovery.applied, 4);
		assert_int_equal(recovery.skipped, i == 0 ? 0 : 4);
		assert_true(recovery.time == (i == 0 ? 1e9 : 0.0));
	}
	reset = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_recovery_of_a_record_without_a_model_is_refused_by_file_and_offset),
		TEST(test_recovery_says_what_of_a_record_does_not_fit),
		TEST(test_recovery_without_the_segment_that_was_written_last_is_refused_by_name),
		TEST(test_recovery_of_strange_numbers_is_refused_by_name),
		TEST(test_recovery_logs_what_it_replayed_and_cut),
		TEST(test_recovery_logs_what_ought_to_be_there),
		TEST(test_recovery_makes_the_folder_of_the_journal),
		TEST(test_recovery_of_damage_is_refused_with_the_ways_out),
		TEST(test_recovery_takes_settings_from_the_journal),
		TEST(test_recovery_nth_allocation_fails_says_so),
		TEST(test_recovery_set_aside_fails_where_it_cannot_rename),
		TEST(test_recovery_nth_allocation_fails_never_passes_over_a_missing_segment),
		TEST(test_recovery_of_a_journal_that_begins_behind_the_checkpoint_is_refused),
		TEST(test_recovery_of_feedback_with_its_context_is_learned),
		TEST(test_recovery_passes_over_models_that_are_reset),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
