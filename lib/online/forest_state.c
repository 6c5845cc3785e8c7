/* A forest's state: the trees as they stand. What could lead a walk astray is checked on the way in. */
#include <string.h>

#include "online/forest_parts.h"

#define NODES (2 * COP_FOREST_LEAVES - 1)

static void put_sums(cop_bytes *bytes, const cop_forest_sum *sum, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		cop_bytes_put_f32(bytes, sum[i].n);
		cop_bytes_put_f32(bytes, sum[i].loss);
	}
}

static void save_leaf(const cop_forest *f, size_t row, cop_bytes *bytes)
{
	size_t arms = f->set.arms;
	cop_bytes_put_u32(bytes, f->edge[row].seen);
	cop_bytes_put_u32(bytes, f->edge[row].due);
	cop_bytes_put_f32(bytes, f->edge[row].squares);
	for (size_t c = 0; c < COP_FOREST_CANDIDATES; c++) {
		const cop_forest_candidate *candidate = &f->candidate[row * COP_FOREST_CANDIDATES + c];
		cop_bytes_put_u32(bytes, candidate->feature);
		cop_bytes_put_u8(bytes, candidate->state);
		cop_bytes_put_f32(bytes, candidate->threshold);
	}
	cop_bytes_put_f32s(bytes, &f->w[row * arms], arms);
	cop_bytes_put_f32s(bytes, &f->doubt[row * arms], arms);
	put_sums(bytes, &f->sum[row * arms], arms);
	put_sums(bytes, &f->right[row * arms * COP_FOREST_CANDIDATES], arms * COP_FOREST_CANDIDATES);
}

void cop_forest_save(const cop_forest *f, cop_bytes *bytes)
{
	cop_bytes_put_u64(bytes, f->set.inputs);
	cop_bytes_put_u8(bytes, f->set.entries > 0);
	cop_bytes_put_u64(bytes, f->set.arms);
	cop_bytes_put_u64(bytes, f->set.trees);
	cop_bytes_put_u64(bytes, f->room);
	cop_bytes_put_rng(bytes, &f->rng);
	for (size_t m = 0; m < f->set.trees; m++) {
		const cop_forest_node *node = &f->node[m * cop_forest_nodes(f)];
		cop_bytes_put_u32(bytes, f->leaves[m]);
		for (size_t i = 0; i < 2 * f->leaves[m] - 1; i++) {
			cop_bytes_put_u32(bytes, node[i].child);
			cop_bytes_put_u32(bytes, node[i].at);
			cop_bytes_put_f32(bytes, node[i].threshold);
		}
		cop_bytes_put_f32s(
		        bytes, &f->before[m * (f->room - 1) * f->set.arms], (f->leaves[m] - 1) * f->set.arms);
		for (size_t l = 0; l < f->leaves[m]; l++)
			save_leaf(f, m * f->room + l, bytes);
	}
}

/* n >= 0 and at most `most`'s, which may be NULL. */
static void load_sums(cop_cursor *cursor, cop_forest_sum *sum, size_t count, const cop_forest_sum *most, size_t each)
{
	for (size_t i = 0; i < count && cursor->err == COP_OK; i++) {
		sum[i].n = cop_cursor_f32(cursor);
		sum[i].loss = cop_cursor_f32(cursor);
		bool fits = sum[i].n >= 0.0f && sum[i].n <= 1e9f && sum[i].loss >= 0.0f && sum[i].loss <= 1e9f;
		if (cursor->err == COP_OK && (!fits || (most != NULL && sum[i].n > most[i / each].n)))
			cursor->err = COP_EFORMAT;
	}
}

static void load_candidate(const cop_forest *f, cop_forest_candidate *candidate, cop_cursor *cursor)
{
	uint32_t feature = cop_cursor_u32(cursor);
	uint8_t state = cop_cursor_u8(cursor);
	cop_cursor_f32s(cursor, &candidate->threshold, 1);
	bool waits = state == COP_FOREST_ONE_VALUE;
	if (cursor->err == COP_OK &&
	        (feature >= f->set.inputs - 1 || state > COP_FOREST_READY || (waits && f->set.entries > 0)))
		cursor->err = COP_EFORMAT;
	candidate->feature = feature & 0x3fffffffu;
	candidate->state = state & 3u;
}

static void load_leaf(cop_forest *f, size_t row, cop_cursor *cursor)
{
	size_t arms = f->set.arms;
	f->edge[row].seen = cop_cursor_u32(cursor);
	f->edge[row].due = cop_cursor_u32(cursor);
	cop_cursor_f32s(cursor, &f->edge[row].squares, 1);
	for (size_t c = 0; c < COP_FOREST_CANDIDATES; c++)
		load_candidate(f, &f->candidate[row * COP_FOREST_CANDIDATES + c], cursor);
	cop_cursor_f32s(cursor, &f->w[row * arms], arms);
	cop_cursor_f32s(cursor, &f->doubt[row * arms], arms);
	for (size_t k = 0; k < arms && cursor->err == COP_OK; k++)
		if (!(f->doubt[row * arms + k] > 0.0f && f->doubt[row * arms + k] <= 1.0f))
			cursor->err = COP_EFORMAT;
	cop_forest_sum *sum = &f->sum[row * arms];
	load_sums(cursor, sum, arms, NULL, 1);
	load_sums(cursor, &f->right[row * arms * COP_FOREST_CANDIDATES], arms * COP_FOREST_CANDIDATES, sum,
	        COP_FOREST_CANDIDATES);
}

/* Whether nodes 0 .. count make one tree, all of whose leaves have places of their own; fills the depths. */
static bool is_tree(const cop_forest *f, cop_forest_node *node, size_t count)
{
	bool taken[COP_FOREST_LEAVES] = { false };
	bool reached[NODES] = { true };
	for (size_t i = 0; i < count; i++) {
		size_t child = node[i].child;
		if (!reached[i] || node[i].depth > COP_FOREST_DEPTH)
			return false;
		if (child == 0) {
			if (node[i].at >= (count + 1) / 2 || taken[node[i].at])
				return false;
			taken[node[i].at] = true;
			continue;
		}
		if (child % 2 == 0 || child <= i || child >= count || reached[child] || node[i].at >= f->set.inputs - 1)
			return false;
		reached[child] = reached[child + 1] = true;
		node[child].depth = node[child + 1].depth = node[i].depth + 1;
	}
	return true;
}

static void load_tree(cop_forest *f, size_t m, cop_cursor *cursor)
{
	cop_forest_node *node = &f->node[m * cop_forest_nodes(f)];
	uint32_t leaves = cop_cursor_u32(cursor);
	if (cursor->err == COP_OK && (leaves == 0 || leaves > f->room))
		cursor->err = COP_EFORMAT;
	if (cursor->err != COP_OK)
		return;
	f->leaves[m] = leaves;
	for (size_t i = 0; i < 2 * leaves - 1; i++) {
		node[i] = (cop_forest_node){ .child = cop_cursor_u32(cursor) };
		node[i].at = cop_cursor_u32(cursor);
		cop_cursor_f32s(cursor, &node[i].threshold, 1);
	}
	if (cursor->err == COP_OK && !is_tree(f, node, 2 * leaves - 1))
		cursor->err = COP_EFORMAT;
	cop_cursor_f32s(cursor, &f->before[m * (f->room - 1) * f->set.arms], (leaves - 1) * f->set.arms);
	for (size_t l = 0; l < leaves && cursor->err == COP_OK; l++)
		load_leaf(f, m * f->room + l, cursor);
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
	if (inputs != f->set.inputs || sparse != (f->set.entries > 0) || arms != f->set.arms || trees != f->set.trees ||
	        room != f->room)
		return COP_ESHAPE;
	cop_cursor_rng(cursor, &f->rng);
	for (size_t m = 0; m < trees && cursor->err == COP_OK; m++)
		load_tree(f, m, cursor);
	return cursor->err;
}
