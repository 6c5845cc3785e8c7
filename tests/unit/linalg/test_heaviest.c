/* heaviest: every variant against a full sort, over rows of several blocks, dense and sparse, with equal sizes. */
#include "support.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "linalg/heaviest.h"

#define D      200
#define STRIDE 12

static int descending(const void *a, const void *b)
{
	float x = *(const float *)a;
	float y = *(const float *)b;
	return (x < y) - (x > y);
}

static void draw(cop_rng *rng, bool sparse, cop_row *x, float *dense, uint32_t *index, float *value)
{
	size_t d = 1 + (size_t)cop_rng_below(rng, D);
	*x = (cop_row){ .d = d, .dense = sparse ? NULL : dense, .index = index, .value = value };
	for (size_t i = 0; i < d; i++) {
		dense[i] = (float)cop_rng_below(rng, 40) / 8.0F - 2.5F;
		if (sparse && cop_rng_below(rng, 3) != 0) {
			index[x->nnz] = (uint32_t)i;
			value[x->nnz++] = dense[i];
		}
	}
}

/* After the whole row: the sizes are those of a sort, and each of them has its hits. */
static void check(const cop_heaviest *h, const cop_row *x, const uint8_t *hits)
{
	size_t entries = cop_row_entries(x);
	for (size_t c = 0; c < COP_HEAVIEST_COLUMNS; c++) {
		float size[D + COP_HEAVIEST_MOST] = { 0 };
		for (size_t i = 0; i < entries; i++)
			size[i] = fabsf(
			        h->w[cop_row_index(x, i) * h->stride + (size_t)h->column[c]] * cop_row_value(x, i));
		float last = h->size[COP_HEAVIEST_MOST - 1][c];
		for (size_t i = 0; i < entries; i++)
			assert_true(size[i] < last || (hits[i] >> c & 1) != 0);
		qsort(size, entries, sizeof *size, descending);
		for (size_t k = 0; k < COP_HEAVIEST_MOST; k++)
			assert_true(h->size[k][c] == (k < entries ? size[k] : 0.0F));
	}
}

static void run(cop_heaviest_block *block, cop_rng *rng)
{
	static float w[D * STRIDE];
	float dense[D], value[D];
	uint32_t index[D];
	uint8_t hits[D];
	cop_row x;
	for (unsigned n = 0; n < 200; n++) {
		cop_heaviest h = { .w = w, .stride = STRIDE };
		draw(rng, n % 2 != 0, &x, dense, index, value);
		for (size_t i = 0; i < D * STRIDE; i++)
			w[i] = (float)cop_rng_below(rng, 9) - 4.0F;
		for (size_t c = 0; c < COP_HEAVIEST_COLUMNS; c++)
			h.column[c] = (int32_t)cop_rng_below(rng, STRIDE);
		for (size_t first = 0; first < cop_row_entries(&x); first += COP_HEAVIEST_BLOCK) {
			size_t left = cop_row_entries(&x) - first;
			block(&h, &x, first, left < COP_HEAVIEST_BLOCK ? left : COP_HEAVIEST_BLOCK, hits + first);
		}
		check(&h, &x, hits);
	}
}

static void test_heaviest_are_those_of_a_sort(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, 5, 0);
	printf("seed 5\n");
	run(cop_heaviest_plain(), &rng);
	run(cop_heaviest_best(), &rng);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_heaviest_are_those_of_a_sort) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
