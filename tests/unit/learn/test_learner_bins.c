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
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
