/* unit_mean: plain means, bounds that agree with the running bounds they are made of, and saved ones. */
#include "support.h"

#include <math.h>

#include "base/rng.h"
#include "evaluate/unit_mean.h"

static void test_mean_and_bounds(void **state)
{
	(void)state;
	cop_unit_mean m;
	cop_unit_mean_figures is;
	cop_running_bound low, high;
	cop_rng rng;
	double sum = 0.0;
	cop_rng_init(&rng, 7, 1);
	cop_unit_mean_init(&m);
	cop_unit_mean_get(&m, 0.01, &is);
	assert_true(is.n == 0 && isnan(is.mean) && is.low == 0.0 && is.high == 1.0);
	cop_running_bound_init(&low, 0.0, 1.0);
	cop_running_bound_init(&high, 0.0, 1.0);
	for (size_t i = 1; i <= 1000; i++) {
		double value = cop_rng_unit(&rng) < 0.3 ? 1.0 : 0.25 * cop_rng_unit(&rng);
		sum += value;
		cop_unit_mean_add(&m, value);
		cop_running_bound_add(&low, value, 0.0);
		cop_running_bound_add(&high, 1.0 - value, 0.0);
		cop_unit_mean_get(&m, 0.01, &is);
		assert_true(is.n == i && fabs(is.mean - sum / (double)i) < 1e-12);
		assert_true(is.low == cop_running_bound_low(&low, 0.01));
		assert_true(is.high == 1.0 - cop_running_bound_low(&high, 0.01));
		assert_true(is.low <= is.mean && is.mean <= is.high);
	}
	assert_true(is.high - is.low < 0.15);
}

static void test_saved_mean_comes_back(void **state)
{
	(void)state;
	cop_unit_mean m, again;
	cop_bytes bytes;
	cop_cursor cursor;
	cop_bytes_init(&bytes);
	cop_unit_mean_init(&m);
	for (size_t i = 0; i < 10; i++)
		cop_unit_mean_add(&m, 0.1 * (double)i);
	cop_unit_mean_save(&m, &bytes);
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	cop_unit_mean_load(&again, &cursor);
	assert_int_equal(cursor.err, COP_OK);
	assert_int_equal(cop_cursor_left(&cursor), 0);
	assert_true(cop_unit_mean_low(&m, 0.1) == cop_unit_mean_low(&again, 0.1));
	assert_true(cop_unit_mean_high(&m, 0.1) == cop_unit_mean_high(&again, 0.1));
	cop_running_bound_add(&m.value, 0.5, 0.0); /* now one more than of the rest */
	cop_bytes_clear(&bytes);
	cop_unit_mean_save(&m, &bytes);
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	cop_unit_mean_load(&again, &cursor);
	assert_int_equal(cursor.err, COP_EFORMAT);
	cop_bytes_fini(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mean_and_bounds),
		cmocka_unit_test(test_saved_mean_comes_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
