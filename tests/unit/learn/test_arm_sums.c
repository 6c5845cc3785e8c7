/* Sums of an arm against those of the rows themselves. */
#include "support.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/rng.h"
#include "learn/arm_sums.h"

#define ROWS 50
#define MOST 9

static float rows[ROWS][MOST];
static double residual[ROWS];

static void draw(uint64_t seed)
{
	cop_rng rng;
	cop_rng_init(&rng, seed, 1);
	for (size_t i = 0; i < ROWS; i++) {
		residual[i] = cop_rng_unit(&rng) - 0.5;
		for (size_t j = 0; j < MOST; j++)
			rows[i][j] = (float)cop_rng_below(&rng, 8); /* so that sums are exact */
	}
}

static void add_up(size_t d, double *out)
{
	memset(out, 0, cop_arm_sums_width(d) * sizeof *out);
	for (size_t i = 0; i < ROWS; i++)
		cop_arm_sums_add(out, rows[i], d, residual[i]);
}

static void test_width_tells_the_features(void **state)
{
	(void)state;
	size_t d;
	for (size_t n = 0; n <= COP_ARM_SUMS_FEATURES; n++) {
		assert_int_equal(cop_arm_sums_width(n), (n + 1) * (n + 2) / 2 + n + 1);
		assert_true(cop_arm_sums_features(cop_arm_sums_width(n), &d));
		assert_int_equal(d, n);
		assert_false(cop_arm_sums_features(cop_arm_sums_width(n) + 1, &d));
	}
	assert_false(cop_arm_sums_features(0, &d));
	assert_false(cop_arm_sums_features(SIZE_MAX, &d));
	assert_false(cop_arm_sums_features(cop_arm_sums_width(COP_ARM_SUMS_FEATURES + 1), &d));
}

static void test_sums_are_in_their_places(void **state)
{
	(void)state;
	double sum[64];
	const size_t d = 4;
	draw(1);
	add_up(d, sum);
	double wanted = 0.0, cross = 0.0;
	for (size_t i = 0; i < ROWS; i++) {
		wanted += residual[i] * (double)rows[i][2];
		cross += (double)rows[i][1] * (double)rows[i][3];
	}
	assert_true(sum[0] == ROWS && sum[2 + d + 2] == wanted);
	assert_true(sum[2 + 2 * d + d + 2] == cross); /* behind the first row, its own diagonal and that of 1 and 2 */
}

static void test_placed_sums_are_those_of_the_shared_features(void **state)
{
	(void)state;
	double from[128], is[128], wanted[128];
	draw(2);
	for (size_t d = 0; d <= MOST; d++)
		for (size_t to = 0; to <= MOST; to++) {
			add_up(d, from);
			cop_arm_sums_place(from, d, is, to);
			for (size_t j = 0; j < to; j++)
				assert_int_equal(cop_arm_sums_lacks(is, to, j), j >= d);
			for (size_t j = d; j < to; j++)
				cop_arm_sums_fix(is, to, j, 3.0);
			for (size_t i = 0; i < ROWS; i++)
				for (size_t j = d; j < to; j++)
					rows[i][j] = 3.0f;
			add_up(to, wanted);
			for (size_t i = 0; i < cop_arm_sums_width(to); i++)
				assert_true(fabs(is[i] - wanted[i]) < 1e-9);
			draw(2);
		}
}

static void test_missed_feature_takes_nothing_in_until_it_is_fixed(void **state)
{
	(void)state;
	double sum[64], wanted[64];
	const size_t d = 5;
	draw(3);
	add_up(d, sum);
	for (size_t j = 1; j < 5; j += 3)
		cop_arm_sums_miss(sum, d, j);
	for (size_t i = 0; i < ROWS; i++) {
		rows[i][1] = rows[i][4] = 0.0f;
		cop_arm_sums_add(sum, rows[i], d, residual[i]);
	}
	for (size_t j = 0; j < d; j++)
		assert_int_equal(cop_arm_sums_lacks(sum, d, j), j == 1 || j == 4);
	cop_arm_sums_fix(sum, d, 4, 2.0);
	assert_true(cop_arm_sums_lacks(sum, d, 1));
	cop_arm_sums_fix(sum, d, 1, -1.0);
	for (size_t i = 0; i < ROWS; i++) {
		rows[i][1] = -1.0f;
		rows[i][4] = 2.0f;
	}
	add_up(d, wanted);
	for (size_t i = 0; i < ROWS; i++)
		cop_arm_sums_add(wanted, rows[i], d, residual[i]);
	for (size_t i = 0; i < cop_arm_sums_width(d); i++)
		assert_true(fabs(sum[i] - wanted[i]) < 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_width_tells_the_features),
		cmocka_unit_test(test_sums_are_in_their_places),
		cmocka_unit_test(test_placed_sums_are_those_of_the_shared_features),
		cmocka_unit_test(test_missed_feature_takes_nothing_in_until_it_is_fixed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
