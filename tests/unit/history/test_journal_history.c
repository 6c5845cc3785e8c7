/* Journals written by hand, read as events. */
#include "support.h"

#include <math.h>

#include "history_fixture.h"
#include "store/journal_reader.h"

static const cop_journal_history_settings plain = { .model = "" };
static const cop_journal_history_settings all = { .model = "", .unanswered = true };

/* One event to come: labelled with this loss, or (NaN) not. */
typedef struct wanted {
	uint64_t id;
	double loss;
} wanted;

static void check_event(const cop_logged_event *event, const wanted *want)
{
	assert_int_equal(id_of(event), want->id);
	assert_int_equal(event->labelled, !isnan(want->loss));
	assert_int_equal(event->learn, event->labelled);
	if (event->labelled)
		assert_true(event->cost == want->loss);
	assert_non_null(event->x.dense);
	assert_int_equal(event->x.d, FEATURES);
	assert_true(event->x.dense[0] == (float)want->id);
	assert_int_equal(event->action, want->id % ARMS);
	assert_true(event->p == 1.0 / (1.0 + (double)want->id));
	assert_true(event->weight == 1.0 && event->candidates == 0 && event->features == FEATURES + 1);
	assert_true(event->line >= 1 && event->text > COP_JOURNAL_FRAME_HEAD);
}

static void check_events(cop_event_reader *reader, const wanted *want, size_t count)
{
	cop_logged_event event;
	cop_diag diag = { .message = "" };
	for (size_t i = 0; i < count; i++) {
		cop_err err = cop_event_reader_next(reader, &event, &diag);
		if (err != COP_OK)
			fail_msg("event %zu: %s: %s", i, cop_err_text(err), diag.message);
		check_event(&event, &want[i]);
	}
	assert_int_equal(cop_event_reader_next(reader, &event, &diag), COP_EEND);
	assert_int_equal(cop_event_reader_next(reader, &event, &diag), COP_EEND);
}

static void check_journal(const cop_journal_history_settings *settings, const wanted *want, size_t count,
        cop_journal_history_counts *counts)
{
	cop_event_reader *reader = open_history(settings);
	check_events(reader, want, count);
	if (counts != NULL)
		*counts = *cop_journal_history_get_counts(reader);
	cop_event_reader_free(reader);
}

#define CHECK(settings, counts, ...)                                                                                   \
	do {                                                                                                           \
		const wanted want_[] = { __VA_ARGS__ };                                                                \
		check_journal(settings, want_, sizeof want_ / sizeof *want_, counts);                                  \
	} while (0)

static void test_feedback_joins_its_decision_in_the_order_of_learning(void **state)
{
	(void)state;
	book b;
	cop_journal_history_counts counts;
	const cop_wire_model model = told("m");
	open_book(&b, 1, &model, 1);
	for (uint64_t id = 1; id <= 5; id++)
		put_decision(&b, (double)id, id);
	put_feedback(&b, 6, 3, 0.25, COP_WIRE_APPLIED);
	put_feedback(&b, 7, 1, 1.0, COP_WIRE_APPLIED);
	put_feedback(&b, 7, 3, 0.5, COP_WIRE_DUPLICATE);
	put_feedback(&b, 8, 77, 0.5, COP_WIRE_UNKNOWN);
	EXPIRE(&b, 103, { 2, COP_WIRE_OUTCOME_UNANSWERED, 0.0 });
	put_feedback(&b, 104, 2, 0.5, COP_WIRE_LATE);
	put_feedback(&b, 104, 76, 0.5, COP_WIRE_APPLIED); /* decided before the oldest segment */
	put_feedback(&b, 104, 5, 0.0, COP_WIRE_APPLIED);
	close_book(&b);
	CHECK(&plain, &counts, { 3, 0.25 }, { 1, 1.0 }, { 5, 0.0 });
	assert_true(counts.records == 13 && counts.decisions == 5 && counts.feedback == 7);
	assert_true(counts.labelled == 3 && counts.unanswered == 2 && counts.ignored == 3 && counts.unjoined == 1);
	CHECK(&all, NULL, { 3, 0.25 }, { 1, 1.0 }, { 2, (double)NAN }, { 5, 0.0 }, { 4, (double)NAN });
}

static void test_mask_and_origin_come_along(void **state)
{
	(void)state;
	book b;
	float room[FEATURES];
	const uint8_t mask[ARMS] = { 0, 1, 0, 1 };
	const cop_wire_model model = told("m");
	open_book(&b, 1, &model, 1);
	cop_wire_record r = decision_of("m", 5.0, 9, room);
	r.mask = mask;
	put(&b, COP_WIRE_RECORD_DECISION, &r);
	put_feedback(&b, 6.5, 9, 0.25, COP_WIRE_APPLIED);
	close_book(&b);
	cop_event_reader *reader = open_history(&plain);
	cop_logged_event event;
	assert_int_equal(cop_event_reader_next(reader, &event, NULL), COP_OK);
	assert_int_equal(event.arms, ARMS);
	assert_memory_equal(event.mask, mask, ARMS);
	assert_int_equal(event.line, 1);
	const cop_journal_history_origin *origin = cop_journal_history_get_origin(reader);
	assert_true(origin->sequence == 1 && origin->learned == 2 && !origin->defaulted && !origin->self_contained);
	assert_true(origin->time == 5.0 && origin->learned_time == 6.5);
	const cop_journal_history_model *m = cop_journal_history_get_model(reader);
	assert_string_equal(m->name, "m");
	assert_string_equal(m->learner, "dgt");
	assert_true(m->told && m->features == FEATURES && m->arms == ARMS && m->loss_range[1] == 1.0);
	cop_event_reader_free(reader);
}

/* joined: its decision waited, with this action; else, where `another` is set, with another one. */
static void put_self_contained(
        book *b, double time, uint64_t id, double loss, cop_wire_result result, bool joined, bool another)
{
	float room[FEATURES];
	const ending other = { id, COP_WIRE_OUTCOME_ANOTHER, 0.0 };
	cop_wire_record r = decision_of("m", time, id, room);
	r.loss[0] = loss;
	r.losses = 1;
	r.result = result;
	r.joined = joined;
	put_ending(b, COP_WIRE_RECORD_FEEDBACK, &r, &other, another);
}

/* Whose decision it was makes no difference: the event has the arm and propensity that were played. */
static void test_observed_decisions_are_events_of_the_system(void **state)
{
	(void)state;
	book b;
	float room[FEATURES];
	cop_logged_event event;
	cop_diag diag = { 0 };
	const cop_wire_model model = told("m");
	open_book(&b, 1, &model, 1);
	cop_wire_record observed = decision_of("m", 1, 7, room);
	observed.a = 1;
	observed.p = 0.125;
	observed.observed = true;
	observed.own_p = 0.75;
	put(&b, COP_WIRE_RECORD_DECISION, &observed);
	put_feedback(&b, 2, 7, 0.25, COP_WIRE_APPLIED);
	cop_wire_record answered = observed; /* complete with its loss */
	cop_event_id_from_unsigned(&answered.id, 8);
	answered.time = 3;
	answered.losses = 1;
	answered.loss[0] = 0.5;
	answered.result = COP_WIRE_APPLIED;
	put(&b, COP_WIRE_RECORD_FEEDBACK, &answered);
	close_book(&b);
	cop_event_reader *reader = open_history(&all);
	for (uint64_t id = 7; id <= 8; id++) {
		assert_int_equal(cop_event_reader_next(reader, &event, &diag), COP_OK);
		assert_true(id_of(&event) == id && event.action == 1 && event.p == 0.125);
		assert_true(event.cost == (id == 7 ? 0.25 : 0.5));
	}
	assert_int_equal(cop_event_reader_next(reader, &event, &diag), COP_EEND);
	cop_event_reader_free(reader);
}

static void test_self_contained_feedback_is_an_event_of_its_own(void **state)
{
	(void)state;
	book b;
	float room[FEATURES];
	cop_journal_history_counts counts;
	const cop_wire_model model = told("m");
	open_book(&b, 1, &model, 1);
	put_self_contained(&b, 1, 7, 0.5, COP_WIRE_APPLIED, false, false);
	put_self_contained(&b, 1, 7, 0.5, COP_WIRE_DUPLICATE, false, false);
	put_decision(&b, 2, 8); /* the same arm: the decision counts */
	put_self_contained(&b, 3, 8, 0.75, COP_WIRE_APPLIED, true, false);
	cop_wire_record other = decision_of("m", 4, 9, room); /* another arm was played: the feedback counts */
	other.a = 3;
	put(&b, COP_WIRE_RECORD_DECISION, &other);
	put_self_contained(&b, 5, 9, 1.0, COP_WIRE_APPLIED, false, true);
	close_book(&b);
	CHECK(&all, &counts, { 7, 0.5 }, { 8, 0.75 }, { 9, 1.0 });
	assert_true(counts.self_contained == 2 && counts.labelled == 3 && counts.unanswered == 0);
}

static void test_default_loss_is_learned_at_the_windows_end(void **state)
{
	(void)state;
	book b;
	cop_journal_history_counts counts;
	cop_wire_model model = told("m");
	model.has_default_loss = true;
	model.default_loss = 0.625;
	open_book(&b, 1, &model, 1);
	put_decision(&b, 1, 1);
	put_decision(&b, 2, 2);
	put_decision(&b, 3, 3);
	put_deferred(&b, 3, 4);
	put_feedback(&b, 4, 2, 0.25, COP_WIRE_APPLIED);
	EXPIRE(&b, 104, { 1, COP_WIRE_OUTCOME_DEFAULT, 0.625 }, { 3, COP_WIRE_OUTCOME_DEFAULT, 0.625 },
	        { 4, COP_WIRE_OUTCOME_UNANSWERED, 0.0 });
	put_decision(&b, 104, 5); /* waits to the end */
	close_book(&b);
	CHECK(&plain, &counts, { 2, 0.25 }, { 1, 0.625 }, { 3, 0.625 });
	assert_true(counts.defaulted == 2 && counts.labelled == 3 && counts.not_shown == 1 && counts.unanswered == 1);
	CHECK(&all, NULL, { 2, 0.25 }, { 1, 0.625 }, { 3, 0.625 }, { 5, (double)NAN });
}

/* The rules themselves are the model's: test_history_join. */
static void test_recorded_losses_are_learned_as_the_windows_end_reports(void **state)
{
	(void)state;
	book b;
	cop_journal_history_counts counts;
	cop_wire_model model = told("m");
	model.loss_range[0] = -1.0;
	model.loss_range[1] = 2.0;
	model.reward = COP_WIRE_REWARD_SUM;
	open_book(&b, 1, &model, 1);
	put_decision(&b, 1, 1);
	put_decision(&b, 2, 2);
	put_decision(&b, 3, 3);
	put_feedback(&b, 4, 2, 1.5, COP_WIRE_RECORDED);
	put_feedback(&b, 5, 2, 1.25, COP_WIRE_RECORDED);
	put_feedback(&b, 5, 1, 0.5, COP_WIRE_RECORDED);
	put_feedback(&b, 6, 1, -0.25, COP_WIRE_RECORDED);
	put_feedback(&b, 7, 1, 1.0, COP_WIRE_DUPLICATE);
	EXPIRE(&b, 103, { 1, COP_WIRE_OUTCOME_RECORDED, 0.25 }, { 2, COP_WIRE_OUTCOME_RECORDED, 2.0 },
	        { 3, COP_WIRE_OUTCOME_UNANSWERED, 0.0 });
	close_book(&b);
	CHECK(&all, &counts, { 1, 0.25 }, { 2, 2.0 }, { 3, (double)NAN });
	assert_true(counts.feedback == 5 && counts.ignored == 1 && counts.labelled == 2 && counts.defaulted == 0);
}

static void test_deferred_decision_counts_when_it_was_shown_or_answered(void **state)
{
	(void)state;
	book b;
	cop_journal_history_counts counts;
	cop_wire_model model = told("m");
	model.has_default_loss = true;
	open_book(&b, 1, &model, 1);
	for (uint64_t id = 1; id <= 4; id++)
		put_deferred(&b, 1, id);
	put_decision(&b, 20, 5);
	put_activation(&b, 50, 1, COP_WIRE_APPLIED);
	put_activation(&b, 50, 99, COP_WIRE_UNKNOWN);
	put_activation(&b, 60, 2, COP_WIRE_APPLIED);
	put_activation(&b, 60, 4, COP_WIRE_LATE);
	put_feedback(&b, 70, 3, 1.0, COP_WIRE_APPLIED);           /* never activated, but answered */
	EXPIRE(&b, 101, { 4, COP_WIRE_OUTCOME_UNANSWERED, 0.0 }); /* never shown */
	EXPIRE(&b, 120, { 5, COP_WIRE_OUTCOME_DEFAULT, 0.0 });
	put_feedback(&b, 140, 1, 0.5, COP_WIRE_APPLIED);
	EXPIRE(&b, 160, { 2, COP_WIRE_OUTCOME_DEFAULT, 0.0 });
	close_book(&b);
	CHECK(&all, &counts, { 3, 1.0 }, { 5, 0.0 }, { 1, 0.5 }, { 2, 0.0 });
	assert_true(counts.not_shown == 1 && counts.defaulted == 2 && counts.unanswered == 0);
}

static void test_unheard_decision_has_no_default_and_counts_when_it_was_answered(void **state)
{
	(void)state;
	book b;
	cop_journal_history_counts counts;
	cop_wire_model model = told("m");
	model.has_default_loss = true;
	model.default_loss = 1.0;
	open_book(&b, 1, &model, 1);
	for (uint64_t id = 1; id <= 4; id++)
		put_decision(&b, 1, id);
	put_deferred(&b, 1, 5);
	for (uint64_t id = 2; id <= 5; id++)
		put_unheard(&b, 2, id);
	put_unheard(&b, 2, 99);                          /* of a decision before the journal */
	put_activation(&b, 50, 5, COP_WIRE_APPLIED);     /* who shows it has heard of it */
	put_feedback(&b, 70, 3, 0.25, COP_WIRE_APPLIED); /* as who answers */
	EXPIRE(&b, 101, { 1, COP_WIRE_OUTCOME_DEFAULT, 1.0 }, { 2, COP_WIRE_OUTCOME_UNANSWERED, 0.0 },
	        { 4, COP_WIRE_OUTCOME_UNANSWERED, 0.0 });
	EXPIRE(&b, 150, { 5, COP_WIRE_OUTCOME_DEFAULT, 1.0 });
	close_book(&b);
	CHECK(&all, &counts, { 3, 0.25 }, { 1, 1.0 }, { 5, 1.0 });
	assert_true(counts.not_shown == 2 && counts.defaulted == 2 && counts.unanswered == 0 && counts.bad == 0);
}

static void test_what_gave_way_at_a_bound_is_learned_only_if_it_was_answered(void **state)
{
	(void)state;
	book b;
	float room[FEATURES];
	cop_wire_model model = told("m");
	model.reward = COP_WIRE_REWARD_LAST;
	model.has_default_loss = true;
	open_book(&b, 1, &model, 1);
	put_decision(&b, 1, 1);
	put_decision(&b, 1, 2);
	put_feedback(&b, 2, 2, 0.25, COP_WIRE_RECORDED);
	cop_wire_record r = decision_of("m", 3, 3, room);
	const ending gave_way[] = { { 1, COP_WIRE_OUTCOME_GAVE_WAY, 0.0 }, { 2, COP_WIRE_OUTCOME_LEARNED_WAY, 0.25 } };
	put_ending(&b, COP_WIRE_RECORD_DECISION, &r, gave_way, 2);
	EXPIRE(&b, 103, { 3, COP_WIRE_OUTCOME_DEFAULT, 0.0 });
	close_book(&b);
	CHECK(&all, NULL, { 1, (double)NAN }, { 2, 0.25 }, { 3, 0.0 });
}

static void test_expiry_that_lags_behind_ends_as_many_as_it_counts(void **state)
{
	(void)state;
	book b;
	static wanted want[602];
	cop_wire_model model = told("m");
	model.has_default_loss = true;
	open_book(&b, 1, &model, 1);
	for (uint64_t id = 1; id <= 600; id++)
		put_decision(&b, 1, id);
	static ending endings[600];
	for (uint64_t i = 0; i < 600; i++)
		endings[i] = (ending){ i + 1, COP_WIRE_OUTCOME_DEFAULT, 0.0 };
	for (uint64_t i = 0; i < 3; i++) { /* 256 of 600, then another decision, and so on; 88 in the end */
		put_expiry(&b, 500, &endings[256 * i], i < 2 ? 256 : 88);
		if (i < 2) {
			put_decision(&b, 500, 1000 + i);
			put_feedback(&b, 500, 1000 + i, 0.5, COP_WIRE_APPLIED);
		}
	}
	close_book(&b);
	for (size_t i = 0, id = 1; i < 602; i++) {
		bool answered = i == 256 || i == 513;
		want[i] = (wanted){ .id = answered ? 1000 + i / 300 : id, .loss = answered ? 0.5 : 0.0 };
		id += !answered;
	}
	check_journal(&plain, want, 602, NULL);
}

static void test_decision_whose_end_no_record_reports_is_unanswered(void **state)
{
	(void)state;
	book b;
	cop_wire_model model = told("m");
	model.has_default_loss = true;
	open_book(&b, 1, &model, 1);
	for (uint64_t id = 1; id <= 4; id++)
		put_decision(&b, (double)id, id);
	EXPIRE(&b, 400, { 3, COP_WIRE_OUTCOME_DEFAULT, 0.0 }, { 77, COP_WIRE_OUTCOME_DEFAULT, 0.0 });
	put_decision(&b, 401, 2); /* anew, so the first one was over */
	close_book(&b);
	CHECK(&all, NULL, { 3, 0.0 }, { 2, (double)NAN }, { 1, (double)NAN }, { 4, (double)NAN }, { 2, (double)NAN });
}

static void test_events_go_on_over_a_reload(void **state)
{
	(void)state;
	book b;
	cop_bytes set;
	cop_wire_model model = told("m");
	cop_bytes_init(&set);
	open_book(&b, 1, &model, 1);
	put_decision(&b, 1, 1);
	model.reward = COP_WIRE_REWARD_SUM;
	model.reward_window = 10.0;
	model.has_default_loss = true;
	model.default_loss = 0.125;
	assert_int_equal(cop_wire_models_put(&set, &model, 1, 65536), 1);
	cop_wire_record config = { .time = 2, .text = "", .models = set.data, .models_length = set.length };
	put(&b, COP_WIRE_RECORD_CONFIG, &config);
	put_decision(&b, 2, 2);
	put_feedback(&b, 3, 2, 0.25, COP_WIRE_RECORDED);
	put_feedback(&b, 3, 2, 0.25, COP_WIRE_RECORDED);
	put_feedback(&b, 3, 1, 0.75, COP_WIRE_APPLIED); /* decided under the first rule */
	put_decision(&b, 4, 3);
	EXPIRE(&b, 14, { 2, COP_WIRE_OUTCOME_RECORDED, 0.5 }, { 3, COP_WIRE_OUTCOME_DEFAULT, 0.125 });
	close_book(&b);
	cop_bytes_fini(&set);
	CHECK(&all, NULL, { 1, 0.75 }, { 2, 0.5 }, { 3, 0.125 });
}

/* Expects that a journal cannot be opened, or not be read to its end. */
static cop_err failure(const cop_journal_history_settings *settings, cop_diag *diag)
{
	cop_event_reader *reader;
	cop_logged_event event;
	diag->message[0] = '\0';
	cop_err err = cop_journal_history_open(folder, settings, &reader, diag);
	if (err != COP_OK) {
		assert_null(reader);
		return err;
	}
	while ((err = cop_event_reader_next(reader, &event, diag)) == COP_OK)
		;
	cop_event_reader_free(reader);
	return err;
}

static void test_several_models_want_a_name(void **state)
{
	(void)state;
	book b;
	cop_diag diag;
	const cop_wire_model models[] = { told("m"), told("other") };
	open_book(&b, 1, models, 2);
	put_decision(&b, 1, 1);
	put_feedback(&b, 2, 1, 0.5, COP_WIRE_APPLIED);
	float room[FEATURES];
	cop_wire_record r = decision_of("other", 3, 2, room);
	put(&b, COP_WIRE_RECORD_DECISION, &r);
	close_book(&b);
	assert_int_equal(failure(&plain, &diag), COP_EINVAL);
	assert_non_null(strstr(diag.message, "m, other"));
	const cop_journal_history_settings wrong = { .model = "third" };
	assert_int_equal(failure(&wrong, &diag), COP_ENOTFOUND);
	assert_non_null(strstr(diag.message, "third"));
	assert_non_null(strstr(diag.message, "m, other"));
	const cop_journal_history_settings first = { .model = "m" };
	const cop_journal_history_settings second = { .model = "other", .unanswered = true };
	CHECK(&first, NULL, { 1, 0.5 });
	CHECK(&second, NULL, { 2, (double)NAN });
}

#define MANY 40

static void test_names_of_many_models_are_listed_as_far_as_they_fit(void **state)
{
	(void)state;
	static char names[MANY][COP_WIRE_MODEL_NAME + 1];
	static cop_wire_model models[MANY];
	char list[MANY * (COP_WIRE_MODEL_NAME + 2)] = "";
	book b;
	cop_diag diag;
	for (int i = 0; i < MANY; i++) {
		(void)snprintf(names[i], sizeof names[i], i == MANY - 1 ? "%064d" : "model-%02d", i);
		(void)snprintf(list + strlen(list), sizeof list - strlen(list), i == 0 ? "%s" : ", %s", names[i]);
		models[i] = told(names[i]);
	}
	list[299] = '\0';
	open_book(&b, 1, models, MANY);
	put_decision(&b, 1, 1);
	close_book(&b);
	assert_int_equal(failure(&plain, &diag), COP_EINVAL);
	assert_non_null(strstr(diag.message, list));
	assert_string_equal(strstr(diag.message, list), list);
	for (int i = 0; i < MANY; i++) {
		const cop_journal_history_settings one = { .model = names[i] };
		assert_int_equal(failure(&one, &diag), COP_EEND);
	}
	cop_err err = COP_ENOMEM;
	for (unsigned long n = 1; err == COP_ENOMEM; n++) {
		cop_event_reader *reader;
		cop_test_alloc_fail(n, 0);
		err = cop_journal_history_open(folder, &plain, &reader, &diag);
		assert_int_equal(err, cop_test_alloc_failed() ? COP_ENOMEM : COP_EINVAL);
		cop_test_alloc_fail(0, 0);
		assert_null(reader);
	}
}

static void test_model_of_values_is_refused(void **state)
{
	(void)state;
	cop_diag diag;
	book b;
	float room[FEATURES];
	cop_wire_model model = told("m");
	model.arms = 0;
	model.value_range[1] = 1.0;
	model.delta = 0.1;
	open_book(&b, 1, &model, 1);
	cop_wire_record r = decision_of("m", 1, 1, room);
	r.values = true;
	put(&b, COP_WIRE_RECORD_DECISION, &r);
	close_book(&b);
	assert_int_equal(failure(&plain, &diag), COP_EINVAL);
	assert_non_null(strstr(diag.message, "learner value"));
}

/* A header without room for the model: a configuration may describe it later on. */
static void test_model_that_no_header_describes_is_read_from_its_configuration_on(void **state)
{
	(void)state;
	book b;
	cop_diag diag;
	cop_bytes set;
	const cop_wire_model models[] = { told("other"), told("m") };
	const cop_journal_history_settings named = { .model = "m", .unanswered = true };
	for (int later = 0; later < 2; later++) {
		empty_folder();
		cop_bytes_init(&set);
		assert_int_equal(cop_wire_models_put(&set, models, 2, 200), 1); /* and 1 that is left out */
		const cop_journal_settings settings = { .model_set = set.data, .model_set_length = set.length };
		assert_int_equal(cop_journal_writer_open(folder, &settings, 1, &b.writer, NULL), COP_OK);
		cop_bytes_init(&b.batch);
		b.next = 1;
		cop_bytes_clear(&set);
		assert_int_equal(cop_wire_models_put(&set, models, 2, 65536), 2);
		const cop_wire_record config = { .text = "", .models = set.data, .models_length = set.length };
		if (later)
			put(&b, COP_WIRE_RECORD_CONFIG, &config);
		put_decision(&b, 1, 1);
		close_book(&b);
		cop_bytes_fini(&set);
		if (later)
			CHECK(&named, NULL, { 1, (double)NAN });
		else
			assert_int_equal(failure(&named, &diag), COP_ESHAPE);
		if (!later)
			assert_non_null(strstr(diag.message, "no header describes model \"m\""));
	}
}

static void put_sparse(book *b, uint64_t id, uint32_t first)
{
	const uint32_t index[] = { first, first + 5 };
	const float value[] = { 0.5f, -2.0f };
	cop_wire_record r = record_of("m", 1, id);
	r.x = (cop_row){ .d = 1u << 14, .nnz = 2, .index = index, .value = value };
	r.has_x = true;
	r.arms = ARMS;
	r.p = 0.5;
	put(b, COP_WIRE_RECORD_DECISION, &r);
	put_feedback(b, 2, id, 0.5, COP_WIRE_APPLIED);
}

static void test_sparse_contexts_are_rows_of_the_hashed_dimension(void **state)
{
	(void)state;
	book b;
	cop_wire_model model = told("m");
	model.features = 0;
	model.bits = 14;
	model.max_nonzeros = 2;
	open_book(&b, 1, &model, 1);
	put_sparse(&b, 1, 100);
	put_sparse(&b, 2, 16378);
	close_book(&b);
	cop_event_reader *reader = open_history(&plain);
	cop_logged_event event;
	for (uint32_t first = 100; first <= 16378; first += 16278) {
		assert_int_equal(cop_event_reader_next(reader, &event, NULL), COP_OK);
		assert_true(event.x.dense == NULL && event.x.nnz == 2 && event.x.d == 1u << 14);
		assert_true(event.x.index[0] == first && event.x.index[1] == first + 5);
		assert_true(event.x.value[0] == 0.5f && event.x.value[1] == -2.0f && event.features == 3);
	}
	assert_int_equal(cop_event_reader_next(reader, &event, NULL), COP_EEND);
	cop_event_reader_free(reader);
}

/* Three candidates, of which the second was chosen; dense ones {id, k}, sparse ones {k: 1, 30 + k: id}. */
static void put_ranked(book *b, uint64_t id, bool sparse, cop_wire_record_type type)
{
	float values[6];
	uint32_t index[6];
	cop_row rows[3];
	float room[FEATURES];
	static const uint8_t mask[3] = { 1, 1, 0 };
	cop_wire_record r = decision_of("m", 1, id, room);
	for (uint32_t k = 0; k < 3; k++) {
		values[2 * k] = sparse ? 1.0f : (float)id;
		values[2 * k + 1] = sparse ? (float)id : (float)k;
		index[2 * k] = k;
		index[2 * k + 1] = 30 + k;
		rows[k] = (cop_row){ .d = 2, .dense = &values[2 * k] };
		if (sparse)
			rows[k] = (cop_row){ .d = 64, .nnz = 2, .index = &index[2 * k], .value = &values[2 * k] };
	}
	if (sparse)
		r.x = (cop_row){ .d = 64 };
	r.p = 0.5;
	r.losses = 1;
	r.loss[0] = 0.25;
	if (type == COP_WIRE_RECORD_DECISION) {
		r.candidate = rows;
		r.candidates = r.arms = 3;
		r.mask = mask;
		r.a = 1;
	} else {
		r.candidate = &rows[1];
		r.candidates = 1;
		r.a = COP_WIRE_RECORD_ANY_ARM;
		r.joined = id == 4; /* whose decision waits */
	}
	put(b, type, &r);
}

static void check_candidate(const cop_row *row, uint64_t id, uint32_t k, bool sparse)
{
	assert_true(row->dense != NULL ? !sparse : sparse);
	if (sparse)
		assert_true(row->d == 64 && row->nnz == 2 && row->index[0] == k && row->index[1] == 30 + k &&
		            row->value[1] == (float)id);
	else
		assert_true(row->d == 2 && row->dense[0] == (float)id && row->dense[1] == (float)k);
}

static void test_candidates_of_ranking_models_come_along(void **state)
{
	(void)state;
	for (int sparse = 0; sparse < 2; sparse++) {
		book b;
		cop_wire_model model = told("m");
		model.arms = 0;
		model.max_candidates = 5;
		model.features = sparse ? 0 : FEATURES;
		model.candidate_features = sparse ? 0 : 2;
		model.bits = sparse ? 6 : 0;
		model.max_nonzeros = sparse ? 2 : 0;
		empty_folder();
		open_book(&b, 1, &model, 1);
		put_ranked(&b, 4, sparse, COP_WIRE_RECORD_DECISION);
		put_ranked(&b, 9, sparse, COP_WIRE_RECORD_FEEDBACK);
		put_ranked(&b, 4, sparse, COP_WIRE_RECORD_FEEDBACK); /* the waiting decision's */
		close_book(&b);
		cop_event_reader *reader = open_history(&plain);
		cop_logged_event event;
		assert_int_equal(cop_event_reader_next(reader, &event, NULL), COP_OK);
		assert_true(event.candidates == 1 && event.action == 0 && event.mask == NULL && event.cost == 0.25);
		check_candidate(&event.candidate[0], 9, 1, sparse);
		assert_int_equal(cop_event_reader_next(reader, &event, NULL), COP_OK);
		assert_true(event.candidates == 3 && event.action == 1 && event.arms == 3 && event.p == 0.5);
		assert_true(event.mask[0] == 1 && event.mask[1] == 1 && event.mask[2] == 0);
		for (uint32_t k = 0; k < 3; k++)
			check_candidate(&event.candidate[k], 4, k, sparse);
		assert_int_equal(event.features, sparse ? 3 * (2 + 0 + 1) : 3 * (2 + FEATURES + 1));
		assert_int_equal(cop_event_reader_next(reader, &event, NULL), COP_EEND);
		assert_int_equal(cop_journal_history_get_model(reader)->max_candidates, 5);
		cop_event_reader_free(reader);
	}
}

static void test_model_that_changes_its_shape_ends_the_reading(void **state)
{
	(void)state;
	book b;
	cop_diag diag;
	cop_wire_model model = told("m");
	open_book(&b, 1, &model, 1);
	put_decision(&b, 1, 1);
	put_feedback(&b, 2, 1, 0.5, COP_WIRE_APPLIED);
	close_book(&b);
	model.arms = ARMS - 1;
	open_book(&b, 3, &model, 1);
	put_decision(&b, 3, 3);
	close_book(&b);
	assert_int_equal(failure(&plain, &diag), COP_ESHAPE);
	assert_non_null(strstr(diag.message, "arms 4"));
	assert_non_null(strstr(diag.message, "arms 3"));
	assert_non_null(strstr(diag.source, "00000000000000000003.journal"));
}

/* From here on the model has so many arms, as a record of the configuration reports. */
static void put_arms(book *b, cop_wire_model model, uint64_t arms)
{
	cop_bytes set;
	cop_bytes_init(&set);
	model.arms = arms;
	assert_int_equal(cop_wire_models_put(&set, &model, 1, 65536), 1);
	cop_wire_record config = { .time = 2, .text = "", .models = set.data, .models_length = set.length };
	put(b, COP_WIRE_RECORD_CONFIG, &config);
	cop_bytes_fini(&set);
}

/* Masks are as long as there were arms when the decision was made. */
static void test_model_that_gets_further_arms_is_read_on(void **state)
{
	(void)state;
	book b;
	cop_logged_event event;
	const cop_wire_model model = told("m");
	open_book(&b, 1, &model, 1);
	put_decision(&b, 1, 1);
	put_arms(&b, model, ARMS + 2);
	put_feedback(&b, 2, 1, 0.5, COP_WIRE_APPLIED);
	close_book(&b);
	cop_event_reader *reader = open_history(&plain);
	assert_int_equal(cop_event_reader_next(reader, &event, NULL), COP_OK);
	assert_true(event.mask == NULL || event.arms == ARMS);
	assert_int_equal(cop_event_reader_next(reader, &event, NULL), COP_EEND);
	assert_int_equal(cop_journal_history_get_model(reader)->arms, ARMS + 2);
	cop_event_reader_free(reader);
}

static void test_configuration_that_changes_a_shape_ends_the_reading(void **state)
{
	(void)state;
	book b;
	cop_diag diag;
	const cop_wire_model model = told("m");
	open_book(&b, 1, &model, 1);
	put_decision(&b, 1, 1);
	put_arms(&b, model, ARMS - 1);
	close_book(&b);
	assert_int_equal(failure(&plain, &diag), COP_ESHAPE);
	assert_non_null(strstr(diag.message, "record 2 "));
	assert_non_null(strstr(diag.message, "arms 3"));
}

static void test_one_segment_is_read_alone(void **state)
{
	(void)state;
	book b;
	char path[128];
	const cop_wire_model model = told("m");
	open_book(&b, 1, &model, 1);
	put_decision(&b, 1, 1);
	put_decision(&b, 1, 2);
	close_book(&b);
	open_book(&b, 3, &model, 1);
	put_feedback(&b, 2, 1, 0.5, COP_WIRE_APPLIED);
	put_decision(&b, 3, 3);
	put_feedback(&b, 4, 3, 0.25, COP_WIRE_APPLIED);
	close_book(&b);
	CHECK(&plain, NULL, { 1, 0.5 }, { 3, 0.25 });
	(void)snprintf(path, sizeof path, "%s/00000000000000000003.journal", folder);
	cop_event_reader *reader = open_history_of(path, &plain);
	const wanted second = { 3, 0.25 };
	check_events(reader, &second, 1);
	assert_int_equal(cop_journal_history_get_counts(reader)->unjoined, 1);
	cop_event_reader_free(reader);
}

static void test_waiting_decisions_are_bounded(void **state)
{
	(void)state;
	book b;
	cop_journal_history_counts counts;
	const cop_wire_model model = told("m");
	open_book(&b, 1, &model, 1);
	for (uint64_t id = 1; id <= 5; id++)
		put_decision(&b, 1, id);
	for (uint64_t id = 1; id <= 5; id++)
		put_feedback(&b, 2, id, 0.5, COP_WIRE_APPLIED);
	close_book(&b);
	const cop_journal_history_settings few = { .waiting_max = 3, .unanswered = true };
	CHECK(&few, &counts, { 1, (double)NAN }, { 2, (double)NAN }, { 3, 0.5 }, { 4, 0.5 }, { 5, 0.5 });
	assert_true(counts.gave_way == 2 && counts.unjoined == 2);
	const cop_journal_history_settings small = { .waiting_bytes = 1 };
	CHECK(&small, &counts, { 5, 0.5 });
	assert_true(counts.gave_way == 4 && counts.unanswered == 4);
}

static void test_records_that_make_no_sense_cost_themselves_only(void **state)
{
	(void)state;
	book b;
	float room[FEATURES];
	cop_logged_event event;
	cop_diag diag;
	cop_wire_model model = told("m");
	model.loss_range[1] = 1e9;
	open_book(&b, 1, &model, 1);
	put_decision(&b, 1, 1);
	put_body(&b, COP_WIRE_RECORD_FEEDBACK, "\x81\xa1", 2);
	put_body(&b, 77, "?", 1); /* of a later version: passed over */
	cop_wire_record r = decision_of("m", 2, 2, room);
	r.p = 1e-9;
	put(&b, COP_WIRE_RECORD_DECISION, &r);
	put_feedback(&b, 3, 2, 0.5, COP_WIRE_APPLIED);
	put_decision(&b, 4, 3);
	put_feedback(&b, 4, 3, 1e8, COP_WIRE_APPLIED);
	put_feedback(&b, 5, 1, 0.5, COP_WIRE_APPLIED);
	close_book(&b);
	const char *const told_of[] = { "record 2 (offset ", "record 5 ", "record 7 " };
	const char *const reasons[] = { "malformed", "propensity 1e-09", "loss 1e+08" };
	cop_event_reader *reader = open_history(&plain);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(cop_event_reader_next(reader, &event, &diag), COP_EFORMAT);
		assert_non_null(strstr(diag.message, told_of[i]));
		assert_non_null(strstr(diag.message, reasons[i]));
		assert_non_null(strstr(diag.source, "00000000000000000001.journal"));
		assert_true(diag.offset > 0);
	}
	const wanted good = { 1, 0.5 };
	check_events(reader, &good, 1);
	assert_int_equal(cop_journal_history_get_counts(reader)->bad, 3);
	cop_event_reader_free(reader);
}

/* Inverts a byte in the middle of record 3 of five. */
static void damage(uint64_t *offset)
{
	char path[128];
	cop_journal_reader *reader;
	cop_journal_record record;
	assert_int_equal(cop_journal_reader_open(folder, 3, false, &reader, NULL), COP_OK);
	assert_int_equal(cop_journal_next(reader, &record, NULL), COP_OK);
	*offset = record.offset;
	long at = (long)(record.offset + record.length / 2);
	cop_journal_reader_close(reader);
	(void)snprintf(path, sizeof path, "%s/00000000000000000001.journal", folder);
	FILE *file = fopen(path, "r+b");
	assert_non_null(file);
	assert_int_equal(fseek(file, at, SEEK_SET), 0);
	int byte = fgetc(file);
	assert_int_equal(fseek(file, at, SEEK_SET), 0);
	assert_int_not_equal(fputc(byte ^ 0xff, file), EOF);
	assert_int_equal(fclose(file), 0);
}

static void note_skip(void *context, const cop_journal_skip *skip)
{
	assert_int_equal(skip->missing_first, 3);
	assert_int_equal(skip->missing_last, 3);
	++*(int *)context;
}

static void test_damage_ends_the_reading_or_is_passed_over(void **state)
{
	(void)state;
	book b;
	cop_diag diag;
	uint64_t offset;
	int skips = 0;
	const cop_wire_model model = told("m");
	open_book(&b, 1, &model, 1);
	put_decision(&b, 1, 1);
	put_decision(&b, 2, 2);
	put_feedback(&b, 3, 1, 0.5, COP_WIRE_APPLIED);
	put_feedback(&b, 4, 2, 0.25, COP_WIRE_APPLIED);
	put_decision(&b, 5, 3);
	close_book(&b);
	damage(&offset);
	assert_int_equal(failure(&plain, &diag), COP_EIO);
	assert_int_equal(diag.offset, offset);
	assert_non_null(strstr(diag.source, "00000000000000000001.journal"));
	assert_non_null(strstr(diag.message, "damaged at offset"));
	const cop_journal_history_settings skipping = { .skip = true, .skips = { note_skip, &skips } };
	CHECK(&skipping, NULL, { 2, 0.25 });
	assert_int_equal(skips, 1);
}

static void test_places_without_a_journal_are_told(void **state)
{
	(void)state;
	cop_event_reader *reader;
	cop_diag diag;
	assert_int_equal(cop_journal_history_open("/no/such/place", &plain, &reader, &diag), COP_ENOTFOUND);
	assert_int_equal(cop_journal_history_open(folder, &plain, &reader, &diag), COP_ENOTFOUND);
	assert_non_null(strstr(diag.message, "no segments"));
}

/* Reads all with the n-th allocation failing; whether it failed. */
static bool short_memory(unsigned long n)
{
	cop_event_reader *reader = NULL;
	cop_logged_event event;
	cop_diag diag;
	size_t events = 0;
	cop_test_alloc_fail(n, 0);
	cop_err err = cop_journal_history_open(folder, &all, &reader, &diag);
	while (err == COP_OK && (err = cop_event_reader_next(reader, &event, &diag)) == COP_OK)
		events++;
	if (err != COP_EEND && reader != NULL)
		assert_int_equal(cop_event_reader_next(reader, &event, &diag), err);
	cop_event_reader_free(reader);
	cop_test_alloc_fail(0, 0);
	assert_true(err == COP_ENOMEM || (err == COP_EEND && events == 4));
	return err == COP_ENOMEM;
}

static void test_short_memory_is_an_error_each_time(void **state)
{
	(void)state;
	book b;
	const cop_wire_model model = told("m");
	open_book(&b, 1, &model, 1);
	for (uint64_t id = 1; id <= 3; id++)
		put_decision(&b, (double)id, id);
	put_feedback(&b, 6, 3, 0.25, COP_WIRE_APPLIED);
	put_self_contained(&b, 1, 7, 0.5, COP_WIRE_APPLIED, false, false);
	put_feedback(&b, 6, 2, 0.25, COP_WIRE_APPLIED);
	close_book(&b);
	unsigned long n = 1;
	unsigned long failed = 0;
	for (unsigned long whole = 0; whole < 3; n++) {
		bool fails = short_memory(n);
		failed += fails;
		whole = fails ? 0 : whole + 1;
	}
	assert_true(failed >= 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_feedback_joins_its_decision_in_the_order_of_learning),
		TEST(test_mask_and_origin_come_along),
		TEST(test_self_contained_feedback_is_an_event_of_its_own),
		TEST(test_observed_decisions_are_events_of_the_system),
		TEST(test_default_loss_is_learned_at_the_windows_end),
		TEST(test_recorded_losses_are_learned_as_the_windows_end_reports),
		TEST(test_deferred_decision_counts_when_it_was_shown_or_answered),
		TEST(test_unheard_decision_has_no_default_and_counts_when_it_was_answered),
		TEST(test_what_gave_way_at_a_bound_is_learned_only_if_it_was_answered),
		TEST(test_expiry_that_lags_behind_ends_as_many_as_it_counts),
		TEST(test_decision_whose_end_no_record_reports_is_unanswered),
		TEST(test_model_that_no_header_describes_is_read_from_its_configuration_on),
		TEST(test_events_go_on_over_a_reload),
		TEST(test_several_models_want_a_name),
		TEST(test_names_of_many_models_are_listed_as_far_as_they_fit),
		TEST(test_model_of_values_is_refused),
		TEST(test_sparse_contexts_are_rows_of_the_hashed_dimension),
		TEST(test_candidates_of_ranking_models_come_along),
		TEST(test_model_that_changes_its_shape_ends_the_reading),
		TEST(test_one_segment_is_read_alone),
		TEST(test_waiting_decisions_are_bounded),
		TEST(test_records_that_make_no_sense_cost_themselves_only),
		TEST(test_damage_ends_the_reading_or_is_passed_over),
		TEST(test_places_without_a_journal_are_told),
		TEST(test_short_memory_is_an_error_each_time),
		TEST(test_model_that_gets_further_arms_is_read_on),
		TEST(test_configuration_that_changes_a_shape_ends_the_reading),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
