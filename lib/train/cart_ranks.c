/* Columns are ranked in blocks, so that the rows of a matrix are read a cache line at a time; a block is a task. */
#include "train/cart_ranks.h"

#include "base/mem.h"
#include "train/ordered.h"

#define BLOCK ((size_t)4)

typedef struct ranking {
	const cop_dataset *rows;
	size_t n;
	const uint32_t *row; /* of each place; NULL: the same number */
	cop_cart_column *column;
	size_t block;
	struct {
		uint32_t *key;
		uint64_t *pair, *spare;
	} * worker;
} ranking;

static void store_rank(const cop_cart_column *column, size_t place, uint32_t rank)
{
	if (column->width == 1)
		((uint8_t *)column->rank)[place] = (uint8_t)rank;
	else if (column->width == 2)
		((uint16_t *)column->rank)[place] = (uint16_t)rank;
	else
		((uint32_t *)column->rank)[place] = rank;
}

static cop_err rank_column(cop_cart_column *column, size_t n, const uint64_t *pair)
{
	column->values = 1;
	for (size_t i = 1; i < n; i++)
		column->values += cop_ordered_key_of(pair[i]) != cop_ordered_key_of(pair[i - 1]);
	if (column->values == 1)
		return COP_OK;
	column->width = column->values <= 1U << 8 ? 1 : column->values <= 1U << 16 ? 2 : 4;
	column->rank = cop_mem_alloc(n, column->width);
	if (column->rank == NULL)
		return COP_ENOMEM;
	uint32_t rank = 0;
	for (size_t i = 0; i < n; i++) {
		rank += i > 0 && cop_ordered_key_of(pair[i]) != cop_ordered_key_of(pair[i - 1]);
		store_rank(column, cop_ordered_place_of(pair[i]), rank);
	}
	return COP_OK;
}

static cop_err rank_block(void *context, size_t task, unsigned worker)
{
	ranking *r = context;
	const cop_dataset *rows = r->rows;
	size_t n = r->n, first = task * r->block;
	size_t count = rows->d - first < r->block ? rows->d - first : r->block;
	uint32_t *key = r->worker[worker].key;
	for (size_t i = 0; i < n; i++) {
		const float *x = rows->x + (r->row != NULL ? r->row[i] : i) * rows->d + first;
		for (size_t f = 0; f < count; f++)
			key[f * n + i] = cop_ordered_key(x[f]);
	}
	cop_err err = COP_OK;
	for (size_t f = 0; err == COP_OK && f < count; f++) {
		uint64_t *pair = r->worker[worker].pair;
		for (size_t i = 0; i < n; i++)
			pair[i] = cop_ordered_pair(key[f * n + i], i);
		err = rank_column(&r->column[first + f], n, cop_ordered_sort(n, pair, r->worker[worker].spare));
	}
	return err;
}

cop_err cop_cart_ranks_init(
        cop_cart_ranks *ranks, const cop_dataset *rows, size_t n, const uint32_t *row, cop_pool *pool)
{
	size_t d = rows->d;
	unsigned workers = cop_pool_threads(pool);
	ranking r = { .rows = rows, .n = n, .row = row, .block = d < BLOCK ? d : BLOCK };
	r.column = cop_mem_alloc(d, sizeof *r.column);
	*ranks = (cop_cart_ranks){ .d = d, .column = r.column };
	r.worker = cop_mem_alloc(workers, sizeof *r.worker);
	cop_err err = r.column == NULL || r.worker == NULL ? COP_ENOMEM : COP_OK;
	for (unsigned w = 0; err == COP_OK && w < workers; w++) {
		r.worker[w].key = cop_mem_alloc(n, r.block * sizeof(uint32_t));
		r.worker[w].pair = cop_mem_alloc(n, sizeof(uint64_t));
		r.worker[w].spare = cop_mem_alloc(n, sizeof(uint64_t));
		if (r.worker[w].key == NULL || r.worker[w].pair == NULL || r.worker[w].spare == NULL)
			err = COP_ENOMEM;
	}
	if (err == COP_OK)
		err = cop_pool_run(pool, (d + r.block - 1) / r.block, rank_block, &r);
	for (unsigned w = 0; r.worker != NULL && w < workers; w++) {
		cop_mem_free(r.worker[w].key);
		cop_mem_free(r.worker[w].pair);
		cop_mem_free(r.worker[w].spare);
	}
	cop_mem_free(r.worker);
	return err;
}

void cop_cart_ranks_fini(cop_cart_ranks *ranks)
{
	for (size_t j = 0; ranks->column != NULL && j < ranks->d; j++)
		cop_mem_free(ranks->column[j].rank);
	cop_mem_free(ranks->column);
	*ranks = (cop_cart_ranks){ 0 };
}

static cop_err copy_column(const cop_cart_column *from, size_t n, const uint32_t *row, cop_cart_column *to)
{
	*to = (cop_cart_column){ NULL, from->width, from->values };
	if (from->rank == NULL)
		return COP_OK;
	to->rank = cop_mem_alloc(n, from->width);
	if (to->rank == NULL)
		return COP_ENOMEM;
	if (from->width == 1) {
		for (size_t i = 0; i < n; i++)
			((uint8_t *)to->rank)[i] = ((const uint8_t *)from->rank)[row[i]];
	} else if (from->width == 2) {
		for (size_t i = 0; i < n; i++)
			((uint16_t *)to->rank)[i] = ((const uint16_t *)from->rank)[row[i]];
	} else {
		for (size_t i = 0; i < n; i++)
			((uint32_t *)to->rank)[i] = ((const uint32_t *)from->rank)[row[i]];
	}
	return COP_OK;
}

cop_err cop_cart_ranks_copy(const cop_cart_ranks *all, size_t n, const uint32_t *row, cop_cart_ranks *out)
{
	*out = (cop_cart_ranks){ .d = all->d, .column = cop_mem_alloc(all->d, sizeof *out->column) };
	cop_err err = out->column != NULL ? COP_OK : COP_ENOMEM;
	for (size_t j = 0; err == COP_OK && j < all->d; j++)
		err = copy_column(&all->column[j], n, row, &out->column[j]);
	return err;
}
