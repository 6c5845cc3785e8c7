/* online/forest_parts.h: what the files of the forest share (online/forest.h); for no one else. */
#ifndef COP_ONLINE_FOREST_PARTS_H
#define COP_ONLINE_FOREST_PARTS_H

#include "online/forest.h"

#define COP_FOREST_CANDIDATES 8   /* splits that a leaf watches */
#define COP_FOREST_LEAVES     256 /* of a tree, at most */
#define COP_FOREST_DEPTH      24  /* of a leaf, at most */

/* A split, or a leaf. The root is node 0; children lie side by side behind their parent. */
typedef struct cop_forest_node {
	uint32_t child; /* the left one; 0: a leaf */
	uint32_t at;    /* feature; a leaf's place among the tree's leaves */
	float threshold;
	uint32_t depth;
} cop_forest_node;

/* What a candidate knows: nothing, the value of a first row (in threshold), or the threshold. */
enum { COP_FOREST_BLANK, COP_FOREST_ONE_VALUE, COP_FOREST_READY };

typedef struct cop_forest_candidate {
	uint32_t feature : 30;
	uint32_t state : 2;
	float threshold;
} cop_forest_candidate;

/* Events of an arm and the sum of their losses. */
typedef struct cop_forest_sum {
	float n, loss;
} cop_forest_sum;

/* The growing edge of a leaf. */
typedef struct cop_forest_edge {
	uint32_t seen; /* events */
	uint32_t due;  /* of them, when dividing is next thought of */
	float squares; /* sum of squared losses */
} cop_forest_edge;

/* Numbers by index: open addressing; a place is taken when it bears the table's stamp. */
typedef struct cop_forest_place {
	uint32_t index, stamp;
	float value;
} cop_forest_place;

typedef struct cop_forest_table {
	cop_forest_place *at;
	size_t size; /* a power of two */
	uint32_t stamp;
} cop_forest_table;

struct cop_forest {
	cop_forest_settings set; /* trees: as many as there are */
	size_t room;             /* leaves of a tree, at most; nodes: 2 room - 1 */
	cop_rng rng;
	uint32_t *leaves;      /* M: of each tree, so far; nodes: 2 leaves - 1 */
	cop_forest_node *node; /* M x nodes */
	float *before;         /* M x (room - 1) x K: w of a divided leaf, by the order of dividing */
	/* Of leaf l of tree m, row m room + l: */
	float *w, *doubt;                /* K; doubt is 1 / (1 + n) */
	cop_forest_edge *edge;           /* 1 */
	cop_forest_candidate *candidate; /* CANDIDATES */
	cop_forest_sum *sum;             /* K */
	cop_forest_sum *right;           /* K x CANDIDATES: of sum, what went right */
	uint32_t *leaf;                  /* M: node that the last row ended in */
	cop_forest_table place;          /* entries of the last sparse row */
	cop_forest_table credit;         /* explanations: contribution of each feature */
};

static inline size_t cop_forest_nodes(const cop_forest *f) { return 2 * f->room - 1; }

/* x_j of the row last looked up. */
float cop_forest_value(const cop_forest *f, const cop_row *x, uint32_t feature);

/* A new leaf's edge: it has seen nothing. */
void cop_forest_begin_leaf(cop_forest *f, size_t row);
/* The leaf of tree m that the row is in takes it in, and divides when that is due. */
void cop_forest_watch(cop_forest *f, size_t m, uint32_t node, const cop_row *x, size_t arm, float loss);

#endif
