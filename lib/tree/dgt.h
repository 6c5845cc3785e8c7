/* tree/dgt.h: dense gradients of complete hard trees (Karthikeyan et al., Algorithm 2), many trees at once. The
 * gradients themselves are the kernels tree_backward and trees_backward (linalg/kernel.h).
 *
 * Forward is the hard walk to leaf l* (right iff a_t >= 0). Backward uses the soft leaf weights
 * q_l = softmax_l(fac * sum_t sign(a_t) S(t,l)), sign(0) = +1, S = -1 for leaves left of t and +1 right of it. They
 * factorise: at every node the child that agrees with sign(a_t) takes p = sigma(2 fac) of the node's mass, so all
 * 2^h - 1 gradients cost O(2^h) instead of the O(4^h) of the literal sum:
 *
 *     U(leaf l) = u_l,  U(t) = p U(agreeing) + (1 - p) U(other)
 *     P(root) = 1,      P(agreeing) = p P(t),  P(other) = (1 - p) P(t)
 *     d loss / d a_t = P(R) (U(R) - U(root)) - P(L) (U(L) - U(root)),  R and L the children of t
 *
 * zero where |a_t| > 1 (the straight-through window is inclusive); u_l = sum_k g_k theta_{l,k} with g the loss's
 * gradient by the prediction.
 *
 * Shapes: m trees of height h in [1, COP_DGT_MAX_HEIGHT], n = 2^h - 1 decision nodes in heap order (children of t: 2t+1
 * left, 2t+2 right), 2^h leaves. Trees are interleaved: lane j of node t is a[t*m + j], of leaf l is u[l*m + j], so
 * loops over trees run on contiguous floats; m = 1 is the plain single tree. Nothing is allocated; any thread. */
#ifndef COP_TREE_DGT_H
#define COP_TREE_DGT_H

#include <stddef.h>
#include <stdint.h>

#define COP_DGT_MAX_HEIGHT 12

/* p = sigma(2 fac), the share of the agreeing child. The paper's quantiser has fac = 1 (p = 0.880797); the authors'
 * program scales it by the mean |a|. */
float cop_dgt_agree(double fac);

/* leaf[j] in [0, 2^h): where tree j's hard walk ends. */
void cop_dgt_leaves(unsigned h, size_t m, const float *a, uint32_t *leaf);

/* Floats of workspace that the kernels' tree_backward and trees_backward need. */
size_t cop_dgt_work(unsigned h, size_t m);

#endif
