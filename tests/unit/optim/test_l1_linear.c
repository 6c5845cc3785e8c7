/* l1_linear: what it alone promises; see test_l1_solvers. */
#include "l1_fixture.h"

static l1_problem p;

static void test_linear_loose_tolerance_is_met(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 40; seed++) {
		float w[L1_D] = { 0 };
		float b = 0.0F;
		l1_draw(&p, L1_LINEAR, seed);
		assert_int_equal(l1_fit_to(&p, 1e-2, 500, w, &b, NULL), COP_OK);
		assert_true(l1_objective(&p, w, &b) - l1_reference(&p) <= 1.01e-2 * l1_objective_at_zero(&p));
	}
}

static void test_linear_without_penalty_finds_the_plane(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 6; seed++) {
		float w[L1_D] = { 0 };
		float b = 0.0F;
		l1_draw(&p, L1_LINEAR, 2 * seed);
		p.d = p.d > 6 ? 6 : p.d;
		p.lambda = 0.0;
		for (size_t i = 0; i < p.n; i++) {
			p.y[i] = 4.0F;
			for (size_t j = 0; j < p.d; j++)
				p.y[i] += (float)(j + 1) * p.x[i * p.d + j];
		}
		assert_int_equal(l1_fit_to(&p, 1e-12, 5000, w, &b, NULL), COP_OK);
		for (size_t j = 0; j < p.d; j++)
			assert_true(fabsf(w[j] - (float)(j + 1)) < 2e-2F);
	}
}

static void test_linear_rows_without_weight_do_not_count(void **state)
{
	(void)state;
	float w[2][L1_D] = { { 0 } };
	float b[2] = { 0 };
	l1_draw(&p, L1_LINEAR, 4);
	for (size_t i = 5; i < 15; i++)
		p.weight[i] = 0.0F;
	for (unsigned k = 0; k < 2; k++) {
		assert_int_equal(l1_fit(&p, w[k], &b[k], NULL), COP_OK);
		for (size_t i = 5; i < 15; i++)
			p.y[i] = -1000.0F;
	}
	assert_memory_equal(w[0], w[1], sizeof w[0]);
	memset(p.weight, 0, sizeof p.weight);
	cop_l1_report report;
	assert_int_equal(l1_fit(&p, w[0], &b[0], &report), COP_OK);
	assert_true(report.objective == 0.0);
	assert_int_equal(report.nonzeros, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_linear_loose_tolerance_is_met),
		cmocka_unit_test(test_linear_without_penalty_finds_the_plane),
		cmocka_unit_test(test_linear_rows_without_weight_do_not_count),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
