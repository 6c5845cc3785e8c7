/* Every optimiser against its formula in double, and partial steps against whole ones. */
#include "support.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "optim/optim.h"

enum { ROWS = 7, COLS = 37, N = ROWS * COLS };

typedef struct naive {
	double w[N], s1[N], s2[N];
} naive;

static double root(const cop_optim_settings *s, double x)
{
	return s->eps_inside ? sqrt(x + s->eps) : sqrt(x) + s->eps;
}

static void naive_step(const char *name, const cop_optim_settings *s, naive *o, const float *gradient, int t)
{
	for (int i = 0; i < N; i++) {
		double g = (double)gradient[i];
		if (strcmp(name, "sgd") == 0) {
			o->w[i] -= s->lr * g;
		} else if (strcmp(name, "momentum") == 0) {
			o->s1[i] = s->momentum * o->s1[i] + g;
			o->w[i] -= s->lr * o->s1[i];
		} else if (strcmp(name, "rmsprop") == 0) {
			o->s1[i] = s->alpha * o->s1[i] + (1.0 - s->alpha) * g * g;
			o->s2[i] = s->momentum * o->s2[i] + g / root(s, o->s1[i]);
			o->w[i] -= s->lr * o->s2[i];
		} else if (strcmp(name, "adagrad") == 0) {
			o->s1[i] += g * g;
			o->w[i] -= s->lr * g / root(s, o->s1[i]);
		} else {
			bool quasi = strcmp(name, "qhadam") == 0;
			assert_true(quasi || strcmp(name, "adam") == 0);
			o->s1[i] = s->beta1 * o->s1[i] + (1.0 - s->beta1) * g;
			o->s2[i] = s->beta2 * o->s2[i] + (1.0 - s->beta2) * g * g;
			double m = o->s1[i] / (1.0 - pow(s->beta1, t)), v = o->s2[i] / (1.0 - pow(s->beta2, t));
			if (quasi) {
				m = (1.0 - s->nu1) * g + s->nu1 * m;
				v = (1.0 - s->nu2) * g * g + s->nu2 * v;
			}
			o->w[i] -= s->lr * m / root(s, v);
		}
	}
}

static void draw(cop_rng *rng, float *x)
{
	for (int i = 0; i < N; i++)
		x[i] = (float)cop_rng_normal(rng);
}

static cop_optim *make(const char *name, const cop_optim_settings *settings)
{
	cop_optim *optim;
	assert_int_equal(cop_optim_new(name, settings, ROWS, COLS, &optim), COP_OK);
	return optim;
}

static cop_optim_settings defaults(const char *name)
{
	cop_optim_settings settings;
	assert_int_equal(cop_optim_defaults(name, &settings), COP_OK);
	return settings;
}

static void check_naive(const char *name, const cop_optim_settings *settings, cop_rng *rng)
{
	float w[N], g[N];
	naive o;
	memset(&o, 0, sizeof o);
	cop_optim *optim = make(name, settings);
	draw(rng, w);
	for (int i = 0; i < N; i++)
		o.w[i] = (double)w[i];
	for (int t = 1; t <= 200; t++) {
		draw(rng, g);
		for (int i = 0; i < N; i += 5)
			g[i] = 0.0f;
		assert_int_equal(cop_optim_step(optim, w, g), COP_OK);
		naive_step(name, settings, &o, g, t);
	}
	assert_int_equal(cop_optim_steps(optim), 200);
	for (int i = 0; i < N; i++)
		assert_true(fabs((double)w[i] - o.w[i]) < 1e-4 * (1.0 + fabs(o.w[i])));
	cop_optim_free(optim);
}

static void test_step_every_optimiser_equals_formula(void **state)
{
	(void)state;
	cop_rng rng;
	print_message("seed 31\n");
	cop_rng_init(&rng, 31, 0);
	size_t count = 0;
	for (; cop_optim_name(count) != NULL; count++)
		for (int inside = 0; inside < 2; inside++) {
			cop_optim_settings settings = defaults(cop_optim_name(count));
			settings.eps_inside = inside;
			check_naive(cop_optim_name(count), &settings, &rng);
		}
	assert_true(count >= 5);
	cop_optim_settings settings = defaults("rmsprop");
	settings.momentum = 0.3;
	check_naive("rmsprop", &settings, &rng);
}

static void test_rmsprop_default_eps_is_outside_the_root(void **state)
{
	(void)state;
	cop_optim_settings settings = defaults("rmsprop");
	assert_false(settings.eps_inside);
	cop_optim *optim;
	assert_int_equal(cop_optim_new("rmsprop", &settings, 1, 1, &optim), COP_OK);
	float w = 0.0f, g = 1e-6f;
	assert_int_equal(cop_optim_step(optim, &w, &g), COP_OK);
	/* 1e-2 * 1e-6 / (sqrt(1e-14) + 1e-5), by the kernel's estimates; inside it would be 3e-6 */
	assert_true(fabs((double)w + 1e-8 / 1.01e-5) < 1e-6);
	cop_optim_free(optim);
}

/* Random subsets of rows against whole steps with zeros elsewhere, with whole steps in between. */
static void check_rows(const char *name, cop_rng *rng)
{
	float w1[N], w2[N], g[N], zeros[N];
	cop_optim_settings settings = defaults(name);
	cop_optim *whole = make(name, &settings), *part = make(name, &settings);
	draw(rng, w1);
	memcpy(w2, w1, sizeof w2);
	for (int t = 0; t < 300; t++) {
		uint32_t rows[ROWS];
		size_t n_rows = 0;
		draw(rng, g);
		memset(zeros, 0, sizeof zeros);
		for (uint32_t r = 0; r < ROWS; r++)
			if (cop_rng_below(rng, 4) == 0 || t % 100 == 50) {
				rows[n_rows++] = r;
				memcpy(zeros + r * COLS, g + r * COLS, COLS * sizeof *g);
			}
		assert_int_equal(cop_optim_step(whole, w1, zeros), COP_OK);
		assert_int_equal(
		        t % 100 == 50 ? cop_optim_step(part, w2, g) : cop_optim_step_rows(part, w2, g, rows, n_rows),
		        COP_OK);
	}
	assert_int_equal(cop_optim_steps(whole), cop_optim_steps(part));
	for (int i = 0; i < N; i++)
		assert_true(fabs((double)w1[i] - (double)w2[i]) < 2e-5 * (1.0 + fabs((double)w1[i])));
	cop_optim_free(whole);
	cop_optim_free(part);
}

static void test_step_rows_equals_step_with_zeros_elsewhere(void **state)
{
	(void)state;
	cop_rng rng;
	print_message("seed 32\n");
	cop_rng_init(&rng, 32, 0);
	check_rows("sgd", &rng);
	check_rows("adagrad", &rng);
	check_rows("rmsprop", &rng);
}

static void test_step_rows_all_rows_every_time_is_bitwise_step(void **state)
{
	(void)state;
	cop_rng rng;
	print_message("seed 33\n");
	cop_rng_init(&rng, 33, 0);
	static const uint32_t rows[ROWS] = { 3, 0, 6, 1, 5, 2, 4 };
	for (size_t k = 0; cop_optim_name(k) != NULL; k++) {
		float w1[N], w2[N], g[N];
		cop_optim_settings settings = defaults(cop_optim_name(k));
		cop_optim *whole = make(cop_optim_name(k), &settings), *part = make(cop_optim_name(k), &settings);
		draw(&rng, w1);
		memcpy(w2, w1, sizeof w2);
		for (int t = 0; t < 20; t++) {
			draw(&rng, g);
			assert_int_equal(cop_optim_step(whole, w1, g), COP_OK);
			assert_int_equal(cop_optim_step_rows(part, w2, g, rows, ROWS), COP_OK);
		}
		assert_memory_equal(w1, w2, sizeof w1);
		cop_optim_free(whole);
		cop_optim_free(part);
	}
}

/* Lazy: a row's average decays by momentum^missed, its weights stand still meanwhile. */
static void test_step_rows_momentum_decays_without_moving(void **state)
{
	(void)state;
	cop_optim_settings settings = defaults("momentum");
	cop_optim *optim;
	settings.lr = 1.0;
	settings.momentum = 0.5;
	assert_int_equal(cop_optim_new("momentum", &settings, 2, 1, &optim), COP_OK);
	float w[2] = { 0 }, g[2] = { 8.0f, 8.0f };
	static const uint32_t both[] = { 0, 1 }, first[] = { 0 };
	assert_int_equal(cop_optim_step_rows(optim, w, g, both, 2), COP_OK);
	assert_true(w[1] == -8.0f);
	g[0] = g[1] = 0.0f;
	assert_int_equal(cop_optim_step_rows(optim, w, g, first, 1), COP_OK);
	assert_int_equal(cop_optim_step_rows(optim, w, g, first, 1), COP_OK);
	assert_true(w[1] == -8.0f);
	assert_int_equal(cop_optim_step_rows(optim, w, g, both, 2), COP_OK);
	assert_true(w[0] == -15.0f && w[1] == -9.0f); /* 8 + 4 + 2 + 1; 8 + 8 / 2^3 */
	cop_optim_free(optim);
}

static void state_bytes(const cop_optim *optim, cop_bytes *bytes)
{
	cop_bytes_clear(bytes);
	cop_optim_save(optim, bytes);
	assert_int_equal(bytes->err, COP_OK);
}

/* One poisoned element at the end; rows before it must not have moved. */
static void check_refused(const char *name, float gradient, float weight, bool rows_only)
{
	float w[N], w0[N], g[N];
	static const uint32_t rows[] = { 0, ROWS - 1 };
	cop_optim_settings settings = defaults(name);
	cop_optim *optim = make(name, &settings);
	cop_bytes before, after;
	cop_bytes_init(&before);
	cop_bytes_init(&after);
	for (int i = 0; i < N; i++) {
		w[i] = 1.0f;
		g[i] = 0.5f;
	}
	assert_int_equal(cop_optim_step_rows(optim, w, g, rows, 1), COP_OK);
	g[N - 1] = gradient;
	w[N - 1] = weight;
	memcpy(w0, w, sizeof w0);
	state_bytes(optim, &before);
	cop_err err = rows_only ? cop_optim_step_rows(optim, w, g, rows, 2) : cop_optim_step(optim, w, g);
	assert_int_equal(err, COP_EDIVERGED);
	state_bytes(optim, &after);
	assert_memory_equal(w, w0, sizeof w);
	assert_int_equal(before.length, after.length);
	assert_memory_equal(before.data, after.data, before.length);
	cop_bytes_fini(&before);
	cop_bytes_fini(&after);
	cop_optim_free(optim);
}

static void test_step_to_nonfinite_is_refused_and_changes_nothing(void **state)
{
	(void)state;
	for (size_t k = 0; cop_optim_name(k) != NULL; k++)
		for (int rows_only = 0; rows_only < 2; rows_only++) {
			check_refused(cop_optim_name(k), NAN, 1.0f, rows_only);
			check_refused(cop_optim_name(k), INFINITY, 1.0f, rows_only);
			check_refused(cop_optim_name(k), 0.5f, -INFINITY, rows_only);
		}
	check_refused("adagrad", 1e30f, 1.0f, false); /* its square overflows */
	check_refused("rmsprop", -1e30f, 1.0f, true);
	cop_optim_settings settings = defaults("sgd");
	settings.lr = 1e6;
	cop_optim *optim = make("sgd", &settings);
	float w[N] = { 0 }, g[N] = { 0 };
	g[3] = FLT_MAX;
	assert_int_equal(cop_optim_step(optim, w, g), COP_EDIVERGED);
	cop_optim_free(optim);
}

/* What is tried is tried in pieces. */
static void test_step_to_nonfinite_in_any_place_is_refused(void **state)
{
	(void)state;
	enum { MANY = 700 };
	static const size_t places[] = { 0, 1, 255, 256, 511, 512, 699 };
	for (size_t k = 0; cop_optim_name(k) != NULL; k++)
		for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
			cop_optim_settings settings = defaults(cop_optim_name(k));
			cop_optim *optim;
			float w[MANY] = { 0 }, g[MANY] = { 0 };
			assert_int_equal(cop_optim_new(cop_optim_name(k), &settings, 1, MANY, &optim), COP_OK);
			g[places[i]] = NAN;
			assert_int_equal(cop_optim_step(optim, w, g), COP_EDIVERGED);
			for (size_t j = 0; j < MANY; j++)
				assert_true(w[j] == 0.0f);
			cop_optim_free(optim);
		}
}

static void test_step_huge_but_finite_is_taken(void **state)
{
	(void)state;
	cop_optim_settings settings = defaults("sgd");
	cop_optim *optim = make("sgd", &settings);
	float w[N] = { 0 }, g[N] = { 0 };
	g[3] = 1e30f;
	w[4] = 1e35f;
	assert_int_equal(cop_optim_step(optim, w, g), COP_OK);
	assert_true(fabs((double)w[3] / -1e28 - 1.0) < 1e-6);
	cop_optim_free(optim);
}

/* State arrays stand at the end of what is saved. */
static void check_no_state_subnormal(const cop_optim *optim, size_t states)
{
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	cop_optim_save(optim, &bytes);
	assert_true(bytes.length >= states * N * sizeof(float));
	for (size_t i = 0; i < states * N; i++) {
		float x;
		memcpy(&x, bytes.data + bytes.length - (i + 1) * sizeof x, sizeof x);
		assert_int_not_equal(fpclassify(x), FP_SUBNORMAL);
	}
	cop_bytes_fini(&bytes);
}

/* A node that nothing reaches any more has gradients of 0 for ever; and some processors take a hundred times as long
 * for subnormal numbers. */
static void test_step_state_of_quiet_gradients_is_never_subnormal(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		double momentum;
		size_t states;
	} cases[] = { { "momentum", 0.9, 1 }, { "rmsprop", 0.0, 1 }, { "rmsprop", 0.9, 2 }, { "adam", 0.0, 2 },
		{ "qhadam", 0.0, 2 } };
	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
		cop_optim_settings settings = defaults(cases[k].name);
		settings.momentum = cases[k].momentum;
		settings.alpha = 0.9;
		settings.beta2 = 0.9;
		cop_optim *optim = make(cases[k].name, &settings);
		float w[N] = { 0 }, g[N];
		for (int i = 0; i < N; i++)
			g[i] = (float)(i % 3) * 1e-3f;
		assert_int_equal(cop_optim_step(optim, w, g), COP_OK);
		memset(g, 0, sizeof g);
		for (int t = 0; t < 1200; t++) { /* 0.9^800 is below any float */
			assert_int_equal(cop_optim_step(optim, w, g), COP_OK);
			check_no_state_subnormal(optim, cases[k].states);
		}
		cop_optim_free(optim);
	}
}

static void test_save_load_continues_bit_identically(void **state)
{
	(void)state;
	cop_rng rng;
	print_message("seed 34\n");
	cop_rng_init(&rng, 34, 0);
	static const uint32_t rows[] = { 5, 1 };
	for (size_t k = 0; cop_optim_name(k) != NULL; k++)
		for (int ragged = 0; ragged < 2; ragged++) {
			float w1[N], w2[N], g[N];
			cop_optim_settings settings = defaults(cop_optim_name(k));
			cop_optim *first = make(cop_optim_name(k), &settings);
			cop_optim *second = make(cop_optim_name(k), &settings);
			cop_bytes bytes;
			cop_cursor cursor;
			cop_bytes_init(&bytes);
			draw(&rng, w1);
			for (int t = 0; t < 10; t++) {
				draw(&rng, g);
				assert_int_equal(ragged ? cop_optim_step_rows(first, w1, g, rows, t % 2 == 0 ? 1 : 2)
				                        : cop_optim_step(first, w1, g),
				        COP_OK);
			}
			memcpy(w2, w1, sizeof w2);
			state_bytes(first, &bytes);
			cop_cursor_init(&cursor, bytes.data, bytes.length);
			assert_int_equal(cop_optim_load(second, 0, &cursor), COP_OK);
			assert_int_equal(cop_cursor_left(&cursor), 0);
			for (int t = 0; t < 10; t++) {
				draw(&rng, g);
				assert_int_equal(cop_optim_step(first, w1, g), COP_OK);
				assert_int_equal(cop_optim_step(second, w2, g), COP_OK);
			}
			assert_memory_equal(w1, w2, sizeof w1);
			cop_bytes_fini(&bytes);
			cop_optim_free(first);
			cop_optim_free(second);
		}
}

static cop_err load(cop_optim *optim, const cop_bytes *bytes, size_t length)
{
	cop_cursor cursor;
	cop_cursor_init(&cursor, bytes->data, length);
	return cop_optim_load(optim, 0, &cursor);
}

static void test_load_damaged_or_other_is_refused_and_resets(void **state)
{
	(void)state;
	cop_optim_settings settings = defaults("rmsprop");
	cop_optim *optim = make("rmsprop", &settings), *fresh = make("rmsprop", &settings), *other;
	static const uint32_t row[] = { 2 };
	float w[N] = { 0 }, g[N];
	cop_bytes saved, new_state, now;
	cop_bytes_init(&saved);
	cop_bytes_init(&new_state);
	cop_bytes_init(&now);
	for (int i = 0; i < N; i++)
		g[i] = 1.0f;
	assert_int_equal(cop_optim_step_rows(optim, w, g, row, 1), COP_OK);
	state_bytes(optim, &saved);
	state_bytes(fresh, &new_state);
	for (size_t cut = 0; cut < saved.length; cut++) {
		assert_int_equal(load(optim, &saved, cut), COP_EFORMAT);
		state_bytes(optim, &now);
		assert_memory_equal(now.data, new_state.data, new_state.length);
	}
	saved.data[saved.length - 1] = 0xbf; /* a square of -0.5 or so */
	assert_int_equal(load(optim, &saved, saved.length), COP_EFORMAT);
	saved.data[saved.length - 1] = 0x7f;
	saved.data[saved.length - 2] = 0xc0;
	assert_int_equal(load(optim, &saved, saved.length), COP_ENONFINITE);
	settings.momentum = 0.5;
	other = make("rmsprop", &settings);
	assert_int_equal(load(other, &new_state, new_state.length), COP_ESHAPE);
	cop_optim_free(other);
	settings = defaults("adagrad");
	other = make("adagrad", &settings);
	assert_int_equal(load(other, &new_state, new_state.length), COP_ESHAPE);
	cop_optim_free(other);
	cop_bytes_fini(&saved);
	cop_bytes_fini(&new_state);
	cop_bytes_fini(&now);
	cop_optim_free(optim);
	cop_optim_free(fresh);
}

static void test_new_bad_arguments_are_refused(void **state)
{
	(void)state;
	cop_optim *optim;
	cop_optim_settings good = defaults("adam"), bad;
	assert_int_equal(cop_optim_defaults("newton", &bad), COP_ENOTFOUND);
	assert_int_equal(cop_optim_new("newton", &good, 1, 1, &optim), COP_ENOTFOUND);
	assert_null(optim);
	assert_int_equal(cop_optim_new("adam", &good, 0, 1, &optim), COP_EINVAL);
	assert_int_equal(cop_optim_new("adam", &good, SIZE_MAX, 2, &optim), COP_ENOMEM);
	bad = good;
	bad.lr = -1.0;
	assert_int_equal(cop_optim_new("adam", &bad, 1, 1, &optim), COP_EINVAL);
	bad = good;
	bad.beta1 = 1.0;
	assert_int_equal(cop_optim_new("adam", &bad, 1, 1, &optim), COP_EINVAL);
	bad = good;
	bad.nu1 = 1.5;
	assert_int_equal(cop_optim_new("qhadam", &bad, 1, 1, &optim), COP_EINVAL);
	bad = good;
	bad.nu2 = -0.5;
	assert_int_equal(cop_optim_new("qhadam", &bad, 1, 1, &optim), COP_EINVAL);
	bad = good;
	bad.eps = (double)NAN;
	assert_int_equal(cop_optim_new("adam", &bad, 1, 1, &optim), COP_EINVAL);
}

static void test_new_allocation_failure_every_one_is_enomem(void **state)
{
	(void)state;
	cop_optim *optim;
	cop_optim_settings settings = defaults("adam");
	unsigned long n = 1;
	for (;; n++) {
		cop_test_alloc_fail(n, 0);
		cop_err err = cop_optim_new("adam", &settings, ROWS, COLS, &optim);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		if (err == COP_OK)
			break;
		assert_int_equal(err, COP_ENOMEM);
		assert_null(optim);
	}
	assert_int_equal(n, 5);
	float w[N] = { 0 }, g[N] = { 0 };
	static const uint32_t row[] = { 1 };
	cop_test_alloc_fail(0, 0);
	assert_int_equal(cop_optim_step(optim, w, g), COP_OK);
	assert_int_equal(cop_optim_step_rows(optim, w, g, row, 1), COP_OK);
	assert_int_equal(cop_test_alloc_count(), 0);
	cop_optim_free(optim);
	cop_optim_free(NULL);
}

static void test_step_scaled_is_bitwise_the_step_of_the_scaled_gradient(void **state)
{
	(void)state;
	const char *name;
	cop_rng rng;
	print_message("seed 31\n");
	cop_rng_init(&rng, 31, 0);
	for (size_t i = 0; (name = cop_optim_name(i)) != NULL; i++) {
		cop_optim_settings settings;
		float w[N], v[N], g[N], half[N];
		assert_int_equal(cop_optim_defaults(name, &settings), COP_OK);
		cop_optim *one = make(name, &settings), *other = make(name, &settings);
		draw(&rng, w);
		memcpy(v, w, sizeof w);
		for (int t = 0; t < 5; t++) {
			static const uint32_t some[] = { 1, 2, 5 };
			draw(&rng, g);
			for (int k = 0; k < N; k++)
				half[k] = 0.5f * g[k];
			assert_int_equal(cop_optim_step_scaled(one, w, g, 0.5), COP_OK);
			assert_int_equal(cop_optim_step(other, v, half), COP_OK);
			assert_int_equal(cop_optim_step_rows(one, w, g, some, 3), COP_OK);
			assert_int_equal(cop_optim_step_rows(other, v, g, some, 3), COP_OK);
			assert_memory_equal(w, v, sizeof w);
		}
		assert_int_equal(cop_optim_steps(one), 10);
		g[N / 2] = NAN;
		assert_int_equal(cop_optim_step_scaled(one, w, g, 0.5), COP_EDIVERGED);
		for (int k = 0; k < N; k++)
			assert_true(isfinite(w[k]));
		cop_optim_free(one);
		cop_optim_free(other);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_step_every_optimiser_equals_formula),
		cmocka_unit_test(test_rmsprop_default_eps_is_outside_the_root),
		cmocka_unit_test(test_step_rows_equals_step_with_zeros_elsewhere),
		cmocka_unit_test(test_step_rows_all_rows_every_time_is_bitwise_step),
		cmocka_unit_test(test_step_rows_momentum_decays_without_moving),
		cmocka_unit_test(test_step_to_nonfinite_is_refused_and_changes_nothing),
		cmocka_unit_test(test_step_to_nonfinite_in_any_place_is_refused),
		cmocka_unit_test(test_step_huge_but_finite_is_taken),
		cmocka_unit_test(test_step_scaled_is_bitwise_the_step_of_the_scaled_gradient),
		cmocka_unit_test(test_step_state_of_quiet_gradients_is_never_subnormal),
		cmocka_unit_test(test_save_load_continues_bit_identically),
		cmocka_unit_test(test_load_damaged_or_other_is_refused_and_resets),
		cmocka_unit_test(test_new_bad_arguments_are_refused),
		cmocka_unit_test(test_new_allocation_failure_every_one_is_enomem),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
