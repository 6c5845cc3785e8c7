/* Which jobs leave their settings to a look, what it lists, and that what was given stays. */
#include "tools/train/train_look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

#define ROWS 400

typedef struct looked {
	cop_labelled rows;
	cop_encoder *preparation;
	cop_train_job job;
} looked;

/* Two classes, or values, by which side of a line a point lies on. */
static void make_job(looked *l, const char *learner, bool values)
{
	char path[] = "/tmp/test_look_XXXXXX.csv";
	cop_diag diag = { .message = "" };
	const cop_table_settings table = { .scaling = COP_SCALE_STANDARD, .regression = values, .scale_target = true };
	int fd = mkstemps(path, 4);
	assert_true(fd >= 0);
	FILE *file = fdopen(fd, "w");
	for (int i = 0; i < ROWS; i++) {
		int a = i * 37 % 101, b = i * 53 % 97;
		(void)fprintf(file, "%d,%d,%d\n", a, b, values ? 3 * a - b : a + b > 98);
	}
	assert_int_equal(fclose(file), 0);
	*l = (looked){ .job = { .validation = -1.0, .seed = 1 } };
	l->job.learner = learner == NULL ? NULL : cop_train_learner_find(learner);
	assert_int_equal(cop_pool_new(1, &l->job.pool), COP_OK);
	assert_int_equal(cop_labelled_rows_train(path, &table, &l->rows, &l->preparation, &diag), COP_OK);
	assert_int_equal(remove(path), 0);
	l->job.rows = &l->rows;
	l->job.preparation = l->preparation;
	l->job.n = l->rows.data->n;
}

static void free_job(looked *l)
{
	cop_labelled_rows_fini(&l->rows);
	cop_encoder_free(l->preparation);
	cop_pool_free(l->job.pool);
}

static void give(cop_train_job *job, cop_hyperparameter knob, double value)
{
	job->knobs.given[knob] = true;
	job->knobs.value[knob] = value;
}

static void test_look_height_grows_with_the_rows_within_bounds(void **state)
{
	(void)state;
	assert_int_equal(cop_train_look_height(0), 4);
	assert_int_equal(cop_train_look_height(100), 4);
	assert_int_equal(cop_train_look_height(5 * 64 - 1), 5);
	assert_int_equal(cop_train_look_height(5 * 64), 6);
	assert_int_equal(cop_train_look_height(15000), 11);
	assert_int_equal(cop_train_look_height(10000000), 12);
}

static void test_look_is_wanted_where_nothing_that_it_sets_is_given(void **state)
{
	(void)state;
	static const struct {
		const char *learner;
		cop_hyperparameter given; /* COP_HYPERPARAMETERS: none */
		bool wanted;
	} cases[] = {
		{ "tao", COP_HYPERPARAMETERS, true },
		{ "tao", COP_HYPERPARAMETER_LEAVES, true },
		{ "tao", COP_HYPERPARAMETER_HEIGHT, false },
		{ "tao", COP_HYPERPARAMETER_ALPHA, false },
		{ "tao", COP_HYPERPARAMETER_START, false },
		{ "dgt", COP_HYPERPARAMETERS, true },
		{ "dgt", COP_HYPERPARAMETER_EPOCHS, true },
		{ "dgt", COP_HYPERPARAMETER_LAYERS, false },
		{ "cart", COP_HYPERPARAMETERS, false },
		{ "cart", COP_HYPERPARAMETER_TREES, true },
		{ "dgt", COP_HYPERPARAMETER_TREES, true },
		{ "laptao", COP_HYPERPARAMETERS, false },
		{ "latent", COP_HYPERPARAMETERS, false },
		{ "polytope", COP_HYPERPARAMETERS, false },
		{ NULL, COP_HYPERPARAMETERS, true },
		{ NULL, COP_HYPERPARAMETER_HEIGHT, true },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cop_train_job job = { .learner = cases[i].learner == NULL ? NULL
			                                                  : cop_train_learner_find(cases[i].learner) };
		if (cases[i].given < COP_HYPERPARAMETERS)
			give(&job, cases[i].given, 2.0);
		if (cop_train_look_wanted(&job) != cases[i].wanted)
			fail_msg("case %zu", i);
	}
	for (size_t alphas = 0; alphas <= 2; alphas++) {
		const cop_train_job job = { .learner = cop_train_learner_find("tao"), .alphas = alphas };
		assert_true(cop_train_look_wanted(&job) == (alphas == 0));
	}
	for (cop_hyperparameter knob = 0; knob < COP_HYPERPARAMETERS; knob++) { /* of cart's forests */
		cop_train_job forest = { .learner = cop_train_learner_find("cart") };
		give(&forest, COP_HYPERPARAMETER_TREES, 30.0);
		give(&forest, knob, 30.0);
		bool set = knob == COP_HYPERPARAMETER_SHARE || knob == COP_HYPERPARAMETER_REPLACE ||
		           knob == COP_HYPERPARAMETER_THRESHOLDS || knob == COP_HYPERPARAMETER_FEATURES ||
		           knob == COP_HYPERPARAMETER_MIN_LEAF || knob == COP_HYPERPARAMETER_FOREST ||
		           knob == COP_HYPERPARAMETER_HEIGHT || knob == COP_HYPERPARAMETER_SHRINKAGE;
		assert_true(cop_train_look_wanted(&forest) == !set);
	}
}

/* The trials' lines. */
static void look(looked *l, char *out, size_t room)
{
	cop_train_found found;
	cop_diag diag = { .message = "" };
	FILE *progress = tmpfile();
	assert_non_null(progress);
	if (cop_train_look(&l->job, progress, &found, &diag) != COP_OK)
		fail_msg("%s", diag.message);
	rewind(progress);
	out[fread(out, 1, room - 1, progress)] = '\0';
	(void)fclose(progress);
	assert_true(found.trials > 0 && found.rating.mean >= 0.0);
}

static void test_look_judges_learners_of_both_tasks_and_takes_the_best(void **state)
{
	(void)state;
	for (int values = 0; values < 2; values++) {
		looked l;
		char lines[1 << 14];
		make_job(&l, NULL, values != 0);
		look(&l, lines, sizeof lines);
		assert_non_null(strstr(lines, "--learner cart"));
		assert_non_null(strstr(lines, "--learner tao --height"));
		assert_non_null(strstr(lines, "--leaves linear"));
		assert_non_null(strstr(lines, "--learner dgt"));
		assert_string_not_equal(cop_train_learner_name(l.job.learner), "cart"); /* the line is oblique */
		free_job(&l);
	}
}

static void test_look_of_one_learner_keeps_what_was_given(void **state)
{
	(void)state;
	looked l;
	char lines[1 << 14];
	make_job(&l, "tao", false);
	give(&l.job, COP_HYPERPARAMETER_ITERATIONS, 3.0);
	look(&l, lines, sizeof lines);
	assert_null(strstr(lines, "--learner cart"));
	assert_null(strstr(lines, "linear"));
	assert_null(strstr(lines, "iterations 4"));
	assert_true(l.job.knobs.given[COP_HYPERPARAMETER_ALPHA] || l.job.knobs.given[COP_HYPERPARAMETER_START]);
	assert_true(l.job.knobs.value[COP_HYPERPARAMETER_ITERATIONS] == 3.0);
	free_job(&l);
	make_job(&l, NULL, false);
	give(&l.job, COP_HYPERPARAMETER_HEIGHT, 2.0);
	look(&l, lines, sizeof lines);
	assert_null(strstr(lines, "height 4"));
	assert_true(l.job.knobs.value[COP_HYPERPARAMETER_HEIGHT] == 2.0);
	free_job(&l);
}

static void test_look_gives_the_same_again(void **state)
{
	(void)state;
	looked l;
	char lines[2][1 << 14];
	for (int i = 0; i < 2; i++) {
		make_job(&l, "tao", true);
		look(&l, lines[i], sizeof lines[i]);
		free_job(&l);
	}
	assert_string_equal(lines[0], lines[1]);
}

/* Many trees, no learner or cart: forests of cart are judged, with as many trees; what was given stays. */
static void test_look_at_many_trees_takes_a_forest_of_cart(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		bool values = i % 2 != 0;
		looked l;
		cop_train_found found;
		cop_diag diag = { .message = "" };
		make_job(&l, i < 2 ? NULL : "cart", values);
		give(&l.job, COP_HYPERPARAMETER_TREES, 7);
		give(&l.job, COP_HYPERPARAMETER_COMPLEXITY, 0.001);
		assert_int_equal(cop_train_look(&l.job, NULL, &found, &diag), COP_OK);
		assert_string_equal(cop_train_learner_name(l.job.learner), "cart");
		assert_true(l.job.knobs.value[COP_HYPERPARAMETER_TREES] == 7);
		assert_true(l.job.knobs.value[COP_HYPERPARAMETER_COMPLEXITY] == 0.001);
		assert_true(
		        l.job.knobs.given[COP_HYPERPARAMETER_SHARE] || l.job.knobs.given[COP_HYPERPARAMETER_FOREST]);
		assert_true(l.job.knobs.value[COP_HYPERPARAMETER_FEATURES] <= 2);
		assert_int_equal(found.trials, values ? 9 : 8);
		free_job(&l);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_look_height_grows_with_the_rows_within_bounds),
		cmocka_unit_test(test_look_is_wanted_where_nothing_that_it_sets_is_given),
		cmocka_unit_test(test_look_judges_learners_of_both_tasks_and_takes_the_best),
		cmocka_unit_test(test_look_of_one_learner_keeps_what_was_given),
		cmocka_unit_test(test_look_gives_the_same_again),
		cmocka_unit_test(test_look_at_many_trees_takes_a_forest_of_cart),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
