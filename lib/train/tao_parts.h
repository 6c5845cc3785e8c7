/* train/tao_parts.h: the tree that cop_tao_fit works on, and what its sources share.
 *
 * Decision nodes stand in preorder, leaves from left to right: node t rules the leaves [first, last), of which those
 * from `middle` on are right of it. Every row of the sample knows its present leaf and the weighted loss there, which
 * is all that routing needs: sorting the rows by leaf (cop_tao_refresh) makes every node's reduced set one range of
 * `order`. While nodes of one depth are fitted, each task writes to its own node or leaf and to the rows of its own
 * reduced set, and reads only what lies below it: so tasks do not meet.
 *
 * In a bold sweep every solver's answer is taken as it is; else each node and leaf keeps what it has unless its own
 * part of E does not rise. */
#ifndef COP_TRAIN_TAO_PARTS_H
#define COP_TRAIN_TAO_PARTS_H

#include "linalg/kernel.h"
#include "train/screened.h"
#include "train/tao.h"
#include "train/tao_turned.h"

/* <w, x> + bias. Weights of which few are non-zero are stored sparse. */
typedef struct cop_tao_linear {
	size_t count;    /* weights stored: 0, d, or those of `index` */
	uint32_t *index; /* ascending, or NULL */
	float *w;
	float bias;
	double norm; /* ||w||_1 */
} cop_tao_linear;

typedef struct cop_tao_node {
	int32_t child[2]; /* left, right: >= 0 a node, else leaf ~c */
	uint32_t first, middle, last;
	unsigned depth;
	bool drawn; /* at random, and not fitted yet */
	cop_tao_linear f;
} cop_tao_node;

/* Constant: K values (class shares, means, mean costs), or no `start`. Linear: `rows` rows, row r for output[r], with
 * entries start[r] to start[r + 1]. */
typedef struct cop_tao_leaf {
	unsigned depth;
	uint32_t choice; /* constant: the class or the cheapest output */
	size_t rows;
	float *bias; /* rows */
	uint32_t *output;
	size_t *start;
	uint32_t *index;
	float *v;
	double norm;            /* sum of |v| */
	cop_tao_turned *turned; /* NULL unless the leaf is linear and the sample sparse */
} cop_tao_leaf;

typedef struct cop_tao_old_node {
	bool saved, drawn;
	cop_tao_linear f;
} cop_tao_old_node;

typedef struct cop_tao_old_leaf {
	bool saved;
	cop_tao_leaf leaf;
} cop_tao_old_leaf;

/* A worker's own: d floats for weights, K doubles. */
typedef struct cop_tao_work {
	float *w;
	double *score;
} cop_tao_work;

typedef struct cop_tao_state {
	const cop_tao_settings *set;
	const cop_sample *sample;
	const cop_kernel *kernel;
	size_t n, d, outputs;
	size_t nodes, leaves; /* in use; leaves = nodes + 1 once the start is made */
	size_t node_room, leaf_room;
	cop_tao_node *node;
	cop_tao_leaf *leaf;
	uint32_t *leaf_of;          /* n: of each row of the sample */
	double *loss;               /* n: c_i L(y_i, T(x_i)) */
	uint32_t *order;            /* n: rows by leaf, then by number */
	size_t *begin;              /* leaves + 1: leaf l has the places begin[l] to begin[l + 1] of order */
	bool bold;                  /* the sweep at hand */
	cop_tao_old_node *node_old; /* nodes, leaves, n, n: what the bold sweep began with */
	cop_tao_old_leaf *leaf_old;
	uint32_t *leaf_of_old;
	double *loss_old;
	unsigned workers;
	cop_tao_work *work;
} cop_tao_state;

/* ---- tao_state.c: init, then a start, then ready (loss, order, begin, and what bold sweeps need) ---- */

/* fini in every case. */
COP_CHECK cop_err cop_tao_state_init(
        cop_tao_state *state, const cop_tao_settings *set, const cop_sample *sample, unsigned workers);
COP_CHECK cop_err cop_tao_state_ready(cop_tao_state *state);
void cop_tao_state_fini(cop_tao_state *state);
/* order and begin from leaf_of. */
void cop_tao_refresh(cop_tao_state *state);
/* E. */
double cop_tao_objective(const cop_tao_state *state);

/* ---- tao_start.c: both fill node, leaf (fresh ones hold the whole sample's constant) and leaf_of. ---- */

/* A complete tree of set->depth, but that a node of rows which no hyperplane divides is a leaf. */
COP_CHECK cop_err cop_tao_start_random(cop_tao_state *state, cop_rng *rng);
/* COP_ESHAPE. */
COP_CHECK cop_err cop_tao_start_given(cop_tao_state *state, const cop_tree *start);

/* ---- tao_loss.c ---- */

/* Row i of the sample. */
static inline cop_row cop_tao_row(const cop_tao_state *state, size_t i)
{
	cop_row row;
	cop_dataset_row(state->sample->rows, cop_sample_row(state->sample, i), &row);
	return row;
}
/* <w, x>, without the bias; a row goes right iff this plus the bias is >= 0. */
float cop_tao_dot(const cop_tao_state *state, const cop_tao_linear *f, const cop_row *x);
/* The leaf that x reaches from a child on. */
uint32_t cop_tao_walk(const cop_tao_state *state, int32_t child, const cop_row *x);
/* c_i L(y_i, leaf's prediction at x_i); score has room for K. */
double cop_tao_loss_at(const cop_tao_state *state, const cop_tao_leaf *leaf, size_t i, double *score);
/* The loss of K outputs of the finished tree. */
double cop_tao_loss_of_outputs(const cop_tao_state *state, size_t i, const float *out);
static inline double cop_tao_weight(const cop_tao_state *state, size_t i)
{
	const cop_sample *sample = state->sample;
	return sample->weight != NULL ? (double)sample->weight[cop_sample_row(sample, i)] : 1.0;
}

/* ---- tao_node.c, tao_leaf.c: fit one on its reduced set, rows[0..n), and bring leaf_of and loss up to date ---- */

COP_CHECK cop_err cop_tao_node_fit(
        cop_tao_state *state, cop_tao_node *node, const uint32_t *rows, size_t n, cop_tao_work *work);
COP_CHECK cop_err cop_tao_leaf_fit(
        cop_tao_state *state, cop_tao_leaf *leaf, const uint32_t *rows, size_t n, cop_tao_work *work);

/* The d weights of w as f, stored as is smaller; f's old weights are freed, its bias stays. On COP_ENOMEM f is as it
 * was. */
COP_CHECK cop_err cop_tao_linear_set(cop_tao_linear *f, size_t d, const float *w);
void cop_tao_linear_fini(cop_tao_linear *f);

/* The best constant for those rows; those of no weight are as if they were not there, and false comes back when none
 * is. bias has room for K. */
COP_CHECK cop_err cop_tao_constant(
        const cop_tao_state *state, const uint32_t *rows, size_t n, float *bias, uint32_t *choice, bool *any);
/* Makes leaf, of which nothing is allocated, constant with these K values. COP_ENOMEM. */
COP_CHECK cop_err cop_tao_leaf_set_constant(
        const cop_tao_state *state, cop_tao_leaf *leaf, const float *bias, uint32_t choice);
void cop_tao_leaf_fini(cop_tao_leaf *leaf);

/* ---- tao_undo.c: begin makes the sweep bold, and either of forget and restore ends it ---- */

COP_CHECK cop_err cop_tao_undo_init(cop_tao_state *state);
void cop_tao_undo_begin(cop_tao_state *state);
void cop_tao_undo_forget(cop_tao_state *state);
void cop_tao_undo_restore(cop_tao_state *state);
/* New parameters, taken (zeroed); the old ones are freed, or saved in a bold sweep. */
void cop_tao_node_replace(cop_tao_state *state, cop_tao_node *node, cop_tao_linear *f);
void cop_tao_leaf_replace(cop_tao_state *state, cop_tao_leaf *leaf, cop_tao_leaf *next);

/* ---- tao_finish.c ---- */

/* The tree as it is handed out, pruned if the settings say so, and its E. */
COP_CHECK cop_err cop_tao_finish(const cop_tao_state *state, cop_tree **out, double *objective);

#endif
