/* train/sample.h: the rows that a batch learner fits, and what it is to predict of them.
 *
 * Everything is borrowed for as long as the sample is used. Rows are named by their number in `rows`; a row may stand
 * in a sample several times (a bootstrap sample). */
#ifndef COP_TRAIN_SAMPLE_H
#define COP_TRAIN_SAMPLE_H

#include <stdbool.h>

#include "table/dataset.h"

typedef enum cop_task {
	COP_TASK_CLASSES = 0, /* label: one of K classes */
	COP_TASK_VALUES,      /* target: K numbers */
	COP_TASK_COSTS        /* target: the cost of each of K choices */
} cop_task;

typedef struct cop_sample {
	const cop_dataset *rows;
	size_t n;            /* rows of the sample */
	const uint32_t *row; /* n numbers below rows->n; NULL: 0 to n - 1 */
	cop_task task;
	size_t outputs;        /* K */
	const uint32_t *label; /* classes: of each row of `rows` */
	const float *target;   /* values, costs: rows->n x K, row-major */
	const float *weight;   /* of each row of `rows`, >= 0; NULL: all 1 */
} cop_sample;

static inline size_t cop_sample_row(const cop_sample *sample, size_t i)
{
	return sample->row != NULL ? sample->row[i] : i;
}

/* Weight of row number `row` of sample->rows. */
static inline double cop_sample_weight(const cop_sample *sample, size_t row)
{
	return sample->weight != NULL ? (double)sample->weight[row] : 1.0;
}

/* There are rows, all of them exist, have a label below K or targets, and weights that are finite, not negative and not
 * all 0. */
bool cop_sample_is_valid(const cop_sample *sample);

/* Rows number row[0..n) of sample->rows as [x; 1], into out: n x (d + 1). */
void cop_sample_gather(const cop_sample *sample, size_t n, const uint32_t *row, float *out);

/* Where a fit reports its progress and may be stopped. share in [0, 1]; text is one line without an end. */
typedef struct cop_progress {
	bool (*report)(void *context, double share, const char *text); /* false: stop here, with what there is */
	void *context;
} cop_progress;

#endif
