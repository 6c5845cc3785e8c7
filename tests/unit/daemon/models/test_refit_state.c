/* What is kept of refits, and the files of challengers. */
#include "daemon/models/refit_state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/durable/challenger.h"
#include "support.h"
#include "tree/tree_build.h"

#define MOST_FED 4096 /* of one look */

static const cop_config_refit enabled = { .enabled = true, .on_drift = COP_DRIFT_ADWIN };

static cop_model *new_model(void)
{
	cop_model_settings settings;
	cop_model *model;
	cop_model_settings_init(&settings);
	settings.learner.features = 2;
	settings.learner.arms = 2;
	settings.loss_low = 10.0;
	settings.loss_high = 20.0;
	assert_int_equal(cop_model_new(&settings, &model, NULL), COP_OK);
	return model;
}

static void learn(cop_model *model, double loss)
{
	static uint64_t id;
	const float x[2] = { 0.5f, 0.25f };
	const cop_row row = { .d = 2, .dense = x };
	const cop_model_logged event = { .x = &row, .arm = id++ & 1, .p = 0.5, .loss = loss, .learn = true };
	cop_policy_view view;
	assert_int_equal(cop_model_take_logged(model, &event, &view), COP_OK);
}

static void test_watch_finds_that_the_loss_rises(void **state)
{
	(void)state;
	cop_model *model = new_model();
	cop_refit_state s;
	cop_refit_state_init(&s);
	cop_refit_state_configure(&s, &enabled);
	for (int i = 0; i < 2000; i++) {
		learn(model, 11.0);
		cop_refit_state_watch(&s, model);
	}
	assert_false(s.controller.drifted);
	for (int i = 0; i < 500; i++) {
		learn(model, 19.0);
		cop_refit_state_watch(&s, model);
	}
	assert_true(s.controller.drifted);
	cop_refit_state_fini(&s);
	cop_model_free(model);
}

static void test_watch_without_detector_finds_nothing(void **state)
{
	(void)state;
	static const cop_config_refit off = { .enabled = false, .on_drift = COP_DRIFT_ADWIN };
	cop_model *model = new_model();
	cop_refit_state s;
	cop_refit_state_init(&s);
	cop_refit_state_configure(&s, &off);
	assert_null(s.controller.detector);
	learn(model, 19.0);
	cop_refit_state_watch(&s, model);
	assert_int_equal(s.controller.seen, 1);
	cop_refit_state_configure(&s, &enabled); /* as a reload does */
	assert_non_null(s.controller.detector);
	cop_refit_state_configure(&s, &off);
	assert_null(s.controller.detector);
	assert_false(cop_refit_state_used(&s));
	cop_refit_state_fini(&s);
	cop_model_free(model);
}

/* The detector is as one that was given the mean of each piece, scaled into [0, 1], once for each loss of it. */
static void test_watch_feeds_the_detector_means_of_scaled_losses(void **state)
{
	(void)state;
	static const unsigned pieces[] = { 1, 2, 3, 7, 1, 999, 1000, 1001, 1500, 1 };
	cop_change_settings settings;
	cop_change *alone;
	cop_model *model = new_model();
	cop_refit_state s;
	double total = 0.0;
	uint64_t count = 0;
	cop_change_defaults(&settings);
	(void)snprintf(settings.detector, sizeof settings.detector, "adwin");
	assert_int_equal(cop_change_new(&settings, &alone), COP_OK);
	cop_refit_state_init(&s);
	cop_refit_state_configure(&s, &enabled);
	for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
		cop_bytes a, b;
		double sum = 0.0;
		for (unsigned j = 0; j < pieces[i]; j++) {
			double loss = 10.0 + (double)((i * 3 + j) % 11);
			learn(model, loss);
			sum += loss;
		}
		cop_refit_state_watch(&s, model);
		cop_refit_state_watch(&s, model); /* nothing was learned since */
		double before = total, mean;
		total = cop_model_get_counters(model)->loss_sum;
		mean = (total - before) / (double)pieces[i];
		assert_true(fabs(mean - sum / (double)pieces[i]) < 1e-9);
		for (unsigned j = 0; j < pieces[i] && j < MOST_FED; j++)
			(void)cop_change_add(alone, (mean - 10.0) / (20.0 - 10.0));
		count += pieces[i];
		assert_int_equal(s.controller.seen, count);
		assert_true(s.controller.seen_sum == total);
		cop_bytes_init(&a);
		cop_bytes_init(&b);
		cop_change_save(s.controller.detector, &a);
		cop_change_save(alone, &b);
		assert_int_equal(a.length, b.length);
		assert_memory_equal(a.data, b.data, a.length);
		cop_bytes_fini(&a);
		cop_bytes_fini(&b);
	}
	cop_change_free(alone);
	cop_refit_state_fini(&s);
	cop_model_free(model);
}

/* Each of what is saved, alone and as little as there may be of it. */
static void test_state_is_used_once_anything_is_kept(void **state)
{
	(void)state;
	for (unsigned what = 0; what < 5; what++) {
		cop_refit_state s;
		cop_refit_state_init(&s);
		assert_false(cop_refit_state_used(&s));
		if (what == 0)
			cop_refit_state_configure(&s, &enabled);
		if (what == 1)
			s.controller.number = 1;
		if (what == 2)
			s.controller.began = 0.5;
		if (what == 3)
			assert_int_equal(cop_refit_state_need(&s, 1, 1), COP_OK);
		assert_int_equal(cop_refit_state_used(&s), what < 4);
		cop_refit_state_fini(&s);
	}
}

static void test_release_leaves_those_of_later_records(void **state)
{
	(void)state;
	for (uint64_t from = 0; from <= 7; from++) {
		cop_refit_state s;
		cop_refit_state_init(&s);
		for (uint64_t i = 1; i <= 5; i++)
			assert_int_equal(cop_refit_state_need(&s, i, 10 + i), COP_OK);
		cop_refit_state_release(&s, from);
		uint64_t first = from == 0 ? 1 : from;
		assert_int_equal(s.needs, first > 5 ? 0 : 6 - first);
		for (size_t i = 0; i < s.needs; i++)
			assert_true(s.need[i].sequence == first + i && s.need[i].number == 10 + first + i);
		cop_refit_state_fini(&s);
	}
}

/* One mark before the window is kept, and all in it. */
static void test_marks_before_the_last_before_the_window_go(void **state)
{
	(void)state;
	cop_refit_state s;
	cop_refit_state_init(&s);
	for (uint64_t i = 0; i < 50; i++) {
		cop_refit_state_mark(&s, 1000 + i, 10 * i, 30);
		cop_refit_state_mark(&s, 2000 + i, 10 * i, 30); /* no decision since: not another one */
		size_t kept = i < 3 ? (size_t)i + 1 : 4;        /* the mark that began now is in the window */
		assert_int_equal(s.marks, kept);
		for (size_t j = 0; j < kept; j++) {
			assert_int_equal(s.mark[j].decisions, 10 * (i + 1 - kept + j));
			assert_int_equal(s.mark[j].next, 1000 + i + 1 - kept + j);
		}
	}
	cop_refit_state_fini(&s);
	cop_refit_state_init(&s);
	for (uint64_t i = 0; i <= COP_REFIT_STATE_MARKS; i++)
		cop_refit_state_mark(&s, 1 + i, i, UINT64_MAX);
	assert_int_equal(s.marks, COP_REFIT_STATE_MARKS / 2 + 1); /* every other one */
	for (size_t i = 0; i + 1 < s.marks; i++)
		assert_int_equal(s.mark[i].decisions, 2 * i);
	assert_int_equal(s.mark[s.marks - 1].decisions, COP_REFIT_STATE_MARKS);
	cop_refit_state_fini(&s);
}

/* A number of challengers that cannot be there is refused before anything is allocated for them. */
static void test_state_of_too_many_needs_is_refused(void **state)
{
	(void)state;
	static const uint64_t counts[] = { 2, 100, UINT64_C(1) << 20, UINT64_C(1) << 60, UINT64_MAX };
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		cop_refit_state s, back;
		cop_bytes bytes;
		cop_cursor cursor;
		cop_refit_state_init(&s);
		cop_refit_state_init(&back);
		cop_bytes_init(&bytes);
		cop_refit_state_save(&s, &bytes); /* none, no marks, no detector: 8, 8 and 1 bytes at the end */
		for (size_t j = 0; j < 8; j++)
			bytes.data[bytes.length - 17 + j] = (uint8_t)(counts[i] >> 8 * j);
		cop_cursor_init(&cursor, bytes.data, bytes.length);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(cop_refit_state_load(&back, &cursor), COP_EFORMAT);
		assert_int_equal(cop_test_alloc_count(), 0);
		cop_bytes_fini(&bytes);
		cop_refit_state_fini(&s);
	}
}

static void test_detector_is_the_configured_one(void **state)
{
	(void)state;
	static const char *const names[] = { NULL, "adwin", "page-hinkley" };
	cop_refit_state s;
	cop_refit_state_init(&s);
	for (int round = 0; round < 2; round++)
		for (int kind = COP_DRIFT_NONE; kind <= COP_DRIFT_PAGE_HINKLEY; kind++) {
			cop_config_refit config = { .enabled = true, .on_drift = (cop_config_drift)kind };
			cop_refit_state_configure(&s, &config);
			if (names[kind] == NULL) {
				assert_null(s.controller.detector);
				continue;
			}
			assert_non_null(s.controller.detector);
			assert_string_equal(cop_change_settings_of(s.controller.detector)->detector, names[kind]);
		}
	cop_refit_state_fini(&s);
}

static void test_challengers_are_needed_until_released(void **state)
{
	(void)state;
	cop_refit_state s;
	cop_refit_state_init(&s);
	for (uint64_t i = 1; i <= 5; i++)
		assert_int_equal(cop_refit_state_need(&s, 100 * i, i), COP_OK);
	s.controller.current = 2;
	cop_refit_state_release(&s, 300);
	assert_false(cop_refit_state_needs(&s, 1));
	assert_true(cop_refit_state_needs(&s, 2)); /* it is there */
	assert_true(cop_refit_state_needs(&s, 3) && cop_refit_state_needs(&s, 5));
	assert_false(cop_refit_state_needs(&s, 6));
	cop_refit_state_release(&s, UINT64_MAX);
	assert_int_equal(s.needs, 0);
	cop_refit_state_fini(&s);
}

static void test_window_begins_at_a_mark_before_it(void **state)
{
	(void)state;
	const uint64_t window = 1000;
	cop_refit_state s;
	cop_refit_state_init(&s);
	assert_int_equal(cop_refit_state_window(&s, 5000, window), 0);
	for (uint64_t i = 0; i < 1000; i++) { /* two records a decision, a mark each 100 decisions */
		cop_refit_state_mark(&s, 1 + 200 * i, 100 * i, window);
		uint64_t from = cop_refit_state_window(&s, 100 * i, window);
		uint64_t exact = 100 * i > window ? 1 + 2 * (100 * i - window) : 1;
		assert_int_equal(from, exact);
	}
	assert_true(s.marks <= 12);
	for (uint64_t i = 1; i < 1000; i++) /* many marks in a window: thinned, never beyond its beginning */
		cop_refit_state_mark(&s, 200000 + i, 100000 + i, 100000);
	assert_true(s.marks <= COP_REFIT_STATE_MARKS);
	assert_true(cop_refit_state_window(&s, 101000, 900) <= 200000 + 100);
	cop_refit_state_fini(&s);
}

static void fill(cop_refit_state *s)
{
	cop_refit_state_init(s);
	cop_refit_state_configure(s, &enabled);
	s->controller.learned = 1;
	s->controller.after = 2;
	s->controller.began = 3.5;
	s->controller.spent = 12.25;
	s->controller.number = 4;
	s->controller.current = 5;
	s->controller.taken = 6;
	s->controller.drifted = true;
	assert_int_equal(cop_refit_state_need(s, 7, 8), COP_OK);
	cop_refit_state_mark(s, 9, 10, 1000);
}

static void save_filled(cop_refit_state *s, cop_bytes *bytes)
{
	fill(s);
	cop_bytes_init(bytes);
	cop_refit_state_save(s, bytes);
}

static void test_state_comes_back_and_damage_is_refused(void **state)
{
	(void)state;
	cop_refit_state s, back;
	cop_bytes bytes;
	cop_cursor cursor;
	save_filled(&s, &bytes);
	cop_refit_state_init(&back);
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	assert_int_equal(cop_refit_state_load(&back, &cursor), COP_OK);
	assert_int_equal(cop_cursor_left(&cursor), 0);
	assert_true(back.controller.learned == 1 && back.controller.after == 2 && back.controller.began == 3.5 &&
	            back.controller.spent == 12.25 && back.controller.number == 4 && back.controller.current == 5);
	assert_true(
	        back.controller.taken == 6 && back.controller.drifted && back.needs == 1 && back.need[0].number == 8);
	assert_true(back.marks == 1 && back.mark[0].next == 9 && back.controller.detector != NULL);
	for (size_t length = 0; length < bytes.length; length++) {
		cop_cursor_init(&cursor, bytes.data, length);
		assert_int_not_equal(cop_refit_state_load(&back, &cursor), COP_OK);
		assert_false(cop_refit_state_used(&back));
	}
	cop_refit_state_fini(&s);
	cop_bytes_fini(&bytes);
}

/* More marks than there may be: refused for their number alone, as none of them follows. */
static void test_state_of_too_many_marks_is_refused(void **state)
{
	(void)state;
	cop_refit_state s, back;
	cop_bytes bytes;
	cop_cursor cursor;
	cop_refit_state_init(&s);
	cop_refit_state_init(&back);
	for (uint8_t count = 0; count < 2; count++) {
		cop_bytes_init(&bytes);
		cop_refit_state_save(&s, &bytes); /* no marks, no detector */
		bytes.data[bytes.length - 9] = count == 0 ? 0 : COP_REFIT_STATE_MARKS + 1;
		cop_cursor_init(&cursor, bytes.data, bytes.length);
		assert_int_equal(cop_refit_state_load(&back, &cursor), count == 0 ? COP_OK : COP_EFORMAT);
		cop_bytes_fini(&bytes);
	}
	cop_refit_state_fini(&s);
	cop_refit_state_fini(&back);
}

static void test_state_short_of_memory_is_as_new(void **state)
{
	(void)state;
	cop_refit_state s, back;
	cop_bytes bytes;
	save_filled(&s, &bytes);
	cop_refit_state_init(&back);
	for (size_t n = 1;; n++) {
		cop_cursor cursor;
		cop_cursor_init(&cursor, bytes.data, bytes.length);
		cop_test_alloc_fail(n, 1);
		cop_err err = cop_refit_state_load(&back, &cursor);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		if (err == COP_OK)
			break;
		assert_int_equal(err, COP_ENOMEM);
		assert_false(cop_refit_state_used(&back));
	}
	cop_refit_state_fini(&back);
	cop_refit_state_fini(&s);
	cop_bytes_fini(&bytes);
}

static void make_body(cop_bytes *body, float value)
{
	cop_tree_build *build;
	cop_tree *tree;
	cop_trees *trees;
	const float leaf[2] = { value, 1.0f - value };
	assert_int_equal(cop_tree_build_new(3, 2, COP_TREE_VALUES, &build), COP_OK);
	int32_t root = cop_tree_build_constant(build, leaf);
	assert_int_equal(cop_tree_build_finish(build, root, &tree), COP_OK);
	cop_tree_build_free(build);
	assert_int_equal(cop_trees_new(COP_TREES_MEAN, 1, &tree, NULL, NULL, &trees), COP_OK);
	cop_bytes_init(body);
	size_t file = cop_section_file_begin(body);
	cop_trees_save(trees, body);
	cop_section_file_end(body, file);
	cop_trees_free(trees);
}

static bool only_two(const void *context, uint64_t number)
{
	(void)context;
	return number == 2;
}

static void test_challenger_files_are_kept_as_needed(void **state)
{
	(void)state;
	char folder[] = "/tmp/cop-test-XXXXXX", command[64];
	cop_trees *trees;
	cop_bytes body;
	uint64_t number;
	uint32_t crc, other;
	cop_challenger_pruned pruned;
	assert_non_null(mkdtemp(folder));
	assert_int_equal(cop_challenger_newest(folder, "m", &number, NULL), COP_OK);
	assert_int_equal(number, 0);
	assert_int_equal(cop_challenger_read(folder, "m", 1, &trees, &crc, NULL), COP_ENOTFOUND);
	for (uint64_t i = 1; i <= 5; i++) {
		make_body(&body, 0.1f * (float)i);
		assert_int_equal(cop_challenger_write(folder, "m", i, &body, NULL), COP_OK);
		assert_int_equal(cop_challenger_write(folder, "m.x", i, &body, NULL), COP_OK); /* another's */
		cop_bytes_fini(&body);
	}
	assert_int_equal(cop_challenger_newest(folder, "m", &number, NULL), COP_OK);
	assert_int_equal(number, 5);
	assert_int_equal(cop_challenger_read(folder, "m", 2, &trees, &crc, NULL), COP_OK);
	assert_int_equal(cop_trees_outputs(trees), 2);
	cop_trees_free(trees);
	assert_int_equal(cop_challenger_read(folder, "m", 3, &trees, &other, NULL), COP_OK);
	assert_int_not_equal(crc, other);
	cop_trees_free(trees);
	assert_int_equal(cop_challenger_prune(folder, "m", 1, only_two, NULL, &pruned, NULL), COP_OK);
	assert_int_equal(pruned.removed, 3);
	assert_true(pruned.held > 0); /* of number 2, as 5 is the newest */
	assert_int_equal(cop_challenger_prune(folder, "m", 2, only_two, NULL, &pruned, NULL), COP_OK);
	assert_true(pruned.removed == 0 && pruned.held == 0);
	assert_int_equal(cop_challenger_read(folder, "m", 1, &trees, &crc, NULL), COP_ENOTFOUND);
	assert_int_equal(cop_challenger_read(folder, "m", 2, &trees, &crc, NULL), COP_OK);
	cop_trees_free(trees);
	assert_int_equal(cop_challenger_read(folder, "m.x", 1, &trees, &crc, NULL), COP_OK);
	cop_trees_free(trees);
	(void)snprintf(command, sizeof command, "rm -r %s", folder);
	assert_int_equal(system(command), 0);
}

static void test_challenger_file_without_trees_is_refused(void **state)
{
	(void)state;
	char folder[] = "/tmp/cop-test-XXXXXX", command[64];
	cop_trees *trees;
	cop_bytes body;
	uint32_t crc;
	cop_diag why;
	assert_non_null(mkdtemp(folder));
	cop_bytes_init(&body);
	size_t file = cop_section_file_begin(&body);
	cop_section_file_end(&body, file);
	assert_int_equal(cop_challenger_write(folder, "m", 1, &body, NULL), COP_OK);
	assert_int_equal(cop_challenger_read(folder, "m", 1, &trees, &crc, &why), COP_EFORMAT);
	assert_null(trees);
	assert_int_equal(cop_challenger_write("/nonexistent/folder", "m", 1, &body, &why), COP_EIO);
	cop_bytes_fini(&body);
	(void)snprintf(command, sizeof command, "rm -r %s", folder);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_watch_finds_that_the_loss_rises),
		cmocka_unit_test(test_watch_without_detector_finds_nothing),
		cmocka_unit_test(test_watch_feeds_the_detector_means_of_scaled_losses),
		cmocka_unit_test(test_state_is_used_once_anything_is_kept),
		cmocka_unit_test(test_release_leaves_those_of_later_records),
		cmocka_unit_test(test_marks_before_the_last_before_the_window_go),
		cmocka_unit_test(test_state_of_too_many_needs_is_refused),
		cmocka_unit_test(test_detector_is_the_configured_one),
		cmocka_unit_test(test_challengers_are_needed_until_released),
		cmocka_unit_test(test_window_begins_at_a_mark_before_it),
		cmocka_unit_test(test_state_comes_back_and_damage_is_refused),
		cmocka_unit_test(test_state_of_too_many_marks_is_refused),
		cmocka_unit_test(test_state_short_of_memory_is_as_new),
		cmocka_unit_test(test_challenger_files_are_kept_as_needed),
		cmocka_unit_test(test_challenger_file_without_trees_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
