/* Refits of models of values and of models that rank. */
#include "support.h"

#include "refit_fixture.h"

/* ---- values: the loss is (y - best)^2, best by the sign of the first feature ---- */

static double best_value(const float *x) { return x[0] > 0.0f ? 0.75 : 0.3; }

/* Mean loss of what was played, without the probes. */
static double write_values(const world *w, double noise)
{
	book b;
	cop_rng rng;
	double sum = 0.0;
	cop_wire_model model = world_model(w);
	model.arms = 0;
	model.losses = w->losses;
	model.loss_range[0] = 0.0;
	model.loss_range[1] = 2.0;
	model.value_range[1] = 10.0;
	model.delta = w->delta;
	cop_rng_init(&rng, w->seed, 0);
	open_book(&b, 1, &model, 1);
	for (size_t i = 0; i < w->events; i++) {
		float x[WORLD_FEATURES], value[WORLD_FEATURES];
		uint32_t index[WORLD_FEATURES];
		draw_context(w, &rng, x);
		cop_wire_record r = record_of("m", (double)i, i);
		r.values = true;
		r.y = 0.5 + 0.05 * cop_rng_normal(&rng);
		r.u = (int8_t)(w->losses == 1 ? cop_rng_sign(&rng) : 0);
		put_context(w, &r, x, value, index);
		r.has_x = true;
		put(&b, COP_WIRE_RECORD_DECISION, &r);
		double at[2] = { r.y + w->delta, r.y - w->delta }, loss[2];
		if (w->losses == 1)
			at[0] = r.y + w->delta * r.u;
		for (size_t k = 0; k < 2; k++)
			loss[k] = 2.0 * (pow(at[k] - best_value(x), 2.0) + noise * cop_rng_normal(&rng));
		if (cop_rng_unit(&rng) < w->answered)
			put_answer(&b, (double)i, i, loss, w->losses);
		sum += pow(r.y - best_value(x), 2.0) / (double)w->events;
	}
	close_book(&b);
	return sum;
}

static double value_loss(const world *w, const cop_trees *trees)
{
	cop_rng rng;
	double sum = 0.0, y;
	float x[WORLD_FEATURES], value[WORLD_FEATURES], work;
	uint32_t index[WORLD_FEATURES];
	cop_rng_init(&rng, 77, 0);
	for (size_t i = 0; i < 1000; i++) {
		cop_wire_record r = { .time = 0.0 };
		draw_context(w, &rng, x);
		put_context(w, &r, x, value, index);
		cop_trees_predict(trees, &r.x, &work, &y);
		assert_true(y >= 0.0 && y <= 1.0);
		sum += pow(y - best_value(x), 2.0) / 1000.0;
	}
	return sum;
}

static void check_values(const world *w, double noise, double most)
{
	const cop_refit_settings set = quick();
	cop_refit_report report;
	double logged = write_values(w, noise);
	cop_trees *trees = refit_with(&set, NULL, NULL, &report);
	double loss = value_loss(w, trees);
	print_message("logged %.4f, refit %.4f; gain %.4f +- %.4f, moved %.3f, alpha %g\n", logged, loss, report.gain,
	        report.gain_error, report.moved, report.alpha);
	assert_true(loss < most * logged);
	assert_int_equal(cop_trees_outputs(trees), 1);
	assert_true(report.model.values && report.summary.events == 0);
	assert_true(report.moved > 0.0 && report.gain_error > 0.0);
	if (w->losses == 2)
		assert_true(report.gain > 2.0 * report.gain_error);
	cop_trees_free(trees);
}

static void test_two_point_values_move_towards_the_best(void **state)
{
	(void)state;
	check_values(&plain_world, 0.01, 0.75); /* a step makes a quarter of the way */
	world w = plain_world;
	w.sparse = true;
	empty_folder();
	check_values(&w, 0.01, 0.75);
}

static void test_one_point_values_move_towards_the_best(void **state)
{
	(void)state;
	world w = plain_world;
	w.losses = 1;
	w.events = 4000;
	check_values(&w, 0.01, 0.85);
}

static void test_values_stay_within_the_trust_region(void **state)
{
	(void)state;
	cop_refit_settings set = quick();
	cop_refit_report report;
	world w = plain_world;
	set.step = 1000.0;
	set.trust = 0.5;
	(void)write_values(&w, 0.0);
	cop_trees *trees = refit_with(&set, NULL, NULL, &report);
	const cop_tree *tree = cop_trees_at(trees, 0);
	for (size_t l = 0; l < cop_tree_leaves(tree); l++) {
		float y;
		cop_tree_leaf_outputs(tree, l, NULL, &y);
		assert_true(y > 0.2f && y < 0.8f); /* 0.5 -+ 0.05 and a few times 0.05 */
	}
	assert_true(report.moved < 0.2);
	cop_trees_free(trees);
}

/* Losses that are all the same leave the values where they are; nothing that was answered is judged. */
static void test_values_without_slopes_or_judges_stay(void **state)
{
	(void)state;
	book b;
	cop_refit_settings set = quick();
	cop_refit_report report;
	float x[WORLD_FEATURES];
	cop_rng rng;
	const double loss[2] = { 0.5, 0.5 };
	cop_wire_model model = world_model(&plain_world);
	model.arms = 0;
	model.losses = 2;
	model.delta = 0.1;
	model.value_range[1] = 1.0;
	cop_rng_init(&rng, 1, 0);
	open_book(&b, 1, &model, 1);
	for (uint64_t id = 0; id < 100; id++) {
		cop_wire_record r = record_of("m", (double)id, id);
		draw_context(&plain_world, &rng, x);
		r.values = r.has_x = true;
		r.y = 0.5;
		r.x = (cop_row){ .d = WORLD_FEATURES, .dense = x };
		put(&b, COP_WIRE_RECORD_DECISION, &r);
		if (id < 80)
			put_answer(&b, (double)id, id, loss, 2);
	}
	close_book(&b);
	set.least = 2;
	cop_trees *trees = refit_with(&set, NULL, NULL, &report);
	assert_int_equal(report.leaves, 1);
	assert_true(report.judged.events == 20 && report.judged.answered == 0);
	assert_true(report.gain == 0.0 && report.gain_error == 0.0 && report.moved == 0.0);
	float y;
	cop_tree_leaf_outputs(cop_trees_at(trees, 0), 0, NULL, &y);
	assert_true(y == 0.5f);
	cop_trees_free(trees);
}

/* ---- candidates: those with a large first feature are good where the context's first is above 0, else bad ---- */

#define CANDIDATES         3
#define CANDIDATE_FEATURES 2

static double candidate_loss(const float *x, const float *c)
{
	return 0.5 - 0.4 * (double)c[0] * (x[0] > 0.0f ? 1.0 : -1.0);
}

typedef struct menu {
	float x[WORLD_FEATURES], c[CANDIDATES][CANDIDATE_FEATURES], x_value[WORLD_FEATURES];
	uint32_t x_index[WORLD_FEATURES], c_index[CANDIDATE_FEATURES];
	cop_row candidate[CANDIDATES];
	uint8_t mask[CANDIDATES];
} menu;

static void draw_menu(const world *w, cop_rng *rng, menu *m, cop_wire_record *r)
{
	draw_context(w, rng, m->x);
	put_context(w, r, m->x, m->x_value, m->x_index);
	for (size_t k = 0; k < CANDIDATES; k++) {
		m->mask[k] = 1;
		for (size_t j = 0; j < CANDIDATE_FEATURES; j++) {
			m->c[k][j] = (float)(cop_rng_unit(rng) * 2.0 - 1.0);
			m->c_index[j] = (uint32_t)(5 * j + 2);
		}
		m->candidate[k] = (cop_row){ .d = CANDIDATE_FEATURES, .dense = m->c[k] };
		if (w->sparse)
			m->candidate[k] = (cop_row){
				.d = 1u << WORLD_BITS, .nnz = CANDIDATE_FEATURES, .index = m->c_index, .value = m->c[k]
			};
	}
	if (w->masks)
		m->mask[cop_rng_below(rng, CANDIDATES)] = 0;
	r->candidate = m->candidate;
	r->candidates = r->arms = CANDIDATES;
	r->has_x = true;
}

static double write_menus(const world *w)
{
	book b;
	cop_rng rng;
	double sum = 0.0;
	cop_wire_model model = world_model(w);
	model.arms = 0;
	model.max_candidates = 5;
	model.candidate_features = w->sparse ? 0 : CANDIDATE_FEATURES;
	cop_rng_init(&rng, w->seed, 0);
	open_book(&b, 1, &model, 1);
	for (size_t i = 0; i < w->events; i++) {
		menu m;
		cop_wire_record r = record_of("m", (double)i, i);
		draw_menu(w, &rng, &m, &r);
		r.mask = w->masks ? m.mask : NULL;
		do
			r.a = (uint32_t)cop_rng_below(&rng, CANDIDATES);
		while (m.mask[r.a] == 0);
		r.p = w->masks ? 1.0 / (CANDIDATES - 1) : 1.0 / CANDIDATES;
		double mean = candidate_loss(m.x, m.c[r.a]), loss = cop_rng_unit(&rng) < mean ? 3.0 : -1.0;
		put(&b, COP_WIRE_RECORD_DECISION, &r);
		if (cop_rng_unit(&rng) < w->answered)
			put_answer(&b, (double)i, i, &loss, 1);
		sum += mean / (double)w->events;
	}
	close_book(&b);
	return sum;
}

/* Joined as refit_run.h says. */
static double menu_loss(const world *w, const cop_trees *trees)
{
	cop_rng rng;
	double sum = 0.0;
	cop_rng_init(&rng, 77, 0);
	for (size_t i = 0; i < 1000; i++) {
		menu m;
		double best_loss = HUGE_VAL, out;
		size_t best = 0;
		cop_wire_record r = { .time = 0.0 };
		draw_menu(w, &rng, &m, &r);
		for (size_t k = 0; k < CANDIDATES; k++) {
			float value[WORLD_FEATURES + CANDIDATE_FEATURES], work;
			uint32_t index[WORLD_FEATURES + CANDIDATE_FEATURES];
			size_t n = cop_row_entries(&r.x);
			cop_row row = { .d = cop_trees_features(trees), .dense = value };
			for (size_t j = 0; j < n + CANDIDATE_FEATURES; j++) {
				value[j] = j < n ? cop_row_value(&r.x, j) : m.c[k][j - n];
				if (w->sparse)
					index[j] = j < n ? r.x.index[j] : (1u << WORLD_BITS) + m.c_index[j - n];
			}
			if (w->sparse)
				row = (cop_row){
					.d = row.d, .nnz = n + CANDIDATE_FEATURES, .index = index, .value = value
				};
			cop_trees_predict(trees, &row, &work, &out);
			best = out < best_loss ? k : best;
			best_loss = fmin(out, best_loss);
		}
		sum += candidate_loss(m.x, m.c[best]) / 1000.0;
	}
	return sum;
}

static void check_menus(const world *w)
{
	const cop_refit_settings set = quick();
	cop_refit_report report;
	double logged = write_menus(w);
	cop_trees *trees = refit_with(&set, NULL, NULL, &report);
	double loss = menu_loss(w, trees);
	print_message("logged %.3f, refit %.3f; judged %.3f, alpha %g\n", logged, loss, report.summary.challenger_snips,
	        report.alpha);
	assert_true(loss < logged - 0.12);
	assert_int_equal(cop_trees_features(trees), w->sparse ? 2u << WORLD_BITS : WORLD_FEATURES + CANDIDATE_FEATURES);
	assert_int_equal(cop_trees_outputs(trees), 1);
	assert_true(report.summary.challenger_snips < report.summary.champion_snips);
	assert_int_equal(report.summary.events, report.judged.answered);
	cop_trees_free(trees);
}

static void test_candidates_are_told_apart(void **state)
{
	(void)state;
	world w = plain_world;
	check_menus(&w);
	w.masks = true;
	empty_folder();
	check_menus(&w);
}

static void test_sparse_candidates_are_told_apart(void **state)
{
	(void)state;
	world w = plain_world;
	w.sparse = true;
	check_menus(&w);
}

static void test_short_memory_is_an_error_each_time(void **state)
{
	(void)state;
	world w = plain_world;
	w.events = 50;
	w.answered = 1.0;
	for (int ranks = 0; ranks < 2; ranks++) {
		cop_refit_settings set = quick();
		unsigned long n = 0;
		cop_err err;
		set.least = 10;
		set.height = 1;
		set.iterations = 2;
		set.alpha = 0.1;
		empty_folder();
		(void)(ranks != 0 ? write_menus(&w) : write_values(&w, 0.0));
		do {
			cop_refit_report report;
			cop_trees *trees;
			cop_test_alloc_fail(++n, 0);
			err = cop_refit_run(&set, folder, NULL, NULL, NULL, &report, &trees, NULL);
			bool reached = cop_test_alloc_count() >= n;
			cop_test_alloc_fail(0, 0);
			assert_int_equal(err != COP_OK, cop_test_alloc_failed());
			assert_true(err != COP_OK || !reached); /* none that failed went by unseen */
			assert_true(err == COP_OK || (err == COP_ENOMEM && trees == NULL));
			cop_trees_free(trees);
		} while (err != COP_OK);
		assert_true(n > 50);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_two_point_values_move_towards_the_best),
		TEST(test_one_point_values_move_towards_the_best),
		TEST(test_values_stay_within_the_trust_region),
		TEST(test_values_without_slopes_or_judges_stay),
		TEST(test_candidates_are_told_apart),
		TEST(test_sparse_candidates_are_told_apart),
		TEST(test_short_memory_is_an_error_each_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
