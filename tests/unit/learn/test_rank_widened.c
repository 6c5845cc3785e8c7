/* A ranking learner that gets features of its contexts: every scorer's predictions stay where no context has them, it
 * learns as if they had been there, unknown, and then learns them; a refit's trees, forms that cannot take any, saved
 * states. */
#include "rank_fixture.h"

#include "refitted_fixture.h"

#define WIDEST 1100 /* features */

typedef struct kind {
	size_t was, is, candidate;
	bool refitted;
	float apart; /* predictions, at most: sums are taken in another order */
} kind;

static const kind kinds[] = {
	{ RANK_D, RANK_D + 1, RANK_A, false, 0.0f }, { RANK_D, RANK_D + 16, RANK_A, false, 0.0f },
	{ RANK_D, 255, RANK_A, false, 0.0f }, /* 1,024 inputs: the most of one covariance */
	{ 300, 1000, RANK_A, false, 0.0f },   /* diagonals */
	{ RANK_D, RANK_D + 3, RANK_A, true, 0.0f }, { RANK_D, RANK_D + 30, 7, true, 0.0f },
	{ 7, 8, 5, true, 1e-6f }, /* sums of 4, 2 and 1 become one of 8 */
};
#define KINDS (sizeof kinds / sizeof *kinds)

typedef struct wide_event {
	float x[WIDEST], a[RANK_MOST][8];
	double loss[RANK_MOST];
	cop_row row, candidate[RANK_MOST];
	cop_candidates set;
} wide_event;

/* `known` values of a context of `features`; the others are unknown. */
static void draw(wide_event *e, const kind *k, cop_rng *rng, size_t known, size_t features)
{
	e->set = (cop_candidates){ .count = 1 + (size_t)cop_rng_below(rng, RANK_MOST), .row = e->candidate };
	for (size_t j = 0; j < features; j++)
		e->x[j] = j < known ? (float)cop_rng_normal(rng) : NAN;
	e->row = (cop_row){ .d = features, .dense = e->x };
	for (size_t i = 0; i < e->set.count; i++) {
		for (size_t j = 0; j < k->candidate; j++)
			e->a[i][j] = (float)cop_rng_normal(rng);
		e->candidate[i] = (cop_row){ .d = k->candidate, .dense = e->a[i] };
		e->loss[i] = 0.5 - 0.5 * tanh((double)(e->x[0] * e->a[i][0] - e->x[1] * e->a[i][1]));
	}
}

static void settings_of(cop_learner_settings *s, const kind *k, size_t features)
{
	rank_settings(s, false);
	s->features = features;
	s->candidate_features = k->candidate;
}

static cop_learner *widened(const cop_learner *learner, size_t features)
{
	cop_learner_settings s = learner->settings;
	cop_bytes bytes;
	cop_cursor cursor;
	s.features = features;
	s.known = 0;
	cop_learner *more = rank_learner(&s);
	cop_bytes_init(&bytes);
	rank_save(learner, &bytes);
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	more->saved_features = learner->settings.features;
	assert_int_equal(cop_learner_load(more, &cursor), COP_OK);
	assert_int_equal(cop_cursor_left(&cursor), 0);
	cop_bytes_fini(&bytes);
	return more;
}

static void step(cop_learner *learner, const wide_event *e, cop_decision *d)
{
	assert_int_equal(cop_learner_decide(learner, &e->row, &e->set, d), COP_OK);
	assert_int_equal(rank_learn(learner, &e->row, &e->candidate[d->arm], d, e->loss[d->arm], true), COP_OK);
}

static void refit(cop_learner *learner, const kind *k)
{
	const refit_shape shape = { .d = k->was + k->candidate, .outputs = 1, .depth = 4, .linear = true };
	cop_trees *trees = refit_trees(&shape, 3, 5);
	assert_int_equal(cop_learner_refit(learner, trees, NULL), COP_OK);
	cop_trees_free(trees);
}

static void assert_near(const float *a, const float *b, size_t count, float apart)
{
	for (size_t i = 0; i < count; i++)
		assert_true(fabsf(a[i] - b[i]) <= apart);
}

/* Exploration goes by how little the linear scorer knows, up to so many inputs. */
static bool has_widths(const kind *k, size_t features) { return (features + 1) * (k->candidate + 1) <= 256; }

/* Of all candidates what each scorer and the mixture predict, and the probabilities, with unknown features behind. */
static void check_alike(const kind *k, cop_learner *few, cop_learner *more)
{
	const size_t experts = cop_learner_predictions(few);
	cop_rng rng;
	cop_rng_init(&rng, 3, 90);
	assert_int_equal(cop_learner_predictions(more), experts);
	for (int i = 0; i < 50; i++) {
		wide_event e;
		cop_decision one = { .p = 1.0 }, two = { .p = 1.0 };
		cop_policy_view a, b;
		draw(&e, k, &rng, k->was, more->settings.features);
		one.arm = two.arm = (uint32_t)cop_rng_below(&rng, e.set.count);
		const cop_row shorter = { .d = k->was, .dense = e.x };
		assert_int_equal(cop_learner_view(few, &shorter, &e.set, &one, &a), COP_OK);
		assert_int_equal(cop_learner_view(more, &e.row, &e.set, &two, &b), COP_OK);
		assert_near(a.loss, b.loss, e.set.count, k->apart);
		assert_near(one.prediction, two.prediction, experts, k->apart);
		for (size_t c = 0; c < e.set.count && has_widths(k, k->was) == has_widths(k, k->is); c++)
			assert_true(fabs(a.p[c] - b.p[c]) <= 1e-5 + (double)k->apart);
	}
}

static void test_predictions_stay_where_nothing_new_is_known(void **state)
{
	(void)state;
	for (size_t i = 0; i < KINDS; i++) {
		const kind *k = &kinds[i];
		cop_learner_settings s;
		cop_rng rng;
		settings_of(&s, k, k->was);
		cop_learner *few = rank_learner(&s);
		cop_rng_init(&rng, 5, i);
		for (int n = 0; n < 300; n++) {
			wide_event e;
			cop_decision d;
			if (n == 100 && k->refitted)
				refit(few, k);
			draw(&e, k, &rng, k->was, k->was);
			step(few, &e, &d);
		}
		cop_learner *more = widened(few, k->is);
		assert_int_equal(more->known, k->was);
		check_alike(k, few, more);
		cop_learner_free(few);
		cop_learner_free(more);
	}
}

/* Learned the same way, one with the features from its beginning, which nobody knew, one that got them in between, and
 * one that never did. */
static void test_it_learns_as_if_the_features_had_been_there_unknown(void **state)
{
	(void)state;
	for (size_t i = 0; i < KINDS; i++) {
		const kind *k = &kinds[i];
		cop_learner_settings s;
		cop_rng rng;
		settings_of(&s, k, k->was);
		cop_learner *never = rank_learner(&s), *late = rank_learner(&s), *early = widened(never, k->is);
		cop_rng_init(&rng, 7, i);
		for (int n = 0; n < 400; n++) {
			wide_event e;
			if (n == 200) {
				cop_learner *grown = widened(late, k->is);
				cop_learner_free(late);
				late = grown;
			}
			draw(&e, k, &rng, k->was, k->is);
			const cop_row row = { .d = k->was, .dense = e.x };
			const double loss = e.loss[0];
			cop_policy_view view;
			cop_decision d[3] = { { .p = 0.5 }, { .p = 0.5 }, { .p = 0.5 } };
			assert_int_equal(cop_learner_take(early, &e.row, &e.set, &d[0], &loss, &view), COP_OK);
			assert_int_equal(
			        cop_learner_take(late, n < 200 ? &row : &e.row, &e.set, &d[1], &loss, &view), COP_OK);
			assert_int_equal(cop_learner_take(never, &row, &e.set, &d[2], &loss, &view), COP_OK);
		}
		const kind roughly = { k->was, k->is, k->candidate, false, 1e-4f };
		check_alike(&roughly, never, early);
		check_alike(&roughly, never, late);
		cop_learner_free(never);
		cop_learner_free(late);
		cop_learner_free(early);
	}
}

/* What is best hangs on a product of a new feature. */
static void test_new_features_are_learned(void **state)
{
	const kind *k = &kinds[4];
	cop_learner_settings s;
	cop_rng rng;
	double early = 0.0, late = 0.0;
	(void)state;
	settings_of(&s, k, k->was);
	cop_learner *few = rank_learner(&s);
	cop_rng_init(&rng, 9, 0);
	for (int n = 0; n < 500; n++) {
		wide_event e;
		cop_decision d;
		draw(&e, k, &rng, k->was, k->was);
		step(few, &e, &d);
	}
	cop_learner *more = widened(few, k->is);
	for (int n = 0; n < 4000; n++) {
		wide_event e;
		cop_decision d;
		double least = 1.0;
		draw(&e, k, &rng, n % 4 == 0 ? k->was : k->is, k->is);
		for (size_t c = 0; c < e.set.count && n % 4 != 0; c++) {
			e.loss[c] = 0.5 - 0.5 * tanh(2.0 * (double)(e.x[k->was + 1] * e.a[c][2]));
			least = fmin(least, e.loss[c]);
		}
		step(more, &e, &d);
		if (n % 4 != 0 && n < 400)
			early += (e.loss[d.arm] - least) / 300.0;
		if (n % 4 != 0 && n >= 3200)
			late += (e.loss[d.arm] - least) / 600.0;
	}
	if (!(late < early / 3.0))
		fail_msg("excess loss %.4f after %.4f", late, early);
	assert_int_equal(more->known, k->was);
	cop_learner_free(few);
	cop_learner_free(more);
}

/* Saved and loaded it goes on as it did, and grows again; a state that is cut short is refused. */
static void test_saved_states_go_on(void **state)
{
	const kind *k = &kinds[5];
	cop_learner_settings s;
	cop_rng rng;
	cop_bytes one, two;
	(void)state;
	settings_of(&s, k, k->was);
	cop_learner *few = rank_learner(&s);
	cop_rng_init(&rng, 11, 0);
	refit(few, k);
	cop_learner *more = widened(few, k->is);
	for (int n = 0; n < 100; n++) {
		wide_event e;
		cop_decision d;
		draw(&e, k, &rng, n % 2 == 0 ? k->was : k->was + (size_t)n % 20, k->is);
		step(more, &e, &d);
	}
	cop_learner *same = widened(more, k->is), *again = widened(more, k->is + 5);
	cop_bytes_init(&one);
	cop_bytes_init(&two);
	rank_save(more, &one);
	rank_save(same, &two);
	assert_bytes_equal(&one, &two);
	assert_int_equal(again->known, k->was);
	const kind then = { k->is, k->is + 5, k->candidate, true, 1e-6f };
	check_alike(&then, more, again);
	rank_save(few, &one);
	for (size_t length = 0; length < one.length; length += length < 200 ? 1 : 97) {
		cop_cursor cursor;
		cop_cursor_init(&cursor, one.data, length);
		again->saved_features = k->was;
		assert_int_not_equal(cop_learner_load(again, &cursor), COP_OK);
	}
	cop_bytes_fini(&one);
	cop_bytes_fini(&two);
	cop_learner_free(few);
	cop_learner_free(more);
	cop_learner_free(same);
	cop_learner_free(again);
}

static void check_refused(size_t was, size_t is, size_t candidate)
{
	const kind k = { .was = was, .is = is, .candidate = candidate };
	cop_learner_settings s;
	cop_bytes bytes;
	cop_cursor cursor;
	settings_of(&s, &k, was);
	cop_learner *few = rank_learner(&s);
	settings_of(&s, &k, is);
	cop_learner *more = rank_learner(&s);
	cop_bytes_init(&bytes);
	rank_save(few, &bytes);
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	more->saved_features = was;
	assert_int_equal(cop_learner_load(more, &cursor), COP_ESHAPE);
	cop_bytes_fini(&bytes);
	cop_learner_free(few);
	cop_learner_free(more);
}

static void test_forms_that_have_no_room_are_refused(void **state)
{
	(void)state;
	check_refused(RANK_D, RANK_D - 1, RANK_A);
	check_refused(255, 256, RANK_A); /* from 1,024 inputs on, no whole covariance */
	check_refused(16384, 16385, 4);  /* not every product any more */
	check_refused(20000, 20001, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_predictions_stay_where_nothing_new_is_known),
		cmocka_unit_test(test_it_learns_as_if_the_features_had_been_there_unknown),
		cmocka_unit_test(test_new_features_are_learned),
		cmocka_unit_test(test_saved_states_go_on),
		cmocka_unit_test(test_forms_that_have_no_room_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
