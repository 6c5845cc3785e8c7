/* view/view_embedding.h: a tree embedding as an HTML page (Zharmagambetov's thesis, figure 4.2): the rows in the plane,
 * coloured by class; the tree with the heaviest features of each split; and for each leaf its region, which is the
 * convex hull of where its rows lie, its rows by class, and the features by which its rows differ most from all.
 *
 * The page is static: drawings are SVG, it has no script and loads nothing. Any thread. */
#ifndef COP_VIEW_VIEW_EMBEDDING_H
#define COP_VIEW_VIEW_EMBEDDING_H

#include "table/dataset.h"
#include "view/trained.h"

#define COP_VIEW_EMBEDDING_MOST ((size_t)20000) /* rows that are drawn; of more every so-manyth */

typedef struct cop_view_embedding {
	const cop_trained *model; /* its first tree has 2 outputs; features have the names of its preparation */
	const cop_dataset *rows;  /* prepared */
	const double *z;          /* rows->n x 2: where the tree puts them */
	const double *free_z;     /* rows->n x 2: without a tree */
	const uint32_t *label;    /* rows->n, below classes */
	size_t classes;           /* at least 1 */
	const char *const *class_name;
	const char *title;
	const char *figures; /* a line about the fit, shown under the title */
} cop_view_embedding;

/* Appends the page, without a terminator. COP_ESHAPE: the tree has not 2 outputs, or other features than the rows.
 * COP_ENOMEM. */
COP_CHECK cop_err cop_view_embedding_html(const cop_view_embedding *what, cop_bytes *out);

#endif
