/* l1_softmax: what it alone promises; see test_l1_solvers. */
#include "l1_fixture.h"

static l1_problem p;

static void test_softmax_loose_tolerance_is_met(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 30; seed++) {
		float w[L1_K * L1_D] = { 0 };
		float b[L1_K] = { 0 };
		l1_draw(&p, L1_SOFTMAX, seed);
		assert_int_equal(l1_fit_to(&p, 1e-2, 60, w, b, NULL), COP_OK);
		assert_true(l1_objective(&p, w, b) - l1_reference(&p) <= 2e-2 * l1_objective_at_zero(&p));
	}
}

static void test_softmax_absent_class_becomes_impossible(void **state)
{
	(void)state;
	float w[L1_K * L1_D];
	float b[L1_K] = { 0 };
	cop_l1_report report;
	for (uint64_t seed = 0; p.k != L1_K; seed++)
		l1_draw(&p, L1_SOFTMAX, seed);
	for (size_t i = 0; i < p.n; i++)
		p.label[i] = p.label[i] == 2 ? 3 : p.label[i];
	for (size_t i = 0; i < p.k * p.d; i++)
		w[i] = 0.1F;
	assert_int_equal(l1_fit(&p, w, b, &report), COP_OK);
	for (size_t j = 0; j < p.d; j++)
		assert_true(w[2 * p.d + j] == 0.0F);
	for (size_t k = 0; k < p.k; k++)
		assert_true(k == 2 || b[2] <= b[k] - 29.0F);
	assert_true(fabs(report.objective / l1_objective(&p, w, b) - 1.0) < 1e-4);
}

static void test_softmax_one_class_needs_no_weights(void **state)
{
	(void)state;
	float w[L1_K * L1_D] = { 1.0F };
	float b[L1_K] = { 0 };
	cop_l1_report report;
	l1_draw(&p, L1_SOFTMAX, 1);
	for (size_t i = 0; i < p.n; i++)
		p.weight[i] = p.label[i] == 1 ? p.weight[i] : 0.0F;
	assert_int_equal(l1_fit(&p, w, b, &report), COP_OK);
	assert_int_equal(report.nonzeros, 0);
	assert_true(b[1] > b[0] + 29.0F);
	memset(p.weight, 0, sizeof p.weight);
	assert_int_equal(l1_fit(&p, w, b, &report), COP_OK);
	assert_true(report.objective == 0.0 && b[0] == b[1]);
}

static void test_softmax_wrong_classes_are_refused(void **state)
{
	(void)state;
	const cop_l1_settings settings = { 1.0, 1e-3, 5 };
	float w[L1_K * L1_D] = { 0 };
	float b[L1_K] = { 0 };
	cop_columns x;
	l1_draw(&p, L1_SOFTMAX, 3);
	l1_columns(&p, &x);
	assert_int_equal(cop_l1_softmax_fit(&settings, &x, 1, p.label, p.weight, w, b, NULL), COP_EINVAL);
	p.label[4] = (uint32_t)p.k;
	assert_int_equal(cop_l1_softmax_fit(&settings, &x, p.k, p.label, p.weight, w, b, NULL), COP_EINVAL);
	cop_columns_fini(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_softmax_loose_tolerance_is_met),
		cmocka_unit_test(test_softmax_absent_class_becomes_impossible),
		cmocka_unit_test(test_softmax_one_class_needs_no_weights),
		cmocka_unit_test(test_softmax_wrong_classes_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
