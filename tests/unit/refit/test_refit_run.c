/* Refits as runs: evidence, windows, bounds, damage, progress, short memory. */
#include "support.h"

#include <dirent.h>

#include "refit_fixture.h"

static cop_err run(const cop_refit_settings *set, cop_refit_report *report, cop_diag *diag)
{
	cop_trees *trees;
	cop_err err = cop_refit_run(set, folder, NULL, NULL, NULL, report, &trees, diag);
	assert_true((err == COP_OK) == (trees != NULL));
	if (err != COP_OK)
		assert_true(diag == NULL || diag->message[0] != '\0');
	cop_trees_free(trees);
	return err;
}

static void test_without_new_evidence_nothing_is_done(void **state)
{
	(void)state;
	cop_refit_settings set = quick();
	cop_refit_report report, again;
	cop_diag diag;
	world w = plain_world;
	w.events = 300;
	(void)write_arms(&w);
	assert_int_equal(run(&set, &report, &diag), COP_OK);
	set.after = report.learned;
	assert_int_equal(run(&set, &again, &diag), COP_EEND);
	assert_non_null(strstr(diag.message, "nothing was answered"));
	assert_true(again.learned == report.learned && again.leaves == 0 && !again.stopped);
	set.after--;
	assert_int_equal(run(&set, &again, &diag), COP_OK);
	set.least = report.fitted.answered + report.judged.answered;
	assert_int_equal(run(&set, &again, &diag), COP_OK);
	set.least++;
	assert_int_equal(run(&set, &again, &diag), COP_EEND);
	assert_non_null(strstr(diag.message, "expected at least"));
}

static void test_decisions_without_answers_are_no_evidence(void **state)
{
	(void)state;
	const cop_refit_settings set = quick();
	cop_refit_report report;
	cop_diag diag;
	world w = plain_world;
	w.events = 200;
	w.answered = 0.0;
	(void)write_arms(&w);
	assert_int_equal(run(&set, &report, &diag), COP_EEND);
	assert_true(report.fitted.events == 160 && report.fitted.answered == 0 && report.learned == 0);
}

static void test_records_beyond_the_last_allowed_are_not_there_yet(void **state)
{
	(void)state;
	cop_refit_settings set = quick();
	cop_refit_report report;
	cop_diag diag;
	world w = plain_world;
	w.events = 300;
	(void)write_arms(&w);
	assert_int_equal(run(&set, &report, &diag), COP_OK);
	uint64_t all = report.learned, events = report.fitted.events + report.judged.events;
	set.until = all / 2;
	assert_int_equal(run(&set, &report, &diag), COP_OK);
	assert_true(report.learned <= set.until && report.learned > 0 && report.judged.last <= set.until);
	assert_true(report.fitted.events + report.judged.events < events);
	set.after = report.learned;
	assert_int_equal(run(&set, &report, &diag), COP_EEND);
	set.until = all;
	assert_int_equal(run(&set, &report, &diag), COP_OK);
	assert_int_equal(report.learned, all);
}

/* Answers come long after their decisions and in the opposite order. */
static void test_window_is_of_the_newest_decisions(void **state)
{
	(void)state;
	book b;
	cop_refit_settings set = quick();
	cop_refit_report report;
	float room[FEATURES];
	const cop_wire_model model = told("m");
	const size_t events = 1000;
	open_book(&b, 1, &model, 1);
	for (uint64_t id = 0; id < events; id++) {
		cop_wire_record r = decision_of("m", 1.0, id, room);
		r.p = 0.25;
		put(&b, COP_WIRE_RECORD_DECISION, &r);
	}
	for (uint64_t id = events; id-- > 0;)
		if (id % 3 != 0)
			put_feedback(&b, 2.0, id, (double)(id % 2), COP_WIRE_APPLIED);
	close_book(&b);
	set.window = 301;
	set.holdout = 0.1;
	assert_int_equal(run(&set, &report, NULL), COP_OK);
	assert_int_equal(report.fitted.events, 270);
	assert_int_equal(report.judged.events, 31);
	assert_int_equal(report.judged.last, events);
	assert_int_equal(report.judged.first, events - 30);
	assert_int_equal(report.fitted.last, events - 31);
	assert_int_equal(report.fitted.first, events - 300);
	assert_int_equal(report.fitted.answered, 180);
	assert_int_equal(report.learned, events + report.fitted.answered + report.judged.answered);
	assert_true(report.learned < b.next - 1);
}

static void test_alpha_given_is_taken(void **state)
{
	(void)state;
	cop_refit_settings set = quick();
	cop_refit_report report;
	world w = plain_world;
	w.events = 300;
	(void)write_arms(&w);
	assert_int_equal(run(&set, &report, NULL), COP_OK);
	assert_int_equal(report.tried, COP_REFIT_PATH);
	for (size_t i = 0; i < COP_REFIT_PATH; i++)
		assert_true(report.tried_value[i] > 0.0 && report.tried_value[i] < 1.0);
	set.alpha = 0.25;
	assert_int_equal(run(&set, &report, NULL), COP_OK);
	assert_true(report.tried == 0 && report.alpha == 0.25 && report.leaves > 1);
	set.alpha = 1e9;
	assert_int_equal(run(&set, &report, NULL), COP_OK);
	set.holdout = 0.0; /* nothing is judged */
	assert_int_equal(run(&set, &report, NULL), COP_OK);
	assert_true(report.judged.events == 0 && report.summary.verdict == COP_PROMOTION_TEST_OPEN);
}

static void test_memory_is_bounded(void **state)
{
	(void)state;
	cop_refit_settings set = quick();
	cop_refit_report report;
	cop_diag diag;
	world w = plain_world;
	w.events = 300;
	(void)write_arms(&w);
	assert_int_equal(run(&set, &report, &diag), COP_OK);
	set.memory = (size_t)report.memory;
	assert_int_equal(run(&set, &report, &diag), COP_OK);
	set.memory--;
	assert_int_equal(run(&set, &report, &diag), COP_EFULL);
	assert_non_null(strstr(diag.message, "smaller window than 200000, or more memory"));
	set.window = 150;
	assert_int_equal(run(&set, &report, &diag), COP_OK);
	assert_true(report.memory < set.memory);
}

static void test_defaults_are_as_documented(void **state)
{
	(void)state;
	cop_refit_settings s;
	memset(&s, 0xff, sizeof s);
	cop_refit_defaults(&s);
	assert_true(s.method == COP_REFIT_TAO && s.costs == COP_REFIT_DR);
	assert_true(s.model == NULL && s.after == 0 && s.until == 0);
	assert_int_equal(s.window, 200000);
	assert_true(s.holdout == 0.2 && s.validation == 0.2);
	assert_int_equal(s.least, 100);
	assert_int_equal(s.memory, (size_t)1 << 30);
	assert_true(s.clip == 50.0 && s.prior == 10.0 && s.least_p == 0.0);
	assert_int_equal(s.height, 6);
	assert_int_equal(s.iterations, 20);
	assert_true(s.alpha < 0.0);
	assert_true(s.gamma == 0.1 && s.perplexity == 8.0);
	assert_int_equal(s.neighbours, 15);
	assert_int_equal(s.rounds, 10);
	assert_true(s.step == 0.125 && s.trust == 1.0 && s.mix == 0.1);
	assert_int_equal(s.trees, 16);
	assert_int_equal(cop_refit_settings_check(&s, NULL), COP_OK);
}

static void test_wrong_settings_are_refused(void **state)
{
	(void)state;
	cop_diag diag;
	cop_refit_report report;
	for (int i = 0; i < 9; i++) {
		cop_refit_settings set = quick();
		double *const numbers[] = { &set.holdout, &set.clip, &set.alpha, &set.prior, &set.step, &set.mix,
			&set.least_p, &set.validation, &set.promotion.risk };
		*numbers[i] = (double)NAN;
		assert_int_equal(run(&set, &report, &diag), COP_EINVAL);
		assert_non_null(strstr(diag.message, "expected"));
	}
}

static void test_journals_that_cannot_be_read_are_told(void **state)
{
	(void)state;
	cop_refit_settings set = quick();
	cop_refit_report report;
	cop_diag diag;
	float room[FEATURES];
	world w = plain_world;
	w.events = 300;
	(void)write_arms(&w);
	set.model = "other";
	assert_int_equal(run(&set, &report, &diag), COP_ENOTFOUND);
	empty_folder();
	book b; /* whose header does not hold its model */
	open_book(&b, 1, NULL, 0);
	cop_wire_record r = decision_of("m", 1.0, 1, room);
	put(&b, COP_WIRE_RECORD_DECISION, &r);
	close_book(&b);
	set.model = "m";
	assert_int_equal(run(&set, &report, &diag), COP_ENOTFOUND);
	assert_non_null(strstr(diag.message, "model \"m\" is not in the journal"));
}

static void first_segment(char *path, size_t size)
{
	DIR *dir = opendir(folder);
	assert_non_null(dir);
	path[0] = '\0';
	for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
		if (entry->d_name[0] != '.')
			(void)snprintf(path, size, "%s/%.200s", folder, entry->d_name);
	(void)closedir(dir);
	assert_true(path[0] != '\0');
}

static void test_damage_is_passed_on_with_its_place(void **state)
{
	(void)state;
	const cop_refit_settings set = quick();
	cop_refit_report report;
	cop_diag diag = { .message = "" };
	char path[300];
	world w = plain_world;
	w.events = 300;
	(void)write_arms(&w);
	first_segment(path, sizeof path);
	FILE *file = fopen(path, "r+b");
	assert_non_null(file);
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	long middle = ftell(file) / 2;
	assert_int_equal(fseek(file, middle, SEEK_SET), 0);
	int byte = fgetc(file);
	assert_int_equal(fseek(file, middle, SEEK_SET), 0);
	assert_int_equal(fputc(byte ^ 255, file), byte ^ 255);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(run(&set, &report, &diag), COP_EIO);
	assert_string_equal(diag.source, path);
	assert_true(diag.offset > 0 && diag.offset <= (uint64_t)middle);
}

/* Few events, contexts that are all the same, losses that are all the same: there is a tree, and it says losses. */
static void test_poor_windows_give_small_trees(void **state)
{
	(void)state;
	for (size_t events = 3; events < 60; events += 1 + events / 3)
		for (int method = 0; method < COP_REFIT_METHODS; method++) {
			book b;
			cop_refit_settings set = quick();
			cop_refit_report report;
			float x[FEATURES] = { 1.0f, -3.0f, 0.0f };
			const cop_wire_model model = told("m");
			empty_folder();
			open_book(&b, 1, &model, 1);
			for (uint64_t id = 0; id < events; id++) {
				cop_wire_record r = record_of("m", 1.0, id);
				r.x = (cop_row){ .d = FEATURES, .dense = x };
				r.has_x = true;
				r.arms = ARMS;
				r.a = (uint32_t)(id % ARMS);
				r.p = 0.25;
				put(&b, COP_WIRE_RECORD_DECISION, &r);
				put_feedback(&b, 1.0, id, 0.5, COP_WIRE_APPLIED);
			}
			close_book(&b);
			set.least = 2;
			set.method = (cop_refit_method)method;
			cop_trees *trees = refit_with(&set, NULL, NULL, &report);
			for (size_t l = 0; l < report.leaves; l++) {
				float out[ARMS];
				cop_tree_leaf_outputs(cop_trees_at(trees, 0), l, NULL, out);
				for (size_t k = 0; k < ARMS; k++)
					assert_true(fabsf(out[k] - 0.5f) < 1e-3f);
			}
			cop_trees_free(trees);
		}
}

/* Actions that could not be played, and losses that are none, are no events of the window. */
static void test_events_that_make_no_sense_are_passed_over(void **state)
{
	(void)state;
	book b;
	cop_refit_settings set = quick();
	cop_refit_report report;
	float x[FEATURES];
	const uint8_t mask[ARMS] = { 1, 1, 0, 1 };
	const cop_wire_model model = told("m");
	open_book(&b, 1, &model, 1);
	for (uint64_t id = 0; id < 40; id++) {
		cop_wire_record r = decision_of("m", 1.0, id, x);
		r.p = id == 7 ? 1e-300 : 0.25;
		r.mask = mask;
		r.a = id == 3 ? 2 : id % 2 == 0 ? 1 : 3; /* one that may not be played */
		put(&b, COP_WIRE_RECORD_DECISION, &r);
		put_feedback(&b, 1.0, id, (double)(id % 2), COP_WIRE_APPLIED);
	}
	close_book(&b);
	set.least = 2;
	assert_int_equal(run(&set, &report, NULL), COP_OK);
	assert_int_equal(report.passed, 2);
	assert_int_equal(report.fitted.events + report.judged.events, 38);
}

/* ---- settings at their bounds ---- */

#define FIRST_ABOVE(x) nextafter(x, (double)INFINITY)
#define FIRST_BELOW(x) nextafter(x, -(double)INFINITY)

static void test_settings_are_allowed_up_to_their_bounds(void **state)
{
	(void)state;
	cop_refit_settings s;
	cop_diag diag;
#define CHECK(change, expected, name)                                                                                  \
	do {                                                                                                           \
		cop_refit_defaults(&s);                                                                                \
		change;                                                                                                \
		diag.message[0] = '\0';                                                                                \
		assert_int_equal(cop_refit_settings_check(&s, &diag), expected ? COP_OK : COP_EINVAL);                 \
		assert_true(expected || strstr(diag.message, "expected " name) != NULL);                               \
	} while (0)
#define WHOLE(field, low, high)                                                                                        \
	CHECK(s.field = low, true, "");                                                                                \
	CHECK(s.field = low - 1, false, #field);                                                                       \
	CHECK(s.field = high, true, "");                                                                               \
	CHECK(s.field = high + 1, false, #field)
#define NUMBER(field, low, high)                                                                                       \
	CHECK(s.field = low, true, "");                                                                                \
	CHECK(s.field = FIRST_BELOW(low), false, #field);                                                              \
	CHECK(s.field = high, true, "");                                                                               \
	CHECK(s.field = FIRST_ABOVE(high), false, #field)
#define ABOVE(field, low)                                                                                              \
	CHECK(s.field = FIRST_ABOVE(low), true, "");                                                                   \
	CHECK(s.field = low, false, #field);                                                                           \
	CHECK(s.field = (double)INFINITY, false, #field);                                                              \
	CHECK(s.field = (double)NAN, false, #field)
	WHOLE(window, 1, COP_DATASET_MAX_ROWS);
	CHECK(s.least = 2, true, "");
	CHECK(s.least = 1, false, "least");
	WHOLE(height, 1, 20);
	WHOLE(iterations, 1, 999999);
	WHOLE(neighbours, 2, 1000);
	WHOLE(rounds, 1, 1000);
	WHOLE(trees, 1, 256);
	NUMBER(holdout, 0.0, 0.9);
	NUMBER(clip, 1.0, 1e12);
	NUMBER(mix, 0.0, 1.0);
	NUMBER(least_p, 0.0, 1.0);
	ABOVE(prior, 0.0);
	ABOVE(step, 0.0);
	ABOVE(trust, 0.0);
	CHECK(s.validation = FIRST_ABOVE(0.0), true, "");
	CHECK(s.validation = 0.0, false, "validation");
	CHECK(s.validation = 0.9, true, "");
	CHECK(s.validation = FIRST_ABOVE(0.9), false, "validation");
	CHECK(s.gamma = 0.0, true, "");
	CHECK(s.gamma = FIRST_BELOW(0.0), false, "gamma");
	CHECK(s.gamma = (double)INFINITY, false, "gamma");
	CHECK(s.perplexity = 1.0, true, "");
	CHECK(s.perplexity = FIRST_BELOW(1.0), false, "perplexity");
	CHECK(s.perplexity = (double)INFINITY, false, "perplexity");
	CHECK(s.alpha = -(double)INFINITY, false, "alpha");
	CHECK(s.method = COP_REFIT_METHODS - 1, true, "");
	CHECK(s.method = COP_REFIT_METHODS, false, "method");
	CHECK(s.costs = COP_REFIT_COSTS - 1, true, "");
	CHECK(s.costs = COP_REFIT_COSTS, false, "costs");
	CHECK(s.promotion.risk = 0.0, false, "promotion");
}

/* ---- progress ---- */

typedef struct listener {
	size_t told, stop_at; /* stop at this call; 0: never */
	double last;
	bool sane;
} listener;

static bool hear(void *context, double share, const char *text)
{
	listener *l = context;
	l->told++;
	l->sane = l->sane && share >= 0.0 && share <= 1.0 + 1e-9 && text[0] != '\0';
	l->last = share;
	return l->told != l->stop_at;
}

static void test_progress_is_told_and_may_stop_it(void **state)
{
	(void)state;
	const cop_refit_settings set = quick();
	cop_refit_report report;
	world w = plain_world;
	w.events = 5000;
	(void)write_arms(&w);
	listener all = { .sane = true };
	const cop_progress progress = { hear, &all };
	cop_trees *trees;
	assert_int_equal(cop_refit_run(&set, folder, NULL, NULL, &progress, &report, &trees, NULL), COP_OK);
	assert_true(all.sane && all.told > 5 && all.last > 0.7);
	cop_trees_free(trees);
	for (size_t stop = 1; stop <= all.told; stop += 1 + all.told / 12) {
		listener some = { .sane = true, .stop_at = stop };
		const cop_progress stopping = { hear, &some };
		cop_err err = cop_refit_run(&set, folder, NULL, NULL, &stopping, &report, &trees, NULL);
		assert_int_equal(err, stop == 1 ? COP_EEND : COP_OK); /* the first is while it reads */
		assert_true(report.stopped && some.told <= stop + 1);
		cop_trees_free(trees);
	}
}

static void test_short_memory_is_an_error_each_time(void **state)
{
	(void)state;
	world w = plain_world;
	w.events = 52;
	w.answered = 1.0;
	(void)write_arms(&w);
	for (int method = 0; method < COP_REFIT_METHODS; method++) {
		cop_refit_settings set = quick();
		cop_refit_report report;
		unsigned long n = 0;
		bool reached;
		cop_err err;
		set.least = 10;
		set.height = 1;
		set.iterations = 2;
		set.rounds = 2;
		set.validation = 0.5;
		set.method = (cop_refit_method)method;
		set.alpha = method == 0 ? -1.0 : 0.1;
		do {
			cop_diag diag = { .message = "" };
			cop_test_alloc_fail(++n, 0);
			err = run(&set, &report, &diag);
			reached = cop_test_alloc_count() >= n;
			cop_test_alloc_fail(0, 0);
			assert_int_equal(err != COP_OK, cop_test_alloc_failed());
			if (err != COP_OK)
				assert_int_equal(err, COP_ENOMEM);
			else
				assert_false(reached); /* none that failed went by unseen */
		} while (err != COP_OK);
		assert_true(n > 50 && report.tried == (method == 0 ? COP_REFIT_PATH : 0));
	}
}

static void test_defaults_are_those_that_the_documents_name(void **state)
{
	(void)state;
	cop_refit_settings s;
	cop_refit_defaults(&s);
	assert_true(s.method == COP_REFIT_TAO && s.costs == COP_REFIT_DR && s.window == 200000 && s.holdout == 0.2);
	assert_true(s.least == 100 && s.memory == (size_t)1 << 30 && s.clip == 50.0 && s.height == 6);
	assert_true(s.iterations == 20 && s.alpha == -1.0 && s.validation == 0.2 && s.prior == 10.0);
	assert_true(s.gamma == 0.1 && s.neighbours == 15 && s.perplexity == 8.0 && s.rounds == 10);
	assert_true(s.step == 0.125 && s.trust == 1.0 && s.mix == 0.1 && s.trees == 16 && s.least_p == 0.0);
	assert_true(s.promotion.estimator == COP_PROMOTION_TEST_DR && s.promotion.risk == 0.05);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_defaults_are_those_that_the_documents_name),
		TEST(test_without_new_evidence_nothing_is_done),
		TEST(test_decisions_without_answers_are_no_evidence),
		TEST(test_records_beyond_the_last_allowed_are_not_there_yet),
		TEST(test_window_is_of_the_newest_decisions),
		TEST(test_alpha_given_is_taken),
		TEST(test_memory_is_bounded),
		TEST(test_defaults_are_as_documented),
		TEST(test_wrong_settings_are_refused),
		TEST(test_journals_that_cannot_be_read_are_told),
		TEST(test_damage_is_passed_on_with_its_place),
		TEST(test_poor_windows_give_small_trees),
		TEST(test_events_that_make_no_sense_are_passed_over),
		TEST(test_settings_are_allowed_up_to_their_bounds),
		TEST(test_progress_is_told_and_may_stop_it),
		TEST(test_short_memory_is_an_error_each_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
