/* cart against all splits tried one by one, pruning against the least of all prunings, and known datasets. */
#include "batch_fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "train/cart.h"
#include "train/cart_data.h"
#include "train/cart_prune.h"

static cop_tree *fit(const cop_cart_settings *settings, const cop_sample *sample, cop_pool *pool, uint64_t seed)
{
	cop_rng rng;
	cop_rng_init(&rng, seed, 0);
	cop_tree *tree;
	assert_int_equal(cop_cart_fit(settings, sample, pool, &rng, &tree), COP_OK);
	return tree;
}

static cop_tree *fit_defaults(const cop_sample *sample)
{
	cop_cart_settings settings;
	cop_cart_defaults(&settings);
	return fit(&settings, sample, NULL, 1);
}

static float value(const cop_dataset *rows, size_t i, size_t j) { return cop_cart_data_value(rows, i, j); }

static double weight_of(const cop_sample *s, size_t row) { return s->weight != NULL ? (double)s->weight[row] : 1.0; }

/* --- what a node's rows are worth, computed plainly --- */

/* Impurity times weight of the sample's rows with in[i] == which; *weight: their weight. */
static double impurity(const cop_sample *s, const uint8_t *in, uint8_t which, double *weight)
{
	double sum[16] = { 0 }, result = 0;
	*weight = 0;
	for (size_t i = 0; i < s->n; i++) {
		size_t row = cop_sample_row(s, i);
		double w = in[i] == which ? weight_of(s, row) : 0;
		*weight += w;
		for (size_t k = 0; k < s->outputs; k++)
			sum[k] += w * (s->task == COP_TASK_CLASSES ? s->label[row] == k
			                                           : (double)s->target[row * s->outputs + k]);
	}
	if (*weight == 0)
		return 0;
	if (s->task == COP_TASK_COSTS) {
		result = sum[0];
		for (size_t k = 1; k < s->outputs; k++)
			result = fmin(result, sum[k]);
		return result;
	}
	for (size_t i = 0; i < s->n; i++) {
		size_t row = cop_sample_row(s, i);
		for (size_t k = 0; k < s->outputs; k++) {
			double y = s->task == COP_TASK_CLASSES ? s->label[row] == k
			                                       : (double)s->target[row * s->outputs + k];
			double off = y - sum[k] / *weight;
			result += in[i] == which ? weight_of(s, row) * off * off : 0;
		}
	}
	return result;
}

static double split_impurity(const cop_sample *s, size_t feature, float threshold, double min_leaf)
{
	uint8_t right[256];
	double left_weight, right_weight;
	for (size_t i = 0; i < s->n; i++)
		right[i] = value(s->rows, cop_sample_row(s, i), feature) >= threshold;
	double sum = impurity(s, right, 0, &left_weight);
	sum += impurity(s, right, 1, &right_weight);
	bool allowed = fmin(left_weight, right_weight) > 0 && fmin(left_weight, right_weight) >= min_leaf;
	return allowed ? sum : (double)INFINITY;
}

/* Values are halves of integers: thresholds between any two neighbouring halves are all there are. */
static double best_impurity(const cop_sample *s, double min_leaf)
{
	double best = (double)INFINITY;
	for (size_t j = 0; j < s->rows->d; j++) {
		for (float t = -10.25F; t < 10.0F; t += 0.5F)
			best = fmin(best, split_impurity(s, j, t, min_leaf));
	}
	return best;
}

static void check_stump(const cop_sample *s, double min_leaf)
{
	cop_cart_settings settings;
	cop_cart_defaults(&settings);
	settings.max_depth = 1;
	settings.min_leaf = min_leaf;
	cop_tree *tree = fit(&settings, s, NULL, 1);
	const cop_tree_parts *parts = cop_tree_view(tree);
	double weight, best = best_impurity(s, min_leaf);
	uint8_t all[256] = { 0 };
	double whole = impurity(s, all, 0, &weight);
	if (parts->nodes.count == 0) { /* nothing was to be gained */
		assert_true(best > whole - 1e-9 * (1 + fabs(whole)));
	} else {
		double found = split_impurity(s, parts->nodes.index[0], -parts->nodes.bias[0], min_leaf);
		assert_true(fabs(found - best) < 1e-9 * (1 + fabs(best)));
	}
	cop_tree_free(tree);
}

static void test_cart_first_split_is_the_best_of_all(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 180; seed++) {
		cop_task task = (cop_task)(seed % 3);
		batch_fixture f;
		batch_fixture_make(&f, task, 6 + seed, 4, 3, 3 + seed % 11, 2, seed % 2 == 1, seed);
		cop_sample s = f.sample;
		s.weight = seed % 4 < 2 ? f.weight : NULL;
		f.weight[0] = 1; /* some row counts */
		check_stump(&s, seed % 5 == 0 ? 4 : 0);
		batch_fixture_end(&f);
	}
}

static void test_cart_dense_and_sparse_rows_give_the_same_tree(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 12; seed++) {
		batch_fixture dense, sparse;
		batch_fixture_make(&dense, COP_TASK_CLASSES, 300, 6, 4, 2 + seed, 3, false, seed);
		batch_fixture_make(&sparse, COP_TASK_CLASSES, 300, 6, 4, 2 + seed, 3, true, seed);
		cop_tree *a = fit_defaults(&dense.sample), *b = fit_defaults(&sparse.sample);
		assert_true(batch_fixture_same(a, b));
		cop_tree_free(a);
		cop_tree_free(b);
		batch_fixture_end(&dense);
		batch_fixture_end(&sparse);
	}
}

static void test_cart_any_threads_give_the_same_tree(void **state)
{
	(void)state;
	for (uint64_t run = 0; run < 12; run++) {
		batch_fixture f;
		batch_fixture_make(&f, (cop_task)(run % 3), 1500, 40, 5, run % 2 ? 7 : 900, 3, run % 4 > 1, run);
		cop_cart_settings settings;
		cop_cart_defaults(&settings);
		settings.features = run < 6 ? 0 : 30;
		settings.complexity = run == 3 ? -1 : 0;
		settings.folds = 3;
		cop_sample s = f.sample;
		s.weight = f.weight;
		cop_tree *one = fit(&settings, &s, NULL, run);
		for (unsigned threads = 2; threads <= 3; threads++) {
			cop_pool *pool;
			assert_int_equal(cop_pool_new(threads, &pool), COP_OK);
			cop_tree *more = fit(&settings, &s, pool, run);
			assert_true(batch_fixture_same(one, more));
			cop_tree_free(more);
			cop_pool_free(pool);
		}
		cop_tree_free(one);
		batch_fixture_end(&f);
	}
}

/* Ranks among all rows of a dataset split a sample of them as those among its own. */
static void test_cart_ranks_of_the_dataset_give_the_same_tree(void **state)
{
	(void)state;
	for (uint64_t run = 0; run < 24; run++) {
		batch_fixture f;
		batch_fixture_make(&f, (cop_task)(run % 3), 400, 6, 3, run % 2 ? 7 : 300000, 3, false, run);
		cop_cart_settings settings;
		cop_cart_defaults(&settings);
		settings.features = run < 12 ? 0 : 2;
		uint32_t row[250];
		cop_rng rng;
		cop_rng_init(&rng, run, 9);
		for (size_t i = 0; i < 250; i++)
			row[i] = (uint32_t)cop_rng_below(&rng, 400);
		cop_sample s = f.sample;
		s.n = 250;
		s.row = row;
		s.weight = run % 4 < 2 ? f.weight : NULL;
		cop_tree *own = fit(&settings, &s, NULL, run);
		cop_cart_ranks ranks;
		assert_int_equal(cop_cart_ranks_init(&ranks, s.rows, s.rows->n, NULL, NULL), COP_OK);
		settings.ranks = &ranks;
		cop_tree *shared = fit(&settings, &s, NULL, run);
		assert_true(batch_fixture_same(own, shared));
		cop_tree_free(own);
		cop_tree_free(shared);
		cop_cart_ranks_fini(&ranks);
		batch_fixture_end(&f);
	}
}

/* Each threshold is the one that the generator draws between the ends of the node's rows; dense and sparse rows, and
 * any number of threads, give the same tree; distinct rows are told apart. */
static void test_cart_drawn_thresholds_are_between_the_ends_and_differ_by_seed(void **state)
{
	(void)state;
	cop_cart_settings settings;
	cop_cart_defaults(&settings);
	settings.drawn_thresholds = true;
	for (int task = COP_TASK_CLASSES; task <= COP_TASK_COSTS; task++) {
		batch_fixture dense, sparse;
		batch_fixture_make(&dense, (cop_task)task, 200, 5, 3, 50, 4, false, 3);
		batch_fixture_make(&sparse, (cop_task)task, 200, 5, 3, 50, 4, true, 3);
		cop_pool *pool;
		assert_int_equal(cop_pool_new(3, &pool), COP_OK);
		cop_tree *one = fit(&settings, &dense.sample, NULL, 1),
		         *other = fit(&settings, &sparse.sample, pool, 1);
		cop_tree *seed = fit(&settings, &dense.sample, NULL, 2);
		assert_true(batch_fixture_same(one, other) && !batch_fixture_same(one, seed));
		cop_rng rng;
		cop_rng_init(&rng, 1, 0);
		const cop_tree_parts *parts = cop_tree_view(one);
		for (size_t j = 0; j < 5; j++) {
			double share = cop_rng_unit(&rng), lo = (double)INFINITY, hi = -(double)INFINITY;
			for (size_t i = 0; i < 200; i++) {
				lo = fmin(lo, (double)value(dense.rows, i, j));
				hi = fmax(hi, (double)value(dense.rows, i, j));
			}
			if (parts->nodes.index[0] == j) /* the root's */
				assert_true(-parts->nodes.bias[0] == (float)((1 - share) * lo + share * hi));
		}
		cop_tree_free(one);
		cop_tree_free(other);
		cop_tree_free(seed);
		cop_pool_free(pool);
		batch_fixture_end(&dense);
		batch_fixture_end(&sparse);
	}
}

static void test_cart_unlimited_fits_what_can_be_told_apart(void **state)
{
	(void)state;
	for (int task = 0; task < 3; task++) {
		batch_fixture f;
		batch_fixture_make(&f, (cop_task)task, 400, 4, 4, 1000, 2, task == 2, 5);
		cop_tree *tree = fit_defaults(&f.sample);
		for (size_t i = 0; i < 400; i++) {
			cop_row row;
			float out[4];
			cop_dataset_row(f.rows, i, &row);
			(void)cop_tree_predict(tree, &row, out);
			const float *target = f.target + 4 * i;
			size_t least = 0;
			for (size_t k = 1; k < 4; k++)
				least = out[k] < out[least] ? k : least;
			for (size_t k = 0; k < 4; k++) {
				if (task == COP_TASK_CLASSES)
					assert_true(out[k] == (f.label[i] == k ? 1.0F : 0.0F));
				else if (task == COP_TASK_VALUES)
					assert_true(fabsf(out[k] - target[k]) < 1e-6F);
				else
					assert_true(target[least] <= target[k]);
			}
		}
		cop_tree_free(tree);
		batch_fixture_end(&f);
	}
}

/* No first split of an exclusive or gains anything. */
static void test_cart_exclusive_or_is_learned(void **state)
{
	(void)state;
	cop_dataset *rows;
	assert_int_equal(cop_dataset_new_dense(2, &rows), COP_OK);
	for (int i = 0; i < 4; i++)
		assert_int_equal(
		        cop_dataset_push_dense(rows, (float[]){ (float)(i / 2), (float)(i % 2) }, 0.0), COP_OK);
	uint32_t label[4] = { 0, 1, 1, 0 };
	cop_sample s = { .rows = rows, .n = 4, .task = COP_TASK_CLASSES, .outputs = 2, .label = label };
	cop_tree *tree = fit_defaults(&s);
	assert_int_equal(cop_tree_leaves(tree), 4);
	/* Ties go to the lower feature, and the threshold stands in the middle. */
	assert_int_equal(cop_tree_view(tree)->nodes.index[0], 0);
	assert_true(cop_tree_view(tree)->nodes.bias[0] == -0.5F);
	cop_tree_free(tree);

	uint32_t same[4] = { 0, 0, 0, 1 }; /* rows 0 and 1 have nothing to be told apart for */
	s.label = same;
	tree = fit_defaults(&s);
	assert_int_equal(cop_tree_leaves(tree), 3);
	cop_tree_free(tree);
	cop_dataset_free(rows);
}

static void test_cart_rows_that_cannot_be_told_apart_share_a_leaf(void **state)
{
	(void)state;
	cop_dataset *rows;
	assert_int_equal(cop_dataset_new_dense(1, &rows), COP_OK);
	for (int i = 0; i < 4; i++)
		assert_int_equal(
		        cop_dataset_push_dense(rows, (float[]){ i < 3 ? -0.0F + (float)(i == 1) * 0.0F : 1.0F }, 0.0),
		        COP_OK);
	uint32_t label[4] = { 1, 0, 1, 0 };
	cop_sample s = { .rows = rows, .n = 4, .task = COP_TASK_CLASSES, .outputs = 3, .label = label };
	cop_tree *tree = fit_defaults(&s);
	assert_int_equal(cop_tree_leaves(tree), 2);
	float out[3];
	cop_tree_leaf_outputs(tree, 0, &(cop_row){ .d = 1, .dense = (float[]){ 0.0F } }, out);
	assert_true(fabsf(out[0] - 1.0F / 3) < 1e-6F && fabsf(out[1] - 2.0F / 3) < 1e-6F && out[2] == 0.0F);
	cop_tree_free(tree);
	cop_dataset_free(rows);
}

/* Weights 0 to 3 against that many copies. */
static void test_cart_weight_is_as_copies(void **state)
{
	(void)state;
	for (int task = 0; task < 3; task++) {
		batch_fixture f;
		batch_fixture_make(&f, (cop_task)task, 200, 4, 3, 9, 2, task == 1, 21);
		uint32_t copies[600];
		size_t n = 0;
		for (uint32_t i = 0; i < 200; i++) {
			for (int c = 0; c < (int)f.weight[i]; c++)
				copies[n++] = i;
		}
		cop_cart_settings settings;
		cop_cart_defaults(&settings);
		settings.min_leaf = 5;
		settings.max_depth = 3;
		cop_sample weighted = f.sample, copied = f.sample;
		weighted.weight = f.weight;
		copied.n = n;
		copied.row = copies;
		cop_tree *a = fit(&settings, &weighted, NULL, 1), *b = fit(&settings, &copied, NULL, 1);
		assert_true(batch_fixture_same(a, b));
		cop_tree_free(a);
		cop_tree_free(b);
		batch_fixture_end(&f);
	}
}

static void test_cart_limits_hold(void **state)
{
	(void)state;
	batch_fixture f;
	batch_fixture_make(&f, COP_TASK_VALUES, 500, 5, 2, 50, 1, false, 8);
	cop_cart_settings settings;
	cop_cart_defaults(&settings);
	settings.max_depth = 6;
	settings.min_leaf = 7;
	cop_tree *tree = fit(&settings, &f.sample, NULL, 1);
	size_t reached[64] = { 0 };
	assert_in_range(cop_tree_depth(tree), 2, 6);
	for (size_t i = 0; i < 500; i++) {
		cop_row row;
		cop_dataset_row(f.rows, i, &row);
		reached[cop_tree_leaf(tree, &row)]++;
	}
	for (size_t l = 0; l < cop_tree_leaves(tree); l++)
		assert_true(reached[l] >= 7);
	cop_tree_free(tree);
	batch_fixture_end(&f);
}

/* --- pruning --- */

/* Least R + alpha leaves over all prunings of the tree under t, and the fewest leaves that reach it. */
static double least_pruning(const cop_cart_grown *g, size_t t, double alpha, size_t *leaves)
{
	const cop_cart_node *node = &g->node[t];
	double here = node->impurity + alpha;
	*leaves = 1;
	if (node->left < 0)
		return here;
	size_t left, right;
	double below = least_pruning(g, (size_t)node->left, alpha, &left);
	below += least_pruning(g, (size_t)node->right, alpha, &right);
	if (here <= below + 1e-9)
		return here;
	*leaves = left + right;
	return below;
}

static size_t leaves_left(const cop_cart_grown *g, const double *links, size_t t, double complexity)
{
	const cop_cart_node *node = &g->node[t];
	if (node->left < 0 || links[t] <= complexity)
		return 1;
	return leaves_left(g, links, (size_t)node->left, complexity) +
	       leaves_left(g, links, (size_t)node->right, complexity);
}

static void test_cart_weakest_links_are_the_least_prunings(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 9; seed++) {
		batch_fixture f;
		batch_fixture_make(&f, (cop_task)(seed % 3), 300, 4, 3, 12, 2, false, seed);
		cop_cart_settings settings;
		cop_cart_defaults(&settings);
		cop_cart_data data;
		cop_cart_grown grown;
		cop_rng rng;
		cop_rng_init(&rng, seed, 0);
		assert_int_equal(cop_cart_data_init(&data, &f.sample, true, NULL, NULL), COP_OK);
		assert_int_equal(cop_cart_grow(&settings, &data, 0, NULL, NULL, &rng, &grown), COP_OK);
		double *links = cop_mem_alloc(grown.count, sizeof *links);
		assert_int_equal(cop_cart_prune_weakest_links(&grown, links), COP_OK);
		for (int i = 0; i < 40; i++) {
			double complexity = pow(10, -4 * cop_rng_unit(&rng));
			size_t expected;
			(void)least_pruning(&grown, 0, complexity * grown.node[0].impurity, &expected);
			assert_int_equal(leaves_left(&grown, links, 0, complexity), expected);
		}
		cop_mem_free(links);
		cop_cart_grow_fini(&grown);
		cop_cart_data_fini(&data);
		batch_fixture_end(&f);
	}
}

/* What a split below gains, the one above it has lost: with the upper one the lower one is gone, and counts once. */
static void test_cart_weakest_links_below_a_split_that_gains_nothing_count_once(void **state)
{
	(void)state;
	for (int right = 0; right < 2; right++) {
		cop_cart_node node[7] = {
			{ .impurity = 10, .left = 1, .right = 2, .parent = -1 },
			{ .impurity = right ? 0 : 4, .left = right ? -1 : 3, .right = 4, .parent = 0 },
			{ .impurity = right ? 4 : 0, .left = right ? 3 : -1, .right = 4, .parent = 0 },
			{ .impurity = 3, .left = 5, .right = 6, .parent = right ? 2 : 1 },
			{ .impurity = 2, .left = -1, .parent = right ? 2 : 1 },
			{ .impurity = 1, .left = -1, .parent = 3 },
			{ .impurity = 1, .left = -1, .parent = 3 },
		};
		const cop_cart_grown grown = { .node = node, .count = 7 };
		double links[7];
		assert_int_equal(cop_cart_prune_weakest_links(&grown, links), COP_OK);
		assert_true(fabs(links[0] - 0.6) < 1e-12);
		for (size_t t = 1; t < 7; t++)
			assert_true(links[t] == 0);
	}
}

static void test_cart_complexity_of_all_leaves_one_leaf(void **state)
{
	(void)state;
	batch_fixture f;
	batch_fixture_make(&f, COP_TASK_CLASSES, 200, 3, 3, 9, 3, false, 3);
	cop_cart_settings settings;
	cop_cart_defaults(&settings);
	size_t last = SIZE_MAX;
	for (settings.complexity = 1e-4; settings.complexity < 4; settings.complexity *= 4) {
		cop_tree *tree = fit(&settings, &f.sample, NULL, 1);
		assert_true(cop_tree_leaves(tree) <= last);
		last = cop_tree_leaves(tree);
		cop_tree_free(tree);
	}
	assert_int_equal(last, 1);
	batch_fixture_end(&f);
}

/* The rule behind the fixture needs four leaves (costs: three, two of them have the same best choice), whatever noise
 * makes the unlimited tree grow. */
static void test_cart_folds_find_the_rule_behind_the_noise(void **state)
{
	(void)state;
	for (int task = 0; task < 3; task++) {
		batch_fixture f;
		batch_fixture_make(&f, (cop_task)task, 1200, 5, 4, 40, 12, task == 1, 31);
		cop_cart_settings settings;
		cop_cart_defaults(&settings);
		cop_tree *whole = fit(&settings, &f.sample, NULL, 2);
		settings.complexity = -1;
		cop_tree *pruned = fit(&settings, &f.sample, NULL, 2);
		assert_true(cop_tree_leaves(whole) > 50);
		assert_in_range(cop_tree_leaves(pruned), task == 2 ? 3 : 4, 8);
		cop_tree_free(whole);
		cop_tree_free(pruned);
		batch_fixture_end(&f);
	}
}

static void test_cart_folds_of_pure_noise_leave_little(void **state)
{
	(void)state;
	batch_fixture f;
	batch_fixture_make(&f, COP_TASK_CLASSES, 600, 5, 3, 40, 1, false, 41);
	cop_cart_settings settings;
	cop_cart_defaults(&settings);
	settings.complexity = -1;
	cop_tree *tree = fit(&settings, &f.sample, NULL, 2);
	assert_in_range(cop_tree_leaves(tree), 1, 3);
	cop_tree_free(tree);
	f.sample.n = 1; /* and of a single row */
	tree = fit(&settings, &f.sample, NULL, 2);
	assert_int_equal(cop_tree_leaves(tree), 1);
	cop_tree_free(tree);
	batch_fixture_end(&f);
}

/* --- what is refused --- */

static void expect_refused(const cop_cart_settings *settings, const cop_sample *sample)
{
	cop_rng rng;
	cop_rng_init(&rng, 1, 0);
	cop_tree *tree;
	assert_int_equal(cop_cart_fit(settings, sample, NULL, &rng, &tree), COP_EINVAL);
	assert_null(tree);
}

static void test_cart_settings_outside_their_range_are_refused(void **state)
{
	(void)state;
	batch_fixture f;
	batch_fixture_make(&f, COP_TASK_CLASSES, 20, 3, 3, 9, 3, false, 3);
	cop_cart_settings good, bad[6];
	cop_cart_defaults(&good);
	for (size_t i = 0; i < 6; i++)
		bad[i] = good;
	bad[0].max_depth = 0;
	bad[1].max_depth = COP_TREE_MAX_DEPTH + 1;
	bad[2].min_leaf = -1;
	bad[3].min_leaf = (double)NAN;
	bad[4].folds = 1;
	bad[5].complexity = (double)NAN;
	for (size_t i = 0; i < 6; i++)
		expect_refused(&bad[i], &f.sample);
	cop_sample none = f.sample;
	none.n = 0;
	expect_refused(&good, &none);
	none = f.sample;
	none.outputs = 0;
	expect_refused(&good, &none);
	none = f.sample;
	memset(f.weight, 0, 20 * sizeof *f.weight);
	none.weight = f.weight;
	expect_refused(&good, &none);
	/* sparse rows without any entry have no feature */
	cop_dataset *empty;
	assert_int_equal(cop_dataset_new_sparse(&empty), COP_OK);
	for (int i = 0; i < 20; i++)
		assert_int_equal(cop_dataset_push_sparse(empty, 0, NULL, NULL, 0.0), COP_OK);
	none = f.sample;
	none.rows = empty;
	none.row = NULL;
	none.weight = NULL;
	expect_refused(&good, &none);
	cop_dataset_free(empty);
	batch_fixture_end(&f);
}

static void test_cart_settings_at_the_ends_of_their_range_are_taken(void **state)
{
	(void)state;
	batch_fixture f;
	batch_fixture_make(&f, COP_TASK_CLASSES, 20, 3, 3, 9, 3, false, 3);
	cop_cart_settings ends[4];
	for (size_t i = 0; i < 4; i++)
		cop_cart_defaults(&ends[i]);
	ends[0].max_depth = 1;
	ends[1].max_depth = COP_TREE_MAX_DEPTH;
	ends[2].folds = 2;
	ends[2].complexity = -1;
	ends[3].min_leaf = 0;
	for (size_t i = 0; i < 4; i++) {
		cop_tree *tree;
		cop_rng rng;
		cop_rng_init(&rng, 1, 0);
		assert_int_equal(cop_cart_fit(&ends[i], &f.sample, NULL, &rng, &tree), COP_OK);
		assert_true(i != 0 || cop_tree_leaves(tree) == 2);
		cop_tree_free(tree);
	}
	batch_fixture_end(&f);
}

static void test_cart_without_memory_fails(void **state)
{
	(void)state;
	for (int run = 0; run < 9; run++) {
		batch_fixture f;
		batch_fixture_make(&f, (cop_task)(run % 3), 60, 3, 3, 70, 2, run >= 3 && run < 6, 4);
		cop_cart_settings settings;
		cop_cart_defaults(&settings);
		settings.features = 2;
		settings.drawn_thresholds = run >= 6;
		settings.complexity = -1;
		settings.folds = 2;
		cop_err err = COP_ENOMEM;
		unsigned long n = 1;
		for (; err != COP_OK && n < 10000; n++) {
			cop_rng rng;
			cop_rng_init(&rng, 1, 0);
			cop_tree *tree;
			cop_test_alloc_fail(n, 0);
			err = cop_cart_fit(&settings, &f.sample, NULL, &rng, &tree);
			cop_test_alloc_fail(0, 0);
			assert_int_equal(err != COP_OK, cop_test_alloc_failed());
			assert_true(err == COP_OK ? tree != NULL : err == COP_ENOMEM && tree == NULL);
			cop_tree_free(tree);
		}
		assert_int_equal(err, COP_OK);
		assert_true(n > 50);
		batch_fixture_end(&f);
	}
}

/* --- known datasets --- */

static cop_dataset *read_part(const char *folder, const char *name, const char *part)
{
	char path[512];
	cop_dataset *rows;
	cop_diag diag;
	(void)snprintf(path, sizeof path, "%s/%s.%s.csv.gz", folder, name, part);
	assert_int_equal(cop_dataset_read(path, &rows, &diag), COP_OK);
	return rows;
}

typedef struct known {
	const char *name;
	bool values;
	unsigned depth; /* 0: any */
	double leaf;
	double error, within; /* of an independent implementation: share wrong, or RMSE */
} known;

static double test_error(const known *k, const cop_tree *tree, const cop_dataset *test)
{
	double sum = 0;
	for (size_t i = 0; i < test->n; i++) {
		cop_row row;
		float out[32];
		cop_dataset_row(test, i, &row);
		(void)cop_tree_predict(tree, &row, out);
		double off = (double)out[0] - test->target[i];
		sum += k->values ? off * off : (double)cop_tree_class(tree, &row) != test->target[i];
	}
	sum /= (double)test->n;
	return k->values ? sqrt(sum) : sum;
}

static void check_known(const char *folder, const known *k)
{
	cop_dataset *train = read_part(folder, k->name, "train"), *test = read_part(folder, k->name, "test");
	uint32_t *label = cop_mem_alloc(train->n, sizeof *label);
	float *target = cop_mem_alloc(train->n, sizeof *target);
	for (size_t i = 0; i < train->n; i++) {
		label[i] = k->values ? 0 : (uint32_t)train->target[i];
		target[i] = (float)train->target[i];
	}
	cop_sample s = { .rows = train, .n = train->n, .outputs = 1, .label = label, .target = target };
	s.task = k->values ? COP_TASK_VALUES : COP_TASK_CLASSES;
	if (!k->values)
		assert_int_equal(cop_dataset_classes(train, &s.outputs, NULL), COP_OK);
	cop_cart_settings settings;
	cop_cart_defaults(&settings);
	settings.max_depth = k->depth > 0 ? k->depth : COP_TREE_MAX_DEPTH;
	settings.min_leaf = k->leaf;
	cop_tree *tree = fit(&settings, &s, NULL, 1);
	double error = test_error(k, tree, test);
	if (fabs(error - k->error) > k->within)
		fail_msg("%s, depth %u, leaf %g: error %.4f, expected %.4f", k->name, k->depth, k->leaf, error,
		        k->error);
	cop_tree_free(tree);
	cop_mem_free(label);
	cop_mem_free(target);
	cop_dataset_free(train);
	cop_dataset_free(test);
}

/* Tolerances: what equally good splits chosen differently make. */
static void test_cart_known_datasets_have_the_known_error(void **state)
{
	(void)state;
	static const known all[] = {
		{ "letter", false, 0, 0, 0.1225, 0.010 },
		{ "letter", false, 12, 0, 0.2305, 0.004 },
		{ "pendigits", false, 0, 0, 0.0792, 0.006 },
		{ "pendigits", false, 6, 0, 0.1752, 0.006 },
		{ "satimage", false, 0, 0, 0.1495, 0.007 },
		{ "satimage", false, 8, 0, 0.1470, 0.006 },
		{ "segment", false, 0, 0, 0.0281, 0.015 },
		{ "segment", false, 8, 0, 0.0541, 0.010 },
		{ "abalone", true, 5, 10, 2.3298, 0.005 },
		{ "ailerons", true, 8, 10, 2.0248, 0.010 },
		{ "cpu_act_dgt4", true, 8, 10, 3.2110, 0.005 },
	};
	const char *folder = cop_test_data_folder();
	if (folder == NULL) {
		print_message("COPPICE_DATA is not set: skipped\n");
		skip();
	}
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		check_known(folder, &all[i]);
}

static void test_cart_defaults_are_those_that_the_documents_name(void **state)
{
	(void)state;
	cop_cart_settings s;
	cop_cart_defaults(&s);
	assert_true(s.max_depth == COP_TREE_MAX_DEPTH && s.min_leaf == 0.0 && s.features == 0);
	assert_true(s.complexity == 0.0 && s.folds == 10 && s.ranks == NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cart_defaults_are_those_that_the_documents_name),
		cmocka_unit_test(test_cart_first_split_is_the_best_of_all),
		cmocka_unit_test(test_cart_dense_and_sparse_rows_give_the_same_tree),
		cmocka_unit_test(test_cart_any_threads_give_the_same_tree),
		cmocka_unit_test(test_cart_ranks_of_the_dataset_give_the_same_tree),
		cmocka_unit_test(test_cart_drawn_thresholds_are_between_the_ends_and_differ_by_seed),
		cmocka_unit_test(test_cart_unlimited_fits_what_can_be_told_apart),
		cmocka_unit_test(test_cart_exclusive_or_is_learned),
		cmocka_unit_test(test_cart_rows_that_cannot_be_told_apart_share_a_leaf),
		cmocka_unit_test(test_cart_weight_is_as_copies),
		cmocka_unit_test(test_cart_limits_hold),
		cmocka_unit_test(test_cart_weakest_links_are_the_least_prunings),
		cmocka_unit_test(test_cart_weakest_links_below_a_split_that_gains_nothing_count_once),
		cmocka_unit_test(test_cart_complexity_of_all_leaves_one_leaf),
		cmocka_unit_test(test_cart_folds_find_the_rule_behind_the_noise),
		cmocka_unit_test(test_cart_folds_of_pure_noise_leave_little),
		cmocka_unit_test(test_cart_settings_outside_their_range_are_refused),
		cmocka_unit_test(test_cart_settings_at_the_ends_of_their_range_are_taken),
		cmocka_unit_test(test_cart_without_memory_fails),
		cmocka_unit_test(test_cart_known_datasets_have_the_known_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
