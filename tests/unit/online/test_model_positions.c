/* Positions as part of a model: in its saved state and in records, taken over by a model that takes its place. */
#include "model_fixture.h"

#include "online/model_positions.h"
#include "online/model_relearn.h"
#include "online/model_record.h"

static const cop_wire_position first = { "log", 3, 0, 5, 0 }, later = { "log", 3, 0, 6, 0 };

static cop_model *make(void)
{
	cop_model_settings s;
	model_settings(&s, "dgt", false);
	return model_new(&s);
}

static bool passed(cop_model *model, const cop_wire_position *at)
{
	bool is;
	assert_int_equal(cop_model_positions_check(model, at, &is), COP_OK);
	return is;
}

static void test_positions_are_saved_and_loaded(void **state)
{
	(void)state;
	cop_bytes a, b;
	cop_diag diag = { 0 };
	cop_bytes_init(&a);
	cop_bytes_init(&b);
	cop_model *model = make(), *other = make();
	model_save(model, &a);
	assert_false(passed(model, &first));
	cop_model_positions_note(model, &first);
	assert_true(passed(model, &first) && !passed(model, &later));
	assert_int_equal(cop_model_get_counters(model)->passed, 1);
	model_save(model, &b);
	assert_int_equal(cop_model_load(other, b.data, b.length, &diag), COP_OK);
	assert_true(passed(other, &first) && !passed(other, &later));
	assert_int_equal(cop_model_load(other, a.data, a.length, &diag), COP_OK); /* which has none */
	assert_false(passed(other, &first));
	model_save(other, &b);
	assert_bytes_equal(&a, &b);
	cop_model_free(model);
	cop_model_free(other);
	cop_bytes_fini(&a);
	cop_bytes_fini(&b);
}

static void test_records_carry_them(void **state)
{
	(void)state;
	cop_model *model = make();
	cop_wire_record record = { .model = "m", .model_length = 1, .time = 1.0, .from = first };
	assert_int_equal(cop_model_apply(model, COP_WIRE_RECORD_POSITION, &record), COP_OK);
	assert_true(passed(model, &first) && !passed(model, &later));
	record.from = later; /* what was erased was taken all the same */
	assert_int_equal(cop_model_apply(model, COP_WIRE_RECORD_FORGOTTEN, &record), COP_OK);
	assert_true(passed(model, &later));
	record.from = first;
	assert_int_equal(cop_model_apply(model, COP_WIRE_RECORD_POSITION, &record), COP_OK);
	assert_true(passed(model, &later)); /* never back */
	cop_model_positions_clear(model);
	assert_false(passed(model, &first));
	cop_model_free(model);
}

static void test_relearning_by_rules_keeps_them(void **state)
{
	(void)state;
	cop_model *model = make();
	cop_model_relearning how = { .rules = true };
	const cop_wire_record record = { .model = "m", .model_length = 1, .time = 1.0, .from = first };
	assert_int_equal(cop_model_relearn(model, COP_WIRE_RECORD_POSITION, &record, &how), COP_OK);
	assert_true(passed(model, &first));
	cop_model_free(model);
}

static void test_a_grown_model_takes_them_over(void **state)
{
	(void)state;
	cop_model_settings s;
	cop_diag diag = { 0 };
	model_settings(&s, "ensemble", false);
	cop_model *from = model_new(&s);
	s.learner.arms++;
	cop_model *model = model_new(&s);
	assert_false(passed(from, &first));
	cop_model_positions_note(from, &first);
	assert_true(cop_model_inherits(model, from));
	assert_int_equal(cop_model_make_room(model, from, NULL, &diag), COP_OK);
	cop_model_inherit(model, from);
	assert_true(passed(model, &first) && !passed(model, &later));
	cop_model_free(from);
	cop_model_free(model);
}

static void test_a_repeat_gets_the_decision_that_waits(void **state)
{
	(void)state;
	cop_rng rng;
	cop_bytes a, b;
	cop_decision again;
	cop_event_id id = model_id(1), other = model_id(2);
	cop_model *model = make();
	cop_bytes_init(&a);
	cop_bytes_init(&b);
	cop_rng_init(&rng, FIXTURE_SEED, 7);
	const cop_decision made = model_decide(model, &rng, false, 1, 0.0);
	model_save(model, &a);
	assert_true(cop_model_positions_decision(model, &id, &again));
	assert_true(again.arm == made.arm && again.p == made.p && again.rev == made.rev);
	assert_false(cop_model_positions_decision(model, &other, &again));
	model_save(model, &b);
	assert_bytes_equal(&a, &b);
	cop_model_free(model);
	cop_bytes_fini(&a);
	cop_bytes_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_positions_are_saved_and_loaded),
		cmocka_unit_test(test_records_carry_them),
		cmocka_unit_test(test_relearning_by_rules_keeps_them),
		cmocka_unit_test(test_a_grown_model_takes_them_over),
		cmocka_unit_test(test_a_repeat_gets_the_decision_that_waits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
