/* Each hyperparameter is one row of a table; reading, help and the text of what was given follow from the rows. */
#include "hyperparameters.h"

#include <math.h>
#include <string.h>

#include "tools/common/command.h"

typedef enum kind { NUMBER, WHOLE, WORD, FLAG } kind;

typedef struct knob {
	const char *name;
	kind kind;
	unsigned learners;
	double low, high;
	const char *const *words;
	const char *help;
} knob;

static const char *const leaves_words[] = { "constant", "linear", NULL };
static const char *const loss_words[] = { "zero-one", "cross-entropy", "squared", "absolute", "huber", NULL };
static const char *const split_words[] = { "oblique", "axis", NULL };
static const char *const start_words[] = { "random", "cart", "pruned-cart", "rows", "classes", NULL };
static const char *const order_words[] = { "root-first", "leaves-first", NULL };
static const char *const gradients_words[] = { "cheaper", "collapsed", "layered", NULL };
static const char *const optimiser_words[] = { "sgd", "momentum", "rmsprop", "adagrad", "adam", NULL };
static const char *const switch_words[] = { "off", "on", NULL };
static const char *const graph_words[] = { "features", "logs", "auto", NULL };
static const char *const solver_words[] = { "either", "gradients", "eigenvectors", NULL };
static const char *const thresholds_words[] = { "all", "drawn", NULL };
static const char *const forest_words[] = { "bagging", "adaboost", "gradient", NULL };

#define EVERY                                                                                                          \
	(COP_FOR_CART | COP_FOR_DGT | COP_FOR_TAO | COP_FOR_LAPTAO | COP_FOR_LATENT | COP_FOR_SOFTMAX |                \
	        COP_FOR_POLYTOPE)
#define NETS  (COP_FOR_DGT | COP_FOR_LATENT)
#define STEPS (COP_FOR_DGT | COP_FOR_LATENT | COP_FOR_POLYTOPE)
#define SOFT  (COP_FOR_TAO | COP_FOR_SOFTMAX)
#define TAOS  (COP_FOR_TAO | COP_FOR_LAPTAO | COP_FOR_SOFTMAX)
#define FITS  (COP_FOR_TAO | COP_FOR_DGT | COP_FOR_SOFTMAX)

static const knob knobs[COP_HYPERPARAMETERS] = {
	[COP_HYPERPARAMETER_HEIGHT] = { "height", WHOLE, EVERY, 1, 20, NULL,
	        "height of a tree (cart, polytope: most; latent: up to 10;\n"
	        "                       default: chosen by rows held back; laptao and softmax 6,\n"
	        "                       latent 5, polytope 8, cart: any, boosted by adaboost 8,\n"
	        "                       by gradient 6)" },
	[COP_HYPERPARAMETER_LEAVES] = { "leaves", WORD, COP_FOR_TAO | COP_FOR_LAPTAO, .words = leaves_words,
	        .help = "leaves predict a constant, or by a linear model (tao,\n"
	                "                       classes: softmax) (default constant)" },
	[COP_HYPERPARAMETER_ALPHA] = { "alpha", NUMBER, TAOS, 0, 1e9, NULL,
	        "L1 penalty of decision nodes (values: for a target of\n"
	        "                       variance 1; default 0.3, values 0.2; laptao 0.1, values\n"
	        "                       0.03; softmax 1); tao: a list A,B,... is followed from\n"
	        "                       the greatest down, warm-started, and the best on\n"
	        "                       validation rows is taken" },
	[COP_HYPERPARAMETER_LEAF_ALPHA] = { "leaf-alpha", NUMBER, TAOS, 0, 1e9, NULL,
	        "L1 penalty of linear leaves (default 0.5, values 1;\n"
	        "                       laptao 0.1, softmax 1)" },
	[COP_HYPERPARAMETER_LEAF_CLASSES] = { "leaf-classes", WHOLE, SOFT, 0, 65536, NULL,
	        "most classes of a softmax leaf, the most frequent that\n"
	        "                       reach it (0, tao's default: all of them; softmax 64)" },
	[COP_HYPERPARAMETER_BETA] = { "beta", NUMBER, SOFT, 0, 1e9, NULL,
	        "cross-entropy of a class that its softmax leaf lacks\n"
	        "                       (0, the default: that of a probability of 1e-6)" },
	[COP_HYPERPARAMETER_PLAIN] = { "plain", FLAG, SOFT,
	        .help = "no decision node: one leaf; with softmax leaves and\n"
	                "                       --leaf-classes 0, the regression of all classes" },
	[COP_HYPERPARAMETER_LOSS] = { "loss", WORD, FITS, .words = loss_words,
	        .help = "classes: zero-one (tao, its default), cross-entropy\n"
	                "                       (dgt's, softmax's); values: squared (default), absolute\n"
	                "                       (tao), huber (dgt)" },
	[COP_HYPERPARAMETER_STARTS] = { "starts", WHOLE, FITS, 1, 1000, NULL,
	        "random starts of one tree, of which the one with the\n"
	        "                       least objective (dgt: loss by which epochs are chosen) is\n"
	        "                       kept (default 1)" },
	[COP_HYPERPARAMETER_SPLIT] = { "split", WORD, TAOS, .words = split_words,
	        .help = "oblique (default) or axis-aligned decision nodes" },
	[COP_HYPERPARAMETER_START] = { "start", WORD, SOFT, .words = start_words,
	        .help = "tree to begin with: random (tao's default), cart,\n"
	                "                       pruned-cart (pruned by cross-validation), clusters of\n"
	                "                       rows or of classes (softmax's default);\n"
	                "                       --start-model FILE: a trained one" },
	[COP_HYPERPARAMETER_ORDER] = { "order", WORD, TAOS, .words = order_words,
	        .help = "in which a sweep visits the depths (default leaves-first;\n"
	                "                       values and laptao root-first)" },
	[COP_HYPERPARAMETER_ITERATIONS] = { "iterations", WHOLE, TAOS, 0, 10000, NULL,
	        "most sweeps (default 40; laptao 15, softmax 10)" },
	[COP_HYPERPARAMETER_TOLERANCE] = { "tolerance", NUMBER, TAOS, 0, 1, NULL,
	        "ends when a sweep lowers the objective by less than this\n"
	        "                       share (default 0.0001)" },
	[COP_HYPERPARAMETER_NODE_TOLERANCE] = { "node-tolerance", NUMBER, TAOS, 1e-12, 1, NULL,
	        "of the nodes' solvers (default 0.003)" },
	[COP_HYPERPARAMETER_NODE_STEPS] = { "node-steps", WHOLE, TAOS, 1, 100000, NULL,
	        "most steps of them (default 50)" },
	[COP_HYPERPARAMETER_MONOTONE] = { "monotone", FLAG, SOFT,
	        .help = "no sweep may raise the objective (default: sweeps may,\n"
	                "                       the best tree is kept)" },
	[COP_HYPERPARAMETER_KEEP_DEAD] = { "keep-dead", FLAG, TAOS, .help = "do not remove dead and pure subtrees" },
	[COP_HYPERPARAMETER_MIN_LEAF] = { "min-leaf", NUMBER, COP_FOR_CART | COP_FOR_POLYTOPE, 0, 1e12, NULL,
	        "least rows (weight) of a leaf (default 0; polytope 5)" },
	[COP_HYPERPARAMETER_COMPLEXITY] = { "complexity", NUMBER, COP_FOR_CART, -1, 1, NULL,
	        "cost-complexity of pruning, a share of the root's\n"
	        "                       impurity; -1 (default): by cross-validation; forests:\n"
	        "                       default 0" },
	[COP_HYPERPARAMETER_FOLDS] = { "folds", WHOLE, COP_FOR_CART, 2, 100, NULL,
	        "folds of that cross-validation (default 10)" },
	[COP_HYPERPARAMETER_FEATURES] = { "features", WHOLE, COP_FOR_CART, 0, 1e9, NULL,
	        "features drawn for each node (0: all; default: all;\n"
	        "                       bagged forests of classes: the root of their number)" },
	[COP_HYPERPARAMETER_THRESHOLDS] = { "thresholds", WORD, COP_FOR_CART, .words = thresholds_words,
	        .help = "of a feature: all (default), or one drawn at random\n"
	                "                       (extremely randomised trees)" },
	[COP_HYPERPARAMETER_LAYERS] = { "layers", WHOLE, NETS, 1, 8, NULL,
	        "dgt: linear layers of over-parameterised training;\n"
	        "                       latent: of the predictor, 1 is linear (default 3)" },
	[COP_HYPERPARAMETER_WIDTH] = { "width", WHOLE, NETS, 0, 65536, NULL,
	        "of hidden layers (0, the default: dgt the paper's table,\n"
	        "                       latent 64, and twice as many in each next one)" },
	[COP_HYPERPARAMETER_GRADIENTS] = { "gradients", WORD, COP_FOR_DGT, .words = gradients_words,
	        .help = "how factors get theirs (default cheaper)" },
	[COP_HYPERPARAMETER_EPOCHS] = { "epochs", WHOLE, STEPS, 1, 100000, NULL,
	        "most passes over the rows (default 100; polytope: for\n"
	        "                       each split, 30)" },
	[COP_HYPERPARAMETER_BATCH] = { "batch", WHOLE, STEPS, 1, 1 << 20, NULL,
	        "rows of a mini-batch (default 128, latent 64, polytope\n"
	        "                       256)" },
	[COP_HYPERPARAMETER_PATIENCE] = { "patience", WHOLE, NETS, 0, 100000, NULL,
	        "epochs without a better validation loss before it ends\n"
	        "                       (0, dgt's default: never; latent 10)" },
	[COP_HYPERPARAMETER_OPTIMISER] = { "optimiser", WORD, COP_FOR_DGT, .words = optimiser_words,
	        .help = "of the mini-batches' steps (default rmsprop)" },
	[COP_HYPERPARAMETER_LR] = { "lr", NUMBER, STEPS, 0, 1e6, NULL,
	        "learning rate (default 0.01; polytope: of splits, 0.05)" },
	[COP_HYPERPARAMETER_MINIMUM_LR] = { "minimum-lr", NUMBER, COP_FOR_DGT, 0, 1e6, NULL,
	        "of the cosine schedule (default 0.0001, or --lr where\n"
	        "                       that is less)" },
	[COP_HYPERPARAMETER_MOMENTUM] = { "momentum", NUMBER, COP_FOR_DGT, 0, 0.999, NULL,
	        "of momentum and rmsprop (default 0)" },
	[COP_HYPERPARAMETER_RESTARTS] = { "restarts", WHOLE, COP_FOR_DGT, 1, 1000, NULL,
	        "of the cosine schedule (default 3)" },
	[COP_HYPERPARAMETER_CLIP] = { "clip", NUMBER, COP_FOR_DGT, 0, 1e9, NULL,
	        "most norm of a gradient (default 0.01; 0: any)" },
	[COP_HYPERPARAMETER_L1] = { "l1", NUMBER, COP_FOR_DGT, 0, 1e3, NULL,
	        "lambda_1, on the splits' weights (default 0)" },
	[COP_HYPERPARAMETER_L2] = { "l2", NUMBER, COP_FOR_DGT, 0, 1e3, NULL, "lambda_2; not both (default 0)" },
	[COP_HYPERPARAMETER_HUBER] = { "huber", NUMBER, COP_FOR_DGT, 1e-9, 1e9, NULL,
	        "where the Huber loss turns linear (default 0.2)" },
	[COP_HYPERPARAMETER_SHARED_BIAS] = { "shared-bias", WORD, COP_FOR_DGT, .words = switch_words,
	        .help = "one trained scalar in all leaves, as in the authors'\n"
	                "                       program (default on)" },
	[COP_HYPERPARAMETER_SCALED_QUANTISER] = { "scaled-quantiser", WORD, COP_FOR_DGT, .words = switch_words,
	        .help = "quantiser of scale mean |a|, likewise (default on)" },
	[COP_HYPERPARAMETER_PRODUCT_PATHS] = { "product-paths", FLAG, COP_FOR_DGT,
	        .help = "ablation: product form of paths" },
	[COP_HYPERPARAMETER_ANNEAL] = { "anneal", FLAG, COP_FOR_DGT,
	        .help = "ablation: sigmoids that grow steep, not signs" },
	[COP_HYPERPARAMETER_ANNEAL_FIRST] = { "anneal-first", NUMBER, COP_FOR_DGT | COP_FOR_POLYTOPE, 1e-6, 1e6, NULL,
	        "first steepness of the splits' sigmoids (default 1;\n"
	        "                       polytope 2)" },
	[COP_HYPERPARAMETER_ANNEAL_LAST] = { "anneal-last", NUMBER, COP_FOR_DGT | COP_FOR_POLYTOPE, 1e-6, 1e6, NULL,
	        "and the last (default 100; polytope 30)" },
	[COP_HYPERPARAMETER_TREES] = { "trees", WHOLE, COP_FOR_FOREST | COP_FOR_LAPTAO, 1, 65536, NULL,
	        "trees of a forest (default 1: no forest)" },
	[COP_HYPERPARAMETER_FOREST] = { "forest", WORD, COP_FOR_FOREST, .words = forest_words,
	        .help = "how they are made: bagging (default), adaboost (classes),\n"
	                "                       gradient (boosting)" },
	[COP_HYPERPARAMETER_SHARE] = { "share", NUMBER, COP_FOR_FOREST | COP_FOR_LAPTAO, 1e-6, 1, NULL,
	        "bagging, laptao: share of the rows for each tree\n"
	        "                       (default 0.9)" },
	[COP_HYPERPARAMETER_REPLACE] = { "replace", FLAG, COP_FOR_FOREST, .help = "bagging: drawn with replacement" },
	[COP_HYPERPARAMETER_SHRINKAGE] = { "shrinkage", NUMBER, COP_FOR_FOREST, 1e-6, 1, NULL,
	        "gradient boosting: of each tree (default 0.1; classes: 6\n"
	        "                       over the number of trees, from 0.1 to 0.3)" },
	[COP_HYPERPARAMETER_NEIGHBOURS] = { "neighbours", WHOLE, COP_FOR_LAPTAO, 1, 1000, NULL,
	        "nearest rows that a row is joined to (default 10)" },
	[COP_HYPERPARAMETER_PERPLEXITY] = { "perplexity", NUMBER, COP_FOR_LAPTAO, 1, 1000, NULL,
	        "of the joints' weights (default: half the neighbours)" },
	[COP_HYPERPARAMETER_GRAPH] = { "graph", WORD, COP_FOR_LAPTAO, .words = graph_words,
	        .help = "nearest by the features as the tree has them, or by\n"
	                "                       logarithms of the file's numbers; auto (the default): by\n"
	                "                       which labelled rows predict each other better" },
	[COP_HYPERPARAMETER_GAMMA] = { "gamma", NUMBER, COP_FOR_LAPTAO, 0, 1e6, NULL,
	        "weight of joined rows being alike (default 0.1; values\n"
	        "                       0.03)" },
	[COP_HYPERPARAMETER_MU] = { "mu", NUMBER, COP_FOR_LAPTAO, 1e-9, 1e9, NULL,
	        "weight of tree and labels agreeing, in the first round\n"
	        "                       (default 0.1)" },
	[COP_HYPERPARAMETER_GROWTH] = { "growth", NUMBER, COP_FOR_LAPTAO, 1.0001, 100, NULL,
	        "of mu, each round (default 1.3)" },
	[COP_HYPERPARAMETER_ROUNDS] = { "rounds", WHOLE, COP_FOR_LAPTAO, 1, 1000, NULL, "most rounds (default 20)" },
	[COP_HYPERPARAMETER_SOLVER] = { "solver", WORD, COP_FOR_LAPTAO, .words = solver_words,
	        .help = "of the label step (default gradients; either:\n"
	                "                       eigenvectors up to 2000 rows)" },
	[COP_HYPERPARAMETER_TEACHER] = { "teacher", WHOLE, COP_FOR_LAPTAO, 0, 65536, NULL,
	        "randomised trees, fitted to the labelled rows, that guess\n"
	        "                       the other rows' labels (0: none; default 200, classes 0)" },
	[COP_HYPERPARAMETER_TEACHER_WEIGHT] = { "teacher-weight", NUMBER, COP_FOR_LAPTAO, 0, 1000, NULL,
	        "of a guess, beside a label's 1 (default 1)" },
	[COP_HYPERPARAMETER_LAMBDA] = { "lambda", NUMBER, COP_FOR_LATENT, 1e-9, 1e9, NULL,
	        "what a node costs, beside the rows of a mini-batch\n"
	        "                       (default 1)" },
	[COP_HYPERPARAMETER_DROPOUT] = { "dropout", NUMBER, COP_FOR_LATENT, 0, 0.99, NULL,
	        "share of hidden numbers left out in training (default 0)" },
	[COP_HYPERPARAMETER_ELU] = { "elu", FLAG, COP_FOR_LATENT, .help = "ELU of the splits' values" },
	[COP_HYPERPARAMETER_FACETS] = { "facets", WHOLE, COP_FOR_POLYTOPE, 1, 1024, NULL,
	        "most facets of a split (default 20)" },
	[COP_HYPERPARAMETER_NODE_STARTS] = { "node-starts", WHOLE, COP_FOR_POLYTOPE, 0, 100, NULL,
	        "starts of each split, of which the best is kept (default\n"
	        "                       0: as many as make 20000 rows, 1 to 8)" },
	[COP_HYPERPARAMETER_LEAST_GAIN] = { "least-gain", NUMBER, COP_FOR_POLYTOPE, 0, 1e3, NULL,
	        "of a split, in nats or variance over all rows\n"
	        "                       (default 0.0001)" },
	[COP_HYPERPARAMETER_REFINE] = { "refine", WHOLE, COP_FOR_POLYTOPE, 0, 10000, NULL,
	        "passes in which all splits are trained together\n"
	        "                       (default 40; 0: the tree stays as it was grown)" },
	[COP_HYPERPARAMETER_REFINE_LR] = { "refine-lr", NUMBER, COP_FOR_POLYTOPE, 1e-9, 10, NULL,
	        "their learning rate (default 0.02)" },
	[COP_HYPERPARAMETER_GAMMA0] = { "gamma0", NUMBER, COP_FOR_POLYTOPE, 1e-9, 1e9, NULL,
	        "mass of the facets' weights; the less, the fewer remain\n"
	        "                       (default: as many as --facets, 20)" },
	[COP_HYPERPARAMETER_C0] = { "c0", NUMBER, COP_FOR_POLYTOPE, 1e-9, 1e9, NULL,
	        "their rate: the more, the lighter (default 0.1)" },
	[COP_HYPERPARAMETER_A0] = { "a0", NUMBER, COP_FOR_POLYTOPE, 1e-9, 1e9, NULL,
	        "shape of the prior that shrinks features' weights\n"
	        "                       (default 0.01)" },
	[COP_HYPERPARAMETER_B0] = { "b0", NUMBER, COP_FOR_POLYTOPE, 1e-9, 1e9, NULL,
	        "its scale: the less, the stronger (default 1)" },
};

const char *cop_hyperparameters_name(cop_hyperparameter which) { return knobs[which].name; }
bool cop_hyperparameters_has_argument(cop_hyperparameter which) { return knobs[which].kind != FLAG; }
unsigned cop_hyperparameters_for(cop_hyperparameter which) { return knobs[which].learners; }

bool cop_hyperparameters_read(cop_hyperparameter which, const char *text, cop_hyperparameters_values *values)
{
	const knob *k = &knobs[which];
	char option[40];
	uint64_t whole = 1;
	size_t place = 0;
	bool ok = true;
	(void)snprintf(option, sizeof option, "--%s", k->name);
	switch (k->kind) {
	case NUMBER:
		ok = cop_command_number(COP_TRAIN_NAME, option, text, k->low, k->high, &values->value[which]);
		break;
	case WORD:
		ok = cop_command_word(COP_TRAIN_NAME, option, text, k->words, &place);
		values->value[which] = (double)place;
		break;
	case WHOLE:
		ok = cop_command_whole(COP_TRAIN_NAME, option, text, (uint64_t)k->low, (uint64_t)k->high, &whole);
		/* fall through */
	case FLAG:
		values->value[which] = (double)whole;
	}
	values->given[which] |= ok;
	return ok;
}

void cop_hyperparameters_words(const cop_hyperparameters_values *values, char *out, size_t size)
{
	size_t used = 0;
	out[0] = '\0';
	for (cop_hyperparameter which = 0; which < COP_HYPERPARAMETERS && used < size; which++) {
		const knob *k = &knobs[which];
		int length = 0;
		if (!values->given[which])
			continue;
		const char *gap = used > 0 ? " " : "";
		if (k->kind == FLAG)
			length = snprintf(out + used, size - used, "%s--%s", gap, k->name);
		else if (k->kind == WORD)
			length = snprintf(out + used, size - used, "%s--%s %s", gap, k->name,
			        k->words[(size_t)values->value[which]]);
		else
			length = snprintf(out + used, size - used, "%s--%s %.10g", gap, k->name, values->value[which]);
		used += length > 0 ? (size_t)length : 0;
	}
}

static void help_on(unsigned learners, const char *title, FILE *out)
{
	(void)fprintf(out, "\n%s\n", title);
	for (size_t i = 0; i < COP_HYPERPARAMETERS; i++) {
		const knob *k = &knobs[i];
		char name[64];
		if (k->learners != learners)
			continue;
		int length = snprintf(name, sizeof name, "--%s%s", k->name, k->kind == FLAG ? "" : " ");
		for (const char *const *word = k->words; word != NULL && *word != NULL; word++)
			length += snprintf(name + length, sizeof name - (size_t)length, "%s%s",
			        word == k->words ? "" : "|", *word);
		if (k->kind == NUMBER || k->kind == WHOLE)
			length += snprintf(name + length, sizeof name - (size_t)length, "N");
		(void)fprintf(out, "  %-20s %s%s\n", name,
		        length > 20 && k->help[0] != '\0' ? "\n                       " : "", k->help);
	}
}

void cop_hyperparameters_help(FILE *out)
{
	help_on(EVERY, "Every learner:", out);
	help_on(COP_FOR_FOREST | COP_FOR_LAPTAO, "Forests:", out);
	help_on(COP_FOR_FOREST, "Forests of cart, dgt and tao:", out);
	help_on(FITS, "tao, dgt and softmax:", out);
	help_on(TAOS, "tao, laptao and softmax:", out);
	help_on(SOFT, "tao and softmax:", out);
	help_on(COP_FOR_TAO | COP_FOR_LAPTAO, "tao and laptao:", out);
	help_on(COP_FOR_LAPTAO, "laptao:", out);
	help_on(STEPS, "dgt, latent and polytope:", out);
	help_on(NETS, "dgt and latent:", out);
	help_on(COP_FOR_DGT | COP_FOR_POLYTOPE, "dgt and polytope:", out);
	help_on(COP_FOR_CART | COP_FOR_POLYTOPE, "cart and polytope:", out);
	help_on(COP_FOR_DGT, "dgt:", out);
	help_on(COP_FOR_LATENT, "latent:", out);
	help_on(COP_FOR_POLYTOPE, "polytope:", out);
	help_on(COP_FOR_CART, "cart:", out);
}
