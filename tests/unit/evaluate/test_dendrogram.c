/* Dendrogram purity pair by pair. */
#include "support.h"

#include <math.h>
#include <stdbool.h>

#include "base/rng.h"
#include "evaluate/dendrogram.h"

#define SEED    321U
#define NODES   9
#define POINTS  40
#define CLASSES 3

static bool under(const uint32_t *parent, uint32_t node, uint32_t top)
{
	while (node > top)
		node = parent[node];
	return node == top;
}

static double naive(const uint32_t *parent, size_t n, const uint32_t *place, const uint32_t *label)
{
	double sum = 0.0, count = 0.0;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < i; j++) {
			if (label[i] != label[j])
				continue;
			uint32_t top = place[i];
			while (!under(parent, place[j], top))
				top = parent[top];
			double same = 0.0, all = 0.0;
			for (size_t k = 0; k < n; k++)
				if (under(parent, place[k], top)) {
					all += 1.0;
					same += label[k] == label[i];
				}
			sum += same / all;
			count += 1.0;
		}
	return sum / count;
}

static void test_purity_is_the_mean_over_pairs(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, SEED, 1);
	for (size_t trial = 0; trial < 50; trial++) {
		uint32_t parent[NODES] = { 0 }, place[POINTS], label[POINTS];
		double purity;
		for (size_t t = 1; t < NODES; t++)
			parent[t] = (uint32_t)cop_rng_below(&rng, t);
		for (size_t i = 0; i < POINTS; i++) {
			place[i] = (uint32_t)cop_rng_below(&rng, NODES); /* inner nodes, too */
			label[i] = (uint32_t)cop_rng_below(&rng, CLASSES);
		}
		assert_int_equal(cop_dendrogram_purity(NODES, parent, POINTS, place, label, CLASSES, &purity), COP_OK);
		assert_true(fabs(purity - naive(parent, POINTS, place, label)) < 1e-12);
	}
}

static void test_purity_of_pure_leaves_and_of_one_heap(void **state)
{
	(void)state;
	const uint32_t parent[3] = { 0, 0, 0 }, apart[4] = { 1, 1, 2, 2 }, heap[4] = { 0, 0, 0, 0 };
	const uint32_t label[4] = { 0, 0, 1, 1 }, alone[4] = { 0, 1, 2, 3 };
	double purity;
	assert_int_equal(cop_dendrogram_purity(3, parent, 4, apart, label, 2, &purity), COP_OK);
	assert_true(purity == 1.0);
	assert_int_equal(cop_dendrogram_purity(3, parent, 4, heap, label, 2, &purity), COP_OK);
	assert_true(purity == 0.5);
	assert_int_equal(cop_dendrogram_purity(3, parent, 4, heap, alone, 4, &purity), COP_OK);
	assert_true(isnan(purity));
}

static void test_wrong_ranges_are_refused_and_memory_is_reported(void **state)
{
	(void)state;
	const uint32_t parent[2] = { 0, 0 }, cycle[2] = { 0, 1 }, place[2] = { 0, 1 }, label[2] = { 0, 1 };
	double purity;
	assert_int_equal(cop_dendrogram_purity(0, parent, 2, place, label, 2, &purity), COP_EINVAL);
	assert_int_equal(cop_dendrogram_purity(2, cycle, 2, place, label, 2, &purity), COP_EINVAL);
	assert_int_equal(cop_dendrogram_purity(1, parent, 2, place, label, 2, &purity), COP_EINVAL);
	assert_int_equal(cop_dendrogram_purity(2, parent, 2, place, label, 1, &purity), COP_EINVAL);
	assert_int_equal(cop_dendrogram_purity(2, parent, 2, place, label, 0, &purity), COP_EINVAL);
	for (unsigned long n = 1; n <= 2; n++) {
		cop_test_alloc_fail(n, 1);
		assert_int_equal(cop_dendrogram_purity(2, parent, 2, place, label, 2, &purity), COP_ENOMEM);
		cop_test_alloc_fail(0, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_purity_is_the_mean_over_pairs),
		cmocka_unit_test(test_purity_of_pure_leaves_and_of_one_heap),
		cmocka_unit_test(test_wrong_ranges_are_refused_and_memory_is_reported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
