/* Named losses over time: what is counted stays, whatever is joined; columns go by name and range. */
#include "support.h"

#include <math.h>

#include "daemon/models/timeline.h"

static void name(cop_named_losses *names, const char *list, const char *range)
{
	*names = (cop_named_losses){ 0 };
	assert_null(cop_named_losses_add_list(&names->weights, list));
	if (range != NULL)
		assert_null(cop_named_losses_add_range(&names->ranges, range));
}

static void tell(cop_loss_sum *sum, uint64_t count, double each)
{
	sum->count += count;
	sum->sum += (double)count * each;
}

static cop_loss_sum total(const cop_timeline *t, size_t column)
{
	cop_loss_sum all = { 0 };
	for (size_t i = 0; i < t->count; i++) {
		const cop_loss_sum *item = &t->named.item[i * t->named.count + column];
		all.count += item->count;
		all.sum += item->sum;
	}
	return all;
}

static void expect(const cop_timeline *t, size_t column, uint64_t count, double sum)
{
	const cop_loss_sum all = total(t, column);
	assert_int_equal(all.count, count);
	assert_true(fabs(all.sum - sum) < 1e-6 * (1.0 + fabs(sum)));
}

static void begin(cop_timeline *t, const cop_named_losses *names, const cop_loss_sum *sums)
{
	const cop_timeline_sums none = { 0 };
	assert_int_equal(cop_timeline_init(t, 0), COP_OK);
	cop_loss_series_name(&t->named, names);
	cop_timeline_begin(t, 0.0, &none, NULL, sums);
}

static void test_intervals_are_joined_and_nothing_is_lost(void **state)
{
	(void)state;
	cop_timeline t;
	const cop_timeline_sums none = { 0 };
	cop_named_losses names;
	cop_loss_sum sums[COP_NAMED_LOSSES_MOST] = { { 5, 2.0 }, { 7, 9.0 } }; /* from before: not counted */
	name(&names, "click,revenue", "revenue=0:50");
	begin(&t, &names, sums);
	uint64_t clicks = 0;
	double revenue = 0.0;
	for (unsigned second = 1; second <= 5000; second++) {
		tell(&sums[0], second % 3, 0.25);
		tell(&sums[1], 1, second % 50);
		clicks += second % 3;
		revenue += second % 50;
		if (second % 7 != 0 || second == 5000)
			cop_timeline_take(&t, second, &none, NULL, sums);
		if (second == 1)
			assert_true(t.named.item[0].count == 1 && t.named.item[1].sum == 1.0);
	}
	tell(&sums[0], 1, 1.0);
	cop_timeline_take(&t, 1e6, &none, NULL, sums);
	expect(&t, 0, clicks + 1, 0.25 * (double)clicks + 1.0);
	expect(&t, 1, 5000, revenue);
	cop_timeline_fini(&t);
}

static void test_columns_go_by_name_and_range(void **state)
{
	(void)state;
	cop_timeline t;
	const cop_timeline_sums none = { 0 };
	cop_named_losses names;
	cop_loss_sum sums[COP_NAMED_LOSSES_MOST] = { { 0 } };
	name(&names, "click,revenue,seconds", "revenue=0:50");
	begin(&t, &names, sums);
	for (size_t i = 0; i < 3; i++)
		tell(&sums[i], 4 + i, 1.0);
	cop_timeline_take(&t, 1.0, &none, NULL, sums);
	name(&names, "seconds,revenue,new", "revenue=0:60"); /* another range: an account that began again */
	cop_loss_series_name(&t.named, &names);
	sums[0] = sums[2];
	sums[1] = sums[2] = (cop_loss_sum){ 0 };
	tell(&sums[0], 2, 0.5);
	tell(&sums[1], 3, 10.0);
	cop_timeline_take(&t, 2.0, &none, NULL, sums);
	expect(&t, 0, 8, 7.0);
	expect(&t, 1, 3, 30.0);
	expect(&t, 2, 0, 0.0);
	names = (cop_named_losses){ 0 };
	cop_loss_series_name(&t.named, &names);
	assert_true(t.named.count == 0 && t.named.item == NULL);
	cop_timeline_fini(&t);
}

static void test_sums_that_fall_are_taken_for_where_they_go_on(void **state)
{
	(void)state;
	cop_timeline t, next;
	const cop_timeline_sums none = { 0 };
	cop_named_losses names;
	cop_loss_sum sums[COP_NAMED_LOSSES_MOST] = { { 0 } };
	name(&names, "click", NULL);
	begin(&t, &names, sums);
	begin(&next, &names, sums);
	tell(&sums[0], 10, 1.0);
	cop_timeline_take(&t, 1.0, &none, NULL, sums);
	tell(&sums[0], 2, 1.0);
	const cop_loss_sum was = sums[0], now = { 3, 1.0 };
	cop_timeline_follow(&next, &t);
	cop_loss_series_shift(&next.named, &was, &now);
	sums[0] = now;
	tell(&sums[0], 1, 0.5);
	cop_timeline_take(&next, 2.0, &none, NULL, sums);
	expect(&next, 0, 13, 12.5);
	cop_timeline_fini(&t);
	cop_timeline_fini(&next);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_intervals_are_joined_and_nothing_is_lost),
		cmocka_unit_test(test_columns_go_by_name_and_range),
		cmocka_unit_test(test_sums_that_fall_are_taken_for_where_they_go_on),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
