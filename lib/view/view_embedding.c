/* Rows are sorted by leaf once; the scatter plots and the leaves' drawings then read ranges. Both plots show squares
 * around all their points, with one unit on both axes. */
#include "view/view_embedding.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "view/view_embedding_private.h"
#include "view/view_frame.h"

#define SIDE   460.0 /* of a plot, pixels */
#define MARGIN 8.0
#define TOP    7 /* features of a split */

typedef cop_view_embedding_page page;

static void put_html(cop_bytes *out, const char *html) { cop_bytes_put(out, html, strlen(html)); }

/* Hues by the golden angle: neighbouring numbers are far apart. */
void cop_view_embedding_fill(size_t class, cop_bytes *out)
{
	cop_tree_phrases_put(out, " style=\"fill:hsl(%.0f 62%% %d%%)\"", fmod(137.508 * (double)class + 210.0, 360.0),
	        class / 7 % 2 == 0 ? 48 : 62);
}

/* ---- plots ---- */

static void find_square(const double *z, size_t n, double low[2], double *side)
{
	double high[2];
	for (int c = 0; c < 2; c++)
		low[c] = high[c] = z[c];
	for (size_t i = 0; i < 2 * n; i++) {
		low[i % 2] = fmin(low[i % 2], z[i]);
		high[i % 2] = fmax(high[i % 2], z[i]);
	}
	*side = fmax(high[0] - low[0], high[1] - low[1]);
	for (int c = 0; c < 2; c++)
		low[c] -= 0.5 * (*side - (high[c] - low[c]));
	if (!(*side > 0.0))
		*side = 1.0;
}

static void put_plot(const page *p, const double *z, const char *name)
{
	const cop_view_embedding *w = p->what;
	const size_t n = w->rows->n, step = (n + COP_VIEW_EMBEDDING_MOST - 1) / COP_VIEW_EMBEDDING_MOST;
	double low[2], side, scale;
	find_square(z, n, low, &side);
	scale = (SIDE - 2.0 * MARGIN) / side;
	cop_tree_phrases_put(p->out,
	        "<figure class=\"box\"><figcaption>%s</figcaption>\n<svg viewBox=\"0 0 %.0f %.0f\" width=\"100%%\" "
	        "role=\"img\" aria-label=\"%s\">\n",
	        name, SIDE, SIDE, name);
	for (size_t i = 0; i < n; i += step) {
		cop_tree_phrases_put(p->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2\"",
		        MARGIN + scale * (z[2 * i] - low[0]), SIDE - MARGIN - scale * (z[2 * i + 1] - low[1]));
		cop_view_embedding_fill(w->label[i], p->out);
		put_html(p->out, "/>\n");
	}
	put_html(p->out, "</svg></figure>\n");
}

static void put_legend(const page *p)
{
	put_html(p->out, "<ul class=\"legend\">\n");
	for (size_t k = 0; k < p->what->classes; k++) {
		put_html(p->out,
		        "<li><svg width=\"12\" height=\"12\" style=\"display:inline-block\" aria-hidden=\"true\">"
		        "<rect width=\"12\" height=\"12\"");
		cop_view_embedding_fill(k, p->out);
		put_html(p->out, "/></svg> ");
		cop_view_frame_words(p->what->class_name[k], p->out);
		put_html(p->out, "</li>\n");
	}
	put_html(p->out, "</ul>\n");
}

/* ---- the page ---- */

static void put_page(page *p)
{
	const cop_view_embedding *w = p->what;
	cop_view_frame_head(w->title, p->out);
	put_html(p->out, "<p class=\"soft\">");
	cop_view_frame_words(w->figures, p->out);
	put_html(p->out, "</p>\n</header>\n<main>\n<section>\n<h2>Rows in the plane</h2>\n");
	if (w->rows->n > COP_VIEW_EMBEDDING_MOST)
		put_html(p->out, "<p class=\"soft\">Not every row is drawn.</p>\n");
	put_legend(p);
	put_html(p->out, "<div class=\"grid\">\n");
	put_plot(p, w->z, "Tree embedding");
	put_plot(p, w->free_z, "Free embedding");
	put_html(p->out,
	        "</div>\n</section>\n<section>\n<h2>The tree</h2>\n"
	        "<p class=\"soft\">A row goes right where the sum of its (scaled) features, times their weights, is "
	        "at least the number at the split. Above each leaf stands the region in which its rows lie, then "
	        "its rows by class, then the features by which its rows differ most from all.</p>\n"
	        "<div style=\"overflow-x:auto\">\n");
	cop_view_embedding_tree(p);
	put_html(p->out, "</div>\n</section>\n</main>\n</body>\n</html>\n");
}

/* ---- what the rows are ---- */

static void sort_by_leaf(page *p)
{
	const cop_dataset *rows = p->what->rows;
	for (size_t i = 0; i < rows->n; i++) {
		cop_row row;
		cop_dataset_row(rows, i, &row);
		p->leaf[i] = (uint32_t)cop_tree_leaf(p->words.tree, &row);
		p->begin[p->leaf[i] + 1]++;
	}
	for (size_t l = 0; l < p->leaves; l++)
		p->begin[l + 1] += p->begin[l];
	for (size_t i = rows->n; i-- > 0;)
		p->order[--p->begin[p->leaf[i] + 1]] = (uint32_t)i;
	/* begin[l + 1] is now where l begins. */
	memmove(p->begin, p->begin + 1, p->leaves * sizeof *p->begin);
	p->begin[p->leaves] = rows->n;
	for (size_t i = 0; i < rows->n; i++) {
		cop_row row;
		cop_dataset_row(rows, i, &row);
		for (size_t e = 0; e < cop_row_entries(&row); e++)
			p->all[cop_row_index(&row, e)] += cop_row_value(&row, e) / (float)rows->n;
	}
}

static cop_err page_init(page *p)
{
	const size_t n = p->what->rows->n;
	p->leaf = cop_mem_alloc(n, sizeof *p->leaf);
	p->begin = cop_mem_alloc(p->leaves + 1, sizeof *p->begin);
	p->order = cop_mem_alloc(n, sizeof *p->order);
	p->hull = cop_mem_alloc(n + 1, sizeof *p->hull);
	p->mean = cop_mem_alloc(p->what->rows->d, sizeof *p->mean);
	p->all = cop_mem_alloc(p->what->rows->d, sizeof *p->all);
	p->mix = cop_mem_alloc(p->what->classes, sizeof *p->mix);
	if (p->leaf == NULL || p->begin == NULL || p->order == NULL || p->hull == NULL || p->mean == NULL ||
	        p->all == NULL || p->mix == NULL)
		return COP_ENOMEM;
	find_square(p->what->z, n, p->low, &p->side);
	sort_by_leaf(p);
	return COP_OK;
}

cop_err cop_view_embedding_html(const cop_view_embedding *what, cop_bytes *out)
{
	page p = { .what = what, .words = cop_tree_phrases_of(what->model, 0, TOP), .out = out };
	const cop_tree_parts *parts = cop_tree_view(p.words.tree);
	if (parts->outputs != 2 || parts->d != what->rows->d || what->rows->n == 0)
		return COP_ESHAPE;
	p.leaves = cop_tree_leaves(p.words.tree);
	cop_err err = page_init(&p);
	if (err == COP_OK) {
		put_page(&p);
		err = out->err;
	}
	cop_mem_free(p.leaf);
	cop_mem_free(p.begin);
	cop_mem_free(p.order);
	cop_mem_free(p.hull);
	cop_mem_free(p.mean);
	cop_mem_free(p.all);
	cop_mem_free(p.mix);
	return err;
}
