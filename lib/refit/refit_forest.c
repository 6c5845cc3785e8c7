/* Leaves are filled as those of other refits. */
#include "base/mem.h"
#include "refit/refit_parts.h"
#include "train/lend.h"
#include "train/random_trees.h"

#define LEAST_LEAF   2
#define PRIOR        2.0                /* as in cop_refit_fill */
#define LARGEST      ((size_t)32 << 20) /* bytes of all leaves as a learner keeps them, */
#define LEAF_NUMBERS 3                  /* numbers of each arm in each */

/* Small enough that all trees' leaves have room in a learner. */
static size_t least_leaf(const cop_refit_problem *p)
{
	size_t most = LARGEST / (p->outputs * LEAF_NUMBERS * sizeof(float)) / p->settings->trees;
	size_t least = most > 0 ? 2 * p->n / most : p->n;
	return least > LEAST_LEAF ? least : LEAST_LEAF;
}

typedef struct played {
	uint32_t *action;
	double *loss;
} played;

static bool list_played(const cop_refit_problem *p, played *out)
{
	out->action = cop_mem_alloc(p->n, sizeof *out->action);
	out->loss = cop_mem_alloc(p->n, sizeof *out->loss);
	if (out->action == NULL || out->loss == NULL)
		return false;
	for (size_t i = 0; i < p->n; i++) {
		const cop_refit_event *e = cop_refit_problem_event(p, i);
		out->action[i] = e->action;
		out->loss[i] = e->loss;
	}
	return true;
}

static cop_err grow_round(const cop_refit_problem *p, const played *of, size_t first, cop_tree **scaled, size_t *count)
{
	const cop_ranks *ranks = cop_pool_ranks(p->pool);
	const cop_random_trees_settings set = { p->settings->trees, least_leaf(p), p->settings->seed };
	const cop_random_trees_sample sample = { p->rows, p->outputs, of->action, of->loss };
	cop_err err = first == 0 ? cop_lend_random_trees(ranks, &set, &sample) : COP_OK;
	return err == COP_OK ? cop_random_trees_round(&set, &sample, ranks, first, scaled, count) : err;
}

static cop_err grow_trees(cop_refit_problem *p, size_t first, cop_tree **raw, size_t *count)
{
	const cop_refit_filling how = { .clip = 1.0, .prior = PRIOR };
	const cop_ranks *ranks = cop_pool_ranks(p->pool);
	size_t grown = 0;
	played of = { .action = NULL };
	cop_tree **scaled = cop_mem_alloc(ranks == NULL ? 1 : ranks->count, sizeof *scaled);
	cop_err err = scaled != NULL && list_played(p, &of) ? COP_OK : COP_ENOMEM;
	*count = 0;
	if (err == COP_OK)
		err = grow_round(p, &of, first, scaled, &grown);
	for (size_t i = 0; i < grown; i++) {
		if (err == COP_OK)
			err = cop_refit_refill(p, scaled[i], p->n, &how, &raw[i]);
		*count += err == COP_OK;
		cop_tree_free(scaled[i]);
	}
	cop_mem_free(scaled);
	cop_mem_free(of.action);
	cop_mem_free(of.loss);
	return err;
}

const cop_refit_kind cop_refit_arms_forest = { .prepare = cop_refit_prepare_losses, .grow = grow_trees };
