/* What a model did over time: sums that stay what was counted, whatever is joined; bounded, for any time and any gaps.
 */
#include "support.h"

#include <math.h>

#include "daemon/models/timeline.h"

#define ARMS 3

static cop_timeline_sums sums;
static uint64_t arms[ARMS];

/* Decisions of equal propensity, each with a loss. */
static void decide(uint64_t count, size_t arm, double p, double loss)
{
	sums.decisions += count;
	sums.losses += count;
	sums.loss += (double)count * loss;
	sums.weighed += count;
	sums.weights += (double)count / p;
	sums.weights_squared += (double)count / (p * p);
	arms[arm] += count;
}

static void expect_sums(const cop_timeline *t, const cop_timeline_sums *expected)
{
	cop_timeline_sums all = { 0 };
	uint64_t played = 0;
	for (size_t i = 0; i < t->count; i++) {
		uint64_t of_arms = 0;
		for (size_t k = 0; k < ARMS; k++)
			of_arms += t->arm[i * ARMS + k];
		assert_int_equal(of_arms, t->item[i].decisions);
		played += of_arms;
		all.losses += t->item[i].losses;
		all.loss += t->item[i].loss;
		all.weighed += t->item[i].weighed;
		all.weights += t->item[i].weights;
	}
	assert_int_equal(played, expected->decisions);
	assert_int_equal(all.losses, expected->losses);
	assert_int_equal(all.weighed, expected->weighed);
	assert_true(fabs(all.loss - expected->loss) < 1e-9 * (1.0 + expected->loss));
	assert_true(fabs(all.weights - expected->weights) < 1e-9 * (1.0 + expected->weights));
}

static void begin(cop_timeline *t, double now)
{
	sums = (cop_timeline_sums){ 100, 50, 25.0, 100, 200.0, 400.0 }; /* from before: not counted */
	for (size_t k = 0; k < ARMS; k++)
		arms[k] = 10;
	assert_int_equal(cop_timeline_init(t, ARMS), COP_OK);
	cop_timeline_begin(t, now, &sums, arms, NULL);
}

static void test_interval_has_what_came_in_it(void **state)
{
	(void)state;
	cop_timeline t;
	begin(&t, 1000.25);
	decide(4, 0, 0.5, 0.25);
	cop_timeline_take(&t, 1001.0, &sums, arms, NULL); /* not over yet */
	assert_int_equal(t.count, 0);
	cop_timeline_take(&t, 1001.25, &sums, arms, NULL);
	assert_int_equal(t.count, 1);
	decide(2, 2, 0.25, 1.0);
	cop_timeline_take(&t, 1004.5, &sums, arms, NULL); /* two in which nobody looked are empty */
	assert_int_equal(t.count, 4);
	static const uint64_t decisions[] = { 4, 2, 0, 0 };
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(t.item[i].decisions, decisions[i]);
	assert_true(t.item[0].loss == 1.0 && t.item[1].loss == 2.0 && t.item[1].weights == 8.0);
	assert_true(t.arm[0] == 4 && t.arm[1] == 0 && t.arm[ARMS + 2] == 2);
	assert_true(t.taken == 1004.25 && t.interval == 1.0 && t.began == 1000.25);
	cop_timeline_fini(&t);
}

static void test_intervals_are_joined_and_nothing_is_lost(void **state)
{
	(void)state;
	cop_timeline t;
	begin(&t, 0.0);
	const cop_timeline_sums before = sums;
	uint64_t seed = 7;
	for (unsigned second = 1; second <= 100000; second++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		decide(seed >> 62, (seed >> 40) % ARMS, 0.125, 0.5);
		if (second % 7 != 0) /* some looks come late */
			cop_timeline_take(&t, second, &sums, arms, NULL);
		assert_true(t.count < COP_TIMELINE_MOST);
	}
	cop_timeline_take(&t, 100000.0, &sums, arms, NULL);
	assert_true(t.count >= COP_TIMELINE_MOST / 2 && t.interval == 1024.0); /* 128 * 1024 > 100000 >= 128 * 512 */
	assert_true(t.taken == 1024.0 * (double)t.count && t.taken <= 100000.0);
	decide(5, 1, 0.5, 0.5);
	cop_timeline_take(&t, 101000.0 + 1024.0, &sums, arms, NULL);
	const cop_timeline_sums expected = { sums.decisions - before.decisions, sums.losses - before.losses,
		sums.loss - before.loss, sums.weighed - before.weighed, sums.weights - before.weights, 0.0 };
	expect_sums(&t, &expected);
	cop_timeline_take(&t, 1e9, &sums, arms, NULL); /* thirty years later */
	assert_true(t.count < COP_TIMELINE_MOST && t.taken <= 1e9 && t.taken + t.interval > 1e9);
	expect_sums(&t, &expected);
	cop_timeline_fini(&t);
}

static void test_effective_share_is_that_of_equal_weights(void **state)
{
	(void)state;
	cop_timeline_sums none = { 0 };
	assert_true(isnan(cop_timeline_effective_share(&none)));
	sums = none;
	decide(10, 0, 0.25, 0.0);
	assert_true(fabs(cop_timeline_effective_share(&sums) - 1.0) < 1e-12);
	decide(10, 0, 0.5, 0.0); /* weights 4 and 2: (40 + 20)^2 / (20 (160 + 40)) */
	assert_true(fabs(cop_timeline_effective_share(&sums) - 0.9) < 1e-12);
	sums.decisions += 60; /* a baseline's */
	assert_true(fabs(cop_timeline_effective_share(&sums) - 0.9) < 1e-12);
}

static void test_without_arms_decisions_are_counted_alone(void **state)
{
	(void)state;
	cop_timeline t;
	sums = (cop_timeline_sums){ 0 };
	assert_int_equal(cop_timeline_init(&t, 0), COP_OK);
	cop_timeline_begin(&t, 5.0, &sums, NULL, NULL);
	decide(3, 0, 1.0, 0.0);
	for (double now = 5.0; now < 300.0; now += 0.5)
		cop_timeline_take(&t, now, &sums, NULL, NULL);
	assert_int_equal(t.item[0].decisions, 3);
	cop_timeline_fini(&t);
	cop_timeline_fini(&t); /* again is nothing */
}

static void test_sums_that_fall_are_taken_for_where_they_go_on(void **state)
{
	(void)state;
	cop_timeline t;
	begin(&t, 0.0);
	decide(5, 1, 0.5, 1.0);
	cop_timeline_take(&t, 1.0, &sums, arms, NULL);
	decide(2, 0, 0.5, 1.0); /* not looked at when it falls */
	const cop_timeline_sums was = sums, now = { 40, 20, 3.0, 40, 90.0, 200.0 };
	cop_timeline_shift(&t, &was, &now);
	sums = now;
	decide(4, 2, 0.5, 0.5);
	cop_timeline_take(&t, 2.0, &sums, arms, NULL);
	assert_int_equal(t.item[1].decisions, 6);
	assert_int_equal(t.item[1].losses, 6);
	assert_true(fabs(t.item[1].loss - 4.0) < 1e-12 && fabs(t.item[1].weights - 12.0) < 1e-12);
	assert_true(fabs(t.item[1].weights_squared - 24.0) < 1e-12);
	cop_timeline_fini(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_interval_has_what_came_in_it),
		cmocka_unit_test(test_intervals_are_joined_and_nothing_is_lost),
		cmocka_unit_test(test_effective_share_is_that_of_equal_weights),
		cmocka_unit_test(test_sums_that_fall_are_taken_for_where_they_go_on),
		cmocka_unit_test(test_without_arms_decisions_are_counted_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
