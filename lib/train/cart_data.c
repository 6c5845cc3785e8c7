/* The sample's rows get their places, their centre, and their ranks. */
#include "train/cart_data.h"

#include "base/mem.h"

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
	err = ranks == NULL ? cop_cart_ranks_init(&data->ranks, sample->rows, data->n, data->row, pool)
	                    : cop_cart_ranks_copy(ranks, data->n, data->row, &data->ranks);
	data->column = data->ranks.column;
	return err;
}

void cop_cart_data_fini(cop_cart_data *data)
{
	cop_cart_ranks_fini(&data->ranks);
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
