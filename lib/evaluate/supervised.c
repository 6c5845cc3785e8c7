/* AUC is the rank statistic of Mann and Whitney: sort by score, give tied scores their mean rank, and sum the ranks of
 * label 1. Without rows of both labels it is NaN, as every mean of no rows is. */
#include "evaluate/supervised.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

double cop_supervised_error_rate(size_t n, const uint32_t *predicted, const uint32_t *label)
{
	size_t wrong = 0;
	for (size_t i = 0; i < n; i++)
		wrong += predicted[i] != label[i];
	return n > 0 ? (double)wrong / (double)n : (double)NAN;
}

double cop_supervised_rmse(size_t n, const double *predicted, const double *target)
{
	double sum = 0.0;
	for (size_t i = 0; i < n; i++)
		sum += (predicted[i] - target[i]) * (predicted[i] - target[i]);
	return n > 0 ? sqrt(sum / (double)n) : (double)NAN;
}

size_t cop_supervised_rank(size_t classes, const double *output, size_t label)
{
	size_t before = 0;
	for (size_t k = 0; k < classes; k++)
		before += output[k] > output[label] || (k < label && output[k] >= output[label]);
	return before;
}

double cop_supervised_perplexity(size_t n, const double *p, double *covered)
{
	double sum = 0.0;
	size_t rows = 0;
	for (size_t i = 0; i < n; i++)
		if (p[i] > 0.0) {
			sum -= log(p[i]);
			rows++;
		}
	*covered = n > 0 ? (double)rows / (double)n : (double)NAN;
	return rows > 0 ? exp(sum / (double)rows) : (double)NAN;
}

typedef struct scored {
	double score;
	uint32_t label;
} scored;

static int by_score(const void *a, const void *b)
{
	const scored *x = a;
	const scored *y = b;
	return (x->score > y->score) - (x->score < y->score);
}

/* Ranks from 1; equal scores share the mean of theirs. AUC = (sum of ranks of label 1 - n1 (n1 + 1) / 2) / (n0 n1). */
cop_err cop_supervised_auc(size_t n, const double *score, const uint32_t *label, double *out)
{
	double ranks = 0.0;
	double ones = 0.0;
	*out = (double)NAN;
	scored *sorted = cop_mem_alloc(n, sizeof *sorted);
	if (sorted == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < n; i++)
		sorted[i] = (scored){ score[i], label[i] };
	qsort(sorted, n, sizeof *sorted, by_score);
	for (size_t from = 0, to; from < n; from = to) {
		size_t tied = 0;
		for (to = from; to < n && !(sorted[to].score > sorted[from].score); to++)
			tied += sorted[to].label == 1;
		ranks += (double)tied * 0.5 * (double)(from + 1 + to);
		ones += (double)tied;
	}
	cop_mem_free(sorted);
	double zeros = (double)n - ones;
	if (ones > 0.0 && zeros > 0.0)
		*out = (ranks - 0.5 * ones * (ones + 1.0)) / (zeros * ones);
	return COP_OK;
}
