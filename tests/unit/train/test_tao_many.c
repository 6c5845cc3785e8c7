/* Softmax leaves of sparse rows: many classes beside the exact solver and counted from the finished tree; leaves turned
 * by feature give the losses that their rows give; every failed allocation. */
#include "unit/train/tao_problem.h"

#include <string.h>

#include "optim/l1_softmax.h"
#include "train/tao_parts.h"
#include "tree/tree_build.h"

#define ROWS     5000
#define CLASSES  64
#define FEATURES 100
#define PRESENT  4 /* features of a row */

typedef struct many {
	cop_dataset *rows;
	uint32_t label[ROWS];
	float weight[ROWS];
	cop_sample sample;
	cop_tao_settings set;
	cop_tree *start; /* a lone leaf */
} many;

/* A feature speaks for a few classes; low classes are more frequent. */
static void make(many *m, uint64_t seed)
{
	cop_rng rng;
	cop_tree_build *build;
	float share[CLASSES];
	cop_rng_init(&rng, seed, 0);
	*m = (many){ 0 };
	assert_int_equal(cop_dataset_new_sparse(&m->rows), COP_OK);
	for (size_t i = 0; i < ROWS; i++) {
		uint32_t index[PRESENT], at = 0;
		float value[PRESENT];
		for (size_t e = 0; e < PRESENT; e++) {
			at += (uint32_t)(1 + cop_rng_below(&rng, FEATURES / PRESENT - 1));
			index[e] = at;
			value[e] = (float)(1 + cop_rng_below(&rng, 2));
		}
		assert_int_equal(cop_dataset_push_sparse(m->rows, PRESENT, index, value, 0), COP_OK);
		uint32_t told = index[0] + (uint32_t)cop_rng_below(&rng, 3);
		m->label[i] =
		        cop_rng_below(&rng, 2) == 0 ? told % CLASSES : (uint32_t)(CLASSES * pow(cop_rng_unit(&rng), 3));
		m->weight[i] = (float)(0.5 + cop_rng_unit(&rng));
	}
	m->sample = (cop_sample){ .rows = m->rows,
		.n = ROWS,
		.task = COP_TASK_CLASSES,
		.outputs = CLASSES,
		.label = m->label,
		.weight = m->weight };
	cop_tao_defaults(COP_TASK_CLASSES, &m->set);
	m->set.loss = COP_TAO_CROSS_ENTROPY;
	m->set.leaves = COP_TAO_LINEAR;
	m->set.leaf_alpha = 2;
	m->set.iterations = 0;
	for (size_t k = 0; k < CLASSES; k++)
		share[k] = 1.0F / CLASSES;
	assert_int_equal(cop_tree_build_new(m->rows->d, CLASSES, COP_TREE_PROBABILITIES, &build), COP_OK);
	assert_int_equal(cop_tree_build_finish(build, cop_tree_build_constant(build, share), &m->start), COP_OK);
	cop_tree_build_free(build);
}

static void end(many *m)
{
	cop_tree_free(m->start);
	cop_dataset_free(m->rows);
}

static cop_tree *fit(const many *m, const cop_tree *start, double *objective)
{
	cop_tree *tree = NULL;
	cop_tao_report report = { 0 };
	cop_rng rng;
	cop_rng_init(&rng, 1, 0);
	assert_int_equal(cop_tao_fit(&m->set, &m->sample, start, NULL, &rng, NULL, &report, &tree), COP_OK);
	*objective = report.objective;
	cop_mem_free(report.history);
	return tree;
}

/* E of a lone leaf by the probabilities and weights of the tree alone; a class that it lacks costs log(1e6). */
static double counted(const many *m, const cop_tree *tree)
{
	const cop_tree_parts *parts = cop_tree_view(tree);
	double sum = 0;
	float out[CLASSES];
	for (size_t i = 0; i < ROWS; i++) {
		cop_row row;
		cop_dataset_row(m->rows, i, &row);
		(void)cop_tree_predict(tree, &row, out);
		double p = (double)out[m->label[i]];
		sum -= (double)m->weight[i] * log(fmax(p, 1e-6));
	}
	for (size_t e = 0; e < parts->rows.start[parts->rows.count]; e++)
		sum += m->set.leaf_alpha * fabs((double)parts->rows.weight[e]);
	return sum;
}

static double exact(const many *m)
{
	cop_columns x;
	cop_l1_report report;
	const cop_l1_settings settings = { .lambda = m->set.leaf_alpha, .tolerance = 1e-3, .max_steps = 100 };
	float *w = cop_mem_alloc(CLASSES, m->rows->d * sizeof *w), *b = cop_mem_alloc(CLASSES, sizeof *b);
	assert_true(w != NULL && b != NULL);
	assert_int_equal(
	        cop_columns_from_sparse(&x, ROWS, NULL, m->rows->d, m->rows->start, m->rows->index, m->rows->value),
	        COP_OK);
	assert_int_equal(cop_l1_softmax_fit(&settings, &x, CLASSES, m->label, m->weight, w, b, &report), COP_OK);
	cop_columns_fini(&x);
	cop_mem_free(w);
	cop_mem_free(b);
	return report.objective;
}

static void test_many_classes_are_fitted_nearly_as_exactly(void **unused)
{
	(void)unused;
	many m;
	double objective;
	make(&m, 1);
	cop_tree *tree = fit(&m, m.start, &objective);
	double got = counted(&m, tree), least = exact(&m);
	if (fabs(objective / got - 1) > 1e-4 || got > 1.02 * least || got < 0.999 * least)
		fail_msg("reported %g, counted %g, exact %g", objective, got, least);
	cop_tree_free(tree);
	end(&m);
}

static void test_many_classes_only_the_most_frequent_are_known(void **unused)
{
	(void)unused;
	many m;
	double mass[CLASSES] = { 0 }, first, second, least = (double)INFINITY;
	make(&m, 2);
	m.set.leaf_classes = 55;
	for (size_t i = 0; i < ROWS; i++)
		mass[m.label[i]] += (double)m.weight[i];
	cop_tree *tree = fit(&m, m.start, &first);
	const cop_tree_parts *parts = cop_tree_view(tree);
	assert_int_equal(parts->rows.count, 55);
	for (size_t r = 0; r < 55; r++) {
		least = fmin(least, mass[parts->output[r]]);
		assert_true(r == 0 || parts->output[r] > parts->output[r - 1]);
		mass[parts->output[r]] = 0;
	}
	for (size_t k = 0; k < CLASSES; k++)
		assert_true(mass[k] <= least);
	assert_true(fabs(first / counted(&m, tree) - 1) < 1e-4);
	/* A second fit begins with the first one's weights. */
	m.set.node_steps = 1;
	cop_tree *again = fit(&m, tree, &second);
	assert_true(second <= first * (1 + 1e-6));
	cop_tree_free(again);
	cop_tree_free(tree);
	end(&m);
}

static void test_turned_leaf_loses_what_its_rows_say(void **unused)
{
	(void)unused;
	for (int c = 0; c < 2; c++) {
		tao_problem p;
		cop_tao_state state;
		cop_rng rng;
		tao_make(&p, c == 0 ? COP_TAO_CROSS_ENTROPY : COP_TAO_SQUARED, 200, true, 40);
		p.set.leaves = COP_TAO_LINEAR;
		p.set.depth = 2;
		cop_rng_init(&rng, 40, 1);
		assert_int_equal(cop_tao_state_init(&state, &p.set, &p.sample, 1), COP_OK);
		assert_int_equal(cop_tao_start_random(&state, &rng), COP_OK);
		assert_int_equal(cop_tao_state_ready(&state), COP_OK);
		for (size_t l = 0; l < state.leaves; l++)
			assert_int_equal(cop_tao_leaf_fit(&state, &state.leaf[l], state.order + state.begin[l],
			                         state.begin[l + 1] - state.begin[l], &state.work[0]),
			        COP_OK);
		for (size_t l = 0; l < state.leaves; l++) {
			cop_tao_leaf rowwise = state.leaf[l];
			if (rowwise.start == NULL)
				continue;
			assert_non_null(rowwise.turned);
			for (size_t i = 0; i < state.n; i++) {
				double score[TAO_OUTPUTS], other[TAO_OUTPUTS];
				double got = cop_tao_loss_at(&state, &state.leaf[l], i, score), sum = 0;
				cop_row x = cop_tao_row(&state, i);
				for (size_t r = 0; r < rowwise.rows; r++) {
					other[r] = (double)rowwise.bias[r];
					for (size_t e = rowwise.start[r]; e < rowwise.start[r + 1]; e++)
						for (size_t q = 0; q < x.nnz; q++)
							if (x.index[q] == rowwise.index[e])
								other[r] += (double)rowwise.v[e] * (double)x.value[q];
					assert_true(fabs(other[r] - score[r]) <= 1e-12 * (1 + fabs(other[r])));
					double away = (double)p.target[i * TAO_OUTPUTS + r] - other[r];
					sum += (double)p.weight[i] * away * away;
				}
				assert_true(c == 0 || fabs(sum - got) <= 1e-9 * (1 + sum));
			}
		}
		cop_tao_state_fini(&state);
		tao_end(&p);
	}
}

static void test_many_classes_every_failed_allocation_is_reported(void **unused)
{
	(void)unused;
	many m;
	cop_err err = COP_ENOMEM;
	unsigned long n = 0;
	make(&m, 3);
	m.set.node_steps = 1;
	m.set.leaf_alpha = 0; /* nothing to clear at the end */
	while (err == COP_ENOMEM) {
		cop_tree *tree = NULL;
		cop_rng rng;
		cop_rng_init(&rng, 1, 0);
		cop_test_alloc_fail(++n, 0);
		err = cop_tao_fit(&m.set, &m.sample, m.start, NULL, &rng, NULL, NULL, &tree);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		assert_true((err == COP_OK) == (tree != NULL));
		cop_tree_free(tree);
	}
	assert_int_equal(err, COP_OK);
	assert_true(n > 60);
	end(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many_classes_are_fitted_nearly_as_exactly),
		cmocka_unit_test(test_many_classes_only_the_most_frequent_are_known),
		cmocka_unit_test(test_turned_leaf_loses_what_its_rows_say),
		cmocka_unit_test(test_many_classes_every_failed_allocation_is_reported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
