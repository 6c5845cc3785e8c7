/* view/view_embedding_private.h: what the two sources of the page of a tree embedding share. */
#ifndef COP_VIEW_VIEW_EMBEDDING_PRIVATE_H
#define COP_VIEW_VIEW_EMBEDDING_PRIVATE_H

#include "view/tree_phrases.h"
#include "view/view_embedding.h"

typedef struct cop_view_embedding_page {
	const cop_view_embedding *what;
	cop_tree_phrases words;
	size_t leaves;
	uint32_t *leaf;      /* rows->n: of each row */
	size_t *begin;       /* leaves + 1: the rows of leaf l are order[begin[l]] to order[begin[l + 1]] */
	uint32_t *order;     /* rows->n */
	uint32_t *hull;      /* rows->n + 1: rows, at hand */
	float *mean, *all;   /* rows->d: of the leaf at hand, of all rows */
	double *mix;         /* classes: rows of the leaf at hand */
	double low[2], side; /* of the square that all z lie in */
	cop_bytes *out;
} cop_view_embedding_page;

/* " style="fill:..." of a class. */
void cop_view_embedding_fill(size_t class, cop_bytes *out);
/* The tree, with its leaves' regions, rows by class and features, as one SVG. */
void cop_view_embedding_tree(cop_view_embedding_page *page);

#endif
