/* view/view_draw.h: trees as the JSON that the script of the HTML pages (view_page.js) draws.
 *
 * A page's data is {"outputs", "part", "classes"?, "trees": [tree ...], "importance"?, "names"}; names of features
 * stand there, or in each tree. One thread per drawing. */
#ifndef COP_VIEW_VIEW_DRAW_H
#define COP_VIEW_VIEW_DRAW_H

#include "base/bytes.h"
#include "base/json.h"
#include "view/tree_phrases.h"

typedef struct cop_view_drawing {
	cop_json_writer *json; /* the caller's */
	size_t features, outputs;
	bool classes;   /* leaves predict one of `outputs` classes */
	uint8_t *named; /* features: its name is needed */
	float *values;  /* outputs */
	double *rates;  /* outputs */
	cop_bytes text; /* words on their way into the JSON; its error is the drawing's */
} cop_view_drawing;

/* COP_ENOMEM. Caller finishes with fini, also after an error. */
COP_CHECK cop_err cop_view_draw_init(cop_view_drawing *drawing, size_t features, size_t outputs);
void cop_view_draw_fini(cop_view_drawing *drawing);

typedef struct cop_view_label {
	size_t number;
	const char *name; /* what the list of trees calls it; NULL: "tree" and the number */
	double weight;
	bool own_names; /* its features' names stand in the tree */
} cop_view_label;

/* The tree of the words as the next value: of `features` features, with at most `outputs` outputs. */
void cop_view_draw_tree(cop_view_drawing *drawing, const cop_tree_phrases *words, const cop_view_label *label);
/* Member "names": of the features that were named so far, which begin anew. */
void cop_view_draw_names(cop_view_drawing *drawing, const cop_tree_phrases *words);
/* [what, value], as the script takes weights and shares; the value to five digits, enough for a picture. */
void cop_view_draw_pair(cop_view_drawing *drawing, size_t what, double value);
double cop_view_draw_rounded(double value);

#endif
