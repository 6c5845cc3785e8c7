/* What holds of every L1 solver: a slow reference in double, the optimality conditions, and what they say of odd
 * problems. What only one of them promises is in test_l1_linear, test_l1_logistic and test_l1_softmax. */
#include "l1_fixture.h"

static l1_problem p;

static const char *const names[L1_KINDS] = { "logistic", "linear", "softmax" };
static const uint64_t seeds[L1_KINDS] = { 40, 40, 30 };

/* What a fit may be above the least objective: least squares promise a gap as a share of the objective at w = 0. */
static double slack(double share, double least)
{
	return share * (p.kind == L1_LINEAR ? 0.2 * l1_objective_at_zero(&p) + 0.1 * least : least);
}

static void test_solvers_random_problems_meet_reference(void **state)
{
	(void)state;
	for (l1_kind kind = 0; kind < L1_KINDS; kind++)
		for (uint64_t seed = 0; seed < seeds[kind]; seed++) {
			float w[L1_K * L1_D] = { 0 };
			float b[L1_K] = { 0 };
			cop_l1_report report;
			l1_draw(&p, kind, seed);
			assert_int_equal(l1_fit(&p, w, b, &report), COP_OK);
			double want = l1_reference(&p);
			double got = l1_objective(&p, w, b);
			double violation = l1_violation(&p, w, b);
			bool violated =
			        kind != L1_LINEAR && violation > 1e-3 * l1_violation_at_zero(&p) + 1e-6 * (double)p.n;
			if (got - want > slack(1e-5, want) || violated)
				fail_msg("%s, seed %u: objective %.9g, reference %.9g, violation %g", names[kind],
				        (unsigned)seed, got, want, violation);
			assert_true(fabs(report.objective - got) <
			            1e-5 * (kind == L1_LINEAR ? l1_objective_at_zero(&p) : got));
		}
}

/* By products of features, of all rows and of a sample. */
static void test_solvers_many_features_meet_conditions(void **state)
{
	(void)state;
	static const l1_kind by_products[] = { L1_LOGISTIC, L1_SOFTMAX };
	for (size_t which = 0; which < 2; which++)
		for (uint64_t seed = 0; seed < (which == 0 ? 8U : 4U); seed++) {
			float w[L1_K * L1_D] = { 0 };
			float b[L1_K] = { 0 };
			cop_l1_report report;
			l1_draw_sized(&p, by_products[which], seed, seed % 2 == 0 ? 1.0 : 0.2,
			        which == 0 && seed % 4 < 2 ? 2.0 : 0.0, seed < (which == 0 ? 4U : 2U) ? L1_N : 1200,
			        L1_D);
			assert_int_equal(l1_fit(&p, w, b, &report), COP_OK);
			double zero = l1_violation_at_zero(&p);
			if (l1_violation(&p, w, b) > 1e-3 * zero)
				fail_msg("%s, seed %u: violation %g of %g", names[p.kind], (unsigned)seed,
				        l1_violation(&p, w, b), zero);
			assert_true(fabs(report.objective / l1_objective(&p, w, b) - 1.0) < 1e-5);
		}
}

static void test_solvers_bad_start_is_never_made_worse(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, 3, 3);
	for (l1_kind kind = 0; kind < L1_KINDS; kind++)
		for (uint64_t seed = 0; seed < 25; seed++) {
			float w[L1_K * L1_D];
			float b[L1_K];
			cop_l1_report report;
			l1_draw(&p, kind, seed);
			for (size_t i = 0; i < p.k * p.d; i++)
				w[i] = (float)(10.0 * cop_rng_normal(&rng));
			for (size_t k = 0; k < p.k; k++)
				b[k] = (float)(20.0 * cop_rng_normal(&rng));
			double start = l1_objective(&p, w, b);
			assert_int_equal(l1_fit_to(&p, 1e-3, 1 + (unsigned)(seed % 3), w, b, &report), COP_OK);
			assert_true(l1_objective(&p, w, b) <= start * (1.0 + 1e-6));
			assert_int_equal(l1_fit(&p, w, b, &report), COP_OK);
			double want = l1_reference(&p);
			assert_true(report.objective - want < slack(1e-4, want));
		}
}

static void test_solvers_start_at_solution_stays(void **state)
{
	(void)state;
	for (l1_kind kind = 0; kind < L1_KINDS; kind++)
		for (uint64_t seed = 0; seed < 10; seed++) {
			float w[L1_K * L1_D] = { 0 };
			float again[L1_K * L1_D];
			float b[L1_K] = { 0 };
			float bias[L1_K];
			cop_l1_report report;
			l1_draw(&p, kind, seed);
			assert_int_equal(l1_fit(&p, w, b, &report), COP_OK);
			memcpy(again, w, sizeof w);
			memcpy(bias, b, sizeof b);
			assert_int_equal(
			        l1_fit_to(&p, kind == L1_LINEAR ? 1e-3 : 1e-2, 20, again, bias, &report), COP_OK);
			assert_int_equal(report.steps, 0);
			assert_memory_equal(again, w, sizeof w);
		}
}

static void test_solvers_large_lambda_leaves_best_biases(void **state)
{
	(void)state;
	for (l1_kind kind = 0; kind < L1_KINDS; kind++) {
		float w[L1_K * L1_D] = { 1.0F };
		float b[L1_K] = { 2.0F };
		float best[L1_K];
		cop_l1_report report;
		l1_draw(&p, kind, 1);
		p.lambda = 1e8;
		assert_int_equal(l1_fit(&p, w, b, &report), COP_OK);
		assert_int_equal(report.nonzeros, 0);
		l1_best_biases(&p, best);
		float from = kind == L1_SOFTMAX ? b[0] - best[0] : 0.0F; /* all may be moved alike */
		for (size_t k = 0; k < p.k; k++)
			assert_true(fabsf(b[k] - from - best[k]) < (kind == L1_SOFTMAX ? 1e-2F : 1e-3F));
	}
}

static void test_solvers_scale_of_weights_does_not_matter(void **state)
{
	(void)state;
	const float scale[3] = { 1.0F, 0x1p40F, 0x1p-40F };
	static l1_problem first;
	for (l1_kind kind = 0; kind < L1_KINDS; kind++) {
		float w[3][L1_K * L1_D] = { { 0 } };
		float b[3][L1_K] = { { 0 } };
		l1_draw(&first, kind, 6);
		for (unsigned k = 0; k < 3; k++) {
			p = first;
			p.lambda *= (double)scale[k];
			for (size_t i = 0; i < p.n; i++)
				p.weight[i] *= scale[k];
			assert_int_equal(l1_fit(&p, w[k], b[k], NULL), COP_OK);
			assert_memory_equal(w[k], w[0], sizeof w[0]);
			assert_memory_equal(b[k], b[0], sizeof b[0]);
		}
	}
}

static void test_solvers_wrong_settings_are_refused(void **state)
{
	(void)state;
	static const cop_l1_settings wrong[] = { { -1.0, 1e-3, 5 }, { (double)NAN, 1e-3, 5 }, { HUGE_VAL, 1e-3, 5 },
		{ 1.0, 0.0, 5 }, { 1.0, (double)NAN, 5 }, { 1.0, 1e-3, 0 } };
	float w[L1_K * L1_D] = { 1.0F };
	float b[L1_K] = { 3.0F };
	for (l1_kind kind = 0; kind < L1_KINDS; kind++) {
		cop_columns x;
		l1_draw(&p, kind, 3);
		l1_columns(&p, &x);
		for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
			assert_int_equal(l1_solve(&p, &wrong[i], &x, w, b, NULL), COP_EINVAL);
		cop_columns_fini(&x);
	}
}

static void test_solvers_what_is_not_finite_is_refused(void **state)
{
	(void)state;
	float w[L1_K * L1_D] = { 1.0F };
	float b[L1_K] = { 3.0F };
	for (l1_kind kind = 0; kind < L1_KINDS; kind++) {
		l1_draw(&p, kind, 3);
		w[0] = NAN;
		assert_int_equal(l1_fit(&p, w, b, NULL), COP_ENONFINITE);
		w[0] = 1.0F;
		b[0] = INFINITY;
		assert_int_equal(l1_fit(&p, w, b, NULL), COP_ENONFINITE);
		b[0] = 3.0F;
		for (unsigned k = 0; k < 2; k++) {
			p.weight[2] = k == 0 ? NAN : INFINITY;
			assert_int_equal(l1_fit(&p, w, b, NULL), COP_ENONFINITE);
			assert_true(w[0] == 1.0F && b[0] == 3.0F);
		}
	}
}

static void test_solvers_allocation_failure_changes_nothing(void **state)
{
	(void)state;
	for (l1_kind kind = 0; kind < L1_KINDS; kind++) {
		cop_columns x;
		l1_draw_sized(&p, kind, 5, 1.0, 0.0, kind == L1_SOFTMAX ? 1200 : L1_N, L1_D); /* by products */
		l1_columns(&p, &x);
		cop_l1_settings settings = { .lambda = p.lambda, .tolerance = 1e-2, .max_steps = 2 };
		cop_err err = COP_ENOMEM;
		for (unsigned long n = 1; err != COP_OK; n++) {
			float w[L1_K * L1_D] = { 0.5F };
			float b[L1_K] = { 0.25F };
			cop_test_alloc_fail(n, 0);
			err = l1_solve(&p, &settings, &x, w, b, NULL);
			assert_int_equal(err != COP_OK, cop_test_alloc_failed());
			assert_true(err == COP_OK || (err == COP_ENOMEM && w[0] == 0.5F && b[0] == 0.25F));
			assert_true(n < 500);
		}
		cop_test_alloc_fail(0, 0);
		cop_columns_fini(&x);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_solvers_random_problems_meet_reference),
		cmocka_unit_test(test_solvers_many_features_meet_conditions),
		cmocka_unit_test(test_solvers_bad_start_is_never_made_worse),
		cmocka_unit_test(test_solvers_start_at_solution_stays),
		cmocka_unit_test(test_solvers_large_lambda_leaves_best_biases),
		cmocka_unit_test(test_solvers_scale_of_weights_does_not_matter),
		cmocka_unit_test(test_solvers_wrong_settings_are_refused),
		cmocka_unit_test(test_solvers_what_is_not_finite_is_refused),
		cmocka_unit_test(test_solvers_allocation_failure_changes_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
