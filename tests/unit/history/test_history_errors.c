/* What the other tests of histories do not come by: records of older versions whose result is not told, configurations
 * that cannot be read, models too wide to be read, and readers that are freed half way. */
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

/* Feedback as older versions recorded it. */
static void put_untold(book *b, double time, uint64_t id, double loss)
{
	cop_wire_record r = record_of("m", time, id);
	r.loss[0] = loss;
	r.losses = 1;
	put(b, COP_WIRE_RECORD_FEEDBACK, &r);
}

static void test_feedback_whose_result_is_not_told_is_judged_by_the_rules(void **state)
{
	(void)state;
	book b;
	cop_logged_event event;
	cop_diag diag;
	const cop_wire_model model = told("m");
	open_book(&b, 1, &model, 1);
	put_decision(&b, 1, 1);
	put_decision(&b, 2, 2);
	put_untold(&b, 50, 2, 0.5);   /* in time */
	put_untold(&b, 150, 1, 0.25); /* its window was over, although no record tells of it */
	put_untold(&b, 150, 9, 0.75); /* of nothing */
	close_book(&b);
	cop_event_reader *reader = open_reader(&plain);
	assert_int_equal(cop_event_reader_next(reader, &event, &diag), COP_OK);
	assert_true(event.labelled && event.cost == 0.5);
	assert_int_equal(cop_event_reader_next(reader, &event, &diag), COP_EEND);
	const cop_journal_history_counts *counts = cop_journal_history_get_counts(reader);
	assert_int_equal(counts->feedback, 3);
	assert_int_equal(counts->ignored, 2);
	assert_int_equal(counts->labelled, 1);
	assert_int_equal(cop_journal_history_doubtful(reader), 0);
	cop_event_reader_free(reader);
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
	cop_wire_record r = { .model = "m", .model_length = 1, .time = 500.0, .count = 20 };
	put(&b, COP_WIRE_RECORD_EXPIRY, &r);
	close_book(&b);
	cop_event_reader *reader = open_reader(&plain);
	for (int i = 0; i < 3; i++)
		assert_int_equal(cop_event_reader_next(reader, &event, &diag), COP_OK);
	assert_int_equal(cop_journal_history_get_counts(reader)->records, 21);
	cop_event_reader_free(reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_feedback_whose_result_is_not_told_is_judged_by_the_rules),
		TEST(test_configuration_that_cannot_be_read_costs_itself_only),
		TEST(test_model_of_more_candidates_than_can_be_read_is_refused),
		TEST(test_reader_freed_with_events_to_come_frees_them),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
