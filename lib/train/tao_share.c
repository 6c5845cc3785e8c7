/* What the fit of a node changes is its own parameters and, of its rows, the leaf and the loss: all of it travels, so
 * that what another rank takes is what this one has, to the bit. Arrays stand behind their lengths; a sparse vector's
 * length is below d. */
#include "train/tao_share.h"

#include <string.h>

#include "base/mem.h"

void cop_tao_share_put_array(cop_bytes *bytes, const void *array, size_t count, size_t size)
{
	cop_bytes_put_u8(bytes, array != NULL);
	cop_bytes_put_u64(bytes, count);
	if (array != NULL)
		cop_bytes_put(bytes, array, count * size);
}

void *cop_tao_share_take_array(cop_cursor *cursor, size_t *count, size_t size)
{
	bool there = cop_cursor_u8(cursor) != 0;
	*count = (size_t)cop_cursor_u64(cursor);
	if (!there || cursor->err != COP_OK)
		return NULL;
	if (*count > cop_cursor_left(cursor) / size) {
		cursor->err = COP_EFORMAT;
		return NULL;
	}
	const void *from = cop_cursor_take(cursor, *count * size);
	void *array = cop_mem_alloc(*count, size);
	if (array == NULL)
		cursor->err = COP_ENOMEM;
	else
		memcpy(array, from, *count * size);
	return array;
}

static void put_node(const cop_tao_node *node, cop_bytes *bytes)
{
	cop_bytes_put_u8(bytes, node->drawn);
	cop_tao_share_put_array(bytes, node->f.index, node->f.count, sizeof *node->f.index);
	cop_tao_share_put_array(bytes, node->f.w, node->f.count, sizeof *node->f.w);
	cop_bytes_put_f32(bytes, node->f.bias);
	cop_bytes_put_f64(bytes, node->f.norm);
}

static void take_node(cop_tao_state *state, cop_tao_node *node, cop_cursor *cursor)
{
	size_t count;
	bool drawn = cop_cursor_u8(cursor) != 0;
	cop_tao_linear f = { .index = cop_tao_share_take_array(cursor, &count, sizeof *f.index) };
	f.w = cop_tao_share_take_array(cursor, &f.count, sizeof *f.w);
	f.bias = cop_cursor_f32(cursor);
	f.norm = cop_cursor_f64(cursor);
	if (cursor->err == COP_OK && (count != f.count || f.count > state->d))
		cursor->err = COP_EFORMAT;
	if (cursor->err != COP_OK) {
		cop_tao_linear_fini(&f);
		return;
	}
	cop_tao_node_replace(state, node, &f);
	node->drawn = drawn;
}

static void put_leaf(const cop_tao_leaf *leaf, cop_bytes *bytes)
{
	const size_t entries = leaf->start == NULL ? 0 : leaf->start[leaf->rows];
	cop_bytes_put_u32(bytes, leaf->choice);
	cop_bytes_put_f64(bytes, leaf->norm);
	cop_tao_share_put_array(bytes, leaf->bias, leaf->rows, sizeof *leaf->bias);
	cop_tao_share_put_array(bytes, leaf->output, leaf->rows, sizeof *leaf->output);
	cop_tao_share_put_array(bytes, leaf->start, leaf->rows + 1, sizeof *leaf->start);
	cop_tao_share_put_array(bytes, leaf->index, entries, sizeof *leaf->index);
	cop_tao_share_put_array(bytes, leaf->v, entries, sizeof *leaf->v);
}

static void take_leaf(cop_tao_state *state, cop_tao_leaf *leaf, cop_cursor *cursor)
{
	size_t outputs, starts, entries, values;
	cop_tao_leaf next = { .choice = cop_cursor_u32(cursor), .norm = cop_cursor_f64(cursor) };
	next.bias = cop_tao_share_take_array(cursor, &next.rows, sizeof *next.bias);
	next.output = cop_tao_share_take_array(cursor, &outputs, sizeof *next.output);
	next.start = cop_tao_share_take_array(cursor, &starts, sizeof *next.start);
	next.index = cop_tao_share_take_array(cursor, &entries, sizeof *next.index);
	next.v = cop_tao_share_take_array(cursor, &values, sizeof *next.v);
	if (cursor->err == COP_OK && (outputs != next.rows || starts != next.rows + 1 || entries != values))
		cursor->err = COP_EFORMAT;
	if (cursor->err == COP_OK && next.start != NULL && state->sample->rows->sparse)
		cursor->err = cop_tao_turned_new(state->d, next.rows, next.start, next.index, next.v, &next.turned);
	if (cursor->err == COP_OK)
		cop_tao_leaf_replace(state, leaf, &next);
	else
		cop_tao_leaf_fini(&next);
}

void cop_tao_share_put(const cop_tao_state *state, int32_t what, const uint32_t *rows, size_t n, cop_bytes *bytes)
{
	if (what >= 0)
		put_node(&state->node[what], bytes);
	else
		put_leaf(&state->leaf[~what], bytes);
	for (size_t i = 0; i < n; i++) {
		cop_bytes_put_u32(bytes, state->leaf_of[rows[i]]);
		cop_bytes_put_f64(bytes, state->loss[rows[i]]);
	}
}

cop_err cop_tao_share_take(cop_tao_state *state, int32_t what, const uint32_t *rows, size_t n, cop_cursor *cursor)
{
	if (what >= 0)
		take_node(state, &state->node[what], cursor);
	else
		take_leaf(state, &state->leaf[~what], cursor);
	for (size_t i = 0; i < n && cursor->err == COP_OK; i++) {
		uint32_t leaf = cop_cursor_u32(cursor);
		double loss = cop_cursor_f64(cursor);
		if (leaf >= state->leaves)
			cursor->err = COP_EFORMAT;
		if (cursor->err != COP_OK)
			break;
		state->leaf_of[rows[i]] = leaf;
		state->loss[rows[i]] = loss;
	}
	return cursor->err;
}
