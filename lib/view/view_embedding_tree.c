/* Leaves stand side by side, each in a column of its own, and a split stands above the middle of its two children:
 * columns are handed out from left to right on the way down, so that nothing overlaps. */
#include "view/view_embedding_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view/view_frame.h"

#define COLUMN    150.0
#define LEVEL     150.0
#define LINE      13.0
#define REGION    110.0
#define BARS      54.0
#define TOP       7
#define NAME_MOST 18

typedef cop_view_embedding_page page;

static void put_html(cop_bytes *out, const char *html) { cop_bytes_put(out, html, strlen(html)); }

/* A feature's name, cut where it is long, and its number. */
static void put_weight(const page *p, double x, double y, size_t feature, double value)
{
	cop_bytes name;
	cop_bytes_init(&name);
	cop_tree_phrases_feature(&p->words, feature, &name);
	cop_tree_phrases_put(p->out,
	        "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" style=\"font-size:11px;fill:var(%s)\">", x, y,
	        value >= 0.0 ? "--plus" : "--minus");
	size_t length = name.length;
	if (length > NAME_MOST) /* not in the middle of a character */
		for (length = NAME_MOST; length > 0 && (name.data[length] & 0xC0U) == 0x80U;)
			length--;
	cop_view_frame_escaped((const char *)name.data, length, p->out);
	cop_tree_phrases_put(p->out, "%s %+.2g</text>\n", length < name.length ? "…" : "", value);
	if (name.err != COP_OK && p->out->err == COP_OK)
		p->out->err = name.err;
	cop_bytes_fini(&name);
}

/* ---- splits ---- */

static void put_split(const page *p, size_t node, double x, double y)
{
	const cop_tree_vectors *v = &cop_tree_view(p->words.tree)->nodes;
	const float *w = v->weight + v->start[node];
	uint32_t place[TOP];
	size_t count = v->start[node + 1] - v->start[node];
	size_t shown = cop_tree_phrases_heaviest(count, w, TOP, place);
	cop_tree_phrases_put(p->out, "<g><title>split %zu: %zu features</title>\n", node, count);
	for (size_t s = 0; s < shown; s++)
		put_weight(p, x, y + LINE * (double)s, v->index[v->start[node] + place[s]], (double)w[place[s]]);
	cop_tree_phrases_put(p->out,
	        "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" class=\"dim\">%s ≥ %.3g</text></g>\n", x,
	        y + LINE * (double)shown, count > shown ? "and more" : "", -(double)v->bias[node]);
}

/* ---- leaves ---- */

static double cross(const double *o, const double *a, const double *b)
{
	return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]);
}

static int by_place(const void *a, const void *b, void *context)
{
	const double *z = context, *x = z + 2 * (size_t) * (const uint32_t *)a,
	             *y = z + 2 * (size_t) * (const uint32_t *)b;
	if (x[0] != y[0])
		return x[0] < y[0] ? -1 : 1;
	return (x[1] > y[1]) - (x[1] < y[1]);
}

/* The convex hull of rows[0..n), n > 0, which are sorted by place: rows into hull (n + 1), their number (Andrew's
 * monotone chain). */
static size_t find_hull(const double *z, const uint32_t *rows, size_t n, uint32_t *hull)
{
	size_t count = 0;
	for (int upper = 0; upper < 2; upper++) {
		size_t floor = count;
		for (size_t i = 0; i < n; i++) {
			uint32_t row = rows[upper ? n - 1 - i : i];
			while (count >= floor + 2 &&
			        cross(z + 2 * (size_t)hull[count - 2], z + 2 * (size_t)hull[count - 1],
			                z + 2 * (size_t)row) <= 0.0)
				count--;
			hull[count++] = row;
		}
		count--; /* the next half begins with it */
	}
	return count > 0 ? count : 1;
}

static void put_region(page *p, size_t leaf, double x, double y)
{
	const double *z = p->what->z, scale = REGION / p->side;
	uint32_t *rows = p->order + p->begin[leaf];
	size_t n = p->begin[leaf + 1] - p->begin[leaf];
	cop_tree_phrases_put(p->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.0f\" height=\"%.0f\" class=\"card\"/>\n",
	        x - 0.5 * REGION, y, REGION, REGION);
	if (n == 0)
		return;
	qsort_r(rows, n, sizeof *rows, by_place, (void *)(uintptr_t)z);
	size_t corners = find_hull(z, rows, n, p->hull);
	put_html(p->out,
	        "<polygon style=\"fill:var(--accent);fill-opacity:.35;stroke:var(--accent);stroke-width:2\" points=\"");
	for (size_t c = 0; c < corners; c++) {
		const double *at = z + 2 * (size_t)p->hull[c];
		cop_tree_phrases_put(p->out, "%.1f,%.1f ", x - 0.5 * REGION + scale * (at[0] - p->low[0]),
		        y + REGION - scale * (at[1] - p->low[1]));
	}
	put_html(p->out, "\"/>\n");
	for (size_t c = 0; c < corners && corners < 3; c++) /* a hull without area would hardly be seen */
		cop_tree_phrases_put(p->out,
		        "<rect x=\"%.1f\" y=\"%.1f\" width=\"5\" height=\"5\" style=\"fill:var(--accent)\"/>\n",
		        x - 0.5 * REGION + scale * (z[2 * (size_t)p->hull[c]] - p->low[0]) - 2.5,
		        y + REGION - scale * (z[2 * (size_t)p->hull[c] + 1] - p->low[1]) - 2.5);
}

static void put_bars(page *p, size_t leaf, double x, double y)
{
	const cop_view_embedding *w = p->what;
	double most = 1.0, wide = REGION / (double)w->classes;
	memset(p->mix, 0, w->classes * sizeof *p->mix);
	for (size_t i = p->begin[leaf]; i < p->begin[leaf + 1]; i++)
		p->mix[w->label[p->order[i]]] += 1.0;
	for (size_t k = 0; k < w->classes; k++)
		most = p->mix[k] > most ? p->mix[k] : most;
	for (size_t k = 0; k < w->classes; k++) {
		double high = BARS * p->mix[k] / most;
		if (!(p->mix[k] > 0.0))
			continue;
		cop_tree_phrases_put(p->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"",
		        x - 0.5 * REGION + wide * (double)k, y + BARS - high, 0.9 * wide, high);
		cop_view_embedding_fill(k, p->out);
		put_html(p->out, "><title>");
		cop_view_frame_words(w->class_name[k], p->out);
		cop_tree_phrases_put(p->out, ": %.0f</title></rect>\n", p->mix[k]);
	}
}

/* Mean of each feature in the leaf less that in all rows; the heaviest. */
static void put_features(page *p, size_t leaf, double x, double y)
{
	const cop_dataset *rows = p->what->rows;
	size_t n = p->begin[leaf + 1] - p->begin[leaf];
	uint32_t place[TOP];
	if (n == 0)
		return;
	for (size_t j = 0; j < rows->d; j++)
		p->mean[j] = -p->all[j];
	for (size_t i = p->begin[leaf]; i < p->begin[leaf + 1]; i++) {
		cop_row row;
		cop_dataset_row(rows, p->order[i], &row);
		for (size_t e = 0; e < cop_row_entries(&row); e++)
			p->mean[cop_row_index(&row, e)] += cop_row_value(&row, e) / (float)n;
	}
	size_t shown = cop_tree_phrases_heaviest(rows->d, p->mean, TOP, place);
	for (size_t s = 0; s < shown; s++)
		put_weight(p, x, y + LINE * (double)s, place[s], (double)p->mean[place[s]]);
}

static void put_leaf(page *p, size_t leaf, double x, double y)
{
	size_t n = p->begin[leaf + 1] - p->begin[leaf];
	cop_tree_phrases_put(p->out,
	        "<g><title>leaf %zu</title>\n<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" class=\"strong\">leaf "
	        "%zu: %zu rows</text>\n",
	        leaf, x, y, leaf, n);
	put_region(p, leaf, x, y + 6.0);
	put_bars(p, leaf, x, y + REGION + 14.0);
	put_features(p, leaf, x, y + REGION + BARS + 30.0);
	put_html(p->out, "</g>\n");
}

/* ---- places ---- */

static double height_of(unsigned depth) { return 20.0 + LEVEL * (double)depth; }

/* Draws what hangs at child (a node or ~leaf) and returns where it stands; columns are handed out from *column on.
 * Recursion is as deep as the tree. */
static double put_child(page *p, int32_t child, unsigned depth, size_t *column)
{
	const cop_tree_parts *parts = cop_tree_view(p->words.tree);
	double y = height_of(depth);
	if (child < 0) {
		double x = COLUMN * ((double)(*column)++ + 0.5);
		put_leaf(p, (size_t)~child, x, y);
		return x;
	}
	double left = put_child(p, parts->left[child], depth + 1, column);
	double right = put_child(p, parts->right[child], depth + 1, column);
	double x = 0.5 * (left + right), foot = y + LINE * (TOP + 1) - 4.0, head = height_of(depth + 1) - 14.0;
	cop_tree_phrases_put(p->out,
	        "<path d=\"M%.1f %.1fL%.1f %.1fM%.1f %.1fL%.1f %.1f\" "
	        "style=\"stroke:var(--line);stroke-width:1.5\"/>\n",
	        x, foot, left, head, x, foot, right, head);
	put_split(p, (size_t)child, x, y);
	return x;
}

void cop_view_embedding_tree(cop_view_embedding_page *p)
{
	size_t column = 0, nodes = cop_tree_view(p->words.tree)->nodes.count;
	double wide = COLUMN * (double)p->leaves;
	double high = height_of(cop_tree_depth(p->words.tree)) + REGION + BARS + LINE * TOP + 40.0;
	cop_tree_phrases_put(p->out,
	        "<svg viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" role=\"img\" aria-label=\"The tree\">\n",
	        wide, high, wide, high);
	(void)put_child(p, nodes > 0 ? 0 : ~0, 0, &column);
	put_html(p->out, "</svg>\n");
}
