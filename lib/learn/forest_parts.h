/* learn/forest_parts.h: what the files of the forest share (learn/forest.h); for no one else. */
#ifndef COP_LEARN_FOREST_PARTS_H
#define COP_LEARN_FOREST_PARTS_H

#include <math.h>

#include "learn/forest.h"
#include "learn/stacking.h"

#define COP_FOREST_CANDIDATES 8    /* splits that a leaf watches */
#define COP_FOREST_LEAVES     2048 /* of a tree, at most */
#define COP_FOREST_DEPTH      24   /* of a leaf, at most */
#define COP_FOREST_LARGEST    1e6f /* value of a leaf, by far: sums of them stay finite */

/* The root is node 0; children lie side by side behind their parent. A walk goes to child + (x[feature] >= threshold):
 * from a leaf, whose child is itself and whose threshold is infinite, no further. */
typedef struct cop_forest_node {
	uint32_t child;
	uint32_t feature;
	float threshold;
	uint32_t leaf; /* its place among the tree's leaves */
} cop_forest_node;

/* The growing edge of a leaf. Candidate c is in `one` when its feature has shown one value, which is its threshold
 * then, and in `ready` once it has shown two. */
typedef struct cop_forest_edge {
	uint32_t feature[COP_FOREST_CANDIDATES];
	float threshold[COP_FOREST_CANDIDATES];
	uint32_t seen; /* events */
	uint32_t due;  /* of them, when dividing is next thought of */
	float squares; /* sum of squared losses */
	uint8_t one, ready;
	uint16_t depth;
} cop_forest_edge;

/* Events of an arm and the sum of their losses; the same of those that candidates send to the right. */
typedef struct cop_forest_sum {
	float n, loss;
} cop_forest_sum;

typedef struct cop_forest_right {
	float n[COP_FOREST_CANDIDATES];
	float loss[COP_FOREST_CANDIDATES];
} cop_forest_right;

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

/* Whether the context tells of losses at all (learn/forest_gate.c). */
typedef struct cop_forest_gate {
	uint64_t events;
	double wealth;
	double sum, squares; /* of what was won, discounted */
	bool open;           /* for good */
	double *n, *loss;    /* K: events of each arm, and their losses' sum */
} cop_forest_gate;

/* The rows learned last, and where each is in every tree (learn/forest_rows.c): a new leaf knows at once what went
 * there while it was part of another. */
typedef struct cop_forest_rows {
	size_t room;     /* rows at most; 0: none fit */
	size_t held;     /* so far */
	size_t width;    /* entries of a row, at most */
	size_t trees;    /* M */
	uint32_t oldest; /* row that gives way next, once all places are taken */
	float *value;    /* room x width */
	uint32_t *index; /* the same; of dense rows none */
	uint32_t *entries, *arm;
	float *loss;
	uint32_t *leaf;         /* room x M: the leaf's row, */
	uint32_t *after;        /* and who is next in its queue */
	uint32_t *first, *last; /* of a leaf's queue */
	uint32_t *found;        /* room: those of one leaf */
} cop_forest_rows;

struct cop_forest {
	cop_forest_settings set; /* trees: as many as there are */
	size_t room;             /* leaves of a tree, at most */
	size_t held;             /* the same, of what there is memory for: at least room */
	size_t nodes;            /* of a tree, that lie side by side: at least 2 held - 1 */
	cop_rng rng;
	uint32_t *leaves;      /* M: of each tree, so far; nodes: 2 leaves - 1 */
	uint32_t *depth;       /* M: of each tree's deepest leaf */
	cop_forest_node *node; /* M x nodes */
	float *before;         /* (held - 1) x M x 2 K: values of a divided leaf, by the order of dividing */
	/* Of leaf l of tree m, row l M + m: */
	float *value;            /* 3 K: quick values, steady ones, and doubts, each 1 / (1 + n) */
	cop_forest_edge *edge;   /* 1 */
	cop_forest_sum *sum;     /* K */
	cop_forest_right *right; /* K */
	uint32_t *end;           /* M: node that the last row ended in */
	cop_forest_rows rows;
	cop_stacking stack; /* of the two sums */
	cop_forest_gate gate;
	float *sums;             /* 2 K: quick and steady, of the last row */
	cop_forest_table place;  /* entries of the last sparse row */
	cop_forest_table credit; /* explanations: contribution of each feature */
	uint32_t *credited;      /* its places that are taken, at most M DEPTH */
	size_t credits;
};

static inline size_t cop_forest_nodes(const cop_forest *f) { return f->nodes; }
static inline float *cop_forest_quick(const cop_forest *f, size_t row) { return f->value + 3 * row * f->set.arms; }
static inline float *cop_forest_steady(const cop_forest *f, size_t row)
{
	return f->value + (3 * row + 1) * f->set.arms;
}
static inline float *cop_forest_doubts(const cop_forest *f, size_t row)
{
	return f->value + (3 * row + 2) * f->set.arms;
}
static inline cop_forest_node cop_forest_leaf(uint32_t at, uint32_t leaf)
{
	return (cop_forest_node){ .child = at, .threshold = INFINITY, .leaf = leaf };
}

/* Of leaf l of tree m. Leaves of the same age lie side by side, so that memory is touched as trees grow. */
static inline size_t cop_forest_row(const cop_forest *f, size_t m, size_t l) { return l * f->set.trees + m; }
/* The leaf of tree m where the last row ended. */
static inline size_t cop_forest_row_of(const cop_forest *f, size_t m)
{
	return cop_forest_row(f, m, f->node[m * cop_forest_nodes(f) + f->end[m]].leaf);
}
/* Values from before leaf l of tree m was made, which is not its first. */
static inline float *cop_forest_before(const cop_forest *f, size_t m, size_t l)
{
	return f->before + 2 * cop_forest_row(f, m, l - 1) * f->set.arms;
}

static inline float cop_forest_moved(float value, float by)
{
	return fminf(fmaxf(value + by, -COP_FOREST_LARGEST), COP_FOREST_LARGEST);
}

/* Leaves of a tree at most, by the forest's shape. */
size_t cop_forest_parts_room(const cop_forest *f);
/* Memory for so many leaves of a tree, of which none is there; what there was of them is gone. A forest that was grown
 * from fewer arms keeps its trees' leaves, beyond the memory meant: COP_ESHAPE: several times beyond. COP_ENOMEM. The
 * forest is only good for freeing after an error. */
COP_CHECK cop_err cop_forest_parts_hold(cop_forest *f, size_t leaves);

/* Where x ends in every tree. */
void cop_forest_walk(cop_forest *f, const cop_row *x);
/* x_j of the row last looked up. */
float cop_forest_value(const cop_forest *f, const cop_row *x, uint32_t feature);

/* A new leaf's edge: it has seen nothing. */
void cop_forest_begin_leaf(cop_forest *f, size_t row, uint16_t depth);
/* The leaf of tree m that the row ended in takes it in, and divides when that is due. */
void cop_forest_watch(cop_forest *f, size_t m, const cop_row *x, size_t arm, float loss);

double cop_forest_rows_footprint(const cop_forest_settings *settings, size_t trees, size_t leaves);
/* leaves: of all trees. False: memory is short; caller finishes with fini all the same. */
bool cop_forest_rows_init(cop_forest_rows *rows, const cop_forest_settings *settings, size_t leaves);
/* Other leaves, none of which has anybody. False: memory is short. */
bool cop_forest_parts_rows_hold(cop_forest_rows *rows, size_t leaves);
void cop_forest_rows_fini(cop_forest_rows *rows);
/* A new leaf, given by its row, has nobody. */
void cop_forest_rows_begin(cop_forest_rows *rows, size_t leaf);
/* The row of the last walk is kept. */
void cop_forest_rows_keep(cop_forest *f, const cop_row *x, size_t arm, float loss);
/* Those in a leaf of tree m, the oldest first, into rows->found; how many. */
size_t cop_forest_rows_find(cop_forest_rows *rows, size_t m, size_t leaf);
cop_row cop_forest_rows_at(const cop_forest *f, uint32_t i);
float cop_forest_rows_value(const cop_forest *f, uint32_t i, uint32_t feature);
/* The same of a leaf's candidates' features. */
void cop_forest_rows_values(const cop_forest *f, uint32_t i, const uint32_t *feature, float *value);
/* What is in `left`, until now the whole leaf of tree m, goes to the sides of the node that divides it. */
void cop_forest_rows_divide(cop_forest *f, size_t m, size_t left, size_t right, const cop_forest_node *node);
void cop_forest_rows_save(const cop_forest *f, cop_bytes *bytes);
/* Once the trees are loaded; inputs: of the saved rows, dense ones may have fewer, what they lack is 0. What is wrong
 * is in cursor->err. */
void cop_forest_rows_load(cop_forest *f, size_t inputs, cop_cursor *cursor);
/* From a forest of as many trees, and of fewer inputs, perhaps, with room for as many rows; that one keeps none. */
void cop_forest_parts_rows_inherit(cop_forest *f, cop_forest *from);

/* The gate takes in a loss in [0, 1], and what the forest predicted before it knew. */
void cop_forest_gate_learn(cop_forest_gate *gate, size_t arm, double loss, double prediction);
void cop_forest_gate_save(const cop_forest_gate *gate, size_t arms, cop_bytes *bytes);
/* arms: of the saved one, at most all. What is wrong is in cursor->err. */
void cop_forest_gate_load(cop_forest_gate *gate, size_t all, size_t arms, cop_cursor *cursor);
/* The same of a living one. */
void cop_forest_parts_gate_inherit(cop_forest_gate *gate, size_t all, size_t arms, const cop_forest_gate *from);

#endif
