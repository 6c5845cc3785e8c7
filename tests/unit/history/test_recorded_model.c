/* A model set whose shape no memory holds is refused, and so is one for which there is no memory: nothing of it stays.
 */
#include "support.h"

#include <math.h>
#include <string.h>

#include "history/recorded_model.h"

static void put_set(cop_bytes *set, size_t candidates, size_t candidate_features)
{
	const cop_wire_model model = {
		.name = "m",
		.name_length = 1,
		.learner = "rank",
		.learner_length = 4,
		.features = 4,
		.losses = 1,
		.max_candidates = candidates,
		.candidate_features = candidate_features,
		.loss_range = { 0.0, 1.0 },
		.reward_window = 100.0,
	};
	cop_bytes_init(set);
	assert_int_equal(cop_wire_models_put(set, &model, 1, 65536), 1);
}

static void begin(cop_recorded_model *told)
{
	*told = (cop_recorded_model){ .named = true };
	strcpy(told->model.name, "m");
}

static void test_a_shape_too_large_to_read_is_refused(void **state)
{
	(void)state;
	cop_recorded_model told;
	cop_bytes set;
	cop_diag diag = { .message = "" };
	begin(&told);
	put_set(&set, 10000, 65536);
	assert_int_equal(cop_recorded_model_take(&told, set.data, set.length, &diag), COP_EFULL);
	assert_non_null(strstr(diag.message, "too much to read"));
	assert_true(diag.line == 0 && diag.offset == 0);
	assert_null(told.workspace.candidate_value);
	assert_int_equal(told.shape.max_candidates, 0);
	cop_bytes_fini(&set);
	cop_recorded_model_fini(&told);
}

static void test_every_failed_allocation_is_an_error(void **state)
{
	(void)state;
	cop_bytes set;
	put_set(&set, 8, 3);
	cop_err err = COP_ENOMEM;
	unsigned long n = 0;
	while (err != COP_OK) {
		cop_recorded_model told;
		begin(&told);
		cop_test_alloc_fail(++n, 0);
		err = cop_recorded_model_take(&told, set.data, set.length, NULL);
		bool reached = cop_test_alloc_count() >= n;
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		assert_int_equal(err, reached ? COP_ENOMEM : COP_OK);
		cop_recorded_model_fini(&told);
	}
	assert_true(n > 4);
	cop_bytes_fini(&set);
}

/* The body of a decision among so many arms (0: it has no mask), of dense or of hashed features. */
static void put_decision(cop_bytes *body, size_t features, bool hashed, size_t arms)
{
	static const float dense[5] = { 1.0F };
	static const uint32_t index[1] = { 7 };
	static const uint8_t mask[6] = { 1, 0, 1 };
	const cop_row sparse = { .nnz = 1, .index = index, .value = dense };
	const cop_wire_record r = {
		.model = "m",
		.model_length = 1,
		.x = hashed ? sparse : (cop_row){ .d = features, .dense = dense },
		.has_x = features != 0 || hashed,
		.mask = arms == 0 ? NULL : mask,
		.arms = arms,
		.p = 0.5,
	};
	cop_bytes_init(body);
	cop_wire_record_put(body, COP_WIRE_RECORD_DECISION, &r);
	assert_int_equal(body->err, COP_OK);
}

static void make_ready(cop_recorded_model *told, cop_wire_record_type type, size_t features, bool hashed, size_t arms)
{
	cop_bytes body;
	put_decision(&body, features, hashed, arms);
	assert_int_equal(cop_recorded_model_ready(told, type, body.data, body.length, NULL), COP_OK);
	cop_bytes_fini(&body);
}

static void test_the_first_context_tells_the_shape_and_each_mask_the_arms(void **state)
{
	(void)state;
	cop_recorded_model told;
	begin(&told);
	told.shape = (cop_wire_shape){ .features = 1, .arms = 1, .losses = 1 };
	make_ready(&told, COP_WIRE_RECORD_ACTIVATION, 3, false, 4); /* has no context */
	assert_true(!told.inferred && told.shape.arms == 1);
	make_ready(&told, COP_WIRE_RECORD_DECISION, 3, false, 4);
	assert_true(told.inferred);
	assert_int_equal(told.model.features, 3);
	assert_int_equal(told.model.bits, 0);
	assert_int_equal(told.model.max_nonzeros, 0);
	assert_int_equal(told.shape.features, 3);
	assert_int_equal(told.shape.losses, 1);
	assert_int_equal(told.shape.arms, 4);
	make_ready(&told, COP_WIRE_RECORD_DECISION, 5, false, 6);
	assert_int_equal(told.shape.features, 3);
	assert_int_equal(told.shape.arms, 6);
	make_ready(&told, COP_WIRE_RECORD_FEEDBACK, 3, false, 0);
	assert_int_equal(told.shape.arms, COP_WIRE_MODEL_WIDEST);
	assert_int_equal(told.model.features, 3);
	cop_recorded_model_fini(&told);
}

static void test_a_first_context_of_hashed_features_has_the_bits_that_were_set(void **state)
{
	(void)state;
	cop_recorded_model told;
	begin(&told);
	told.bits = 20;
	told.shape = (cop_wire_shape){ .features = 1, .arms = 1, .losses = 1 };
	make_ready(&told, COP_WIRE_RECORD_DECISION, 0, true, 3);
	assert_true(told.inferred);
	assert_int_equal(told.model.features, 0);
	assert_int_equal(told.model.bits, 20);
	assert_int_equal(told.model.max_nonzeros, COP_WIRE_MODEL_WIDEST);
	assert_int_equal(told.shape.bits, 20);
	assert_int_equal(told.shape.arms, 3);
	cop_recorded_model_fini(&told);
}

/* Arms of a first decision without context; its shape waits for one. */
static void test_a_decision_without_context_tells_the_arms_alone(void **state)
{
	(void)state;
	cop_recorded_model told;
	begin(&told);
	told.shape = (cop_wire_shape){ .features = 1, .arms = 1, .losses = 1 };
	make_ready(&told, COP_WIRE_RECORD_DECISION, 0, false, 4);
	assert_false(told.inferred);
	assert_int_equal(told.model.features, 0);
	assert_int_equal(told.shape.features, 1);
	assert_int_equal(told.shape.arms, 4);
	cop_recorded_model_fini(&told);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_shape_too_large_to_read_is_refused),
		cmocka_unit_test(test_the_first_context_tells_the_shape_and_each_mask_the_arms),
		cmocka_unit_test(test_a_first_context_of_hashed_features_has_the_bits_that_were_set),
		cmocka_unit_test(test_a_decision_without_context_tells_the_arms_alone),
		cmocka_unit_test(test_every_failed_allocation_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
