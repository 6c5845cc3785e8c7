/* Bagged trees are tasks of the pool. Boosted ones follow each other; there the pool helps each tree's learner, and
 * predicts the rows that the next tree is to do better on.
 *
 * Boosting changes weights or targets of rows, which a sample names by number and may name several times. So both are
 * kept by row number, and the distinct rows of the sample are listed once. */
#include "train/forest_fit_private.h"

#include <math.h>
#include <stdio.h>

#include "base/assert.h"
#include "base/mem.h"
#include "store/section_file.h"
#include "table/split.h"

#define TELL_AFTER 2 /* bagged trees for each thread */
#define TEXT       80

cop_err cop_forest_fit_tree(
        const cop_forest_fitting *f, size_t t, const cop_sample *sample, cop_pool *pool, cop_tree **out)
{
	cop_rng rng;
	cop_rng_init(&rng, f->settings->seed, 2 * (uint64_t)t);
	cop_err err = f->learner(f->context, t, sample, pool, &rng, out);
	COP_ASSERT(err != COP_OK || *out != NULL);
	return err;
}

bool cop_forest_fit_tell(cop_forest_fitting *f, const char *more)
{
	if (f->progress == NULL)
		return true;
	char text[TEXT];
	(void)snprintf(text, sizeof text, "tree %zu of %zu%s", f->count, f->settings->trees, more);
	if (f->progress->report(f->progress->context, (double)f->count / (double)f->settings->trees, text))
		return true;
	f->end = COP_FOREST_STOPPED;
	return false;
}

/* --- bagging --- */

typedef struct bagging {
	cop_forest_fitting *f;
	size_t first;
	cop_pool *pool;         /* for the learner */
	const cop_ranks *ranks; /* among which trees are divided */
} bagging;

static cop_err fit_bagged(void *context, size_t task, unsigned worker)
{
	(void)worker;
	const bagging *r = context;
	cop_forest_fitting *f = r->f;
	size_t t = r->first + cop_ranks_task(r->ranks, task), n = f->sample->n;
	double wanted = floor(f->settings->share * (double)n + 0.5);
	size_t drawn = wanted < 1 ? 1 : wanted > (double)n ? n : (size_t)wanted;
	uint32_t *row = cop_mem_alloc(drawn, sizeof *row);
	if (row == NULL)
		return COP_ENOMEM;
	cop_rng rng;
	cop_rng_init(&rng, f->settings->seed, 2 * (uint64_t)t + 1);
	cop_err err = cop_split_draw(&rng, n, drawn, f->settings->replace, row);
	if (err == COP_OK) {
		for (size_t i = 0; i < drawn; i++)
			row[i] = (uint32_t)cop_sample_row(f->sample, row[i]);
		cop_sample some = *f->sample;
		some.n = drawn;
		some.row = row;
		err = cop_forest_fit_tree(f, t, &some, r->pool, &f->tree[t]);
	}
	cop_mem_free(row);
	return err;
}

/* A tree, as a file of its own behind its number and length. */
static void put_tree(const cop_forest_fitting *f, size_t t, cop_bytes *bytes)
{
	cop_bytes_put_u32(bytes, (uint32_t)t);
	cop_tree_put(f->tree[t], bytes);
}

static cop_err take_tree(void *context, cop_cursor *cursor)
{
	cop_forest_fitting *f = context;
	cop_err err = COP_OK;
	while (err == COP_OK && cop_cursor_left(cursor) > 0) {
		size_t t = cop_cursor_u32(cursor);
		if (cursor->err != COP_OK || t >= f->settings->trees || f->tree[t] != NULL)
			return COP_EFORMAT;
		err = cop_tree_take(cursor, &f->tree[t]);
		if (err == COP_OK && f->tree[t] == NULL)
			err = COP_EFORMAT;
	}
	return err;
}

/* Every rank has all trees then. err: what came of its own. */
static cop_err exchange_trees(cop_forest_fitting *f, cop_err err)
{
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	for (size_t t = 0; err == COP_OK && t < f->count; t++)
		if (f->tree[t] != NULL)
			put_tree(f, t, &bytes);
	err = cop_ranks_exchange(cop_pool_ranks(f->pool), err, &bytes, take_tree, f);
	cop_bytes_fini(&bytes);
	return err;
}

static cop_err bag(cop_forest_fitting *f)
{
	const cop_ranks *ranks = cop_pool_ranks(f->pool);
	size_t trees = f->settings->trees;
	unsigned threads = cop_pool_threads(f->pool);
	bool side_by_side = (threads > 1 || ranks != NULL) && trees > 1;
	size_t most = side_by_side ? TELL_AFTER * (size_t)threads * (ranks == NULL ? 1 : ranks->count) : 1;
	if (f->progress == NULL)
		most = trees;
	cop_err err = COP_OK;
	if (!side_by_side)
		ranks = NULL; /* they divide what the learner does */
	while (err == COP_OK && f->count < trees) {
		bagging r = { .f = f, .first = f->count, .pool = side_by_side ? NULL : f->pool, .ranks = ranks };
		size_t now = trees - f->count < most ? trees - f->count : most;
		err = cop_pool_run(side_by_side ? f->pool : NULL, cop_ranks_tasks(ranks, now), fit_bagged, &r);
		f->count += now;
		if (err == COP_OK && !cop_forest_fit_tell(f, ""))
			break;
	}
	return ranks == NULL ? err : exchange_trees(f, err);
}

/* --- what boosting shares --- */

cop_err cop_forest_fit_distinct(cop_forest_fitting *f)
{
	const cop_sample *sample = f->sample;
	uint8_t *seen = cop_mem_alloc(sample->rows->n, sizeof *seen);
	f->distinct = cop_mem_alloc(sample->n, sizeof *f->distinct);
	if (seen != NULL && f->distinct != NULL) {
		for (size_t i = 0; i < sample->n; i++) {
			size_t row = cop_sample_row(sample, i);
			if (seen[row] == 0)
				f->distinct[f->rows++] = (uint32_t)row;
			seen[row] = 1;
		}
	}
	bool ok = seen != NULL && f->distinct != NULL;
	cop_mem_free(seen);
	return ok ? COP_OK : COP_ENOMEM;
}

cop_err cop_forest_fit_chunks(cop_forest_fitting *f, cop_pool_task *task)
{
	return cop_pool_run(f->pool, (f->rows + COP_FOREST_CHUNK - 1) / COP_FOREST_CHUNK, task, f);
}

/* --- AdaBoost --- */

static cop_err judge_chunk(void *context, size_t task, unsigned worker)
{
	(void)worker;
	cop_forest_fitting *f = context;
	const cop_sample *sample = f->sample;
	for (size_t i = task * COP_FOREST_CHUNK; i < (task + 1) * COP_FOREST_CHUNK && i < f->rows; i++) {
		cop_row row;
		cop_dataset_row(sample->rows, f->distinct[i], &row);
		f->wrong[f->distinct[i]] = cop_tree_class(f->tree[f->count], &row) != sample->label[f->distinct[i]];
	}
	return COP_OK;
}

/* Weighted share of the sample that the newest tree gets wrong. */
static double weighted_error(const cop_forest_fitting *f)
{
	double wrong = 0, all = 0;
	for (size_t i = 0; i < f->sample->n; i++) {
		size_t row = cop_sample_row(f->sample, i);
		all += (double)f->row_weight[row];
		if (f->wrong[row] != 0)
			wrong += (double)f->row_weight[row];
	}
	return wrong / all;
}

/* Rows that were wrong by exp(alpha) heavier, all of them together as heavy as the sample was. */
static void reweigh(cop_forest_fitting *f, double alpha)
{
	double grow = exp(alpha), before = 0, after = 0;
	for (size_t i = 0; i < f->sample->n; i++) {
		size_t row = cop_sample_row(f->sample, i);
		before += cop_sample_weight(f->sample, row);
		after += (double)f->row_weight[row] * (f->wrong[row] != 0 ? grow : 1.0);
	}
	double scale = before / after;
	for (size_t i = 0; i < f->rows; i++) {
		uint32_t row = f->distinct[i];
		double w = (double)f->row_weight[row] * (f->wrong[row] != 0 ? grow : 1.0);
		f->row_weight[row] = (float)(w * scale);
	}
}

static cop_err begin_adaboost(cop_forest_fitting *f)
{
	cop_err err = cop_forest_fit_distinct(f);
	if (err != COP_OK)
		return err;
	f->wrong = cop_mem_alloc(f->sample->rows->n, sizeof *f->wrong);
	f->row_weight = cop_mem_alloc(f->sample->rows->n, sizeof *f->row_weight);
	if (f->wrong == NULL || f->row_weight == NULL)
		return COP_ENOMEM;
	double sum = 0;
	for (size_t i = 0; i < f->rows; i++) {
		f->row_weight[f->distinct[i]] = (float)cop_sample_weight(f->sample, f->distinct[i]);
		sum += (double)f->row_weight[f->distinct[i]];
	}
	return sum > 0 ? COP_OK : COP_EINVAL;
}

/* Judges the newest tree and takes it in, or not. False: it is the last one. */
static bool take_judged(cop_forest_fitting *f, double error)
{
	double classes = (double)f->sample->outputs;
	double least = 0.5 / (double)f->sample->n;
	if (error >= 1 - 1 / classes) {
		if (f->count == 0)
			f->weight[f->count++] = 1;
		f->end = COP_FOREST_GUESSING;
		return false;
	}
	double counted = error > least ? error : least;
	double alpha = log((1 - counted) / counted) + log(classes - 1);
	f->weight[f->count] = alpha > 0 ? alpha : 1;
	f->count++;
	if (error <= 0 || !(alpha > 0)) {
		f->end = COP_FOREST_PERFECT;
		return false;
	}
	reweigh(f, alpha);
	return true;
}

static cop_err adaboost(cop_forest_fitting *f)
{
	cop_err err = begin_adaboost(f);
	bool more = true;
	while (err == COP_OK && more && f->count < f->settings->trees) {
		cop_sample weighted = *f->sample;
		weighted.weight = f->row_weight;
		err = cop_forest_fit_tree(f, f->count, &weighted, f->pool, &f->tree[f->count]);
		if (err == COP_OK)
			err = cop_forest_fit_chunks(f, judge_chunk);
		if (err != COP_OK)
			break;
		double error = weighted_error(f);
		more = take_judged(f, error);
		char text[TEXT];
		(void)snprintf(text, sizeof text, ", weighted error %.4f", error);
		more = cop_forest_fit_tell(f, text) && more;
	}
	return err;
}

/* --- all of them --- */

typedef struct kind {
	cop_err (*fit)(cop_forest_fitting *f);
	cop_trees_rule rule;
} kind;

static const kind kinds[COP_FOREST_KINDS] = {
	[COP_FOREST_BAGGING] = { bag, COP_TREES_MEAN },
	[COP_FOREST_ADABOOST] = { adaboost, COP_TREES_VOTE },
	[COP_FOREST_GRADIENT] = { cop_forest_fit_gradient, COP_TREES_SUM },
};

static bool valid(const cop_forest_settings *settings, const cop_sample *sample)
{
	bool classes = sample->task == COP_TASK_CLASSES;
	if (settings->trees < 1 || settings->trees > COP_TREES_MOST || sample->n < 1 || sample->outputs < 1)
		return false;
	switch (settings->kind) {
	case COP_FOREST_BAGGING:
		return settings->share > 0 && settings->share <= 1 && (classes || !settings->vote);
	case COP_FOREST_ADABOOST:
		return classes && sample->outputs >= 2;
	case COP_FOREST_GRADIENT:
		return (classes ? sample->outputs >= 2 : sample->task == COP_TASK_VALUES) && settings->shrinkage > 0 &&
		       settings->shrinkage <= 1;
	case COP_FOREST_KINDS:
		break;
	}
	return false;
}

static cop_err fit(cop_forest_fitting *f, cop_trees **out)
{
	const kind *how = &kinds[f->settings->kind];
	bool vote = f->settings->kind == COP_FOREST_BAGGING && f->settings->vote;
	bool softmax = f->settings->kind == COP_FOREST_GRADIENT && f->sample->task == COP_TASK_CLASSES;
	cop_trees_rule rule = vote ? COP_TREES_VOTE : softmax ? COP_TREES_SOFTMAX : how->rule;
	f->tree = cop_mem_alloc(f->settings->trees, sizeof(cop_tree *));
	f->weight = cop_mem_alloc(f->settings->trees, sizeof *f->weight);
	if (f->tree == NULL || f->weight == NULL)
		return COP_ENOMEM;
	cop_err err = how->fit(f);
	if (err != COP_OK)
		return err;
	const double *weight = f->settings->kind == COP_FOREST_BAGGING ? NULL : f->weight;
	if (f->settings->end != NULL)
		*f->settings->end = f->count < f->settings->trees ? f->end : COP_FOREST_WHOLE;
	return cop_trees_new(rule, f->count, f->tree, weight, f->base, out);
}

cop_err cop_forest_fit(const cop_forest_settings *settings, const cop_sample *sample, cop_forest_learner *learner,
        void *context, cop_pool *pool, const cop_progress *progress, cop_trees **out)
{
	*out = NULL;
	if (!valid(settings, sample))
		return COP_EINVAL;
	cop_forest_fitting f = { .settings = settings,
		.sample = sample,
		.learner = learner,
		.context = context,
		.pool = pool,
		.progress = progress };
	cop_err err = fit(&f, out);
	for (size_t t = 0; f.tree != NULL && t < settings->trees; t++)
		cop_tree_free(f.tree[t]);
	cop_mem_free(f.tree);
	cop_mem_free(f.weight);
	cop_mem_free(f.base);
	cop_mem_free(f.distinct);
	cop_mem_free(f.wrong);
	cop_mem_free(f.row_weight);
	cop_forest_fit_gradient_end(&f);
	return err;
}
