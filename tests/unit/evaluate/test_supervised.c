/* How good predictions are: shares and means by hand, the area under the curve against all pairs. */
#include "support.h"

#include <math.h>

#include "base/rng.h"
#include "evaluate/supervised.h"

static void test_error_rate_is_the_share_of_other_labels(void **state)
{
	(void)state;
	const uint32_t predicted[] = { 3, 0, 2, 5, 1 }, label[] = { 1, 0, 2, 4, 1 };
	assert_true(isnan(cop_supervised_error_rate(0, predicted, label)));
	assert_true(cop_supervised_error_rate(1, predicted, label) == 1.0);
	assert_true(cop_supervised_error_rate(4, predicted, label) == 0.5);
	assert_true(cop_supervised_error_rate(5, predicted, label) == 0.4);
	assert_true(cop_supervised_error_rate(2, predicted + 1, label + 1) == 0.0);
}

static void test_rmse_is_the_root_of_the_mean_square(void **state)
{
	(void)state;
	const double predicted[] = { 5.0, -1.0, 0.5 }, target[] = { 2.0, 3.0, 0.5 };
	assert_true(isnan(cop_supervised_rmse(0, predicted, target)));
	assert_true(cop_supervised_rmse(1, predicted, target) == 3.0);
	assert_true(cop_supervised_rmse(2, predicted, target) == sqrt(12.5));
	assert_true(cop_supervised_rmse(3, predicted, target) == sqrt(25.0 / 3.0));
	assert_true(cop_supervised_rmse(1, predicted + 2, target + 2) == 0.0);
}

static double auc_of(size_t n, const double *score, const uint32_t *label)
{
	double area = -1.0;
	assert_int_equal(cop_supervised_auc(n, score, label, &area), COP_OK);
	return area;
}

/* What the header says: the chance that the score of a 1 is the greater one, ties half. */
static double naive_auc(size_t n, const double *score, const uint32_t *label)
{
	double won = 0.0, pairs = 0.0;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < n && label[i] == 1; k++) {
			if (label[k] == 1)
				continue;
			won += score[i] > score[k] ? 1.0 : score[i] == score[k] ? 0.5 : 0.0;
			pairs += 1.0;
		}
	return won / pairs;
}

static void test_auc_is_the_share_of_pairs_in_order(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, 3, 0);
	for (size_t round = 0; round < 200; round++) {
		double score[40];
		uint32_t label[40] = { 0, 1 };
		size_t n = 2 + round % 39;
		uint64_t scores = round % 3 == 0 ? 3 : 1000; /* few: ties */
		for (size_t i = 0; i < n; i++) {
			score[i] = (double)cop_rng_below(&rng, scores) - 1.0;
			label[i] = i < 2 ? label[i] : (uint32_t)cop_rng_below(&rng, 2);
		}
		assert_true(fabs(auc_of(n, score, label) - naive_auc(n, score, label)) < 1e-12);
	}
}

static void test_auc_of_scores_in_order_in_reverse_and_of_equals(void **state)
{
	(void)state;
	const double score[] = { 0.9, 0.1, 0.5 }, equal[] = { 0.5, 0.5, 0.5 };
	const uint32_t best[] = { 1, 0, 0 }, worst[] = { 0, 1, 0 }, most[] = { 1, 0, 1 };
	assert_true(auc_of(3, score, best) == 1.0);
	assert_true(auc_of(3, score, worst) == 0.0);
	assert_true(auc_of(3, score, most) == 1.0);
	assert_true(auc_of(3, equal, most) == 0.5);
}

static void test_auc_without_one_of_the_labels_is_not_a_number(void **state)
{
	(void)state;
	const double score[] = { 0.9, 0.1, 0.5 };
	const uint32_t zeros[] = { 0, 0, 0 }, ones[] = { 1, 1, 1 };
	assert_true(isnan(auc_of(0, score, ones)));
	assert_true(isnan(auc_of(3, score, zeros)));
	assert_true(isnan(auc_of(3, score, ones)));
}

static void test_auc_without_memory_is_refused(void **state)
{
	(void)state;
	const double score[] = { 0.9, 0.1 };
	const uint32_t label[] = { 1, 0 };
	double area = 0.0;
	cop_test_alloc_fail(1, 0);
	assert_int_equal(cop_supervised_auc(2, score, label, &area), COP_ENOMEM);
	assert_true(isnan(area));
}

static void test_rank_counts_what_is_predicted_before(void **state)
{
	(void)state;
	const double output[] = { 0.1, 0.4, 0.1, 0.4, 0.0 };
	const size_t wanted[] = { 2, 0, 3, 1, 4 };
	for (size_t k = 0; k < 5; k++)
		assert_int_equal(cop_supervised_rank(5, output, k), wanted[k]);
	assert_int_equal(cop_supervised_rank(1, output, 0), 0);
}

static void test_perplexity_is_over_the_covered_rows(void **state)
{
	(void)state;
	const double p[] = { 0.5, 0.0, 0.125, 0.0, 1.0 };
	double covered = -1.0;
	assert_true(fabs(cop_supervised_perplexity(5, p, &covered) - pow(16.0, 1.0 / 3.0)) < 1e-12);
	assert_true(covered == 0.6);
	assert_true(cop_supervised_perplexity(1, p + 4, &covered) == 1.0 && covered == 1.0);
	assert_true(isnan(cop_supervised_perplexity(1, p + 1, &covered)) && covered == 0.0);
	assert_true(isnan(cop_supervised_perplexity(0, p, &covered)) && isnan(covered));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_error_rate_is_the_share_of_other_labels),
		cmocka_unit_test(test_rmse_is_the_root_of_the_mean_square),
		cmocka_unit_test(test_rank_counts_what_is_predicted_before),
		cmocka_unit_test(test_perplexity_is_over_the_covered_rows),
		cmocka_unit_test(test_auc_is_the_share_of_pairs_in_order),
		cmocka_unit_test(test_auc_of_scores_in_order_in_reverse_and_of_equals),
		cmocka_unit_test(test_auc_without_one_of_the_labels_is_not_a_number),
		cmocka_unit_test(test_auc_without_memory_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
