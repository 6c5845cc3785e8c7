/* What the other tests of histories do not come by: configurations that cannot be read, models too wide to be read, and
 * readers that are freed half way. */
#include "support.h"

#include "history_fixture.h"

static const cop_journal_history_settings plain = { .model = "" };

static cop_event_reader *open_reader(const cop_journal_history_settings *settings)
{
	cop_event_reader *reader;
	cop_diag diag = { .message = "" };
	if (cop_journal_history_open(folder, settings, &reader, &diag) != COP_OK)
		fail_msg("%s", diag.message);
	return reader;
}

static void test_configuration_that_cannot_be_read_costs_itself_only(void **state)
{
	(void)state;
	book b;
	cop_logged_event event;
	cop_diag diag = { .message = "" };
	const cop_wire_model model = told("m");
	open_book(&b, 1, &model, 1);
	put_body(&b, COP_WIRE_RECORD_CONFIG, "\x81\xa4text\x07", 7); /* a number where a text is wanted */
	put_decision(&b, 1, 1);
	put_feedback(&b, 2, 1, 0.5, COP_WIRE_APPLIED);
	close_book(&b);
	cop_event_reader *reader = open_reader(&plain);
	assert_int_equal(cop_event_reader_next(reader, &event, &diag), COP_EFORMAT);
	assert_non_null(strstr(diag.message, "record 1"));
	assert_non_null(strstr(diag.message, "text"));
	assert_int_equal(cop_event_reader_next(reader, &event, &diag), COP_OK);
	assert_int_equal(cop_event_reader_next(reader, &event, &diag), COP_EEND);
	assert_int_equal(cop_journal_history_get_counts(reader)->bad, 1);
	cop_event_reader_free(reader);
}

static void test_model_of_more_candidates_than_can_be_read_is_refused(void **state)
{
	(void)state;
	book b;
	cop_event_reader *reader = NULL;
	cop_logged_event event;
	cop_diag diag = { .message = "" };
	cop_wire_model model = told("m");
	model.arms = 0;
	model.max_candidates = model.candidate_features = COP_WIRE_MODEL_WIDEST;
	open_book(&b, 1, &model, 1);
	put_decision(&b, 1, 1);
	close_book(&b);
	cop_err err = cop_journal_history_open(folder, &plain, &reader, &diag);
	if (err == COP_OK)
		err = cop_event_reader_next(reader, &event, &diag);
	assert_true(err != COP_OK && err != COP_EEND);
	assert_non_null(strstr(diag.message, "too much to read"));
	assert_non_null(strstr(diag.message, "model \"m\""));
	cop_event_reader_free(reader);
}

/* Many windows end with one record; what is not asked for is freed with the reader. */
static void test_reader_freed_with_events_to_come_frees_them(void **state)
{
	(void)state;
	book b;
	cop_logged_event event;
	cop_diag diag;
	cop_wire_model model = told("m");
	model.has_default_loss = true;
	model.default_loss = 0.5;
	open_book(&b, 1, &model, 1);
	for (uint64_t id = 1; id <= 20; id++)
		put_decision(&b, (double)id, id);
	ending endings[20];
	for (uint64_t i = 0; i < 20; i++)
		endings[i] = (ending){ i + 1, COP_WIRE_OUTCOME_DEFAULT, 0.5 };
	put_expiry(&b, 500.0, endings, 20);
	close_book(&b);
	cop_event_reader *reader = open_reader(&plain);
	for (int i = 0; i < 3; i++)
		assert_int_equal(cop_event_reader_next(reader, &event, &diag), COP_OK);
	assert_int_equal(cop_journal_history_get_counts(reader)->records, 21);
	cop_event_reader_free(reader);
}

/* The next event, and the error that comes instead of it where `text` is not NULL. */
static void expect_error(cop_event_reader *reader, cop_err expected, const char *text)
{
	cop_logged_event event;
	cop_diag diag = { .message = "" };
	assert_int_equal(cop_event_reader_next(reader, &event, &diag), expected);
	if (text != NULL && strstr(diag.message, text) == NULL)
		fail_msg("%s", diag.message);
}

/* The journal has one event of model m. */
static void expect_one_event(void)
{
	const cop_journal_history_settings named = { .model = "m" };
	cop_event_reader *reader = open_reader(&named);
	expect_error(reader, COP_OK, NULL);
	expect_error(reader, COP_EEND, NULL);
	assert_true(cop_journal_history_get_model(reader)->told);
	cop_event_reader_free(reader);
}

static void test_model_is_not_read_behind_a_header_that_is_no_model_set(void **state)
{
	(void)state;
	book b;
	const cop_journal_settings settings = { .model_set = "\x07none", .model_set_length = 5 };
	assert_int_equal(cop_journal_writer_open(folder, &settings, 1, &b.writer, NULL), COP_OK);
	cop_bytes_init(&b.batch);
	b.next = 1;
	put_decision(&b, 1, 1);
	put_feedback(&b, 2, 1, 0.5, COP_WIRE_APPLIED);
	close_book(&b);
	const cop_journal_history_settings named = { .model = "m" };
	cop_event_reader *reader = open_reader(&named);
	expect_error(reader, COP_ESHAPE, "no header describes model \"m\"");
	cop_event_reader_free(reader);
}

/* A segment whose header tells of others only changes nothing. */
static void test_header_without_the_model_leaves_it_as_it_was(void **state)
{
	(void)state;
	book b;
	const cop_wire_model model = told("m"), other = told("other");
	open_book(&b, 1, &model, 1);
	put_decision(&b, 1, 1);
	close_book(&b);
	open_book(&b, b.next, &other, 1);
	put_feedback(&b, 2, 1, 0.5, COP_WIRE_APPLIED);
	close_book(&b);
	expect_one_event();
}

static void test_records_of_challengers_and_without_a_name_are_passed_over(void **state)
{
	(void)state;
	book b;
	const cop_wire_model model = told("m");
	char name[COP_WIRE_MODEL_NAME + 2];
	memset(name, 'm', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	open_book(&b, 1, &model, 1);
	put_decision(&b, 1, 1);
	const cop_wire_record promotion = {
		.model = "m", .model_length = 1, .time = 2.0, .promotion = COP_WIRE_PROMOTION_PROMOTE
	};
	put(&b, COP_WIRE_RECORD_PROMOTION, &promotion);
	for (size_t length = sizeof name - 2; length < sizeof name; length++) {
		cop_wire_record r = record_of(name, 3.0, 7);
		r.model_length = length;
		r.losses = 1;
		put(&b, COP_WIRE_RECORD_FEEDBACK, &r);
	}
	put_body(&b, COP_WIRE_RECORD_FEEDBACK, "\x80", 1);
	put_feedback(&b, 4, 1, 0.5, COP_WIRE_APPLIED);
	close_book(&b);
	cop_event_reader *reader = open_reader(&plain);
	expect_error(reader, COP_OK, NULL);
	expect_error(reader, COP_EEND, NULL);
	assert_int_equal(cop_journal_history_get_counts(reader)->records, 3);
	assert_int_equal(cop_journal_history_get_counts(reader)->bad, 0);
	cop_event_reader_free(reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_configuration_that_cannot_be_read_costs_itself_only),
		TEST(test_model_of_more_candidates_than_can_be_read_is_refused),
		TEST(test_reader_freed_with_events_to_come_frees_them),
		TEST(test_model_is_not_read_behind_a_header_that_is_no_model_set),
		TEST(test_header_without_the_model_leaves_it_as_it_was),
		TEST(test_records_of_challengers_and_without_a_name_are_passed_over),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
