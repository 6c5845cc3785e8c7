/* Passes over sparse rows: the objective beside the slow reference's, the pairs by their definition, what is kept of a
 * start, what is refused, every failed allocation. */
#include "l1_fixture.h"

#include <stdlib.h>

#include "base/mem.h"
#include "optim/l1_softmax_rows.h"

static l1_problem p;

typedef struct sparse {
	size_t start[L1_N + 1];
	uint32_t index[L1_N * L1_D];
	float value[L1_N * L1_D];
	cop_l1_softmax_rows rows;
} sparse;

static sparse s;

/* p's rows, which are few and sparse. */
static void draw(uint64_t seed)
{
	size_t e = 0;
	l1_draw_sized(&p, L1_SOFTMAX, seed, 0.2, 0.0, 0, 0);
	for (size_t i = 0; i < p.n; i++) {
		p.weight[i] = (float)sqrt((double)p.weight[i]); /* over two orders */
		for (size_t j = 0; j < p.d; j++)
			if (p.x[i * p.d + j] != 0.0F) {
				s.index[e] = (uint32_t)j;
				s.value[e++] = p.x[i * p.d + j];
			}
		s.start[i + 1] = e;
	}
	s.rows = (cop_l1_softmax_rows){ p.n, p.d, p.k, s.start, s.index, s.value, p.label, p.weight };
}

/* Weights as the fixture has them. */
static void spread(const cop_l1_softmax_pairs *pairs, float *w)
{
	memset(w, 0, sizeof(float) * L1_K * L1_D);
	for (size_t j = 0; j < p.d; j++)
		for (size_t e = pairs->start[j]; e < pairs->start[j + 1]; e++)
			w[pairs->class[e] * p.d + j] = pairs->w[e];
}

static cop_err fit(double lambda, unsigned passes, cop_l1_softmax_pairs *pairs, float *b, cop_l1_report *report)
{
	const cop_l1_settings settings = { .lambda = lambda, .tolerance = 1e-3, .max_steps = passes };
	return cop_l1_softmax_rows_fit(&settings, &s.rows, pairs, b, report);
}

static void test_rows_objective_is_near_the_least(void **state)
{
	(void)state;
	double worst = 0.0, sum = 0.0;
	for (uint64_t seed = 0; seed < 40; seed++) {
		cop_l1_softmax_pairs pairs;
		cop_l1_report report;
		float w[L1_K * L1_D], b[L1_K] = { 0 };
		draw(seed);
		assert_int_equal(cop_l1_softmax_pairs_init(&pairs, &s.rows, p.lambda), COP_OK);
		assert_int_equal(fit(p.lambda, 60, &pairs, b, &report), COP_OK);
		spread(&pairs, w);
		double got = l1_objective(&p, w, b), zero = l1_objective_at_zero(&p);
		assert_true(fabs(report.objective / got - 1.0) < 1e-4);
		double away = (got - l1_reference(&p)) / zero;
		worst = fmax(worst, away);
		sum += away;
		cop_l1_softmax_pairs_fini(&pairs);
	}
	if (worst > 0.03 || sum / 40 > 0.01)
		fail_msg("worst %g, mean %g", worst, sum / 40);
}

/* Dense sums, pair by pair. */
static void check_pairs(double lambda)
{
	cop_l1_softmax_pairs pairs;
	double total = 0.0, mass[L1_K] = { 0 };
	assert_int_equal(cop_l1_softmax_pairs_init(&pairs, &s.rows, lambda), COP_OK);
	for (size_t i = 0; i < p.n; i++) {
		mass[p.label[i]] += (double)p.weight[i];
		total += (double)p.weight[i];
	}
	size_t e = 0;
	for (size_t j = 0; j < p.d; j++) {
		double all = 0.0, own[L1_K] = { 0 };
		for (size_t i = 0; i < p.n; i++) {
			double size = (double)(p.weight[i] * fabsf(p.x[i * p.d + j]));
			own[p.label[i]] += size;
			all += size;
		}
		assert_int_equal(pairs.start[j], e);
		for (uint32_t k = 0; k < p.k; k++)
			if (own[k] > lambda || mass[k] * all > lambda * total) {
				assert_true(e < pairs.start[j + 1]);
				assert_int_equal(pairs.class[e], k);
				assert_true(pairs.w[e++] == 0.0F);
			}
		assert_int_equal(pairs.start[j + 1], e);
	}
	cop_l1_softmax_pairs_fini(&pairs);
}

static void test_pairs_are_those_of_the_definition(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 40; seed++) {
		draw(seed);
		check_pairs(p.lambda);
		check_pairs(0.0);
		check_pairs(1e6);
	}
}

static void test_rows_start_is_not_made_worse(void **state)
{
	(void)state;
	cop_l1_softmax_pairs pairs;
	cop_l1_report first, second;
	float w[L1_K * L1_D], b[L1_K] = { 0 };
	draw(3);
	assert_int_equal(cop_l1_softmax_pairs_init(&pairs, &s.rows, p.lambda), COP_OK);
	assert_int_equal(fit(p.lambda, 100, &pairs, b, &first), COP_OK);
	assert_int_equal(fit(p.lambda, 1, &pairs, b, &second), COP_OK);
	assert_true(second.objective <= first.objective * (1 + 1e-9));
	spread(&pairs, w);
	assert_true(fabs(second.objective / l1_objective(&p, w, b) - 1.0) < 1e-4);
	/* One that is worse than none does not matter. */
	for (size_t e = 0; e < pairs.start[p.d]; e++)
		pairs.w[e] = 100.0F;
	assert_int_equal(fit(p.lambda, 1, &pairs, b, &second), COP_OK);
	assert_true(second.objective <= l1_objective_at_zero(&p) * (1 + 1e-6));
	cop_l1_softmax_pairs_fini(&pairs);
}

static void test_rows_same_call_gives_the_same_bits(void **state)
{
	(void)state;
	float w[2][L1_K * L1_D], b[2][L1_K] = { { 0 } };
	draw(5);
	for (size_t k = 0; k < 2; k++) {
		cop_l1_softmax_pairs pairs;
		assert_int_equal(cop_l1_softmax_pairs_init(&pairs, &s.rows, p.lambda), COP_OK);
		assert_int_equal(fit(p.lambda, 5, &pairs, b[k], NULL), COP_OK);
		spread(&pairs, w[k]);
		cop_l1_softmax_pairs_fini(&pairs);
	}
	assert_memory_equal(w[0], w[1], sizeof w[0]);
	assert_memory_equal(b[0], b[1], sizeof b[0]);
}

static void test_rows_without_weight_change_nothing(void **state)
{
	(void)state;
	cop_l1_softmax_pairs pairs;
	float b[L1_K] = { 1, 2 };
	draw(7);
	memset(p.weight, 0, sizeof p.weight);
	assert_int_equal(cop_l1_softmax_pairs_init(&pairs, &s.rows, 0.0), COP_OK);
	assert_int_equal(pairs.start[p.d], 0);
	assert_int_equal(fit(0.0, 3, &pairs, b, NULL), COP_OK);
	assert_true(b[0] == 1 && b[1] == 2);
	cop_l1_softmax_pairs_fini(&pairs);
}

static void test_rows_wrong_arguments_are_refused(void **state)
{
	(void)state;
	cop_l1_softmax_pairs pairs;
	float b[L1_K] = { 0 };
	draw(9);
	assert_int_equal(cop_l1_softmax_pairs_init(&pairs, &s.rows, -1.0), COP_EINVAL);
	cop_l1_softmax_pairs_fini(&pairs);
	s.rows.classes = 1;
	assert_int_equal(cop_l1_softmax_pairs_init(&pairs, &s.rows, 1.0), COP_EINVAL);
	cop_l1_softmax_pairs_fini(&pairs);
	s.rows.classes = p.k;
	p.label[2] = (uint32_t)p.k;
	assert_int_equal(cop_l1_softmax_pairs_init(&pairs, &s.rows, 1.0), COP_EINVAL);
	cop_l1_softmax_pairs_fini(&pairs);
	p.label[2] = 0;
	assert_int_equal(cop_l1_softmax_pairs_init(&pairs, &s.rows, 0.0), COP_OK);
	assert_int_equal(fit(-1.0, 3, &pairs, b, NULL), COP_EINVAL);
	b[1] = NAN;
	assert_int_equal(fit(1.0, 3, &pairs, b, NULL), COP_ENONFINITE);
	b[1] = 0;
	pairs.w[0] = INFINITY;
	assert_int_equal(fit(1.0, 3, &pairs, b, NULL), COP_ENONFINITE);
	cop_l1_softmax_pairs_fini(&pairs);
}

static void test_rows_every_failed_allocation_is_reported(void **state)
{
	(void)state;
	cop_err err = COP_ENOMEM;
	unsigned long n = 0;
	draw(11);
	while (err == COP_ENOMEM) {
		cop_l1_softmax_pairs pairs;
		float b[L1_K] = { 0 };
		cop_test_alloc_fail(++n, 0);
		err = cop_l1_softmax_pairs_init(&pairs, &s.rows, p.lambda);
		if (err == COP_OK)
			err = fit(p.lambda, 2, &pairs, b, NULL);
		cop_l1_softmax_pairs_fini(&pairs);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
	}
	assert_int_equal(err, COP_OK);
	assert_true(n > 15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_objective_is_near_the_least),
		cmocka_unit_test(test_pairs_are_those_of_the_definition),
		cmocka_unit_test(test_rows_start_is_not_made_worse),
		cmocka_unit_test(test_rows_same_call_gives_the_same_bits),
		cmocka_unit_test(test_rows_without_weight_change_nothing),
		cmocka_unit_test(test_rows_wrong_arguments_are_refused),
		cmocka_unit_test(test_rows_every_failed_allocation_is_reported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
