/* The start of softmax trees: the pairs against a greedy pairing by the definition, on class means in double; blobs
 * that k-means must find; sparse rows as dense ones; what is refused; every failed allocation. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "train/softmax_start.h"
#include "train/tao.h"

#define CLASSES  16
#define FEATURES 6
#define ROWS     (CLASSES * 12)

typedef struct problem {
	cop_dataset *rows;
	uint32_t label[ROWS];
	float weight[ROWS];
	double mean[CLASSES][FEATURES], mass[CLASSES];
	cop_sample sample;
	cop_softmax_start_settings set;
} problem;

/* Rows of class k stand near a point of its own, more of them for higher k. */
static void make(problem *p, size_t classes, bool sparse, uint64_t seed)
{
	double centre[CLASSES][FEATURES];
	cop_rng rng;
	cop_rng_init(&rng, seed, 0);
	*p = (problem){ .set = { COP_SOFTMAX_START_CLASSES, 4, 25, 1e-3, 1e-3, 200 } };
	assert_int_equal(sparse ? cop_dataset_new_sparse(&p->rows) : cop_dataset_new_dense(FEATURES, &p->rows), COP_OK);
	for (size_t k = 0; k < classes; k++)
		for (size_t j = 0; j < FEATURES; j++)
			centre[k][j] = 4 * cop_rng_normal(&rng);
	for (size_t i = 0; i < ROWS; i++) {
		uint32_t k = (uint32_t)(i < classes ? i : cop_rng_below(&rng, classes));
		static const uint32_t index[] = { 0, 1, 2, 3, 4, 5 };
		float x[FEATURES];
		p->label[i] = k;
		p->weight[i] = (float)(0.5 + cop_rng_unit(&rng));
		p->mass[k] += (double)p->weight[i];
		for (size_t j = 0; j < FEATURES; j++) {
			x[j] = (float)(centre[k][j] + 0.05 * cop_rng_normal(&rng));
			p->mean[k][j] += (double)p->weight[i] * (double)x[j];
		}
		assert_int_equal(sparse ? cop_dataset_push_sparse(p->rows, FEATURES, index, x, 0)
		                        : cop_dataset_push_dense(p->rows, x, 0),
		        COP_OK);
	}
	for (size_t k = 0; k < classes; k++)
		for (size_t j = 0; j < FEATURES; j++)
			p->mean[k][j] /= p->mass[k];
	p->sample = (cop_sample){ .rows = p->rows,
		.n = ROWS,
		.task = COP_TASK_CLASSES,
		.outputs = classes,
		.label = p->label,
		.weight = p->weight };
}

static void end(problem *p) { cop_dataset_free(p->rows); }

static cop_tree *grow(const problem *p, uint64_t seed)
{
	cop_tree *tree = NULL;
	cop_rng rng;
	cop_rng_init(&rng, seed, 0);
	assert_int_equal(cop_softmax_start_grow(&p->set, &p->sample, &rng, &tree), COP_OK);
	return tree;
}

/* ---- the pairs by their definition: sets of classes as bits ---- */

typedef struct group {
	uint32_t classes;
	double mean[FEATURES], mass;
	bool paired;
} group;

static double away(const group *a, const group *b)
{
	double sum = 0;
	for (size_t j = 0; j < FEATURES; j++)
		sum += (a->mean[j] - b->mean[j]) * (a->mean[j] - b->mean[j]);
	return sum;
}

static group both(const group *a, const group *b)
{
	group sum = { .classes = a->classes | b->classes, .mass = a->mass + b->mass };
	for (size_t j = 0; j < FEATURES; j++)
		sum.mean[j] = (a->mass * a->mean[j] + b->mass * b->mean[j]) / sum.mass;
	return sum;
}

/* Pairs a level; made gets the sets of the pairs, to which `sets` of them were added already. */
static size_t pair(group *item, size_t count, uint32_t *made, size_t *sets)
{
	group next[CLASSES];
	size_t size = 0;
	for (;;) {
		size_t a = count, b = count;
		for (size_t i = 0; i < count; i++)
			for (size_t j = i + 1; j < count; j++)
				if (!item[i].paired && !item[j].paired &&
				        (a == count || away(&item[i], &item[j]) < away(&item[a], &item[b]))) {
					a = i;
					b = j;
				}
		if (a == count)
			break;
		item[a].paired = item[b].paired = true;
		next[size] = both(&item[a], &item[b]);
		made[(*sets)++] = next[size++].classes;
	}
	for (size_t i = 0; i < count; i++)
		if (!item[i].paired)
			next[size++] = item[i];
	memcpy(item, next, size * sizeof *item);
	return size;
}

static size_t naive_pairs(const problem *p, uint32_t *made)
{
	group item[CLASSES];
	size_t count = p->sample.outputs, sets = 0;
	for (size_t k = 0; k < count; k++) {
		item[k] = (group){ .classes = 1U << k, .mass = p->mass[k] };
		memcpy(item[k].mean, p->mean[k], sizeof item[k].mean);
	}
	while (count > 1)
		count = pair(item, count, made, &sets);
	return sets;
}

/* The classes below a child, of a tree whose leaves know one each. */
static uint32_t classes_below(const cop_tree *tree, int32_t child)
{
	const cop_tree_parts *parts = cop_tree_view(tree);
	if (child < 0)
		return 1U << cop_tree_leaf_class(tree, (size_t)~child, NULL);
	return classes_below(tree, parts->left[child]) | classes_below(tree, parts->right[child]);
}

static void check_pairs(const problem *p, const cop_tree *tree)
{
	uint32_t wanted[CLASSES];
	size_t sets = naive_pairs(p, wanted);
	assert_int_equal(cop_tree_leaves(tree), p->sample.outputs);
	assert_int_equal(cop_tree_view(tree)->nodes.count, sets);
	for (size_t t = 0; t < sets; t++) {
		size_t found = 0;
		for (size_t s = 0; s < sets; s++)
			found += wanted[s] == classes_below(tree, (int32_t)t);
		assert_int_equal(found, 1);
	}
}

/* Rows of a class that its leaf has not reached. */
static size_t astray(const problem *p, const cop_tree *tree)
{
	size_t wrong = 0;
	for (size_t i = 0; i < p->sample.n; i++) {
		cop_row row;
		cop_dataset_row(p->rows, i, &row);
		wrong += cop_tree_class(tree, &row) != p->label[i];
	}
	return wrong;
}

static void test_classes_one_cluster_each_are_paired_nearest_first(void **unused)
{
	(void)unused;
	for (uint64_t seed = 1; seed <= 24; seed++) {
		problem p;
		size_t classes = 2 + seed % (CLASSES - 1); /* odd numbers too */
		make(&p, classes, seed % 2 == 0, seed);
		cop_tree *tree = grow(&p, seed);
		check_pairs(&p, tree);
		if (astray(&p, tree) > ROWS / 20)
			fail_msg("seed %u: %zu rows astray", (unsigned)seed, astray(&p, tree));
		cop_tree_free(tree);
		end(&p);
	}
}

static void test_rows_in_blobs_are_found(void **unused)
{
	(void)unused;
	for (uint64_t seed = 1; seed <= 8; seed++) {
		problem p;
		make(&p, 2, seed % 2 == 0, seed + 50);
		p.set.points = COP_SOFTMAX_START_ROWS;
		p.set.height = 1;
		cop_tree *tree = grow(&p, seed);
		assert_int_equal(cop_tree_leaves(tree), 2);
		assert_int_equal(astray(&p, tree), 0);
		cop_tree_free(tree);
		end(&p);
	}
}

static void test_clusters_are_at_most_two_to_the_height(void **unused)
{
	(void)unused;
	for (unsigned points = 0; points < 2; points++)
		for (unsigned height = 1; height <= 3; height++) {
			problem p;
			make(&p, CLASSES, false, 70 + height);
			p.set.points = (cop_softmax_start_points)points;
			p.set.height = height;
			cop_tree *tree = grow(&p, 3);
			assert_int_equal(cop_tree_leaves(tree), (size_t)1 << height);
			assert_int_equal(cop_tree_depth(tree), height);
			cop_tree_free(tree);
			end(&p);
		}
}

static void test_leaf_has_the_shares_of_its_rows(void **unused)
{
	(void)unused;
	problem p;
	float out[CLASSES];
	make(&p, 3, false, 80);
	p.set.height = 1;
	p.sample.row = (const uint32_t[]){ 0 }; /* one row: a lone leaf */
	p.sample.n = 1;
	cop_tree *tree = grow(&p, 1);
	assert_int_equal(cop_tree_leaves(tree), 1);
	cop_tree_leaf_outputs(tree, 0, NULL, out);
	assert_true(out[p.label[0]] == 1.0F);
	cop_tree_free(tree);
	end(&p);
}

/* Softmax trees begin here: no sweep may lose what the start has. */
static void test_start_of_tao_with_softmax_leaves_is_taken(void **unused)
{
	(void)unused;
	problem p;
	cop_tao_settings set;
	cop_tao_report report;
	cop_tree *tree = NULL;
	cop_rng rng;
	make(&p, CLASSES, true, 90);
	p.set.height = 2;
	cop_tree *start = grow(&p, 1);
	cop_tao_defaults(COP_TASK_CLASSES, &set);
	set.leaves = COP_TAO_LINEAR;
	set.loss = COP_TAO_CROSS_ENTROPY;
	set.leaf_classes = 6;
	set.leaf_alpha = 0.01;
	set.iterations = 5;
	cop_rng_init(&rng, 1, 0);
	assert_int_equal(cop_tao_fit(&set, &p.sample, start, NULL, &rng, NULL, &report, &tree), COP_OK);
	assert_true(report.objective <= report.history[0] * (1 + 1e-6));
	assert_true(astray(&p, tree) <= ROWS / 20);
	cop_mem_free(report.history);
	cop_tree_free(tree);
	cop_tree_free(start);
	end(&p);
}

static void test_settings_out_of_range_are_refused(void **unused)
{
	(void)unused;
	problem p;
	cop_tree *tree = NULL;
	cop_rng rng;
	make(&p, 4, false, 100);
	const cop_softmax_start_settings good = p.set;
	cop_rng_init(&rng, 1, 0);
	for (int c = 0; c < 7; c++) {
		cop_softmax_start_settings set = good;
		cop_sample sample = p.sample;
		if (c == 0)
			set.height = 0;
		else if (c == 1)
			set.height = COP_SOFTMAX_START_MAX_HEIGHT + 1;
		else if (c == 2)
			set.alpha = -1;
		else if (c == 3)
			set.node_tolerance = 0;
		else if (c == 4)
			set.node_steps = 0;
		else if (c == 5)
			sample.task = COP_TASK_VALUES;
		else
			sample.n = 0;
		assert_int_equal(cop_softmax_start_grow(&set, &sample, &rng, &tree), COP_EINVAL);
		assert_null(tree);
	}
	end(&p);
}

static void test_allocation_that_fails_is_told(void **unused)
{
	(void)unused;
	for (unsigned points = 0; points < 2; points++) {
		problem p;
		cop_tree *tree = NULL;
		cop_err err = COP_ENOMEM;
		unsigned long n = 0;
		make(&p, 5, true, 110);
		p.set.points = (cop_softmax_start_points)points;
		p.set.height = 2;
		while (err == COP_ENOMEM) {
			cop_rng rng;
			cop_rng_init(&rng, 1, 0);
			cop_test_alloc_fail(++n, 0);
			err = cop_softmax_start_grow(&p.set, &p.sample, &rng, &tree);
			cop_test_alloc_fail(0, 0);
			assert_int_equal(err != COP_OK, cop_test_alloc_failed());
			assert_true((err == COP_OK) == (tree != NULL));
		}
		assert_int_equal(err, COP_OK);
		assert_true(n > 20);
		cop_tree_free(tree);
		end(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_classes_one_cluster_each_are_paired_nearest_first),
		cmocka_unit_test(test_rows_in_blobs_are_found),
		cmocka_unit_test(test_clusters_are_at_most_two_to_the_height),
		cmocka_unit_test(test_leaf_has_the_shares_of_its_rows),
		cmocka_unit_test(test_start_of_tao_with_softmax_leaves_is_taken),
		cmocka_unit_test(test_settings_out_of_range_are_refused),
		cmocka_unit_test(test_allocation_that_fails_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
