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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_shape_too_large_to_read_is_refused),
		cmocka_unit_test(test_every_failed_allocation_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
