/* What a bold sweep replaced is moved aside, not freed, until it is known whether the sweep stays. A node or leaf is
 * saved once, with what it had when the sweep began. */
#include "train/tao_parts.h"

#include <string.h>

#include "base/mem.h"

cop_err cop_tao_undo_init(cop_tao_state *state)
{
	state->node_old = cop_mem_alloc(state->nodes, sizeof *state->node_old);
	state->leaf_old = cop_mem_alloc(state->leaves, sizeof *state->leaf_old);
	state->leaf_of_old = cop_mem_alloc(state->n, sizeof *state->leaf_of_old);
	state->loss_old = cop_mem_alloc(state->n, sizeof *state->loss_old);
	if (state->node_old == NULL || state->leaf_old == NULL || state->leaf_of_old == NULL || state->loss_old == NULL)
		return COP_ENOMEM;
	return COP_OK;
}

void cop_tao_undo_begin(cop_tao_state *state)
{
	memcpy(state->leaf_of_old, state->leaf_of, state->n * sizeof *state->leaf_of);
	memcpy(state->loss_old, state->loss, state->n * sizeof *state->loss);
	state->bold = true;
}

void cop_tao_undo_forget(cop_tao_state *state)
{
	for (size_t t = 0; state->node_old != NULL && t < state->nodes; t++) {
		cop_tao_linear_fini(&state->node_old[t].f);
		state->node_old[t].saved = false;
	}
	for (size_t l = 0; state->leaf_old != NULL && l < state->leaves; l++) {
		cop_tao_leaf_fini(&state->leaf_old[l].leaf);
		state->leaf_old[l].saved = false;
	}
	state->bold = false;
}

void cop_tao_undo_restore(cop_tao_state *state)
{
	if (!state->bold)
		return;
	for (size_t t = 0; t < state->nodes; t++) {
		if (!state->node_old[t].saved)
			continue;
		cop_tao_linear_fini(&state->node[t].f);
		state->node[t].f = state->node_old[t].f;
		state->node[t].drawn = state->node_old[t].drawn;
		state->node_old[t] = (cop_tao_old_node){ 0 };
	}
	for (size_t l = 0; l < state->leaves; l++) {
		if (!state->leaf_old[l].saved)
			continue;
		cop_tao_leaf_fini(&state->leaf[l]);
		state->leaf[l] = state->leaf_old[l].leaf;
		state->leaf_old[l] = (cop_tao_old_leaf){ 0 };
	}
	memcpy(state->leaf_of, state->leaf_of_old, state->n * sizeof *state->leaf_of);
	memcpy(state->loss, state->loss_old, state->n * sizeof *state->loss);
	state->bold = false;
}

void cop_tao_node_replace(cop_tao_state *state, cop_tao_node *node, cop_tao_linear *f)
{
	cop_tao_old_node *old = state->bold ? &state->node_old[node - state->node] : NULL;

	if (old != NULL && !old->saved)
		*old = (cop_tao_old_node){ .saved = true, .drawn = node->drawn, .f = node->f };
	else
		cop_tao_linear_fini(&node->f);
	node->f = *f;
	node->drawn = false;
	*f = (cop_tao_linear){ 0 };
}

void cop_tao_leaf_replace(cop_tao_state *state, cop_tao_leaf *leaf, cop_tao_leaf *next)
{
	cop_tao_old_leaf *old = state->bold ? &state->leaf_old[leaf - state->leaf] : NULL;

	next->depth = leaf->depth;
	if (old != NULL && !old->saved)
		*old = (cop_tao_old_leaf){ .saved = true, .leaf = *leaf };
	else
		cop_tao_leaf_fini(leaf);
	*leaf = *next;
	*next = (cop_tao_leaf){ 0 };
}
