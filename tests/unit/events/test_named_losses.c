/* Named losses: texts there and back, ranges, weighted sums against plain ones, and what does not fit. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "events/named_losses.h"

static void put(cop_named_losses *losses, const char *weight, const char *range)
{
	assert_null(cop_named_losses_add_weight(&losses->weights, weight));
	if (range != NULL)
		assert_null(cop_named_losses_add_range(&losses->ranges, range));
}

static void test_losses_are_read(void **state)
{
	(void)state;
	cop_named_losses l = { .weights.count = 0 };
	double low, high;
	put(&l, "click=1", NULL);
	put(&l, "revenue=-0.02", "revenue=0:50");
	put(&l, "Time_in.s-2", "Time_in.s-2=-1e3:1e3");
	assert_int_equal(l.weights.count, 3);
	assert_string_equal(l.weights.name[2], "Time_in.s-2");
	assert_true(l.weights.weight[0] == 1.0 && l.weights.weight[1] == -0.02 && l.weights.weight[2] == 0.0);
	assert_int_equal(cop_named_losses_find(&l.weights, "revenuex", 7), 1);
	assert_int_equal(cop_named_losses_find(&l.weights, "revenuex", 8), COP_NAMED_LOSSES_MOST);
	assert_int_equal(cop_named_losses_find(&l.weights, "rev", 3), COP_NAMED_LOSSES_MOST);
	cop_named_losses_range(&l, 0, &low, &high);
	assert_true(low == 0.0 && high == 1.0);
	cop_named_losses_range(&l, 2, &low, &high);
	assert_true(low == -1000.0 && high == 1000.0);
	cop_named_losses_span(&l, &low, &high);
	assert_true(low == -1.0 && high == 1.0);
	const cop_loss_values all = { 7, { 0.5, 10.0, 300.0 } }, some = { 1, { 0.5, 10.0, 300.0 } };
	assert_true(cop_named_losses_weigh(&l, &all) == 0.5 - 0.02 * 10.0 && cop_named_losses_weigh(&l, &some) == 0.5);
}

static void test_wrong_texts_are_refused(void **state)
{
	(void)state;
	static const char *const weights[] = { "", "=1", "a=", "a=b", "a=nan", "a=inf", "a=1 ", "a b", "a=1e101", "a:1",
		"click=2", "click", "abcdefghijklmnopqrstuvwxyz-012345", "\xc3\xa9=1" };
	static const char *const ranges[] = { "", "a", "a=1", "a=1:1", "a=2:1", "a=:1", "a=1:", "a=1:x", "a=nan:1",
		"=0:1", "a=0:1:2", "a=-inf:1", "click=1:2" };
	cop_named_losses l = { .weights.count = 0 };
	put(&l, "click=1", "click=0:2");
	const cop_named_losses before = l;
	for (size_t i = 0; i < sizeof weights / sizeof *weights; i++)
		if (cop_named_losses_add_weight(&l.weights, weights[i]) == NULL)
			fail_msg("%s", weights[i]);
	for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
		if (cop_named_losses_add_range(&l.ranges, ranges[i]) == NULL)
			fail_msg("%s", ranges[i]);
	assert_memory_equal(&l, &before, sizeof l);
	assert_null(cop_named_losses_add_weight(&l.weights, "abcdefghijklmnopqrstuvwxyz-0123"));
	char name[] = "a";
	for (; l.weights.count < COP_NAMED_LOSSES_MOST; name[0]++)
		assert_null(cop_named_losses_add_weight(&l.weights, name));
	assert_non_null(cop_named_losses_add_weight(&l.weights, "more"));
	assert_non_null(cop_named_losses_put_weight(&l.weights, "a\0b", 3, 1.0));
}

static void test_lists(void **state)
{
	(void)state;
	cop_loss_weights w = { .count = 0 };
	assert_null(cop_named_losses_add_list(&w, "a,b=-2.5,c=0"));
	assert_true(w.count == 3 && w.weight[0] == 1.0 && w.weight[1] == -2.5 && w.weight[2] == 0.0);
	static const char *const bad[] = { "", ",", "d,", "d,,e", "a", "d=x", "d=1=2",
		"d=0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000001" };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		cop_loss_weights copy = w;
		if (cop_named_losses_add_list(&copy, bad[i]) == NULL)
			fail_msg("%s", bad[i]);
	}
}

static void test_what_fits_a_model(void **state)
{
	(void)state;
	char text[COP_NAMED_LOSSES_TEXT];
	cop_named_losses l = { .weights.count = 0 };
	assert_true(cop_named_losses_fit(&l, 0.0, 1.0, text));
	put(&l, "a", NULL);
	assert_false(cop_named_losses_fit(&l, 0.0, 1.0, text));
	assert_non_null(strstr(text, "losses: nothing would be learned"));
	put(&l, "b=0.1", "b=0:10");
	assert_true(cop_named_losses_fit(&l, 0.0, 1.0, text));
	assert_false(cop_named_losses_fit(&l, 0.0, 0.9, text));
	assert_non_null(strstr(text, "goes from 0 to 1 (loss_ranges), expected it within loss_range, 0 to 0.9"));
	put(&l, "c=-0.1", "c=-1:2");
	assert_false(cop_named_losses_fit(&l, 0.0, 2.0, text));
	assert_non_null(strstr(text, "goes from -0.2 to 1.1"));
	assert_true(cop_named_losses_fit(&l, -0.2, 1.1, text)); /* but for rounding */
	assert_null(cop_named_losses_add_range(&l.ranges, "d=0:1"));
	assert_false(cop_named_losses_fit(&l, -9.0, 9.0, text));
	assert_non_null(strstr(text, "loss_ranges: d is no loss"));
}

static void test_places(void **state)
{
	(void)state;
	cop_named_losses was = { .weights.count = 0 }, is = { .weights.count = 0 };
	int8_t from[COP_NAMED_LOSSES_MOST];
	put(&was, "a=1", NULL);
	put(&was, "b=1", NULL);
	put(&is, "c=1", NULL);
	put(&is, "b=2", NULL);
	put(&is, "a", NULL);
	cop_named_losses_places(&was.weights, &is.weights, from);
	assert_true(from[0] == -1 && from[1] == 1 && from[2] == 0 && from[3] == -1 && from[15] == -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_losses_are_read),
		cmocka_unit_test(test_wrong_texts_are_refused),
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_what_fits_a_model),
		cmocka_unit_test(test_places),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
