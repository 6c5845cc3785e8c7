/* Runs of small datasets: in which order they begin, what is kept and counted of them, and what is not run again. */
#include "tools/bakeoff/bakeoff_runs.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"
#include "support_lock.h"

/* pthread_create goes through here (CMake): those behind the first `threads` fail. */
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *argument);

static size_t threads, created, deaf; /* deaf: created with signals blocked */

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *argument)
{
	if (created == threads)
		return EAGAIN;
	sigset_t blocked;
	(void)pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	deaf += sigismember(&blocked, SIGINT) == 1 && sigismember(&blocked, SIGTERM) == 1;
	created++;
	return __real_pthread_create(thread, attr, start, argument);
}

#define SETTINGS 2
#define SEEDS    2
#define ROWS_A   20
#define ROWS_B   40

/* Datasets a and b, of which b is larger, and alone, which has one class only. */
typedef struct world {
	char folder[64];
	cop_bakeoff_folder data;
	cop_bakeoff_settings settings;
	cop_bakeoff_store store;
	cop_bakeoff_entry entry[3];
	volatile sig_atomic_t stop;
	cop_bakeoff_plan plan;
	cop_bakeoff_outcome out;
	cop_diag diag;
	char *told; /* what was printed of the last runs */
} world;

static void write_data(const world *w, const char *name, size_t rows, size_t classes)
{
	char path[128];
	(void)snprintf(path, sizeof path, "%s/%s.libsvm", w->folder, name);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	for (size_t i = 0; i < rows; i++)
		(void)fprintf(file, "%zu 1:%zu 2:1\n", i % classes, i % 5);
	assert_int_equal(fclose(file), 0);
}

static void remove_data(const world *w, const char *name)
{
	char path[128];
	(void)snprintf(path, sizeof path, "%s/%s.libsvm", w->folder, name);
	assert_int_equal(unlink(path), 0);
}

static int set_up(void **state)
{
	static world w;
	char path[128];
	w = (world){ .folder = "/tmp/test_bakeoff_runs_XXXXXX" };
	threads = SIZE_MAX;
	if (mkdtemp(w.folder) == NULL)
		return 1;
	write_data(&w, "a", ROWS_A, 2);
	write_data(&w, "b", ROWS_B, 3);
	write_data(&w, "alone", 10, 1);
	assert_int_equal(cop_bakeoff_folder_init(&w.data, w.folder, &w.diag), COP_OK);
	assert_int_equal(w.data.count, 3);
	assert_true(cop_bakeoff_settings_add(&w.settings, "one=dgt:height=1,two=dgt:height=2"));
	assert_int_equal(cop_bakeoff_settings_finish(&w.settings, &w.diag), COP_OK);
	(void)snprintf(path, sizeof path, "%s/o.csv", w.folder);
	assert_int_equal(cop_bakeoff_store_open(path, &w.settings, false, &w.store, &w.diag), COP_OK);
	w.entry[0].files = cop_bakeoff_folder_find(&w.data, "a");
	w.entry[1].files = cop_bakeoff_folder_find(&w.data, "b");
	w.entry[2].files = cop_bakeoff_folder_find(&w.data, "alone");
	w.plan = (cop_bakeoff_plan){ .entry = w.entry,
		.count = 2,
		.settings = &w.settings,
		.seeds = SEEDS,
		.jobs = 1,
		.store = &w.store,
		.stop = &w.stop };
	*state = &w;
	return 0;
}

static int tear_down(void **state)
{
	world *w = *state;
	char command[96];
	free(w->told);
	cop_bakeoff_store_close(&w->store);
	cop_bakeoff_folder_fini(&w->data);
	(void)snprintf(command, sizeof command, "rm -rf %s", w->folder);
	return system(command);
}

static cop_err run(world *w)
{
	size_t length;
	free(w->told);
	w->told = NULL;
	w->plan.progress = open_memstream(&w->told, &length);
	assert_non_null(w->plan.progress);
	w->diag.message[0] = '\0';
	created = deaf = 0;
	cop_err err = cop_bakeoff_run(&w->plan, &w->out, &w->diag);
	assert_int_equal(fclose(w->plan.progress), 0);
	return err;
}

static void expect_outcome(const world *w, uint64_t runs, uint64_t done, uint64_t failed)
{
	assert_int_equal(w->out.runs, runs);
	assert_int_equal(w->out.done, done);
	assert_int_equal(w->out.failed, failed);
	assert_false(w->out.stopped);
}

/* Rows of all settings and seeds of the dataset, of so many events. */
static void expect_rows(const world *w, const char *name, uint64_t events, size_t classes)
{
	for (size_t i = 0; i < SETTINGS * SEEDS; i++) {
		const cop_bakeoff_row *row = cop_bakeoff_rows_find(
		        &w->store.rows, name, w->settings.setting[i / SEEDS].name, 1 + i % SEEDS, events);
		assert_non_null(row);
		assert_true(row->features == 2 && row->classes == classes);
		assert_true(row->loss >= 0.0 && row->loss <= 1.0 && row->seconds >= 0.0);
	}
}

static size_t lines_of(const char *text)
{
	size_t count = 0;
	for (; (text = strchr(text, '\n')) != NULL; text++)
		count++;
	return count;
}

static void test_runs_of_one_thread_are_in_order(void **state)
{
	world *w = *state;
	assert_int_equal(run(w), COP_OK);
	expect_outcome(w, 8, 8, 0);
	const char *at = w->told;
	for (size_t i = 0; i < 8; i++) { /* the larger dataset first */
		char expected[64];
		(void)snprintf(expected, sizeof expected, "%zu/8 %s, %s, seed %zu: 0.", i + 1, i < 4 ? "b" : "a",
		        i / 2 % 2 == 0 ? "one" : "two", 1 + i % 2);
		assert_memory_equal(at, expected, strlen(expected));
		at = strchr(at, '\n') + 1;
	}
	assert_int_equal(*at, '\0');
	assert_true(w->entry[0].events == ROWS_A && w->entry[1].events == ROWS_B);
	expect_rows(w, "a", ROWS_A, 2);
	expect_rows(w, "b", ROWS_B, 3);
	assert_int_equal(w->store.rows.count, 8);
	assert_true(w->store.points.count >= 8);
	const cop_bakeoff_point *last = &w->store.points.point[w->store.points.count - 1];
	assert_string_equal(last->dataset, "a");
	assert_string_equal(last->setting, "two");
	assert_true(last->seed == 2 && last->events == ROWS_A && last->at == ROWS_A);
	assert_true(last->loss == cop_bakeoff_rows_find(&w->store.rows, "a", "two", 2, ROWS_A)->loss);
}

static void test_runs_that_have_rows_are_not_run_again(void **state)
{
	world *w = *state;
	assert_int_equal(run(w), COP_OK);
	assert_int_equal(run(w), COP_OK);
	expect_outcome(w, 8, 8, 0);
	assert_string_equal(w->told, "");
	assert_int_equal(w->store.rows.count, 8);
	w->store.rows.count = 7; /* the last one is not there */
	assert_int_equal(run(w), COP_OK);
	expect_outcome(w, 8, 8, 0);
	assert_int_equal(lines_of(w->told), 1);
	assert_memory_equal(w->told, "8/8 a, two, seed 2: ", 20);
}

/* Of a dataset whose runs are all there by their limit the files are not even looked at. */
static void test_limit_of_events_saves_loading(void **state)
{
	world *w = *state;
	w->entry[0].most = 10;
	w->entry[1].most = ROWS_B + 5; /* more than there are */
	assert_int_equal(run(w), COP_OK);
	expect_outcome(w, 8, 8, 0);
	assert_true(w->entry[0].events == 10 && w->entry[1].events == ROWS_B);
	expect_rows(w, "a", 10, 2);
	expect_rows(w, "b", ROWS_B, 3);
	remove_data(w, "a");
	w->entry[0].events = 0;
	assert_int_equal(run(w), COP_OK);
	expect_outcome(w, 8, 8, 0);
	assert_int_equal(w->entry[0].events, 10);
	remove_data(w, "b"); /* its limit is none */
	assert_int_equal(run(w), COP_OK);
	expect_outcome(w, 8, 4, 4);
}

static void test_runs_of_several_threads_are_the_same(void **state)
{
	world *w = *state;
	assert_int_equal(run(w), COP_OK);
	assert_int_equal(created, 1);
	double losses[8];
	for (size_t i = 0; i < 8; i++)
		losses[i] = w->store.rows.row[i].loss;
	w->store.rows.count = w->store.points.count = 0;
	w->plan.jobs = 3;
	assert_int_equal(run(w), COP_OK);
	assert_int_equal(created, 3);
	assert_int_equal(deaf, 3); /* signals are the first thread's */
	sigset_t blocked;
	assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &blocked), 0);
	assert_int_equal(sigismember(&blocked, SIGINT), 0);
	expect_outcome(w, 8, 8, 0);
	assert_int_equal(lines_of(w->told), 8);
	for (size_t i = 0; i < 8; i++)
		assert_true(cop_bakeoff_rows_find(&w->store.rows, i < 4 ? "b" : "a", i / 2 % 2 == 0 ? "one" : "two",
		                    1 + i % 2, i < 4 ? ROWS_B : ROWS_A)
		                    ->loss == losses[i]);
	w->plan.jobs = 100; /* no more than there are runs */
	assert_int_equal(run(w), COP_OK);
	assert_int_equal(created, 8);
}

static void test_largest_dataset_is_first_in_any_order(void **state)
{
	world *w = *state;
	cop_bakeoff_entry first = w->entry[0];
	w->entry[0] = w->entry[1];
	w->entry[1] = first;
	assert_int_equal(run(w), COP_OK);
	expect_outcome(w, 8, 8, 0);
	assert_memory_equal(w->told, "1/8 b, one, seed 1: ", 20);
}

static void test_classes_are_ranked_without_a_file_of_items(void **state)
{
	world *w = *state;
	w->settings.count = 0;
	assert_true(cop_bakeoff_settings_add(&w->settings, "one=rank:trees=0"));
	assert_int_equal(run(w), COP_OK);
	expect_outcome(w, 4, 4, 0);
}

static void test_dataset_without_classes_is_left_out_or_fails(void **state)
{
	world *w = *state;
	w->plan.count = 3;
	assert_int_equal(run(w), COP_OK); /* it was asked for by name */
	expect_outcome(w, 12, 8, 4);
	assert_true(!w->entry[2].left_out && w->entry[2].events == 0);
	w->plan.found = true;
	assert_int_equal(run(w), COP_OK);
	expect_outcome(w, 8, 8, 0);
	assert_true(w->entry[2].left_out && !w->entry[0].left_out && !w->entry[1].left_out);
}

static void test_stop_begins_nothing(void **state)
{
	world *w = *state;
	w->stop = 1;
	assert_int_equal(run(w), COP_OK);
	assert_true(w->out.stopped && w->out.runs == 8 && w->out.done == 0 && w->out.failed == 0);
	assert_true(w->entry[0].events == 0 && w->entry[1].events == 0);
	assert_string_equal(w->told, "");
}

static void test_rows_that_cannot_be_written_end_it(void **state)
{
	world *w = *state;
	(void)close(w->store.curves);
	w->store.curves = open("/dev/full", O_WRONLY | O_CLOEXEC);
	assert_true(w->store.curves >= 0);
	assert_int_equal(run(w), COP_EIO);
	expect_outcome(w, 8, 0, 0);
	assert_true(w->diag.message[0] != '\0');
	assert_int_equal(w->entry[0].events, 0); /* was not begun */
	assert_string_equal(w->told, "");
}

static void test_threads_that_cannot_be_started_are_done_without(void **state)
{
	world *w = *state;
	w->plan.jobs = 4;
	threads = 0;
	assert_int_equal(run(w), COP_ENOMEM);
	assert_string_equal(w->diag.message, cop_err_text(COP_ENOMEM));
	expect_outcome(w, 8, 0, 0);
	threads = 1;
	assert_int_equal(run(w), COP_OK);
	expect_outcome(w, 8, 8, 0);
}

static void test_plan_without_memory_is_not_run(void **state)
{
	world *w = *state;
	for (unsigned long n = 1; n <= 4; n++) { /* datasets, the runs of each, threads */
		cop_test_alloc_fail(n, 0);
		cop_err err = cop_bakeoff_run(&w->plan, &w->out, &w->diag);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err, COP_ENOMEM);
		assert_string_equal(w->diag.message, cop_err_text(COP_ENOMEM));
		assert_true(w->out.done == 0 && w->out.failed == 0);
	}
}

static void test_plan_without_datasets_has_no_runs(void **state)
{
	world *w = *state;
	w->plan.count = 0;
	assert_int_equal(run(w), COP_OK);
	expect_outcome(w, 0, 0, 0);
	assert_int_equal(created, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_runs_of_one_thread_are_in_order),
		TEST(test_runs_that_have_rows_are_not_run_again),
		TEST(test_limit_of_events_saves_loading),
		TEST(test_runs_of_several_threads_are_the_same),
		TEST(test_largest_dataset_is_first_in_any_order),
		TEST(test_classes_are_ranked_without_a_file_of_items),
		TEST(test_dataset_without_classes_is_left_out_or_fails),
		TEST(test_stop_begins_nothing),
		TEST(test_rows_that_cannot_be_written_end_it),
		TEST(test_threads_that_cannot_be_started_are_done_without),
		TEST(test_plan_without_memory_is_not_run),
		TEST(test_plan_without_datasets_has_no_runs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
