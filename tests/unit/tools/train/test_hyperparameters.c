#include "tools/train/hyperparameters.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

#define ALL                                                                                                            \
	(COP_FOR_CART | COP_FOR_DGT | COP_FOR_TAO | COP_FOR_LAPTAO | COP_FOR_LATENT | COP_FOR_SOFTMAX |                \
	        COP_FOR_POLYTOPE)
#define STEPS  (NETS | COP_FOR_POLYTOPE)
#define NETS   (COP_FOR_DGT | COP_FOR_LATENT)
#define TAOS   (COP_FOR_TAO | COP_FOR_LAPTAO | COP_FOR_SOFTMAX)
#define SOFT   (COP_FOR_TAO | COP_FOR_SOFTMAX)
#define FOREST (COP_FOR_FOREST | COP_FOR_LAPTAO)

/* Numbers: the ends of what is allowed, and the nearest values outside; the manual and --help have the same. */
static const struct {
	cop_hyperparameter which;
	const char *name;
	unsigned learners;
	const char *below, *least, *most, *above;
} numbers[] = {
	{ COP_HYPERPARAMETER_HEIGHT, "height", ALL, "0", "1", "20", "21" },
	{ COP_HYPERPARAMETER_ALPHA, "alpha", TAOS, "-1e-9", "0", "1e9", "1000000001" },
	{ COP_HYPERPARAMETER_LEAF_ALPHA, "leaf-alpha", TAOS, "-1e-9", "0", "1e9", "1000000001" },
	{ COP_HYPERPARAMETER_LEAF_CLASSES, "leaf-classes", SOFT, "-1", "0", "65536", "65537" },
	{ COP_HYPERPARAMETER_STARTS, "starts", SOFT | COP_FOR_DGT, "0", "1", "1000", "1001" },
	{ COP_HYPERPARAMETER_ITERATIONS, "iterations", TAOS, "-1", "0", "10000", "10001" },
	{ COP_HYPERPARAMETER_TOLERANCE, "tolerance", TAOS, "-1e-9", "0", "1", "1.000001" },
	{ COP_HYPERPARAMETER_NODE_TOLERANCE, "node-tolerance", TAOS, "9.9e-13", "1e-12", "1", "1.000001" },
	{ COP_HYPERPARAMETER_NODE_STEPS, "node-steps", TAOS, "0", "1", "100000", "100001" },
	{ COP_HYPERPARAMETER_MIN_LEAF, "min-leaf", COP_FOR_CART | COP_FOR_POLYTOPE, "-1e-9", "0", "1e12",
	        "1000000000001" },
	{ COP_HYPERPARAMETER_COMPLEXITY, "complexity", COP_FOR_CART, "-1.000001", "-1", "1", "1.000001" },
	{ COP_HYPERPARAMETER_FOLDS, "folds", COP_FOR_CART, "1", "2", "100", "101" },
	{ COP_HYPERPARAMETER_FEATURES, "features", COP_FOR_CART, "-1", "0", "1000000000", "1000000001" },
	{ COP_HYPERPARAMETER_LAYERS, "layers", NETS, "0", "1", "8", "9" },
	{ COP_HYPERPARAMETER_WIDTH, "width", NETS, "-1", "0", "65536", "65537" },
	{ COP_HYPERPARAMETER_EPOCHS, "epochs", STEPS, "0", "1", "100000", "100001" },
	{ COP_HYPERPARAMETER_BATCH, "batch", STEPS, "0", "1", "1048576", "1048577" },
	{ COP_HYPERPARAMETER_PATIENCE, "patience", NETS, "-1", "0", "100000", "100001" },
	{ COP_HYPERPARAMETER_LR, "lr", STEPS, "-1e-9", "0", "1e6", "1000000.1" },
	{ COP_HYPERPARAMETER_MINIMUM_LR, "minimum-lr", COP_FOR_DGT, "-1e-9", "0", "1e6", "1000000.1" },
	{ COP_HYPERPARAMETER_MOMENTUM, "momentum", COP_FOR_DGT, "-1e-9", "0", "0.999", "0.9991" },
	{ COP_HYPERPARAMETER_RESTARTS, "restarts", COP_FOR_DGT, "0", "1", "1000", "1001" },
	{ COP_HYPERPARAMETER_CLIP, "clip", COP_FOR_DGT, "-1e-9", "0", "1e9", "1000000001" },
	{ COP_HYPERPARAMETER_L1, "l1", COP_FOR_DGT, "-1e-9", "0", "1e3", "1000.001" },
	{ COP_HYPERPARAMETER_L2, "l2", COP_FOR_DGT, "-1e-9", "0", "1e3", "1000.001" },
	{ COP_HYPERPARAMETER_HUBER, "huber", COP_FOR_DGT, "9.9e-10", "1e-9", "1e9", "1000000001" },
	{ COP_HYPERPARAMETER_ANNEAL_FIRST, "anneal-first", COP_FOR_DGT | COP_FOR_POLYTOPE, "9.9e-7", "1e-6", "1e6",
	        "1000000.1" },
	{ COP_HYPERPARAMETER_ANNEAL_LAST, "anneal-last", COP_FOR_DGT | COP_FOR_POLYTOPE, "9.9e-7", "1e-6", "1e6",
	        "1000000.1" },
	{ COP_HYPERPARAMETER_TREES, "trees", FOREST, "0", "1", "65536", "65537" },
	{ COP_HYPERPARAMETER_SHARE, "share", FOREST, "9.9e-7", "1e-6", "1", "1.000001" },
	{ COP_HYPERPARAMETER_SHRINKAGE, "shrinkage", COP_FOR_FOREST, "9.9e-7", "1e-6", "1", "1.000001" },
	{ COP_HYPERPARAMETER_NEIGHBOURS, "neighbours", COP_FOR_LAPTAO, "0", "1", "1000", "1001" },
	{ COP_HYPERPARAMETER_PERPLEXITY, "perplexity", COP_FOR_LAPTAO, "0.999", "1", "1000", "1000.1" },
	{ COP_HYPERPARAMETER_GAMMA, "gamma", COP_FOR_LAPTAO, "-1e-9", "0", "1e6", "1000000.1" },
	{ COP_HYPERPARAMETER_MU, "mu", COP_FOR_LAPTAO, "9.9e-10", "1e-9", "1e9", "1000000001" },
	{ COP_HYPERPARAMETER_GROWTH, "growth", COP_FOR_LAPTAO, "1.00009", "1.0001", "100", "100.001" },
	{ COP_HYPERPARAMETER_LAMBDA, "lambda", COP_FOR_LATENT, "9.9e-10", "1e-9", "1e9", "1000000001" },
	{ COP_HYPERPARAMETER_DROPOUT, "dropout", COP_FOR_LATENT, "-1e-9", "0", "0.99", "0.991" },
	{ COP_HYPERPARAMETER_BETA, "beta", SOFT, "-1", "0", "1000000000", "1000000001" },
	{ COP_HYPERPARAMETER_TEACHER, "teacher", COP_FOR_LAPTAO, "-1", "0", "65536", "65537" },
	{ COP_HYPERPARAMETER_TEACHER_WEIGHT, "teacher-weight", COP_FOR_LAPTAO, "-1", "0", "1000", "1001" },
	{ COP_HYPERPARAMETER_FACETS, "facets", COP_FOR_POLYTOPE, "0", "1", "1024", "1025" },
	{ COP_HYPERPARAMETER_NODE_STARTS, "node-starts", COP_FOR_POLYTOPE, "-1", "0", "100", "101" },
	{ COP_HYPERPARAMETER_LEAST_GAIN, "least-gain", COP_FOR_POLYTOPE, "-1e-9", "0", "1e3", "1000.001" },
	{ COP_HYPERPARAMETER_REFINE, "refine", COP_FOR_POLYTOPE, "-1", "0", "10000", "10001" },
	{ COP_HYPERPARAMETER_REFINE_LR, "refine-lr", COP_FOR_POLYTOPE, "9.9e-10", "1e-9", "10", "10.001" },
	{ COP_HYPERPARAMETER_GAMMA0, "gamma0", COP_FOR_POLYTOPE, "9.9e-10", "1e-9", "1e9", "1000000001" },
	{ COP_HYPERPARAMETER_C0, "c0", COP_FOR_POLYTOPE, "9.9e-10", "1e-9", "1e9", "1000000001" },
	{ COP_HYPERPARAMETER_A0, "a0", COP_FOR_POLYTOPE, "9.9e-10", "1e-9", "1e9", "1000000001" },
	{ COP_HYPERPARAMETER_B0, "b0", COP_FOR_POLYTOPE, "9.9e-10", "1e-9", "1e9", "1000000001" },
	{ COP_HYPERPARAMETER_ROUNDS, "rounds", COP_FOR_LAPTAO, "0", "1", "1000", "1001" },
};

static const struct {
	cop_hyperparameter which;
	const char *name;
	unsigned learners;
	const char *words[6];
} worded[] = {
	{ COP_HYPERPARAMETER_LEAVES, "leaves", COP_FOR_TAO | COP_FOR_LAPTAO, { "constant", "linear" } },
	{ COP_HYPERPARAMETER_LOSS, "loss", SOFT | COP_FOR_DGT,
	        { "zero-one", "cross-entropy", "squared", "absolute", "huber" } },
	{ COP_HYPERPARAMETER_SPLIT, "split", TAOS, { "oblique", "axis" } },
	{ COP_HYPERPARAMETER_START, "start", SOFT, { "random", "cart" } },
	{ COP_HYPERPARAMETER_ORDER, "order", TAOS, { "root-first", "leaves-first" } },
	{ COP_HYPERPARAMETER_GRADIENTS, "gradients", COP_FOR_DGT, { "cheaper", "collapsed", "layered" } },
	{ COP_HYPERPARAMETER_OPTIMISER, "optimiser", COP_FOR_DGT, { "sgd", "momentum", "rmsprop", "adagrad", "adam" } },
	{ COP_HYPERPARAMETER_SHARED_BIAS, "shared-bias", COP_FOR_DGT, { "off", "on" } },
	{ COP_HYPERPARAMETER_SCALED_QUANTISER, "scaled-quantiser", COP_FOR_DGT, { "off", "on" } },
	{ COP_HYPERPARAMETER_THRESHOLDS, "thresholds", COP_FOR_CART, { "all", "drawn" } },
	{ COP_HYPERPARAMETER_FOREST, "forest", COP_FOR_FOREST, { "bagging", "adaboost", "gradient" } },
	{ COP_HYPERPARAMETER_GRAPH, "graph", COP_FOR_LAPTAO, { "features", "logs", "auto" } },
	{ COP_HYPERPARAMETER_SOLVER, "solver", COP_FOR_LAPTAO, { "either", "gradients", "eigenvectors" } },
};

static const struct {
	cop_hyperparameter which;
	const char *name;
	unsigned learners;
} flags[] = {
	{ COP_HYPERPARAMETER_PLAIN, "plain", SOFT },
	{ COP_HYPERPARAMETER_MONOTONE, "monotone", SOFT },
	{ COP_HYPERPARAMETER_KEEP_DEAD, "keep-dead", TAOS },
	{ COP_HYPERPARAMETER_PRODUCT_PATHS, "product-paths", COP_FOR_DGT },
	{ COP_HYPERPARAMETER_ANNEAL, "anneal", COP_FOR_DGT },
	{ COP_HYPERPARAMETER_REPLACE, "replace", COP_FOR_FOREST },
	{ COP_HYPERPARAMETER_ELU, "elu", COP_FOR_LATENT },
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void expect_words(const cop_hyperparameters_values *values, const char *name, const char *argument)
{
	char text[256], expected[128];
	cop_hyperparameters_words(values, text, sizeof text);
	(void)snprintf(expected, sizeof expected, "--%s%s%s", name, argument == NULL ? "" : " ",
	        argument == NULL ? "" : argument);
	assert_string_equal(text, expected);
}

static void test_knob_numbers_are_read_within_their_limits(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(numbers); i++) {
		const char *const allowed[] = { numbers[i].least, numbers[i].most };
		const char *const refused[] = { numbers[i].below, numbers[i].above, "x", "" };
		cop_hyperparameter which = numbers[i].which;
		for (size_t j = 0; j < COUNT(refused); j++) {
			cop_hyperparameters_values values = { 0 };
			if (cop_hyperparameters_read(which, refused[j], &values) || values.given[which])
				fail_msg("%s %s", numbers[i].name, refused[j]);
		}
		for (size_t j = 0; j < COUNT(allowed); j++) {
			cop_hyperparameters_values values = { 0 };
			char text[32];
			if (!cop_hyperparameters_read(which, allowed[j], &values) || !values.given[which])
				fail_msg("%s %s", numbers[i].name, allowed[j]);
			double expected;
			assert_int_equal(sscanf(allowed[j], "%lf", &expected), 1);
			assert_true(values.value[which] == expected);
			(void)snprintf(text, sizeof text, "%.10g", expected);
			expect_words(&values, numbers[i].name, text);
		}
	}
}

static void test_knob_words_are_read_by_their_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(worded); i++) {
		cop_hyperparameter which = worded[i].which;
		cop_hyperparameters_values values = { 0 };
		assert_false(cop_hyperparameters_read(which, "no-such-word", &values) || values.given[which]);
		for (size_t j = 0; worded[i].words[j] != NULL; j++) {
			assert_true(
			        cop_hyperparameters_read(which, worded[i].words[j], &values) && values.given[which]);
			assert_true(values.value[which] == (double)j);
			expect_words(&values, worded[i].name, worded[i].words[j]);
		}
	}
}

static void test_knob_flags_take_no_argument(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(flags); i++) {
		cop_hyperparameters_values values = { 0 };
		assert_false(cop_hyperparameters_has_argument(flags[i].which));
		assert_true(cop_hyperparameters_read(flags[i].which, NULL, &values) && values.given[flags[i].which]);
		assert_true(values.value[flags[i].which] == 1.0);
		expect_words(&values, flags[i].name, NULL);
	}
}

/* Every knob stands in one of the tables above. */
static void test_knob_is_for_the_learners_it_names(void **state)
{
	(void)state;
	size_t known = COUNT(numbers) + COUNT(worded) + COUNT(flags);
	assert_int_equal(known, COP_HYPERPARAMETERS);
	for (size_t i = 0; i < known; i++) {
		size_t words = i - COUNT(numbers), plain = i - COUNT(numbers) - COUNT(worded);
		bool number = i < COUNT(numbers), flag = !number && words >= COUNT(worded);
		cop_hyperparameter which = number ? numbers[i].which : flag ? flags[plain].which : worded[words].which;
		assert_string_equal(cop_hyperparameters_name(which), number ? numbers[i].name
		                                                     : flag ? flags[plain].name
		                                                            : worded[words].name);
		assert_int_equal(cop_hyperparameters_for(which), number ? numbers[i].learners
		                                                 : flag ? flags[plain].learners
		                                                        : worded[words].learners);
		assert_int_equal(cop_hyperparameters_has_argument(which), !flag);
	}
}

/* In any room, cut where it ends. */
static void test_knobs_in_words_fit_any_room(void **state)
{
	(void)state;
	static const char whole[] = "--height 3 --alpha 0.25 --monotone --l1 1e-05";
	cop_hyperparameters_values values = { 0 };
	assert_true(cop_hyperparameters_read(COP_HYPERPARAMETER_HEIGHT, "3", &values) &&
	            cop_hyperparameters_read(COP_HYPERPARAMETER_ALPHA, "0.25", &values) &&
	            cop_hyperparameters_read(COP_HYPERPARAMETER_MONOTONE, NULL, &values) &&
	            cop_hyperparameters_read(COP_HYPERPARAMETER_L1, "1e-5", &values));
	for (size_t size = 1; size <= sizeof whole + 4; size++) {
		char text[sizeof whole + 5];
		memset(text, '#', sizeof text);
		cop_hyperparameters_words(&values, text, size);
		size_t length = size < sizeof whole ? size - 1 : sizeof whole - 1;
		assert_memory_equal(text, whole, length);
		assert_int_equal(text[length], '\0');
		assert_int_equal(text[size], '#');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_knob_numbers_are_read_within_their_limits),
		cmocka_unit_test(test_knob_words_are_read_by_their_place),
		cmocka_unit_test(test_knob_flags_take_no_argument),
		cmocka_unit_test(test_knob_is_for_the_learners_it_names),
		cmocka_unit_test(test_knobs_in_words_fit_any_room),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
