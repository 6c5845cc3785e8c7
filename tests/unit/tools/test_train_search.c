#include "tools/train_search.h"

#include <math.h>

#include "support.h"

static void test_rating_of_one_loss_has_no_standard_error(void **state)
{
	(void)state;
	cop_train_rating r = { 0 };
	cop_train_rating_of(1, (const double[]){ 0.25 }, &r);
	assert_true(r.mean == 0.25 && isnan(r.error));
}

static void test_rating_of_several_losses_is_mean_and_standard_error(void **state)
{
	(void)state;
	cop_train_rating r = { 0 };
	cop_train_rating_of(4, (const double[]){ 1, 3, 5, 7 }, &r); /* variance 20 / 3 */
	assert_true(fabs(r.mean - 4.0) < 1e-12 && fabs(r.error - sqrt(5.0 / 3.0)) < 1e-12);
}

static void test_rating_better_is_less_loss_and_among_equals_fewer_parameters(void **state)
{
	(void)state;
	const cop_train_rating now = { .mean = 0.3, .error = 0.1, .parameters = 50 };
	cop_train_rating other = { .mean = 0.29, .error = 0.1, .parameters = 500 };
	assert_true(cop_train_rating_better(&other, &now));
	assert_false(cop_train_rating_better(&now, &other));
	other.mean = 0.1 + 0.2; /* not 0.3, but by rounding */
	assert_false(cop_train_rating_better(&other, &now));
	other.parameters = 49;
	assert_true(cop_train_rating_better(&other, &now));
	other.parameters = 50;
	assert_false(cop_train_rating_better(&other, &now)); /* the earlier one stays */
	const cop_train_rating none = { .mean = 0.0, .parameters = 3 };
	other.mean = 0.0;
	assert_true(cop_train_rating_better(&none, &other) && !cop_train_rating_better(&other, &none));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rating_of_one_loss_has_no_standard_error),
		cmocka_unit_test(test_rating_of_several_losses_is_mean_and_standard_error),
		cmocka_unit_test(test_rating_better_is_less_loss_and_among_equals_fewer_parameters),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
