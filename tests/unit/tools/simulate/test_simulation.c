/* Rows as a bandit problem, against a backend that notes what it is asked and told. */
#include "tools/simulate/simulation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "support.h"

/* Clocks go through here (CMake): each look is a second later, and of the thread's processor time two; but for a half
 * at every other one. */
int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

static time_t looks, processor_looks;

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	time_t look = clock == CLOCK_MONOTONIC ? ++looks : ++processor_looks;
	*now = (struct timespec){ .tv_sec = clock == CLOCK_MONOTONIC ? look : 2 * look,
		.tv_nsec = look % 2 == 1 ? 500000000 : 0 };
	return 0;
}

#define MOST 4000

/* Row i's first feature is i; its second one the arm, or value, that is played for it. */
typedef struct world {
	cop_dataset *data, *holdout;
	cop_sim_settings set;
	cop_sim_backend backend;
	cop_sim_result out;
	cop_diag diag;
	size_t decided, told;
	size_t row[MOST];     /* of each decision */
	uint64_t id[MOST];    /* of each feedback */
	size_t when[MOST];    /* how many decisions came before it */
	double loss[MOST][2]; /* of each feedback */
	size_t losses[MOST];  /* how many of them */
	double class[MOST];   /* of each label */
	size_t asked;         /* without learning */
	size_t fails_at;      /* decision that fails */
	size_t stops_at;      /* decision that stops the run */
	cop_err told_error;   /* of feedback */
	cop_err asked_error;
	volatile sig_atomic_t stop;
} world;

static cop_err decide(void *state, uint64_t id, const cop_row *x, cop_decision *out, cop_diag *diag)
{
	world *w = state;
	(void)diag;
	assert_int_equal(id, w->decided);
	assert_true(w->decided < MOST);
	if (w->decided == w->fails_at)
		return COP_EIO;
	if (w->decided == w->stops_at)
		w->stop = 1;
	*out = (cop_decision){ .arm = (uint32_t)x->dense[1], .y = (double)x->dense[1] };
	out->probe[0] = (double)x->dense[1];
	out->probe[1] = (double)x->dense[1] + 0.5;
	w->row[w->decided++] = (size_t)x->dense[0];
	return COP_OK;
}

static cop_err feedback(void *state, uint64_t id, const double *loss, size_t count, cop_diag *diag)
{
	world *w = state;
	(void)diag;
	assert_true(w->told < MOST);
	w->id[w->told] = id;
	w->when[w->told] = w->decided;
	w->losses[w->told] = count;
	memcpy(w->loss[w->told++], loss, count * sizeof *loss);
	return w->told_error;
}

static cop_err label(void *state, const cop_row *x, double class, cop_diag *diag)
{
	world *w = state;
	(void)diag;
	w->id[w->told] = (uint64_t)x->dense[0];
	w->class[w->told++] = class;
	return w->told_error;
}

static cop_err greedy(void *state, const cop_row *x, double *out, cop_diag *diag)
{
	world *w = state;
	(void)diag;
	w->asked++;
	*out = (double)x->dense[1];
	return w->asked_error;
}

static void add_row(cop_dataset *data, float played, double target)
{
	const float x[2] = { (float)data->n, played };
	assert_int_equal(cop_dataset_push_dense(data, x, target), COP_OK);
}

static int set_up(void **state)
{
	static world w;
	memset(&w, 0, sizeof w);
	w.fails_at = w.stops_at = SIZE_MAX;
	if (cop_dataset_new_dense(2, &w.data) != COP_OK || cop_dataset_new_dense(2, &w.holdout) != COP_OK)
		return 1;
	w.set = (cop_sim_settings){
		.data = w.data, .target_high = 1.0, .passes = 1, .in_order = true, .seed = 1, .stop = &w.stop
	};
	w.backend = (cop_sim_backend){ .state = &w, .decide = decide, .feedback = feedback, .greedy = greedy };
	*state = &w;
	return 0;
}

static int tear_down(void **state)
{
	world *w = *state;
	cop_mem_free(w->out.curve);
	cop_dataset_free(w->data);
	cop_dataset_free(w->holdout);
	return 0;
}

static cop_err run(world *w)
{
	cop_mem_free(w->out.curve);
	w->decided = w->told = w->asked = 0;
	w->stop = 0;
	looks = processor_looks = 0;
	return cop_sim_run(&w->set, &w->backend, &w->out, &w->diag);
}

/* Rows whose arms are right but for every third. */
static void add_arms(world *w, size_t count)
{
	for (size_t i = 0; i < count; i++)
		add_row(w->data, (float)(i % 2), i % 3 == 2 ? 2.0 : (double)(i % 2));
}

static bool near(double a, double b) { return fabs(a - b) < 1e-12; }

static void test_feedback_comes_before_the_next_event(void **state)
{
	world *w = *state;
	add_arms(w, 6);
	w->set.passes = 2;
	assert_int_equal(run(w), COP_OK);
	assert_true(w->out.events == 12 && w->decided == 12 && w->told == 12 && !w->out.stopped && !w->out.refitted);
	for (size_t i = 0; i < 12; i++) {
		assert_int_equal(w->row[i], i % 6);
		assert_int_equal(w->id[i], i);
		assert_int_equal(w->when[i], i + 1);
		assert_int_equal(w->losses[i], 1);
		assert_true(w->loss[i][0] == (i % 3 == 2 ? 1.0 : 0.0));
	}
	assert_true(near(w->out.progressive_loss, 1.0 / 3.0));
	assert_true(isnan(w->out.holdout) && w->asked == 0 && w->out.curve_count == 0);
	assert_true(w->out.seconds == 0.5 && w->out.processor == 1.5);
	w->set.events = 5; /* not passes */
	assert_int_equal(run(w), COP_OK);
	assert_true(w->out.events == 5 && w->told == 5 && near(w->out.progressive_loss, 0.2));
}

static void test_each_pass_shows_each_row_once_in_another_order(void **state)
{
	static const size_t first[] = { 6, 17, 15, 16, 9, 14, 10, 19, 7, 8, 5, 1, 18, 3, 2, 13, 12, 11, 0, 4 };
	world *w = *state;
	size_t same = 0, order[40];
	add_arms(w, 20);
	w->set.in_order = false;
	w->set.passes = 2;
	assert_int_equal(run(w), COP_OK);
	for (size_t pass = 0; pass < 2; pass++) {
		unsigned seen = 0;
		for (size_t i = 0; i < 20; i++)
			seen |= 1u << w->row[20 * pass + i];
		assert_int_equal(seen, (1u << 20) - 1);
	}
	for (size_t i = 0; i < 20; i++)
		same += w->row[i] == w->row[20 + i];
	assert_true(same < 10);
	assert_memory_equal(w->row, first, sizeof first); /* of this seed, now and in times to come */
	memcpy(order, w->row, sizeof order);
	assert_int_equal(run(w), COP_OK);
	assert_memory_equal(w->row, order, sizeof order);
	w->set.seed = 2;
	assert_int_equal(run(w), COP_OK);
	assert_memory_not_equal(w->row, order, sizeof order);
}

/* By 0 to twice the delay, and in the order in which they are due. */
static void test_late_feedback_comes_when_it_is_due(void **state)
{
	world *w = *state;
	size_t late[7] = { 0 };
	bool came[500] = { false };
	add_arms(w, 500);
	w->set.delay = 3;
	assert_int_equal(run(w), COP_OK);
	assert_int_equal(w->told, 500);
	for (size_t i = 0; i < 500; i++) {
		assert_false(came[w->id[i]]);
		came[w->id[i]] = true;
		assert_true(w->when[i] > w->id[i]);
		if (w->when[i] < 500) /* those of the end come at once */
			late[w->when[i] - w->id[i] - 1]++;
		if (i > 0 && w->when[i] == w->when[i - 1] && w->when[i] < 500)
			assert_true(w->id[i] > w->id[i - 1]);
	}
	for (size_t i = 0; i < 7; i++)
		assert_true(late[i] > 30);
	assert_true(near(w->out.progressive_loss, 166.0 / 500.0));
}

static void test_missing_feedback_never_comes(void **state)
{
	world *w = *state;
	add_arms(w, 2000);
	w->set.missing = 0.25;
	assert_int_equal(run(w), COP_OK);
	assert_true(w->told > 1400 && w->told < 1600);
	for (size_t i = 1; i < w->told; i++)
		assert_true(w->id[i] > w->id[i - 1]);
	assert_int_equal(w->out.events, 2000);
	w->set.missing = 1.0;
	assert_int_equal(run(w), COP_OK);
	assert_int_equal(w->told, 0);
}

static void test_losses_of_values_are_squares_or_hubers(void **state)
{
	world *w = *state;
	add_row(w->data, 0.5f, 14.0);  /* 0.1 beyond: 10 + 0.5 * 10 is 15 */
	add_row(w->data, 0.25f, 17.5); /* 0.5 */
	add_row(w->data, 0.75f, 20.0); /* 0.25 */
	w->set.values = true;
	w->set.target_low = 10.0;
	w->set.target_high = 20.0;
	assert_int_equal(run(w), COP_OK);
	static const double squares[] = { 0.01, 0.25, 0.0625 };
	for (size_t i = 0; i < 3; i++)
		assert_true(w->losses[i] == 1 && near(w->loss[i][0], squares[i]));
	assert_true(near(w->out.progressive_loss, (0.01 + 0.25 + 0.0625) / 3.0));
	w->set.huber = true;
	w->set.huber_width = 0.25;
	assert_int_equal(run(w), COP_OK);
	static const double hubers[] = { 0.005, 0.25 * (0.5 - 0.125), 0.03125 };
	for (size_t i = 0; i < 3; i++)
		assert_true(near(w->loss[i][0], hubers[i]));
	w->set.huber = false;
	w->set.two_point = true; /* the second half a range higher */
	assert_int_equal(run(w), COP_OK);
	static const double seconds[] = { 0.36, 0.0, 0.0625 };
	double sum = 0.0;
	for (size_t i = 0; i < 3; i++) {
		assert_true(w->losses[i] == 2 && near(w->loss[i][0], squares[i]) && near(w->loss[i][1], seconds[i]));
		sum += (squares[i] + seconds[i]) / 2.0;
	}
	assert_true(near(w->out.progressive_loss, sum / 3.0));
}

static void test_holdout_is_judged_without_learning(void **state)
{
	world *w = *state;
	add_arms(w, 4);
	w->set.holdout = w->holdout;
	add_row(w->holdout, 1.0f, 1.0);
	add_row(w->holdout, 0.0f, 1.0);
	add_row(w->holdout, 0.0f, 0.0);
	add_row(w->holdout, 1.0f, 1.0);
	assert_int_equal(run(w), COP_OK);
	assert_true(w->out.holdout == 0.75 && w->asked == 4);
	w->set.values = true; /* 10 + 10 is 20, 10 is 10 */
	w->set.target_low = 10.0;
	w->set.target_high = 20.0;
	assert_int_equal(run(w), COP_OK);
	assert_true(near(w->out.holdout, sqrt((19.0 * 19.0 + 9.0 * 9.0 + 10.0 * 10.0 + 19.0 * 19.0) / 4.0)));
	w->asked_error = COP_EIO;
	assert_int_equal(run(w), COP_EIO);
	assert_null(w->out.curve);
}

static void expect_points(const world *w, const uint64_t *events, size_t count)
{
	assert_int_equal(w->out.curve_count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(w->out.curve[i].events, events[i]);
}

static void test_curve_has_points_at_even_places(void **state)
{
	static const uint64_t four[] = { 2, 5, 7, 10 }, each[] = { 1, 2, 3 };
	static const double wrong[] = { 0, 1, 2, 3 };
	world *w = *state;
	add_arms(w, 10);
	w->set.curve = 4;
	w->set.holdout = w->holdout;
	add_row(w->holdout, 1.0f, 1.0);
	assert_int_equal(run(w), COP_OK);
	expect_points(w, four, 4);
	for (size_t i = 0; i < 4; i++) {
		const cop_sim_point *p = &w->out.curve[i];
		double before = i == 0 ? 0.0 : wrong[i - 1], events = (double)(p->events - (i == 0 ? 0 : four[i - 1]));
		assert_true(near(p->average, wrong[i] / (double)p->events));
		assert_true(near(p->since, (wrong[i] - before) / events));
		assert_true(p->holdout == 1.0);
	}
	assert_int_equal(w->asked, 5); /* and at the end */
	assert_true(w->out.seconds == 2.5 && w->out.processor == 7.5);
	w->set.delay = 100; /* what is due by then is told before a point */
	assert_int_equal(run(w), COP_OK);
	expect_points(w, four, 4);
	w->set.delay = 0;
	w->set.events = 3; /* no more points than events */
	w->set.curve = 5;
	assert_int_equal(run(w), COP_OK);
	expect_points(w, each, 3);
}

static void test_curve_of_logarithms_begins_at_ten(void **state)
{
	static const uint64_t three[] = { 10, 100, 1000 }, crowded[] = { 10, 11, 12 }, one[] = { 1000 }, few[] = { 10 };
	world *w = *state;
	add_arms(w, 1000);
	w->set.curve = 3;
	w->set.curve_log = true;
	assert_int_equal(run(w), COP_OK);
	expect_points(w, three, 3);
	w->set.curve = 1;
	assert_int_equal(run(w), COP_OK);
	expect_points(w, one, 1);
	w->set.curve = 3;
	w->set.events = 10;
	assert_int_equal(run(w), COP_OK);
	expect_points(w, few, 1);
	w->set.events = 12;
	w->set.curve = 10;
	assert_int_equal(run(w), COP_OK);
	expect_points(w, crowded, 3);
}

static void test_stop_ends_with_the_event_under_way(void **state)
{
	static const uint64_t places[] = { 2, 4 };
	world *w = *state;
	add_arms(w, 10);
	w->set.curve = 5;
	w->stops_at = 2;
	assert_int_equal(run(w), COP_OK);
	assert_true(w->out.stopped && w->out.events == 3 && w->told == 3);
	assert_int_equal(w->out.curve_count, 2);
	assert_int_equal(w->out.curve[1].events, 3); /* a last point */
	w->set.holdout = w->holdout;
	add_row(w->holdout, 1.0f, 1.0);
	w->set.curve = 1;
	w->asked_error = COP_EIO;
	assert_int_equal(run(w), COP_EIO);
	assert_int_equal(w->asked, 1);
	w->asked_error = COP_OK;
	w->set.holdout = NULL;
	w->set.curve = 5;
	w->stops_at = 3; /* it is there already */
	assert_int_equal(run(w), COP_OK);
	assert_true(w->out.stopped && w->out.events == 4);
	expect_points(w, places, 2);
	w->stops_at = 9; /* the last event: all are over */
	assert_int_equal(run(w), COP_OK);
	assert_true(!w->out.stopped && w->out.events == 10);
	w->set.stop = NULL;
	w->stops_at = 0;
	assert_int_equal(run(w), COP_OK);
	assert_true(!w->out.stopped && w->out.events == 10);
}

static void test_errors_of_the_backend_end_the_run(void **state)
{
	world *w = *state;
	add_arms(w, 4);
	w->set.curve = 2;
	w->fails_at = 3;
	assert_int_equal(run(w), COP_EIO);
	assert_true(w->decided == 3 && w->out.events == 3 && w->out.curve == NULL);
	w->fails_at = SIZE_MAX;
	w->told_error = COP_ENOMEM;
	assert_int_equal(run(w), COP_ENOMEM);
	assert_int_equal(w->told, 1);
	w->set.curve = 0;
	w->set.delay = 100; /* at the end */
	assert_int_equal(run(w), COP_ENOMEM);
	assert_true(w->told == 1);
}

static void test_labels_are_told_instead_of_losses(void **state)
{
	world *w = *state;
	add_arms(w, 6);
	w->backend.label = label;
	cop_sim_refit_counts refits = { 0 };
	w->backend.refits = &refits;
	assert_int_equal(run(w), COP_OK);
	assert_int_equal(w->told, 6);
	assert_true(w->out.refitted);
	for (size_t i = 0; i < 6; i++)
		assert_true(w->id[i] == i && w->class[i] == w->data->target[i]);
}

static void test_progress_doubles_its_distance(void **state)
{
	world *w = *state;
	char *text = NULL;
	size_t length;
	add_arms(w, 9);
	w->set.progress = open_memstream(&text, &length);
	assert_non_null(w->set.progress);
	assert_int_equal(run(w), COP_OK);
	assert_int_equal(fclose(w->set.progress), 0);
	assert_string_equal(text, "average     since              event   current   current   current\n"
	                          "loss        last             counter     label    action  features\n"
	                          "0.000000    0.000000               1         0         0         2\n"
	                          "0.000000    0.000000               2         1         1         2\n"
	                          "0.250000    0.500000               4         1         1         2\n"
	                          "0.250000    0.250000               8         1         1         2\n");
	free(text);
}

static void test_progress_shows_values_in_their_range(void **state)
{
	world *w = *state;
	char *text = NULL;
	size_t length;
	add_row(w->data, 0.5f, 14.0);
	w->set.values = true;
	w->set.target_low = 10.0;
	w->set.target_high = 20.0;
	w->set.progress = open_memstream(&text, &length);
	assert_non_null(w->set.progress);
	assert_int_equal(run(w), COP_OK);
	assert_int_equal(fclose(w->set.progress), 0);
	assert_non_null(strstr(text, "0.010000    0.010000               1        14        15         2\n"));
	free(text);
}

static void test_run_without_memory_is_an_error(void **state)
{
	world *w = *state;
	add_arms(w, 4);
	w->set.curve = 2;
	for (unsigned long n = 1;; n++) {
		cop_test_alloc_fail(n, 0);
		cop_err err = run(w);
		bool failed = cop_test_alloc_failed() != 0;
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err, failed ? COP_ENOMEM : COP_OK);
		assert_int_equal(w->out.curve == NULL, failed);
		if (!failed)
			break;
		assert_true(n <= 3);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_feedback_comes_before_the_next_event),
		TEST(test_each_pass_shows_each_row_once_in_another_order),
		TEST(test_late_feedback_comes_when_it_is_due),
		TEST(test_missing_feedback_never_comes),
		TEST(test_losses_of_values_are_squares_or_hubers),
		TEST(test_holdout_is_judged_without_learning),
		TEST(test_curve_has_points_at_even_places),
		TEST(test_curve_of_logarithms_begins_at_ten),
		TEST(test_stop_ends_with_the_event_under_way),
		TEST(test_errors_of_the_backend_end_the_run),
		TEST(test_labels_are_told_instead_of_losses),
		TEST(test_progress_doubles_its_distance),
		TEST(test_progress_shows_values_in_their_range),
		TEST(test_run_without_memory_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
