/* Payload of section "tree", version 1:
 *
 *     u32 d, outputs, link (256 more where nodes have facets), nodes; u64 rows, node entries, row entries
 *     where nodes have facets: u64 facets, facet entries
 *     nodes x (u32 left, u32 right) as two's complement
 *     nodes + 1 x u32 rows of each leaf; u32 outputs of the rows of those leaves that have fewer than all outputs
 *     the nodes' vectors, then the rows': u32 entries of each; u32 indices of those that store fewer than all
 *     features; f32 weights; f32 biases
 *     where nodes have facets: nodes x u32 facets of each; the facets' vectors likewise; f32 r of each
 *
 * Only one sequence of bytes stands for a tree, so what was loaded saves to the same bytes. All counts are held against
 * the bytes that remain before room is taken; then the tree is settled, which checks the rest. */
#include "store/section_file.h"
#include "tree/tree_private.h"

#define WITH_FACETS 256U /* beside the link */

static void save_vectors(const cop_tree_vectors *vectors, size_t d, cop_bytes *bytes)
{
	size_t entries = vectors->start[vectors->count];
	for (size_t i = 0; i < vectors->count; i++)
		cop_bytes_put_u32(bytes, (uint32_t)(vectors->start[i + 1] - vectors->start[i]));
	for (size_t i = 0; i < vectors->count; i++) {
		size_t from = vectors->start[i], count = vectors->start[i + 1] - from;
		if (count < d)
			cop_bytes_put(bytes, vectors->index + from, count * sizeof *vectors->index);
	}
	cop_bytes_put_f32s(bytes, vectors->weight, entries);
	cop_bytes_put_f32s(bytes, vectors->bias, vectors->count);
}

static void save_facets(const cop_tree_parts *parts, cop_bytes *bytes)
{
	if (parts->facets.count == 0)
		return;
	for (size_t t = 0; t < parts->nodes.count; t++)
		cop_bytes_put_u32(bytes, (uint32_t)(parts->facet[t + 1] - parts->facet[t]));
	save_vectors(&parts->facets, parts->d, bytes);
	cop_bytes_put_f32s(bytes, parts->r, parts->facets.count);
}

void cop_tree_save(const cop_tree *tree, cop_bytes *bytes)
{
	const cop_tree_parts *parts = &tree->parts;
	size_t n = parts->nodes.count;
	size_t mark = cop_section_file_begin_section(bytes, COP_TREE_SECTION, COP_TREE_VERSION);
	cop_bytes_put_u32(bytes, (uint32_t)parts->d);
	cop_bytes_put_u32(bytes, (uint32_t)parts->outputs);
	cop_bytes_put_u32(bytes, (uint32_t)parts->link | (parts->facets.count > 0 ? WITH_FACETS : 0));
	cop_bytes_put_u32(bytes, (uint32_t)n);
	cop_bytes_put_u64(bytes, parts->rows.count);
	cop_bytes_put_u64(bytes, parts->nodes.start[n]);
	cop_bytes_put_u64(bytes, parts->rows.start[parts->rows.count]);
	if (parts->facets.count > 0) {
		cop_bytes_put_u64(bytes, parts->facets.count);
		cop_bytes_put_u64(bytes, parts->facets.start[parts->facets.count]);
	}
	for (size_t t = 0; t < n; t++) {
		cop_bytes_put_u32(bytes, (uint32_t)parts->left[t]);
		cop_bytes_put_u32(bytes, (uint32_t)parts->right[t]);
	}
	for (size_t l = 0; l <= n; l++)
		cop_bytes_put_u32(bytes, (uint32_t)(parts->leaf[l + 1] - parts->leaf[l]));
	for (size_t l = 0; l <= n; l++) {
		size_t from = parts->leaf[l], rows = parts->leaf[l + 1] - from;
		if (rows < parts->outputs)
			cop_bytes_put(bytes, parts->output + from, rows * sizeof *parts->output);
	}
	save_vectors(&parts->nodes, parts->d, bytes);
	save_vectors(&parts->rows, parts->d, bytes);
	save_facets(parts, bytes);
	cop_section_file_end_section(bytes, mark);
}

/* ---- loading ---- */

/* What is refused here would be refused later; this keeps room from being taken for it. */
static bool size_fits(const cop_tree_size *size, size_t left)
{
	size_t words = left / 4;
	if (size->nodes > COP_TREE_MAX_NODES || size->rows > words || size->node_entries > words ||
	        size->row_entries > words || size->facets > words || size->facet_entries > words)
		return false;
	/* nodes: children, rows of a leaf, entries, bias; rows: entries, bias; facets: entries, bias, r; entries:
	 * weight */
	return 5 * size->nodes + 1 + 2 * size->rows + size->node_entries + size->row_entries + 3 * size->facets +
	               size->facet_entries <=
	       words;
}

/* Reads `count` numbers and sums them up from start[0] = 0; they must make `total`. */
static bool load_starts(cop_cursor *cursor, size_t count, size_t total, size_t *start)
{
	start[0] = 0;
	for (size_t i = 0; i < count; i++) {
		start[i + 1] = start[i] + cop_cursor_u32(cursor);
		if (start[i + 1] > total)
			return false;
	}
	return start[count] == total;
}

/* Numbers 0, 1, ... are not in the file when there are `all` of them. */
static void load_numbers(cop_cursor *cursor, size_t count, size_t all, uint32_t *number)
{
	for (size_t i = 0; i < count; i++)
		number[i] = count < all ? cop_cursor_u32(cursor) : (uint32_t)i;
}

static bool load_vectors(cop_cursor *cursor, size_t d, size_t entries, const cop_tree_room *room)
{
	if (!load_starts(cursor, room->count, entries, room->start))
		return false;
	for (size_t i = 0; i < room->count; i++)
		load_numbers(cursor, room->start[i + 1] - room->start[i], d, room->index + room->start[i]);
	cop_cursor_f32s(cursor, room->weight, entries);
	cop_cursor_f32s(cursor, room->bias, room->count);
	return true;
}

static bool load_facets(cop_cursor *cursor, const cop_tree_size *size, cop_tree *tree)
{
	if (size->facets == 0)
		return true;
	if (!load_starts(cursor, size->nodes, size->facets, tree->facet) ||
	        !load_vectors(cursor, tree->parts.d, size->facet_entries, &tree->facets))
		return false;
	cop_cursor_f32s(cursor, tree->r, size->facets);
	return true;
}

static bool load_parts(cop_cursor *cursor, const cop_tree_size *size, cop_tree *tree)
{
	for (size_t t = 0; t < size->nodes; t++) {
		tree->left[t] = (int32_t)cop_cursor_u32(cursor);
		tree->right[t] = (int32_t)cop_cursor_u32(cursor);
	}
	if (!load_starts(cursor, size->nodes + 1, size->rows, tree->leaf))
		return false;
	for (size_t l = 0; l <= size->nodes; l++)
		load_numbers(
		        cursor, tree->leaf[l + 1] - tree->leaf[l], tree->parts.outputs, tree->output + tree->leaf[l]);
	return load_vectors(cursor, tree->parts.d, size->node_entries, &tree->nodes) &&
	       load_vectors(cursor, tree->parts.d, size->row_entries, &tree->rows) && load_facets(cursor, size, tree) &&
	       cop_cursor_left(cursor) == 0;
}

/* False: facets are announced, and there are none. */
static bool load_size(cop_cursor *cursor, uint32_t *link, cop_tree_size *size)
{
	const bool facets = (*link & WITH_FACETS) != 0;
	*link &= ~WITH_FACETS;
	size->nodes = cop_cursor_u32(cursor);
	size->rows = cop_cursor_u64(cursor);
	size->node_entries = cop_cursor_u64(cursor);
	size->row_entries = cop_cursor_u64(cursor);
	if (!facets)
		return true;
	size->facets = cop_cursor_u64(cursor);
	size->facet_entries = cop_cursor_u64(cursor);
	return size->facets > 0;
}

cop_err cop_tree_load(const void *payload, size_t length, cop_tree **out)
{
	cop_cursor cursor;
	cop_tree *tree;
	*out = NULL;
	cop_cursor_init(&cursor, payload, length);
	uint32_t d = cop_cursor_u32(&cursor), outputs = cop_cursor_u32(&cursor), link = cop_cursor_u32(&cursor);
	cop_tree_size size = { 0 };
	if (!load_size(&cursor, &link, &size) || cursor.err != COP_OK || d == 0 || outputs == 0 ||
	        link >= COP_TREE_LINKS || size.rows == 0 || !size_fits(&size, cop_cursor_left(&cursor)))
		return COP_EFORMAT;
	cop_err err = cop_tree_alloc(d, outputs, (cop_tree_link)link, &size, &tree);
	if (err != COP_OK)
		return err;
	if (!load_parts(&cursor, &size, tree))
		err = COP_EFORMAT;
	if (cursor.err != COP_OK)
		err = cursor.err;
	if (err == COP_OK)
		err = cop_tree_settle(tree);
	if (err == COP_OK)
		*out = tree;
	else
		cop_tree_free(tree);
	return err == COP_EINVAL ? COP_EFORMAT : err;
}

void cop_tree_put(const cop_tree *tree, cop_bytes *bytes)
{
	cop_bytes file;
	cop_bytes_init(&file);
	if (tree != NULL) {
		size_t mark = cop_section_file_begin(&file);
		cop_tree_save(tree, &file);
		cop_section_file_end(&file, mark);
	}
	cop_bytes_put_u64(bytes, file.length);
	cop_bytes_put(bytes, file.data, file.length);
	if (file.err != COP_OK && bytes->err == COP_OK)
		bytes->err = file.err;
	cop_bytes_fini(&file);
}

cop_err cop_tree_take(cop_cursor *cursor, cop_tree **out)
{
	cop_section_file file;
	cop_model_section section;
	size_t length = (size_t)cop_cursor_u64(cursor);
	const uint8_t *data = cop_cursor_take(cursor, length);
	*out = NULL;
	if (cursor->err != COP_OK || length == 0)
		return cursor->err;
	cop_err err = cop_section_file_open(&file, data, length, NULL, NULL);
	if (err == COP_OK)
		err = cop_section_file_find(&file, COP_TREE_SECTION, 0, COP_TREE_VERSION, &section);
	return err == COP_OK ? cop_tree_load(section.data, section.length, out) : err;
}
