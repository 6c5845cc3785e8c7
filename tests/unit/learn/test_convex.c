/* Weights against a search over all of them, what they do not hang on, and states saved and refused. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "learn/convex.h"

#define N 3

/* Predictors of which the first two share a fault that the third one has not. */
static void draw(cop_rng *rng, double *error)
{
	double shared = cop_rng_normal(rng);
	error[0] = shared + 0.5 * cop_rng_normal(rng);
	error[1] = shared + 0.7 * cop_rng_normal(rng);
	error[2] = 1.2 * cop_rng_normal(rng);
}

static void fill(cop_convex *convex, double scale, size_t events)
{
	cop_rng rng;
	cop_rng_init(&rng, 3, 1);
	*convex = (cop_convex){ .count = N };
	for (size_t i = 0; i < events; i++) {
		double error[N];
		draw(&rng, error);
		for (size_t k = 0; k < N; k++)
			error[k] *= scale;
		cop_convex_settle(convex, 0.999, error);
	}
}

static double squared(const cop_convex *convex, const double *w)
{
	double sum = 0.0;
	for (size_t i = 0; i < convex->count; i++)
		for (size_t j = 0; j < convex->count; j++)
			sum += w[i] * convex->together[i][j] * w[j];
	return sum;
}

static void test_weights_are_the_best_of_those_that_add_up_to_one(void **state)
{
	(void)state;
	cop_convex convex;
	double w[N], best = HUGE_VAL;
	fill(&convex, 1.0, 3000);
	cop_convex_weights(&convex, 0.0, w);
	assert_true(fabs(w[0] + w[1] + w[2] - 1.0) < 1e-12 && w[0] >= 0.0 && w[1] >= 0.0 && w[2] >= 0.0);
	for (int a = 0; a <= 100; a++)
		for (int b = 0; a + b <= 100; b++) {
			const double some[N] = { a / 100.0, b / 100.0, (100 - a - b) / 100.0 };
			best = fmin(best, squared(&convex, some));
		}
	assert_true(squared(&convex, w) <= best && squared(&convex, w) > 0.98 * best);
	assert_true(w[0] > 0.3 && w[2] > 0.3 && w[1] < 0.2);
}

static void test_unit_of_errors_does_not_matter_and_few_errors_weigh_little(void **state)
{
	(void)state;
	cop_convex one, huge, none = { .count = N };
	double w[N], v[N];
	fill(&one, 1.0, 50);
	fill(&huge, 0x1p40, 50);
	cop_convex_weights(&one, 2.0, w);
	cop_convex_weights(&huge, 2.0 * 0x1p80, v);
	assert_memory_equal(w, v, sizeof w);
	cop_convex_weights(&one, 1e9, v);
	for (size_t k = 0; k < N; k++)
		assert_true(fabs(v[k] - 1.0 / N) < 1e-3 && fabs(w[k] - 1.0 / N) > 1e-3);
	cop_convex_weights(&none, 0.0, v);
	for (size_t k = 0; k < N; k++)
		assert_true(v[k] == 1.0 / N);
}

/* Of predictors that are the same, any weights would do. */
static void test_equal_predictors_share_their_weight(void **state)
{
	(void)state;
	cop_convex convex = { .count = COP_CONVEX_MOST };
	const double error[COP_CONVEX_MOST] = { 1.0, 1.0, 1.0, 1.0, 1.0 };
	double w[COP_CONVEX_MOST], sum = 0.0;
	for (size_t i = 0; i < 100; i++)
		cop_convex_settle(&convex, 1.0, error);
	cop_convex_weights(&convex, 1e-3, w);
	for (size_t k = 0; k < COP_CONVEX_MOST; k++) {
		assert_true(fabs(w[k] - 0.2) < 1e-3);
		sum += w[k];
	}
	assert_true(fabs(sum - 1.0) < 1e-12);
}

static void test_saved_sums_come_back_and_spoiled_ones_are_refused(void **state)
{
	(void)state;
	cop_convex convex, again = { .count = N };
	cop_bytes bytes = { 0 };
	cop_cursor cursor;
	fill(&convex, 1.0, 20);
	cop_convex_save(&convex, &bytes);
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	assert_int_equal(cop_convex_load(&again, &cursor), COP_OK);
	assert_int_equal(cop_cursor_left(&cursor), 0);
	assert_memory_equal(again.together, convex.together, sizeof convex.together);
	for (size_t cut = 0; cut < bytes.length; cut++) {
		cop_cursor_init(&cursor, bytes.data, cut);
		assert_int_not_equal(cop_convex_load(&again, &cursor), COP_OK);
	}
	bytes.data[sizeof(double)] ^= 1; /* no longer symmetric */
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	assert_int_equal(cop_convex_load(&again, &cursor), COP_EFORMAT);
	cop_bytes_fini(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_weights_are_the_best_of_those_that_add_up_to_one),
		cmocka_unit_test(test_unit_of_errors_does_not_matter_and_few_errors_weigh_little),
		cmocka_unit_test(test_equal_predictors_share_their_weight),
		cmocka_unit_test(test_saved_sums_come_back_and_spoiled_ones_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
