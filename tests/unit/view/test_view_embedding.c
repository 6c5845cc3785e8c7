/* The page has every row, the hull of each leaf's rows, its rows by class, and escapes whatever names hold. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tree/tree_build.h"
#include "view/view_embedding.h"

#define N 6
#define D 2

/* Left of x0 = 2 the corners of a square and its middle, right of it one row. */
static const float x_of[N][D] = { { 0, 0 }, { 1, 0 }, { 1, 1 }, { 0, 1 }, { 0.5F, 0.5F }, { 4, 7 } };

typedef struct scene {
	cop_dataset *rows;
	cop_encoder *preparation;
	cop_trained model;
	double z[2 * N];
	uint32_t label[N];
	const char *names[2];
	cop_view_embedding what;
} scene;

static void begin(scene *s)
{
	const float v[2 * D] = { 1, 0, 0, 1 }, c[2] = { 0, 0 };
	const uint32_t output[2] = { 0, 1 };
	cop_tree_build *build;
	cop_tree *tree;
	memset(s, 0, sizeof *s);
	assert_int_equal(cop_dataset_new_dense(D, &s->rows), COP_OK);
	for (size_t i = 0; i < N; i++) {
		assert_int_equal(cop_dataset_push_dense(s->rows, x_of[i], 0.0), COP_OK);
		s->z[2 * i] = (double)x_of[i][0];
		s->z[2 * i + 1] = (double)x_of[i][1];
		s->label[i] = i % 2;
	}
	assert_int_equal(cop_tree_build_new(D, 2, COP_TREE_VALUES, &build), COP_OK);
	int32_t node = cop_tree_build_axis(build, 0, 2.0F);
	int32_t left = cop_tree_build_linear(build, 2, output, v, c);
	int32_t right = cop_tree_build_linear(build, 2, output, v, c);
	cop_tree_build_children(build, node, left, right);
	assert_int_equal(cop_tree_build_finish(build, node, &tree), COP_OK);
	cop_tree_build_free(build);
	assert_int_equal(cop_trees_new(COP_TREES_MEAN, 1, &tree, NULL, NULL, &s->model.trees), COP_OK);
	assert_int_equal(cop_encoder_new(D, 0, &s->preparation), COP_OK);
	s->model.preparation = s->preparation;
	s->names[0] = "<b>";
	s->names[1] = "plain";
	s->what = (cop_view_embedding){ .model = &s->model,
		.rows = s->rows,
		.z = s->z,
		.free_z = s->z,
		.label = s->label,
		.classes = 2,
		.class_name = s->names,
		.title = "rows & more",
		.figures = "figures" };
}

static void end(scene *s)
{
	cop_trees_free(s->model.trees);
	cop_encoder_free(s->preparation);
	cop_dataset_free(s->rows);
}

static size_t count(const char *text, const char *word)
{
	size_t n = 0;
	for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word))
		n++;
	return n;
}

static void test_page_has_rows_hulls_and_classes(void **state)
{
	scene s;
	cop_bytes out;
	(void)state;
	begin(&s);
	cop_bytes_init(&out);
	assert_int_equal(cop_view_embedding_html(&s.what, &out), COP_OK);
	cop_bytes_put_u8(&out, 0);
	const char *page = (const char *)out.data;
	assert_int_equal(count(page, "<circle"), 2 * N);
	assert_int_equal(count(page, "<polygon"), 2);
	/* Of the left leaf the four corners, of the right one its only row. */
	const char *first = strstr(page, "points=\""), *second = strstr(first + 1, "points=\"");
	size_t corners = 0, lone = 0;
	for (const char *c = first + 8; *c != '"'; c++)
		corners += *c == ',';
	for (const char *c = second + 8; *c != '"'; c++)
		lone += *c == ',';
	assert_int_equal(corners, 4);
	assert_int_equal(lone, 1);
	assert_non_null(strstr(page, "leaf 0: 5 rows"));
	assert_non_null(strstr(page, "plain: 2</title>"));
	assert_non_null(strstr(page, "&lt;b&gt;: 3</title>"));
	assert_null(strstr(page, "<b>"));
	assert_null(strstr(page, "<script"));
	assert_non_null(strstr(page, "rows &amp; more"));
	cop_bytes_fini(&out);
	end(&s);
}

static void test_other_shapes_are_refused(void **state)
{
	scene s;
	cop_bytes out;
	cop_dataset *narrow;
	(void)state;
	begin(&s);
	cop_bytes_init(&out);
	assert_int_equal(cop_dataset_new_dense(1, &narrow), COP_OK);
	assert_int_equal(cop_dataset_push_dense(narrow, x_of[0], 0.0), COP_OK);
	s.what.rows = narrow;
	assert_int_equal(cop_view_embedding_html(&s.what, &out), COP_ESHAPE);
	cop_dataset_free(narrow);
	cop_bytes_fini(&out);
	end(&s);
}

static void test_memory_failures_are_reported(void **state)
{
	scene s;
	(void)state;
	begin(&s);
	for (unsigned long n = 1;; n++) {
		cop_bytes out;
		cop_bytes_init(&out);
		cop_test_alloc_fail(n, 1);
		cop_err err = cop_view_embedding_html(&s.what, &out);
		cop_test_alloc_fail(0, 0);
		cop_bytes_fini(&out);
		if (err == COP_OK)
			break;
		assert_int_equal(err, COP_ENOMEM);
	}
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_page_has_rows_hulls_and_classes),
		cmocka_unit_test(test_other_shapes_are_refused),
		cmocka_unit_test(test_memory_failures_are_reported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
