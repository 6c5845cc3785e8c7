/* linalg/kernel_trees_private.h: the backward pass of complete trees (kernel.h's tree_backward and trees_backward),
 * part of kernel_simd_private.h.
 *
 * One tree. Upwards a node gets U, the value it expects of its children (the side its margin points at counts p, the
 * other 1 - p), and D, how much its right child contributes to that beyond its left one. Downwards it gets P, the
 * probability of coming by; its gradient P (D - (to right - to left) root), with U of the root, asks its children for
 * nothing, so they are taken apart but once. The top LANES - 1 nodes lie in one vec in heap order; of a level below, a
 * vec has nodes that are neighbours, and such levels are taken two at a time, the lower one's U and P staying in
 * registers. D is kept in work, level by level from the one of LANES nodes on (which so is aligned), U and P are kept
 * in da where the nodes' gradients are to be. */
#ifndef COP_LINALG_KERNEL_TREES_PRIVATE_H
#define COP_LINALG_KERNEL_TREES_PRIVATE_H

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "linalg/kernel_lanes_private.h"

/* EVEN, ODD: children side by side, taken apart; FRONT, BACK: put together. HEAP_LEFT, HEAP_RIGHT: children of the top
 * nodes, which are top nodes themselves (x) or of the level below (y). HEAP_HANDED: of x (left) or y (right), what each
 * top node gets from its parent; BELOW_HANDED: each node of the level below. */
#if LANES == 16
#define EVEN(x, y)         __builtin_shufflevector(x, y, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
#define ODD(x, y)          __builtin_shufflevector(x, y, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)
#define FRONT(x, y)        __builtin_shufflevector(x, y, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define BACK(x, y)         __builtin_shufflevector(x, y, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define HEAP_LEFT(x, y)    __builtin_shufflevector(x, y, 1, 3, 5, 7, 9, 11, 13, 16, 18, 20, 22, 24, 26, 28, 30, 0)
#define HEAP_RIGHT(x, y)   __builtin_shufflevector(x, y, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31, 0)
#define HEAP_HANDED(x, y)  __builtin_shufflevector(x, y, 0, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7)
#define BELOW_HANDED(x, y) __builtin_shufflevector(x, y, 7, 23, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30)
#elif LANES == 8
#define EVEN(x, y)         __builtin_shufflevector(x, y, 0, 2, 4, 6, 8, 10, 12, 14)
#define ODD(x, y)          __builtin_shufflevector(x, y, 1, 3, 5, 7, 9, 11, 13, 15)
#define FRONT(x, y)        __builtin_shufflevector(x, y, 0, 8, 1, 9, 2, 10, 3, 11)
#define BACK(x, y)         __builtin_shufflevector(x, y, 4, 12, 5, 13, 6, 14, 7, 15)
#define HEAP_LEFT(x, y)    __builtin_shufflevector(x, y, 1, 3, 5, 8, 10, 12, 14, 0)
#define HEAP_RIGHT(x, y)   __builtin_shufflevector(x, y, 2, 4, 6, 9, 11, 13, 15, 0)
#define HEAP_HANDED(x, y)  __builtin_shufflevector(x, y, 0, 0, 8, 1, 9, 2, 10, 3)
#define BELOW_HANDED(x, y) __builtin_shufflevector(x, y, 3, 11, 4, 12, 5, 13, 6, 14)
#else
#define EVEN(x, y)         __builtin_shufflevector(x, y, 0, 2, 4, 6)
#define ODD(x, y)          __builtin_shufflevector(x, y, 1, 3, 5, 7)
#define FRONT(x, y)        __builtin_shufflevector(x, y, 0, 4, 1, 5)
#define BACK(x, y)         __builtin_shufflevector(x, y, 2, 6, 3, 7)
#define HEAP_LEFT(x, y)    __builtin_shufflevector(x, y, 1, 4, 6, 0)
#define HEAP_RIGHT(x, y)   __builtin_shufflevector(x, y, 2, 5, 7, 0)
#define HEAP_HANDED(x, y)  __builtin_shufflevector(x, y, 0, 0, 4, 1)
#define BELOW_HANDED(x, y) __builtin_shufflevector(x, y, 1, 5, 2, 6)
#endif

typedef struct tree_pass {
	vec agree, other; /* p and 1 - p */
	vec gap;          /* (p - (1 - p)) U of the root */
	const float *a;
	float *work, *da;
} tree_pass;

/* U and D of the nodes of margins a. */
INLINE vec tree_up(const tree_pass *t, vec a, vec left, vec right, vec *d)
{
	holds goes_right = not_negative(a);
	vec from_right = choose(goes_right, t->agree, t->other) * right;
	vec from_left = choose(goes_right, t->other, t->agree) * left;
	*d = from_right - from_left;
	return from_right + from_left;
}

INLINE vec tree_gradient(const tree_pass *t, vec a, vec p, vec d)
{
	vec gradient = p * (d - choose(not_negative(a), t->gap, -t->gap));
	return choose(within_one(a), gradient, (vec){ 0 });
}

/* What nodes of such p hand down: the left child's P and the right one's, a child after the other. */
INLINE void tree_down(const tree_pass *t, vec a, vec p, vec *front, vec *back)
{
	vec right = p * choose(not_negative(a), t->agree, t->other);
	vec left = p - right;
	*front = FRONT(left, right);
	*back = BACK(left, right);
}

/* A vec of nodes at i of the level that has `nodes`; two vecs of child values from there on. */
INLINE vec tree_gather(const tree_pass *t, size_t nodes, size_t i, vec near, vec far)
{
	vec d;
	vec u = tree_up(t, LOAD_ANY(t->a + nodes - 1 + i), EVEN(near, far), ODD(near, far), &d);
	*(vec_any *)(t->work + nodes - LANES + i) = d;
	return u;
}

INLINE void tree_spread(const tree_pass *t, size_t nodes, size_t i, vec p, vec *front, vec *back)
{
	vec a = LOAD_ANY(t->a + nodes - 1 + i);
	vec d = LOAD_ANY(t->work + nodes - LANES + i);
	if (front != NULL)
		tree_down(t, a, p, front, back);
	*(vec_any *)(t->da + nodes - 1 + i) = tree_gradient(t, a, p, d);
}

/* Levels of `nodes` and twice as many. child: what is below them, side by side. */
INLINE void gather_levels(const tree_pass *t, size_t nodes, const float *child, float *u)
{
	for (size_t i = 0; i < nodes; i += LANES) {
		const float *at = child + 4 * i;
		vec near = tree_gather(t, 2 * nodes, 2 * i, LOAD_ANY(at), LOAD_ANY(at + LANES));
		vec far = tree_gather(t, 2 * nodes, 2 * i + LANES, LOAD_ANY(at + 2 * LANES), LOAD_ANY(at + 3 * LANES));
		*(vec_any *)(u + i) = tree_gather(t, nodes, i, near, far);
	}
}

/* p_child NULL: what is below are leaves. */
INLINE void spread_levels(const tree_pass *t, size_t nodes, const float *p, float *p_child)
{
	for (size_t i = 0; i < nodes; i += LANES) {
		vec child[2], next[4];
		tree_spread(t, nodes, i, LOAD_ANY(p + i), &child[0], &child[1]);
		for (size_t k = 0; k < 2; k++)
			tree_spread(t, 2 * nodes, 2 * i + k * LANES, child[k], p_child != NULL ? &next[2 * k] : NULL,
			        &next[2 * k + 1]);
		for (size_t k = 0; p_child != NULL && k < 4; k++)
			*(vec_any *)(p_child + 4 * i + k * LANES) = next[k];
	}
}

/* The top nodes both ways: U of the level below to its P. Each round makes one more level right. */
INLINE vec tree_top(tree_pass *t, vec below)
{
	vec a = LOAD_ANY(t->a);
	vec u = { 0 };
	vec d = { 0 };
	for (int nodes = LANES / 2; nodes > 0; nodes /= 2)
		u = tree_up(t, a, HEAP_LEFT(u, below), HEAP_RIGHT(u, below), &d);
	t->gap = (t->agree - t->other) * u[0];
	vec left = choose(not_negative(a), t->other, t->agree);
	vec right = choose(not_negative(a), t->agree, t->other);
	vec handed = HEAP_HANDED(left, right);
	handed[0] = 1.0f;
	vec p = 1.0f - (vec){ 0 };
	for (int nodes = 1; nodes < LANES / 2; nodes *= 2)
		p = HEAP_HANDED(p, p) * handed;
	*(vec_any *)t->da = tree_gradient(t, a, p, d); /* and one more, which comes later */
	return BELOW_HANDED(p, p) * BELOW_HANDED(left, right);
}

/* last: nodes whose children are leaves, at least LANES. */
INLINE void tree_of_vecs(tree_pass *t, size_t last, const float *u)
{
	float top[LANES] = { 0 }; /* U, then P, of the level of LANES nodes */
	const float *child = u;
	size_t nodes = last;
	for (; nodes > LANES; nodes /= 4) {
		float *out = nodes / 2 == LANES ? top : t->da + nodes / 2 - 1;
		gather_levels(t, nodes / 2, child, out);
		child = out;
	}
	if (nodes == LANES)
		*(vec_any *)top = tree_gather(t, LANES, 0, LOAD_ANY(child), LOAD_ANY(child + LANES));
	vec p = tree_top(t, LOAD_ANY(top));
	if (nodes == LANES) {
		vec below[2];
		tree_spread(t, LANES, 0, p, &below[0], &below[1]);
		for (size_t k = 0; last > LANES && k < 2; k++)
			*(vec_any *)(t->da + 2 * LANES - 1 + k * LANES) = below[k];
		nodes = 2 * LANES;
	} else {
		*(vec_any *)top = p;
		nodes = LANES;
	}
	for (; nodes < last; nodes *= 4)
		spread_levels(t, nodes, nodes == LANES ? top : t->da + nodes - 1,
		        nodes * 2 < last ? t->da + 4 * nodes - 1 : NULL);
}

/* Nodes of one level, their children's values side by side. */
INLINE void gather_level(
        size_t nodes, float p, const float *restrict a, const float *restrict child, float *restrict out)
{
	float q = 1.0f - p;
	for (size_t i = 0; i < nodes; i++) {
		float left = child[2 * i];
		float right = child[2 * i + 1];
		out[i] = a[i] >= 0.0f ? q * left + p * right : p * left + q * right;
	}
}

/* da holds P on entry, the gradient on exit; p_child (NULL under the last level) gets the children's P. */
INLINE void spread_level(size_t nodes, float p, float root, const float *restrict a, const float *restrict child,
        float *restrict da, float *restrict p_child)
{
	float q = 1.0f - p;
	for (size_t i = 0; i < nodes; i++) {
		float pr = da[i] * (a[i] >= 0.0f ? p : q);
		float pl = da[i] * (a[i] >= 0.0f ? q : p);
		float d = pr * (child[2 * i + 1] - root) - pl * (child[2 * i] - root);
		if (p_child != NULL) {
			p_child[2 * i] = pl;
			p_child[2 * i + 1] = pr;
		}
		da[i] = fabsf(a[i]) <= 1.0f ? d : 0.0f;
	}
}

/* No level fills a vec. */
INLINE void tree_of_few(unsigned h, float p, const float *a, const float *u, float *work, float *da)
{
	size_t first = ((size_t)1 << (h - 1)) - 1;
	gather_level(first + 1, p, a + first, u, work + first);
	for (size_t nodes = (first + 1) / 2; nodes > 0; nodes /= 2)
		gather_level(nodes, p, a + nodes - 1, work + 2 * nodes - 1, work + nodes - 1);
	da[0] = 1.0f;
	for (size_t nodes = 1; nodes <= first; nodes *= 2)
		spread_level(
		        nodes, p, work[0], a + nodes - 1, work + 2 * nodes - 1, da + nodes - 1, da + 2 * nodes - 1);
	spread_level(first + 1, p, work[0], a + first, u, da + first, NULL);
}

static void tree_backward(unsigned h, float p, const float *a, const float *u, float *work, float *da)
{
	size_t last = (size_t)1 << (h - 1);
	if (last < LANES) {
		tree_of_few(h, p, a, u, work, da);
		return;
	}
	tree_pass t = { .agree = p - (vec){ 0 }, .other = (1.0f - p) - (vec){ 0 }, .a = a, .work = work, .da = da };
	tree_of_vecs(&t, last, u);
}

/* Many trees: lane j of a node is tree j's. One node upwards, from its children side by side. */
INLINE void gather_trees(size_t m, float p, const float *restrict a, const float *restrict child, float *restrict out)
{
	float q = 1.0f - p;
#pragma omp simd
	for (size_t j = 0; j < m; j++) {
		float to_right = a[j] >= 0.0f ? p : q;
		float to_left = a[j] >= 0.0f ? q : p;
		out[j] = to_left * child[j] + to_right * child[m + j];
	}
}

/* One node downwards: da holds P on entry, the gradient on exit; p_child as above. */
INLINE void spread_trees(size_t m, float p, const float *restrict a, const float *restrict root,
        const float *restrict child, float *restrict da, float *restrict p_child)
{
	float q = 1.0f - p;
#pragma omp simd
	for (size_t j = 0; j < m; j++) {
		float pr = da[j] * (a[j] >= 0.0f ? p : q);
		float pl = da[j] * (a[j] >= 0.0f ? q : p);
		float d = pr * (child[m + j] - root[j]) - pl * (child[j] - root[j]);
		if (p_child != NULL) {
			p_child[j] = pl;
			p_child[m + j] = pr;
		}
		da[j] = fabsf(a[j]) <= 1.0f ? d : 0.0f;
	}
}

/* Levels one after the other, the nodes of each in the order of memory. */
INLINE void backward_trees(unsigned h, size_t m, float p, const float *a, const float *u, float *work, float *da)
{
	size_t first = ((size_t)1 << (h - 1)) - 1; /* of the last level, whose children are leaves */
	for (size_t t = first; t <= 2 * first; t++)
		gather_trees(m, p, a + t * m, u + 2 * (t - first) * m, work + t * m);
	for (size_t level = first; level > 0; level = (level - 1) / 2)
		for (size_t t = (level - 1) / 2; t < level; t++)
			gather_trees(m, p, a + t * m, work + (2 * t + 1) * m, work + t * m);
	for (size_t j = 0; j < m; j++)
		da[j] = 1.0f;
	for (size_t t = 0; t < first; t++)
		spread_trees(m, p, a + t * m, work, work + (2 * t + 1) * m, da + t * m, da + (2 * t + 1) * m);
	for (size_t t = first; t <= 2 * first; t++)
		spread_trees(m, p, a + t * m, work, u + 2 * (t - first) * m, da + t * m, NULL);
}

/* The usual numbers of trees are known when it is compiled. */
static void trees_backward(unsigned h, size_t m, float p, const float *a, const float *u, float *work, float *da)
{
	switch (m) {
	case 1:
		tree_backward(h, p, a, u, work, da);
		break;
	case 8:
		backward_trees(h, 8, p, a, u, work, da);
		break;
	case 16:
		backward_trees(h, 16, p, a, u, work, da);
		break;
	case 32:
		backward_trees(h, 32, p, a, u, work, da);
		break;
	case 64:
		backward_trees(h, 64, p, a, u, work, da);
		break;
	default:
		backward_trees(h, m, p, a, u, work, da);
	}
}

#endif
