#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "table/split.h"

enum { N = 1000 };

static void count_up(uint32_t *row, size_t n)
{
	for (size_t i = 0; i < n; i++)
		row[i] = (uint32_t)i;
}

static void assert_permutation(const uint32_t *row, size_t n)
{
	uint8_t seen[N] = { 0 };
	for (size_t i = 0; i < n; i++) {
		assert_true(row[i] < n && !seen[row[i]]);
		seen[row[i]] = 1;
	}
}

static void test_split_of_classes_gives_each_its_share(void **state)
{
	(void)state;
	uint32_t row[N], label[N];
	for (uint64_t seed = 1; seed < 40; seed++) {
		cop_rng rng;
		cop_rng_init(&rng, seed, 0);
		size_t n = 2 + (size_t)cop_rng_below(&rng, N - 1), classes = 1 + (size_t)cop_rng_below(&rng, 9), from;
		double share = 0.02 + 0.96 * cop_rng_unit(&rng);
		size_t all[9] = { 0 }, second[9] = { 0 };
		for (size_t i = 0; i < n; i++)
			all[label[i] = (uint32_t)(cop_rng_below(&rng, classes) * cop_rng_below(&rng, 2))]++;
		count_up(row, n);
		assert_int_equal(cop_split_two(&rng, n, row, label, share, &from), COP_OK);
		assert_permutation(row, n);
		assert_true(from >= 1 && from < n);
		assert_true(fabs((double)(n - from) - (double)n * share) <= 1.0);
		for (size_t i = from; i < n; i++)
			second[label[row[i]]]++;
		for (size_t k = 0; k < classes; k++)
			assert_true(fabs((double)second[k] - (double)all[k] * share) <= 1.0 + 1e-9);
	}
}

static void test_split_of_row_numbers_uses_their_labels(void **state)
{
	(void)state;
	uint32_t label[N], row[N / 2];
	cop_rng rng;
	size_t from, positive = 0;
	cop_rng_init(&rng, 5, 0);
	for (size_t i = 0; i < N; i++)
		label[i] = i % 10 == 1;
	for (size_t i = 0; i < N / 2; i++)
		row[i] = (uint32_t)(2 * i + 1); /* a fifth of them is positive */
	assert_int_equal(cop_split_two(&rng, N / 2, row, label, 0.2, &from), COP_OK);
	assert_int_equal(from, 400);
	for (size_t i = from; i < N / 2; i++)
		positive += label[row[i]];
	assert_int_equal(positive, 20);
}

static void test_split_is_random_and_repeats_for_a_seed(void **state)
{
	(void)state;
	uint32_t row[3][N];
	size_t from, early = 0;
	for (size_t k = 0; k < 3; k++) {
		cop_rng rng;
		cop_rng_init(&rng, k == 2 ? 8 : 7, 0);
		count_up(row[k], N);
		assert_int_equal(cop_split_two(&rng, N, row[k], NULL, 0.5, &from), COP_OK);
		assert_int_equal(from, N / 2);
	}
	assert_memory_equal(row[0], row[1], sizeof row[0]);
	assert_memory_not_equal(row[0], row[2], sizeof row[0]);
	for (size_t i = 0; i < from; i++)
		early += row[0][i] < N / 2;
	assert_true(early > N / 4 - 60 && early < N / 4 + 60);
}

static void test_split_of_extreme_shares_leaves_no_part_empty(void **state)
{
	(void)state;
	static const double shares[] = { 1e-300, 1e-9, 0.5, 1 - 1e-9, 0x1.fffffffffffffp-1 };
	static const double wrong[] = { 0, 1, -1, 2, (double)NAN };
	uint32_t row[7], label[7] = { 0, 1, 2, 3, 4, 5, 6 };
	cop_rng rng;
	size_t from;
	cop_rng_init(&rng, 1, 0);
	for (size_t n = 2; n <= 7; n++)
		for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
			for (int k = 0; k < 2; k++) {
				count_up(row, n);
				assert_int_equal(
				        cop_split_two(&rng, n, row, k ? label : NULL, shares[i], &from), COP_OK);
				assert_true(from >= 1 && from < n);
				assert_permutation(row, n);
			}
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		assert_int_equal(cop_split_two(&rng, 7, row, NULL, wrong[i], &from), COP_EINVAL);
	assert_int_equal(cop_split_two(&rng, 1, row, NULL, 0.5, &from), COP_EINVAL);
	assert_int_equal(cop_split_two(&rng, 0, row, NULL, 0.5, &from), COP_EINVAL);
}

static void test_folds_are_even_in_all_and_in_each_class(void **state)
{
	(void)state;
	uint32_t label[N], fold[N];
	for (uint64_t seed = 1; seed < 40; seed++) {
		cop_rng rng;
		cop_rng_init(&rng, seed, 0);
		size_t n = 20 + (size_t)cop_rng_below(&rng, N - 20), k = 2 + (size_t)cop_rng_below(&rng, 9);
		size_t all[10] = { 0 }, class[10][4] = { { 0 } }, total[4] = { 0 };
		for (size_t i = 0; i < n; i++)
			label[i] = (uint32_t)cop_rng_below(&rng, 4);
		assert_int_equal(cop_split_folds(&rng, n, label, k, fold), COP_OK);
		for (size_t i = 0; i < n; i++) {
			assert_true(fold[i] < k);
			all[fold[i]]++;
			class[fold[i]][label[i]]++;
			total[label[i]]++;
		}
		for (size_t f = 0; f < k; f++) {
			assert_true(all[f] == n / k || all[f] == n / k + 1);
			for (size_t c = 0; c < 4; c++)
				assert_true(class[f][c] == total[c] / k || class[f][c] == total[c] / k + 1);
		}
	}
}

static void test_folds_that_cannot_be_are_refused(void **state)
{
	(void)state;
	uint32_t fold[3];
	cop_rng rng;
	cop_rng_init(&rng, 1, 0);
	assert_int_equal(cop_split_folds(&rng, 3, NULL, 1, fold), COP_EINVAL);
	assert_int_equal(cop_split_folds(&rng, 3, NULL, 4, fold), COP_EINVAL);
	assert_int_equal(cop_split_folds(&rng, 3, NULL, 3, fold), COP_OK);
	assert_true(fold[0] + fold[1] + fold[2] == 3);
}

static void test_draw_is_ascending_and_even(void **state)
{
	(void)state;
	enum { DRAWS = 4000, FROM = 20, TAKE = 5 };
	cop_rng rng;
	uint32_t row[FROM];
	cop_rng_init(&rng, 3, 0);
	for (int replace = 0; replace < 2; replace++) {
		size_t count[FROM] = { 0 };
		for (size_t i = 0; i < DRAWS; i++) {
			assert_int_equal(cop_split_draw(&rng, FROM, TAKE, replace != 0, row), COP_OK);
			for (size_t k = 0; k < TAKE; k++) {
				assert_true(row[k] < FROM && (k == 0 || row[k] + (replace != 0) > row[k - 1]));
				count[row[k]]++;
			}
		}
		for (size_t k = 0; k < FROM; k++)
			assert_true(fabs((double)count[k] - (double)DRAWS * TAKE / FROM) < 160);
	}
	assert_int_equal(cop_split_draw(&rng, FROM, FROM, false, row), COP_OK);
	assert_permutation(row, FROM);
	assert_int_equal(cop_split_draw(&rng, FROM, FROM + 1, false, row), COP_EINVAL);
	assert_int_equal(cop_split_draw(&rng, 0, 1, true, row), COP_EINVAL);
	assert_int_equal(cop_split_draw(&rng, 0, 0, false, row), COP_OK);
}

static void test_split_without_memory_fails_cleanly(void **state)
{
	(void)state;
	uint32_t row[20], label[20] = { 0, 1 }, fold[20];
	for (int what = 0; what < 2; what++) {
		unsigned long n = 1;
		for (;; n++) {
			cop_rng rng;
			size_t from;
			cop_rng_init(&rng, 1, 0);
			count_up(row, 20);
			cop_test_alloc_fail(n, 0);
			cop_err err = what == 0 ? cop_split_two(&rng, 20, row, label, 0.3, &from)
			                        : cop_split_folds(&rng, 20, label, 3, fold);
			cop_test_alloc_fail(0, 0);
			assert_int_equal(err != COP_OK, cop_test_alloc_failed());
			assert_permutation(row, 20);
			if (err == COP_OK)
				break;
			assert_int_equal(err, COP_ENOMEM);
		}
		assert_true(n > 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_split_of_classes_gives_each_its_share),
		cmocka_unit_test(test_split_of_row_numbers_uses_their_labels),
		cmocka_unit_test(test_split_is_random_and_repeats_for_a_seed),
		cmocka_unit_test(test_split_of_extreme_shares_leaves_no_part_empty),
		cmocka_unit_test(test_folds_are_even_in_all_and_in_each_class),
		cmocka_unit_test(test_folds_that_cannot_be_are_refused),
		cmocka_unit_test(test_draw_is_ascending_and_even),
		cmocka_unit_test(test_split_without_memory_fails_cleanly),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
