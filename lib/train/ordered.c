/* Sorting goes digit by digit from the lowest, eight bits each, and skips digits in which all keys agree: values of
 * small integers, ranks and repeated values need one or two rounds. Few pairs are sorted by insertion. */
#include "train/ordered.h"

#include "base/mem.h"

#define FEW    48
#define DIGITS 256

float cop_ordered_between(float lo, float hi)
{
	float middle = (float)((double)lo + ((double)hi - (double)lo) / 2);
	return middle > lo && middle <= hi ? middle : hi;
}

static void sort_few(size_t n, uint64_t *pair)
{
	for (size_t i = 1; i < n; i++) {
		uint64_t moved = pair[i];
		size_t at = i;
		for (; at > 0 && cop_ordered_key_of(pair[at - 1]) > cop_ordered_key_of(moved); at--)
			pair[at] = pair[at - 1];
		pair[at] = moved;
	}
}

static void one_round(size_t n, unsigned shift, const uint64_t *from, uint64_t *to)
{
	size_t at[DIGITS] = { 0 };
	for (size_t i = 0; i < n; i++)
		at[(from[i] >> shift) % DIGITS]++;
	size_t sum = 0;
	for (size_t digit = 0; digit < DIGITS; digit++) {
		size_t count = at[digit];
		at[digit] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		to[at[(from[i] >> shift) % DIGITS]++] = from[i];
}

uint64_t *cop_ordered_sort(size_t n, uint64_t *pair, uint64_t *spare)
{
	if (n < FEW) {
		sort_few(n, pair);
		return pair;
	}
	uint64_t differ = 0;
	for (size_t i = 1; i < n; i++)
		differ |= pair[i] ^ pair[0];
	for (unsigned shift = 32; shift < 64; shift += 8) {
		if ((differ >> shift) % DIGITS == 0)
			continue;
		one_round(n, shift, pair, spare);
		uint64_t *swap = pair;
		pair = spare;
		spare = swap;
	}
	return pair;
}

size_t cop_ordered_entries(const cop_dataset *rows, size_t n, const uint32_t *row)
{
	size_t entries = 0;
	for (size_t i = 0; i < n; i++)
		entries += rows->start[row[i] + (size_t)1] - rows->start[row[i]];
	return entries;
}

cop_err cop_ordered_sparse_init(cop_ordered_sparse *sparse, size_t d, size_t entries)
{
	*sparse = (cop_ordered_sparse){ 0 };
	size_t most = entries < d ? entries : d; /* features with a pair */
	sparse->feature = cop_mem_alloc(most, sizeof *sparse->feature);
	sparse->start = cop_mem_alloc(most + 1, sizeof *sparse->start);
	sparse->pair = cop_mem_alloc(entries, sizeof *sparse->pair);
	sparse->cursor = cop_mem_alloc(d, sizeof *sparse->cursor);
	if (sparse->feature == NULL || sparse->start == NULL || sparse->pair == NULL || sparse->cursor == NULL)
		return COP_ENOMEM;
	return COP_OK;
}

void cop_ordered_sparse_fini(cop_ordered_sparse *sparse)
{
	cop_mem_free(sparse->feature);
	cop_mem_free(sparse->start);
	cop_mem_free(sparse->pair);
	cop_mem_free(sparse->cursor);
	*sparse = (cop_ordered_sparse){ 0 };
}

static void count_entries(cop_ordered_sparse *sparse, const cop_dataset *rows, size_t n, const uint32_t *row)
{
	sparse->features = 0;
	for (size_t i = 0; i < n; i++) {
		for (size_t e = rows->start[row[i]]; e < rows->start[row[i] + (size_t)1]; e++) {
			if (rows->value[e] != 0.0F && sparse->cursor[rows->index[e]]++ == 0)
				sparse->feature[sparse->features++] = rows->index[e];
		}
	}
}

void cop_ordered_sparse_fill(cop_ordered_sparse *sparse, const cop_dataset *rows, size_t n, const uint32_t *row)
{
	count_entries(sparse, rows, n, row);
	sparse->start[0] = 0;
	for (size_t f = 0; f < sparse->features; f++) {
		size_t count = sparse->cursor[sparse->feature[f]];
		sparse->cursor[sparse->feature[f]] = sparse->start[f];
		sparse->start[f + 1] = sparse->start[f] + count;
	}
	for (size_t i = 0; i < n; i++) {
		for (size_t e = rows->start[row[i]]; e < rows->start[row[i] + (size_t)1]; e++) {
			if (rows->value[e] != 0.0F)
				sparse->pair[sparse->cursor[rows->index[e]]++] =
				        cop_ordered_pair(cop_ordered_key(rows->value[e]), i);
		}
	}
	for (size_t f = 0; f < sparse->features; f++)
		sparse->cursor[sparse->feature[f]] = 0;
}
