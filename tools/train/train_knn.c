/* Neighbours are searched once, for the largest k; a smaller k uses the first of them. */
#include "train_knn.h"

#include <math.h>

#include "base/mem.h"
#include "linalg/blas.h"
#include "tools/common/trained_score.h"

static const size_t sizes[] = { 1, 2, 3, 5, 8, 13, 21 };

typedef struct voting {
	const cop_labelled *rows;
	const uint32_t *row; /* of each point */
	double *vote;        /* classes */
} voting;

/* What the k nearest predict: class, or value to the scale of training. */
static double predict(const voting *v, const uint32_t *nearest, size_t k)
{
	const cop_labelled *rows = v->rows;
	double sum = 0.0;
	for (size_t c = 0; c < rows->classes; c++)
		v->vote[c] = 0.0;
	for (size_t j = 0; j < k; j++) {
		size_t at = v->row[nearest[j]];
		if (rows->classes > 0)
			v->vote[rows->label[at]] += 1.0;
		else
			sum += (double)rows->target[at] / (double)k;
	}
	return rows->classes > 0 ? (double)cop_trained_score_best(rows->classes, v->vote) : sum;
}

/* Query i is row[i] of `rows` (row NULL: i). */
static double loss_of(
        const voting *v, const cop_neighbours *found, size_t k, const cop_labelled *rows, const uint32_t *row)
{
	double sum = 0.0;
	for (size_t i = 0; i < found->n; i++) {
		size_t at = row != NULL ? row[i] : i;
		double predicted = predict(v, found->index + i * found->k, k);
		sum += rows->classes > 0 ? (double)((uint32_t)predicted != rows->label[at])
		                         : pow(predicted - (double)rows->target[at], 2.0);
	}
	return sum / (double)found->n;
}

static cop_points points_of(const cop_labelled *rows, size_t n, const uint32_t *row)
{
	const cop_dataset *data = rows->data;
	return (cop_points){ n, data->d, row, data->x, data->start, data->index, data->value };
}

/* Room for at most `most` of the job's rows, evenly taken. */
static cop_err begin(voting *v, const cop_train_job *job, size_t most, uint32_t **row, size_t *n)
{
	*n = job->n < most ? job->n : most;
	*row = cop_mem_alloc(*n, sizeof **row);
	*v = (voting){ job->rows, *row, cop_mem_alloc(job->rows->classes, sizeof *v->vote) };
	if (*row == NULL || v->vote == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < *n; i++) {
		size_t at = *n == job->n ? i : (size_t)((double)i * (double)job->n / (double)*n);
		(*row)[i] = job->row != NULL ? job->row[at] : (uint32_t)at;
	}
	cop_blas_threads(1); /* each thread of the pool multiplies */
	return COP_OK;
}

cop_err cop_train_knn_choose(const cop_train_job *job, const float *x, size_t most, size_t *k, double *loss)
{
	voting v;
	uint32_t *row;
	size_t n, last = sizes[sizeof sizes / sizeof *sizes - 1];
	cop_neighbours found = { 0 };
	cop_err err = begin(&v, job, most, &row, &n);
	*k = 1;
	*loss = (double)NAN;
	cop_points points = points_of(job->rows, n, row);
	points.x = x != NULL ? x : points.x;
	last = last < n ? last : n - 1;
	if (err == COP_OK && last > 0)
		err = cop_neighbours_find(&points, NULL, last, (uint32_t)job->seed, job->pool, &found);
	for (size_t s = 0; err == COP_OK && s < sizeof sizes / sizeof *sizes && sizes[s] <= last; s++) {
		double now = loss_of(&v, &found, sizes[s], job->rows, row);
		if (isnan(*loss) || now < *loss) {
			*loss = now;
			*k = sizes[s];
		}
	}
	cop_neighbours_fini(&found);
	cop_mem_free(v.vote);
	cop_mem_free(row);
	return err;
}

cop_err cop_train_knn_judge(const cop_train_job *job, size_t k, const cop_labelled *rows, double *loss)
{
	voting v;
	uint32_t *row;
	size_t n;
	cop_neighbours found = { 0 };
	cop_err err = begin(&v, job, job->n, &row, &n);
	cop_points points = points_of(job->rows, n, row), queries = points_of(rows, rows->data->n, NULL);
	if (err == COP_OK)
		err = cop_neighbours_find(&points, &queries, k, (uint32_t)job->seed, job->pool, &found);
	if (err == COP_OK)
		*loss = loss_of(&v, &found, k, rows, NULL);
	cop_neighbours_fini(&found);
	cop_mem_free(v.vote);
	cop_mem_free(row);
	return err;
}
