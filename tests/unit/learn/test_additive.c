/* One step and many of the additive model against the definition in double: hard walks, the literal sum of dense
 * gradients over soft leaf weights, per-coordinate AdaGrad. */
#include "rows.h"

#include <math.h>
#include <stdio.h>

#include "learn/additive.h"
#include "unit/tree/oblique_walk.h"

#define SEED      17U
#define D         6
#define K         3
#define M         4
#define H         3
#define NODES     ((1 << H) - 1)
#define LEAVES    (1 << H)
#define SPLIT     0.05
#define LEAF      0.1
#define LINEAR    0.2
#define AGREE     0.8807970779778823 /* sigmoid(2) */
#define SUM_START 1.0                /* what the accumulators start at */

typedef struct reference {
	double w[M][NODES][D], w_sum[M][NODES][D];
	double theta[M][K][LEAVES], theta_sum[M][K][LEAVES];
	double linear[K][D], linear_sum[K][D];
} reference;

static cop_additive *model_of(size_t trees, unsigned height, size_t outputs)
{
	cop_rng rng;
	cop_rng_init(&rng, SEED, 0);
	cop_additive *model;
	cop_additive_settings settings = {
		.kernel = cop_kernel_best(),
		.inputs = D,
		.typical = D,
		.outputs = outputs,
		.trees = trees,
		.height = height,
		.split_rate = (float)SPLIT,
		.leaf_rate = (float)LEAF,
		.linear_rate = (float)LINEAR,
	};
	assert_int_equal(cop_additive_new(&settings, &rng, &model), COP_OK);
	return model;
}

static cop_oblique_tree *export_tree(const cop_additive *model, size_t m)
{
	cop_oblique_tree *tree;
	assert_int_equal(cop_additive_tree(model, m, &tree), COP_OK);
	return tree;
}

/* The reference starts from the exported weights; everything else starts at zero. */
static void reference_start(reference *ref, const cop_additive *model)
{
	memset(ref, 0, sizeof *ref);
	for (size_t m = 0; m < M; m++) {
		cop_oblique_tree *tree = export_tree(model, m);
		for (size_t t = 0; t < NODES; t++)
			for (size_t j = 0; j < D; j++) {
				ref->w[m][t][j] = (double)(j + 1 < D ? cop_oblique_tree_weights(tree, t)[j]
				                                     : *cop_oblique_tree_bias(tree, t));
				ref->w_sum[m][t][j] = SUM_START;
			}
		for (size_t l = 0; l < LEAVES; l++)
			for (size_t k = 0; k < K; k++) {
				assert_true(cop_oblique_tree_values(tree, l)[k] == 0.0f);
				ref->theta_sum[m][k][l] = SUM_START;
			}
		cop_oblique_tree_free(tree);
	}
	for (size_t k = 0; k < K; k++)
		for (size_t j = 0; j < D; j++)
			ref->linear_sum[k][j] = SUM_START;
}

static double margin(const reference *ref, size_t m, size_t t, const float *x)
{
	double sum = 0.0;
	for (size_t j = 0; j < D; j++)
		sum += ref->w[m][t][j] * (double)x[j];
	return sum;
}

static size_t leaf_of(const reference *ref, size_t m, const float *x)
{
	size_t t = 0;
	while (t < NODES)
		t = 2 * t + (margin(ref, m, t, x) >= 0.0 ? 2 : 1);
	return t - NODES;
}

static double score_of(const reference *ref, size_t k, const float *x)
{
	double sum = 0.0;
	for (size_t j = 0; j < D; j++)
		sum += ref->linear[k][j] * (double)x[j];
	for (size_t m = 0; m < M; m++)
		sum += ref->theta[m][k][leaf_of(ref, m, x)];
	return sum;
}

/* +1, -1, or 0 when t is no ancestor of l. */
static int side(size_t t, size_t l)
{
	size_t node = l + NODES;
	while (node > 0) {
		size_t parent = (node - 1) / 2;
		if (parent == t)
			return node == 2 * t + 2 ? 1 : -1;
		node = parent;
	}
	return 0;
}

/* d score / d a_t of tree m by the sum over leaves; q_l is the product of the agreeing and disagreeing shares. */
static void split_gradient(const reference *ref, size_t m, size_t k, const float *x, double *da)
{
	double q[LEAVES], mean = 0.0;
	for (size_t l = 0; l < LEAVES; l++) {
		q[l] = 1.0;
		for (size_t t = 0; t < NODES; t++)
			if (side(t, l) != 0)
				q[l] *= (margin(ref, m, t, x) >= 0.0) == (side(t, l) > 0) ? AGREE : 1.0 - AGREE;
		mean += q[l] * ref->theta[m][k][l];
	}
	for (size_t t = 0; t < NODES; t++) {
		da[t] = 0.0;
		if (fabs(margin(ref, m, t, x)) <= 1.0)
			for (size_t l = 0; l < LEAVES; l++)
				da[t] += side(t, l) * q[l] * (ref->theta[m][k][l] - mean);
	}
}

static void adagrad(double *w, double *sum, double g, double rate)
{
	*sum += g * g;
	*w -= rate * g / sqrt(*sum);
}

static void reference_update(reference *ref, size_t k, const float *x, double g)
{
	for (size_t j = 0; j < D; j++)
		adagrad(&ref->linear[k][j], &ref->linear_sum[k][j], g * (double)x[j], LINEAR);
	for (size_t m = 0; m < M; m++) {
		double da[NODES];
		size_t leaf = leaf_of(ref, m, x);
		split_gradient(ref, m, k, x, da);
		for (size_t t = 0; t < NODES; t++)
			for (size_t j = 0; j < D; j++)
				adagrad(&ref->w[m][t][j], &ref->w_sum[m][t][j], g * da[t] * (double)x[j], SPLIT);
		adagrad(&ref->theta[m][k][leaf], &ref->theta_sum[m][k][leaf], g, LEAF);
	}
}

static void check_equal(const reference *ref, const cop_additive *model)
{
	for (size_t m = 0; m < M; m++) {
		cop_oblique_tree *tree = export_tree(model, m);
		for (size_t t = 0; t < NODES; t++)
			for (size_t j = 0; j < D; j++) {
				double got = (double)(j + 1 < D ? cop_oblique_tree_weights(tree, t)[j]
				                                : *cop_oblique_tree_bias(tree, t));
				assert_true(fabs(got - ref->w[m][t][j]) < 1e-4);
			}
		for (size_t l = 0; l < LEAVES; l++)
			for (size_t k = 0; k < K; k++)
				assert_true(
				        fabs((double)cop_oblique_tree_values(tree, l)[k] - ref->theta[m][k][l]) < 1e-4);
		cop_oblique_tree_free(tree);
	}
}

static bool near_a_border(const reference *ref, const float *x)
{
	for (size_t m = 0; m < M; m++)
		for (size_t t = 0; t < NODES; t++) {
			double a = fabs(margin(ref, m, t, x));
			if (a < 1e-3 || fabs(a - 1.0) < 1e-3)
				return true;
		}
	return false;
}

static void test_updates_equal_the_definition_in_double(void **state)
{
	(void)state;
	static reference ref;
	cop_additive *model = model_of(M, H, K);
	reference_start(&ref, model);
	cop_rng rng;
	cop_rng_init(&rng, SEED, 1);
	printf("seed %u\n", SEED);
	for (size_t n = 0; n < 300; n++) {
		_Alignas(64) float scores[16];
		test_row r;
		do
			row_random(&r, &rng, D, 0.8, 1);
		while (near_a_border(&ref, r.dense));
		size_t k = (size_t)cop_rng_below(&rng, K);
		double g = (double)(float)cop_rng_normal(&rng);
		cop_row row = n % 2 ? row_sparse(&r) : row_dense(&r);
		cop_additive_scores(model, &row, scores);
		for (size_t i = 0; i < K; i++)
			assert_true(fabs((double)scores[i] - score_of(&ref, i, r.dense)) < 1e-3);
		assert_int_equal(cop_additive_update(model, &row, k, (float)g), COP_OK);
		reference_update(&ref, k, r.dense, g);
		check_equal(&ref, model);
	}
	cop_additive_free(model);
}

static void test_start_margins_have_unit_variance(void **state)
{
	(void)state;
	double squares = 0.0;
	size_t count = 0;
	cop_additive *model = model_of(40, 5, 1);
	for (size_t m = 0; m < cop_additive_trees(model); m++) {
		cop_oblique_tree *tree = export_tree(model, m);
		for (size_t t = 0; t < cop_oblique_tree_nodes(tree); t++, count++) {
			for (size_t j = 0; j + 1 < D; j++)
				squares += pow((double)cop_oblique_tree_weights(tree, t)[j], 2.0);
			squares += pow((double)*cop_oblique_tree_bias(tree, t), 2.0);
		}
		cop_oblique_tree_free(tree);
	}
	assert_true(fabs(squares / (double)count - 1.0) < 0.15);
	cop_additive_free(model);
}

static void test_update_moves_played_score_against_gradient(void **state)
{
	(void)state;
	for (size_t trees = 0; trees <= M; trees += M) {
		cop_additive *model = model_of(trees, H, K);
		cop_rng rng;
		cop_rng_init(&rng, SEED, 2);
		for (size_t n = 0; n < 200; n++) {
			_Alignas(64) float before[16], after[16];
			test_row r;
			row_random(&r, &rng, D, 1.0, 1);
			size_t k = n % K;
			float g = n & 1 ? 0.7f : -0.7f;
			cop_row row = row_dense(&r);
			cop_additive_scores(model, &row, before);
			assert_int_equal(cop_additive_update(model, &row, k, g), COP_OK);
			cop_additive_scores(model, &row, after);
			if (trees == 0) { /* with trees the row may land in other leaves */
				assert_true((after[k] - before[k]) * g < 0.0f);
				for (size_t i = 0; i < K; i++)
					assert_true(i == k || after[i] == before[i]);
			}
			if (n == 0)
				assert_true((after[k] - before[k]) * g < 0.0f);
		}
		cop_additive_free(model);
	}
}

static void train(cop_additive *model, uint64_t stream, size_t n, bool sparse)
{
	cop_rng rng;
	cop_rng_init(&rng, SEED, stream);
	for (size_t i = 0; i < n; i++) {
		_Alignas(64) float scores[16];
		test_row r;
		row_random(&r, &rng, D, 0.7, 1);
		cop_row row = sparse ? row_sparse(&r) : row_dense(&r);
		cop_additive_scores(model, &row, scores);
		size_t k = (size_t)cop_rng_below(&rng, K);
		assert_int_equal(cop_additive_update(model, &row, k, (float)cop_rng_normal(&rng)), COP_OK);
	}
}

static void save(const cop_additive *model, cop_bytes *bytes)
{
	cop_bytes_clear(bytes);
	cop_additive_save(model, bytes);
}

static void test_sparse_and_dense_of_equal_rows_agree(void **state)
{
	(void)state;
	cop_additive *a = model_of(M, H, K), *b = model_of(M, H, K);
	train(a, 3, 200, false);
	train(b, 3, 200, true);
	cop_rng rng;
	cop_rng_init(&rng, SEED, 4);
	for (size_t n = 0; n < 100; n++) {
		_Alignas(64) float one[16], two[16];
		test_row r;
		row_random(&r, &rng, D, 0.7, 1);
		cop_row dense = row_dense(&r), sparse = row_sparse(&r);
		cop_additive_scores(a, &dense, one);
		cop_additive_scores(b, &sparse, two);
		for (size_t k = 0; k < K; k++)
			assert_true(fabsf(one[k] - two[k]) < 1e-4f);
	}
	cop_additive_free(a);
	cop_additive_free(b);
}

static void test_explain_and_exported_trees_sum_to_score(void **state)
{
	(void)state;
	cop_additive *model = model_of(M, H, K);
	train(model, 5, 300, false);
	cop_explanation e;
	assert_int_equal(cop_explanation_init(&e, M, H), COP_OK);
	cop_rng rng;
	cop_rng_init(&rng, SEED, 6);
	for (size_t n = 0; n < 50; n++) {
		_Alignas(64) float scores[16];
		test_row r;
		row_random(&r, &rng, D, 0.7, 1);
		cop_row row = row_dense(&r), features = { .d = D - 1, .dense = r.dense };
		size_t k = n % K;
		cop_additive_scores(model, &row, scores);
		cop_explanation_clear(&e);
		cop_explained_expert *expert = cop_explanation_expert(&e, "trees");
		cop_additive_explain(model, &row, k, &e, expert);
		double sum = 0.0, total = expert->linear;
		for (size_t i = 0; i < expert->count; i++)
			sum += (double)expert->features[i].contribution;
		assert_true(fabs(sum - expert->linear) < 1e-5);
		assert_int_equal(expert->trees, M);
		for (size_t m = 0; m < M; m++) {
			const cop_explained_tree *shown = &e.trees[expert->first_tree + m];
			cop_oblique_tree *tree = export_tree(model, m);
			assert_int_equal(shown->leaf, walk_leaf(tree, &features));
			assert_true(shown->value == walk_predict(tree, &features)[k]);
			total += (double)shown->value;
			cop_oblique_tree_free(tree);
		}
		assert_true(fabs(total - (double)scores[k]) < 1e-5);
	}
	cop_explanation_fini(&e);
	cop_additive_free(model);
}

static void test_load_then_continue_equals_never_stopped(void **state)
{
	(void)state;
	cop_additive *a = model_of(M, H, K), *b = model_of(M, H, K);
	cop_additive *wrong[] = { model_of(M + 1, H, K), model_of(M, H + 1, K), model_of(M, H, K - 1),
		model_of(0, 1, K) };
	cop_bytes first, second;
	cop_cursor cursor;
	cop_bytes_init(&first);
	cop_bytes_init(&second);
	train(a, 7, 100, false);
	save(a, &first);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		cop_cursor_init(&cursor, first.data, first.length);
		assert_int_equal(cop_additive_load(wrong[i], &cursor), COP_ESHAPE);
		cop_additive_free(wrong[i]);
	}
	for (size_t length = 0; length < first.length; length += length < 64 ? 1 : 7) {
		cop_cursor_init(&cursor, first.data, length);
		assert_int_not_equal(cop_additive_load(b, &cursor), COP_OK);
	}
	cop_cursor_init(&cursor, first.data, first.length);
	assert_int_equal(cop_additive_load(b, &cursor), COP_OK);
	train(a, 8, 100, false);
	train(b, 8, 100, false);
	save(a, &first);
	save(b, &second);
	assert_bytes_equal(&first, &second);
	cop_bytes_fini(&first);
	cop_bytes_fini(&second);
	cop_additive_free(a);
	cop_additive_free(b);
}

/* Sparse inputs are places of hashed names: no model of another number of them can tell what they mean. */
static void test_sparse_state_is_of_as_many_inputs(void **state)
{
	(void)state;
	for (size_t inputs = D - 1; inputs <= D + 1; inputs++)
		for (int sparse = 0; sparse < 2; sparse++) {
			cop_additive_settings of = {
				.kernel = cop_kernel_best(),
				.inputs = D,
				.typical = D,
				.outputs = K,
				.trees = M,
				.height = H,
				.split_rate = (float)SPLIT,
				.leaf_rate = (float)LEAF,
				.linear_rate = (float)LINEAR,
				.sparse = sparse != 0,
			};
			cop_additive *from, *into;
			cop_bytes saved;
			cop_cursor cursor;
			cop_rng rng;
			cop_rng_init(&rng, SEED, 0);
			cop_bytes_init(&saved);
			assert_int_equal(cop_additive_new(&of, &rng, &from), COP_OK);
			of.inputs = inputs;
			assert_int_equal(cop_additive_new(&of, &rng, &into), COP_OK);
			train(from, 7, 100, sparse != 0);
			save(from, &saved);
			cop_cursor_init(&cursor, saved.data, saved.length);
			bool fits = sparse ? inputs == D : inputs >= D;
			assert_int_equal(cop_additive_load(into, &cursor), fits ? COP_OK : COP_ESHAPE);
			cop_bytes_fini(&saved);
			cop_additive_free(from);
			cop_additive_free(into);
		}
}

static void test_update_without_finite_state_is_refused_and_changes_nothing(void **state)
{
	(void)state;
	cop_additive *model = model_of(M, H, K);
	const float wrong[] = { NAN, INFINITY, -INFINITY, 3e38f, -1e30f };
	_Alignas(64) float scores[16];
	cop_bytes before, after;
	cop_bytes_init(&before);
	cop_bytes_init(&after);
	train(model, 9, 50, false);
	test_row r = { .d = D, .dense = { 5.0f, -5.0f, 5.0f, 5.0f, 5.0f, 1.0f } };
	cop_row row = row_dense(&r);
	cop_additive_scores(model, &row, scores);
	save(model, &before);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		assert_int_equal(cop_additive_update(model, &row, 0, wrong[i]), COP_EDIVERGED);
		save(model, &after);
		assert_bytes_equal(&before, &after);
	}
	assert_int_equal(cop_additive_update(model, &row, 0, 1e14f), COP_OK);
	cop_additive_scores(model, &row, scores);
	assert_true(isfinite(scores[0]));
	save(model, &after);
	cop_cursor cursor;
	cop_cursor_init(&cursor, after.data, after.length);
	assert_int_equal(cop_additive_load(model, &cursor), COP_OK);
	cop_bytes_fini(&before);
	cop_bytes_fini(&after);
	cop_additive_free(model);
}

static void test_new_wrong_or_short_of_memory_is_refused(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, SEED, 10);
	cop_additive *model;
	const cop_additive_settings good = {
		.kernel = cop_kernel_best(), .inputs = D, .typical = D, .outputs = K, .trees = M, .height = H
	};
	cop_additive_settings bad[5] = { good, good, good, good, good };
	bad[0].inputs = 0;
	bad[1].outputs = 0;
	bad[2].height = 0;
	bad[3].height = 13;
	bad[4].typical = 0;
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(cop_additive_new(&bad[i], &rng, &model), COP_EINVAL);
		assert_null(model);
	}
	cop_err err = COP_ENOMEM;
	for (unsigned long n = 1; err != COP_OK; n++) {
		cop_test_alloc_fail(n, 0);
		err = cop_additive_new(&good, &rng, &model);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		assert_true(err == COP_OK || (err == COP_ENOMEM && model == NULL));
	}
	for (unsigned long n = 1; n < 8; n++) {
		cop_oblique_tree *tree;
		cop_test_alloc_fail(n, 0);
		err = cop_additive_tree(model, 0, &tree);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		assert_true(err == COP_OK || (err == COP_ENOMEM && tree == NULL));
		cop_oblique_tree_free(tree);
	}
	cop_test_alloc_fail(0, 0);
	train(model, 11, 20, false);
	assert_int_equal(cop_test_alloc_count(), 0);
	cop_additive_free(model);
	cop_additive_free(NULL);
}

static cop_additive *model_along(void)
{
	cop_rng rng;
	cop_rng_init(&rng, SEED, 0);
	cop_additive *model;
	cop_additive_settings settings = {
		.kernel = cop_kernel_best(),
		.inputs = D,
		.typical = D,
		.outputs = K,
		.trees = M,
		.height = H,
		.along = true,
		.split_rate = (float)SPLIT,
		.leaf_rate = (float)LEAF,
	};
	assert_int_equal(cop_additive_new(&settings, &rng, &model), COP_OK);
	return model;
}

static void assert_equal_trees(const cop_additive *a, const cop_additive *b)
{
	for (size_t m = 0; m < M; m++) {
		cop_oblique_tree *one = export_tree(a, m), *two = export_tree(b, m);
		for (size_t t = 0; t < NODES; t++)
			assert_memory_equal(cop_oblique_tree_weights(one, t), cop_oblique_tree_weights(two, t),
			        (D - 1) * sizeof(float));
		for (size_t l = 0; l < LEAVES; l++)
			assert_memory_equal(
			        cop_oblique_tree_values(one, l), cop_oblique_tree_values(two, l), K * sizeof(float));
		cop_oblique_tree_free(one);
		cop_oblique_tree_free(two);
	}
}

/* Along a unit row, dense or sparse, everything is what the output of its own does. */
static void test_leaves_along_a_unit_row_are_one_output(void **state)
{
	(void)state;
	cop_additive *dense = model_along(), *sparse = model_along(), *single = model_along();
	_Alignas(64) float scores[COP_KERNEL_LANES];
	cop_rng rng;
	cop_rng_init(&rng, SEED, 40);
	for (int n = 0; n < 300; n++) {
		test_row x;
		row_random(&x, &rng, D, 1.0, 1);
		cop_row row = row_dense(&x);
		uint32_t output = (uint32_t)cop_rng_below(&rng, K);
		float unit[K] = { 0.0f }, one = 1.0f, g = (float)cop_rng_normal(&rng);
		unit[output] = 1.0f;
		cop_row c = { .d = K, .dense = unit }, s = { .d = K, .nnz = 1, .index = &output, .value = &one };
		cop_additive_walk(dense, &row);
		cop_additive_walk(sparse, &row);
		cop_additive_scores(single, &row, scores);
		assert_true(cop_additive_along(dense, &c) == scores[output]);
		assert_true(cop_additive_along(sparse, &s) == scores[output]);
		assert_int_equal(cop_additive_update_along(dense, &row, &c, g), COP_OK);
		assert_int_equal(cop_additive_update_along(sparse, &row, &s, g), COP_OK);
		assert_int_equal(cop_additive_update_along(single, &row, &s, g), COP_OK);
		assert_equal_trees(dense, sparse);
	}
	cop_additive_free(dense);
	cop_additive_free(sparse);
	cop_additive_free(single);
	cop_additive *along = model_along(), *plain = model_of(M, H, K);
	for (int n = 0; n < 300; n++) { /* the linear term of the other has a part in its scores, not in its steps */
		test_row x;
		row_random(&x, &rng, D, 1.0, 1);
		cop_row row = row_dense(&x);
		size_t output = (size_t)cop_rng_below(&rng, K);
		float unit[K] = { 0.0f }, g = (float)cop_rng_normal(&rng);
		unit[output] = 1.0f;
		cop_row c = { .d = K, .dense = unit };
		cop_additive_walk(along, &row);
		cop_additive_scores(plain, &row, scores);
		assert_int_equal(cop_additive_update_along(along, &row, &c, g), COP_OK);
		assert_int_equal(cop_additive_update(plain, &row, output, g), COP_OK);
		assert_equal_trees(along, plain);
	}
	cop_additive_free(along);
	cop_additive_free(plain);
}

/* Learning a target that is linear in c and depends on the side of x brings the squared error down. */
static void test_step_along_a_row_lowers_its_score_by_the_gradients_definition(void **state)
{
	(void)state;
	cop_additive *model = model_along();
	cop_rng rng;
	double early = 0.0, late = 0.0;
	cop_rng_init(&rng, SEED, 41);
	for (int n = 0; n < 3000; n++) {
		test_row x, a;
		row_random(&x, &rng, D, 1.0, 1);
		row_random(&a, &rng, K, 1.0, 1);
		cop_row row = row_dense(&x), c = row_dense(&a);
		float target = x.dense[0] > 0.0f ? a.dense[0] - a.dense[1] : a.dense[1] + 1.0f;
		cop_additive_walk(model, &row);
		float error = cop_additive_along(model, &c) - target;
		*(n < 300 ? &early : &late) += n < 300 || n >= 2700 ? (double)(error * error) : 0.0;
		assert_int_equal(cop_additive_update_along(model, &row, &c, error), COP_OK);
		if (n == 0) { /* from all zeros, a step is -g c_k rate / sqrt(1 + (g c_k)^2) on every tree's leaf */
			double want = 0.0;
			for (size_t k = 0; k < K; k++) {
				double g = (double)(error * a.dense[k]);
				want -= (double)a.dense[k] * M * LEAF * g / sqrt(1.0 + g * g);
			}
			cop_explanation why;
			cop_explained_expert expert = { 0 };
			double sum = 0.0;
			assert_int_equal(cop_explanation_init(&why, M, H), COP_OK);
			cop_additive_explain_along(model, &row, &c, &why, &expert);
			for (size_t m = 0; m < why.tree_count; m++)
				sum += (double)why.trees[m].value;
			cop_additive_walk(model, &row);
			assert_true(fabs(sum - (double)cop_additive_along(model, &c)) < 1e-5);
			assert_true(fabs(sum - want) < 0.3 * fabs(want)); /* a split may have moved the row elsewhere */
			cop_explanation_fini(&why);
		}
	}
	if (!(late < 0.3 * early))
		fail_msg("squared error %.3f, at first %.3f", late / 300.0, early / 300.0);
	cop_additive_free(model);
}

static void test_rows_in_parts_have_the_same_score(void **state)
{
	(void)state;
	for (size_t trees = 0; trees <= M; trees += M) {
		cop_rng rng;
		cop_additive *model;
		_Alignas(64) float scores[COP_KERNEL_LANES];
		cop_additive_settings settings = {
			.kernel = cop_kernel_best(),
			.inputs = D,
			.typical = D,
			.outputs = 1,
			.trees = trees,
			.height = H,
			.in_parts = true,
			.split_rate = (float)SPLIT,
			.leaf_rate = (float)LEAF,
			.linear_rate = (float)LINEAR,
		};
		cop_rng_init(&rng, SEED, 42);
		assert_int_equal(cop_additive_new(&settings, &rng, &model), COP_OK);
		for (int n = 0; n < 200; n++) {
			test_row x;
			row_random(&x, &rng, D, 1.0, 1);
			cop_row row = row_dense(&x);
			cop_row first = { .d = 2, .dense = x.dense }, rest = { .d = D - 2, .dense = x.dense + 2 };
			cop_additive_begin(model, &first);
			float finished = cop_additive_finish(model, &rest, 2);
			cop_additive_scores(model, &row, scores);
			assert_true(fabsf(finished - scores[0]) < 1e-5f);
			assert_int_equal(
			        cop_additive_update(model, &row, 0, scores[0] - x.dense[0] * x.dense[1]), COP_OK);
		}
		cop_additive_free(model);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_updates_equal_the_definition_in_double),
		cmocka_unit_test(test_start_margins_have_unit_variance),
		cmocka_unit_test(test_update_moves_played_score_against_gradient),
		cmocka_unit_test(test_sparse_and_dense_of_equal_rows_agree),
		cmocka_unit_test(test_explain_and_exported_trees_sum_to_score),
		cmocka_unit_test(test_load_then_continue_equals_never_stopped),
		cmocka_unit_test(test_sparse_state_is_of_as_many_inputs),
		cmocka_unit_test(test_update_without_finite_state_is_refused_and_changes_nothing),
		cmocka_unit_test(test_new_wrong_or_short_of_memory_is_refused),
		cmocka_unit_test(test_leaves_along_a_unit_row_are_one_output),
		cmocka_unit_test(test_step_along_a_row_lowers_its_score_by_the_gradients_definition),
		cmocka_unit_test(test_rows_in_parts_have_the_same_score),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
