/* A forest's state: the trees as they stand. What could lead a walk astray is checked on the way in. */
#include <string.h>

#include "base/mem.h"
#include "learn/forest_parts.h"

#define NODES    (2 * COP_FOREST_LEAVES - 1)
#define SOON     8  /* one part of so many more leaves come while memory for them is made, */
#define AT_LEAST 16 /* and so many */

static void save_leaf(const cop_forest *f, size_t row, cop_bytes *bytes)
{
	size_t arms = f->set.arms;
	const cop_forest_edge *e = &f->edge[row];
	for (size_t c = 0; c < COP_FOREST_CANDIDATES; c++)
		cop_bytes_put_u32(bytes, e->feature[c]);
	cop_bytes_put_f32s(bytes, e->threshold, COP_FOREST_CANDIDATES);
	cop_bytes_put_u32(bytes, e->seen);
	cop_bytes_put_u32(bytes, e->due);
	cop_bytes_put_f32(bytes, e->squares);
	cop_bytes_put_u8(bytes, e->one);
	cop_bytes_put_u8(bytes, e->ready);
	cop_bytes_put_f32s(bytes, cop_forest_quick(f, row), 3 * arms);
	for (size_t k = row * arms; k < (row + 1) * arms; k++) {
		cop_bytes_put_f32(bytes, f->sum[k].n);
		cop_bytes_put_f32(bytes, f->sum[k].loss);
		cop_bytes_put_f32s(bytes, f->right[k].n, COP_FOREST_CANDIDATES);
		cop_bytes_put_f32s(bytes, f->right[k].loss, COP_FOREST_CANDIDATES);
	}
}

void cop_forest_save(const cop_forest *f, cop_bytes *bytes)
{
	cop_bytes_put_u64(bytes, f->set.inputs);
	cop_bytes_put_u8(bytes, f->set.entries > 0);
	cop_bytes_put_u64(bytes, f->set.arms);
	cop_bytes_put_u64(bytes, f->set.trees);
	cop_bytes_put_u64(bytes, f->room);
	cop_bytes_put_rng(bytes, &f->rng);
	cop_stacking_save(&f->stack, bytes);
	cop_forest_gate_save(&f->gate, f->set.arms, bytes);
	for (size_t m = 0; m < f->set.trees; m++) {
		const cop_forest_node *node = &f->node[m * cop_forest_nodes(f)];
		cop_bytes_put_u32(bytes, f->leaves[m]);
		for (size_t i = 0; i < 2 * f->leaves[m] - 1; i++) {
			bool leaf = node[i].child == i;
			cop_bytes_put_u32(bytes, leaf ? 0 : node[i].child);
			cop_bytes_put_u32(bytes, leaf ? node[i].leaf : node[i].feature);
			cop_bytes_put_f32(bytes, leaf ? 0.0f : node[i].threshold);
		}
		for (size_t l = 1; l < f->leaves[m]; l++)
			cop_bytes_put_f32s(bytes, cop_forest_before(f, m, l), 2 * f->set.arms);
		for (size_t l = 0; l < f->leaves[m]; l++)
			save_leaf(f, cop_forest_row(f, m, l), bytes);
	}
	cop_forest_rows_save(f, bytes);
}

static bool counts(float value) { return value >= 0.0f && value <= 1e9f; }

/* Sums are of losses from 0 to 1, and none goes right that is not there. */
static void load_sums(cop_forest_sum *sum, cop_forest_right *right, cop_cursor *cursor)
{
	cop_cursor_f32s(cursor, &sum->n, 1);
	cop_cursor_f32s(cursor, &sum->loss, 1);
	cop_cursor_f32s(cursor, right->n, COP_FOREST_CANDIDATES);
	cop_cursor_f32s(cursor, right->loss, COP_FOREST_CANDIDATES);
	bool fits = counts(sum->n) && counts(sum->loss);
	for (size_t c = 0; c < COP_FOREST_CANDIDATES; c++)
		fits = fits && counts(right->n[c]) && counts(right->loss[c]) && right->n[c] <= sum->n;
	if (cursor->err == COP_OK && !fits)
		cursor->err = COP_EFORMAT;
}

static void load_edge(const cop_forest *f, cop_forest_edge *e, cop_cursor *cursor)
{
	bool fits = true;
	for (size_t c = 0; c < COP_FOREST_CANDIDATES; c++) {
		e->feature[c] = cop_cursor_u32(cursor);
		fits = fits && e->feature[c] < f->set.inputs - 1;
	}
	cop_cursor_f32s(cursor, e->threshold, COP_FOREST_CANDIDATES);
	e->seen = cop_cursor_u32(cursor);
	e->due = cop_cursor_u32(cursor);
	if (e->depth >= COP_FOREST_DEPTH)
		e->due = UINT32_MAX; /* never */
	cop_cursor_f32s(cursor, &e->squares, 1);
	e->one = cop_cursor_u8(cursor);
	e->ready = cop_cursor_u8(cursor);
	fits = fits && (e->one == 0 || f->set.entries == 0); /* what waits for a second value looks at dense rows */
	if (cursor->err == COP_OK && !fits)
		cursor->err = COP_EFORMAT;
}

static void load_values(float *value, size_t count, cop_cursor *cursor)
{
	cop_cursor_f32s(cursor, value, count);
	for (size_t i = 0; i < count && cursor->err == COP_OK; i++)
		if (fabsf(value[i]) > COP_FOREST_LARGEST)
			cursor->err = COP_EFORMAT;
}

/* Of a leaf's values for one arm after the other, those of the saved arms; further ones are as of a new leaf's. */
static void load_arms(float *value, size_t all, float rest, size_t arms, cop_cursor *cursor)
{
	load_values(value, arms, cursor);
	for (size_t k = arms; k < all; k++)
		value[k] = rest;
}

static void load_leaf(cop_forest *f, size_t row, size_t arms, cop_cursor *cursor)
{
	const size_t all = f->set.arms;
	const float *doubts = cop_forest_doubts(f, row);
	cop_forest_rows_begin(&f->rows, row);
	load_edge(f, &f->edge[row], cursor);
	load_arms(cop_forest_quick(f, row), all, 0.0f, arms, cursor);
	load_arms(cop_forest_steady(f, row), all, 0.0f, arms, cursor);
	load_arms(cop_forest_doubts(f, row), all, 1.0f, arms, cursor);
	for (size_t k = 0; k < all && cursor->err == COP_OK; k++)
		if (!(doubts[k] > 0.0f && doubts[k] <= 1.0f))
			cursor->err = COP_EFORMAT;
	for (size_t k = row * all; k < row * all + arms && cursor->err == COP_OK; k++)
		load_sums(&f->sum[k], &f->right[k], cursor);
	for (size_t k = row * all + arms; k < (row + 1) * all; k++) {
		f->sum[k] = (cop_forest_sum){ 0 };
		f->right[k] = (cop_forest_right){ 0 };
	}
}

/* Whether nodes 0 .. count, as they were written, make one tree all of whose leaves have places of their own. They
 * become what they are here, and the leaves learn their depth. */
static bool make_tree(cop_forest *f, size_t m, size_t count)
{
	cop_forest_node *node = &f->node[m * cop_forest_nodes(f)];
	bool taken[COP_FOREST_LEAVES] = { false };
	uint8_t depth[NODES] = { 1 }; /* one more than it is; 0: no parent yet */
	f->depth[m] = 0;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t child = node[i].child;
		if (depth[i] == 0 || depth[i] > COP_FOREST_DEPTH + 1)
			return false;
		if (child == 0) {
			uint32_t leaf = node[i].feature;
			if (leaf >= (count + 1) / 2 || taken[leaf])
				return false;
			taken[leaf] = true;
			node[i] = cop_forest_leaf(i, leaf);
			f->edge[cop_forest_row(f, m, leaf)].depth = (uint16_t)(depth[i] - 1);
			f->depth[m] = depth[i] - 1u > f->depth[m] ? depth[i] - 1u : f->depth[m];
			continue;
		}
		if (child % 2 == 0 || child <= i || child >= count || depth[child] != 0 ||
		        node[i].feature >= f->set.inputs - 1)
			return false;
		depth[child] = depth[child + 1] = (uint8_t)(depth[i] + 1);
	}
	return true;
}

static void load_tree(cop_forest *f, size_t m, size_t arms, cop_cursor *cursor)
{
	cop_forest_node *node = &f->node[m * cop_forest_nodes(f)];
	uint32_t leaves = cop_cursor_u32(cursor);
	if (cursor->err == COP_OK && (leaves == 0 || leaves > f->held))
		cursor->err = COP_EFORMAT;
	if (cursor->err != COP_OK)
		return;
	f->leaves[m] = leaves;
	for (size_t i = 0; i < 2 * leaves - 1; i++) {
		node[i] = (cop_forest_node){ .child = cop_cursor_u32(cursor) };
		node[i].feature = cop_cursor_u32(cursor);
		cop_cursor_f32s(cursor, &node[i].threshold, 1);
	}
	if (cursor->err == COP_OK && !make_tree(f, m, 2 * leaves - 1))
		cursor->err = COP_EFORMAT;
	for (size_t l = 1; l < leaves && cursor->err == COP_OK; l++) {
		load_arms(cop_forest_before(f, m, l), f->set.arms, 0.0f, arms, cursor);
		load_arms(cop_forest_before(f, m, l) + f->set.arms, f->set.arms, 0.0f, arms, cursor);
	}
	for (size_t l = 0; l < leaves && cursor->err == COP_OK; l++)
		load_leaf(f, cop_forest_row(f, m, l), arms, cursor);
}

/* Trees that have more leaves than there would be room for among so many arms keep them, and grow no more. */
static void find_room(cop_forest *f)
{
	f->room = cop_forest_parts_room(f);
	for (size_t m = 0; m < f->set.trees; m++)
		f->room = f->leaves[m] > f->room ? f->leaves[m] : f->room;
}

/* room: that was saved, with so many arms. */
static cop_err make_room(cop_forest *f, size_t room, size_t arms)
{
	const size_t own = cop_forest_parts_room(f);
	if (room < own && arms == f->set.arms)
		return COP_ESHAPE;
	f->room = room > own ? room : own;
	return f->room > f->held ? cop_forest_parts_hold(f, f->room) : COP_OK;
}

cop_err cop_forest_load(cop_forest *f, cop_cursor *cursor)
{
	uint64_t inputs = cop_cursor_u64(cursor);
	uint8_t sparse = cop_cursor_u8(cursor);
	uint64_t arms = cop_cursor_u64(cursor);
	uint64_t trees = cop_cursor_u64(cursor);
	uint64_t room = cop_cursor_u64(cursor);
	if (cursor->err != COP_OK)
		return cursor->err;
	const bool wider = inputs < f->set.inputs && inputs >= 2 && f->set.entries == 0;
	if ((inputs != f->set.inputs && !wider) || sparse != (f->set.entries > 0) || arms == 0 || arms > f->set.arms ||
	        trees != f->set.trees)
		return COP_ESHAPE;
	cop_err err = make_room(f, (size_t)room, (size_t)arms);
	if (err != COP_OK)
		return err;
	cop_cursor_rng(cursor, &f->rng);
	err = cop_stacking_load(&f->stack, cursor);
	if (err != COP_OK)
		return err == COP_ESHAPE ? COP_EFORMAT : err;
	cop_forest_gate_load(&f->gate, f->set.arms, (size_t)arms, cursor);
	for (size_t m = 0; m < trees && cursor->err == COP_OK; m++)
		load_tree(f, m, (size_t)arms, cursor);
	if (cursor->err == COP_OK && arms < f->set.arms)
		find_room(f);
	if (cursor->err == COP_OK)
		cop_forest_rows_load(f, (size_t)inputs, cursor);
	return cursor->err;
}

/* ---- from another one, of fewer arms or inputs ---- */

static size_t most_leaves(const cop_forest *f)
{
	size_t most = 0;
	for (size_t m = 0; m < f->set.trees; m++)
		most = f->leaves[m] > most ? f->leaves[m] : most;
	return most;
}

size_t cop_forest_grown(const cop_forest *f)
{
	const size_t most = most_leaves(f), soon = most + most / SOON + AT_LEAST;
	return soon < f->room ? soon : f->room;
}

/* What lies arm by arm, which is what is copied: leaves' rows follow each other by the order of dividing. */
cop_err cop_forest_hold(cop_forest *f, size_t leaves)
{
	cop_err err = leaves > f->held ? cop_forest_parts_hold(f, leaves) : COP_OK;
	const size_t each = f->set.trees * f->set.arms;
	if (err != COP_OK || leaves == 0)
		return err;
	memset(f->before, 0, 2 * (leaves - 1) * each * sizeof *f->before);
	memset(f->value, 0, 3 * leaves * each * sizeof *f->value);
	memset(f->sum, 0, leaves * each * sizeof *f->sum);
	memset(f->right, 0, leaves * each * sizeof *f->right);
	return COP_OK;
}

cop_err cop_forest_make_room(cop_forest *f, const cop_forest *from)
{
	const size_t most = most_leaves(from);
	const bool wider = from->set.inputs < f->set.inputs && f->set.entries == 0;
	if ((from->set.inputs != f->set.inputs && !wider) || from->set.entries != f->set.entries ||
	        from->set.arms > f->set.arms || from->set.trees != f->set.trees || from->rows.room != f->rows.room)
		return COP_ESHAPE;
	if (from->set.arms == f->set.arms && from->room < cop_forest_parts_room(f))
		return COP_ESHAPE;
	return most > f->held ? cop_forest_parts_hold(f, most) : COP_OK;
}

static void copy_arms(float *value, size_t all, float rest, const float *from, size_t arms)
{
	memcpy(value, from, arms * sizeof *value);
	for (size_t k = arms; k < all; k++)
		value[k] = rest;
}

static void inherit_leaf(cop_forest *f, const cop_forest *from, size_t row)
{
	const size_t all = f->set.arms, arms = from->set.arms, new = all - arms;
	copy_arms(cop_forest_quick(f, row), all, 0.0f, cop_forest_quick(from, row), arms);
	copy_arms(cop_forest_steady(f, row), all, 0.0f, cop_forest_steady(from, row), arms);
	copy_arms(cop_forest_doubts(f, row), all, 1.0f, cop_forest_doubts(from, row), arms);
	memcpy(&f->sum[row * all], &from->sum[row * arms], arms * sizeof *f->sum);
	memset(&f->sum[row * all + arms], 0, new * sizeof *f->sum);
	memcpy(&f->right[row * all], &from->right[row * arms], arms * sizeof *f->right);
	memset(&f->right[row * all + arms], 0, new * sizeof *f->right);
}

/* What lies arm by arm is copied; the rest changes hands. */
static void inherit_trees(cop_forest *f, const cop_forest *from)
{
	const size_t all = f->set.arms, arms = from->set.arms;
	for (size_t l = 0; l < from->held; l++)
		for (size_t m = 0; m < f->set.trees; m++) {
			if (l >= from->leaves[m])
				continue;
			inherit_leaf(f, from, cop_forest_row(f, m, l));
			if (l == 0)
				continue;
			const float *before = cop_forest_before(from, m, l);
			copy_arms(cop_forest_before(f, m, l), all, 0.0f, before, arms);
			copy_arms(cop_forest_before(f, m, l) + all, all, 0.0f, before + arms, arms);
		}
}

void cop_forest_inherit(cop_forest *f, cop_forest *from)
{
	f->rng = from->rng;
	f->stack = from->stack;
	cop_forest_parts_gate_inherit(&f->gate, f->set.arms, from->set.arms, &from->gate);
	inherit_trees(f, from);
	cop_mem_exchange(&f->leaves, &from->leaves, sizeof f->leaves);
	cop_mem_exchange(&f->depth, &from->depth, sizeof f->depth);
	cop_mem_exchange(&f->node, &from->node, sizeof f->node);
	cop_mem_exchange(&f->edge, &from->edge, sizeof f->edge);
	cop_forest_parts_rows_inherit(f, from);
	cop_mem_exchange(&f->nodes, &from->nodes, sizeof f->nodes);
	find_room(f);
	if (from->set.arms == f->set.arms && from->room > f->room)
		f->room = from->room; /* as ever: arms alone take room away */
}
