#include "support.h"

#include <math.h>
#include <string.h>

#include "tree/tree_build.h"
#include "tree/trees.h"
#include "tree_fixture.h"

/* Of d features and 2 outputs: x0 >= 0 gives b, else a. */
static cop_tree *make_stump(size_t d, cop_tree_link link, const float *a, const float *b)
{
	cop_tree_build *build;
	cop_tree *tree;
	assert_int_equal(cop_tree_build_new(d, 2, link, &build), COP_OK);
	int32_t root = cop_tree_build_axis(build, 0, 0.0f), left = cop_tree_build_constant(build, a);
	cop_tree_build_children(build, root, left, cop_tree_build_constant(build, b));
	assert_int_equal(cop_tree_build_finish(build, root, &tree), COP_OK);
	cop_tree_build_free(build);
	return tree;
}

static const float lean0[] = { 0.75f, 0.25f }, lean1[] = { 0.375f, 0.625f }, sure1[] = { 0.0f, 1.0f };

static void make_three(cop_tree_link link, cop_tree **tree)
{
	tree[0] = make_stump(1, link, lean0, lean1);
	tree[1] = make_stump(1, link, lean1, sure1);
	tree[2] = make_stump(1, link, lean0, lean0);
}

static cop_trees *make(cop_trees_rule rule, cop_tree_link link, const double *weight, const double *base)
{
	cop_tree *tree[3];
	cop_trees *trees;
	make_three(link, tree);
	assert_int_equal(cop_trees_new(rule, 3, tree, weight, base, &trees), COP_OK);
	for (size_t i = 0; i < 3; i++)
		assert_null(tree[i]);
	return trees;
}

static const double weights[] = { 1.0, 2.0, 5.0 };

static void expect_outputs(const cop_trees *trees, float x, double first, double second)
{
	float work[2];
	double out[2];
	cop_row row = { .d = 1, .dense = &x };
	cop_trees_predict(trees, &row, work, out);
	assert_true(fabs(out[0] - first) < 1e-15 && fabs(out[1] - second) < 1e-15);
}

static void test_predict_mean_is_weighted(void **state)
{
	(void)state;
	cop_trees *trees = make(COP_TREES_MEAN, COP_TREE_PROBABILITIES, weights, NULL);
	expect_outputs(trees, -1.0f, (0.75 + 0.75 + 3.75) / 8, (0.25 + 1.25 + 1.25) / 8);
	assert_int_equal(cop_trees_count(trees), 3);
	assert_int_equal(cop_trees_features(trees), 1);
	assert_int_equal(cop_trees_outputs(trees), 2);
	assert_int_equal(cop_trees_how(trees), COP_TREES_MEAN);
	assert_true(cop_trees_weight(trees, 2) == 5.0 && cop_trees_base(trees)[1] == 0.0);
	assert_int_equal(cop_tree_leaves(cop_trees_at(trees, 0)), 2);
	cop_trees_free(trees);
	trees = make(COP_TREES_MEAN, COP_TREE_VALUES, NULL, NULL);
	expect_outputs(trees, 1.0f, (0.375 + 0.75) / 3, (0.625 + 1.0 + 0.25) / 3);
	cop_trees_free(trees);
	cop_trees_free(NULL);
}

static void test_predict_vote_gives_shares(void **state)
{
	(void)state;
	cop_trees *trees = make(COP_TREES_VOTE, COP_TREE_PROBABILITIES, weights, NULL);
	expect_outputs(trees, -1.0f, 6.0 / 8, 2.0 / 8);
	expect_outputs(trees, 0.0f, 5.0 / 8, 3.0 / 8);
	cop_trees_free(trees);
}

static void test_predict_sum_starts_at_base(void **state)
{
	(void)state;
	static const double base[] = { 10.0, -10.0 }, signed_weights[] = { 1.0, -2.0, 0.5 };
	cop_trees *trees = make(COP_TREES_SUM, COP_TREE_VALUES, signed_weights, base);
	expect_outputs(trees, -1.0f, 10.0 + 0.75 - 0.75 + 0.375, -10.0 + 0.25 - 1.25 + 0.125);
	cop_trees_free(trees);
}

static void test_predict_softmax_of_the_sum(void **state)
{
	(void)state;
	static const double base[] = { 0.5, -0.5 };
	cop_trees *trees = make(COP_TREES_SOFTMAX, COP_TREE_VALUES, weights, base);
	double first = exp(0.5 + 0.75 + 0.75 + 3.75), second = exp(-0.5 + 0.25 + 1.25 + 1.25);
	expect_outputs(trees, -1.0f, first / (first + second), second / (first + second));
	assert_true(cop_trees_adds(trees));
	cop_trees_free(trees);
	static const double huge[] = { 1e6, -1e6 };
	trees = make(COP_TREES_SOFTMAX, COP_TREE_VALUES, NULL, huge);
	expect_outputs(trees, -1.0f, 1.0, 0.0);
	cop_trees_free(trees);
}

static void test_counts_are_sums_over_trees(void **state)
{
	(void)state;
	cop_trees *trees = make(COP_TREES_MEAN, COP_TREE_VALUES, NULL, NULL);
	float x = 0.0f;
	cop_row row = { .d = 1, .dense = &x };
	assert_int_equal(cop_trees_parameters(trees), 3 * (2 + 2 + 2));
	assert_int_equal(cop_trees_flops(trees, &row), 3 * (2 + 2));
	cop_trees_free(trees);
}

static void expect_refused(cop_trees_rule rule, size_t count, cop_tree **tree, const double *weight, const double *base)
{
	cop_trees *trees = (cop_trees *)&trees;
	assert_int_equal(cop_trees_new(rule, count, tree, weight, base, &trees), COP_EINVAL);
	assert_null(trees);
	for (size_t i = 0; i < 3; i++)
		assert_non_null(tree[i]); /* still the caller's */
}

static void test_new_bad_refused(void **state)
{
	(void)state;
	static const double negative[] = { 1.0, -1.0, 1.0 }, none[] = { 0.0, 0.0, 0.0 },
	                    bad[] = { 1.0, (double)NAN, 1.0 }, huge[] = { 1e308, 1e308, 1e308 }, base[] = { 1.0, 2.0 };
	cop_tree *tree[3];
	make_three(COP_TREE_PROBABILITIES, tree);
	expect_refused(COP_TREES_RULES, 3, tree, NULL, NULL);
	expect_refused(COP_TREES_MEAN, 0, tree, NULL, NULL);
	expect_refused(COP_TREES_MEAN, COP_TREES_MOST + 1, tree, NULL, NULL);
	expect_refused(COP_TREES_MEAN, 3, tree, negative, NULL);
	expect_refused(COP_TREES_VOTE, 3, tree, none, NULL);
	expect_refused(COP_TREES_MEAN, 3, tree, huge, NULL);
	expect_refused(COP_TREES_SUM, 3, tree, bad, NULL);
	expect_refused(COP_TREES_SUM, 3, tree, NULL, bad);
	expect_refused(COP_TREES_MEAN, 3, tree, NULL, base);
	expect_refused(COP_TREES_SOFTMAX, 3, tree, NULL, base);
	expect_refused(COP_TREES_LATENT, 3, tree, NULL, NULL);
	cop_tree_free(tree[1]);
	tree[1] = make_stump(1, COP_TREE_VALUES, lean0, lean1);
	expect_refused(COP_TREES_MEAN, 3, tree, NULL, NULL);
	cop_tree_free(tree[1]);
	tree[1] = make_stump(2, COP_TREE_PROBABILITIES, lean0, lean1);
	expect_refused(COP_TREES_MEAN, 3, tree, NULL, NULL);
	for (size_t i = 0; i < 3; i++)
		cop_tree_free(tree[i]);
	make_three(COP_TREE_VALUES, tree);
	expect_refused(COP_TREES_VOTE, 3, tree, NULL, NULL);
	for (size_t i = 0; i < 3; i++)
		cop_tree_free(tree[i]);
}

/* ---- files ---- */

static void save(const cop_trees *trees, cop_bytes *bytes)
{
	cop_bytes_init(bytes);
	size_t mark = cop_section_file_begin(bytes);
	size_t other = cop_section_file_begin_section(bytes, "other", 1);
	cop_section_file_end_section(bytes, other);
	cop_trees_save(trees, bytes);
	cop_section_file_end(bytes, mark);
	assert_int_equal(bytes->err, COP_OK);
}

static cop_err load(const cop_bytes *bytes, cop_trees **trees)
{
	cop_section_file file;
	assert_int_equal(cop_section_file_open(&file, bytes->data, bytes->length, NULL, NULL), COP_OK);
	return cop_trees_load(&file, trees);
}

static void test_load_saved_trees_are_the_same(void **state)
{
	(void)state;
	static const double base[] = { 10.0, -10.0 };
	for (int rule = 0; rule < COP_TREES_RULES; rule++) {
		if (rule == COP_TREES_LATENT)
			continue;
		cop_tree_link link = rule == COP_TREES_VOTE ? COP_TREE_PROBABILITIES : COP_TREE_VALUES;
		cop_trees *trees = make((cop_trees_rule)rule, link, weights, rule >= COP_TREES_SUM ? base : NULL),
		          *loaded;
		cop_bytes bytes, again;
		save(trees, &bytes);
		assert_int_equal(load(&bytes, &loaded), COP_OK);
		save(loaded, &again);
		assert_int_equal(bytes.length, again.length);
		assert_memory_equal(bytes.data, again.data, bytes.length);
		float x = 1.0f, work[2];
		double one[2], other[2];
		cop_row row = { .d = 1, .dense = &x };
		cop_trees_predict(trees, &row, work, one);
		cop_trees_predict(loaded, &row, work, other);
		assert_memory_equal(one, other, sizeof one);
		cop_bytes_fini(&again);
		cop_bytes_fini(&bytes);
		cop_trees_free(loaded);
		cop_trees_free(trees);
	}
}

/* One split of the one feature: right as far as x - 0.25 says; outputs x + reach of the right child, and -x. */
static cop_trees *make_latent(size_t outputs)
{
	const cop_latent_shape shape = { .d = 1, .outputs = outputs, .link = COP_TREE_VALUES, .depth = 1, .layers = 1 };
	/* w and bias of the split; of each output x, the nodes, then the biases */
	const float w[] = { 1.0f, -0.25f, 1.0f, 0.0f, 0.0f, 1.0f, -1.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f };
	const double a[] = { 1.0, 0.5, 0.75 };
	cop_latent *latent;
	cop_trees *trees;
	assert_int_equal(cop_latent_new(&shape, w, a, &latent), COP_OK);
	assert_int_equal(cop_trees_new_latent(&latent, &trees), COP_OK);
	assert_null(latent);
	return trees;
}

static void test_latent_tree_predicts_in_place_of_its_hard_one(void **state)
{
	(void)state;
	cop_trees *trees = make_latent(2), *loaded;
	cop_bytes bytes, again;
	float x = 0.5f, work[2];
	double out[2];
	const cop_row row = { .d = 1, .dense = &x };
	assert_true(cop_trees_how(trees) == COP_TREES_LATENT && cop_trees_count(trees) == 1);
	assert_int_equal(cop_tree_leaves(cop_trees_at(trees, 0)), 2);
	cop_trees_predict(trees, &row, work, out);
	assert_true(out[0] == 0.5 + 0.75 && out[1] == -0.5); /* 0.25 + 0.5, just as far as is kept */
	x = 0.0f;
	cop_trees_predict(trees, &row, work, out);
	assert_true(out[0] == 0.25 && out[1] == 0.0);
	assert_int_equal(cop_trees_parameters(trees), 2 + 3 + 3);
	assert_int_equal(cop_trees_flops(trees, &row), 2 + 10);
	save(trees, &bytes);
	assert_int_equal(load(&bytes, &loaded), COP_OK);
	save(loaded, &again);
	assert_true(bytes.length == again.length && memcmp(bytes.data, again.data, bytes.length) == 0);
	assert_non_null(cop_trees_latent(loaded));
	cop_trees_free(loaded);
	cop_trees_free(trees);
	cop_bytes_fini(&again);
	cop_bytes_fini(&bytes);
}

/* The sections of one file and the latent one of another: they must be of one shape. */
static void test_latent_tree_of_another_shape_is_refused(void **state)
{
	(void)state;
	cop_trees *two = make_latent(2), *one = make_latent(1), *loaded;
	cop_bytes bytes;
	cop_section_file file;
	cop_bytes_init(&bytes);
	size_t mark = cop_section_file_begin(&bytes);
	cop_latent_save(cop_trees_latent(one), &bytes);
	cop_trees_save(two, &bytes);
	cop_section_file_end(&bytes, mark);
	assert_int_equal(cop_section_file_open(&file, bytes.data, bytes.length, NULL, NULL), COP_OK);
	assert_int_equal(cop_trees_load(&file, &loaded), COP_EFORMAT);
	assert_null(loaded);
	cop_trees_free(one);
	cop_trees_free(two);
	cop_bytes_fini(&bytes);
}

typedef struct head {
	uint32_t version, rule, count, outputs;
	double number[5]; /* weights, base */
	size_t length;    /* of the payload */
	size_t stumps;    /* sections that follow */
	uint32_t stump_version;
	cop_tree_link second; /* link of stump 1 */
} head;

static const head good_head = { COP_TREES_VERSION, COP_TREES_MEAN, 3, 2, { 1.0, 2.0, 3.0, 0.0, 0.0 }, 3 * 4 + 5 * 8, 3,
	COP_TREE_VERSION, COP_TREE_PROBABILITIES };

static void put_stump(cop_bytes *bytes, const head *h, size_t i)
{
	cop_tree *tree = make_stump(1, i == 1 ? h->second : COP_TREE_PROBABILITIES, lean0, lean1);
	cop_bytes whole;
	cop_bytes_init(&whole);
	cop_tree_save(tree, &whole);
	size_t section = cop_section_file_begin_section(bytes, COP_TREE_SECTION, h->stump_version);
	cop_bytes_put(bytes, whole.data + 32, whole.length - 32);
	cop_section_file_end_section(bytes, section);
	cop_bytes_fini(&whole);
	cop_tree_free(tree);
}

static void expect_load(const head *h, cop_err expected)
{
	cop_bytes bytes;
	cop_trees *trees = (cop_trees *)&trees;
	cop_bytes_init(&bytes);
	size_t mark = cop_section_file_begin(&bytes);
	size_t section = cop_section_file_begin_section(&bytes, COP_TREES_SECTION, h->version);
	size_t payload = bytes.length;
	cop_bytes_put_u32(&bytes, h->rule);
	cop_bytes_put_u32(&bytes, h->count);
	cop_bytes_put_u32(&bytes, h->outputs);
	cop_bytes_put_f64s(&bytes, h->number, 5);
	cop_bytes_put_f64(&bytes, 0.0);
	bytes.length = payload + h->length;
	cop_section_file_end_section(&bytes, section);
	for (size_t i = 0; i < h->stumps; i++)
		put_stump(&bytes, h, i);
	cop_section_file_end(&bytes, mark);
	assert_int_equal(bytes.err, COP_OK);
	assert_int_equal(load(&bytes, &trees), expected);
	assert_int_equal(trees == NULL, expected != COP_OK);
	cop_trees_free(trees);
	cop_bytes_fini(&bytes);
}

static void test_load_hostile_head_refused(void **state)
{
	(void)state;
	head h = good_head;
	expect_load(&h, COP_OK);
	for (h.length = 0; h.length <= good_head.length + 8; h.length++)
		expect_load(&h, h.length == good_head.length ? COP_OK : COP_EFORMAT);
#define LOADS(change, expected)                                                                                        \
	do {                                                                                                           \
		h = good_head;                                                                                         \
		change;                                                                                                \
		expect_load(&h, expected);                                                                             \
	} while (0)
	LOADS(h.stumps = 4, COP_OK); /* more than it speaks of: not its own */
	LOADS(h.stumps = 2, COP_ENOTFOUND);
	LOADS(h.version++, COP_EVERSION);
	LOADS(h.stump_version++, COP_EVERSION);
	LOADS(h.rule = COP_TREES_RULES, COP_EFORMAT);
	LOADS(h.rule = COP_TREES_LATENT, COP_ENOTFOUND); /* without the tree that predicts */
	LOADS(h.count = 0, COP_EFORMAT);
	LOADS(h.count = UINT32_MAX, COP_EFORMAT);
	LOADS(h.count = 2; h.outputs = 3, COP_EFORMAT);
	LOADS(h.count = 4; h.outputs = 1; h.stumps = 4, COP_EFORMAT);
	LOADS(h.outputs = UINT32_MAX, COP_EFORMAT);
	LOADS(h.number[0] = (double)NAN, COP_ENONFINITE);
	LOADS(h.number[1] = -1.0, COP_EFORMAT);
	LOADS(h.number[4] = 1.0, COP_EFORMAT);
	LOADS(h.number[4] = 1.0; h.rule = COP_TREES_SUM, COP_OK);
	LOADS(h.second = COP_TREE_LOGITS, COP_EFORMAT);
#undef LOADS
}

static void test_load_without_trees_is_not_found(void **state)
{
	(void)state;
	cop_bytes bytes;
	cop_trees *trees;
	cop_bytes_init(&bytes);
	size_t mark = cop_section_file_begin(&bytes);
	cop_section_file_end(&bytes, mark);
	assert_int_equal(load(&bytes, &trees), COP_ENOTFOUND);
	assert_null(trees);
	cop_bytes_fini(&bytes);
}

static void test_load_and_new_allocation_fails_gives_enomem(void **state)
{
	(void)state;
	cop_bytes bytes;
	cop_trees *trees = make(COP_TREES_MEAN, COP_TREE_VALUES, NULL, NULL);
	save(trees, &bytes);
	cop_trees_free(trees);
	cop_err err = COP_ENOMEM;
	for (unsigned long n = 1; err != COP_OK; n++) {
		cop_test_alloc_fail(n, 0);
		err = load(&bytes, &trees);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		assert_true(err == COP_OK || err == COP_ENOMEM);
		assert_int_equal(trees == NULL, err != COP_OK);
		cop_trees_free(trees);
	}
	cop_bytes_fini(&bytes);
	cop_tree *tree[3];
	make_three(COP_TREE_VALUES, tree);
	err = COP_ENOMEM;
	for (unsigned long n = 1; err != COP_OK; n++) {
		cop_test_alloc_fail(n, 0);
		err = cop_trees_new(COP_TREES_MEAN, 3, tree, NULL, NULL, &trees);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		assert_true(err == COP_OK || err == COP_ENOMEM);
		for (size_t i = 0; i < 3; i++)
			assert_int_equal(tree[i] == NULL, err == COP_OK);
	}
	cop_trees_free(trees);
}

/* Of 5 features and 2 outputs, its split a polytope of two facets. */
static cop_tree *make_polytope(cop_rng *rng)
{
	const float r[] = { 0.5f, 1.0f };
	float beta[2 * (5 + 1)];
	cop_tree_build *build;
	cop_tree *tree;
	for (size_t i = 0; i < sizeof beta / sizeof *beta; i++)
		beta[i] = (float)cop_rng_normal(rng);
	assert_int_equal(cop_tree_build_new(5, 2, COP_TREE_VALUES, &build), COP_OK);
	const int32_t root = cop_tree_build_polytope(build, 2, beta, r, -1.0f);
	const int32_t left = cop_tree_build_constant(build, lean0);
	cop_tree_build_children(build, root, left, cop_tree_build_constant(build, lean1));
	assert_int_equal(cop_tree_build_finish(build, root, &tree), COP_OK);
	cop_tree_build_free(build);
	return tree;
}

static cop_trees *make_of_five(void)
{
	const fixture_shape shape = { .d = 5, .outputs = 2, .nodes = 6, .link = COP_TREE_VALUES, .linear = true };
	const double base[] = { 0.5, -0.25 };
	cop_rng rng;
	cop_trees *trees;
	cop_rng_init(&rng, 12, 0);
	cop_tree *tree[] = { fixture_tree(&shape, &rng), fixture_tree(&shape, &rng), make_polytope(&rng) };
	assert_int_equal(cop_trees_new(COP_TREES_SUM, 3, tree, weights, base, &trees), COP_OK);
	return trees;
}

/* With `more` features before the fourth; allocations fail one after the other before. */
static cop_trees *widened(const cop_trees *trees, size_t more)
{
	cop_trees *wide = NULL;
	cop_err err = COP_ENOMEM;
	for (unsigned long n = 1; err != COP_OK; n++) {
		cop_test_alloc_fail(n, 0);
		err = cop_trees_widen(trees, 3, more, &wide);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		assert_true(err == COP_OK || err == COP_ENOMEM);
		assert_int_equal(wide == NULL, err != COP_OK);
	}
	return wide;
}

static void test_widen_looks_at_the_same_features(void **state)
{
	cop_trees *trees = make_of_five(), *wide = widened(trees, 4);
	cop_rng rng;
	(void)state;
	cop_rng_init(&rng, 12, 1);
	assert_int_equal(cop_trees_features(wide), 9);
	for (int n = 0; n < 200; n++) {
		float x[5], y[9], work[2];
		double one[2], two[2];
		for (size_t j = 0; j < 9; j++)
			y[j] = (float)cop_rng_normal(&rng);
		for (size_t j = 0; j < 5; j++)
			x[j] = y[j < 3 ? j : j + 4];
		cop_trees_predict(trees, &(cop_row){ .d = 5, .dense = x }, work, one);
		cop_trees_predict(wide, &(cop_row){ .d = 9, .dense = y }, work, two);
		assert_true(fabs(one[0] - two[0]) < 1e-5 && fabs(one[1] - two[1]) < 1e-5);
	}
	cop_trees_free(trees);
	cop_trees_free(wide);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_predict_mean_is_weighted),
		cmocka_unit_test(test_predict_vote_gives_shares),
		cmocka_unit_test(test_predict_sum_starts_at_base),
		cmocka_unit_test(test_predict_softmax_of_the_sum),
		cmocka_unit_test(test_counts_are_sums_over_trees),
		cmocka_unit_test(test_new_bad_refused),
		cmocka_unit_test(test_load_saved_trees_are_the_same),
		cmocka_unit_test(test_latent_tree_predicts_in_place_of_its_hard_one),
		cmocka_unit_test(test_latent_tree_of_another_shape_is_refused),
		cmocka_unit_test(test_load_hostile_head_refused),
		cmocka_unit_test(test_load_without_trees_is_not_found),
		cmocka_unit_test(test_load_and_new_allocation_fails_gives_enomem),
		cmocka_unit_test(test_widen_looks_at_the_same_features),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
