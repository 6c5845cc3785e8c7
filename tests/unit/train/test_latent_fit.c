/* Latent trees learn what no linear map can, stop and choose as they are asked to, and refuse what is wrong. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "train/latent_fit.h"

#define SEED 77U
#define N    1500
#define D    2

typedef struct scene {
	cop_dataset *data;
	uint32_t label[N], row[N];
	float target[N];
	cop_sample sample, validation; /* the first two thirds, the rest */
} scene;

/* The sign of x0 x1 as a class, |x0| + x1 as a value. */
static void begin(scene *s)
{
	cop_rng rng;
	cop_rng_init(&rng, SEED, 1);
	assert_int_equal(cop_dataset_new_dense(D, &s->data), COP_OK);
	for (size_t i = 0; i < N; i++) {
		const float x[D] = { (float)cop_rng_normal(&rng), (float)cop_rng_normal(&rng) };
		s->label[i] = x[0] * x[1] > 0.0f;
		s->target[i] = fabsf(x[0]) + x[1];
		s->row[i] = (uint32_t)i;
		assert_int_equal(cop_dataset_push_dense(s->data, x, 0.0), COP_OK);
	}
	s->sample = (cop_sample){ .rows = s->data,
		.n = 2 * N / 3,
		.row = s->row,
		.task = COP_TASK_CLASSES,
		.outputs = 2,
		.label = s->label,
		.target = s->target };
	s->validation = s->sample;
	s->validation.row = s->row + s->sample.n;
	s->validation.n = N - s->sample.n;
}

static cop_latent_settings settings(unsigned layers)
{
	cop_latent_settings set;
	cop_latent_fit_defaults(&set);
	set.depth = 3;
	set.layers = layers;
	set.batch = 64;
	set.lr = 1e-2;
	return set;
}

static cop_latent *fit(const scene *s, const cop_latent_settings *set, cop_pool *pool, cop_latent_report *report)
{
	cop_rng rng;
	cop_latent *latent;
	cop_rng_init(&rng, SEED, 2);
	assert_int_equal(cop_latent_fit(set, &s->sample, &s->validation, pool, &rng, NULL, report, &latent), COP_OK);
	return latent;
}

static double loss(const scene *s, const cop_latent *latent)
{
	double sum = 0.0;
	const cop_sample *v = &s->validation;
	for (size_t i = 0; i < v->n; i++) {
		const size_t row = v->row[i];
		float out[2];
		cop_row x;
		cop_dataset_row(v->rows, row, &x);
		cop_latent_predict(latent, &x, out);
		if (v->task == COP_TASK_CLASSES)
			sum += (out[1] > out[0]) != (s->label[row] == 1);
		else
			sum += pow((double)(out[0] - s->target[row]), 2.0);
	}
	return sum / (double)v->n;
}

static void test_classes_and_values_beyond_a_linear_map_are_learned(void **state)
{
	(void)state;
	scene s;
	begin(&s);
	for (unsigned layers = 1; layers <= 2; layers++) {
		cop_latent_settings set = settings(layers);
		cop_latent_report report;
		s.sample.task = s.validation.task = COP_TASK_CLASSES;
		s.sample.outputs = s.validation.outputs = 2;
		cop_latent *latent = fit(&s, &set, NULL, &report);
		double wrong = loss(&s, latent);
		cop_latent_free(latent);
		s.sample.task = s.validation.task = COP_TASK_VALUES;
		s.sample.outputs = s.validation.outputs = 1;
		latent = fit(&s, &set, NULL, &report);
		double squared = loss(&s, latent);
		printf("%u layers: %.3f wrong, mean square %.4f\n", layers, wrong, squared);
		assert_true(wrong < 0.08 && squared < 0.02); /* a linear map: 0.5 and 0.36 */
		assert_true(fabs(report.validation_loss - squared) < 1e-5 && report.best_epoch <= report.epochs);
		cop_latent_free(latent);
	}
	cop_dataset_free(s.data);
}

static void test_equal_seeds_give_equal_models_with_any_pool(void **state)
{
	(void)state;
	scene s;
	cop_pool *pool;
	cop_bytes one, two;
	cop_latent_settings set = settings(2);
	set.dropout = 0.2;
	set.epochs = 3;
	begin(&s);
	cop_bytes_init(&one);
	cop_bytes_init(&two);
	assert_int_equal(cop_pool_new(2, &pool), COP_OK);
	cop_latent *a = fit(&s, &set, NULL, NULL), *b = fit(&s, &set, pool, NULL);
	cop_latent_save(a, &one);
	cop_latent_save(b, &two);
	assert_true(one.length == two.length && memcmp(one.data, two.data, one.length) == 0);
	cop_latent_free(a);
	cop_latent_free(b);
	cop_pool_free(pool);
	cop_bytes_fini(&one);
	cop_bytes_fini(&two);
	cop_dataset_free(s.data);
}

/* A row's way is as likely left as right at the start, and a greater price keeps less of each node. */
static void test_greater_lambda_keeps_less(void **state)
{
	(void)state;
	scene s;
	double before = (double)INFINITY;
	begin(&s);
	for (double lambda = 0.1; lambda < 1e5; lambda *= 10.0) {
		cop_latent_settings set = settings(1);
		double sum = 0.0;
		set.lambda = lambda;
		set.lr = 0.0; /* the start */
		set.epochs = 1;
		cop_latent *latent = fit(&s, &set, NULL, NULL);
		for (size_t t = 0; t < cop_latent_nodes(latent); t++)
			sum += (double)cop_latent_kept(latent)[t];
		assert_true(sum <= before);
		before = sum;
		cop_latent_free(latent);
	}
	assert_true(before < 0.5);
	cop_dataset_free(s.data);
}

static void test_start_halves_the_rows_at_each_split(void **state)
{
	(void)state;
	scene s;
	cop_tree *tree;
	cop_latent_settings set = settings(1);
	size_t reached[8] = { 0 };
	begin(&s);
	set.lr = 0.0;
	set.epochs = 1;
	cop_latent *latent = fit(&s, &set, NULL, NULL);
	assert_int_equal(cop_latent_tree(latent, &tree), COP_OK);
	assert_int_equal(cop_tree_leaves(tree), 8);
	for (size_t i = 0; i < s.sample.n; i++) {
		cop_row row;
		cop_dataset_row(s.data, s.row[i], &row);
		reached[cop_tree_leaf(tree, &row)]++;
	}
	for (size_t l = 0; l < 8; l++)
		assert_true(reached[l] > s.sample.n / 24 && reached[l] < s.sample.n / 3);
	cop_tree_free(tree);
	cop_latent_free(latent);
	cop_dataset_free(s.data);
}

static void test_patience_ends_the_fit(void **state)
{
	(void)state;
	scene s;
	cop_latent_report report;
	cop_latent_settings set = settings(1);
	begin(&s);
	set.lr = 0.0;
	set.patience = 4;
	cop_latent_free(fit(&s, &set, NULL, &report));
	assert_true(report.best_epoch == 1 && report.epochs == 5 && report.kept > 0.9);
	cop_dataset_free(s.data);
}

static bool stop_after_two(void *context, double share, const char *text)
{
	size_t *told = context;
	assert_true(share > 0.0 && strstr(text, "epoch") != NULL);
	return ++*told < 2;
}

static void test_progress_can_stop_the_fit(void **state)
{
	(void)state;
	scene s;
	size_t told = 0;
	cop_rng rng;
	cop_latent *latent;
	cop_latent_report report;
	cop_latent_settings set = settings(1);
	const cop_progress progress = { stop_after_two, &told };
	begin(&s);
	cop_rng_init(&rng, SEED, 3);
	assert_int_equal(cop_latent_fit(&set, &s.sample, NULL, NULL, &rng, &progress, &report, &latent), COP_OK);
	assert_true(told == 2 && report.epochs == 2 && isnan(report.validation_loss));
	cop_latent_free(latent);
	cop_dataset_free(s.data);
}

static void test_wrong_settings_and_samples_are_refused(void **state)
{
	(void)state;
	scene s;
	cop_rng rng;
	cop_latent *latent;
	cop_latent_settings bad[9];
	begin(&s);
	cop_rng_init(&rng, SEED, 4);
	for (size_t i = 0; i < 9; i++)
		bad[i] = settings(2);
	bad[0].depth = 0;
	bad[1].lambda = 0.0;
	bad[2].layers = 0;
	bad[3].batch = 0;
	bad[4].epochs = 0;
	bad[5].lr = (double)NAN;
	bad[6].dropout = 1.0;
	bad[7].width = 0;
	bad[8].lambda = (double)INFINITY;
	for (size_t i = 0; i < 9; i++) {
		assert_int_equal(cop_latent_fit(&bad[i], &s.sample, NULL, NULL, &rng, NULL, NULL, &latent), COP_EINVAL);
		assert_null(latent);
	}
	const cop_latent_settings good = settings(1);
	cop_sample costs = s.sample, empty = s.sample, other = s.validation;
	costs.task = COP_TASK_COSTS;
	empty.n = 0;
	other.outputs = 3;
	assert_int_equal(cop_latent_fit(&good, &costs, NULL, NULL, &rng, NULL, NULL, &latent), COP_EINVAL);
	assert_int_equal(cop_latent_fit(&good, &empty, NULL, NULL, &rng, NULL, NULL, &latent), COP_EINVAL);
	assert_int_equal(cop_latent_fit(&good, &s.sample, &other, NULL, &rng, NULL, NULL, &latent), COP_EINVAL);
	cop_dataset_free(s.data);
}

static void test_memory_failures_are_reported(void **state)
{
	(void)state;
	scene s;
	cop_latent_settings set = settings(2);
	set.epochs = 2;
	begin(&s);
	for (unsigned long n = 1;; n++) {
		cop_rng rng;
		cop_latent *latent;
		cop_rng_init(&rng, SEED, 5);
		cop_test_alloc_fail(n, 1);
		cop_err err = cop_latent_fit(&set, &s.sample, &s.validation, NULL, &rng, NULL, NULL, &latent);
		cop_test_alloc_fail(0, 0);
		cop_latent_free(latent);
		if (err == COP_OK)
			break;
		assert_true(err == COP_ENOMEM && latent == NULL);
	}
	cop_dataset_free(s.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_classes_and_values_beyond_a_linear_map_are_learned),
		cmocka_unit_test(test_equal_seeds_give_equal_models_with_any_pool),
		cmocka_unit_test(test_greater_lambda_keeps_less),
		cmocka_unit_test(test_start_halves_the_rows_at_each_split),
		cmocka_unit_test(test_patience_ends_the_fit),
		cmocka_unit_test(test_progress_can_stop_the_fit),
		cmocka_unit_test(test_wrong_settings_and_samples_are_refused),
		cmocka_unit_test(test_memory_failures_are_reported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
