/* The state as a whole: its storage, the rows sorted by leaf (a counting sort), and E, the sum of the rows' losses
 * and of the penalties. */
#include "train/tao_parts.h"

#include <string.h>

#include "base/mem.h"

void cop_tao_state_fini(cop_tao_state *state)
{
	cop_tao_undo_forget(state);
	for (size_t t = 0; state->node != NULL && t < state->nodes; t++)
		cop_tao_linear_fini(&state->node[t].f);
	for (size_t l = 0; state->leaf != NULL && l < state->leaves; l++)
		cop_tao_leaf_fini(&state->leaf[l]);
	for (unsigned k = 0; state->work != NULL && k < state->workers; k++) {
		cop_mem_free(state->work[k].w);
		cop_mem_free(state->work[k].score);
	}
	cop_mem_free(state->node);
	cop_mem_free(state->leaf);
	cop_mem_free(state->leaf_of);
	cop_mem_free(state->loss);
	cop_mem_free(state->order);
	cop_mem_free(state->begin);
	cop_mem_free(state->work);
	cop_mem_free(state->node_old);
	cop_mem_free(state->leaf_old);
	cop_mem_free(state->leaf_of_old);
	cop_mem_free(state->loss_old);
}

cop_err cop_tao_state_init(
        cop_tao_state *state, const cop_tao_settings *set, const cop_sample *sample, unsigned workers)
{
	*state = (cop_tao_state){ .set = set,
		.sample = sample,
		.kernel = cop_kernel_best(),
		.n = sample->n,
		.d = sample->rows->d,
		.outputs = sample->outputs,
		.leaf_of = cop_mem_alloc(sample->n, sizeof *state->leaf_of),
		.loss = cop_mem_alloc(sample->n, sizeof *state->loss),
		.order = cop_mem_alloc(sample->n, sizeof *state->order),
		.workers = workers,
		.work = cop_mem_alloc(workers, sizeof *state->work) };
	if (state->leaf_of == NULL || state->loss == NULL || state->order == NULL || state->work == NULL)
		return COP_ENOMEM;
	for (unsigned k = 0; k < workers; k++) {
		cop_tao_work *work = &state->work[k];
		work->w = cop_mem_alloc(state->d, sizeof *work->w);
		work->score = cop_mem_alloc(state->outputs, sizeof *work->score);
		if (work->w == NULL || work->score == NULL)
			return COP_ENOMEM;
	}
	return COP_OK;
}

void cop_tao_refresh(cop_tao_state *state)
{
	size_t *begin = state->begin, sum = 0;

	memset(begin, 0, (state->leaves + 1) * sizeof *begin);
	for (size_t i = 0; i < state->n; i++)
		begin[state->leaf_of[i]]++;
	for (size_t l = 0; l <= state->leaves; l++) {
		size_t rows = begin[l];
		begin[l] = sum;
		sum += rows;
	}
	for (size_t i = 0; i < state->n; i++)
		state->order[begin[state->leaf_of[i]]++] = (uint32_t)i;
	memmove(begin + 1, begin, state->leaves * sizeof *begin);
	begin[0] = 0;
}

static void first_losses(cop_tao_state *state)
{
	cop_tao_work *work = &state->work[0];

	for (size_t i = 0; i < state->n; i++)
		state->loss[i] = cop_tao_loss_at(state, &state->leaf[state->leaf_of[i]], i, work->score);
}

cop_err cop_tao_state_ready(cop_tao_state *state)
{
	state->begin = cop_mem_alloc(state->leaves + 1, sizeof *state->begin);
	if (state->begin == NULL)
		return COP_ENOMEM;
	first_losses(state);
	cop_tao_refresh(state);
	return cop_tao_undo_init(state);
}

double cop_tao_objective(const cop_tao_state *state)
{
	double sum = 0, leaves = 0;

	for (size_t i = 0; i < state->n; i++)
		sum += state->loss[i];
	for (size_t t = 0; t < state->nodes; t++)
		sum += state->set->alpha * state->node[t].f.norm;
	for (size_t l = 0; l < state->leaves; l++)
		leaves += state->leaf[l].norm;
	return sum + state->set->leaf_alpha * leaves;
}
