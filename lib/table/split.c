/* Rows are shuffled and then put in order of their class, so that each class is a run in random order. Two parts: every
 * run gives the floor of its share, and the runs with the largest remainders one row more until the whole share is
 * reached. Folds: the runs are dealt out like cards, one run after the other. */
#include "table/split.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

/* Label above, place in the shuffled order below. */
typedef uint64_t keyed;

typedef struct run {
	size_t from, length;
	size_t take; /* rows for the second part */
	double remainder;
} run;

static int compare_keys(const void *a, const void *b)
{
	keyed x = *(const keyed *)a, y = *(const keyed *)b;
	return x < y ? -1 : x > y;
}

static int compare_rows(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

static int compare_remainders(const void *a, const void *b)
{
	const run *x = a, *y = b;
	if (x->remainder != y->remainder)
		return x->remainder > y->remainder ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

/* Places 0 to n - 1 of row in order of the rows' labels; caller frees with cop_mem_free. NULL: no memory. */
static keyed *by_label(size_t n, const uint32_t *row, const uint32_t *label)
{
	keyed *key = cop_mem_alloc(n, sizeof *key);
	if (key == NULL)
		return NULL;
	for (size_t i = 0; i < n; i++)
		key[i] = (label == NULL ? 0 : (keyed)label[row[i]] << 32) | i;
	if (label != NULL)
		qsort(key, n, sizeof *key, compare_keys);
	return key;
}

/* The runs of equal labels, run[0..count); caller frees with cop_mem_free. NULL: no memory. */
static run *find_runs(size_t n, const keyed *key, size_t *count)
{
	*count = 1;
	for (size_t i = 1; i < n; i++)
		*count += key[i] >> 32 != key[i - 1] >> 32;
	run *runs = cop_mem_alloc(*count, sizeof *runs);
	if (runs == NULL)
		return NULL;
	run *at = runs;
	for (size_t i = 0; i < n; i++) {
		if (i > 0 && key[i] >> 32 != key[i - 1] >> 32)
			(++at)->from = i;
		at->length++;
	}
	return runs;
}

/* Says how many rows each run gives, `wanted` of n in all. */
static void share_out(run *runs, size_t count, size_t wanted, double share)
{
	size_t given = 0;
	for (run *r = runs; r < runs + count; r++) {
		double exact = (double)r->length * share;
		r->take = (size_t)floor(exact);
		r->remainder = exact - floor(exact);
		given += r->take;
	}
	qsort(runs, count, sizeof *runs, compare_remainders);
	for (run *r = runs; given < wanted && r < runs + count; r++)
		if (r->take < r->length) {
			r->take++;
			given++;
		}
	for (run *r = runs + count; given > wanted && r-- > runs;) /* a share that rounds to all */
		if (r->take > 0) {
			r->take--;
			given--;
		}
}

/* The rows of the second part behind the others, both in the order they had. */
static void divide(size_t n, uint32_t *row, uint32_t *second, const keyed *key, const run *runs, size_t count)
{
	enum { FIRST, SECOND };
	for (size_t c = 0; c < count; c++)
		for (size_t i = 0; i < runs[c].take; i++)
			second[(uint32_t)key[runs[c].from + i]] = SECOND;
	size_t kept = 0, moved = 0;
	for (size_t i = 0; i < n; i++) { /* moved <= i: what is overwritten was looked at */
		uint32_t r = row[i];
		if (second[i] == SECOND)
			second[moved++] = r;
		else
			row[kept++] = r;
	}
	for (size_t i = 0; i < moved; i++)
		row[kept + i] = second[i];
}

cop_err cop_split_two(cop_rng *rng, size_t n, uint32_t *row, const uint32_t *label, double share, size_t *second_from)
{
	*second_from = n;
	if (n < 2 || n > UINT32_MAX || !(share > 0 && share < 1))
		return COP_EINVAL;
	size_t wanted = (size_t)((double)n * share + 0.5);
	wanted = wanted < 1 ? 1 : wanted > n - 1 ? n - 1 : wanted;
	cop_rng_shuffle(rng, n, row);
	size_t count = 0;
	uint32_t *second = cop_mem_alloc(n, sizeof *second);
	keyed *key = by_label(n, row, label);
	run *runs = key == NULL ? NULL : find_runs(n, key, &count);
	bool ok = second != NULL && runs != NULL;
	if (ok) {
		share_out(runs, count, wanted, share);
		divide(n, row, second, key, runs, count);
		*second_from = n - wanted;
	}
	cop_mem_free(runs);
	cop_mem_free(key);
	cop_mem_free(second);
	return ok ? COP_OK : COP_ENOMEM;
}

cop_err cop_split_folds(cop_rng *rng, size_t n, const uint32_t *label, size_t k, uint32_t *fold)
{
	if (k < 2 || k > n || n > UINT32_MAX)
		return COP_EINVAL;
	uint32_t *row = cop_mem_alloc(n, sizeof *row);
	if (row == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < n; i++)
		row[i] = (uint32_t)i;
	cop_rng_shuffle(rng, n, row);
	keyed *key = by_label(n, row, label);
	for (size_t i = 0; key != NULL && i < n; i++)
		fold[row[(uint32_t)key[i]]] = (uint32_t)(i % k);
	cop_err err = key != NULL ? COP_OK : COP_ENOMEM;
	cop_mem_free(key);
	cop_mem_free(row);
	return err;
}

cop_err cop_split_draw(cop_rng *rng, size_t n, size_t m, bool replace, uint32_t *row)
{
	if (n > UINT32_MAX || (m > 0 && n == 0) || (!replace && m > n))
		return COP_EINVAL;
	if (replace) {
		for (size_t i = 0; i < m; i++)
			row[i] = (uint32_t)cop_rng_below(rng, n);
		qsort(row, m, sizeof *row, compare_rows);
		return COP_OK;
	}
	for (size_t i = 0; m > 0; i++) /* each subset of m is equally likely (Knuth's algorithm S) */
		if (cop_rng_below(rng, n - i) < m) {
			*row++ = (uint32_t)i;
			m--;
		}
	return COP_OK;
}
