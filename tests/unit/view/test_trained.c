#include "support.h"

#include <stdlib.h>
#include <unistd.h>

#include "store/section_file.h"
#include "trained_fixture.h"

static const people_shape shapes[] = {
	{ .trees = 1, .depth = 3, .classes = 3, .link = COP_TREE_PROBABILITIES },
	{ .trees = 3, .depth = 3, .link = COP_TREE_VALUES, .rule = COP_TREES_SUM, .oblique = true, .linear = true },
	{ .trees = 2, .depth = 2, .classes = 6, .link = COP_TREE_LOGITS, .linear = true, .hostile = true },
	{ .trees = 2,
	        .depth = 0,
	        .classes = 3,
	        .link = COP_TREE_PROBABILITIES,
	        .rule = COP_TREES_VOTE,
	        .no_census = true },
};
#define SHAPES (sizeof shapes / sizeof *shapes)

static void put(const cop_trained *model, cop_bytes *bytes)
{
	cop_bytes_init(bytes);
	cop_trained_put(model, bytes);
	assert_int_equal(bytes->err, COP_OK);
}

/* ---- census ---- */

/* Rows that come by each place, counted by asking for every row's path. */
static void check_rows(const people *f, size_t i)
{
	const cop_node_counts *census = &f->model->census[i];
	const cop_tree *tree = cop_trees_at(f->model->trees, i);
	const cop_tree_parts *parts = cop_tree_view(tree);
	size_t *reached = cop_mem_alloc(census->leaves, sizeof *reached);
	for (size_t r = 0; r < f->rows->n; r++) {
		cop_row row;
		cop_dataset_row(f->rows, r, &row);
		reached[cop_tree_leaf(tree, &row)]++;
	}
	for (size_t l = 0; l < census->leaves; l++)
		assert_int_equal(census->leaf_rows[l], reached[l]);
	for (size_t t = 0; t < census->nodes; t++) {
		int32_t child[2] = { parts->left[t], parts->right[t] };
		uint64_t sum = 0;
		for (int side = 0; side < 2; side++)
			sum += child[side] >= 0 ? census->node_rows[child[side]] : census->leaf_rows[~child[side]];
		assert_int_equal(census->node_rows[t], sum);
	}
	assert_int_equal(census->nodes > 0 ? census->node_rows[0] : census->leaf_rows[0], f->rows->n);
	cop_mem_free(reached);
}

static void test_census_of_classes_counts_them(void **state)
{
	(void)state;
	people f;
	people_init(&f, &shapes[0]);
	const cop_node_counts *census = f.model->census;
	const cop_tree *tree = cop_trees_at(f.model->trees, 0);
	check_rows(&f, 0);
	double *mix = cop_mem_alloc(census->leaves * 3, sizeof *mix), root[3] = { 0.0 };
	for (size_t r = 0; r < f.rows->n; r++) {
		cop_row row;
		cop_dataset_row(f.rows, r, &row);
		mix[cop_tree_leaf(tree, &row) * 3 + f.label[r]] += 1.0;
		root[f.label[r]] += 1.0;
	}
	assert_memory_equal(mix, census->leaf_mix, census->leaves * 3 * sizeof *mix);
	assert_memory_equal(root, census->node_mix, sizeof root);
	cop_mem_free(mix);
	people_fini(&f);
}

static void test_census_of_values_is_in_the_files_unit(void **state)
{
	(void)state;
	people f;
	people_init(&f, &shapes[1]);
	double mean = 0.0, square = 0.0;
	for (size_t i = 0; i < 3; i++)
		check_rows(&f, i);
	for (size_t r = 0; r < f.raw->n; r++)
		mean += f.raw->target[r] / (double)f.raw->n;
	for (size_t r = 0; r < f.raw->n; r++)
		square += (f.raw->target[r] - mean) * (f.raw->target[r] - mean) / (double)f.raw->n;
	assert_true(fabs(f.model->census[1].node_mix[0] - mean) < 1e-3);
	assert_true(fabs(f.model->census[1].node_mix[1] - sqrt(square)) < 1e-3);
	people_fini(&f);
}

static void test_census_without_memory_keeps_the_old_one(void **state)
{
	(void)state;
	people f;
	people_init(&f, &shapes[1]);
	const cop_node_counts *before = f.model->census;
	unsigned long n = 1;
	for (;; n++) {
		cop_test_alloc_fail(n, 0);
		cop_err err = cop_trained_take_census(f.model, f.rows, NULL, f.target);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		if (err == COP_OK)
			break;
		assert_int_equal(err, COP_ENOMEM);
		assert_ptr_equal(f.model->census, before);
	}
	assert_true(n > 3);
	check_rows(&f, 2);
	people_fini(&f);
}

/* ---- importance ---- */

static void test_importance_sums_to_one_and_needs_a_census(void **state)
{
	(void)state;
	for (size_t i = 0; i < SHAPES; i++) {
		people f;
		double share[PEOPLE_D], sum = 0.0;
		people_init(&f, &shapes[i]);
		cop_err err = cop_trained_importance(f.model, NULL, share);
		assert_int_equal(err, shapes[i].no_census ? COP_EINVAL : COP_OK);
		for (size_t j = 0; err == COP_OK && j < f.rows->d; j++) {
			assert_true(share[j] >= 0.0);
			sum += share[j];
		}
		assert_true(err != COP_OK || fabs(sum - 1.0) < 1e-9);
		people_fini(&f);
	}
}

/* One split that parts 4 rows into pure halves: all of it is its two features', by |w| sd. */
static void test_importance_of_one_split_is_shared_by_weight(void **state)
{
	(void)state;
	static const float w[3] = { 3.0f, 0.0f, -1.0f }, sd[3] = { 1.0f, 5.0f, 2.0f };
	static const float leaf[2][2] = { { 1.0f, 0.0f }, { 0.0f, 1.0f } };
	static const uint32_t label[4] = { 0, 0, 1, 1 };
	cop_trained model = { 0 };
	cop_tree_build *build;
	cop_tree *tree;
	cop_dataset *rows;
	double share[3];
	assert_int_equal(cop_tree_build_new(3, 2, COP_TREE_PROBABILITIES, &build), COP_OK);
	int32_t node = cop_tree_build_node(build, w, 0.0f);
	int32_t left = cop_tree_build_constant(build, leaf[0]), right = cop_tree_build_constant(build, leaf[1]);
	cop_tree_build_children(build, node, left, right);
	assert_int_equal(cop_tree_build_finish(build, node, &tree), COP_OK);
	cop_tree_build_free(build);
	assert_int_equal(cop_trees_new(COP_TREES_MEAN, 1, &tree, NULL, NULL, &model.trees), COP_OK);
	assert_int_equal(cop_encoder_new(3, 2, &model.preparation), COP_OK);
	assert_int_equal(cop_dataset_new_dense(3, &rows), COP_OK);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(
		        cop_dataset_push_dense(rows, (float[]){ i < 2 ? -1.0f : 1.0f, 0.0f, 0.0f }, 0.0), COP_OK);
	assert_int_equal(cop_trained_take_census(&model, rows, label, NULL), COP_OK);
	assert_int_equal(cop_trained_importance(&model, NULL, share), COP_OK);
	assert_true(fabs(share[0] - 0.75) < 1e-12 && share[1] == 0.0 && fabs(share[2] - 0.25) < 1e-12);
	assert_int_equal(cop_trained_importance(&model, sd, share), COP_OK);
	assert_true(fabs(share[0] - 0.6) < 1e-12 && fabs(share[2] - 0.4) < 1e-12);
	cop_dataset_free(rows);
	cop_trained *owned = cop_mem_alloc(1, sizeof *owned);
	*owned = model;
	cop_trained_free(owned);
}

/* ---- model files ---- */

static void test_saved_model_comes_back_with_the_same_bytes(void **state)
{
	(void)state;
	for (size_t i = 0; i < SHAPES; i++) {
		people f;
		cop_bytes first, second;
		cop_trained *again;
		cop_diag diag = { .message = "" };
		people_init(&f, &shapes[i]);
		put(f.model, &first);
		if (cop_trained_open(first.data, first.length, "m", &again, &diag) != COP_OK)
			fail_msg("%s", diag.message);
		put(again, &second);
		assert_int_equal(first.length, second.length);
		assert_memory_equal(first.data, second.data, first.length);
		assert_string_equal(again->learner, f.model->learner);
		assert_string_equal(again->settings, f.model->settings);
		assert_true((again->census == NULL) == shapes[i].no_census);
		cop_trained_free(again);
		cop_bytes_fini(&first);
		cop_bytes_fini(&second);
		people_fini(&f);
	}
}

static void test_model_goes_through_a_file(void **state)
{
	(void)state;
	char path[] = "/tmp/test_trained.XXXXXX";
	people f;
	cop_trained *again;
	cop_diag diag = { .message = "" };
	people_init(&f, &shapes[0]);
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(close(fd), 0);
	assert_int_equal(cop_trained_save(f.model, path, &diag), COP_OK);
	assert_int_equal(cop_trained_load(path, &again, &diag), COP_OK);
	assert_int_equal(cop_trees_parameters(again->trees), cop_trees_parameters(f.model->trees));
	cop_trained_free(again);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(cop_trained_load(path, &again, &diag), COP_ENOTFOUND);
	assert_null(again);
	people_fini(&f);
}

static void test_open_without_memory_gives_nothing(void **state)
{
	(void)state;
	for (size_t i = 0; i < SHAPES; i++) {
		people f;
		cop_bytes bytes;
		cop_trained *again;
		unsigned long n = 1;
		people_init(&f, &shapes[i]);
		put(f.model, &bytes);
		for (;; n++) {
			cop_diag diag = { .message = "" };
			cop_test_alloc_fail(n, 0);
			cop_err err = cop_trained_open(bytes.data, bytes.length, "m", &again, &diag);
			cop_test_alloc_fail(0, 0);
			assert_int_equal(err != COP_OK, cop_test_alloc_failed());
			if (err == COP_OK)
				break;
			assert_int_equal(err, COP_ENOMEM);
			assert_null(again);
			assert_true(diag.message[0] != '\0');
		}
		assert_true(n > 5);
		cop_trained_free(again);
		cop_bytes_fini(&bytes);
		people_fini(&f);
	}
}

/* A section of what is in `bytes`, left out, given a later version or its last byte cut off. */
typedef enum spoil { SPOIL_DROP, SPOIL_RAISE, SPOIL_CUT } spoil;

static void spoiled(const cop_bytes *bytes, const char *name, spoil how, cop_bytes *out)
{
	cop_section_file file;
	cop_model_section section;
	size_t at = 0;
	assert_int_equal(cop_section_file_open(&file, bytes->data, bytes->length, NULL, NULL), COP_OK);
	cop_bytes_init(out);
	size_t mark = cop_section_file_begin(out);
	while (cop_section_file_next(&file, &at, &section)) {
		bool it = strcmp(section.name, name) == 0;
		if (it && how == SPOIL_DROP)
			continue;
		size_t inner =
		        cop_section_file_begin_section(out, section.name, section.version + (it && how == SPOIL_RAISE));
		cop_bytes_put(out, section.data, section.length - (it && how == SPOIL_CUT));
		cop_section_file_end_section(out, inner);
	}
	cop_section_file_end(out, mark);
	assert_int_equal(out->err, COP_OK);
}

static void test_spoiled_sections_are_refused_by_name(void **state)
{
	(void)state;
	static const char *const names[] = { "trained", "preparation", "trees", "tree", "census" };
	static const cop_err want[] = { COP_EFORMAT, COP_EVERSION, COP_EFORMAT };
	people f;
	cop_bytes bytes, bad;
	cop_trained *again;
	people_init(&f, &shapes[1]);
	put(f.model, &bytes);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		for (int how = SPOIL_DROP; how <= SPOIL_CUT; how++) {
			cop_diag diag = { .message = "" };
			spoiled(&bytes, names[i], (spoil)how, &bad);
			cop_err err = cop_trained_open(bad.data, bad.length, "m", &again, &diag);
			assert_int_equal(err, i == 0 && how == SPOIL_DROP ? COP_ENOTFOUND : want[how]);
			assert_null(again);
			assert_true(diag.message[0] != '\0');
			cop_bytes_fini(&bad);
		}
	cop_bytes_fini(&bytes);
	people_fini(&f);
}

static void test_parts_of_different_models_are_refused(void **state)
{
	(void)state;
	people f, g;
	cop_bytes bytes;
	cop_trained *again;
	cop_diag diag = { .message = "" };
	people_init(&f, &shapes[0]);
	people_init(&g, &shapes[1]);
	cop_encoder *own = f.model->preparation;
	f.model->preparation = g.model->preparation; /* of values */
	put(f.model, &bytes);
	assert_int_equal(cop_trained_open(bytes.data, bytes.length, "m", &again, &diag), COP_EFORMAT);
	assert_non_null(strstr(diag.message, "belong together"));
	f.model->preparation = own;
	cop_bytes_fini(&bytes);
	people_fini(&f);
	people_fini(&g);
}

/* Any byte of the payloads may be wrong behind a right checksum: nothing worse than a refusal comes of it. */
static void test_flipped_bytes_never_harm(void **state)
{
	(void)state;
	people f;
	cop_bytes bytes;
	people_init(&f, &(people_shape){ .trees = 2, .depth = 1, .classes = 3, .link = COP_TREE_PROBABILITIES });
	put(f.model, &bytes);
	cop_section_file file;
	cop_model_section section;
	assert_int_equal(cop_section_file_open(&file, bytes.data, bytes.length, NULL, NULL), COP_OK);
	for (size_t at = 0, number = 0; cop_section_file_next(&file, &at, &section); number++)
		for (size_t b = 0; b < section.length; b += 1 + section.length / 200) {
			cop_bytes bad;
			cop_trained *again;
			cop_bytes_init(&bad);
			size_t mark = cop_section_file_begin(&bad), inner_at = 0, i = 0;
			cop_model_section each;
			while (cop_section_file_next(&file, &inner_at, &each)) {
				size_t inner = cop_section_file_begin_section(&bad, each.name, each.version);
				cop_bytes_put(&bad, each.data, each.length);
				if (i++ == number)
					bad.data[bad.length - each.length + b] ^= 0x41;
				cop_section_file_end_section(&bad, inner);
			}
			cop_section_file_end(&bad, mark);
			if (cop_trained_open(bad.data, bad.length, "m", &again, NULL) == COP_OK)
				cop_trained_free(again);
			cop_bytes_fini(&bad);
		}
	cop_bytes_fini(&bytes);
	people_fini(&f);
}

/* The seeds of fuzz_trained are files of today: `trained_print NAME file` writes them anew. */
static void test_fuzz_seeds_are_models(void **state)
{
	(void)state;
	static const char *const names[] = { "axis", "bare", "boosted", "hostile", "leaf", "linear", "softmax",
		"values" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char path[512];
		cop_trained *model;
		cop_diag diag = { .message = "" };
		(void)snprintf(path, sizeof path, "%s/../fuzz/corpus/trained/%s", COP_TEST_DATA, names[i]);
		if (cop_trained_load(path, &model, &diag) != COP_OK)
			fail_msg("%s: %s", path, diag.message);
		cop_trained_free(model);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_census_of_classes_counts_them),
		cmocka_unit_test(test_census_of_values_is_in_the_files_unit),
		cmocka_unit_test(test_census_without_memory_keeps_the_old_one),
		cmocka_unit_test(test_importance_sums_to_one_and_needs_a_census),
		cmocka_unit_test(test_importance_of_one_split_is_shared_by_weight),
		cmocka_unit_test(test_saved_model_comes_back_with_the_same_bytes),
		cmocka_unit_test(test_model_goes_through_a_file),
		cmocka_unit_test(test_open_without_memory_gives_nothing),
		cmocka_unit_test(test_spoiled_sections_are_refused_by_name),
		cmocka_unit_test(test_parts_of_different_models_are_refused),
		cmocka_unit_test(test_flipped_bytes_never_harm),
		cmocka_unit_test(test_fuzz_seeds_are_models),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
