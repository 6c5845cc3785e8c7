/* Columns against the rows by hand, and the promise: screened and unscreened fits end at the same objective. */
#include "support.h"

#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/rng.h"
#include "optim/l1_logistic.h"
#include "train/screened.h"

#define ROWS     120
#define FEATURES 60

typedef struct problem {
	cop_dataset *data;
	uint32_t row[ROWS];
	int8_t sign[ROWS];
	float weight[ROWS];
} problem;

/* Feature j stands in about a row in j + 2, so that the last ones are rare; every row twice in a while. */
static void make(problem *p, uint64_t seed)
{
	cop_rng rng;
	cop_rng_init(&rng, seed, 0);
	assert_int_equal(cop_dataset_new_sparse(&p->data), COP_OK);
	for (uint32_t i = 0; i < ROWS; i++) {
		uint32_t index[FEATURES];
		float value[FEATURES];
		size_t n = 0;
		for (uint32_t j = 0; j < FEATURES; j++)
			if (j == FEATURES - 1 ? i == 0 : cop_rng_below(&rng, j + 2) == 0) {
				index[n] = j;
				value[n++] = (float)cop_rng_normal(&rng);
			}
		p->row[i] = (uint32_t)cop_rng_below(&rng, i + 1);
		p->sign[i] = cop_rng_below(&rng, 2) == 0 ? 1 : -1;
		p->weight[i] = (float)(0.2 + cop_rng_unit(&rng));
		assert_int_equal(cop_dataset_push_sparse(p->data, n, index, value, 0), COP_OK);
	}
}

static double sum_of(const problem *p, uint32_t feature)
{
	double sum = 0;
	for (size_t i = 0; i < ROWS; i++)
		for (size_t e = p->data->start[p->row[i]]; e < p->data->start[p->row[i] + 1]; e++)
			if (p->data->index[e] == feature)
				sum += (double)p->weight[i] * fabs((double)p->data->value[e]);
	return sum;
}

static void test_columns_are_the_features_above_the_penalty(void **unused)
{
	(void)unused;
	for (int c = 0; c < 30; c++) {
		problem p;
		cop_screened s;
		double lambda = c % 3 == 0 ? 0 : 0.37 * c;
		size_t k = 0;
		make(&p, (uint64_t)c);
		assert_int_equal(cop_screened_init(&s, p.data, ROWS, p.row, p.weight, lambda), COP_OK);
		for (uint32_t j = 0; j < p.data->d; j++)
			if (sum_of(&p, j) > lambda)
				assert_int_equal(cop_screened_feature(&s, k++), j);
		assert_int_equal(s.columns.d, k);
		for (size_t j = 0; j < k; j++) {
			float f[ROWS + 64] = { 0 }, w[FEATURES] = { 0 };
			cop_columns_add(&s.columns, j, 1, f);
			w[s.feature[j]] = 1;
			for (size_t i = 0; i < ROWS; i++) {
				float sum = 0;
				for (size_t e = p.data->start[p.row[i]]; e < p.data->start[p.row[i] + 1]; e++)
					sum += w[p.data->index[e]] * p.data->value[e];
				assert_true(fabsf(sum - f[i]) < 1e-6F);
			}
		}
		cop_screened_fini(&s);
		cop_dataset_free(p.data);
	}
}

static void test_logistic_of_the_screened_is_that_of_all(void **unused)
{
	(void)unused;
	for (int c = 0; c < 20; c++) {
		problem p;
		cop_screened s;
		cop_columns all;
		float w[FEATURES] = { 0 }, v[FEATURES] = { 0 }, b = 0, a = 0;
		cop_l1_report few, every;
		make(&p, (uint64_t)c + 100);
		const cop_l1_settings set = { .lambda = 0.3 + 0.3 * c, .tolerance = 1e-7, .max_steps = 2000 };
		assert_int_equal(cop_screened_init(&s, p.data, ROWS, p.row, p.weight, set.lambda), COP_OK);
		assert_true(s.columns.d < p.data->d);
		assert_int_equal(cop_columns_from_sparse(
		                         &all, ROWS, p.row, p.data->d, p.data->start, p.data->index, p.data->value),
		        COP_OK);
		assert_int_equal(cop_l1_logistic_fit(&set, &s.columns, p.sign, p.weight, w, &b, &few), COP_OK);
		assert_int_equal(cop_l1_logistic_fit(&set, &all, p.sign, p.weight, v, &a, &every), COP_OK);
		assert_true(fabs(few.objective - every.objective) < 1e-4 * every.objective);
		cop_screened_spread(&s, p.data->d, w);
		for (size_t j = 0; j < p.data->d; j++)
			assert_true(sum_of(&p, (uint32_t)j) > set.lambda || (w[j] == 0 && fabsf(v[j]) < 1e-5F));
		cop_columns_fini(&all);
		cop_screened_fini(&s);
		cop_dataset_free(p.data);
	}
}

static void test_weights_that_are_taken_and_spread_come_back(void **unused)
{
	(void)unused;
	problem p;
	cop_screened s;
	float w[FEATURES] = { 0 }, full[FEATURES];
	uint32_t index[FEATURES];
	float some[FEATURES];
	size_t count = 0;
	make(&p, 200);
	assert_int_equal(cop_screened_init(&s, p.data, ROWS, p.row, p.weight, 4), COP_OK);
	for (uint32_t j = 0; j < p.data->d; j++) {
		full[j] = 1.0F + (float)j;
		if (j % 3 != 0) {
			index[count] = j;
			some[count++] = full[j];
		}
	}
	for (int sparse = 0; sparse < 2; sparse++) {
		for (size_t j = 0; j < FEATURES; j++)
			w[j] = 0;
		if (sparse)
			cop_screened_take(&s, count, index, some, w);
		else
			cop_screened_take(&s, p.data->d, NULL, full, w);
		cop_screened_spread(&s, p.data->d, w);
		for (uint32_t j = 0; j < p.data->d; j++) {
			bool there = sum_of(&p, j) > 4 && (!sparse || j % 3 != 0);
			assert_true(w[j] == (there ? full[j] : 0));
		}
	}
	cop_screened_fini(&s);
	cop_dataset_free(p.data);
}

static void test_allocation_that_fails_is_told(void **unused)
{
	(void)unused;
	problem p;
	cop_err err = COP_ENOMEM;
	unsigned long n = 0;
	make(&p, 300);
	while (err == COP_ENOMEM) {
		cop_screened s;
		cop_test_alloc_fail(++n, 0);
		err = cop_screened_init(&s, p.data, ROWS, p.row, p.weight, 1);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		cop_screened_fini(&s);
	}
	assert_int_equal(err, COP_OK);
	assert_true(n > 8);
	cop_dataset_free(p.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_columns_are_the_features_above_the_penalty),
		cmocka_unit_test(test_logistic_of_the_screened_is_that_of_all),
		cmocka_unit_test(test_weights_that_are_taken_and_spread_come_back),
		cmocka_unit_test(test_allocation_that_fails_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
