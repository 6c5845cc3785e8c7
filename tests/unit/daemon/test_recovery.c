/* Recovery from journals that this test writes, record by record: what is refused, and by which name. */
#include "daemon/recovery.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
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

/* A segment with these records from `base` on; bodies[i].length 0: a right decision of model m. */
static void write_segment(uint64_t base, const cop_bytes *bodies, size_t count)
{
	static const float x[2] = { 0.5f, 1.0f };
	cop_bytes bytes, body;
	cop_bytes_init(&bytes);
	cop_bytes_init(&body);
	cop_journal_header_put(&bytes, base, "", 0);
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
	FILE *file = fopen(path_of(base), "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes.data, 1, bytes.length, file), bytes.length);
	assert_int_equal(fclose(file), 0);
	cop_bytes_fini(&bytes);
	cop_bytes_fini(&body);
}

static cop_err recover(const cop_checkpoint_mark *mark, bool salvaged, cop_recovery *recovery, cop_diag *diag)
{
	static const char text[] = "sockets { requests = { \"ipc://r\" } }\n"
	                           "model \"m\" { learner = \"dgt\" arms = 2 features = 2 height = 1 }\n";
	cop_config *config;
	cop_config_report report;
	cop_served_set set;
	cop_config_report_init(&report);
	assert_int_equal(cop_config_parse(text, strlen(text), "test", NULL, &config, &report), COP_OK);
	cop_config_report_fini(&report);
	assert_int_equal(cop_served_init(&set, config, NULL), COP_OK);
	*recovery = (cop_recovery){ .state_dir = state_dir, .folder = journal, .salvaged = salvaged };
	diag->message[0] = diag->source[0] = '\0';
	cop_err err = cop_recovery_run(recovery, &set, mark, diag);
	cop_served_fini(&set);
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
	/* Unknown to checkpoints of older versions; one that begins later but not behind the mark will do. */
	const cop_checkpoint_mark older = { .time = 1e9, .journal_next = 5 };
	assert_int_equal(recover(&older, false, &recovery, &diag), COP_OK);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_recovery_of_a_record_without_a_model_is_refused_by_file_and_offset),
		TEST(test_recovery_says_what_of_a_record_does_not_fit),
		TEST(test_recovery_without_the_segment_that_was_written_last_is_refused_by_name),
		TEST(test_recovery_of_strange_numbers_is_refused_by_name),
		TEST(test_recovery_set_aside_fails_where_it_cannot_rename),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
