/* DGT-Bandit against Algorithm 1 written plainly in double: hard walk, eq. (8), dense gradients as the sum over leaves,
 * RMSprop (0.99, 1e-5 outside the root) on the mean of four events. */
#include "learner_fixture.h"

#include <stdio.h>

#include "learn/standardiser.h"
#include "unit/tree/oblique_walk.h"

#define H       3
#define NODES   7
#define LEAVES  8
#define D       (FIXTURE_D + 1)
#define K       FIXTURE_ARMS
#define RATE    0.01
#define ALPHA   0.99
#define EPSILON 1e-5
#define AGREE   0.8807970779778823

typedef struct coordinate {
	double value, gradient, square;
} coordinate;

typedef struct reference {
	coordinate w[NODES][D];
	coordinate theta[K][LEAVES];
	coordinate bias; /* value: what it has moved; its start is in theta */
} reference;

static void step(coordinate *c)
{
	c->square = ALPHA * c->square + (1.0 - ALPHA) * c->gradient * c->gradient;
	c->value -= RATE * c->gradient / (sqrt(c->square) + EPSILON);
	c->gradient = 0.0;
}

static void step_all(reference *ref, bool literal)
{
	for (size_t t = 0; t < NODES; t++)
		for (size_t j = 0; j < D; j++)
			step(&ref->w[t][j]);
	for (size_t k = 0; k < K; k++)
		for (size_t l = 0; l < LEAVES; l++)
			step(&ref->theta[k][l]);
	if (!literal)
		step(&ref->bias);
}

static double margin(const reference *ref, size_t t, const float *x)
{
	double sum = 0.0;
	for (size_t j = 0; j < D; j++)
		sum += ref->w[t][j].value * (double)x[j];
	return sum;
}

static size_t leaf_of(const reference *ref, const float *x)
{
	size_t t = 0;
	while (t < NODES)
		t = 2 * t + (margin(ref, t, x) >= 0.0 ? 2 : 1);
	return t - NODES;
}

static int side(size_t t, size_t l)
{
	for (size_t node = l + NODES; node > 0; node = (node - 1) / 2)
		if ((node - 1) / 2 == t)
			return node % 2 == 0 ? 1 : -1;
	return 0;
}

/* Algorithm 2: soft weights q_l of the leaves, then the sum over leaves for each node. */
static void dense_gradient(reference *ref, const float *x, size_t arm, double g)
{
	double q[LEAVES], mean = 0.0;
	for (size_t l = 0; l < LEAVES; l++) {
		q[l] = 1.0;
		for (size_t t = 0; t < NODES; t++)
			if (side(t, l) != 0)
				q[l] *= (margin(ref, t, x) >= 0.0) == (side(t, l) > 0) ? AGREE : 1.0 - AGREE;
		mean += q[l] * ref->theta[arm][l].value;
	}
	for (size_t t = 0; t < NODES; t++) {
		double da = 0.0;
		for (size_t l = 0; l < LEAVES; l++)
			da += g * side(t, l) * q[l] * (ref->theta[arm][l].value - mean);
		if (fabs(margin(ref, t, x)) <= 1.0)
			for (size_t j = 0; j < D; j++)
				ref->w[t][j].gradient += da * (double)x[j];
	}
}

static double accumulate(reference *ref, const float *x, size_t arm, double p, double loss)
{
	size_t leaf = leaf_of(ref, x);
	double s = 1.0 / (1.0 + exp(-(ref->theta[arm][leaf].value + ref->bias.value)));
	double g = 2.0 / p * (loss - (1.0 - s)) * s * (1.0 - s) / 4.0;
	dense_gradient(ref, x, arm, g);
	ref->theta[arm][leaf].gradient += g;
	ref->bias.gradient += g;
	return 1.0 - s;
}

static cop_oblique_tree *export_tree(const cop_learner *learner)
{
	cop_oblique_tree *tree;
	assert_int_equal(cop_learner_trees(learner), 1);
	assert_int_equal(cop_learner_tree(learner, 0, &tree), COP_OK);
	return tree;
}

static double exported_weight(const cop_oblique_tree *tree, size_t t, size_t j)
{
	return (double)(j + 1 < D ? cop_oblique_tree_weights_view(tree, t)[j] : *cop_oblique_tree_bias_view(tree, t));
}

static void start(reference *ref, const cop_learner *learner)
{
	cop_oblique_tree *tree = export_tree(learner);
	memset(ref, 0, sizeof *ref);
	for (size_t t = 0; t < NODES; t++)
		for (size_t j = 0; j < D; j++)
			ref->w[t][j].value = exported_weight(tree, t, j);
	for (size_t k = 0; k < K; k++)
		for (size_t l = 0; l < LEAVES; l++)
			ref->theta[k][l].value = (double)cop_oblique_tree_values_view(tree, l)[k];
	cop_oblique_tree_free(tree);
}

static void check_equal(const reference *ref, const cop_learner *learner)
{
	cop_oblique_tree *tree = export_tree(learner);
	for (size_t t = 0; t < NODES; t++)
		for (size_t j = 0; j < D; j++)
			assert_true(fabs(exported_weight(tree, t, j) - ref->w[t][j].value) < 2e-4);
	for (size_t k = 0; k < K; k++)
		for (size_t l = 0; l < LEAVES; l++) {
			double got = (double)cop_oblique_tree_values_view(tree, l)[k];
			assert_true(fabs(got - ref->theta[k][l].value - ref->bias.value) < 2e-4);
		}
	cop_oblique_tree_free(tree);
}

static cop_learner *learner_of(bool literal)
{
	cop_learner_settings s;
	fixture_settings(&s, "dgt", false);
	s.literal = literal;
	s.learning_rate = RATE;
	s.height = H;
	return fixture_learner(&s);
}

/* In every four events each arm is played once, with any propensity. */
static void compare(bool literal, size_t steps)
{
	static reference ref;
	cop_learner *learner = learner_of(literal);
	cop_standardiser *standardiser;
	cop_rng rng;
	cop_rng_init(&rng, FIXTURE_SEED, 20);
	assert_int_equal(cop_standardiser_new(FIXTURE_D, false, 0, &standardiser), COP_OK);
	for (size_t n = 0; n < 200; n++) { /* statistics only, so that contexts look ordinary */
		fixture_event e;
		cop_decision d;
		fixture_draw(&e, &rng, false);
		assert_int_equal(cop_learner_decide(learner, &e.row, NULL, &d), COP_OK);
		cop_standardiser_observe(standardiser, &e.row);
	}
	start(&ref, learner);
	for (size_t n = 0; n < 4 * steps; n++) {
		fixture_event e;
		cop_row x;
		cop_decision d = { .arm = (uint32_t)((n + n / 4) % K), .p = 0.05 + 0.95 * cop_rng_unit(&rng) };
		double loss = cop_rng_unit(&rng);
		fixture_draw(&e, &rng, false);
		cop_standardiser_apply(standardiser, &e.row, &x);
		(void)accumulate(&ref, x.dense, d.arm, d.p, loss);
		assert_int_equal(cop_learner_learn(learner, &e.row, NULL, &d, &loss, false), COP_OK);
		cop_standardiser_observe(standardiser, &e.row);
		if (n % 4 == 3)
			step_all(&ref, literal);
		check_equal(&ref, learner); /* between the steps nothing moves */
	}
	cop_standardiser_free(standardiser);
	cop_learner_free(learner);
}

static void test_single_step_of_four_events_equals_algorithm_1(void **state)
{
	(void)state;
	compare(true, 1);
	compare(false, 1);
}

static void test_many_steps_equal_algorithm_1(void **state)
{
	(void)state;
	compare(true, 12);
	compare(false, 12);
}

static void test_decide_predicts_one_minus_sigmoid_of_leaf(void **state)
{
	(void)state;
	cop_learner *learner = learner_of(false);
	cop_standardiser *standardiser;
	cop_rng rng;
	cop_rng_init(&rng, FIXTURE_SEED, 21);
	assert_int_equal(cop_standardiser_new(FIXTURE_D, false, 0, &standardiser), COP_OK);
	cop_explanation why;
	assert_int_equal(cop_learner_explanation_init(learner, &why), COP_OK);
	size_t greedy = 0;
	for (size_t n = 0; n < 2000; n++) {
		fixture_event e;
		cop_decision d;
		cop_row x;
		fixture_draw(&e, &rng, false);
		cop_oblique_tree *tree = export_tree(learner);
		cop_standardiser_observe(standardiser, &e.row);
		cop_standardiser_apply(standardiser, &e.row, &x);
		cop_row features = { .d = FIXTURE_D, .dense = x.dense };
		const float *theta = walk_predict(tree, &features);
		size_t best = 0;
		for (size_t k = 1; k < K; k++)
			if (theta[k] > theta[best])
				best = k;
		assert_int_equal(cop_learner_decide(learner, &e.row, NULL, &d), COP_OK);
		cop_learner_explain(learner, &e.row, NULL, &d, &why);
		assert_true(fabs(why.prediction - 1.0 / (1.0 + exp((double)theta[d.arm]))) < 1e-5);
		assert_int_equal(d.greedy, d.arm == best); /* eq. (7), delta 0.3 */
		assert_true(fabs(d.p - (d.arm == best ? 0.7 + 0.3 / K : 0.3 / K)) < 1e-12);
		greedy += d.greedy;
		double loss = d.arm == e.best ? 0.0 : 1.0;
		assert_int_equal(cop_learner_learn(learner, &e.row, NULL, &d, &loss, true), COP_OK);
		cop_oblique_tree_free(tree);
	}
	assert_in_range(greedy, 2000 * 0.74, 2000 * 0.81); /* 0.775 expected */
	cop_explanation_fini(&why);
	cop_standardiser_free(standardiser);
	cop_learner_free(learner);
}

/* A wild propensity may not spoil the step that three good events share. */
static void test_wild_propensity_is_refused_alone(void **state)
{
	(void)state;
	static const double wild[] = { 1e-300, 1e-40, 1e-30, 1e-20 };
	for (size_t w = 0; w < 4; w++)
		for (size_t place = 0; place < 4; place++) {
			cop_learner *learner = learner_of(false);
			cop_rng rng;
			cop_rng_init(&rng, FIXTURE_SEED, 22);
			(void)fixture_run(learner, &rng, false, 40);
			for (size_t n = 0; n < 4; n++) {
				fixture_event e;
				cop_decision d;
				double loss = 0.9;
				fixture_draw(&e, &rng, false);
				assert_int_equal(cop_learner_decide(learner, &e.row, NULL, &d), COP_OK);
				if (n == place) {
					double p = d.p;
					d.p = wild[w];
					assert_int_equal(cop_learner_learn(learner, &e.row, NULL, &d, &loss, true),
					        COP_EDIVERGED);
					d.p = p;
				}
				assert_int_equal(cop_learner_learn(learner, &e.row, NULL, &d, &loss, true), COP_OK);
			}
			cop_learner_free(learner);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_single_step_of_four_events_equals_algorithm_1),
		cmocka_unit_test(test_many_steps_equal_algorithm_1),
		cmocka_unit_test(test_decide_predicts_one_minus_sigmoid_of_leaf),
		cmocka_unit_test(test_wild_propensity_is_refused_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
