/* Journals of models of values, read as events. */
#include "support.h"

#include <math.h>

#include "history_fixture.h"

static const cop_journal_history_settings wanted_values = { .model = "", .values = true, .unanswered = true };

static cop_wire_model told_values(unsigned losses)
{
	cop_wire_model model = told("m");
	model.arms = 0;
	model.losses = losses;
	model.value_range[0] = -2.0;
	model.value_range[1] = 2.0;
	model.delta = 0.125;
	return model;
}

static void put_value(book *b, double time, uint64_t id, double y, int8_t u)
{
	float room[FEATURES];
	cop_wire_record r = decision_of("m", time, id, room);
	r.values = true;
	r.y = y;
	r.u = u;
	put(b, COP_WIRE_RECORD_DECISION, &r);
}

static void put_losses(book *b, double time, uint64_t id, const double *loss, unsigned losses, cop_wire_result result)
{
	cop_wire_record r = record_of("m", time, id);
	memcpy(r.loss, loss, losses * sizeof *loss);
	r.losses = losses;
	r.result = result;
	put(b, COP_WIRE_RECORD_FEEDBACK, &r);
}

/* Reads one event and compares; loss NULL: not labelled. */
static void check_next(cop_event_reader *reader, uint64_t id, double y, int u, const double *loss, unsigned losses)
{
	cop_logged_event event;
	cop_diag diag = { .message = "" };
	if (cop_event_reader_next(reader, &event, &diag) != COP_OK)
		fail_msg("%s", diag.message);
	const cop_journal_history_value *value = cop_journal_history_get_value(reader);
	assert_int_equal(id_of(&event), id);
	assert_true(event.p == 1.0 && event.action == 0 && event.mask == NULL);
	assert_true(value->y == y && value->u == u);
	assert_int_equal(event.labelled, loss != NULL);
	if (loss == NULL)
		return;
	assert_true(value->loss[0] == loss[0] && value->loss[1] == (losses == 2 ? loss[1] : 0.0));
	assert_true(event.cost == (losses == 2 ? (loss[0] + loss[1]) / 2.0 : loss[0]));
}

static void test_two_losses_come_with_the_value_played(void **state)
{
	(void)state;
	book b;
	const cop_wire_model model = told_values(2);
	const double loss[] = { 1.5, -0.25 };
	open_book(&b, 1, &model, 1);
	put_value(&b, 1, 1, 0.375, 0);
	put_value(&b, 2, 2, 0.5, 0);
	put_losses(&b, 3, 2, loss, 1, COP_WIRE_APPLIED); /* one loss is none */
	put_losses(&b, 3, 1, loss, 2, COP_WIRE_APPLIED);
	put_losses(&b, 4, 7, loss, 2, COP_WIRE_APPLIED);
	close_book(&b);
	cop_event_reader *reader = open_history(&wanted_values);
	check_next(reader, 1, 0.375, 0, loss, 2);
	const cop_journal_history_model *m = cop_journal_history_get_model(reader);
	assert_true(m->values && m->arms == 0 && m->losses == 2 && m->delta == 0.125);
	assert_true(m->value_range[0] == -2.0 && m->value_range[1] == 2.0);
	check_next(reader, 2, 0.5, 0, NULL, 2);
	cop_logged_event event;
	assert_int_equal(cop_event_reader_next(reader, &event, NULL), COP_EEND);
	const cop_journal_history_counts *counts = cop_journal_history_get_counts(reader);
	assert_true(counts->labelled == 1 && counts->unanswered == 1 && counts->unjoined == 1 && counts->ignored == 1);
	cop_event_reader_free(reader);
}

static void test_one_loss_comes_with_the_direction(void **state)
{
	(void)state;
	book b;
	cop_wire_model model = told_values(1);
	const double loss = 7.0, other = -3.0, sum = 4.0;
	model.reward = COP_WIRE_REWARD_SUM;
	open_book(&b, 1, &model, 1);
	put_value(&b, 1, 1, 0.25, -1);
	put_losses(&b, 2, 1, &loss, 1, COP_WIRE_RECORDED);
	put_losses(&b, 2, 1, &other, 1, COP_WIRE_RECORDED);
	EXPIRE(&b, 101, { 1, COP_WIRE_OUTCOME_RECORDED, 4.0 });
	close_book(&b);
	cop_event_reader *reader = open_history(&wanted_values);
	check_next(reader, 1, 0.25, -1, &sum, 1); /* losses of values are not cut to loss_range */
	cop_event_reader_free(reader);
}

/* A value drawn with a density becomes the bin it lies in, and the density times the bin's width. */
static void test_drawn_values_become_bins_with_probabilities(void **state)
{
	(void)state;
	static const struct {
		double y, density;
		uint32_t bin;
		double p;
	} cases[] = { { 0.0, 1.0, 0, 0.25 }, { 0.5, 3.0, 2, 0.75 }, { 0.49, 0.5, 1, 0.125 }, { 1.0, 2.0, 3, 0.5 } };
	const cop_journal_history_settings wanted = { .model = "", .bins = 4, .unanswered = true };
	book b;
	const cop_wire_model model = told_values(1);
	const double loss = 7.0;
	open_book(&b, 1, &model, 1);
	for (uint64_t i = 0; i < 4; i++) {
		float room[FEATURES];
		cop_wire_record r = decision_of("m", 1, i + 1, room);
		r.values = r.density = true;
		r.y = cases[i].y;
		r.p = cases[i].density;
		put(&b, COP_WIRE_RECORD_DECISION, &r);
		put_losses(&b, 2, i + 1, &loss, 1, COP_WIRE_APPLIED);
	}
	put_value(&b, 3, 9, 0.5, 1); /* a probe has none */
	put_losses(&b, 4, 9, &loss, 1, COP_WIRE_APPLIED);
	close_book(&b);
	cop_event_reader *reader = open_history(&wanted);
	cop_logged_event event;
	cop_diag diag = { .message = "" };
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(cop_event_reader_next(reader, &event, &diag), COP_OK);
		assert_true(event.has_y && event.y == cases[i].y && event.cost == 7.0);
		assert_int_equal(event.action, cases[i].bin);
		assert_true(event.p == cases[i].p && event.labelled && event.learn);
		assert_true(cop_journal_history_get_value(reader)->density == cases[i].density);
	}
	assert_int_equal(cop_event_reader_next(reader, &event, &diag), COP_EINVAL);
	assert_non_null(strstr(diag.message, "feedback = \"bins\""));
	cop_event_reader_free(reader);
}

static void test_other_probes_are_another_shape(void **state)
{
	(void)state;
	for (int change = 0; change < 5; change++) {
		book b;
		cop_wire_model model = told_values(1);
		cop_logged_event event;
		cop_diag diag = { .message = "" };
		empty_folder();
		open_book(&b, 1, &model, 1);
		put_value(&b, 1, 1, 0.25, -1);
		close_book(&b);
		model.delta += change == 1 ? 0.125 : 0.0;
		model.losses += change == 2;
		model.value_range[0] -= change == 3 ? 1.0 : 0.0;
		model.value_range[1] += change == 4 ? 1.0 : 0.0;
		open_book(&b, 2, &model, 1);
		put_value(&b, 1, 2, 0.25, -1);
		close_book(&b);
		cop_event_reader *reader = open_history(&wanted_values);
		assert_int_equal(cop_event_reader_next(reader, &event, &diag), change == 0 ? COP_OK : COP_ESHAPE);
		cop_event_reader_free(reader);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_drawn_values_become_bins_with_probabilities),
		TEST(test_two_losses_come_with_the_value_played),
		TEST(test_one_loss_comes_with_the_direction),
		TEST(test_other_probes_are_another_shape),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
