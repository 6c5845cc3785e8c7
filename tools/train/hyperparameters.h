/* tools/train/hyperparameters.h: what can be set of a batch learner: one table of names, ranges, words and who they are
 * for, from which options are read, help is printed, and `--search` takes what it tries.
 *
 * A value is a double: a number, a whole number, the place of a word in its list, or 0 and 1 of a flag. What is not
 * given is left to the learner's own default. One thread. */
#ifndef COP_TOOLS_TRAIN_HYPERPARAMETERS_H
#define COP_TOOLS_TRAIN_HYPERPARAMETERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define COP_TRAIN_NAME "train"

typedef enum cop_hyperparameter {
	COP_HYPERPARAMETER_HEIGHT,
	COP_HYPERPARAMETER_LEAVES,
	COP_HYPERPARAMETER_ALPHA,
	COP_HYPERPARAMETER_LEAF_ALPHA,
	COP_HYPERPARAMETER_LEAF_CLASSES,
	COP_HYPERPARAMETER_BETA,
	COP_HYPERPARAMETER_PLAIN,
	COP_HYPERPARAMETER_LOSS,
	COP_HYPERPARAMETER_STARTS,
	COP_HYPERPARAMETER_SPLIT,
	COP_HYPERPARAMETER_START,
	COP_HYPERPARAMETER_ORDER,
	COP_HYPERPARAMETER_ITERATIONS,
	COP_HYPERPARAMETER_TOLERANCE,
	COP_HYPERPARAMETER_NODE_TOLERANCE,
	COP_HYPERPARAMETER_NODE_STEPS,
	COP_HYPERPARAMETER_MONOTONE,
	COP_HYPERPARAMETER_KEEP_DEAD,
	COP_HYPERPARAMETER_MIN_LEAF,
	COP_HYPERPARAMETER_COMPLEXITY,
	COP_HYPERPARAMETER_FOLDS,
	COP_HYPERPARAMETER_FEATURES,
	COP_HYPERPARAMETER_THRESHOLDS,
	COP_HYPERPARAMETER_LAYERS,
	COP_HYPERPARAMETER_WIDTH,
	COP_HYPERPARAMETER_GRADIENTS,
	COP_HYPERPARAMETER_EPOCHS,
	COP_HYPERPARAMETER_BATCH,
	COP_HYPERPARAMETER_PATIENCE,
	COP_HYPERPARAMETER_OPTIMISER,
	COP_HYPERPARAMETER_LR,
	COP_HYPERPARAMETER_MINIMUM_LR,
	COP_HYPERPARAMETER_MOMENTUM,
	COP_HYPERPARAMETER_RESTARTS,
	COP_HYPERPARAMETER_CLIP,
	COP_HYPERPARAMETER_L1,
	COP_HYPERPARAMETER_L2,
	COP_HYPERPARAMETER_HUBER,
	COP_HYPERPARAMETER_SHARED_BIAS,
	COP_HYPERPARAMETER_SCALED_QUANTISER,
	COP_HYPERPARAMETER_PRODUCT_PATHS,
	COP_HYPERPARAMETER_ANNEAL,
	COP_HYPERPARAMETER_ANNEAL_FIRST,
	COP_HYPERPARAMETER_ANNEAL_LAST,
	COP_HYPERPARAMETER_TREES,
	COP_HYPERPARAMETER_FOREST,
	COP_HYPERPARAMETER_SHARE,
	COP_HYPERPARAMETER_REPLACE,
	COP_HYPERPARAMETER_SHRINKAGE,
	COP_HYPERPARAMETER_NEIGHBOURS,
	COP_HYPERPARAMETER_PERPLEXITY,
	COP_HYPERPARAMETER_GRAPH,
	COP_HYPERPARAMETER_GAMMA,
	COP_HYPERPARAMETER_MU,
	COP_HYPERPARAMETER_GROWTH,
	COP_HYPERPARAMETER_ROUNDS,
	COP_HYPERPARAMETER_SOLVER,
	COP_HYPERPARAMETER_TEACHER,
	COP_HYPERPARAMETER_TEACHER_WEIGHT,
	COP_HYPERPARAMETER_LAMBDA,
	COP_HYPERPARAMETER_DROPOUT,
	COP_HYPERPARAMETER_ELU,
	COP_HYPERPARAMETER_FACETS,
	COP_HYPERPARAMETER_NODE_STARTS,
	COP_HYPERPARAMETER_LEAST_GAIN,
	COP_HYPERPARAMETER_REFINE,
	COP_HYPERPARAMETER_REFINE_LR,
	COP_HYPERPARAMETER_GAMMA0,
	COP_HYPERPARAMETER_C0,
	COP_HYPERPARAMETER_A0,
	COP_HYPERPARAMETER_B0,
	COP_HYPERPARAMETERS
} cop_hyperparameter;

/* The learners that a hyperparameter is for. */
enum {
	COP_FOR_CART = 1,
	COP_FOR_DGT = 2,
	COP_FOR_TAO = 4,
	COP_FOR_FOREST = 8,
	COP_FOR_LAPTAO = 16,
	COP_FOR_LATENT = 32,
	COP_FOR_SOFTMAX = 64,
	COP_FOR_POLYTOPE = 128
};

typedef struct cop_hyperparameters_values {
	double value[COP_HYPERPARAMETERS];
	bool given[COP_HYPERPARAMETERS];
} cop_hyperparameters_values;

const char *cop_hyperparameters_name(cop_hyperparameter knob);
/* Takes an argument: all but flags. */
bool cop_hyperparameters_has_argument(cop_hyperparameter knob);
unsigned cop_hyperparameters_for(cop_hyperparameter knob);
/* text: the argument (ignored for flags). False: wrong, after a complaint. */
bool cop_hyperparameters_read(cop_hyperparameter knob, const char *text, cop_hyperparameters_values *values);
/* "--height 6 --leaves linear" of what is given, into out (size bytes, cut when longer). */
void cop_hyperparameters_words(const cop_hyperparameters_values *values, char *out, size_t size);
/* Help on the knobs of these learners. */
void cop_hyperparameters_help(FILE *out);

/* The value when given, else `otherwise`. */
static inline double cop_hyperparameters_or(
        const cop_hyperparameters_values *values, cop_hyperparameter knob, double otherwise)
{
	return values->given[knob] ? values->value[knob] : otherwise;
}

/* Places of words. */
enum { COP_LEAVES_CONSTANT, COP_LEAVES_LINEAR };
enum { COP_LOSS_ZERO_ONE, COP_LOSS_CROSS_ENTROPY, COP_LOSS_SQUARED, COP_LOSS_ABSOLUTE, COP_LOSS_HUBER };
enum { COP_GRAPH_FEATURES, COP_GRAPH_LOGS, COP_GRAPHS, COP_GRAPH_AUTO = COP_GRAPHS };
enum { COP_THRESHOLDS_ALL, COP_THRESHOLDS_DRAWN };
enum { COP_START_RANDOM, COP_START_CART, COP_START_PRUNED, COP_START_ROWS, COP_START_CLASSES };

#endif
