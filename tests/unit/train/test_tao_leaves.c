/* Leaves: constants against their definitions, linear ones against the solvers, and what is kept. */
#include "unit/train/tao_problem.h"

#include <stdlib.h>
#include <string.h>

#include "optim/l1_linear.h"
#include "train/tao_parts.h"

#define ROWS 60

/* A lone leaf: a start of one row repeated cannot be divided. */
static void begin(tao_problem *p, cop_tao_state *state, cop_tao_loss loss, cop_tao_leaves leaves, uint64_t seed)
{
	uint32_t same[ROWS] = { 0 };
	cop_rng rng;

	tao_make(p, loss, ROWS, false, seed);
	p->set.leaves = leaves;
	cop_rng_init(&rng, seed, 1);
	p->sample.row = same;
	assert_int_equal(cop_tao_state_init(state, &p->set, &p->sample, 1), COP_OK);
	assert_int_equal(cop_tao_start_random(state, &rng), COP_OK);
	p->sample.row = NULL;
	assert_int_equal(state->leaves, 1);
	assert_int_equal(cop_tao_state_ready(state), COP_OK);
}

static void end(tao_problem *p, cop_tao_state *state)
{
	cop_tao_state_fini(state);
	tao_end(p);
}

static void fit(cop_tao_state *state, size_t n)
{
	assert_int_equal(cop_tao_leaf_fit(state, &state->leaf[0], state->order, n, &state->work[0]), COP_OK);
}

static void test_constant_classes_hold_shares(void **unused)
{
	(void)unused;
	tao_problem p;
	cop_tao_state state;
	double share[TAO_OUTPUTS] = { 0 }, total = 0;
	begin(&p, &state, COP_TAO_ZERO_ONE, COP_TAO_CONSTANT, 1);
	p.set.leaf_classes = 1; /* of softmax leaves alone */
	for (size_t i = 0; i < ROWS; i++) {
		share[p.label[i]] += (double)p.weight[i];
		total += (double)p.weight[i];
	}
	fit(&state, ROWS);
	for (uint32_t k = 0; k < TAO_OUTPUTS; k++) {
		assert_true(fabs((double)state.leaf[0].bias[k] - share[k] / total) < 1e-6);
		assert_true(share[state.leaf[0].choice] >= share[k]);
	}
	end(&p, &state);
}

static void test_constant_squared_is_the_mean(void **unused)
{
	(void)unused;
	tao_problem p;
	cop_tao_state state;
	begin(&p, &state, COP_TAO_SQUARED, COP_TAO_CONSTANT, 2);
	fit(&state, ROWS);
	for (uint32_t k = 0; k < TAO_OUTPUTS; k++) {
		double sum = 0, total = 0;
		for (size_t i = 0; i < ROWS; i++) {
			sum += (double)p.weight[i] * (double)p.target[i * TAO_OUTPUTS + k];
			total += (double)p.weight[i];
		}
		assert_true(fabs((double)state.leaf[0].bias[k] - sum / total) < 1e-6);
	}
	end(&p, &state);
}

/* No value of a row would be better. */
static void test_constant_absolute_is_the_weighted_median(void **unused)
{
	(void)unused;
	tao_problem p;
	cop_tao_state state;
	begin(&p, &state, COP_TAO_ABSOLUTE, COP_TAO_CONSTANT, 3);
	fit(&state, ROWS);
	for (uint32_t k = 0; k < TAO_OUTPUTS; k++) {
		double got = 0;
		for (size_t i = 0; i < ROWS; i++)
			got += (double)p.weight[i] *
			       fabs((double)p.target[i * TAO_OUTPUTS + k] - (double)state.leaf[0].bias[k]);
		for (size_t at = 0; at < ROWS; at++) {
			double other = 0;
			for (size_t i = 0; i < ROWS; i++)
				other += (double)p.weight[i] * fabs((double)p.target[i * TAO_OUTPUTS + k] -
				                                       (double)p.target[at * TAO_OUTPUTS + k]);
			assert_true(got <= other + 1e-6);
		}
	}
	end(&p, &state);
}

static void test_constant_costs_choose_the_least_sum(void **unused)
{
	(void)unused;
	tao_problem p;
	cop_tao_state state;
	double sum[TAO_OUTPUTS] = { 0 };
	begin(&p, &state, COP_TAO_COST, COP_TAO_CONSTANT, 4);
	for (size_t i = 0; i < ROWS; i++)
		for (uint32_t k = 0; k < TAO_OUTPUTS; k++)
			sum[k] += (double)p.weight[i] * (double)p.target[i * TAO_OUTPUTS + k];
	fit(&state, ROWS);
	for (uint32_t k = 0; k < TAO_OUTPUTS; k++)
		assert_true(sum[state.leaf[0].choice] <= sum[k]);
	end(&p, &state);
}

static void test_dead_leaf_keeps_what_it_has(void **unused)
{
	(void)unused;
	for (int linear = 0; linear < 2; linear++) {
		tao_problem p;
		cop_tao_state state;
		float kept[TAO_OUTPUTS];
		begin(&p, &state, COP_TAO_SQUARED, linear ? COP_TAO_LINEAR : COP_TAO_CONSTANT, 5);
		memcpy(kept, state.leaf[0].bias, sizeof kept);
		fit(&state, 0);
		memset(p.weight, 0, sizeof p.weight); /* rows that do not count are none */
		fit(&state, ROWS);
		assert_int_equal(state.leaf[0].rows, TAO_OUTPUTS);
		assert_memory_equal(state.leaf[0].bias, kept, sizeof kept);
		end(&p, &state);
	}
}

static void test_linear_squared_is_the_lasso_of_each_output(void **unused)
{
	(void)unused;
	tao_problem p;
	cop_tao_state state;
	cop_columns columns;
	float y[ROWS];
	begin(&p, &state, COP_TAO_SQUARED, COP_TAO_LINEAR, 6);
	p.set.node_tolerance = 1e-6;
	p.set.node_steps = 1000;
	p.set.leaf_alpha = 2;
	p.set.leaf_classes = 1; /* of softmax leaves alone */
	fit(&state, ROWS);
	const cop_tao_leaf *leaf = &state.leaf[0];
	assert_non_null(leaf->start);
	assert_int_equal(cop_columns_from_dense(&columns, ROWS, NULL, TAO_FEATURES, p.rows->x), COP_OK);
	for (uint32_t k = 0; k < TAO_OUTPUTS; k++) {
		/* (y - f)^2 + 2 |v| is twice (y - f)^2 / 2 + |v|. */
		cop_l1_settings solver = { .lambda = 1, .tolerance = 1e-6, .max_steps = 1000 };
		float w[TAO_FEATURES] = { 0 }, b = 0;
		for (size_t i = 0; i < ROWS; i++)
			y[i] = p.target[i * TAO_OUTPUTS + k];
		assert_int_equal(cop_l1_linear_fit(&solver, &columns, y, p.weight, w, &b, NULL), COP_OK);
		for (size_t e = leaf->start[k]; e < leaf->start[k + 1]; e++)
			w[leaf->index[e]] -= leaf->v[e];
		for (size_t j = 0; j < TAO_FEATURES; j++)
			assert_true(fabsf(w[j]) < 1e-2F);
		assert_true(fabsf(b - leaf->bias[k]) < 1e-2F);
	}
	cop_columns_fini(&columns);
	end(&p, &state);
}

static void test_linear_absolute_has_half_the_weight_on_either_side(void **unused)
{
	(void)unused;
	tao_problem p;
	cop_tao_state state;
	begin(&p, &state, COP_TAO_ABSOLUTE, COP_TAO_LINEAR, 7);
	p.set.leaf_alpha = 0;
	fit(&state, ROWS);
	const cop_tao_leaf *leaf = &state.leaf[0];
	assert_non_null(leaf->start);
	for (uint32_t k = 0; k < TAO_OUTPUTS; k++) {
		double below = 0, above = 0, total = 0;
		for (size_t i = 0; i < ROWS; i++) {
			double f = (double)leaf->bias[k], away;
			for (size_t e = leaf->start[k]; e < leaf->start[k + 1]; e++)
				f += (double)leaf->v[e] * (double)p.rows->x[i * TAO_FEATURES + leaf->index[e]];
			away = (double)p.target[i * TAO_OUTPUTS + k] - f;
			below += away < -1e-4 ? (double)p.weight[i] : 0;
			above += away > 1e-4 ? (double)p.weight[i] : 0;
			total += (double)p.weight[i];
		}
		assert_true(2 * below <= total + 1e-6 && 2 * above <= total + 1e-6);
	}
	end(&p, &state);
}

static void test_linear_leaf_heavy_penalty_is_constant(void **unused)
{
	(void)unused;
	for (int loss = 0; loss < COP_TAO_LOSSES; loss++) {
		tao_problem p;
		cop_tao_state state;
		begin(&p, &state, (cop_tao_loss)loss, COP_TAO_LINEAR, 8);
		p.set.leaf_alpha = 1e6;
		fit(&state, ROWS);
		assert_true(state.leaf[0].norm == 0);
		end(&p, &state);
	}
}

static void test_softmax_leaf_holds_the_most_frequent_classes(void **unused)
{
	(void)unused;
	tao_problem p;
	cop_tao_state state;
	double count[TAO_OUTPUTS] = { 0 };
	begin(&p, &state, COP_TAO_CROSS_ENTROPY, COP_TAO_LINEAR, 9);
	for (size_t i = 0; i < ROWS; i++) {
		p.label[i] = i % 10 == 0 ? 3 : i % 3 == 0;
		count[p.label[i]]++;
	}
	p.sample.weight = NULL;
	p.set.leaf_classes = 2;
	p.set.leaf_alpha = 0.01;
	cop_tao_undo_begin(&state); /* takes what the solver says */
	fit(&state, ROWS);
	assert_int_equal(state.leaf[0].rows, 2);
	assert_int_equal(state.leaf[0].output[0], 0);
	assert_int_equal(state.leaf[0].output[1], 1);
	/* A class that the leaf does not know costs no more than log(1e6). */
	for (size_t i = 0; i < ROWS; i++)
		assert_true(state.loss[i] <= 6 * log(10) + 1e-9 && (p.label[i] < 3 || state.loss[i] > 13.8));
	end(&p, &state);
}

/* beta, which need not be that of any probability. */
static void test_softmax_class_that_is_lacking_costs_what_is_set(void **unused)
{
	(void)unused;
	static const double given[] = { 0.5, 100, 1e7 };
	for (size_t c = 0; c < 3; c++) {
		tao_problem p;
		cop_tao_state state;
		begin(&p, &state, COP_TAO_CROSS_ENTROPY, COP_TAO_LINEAR, 9);
		p.sample.weight = NULL;
		p.set.leaf_classes = 2;
		p.set.leaf_alpha = 0.01;
		p.set.missing = given[c];
		cop_tao_undo_begin(&state);
		fit(&state, ROWS);
		for (size_t i = 0; i < ROWS; i++) {
			bool known = p.label[i] == state.leaf[0].output[0] || p.label[i] == state.leaf[0].output[1];
			assert_true(known ? state.loss[i] <= 6 * log(10) + 1e-9 : state.loss[i] == given[c]);
		}
		end(&p, &state);
	}
}

static void test_softmax_leaf_of_one_class_predicts_it(void **unused)
{
	(void)unused;
	tao_problem p;
	cop_tao_state state;
	begin(&p, &state, COP_TAO_ZERO_ONE, COP_TAO_LINEAR, 10);
	for (size_t i = 0; i < ROWS; i++)
		p.label[i] = 2;
	fit(&state, ROWS);
	for (size_t i = 0; i < ROWS; i++)
		assert_true(state.loss[i] == 0);
	assert_true(state.leaf[0].norm == 0);
	end(&p, &state);
}

/* Whole trees: linear leaves do what constant ones cannot. */
static void test_linear_leaves_fit_linear_data(void **unused)
{
	(void)unused;
	tao_problem p;
	tao_make(&p, COP_TAO_SQUARED, TAO_ROWS, true, 11);
	p.set.depth = 2;
	p.set.leaf_alpha = 1e-3;
	cop_tree *constant = tao_run(&p, NULL, NULL, NULL);
	p.set.leaves = COP_TAO_LINEAR;
	cop_tree *linear = tao_run(&p, NULL, NULL, NULL);
	assert_true(cop_tree_constant_leaves(constant));
	assert_false(cop_tree_constant_leaves(linear));
	assert_true(tao_naive_objective(&p, linear) < 0.7 * tao_naive_objective(&p, constant));
	cop_tree_free(constant);
	cop_tree_free(linear);
	tao_end(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_constant_classes_hold_shares),
		cmocka_unit_test(test_constant_squared_is_the_mean),
		cmocka_unit_test(test_constant_absolute_is_the_weighted_median),
		cmocka_unit_test(test_constant_costs_choose_the_least_sum),
		cmocka_unit_test(test_dead_leaf_keeps_what_it_has),
		cmocka_unit_test(test_linear_squared_is_the_lasso_of_each_output),
		cmocka_unit_test(test_linear_absolute_has_half_the_weight_on_either_side),
		cmocka_unit_test(test_linear_leaf_heavy_penalty_is_constant),
		cmocka_unit_test(test_softmax_leaf_holds_the_most_frequent_classes),
		cmocka_unit_test(test_softmax_class_that_is_lacking_costs_what_is_set),
		cmocka_unit_test(test_softmax_leaf_of_one_class_predicts_it),
		cmocka_unit_test(test_linear_leaves_fit_linear_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
