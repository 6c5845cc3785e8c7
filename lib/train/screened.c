/* The sums of |x| decide which features of sparse rows become columns; those rows are copied with the columns' numbers
 * and turned. Dense rows keep all their features, so that their results do not depend on this. */
#include "train/screened.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

/* Features whose sum is above lambda; place gets the column of each plus 1, 0 for the others. */
static cop_err choose(cop_screened_rows *screened, const cop_dataset *data, size_t n, const uint32_t *row,
        const float *c, double lambda, uint32_t *place)
{
	double *sum = cop_mem_alloc(data->d, sizeof *sum);
	size_t count = 0, k = 0;

	if (sum == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < n; i++)
		for (size_t e = data->start[row[i]]; e < data->start[row[i] + 1]; e++)
			sum[data->index[e]] += (double)c[i] * fabs((double)data->value[e]);
	for (size_t j = 0; j < data->d; j++)
		count += sum[j] > lambda;
	screened->feature = cop_mem_alloc(count, sizeof *screened->feature);
	for (size_t j = 0; j < data->d && screened->feature != NULL; j++)
		if (sum[j] > lambda) {
			screened->feature[k++] = (uint32_t)j;
			place[j] = (uint32_t)k;
		}
	cop_mem_free(sum);
	screened->d = count;
	return screened->feature != NULL ? COP_OK : COP_ENOMEM;
}

static cop_err copy(cop_screened_rows *f, const cop_dataset *data, size_t n, const uint32_t *row, const uint32_t *place)
{
	size_t entries = 0, k = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t e = data->start[row[i]]; e < data->start[row[i] + 1]; e++)
			entries += place[data->index[e]] > 0;
	f->start = cop_mem_alloc(n + 1, sizeof *f->start);
	f->index = cop_mem_alloc(entries, sizeof *f->index);
	f->value = cop_mem_alloc(entries, sizeof *f->value);
	if (f->start == NULL || f->index == NULL || f->value == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < n; i++) {
		for (size_t e = data->start[row[i]]; e < data->start[row[i] + 1]; e++) {
			if (place[data->index[e]] == 0)
				continue;
			f->index[k] = place[data->index[e]] - 1;
			f->value[k++] = data->value[e];
		}
		f->start[i + 1] = k;
	}
	return COP_OK;
}

cop_err cop_screened_rows_init(cop_screened_rows *screened, const cop_dataset *data, size_t n, const uint32_t *row,
        const float *c, double lambda)
{
	*screened = (cop_screened_rows){ 0 };
	uint32_t *place = cop_mem_alloc(data->d, sizeof *place);
	cop_err err = place != NULL ? choose(screened, data, n, row, c, lambda, place) : COP_ENOMEM;
	if (err == COP_OK)
		err = copy(screened, data, n, row, place);
	cop_mem_free(place);
	return err;
}

void cop_screened_rows_fini(cop_screened_rows *screened)
{
	cop_mem_free(screened->feature);
	cop_mem_free(screened->start);
	cop_mem_free(screened->index);
	cop_mem_free(screened->value);
	*screened = (cop_screened_rows){ 0 };
}

cop_err cop_screened_init(
        cop_screened *screened, const cop_dataset *data, size_t n, const uint32_t *row, const float *c, double lambda)
{
	cop_screened_rows few;

	*screened = (cop_screened){ 0 };
	if (!data->sparse)
		return cop_columns_from_dense(&screened->columns, n, row, data->d, data->x);
	cop_err err = cop_screened_rows_init(&few, data, n, row, c, lambda);
	if (err == COP_OK) {
		screened->feature = few.feature;
		few.feature = NULL;
		err = cop_columns_from_sparse(&screened->columns, n, NULL, few.d, few.start, few.index, few.value);
	}
	cop_screened_rows_fini(&few);
	return err;
}

void cop_screened_fini(cop_screened *screened)
{
	cop_columns_fini(&screened->columns);
	cop_mem_free(screened->feature);
	*screened = (cop_screened){ 0 };
}

void cop_screened_take(const cop_screened *screened, size_t count, const uint32_t *index, const float *weight, float *w)
{
	for (size_t e = 0, k = 0; e < count; e++) {
		size_t j = index != NULL ? index[e] : e;
		while (k < screened->columns.d && cop_screened_feature(screened, k) < j)
			k++;
		if (k < screened->columns.d && cop_screened_feature(screened, k) == j)
			w[k] = weight[e];
	}
}

/* Columns ascend, and stand at or below their features: from the last one down none is overwritten. */
void cop_screened_spread(const cop_screened *screened, size_t d, float *w)
{
	size_t count = screened->columns.d;

	if (screened->feature == NULL)
		return;
	memset(w + count, 0, (d - count) * sizeof *w);
	for (size_t k = count; k-- > 0;) {
		float v = w[k];
		w[k] = 0;
		w[screened->feature[k]] = v;
	}
}
