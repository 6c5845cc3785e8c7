/* heaviest: every variant against a full sort, over rows dense and sparse, with equal sizes. */
#include "support.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "linalg/top_terms.h"

#define D      200
#define STRIDE 12

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

typedef struct sized {
	float size;
	int32_t entry;
} sized;

static int heavier_first(const void *a, const void *b)
{
	const sized *x = a;
	const sized *y = b;
	return x->size != y->size ? (x->size < y->size) - (x->size > y->size)
	                          : (x->entry > y->entry) - (x->entry < y->entry);
}

/* Entries are those of a sort, but for what contributes nothing. */
static void check(const cop_top_terms *h, const cop_row *x)
{
	size_t entries = cop_row_entries(x);
	for (size_t c = 0; c < COP_TOP_TERMS_COLUMNS; c++) {
		sized all[D + COP_TOP_TERMS_MOST] = { { 0.0F, 0 } };
		for (size_t i = 0; i < entries; i++)
			all[i] = (sized){ fabsf(h->w[cop_row_index(x, i) * h->stride + (size_t)h->column[c]] *
				                  cop_row_value(x, i)),
				(int32_t)i };
		qsort(all, entries, sizeof *all, heavier_first);
		for (size_t k = 0; k < COP_TOP_TERMS_MOST; k++)
			assert_int_equal(h->entry[k][c], all[k].size > 0.0F ? all[k].entry : -1);
	}
}

static void run(cop_top_terms_find *find, cop_rng *rng)
{
	static float w[D * STRIDE];
	float dense[D], value[D];
	uint32_t index[D];
	cop_row x;
	for (unsigned n = 0; n < 200; n++) {
		cop_top_terms h = { .w = w, .stride = STRIDE };
		draw(rng, n % 2 != 0, &x, dense, index, value);
		for (size_t i = 0; i < D * STRIDE; i++)
			w[i] = (float)cop_rng_below(rng, 9) - 4.0F;
		for (size_t c = 0; c < COP_TOP_TERMS_COLUMNS; c++)
			h.column[c] = (int32_t)cop_rng_below(rng, STRIDE);
		find(&h, &x);
		check(&h, &x);
	}
}

static void test_heaviest_are_those_of_a_sort(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, 5, 0);
	printf("seed 5\n");
	run(cop_top_terms_plain(), &rng);
	run(cop_top_terms_best(), &rng);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_heaviest_are_those_of_a_sort) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
