/* A glance at a record has what the record's own decoder has, whatever the model. */
#include "wire/wire_glance.h"

#include "support.h"
#include "wire/wire_put.h"
#include "wire/wire_record.h"

static cop_wire_record some_record(void)
{
	static const float values[] = { 1.0f, 2.0f };
	cop_wire_record r = { .model = "m", .model_length = 1, .time = 12.5, .a = 3, .p = 0.25, .has_x = true };
	r.x = (cop_row){ .d = 2, .dense = values };
	cop_event_id_from_unsigned(&r.id, 9);
	return r;
}

static void test_decision_and_feedback_are_seen(void **state)
{
	cop_bytes body;
	cop_wire_glance glance;
	cop_wire_record r = some_record();
	(void)state;
	cop_bytes_init(&body);
	cop_wire_record_put(&body, COP_WIRE_RECORD_DECISION, &r);
	assert_int_equal(cop_wire_glance_read(body.data, body.length, &glance), COP_OK);
	assert_true(cop_wire_glance_is_of(&glance, "m"));
	assert_false(cop_wire_glance_is_of(&glance, "mm"));
	assert_true(cop_event_id_equal(&glance.id, &r.id));
	assert_true(glance.time == 12.5 && glance.has_arm && glance.arm == 3 && glance.has_p && glance.p == 0.25);
	assert_false(glance.has_value);
	assert_int_equal(cop_wire_glance_head(body.data, body.length, &glance), COP_OK);
	assert_true(glance.time == 12.5 && !glance.has_arm && cop_event_id_equal(&glance.id, &r.id));
	cop_bytes_clear(&body);
	r.has_x = false;
	r.losses = 2;
	r.loss[0] = 0.5;
	r.loss[1] = -1.0;
	r.result = COP_WIRE_RECORDED;
	cop_wire_record_put(&body, COP_WIRE_RECORD_FEEDBACK, &r);
	assert_int_equal(cop_wire_glance_read(body.data, body.length, &glance), COP_OK);
	assert_true(glance.losses == 2 && glance.loss[0] == 0.5 && glance.loss[1] == -1.0);
	assert_int_equal(glance.result, COP_WIRE_RECORDED);
	cop_bytes_fini(&body);
}

static void test_what_it_ended_is_seen(void **state)
{
	cop_bytes body, items;
	cop_wire_glance glance;
	cop_wire_settlement s = { .outcome = COP_WIRE_OUTCOME_DEFAULT, .loss = { 0.75 }, .losses = 1 };
	(void)state;
	cop_bytes_init(&body);
	cop_bytes_init(&items);
	cop_event_id_from_signed(&s.id, -4);
	cop_wire_settled_add(&items, &s);
	cop_wire_record r = { .model = "m",
		.model_length = 1,
		.time = 1.0,
		.settled = { .items = items.data, .length = items.length, .count = 1 } };
	cop_wire_record_put(&body, COP_WIRE_RECORD_EXPIRY, &r);
	assert_int_equal(cop_wire_glance_read(body.data, body.length, &glance), COP_OK);
	assert_int_equal(glance.id.kind, 0);
	cop_wire_settlement got;
	assert_true(cop_wire_settled_next(&glance.settled, &got));
	assert_true(cop_event_id_equal(&got.id, &s.id) && got.losses == 1 && got.loss[0] == 0.75);
	assert_false(cop_wire_settled_next(&glance.settled, &got));
	cop_bytes_fini(&items);
	cop_bytes_fini(&body);
}

static void test_head_is_found_behind_other_keys_and_bad_bodies_are_refused(void **state)
{
	cop_bytes body;
	cop_wire_glance glance;
	(void)state;
	cop_bytes_init(&body);
	cop_wire_put_map(&body, 5);
	cop_wire_put_key_text(&body, "later", "x");
	cop_wire_put_key_unsigned(&body, "id", 4);
	cop_wire_put_key_text(&body, "m", "m");
	cop_wire_put_key_double(&body, "t", 2.0);
	cop_wire_put_key_double(&body, "p", 0.5);
	assert_int_equal(cop_wire_glance_head(body.data, body.length, &glance), COP_OK);
	assert_true(glance.time == 2.0 && cop_wire_glance_is_of(&glance, "m") && glance.id.bytes[0] == 4);
	for (size_t cut = 0; cut < body.length; cut++)
		assert_int_not_equal(cop_wire_glance_read(body.data, cut, &glance), COP_OK);
	static const char wrong[] = "\x81\xa1r\x63"; /* no result of this number */
	assert_int_not_equal(cop_wire_glance_read(wrong, sizeof wrong - 1, &glance), COP_OK);
	cop_bytes_fini(&body);
}

static void test_maker_of_a_decision_is_seen(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		cop_bytes body;
		cop_wire_glance glance;
		cop_wire_record r = some_record();
		r.observed = (i & 1) != 0;
		r.split = (i & 2) != 0;
		r.limit = (cop_wire_limit)(i % COP_WIRE_LIMITS);
		r.split_by = (cop_wire_split){ .share = 0.5, .allowance = 0.5, .kept = (i & 4) != 0 };
		cop_bytes_init(&body);
		cop_wire_record_put(&body, COP_WIRE_RECORD_DECISION, &r);
		assert_int_equal(cop_wire_glance_read(body.data, body.length, &glance), COP_OK);
		assert_int_equal(glance.limit, r.limit);
		assert_int_equal(glance.by, cop_wire_split_maker(r.observed, r.split ? &r.split_by : NULL));
		cop_bytes_fini(&body);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decision_and_feedback_are_seen),
		cmocka_unit_test(test_what_it_ended_is_seen),
		cmocka_unit_test(test_maker_of_a_decision_is_seen),
		cmocka_unit_test(test_head_is_found_behind_other_keys_and_bad_bodies_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
