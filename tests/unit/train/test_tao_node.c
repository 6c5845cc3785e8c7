/* One decision node at a time: the reduced problem against the whole tree's loss counted naively, for any change. */
#include "unit/train/tao_problem.h"

#include <string.h>

#include "train/axis_split.h"
#include "train/tao_parts.h"

typedef struct fixture {
	tao_problem p;
	cop_tao_state state;
	float *x; /* a dense row */
} fixture;

/* A random tree for the rows of f->p, its constant leaves fitted. */
static void begin_made(fixture *f, cop_tao_split split, uint64_t seed)
{
	cop_rng rng;

	f->p.set.split = split;
	f->p.set.depth = 3;
	cop_rng_init(&rng, seed, 1);
	assert_int_equal(cop_tao_state_init(&f->state, &f->p.set, &f->p.sample, 1), COP_OK);
	assert_int_equal(cop_tao_start_random(&f->state, &rng), COP_OK);
	assert_int_equal(cop_tao_state_ready(&f->state), COP_OK);
	for (size_t l = 0; l < f->state.leaves; l++)
		assert_int_equal(cop_tao_leaf_fit(&f->state, &f->state.leaf[l], f->state.order + f->state.begin[l],
		                         f->state.begin[l + 1] - f->state.begin[l], &f->state.work[0]),
		        COP_OK);
	f->x = cop_mem_alloc(f->state.d, sizeof *f->x);
	assert_non_null(f->x);
}

static void begin(fixture *f, cop_tao_loss loss, cop_tao_split split, bool sparse, uint64_t seed)
{
	memset(f, 0, sizeof *f);
	tao_make(&f->p, loss, 80, sparse, seed);
	begin_made(f, split, seed);
}

static void end(fixture *f)
{
	cop_mem_free(f->x);
	cop_tao_state_fini(&f->state);
	tao_end(&f->p);
}

/* Row i as d floats. */
static const float *dense_row(fixture *f, size_t i)
{
	cop_row row = cop_tao_row(&f->state, i);

	memset(f->x, 0, f->state.d * sizeof *f->x);
	for (size_t e = 0; e < cop_row_entries(&row); e++)
		f->x[cop_row_index(&row, e)] = cop_row_value(&row, e);
	return f->x;
}

/* The leaf of row i, by the parameters alone, in double. */
static uint32_t naive_leaf(fixture *f, size_t i)
{
	int32_t at = f->state.nodes > 0 ? 0 : ~0;
	const float *x = dense_row(f, i);

	while (at >= 0) {
		const cop_tao_node *node = &f->state.node[at];
		double a = (double)node->f.bias;
		for (size_t k = 0; k < node->f.count; k++)
			a += (double)node->f.w[k] * (double)x[node->f.index != NULL ? node->f.index[k] : k];
		at = node->child[a >= 0];
	}
	return (uint32_t)~at;
}

static double naive_objective(fixture *f)
{
	double e = 0;

	for (size_t i = 0; i < f->state.n; i++)
		e += tao_naive_loss(&f->p, i, f->state.leaf[naive_leaf(f, i)].bias);
	for (size_t t = 0; t < f->state.nodes; t++)
		for (size_t k = 0; k < f->state.node[t].f.count; k++)
			e += f->p.set.alpha * fabs((double)f->state.node[t].f.w[k]);
	return e;
}

static void fit_node(fixture *f, size_t t)
{
	cop_tao_state *state = &f->state;
	size_t from, to;

	cop_tao_refresh(state);
	from = state->begin[state->node[t].first];
	to = state->begin[state->node[t].last];
	assert_int_equal(
	        cop_tao_node_fit(state, &state->node[t], state->order + from, to - from, &state->work[0]), COP_OK);
}

/* What the state knows of its rows is what a walk from the root finds. */
static void check_rows(fixture *f)
{
	for (size_t i = 0; i < f->state.n; i++) {
		uint32_t leaf = naive_leaf(f, i);
		double loss = tao_naive_loss(&f->p, i, f->state.leaf[leaf].bias);
		assert_int_equal(f->state.leaf_of[i], leaf);
		assert_true(fabs(f->state.loss[i] - loss) <= 1e-9 * (1 + fabs(loss)));
	}
	double e = naive_objective(f);
	assert_true(fabs(cop_tao_objective(&f->state) - e) <= 1e-9 * (1 + fabs(e)));
}

static void test_node_fit_keeps_rows_and_objective_exact(void **unused)
{
	(void)unused;
	for (int c = 0; c < COP_TAO_LOSSES * 8; c++) {
		fixture f;
		begin(&f, (cop_tao_loss)(c / 8), (c & 1) != 0 ? COP_TAO_AXIS : COP_TAO_OBLIQUE, (c & 2) != 0, 100);
		check_rows(&f);
		if ((c & 4) != 0)
			cop_tao_undo_begin(&f.state);
		for (size_t t = 0; t < f.state.nodes; t++) {
			double before = naive_objective(&f);
			fit_node(&f, t);
			check_rows(&f);
			if (!f.state.bold)
				assert_true(naive_objective(&f) <= before + 1e-9 * (1 + fabs(before)));
		}
		end(&f);
	}
}

static void test_bold_sweep_restored_is_as_before(void **unused)
{
	(void)unused;
	fixture f;
	begin(&f, COP_TAO_SQUARED, COP_TAO_OBLIQUE, false, 101);
	double before = naive_objective(&f);
	cop_tao_undo_begin(&f.state);
	for (int twice = 0; twice < 2; twice++)
		for (size_t t = f.state.nodes; t-- > 0;)
			fit_node(&f, t);
	assert_true(naive_objective(&f) != before);
	cop_tao_undo_restore(&f.state);
	assert_true(naive_objective(&f) == before);
	check_rows(&f);
	assert_true(f.state.node[0].drawn);
	end(&f);
}

static void replace_leaves(fixture *f, float value)
{
	for (size_t l = 0; l < f->state.leaves; l++) {
		const float values[TAO_OUTPUTS] = { value, value, value, value };
		cop_tao_leaf next = { 0 };
		assert_int_equal(cop_tao_leaf_set_constant(&f->state, &next, values, 0), COP_OK);
		cop_tao_leaf_replace(&f->state, &f->state.leaf[l], &next);
		assert_true(f->state.leaf[l].bias[0] == value);
	}
}

static void test_bold_leaves_are_restored_or_forgotten(void **unused)
{
	(void)unused;
	for (int restores = 0; restores < 2; restores++) {
		fixture f;
		begin(&f, COP_TAO_SQUARED, COP_TAO_OBLIQUE, false, 107);
		double before = naive_objective(&f);
		cop_tao_undo_begin(&f.state);
		replace_leaves(&f, 8);
		replace_leaves(&f, 9);
		double bold = naive_objective(&f);
		assert_true(bold > before);
		if (restores == 0)
			cop_tao_undo_forget(&f.state);
		assert_int_equal(f.state.bold, restores != 0);
		cop_tao_undo_restore(&f.state); /* nothing is left to be restored where it was forgotten */
		assert_true(naive_objective(&f) == (restores != 0 ? before : bold));
		assert_false(f.state.bold);
		end(&f);
	}
}

/* E of the whole tree with one feature's threshold at node t, or all one way (feature d). */
static double objective_with(fixture *f, size_t t, size_t feature, float bias)
{
	cop_tao_linear kept = f->state.node[t].f;
	uint32_t index = (uint32_t)feature;
	float one = 1;

	f->state.node[t].f =
	        (cop_tao_linear){ .count = feature < f->state.d, .index = &index, .w = &one, .bias = bias };
	double e = naive_objective(f);
	f->state.node[t].f = kept;
	return e;
}

static double best_axis(fixture *f, size_t t)
{
	double best = naive_objective(f);

	best = fmin(best, objective_with(f, t, f->state.d, 1));
	best = fmin(best, objective_with(f, t, f->state.d, -1));
	for (size_t j = 0; j < f->state.d; j++) {
		for (size_t i = 0; i < f->state.n; i++) {
			/* Right from this row's value on: with values at random nobody stands between. */
			float x = dense_row(f, i)[j];
			best = fmin(best, objective_with(f, t, j, -x));
		}
	}
	return best;
}

static void test_axis_node_is_the_best_of_all_for_the_whole_tree(void **unused)
{
	(void)unused;
	for (int c = 0; c < COP_TAO_LOSSES; c++) {
		fixture f;
		begin(&f, (cop_tao_loss)c, COP_TAO_AXIS, false, 102);
		for (size_t t = 0; t < f.state.nodes; t++) {
			double best = best_axis(&f, t);
			fit_node(&f, t);
			assert_true(fabs(naive_objective(&f) - best) <= 1e-9 * (1 + fabs(best)));
		}
		end(&f);
	}
}

static void test_axis_node_care_set_is_what_axis_split_gets(void **unused)
{
	(void)unused;
	fixture f;
	uint32_t row[80];
	int8_t side[80];
	float weight[80];
	size_t care = 0;
	begin(&f, COP_TAO_ZERO_ONE, COP_TAO_AXIS, false, 103);
	f.p.set.alpha = 0;
	for (uint32_t i = 0; i < f.state.n; i++) {
		cop_row x = cop_tao_row(&f.state, i);
		uint32_t left = cop_tao_walk(&f.state, f.state.node[0].child[0], &x);
		uint32_t right = cop_tao_walk(&f.state, f.state.node[0].child[1], &x);
		double away = tao_naive_loss(&f.p, i, f.state.leaf[left].bias) -
		              tao_naive_loss(&f.p, i, f.state.leaf[right].bias);
		if (away == 0)
			continue;
		row[care] = i;
		side[care] = away > 0 ? 1 : -1;
		weight[care++] = (float)fabs(away);
	}
	cop_axis_split split;
	assert_int_equal(cop_axis_split_find(f.p.rows, care, row, side, weight, &split), COP_OK);
	fit_node(&f, 0);
	const cop_tao_linear *got = &f.state.node[0].f;
	assert_int_equal(got->count, 1);
	assert_int_equal(got->index[0], split.feature);
	assert_true(got->w[0] == 1 && got->bias == -split.threshold);
	end(&f);
}

/* No number lies between two features' values, so that rows stand at the threshold itself: they go right. */
static void test_axis_node_rows_at_the_threshold_go_right(void **unused)
{
	(void)unused;
	for (int sparse = 0; sparse < 2; sparse++) {
		fixture f;
		memset(&f, 0, sizeof f);
		tao_make(&f.p, COP_TAO_SQUARED, 80, sparse != 0, 106);
		float *x = sparse != 0 ? f.p.rows->value : f.p.rows->x;
		size_t count = sparse != 0 ? f.p.rows->start[f.p.rows->n] : f.p.rows->n * f.p.rows->d;
		for (size_t i = 0; i < count; i++)
			x[i] = x[i] < 0 ? 1 : nextafterf(1, 2);
		begin_made(&f, COP_TAO_AXIS, 106);
		size_t at_threshold = 0;
		for (size_t t = f.state.nodes; t-- > 0;) {
			fit_node(&f, t);
			for (size_t i = 0; i < f.state.n; i++) {
				cop_row row = cop_tao_row(&f.state, i);
				assert_int_equal(f.state.leaf_of[i], cop_tao_walk(&f.state, 0, &row));
			}
			at_threshold += f.state.node[t].f.bias == -nextafterf(1, 2);
		}
		assert_true(at_threshold > 0);
		end(&f);
	}
}

static void test_node_without_care_becomes_constant(void **unused)
{
	(void)unused;
	fixture f;
	begin(&f, COP_TAO_ZERO_ONE, COP_TAO_OBLIQUE, false, 104);
	for (size_t i = 0; i < f.state.n; i++)
		f.p.label[i] = 3; /* known to no leaf: nobody is better off anywhere */
	for (size_t l = 0; l < f.state.leaves; l++)
		f.state.leaf[l].choice = 0;
	for (size_t i = 0; i < f.state.n; i++)
		f.state.loss[i] = (double)f.p.weight[i];
	fit_node(&f, 0);
	assert_int_equal(f.state.node[0].f.count, 0);
	assert_true(fabsf(f.state.node[0].f.bias) == 1);
	end(&f);
}

static void test_start_random_halves_its_rows(void **unused)
{
	(void)unused;
	fixture f;
	begin(&f, COP_TAO_ZERO_ONE, COP_TAO_OBLIQUE, false, 105);
	assert_int_equal(f.state.nodes, 7);
	for (size_t l = 0; l < f.state.leaves; l++)
		assert_int_equal(f.state.begin[l + 1] - f.state.begin[l], 10);
	for (size_t t = 0; t < f.state.nodes; t++) {
		double square = 0;
		for (size_t j = 0; j < f.state.d; j++)
			square += (double)f.state.node[t].f.w[j] * (double)f.state.node[t].f.w[j];
		assert_true(fabs(square - 1) < 1e-5);
	}
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_node_fit_keeps_rows_and_objective_exact),
		cmocka_unit_test(test_bold_sweep_restored_is_as_before),
		cmocka_unit_test(test_bold_leaves_are_restored_or_forgotten),
		cmocka_unit_test(test_axis_node_is_the_best_of_all_for_the_whole_tree),
		cmocka_unit_test(test_axis_node_care_set_is_what_axis_split_gets),
		cmocka_unit_test(test_axis_node_rows_at_the_threshold_go_right),
		cmocka_unit_test(test_node_without_care_becomes_constant),
		cmocka_unit_test(test_start_random_halves_its_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
