/* The parts of the solvers' quadratic model by hand: gradients, curvatures, what may move, the least of the model, the
 * step and its length. */
#include "support.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "optim/l1_loss.h"
#include "optim/l1_model.h"

#define N 5
#define D 4

/* The third feature is 0, the fourth so small that its square times h is 0 as a float. */
static const float x[N * D] = { 1, 2, 0, 1e-30F, -1, 0.5F, 0, 0, 2, -1, 0, 0, 0.5F, 3, 0, 0, 0, 1, 0, 0 };
static const float h[N] = { 0.5F, 1, 0.25F, 2, 0.125F }, r[N] = { 1, -0.5F, 0.25F, 2, -3 };

static void begin(cop_columns *columns, cop_l1_model *m, double lambda)
{
	assert_int_equal(cop_columns_from_dense(columns, N, NULL, D, x), COP_OK);
	assert_int_equal(cop_l1_model_init(m, columns, lambda), COP_OK);
	memcpy(m->h, h, sizeof h);
	memcpy(m->r, r, sizeof r);
}

static void end(cop_columns *columns, cop_l1_model *m)
{
	cop_l1_model_fini(m);
	cop_columns_fini(columns);
}

static double gradient_of(size_t j)
{
	double sum = 0.0;
	for (size_t i = 0; i < N; i++)
		sum += (double)x[i * D + j] * (double)r[i];
	return sum;
}

static void test_gradient_and_violation_are_those_by_hand(void **state)
{
	(void)state;
	cop_columns columns;
	cop_l1_model m;
	begin(&columns, &m, 1.0); /* gradients 3, 4.5, 0 and almost 0; of the bias -0.25 */
	static const struct {
		float w[D];
		double violation;
	} cases[] = { { { 0 }, 4.5 - 1.0 }, { { 1, 0, 0, 0 }, 3.0 + 1.0 }, { { -1, 0, 0, 0 }, 4.5 - 1.0 },
		{ { -1, -1, 0, 0 }, 4.5 - 1.0 }, { { 0, 1, 0, 0 }, 4.5 + 1.0 } };
	for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
		double worst = cop_l1_model_gradient(&m, cases[c].w);
		assert_true(fabs(worst - cases[c].violation) < 1e-5);
		assert_true(fabs(m.gradient_b + 0.25) < 1e-6);
		for (size_t j = 0; j < D; j++)
			assert_true(fabs(m.gradient[j] - gradient_of(j)) < 1e-5);
	}
	m.lambda = 10.0;
	const float none[D] = { 0 };
	assert_true(fabs(cop_l1_model_gradient(&m, none) - 0.25) < 1e-6); /* the bias alone */
	end(&columns, &m);
}

static void test_choose_lists_what_can_move(void **state)
{
	(void)state;
	cop_columns columns;
	cop_l1_model m;
	begin(&columns, &m, 3.25);
	const float none[D] = { 0 }, third[D] = { 0, 0, 1, 0 };
	(void)cop_l1_model_gradient(&m, none);
	cop_l1_model_choose(&m, none, 0.0);
	assert_true(m.active_count == 1 && m.active[0] == 1);
	cop_l1_model_choose(&m, none, 0.25); /* not within it: the same */
	assert_int_equal(m.active_count, 1);
	cop_l1_model_choose(&m, none, 0.375);
	assert_true(m.active_count == 2 && m.active[0] == 0 && m.active[1] == 1);
	cop_l1_model_choose(&m, none, 100.0); /* a feature that is 0 cannot move */
	assert_true(m.active_count == 3 && m.active[2] == 3);
	cop_l1_model_choose(&m, third, 0.0);
	assert_true(m.active_count == 2 && m.active[0] == 1 && m.active[1] == 2);
	end(&columns, &m);
}

static void all_active(cop_l1_model *m)
{
	for (uint32_t j = 0; j < D; j++)
		m->active[j] = j;
	m->active_count = D;
}

static void test_curve_centres_and_is_never_0(void **state)
{
	(void)state;
	cop_columns columns;
	cop_l1_model m;
	begin(&columns, &m, 1.0);
	all_active(&m);
	cop_l1_model_curve(&m);
	assert_true(fabs(m.total - 3.875) < 1e-6);
	for (size_t j = 0; j < 2; j++) {
		double first = 0.0, second = 0.0;
		for (size_t i = 0; i < N; i++) {
			first += (double)h[i] * (double)x[i * D + j];
			second += (double)h[i] * (double)x[i * D + j] * (double)x[i * D + j];
		}
		assert_true(fabs(m.mean[j] - first / 3.875) < 1e-6);
		assert_true(fabs(m.curvature[j] - (second - first * first / 3.875)) < 1e-5);
	}
	assert_true(m.mean[2] == 0.0 && m.curvature[2] == (double)FLT_MIN && m.curvature[3] == (double)FLT_MIN);
	memset(m.h, 0, N * sizeof *m.h);
	cop_l1_model_curve(&m);
	assert_true(m.total == (double)FLT_MIN);
	end(&columns, &m);
	/* a constant feature keeps a share of its own */
	const float ones[N] = { 3, 3, 3, 3, 3 };
	assert_int_equal(cop_columns_from_dense(&columns, N, NULL, 1, ones), COP_OK);
	assert_int_equal(cop_l1_model_init(&m, &columns, 1.0), COP_OK);
	memcpy(m.h, h, sizeof h);
	m.active[0] = 0;
	m.active_count = 1;
	cop_l1_model_curve(&m);
	assert_true(m.curvature[0] >= 1e-7 * 9.0 * 3.875 * 0.99 && m.curvature[0] < 1e-5);
	end(&columns, &m);
}

/* The model at a step from w: linear part, quadratic part and the penalty's change. */
static double model_at(const float *w, double lambda, const double *dw, double db)
{
	double value = 0.0;
	for (size_t i = 0; i < N; i++) {
		double z = db;
		for (size_t j = 0; j < D; j++)
			z += (double)x[i * D + j] * dw[j];
		value += (double)r[i] * z + 0.5 * (double)h[i] * z * z;
	}
	for (size_t j = 0; j < D; j++)
		value += lambda * (fabs((double)w[j] + dw[j]) - fabs((double)w[j]));
	return value;
}

static void test_minimise_finds_the_least_of_the_model_and_step_tells_of_it(void **state)
{
	(void)state;
	static const float starts[][D] = { { 0 }, { 0.5F, -0.25F, 0, 0 }, { -2, 1, 0, 0 } };
	static const double lambdas[] = { 0.0, 0.5, 2.5, 20.0 };
	for (size_t c = 0; c < 12; c++) {
		const float *w = starts[c % 3];
		double lambda = lambdas[c / 3], dw[D], change = 0.0;
		cop_columns columns;
		cop_l1_model m;
		begin(&columns, &m, lambda);
		(void)cop_l1_model_gradient(&m, w);
		double gradient[D], gradient_b = m.gradient_b;
		memcpy(gradient, m.gradient, sizeof gradient);
		cop_l1_model_choose(&m, w, 0.5 * lambda);
		cop_l1_model_curve(&m);
		for (size_t j = 0; j < D; j++)
			m.dw[j] = 3.0F; /* of a step before, which does not count */
		unsigned passes = cop_l1_model_minimise(&m, w, 1e-6, 500);
		assert_true(passes < 500);
		for (size_t j = 0; j < D; j++)
			dw[j] = (double)m.dw[j];
		double least = model_at(w, lambda, dw, m.db);
		for (size_t j = 0; j < 3; j++)
			for (int side = -1; side <= 1; side += 2) {
				double moved[D], db = m.db + (j == 2 ? 0.01 * side : 0.0);
				memcpy(moved, dw, sizeof moved);
				moved[j] += j < 2 ? 0.01 * side : 0.0;
				assert_true(model_at(w, lambda, moved, db) >= least - 1e-6);
			}
		cop_l1_model_step(&m, w);
		for (size_t i = 0; i < N; i++) {
			double z = m.db;
			for (size_t j = 0; j < D; j++)
				z += (double)x[i * D + j] * dw[j];
			assert_true(fabs((double)m.z[i] - z) < 1e-5);
		}
		change = gradient_b * m.db;
		for (size_t j = 0; j < D; j++)
			change += gradient[j] * dw[j] + lambda * (fabs((double)w[j] + dw[j]) - fabs((double)w[j]));
		assert_true(fabs(m.change - change) < 1e-5);
		end(&columns, &m);
	}
}

static void test_minimise_makes_as_many_passes_as_it_may(void **state)
{
	(void)state;
	cop_columns columns;
	cop_l1_model m;
	const float none[D] = { 0 };
	for (unsigned most = 0; most < 4; most++) {
		begin(&columns, &m, 0.5);
		(void)cop_l1_model_gradient(&m, none);
		cop_l1_model_choose(&m, none, 0.0);
		cop_l1_model_curve(&m);
		assert_int_equal(cop_l1_model_minimise(&m, none, 0.0, most), most);
		assert_true(most > 0 || (m.dw[0] == 0.0F && fabs(m.db - 0.25 / 3.875) < 1e-6));
		end(&columns, &m);
	}
	begin(&columns, &m, 0.5);
	(void)cop_l1_model_gradient(&m, none);
	cop_l1_model_choose(&m, none, 0.0);
	cop_l1_model_curve(&m);
	assert_int_equal(cop_l1_model_minimise(&m, none, 100.0, 9), 1); /* it is near enough */
	m.active_count = 0;
	assert_int_equal(cop_l1_model_minimise(&m, none, 0.0, 9), 0);
	end(&columns, &m);
	begin(&columns, &m, 4.0);
	(void)cop_l1_model_gradient(&m, none);
	cop_l1_model_choose(&m, none, 0.0);
	cop_l1_model_curve(&m);
	assert_int_equal(m.active_count, 1);
	assert_int_equal(cop_l1_model_minimise(&m, none, 0.0, 1), 1);
	assert_true(m.dw[0] == 0.0F && m.dw[1] < 0.0F);
	end(&columns, &m);
}

#define ROWS     400
#define FEATURES 60

static float many[ROWS * FEATURES];

/* Largest violation of the model's conditions at the step, and |derivative by the bias|. */
static void check_step(const cop_l1_model *m, const float *w, const float *r0, double most)
{
	double by_bias = 0.0, change = m->gradient_b * m->db, size = 0.0;
	for (size_t i = 0; i < ROWS; i++) {
		double z = m->db;
		for (size_t j = 0; j < FEATURES; j++)
			z += (double)many[i * FEATURES + j] * (double)m->dw[j];
		assert_true(fabs((double)m->z[i] - z) < 1e-4);
		by_bias += (double)r0[i] + (double)m->h[i] * z;
		size += (double)m->h[i];
	}
	assert_true(fabs(by_bias) < 1e-3 * size);
	for (size_t j = 0; j < FEATURES; j++) {
		double g = m->gradient[j], at = (double)(w[j] + m->dw[j]);
		for (size_t i = 0; i < ROWS; i++)
			g += (double)m->h[i] * (double)many[i * FEATURES + j] * (double)m->z[i];
		double off = at != 0.0 ? fabs(g + (at > 0.0 ? m->lambda : -m->lambda)) : fmax(fabs(g) - m->lambda, 0.0);
		assert_true(off <= most);
		change += m->gradient[j] * (double)m->dw[j] + m->lambda * (fabs(at) - fabs((double)w[j]));
	}
	assert_true(fabs(m->change - change) < 1e-3 * fabs(change));
}

static void test_propose_by_products_and_by_columns_both_solve_the_model(void **state)
{
	(void)state;
	cop_columns columns;
	cop_l1_model m;
	cop_l1_gram gram = { 0 };
	cop_rng rng;
	static float w[FEATURES], r0[ROWS];
	print_message("seed 71\n");
	cop_rng_init(&rng, 71, 0);
	for (size_t i = 0; i < (size_t)ROWS * FEATURES; i++)
		many[i] = (float)(cop_rng_normal(&rng) + 0.5);
	assert_int_equal(cop_columns_from_dense(&columns, ROWS, NULL, FEATURES, many), COP_OK);
	assert_int_equal(cop_l1_model_init(&m, &columns, 2.0), COP_OK);
	for (size_t i = 0; i < ROWS; i++) {
		r0[i] = (float)(cop_rng_normal(&rng) + 0.3);
		m.h[i] = (float)(0.1 + cop_rng_unit(&rng));
	}
	for (size_t j = 0; j < FEATURES; j++)
		w[j] = j % 3 == 0 ? 0.1F : 0.0F;
	cop_l1_progress progress = { .passes = 300, .pays = 1e18, .enough = 1e-6 };
	memcpy(m.r, r0, sizeof r0);
	progress.violation = cop_l1_model_gradient(&m, w);
	cop_test_alloc_fail(1, 0);
	assert_int_equal(cop_l1_model_propose(&m, &gram, &progress, w), COP_ENOMEM);
	cop_test_alloc_fail(0, 0);
	cop_l1_gram_fini(&gram);
	for (int round = 0; round < 3; round++) {
		memcpy(m.r, r0, sizeof r0);
		progress.violation = cop_l1_model_gradient(&m, w);
		for (size_t j = 0; j < FEATURES; j++)
			m.dw[j] = 3.0F;
		progress.failed = round == 2; /* then it goes by columns */
		assert_int_equal(cop_l1_model_propose(&m, &gram, &progress, w), COP_OK);
		assert_int_equal(progress.by_products, round < 2);
		assert_false(progress.failed);
		assert_true(progress.before == progress.violation);
		/* products are made anew where the violation has not fallen */
		assert_int_equal(progress.age, round == 2 ? 2 : 1);
		assert_true(m.change < 0.0);
		check_step(&m, w, r0, (round < 2 ? 0.11 : 0.26) * progress.violation);
	}
	/* not worth while */
	memcpy(m.r, r0, sizeof r0);
	progress = (cop_l1_progress){ .passes = 300, .pays = 1e-9, .violation = cop_l1_model_gradient(&m, w) };
	cop_l1_gram_fini(&gram);
	assert_int_equal(cop_l1_model_propose(&m, &gram, &progress, w), COP_OK);
	assert_false(progress.by_products);
	assert_null(gram.matrix);
	cop_l1_gram_fini(&gram);
	end(&columns, &m);
}

/* Steps of several lengths down one row's loss. */
static void test_search_halves_until_the_loss_falls(void **state)
{
	(void)state;
	cop_columns columns;
	cop_l1_model m;
	const float one = 1.0F, none = 0.0F, sign = 1.0F, weight = 1.0F, prediction = 0.0F;
	float trial;
	static const struct {
		float z, t;
	} cases[] = { { 1.0F, 1.0F }, { -1.0F, 0.0F }, { 300.0F, 0.25F } };
	for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
		assert_int_equal(cop_columns_from_dense(&columns, 1, NULL, 1, &one), COP_OK);
		assert_int_equal(cop_l1_model_init(&m, &columns, 0.0), COP_OK);
		m.z[0] = cases[c].z;
		m.change = -0.5 * fabs((double)cases[c].z);
		cop_l1_line line = { &prediction, &sign, &weight, &trial, log(2.0) };
		assert_true(cop_l1_model_search(&m, &none, &line) == cases[c].t);
		if (c == 0)
			assert_true(trial == 1.0F && fabs(line.objective - log1p(exp(-1.0))) < 1e-6);
		if (c == 1)
			assert_true(line.objective == log(2.0));
		end(&columns, &m);
	}
	/* the penalty grows by 2 t, the loss of two rows falls at first by t / 2 each and then rises */
	const float pair[2] = { 1.0F, 1.0F }, signs[2] = { 1.0F, -1.0F }, weights[2] = { 1.0F, 0.25F };
	const float zero[2] = { 0 };
	float trials[2];
	assert_int_equal(cop_columns_from_dense(&columns, 2, NULL, 1, pair), COP_OK);
	assert_int_equal(cop_l1_model_init(&m, &columns, 0.0), COP_OK);
	m.z[0] = m.z[1] = 16.0F;
	m.change = -6.0; /* of slope -(1 - 1/4) / 2 */
	cop_l1_line line = { zero, signs, weights, trials, 1.25 * log(2.0) };
	float t = cop_l1_model_search(&m, &none, &line);
	assert_true(t == 0.125F); /* at 4 the second row costs too much: 1.0 + 0.018 > 0.866 - 0.015 */
	assert_true(trials[0] == 2.0F);
	double want = log1p(exp(-2.0)) + 0.25 * log1p(exp(2.0));
	assert_true(fabs(line.objective - want) < 1e-5);
	/* twelve lengths are tried */
	for (int k = 0; k < 2; k++) {
		m.z[0] = m.z[1] = k == 0 ? 4096.0F : 8192.0F;
		m.change = -0.375 * (double)m.z[0];
		line.objective = 1.25 * log(2.0);
		assert_true(cop_l1_model_search(&m, &none, &line) == (k == 0 ? 0x1p-11F : 0.0F));
	}
	end(&columns, &m);
}

static void test_weights_are_shares_of_the_largest(void **state)
{
	(void)state;
	const float weights[4] = { 4.0F, 0.0F, 1.0F, 1e-30F }, none[2] = { 0 }, bad[2] = { 1.0F, INFINITY };
	float to[4];
	double unit;
	assert_int_equal(cop_l1_model_weights(4, weights, to, &unit), COP_OK);
	assert_true(unit == 4.0 && to[0] == 1.0F && to[1] == 0.0F && to[2] == 0.25F && to[3] == 0.0F);
	const float small[2] = { 1.0F, 1.5e-30F };
	assert_int_equal(cop_l1_model_weights(2, small, to, &unit), COP_OK);
	assert_true(unit == 1.0 && to[1] == 1.5e-30F);
	const float low[2] = { 0.125F, 0.25F };
	assert_int_equal(cop_l1_model_weights(2, low, to, &unit), COP_OK);
	assert_true(unit == 0.25 && to[0] == 0.5F && to[1] == 1.0F);
	assert_int_equal(cop_l1_model_weights(2, none, to, &unit), COP_OK);
	assert_true(unit == 1.0 && to[0] == 0.0F && to[1] == 0.0F);
	assert_int_equal(cop_l1_model_weights(3, NULL, to, &unit), COP_OK);
	assert_true(unit == 1.0 && to[0] == 1.0F && to[2] == 1.0F);
	assert_int_equal(cop_l1_model_weights(2, bad, to, &unit), COP_ENONFINITE);
}

static void test_sums_over_weights_take_every_one(void **state)
{
	(void)state;
	const float w[3] = { 2.0F, 0.0F, -2.5F }, dw[3] = { 2.0F, -4.0F, 1.0F };
	assert_true(cop_l1_model_norm(3, w) == 4.5 && cop_l1_model_norm(0, w) == 0.0);
	assert_true(cop_l1_model_norm_along(3, w, dw, 0.5F) == 3.0 + 2.0 + 2.0);
	assert_int_equal(cop_l1_model_nonzeros(3, w), 2);
	assert_true(cop_l1_model_finite(3, w));
	for (size_t i = 0; i < 3; i++) {
		float bad[3] = { 0 };
		bad[i] = i == 1 ? NAN : INFINITY;
		assert_false(cop_l1_model_finite(3, bad));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gradient_and_violation_are_those_by_hand),
		cmocka_unit_test(test_choose_lists_what_can_move),
		cmocka_unit_test(test_curve_centres_and_is_never_0),
		cmocka_unit_test(test_minimise_finds_the_least_of_the_model_and_step_tells_of_it),
		cmocka_unit_test(test_minimise_makes_as_many_passes_as_it_may),
		cmocka_unit_test(test_propose_by_products_and_by_columns_both_solve_the_model),
		cmocka_unit_test(test_search_halves_until_the_loss_falls),
		cmocka_unit_test(test_weights_are_shares_of_the_largest),
		cmocka_unit_test(test_sums_over_weights_take_every_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
