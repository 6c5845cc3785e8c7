/* What a forest's values and doubts are, event by event, against the header's formulas in double: START and both DECAYs
 * are read off the first events, all others must follow from them. And what forests learn. */
#include "forest_fixture.h"

#include "learn/stacking.h"

/* ---- formulas ---- */

enum { QUICK, STEADY, KINDS };

typedef struct constants {
	double start, decay[KINDS];
} constants;

static double rate(const constants *c, int kind, double n) { return c->start / (1.0 + c->decay[kind] * n); }

/* Predicts, and the means of either kind. */
static double means_of(cop_forest *forest, const cop_row *x, size_t arm, double *mean)
{
	float loss[FOREST_ARMS];
	cop_forest_predict(forest, x, loss);
	cop_forest_means(forest, arm, &mean[QUICK], &mean[STEADY]);
	return (double)loss[arm];
}

/* What share of the error either mean takes over: r / (1 + r), by a forest that only ever saw one row. */
static void share_taken(cop_forest *forest, const cop_row *x, size_t arm, double loss, double *share)
{
	double before[KINDS], after[KINDS];
	(void)means_of(forest, x, arm, before);
	cop_forest_learn(forest, x, arm, loss, true);
	(void)means_of(forest, x, arm, after);
	for (int kind = 0; kind < KINDS; kind++)
		share[kind] = (after[kind] - before[kind]) / (loss - 0.5 - before[kind]);
}

static constants read_off(void)
{
	const float one[2] = { 0.5f, 1.0f };
	const cop_row x = { .d = 2, .dense = one };
	const double later = 300.0;
	cop_forest *forest = forest_of(2, 0, 1, 1, 3);
	constants c;
	double share[KINDS];
	share_taken(forest, &x, 0, 1.0, share);
	assert_true(fabs(share[QUICK] - share[STEADY]) < 1e-6);
	c.start = share[QUICK] / (1.0 - share[QUICK]);
	for (double n = 1.0; n < later; n += 1.0)
		cop_forest_learn(forest, &x, 0, 0.0, false);
	share_taken(forest, &x, 0, 1.0, share);
	for (int kind = 0; kind < KINDS; kind++)
		c.decay[kind] = (c.start / (share[kind] / (1.0 - share[kind])) - 1.0) / later;
	cop_forest_free(forest);
	assert_true(c.start > 0.0 && c.decay[QUICK] > 0.0 && c.decay[STEADY] > 5.0 * c.decay[QUICK]);
	return c;
}

/* No two values of any feature come by: nothing to divide between. */
static void test_undivided_forest_equals_formula(void **state)
{
	(void)state;
	static const size_t trees[] = { 1, 3, 16 };
	const float one[4] = { 0.5f, -1.0f, 0.0f, 1.0f };
	const cop_row x = { .d = 4, .dense = one };
	constants c = read_off();
	printf("START %.6g, DECAY %.6g and %.6g\n", c.start, c.decay[QUICK], c.decay[STEADY]);
	for (size_t t = 0; t < 3; t++) {
		cop_forest *forest = forest_of(4, 0, 3, trees[t], 5);
		double w[3][KINDS] = { { 0 } }, n[3] = { 0 };
		cop_stacking stack;
		cop_rng rng;
		cop_rng_init(&rng, FOREST_SEED, t);
		cop_stacking_begin(&stack, KINDS);
		for (size_t i = 0; i < 3000; i++) {
			float doubt[3];
			size_t arm = (size_t)cop_rng_below(&rng, i < 100 ? 2 : 3);
			double y = cop_rng_unit(&rng);
			for (size_t k = 0; k < 3; k++) {
				double mean[KINDS], told = means_of(forest, &x, k, mean);
				cop_forest_doubt(forest, doubt);
				double want = 0.5;
				for (int kind = 0; kind < KINDS; kind++) {
					assert_true(fabs(mean[kind] - w[k][kind]) < 1e-5);
					want += stack.weight[kind] * w[k][kind];
				}
				assert_true(fabs(told - want) < 1e-4);
				assert_true(fabs((double)doubt[k] - sqrt(1.0 / (1.0 + n[k]))) < 1e-4);
			}
			cop_forest_learn(forest, &x, arm, y, i % 2 == 0);
			cop_stacking_settle(&stack, w[arm], y - 0.5);
			for (int kind = 0; kind < KINDS; kind++) {
				double r = rate(&c, kind, n[arm]);
				w[arm][kind] += r * (y - 0.5 - w[arm][kind]) / (1.0 + r);
			}
			n[arm] += 1.0;
		}
		assert_int_equal(cop_forest_leaves(forest), trees[t]);
		cop_forest_free(forest);
	}
}

/* One tree tells its n by its doubt, so the formulas can be held against it, whatever divided before; what leaves have
 * right after they divided is test_forest_rows' matter. */
static void test_one_tree_equals_formula_between_divisions(void **state)
{
	(void)state;
	constants c = read_off();
	cop_forest *forest = forest_of(FOREST_D, 0, 2, 1, 8);
	forest_events e;
	size_t divided = 0;
	forest_begin(&e, forest_corner, 2, 10);
	for (size_t i = 0; i < 4000; i++) {
		double before[2][KINDS], after[2][KINDS];
		float doubt[2], doubt_after[2];
		forest_draw(&e);
		size_t leaves = cop_forest_leaves(forest), k = e.arm;
		(void)means_of(forest, &e.x, 1 - k, before[1]);
		(void)means_of(forest, &e.x, k, before[0]);
		cop_forest_doubt(forest, doubt);
		cop_forest_learn(forest, &e.x, k, e.y, true);
		if (cop_forest_leaves(forest) != leaves) {
			divided++;
			continue;
		}
		(void)means_of(forest, &e.x, 1 - k, after[1]);
		(void)means_of(forest, &e.x, k, after[0]);
		cop_forest_doubt(forest, doubt_after);
		double n = 1.0 / ((double)doubt[k] * (double)doubt[k]) - 1.0;
		for (int kind = 0; kind < KINDS; kind++) {
			double r = rate(&c, kind, n), was = before[0][kind];
			assert_true(fabs(after[0][kind] - was - r * (e.y - 0.5 - was) / (1.0 + r)) < 1e-5);
			assert_true(after[1][kind] == before[1][kind]);
		}
		double now = 1.0 / ((double)doubt_after[k] * (double)doubt_after[k]) - 1.0;
		assert_true(fabs(now - (n + 1.0)) < 1e-4 * (n + 1.0));
		assert_true(doubt_after[1 - k] == doubt[1 - k]);
	}
	printf("%zu events with divisions\n", divided);
	assert_true(divided > 5);
	cop_forest_free(forest);
}

/* With one tree an event moves every row of its leaf by as much, and no other row. */
static void test_one_tree_moves_its_leaf_alone(void **state)
{
	(void)state;
	cop_forest *forest = forest_of(FOREST_D, 0, 2, 1, 9);
	forest_events e, others;
	size_t moved = 0, stayed = 0;
	forest_begin(&e, forest_corner, 2, 11);
	(void)forest_run(forest, &e, 2000);
	forest_begin(&others, forest_corner, 2, 12);
	for (size_t i = 0; i < 2000; i++) {
		double at[KINDS], other[KINDS], at_after[KINDS], other_after[KINDS];
		forest_draw(&e);
		forest_draw(&others);
		(void)means_of(forest, &e.x, e.arm, at);
		(void)means_of(forest, &others.x, e.arm, other);
		cop_forest_learn(forest, &e.x, e.arm, 0.4, false);
		(void)means_of(forest, &e.x, e.arm, at_after);
		(void)means_of(forest, &others.x, e.arm, other_after);
		double step = at_after[QUICK] - at[QUICK], gap = other_after[QUICK] - other[QUICK];
		assert_true(gap == 0.0 || fabs(gap - step) < 1e-6);
		moved += gap != 0.0;
		stayed += gap == 0.0;
	}
	assert_true(moved > 3 && stayed > 1000);
	cop_forest_free(forest);
}

/* Many trees: the share of the error taken over is r / (1 + r) for some mean r, START at most. */
static void test_learn_takes_over_part_of_the_error(void **state)
{
	(void)state;
	constants c = read_off();
	const double most = c.start / (1.0 + c.start);
	cop_forest *forest = forest_of(FOREST_D, 0, 4, 16, 2);
	forest_events e;
	forest_begin(&e, forest_noisy_threshold, 4, 13);
	for (size_t i = 0; i < 3000; i++) {
		double before[KINDS], after[KINDS];
		float doubt[4];
		forest_draw(&e);
		assert_true(isfinite(means_of(forest, &e.x, e.arm, before)));
		cop_forest_doubt(forest, doubt);
		for (size_t k = 0; k < 4; k++)
			assert_true(doubt[k] > 0.0f && doubt[k] <= 1.0f);
		size_t leaves = cop_forest_leaves(forest);
		cop_forest_learn(forest, &e.x, e.arm, e.y, true);
		if (cop_forest_leaves(forest) != leaves)
			continue; /* what was one leaf moves by what its rows say */
		(void)means_of(forest, &e.x, e.arm, after);
		for (int kind = 0; kind < KINDS; kind++) {
			double error = e.y - 0.5 - before[kind];
			double share = (after[kind] - before[kind]) / error;
			if (fabs(error) > 1e-2)
				assert_true(share > 0.0 && share < most + 1e-4);
		}
	}
	cop_forest_free(forest);
}

/* Arm 1 is only ever played where feature 0 is above 0: below, it stays in doubt. */
static void test_doubt_is_greater_where_an_arm_was_seldom_played(void **state)
{
	(void)state;
	cop_forest *forest = forest_of(FOREST_D, 0, 2, 16, 4);
	forest_events e;
	double played = 0.0, unplayed = 0.0;
	forest_begin(&e, forest_threshold, 2, 14);
	for (size_t i = 0; i < 6000; i++) {
		forest_draw(&e);
		e.arm = e.row.dense[0] > 0.0f && e.arm == 1 ? 1 : 0;
		double y = e.row.dense[0] > 0.0f ? 1.0 : 0.0;
		cop_forest_learn(forest, &e.x, e.arm, y, false);
	}
	for (size_t i = 0; i < 2000; i++) {
		float loss[2], doubt[2];
		forest_draw(&e);
		cop_forest_predict(forest, &e.x, loss);
		cop_forest_doubt(forest, doubt);
		*(e.row.dense[0] > 0.0f ? &played : &unplayed) += (double)doubt[1];
	}
	printf("mean doubt (of the half of rows): %.3f played, %.3f never\n", played / 1000.0, unplayed / 1000.0);
	assert_true(unplayed > 1.5 * played);
	cop_forest_free(forest);
}

/* ---- learning ---- */

typedef struct problem {
	const char *name;
	double (*loss)(const float *, size_t, cop_rng *);
	double most; /* mean squared error of events 4,000 to 8,000; the best constant's is about 0.25 */
} problem;

static void test_what_no_line_tells_is_learned(void **state)
{
	(void)state;
	static const problem problems[] = { { "threshold", forest_threshold, 0.06 }, { "band", forest_band, 0.12 },
		{ "corner", forest_corner, 0.08 }, { "xor", forest_xor, 0.17 } };
	printf("seed %u\n", FOREST_SEED);
	for (size_t p = 0; p < sizeof problems / sizeof *problems; p++)
		for (uint64_t seed = 1; seed < 4; seed++) {
			cop_forest *forest = forest_of(FOREST_D, 0, 2, 16, seed);
			forest_events e;
			forest_begin(&e, problems[p].loss, 2, 20 + seed);
			double early = forest_run(forest, &e, 400);
			(void)forest_run(forest, &e, 3600);
			double late = forest_run(forest, &e, 4000);
			printf("%s: %.3f, then %.3f\n", problems[p].name, early, late);
			assert_true(late < problems[p].most && late < early);
			cop_forest_free(forest);
		}
}

/* A clear signal divides every tree within 300 events. */
static void test_clear_signal_divides_soon(void **state)
{
	(void)state;
	double sum = 0.0;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		cop_forest *forest = forest_of(FOREST_D, 0, 1, 16, seed);
		forest_events e;
		forest_begin(&e, forest_threshold, 1, 30 + seed);
		(void)forest_run(forest, &e, 300);
		assert_true(cop_forest_leaves(forest) >= 2 * 16);
		sum += forest_run(forest, &e, 300);
		cop_forest_free(forest);
	}
	printf("mean squared error of events 300 to 600: %.4f\n", sum / 10.0);
	assert_true(sum / 10.0 < 0.08);
}

/* Pure noise: each tree divides until it has 16 leaves, and hardly any beyond, however long it goes on, but for at most
 * one forest of 20 that takes the noise for a signal (the bound of its bet). */
static void test_noise_grows_no_tree(void **state)
{
	(void)state;
	enum { SEEDS = 20, TREES = 48, EVENTS = 20000, FREE = 15 };
	static const size_t arms[] = { 1, 2, 8 };
	size_t deceived = 0;
	for (size_t a = 0; a < 3; a++) {
		size_t splits = 0, most = 0;
		double error = 0.0;
		for (uint64_t seed = 1; seed <= SEEDS; seed++) {
			cop_forest *forest = forest_of(FOREST_D, 0, arms[a], TREES, seed);
			forest_events e;
			forest_begin(&e, forest_noise, arms[a], 50 + seed);
			(void)forest_run(forest, &e, EVENTS - 1000);
			error += forest_run(forest, &e, 1000) / SEEDS;
			size_t grown = cop_forest_leaves(forest) - TREES;
			splits += grown;
			most = grown > most ? grown : most;
			deceived += grown > TREES * FREE + 3;
			cop_forest_free(forest);
		}
		printf("noise, %zu arms: %.2f splits a tree, %.2f at most, mean squared error %.4f (constant: "
		       "0.2500)\n",
		        arms[a], (double)splits / (SEEDS * TREES), (double)most / TREES, error);
		assert_true(error < 0.27);
	}
	assert_true(deceived <= 3 * SEEDS / 20);
}

/* Nothing to take from the error: no division at all. */
static void test_losses_all_the_same_never_divide(void **state)
{
	(void)state;
	cop_forest *forest = forest_of(FOREST_D, 0, 4, 8, 1);
	forest_events e;
	forest_begin(&e, forest_same, 4, 60);
	(void)forest_run(forest, &e, 5000);
	assert_int_equal(cop_forest_leaves(forest), 8);
	assert_true(forest_run(forest, &e, 100) < 1e-4);
	cop_forest_free(forest);
}

static double flipped_band(const float *x, size_t arm, cop_rng *rng) { return 1.0 - forest_band(x, arm, rng); }

/* No tree has a leaf left, and then the problem turns over. */
static void test_full_trees_go_on_learning(void **state)
{
	(void)state;
	cop_forest *forest = forest_of(FOREST_D, 0, 2, 4, 1);
	forest_events e;
	forest_begin(&e, forest_band, 2, 70);
	(void)forest_run(forest, &e, 5000);
	e.loss = forest_noise; /* of which leaves are made once contexts have told something */
	size_t leaves = 0, events = 0;
	for (; leaves != cop_forest_leaves(forest) && events < 400000; events += 5000) {
		leaves = cop_forest_leaves(forest);
		(void)forest_run(forest, &e, 5000);
	}
	assert_true(events < 400000 && leaves > 4 * 500);
	e.loss = forest_band;
	(void)forest_run(forest, &e, 20000);
	double band = forest_run(forest, &e, 4000);
	e.loss = flipped_band;
	double turned = forest_run(forest, &e, 500);
	(void)forest_run(forest, &e, 20000);
	double after = forest_run(forest, &e, 4000);
	printf("full: %zu leaves; band %.3f, turned over %.3f, %.3f\n", leaves, band, turned, after);
	assert_true(band < 0.22 && turned > 0.25 && after < 0.22);
	cop_forest_free(forest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_undivided_forest_equals_formula),
		cmocka_unit_test(test_one_tree_equals_formula_between_divisions),
		cmocka_unit_test(test_one_tree_moves_its_leaf_alone),
		cmocka_unit_test(test_learn_takes_over_part_of_the_error),
		cmocka_unit_test(test_doubt_is_greater_where_an_arm_was_seldom_played),
		cmocka_unit_test(test_what_no_line_tells_is_learned),
		cmocka_unit_test(test_clear_signal_divides_soon),
		cmocka_unit_test(test_noise_grows_no_tree),
		cmocka_unit_test(test_losses_all_the_same_never_divide),
		cmocka_unit_test(test_full_trees_go_on_learning),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
