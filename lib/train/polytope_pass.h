/* train/polytope_pass.h: what a batch of rows costs a soft convex polytope tree, and the gradients
 * (train/polytope_refine.h has the objective).
 *
 * Parameters w of all nodes in turn: beta, ln r, threshold; gradients g likewise. The leaves' means are the pass's, and
 * are 0 at first. One thread per object; products of matrices are BLAS's. */
#ifndef COP_TRAIN_POLYTOPE_PASS_H
#define COP_TRAIN_POLYTOPE_PASS_H

#include "train/polytope_tree.h"

typedef struct cop_polytope_pass cop_polytope_pass;

/* Room for batches of `batch` rows of the tree, which is kept. Caller frees. COP_ENOMEM. */
COP_CHECK cop_err cop_polytope_pass_new(const cop_polytope_tree *tree, size_t batch, cop_polytope_pass **out);
void cop_polytope_pass_free(cop_polytope_pass *pass);
size_t cop_polytope_pass_weights(const cop_polytope_pass *pass);
/* The tree's parameters into w, and back. */
void cop_polytope_pass_take(const cop_polytope_pass *pass, float *w);
void cop_polytope_pass_give(const cop_polytope_pass *pass, const float *w, cop_polytope_tree *tree);
/* The mean cost of the rows, without priors; g is overwritten. lambda: as above. memory: the share of the running means
 * that stays, [0, 1]; 1: they are as they were. */
double cop_polytope_pass_run(cop_polytope_pass *pass, const float *w, const cop_polytope_rows *batch, double lambda,
        double memory, float *g);

#endif
