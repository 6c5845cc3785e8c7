/* Rows are divided into chunks for the pool; each chunk writes its own part of the result. Of classes only what a row
 * is judged by is kept, so that many classes take no more memory than few. */
#include "trained_score.h"

#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "evaluate/supervised.h"

#define CHUNK 512

/* Of a row of classes. */
typedef struct judged {
	uint32_t best;   /* class of greatest output */
	uint32_t rank;   /* classes predicted before the row's own */
	uint32_t absent; /* classes of probability 0 */
	double own;      /* probability of the row's own class */
	double last;     /* of the last one */
} judged;

typedef struct prediction {
	const cop_trees *trees;
	const cop_encoder *preparation;
	const cop_labelled *rows;
	size_t n;
	const uint32_t *row;
	double *out;     /* n x K, or NULL */
	judged *judged;  /* n, or NULL */
	double *outputs; /* of each worker, K; for judged */
	double *flops;   /* of each chunk, or NULL */
	float *work;     /* of each worker, K */
	bool values;
} prediction;

static size_t row_of(const prediction *p, size_t i) { return p->row != NULL ? p->row[i] : i; }

static void judge(const prediction *p, size_t i, const double *out)
{
	size_t outputs = cop_trees_outputs(p->trees);
	uint32_t label = p->rows->label[row_of(p, i)];
	judged *j = &p->judged[i];
	*j = (judged){ .best = cop_trained_score_best(outputs, out),
		.rank = (uint32_t)cop_supervised_rank(outputs, out, label),
		.own = out[label],
		.last = out[outputs - 1] };
	for (size_t k = 0; k < outputs; k++)
		j->absent += !(out[k] > 0.0);
}

static cop_err predict_chunk(void *context, size_t chunk, unsigned worker)
{
	prediction *p = context;
	size_t outputs = cop_trees_outputs(p->trees);
	size_t end = (chunk + 1) * CHUNK < p->n ? (chunk + 1) * CHUNK : p->n;
	for (size_t i = chunk * CHUNK; i < end; i++) {
		cop_row row;
		cop_dataset_row(p->rows->data, row_of(p, i), &row);
		if (p->flops != NULL)
			p->flops[chunk] += (double)cop_trees_flops(p->trees, &row);
		if (p->out == NULL && p->judged == NULL)
			continue;
		double *out = p->out != NULL ? p->out + i * outputs : p->outputs + worker * outputs;
		cop_trees_predict(p->trees, &row, p->work + worker * outputs, out);
		for (size_t k = 0; k < outputs && p->values; k++)
			out[k] = cop_encoder_from_scale(p->preparation, out[k]);
		if (p->judged != NULL)
			judge(p, i, out);
	}
	return COP_OK;
}

static cop_err run(prediction *p, cop_pool *pool)
{
	p->values = p->rows->classes == 0;
	p->work = cop_mem_alloc(cop_pool_threads(pool), cop_trees_outputs(p->trees) * sizeof *p->work);
	if (p->judged != NULL)
		p->outputs = cop_mem_alloc(cop_pool_threads(pool), cop_trees_outputs(p->trees) * sizeof *p->outputs);
	cop_err err = p->work != NULL && (p->judged == NULL || p->outputs != NULL) ? COP_OK : COP_ENOMEM;
	if (err == COP_OK)
		err = cop_pool_run(pool, (p->n + CHUNK - 1) / CHUNK, predict_chunk, p);
	cop_mem_free(p->work);
	cop_mem_free(p->outputs);
	return err;
}

cop_err cop_trained_score_outputs(const cop_trees *trees, const cop_encoder *preparation, const cop_labelled *rows,
        size_t n, const uint32_t *row, cop_pool *pool, double *out)
{
	prediction p = { .trees = trees, .preparation = preparation, .rows = rows, .n = n, .row = row, .out = out };
	return run(&p, pool);
}

uint32_t cop_trained_score_best(size_t outputs, const double *out)
{
	uint32_t best = 0;
	for (uint32_t k = 1; k < outputs; k++)
		best = out[k] > out[best] ? k : best;
	return best;
}

static cop_err mean_flops(
        const cop_trees *trees, const cop_labelled *rows, size_t n, const uint32_t *row, cop_pool *pool, double *out)
{
	size_t chunks = (n + CHUNK - 1) / CHUNK;
	prediction p = { .trees = trees, .rows = rows, .n = n, .row = row };
	p.flops = cop_mem_alloc(chunks, sizeof *p.flops);
	cop_err err = p.flops != NULL ? run(&p, pool) : COP_ENOMEM;
	double sum = 0.0;
	for (size_t i = 0; i < chunks && err == COP_OK; i++)
		sum += p.flops[i];
	*out = sum / (double)n;
	cop_mem_free(p.flops);
	return err;
}

static cop_err rate_judged(const prediction *p, cop_trained_score *score)
{
	size_t outputs = cop_trees_outputs(p->trees);
	uint32_t *predicted = cop_mem_alloc(p->n, sizeof *predicted);
	uint32_t *label = cop_mem_alloc(p->n, sizeof *label);
	double *second = cop_mem_alloc(p->n, sizeof *second);
	cop_err err = predicted != NULL && label != NULL && second != NULL ? COP_OK : COP_ENOMEM;
	for (size_t i = 0; i < p->n && err == COP_OK; i++) {
		predicted[i] = p->judged[i].best;
		label[i] = p->rows->label[row_of(p, i)];
		second[i] = p->judged[i].last;
	}
	if (err == COP_OK)
		score->error = cop_supervised_error_rate(p->n, predicted, label);
	if (err == COP_OK && outputs == 2)
		err = cop_supervised_auc(p->n, second, label, &score->auc);
	cop_mem_free(predicted);
	cop_mem_free(label);
	cop_mem_free(second);
	return err;
}

static cop_err rate_classes(prediction *p, cop_pool *pool, cop_trained_score *score)
{
	p->judged = cop_mem_alloc(p->n, sizeof *p->judged);
	cop_err err = p->judged != NULL ? run(p, pool) : COP_ENOMEM;
	if (err == COP_OK)
		err = rate_judged(p, score);
	cop_mem_free(p->judged);
	return err;
}

static cop_err rate_values(prediction *p, cop_pool *pool, cop_trained_score *score)
{
	p->out = cop_mem_alloc(p->n, cop_trees_outputs(p->trees) * sizeof *p->out);
	double *target = cop_mem_alloc(p->n, sizeof *target);
	cop_err err = p->out != NULL && target != NULL ? run(p, pool) : COP_ENOMEM;
	for (size_t i = 0; i < p->n && err == COP_OK; i++)
		target[i] = p->rows->data->target[row_of(p, i)];
	if (err == COP_OK)
		score->rmse = cop_supervised_rmse(p->n, p->out, target);
	cop_mem_free(p->out);
	cop_mem_free(target);
	return err;
}

static void rate_many(const prediction *p, double smoothing, double *own, cop_trained_many *out)
{
	size_t missed = 0;
	double all = 0.0;
	for (size_t i = 0; i < p->n; i++) {
		missed += p->judged[i].rank >= 5;
		own[i] = p->judged[i].own;
	}
	out->top5 = (double)missed / (double)p->n;
	out->perplexity = cop_supervised_perplexity(p->n, own, &out->covered);
	for (size_t i = 0; i < p->n; i++)
		own[i] = (own[i] > 0.0 ? own[i] : smoothing) / (1.0 + smoothing * (double)p->judged[i].absent);
	out->smoothed = cop_supervised_perplexity(p->n, own, &all);
}

cop_err cop_trained_score_many(const cop_trees *trees, const cop_encoder *preparation, const cop_labelled *rows,
        double smoothing, cop_pool *pool, cop_trained_many *out)
{
	prediction p = { .trees = trees, .preparation = preparation, .rows = rows, .n = rows->data->n };
	p.judged = cop_mem_alloc(p.n, sizeof *p.judged);
	double *own = cop_mem_alloc(p.n, sizeof *own);
	cop_err err = p.judged != NULL && own != NULL ? run(&p, pool) : COP_ENOMEM;
	if (err == COP_OK)
		rate_many(&p, smoothing, own, out);
	cop_mem_free(p.judged);
	cop_mem_free(own);
	return err;
}

cop_err cop_trained_score_rate(const cop_trees *trees, const cop_encoder *preparation, const cop_labelled *rows,
        size_t n, const uint32_t *row, bool flops, cop_pool *pool, cop_trained_score *out)
{
	*out = (cop_trained_score){ (double)NAN, (double)NAN, (double)NAN, (double)NAN };
	prediction p = { .trees = trees, .preparation = preparation, .rows = rows, .n = n, .row = row };
	cop_err err = rows->classes > 0 ? rate_classes(&p, pool, out) : rate_values(&p, pool, out);
	if (err == COP_OK && flops)
		err = mean_flops(trees, rows, n, row, pool, &out->flops);
	return err;
}

void cop_trained_score_put(const cop_trained_score *score, const char *prefix, cop_json_writer *json)
{
	const char *const names[] = { "error", "auc", "rmse" };
	const double values[] = { score->error, score->auc, score->rmse };
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		char key[64];
		(void)snprintf(key, sizeof key, "%s%s%s", prefix, prefix[0] != '\0' ? "_" : "", names[i]);
		cop_json_put_number(json, key, values[i]);
	}
}
