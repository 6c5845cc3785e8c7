/* Columns are ranked in blocks, so that the rows of a matrix are read a cache line at a time; a block is a task. */
#include "train/cart_data.h"

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

/* The columns of n rows; *out even on error. */
static cop_err rank_columns(
        const cop_dataset *rows, size_t n, const uint32_t *row, cop_pool *pool, cop_cart_column **out)
{
	size_t d = rows->d;
	unsigned workers = cop_pool_threads(pool);
	ranking r = { .rows = rows, .n = n, .row = row, .block = d < BLOCK ? d : BLOCK };
	r.column = *out = cop_mem_alloc(d, sizeof *r.column);
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

static void free_columns(size_t d, cop_cart_column *column)
{
	for (size_t j = 0; column != NULL && j < d; j++)
		cop_mem_free(column[j].rank);
	cop_mem_free(column);
}

cop_err cop_cart_ranks_init(cop_cart_ranks *ranks, const cop_dataset *rows, cop_pool *pool)
{
	*ranks = (cop_cart_ranks){ .rows = rows };
	return rank_columns(rows, rows->n, NULL, pool, &ranks->column);
}

void cop_cart_ranks_fini(cop_cart_ranks *ranks)
{
	if (ranks->rows != NULL)
		free_columns(ranks->rows->d, ranks->column);
	*ranks = (cop_cart_ranks){ 0 };
}

/* The ranks of the sample's rows. */
static cop_err copy_columns(cop_cart_data *data, const cop_cart_ranks *ranks)
{
	size_t d = data->sample->rows->d;
	data->column = cop_mem_alloc(d, sizeof *data->column);
	if (data->column == NULL)
		return COP_ENOMEM;
	for (size_t j = 0; j < d; j++) {
		const cop_cart_column *from = &ranks->column[j];
		cop_cart_column *to = &data->column[j];
		*to = (cop_cart_column){ NULL, from->width, from->values };
		if (from->rank == NULL)
			continue;
		to->rank = cop_mem_alloc(data->n, from->width);
		if (to->rank == NULL)
			return COP_ENOMEM;
		if (from->width == 1) {
			for (size_t i = 0; i < data->n; i++)
				((uint8_t *)to->rank)[i] = ((const uint8_t *)from->rank)[data->row[i]];
		} else if (from->width == 2) {
			for (size_t i = 0; i < data->n; i++)
				((uint16_t *)to->rank)[i] = ((const uint16_t *)from->rank)[data->row[i]];
		} else {
			for (size_t i = 0; i < data->n; i++)
				((uint32_t *)to->rank)[i] = ((const uint32_t *)from->rank)[data->row[i]];
		}
	}
	return COP_OK;
}

static cop_err give_places(cop_cart_data *data)
{
	const cop_sample *sample = data->sample;
	data->row = cop_mem_alloc(sample->n, sizeof *data->row);
	if (data->row == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < sample->n; i++) {
		size_t row = cop_sample_row(sample, i);
		if (sample->weight == NULL || sample->weight[row] > 0.0F)
			data->row[data->n++] = (uint32_t)row;
	}
	return data->n > 0 ? COP_OK : COP_EINVAL;
}

static cop_err find_centre(cop_cart_data *data)
{
	const cop_sample *sample = data->sample;
	size_t outputs = sample->outputs;
	data->centre = cop_mem_alloc(outputs, sizeof *data->centre);
	if (data->centre == NULL)
		return COP_ENOMEM;
	if (sample->task != COP_TASK_VALUES)
		return COP_OK;
	double weight = 0;
	for (size_t i = 0; i < data->n; i++) {
		double w = cop_cart_data_weight(data, i);
		weight += w;
		for (size_t k = 0; k < outputs; k++)
			data->centre[k] += w * (double)sample->target[data->row[i] * outputs + k];
	}
	for (size_t k = 0; k < outputs; k++)
		data->centre[k] /= weight;
	return COP_OK;
}

cop_err cop_cart_data_init(
        cop_cart_data *data, const cop_sample *sample, bool ranked, const cop_cart_ranks *ranks, cop_pool *pool)
{
	*data = (cop_cart_data){ .sample = sample };
	cop_err err = give_places(data);
	if (err == COP_OK)
		err = find_centre(data);
	if (err != COP_OK || !ranked || sample->rows->sparse)
		return err;
	if (ranks == NULL)
		return rank_columns(sample->rows, data->n, data->row, pool, &data->column);
	return copy_columns(data, ranks);
}

void cop_cart_data_fini(cop_cart_data *data)
{
	free_columns(data->sample->rows->d, data->column);
	cop_mem_free(data->row);
	cop_mem_free(data->centre);
	*data = (cop_cart_data){ 0 };
}

void cop_cart_data_ranks(const cop_cart_column *column, size_t n, const uint32_t *place, uint32_t *rank)
{
	if (column->width == 1) {
		const uint8_t *from = column->rank;
		for (size_t i = 0; i < n; i++)
			rank[i] = from[place[i]];
	} else if (column->width == 2) {
		const uint16_t *from = column->rank;
		for (size_t i = 0; i < n; i++)
			rank[i] = from[place[i]];
	} else {
		const uint32_t *from = column->rank;
		for (size_t i = 0; i < n; i++)
			rank[i] = from[place[i]];
	}
}

float cop_cart_data_value(const cop_dataset *rows, size_t row, size_t feature)
{
	if (!rows->sparse)
		return rows->x[row * rows->d + feature];
	size_t from = rows->start[row], to = rows->start[row + 1];
	while (from < to) {
		size_t middle = from + (to - from) / 2;
		if (rows->index[middle] < feature)
			from = middle + 1;
		else
			to = middle;
	}
	return from < rows->start[row + 1] && rows->index[from] == feature ? rows->value[from] : 0.0F;
}
