/* Continuous actions: probes, both estimators on a quadratic loss, and what a hostile loss may not do. */
#include "learner_fixture.h"

#include <stdio.h>

static cop_learner *learner_of(bool one_point, double delta, size_t trees)
{
	cop_learner_settings s;
	fixture_settings(&s, "value", false);
	s.feedback = one_point ? COP_VALUE_ONE : COP_VALUE_TWO;
	s.delta = delta;
	s.trees = trees;
	return fixture_learner(&s);
}

static void check_probes(const cop_learner *learner, const cop_decision *d)
{
	double delta = learner->settings.delta;
	assert_true(d->p == 1.0);
	assert_true(d->y >= 0.0 && d->y <= 1.0);
	if (learner->settings.feedback == COP_VALUE_ONE) {
		assert_true(d->u == 1 || d->u == -1);
		assert_true(fabs(d->probe[0] - (d->y + delta * d->u)) < 1e-12);
	} else {
		assert_true(fabs(d->probe[0] - (d->y + delta)) < 1e-12);
		assert_true(fabs(d->probe[1] - (d->y - delta)) < 1e-12);
		assert_true(d->probe[1] >= -1e-12 && d->probe[1] <= 1.0 + 1e-12);
	}
	assert_true(d->probe[0] >= -1e-12 && d->probe[0] <= 1.0 + 1e-12);
}

/* Root mean squared distance of the greedy value from the target. */
static double distance(cop_learner *learner, size_t n)
{
	cop_rng rng;
	cop_rng_init(&rng, FIXTURE_SEED, 30);
	double sum = 0.0;
	for (size_t i = 0; i < n; i++) {
		fixture_event e;
		fixture_draw(&e, &rng, false);
		double gap = cop_learner_greedy(learner, &e.row, NULL) - e.target;
		sum += gap * gap;
	}
	return sqrt(sum / (double)n);
}

static void run_checked(cop_learner *learner, cop_rng *rng, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		fixture_event e;
		cop_decision d;
		double loss[2];
		fixture_draw(&e, rng, false);
		assert_int_equal(cop_learner_decide(learner, &e.row, NULL, &d), COP_OK);
		check_probes(learner, &d);
		(void)fixture_loss(learner, &e, &d, loss);
		assert_int_equal(cop_learner_learn(learner, &e.row, NULL, &d, loss, true), COP_OK);
	}
}

static void test_two_point_on_quadratic_loss_converges(void **state)
{
	(void)state;
	for (size_t trees = 0; trees < 8; trees += 7) {
		cop_learner *learner = learner_of(false, 0.1, trees);
		cop_rng rng;
		cop_rng_init(&rng, FIXTURE_SEED, 31);
		run_checked(learner, &rng, 1);
		double before = distance(learner, 500);
		run_checked(learner, &rng, 10000);
		double after = distance(learner, 500);
		printf("two-point, %zu trees: %.4f then %.4f\n", trees, before, after);
		assert_true(after < 0.25 * before);
		cop_learner_free(learner);
	}
}

static void test_one_point_on_quadratic_loss_converges(void **state)
{
	(void)state;
	cop_learner *learner = learner_of(true, 0.2, 4);
	cop_rng rng;
	cop_rng_init(&rng, FIXTURE_SEED, 32);
	run_checked(learner, &rng, 1);
	double before = distance(learner, 500);
	run_checked(learner, &rng, 60000);
	double after = distance(learner, 500);
	printf("one-point: %.4f then %.4f\n", before, after);
	assert_true(after < 0.45 * before);
	cop_learner_free(learner);
}

/* Whatever the losses say, every probe can be played, and learning finds back. */
static void test_probes_under_hostile_losses_stay_in_range(void **state)
{
	(void)state;
	for (int one_point = 0; one_point < 2; one_point++) {
		cop_learner *learner = learner_of(one_point, 0.5, 4);
		cop_rng rng;
		cop_rng_init(&rng, FIXTURE_SEED, 33);
		for (size_t n = 0; n < 3000; n++) {
			fixture_event e;
			cop_decision d;
			fixture_draw(&e, &rng, false);
			double size = pow(10.0, 40.0 * cop_rng_unit(&rng) - 20.0);
			double loss[2] = { n % 2 ? size : -1.0, n % 3 ? -size : 1.0 };
			assert_int_equal(cop_learner_decide(learner, &e.row, NULL, &d), COP_OK);
			check_probes(learner, &d);
			cop_err err = cop_learner_learn(learner, &e.row, NULL, &d, loss, true);
			assert_true(err == COP_OK || err == COP_EDIVERGED);
		}
		cop_bytes bytes;
		cop_cursor cursor;
		cop_bytes_init(&bytes);
		fixture_save(learner, &bytes);
		cop_cursor_init(&cursor, bytes.data, bytes.length);
		assert_int_equal(cop_learner_load(learner, &cursor), COP_OK); /* all of it finite */
		cop_bytes_fini(&bytes);
		cop_learner_free(learner);
	}
}

/* One point: half of delta times 1e15 is the largest loss that is taken, as it is the first baseline. */
static void test_one_point_loss_at_the_limit_is_taken_and_beyond_refused(void **state)
{
	(void)state;
	const double most = 0.5 * 0.5 * 1e15;
	for (int sign = -1; sign <= 1; sign += 2)
		for (int beyond = 0; beyond < 2; beyond++) {
			cop_learner *learner = learner_of(true, 0.5, 1);
			cop_rng rng;
			fixture_event e;
			cop_decision d;
			cop_rng_init(&rng, FIXTURE_SEED, 34);
			fixture_draw(&e, &rng, false);
			double loss[2] = { sign * (beyond ? nextafter(most, (double)INFINITY) : most), 0.0 };
			assert_int_equal(cop_learner_decide(learner, &e.row, NULL, &d), COP_OK);
			assert_int_equal(cop_learner_learn(learner, &e.row, NULL, &d, loss, true),
			        beyond ? COP_EDIVERGED : COP_OK);
			cop_learner_free(learner);
		}
}

/* A steady downward slope drives the value to the end of the range, and it comes back at once when the slope turns. */
static void test_value_at_the_end_of_range_turns_back_soon(void **state)
{
	(void)state;
	cop_learner *learner = learner_of(false, 0.1, 4);
	cop_rng rng;
	cop_rng_init(&rng, FIXTURE_SEED, 34);
	for (size_t n = 0; n < 20000; n++) {
		fixture_event e;
		cop_decision d;
		fixture_draw(&e, &rng, false);
		assert_int_equal(cop_learner_decide(learner, &e.row, NULL, &d), COP_OK);
		double loss[2] = { d.probe[0], d.probe[1] };
		assert_int_equal(cop_learner_learn(learner, &e.row, NULL, &d, loss, true), COP_OK);
	}
	double low = 0.0, high = 0.0;
	for (size_t n = 0; n < 8000; n++) {
		fixture_event e;
		cop_decision d;
		fixture_draw(&e, &rng, false);
		assert_int_equal(cop_learner_decide(learner, &e.row, NULL, &d), COP_OK);
		if (n < 100)
			low += d.y / 100.0;
		if (n >= 7900)
			high += d.y / 100.0;
		double loss[2] = { -d.probe[0], -d.probe[1] };
		assert_int_equal(cop_learner_learn(learner, &e.row, NULL, &d, loss, true), COP_OK);
	}
	printf("low %.3f, high %.3f\n", low, high);
	assert_true(low < 0.25 && high > 0.75);
	cop_learner_free(learner);
}

/* delta / (1 + decay t)^(1/4), t the losses learned when the decision was made, not below the floor; a decision that
 * waits keeps its own. */
static void test_probes_come_closer_by_the_stated_schedule(void **state)
{
	(void)state;
	for (int one = 0; one < 2; one++) {
		cop_learner_settings s;
		fixture_settings(&s, "value", false);
		s.feedback = one ? COP_VALUE_ONE : COP_VALUE_TWO;
		s.delta = 0.2;
		s.delta_decay = 0.5;
		s.delta_floor = 0.05;
		cop_learner *learner = fixture_learner(&s);
		cop_rng rng;
		cop_rng_init(&rng, FIXTURE_SEED, 77);
		for (size_t t = 0; t < 1000; t++) {
			fixture_event e;
			cop_decision d;
			double expected = fmax(0.05, 0.2 * pow(1.0 + 0.5 * (double)t, -0.25));
			fixture_draw(&e, &rng, false);
			assert_int_equal(cop_learner_decide(learner, &e.row, NULL, &d), COP_OK);
			assert_true(fabs(fabs(d.probe[0] - d.y) - expected) < 1e-12);
			assert_true(d.y >= expected && d.y <= 1.0 - expected);
			const double loss[2] = { (d.probe[0] - e.target) * (d.probe[0] - e.target),
				(d.probe[1] - e.target) * (d.probe[1] - e.target) };
			assert_int_equal(cop_learner_learn(learner, &e.row, NULL, &d, loss, true), COP_OK);
			cop_decision again = d;
			cop_learner_probes(learner, &again);
			assert_true(again.probe[0] == d.probe[0]);
		}
		cop_learner_free(learner);
	}
}

/* A gradient of the same loss at a decision of an early revision is divided by that one's delta. */
static void test_late_losses_are_divided_by_the_distance_they_were_played_at(void **state)
{
	(void)state;
	double moved[2];
	for (int late = 0; late < 2; late++) {
		cop_learner_settings s;
		fixture_settings(&s, "value", false);
		s.trees = 0;
		s.delta = 0.2;
		s.delta_decay = late ? 1.0 : 0.0;
		cop_learner *learner = fixture_learner(&s);
		cop_rng rng;
		fixture_event e;
		cop_decision d;
		cop_rng_init(&rng, FIXTURE_SEED, 78);
		fixture_draw(&e, &rng, false);
		assert_int_equal(cop_learner_decide(learner, &e.row, NULL, &d), COP_OK);
		const double loss[2] = { 0.75, 0.25 };
		assert_int_equal(cop_learner_learn(learner, &e.row, NULL, &d, loss, true), COP_OK);
		learner->rev = 500; /* others were learned meanwhile */
		assert_int_equal(cop_learner_learn(learner, &e.row, NULL, &d, loss, true), COP_OK);
		moved[late] = cop_learner_greedy(learner, &e.row, NULL);
		cop_learner_free(learner);
	}
	assert_true(moved[0] != 0.5 && moved[0] == moved[1]);
}

static void test_decaying_delta_refuses_trees_and_what_cannot_be(void **state)
{
	(void)state;
	cop_learner_settings s;
	cop_diag diag = { .message = "" };
	cop_learner *learner;
	fixture_settings(&s, "value", false);
	s.delta_decay = 1.0;
	learner = fixture_learner(&s);
	assert_int_equal(cop_learner_refit(learner, NULL, &diag), COP_ESHAPE);
	assert_non_null(strstr(diag.message, "delta_decay"));
	cop_learner_free(learner);
	s.delta = 0.1;
	s.delta_floor = 0.2;
	assert_int_equal(cop_learner_new(&s, &learner, &diag), COP_EINVAL);
	assert_non_null(strstr(diag.message, "delta_floor"));
	s.delta_floor = 0.0;
	s.delta_decay = -1.0;
	assert_int_equal(cop_learner_new(&s, &learner, &diag), COP_EINVAL);
	assert_non_null(strstr(diag.message, "delta_decay"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_point_on_quadratic_loss_converges),
		cmocka_unit_test(test_one_point_on_quadratic_loss_converges),
		cmocka_unit_test(test_one_point_loss_at_the_limit_is_taken_and_beyond_refused),
		cmocka_unit_test(test_probes_under_hostile_losses_stay_in_range),
		cmocka_unit_test(test_value_at_the_end_of_range_turns_back_soon),
		cmocka_unit_test(test_probes_come_closer_by_the_stated_schedule),
		cmocka_unit_test(test_late_losses_are_divided_by_the_distance_they_were_played_at),
		cmocka_unit_test(test_decaying_delta_refuses_trees_and_what_cannot_be),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
