/* Value learners with a density over bins: where they settle, what their density is worth, and that a saved one goes on
 * as the one that it was saved from. */
#include "learner_fixture.h"

#include "learn/bins.h"
#include "learn/footprint.h"

static cop_learner *learner_of(bool sparse)
{
	cop_learner_settings s;
	fixture_settings(&s, "value", sparse);
	s.feedback = COP_VALUE_BINS;
	return fixture_learner(&s);
}

static double loss_of(const fixture_event *e, double y) { return 4.0 * (y - e->target) * (y - e->target); }

/* Mean loss of what was played. */
static double run(cop_learner *learner, cop_rng *rng, bool sparse, size_t n)
{
	double sum = 0.0;
	for (size_t i = 0; i < n; i++) {
		fixture_event e;
		cop_decision d;
		fixture_draw(&e, rng, sparse);
		assert_int_equal(cop_learner_decide(learner, &e.row, NULL, &d), COP_OK);
		assert_true(d.y >= 0.0 && d.y < 1.0 && d.probe[0] == d.y && d.u == 0);
		assert_true(d.p > 0.0 && d.p <= COP_BINS && d.p == (double)d.prediction[0]);
		double loss = loss_of(&e, d.y);
		assert_int_equal(cop_learner_learn(learner, &e.row, NULL, &d, &loss, true), COP_OK);
		sum += loss;
	}
	return sum / (double)n;
}

static double greedy_loss(cop_learner *learner, bool sparse)
{
	cop_rng rng;
	cop_rng_init(&rng, FIXTURE_SEED, 30);
	double sum = 0.0;
	for (size_t i = 0; i < 500; i++) {
		fixture_event e;
		fixture_draw(&e, &rng, sparse);
		sum += loss_of(&e, cop_learner_greedy(learner, &e.row, NULL));
	}
	return sum / 500.0;
}

static void test_bins_learn_a_target_that_hangs_on_the_context(void **state)
{
	(void)state;
	for (int sparse = 0; sparse < 2; sparse++) {
		cop_learner *learner = learner_of(sparse != 0);
		cop_rng rng;
		cop_rng_init(&rng, FIXTURE_SEED, 40);
		double first = run(learner, &rng, sparse != 0, 200);
		(void)run(learner, &rng, sparse != 0, 4000);
		double last = run(learner, &rng, sparse != 0, 500), greedy = greedy_loss(learner, sparse != 0);
		print_message("bins%s: %.4f to %.4f, greedy %.4f\n", sparse ? " sparse" : "", first, last, greedy);
		assert_true(last < 0.25 * first && greedy < 0.25 * first);
		cop_learner_free(learner);
	}
}

enum { MEMBERS = 8, LOOKS = 400 };

/* Each member's squared errors, and those of the mean loss, over contexts and values that none has seen. */
static size_t errors_of(cop_learner *learner, bool sparse, double *error, double *of_mean)
{
	double loss[LOOKS], prediction[MEMBERS][LOOKS], mean = 0.0;
	size_t members = 0;
	cop_explanation e;
	cop_rng rng;
	assert_int_equal(cop_explanation_init(&e, 0, 0), COP_OK);
	cop_rng_init(&rng, FIXTURE_SEED, 43);
	for (size_t i = 0; i < LOOKS; i++) {
		fixture_event event;
		cop_decision d = { .y = cop_rng_unit(&rng) };
		fixture_draw(&event, &rng, sparse);
		loss[i] = loss_of(&event, d.y);
		mean += loss[i] / LOOKS;
		cop_learner_explain(learner, &event.row, NULL, &d, &e);
		members = e.expert_count;
		assert_true(members <= MEMBERS);
		for (size_t m = 0; m < members; m++)
			prediction[m][i] = e.experts[m].prediction;
	}
	cop_explanation_fini(&e);
	*of_mean = 0.0;
	for (size_t i = 0; i < LOOKS; i++)
		*of_mean += (loss[i] - mean) * (loss[i] - mean);
	for (size_t m = 0; m < members; m++) {
		error[m] = 0.0;
		for (size_t i = 0; i < LOOKS; i++)
			error[m] += (loss[i] - prediction[m][i]) * (loss[i] - prediction[m][i]);
	}
	return members;
}

/* Not the mixture alone; member 3 are the averages, which know no context. */
static void test_every_member_of_the_bins_learns(void **state)
{
	(void)state;
	cop_learner *learner = learner_of(false);
	double error[MEMBERS], of_mean;
	cop_rng rng;
	cop_rng_init(&rng, FIXTURE_SEED, 44);
	(void)run(learner, &rng, false, 4000);
	size_t members = errors_of(learner, false, error, &of_mean);
	assert_int_equal(members, 5);
	for (size_t m = 0; m < members; m++) {
		print_message("member %zu: %.3f of the mean's squared error\n", m, error[m] / of_mean);
		assert_true(m == 3 || error[m] < 0.6 * of_mean);
	}
	cop_learner_free(learner);
}

/* Of an even choice: the mean of indicator / density is the share of the values there are. */
static void test_inverse_density_weights_add_up(void **state)
{
	(void)state;
	cop_learner *learner = learner_of(false);
	cop_rng rng;
	cop_rng_init(&rng, FIXTURE_SEED, 41);
	double sum = 0.0, squares = 0.0;
	(void)run(learner, &rng, false, 100);
	for (size_t i = 0; i < 20000; i++) {
		fixture_event e;
		cop_decision d;
		fixture_draw(&e, &rng, false);
		assert_int_equal(cop_learner_decide(learner, &e.row, NULL, &d), COP_OK);
		double weight = d.y < 0.4 ? 1.0 / d.p : 0.0;
		sum += weight;
		squares += weight * weight;
	}
	double mean = sum / 20000.0, error = sqrt((squares / 20000.0 - mean * mean) / 20000.0);
	print_message("weights: %.4f +- %.4f\n", mean, error);
	assert_true(error < 0.1 && fabs(mean - 0.4) < 4.0 * error);
	cop_learner_free(learner);
}

static void test_bins_loaded_goes_on_to_the_bit(void **state)
{
	(void)state;
	for (int sparse = 0; sparse < 2; sparse++) {
		cop_learner *learner = learner_of(sparse != 0), *again = learner_of(sparse != 0);
		cop_bytes one = { 0 }, other = { 0 };
		cop_cursor cursor;
		cop_rng rng;
		cop_rng_init(&rng, FIXTURE_SEED, 42);
		(void)run(learner, &rng, sparse != 0, 300);
		cop_learner_save(learner, &one);
		cop_cursor_init(&cursor, one.data, one.length);
		assert_int_equal(cop_learner_load(again, &cursor), COP_OK);
		assert_int_equal(cop_cursor_left(&cursor), 0);
		cop_rng same = rng;
		assert_true(run(learner, &rng, sparse != 0, 100) == run(again, &same, sparse != 0, 100));
		cop_bytes_clear(&one);
		cop_learner_save(learner, &one);
		cop_learner_save(again, &other);
		assert_int_equal(one.length, other.length);
		assert_memory_equal(one.data, other.data, one.length);
		for (size_t cut = 0; cut < one.length; cut += 1 + one.length / 200) { /* torn */
			cop_learner *torn = learner_of(sparse != 0);
			cop_cursor_init(&cursor, one.data, cut);
			assert_int_not_equal(cop_learner_load(torn, &cursor), COP_OK);
			cop_learner_free(torn);
		}
		cop_bytes_fini(&one);
		cop_bytes_fini(&other);
		cop_learner_free(learner);
		cop_learner_free(again);
	}
}

static void test_a_loss_beyond_measure_changes_nothing(void **state)
{
	(void)state;
	cop_learner *learner = learner_of(false);
	cop_bytes before = { 0 }, after = { 0 };
	cop_rng rng;
	cop_rng_init(&rng, FIXTURE_SEED, 43);
	(void)run(learner, &rng, false, 50);
	fixture_event e;
	cop_decision d;
	double huge = 1e16;
	fixture_draw(&e, &rng, false);
	assert_int_equal(cop_learner_decide(learner, &e.row, NULL, &d), COP_OK);
	cop_learner_save(learner, &before);
	assert_int_equal(cop_learner_learn(learner, &e.row, NULL, &d, &huge, true), COP_EDIVERGED);
	cop_learner_save(learner, &after);
	assert_int_equal(before.length, after.length);
	assert_memory_equal(before.data, after.data, before.length);
	cop_bytes_fini(&before);
	cop_bytes_fini(&after);
	cop_learner_free(learner);
}

static void test_products_are_named_by_the_inputs_that_they_multiply(void **state)
{
	(void)state;
	cop_learner *learner = learner_of(false);
	size_t d = learner->settings.features, i, j, at = d + 1;
	assert_false(learner->class->product(learner, d, &i, &j));
	for (size_t a = 0; d <= 9 && a < d; a++)
		for (size_t b = a; b < d; b++, at++) {
			assert_true(learner->class->product(learner, at, &i, &j));
			assert_true(i == a && j == b);
		}
	assert_false(learner->class->product(learner, at, &i, &j));
	cop_learner_free(learner);
}

static void test_bins_refuse_trees(void **state)
{
	(void)state;
	cop_learner *learner = learner_of(false);
	cop_diag diag = { 0 };
	assert_int_equal(cop_learner_refit(learner, NULL, &diag), COP_ESHAPE);
	assert_non_null(strstr(diag.message, "bins"));
	assert_true(cop_footprint(&learner->settings, 0) > 48.0 * 4.0);
	cop_learner_free(learner);
}

/* ---- further features ---- */

enum { MOST = 1100 };

static cop_learner *bins_of(size_t features)
{
	cop_learner_settings s;
	fixture_settings(&s, "value", false);
	s.feedback = COP_VALUE_BINS;
	s.features = features;
	return fixture_learner(&s);
}

static cop_err load_from(cop_learner *more, const cop_learner *few)
{
	cop_bytes bytes;
	cop_cursor cursor;
	cop_bytes_init(&bytes);
	fixture_save(few, &bytes);
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	more->saved_features = few->settings.features;
	cop_err err = cop_learner_load(more, &cursor);
	if (err == COP_OK)
		assert_int_equal(cop_cursor_left(&cursor), 0);
	cop_bytes_fini(&bytes);
	return err;
}

static cop_learner *widened(const cop_learner *few, size_t features)
{
	cop_learner *more = bins_of(features);
	assert_int_equal(load_from(more, few), COP_OK);
	assert_int_equal(more->known, few->settings.features);
	return more;
}

/* All of the density's losses; features from `features` on are unknown. */
static cop_row look(cop_learner *learner, const float *x, size_t features, float *row, float *out)
{
	const cop_row raw = { .d = learner->settings.features, .dense = row };
	cop_decision decision = { .y = 0.5 };
	cop_policy_view view;
	for (size_t j = 0; j < raw.d; j++)
		row[j] = j < features ? x[j] : NAN;
	assert_int_equal(cop_learner_view(learner, &raw, NULL, &decision, &view), COP_OK);
	memcpy(out, view.loss, COP_BINS * sizeof *out);
	return raw;
}

static void teach(cop_learner *learner, const float *x, size_t features, double y, double loss)
{
	float row[MOST], out[COP_BINS];
	const cop_row raw = look(learner, x, features, row, out);
	const cop_decision decision = { .y = y };
	assert_int_equal(cop_learner_learn(learner, &raw, NULL, &decision, &loss, false), COP_OK);
}

typedef struct growth {
	size_t few, many;
	int events;
	bool same; /* what goes together in blocks stays together, so that it learns alike, too */
} growth;

static void assert_alike(const growth *g, cop_learner *one, cop_learner *other, const float *x, float most)
{
	float row[MOST], a[COP_BINS], b[COP_BINS];
	(void)look(one, x, g->few, row, a);
	(void)look(other, x, g->few, row, b);
	for (size_t k = 0; k < COP_BINS; k++)
		if (!(fabsf(a[k] - b[k]) < most))
			fail_msg("%zu to %zu features: %f and %f", g->few, g->many, (double)a[k], (double)b[k]);
}

/* Learned the same way, one with the features from its beginning, which nobody knew, and one that got them after:
 * wherever products, blocks and members lie. */
static void test_further_features_change_no_prediction_until_they_come(void **state)
{
	(void)state;
	static const growth kinds[] = { { 2, 5, 300, true }, { 5, 9, 300, true }, { 1, 9, 100, true },
		{ 10, 40, 120, true }, { 60, 128, 200, false }, { 130, 200, 100, false }, { 1025, 1040, 10, false } };
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		const growth *g = &kinds[i];
		cop_learner *late = bins_of(g->few), *early = widened(late, g->many);
		cop_rng rng;
		cop_rng_init(&rng, FIXTURE_SEED, 50 + i);
		for (int n = 0; n < 2 * g->events; n++) {
			float x[MOST];
			for (size_t j = 0; j < g->few; j++)
				x[j] = (float)(3.0 + cop_rng_normal(&rng));
			const double y = cop_rng_unit(&rng), bend = 0.1 * (double)x[0];
			const double loss = fabs(y - 0.2 - bend) + bend * (double)x[g->few - 1];
			if (n == g->events) {
				cop_learner *grown = widened(late, g->many);
				assert_alike(g, late, grown, x, 1e-4f);
				cop_learner_free(late);
				late = grown;
			}
			if (g->same)
				assert_alike(g, late, early, x, 1e-2f); /* rounding adds up */
			teach(late, x, g->few, y, loss);
			teach(early, x, g->few, y, loss);
		}
		cop_learner_free(late);
		cop_learner_free(early);
	}
}

static void test_further_features_are_learned(void **state)
{
	(void)state;
	cop_learner *few = bins_of(2);
	cop_rng rng;
	float x[3];
	double first = 0.0, last = 0.0;
	cop_rng_init(&rng, FIXTURE_SEED, 60);
	for (int i = 0; i < 1500; i++) {
		if (i == 300) {
			cop_learner *more = widened(few, 3);
			cop_learner_free(few);
			few = more;
		}
		for (size_t j = 0; j < 3; j++)
			x[j] = (float)cop_rng_normal(&rng);
		const double y = cop_rng_unit(&rng), best = x[2] > 0.0f ? 0.8 : 0.2;
		const cop_row row = { .d = few->settings.features, .dense = x };
		const double missed = fabs(cop_learner_greedy(few, &row, NULL) - best);
		first += i >= 200 && i < 300 ? missed / 100.0 : 0.0;
		last += i >= 1400 ? missed / 100.0 : 0.0;
		teach(few, x, 3, y, fabs(y - best));
	}
	assert_true(first > 0.25 && last < 0.15);
	cop_learner_free(few);
}

/* Where members or products come or go with their number. */
static void test_features_beyond_the_form_are_refused(void **state)
{
	(void)state;
	static const size_t ends[] = { 9, 128, 1024 };
	cop_learner_settings s;
	fixture_settings(&s, "value", false);
	s.feedback = COP_VALUE_BINS;
	for (size_t i = 0; i < 3; i++) {
		s.features = ends[i];
		assert_true(cop_learner_takes_features(&s, ends[i]));
		assert_true(cop_learner_takes_features(&s, ends[i] - 1));
		assert_false(cop_learner_takes_features(&s, ends[i] + 1));
		assert_non_null(strstr(cop_learner_keeps_features(&s, ends[i] + 1), "9, 128 and 1024"));
		s.features = ends[i] + 1;
		assert_false(cop_learner_takes_features(&s, ends[i]));
		assert_true(cop_learner_takes_features(&s, ends[i] + 2));
		cop_learner *few = bins_of(ends[i]), *more = bins_of(ends[i] + 1);
		assert_int_equal(load_from(more, few), COP_ESHAPE);
		assert_int_not_equal(load_from(few, more), COP_OK);
		cop_learner_free(few);
		cop_learner_free(more);
	}
	s.features = 0;
	assert_false(cop_learner_takes_features(&s, 3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bins_learn_a_target_that_hangs_on_the_context),
		cmocka_unit_test(test_every_member_of_the_bins_learns),
		cmocka_unit_test(test_inverse_density_weights_add_up),
		cmocka_unit_test(test_bins_loaded_goes_on_to_the_bit),
		cmocka_unit_test(test_a_loss_beyond_measure_changes_nothing),
		cmocka_unit_test(test_products_are_named_by_the_inputs_that_they_multiply),
		cmocka_unit_test(test_bins_refuse_trees),
		cmocka_unit_test(test_further_features_change_no_prediction_until_they_come),
		cmocka_unit_test(test_further_features_are_learned),
		cmocka_unit_test(test_features_beyond_the_form_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
