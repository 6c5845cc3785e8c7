/* What is found in a bandit log by reading it. */
#include "tools/replay/replay_scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

typedef struct world {
	char path[64];
	cop_replay_options options;
	volatile sig_atomic_t stop;
	cop_feature_space *space;
	cop_replay_shape shape;
	cop_diag diag;
} world;

static void write_text(world *w, const char *text)
{
	FILE *file = fopen(w->path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static cop_err scan(world *w, uint64_t most)
{
	cop_feature_space_free(w->space);
	w->space = NULL;
	w->diag.message[0] = '\0';
	return cop_replay_scan(&w->options, most, &w->stop, &w->space, &w->shape, &w->diag);
}

static int set_up(void **state)
{
	static world w;
	w = (world){ .path = "/tmp/test_replay_scan_XXXXXX" };
	int file = mkstemp(w.path);
	if (file < 0)
		return 1;
	(void)close(file);
	cop_reader_options_init(&w.options.reader, "replay");
	w.options.path = w.path;
	w.options.reader.format = "vw";
	*state = &w;
	return 0;
}

static int tear_down(void **state)
{
	world *w = *state;
	cop_feature_space_free(w->space);
	return unlink(w->path);
}

static void test_arms_are_the_largest_of_labels_and_masks(void **state)
{
	world *w = *state;
	write_text(w, "2:0.5:0.5 |x a\n|x b\n1:0.5:0.5 |x c\n");
	assert_int_equal(scan(w, 0), COP_OK);
	assert_true(w->shape.whole && w->shape.events == 3 && w->shape.labelled == 2);
	assert_true(w->shape.arms == 2 && w->shape.candidates == 0 && w->shape.candidate_columns == 0);
	assert_false(w->shape.values);
	write_text(w, "2:0.5:0.5 5 |x a\n3:0.5:0.5 |x a\n");
	assert_int_equal(scan(w, 0), COP_OK);
	assert_int_equal(w->shape.arms, 5);
	write_text(w, "7:0.5:0.5 5 |x a\n");
	assert_int_equal(scan(w, 0), COP_OK);
	assert_int_equal(w->shape.arms, 7);
	assert_int_equal(scan(w, 1), COP_OK); /* whether there is more is not known */
	assert_true(!w->shape.whole && w->shape.events == 1);
}

static void test_costs_are_a_range(void **state)
{
	static const struct {
		const char *log;
		double low, high;
	} cases[] = {
		{ "1:0.25:0.5 |x a\n1:0.5:0.5 |x a\n", 0.0, 1.0 },
		{ "1:0:0.5 |x a\n1:1:0.5 |x a\n", 0.0, 1.0 },
		{ "1:-0.5:0.5 |x a\n1:0.5:0.5 |x a\n", -0.5, 0.5 },
		{ "1:0.25:0.5 |x a\n1:1.5:0.5 |x a\n1:1:0.5 |x a\n", 0.25, 1.5 },
		{ "1:3:0.5 |x a\n1:7:0.5 |x a\n1:5:0.5 |x a\n", 3.0, 7.0 },
		{ "|x a\n", 0.0, 1.0 },
	};
	world *w = *state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		write_text(w, cases[i].log);
		assert_int_equal(scan(w, 0), COP_OK);
		assert_true(w->shape.low == cases[i].low && w->shape.high == cases[i].high);
	}
}

static void test_most_is_where_reading_ends(void **state)
{
	world *w = *state;
	write_text(w, "1:0.5:0.5 |x a\n2:0.5:0.5 |x a\n3:2:0.5 |x a\n");
	assert_int_equal(scan(w, 2), COP_OK);
	assert_true(!w->shape.whole && w->shape.events == 2 && w->shape.arms == 2 && w->shape.high == 1.0);
	assert_int_equal(scan(w, 3), COP_OK);
	assert_true(!w->shape.whole && w->shape.events == 3 && w->shape.arms == 3 && w->shape.high == 2.0);
	assert_int_equal(scan(w, 4), COP_OK);
	assert_true(w->shape.whole && w->shape.events == 3);
}

static void test_candidates_are_counted_and_hashed(void **state)
{
	world *w = *state;
	write_text(w, "shared |x a b c\n0:0.5:0.5 |y d\n|y e\n\nshared |x a\n|y d e f g h\n0:0.5:0.5 |y e\n|y f\n\n"
	              "shared |x a\n0:0.5:0.5 |y d\n\n");
	assert_int_equal(scan(w, 0), COP_OK);
	assert_true(w->shape.events == 3 && w->shape.arms == 0 && w->shape.candidates == 3);
	assert_true(!cop_feature_space_is_dense(w->space) && w->shape.entries == 5);
	assert_int_equal(cop_feature_space_dimension(w->space), (size_t)1 << COP_REPLAY_LEAST_BITS);
}

/* Events of two features each: one of all, and one of `names` in turn. */
static void write_names(world *w, size_t events, size_t names)
{
	FILE *file = fopen(w->path, "w");
	assert_non_null(file);
	for (size_t i = 0; i < events; i++)
		(void)fprintf(file, "1:0.5:0.5 |x every:1 n%zu:1\n", i % names);
	assert_int_equal(fclose(file), 0);
}

static void test_many_names_that_are_mostly_missing_are_hashed(void **state)
{
	world *w = *state;
	write_names(w, 300, 127); /* 128 columns are few enough */
	assert_int_equal(scan(w, 0), COP_OK);
	assert_true(cop_feature_space_is_dense(w->space));
	assert_int_equal(cop_feature_space_dimension(w->space), 128);
	assert_int_equal(w->shape.entries, 128);
	write_names(w, 300, 128);
	assert_int_equal(scan(w, 0), COP_OK);
	assert_false(cop_feature_space_is_dense(w->space));
	assert_int_equal(cop_feature_space_dimension(w->space), 1 << 14);
	assert_true(w->shape.events == 300 && w->shape.entries == 2);
	write_names(w, 300, 255); /* 64 places for each of 256 */
	assert_int_equal(scan(w, 0), COP_OK);
	assert_int_equal(cop_feature_space_dimension(w->space), 1 << 14);
	write_names(w, 300, 256);
	assert_int_equal(scan(w, 0), COP_OK);
	assert_int_equal(cop_feature_space_dimension(w->space), 1 << 15);
	w->options.reader.bits = 10;
	w->options.reader.features = COP_READER_FEATURES_HASHED;
	assert_int_equal(scan(w, 0), COP_OK);
	assert_int_equal(cop_feature_space_dimension(w->space), 1 << 10);
	w->options.reader.bits = 0;
	w->options.reader.features = COP_READER_FEATURES_DENSE; /* whatever suits it */
	assert_int_equal(scan(w, 0), COP_OK);
	assert_true(cop_feature_space_is_dense(w->space) && cop_feature_space_dimension(w->space) == 257);
}

/* All of n names in the first events, one in the others. */
static void write_presence(world *w, size_t names, size_t full, size_t events)
{
	FILE *file = fopen(w->path, "w");
	assert_non_null(file);
	for (size_t i = 0; i < events; i++) {
		(void)fputs("1:0.5:0.5 |x", file);
		for (size_t n = 0; n < (i < full ? names : 0); n++)
			(void)fprintf(file, " n%zu", n);
		(void)fputc('\n', file);
	}
	assert_int_equal(fclose(file), 0);
}

static void test_names_of_half_of_the_events_are_columns(void **state)
{
	world *w = *state;
	write_presence(w, 200, 5, 10);
	assert_int_equal(scan(w, 0), COP_OK);
	assert_true(cop_feature_space_is_dense(w->space) && cop_feature_space_dimension(w->space) == 200);
	write_presence(w, 200, 4, 10);
	assert_int_equal(scan(w, 0), COP_OK);
	assert_false(cop_feature_space_is_dense(w->space));
}

static void test_more_than_4096_names_are_hashed(void **state)
{
	world *w = *state;
	write_presence(w, 4096, 3, 3);
	assert_int_equal(scan(w, 0), COP_OK);
	assert_true(cop_feature_space_is_dense(w->space) && cop_feature_space_dimension(w->space) == 4096);
	write_presence(w, 4097, 3, 3);
	assert_int_equal(scan(w, 0), COP_OK);
	assert_false(cop_feature_space_is_dense(w->space));
	assert_true(w->shape.events == 3 && w->shape.whole && w->shape.entries > 4000);
}

static void test_columns_are_frozen(void **state)
{
	world *w = *state;
	write_text(w, "1:0.5:0.5 |x a b\n1:0.5:0.5 |x c\n");
	assert_int_equal(scan(w, 0), COP_OK);
	size_t columns = cop_feature_space_dimension(w->space);
	assert_int_equal(cop_feature_space_dropped(w->space), 0);
	cop_feature_space_begin(w->space);
	cop_feature_space_put(w->space, "d", 1, 1.0);
	assert_int_equal(cop_feature_space_dimension(w->space), columns);
	assert_int_equal(cop_feature_space_dropped(w->space), 1);
}

static void test_bad_events_end_it_or_are_left_out(void **state)
{
	world *w = *state;
	write_text(w, "1:0.5:0.5 |x a\n1:no:0.5 |x a\n3:0.5:0.5 |x a\n");
	assert_int_equal(scan(w, 0), COP_EFORMAT);
	assert_true(w->diag.line == 2 && w->space == NULL);
	w->options.reader.skip = true;
	assert_int_equal(scan(w, 0), COP_OK);
	assert_true(w->shape.events == 2 && w->shape.arms == 3 && w->shape.whole);
	w->options.path = "/nonexistent/log.vw";
	assert_int_equal(scan(w, 0), COP_ENOTFOUND);
}

static void test_stop_ends_it(void **state)
{
	world *w = *state;
	write_text(w, "1:0.5:0.5 |x a\n");
	w->stop = 1;
	assert_int_equal(scan(w, 0), COP_EEND);
	assert_string_equal(w->diag.message, "interrupted while it was looked at");
	assert_string_equal(w->diag.source, w->path);
	assert_null(w->space);
}

static void test_columns_of_csv_stay_columns(void **state)
{
	world *w = *state;
	FILE *file = fopen(w->path, "w");
	assert_non_null(file);
	for (int i = 0; i < 200; i++)
		(void)fprintf(file, "c%d,", i);
	(void)fputs("action,cost,probability\n", file);
	for (int row = 0; row < 2; row++) {
		for (int i = 0; i < 200; i++)
			(void)fputs("0,", file);
		(void)fprintf(file, "%d,0.5,0.5\n", row);
	}
	assert_int_equal(fclose(file), 0);
	w->options.reader.format = "csv";
	assert_int_equal(scan(w, 0), COP_OK);
	assert_true(cop_feature_space_is_dense(w->space) && cop_feature_space_dimension(w->space) == 200);
	assert_true(w->shape.arms == 2 && w->shape.entries == 200 && w->shape.candidate_columns == 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_arms_are_the_largest_of_labels_and_masks),
		TEST(test_costs_are_a_range),
		TEST(test_most_is_where_reading_ends),
		TEST(test_candidates_are_counted_and_hashed),
		TEST(test_many_names_that_are_mostly_missing_are_hashed),
		TEST(test_names_of_half_of_the_events_are_columns),
		TEST(test_more_than_4096_names_are_hashed),
		TEST(test_columns_are_frozen),
		TEST(test_bad_events_end_it_or_are_left_out),
		TEST(test_stop_ends_it),
		TEST(test_columns_of_csv_stay_columns),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
