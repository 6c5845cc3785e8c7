/* The loss of "all right" changes by side x weight with each row that goes left instead. So values are gone through in
 * ascending order, and the loss is looked at between any two that differ. A sparse feature's zeros are never visited:
 * negative values come from below, positive ones from above, where the loss of "all left" changes the other way. */
#include "train/axis_split.h"

#include <math.h>

#include "base/mem.h"
#include "train/ordered.h"

#define BLOCK ((size_t)8) /* features of dense rows that are read together */

typedef struct search {
	const double *turn; /* side x weight of each row */
	double all_right, all_left;
	cop_axis_split best;
} search;

/* `lower`: the split comes earlier in the feature's order, so a tie within the feature goes to it. */
static void consider(search *s, double loss, size_t feature, uint32_t lo, uint32_t hi, bool lower)
{
	if (loss > s->best.loss)
		return;
	if (loss == s->best.loss) {
		if (!isfinite(s->best.threshold) || feature > s->best.feature)
			return;
		if (feature == s->best.feature && !lower)
			return;
	}
	float threshold = cop_ordered_between(cop_ordered_value(lo), cop_ordered_value(hi));
	s->best = (cop_axis_split){ .feature = feature, .threshold = threshold, .loss = loss };
}

/* Splits between the values of count sorted pairs, all other rows being greater. */
static double from_below(search *s, size_t feature, size_t count, const uint64_t *pair)
{
	double loss = s->all_right;
	for (size_t i = 0; i < count; i++) {
		uint32_t key = cop_ordered_key_of(pair[i]);
		uint32_t before = i > 0 ? cop_ordered_key_of(pair[i - 1]) : key;
		if (before != key)
			consider(s, loss, feature, before, key, false);
		loss += s->turn[cop_ordered_place_of(pair[i])];
	}
	return loss;
}

/* The same, all other rows being less. */
static double from_above(search *s, size_t feature, size_t count, const uint64_t *pair)
{
	double loss = s->all_left;
	for (size_t i = count; i-- > 0;) {
		uint32_t key = cop_ordered_key_of(pair[i]);
		uint32_t after = i + 1 < count ? cop_ordered_key_of(pair[i + 1]) : key;
		if (after != key)
			consider(s, loss, feature, key, after, true);
		loss -= s->turn[cop_ordered_place_of(pair[i])];
	}
	return loss;
}

static void search_sparse(search *s, size_t feature, size_t n, size_t count, const uint64_t *pair)
{
	if (count == n) {
		(void)from_below(s, feature, n, pair);
		return;
	}
	size_t below = 0;
	while (below < count && cop_ordered_key_of(pair[below]) < COP_ORDERED_ZERO)
		below++;
	double loss = from_below(s, feature, below, pair);
	if (below > 0)
		consider(s, loss, feature, cop_ordered_key_of(pair[below - 1]), COP_ORDERED_ZERO, false);
	if (below == count)
		return;
	search above = *s;
	above.best = (cop_axis_split){ .feature = SIZE_MAX, .threshold = 0.0F, .loss = HUGE_VAL };
	loss = from_above(&above, feature, count - below, pair + below);
	consider(&above, loss, feature, COP_ORDERED_ZERO, cop_ordered_key_of(pair[below]), true);
	bool better = above.best.loss < s->best.loss;
	bool equal = above.best.loss == s->best.loss && isfinite(s->best.threshold) && feature < s->best.feature;
	if (better || equal)
		s->best = above.best;
}

static cop_err try_sparse(search *s, const cop_dataset *rows, size_t n, const uint32_t *row)
{
	cop_ordered_sparse sparse;
	cop_err err = cop_ordered_sparse_init(&sparse, rows->d, cop_ordered_entries(rows, n, row));
	uint64_t *spare = cop_mem_alloc(n, sizeof *spare);
	if (err == COP_OK && spare == NULL)
		err = COP_ENOMEM;
	if (err == COP_OK) {
		cop_ordered_sparse_fill(&sparse, rows, n, row);
		for (size_t f = 0; f < sparse.features; f++) {
			size_t count = sparse.start[f + 1] - sparse.start[f];
			search_sparse(s, sparse.feature[f], n, count,
			        cop_ordered_sort(count, sparse.pair + sparse.start[f], spare));
		}
	}
	cop_mem_free(spare);
	cop_ordered_sparse_fini(&sparse);
	return err;
}

/* Keys of `count` features from `first` on: key[f * n + i]. */
static void read_block(
        const cop_dataset *rows, size_t n, const uint32_t *row, size_t first, size_t count, uint32_t *key)
{
	for (size_t i = 0; i < n; i++) {
		const float *x = rows->x + row[i] * rows->d + first;
		for (size_t f = 0; f < count; f++)
			key[f * n + i] = cop_ordered_key(x[f]);
	}
}

static cop_err try_dense(search *s, const cop_dataset *rows, size_t n, const uint32_t *row)
{
	size_t block = rows->d < BLOCK ? rows->d : BLOCK;
	uint32_t *key = cop_mem_alloc(n, block * sizeof *key);
	uint64_t *pair = cop_mem_alloc(n, sizeof *pair);
	uint64_t *spare = cop_mem_alloc(n, sizeof *spare);
	cop_err err = key == NULL || pair == NULL || spare == NULL ? COP_ENOMEM : COP_OK;
	for (size_t j = 0; err == COP_OK && j < rows->d; j++) {
		if (j % block == 0)
			read_block(rows, n, row, j, rows->d - j < block ? rows->d - j : block, key);
		for (size_t i = 0; i < n; i++)
			pair[i] = cop_ordered_pair(key[j % block * n + i], i);
		(void)from_below(s, j, n, cop_ordered_sort(n, pair, spare));
	}
	cop_mem_free(key);
	cop_mem_free(pair);
	cop_mem_free(spare);
	return err;
}

static void take_sides(search *s, size_t n, const int8_t *side, const float *weight, double *turn)
{
	s->turn = turn;
	for (size_t i = 0; i < n; i++) {
		double w = weight != NULL ? (double)weight[i] : 1.0;
		turn[i] = side[i] > 0 ? w : -w;
		*(side[i] > 0 ? &s->all_left : &s->all_right) += w;
	}
	bool right = s->all_right <= s->all_left;
	s->best.threshold = right ? -INFINITY : INFINITY;
	s->best.loss = right ? s->all_right : s->all_left;
}

cop_err cop_axis_split_find(const cop_dataset *rows, size_t n, const uint32_t *row, const int8_t *side,
        const float *weight, cop_axis_split *out)
{
	search s = { 0 };
	double *turn = cop_mem_alloc(n, sizeof *turn);
	if (turn == NULL)
		return COP_ENOMEM;
	take_sides(&s, n, side, weight, turn);
	cop_err err = COP_OK;
	if (s.best.loss > 0)
		err = rows->sparse ? try_sparse(&s, rows, n, row) : try_dense(&s, rows, n, row);
	cop_mem_free(turn);
	if (err == COP_OK)
		*out = s.best;
	return err;
}
