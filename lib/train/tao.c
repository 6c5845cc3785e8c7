/* The sweeps: which nodes are fitted when, on which rows, and when it ends (train/tao_parts.h has the invariants).
 *
 * In a bold sweep every solver's answer is taken as it is: what a node loses by it those below it may win back. What is
 * replaced is kept (tao_undo.c) until E is no higher than at its least so far. In a careful sweep each node and leaf
 * keeps what it has unless its own part of E does not rise, so E does not either; `monotone` wants only these.
 *
 * Root first, the reduced sets are brought up to date before every depth; leaves first, once before a sweep, since
 * fitting a node moves rows only below it. */
#include "train/tao_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "train/lend.h"
#include "train/tao_share.h"

/* Bold sweeps that do not lower E before a careful one. */
#define PATIENCE 5

void cop_tao_defaults(cop_task task, cop_tao_settings *settings)
{
	*settings = (cop_tao_settings){
		.depth = 6,
		.loss = task == COP_TASK_CLASSES  ? COP_TAO_ZERO_ONE
		        : task == COP_TASK_VALUES ? COP_TAO_SQUARED
		                                  : COP_TAO_COST,
		.split = COP_TAO_OBLIQUE,
		.leaves = COP_TAO_CONSTANT,
		.order = task == COP_TASK_VALUES ? COP_TAO_ROOT_FIRST : COP_TAO_LEAVES_FIRST,
		.alpha = task == COP_TASK_VALUES ? 0.2 : 0.3,
		.leaf_alpha = task == COP_TASK_VALUES ? 1.0 : 0.5,
		.iterations = 40,
		.tolerance = 1e-4,
		.node_tolerance = 3e-3,
		.node_steps = 50,
		.prune = true,
	};
}

/* ---- checks ---- */

static bool in_range(double x) { return x >= 0 && isfinite(x); }

static bool settings_fit(const cop_tao_settings *set, cop_task task)
{
	bool loss =
	        (task == COP_TASK_CLASSES && (set->loss == COP_TAO_ZERO_ONE || set->loss == COP_TAO_CROSS_ENTROPY)) ||
	        (task == COP_TASK_VALUES && (set->loss == COP_TAO_SQUARED || set->loss == COP_TAO_ABSOLUTE)) ||
	        (task == COP_TASK_COSTS && set->loss == COP_TAO_COST);

	return loss && (set->split == COP_TAO_OBLIQUE || set->split == COP_TAO_AXIS) &&
	       (set->leaves == COP_TAO_CONSTANT || set->leaves == COP_TAO_LINEAR) &&
	       (set->order == COP_TAO_ROOT_FIRST || set->order == COP_TAO_LEAVES_FIRST) && in_range(set->alpha) &&
	       in_range(set->leaf_alpha) && in_range(set->missing) && set->tolerance >= 0 && set->node_tolerance > 0 &&
	       set->node_steps >= 1 && set->iterations < UINT32_MAX;
}

static bool sample_fits(const cop_sample *sample)
{
	if (sample->n == 0 || sample->n > COP_DATASET_MAX_ROWS || sample->outputs == 0 || sample->rows->d == 0)
		return false;
	if (sample->task != COP_TASK_CLASSES)
		return sample->target != NULL;
	if (sample->label == NULL)
		return false;
	for (size_t i = 0; i < sample->n; i++)
		if (sample->label[cop_sample_row(sample, i)] >= sample->outputs)
			return false;
	return true;
}

/* ---- a depth ---- */

/* c >= 0: node c, else leaf ~c. */
typedef struct item {
	int32_t what;
	unsigned depth;
	size_t rows;
} item;

typedef struct sweep {
	cop_tao_state *state;
	cop_pool *pool;
	item *all; /* by depth */
	size_t count;
	item *now; /* of the depth being fitted, largest first */
	size_t now_count;
	const cop_ranks *ranks; /* which divide them */
} sweep;

static int by_depth(const void *a, const void *b)
{
	const item *x = a, *y = b;

	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return (x->what > y->what) - (x->what < y->what);
}

static int by_rows(const void *a, const void *b)
{
	const item *x = a, *y = b;

	if (x->rows != y->rows)
		return x->rows > y->rows ? -1 : 1;
	return (x->what > y->what) - (x->what < y->what);
}

static void item_range(const cop_tao_state *state, int32_t what, size_t *from, size_t *to)
{
	if (what >= 0) {
		*from = state->begin[state->node[what].first];
		*to = state->begin[state->node[what].last];
	} else {
		*from = state->begin[~what];
		*to = state->begin[~what + 1];
	}
}

static cop_err fit_item(void *context, size_t task, unsigned worker)
{
	sweep *s = context;
	cop_tao_state *state = s->state;
	int32_t what = s->now[cop_ranks_task(s->ranks, task)].what;
	size_t from, to;

	item_range(state, what, &from, &to);
	if (what >= 0)
		return cop_tao_node_fit(
		        state, &state->node[what], state->order + from, to - from, &state->work[worker]);
	return cop_tao_leaf_fit(state, &state->leaf[~what], state->order + from, to - from, &state->work[worker]);
}

static cop_err take_items(void *context, cop_cursor *cursor)
{
	sweep *s = context;
	cop_err err = COP_OK;

	while (err == COP_OK && cop_cursor_left(cursor) > 0) {
		uint32_t i = cop_cursor_u32(cursor);
		size_t from, to;
		if (i >= s->now_count)
			return COP_EFORMAT;
		item_range(s->state, s->now[i].what, &from, &to);
		err = cop_tao_share_take(s->state, s->now[i].what, s->state->order + from, to - from, cursor);
	}
	return err;
}

/* Fits now[0..now_count): this rank its own, and then every rank has all. */
static cop_err fit_now(sweep *s)
{
	size_t own = cop_ranks_tasks(s->ranks, s->now_count);
	cop_err err = cop_pool_run(s->pool, own, fit_item, s);
	cop_bytes bytes;

	if (s->ranks == NULL)
		return err;
	cop_bytes_init(&bytes);
	for (size_t t = 0; t < own && err == COP_OK; t++) {
		size_t i = cop_ranks_task(s->ranks, t), from, to;
		item_range(s->state, s->now[i].what, &from, &to);
		cop_bytes_put_u32(&bytes, (uint32_t)i);
		cop_tao_share_put(s->state, s->now[i].what, s->state->order + from, to - from, &bytes);
	}
	err = cop_ranks_exchange(s->ranks, err, &bytes, take_items, s);
	cop_bytes_fini(&bytes);
	return err;
}

/* Fits all[from..to), which are of one depth. */
static cop_err fit_depth(sweep *s, size_t from, size_t to)
{
	if (s->state->set->order == COP_TAO_ROOT_FIRST)
		cop_tao_refresh(s->state);
	s->now_count = to - from;
	memcpy(s->now, s->all + from, s->now_count * sizeof *s->now);
	for (size_t i = 0; i < s->now_count; i++) {
		size_t first, last;
		item_range(s->state, s->now[i].what, &first, &last);
		s->now[i].rows = last - first;
	}
	qsort(s->now, s->now_count, sizeof *s->now, by_rows);
	return fit_now(s);
}

static cop_err run_sweep(sweep *s)
{
	bool up = s->state->set->order == COP_TAO_LEAVES_FIRST;
	cop_err err = COP_OK;

	cop_tao_refresh(s->state);
	for (size_t from = 0, to = 0; !up && from < s->count && err == COP_OK; from = to) {
		while (to < s->count && s->all[to].depth == s->all[from].depth)
			to++;
		err = fit_depth(s, from, to);
	}
	for (size_t from = s->count, to = s->count; up && to > 0 && err == COP_OK; to = from) {
		while (from > 0 && s->all[from - 1].depth == s->all[to - 1].depth)
			from--;
		err = fit_depth(s, from, to);
	}
	return err;
}

/* The leaves of the start, all at once. */
static cop_err fit_leaves(sweep *s)
{
	cop_tao_state *state = s->state;

	cop_tao_refresh(state);
	s->now_count = 0;
	for (size_t i = 0; i < s->count; i++)
		if (s->all[i].what < 0)
			s->now[s->now_count++] = s->all[i];
	return fit_now(s);
}

/* ---- the fit ---- */

static bool report_progress(const cop_progress *progress, const cop_tao_state *state, unsigned done, double e)
{
	char text[120];
	size_t nodes = 0;

	if (progress == NULL)
		return true;
	for (size_t t = 0; t < state->nodes; t++)
		nodes += state->node[t].f.count > 0;
	snprintf(text, sizeof text, "iteration %u of %u, objective %.6g, %zu nodes", done, state->set->iterations, e,
	        nodes);
	return progress->report(progress->context,
	        state->set->iterations > 0 ? (double)done / (double)state->set->iterations : 1.0, text);
}

/* The first sweep over a random tree: the size of its unit weight vectors is arbitrary, so the
 * penalty is not to judge it. */
static cop_err sweep_drawn(sweep *s, unsigned *iterations)
{
	++*iterations;
	cop_tao_undo_begin(s->state);
	cop_err err = run_sweep(s);
	cop_tao_undo_forget(s->state);
	return err;
}

/* Sweeps until E no longer falls; history has the least E so far, `*iterations` of it are there already. A bold sweep
 * that raised E may be followed by a lower one, so some are awaited before the tree of the least E is brought back and
 * swept carefully. */
static cop_err iterate(sweep *s, const cop_progress *progress, double *history, unsigned *iterations)
{
	const cop_tao_settings *set = s->state->set;
	unsigned done = *iterations, stale = 0;
	cop_err err = COP_OK;

	if (!set->monotone)
		cop_tao_undo_begin(s->state);
	while (done < set->iterations && report_progress(progress, s->state, done, history[done])) {
		bool careful = set->monotone || stale == PATIENCE;
		if (careful)
			cop_tao_undo_restore(s->state);
		err = run_sweep(s);
		if (err != COP_OK)
			return err;
		double before = history[done++], now = cop_tao_objective(s->state);
		history[done] = fmin(before, now);
		if (!set->monotone && (careful || now <= before)) {
			cop_tao_undo_forget(s->state);
			cop_tao_undo_begin(s->state);
		}
		stale = before - now > set->tolerance * fabs(before) ? 0 : stale + 1;
		if (careful && stale > 0)
			break;
	}
	cop_tao_undo_restore(s->state);
	*iterations = done;
	return err;
}

static cop_err sweep_init(sweep *s, cop_tao_state *state, cop_pool *pool)
{
	*s = (sweep){
		.state = state, .pool = pool, .count = state->nodes + state->leaves, .ranks = cop_pool_ranks(pool)
	};
	s->all = cop_mem_alloc(s->count, sizeof *s->all);
	s->now = cop_mem_alloc(s->count, sizeof *s->now);
	if (s->all == NULL || s->now == NULL)
		return COP_ENOMEM;
	for (size_t t = 0; t < state->nodes; t++)
		s->all[t] = (item){ .what = (int32_t)t, .depth = state->node[t].depth };
	for (size_t l = 0; l < state->leaves; l++)
		s->all[state->nodes + l] = (item){ .what = ~(int32_t)l, .depth = state->leaf[l].depth };
	qsort(s->all, s->count, sizeof *s->all, by_depth);
	return COP_OK;
}

static cop_err fit(cop_tao_state *state, bool drawn, cop_pool *pool, const cop_progress *progress,
        cop_tao_report *report, cop_tree **out)
{
	sweep s = { 0 };
	double *history = cop_mem_alloc((size_t)state->set->iterations + 1, sizeof *history), last = 0;
	unsigned iterations = 0;
	cop_err err = history != NULL ? sweep_init(&s, state, pool) : COP_ENOMEM;

	if (err == COP_OK)
		err = fit_leaves(&s);
	if (err == COP_OK && drawn && state->set->iterations > 0)
		err = sweep_drawn(&s, &iterations);
	if (err == COP_OK)
		history[0] = history[iterations] = cop_tao_objective(state);
	if (err == COP_OK)
		err = iterate(&s, progress, history, &iterations);
	if (err == COP_OK)
		err = cop_tao_finish(state, out, &last);
	cop_mem_free(s.all);
	cop_mem_free(s.now);
	if (err != COP_OK || report == NULL)
		cop_mem_free(history);
	else
		*report = (cop_tao_report){ .objective = last, .history = history, .iterations = iterations };
	return err;
}

cop_err cop_tao_fit(const cop_tao_settings *settings, const cop_sample *sample, const cop_tree *start, cop_pool *pool,
        cop_rng *rng, const cop_progress *progress, cop_tao_report *report, cop_tree **out)
{
	cop_tao_state state = { 0 };

	*out = NULL;
	if (report != NULL)
		*report = (cop_tao_report){ 0 };
	if (!settings_fit(settings, sample->task) || !sample_fits(sample))
		return COP_EINVAL;
	if (start == NULL && (settings->depth < 1 || settings->depth > COP_TAO_MAX_DEPTH))
		return COP_EINVAL;
	cop_err err = cop_lend_tao(cop_pool_ranks(pool), settings, sample, start, rng);
	if (err == COP_OK)
		err = cop_tao_state_init(&state, settings, sample, cop_pool_threads(pool));
	if (err == COP_OK)
		err = start != NULL ? cop_tao_start_given(&state, start) : cop_tao_start_random(&state, rng);
	if (err == COP_OK)
		err = cop_tao_state_ready(&state);
	if (err == COP_OK)
		err = fit(&state, start == NULL, pool, progress, report, out);
	cop_tao_state_fini(&state);
	return err;
}
