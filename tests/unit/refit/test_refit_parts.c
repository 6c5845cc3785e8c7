/* The parts of a refit, each against its formula, on windows and trees made by hand. */
#include "support.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "refit/refit_parts.h"

#define EVENTS   8
#define FEATURES 2
#define ARMS     3

/* Events of arms at (i, 7): played in turn, with losses and propensities that differ; the third is not answered. */
typedef struct scene {
	cop_refit_settings set;
	cop_refit_window window;
	cop_refit_event event[EVENTS];
	cop_refit_event *at[EVENTS];
	float x[EVENTS][FEATURES];
} scene;

static void make_scene(scene *s)
{
	*s = (scene){ .set = { .clip = 100.0 } };
	cop_refit_defaults(&s->set);
	s->set.clip = 4.0;
	s->set.validation = 0.5;
	for (size_t i = 0; i < EVENTS; i++) {
		s->x[i][0] = (float)i;
		s->x[i][1] = 7.0f;
		s->event[i] = (cop_refit_event){ .sequence = i + 1,
			.learned = 100 + i,
			.answered = i != 2,
			.loss = i == 2 ? 0.0 : (double)((i * 3 + 1) % 8) / 8.0,
			.p = 1.0 / (double)(1 + i % 6),
			.action = (uint32_t)(i % ARMS),
			.x = { .d = FEATURES, .dense = s->x[i] } };
		s->at[i] = &s->event[i];
	}
	s->window = (cop_refit_window){ .model = { .features = FEATURES, .arms = ARMS, .losses = 1, .delta = 0.1 },
		.event = s->at,
		.n = EVENTS,
		.fitted = 6 };
}

static cop_refit_problem problem_of(const scene *s, const cop_refit_kind *kind)
{
	cop_refit_problem p = { .settings = &s->set, .window = &s->window, .kind = kind };
	assert_int_equal(cop_refit_problem_init(&p), COP_OK);
	return p;
}

static cop_err prepare_nothing(cop_refit_problem *p)
{
	(void)p;
	return COP_OK;
}

static const cop_refit_kind answered_alone = { .prepare = prepare_nothing };
static const cop_refit_kind all_of_them = { .prepare = prepare_nothing, .unanswered = true };

static void assert_near(double got, double want)
{
	if (!(fabs(got - want) <= 1e-6 * (1.0 + fabs(want))))
		fail_msg("%.17g, expected %.17g", got, want);
}

/* ---- rows ---- */

static void test_rows_are_the_answered_fitted_events_or_all(void **state)
{
	(void)state;
	static const uint32_t rows[] = { 0, 1, 3, 4, 5 };
	scene s;
	make_scene(&s);
	cop_refit_problem p = problem_of(&s, &answered_alone);
	assert_int_equal(p.n, 5);
	assert_int_equal(p.train, 3);
	assert_int_equal(p.outputs, ARMS);
	assert_true(p.spread == 1.0 && p.middle == 0.0);
	assert_memory_equal(p.source, rows, sizeof rows);
	assert_int_equal(p.rows->n, 5);
	cop_refit_problem_fini(&p);
	p = problem_of(&s, &all_of_them);
	assert_int_equal(p.n, 6);
	assert_int_equal(p.train, 3);
	cop_refit_problem_fini(&p);
}

static void test_dense_rows_are_scaled_to_mean_0_and_spread_1(void **state)
{
	(void)state;
	scene s;
	make_scene(&s);
	cop_refit_problem p = problem_of(&s, &answered_alone);
	double mean = 13.0 / 5.0, square = 0.0;
	for (size_t i = 0; i < 5; i++)
		square += pow((double)p.source[i] - mean, 2.0);
	assert_near(p.mean[0], mean);
	assert_near(p.mean[1], 7.0);
	assert_near(p.inverse[0], 1.0 / sqrt(square / 5.0));
	assert_true(p.inverse[1] == 0.0);
	for (size_t i = 0; i < 5; i++) {
		cop_row row;
		cop_dataset_row(p.rows, i, &row);
		assert_near((double)row.dense[0], ((double)p.source[i] - mean) / sqrt(square / 5.0));
		assert_true(row.dense[1] == 0.0f);
	}
	cop_refit_problem_fini(&p);
}

/* Rounding is no spread, and neither is what is nearly nothing; all else is. */
static void test_features_that_do_not_vary_are_left_out(void **state)
{
	(void)state;
	static const float base[] = { 0.1f, 0.0f, 0.0f, 1000.0f }, off[] = { 0.0f, 0.5e-30f, 1.5e-30f, 0.01f };
	static const bool varies[] = { false, false, true, true };
	for (size_t k = 0; k < 4; k++) {
		scene s;
		make_scene(&s);
		for (size_t i = 0; i < EVENTS; i++)
			s.x[i][0] = base[k] + (i % 2 == 0 ? off[k] : -off[k]);
		cop_refit_problem p = problem_of(&s, &all_of_them);
		assert_int_equal(p.inverse[0] > 0.0, varies[k]);
		cop_refit_problem_fini(&p);
	}
}

/* By the root mean square of what is there, from 0. */
static void test_sparse_rows_are_scaled_without_a_shift(void **state)
{
	(void)state;
	static const uint32_t index[] = { 1, 4, 9 };
	static const float value[EVENTS][3] = { { 3.0f, 1.0f }, { 4.0f, 1.0f, 2.0f }, { 9.0f }, { 5.0f, 1.0f } };
	static const size_t nnz[] = { 2, 3, 1, 2 };
	scene s;
	make_scene(&s);
	s.window.model.features = 0;
	s.window.model.bits = 4;
	s.window.fitted = 4;
	for (size_t i = 0; i < 4; i++)
		s.event[i].x = (cop_row){ .d = 16, .nnz = nnz[i], .index = index, .value = value[i] };
	cop_refit_problem p = problem_of(&s, &answered_alone);
	assert_null(p.mean);
	assert_int_equal(p.n, 3);
	assert_int_equal(p.rows->d, 16);
	assert_near(p.inverse[1], 1.0 / sqrt(50.0 / 3.0));
	assert_near(p.inverse[4], 1.0);
	assert_near(p.inverse[9], 0.5);
	assert_true(p.inverse[0] == 0.0 && p.inverse[15] == 0.0);
	for (size_t i = 0; i < 3; i++) {
		cop_row row;
		cop_dataset_row(p.rows, i, &row);
		assert_int_equal(row.nnz, nnz[p.source[i]]);
		for (size_t e = 0; e < row.nnz; e++) {
			assert_int_equal(row.index[e], index[e]);
			assert_near((double)row.value[e], (double)value[p.source[i]][e] * p.inverse[index[e]]);
		}
	}
	cop_refit_problem_fini(&p);
}

static void test_row_is_the_context_joined_with_a_candidate(void **state)
{
	(void)state;
	static const float x[] = { 1.0f, 2.0f }, c[2][2] = { { 3.0f, 4.0f }, { 5.0f, 6.0f } };
	static const uint32_t xi[] = { 2, 15 }, ci[] = { 0, 7 };
	const cop_row dense[] = { { .d = 2, .dense = c[0] }, { .d = 2, .dense = c[1] } };
	const cop_row sparse[] = { { .d = 16, .nnz = 2, .index = ci, .value = c[0] },
		{ .d = 16, .nnz = 1, .index = ci + 1, .value = c[1] } };
	cop_journal_history_model model = { .features = 2, .candidate_features = 2, .max_candidates = 2 };
	cop_refit_event e = { .x = { .d = 2, .dense = x }, .candidates = 2, .candidate = dense };
	cop_refit_joined joined = { .room = 0 };
	cop_row row;
	assert_int_equal(cop_refit_row(&joined, &model, &e, 1, &row), COP_OK);
	static const float want[] = { 1.0f, 2.0f, 5.0f, 6.0f };
	assert_int_equal(row.d, 4);
	assert_true(joined.room >= 4);
	assert_memory_equal(row.dense, want, sizeof want);
	model = (cop_journal_history_model){ .bits = 4, .max_candidates = 2 };
	e.x = (cop_row){ .d = 16, .nnz = 2, .index = xi, .value = x };
	e.candidate = sparse;
	for (size_t k = 0; k < 2; k++) {
		assert_int_equal(cop_refit_row(&joined, &model, &e, k, &row), COP_OK);
		assert_true(row.d == 32 && row.nnz == 4 - k && row.dense == NULL);
		assert_true(row.index[0] == 2 && row.index[1] == 15 && row.index[2] == (k == 0 ? 16 : 23));
		assert_true(row.value[1] == 2.0f && row.value[2] == c[k][0] && (k == 1 || row.index[3] == 23));
	}
	e.candidates = 0;
	assert_int_equal(cop_refit_row(&joined, &model, &e, 0, &row), COP_OK);
	assert_memory_equal(&row, &e.x, sizeof row);
	cop_refit_joined_fini(&joined);
	assert_null(joined.value);
	e.candidates = 2;
	cop_test_alloc_fail(2, 0);
	assert_int_equal(cop_refit_row(&joined, &model, &e, 0, &row), COP_ENOMEM);
	cop_test_alloc_fail(0, 0);
	cop_refit_joined_fini(&joined);
}

static void test_settings_of_the_fits(void **state)
{
	(void)state;
	static const double noise[] = { 3.0, 4.0, 12.0 };
	scene s;
	cop_tao_settings tao, usual;
	make_scene(&s);
	s.set.height = 5;
	s.set.iterations = 9;
	s.set.seed = 77;
	cop_refit_problem p = problem_of(&s, &answered_alone);
	assert_true(cop_refit_penalty(2.0, noise, 0) == 0.0);
	assert_true(cop_refit_penalty(2.0, noise, 2) == 10.0 && cop_refit_penalty(2.0, noise, 3) == 26.0);
	cop_refit_tao(&p, COP_TASK_COSTS, 0.25, &tao);
	cop_tao_defaults(COP_TASK_COSTS, &usual);
	assert_true(tao.depth == 5 && tao.iterations == 9 && tao.alpha == 0.25 && tao.leaf_alpha == 0.25);
	assert_true(tao.tolerance == 1e-3 && tao.loss == usual.loss && tao.node_steps == usual.node_steps);
	cop_rng rng, other;
	cop_rng_init(&rng, 77, 0x72656669);
	other = cop_refit_rng(&p);
	assert_memory_equal(&rng, &other, sizeof rng);
	cop_refit_problem_fini(&p);
}

/* ---- trees ---- */

/* Right where 2 x0 + 4 x1 + bias >= 0. Leaves say `leaf` (2 x outputs), and the right one `slope` x0 more. */
static cop_tree *stump(float bias, size_t outputs, const float *leaf, float slope)
{
	static const size_t node[] = { 0, 2 };
	static const uint32_t node_index[] = { 0, 1 };
	static const float weight[] = { 2.0f, 4.0f };
	static const int32_t left[] = { ~0 }, right[] = { ~1 };
	size_t start[9] = { 0 };
	uint32_t index[4] = { 0 }, output[8];
	float slopes[4];
	for (size_t r = 0; r < 2 * outputs; r++) {
		output[r] = (uint32_t)(r % outputs);
		start[r + 1] = start[r] + (slope != 0.0f && r >= outputs);
	}
	for (size_t k = 0; k < 4; k++)
		slopes[k] = slope;
	const size_t first[] = { 0, outputs, 2 * outputs };
	cop_tree *tree;
	const cop_tree_parts parts = { .d = FEATURES,
		.outputs = outputs,
		.link = COP_TREE_VALUES,
		.nodes = { 1, node, node_index, weight, &bias },
		.left = left,
		.right = right,
		.rows = { 2 * outputs, start, index, slopes, leaf },
		.leaf = first,
		.output = output };
	assert_int_equal(cop_tree_new(&parts, &tree), COP_OK);
	return tree;
}

/* A problem of which the scaling alone is looked at. */
static const double some_mean[] = { 1.0, 3.0 }, some_inverse[] = { 0.5, 0.25 };
static cop_refit_problem scaled_by(bool shifted)
{
	return (cop_refit_problem){
		.mean = shifted ? (double *)(uintptr_t)some_mean : NULL,
		.inverse = (double *)(uintptr_t)some_inverse,
		.middle = 0.25,
		.spread = 2.0,
	};
}

static void test_unscaled_tree_says_of_raw_rows_what_the_scaled_one_says_of_scaled_ones(void **state)
{
	(void)state;
	static const float leaf[] = { 0.125f, -0.25f };
	for (int shifted = 0; shifted < 2; shifted++) {
		cop_refit_problem p = scaled_by(shifted);
		cop_tree *tree = stump(0.5f, 1, leaf, 1.5f), *raw;
		assert_int_equal(cop_refit_unscale(&p, tree, NULL, &raw), COP_OK);
		for (float a = -8.0f; a <= 8.0f; a += 0.75f)
			for (float b = -8.0f; b <= 8.0f; b += 1.0f) {
				const float x[] = { a, b }, z[] = { (a - (shifted ? 1.0f : 0.0f)) * 0.5f,
					(b - (shifted ? 3.0f : 0.0f)) * 0.25f };
				const cop_row at = { .d = 2, .dense = x }, scaled = { .d = 2, .dense = z };
				float got, want;
				assert_int_equal(
				        cop_tree_predict(raw, &at, &got), cop_tree_predict(tree, &scaled, &want));
				assert_near((double)cop_tree_margin(raw, 0, &at),
				        (double)cop_tree_margin(tree, 0, &scaled));
				assert_near((double)got, 0.25 + 2.0 * (double)want);
			}
		cop_tree_free(raw);
		cop_tree_free(tree);
	}
}

static void test_constant_leaves_are_cut_to_losses(void **state)
{
	(void)state;
	static const float leaf[] = { 1.0f, -1.0f }, given[] = { 0.5f, -0.125f, 1.25f, 0.75f, 0.0f, 1.0f };
	const float x[] = { -100.0f, 0.0f };
	const cop_row left = { .d = 2, .dense = x };
	cop_refit_problem p = scaled_by(true);
	cop_tree *tree = stump(0.0f, 1, leaf, 0.0f), *raw;
	float out[3];
	assert_int_equal(cop_refit_unscale(&p, tree, NULL, &raw), COP_OK);
	(void)cop_tree_predict(raw, &left, out);
	assert_true(out[0] == 1.0f); /* not 2.25 */
	cop_tree_leaf_outputs(raw, 1, NULL, out);
	assert_true(out[0] == 0.0f);
	cop_tree_free(raw);
	cop_tree_free(tree);
	tree = stump(0.0f, 3, given, 0.0f);
	assert_int_equal(cop_refit_unscale(&p, tree, given, &raw), COP_OK);
	cop_tree_leaf_outputs(raw, 0, NULL, out);
	assert_true(out[0] == 0.5f && out[1] == 0.0f && out[2] == 1.0f);
	cop_tree_leaf_outputs(raw, 1, NULL, out);
	assert_true(out[0] == 0.75f && out[1] == 0.0f && out[2] == 1.0f);
	cop_tree_free(raw);
	for (unsigned long n = 1;; n++) {
		cop_test_alloc_fail(n, 0);
		cop_err err = cop_refit_unscale(&p, tree, n % 2 == 0 ? given : NULL, &raw);
		cop_test_alloc_fail(0, 0);
		cop_tree_free(raw);
		if (err == COP_OK && n > 20)
			break;
		assert_true(err == COP_OK || (err == COP_ENOMEM && raw == NULL));
	}
	cop_tree_free(tree);
}

/* ---- leaves of arms ---- */

static double first_model(size_t row, size_t k) { return 0.25 + 0.0625 * (double)row - 0.125 * (double)k; }

/* What refit_leaves.c says, anew: c of arm k among the answered rows in [from, to). */
static double drawn(const cop_refit_problem *p, size_t from, size_t to, size_t k, double prior, double parent)
{
	double weight = 0.0, square = 0.0, rest = 0.0;
	for (size_t i = from; i < to; i++) {
		const cop_refit_event *e = cop_refit_problem_event(p, i);
		if (e->action != k)
			continue;
		double w = fmin(1.0 / e->p, 4.0),
		       f = p->model != NULL ? (double)p->model[i * ARMS + k] : p->mean_loss[k];
		weight += w;
		square += w * w;
		rest += w * (e->loss - f);
	}
	if (weight == 0.0)
		return parent;
	double m = weight * weight / square;
	return (m * rest / weight + prior * parent) / (m + prior);
}

/* Three leaves, of x0 below 2, below 4, and the others: of rows 0 and 1, row 2 and what is behind it. */
static cop_tree *three_leaves(void)
{
	static const size_t node[] = { 0, 1, 2 }, start[3 * ARMS + 1] = { 0 },
	                    first[] = { 0, ARMS, 2 * ARMS, 3 * ARMS };
	static const uint32_t node_index[] = { 0, 0 }, output[] = { 0, 1, 2, 0, 1, 2, 0, 1, 2 };
	static const float weight[] = { 1.0f, 1.0f }, bias[] = { -2.0f, -4.0f }, none[3 * ARMS] = { 0.0f };
	static const int32_t left[] = { ~0, ~1 }, right[] = { 1, ~2 };
	cop_tree *tree;
	const cop_tree_parts parts = { .d = FEATURES,
		.outputs = ARMS,
		.link = COP_TREE_VALUES,
		.nodes = { 2, node, node_index, weight, bias },
		.left = left,
		.right = right,
		.rows = { 3 * ARMS, start, NULL, NULL, none },
		.leaf = first,
		.output = output };
	assert_int_equal(cop_tree_new(&parts, &tree), COP_OK);
	return tree;
}

static double mean_model(const cop_refit_problem *p, size_t from, size_t to, size_t k)
{
	double mean = 0.0;
	if (p->model == NULL || from == to)
		return p->mean_loss[k];
	for (size_t i = from; i < to; i++)
		mean += (double)p->model[i * ARMS + k] / (double)(to - from);
	return mean;
}

/* Of the first n rows, at least 3. */
static void check_leaves(cop_refit_problem *p, size_t n)
{
	const size_t from[] = { 0, 2, 3 }, to[] = { 2, 3, n };
	const cop_refit_filling how = { .clip = 4.0, .prior = 3.0 };
	cop_tree *tree = three_leaves();
	float leaf[3 * ARMS + 1];
	leaf[3 * ARMS] = -7.0f;
	assert_int_equal(cop_refit_fill(p, tree, n, &how, leaf), COP_OK);
	assert_true(leaf[3 * ARMS] == -7.0f);
	for (size_t k = 0; k < ARMS; k++) {
		double root = drawn(p, 0, n, k, 3.0, 0.0), right = drawn(p, 2, n, k, 3.0, root);
		for (size_t l = 0; l < 3; l++) {
			double want = mean_model(p, from[l], to[l], k) +
			              drawn(p, from[l], to[l], k, 3.0, l == 0 ? root : right);
			if (p->model != NULL || p->played[k])
				assert_near((double)leaf[l * ARMS + k], fmin(fmax(want, 0.0), 1.0));
		}
	}
	cop_tree_free(tree);
}

static cop_err some_losses(void *context, const cop_row *x, size_t arms, float *out)
{
	(void)context;
	for (size_t k = 0; k < arms; k++)
		out[k] = (float)first_model((size_t)x->dense[0], k);
	return COP_OK;
}

static void test_leaves_shrink_to_their_parents(void **state)
{
	(void)state;
	const cop_refit_estimate serving = { some_losses, NULL };
	for (int asked = 0; asked < 2; asked++) {
		scene s;
		make_scene(&s);
		cop_refit_problem p = { .settings = &s.set,
			.window = &s.window,
			.kind = &cop_refit_arms_tao,
			.serving = asked ? &serving : NULL };
		assert_int_equal(cop_refit_problem_init(&p), COP_OK);
		assert_int_equal(p.model != NULL, asked);
		for (size_t n = 3; n <= 5; n++)
			check_leaves(&p, n);
		cop_refit_problem_fini(&p);
	}
}

static cop_tree *lone_leaf(void)
{
	static const size_t start[ARMS + 1] = { 0 }, first[] = { 0, ARMS };
	static const uint32_t output[] = { 0, 1, 2 };
	static const float none[ARMS] = { 0.0f };
	cop_tree *tree;
	const cop_tree_parts parts = { .d = FEATURES,
		.outputs = ARMS,
		.link = COP_TREE_VALUES,
		.nodes = { .start = start },
		.rows = { ARMS, start, NULL, NULL, none },
		.leaf = first,
		.output = output };
	assert_int_equal(cop_tree_new(&parts, &tree), COP_OK);
	return tree;
}

/* Arm 0 has a loss of 1 where the model says 0, with four times the weight of one where it says 1: more than 1 in all.
 * Arm 1 has what the model says, and arm 2 was never played. */
static void test_lone_leaf_is_cut_to_losses(void **state)
{
	(void)state;
	static float model[] = { 0.0f, 0.5f, 0.25f, 1.0f, 0.5f, 0.75f, 0.5f, 0.25f, 0.125f };
	const cop_refit_filling how = { .clip = 4.0, .prior = 0.01 };
	const double p_of[] = { 0.125, 1.0, 1.0 }, loss[] = { 1.0, 1.0, 0.25 };
	uint32_t source[] = { 0, 1, 2 };
	uint8_t played[] = { 1, 1, 0 };
	double mean_loss[] = { 0.75, 0.5, 0.875 };
	scene s;
	make_scene(&s);
	for (size_t i = 0; i < 3; i++) {
		s.event[i].p = p_of[i];
		s.event[i].loss = loss[i];
		s.event[i].action = i < 2 ? 0 : 1;
		s.event[i].answered = true;
	}
	cop_refit_problem p = { .settings = &s.set,
		.window = &s.window,
		.kind = &answered_alone,
		.outputs = ARMS,
		.source = source,
		.model = model,
		.mean_loss = mean_loss,
		.played = played };
	cop_tree *tree = lone_leaf();
	float leaf[ARMS];
	assert_int_equal(cop_refit_fill(&p, tree, 3, &how, leaf), COP_OK);
	assert_true(leaf[0] == 1.0f);
	assert_near((double)leaf[1], 1.25 / 3.0);
	assert_near((double)leaf[2], 1.125 / 3.0);
	p.model = NULL;
	assert_int_equal(cop_refit_fill(&p, tree, 3, &how, leaf), COP_OK);
	assert_true(leaf[2] == leaf[0] && leaf[0] > leaf[1]);
	for (unsigned long n = 1; n <= 4; n++) {
		cop_test_alloc_fail(n, 0);
		assert_int_equal(cop_refit_fill(&p, tree, 3, &how, leaf), COP_ENOMEM);
		cop_test_alloc_fail(0, 0);
	}
	cop_tree_free(tree);
}

static void test_arms_that_were_never_played_are_as_dear_as_the_dearest(void **state)
{
	(void)state;
	uint8_t played[] = { 0, 1, 1, 1 };
	float model[3] = { 0.0f };
	float leaf[] = { 0.125f, 0.25f, 0.5f, 0.75f, 0.125f, 0.875f, 0.0f, 0.5f, 0.25f };
	cop_refit_problem p = { .outputs = 3, .played = played, .model = model };
	cop_refit_unplayed(&p, 3, leaf);
	assert_true(leaf[0] == 0.125f && leaf[6] == 0.0f); /* the serving model tells */
	p.model = NULL;
	cop_refit_unplayed(&p, 2, leaf);
	static const float want[] = { 0.5f, 0.25f, 0.5f, 0.875f, 0.125f, 0.875f, 0.0f, 0.5f, 0.25f };
	assert_memory_equal(leaf, want, sizeof want);
	played[0] = 1;
	played[2] = 0;
	cop_refit_unplayed(&p, 1, leaf);
	assert_true(leaf[0] == 0.5f && leaf[1] == 0.25f && leaf[2] == 0.5f);
}

/* ---- targets ---- */

static double weight_of(const cop_refit_event *e) { return fmin(1.0 / e->p, 4.0); }

static void test_costs_of_arms_are_doubly_robust_or_by_propensity(void **state)
{
	(void)state;
	const cop_refit_estimate serving = { some_losses, NULL };
	for (int how = 0; how < 3; how++) {
		scene s;
		make_scene(&s);
		s.set.costs = how == 0 ? COP_REFIT_IPS : COP_REFIT_DR;
		cop_refit_problem p = { .settings = &s.set,
			.window = &s.window,
			.kind = &cop_refit_arms_tao,
			.serving = how == 2 ? &serving : NULL };
		assert_int_equal(cop_refit_problem_init(&p), COP_OK);
		for (size_t i = 0; i < p.n; i++)
			for (size_t k = 0; k < ARMS; k++) {
				const cop_refit_event *e = cop_refit_problem_event(&p, i);
				double f = how == 0 ? 0.0 : how == 1 ? p.mean_loss[k] : first_model(p.source[i], k);
				f = fmin(fmax(f, 0.0), 1.0);
				double want = f + (e->action == k ? weight_of(e) * (e->loss - f) : 0.0);
				assert_near((double)p.target[i * ARMS + k], want);
			}
		cop_refit_problem_fini(&p);
	}
}

static void test_mean_losses_are_weighted_and_those_of_all_where_an_arm_was_not_played(void **state)
{
	(void)state;
	scene s;
	make_scene(&s);
	s.window.fitted = 3; /* the third, which alone played arm 2, was not answered */
	cop_refit_problem p = problem_of(&s, &cop_refit_arms_tao);
	const cop_refit_event *a = &s.event[0], *b = &s.event[1];
	double all = (weight_of(a) * a->loss + weight_of(b) * b->loss) / (weight_of(a) + weight_of(b));
	assert_near(p.mean_loss[0], a->loss);
	assert_near(p.mean_loss[1], b->loss);
	assert_near(p.mean_loss[2], all);
	assert_true(p.played[0] == 1 && p.played[1] == 1 && p.played[2] == 0);
	cop_refit_problem_fini(&p);
}

/* Weighted mean 0 and spread 1; the raw tree's error is in raw units. */
static void assert_standardised(const cop_refit_problem *p, const double *raw, const double *weight)
{
	double sum = 0.0, all = 0.0, square = 0.0;
	for (size_t i = 0; i < p->n; i++) {
		sum += weight[i] * raw[i];
		all += weight[i];
	}
	for (size_t i = 0; i < p->n; i++)
		square += weight[i] * pow(raw[i] - sum / all, 2.0);
	assert_near(p->middle, sum / all);
	assert_near(p->spread, sqrt(square / all));
	for (size_t i = 0; i < p->n; i++) {
		assert_near((double)p->weight[i], weight[i]);
		assert_near((double)p->target[i], (raw[i] - sum / all) / sqrt(square / all));
	}
}

static void test_candidates_targets_are_their_losses_standardised(void **state)
{
	(void)state;
	double raw[EVENTS], weight[EVENTS];
	scene s;
	make_scene(&s);
	s.window.model.arms = 0;
	cop_refit_problem p = problem_of(&s, &cop_refit_candidates);
	assert_int_equal(p.outputs, 1);
	for (size_t i = 0; i < p.n; i++) {
		raw[i] = cop_refit_problem_event(&p, i)->loss;
		weight[i] = weight_of(cop_refit_problem_event(&p, i));
	}
	assert_standardised(&p, raw, weight);
	cop_refit_problem_fini(&p);
	for (size_t i = 0; i < EVENTS; i++)
		s.event[i].loss = 0.5;
	p = problem_of(&s, &cop_refit_candidates);
	assert_true(p.spread == 1.0 && fabs(p.middle - 0.5) < 1e-12 && fabs((double)p.target[0]) < 1e-6);
	cop_refit_problem_fini(&p);
}

/* The penalty is alpha times the root of the fitted rows' squared weights. */
static void test_trees_of_candidates_are_taos_with_a_penalty_in_units_of_noise(void **state)
{
	(void)state;
	scene s;
	make_scene(&s);
	s.window.model.arms = 0;
	s.set.height = 1;
	for (size_t n = 4; n <= 5; n++) {
		cop_refit_problem p = problem_of(&s, &cop_refit_candidates);
		cop_tao_settings tao;
		cop_rng rng = cop_refit_rng(&p);
		cop_tree *scaled, *raw, *want;
		double square = 0.0;
		for (size_t i = 0; i < n; i++)
			square += pow(weight_of(cop_refit_problem_event(&p, i)), 2.0);
		cop_refit_tao(&p, COP_TASK_VALUES, 0.0625 * sqrt(square), &tao);
		tao.leaves = COP_TAO_LINEAR;
		const cop_sample sample = { .rows = p.rows,
			.n = n,
			.task = COP_TASK_VALUES,
			.outputs = 1,
			.target = p.target,
			.weight = p.weight };
		assert_int_equal(cop_tao_fit(&tao, &sample, NULL, NULL, &rng, NULL, NULL, &want), COP_OK);
		assert_int_equal(cop_refit_candidates.fit(&p, n, 0.0625, NULL, &scaled, &raw), COP_OK);
		const cop_tree_vectors *got = &cop_tree_view(scaled)->rows, *rows = &cop_tree_view(want)->rows;
		assert_int_equal(got->count, rows->count);
		for (size_t r = 0; r < rows->count; r++)
			assert_near((double)got->bias[r], (double)rows->bias[r]);
		assert_int_equal(cop_tree_leaves(raw), cop_tree_leaves(scaled));
		assert_int_equal(got->start[got->count], rows->start[rows->count]);
		for (size_t e = 0; e < rows->start[rows->count]; e++)
			assert_near((double)got->weight[e], (double)rows->weight[e]);
		cop_tree_free(scaled);
		cop_tree_free(raw);
		cop_tree_free(want);
		cop_refit_problem_fini(&p);
	}
}

static void make_values(scene *s, unsigned losses)
{
	make_scene(s);
	s->window.model.arms = 0;
	s->window.model.values = true;
	s->window.model.losses = losses;
	s->set.step = 0.125;
	s->set.trust = 3.0;
	for (size_t i = 0; i < EVENTS; i++) {
		cop_refit_event *e = &s->event[i];
		e->y = fmin((double)(i + 2) / 8.0, 1.0);
		e->u = i % 3 == 0 ? 1 : -1;
		e->losses[0] = e->answered ? e->loss : 0.0;
		e->losses[1] = e->answered ? 0.9 - 0.05 * (double)i : 0.0;
		e->loss = losses == 2 ? 0.5 * (e->losses[0] + e->losses[1]) : e->losses[0];
		e->p = 1.0;
	}
}

static double slope_of(const scene *s, const cop_refit_event *e, double mean)
{
	return s->window.model.losses == 2 ? (e->losses[0] - e->losses[1]) / (2.0 * 0.1)
	                                   : (e->losses[0] - mean) * (double)e->u / 0.1;
}

static void test_values_targets_are_a_step_away_within_the_trust(void **state)
{
	(void)state;
	for (unsigned losses = 1; losses <= 2; losses++) {
		double raw[EVENTS], weight[EVENTS], mean = 0.0, sum = 0.0, got;
		static const float leaf[] = { 0.25f, 0.75f };
		scene s;
		make_values(&s, losses);
		cop_refit_problem p = problem_of(&s, &cop_refit_values);
		for (size_t i = 0; i < p.n; i++)
			mean += cop_refit_problem_event(&p, i)->loss / (double)p.n;
		for (size_t i = 0; i < p.n; i++) {
			const cop_refit_event *e = cop_refit_problem_event(&p, i);
			double move = fmin(fmax(-0.125 * slope_of(&s, e, mean), -3.0 * 0.1), 3.0 * 0.1);
			raw[i] = fmin(fmax(e->y + move, 0.0), 1.0);
			weight[i] = 1.0;
		}
		assert_standardised(&p, raw, weight);
		cop_tree *tree = stump(-36.0f, 1, leaf, 0.0f); /* x0 >= 4 */
		for (size_t i = p.train; i < p.n; i++)
			sum += pow((p.source[i] >= 4 ? 0.75 : 0.25) - raw[i], 2.0) / (double)(p.n - p.train);
		assert_int_equal(cop_refit_values.value(&p, tree, &got), COP_OK);
		assert_near(got, sum);
		cop_tree_free(tree);
		cop_refit_problem_fini(&p);
	}
}

/* One of one feature each. */
static void give_candidates(scene *s)
{
	static const float c[] = { 3.0f };
	static const cop_row candidate = { .d = 1, .dense = c };
	s->window.model.arms = 0;
	s->window.model.max_candidates = s->window.model.candidate_features = 1;
	for (size_t i = 0; i < EVENTS; i++) {
		s->event[i].action = 0;
		s->event[i].candidates = 1;
		s->event[i].candidate = &candidate;
	}
}

static void test_rows_of_each_kind_without_memory_are_none(void **state)
{
	(void)state;
	const cop_refit_kind *const kinds[] = { &cop_refit_arms_tao, &cop_refit_arms_laptao, &cop_refit_candidates,
		&cop_refit_values };
	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
		scene s;
		make_values(&s, 2);
		s.window.model.arms = k < 2 ? ARMS : 0;
		if (kinds[k] == &cop_refit_candidates)
			give_candidates(&s);
		s.set.neighbours = 2;
		s.set.perplexity = 1.5;
		for (unsigned long n = 1;; n++) {
			cop_refit_problem p = { .settings = &s.set, .window = &s.window, .kind = kinds[k] };
			cop_test_alloc_fail(n, 0);
			cop_err err = cop_refit_problem_init(&p);
			cop_test_alloc_fail(0, 0);
			bool failed = cop_test_alloc_failed();
			cop_refit_problem_fini(&p);
			assert_int_equal(err, failed ? COP_ENOMEM : COP_OK);
			if (!failed)
				break;
		}
	}
}

/* ---- judging ---- */

static void test_least_loss_is_the_first_of_those_that_may_be_chosen(void **state)
{
	(void)state;
	static const float loss[] = { 0.5f, 0.25f, 0.25f, 0.75f };
	static const uint8_t some[] = { 1, 0, 0, 1 }, third[] = { 0, 0, 1, 1 }, last[] = { 0, 0, 0, 1 };
	assert_int_equal(cop_refit_least(loss, NULL, 4), 1);
	assert_int_equal(cop_refit_least(loss, some, 4), 0);
	assert_int_equal(cop_refit_least(loss, third, 4), 2);
	assert_int_equal(cop_refit_least(loss, last, 4), 3);
	assert_int_equal(cop_refit_least(loss, NULL, 1), 0);
}

/* Left the first arm is best, right the second; one loss of each is beyond what can be. */
static const float policy[] = { -0.5f, 0.5f, 0.75f, 0.5f, 0.25f, 1.5f };
static double policy_loss_at(size_t i, size_t k) { return fmin(fmax((double)policy[(i >= 4 ? 3 : 0) + k], 0.0), 1.0); }
static size_t policy_best(size_t i) { return i >= 4 ? 1 : 0; }

static void test_greedy_loss_is_the_doubly_robust_mean_of_the_validated_rows(void **state)
{
	(void)state;
	scene s;
	double got, sum = 0.0;
	make_scene(&s);
	s.window.fitted = EVENTS;
	s.event[6].p = 0.125; /* clipped */
	s.event[6].action = 1;
	cop_refit_problem p = problem_of(&s, &answered_alone);
	cop_tree *tree = stump(-36.0f, ARMS, policy, 0.0f);
	for (size_t i = p.train; i < p.n; i++) {
		size_t at = p.source[i], best = policy_best(at);
		double q = policy_loss_at(at, best);
		sum += q + (s.event[at].action == best ? weight_of(&s.event[at]) * (s.event[at].loss - q) : 0.0);
	}
	assert_int_equal(cop_refit_greedy_loss(&p, tree, &got), COP_OK);
	assert_near(got, sum / (double)(p.n - p.train));
	s.event[7].answered = false; /* it was a row when it had an answer */
	size_t best = policy_best(7);
	sum -= policy_loss_at(7, best) +
	       (s.event[7].action == best ? weight_of(&s.event[7]) * (s.event[7].loss - policy_loss_at(7, best)) : 0.0);
	assert_int_equal(cop_refit_greedy_loss(&p, tree, &got), COP_OK);
	assert_near(got, sum / (double)(p.n - p.train - 1));
	cop_tree_free(tree);
	cop_refit_problem_fini(&p);
}

/* The only candidate is the greedy one; without memory nothing is said. */
static void test_greedy_loss_of_single_candidates_is_theirs(void **state)
{
	(void)state;
	static const float c[] = { 1.0f }, leaf[] = { 0.5f, 0.5f };
	const cop_row candidate = { .d = 1, .dense = c };
	scene s;
	double got, sum = 0.0;
	make_scene(&s);
	s.window.model.arms = 0;
	s.window.model.max_candidates = 1;
	s.window.model.features = s.window.model.candidate_features = 1;
	for (size_t i = 0; i < EVENTS; i++) {
		s.event[i].x.d = 1;
		s.event[i].action = 0;
		s.event[i].candidates = 1;
		s.event[i].candidate = &candidate;
	}
	cop_refit_problem p = problem_of(&s, &answered_alone);
	cop_tree *tree = stump(0.0f, 1, leaf, 0.0f);
	for (size_t i = p.train; i < p.n; i++) {
		const cop_refit_event *e = cop_refit_problem_event(&p, i);
		sum += 0.5 + weight_of(e) * (e->loss - 0.5);
	}
	assert_int_equal(cop_refit_greedy_loss(&p, tree, &got), COP_OK);
	assert_near(got, sum / (double)(p.n - p.train));
	for (unsigned long n = 1; n <= 5; n++) {
		cop_test_alloc_fail(n, 0);
		assert_int_equal(cop_refit_greedy_loss(&p, tree, &got), COP_ENOMEM);
		cop_test_alloc_fail(0, 0);
	}
	cop_tree_free(tree);
	cop_refit_problem_fini(&p);
}

static cop_trees *trees_of(cop_tree *tree)
{
	cop_trees *trees;
	assert_int_equal(cop_trees_new(COP_TREES_MEAN, 1, &tree, NULL, NULL, &trees), COP_OK);
	return trees;
}

static cop_refit_report judged(const scene *s, const cop_trees *trees)
{
	cop_refit_report report = { .alpha = 0.0 };
	assert_int_equal(cop_promotion_test_init(&report.promotion, &s->set.promotion), COP_OK);
	assert_int_equal(cop_refit_judge(&s->set, &s->window, trees, &report), COP_OK);
	return report;
}

/* As refit_judge.c has it: all answered events but the first. */
static cop_promotion_test judged_by_hand(const scene *s, double most)
{
	cop_promotion_test want;
	assert_int_equal(cop_promotion_test_init(&want, &s->set.promotion), COP_OK);
	for (size_t k = 1; k < EVENTS; k++) {
		const cop_refit_event *e = &s->event[k];
		size_t best = policy_best(k);
		double q = policy_loss_at(k, e->action), mix = s->set.mix;
		const cop_promotion_test_event event = { .p = e->p,
			.loss = e->loss,
			.champion = e->p,
			.challenger = (e->action == best ? 1.0 - mix : 0.0) + mix * e->p,
			.weight_most = most,
			.has_model = true,
			.model_logged = q,
			.model_champion = q,
			.model_challenger = (1.0 - mix) * policy_loss_at(k, best) + mix * q };
		if (e->answered)
			assert_int_equal(cop_promotion_test_add(&want, &event), COP_OK);
	}
	return want;
}

/* Propensities go down to 1/6, or are all 1. */
static void test_judged_policy_is_mixed_with_what_was_logged(void **state)
{
	(void)state;
	static const struct {
		bool sure;
		double mix, least_p, most;
	} cases[] = { { false, 0.25, 0.0, 0.0 }, { false, 0.25, 0.05, 0.75 / 0.05 + 0.25 }, { false, 0.25, 0.3, 0.0 },
		{ false, 0.25, 1.0 / 6.0, 0.75 * 6.0 + 0.25 }, { true, 0.25, 1.0, 1.0 }, { true, 0.5, 0.8, 1.125 } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		scene s;
		make_scene(&s);
		s.set.mix = cases[i].mix;
		s.set.least_p = cases[i].least_p;
		s.window.fitted = 1;
		for (size_t k = 0; k < EVENTS && cases[i].sure; k++)
			s.event[k].p = 1.0;
		cop_promotion_test want = judged_by_hand(&s, cases[i].most * (1.0 + 1e-9));
		cop_trees *trees = trees_of(stump(-36.0f, ARMS, policy, 0.0f));
		cop_refit_report report = judged(&s, trees);
		assert_true(report.summary.events == 6 && want.n == 6);
		for (size_t k = 0; k < COP_PROMOTION_TEST_ESTIMATORS; k++) {
			const cop_running_bound *below = &report.promotion.below[k],
			                        *above = &report.promotion.above[k];
			assert_near(cop_sum_value(&report.promotion.difference[k]), cop_sum_value(&want.difference[k]));
			assert_near(cop_running_bound_mean(below), cop_running_bound_mean(&want.below[k]));
			assert_near(cop_running_bound_mean(above), cop_running_bound_mean(&want.above[k]));
			assert_true(fabs(below->b - want.below[k].b) < 1e-10);
		}
		assert_near(report.summary.challenger_weight, cop_sum_value(&want.challenger) / 6.0);
		cop_trees_free(trees);
	}
}

static void test_judged_values_gain_what_their_slopes_say(void **state)
{
	(void)state;
	static const float leaf[] = { 0.25f, 0.75f };
	for (unsigned losses = 1; losses <= 2; losses++) {
		scene s;
		double n = 0.0, mean = 0.0, sum = 0.0, square = 0.0, moved = 0.0;
		make_values(&s, losses);
		s.window.fitted = 1;
		for (size_t i = 1; i < EVENTS; i++) {
			mean += s.event[i].answered ? s.event[i].loss : 0.0;
			n += s.event[i].answered;
		}
		for (size_t i = 1; i < EVENTS; i++) {
			const cop_refit_event *e = &s.event[i];
			double d = (i >= 4 ? 0.75 : 0.25) - e->y;
			double gain = -slope_of(&s, e, mean / n) * d - d * d / (2.0 * 0.125);
			if (!e->answered)
				continue;
			sum += gain / n;
			square += gain * gain / n;
			moved += fabs(d) / n;
		}
		cop_trees *trees = trees_of(stump(-36.0f, 1, leaf, 0.0f));
		cop_refit_report report = judged(&s, trees);
		assert_near(report.gain, sum);
		assert_near(report.gain_error, sqrt((square - sum * sum) / n));
		assert_near(report.moved, moved);
		for (size_t i = 0; i < EVENTS; i++)
			s.event[i].answered = false;
		report = judged(&s, trees);
		assert_true(report.gain == 0.0 && report.gain_error == 0.0 && report.moved == 0.0);
		cop_trees_free(trees);
	}
}

static void test_each_candidate_has_its_loss_by_a_tree_or_by_trees(void **state)
{
	(void)state;
	static const float x[] = { 1.0f }, c[] = { -2.0f, 0.5f, 3.0f, 9.0f }, leaf[] = { 0.25f, 0.5f };
	const cop_row candidates[] = { { .d = 1, .dense = c }, { .d = 1, .dense = c + 1 }, { .d = 1, .dense = c + 2 },
		{ .d = 1, .dense = c + 3 } };
	const cop_journal_history_model model = { .features = 1, .candidate_features = 1, .max_candidates = 3 };
	const cop_refit_event e = { .x = { .d = 1, .dense = x }, .candidates = 3, .candidate = candidates };
	cop_refit_losses losses = { .room = 0 };
	cop_tree *tree = stump(-4.0f, 1, leaf, 0.25f); /* right where 2 x + 4 c >= 4 */
	size_t choices;
	for (int many = 0; many < 2; many++) {
		cop_trees *trees = many ? trees_of(tree) : NULL;
		cop_err err = many ? cop_refit_expect_all(&losses, &model, trees, &e, &choices)
		                   : cop_refit_expect(&losses, &model, tree, &e, &choices);
		assert_int_equal(err, COP_OK);
		assert_int_equal(choices, 3);
		assert_true(losses.loss[0] == 0.25f && losses.loss[1] == 0.75f && losses.loss[2] == 0.75f);
		assert_true(losses.joined.value[1] == 3.0f); /* no further one was looked at */
		cop_trees_free(trees);
	}
	cop_refit_losses_fini(&losses);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_are_the_answered_fitted_events_or_all),
		cmocka_unit_test(test_dense_rows_are_scaled_to_mean_0_and_spread_1),
		cmocka_unit_test(test_features_that_do_not_vary_are_left_out),
		cmocka_unit_test(test_sparse_rows_are_scaled_without_a_shift),
		cmocka_unit_test(test_row_is_the_context_joined_with_a_candidate),
		cmocka_unit_test(test_settings_of_the_fits),
		cmocka_unit_test(test_unscaled_tree_says_of_raw_rows_what_the_scaled_one_says_of_scaled_ones),
		cmocka_unit_test(test_constant_leaves_are_cut_to_losses),
		cmocka_unit_test(test_leaves_shrink_to_their_parents),
		cmocka_unit_test(test_lone_leaf_is_cut_to_losses),
		cmocka_unit_test(test_arms_that_were_never_played_are_as_dear_as_the_dearest),
		cmocka_unit_test(test_costs_of_arms_are_doubly_robust_or_by_propensity),
		cmocka_unit_test(test_mean_losses_are_weighted_and_those_of_all_where_an_arm_was_not_played),
		cmocka_unit_test(test_candidates_targets_are_their_losses_standardised),
		cmocka_unit_test(test_trees_of_candidates_are_taos_with_a_penalty_in_units_of_noise),
		cmocka_unit_test(test_values_targets_are_a_step_away_within_the_trust),
		cmocka_unit_test(test_rows_of_each_kind_without_memory_are_none),
		cmocka_unit_test(test_least_loss_is_the_first_of_those_that_may_be_chosen),
		cmocka_unit_test(test_greedy_loss_is_the_doubly_robust_mean_of_the_validated_rows),
		cmocka_unit_test(test_greedy_loss_of_single_candidates_is_theirs),
		cmocka_unit_test(test_judged_policy_is_mixed_with_what_was_logged),
		cmocka_unit_test(test_judged_values_gain_what_their_slopes_say),
		cmocka_unit_test(test_each_candidate_has_its_loss_by_a_tree_or_by_trees),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
