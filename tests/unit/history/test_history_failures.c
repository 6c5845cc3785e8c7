/* Reading the events of a journal with every allocation and every call to the operating system failing in turn
 * (support_fail.h). */
#include "support.h"

#include "history/forget.h"
#include "history_fixture.h"
#include "support_fail.h"

static cop_journal_history_settings settings;

/* The number of the record that would come next. Two models; of "m": decisions that are answered, deferred, unheard,
 * evicted, answered twice or not at all, windows that end, a configuration, and feedback that holds all it needs. */
static uint64_t write_everything(void)
{
	book b;
	float room[FEATURES];
	cop_bytes set;
	cop_wire_model models[] = { told("m"), told("other") };
	models[0].reward = COP_WIRE_REWARD_SUM;
	open_book(&b, 1, models, 2);
	for (uint64_t id = 1; id <= 80; id++)
		put_decision(&b, (double)id, id);
	put_feedback(&b, 81.0, 1, 0.5, COP_WIRE_RECORDED);
	put_feedback(&b, 82.0, 1, 0.25, COP_WIRE_RECORDED);
	put_feedback(&b, 83.0, 2, 0.5, COP_WIRE_APPLIED);
	put_deferred(&b, 84.0, 100);
	put_unheard(&b, 85.0, 3);
	put_activation(&b, 86.0, 100, COP_WIRE_APPLIED);
	cop_wire_record whole = decision_of("m", 87.0, 200, room);
	whole.loss[0] = 0.75;
	whole.losses = 1;
	put(&b, COP_WIRE_RECORD_FEEDBACK, &whole);
	cop_bytes_init(&set);
	assert_int_equal(cop_wire_models_put(&set, models, 2, 65536), 2);
	const cop_wire_record config = { .text = "", .models = set.data, .models_length = set.length };
	put(&b, COP_WIRE_RECORD_CONFIG, &config);
	cop_bytes_fini(&set);
	EXPIRE(&b, 150.0, { 1, COP_WIRE_OUTCOME_RECORDED, 0.25 }, { 3, COP_WIRE_OUTCOME_UNANSWERED, 0.0 },
	        { 4, COP_WIRE_OUTCOME_UNANSWERED, 0.0 });
	close_book(&b);
	open_book(&b, b.next, models, 2);
	put_decision(&b, 160.0, 300);
	put_feedback(&b, 161.0, 300, 1.0, COP_WIRE_APPLIED);
	close_book(&b);
	return b.next;
}

static cop_err read_events(void *context, cop_diag *diag)
{
	size_t *events = context;
	cop_event_reader *reader;
	cop_logged_event event;
	*events = 0;
	cop_err err = cop_journal_history_open(folder, &settings, &reader, diag);
	assert_int_equal(reader != NULL, err == COP_OK);
	if (err != COP_OK)
		return err;
	while ((err = cop_event_reader_next(reader, &event, diag)) == COP_OK)
		++*events;
	cop_diag again;
	cop_err sticky = cop_event_reader_next(reader, &event, &again);
	assert_int_equal(sticky, err);
	if (err != COP_EEND)
		assert_string_equal(again.message, diag->message);
	cop_event_reader_free(reader);
	return err;
}

static void check_events(void *context, bool failed)
{
	const size_t *events = context;
	if (!failed)
		assert_int_equal(*events, settings.unanswered ? 82 : 4);
}

#define OPEN   COP_TEST_IO_OPEN
#define OTHERS (COP_TEST_IO_LIST | COP_TEST_IO_STAT)

static void test_events_under_every_failure_end_with_its_error(void **state)
{
	(void)state;
	size_t events;
	/* Names are read from headers first, where what cannot be read is passed over. */
	const cop_test_attempt whole = { "whole", NULL, read_events, check_events, COP_EEND, .calls = OTHERS,
		.tolerated = OPEN | COP_TEST_IO_READ | COP_TEST_IO_CLOSE, .allocations = 60, .failures = 12 };
	const cop_test_attempt intact = { "intact", NULL, read_events, check_events, COP_EEND, .calls = OTHERS,
		.tolerated = OPEN | COP_TEST_IO_READ | COP_TEST_IO_CLOSE, .allocations = 60, .failures = 12 };
	(void)write_everything();
	settings = (cop_journal_history_settings){ .model = "m", .unanswered = true };
	cop_test_fail_each(&whole, &events);
	settings.unanswered = false;
	cop_test_fail_each(&whole, &events);
	settings.skip = true;
	cop_test_fail_each(&intact, &events);
}

static cop_err forget(void *context, cop_diag *diag)
{
	cop_journal_rewritten done;
	cop_forget_plan *plan;
	cop_forget_whom whom = { .unit = false };
	(void)context;
	cop_event_id_from_unsigned(&whom.name, 3);
	cop_err err = cop_forget_plan_new(&whom, &plan);
	if (err != COP_OK) {
		cop_diag_message(diag, "%s", cop_err_text(err));
		return err;
	}
	err = cop_forget_scan(plan, folder, UINT64_MAX, diag);
	if (err == COP_OK)
		err = cop_forget_erase(plan, folder, &done, diag);
	cop_forget_plan_free(plan);
	return err;
}

static void write_and_close(void *context)
{
	book b;
	(void)context;
	empty_folder();
	open_book(&b, write_everything(), NULL, 0);
	close_book(&b);
}

static void test_forgetting_under_every_failure_ends_with_its_error(void **state)
{
	(void)state;
	const cop_test_attempt attempt = { "forget", write_and_close, forget, NULL, COP_OK,
		.calls = COP_TEST_IO_RENAME | COP_TEST_IO_LIST | COP_TEST_IO_MODE,
		.tolerated = COP_TEST_IO_EVERY & ~(unsigned)(COP_TEST_IO_RENAME | COP_TEST_IO_LIST | COP_TEST_IO_MODE),
		.allocations = 30, .failures = 12 };
	cop_test_fail_each(&attempt, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_events_under_every_failure_end_with_its_error),
		TEST(test_forgetting_under_every_failure_ends_with_its_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
