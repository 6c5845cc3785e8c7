/* A sample is judged as a whole before a fit begins, so that fits need not look at its rows again. */
#include "train/sample.h"

#include <math.h>
#include <string.h>

bool cop_sample_is_valid(const cop_sample *sample)
{
	const void *wanted = sample->task == COP_TASK_CLASSES ? (const void *)sample->label : sample->target;
	double weight = 0.0;
	if (sample->n == 0 || sample->n > UINT32_MAX || sample->outputs == 0 || wanted == NULL)
		return false;
	for (size_t i = 0; i < sample->n; i++) {
		size_t row = cop_sample_row(sample, i);
		if (row >= sample->rows->n)
			return false;
		if (sample->task == COP_TASK_CLASSES && sample->label[row] >= sample->outputs)
			return false;
		if (!(cop_sample_weight(sample, row) >= 0.0) || !isfinite(cop_sample_weight(sample, row)))
			return false;
		weight += cop_sample_weight(sample, row);
	}
	return weight > 0.0;
}

void cop_sample_gather(const cop_sample *sample, size_t n, const uint32_t *row, float *out)
{
	const size_t d = sample->rows->d;
	for (size_t i = 0; i < n; i++) {
		cop_row view;
		float *x = out + i * (d + 1);
		cop_dataset_row(sample->rows, row[i], &view);
		if (view.dense != NULL) {
			memcpy(x, view.dense, d * sizeof *x);
		} else {
			memset(x, 0, d * sizeof *x);
			for (size_t e = 0; e < view.nnz; e++)
				x[view.index[e]] = view.value[e];
		}
		x[d] = 1.0f;
	}
}
