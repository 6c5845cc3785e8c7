/* l1_linear: the optimality conditions, a slow reference in double, and what it says of odd problems. */
#include "l1_fixture.h"

#include "optim/l1_linear.h"

static l1_problem p;

static cop_err fit_to(double tolerance, unsigned steps, float *w, float *b, cop_l1_report *report)
{
	cop_columns x;
	cop_l1_linear settings = { .lambda = p.lambda, .tolerance = tolerance, .max_steps = steps };
	l1_columns(&p, &x);
	cop_err err = cop_l1_linear_fit(&settings, &x, p.y, p.weight, w, b, report);
	cop_columns_fini(&x);
	return err;
}

static cop_err fit(float *w, float *b, cop_l1_report *report) { return fit_to(1e-6, 2000, w, b, report); }

static void draw(uint64_t seed) { l1_draw(&p, L1_LINEAR, seed, seed % 2 == 0 ? 1.0 : 0.15, seed % 3 == 0 ? 3.0 : 0.0); }

static double weighted_mean(void)
{
	double sum = 0.0;
	double total = 0.0;
	for (size_t i = 0; i < p.n; i++) {
		sum += (double)p.weight[i] * (double)p.y[i];
		total += (double)p.weight[i];
	}
	return sum / total;
}

static double objective_at_zero(void)
{
	float w[L1_D] = { 0 };
	float b = (float)weighted_mean();
	return l1_objective(&p, w, &b);
}

static void test_linear_random_problems_meet_reference(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 40; seed++) {
		float w[L1_D] = { 0 };
		float b = 0.0F;
		cop_l1_report report;
		draw(seed);
		assert_int_equal(fit(w, &b, &report), COP_OK);
		double want = l1_reference(&p);
		double got = l1_objective(&p, w, &b);
		if (got - want > 2e-6 * objective_at_zero() + 1e-6 * want)
			fail_msg("seed %u: objective %.9g, reference %.9g", (unsigned)seed, got, want);
		assert_true(fabs(report.objective - got) < 1e-5 * objective_at_zero());
	}
}

static void test_linear_loose_tolerance_is_met(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 40; seed++) {
		float w[L1_D] = { 0 };
		float b = 0.0F;
		draw(seed);
		assert_int_equal(fit_to(1e-2, 500, w, &b, NULL), COP_OK);
		assert_true(l1_objective(&p, w, &b) - l1_reference(&p) <= 1.01e-2 * objective_at_zero());
	}
}

static void test_linear_without_penalty_finds_the_plane(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 6; seed++) {
		float w[L1_D] = { 0 };
		float b = 0.0F;
		draw(2 * seed);
		p.d = p.d > 6 ? 6 : p.d;
		p.lambda = 0.0;
		for (size_t i = 0; i < p.n; i++) {
			p.y[i] = 4.0F;
			for (size_t j = 0; j < p.d; j++)
				p.y[i] += (float)(j + 1) * p.x[i * p.d + j];
		}
		assert_int_equal(fit_to(1e-12, 5000, w, &b, NULL), COP_OK);
		for (size_t j = 0; j < p.d; j++)
			assert_true(fabsf(w[j] - (float)(j + 1)) < 2e-2F);
	}
}

static void test_linear_bad_start_is_never_made_worse(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, 3, 3);
	for (uint64_t seed = 0; seed < 30; seed++) {
		float w[L1_D];
		float b = (float)(20.0 * cop_rng_normal(&rng));
		cop_l1_report report;
		draw(seed);
		for (size_t j = 0; j < p.d; j++)
			w[j] = (float)(10.0 * cop_rng_normal(&rng));
		double start = l1_objective(&p, w, &b);
		assert_int_equal(fit_to(1e-3, 1 + (unsigned)(seed % 3), w, &b, &report), COP_OK);
		assert_true(l1_objective(&p, w, &b) <= start * (1.0 + 1e-6));
		assert_int_equal(fit(w, &b, &report), COP_OK);
		assert_true(report.objective - l1_reference(&p) <= 1e-5 * objective_at_zero());
	}
}

static void test_linear_start_at_solution_stays(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 10; seed++) {
		float w[L1_D] = { 0 };
		float again[L1_D];
		float b = 0.0F;
		cop_l1_report report;
		draw(seed);
		assert_int_equal(fit(w, &b, &report), COP_OK);
		memcpy(again, w, sizeof w);
		assert_int_equal(fit_to(1e-3, 20, again, &b, &report), COP_OK);
		assert_int_equal(report.steps, 0);
		assert_memory_equal(again, w, sizeof w);
	}
}

static void test_linear_large_lambda_leaves_mean(void **state)
{
	(void)state;
	float w[L1_D] = { 1.0F };
	float b = 2.0F;
	cop_l1_report report;
	draw(1);
	p.lambda = 1e8;
	assert_int_equal(fit(w, &b, &report), COP_OK);
	assert_int_equal(report.nonzeros, 0);
	assert_true(fabs((double)b - weighted_mean()) < 1e-3);
}

static void test_linear_rows_without_weight_do_not_count(void **state)
{
	(void)state;
	float w[2][L1_D] = { { 0 } };
	float b[2] = { 0 };
	draw(4);
	for (size_t i = 5; i < 15; i++)
		p.weight[i] = 0.0F;
	for (unsigned k = 0; k < 2; k++) {
		assert_int_equal(fit(w[k], &b[k], NULL), COP_OK);
		for (size_t i = 5; i < 15; i++)
			p.y[i] = -1000.0F;
	}
	assert_memory_equal(w[0], w[1], sizeof w[0]);
	memset(p.weight, 0, sizeof p.weight);
	cop_l1_report report;
	assert_int_equal(fit(w[0], &b[0], &report), COP_OK);
	assert_true(report.objective == 0.0);
	assert_int_equal(report.nonzeros, 0);
}

static void test_linear_scale_of_weights_does_not_matter(void **state)
{
	(void)state;
	draw(6);
	float w[3][L1_D] = { { 0 } };
	float b[3] = { 0 };
	const float scale[3] = { 1.0F, 0x1p40F, 0x1p-40F };
	const l1_problem first = p;
	for (unsigned k = 0; k < 3; k++) {
		p = first;
		p.lambda *= (double)scale[k];
		for (size_t i = 0; i < p.n; i++)
			p.weight[i] *= scale[k];
		assert_int_equal(fit(w[k], &b[k], NULL), COP_OK);
		assert_memory_equal(w[k], w[0], sizeof w[0]);
		assert_true(b[k] == b[0]);
	}
}

static void test_linear_wrong_input_is_refused(void **state)
{
	(void)state;
	static const cop_l1_linear wrong[] = { { -1.0, 1e-3, 5 }, { (double)NAN, 1e-3, 5 }, { HUGE_VAL, 1e-3, 5 },
		{ 1.0, 0.0, 5 }, { 1.0, (double)NAN, 5 }, { 1.0, 1e-3, 0 } };
	float w[L1_D] = { 1.0F };
	float b = 3.0F;
	cop_columns x;
	draw(3);
	l1_columns(&p, &x);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		assert_int_equal(cop_l1_linear_fit(&wrong[i], &x, p.y, p.weight, w, &b, NULL), COP_EINVAL);
	cop_columns_fini(&x);
	w[0] = NAN;
	assert_int_equal(fit(w, &b, NULL), COP_ENONFINITE);
	w[0] = 1.0F;
	p.y[3] = NAN;
	assert_int_equal(fit(w, &b, NULL), COP_ENONFINITE);
	p.y[3] = 0.0F;
	for (unsigned k = 0; k < 2; k++) {
		p.weight[2] = k == 0 ? NAN : INFINITY;
		assert_int_equal(fit(w, &b, NULL), COP_ENONFINITE);
		assert_true(w[0] == 1.0F && b == 3.0F);
	}
}

static void test_linear_allocation_failure_changes_nothing(void **state)
{
	(void)state;
	cop_columns x;
	draw(5);
	l1_columns(&p, &x);
	cop_l1_linear settings = { .lambda = p.lambda, .tolerance = 1e-3, .max_steps = 50 };
	cop_err err = COP_ENOMEM;
	for (unsigned long n = 1; err != COP_OK; n++) {
		float w[L1_D] = { 0.5F };
		float b = 0.25F;
		cop_test_alloc_fail(n, 0);
		err = cop_l1_linear_fit(&settings, &x, p.y, p.weight, w, &b, NULL);
		assert_true(err == COP_OK || (err == COP_ENOMEM && w[0] == 0.5F && b == 0.25F));
		assert_true(n < 60);
	}
	cop_test_alloc_fail(0, 0);
	cop_columns_fini(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_linear_random_problems_meet_reference),
		cmocka_unit_test(test_linear_loose_tolerance_is_met),
		cmocka_unit_test(test_linear_without_penalty_finds_the_plane),
		cmocka_unit_test(test_linear_bad_start_is_never_made_worse),
		cmocka_unit_test(test_linear_start_at_solution_stays),
		cmocka_unit_test(test_linear_large_lambda_leaves_mean),
		cmocka_unit_test(test_linear_rows_without_weight_do_not_count),
		cmocka_unit_test(test_linear_scale_of_weights_does_not_matter),
		cmocka_unit_test(test_linear_wrong_input_is_refused),
		cmocka_unit_test(test_linear_allocation_failure_changes_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
