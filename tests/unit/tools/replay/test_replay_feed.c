/* Events of small logs on their way to consumers: their order, their bounds, what is passed over, and how it ends. */
#include "tools/replay/replay_feed.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "support.h"
#include "support_lock.h"
#include "tools/replay/replay_options.h"

#define MOST  3 /* consumers, and candidates */
#define BLOCK ((size_t)256 << 10)

/* A log, and what becomes of it. */
typedef struct world {
	char path[64];
	cop_replay_options options;
	cop_replay_feed_settings set;
	volatile sig_atomic_t stop;
	cop_replay_feed *feed;
	unsigned gives_up; /* the consumer that gives up at its second block; MOST: none */
	uint64_t accounted, blocks, per_pass;
	uint64_t seen[MOST]; /* events by each consumer */
	double costs;        /* sum over all events accounted for */
	char mask[4];        /* of the last event, where it is looked at */
} world;

/* Event n of a log costs so much. */
static double cost_of(uint64_t n) { return (double)(n % 100) / 100.0; }

static void write_log(world *w, size_t events, size_t features)
{
	FILE *file = fopen(w->path, "w");
	assert_non_null(file);
	for (size_t n = 0; n < events; n++) {
		(void)fprintf(file, "%zu:%.2f:0.5 |x", 1 + n % 3, cost_of(n));
		for (size_t f = 0; f < features; f++)
			(void)fprintf(file, " f%zu:%zu", f, f + 1);
		(void)fputc('\n', file);
	}
	assert_int_equal(fclose(file), 0);
}

static void write_text(world *w, const char *text)
{
	FILE *file = fopen(w->path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* In order, once all consumers have left their mark in it. */
static void account(void *state, const cop_replay_slot *slot)
{
	world *w = state;
	assert_int_equal(slot->working, 0);
	assert_int_equal(slot->first, w->accounted);
	assert_true(slot->block.count > 0 && slot->block.bytes.length < BLOCK + 4096);
	if (w->per_pass > 0) {
		assert_int_equal(slot->pass, w->accounted / w->per_pass);
		assert_int_equal(slot->first_in_pass, w->accounted % w->per_pass);
	}
	for (size_t i = 0; i < slot->block.count; i++) {
		cop_logged_event event;
		cop_row rows[MOST];
		cop_event_block_get(&slot->block, i, rows, &event);
		assert_true(event.candidates <= MOST);
		w->costs += event.cost;
		for (unsigned c = 0; c < w->set.consumers; c++)
			assert_true(slot->seen[c * slot->block.count + i].target == (double)(w->accounted + i + c));
	}
	w->accounted += slot->block.count;
	w->blocks++;
}

typedef struct consumer {
	world *w;
	unsigned number;
} consumer;

static void *consume(void *argument)
{
	const consumer *c = argument;
	world *w = c->w;
	cop_replay_slot *slot;
	for (unsigned blocks = 0; (slot = cop_replay_feed_next(w->feed, c->number)) != NULL; blocks++) {
		if (c->number == w->gives_up && blocks == 1) {
			cop_replay_feed_give_up(w->feed);
			break;
		}
		for (size_t i = 0; i < slot->block.count; i++)
			slot->seen[c->number * slot->block.count + i].target =
			        (double)(w->seen[c->number] + i + c->number);
		w->seen[c->number] += slot->block.count;
		cop_replay_feed_done(w->feed, c->number);
	}
	return NULL;
}

static cop_err run(world *w, cop_replay_fed *fed, cop_diag *diag)
{
	pthread_t threads[MOST];
	consumer consumers[MOST];
	w->accounted = w->blocks = 0;
	w->costs = 0.0;
	memset(w->seen, 0, sizeof w->seen);
	diag->message[0] = '\0';
	assert_int_equal(cop_replay_feed_new(&w->set, &w->feed), COP_OK);
	for (unsigned c = 0; c < w->set.consumers; c++) {
		consumers[c] = (consumer){ w, c };
		assert_int_equal(pthread_create(&threads[c], NULL, consume, &consumers[c]), 0);
	}
	cop_err err = cop_replay_feed_run(w->feed, fed, diag);
	for (unsigned c = 0; c < w->set.consumers; c++)
		assert_int_equal(pthread_join(threads[c], NULL), 0);
	cop_replay_feed_free(w->feed);
	w->feed = NULL;
	return err;
}

static int set_up(void **state)
{
	static world w;
	w = (world){ .path = "/tmp/test_replay_feed_XXXXXX", .gives_up = MOST };
	int file = mkstemp(w.path);
	if (file < 0)
		return 1;
	(void)close(file);
	cop_reader_options_init(&w.options.reader, "replay");
	w.options.path = w.path;
	w.options.reader.format = "vw";
	w.options.reader.bits = 10;
	if (cop_reader_options_space_new(&w.options.reader, false, &w.set.space, NULL) != COP_OK)
		return 1;
	w.set.options = &w.options;
	w.set.limits = (cop_replay_limits){
		.arms = 3, .high = 1.0, .entries = 64, .dimension = cop_feature_space_dimension(w.set.space)
	};
	w.set.passes = 1;
	w.set.consumers = MOST;
	w.set.settings = MOST;
	w.set.stop = &w.stop;
	w.set.account = account;
	w.set.state = &w;
	*state = &w;
	return 0;
}

static int tear_down(void **state)
{
	world *w = *state;
	cop_feature_space_free(w->set.space);
	return unlink(w->path);
}

static void test_every_consumer_sees_every_event_in_order(void **state)
{
	world *w = *state;
	cop_replay_fed fed;
	cop_diag diag;
	double costs = 0.0;
	write_log(w, 6000, 30);
	for (uint64_t n = 0; n < 6000; n++)
		costs += 2 * cost_of(n);
	w->set.passes = 2;
	w->per_pass = 6000;
	assert_int_equal(run(w, &fed, &diag), COP_OK);
	assert_true(fed.events == 12000 && fed.passes == 2 && fed.in_pass == 6000);
	assert_true(!fed.stopped && !fed.misfit && fed.skipped_all == 0);
	assert_int_equal(w->accounted, 12000);
	assert_true(w->blocks > 8); /* the ring has turned over */
	assert_true(w->costs > costs - 1e-6 && w->costs < costs + 1e-6);
	for (unsigned c = 0; c < MOST; c++)
		assert_int_equal(w->seen[c], 12000);
}

static void test_skip_and_events_are_counted_of_good_ones(void **state)
{
	world *w = *state;
	cop_replay_fed fed;
	cop_diag diag;
	write_log(w, 100, 1);
	w->set.skip = 7;
	w->set.events = 3;
	w->set.passes = 5;
	assert_int_equal(run(w, &fed, &diag), COP_OK);
	assert_true(fed.events == 3 && fed.passes == 1 && fed.in_pass == 3);
	assert_true(w->accounted == 3 && w->costs > 0.239 && w->costs < 0.241); /* 0.07 + 0.08 + 0.09 */
	w->set.events = 150; /* of the first pass 93, of the second 57 */
	assert_int_equal(run(w, &fed, &diag), COP_OK);
	assert_true(fed.events == 150 && fed.passes == 2 && fed.in_pass == 57);
	w->set.events = 0;
	w->set.skip = 100; /* nothing is left */
	assert_int_equal(run(w, &fed, &diag), COP_OK);
	assert_true(fed.events == 0 && fed.passes == 1 && w->blocks == 0);
}

static void test_stop_ends_before_the_next_event(void **state)
{
	world *w = *state;
	cop_replay_fed fed;
	cop_diag diag;
	write_log(w, 10, 1);
	w->stop = 1;
	assert_int_equal(run(w, &fed, &diag), COP_OK);
	assert_true(fed.stopped && fed.events == 0 && w->blocks == 0);
}

/* Each line, whether it is good, and as what it is passed over otherwise. */
static void test_events_at_their_limits_are_good_and_beyond_are_not(void **state)
{
	static const struct {
		const char *line, *says;
		int skip; /* -1: good */
	} cases[] = {
		{ "3:0.25:0.5 |x a\n", NULL, -1 },
		{ "4:0.25:0.5 |x a\n", "action 4, expected 1 to 3 (--arms 3)", COP_REPLAY_SKIP_ACTION },
		{ "1:0:0.5 |x a\n", NULL, -1 },
		{ "1:1:0.5 |x a\n", NULL, -1 },
		{ "1:-0.001:0.5 |x a\n", "cost -0.001 is outside the loss range, expected 0 to 1 (--loss-range)",
		        COP_REPLAY_SKIP_COST },
		{ "1:1.001:0.5 |x a\n", "cost 1.001 is outside the loss range, expected 0 to 1 (--loss-range)",
		        COP_REPLAY_SKIP_COST },
		{ "1:0.5:0.5 |x a b c\n", NULL, -1 },
		{ "1:0.5:0.5 |x a b c d\n", "4 features, expected at most 3 (--max-nonzeros)",
		        COP_REPLAY_SKIP_FEATURES },
		{ "1:no:0.5 |x a\n", "no cost", COP_REPLAY_SKIP_FORMAT },
	};
	world *w = *state;
	w->set.limits.entries = 3;
	w->set.passes = 2;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cop_replay_fed fed;
		cop_diag diag;
		bool good = cases[i].skip < 0;
		write_text(w, cases[i].line);
		w->options.reader.skip = false;
		cop_err err = run(w, &fed, &diag);
		assert_int_equal(err, good                                      ? COP_OK
		                      : cases[i].skip == COP_REPLAY_SKIP_FORMAT ? COP_EFORMAT
		                                                                : COP_EINVAL);
		assert_int_equal(fed.events, good ? 2 : 0);
		if (!good) {
			assert_non_null(strstr(diag.message, cases[i].says));
			assert_int_equal(diag.line, 1);
			w->options.reader.skip = true;
			assert_int_equal(run(w, &fed, &diag), COP_OK);
			assert_true(fed.events == 0 && fed.skipped_all == 1 && fed.skipped[cases[i].skip] == 1);
		}
	}
}

static void test_bad_events_of_the_first_pass_are_counted(void **state)
{
	world *w = *state;
	cop_replay_fed fed;
	cop_diag diag;
	write_text(w, "1:0.5:0.5 |x a\n4:0.5:0.5 |x a\n2:0.5:0.5 |x a\n1:7:0.5 |x a\n5:0.5:0.5 |x a\n3:0.5:0.5 |x a\n");
	w->options.reader.skip = true;
	w->set.passes = 3;
	w->per_pass = 3;
	assert_int_equal(run(w, &fed, &diag), COP_OK);
	assert_true(fed.events == 9 && fed.passes == 3 && fed.skipped_all == 3);
	assert_true(fed.skipped[COP_REPLAY_SKIP_ACTION] == 2 && fed.skipped[COP_REPLAY_SKIP_COST] == 1);
	assert_true(w->accounted == 9 && w->blocks == 3);
}

/* The number of lines that are printed meanwhile to standard error. */
static size_t complaints_of(world *w, cop_replay_fed *fed, char *text, size_t room)
{
	cop_diag diag;
	size_t lines = 0;
	FILE *kept = tmpfile();
	assert_non_null(kept);
	(void)fflush(stderr);
	int before = dup(STDERR_FILENO);
	assert_true(before >= 0 && dup2(fileno(kept), STDERR_FILENO) >= 0);
	cop_err err = run(w, fed, &diag);
	(void)fflush(stderr);
	assert_true(dup2(before, STDERR_FILENO) >= 0);
	(void)close(before);
	assert_int_equal(err, COP_OK);
	rewind(kept);
	text[fread(text, 1, room - 1, kept)] = '\0';
	(void)fclose(kept);
	for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
		lines++;
	return lines;
}

static void test_ten_bad_events_are_told(void **state)
{
	world *w = *state;
	cop_replay_fed fed;
	char log[400] = "1:0.5:0.5 |x a\n", text[4096];
	w->options.reader.skip = true;
	w->set.passes = 2;
	for (size_t bad = 1; bad <= 12; bad++) {
		strcat(log, "4:0.5:0.5 |x a\n");
		write_text(w, log);
		size_t lines = complaints_of(w, &fed, text, sizeof text);
		assert_int_equal(fed.skipped_all, bad);
		assert_int_equal(lines, bad < 10 ? bad : 11);
		assert_int_equal(strstr(text, "further bad events are counted, not shown\n") != NULL, bad >= 10);
	}
}

static void account_mask(void *state, const cop_replay_slot *slot)
{
	world *w = state;
	cop_logged_event event;
	assert_int_equal(slot->block.count, 1);
	cop_event_block_get(&slot->block, 0, NULL, &event);
	assert_int_equal(event.arms, 3);
	assert_non_null(event.mask);
	for (size_t i = 0; i < 3; i++)
		w->mask[i] = (char)('0' + event.mask[i]);
}

/* A line names the arms that there were. */
static void test_masks_are_of_all_arms(void **state)
{
	static const char *const cases[][2] = { { "1 2:0.25:0.5 |x a\n", "110" }, { "2:0.25:0.5 3 |x a\n", "011" },
		{ "1:0.25:0.5 3 |x a\n", "101" } };
	world *w = *state;
	cop_replay_fed fed;
	cop_diag diag;
	w->set.account = account_mask;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		write_text(w, cases[i][0]);
		assert_int_equal(run(w, &fed, &diag), COP_OK);
		assert_int_equal(fed.events, 1);
		assert_string_equal(w->mask, cases[i][1]);
	}
	write_text(w, "1:0.25:0.5 4 |x a\n");
	assert_int_equal(run(w, &fed, &diag), COP_EINVAL);
	assert_string_equal(diag.message, "action 4, expected 1 to 3 (--arms 3)");
}

/* What the log's beginning did not have ends it, without an error. */
static void test_misfit_ends_the_feed(void **state)
{
	world *w = *state;
	cop_replay_fed fed;
	cop_diag diag;
	write_text(w, "1:0.5:0.5 |x a\n4:0.5:0.5 |x a\n2:0.5:0.5 |x a\n");
	w->set.limits.open[COP_REPLAY_SKIP_ACTION] = true;
	assert_int_equal(run(w, &fed, &diag), COP_OK);
	assert_true(fed.misfit && fed.events == 1 && fed.skipped_all == 0 && w->accounted == 0);
	assert_non_null(strstr(diag.message, "action 4"));
}

static void test_candidates_where_there_are_none_are_bad(void **state)
{
	world *w = *state;
	cop_replay_fed fed;
	cop_diag diag;
	write_log(w, 1, 1);
	w->set.limits.candidates = 2;
	assert_int_equal(run(w, &fed, &diag), COP_EINVAL);
	assert_non_null(strstr(diag.message, "no candidates"));
}

static void expect_end(world *w, cop_err err, const char *says)
{
	cop_replay_fed fed;
	cop_diag diag;
	assert_int_equal(run(w, &fed, &diag), err);
	assert_int_equal(fed.events, err == COP_OK);
	if (err != COP_OK)
		assert_string_equal(diag.message, says);
}

static void test_candidates_have_a_number_and_shape(void **state)
{
	world *w = *state;
	w->set.limits.arms = 0;
	w->set.limits.entries = 2;
	w->set.limits.candidates = 2;
	w->set.limits.candidate_dimension = w->set.limits.dimension;
	write_text(w, "shared |x a\n1:0.5:0.5 |y b c\n|y d\n\n");
	expect_end(w, COP_OK, NULL);
	write_text(w, "1:0.5:0.5 |y b c\n|y d\n\n"); /* without a context */
	expect_end(w, COP_OK, NULL);
	write_text(w, "shared |x a\n1:0.5:0.5 |y b\n|y c\n|y d\n\n");
	expect_end(w, COP_EINVAL, "3 candidates, expected at most 2 (--candidates)");
	write_text(w, "shared |x a\n1:0.5:0.5 |y b\n|y c d e\n\n");
	expect_end(w, COP_EINVAL, "3 features, expected at most 2 (--max-nonzeros)");
	write_text(w, "shared |x a\n1:0.5:0.5 |y b\n\n");
	expect_end(w, COP_OK, NULL);
	w->set.limits.candidate_dimension++;
	expect_end(w, COP_ESHAPE,
	        "its features are not those of the model: expected 1024 hashed ones, and candidates alike");
	w->set.limits.candidate_dimension--;
	w->set.limits.candidates = 0;
	w->set.limits.arms = 3;
	expect_end(w, COP_EINVAL, "1 candidates, expected numbered arms as in the events before");
	write_log(w, 1, 1);
	w->set.limits.candidates = 1;
	expect_end(w, COP_EINVAL, "no candidates, expected some as in the events before");
	w->set.limits.dimension = 7;
	expect_end(w, COP_ESHAPE, "its features are not those of the model: expected 7 hashed ones");
}

/* Columns that were found in the log's beginning alone. */
static void test_feature_without_a_column_is_a_misfit_where_columns_are_open(void **state)
{
	world *w = *state;
	cop_replay_fed fed;
	cop_diag diag;
	cop_feature_space_free(w->set.space);
	w->options.reader.features = COP_READER_FEATURES_DENSE;
	w->options.reader.bits = 0;
	assert_int_equal(cop_reader_options_space_new(&w->options.reader, true, &w->set.space, NULL), COP_OK);
	w->set.limits.dense = true;
	w->set.limits.columns_open = true;
	write_log(w, 1, 3);
	(void)!run(w, &fed, &diag); /* finds the columns */
	cop_feature_space_freeze(w->set.space);
	w->set.limits.dimension = cop_feature_space_dimension(w->set.space);
	assert_int_equal(run(w, &fed, &diag), COP_OK);
	assert_true(fed.events == 1 && !fed.misfit);
	write_log(w, 1, 4);
	w->options.reader.skip = true;
	assert_int_equal(run(w, &fed, &diag), COP_OK);
	assert_true(fed.events == 0 && fed.misfit && fed.skipped_all == 0);
	assert_string_equal(diag.message, "a feature that no event before had");
	w->set.limits.columns_open = false;
	assert_int_equal(run(w, &fed, &diag), COP_OK);
	assert_true(fed.events == 1 && !fed.misfit);
}

static void test_features_of_another_shape_end_the_feed(void **state)
{
	world *w = *state;
	cop_replay_fed fed;
	cop_diag diag;
	write_log(w, 1, 1);
	w->options.reader.skip = true; /* whatever is skipped */
	w->set.limits.dimension++;
	assert_int_equal(run(w, &fed, &diag), COP_ESHAPE);
	assert_non_null(strstr(diag.message, "hashed ones"));
	w->set.limits.dimension--;
	w->set.limits.dense = true;
	assert_int_equal(run(w, &fed, &diag), COP_ESHAPE);
	assert_non_null(strstr(diag.message, "dense ones"));
}

static void test_consumer_that_gives_up_sends_all_home(void **state)
{
	world *w = *state;
	cop_replay_fed fed;
	cop_diag diag;
	write_log(w, 6000, 30);
	w->gives_up = 1;
	w->set.passes = 1000000;
	assert_int_equal(run(w, &fed, &diag), COP_OK);
	assert_true(fed.passes == 1 && fed.events < 6000);
	assert_true(w->accounted <= w->seen[1] && w->seen[1] < 6000);
}

static void test_feed_without_memory_is_none(void **state)
{
	world *w = *state;
	for (unsigned long n = 1;; n++) {
		cop_replay_feed *feed = NULL;
		cop_test_alloc_fail(n, 0);
		cop_err err = cop_replay_feed_new(&w->set, &feed);
		bool failed = cop_test_alloc_failed() != 0;
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err, failed ? COP_ENOMEM : COP_OK);
		assert_int_equal(feed == NULL, failed);
		cop_replay_feed_free(feed);
		if (!failed)
			break;
		assert_true(n <= 3);
	}
	cop_replay_feed_free(NULL);
}

static void test_log_that_is_not_there_is_an_error(void **state)
{
	world *w = *state;
	cop_replay_fed fed;
	cop_diag diag;
	w->options.path = "/nonexistent/log.vw";
	assert_int_equal(run(w, &fed, &diag), COP_ENOTFOUND);
	assert_true(fed.events == 0 && diag.message[0] != '\0');
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_every_consumer_sees_every_event_in_order),
		TEST(test_skip_and_events_are_counted_of_good_ones),
		TEST(test_stop_ends_before_the_next_event),
		TEST(test_events_at_their_limits_are_good_and_beyond_are_not),
		TEST(test_bad_events_of_the_first_pass_are_counted),
		TEST(test_ten_bad_events_are_told),
		TEST(test_masks_are_of_all_arms),
		TEST(test_misfit_ends_the_feed),
		TEST(test_candidates_where_there_are_none_are_bad),
		TEST(test_candidates_have_a_number_and_shape),
		TEST(test_feature_without_a_column_is_a_misfit_where_columns_are_open),
		TEST(test_features_of_another_shape_end_the_feed),
		TEST(test_consumer_that_gives_up_sends_all_home),
		TEST(test_feed_without_memory_is_none),
		TEST(test_log_that_is_not_there_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
