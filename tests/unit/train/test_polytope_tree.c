/* Convex polytope trees on the ring of the paper's section 4.1, and what a split promises: its cut is the best one, its
 * facets are few, and no facet is spare. */
#include "support.h"

#include <stdbool.h>
#include <string.h>

#include "polytope_scene.h"

#define SEED  21U
#define MOST  SCENE_MOST
#define SEEDS 3

static void test_ring_is_found_by_two_levels(void **state)
{
	static scene train, test;
	double sum = 0.0;
	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		cop_polytope_tree_settings settings;
		cop_polytope_tree tree;
		cop_polytope_tree_defaults(&settings);
		settings.height = 2;
		settings.least_gain = 0.02;
		settings.split.epochs = 60;
		draw_ring(&train, 2000, 0.4, 0.8, 2 * seed + SEED);
		draw_ring(&test, 4000, 0.4, 0.8, 2 * seed + SEED + 1);
		assert_int_equal(cop_polytope_tree_fit(&settings, &train.rows, seed, NULL, &tree), COP_OK);
		assert_in_range(tree.leaves, 3, 4);
		assert_true(cop_polytope_tree_facets(&tree) < tree.splits * settings.split.experts);

		sum += scene_auc(&tree, &test) / SEEDS;
		cop_polytope_tree_fini(&tree);
	}
	assert_true(sum >= 0.95);
}

static double entropy_of(double one, double all) { return one <= 0.0 || one >= all ? 0.0 : -one * log(one / all); }

/* The gain of every cut between two sums, by its definition. */
static double naive_gain(const scene *s, const double *sum, size_t least)
{
	const size_t n = s->rows.n;
	double best = 0.0, count[2] = { 0 };
	for (size_t i = 0; i < n; i++)
		count[s->label[i]]++;
	const double before = entropy_of(count[0], (double)n) + entropy_of(count[1], (double)n);
	for (size_t k = 0; k < n; k++) {
		double side[2][2] = { { 0 } };
		for (size_t i = 0; i < n; i++)
			side[sum[i] > sum[k]][s->label[i]]++;
		const double left = side[0][0] + side[0][1], right = side[1][0] + side[1][1];
		if (left < (double)least || right < (double)least)
			continue;
		const double after = entropy_of(side[0][0], left) + entropy_of(side[0][1], left) +
		                     entropy_of(side[1][0], right) + entropy_of(side[1][1], right);
		best = fmax(best, (before - after) / (double)n);
	}
	return best;
}

/* The drop of the variance by every cut, by its definition. */
static double naive_drop(const scene *s, const double *sum, size_t least)
{
	const size_t n = s->rows.n;
	double best = 0.0;
	for (size_t k = 0; k < n; k++) {
		double count[2] = { 0 }, mean[3] = { 0 }, before = 0.0, after = 0.0;
		for (size_t i = 0; i < n; i++) {
			count[sum[i] > sum[k]]++;
			mean[sum[i] > sum[k]] += (double)s->target[i];
			mean[2] += (double)s->target[i] / (double)n;
		}
		if (count[0] < (double)least || count[1] < (double)least)
			continue;
		for (size_t i = 0; i < n; i++) {
			const size_t side = sum[i] > sum[k];
			before += pow((double)s->target[i] - mean[2], 2.0);
			after += pow((double)s->target[i] - mean[side] / count[side], 2.0);
		}
		best = fmax(best, (before - after) / (double)n);
	}
	return best;
}

/* Of one expert, which always stays, so that the sums are those that were cut. */
static void check_cuts(void (*draw)(scene *s, size_t n, double inner, double outer, uint64_t seed),
        double (*best)(const scene *s, const double *sum, size_t least))
{
	static scene s;
	static double sum[MOST];
	for (uint64_t seed = 0; seed < 5; seed++) {
		cop_polytope_split_settings settings = quick().split;
		cop_polytope_split split;
		cop_rng rng;
		settings.experts = 1;
		cop_rng_init(&rng, seed, 0);
		draw(&s, 300, 0.3, 0.9, seed);
		assert_int_equal(cop_polytope_split_fit(&settings, &s.rows, &rng, &split), COP_OK);
		for (size_t i = 0; i < s.rows.n; i++)
			sum[i] = cop_polytope_split_sum(&split, s.x + 3 * i);
		assert_true(split.gain > 0.0 && fabs(split.gain - best(&s, sum, settings.least)) < 1e-6);
		cop_polytope_split_fini(&split);
	}
}

static void test_cut_is_the_best_one(void **state)
{
	(void)state;
	check_cuts(draw_ring, naive_gain);
}

static void test_cut_of_values_is_the_best_one(void **state)
{
	(void)state;
	check_cuts(draw_values, naive_drop);
}

static void test_no_facet_is_spare_and_what_goes_left_is_convex(void **state)
{
	static scene s;
	cop_polytope_split split;
	cop_rng rng;
	(void)state;
	cop_rng_init(&rng, SEED, 0);
	draw_ring(&s, 1000, 0.0, 0.7, SEED);
	cop_polytope_split_settings settings = quick().split;
	settings.experts = 12;
	assert_int_equal(cop_polytope_split_fit(&settings, &s.rows, &rng, &split), COP_OK);
	assert_true(split.node.experts >= 3 && split.node.experts <= 12);
	double sides[2] = { (double)-INFINITY, (double)INFINITY };
	for (size_t i = 0; i < s.rows.n; i++) {
		const double sum = cop_polytope_split_sum(&split, s.x + 3 * i);
		sides[sum > split.threshold] = sum > split.threshold ? fmin(sides[1], sum) : fmax(sides[0], sum);
	}
	const double apart = sides[1] - sides[0]; /* at most what it was with all experts, twice */
	assert_true(apart > 0.0);
	for (size_t k = 0; k < split.node.experts; k++) {
		double low = (double)-INFINITY, high = (double)INFINITY;
		const float kept = split.node.log_r[k];
		for (size_t i = 0; i < s.rows.n; i++) {
			const bool right = cop_polytope_split_sum(&split, s.x + 3 * i) > split.threshold;
			split.node.log_r[k] = -200.0f; /* without it */
			const double without = cop_polytope_split_sum(&split, s.x + 3 * i);
			split.node.log_r[k] = kept;
			low = right ? low : fmax(low, without);
			high = right ? fmin(high, without) : high;
		}
		assert_true(high - low <= apart); /* no threshold has the same sides as far apart */
	}
	size_t looked = 0;
	for (size_t i = 0; i < 20000; i++) {
		const float *a = s.x + 3 * cop_rng_below(&rng, s.rows.n), *b = s.x + 3 * cop_rng_below(&rng, s.rows.n);
		const float part = (float)cop_rng_unit(&rng);
		const float between[3] = { a[0] + part * (b[0] - a[0]), a[1] + part * (b[1] - a[1]), 1.0f };
		if (cop_polytope_split_sum(&split, a) > split.threshold - 1e-6 ||
		        cop_polytope_split_sum(&split, b) > split.threshold - 1e-6)
			continue;
		assert_true(cop_polytope_split_sum(&split, between) <= split.threshold);
		looked++;
	}
	assert_true(looked > 1000);
	cop_polytope_split_fini(&split);
}

static void test_leaves_have_the_shares_of_their_rows(void **state)
{
	static scene s;
	cop_polytope_tree tree, again;
	(void)state;
	draw_ring(&s, 500, 0.4, 0.8, SEED);
	const cop_polytope_tree_settings settings = quick();
	assert_int_equal(cop_polytope_tree_fit(&settings, &s.rows, 7, NULL, &tree), COP_OK);
	assert_int_equal(cop_polytope_tree_fit(&settings, &s.rows, 7, NULL, &again), COP_OK);
	assert_true(tree.leaves == tree.splits + 1 && tree.leaves >= 2 && tree.leaves <= 4);
	double count[4][2] = { { 0 } };
	for (size_t i = 0; i < s.rows.n; i++) {
		const size_t leaf = cop_polytope_tree_leaf(&tree, s.x + 3 * i);
		assert_int_equal(leaf, cop_polytope_tree_leaf(&again, s.x + 3 * i));
		count[leaf][s.label[i]]++;
	}
	for (size_t l = 0; l < tree.leaves; l++)
		for (size_t c = 0; c < 2; c++)
			assert_true(fabs(tree.share[2 * l + c] - count[l][c] / (count[l][0] + count[l][1])) < 1e-9);
	assert_memory_equal(tree.share, again.share, 2 * tree.leaves * sizeof *tree.share);
	cop_polytope_tree_fini(&tree);
	cop_polytope_tree_fini(&again);
}

static void test_rows_of_one_class_or_no_height_give_a_lone_leaf(void **state)
{
	static scene s;
	cop_polytope_tree tree;
	(void)state;
	cop_polytope_tree_settings settings = quick();
	draw_ring(&s, 100, 2.0, 3.0, SEED);
	assert_int_equal(cop_polytope_tree_fit(&settings, &s.rows, 1, NULL, &tree), COP_OK);
	assert_true(tree.leaves == 1 && tree.splits == 0 && tree.share[0] == 1.0 && tree.share[1] == 0.0);
	assert_int_equal(cop_polytope_tree_leaf(&tree, s.x), 0);
	assert_int_equal(cop_polytope_tree_facets(&tree), 0);
	cop_polytope_tree_fini(&tree);
	draw_ring(&s, 100, 0.4, 0.8, SEED);
	settings.height = 0;
	assert_int_equal(cop_polytope_tree_fit(&settings, &s.rows, 1, NULL, &tree), COP_OK);
	assert_int_equal(tree.leaves, 1);
	cop_polytope_tree_fini(&tree);
}

static void test_bad_settings_and_short_memory_are_errors(void **state)
{
	static scene s;
	cop_polytope_tree tree;
	(void)state;
	draw_ring(&s, 60, 0.4, 0.8, SEED);
	cop_polytope_tree_settings settings = quick();
	settings.height = 31;
	assert_int_equal(cop_polytope_tree_fit(&settings, &s.rows, 1, NULL, &tree), COP_EINVAL);
	cop_polytope_tree_fini(&tree);
	settings = quick();
	settings.split.experts = 0;
	assert_int_equal(cop_polytope_tree_fit(&settings, &s.rows, 1, NULL, &tree), COP_EINVAL);
	cop_polytope_tree_fini(&tree);
	settings = quick();
	settings.split.lr = 0.0;
	assert_int_equal(cop_polytope_tree_fit(&settings, &s.rows, 1, NULL, &tree), COP_EINVAL);
	cop_polytope_tree_fini(&tree);
	const cop_polytope_rows none = { .d = 2, .classes = 2, .x = s.x, .label = s.label };
	const cop_polytope_rows both = { .n = 60, .d = 2, .x = s.x, .label = s.label, .target = s.target };
	settings = quick();
	assert_int_equal(cop_polytope_tree_fit(&settings, &none, 1, NULL, &tree), COP_EINVAL);
	cop_polytope_tree_fini(&tree);
	assert_int_equal(cop_polytope_tree_fit(&settings, &both, 1, NULL, &tree), COP_EINVAL);
	cop_polytope_tree_fini(&tree);
	settings.split.epochs = 1;
	cop_err err = COP_ENOMEM;
	for (unsigned long fail = 1; err != COP_OK; fail++) {
		cop_test_alloc_fail(fail, 0);
		err = cop_polytope_tree_fit(&settings, &s.rows, 1, NULL, &tree);
		cop_test_alloc_fail(0, 0);
		assert_true(err == COP_OK || err == COP_ENOMEM);
		assert_true(fail < 500);
		cop_polytope_tree_fini(&tree);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ring_is_found_by_two_levels),
		cmocka_unit_test(test_cut_is_the_best_one),
		cmocka_unit_test(test_cut_of_values_is_the_best_one),
		cmocka_unit_test(test_no_facet_is_spare_and_what_goes_left_is_convex),
		cmocka_unit_test(test_leaves_have_the_shares_of_their_rows),
		cmocka_unit_test(test_rows_of_one_class_or_no_height_give_a_lone_leaf),
		cmocka_unit_test(test_bad_settings_and_short_memory_are_errors),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
