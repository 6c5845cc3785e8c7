#include "support.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "trained_fixture.h"
#include "view/view.h"

typedef double predict_function(const double *raw, double *outputs);

/* Compiles as strictly as can be asked of generated code; the function, or a failed test. */
static void *compile(const cop_bytes *source, const char *folder, const char *function)
{
	char path[256], command[1024];
	(void)snprintf(path, sizeof path, "%s/%s.c", folder, function);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(source->data, 1, source->length, file), source->length);
	assert_int_equal(fclose(file), 0);
	(void)snprintf(command, sizeof command,
	        "'%s' -std=c99 -Wall -Wextra -Werror -pedantic -O1 -fPIC -shared -o '%s/%s.so' '%s' -lm", COP_TEST_CC,
	        folder, function, path);
	if (system(command) != 0)
		fail_msg("does not compile: %s", command);
	(void)snprintf(path, sizeof path, "%s/%s.so", folder, function);
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (library == NULL)
		fail_msg("%s", dlerror());
	return library;
}

/* A row near no boundary that floats could put on another side. */
static bool is_clear(const people *f, const cop_row *row)
{
	cop_tree_step steps[COP_TREE_MAX_DEPTH];
	size_t leaf;
	for (size_t i = 0; i < cop_trees_count(f->model->trees); i++) {
		size_t count = cop_tree_path(cop_trees_at(f->model->trees, i), row, steps, &leaf);
		for (size_t s = 0; s < count; s++)
			if (f->shape.oblique && fabsf(steps[s].margin) < 1e-4f)
				return false;
	}
	return true;
}

static double best_of(size_t outputs, const double *out)
{
	size_t best = 0;
	for (size_t k = 1; k < outputs; k++)
		if (out[k] > out[best])
			best = k;
	return (double)best;
}

/* Row i of the file, and behind them rows around those. */
static void make_row(people *f, size_t i, double *raw, cop_dataset **prepared)
{
	float x[PEOPLE_D];
	size_t d = f->raw->d;
	for (size_t j = 0; j < d; j++) {
		x[j] = f->raw->x[(i % f->raw->n) * d + j];
		if (i >= f->raw->n && cop_encoder_stem(f->model->preparation, j) == 0)
			x[j] *= (float)(0.5 + cop_rng_unit(&f->rng));
		raw[j] = (double)x[j];
	}
	assert_int_equal(cop_dataset_new_dense(d, prepared), COP_OK);
	assert_int_equal(cop_dataset_push_dense(*prepared, x, 0.0), COP_OK);
	cop_encoder_apply(f->model->preparation, *prepared);
}

static void compare_row(const people *f, const cop_row *row, double answer, const double *got)
{
	size_t outputs = cop_trees_outputs(f->model->trees);
	bool classes = f->shape.classes > 0;
	double want[PEOPLE_K];
	float work[PEOPLE_K];
	cop_trees_predict(f->model->trees, row, work, want);
	for (size_t k = 0; k < outputs; k++) {
		if (!classes)
			want[k] = cop_encoder_from_scale(f->model->preparation, want[k]);
		assert_true(fabs(got[k] - want[k]) <= 1e-5 * (1.0 + fabs(want[k])));
	}
	assert_true(classes ? answer == best_of(outputs, got) : answer == got[0]);
	if (!f->shape.linear && classes)
		assert_true(answer == best_of(outputs, want));
}

static void compare(people *f, predict_function *predict)
{
	size_t compared = 0;
	for (size_t i = 0; i < 2 * f->raw->n; i++) {
		double raw[PEOPLE_D], got[PEOPLE_K];
		cop_dataset *prepared;
		cop_row row;
		make_row(f, i, raw, &prepared);
		cop_dataset_row(prepared, 0, &row);
		double answer = predict(raw, got);
		if (is_clear(f, &row)) {
			compare_row(f, &row, answer, got);
			compared++;
		}
		cop_dataset_free(prepared);
	}
	assert_true(compared > f->raw->n);
}

typedef const char *class_function(unsigned long k);

static void check_names(const people *f, class_function *name)
{
	for (size_t k = 0; k < f->shape.classes; k++)
		assert_string_equal(name(k), cop_encoder_class(f->model->preparation, k));
}

static void test_c_source_compiles_and_predicts_the_same(void **state)
{
	(void)state;
	static const people_shape shapes[] = {
		{ .trees = 1, .depth = 4, .classes = 3, .link = COP_TREE_PROBABILITIES },
		{ .trees = 1, .depth = 0, .classes = 3, .link = COP_TREE_PROBABILITIES },
		{ .trees = 1,
		        .depth = 12,
		        .classes = 26,
		        .link = COP_TREE_PROBABILITIES,
		        .oblique = true,
		        .rows = 3000 },
		{ .trees = 1, .depth = 4, .link = COP_TREE_VALUES },
		{ .trees = 1, .depth = 3, .link = COP_TREE_VALUES, .oblique = true, .linear = true },
		{ .trees = 9, .depth = 4, .link = COP_TREE_VALUES },
		{ .trees = 9, .depth = 3, .link = COP_TREE_VALUES, .rule = COP_TREES_SUM, .oblique = true },
		{ .trees = 9, .depth = 4, .classes = 4, .link = COP_TREE_VALUES, .rule = COP_TREES_SOFTMAX },
		{ .trees = 7, .depth = 4, .classes = 3, .link = COP_TREE_PROBABILITIES, .rule = COP_TREES_VOTE },
		{ .trees = 7,
		        .depth = 3,
		        .classes = 6,
		        .link = COP_TREE_LOGITS,
		        .rule = COP_TREES_VOTE,
		        .linear = true },
		{ .trees = 5, .depth = 3, .classes = 6, .link = COP_TREE_LOGITS, .oblique = true, .linear = true },
		{ .trees = 1, .depth = 3, .classes = 6, .link = COP_TREE_LOGITS },
		{ .trees = 3,
		        .depth = 3,
		        .classes = 3,
		        .link = COP_TREE_PROBABILITIES,
		        .linear = true,
		        .hostile = true },
	};
	char folder[] = "/tmp/test_view_c.XXXXXX", command[128];
	assert_non_null(mkdtemp(folder));
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		people f;
		cop_bytes out;
		char function[32], names[40];
		(void)snprintf(function, sizeof function, "model_%zu", i);
		(void)snprintf(names, sizeof names, "%s_class", function);
		cop_view_settings settings = { .tree = COP_VIEW_ALL, .function = function, .title = "*/ \"?\?/" };
		cop_bytes_init(&out);
		people_init(&f, &shapes[i]);
		assert_int_equal(cop_view_c(f.model, &settings, &out), COP_OK);
		void *library = compile(&out, folder, function);
		predict_function *predict;
		class_function *name;
		*(void **)&predict = dlsym(library, function);
		*(void **)&name = dlsym(library, names);
		assert_non_null(predict);
		assert_true((name != NULL) == (shapes[i].classes > 0));
		compare(&f, predict);
		if (name != NULL)
			check_names(&f, name);
		(void)dlclose(library);
		cop_bytes_fini(&out);
		people_fini(&f);
	}
	(void)snprintf(command, sizeof command, "rm -r '%s'", folder);
	assert_int_equal(system(command), 0);
}

static void test_c_function_must_be_an_identifier(void **state)
{
	(void)state;
	static const people_shape shape = { .trees = 1, .depth = 1, .classes = 3, .link = COP_TREE_PROBABILITIES };
	static const char *const bad[] = { "", "1a", "a b", "int", "cop_sum", "_x", "main", "a;system(\"x\")" };
	people f;
	cop_bytes out;
	cop_bytes_init(&out);
	people_init(&f, &shape);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		cop_view_settings settings = { .tree = COP_VIEW_ALL, .function = bad[i] };
		assert_int_equal(cop_view_c(f.model, &settings, &out), COP_EINVAL);
	}
	assert_int_equal(out.length, 0);
	cop_bytes_fini(&out);
	people_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_c_source_compiles_and_predicts_the_same),
		cmocka_unit_test(test_c_function_must_be_an_identifier),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
