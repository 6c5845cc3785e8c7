/* tools/train/train_knobs.h: what can be set of a batch learner: one table of names, ranges, words and who they are
 * for, from which options are read, help is printed, and `--search` takes what it tries.
 *
 * A value is a double: a number, a whole number, the place of a word in its list, or 0 and 1 of a flag. What is not
 * given is left to the learner's own default. One thread. */
#ifndef COP_TOOLS_TRAIN_TRAIN_KNOBS_H
#define COP_TOOLS_TRAIN_TRAIN_KNOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define COP_TRAIN_NAME "train"

typedef enum cop_knob {
	COP_KNOB_HEIGHT,
	COP_KNOB_LEAVES,
	COP_KNOB_ALPHA,
	COP_KNOB_LEAF_ALPHA,
	COP_KNOB_LEAF_CLASSES,
	COP_KNOB_LOSS,
	COP_KNOB_STARTS,
	COP_KNOB_SPLIT,
	COP_KNOB_START,
	COP_KNOB_ORDER,
	COP_KNOB_ITERATIONS,
	COP_KNOB_TOLERANCE,
	COP_KNOB_NODE_TOLERANCE,
	COP_KNOB_NODE_STEPS,
	COP_KNOB_MONOTONE,
	COP_KNOB_KEEP_DEAD,
	COP_KNOB_MIN_LEAF,
	COP_KNOB_COMPLEXITY,
	COP_KNOB_FOLDS,
	COP_KNOB_FEATURES,
	COP_KNOB_LAYERS,
	COP_KNOB_WIDTH,
	COP_KNOB_GRADIENTS,
	COP_KNOB_EPOCHS,
	COP_KNOB_BATCH,
	COP_KNOB_PATIENCE,
	COP_KNOB_OPTIMISER,
	COP_KNOB_LR,
	COP_KNOB_MINIMUM_LR,
	COP_KNOB_MOMENTUM,
	COP_KNOB_RESTARTS,
	COP_KNOB_CLIP,
	COP_KNOB_L1,
	COP_KNOB_L2,
	COP_KNOB_HUBER,
	COP_KNOB_SHARED_BIAS,
	COP_KNOB_SCALED_QUANTISER,
	COP_KNOB_PRODUCT_PATHS,
	COP_KNOB_ANNEAL,
	COP_KNOB_ANNEAL_FIRST,
	COP_KNOB_ANNEAL_LAST,
	COP_KNOB_TREES,
	COP_KNOB_FOREST,
	COP_KNOB_SHARE,
	COP_KNOB_REPLACE,
	COP_KNOB_SHRINKAGE,
	COP_KNOB_NEIGHBOURS,
	COP_KNOB_PERPLEXITY,
	COP_KNOB_GRAPH,
	COP_KNOB_GAMMA,
	COP_KNOB_MU,
	COP_KNOB_GROWTH,
	COP_KNOB_ROUNDS,
	COP_KNOB_SOLVER,
	COP_KNOBS
} cop_knob;

/* Who a knob is for. */
enum { COP_FOR_CART = 1, COP_FOR_DGT = 2, COP_FOR_TAO = 4, COP_FOR_FOREST = 8, COP_FOR_LAPTAO = 16 };

typedef struct cop_knob_values {
	double value[COP_KNOBS];
	bool given[COP_KNOBS];
} cop_knob_values;

const char *cop_knob_name(cop_knob knob);
/* Takes an argument: all but flags. */
bool cop_knob_has_argument(cop_knob knob);
unsigned cop_knob_for(cop_knob knob);
/* text: the argument (ignored for flags). False: wrong, which was said on standard error. */
bool cop_knob_read(cop_knob knob, const char *text, cop_knob_values *values);
/* "--height 6 --leaves linear" of what is given, into out (size bytes, cut when longer). */
void cop_knob_words(const cop_knob_values *values, char *out, size_t size);
/* Help on the knobs of these learners. */
void cop_knob_help(FILE *out);

/* The value when given, else `otherwise`. */
static inline double cop_knob_or(const cop_knob_values *values, cop_knob knob, double otherwise)
{
	return values->given[knob] ? values->value[knob] : otherwise;
}

/* Places of words. */
enum { COP_LEAVES_CONSTANT, COP_LEAVES_LINEAR };
enum { COP_LOSS_ZERO_ONE, COP_LOSS_CROSS_ENTROPY, COP_LOSS_SQUARED, COP_LOSS_ABSOLUTE, COP_LOSS_HUBER };
enum { COP_GRAPH_FEATURES, COP_GRAPH_LOGS, COP_GRAPHS, COP_GRAPH_AUTO = COP_GRAPHS };
enum { COP_START_RANDOM, COP_START_CART };

#endif
