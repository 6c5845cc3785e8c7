/* Tree steps: TAO fits the targets at hand and starts from the present trees. Each tree of a forest does so on its
 * own share of the rows, and t(X) is the mean of the trees. */
#include "train/laptao_parts.h"

#include <math.h>

#include "base/mem.h"

#define CHUNK ((size_t)512) /* rows that one task looks at */

typedef struct stepping {
	const cop_laptao_state *state;
	cop_tao_settings set;
	const cop_tree *start;
	cop_rng *rng; /* of a lone tree */
	cop_pool *pool;
	const cop_progress *progress;
} stepping;

static cop_err fit_tree(void *context, size_t t, unsigned worker)
{
	const stepping *s = context;
	const cop_laptao_state *state = s->state;
	const cop_tree *start = state->tree[t] != NULL ? state->tree[t] : s->start;
	cop_sample sample = { .rows = state->sample->rows,
		.n = state->n,
		.row = state->sample->row,
		.task = COP_TASK_VALUES,
		.outputs = state->outputs,
		.target = state->target };
	cop_rng own, *rng = s->rng;

	(void)worker;
	if (state->share != NULL) {
		sample.n = state->share_rows;
		sample.row = state->share[t];
		cop_rng_init(&own, state->seed, 2 * (uint64_t)t + 1);
		rng = &own;
	}
	return cop_tao_fit(&s->set, &sample, start, s->pool, rng, s->progress, NULL, &state->next[t]);
}

cop_err cop_laptao_fit_trees(
        cop_laptao_state *state, double mu, const cop_tree *start, cop_rng *rng, const cop_progress *progress)
{
	bool lone = state->trees == 1;
	stepping s = { .state = state,
		.set = state->set->tree,
		.start = start,
		.rng = rng,
		.pool = lone ? state->pool : NULL,
		.progress = lone ? progress : NULL };

	s.set.alpha /= mu;
	s.set.leaf_alpha /= mu;
	s.set.prune = false;
	return cop_pool_run(lone ? NULL : state->pool, state->trees, fit_tree, &s);
}

/* ---- where rows go, and what they get ---- */

typedef struct looking {
	const cop_laptao_state *state;
	cop_tree *const *tree;
	const cop_tree *one;
	float *out; /* K for each worker */
	double *t;
	uint32_t *leaf;
} looking;

static cop_err predict_chunk(void *context, size_t task, unsigned worker)
{
	const looking *l = context;
	const cop_laptao_state *state = l->state;
	float *out = l->out + worker * state->outputs;

	for (size_t i = task * CHUNK; i < (task + 1) * CHUNK && i < state->n; i++) {
		cop_row row;
		cop_dataset_row(state->sample->rows, cop_sample_row(state->sample, i), &row);
		for (size_t k = 0; k < state->outputs; k++)
			l->t[k * state->n + i] = 0;
		for (size_t t = 0; t < state->trees; t++) {
			(void)cop_tree_predict(l->tree[t], &row, out);
			for (size_t k = 0; k < state->outputs; k++)
				l->t[k * state->n + i] += (double)out[k] / (double)state->trees;
		}
	}
	return COP_OK;
}

static cop_err find_chunk(void *context, size_t task, unsigned worker)
{
	const looking *l = context;

	(void)worker;
	for (size_t i = task * CHUNK; i < (task + 1) * CHUNK && i < l->state->n; i++) {
		cop_row row;
		cop_dataset_row(l->state->sample->rows, cop_sample_row(l->state->sample, i), &row);
		l->leaf[i] = (uint32_t)cop_tree_leaf(l->one, &row);
	}
	return COP_OK;
}

static size_t chunks(const cop_laptao_state *state) { return (state->n + CHUNK - 1) / CHUNK; }

cop_err cop_laptao_predict(const cop_laptao_state *state, cop_tree *const *tree, double *t)
{
	looking l = { .state = state, .tree = tree, .t = t };

	l.out = cop_mem_alloc(cop_pool_threads(state->pool), state->outputs * sizeof *l.out);
	if (l.out == NULL)
		return COP_ENOMEM;
	cop_err err = cop_pool_run(state->pool, chunks(state), predict_chunk, &l);
	cop_mem_free(l.out);
	return err;
}

cop_err cop_laptao_leaves(const cop_laptao_state *state, const cop_tree *tree, uint32_t *leaf)
{
	looking l = { .state = state, .one = tree, .leaf = leaf };

	return cop_pool_run(state->pool, chunks(state), find_chunk, &l);
}

double cop_laptao_penalty(const cop_laptao_state *state, cop_tree *const *tree)
{
	double nodes = 0, leaves = 0;

	for (size_t t = 0; t < state->trees; t++) {
		const cop_tree_parts *parts = cop_tree_view(tree[t]);
		for (size_t e = 0; parts->nodes.count > 0 && e < parts->nodes.start[parts->nodes.count]; e++)
			nodes += fabs((double)parts->nodes.weight[e]);
		for (size_t e = 0; e < parts->rows.start[parts->rows.count]; e++)
			leaves += fabs((double)parts->rows.weight[e]);
	}
	return (state->set->tree.alpha * nodes + state->set->tree.leaf_alpha * leaves) / (double)state->trees;
}
