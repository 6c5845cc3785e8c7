/* view/tree_phrases.h: the splits and leaves of a tree as phrases for people: the common part of its views.
 *
 * A split of one feature is written in the file's own unit when the preparation is known ("age >= 41.5"), one of a
 * category by its name ("colour is red"), one of several features as a sum over prepared features, heaviest first
 * ("+0.83 size -0.41 age (3 lighter) +0.1 >= 0"), one by a polytope as the weighted sum over its facets, of which s(z)
 * = ln(1 + e^z) is taken ("outside a polytope of 2 facets: +0.4 s(+2 size -1) +0.1 s(-3 age) >= 0.69"). A row for which
 * the phrase holds goes right. Values are in the file's unit. Names may hold anything: what could steer a terminal or
 * is no UTF-8 is shown as \xNN.
 *
 * Nothing is allocated but the text; errors stay in out->err. Any thread. */
#ifndef COP_VIEW_TREE_PHRASES_H
#define COP_VIEW_TREE_PHRASES_H

#include "view/trained.h"

#define COP_TREE_PHRASES_MOST 32 /* heaviest features */

typedef struct cop_tree_phrases {
	const cop_tree *tree;
	const cop_encoder *preparation; /* NULL: names as below, everything as it stands in the tree */
	const char *const *features;    /* d names; NULL: the preparation's, or x0, x1 ... */
	const char *const *outputs;     /* K names; NULL: the preparation's classes, or output 0 ... */
	const cop_node_counts *census;  /* NULL: none */
	bool part;                      /* values of leaves are added to those of other trees */
	bool mathematical;              /* ≥ and −, not >= and - */
	size_t top;                     /* heaviest features that are written, at most COP_TREE_PHRASES_MOST */
} cop_tree_phrases;

/* Those of tree i of a model. */
cop_tree_phrases cop_tree_phrases_of(const cop_trained *model, size_t i, size_t top);

typedef enum cop_tree_test_kind {
	COP_TREE_TEST_ALWAYS,   /* no feature: all rows go one way */
	COP_TREE_TEST_NUMBER,   /* feature >= threshold; turned: feature <= threshold */
	COP_TREE_TEST_CATEGORY, /* is of that category; turned: is not */
	COP_TREE_TEST_OBLIQUE,
	COP_TREE_TEST_POLYTOPE
} cop_tree_test_kind;

typedef struct cop_tree_test {
	cop_tree_test_kind kind;
	size_t node;
	size_t feature;   /* of number and category */
	double threshold; /* in the file's unit when there is a preparation */
	bool turned;
	bool right; /* always: which way */
} cop_tree_test;

cop_tree_test cop_tree_phrases_test_of(const cop_tree_phrases *words, size_t node);
/* The test; holds false: its opposite, which sends left. */
void cop_tree_phrases_test(const cop_tree_phrases *words, const cop_tree_test *test, bool holds, cop_bytes *out);

/* A polytope's test without its facets: "outside a polytope of 3 facets". */
void cop_tree_phrases_polytope(const cop_tree_phrases *words, size_t node, bool outside, cop_bytes *out);

/* Class and its probability, value, or, of a linear leaf, its rows. */
void cop_tree_phrases_leaf(const cop_tree_phrases *words, size_t leaf, cop_bytes *out);
/* "120 rows: red 80, blue 40" or "120 rows, 3.5 sd 0.2" of a child (node or ~leaf); false and nothing: no census. */
bool cop_tree_phrases_rows(const cop_tree_phrases *words, int32_t child, cop_bytes *out);

void cop_tree_phrases_feature(const cop_tree_phrases *words, size_t j, cop_bytes *out);
void cop_tree_phrases_output(const cop_tree_phrases *words, size_t k, cop_bytes *out);
/* Any text with control characters and malformed UTF-8 as \xNN. */
void cop_tree_phrases_clean(const char *text, cop_bytes *out);
void cop_tree_phrases_put(cop_bytes *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Six digits, large ones to a tenth; finite. */
void cop_tree_phrases_number(double value, cop_bytes *out);

/* A value that a leaf holds, as a phrase writes it. */
double cop_tree_phrases_value(const cop_tree_phrases *words, double value);
/* The constant part of a leaf's output k; probabilities when the link is logits. */
double cop_tree_phrases_output_of(const cop_tree_phrases *words, size_t leaf, size_t k);
/* Rows and mix of a child (NULL allowed); false: no census. */
bool cop_tree_phrases_census(const cop_tree_phrases *words, int32_t child, uint64_t *rows, const double **mix);

/* Places of the at most `top` weights of greatest magnitude, heaviest first, ties by place, zeros left out; their
 * number is returned. place has room for top <= COP_TREE_PHRASES_MOST. */
size_t cop_tree_phrases_heaviest(size_t count, const float *w, size_t top, uint32_t *place);
/* Of a node's facets those of greatest r, likewise: numbers among all facets. */
size_t cop_tree_phrases_heaviest_facets(const cop_tree_phrases *words, size_t node, uint32_t *place);
/* The same of counts. */
size_t cop_tree_phrases_commonest(size_t count, const double *rows, size_t top, uint32_t *place);

#endif
