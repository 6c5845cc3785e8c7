#include "daemon/log.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "support.h"

#define KEPT 64

void __wrap_openlog(const char *ident, int option, int facility);
void __wrap_closelog(void);

static struct {
	int opened, closed, option, facility;
	const char *ident;
} syslog_calls;

void __wrap_openlog(const char *ident, int option, int facility)
{
	syslog_calls.opened++;
	syslog_calls.ident = ident;
	syslog_calls.option = option;
	syslog_calls.facility = facility;
}

void __wrap_closelog(void) { syslog_calls.closed++; }

/* A receiver that can be held: while `held`, the log's thread stays inside its first line. */
typedef struct receiver {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool held, inside;
	size_t count;
	cop_log_level level[KEPT];
	char line[KEPT][COP_LOG_LINE];
} receiver;

static void receive(void *context, cop_log_level level, const char *line)
{
	receiver *to = context;
	(void)pthread_mutex_lock(&to->lock);
	to->inside = true;
	(void)pthread_cond_broadcast(&to->changed);
	while (to->held)
		(void)pthread_cond_wait(&to->changed, &to->lock);
	if (to->count < KEPT) {
		to->level[to->count] = level;
		(void)snprintf(to->line[to->count], COP_LOG_LINE, "%s", line);
	}
	to->count++;
	(void)pthread_mutex_unlock(&to->lock);
}

static receiver *receiver_new(bool held)
{
	receiver *to = calloc(1, sizeof *to);
	assert_non_null(to);
	(void)pthread_mutex_init(&to->lock, NULL);
	(void)pthread_cond_init(&to->changed, NULL);
	to->held = held;
	return to;
}

static void receiver_wait_inside(receiver *to)
{
	(void)pthread_mutex_lock(&to->lock);
	while (!to->inside)
		(void)pthread_cond_wait(&to->changed, &to->lock);
	(void)pthread_mutex_unlock(&to->lock);
}

static void receiver_release(receiver *to)
{
	(void)pthread_mutex_lock(&to->lock);
	to->held = false;
	(void)pthread_cond_broadcast(&to->changed);
	(void)pthread_mutex_unlock(&to->lock);
}

static void receiver_free(receiver *to)
{
	(void)pthread_cond_destroy(&to->changed);
	(void)pthread_mutex_destroy(&to->lock);
	free(to);
}

static cop_log *open_log(receiver *to, size_t ring)
{
	cop_log_settings settings = { .level = COP_LOG_INFO, .ring = ring, .sink = receive, .sink_context = to };
	cop_log *log;
	assert_int_equal(cop_log_open(&settings, &log), COP_OK);
	return log;
}

static void test_log_lines_arrive_in_order(void **state)
{
	(void)state;
	receiver *to = receiver_new(false);
	cop_log *log = open_log(to, 0);
	cop_log_line(log, COP_LOG_INFO, "start", "version=%s", "1");
	cop_log_line(log, COP_LOG_DEBUG, "hidden", "x=1");
	cop_log_line(log, COP_LOG_ERROR, "bare", "%s", "");
	cop_log_set_level(log, COP_LOG_DEBUG);
	cop_log_line(log, COP_LOG_DEBUG, "shown", "name=\"a\nb\"");
	assert_int_equal(cop_log_close(log, 10000), COP_OK);
	assert_int_equal(to->count, 3);
	assert_string_equal(to->line[0], "event=start version=1");
	assert_int_equal(to->level[1], COP_LOG_ERROR);
	assert_string_equal(to->line[2], "event=shown name=\"a?b\"");
	receiver_free(to);
}

/* Only the format's own quotes stay; a value cannot end its field and begin another. */
static void test_log_quotes_in_values_become_apostrophes(void **state)
{
	(void)state;
	receiver *to = receiver_new(false);
	cop_log *log = open_log(to, 0);
	char text[2 * COP_LOG_LINE];
	memset(text, '"', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	cop_log_line(log, COP_LOG_INFO, "a", "n=%d reason=\"%s\" more=\"%s\"", 7, "model \"v1\": x\" y=\"z", "");
	cop_log_line(log, COP_LOG_INFO, "b", "bare=%s quoted=\"\"", "\"");
	cop_log_line(log, COP_LOG_INFO, "c", "text=\"%s\" end=\"\"", text);
	assert_int_equal(cop_log_close(log, 10000), COP_OK);
	assert_string_equal(to->line[0], "event=a n=7 reason=\"model 'v1': x' y='z\" more=\"\"");
	assert_string_equal(to->line[1], "event=b bare=' quoted=\"\"");
	assert_int_equal(strlen(to->line[2]), COP_LOG_LINE - 1);
	assert_memory_equal(to->line[2], "event=c text=\"''", 16);
	receiver_free(to);
}

static void test_log_long_line_is_cut(void **state)
{
	(void)state;
	receiver *to = receiver_new(false);
	cop_log *log = open_log(to, 0);
	char text[2 * COP_LOG_LINE];
	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	cop_log_line(log, COP_LOG_INFO, "long", "text=%s", text);
	cop_log_line(log, COP_LOG_INFO, text, "text=%s", text);
	assert_int_equal(cop_log_close(log, 10000), COP_OK);
	assert_int_equal(strlen(to->line[0]), COP_LOG_LINE - 1);
	assert_int_equal(strlen(to->line[1]), COP_LOG_LINE - 1);
	receiver_free(to);
}

/* The receiver is stalled: the caller goes on, what does not fit is counted, and the gap is named where it is. */
static void test_log_stalled_receiver_drops_and_says_where(void **state)
{
	(void)state;
	receiver *to = receiver_new(true);
	cop_log *log = open_log(to, 4);
	cop_log_line(log, COP_LOG_INFO, "first", "n=0");
	receiver_wait_inside(to);
	for (int i = 1; i <= 10; i++) /* 4 wait, 6 are lost */
		cop_log_line(log, COP_LOG_INFO, "more", "n=%d", i);
	assert_int_equal(cop_log_dropped(log), 6);
	receiver_release(to);
	assert_int_equal(cop_log_close(log, 10000), COP_OK);
	assert_int_equal(to->count, 6);
	assert_string_equal(to->line[0], "event=first n=0");
	for (int i = 1; i <= 4; i++) {
		char expected[32];
		(void)snprintf(expected, sizeof expected, "event=more n=%d", i);
		assert_string_equal(to->line[i], expected);
	}
	assert_string_equal(to->line[5], "event=log_dropped count=6");
	assert_int_equal(to->level[5], COP_LOG_WARNING);
	receiver_free(to);
}

static void test_log_close_gives_up_on_a_stalled_receiver(void **state)
{
	(void)state;
	static receiver *to; /* the thread that is left behind still has it */
	to = receiver_new(true);
	cop_log *log = open_log(to, 4);
	cop_log_line(log, COP_LOG_INFO, "first", "n=0");
	receiver_wait_inside(to);
	assert_int_equal(cop_log_close(log, 20), COP_EFULL);
	receiver_release(to);
}

static void *write_many(void *context)
{
	for (int i = 0; i < 1000; i++)
		cop_log_line(context, COP_LOG_INFO, "many", "n=%d", i);
	return NULL;
}

static void test_log_many_threads_lose_nothing_uncounted(void **state)
{
	(void)state;
	receiver *to = receiver_new(false);
	cop_log *log = open_log(to, 8192);
	pthread_t threads[4];
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, write_many, log), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(cop_log_dropped(log), 0);
	assert_int_equal(cop_log_close(log, 30000), COP_OK);
	assert_int_equal(to->count, 4000);
	receiver_free(to);
}

static void test_log_limited_holds_back_and_counts(void **state)
{
	(void)state;
	receiver *to = receiver_new(false);
	cop_log *log = open_log(to, 0);
	cop_log_limiter limiter;
	cop_log_limiter_init(&limiter, 1, 2);
	for (int i = 0; i < 10; i++) /* the burst of 2, then 8 held back */
		cop_log_limited(log, &limiter, 1000000, COP_LOG_WARNING, "bad", "n=%d", i);
	assert_int_equal(limiter.suppressed, 8);
	cop_log_limited(log, &limiter, 1500000, COP_LOG_WARNING, "bad", "n=10"); /* half a token */
	cop_log_limited(log, &limiter, 2000000, COP_LOG_WARNING, "bad", "n=11");
	cop_log_limited(log, &limiter, 1000, COP_LOG_WARNING, "bad", "n=12");    /* time that goes back gives none */
	cop_log_limited(log, &limiter, 900000000, COP_LOG_DEBUG, "bad", "n=13"); /* not enabled: not counted */
	assert_int_equal(limiter.suppressed, 1);
	assert_int_equal(cop_log_close(log, 10000), COP_OK);
	assert_int_equal(to->count, 3);
	assert_string_equal(to->line[1], "event=bad n=1");
	assert_string_equal(to->line[2], "event=bad suppressed=9 n=11");
	receiver_free(to);
}

static void test_log_foreground_writes_to_stderr(void **state)
{
	(void)state;
	int ends[2];
	assert_int_equal(pipe(ends), 0);
	int kept = dup(STDERR_FILENO);
	assert_true(kept >= 0 && dup2(ends[1], STDERR_FILENO) >= 0);
	cop_log_settings settings = { .level = COP_LOG_INFO, .foreground = true, .ident = "unit" };
	cop_log *log;
	cop_err err = cop_log_open(&settings, &log);
	cop_log_line(log, COP_LOG_NOTICE, "start", "a=%d", 1);
	cop_err closed = cop_log_close(log, 10000);
	assert_true(dup2(kept, STDERR_FILENO) >= 0);
	assert_int_equal(err, COP_OK);
	assert_int_equal(closed, COP_OK);
	char text[256] = "";
	assert_true(read(ends[0], text, sizeof text - 1) > 0);
	assert_int_equal(text[10], 'T');
	assert_non_null(strstr(text, "Z unit notice: event=start a=1\n"));
	(void)close(kept);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static void test_log_null_swallows_everything(void **state)
{
	(void)state;
	cop_log_line(NULL, COP_LOG_ERROR, "x", "y=%d", 1);
	cop_log_set_level(NULL, COP_LOG_DEBUG);
	assert_int_equal(cop_log_dropped(NULL), 0);
	assert_int_equal(cop_log_close(NULL, 0), COP_OK);
	assert_false(cop_log_enabled(NULL, COP_LOG_ERROR));
}

static void test_log_open_refuses_what_it_cannot(void **state)
{
	(void)state;
	cop_log *log;
	cop_log_settings settings = { .facility = "kern" };
	assert_int_equal(cop_log_open(&settings, &log), COP_EINVAL);
	assert_null(log);
	settings.facility = "local7";
	for (unsigned long n = 1; n <= 2; n++) {
		cop_test_alloc_fail(n, 0);
		assert_int_equal(cop_log_open(&settings, &log), COP_ENOMEM);
		cop_test_alloc_fail(0, 0);
		assert_null(log);
	}
}

static void test_log_line_allocates_nothing(void **state)
{
	(void)state;
	receiver *to = receiver_new(false);
	cop_log *log = open_log(to, 0);
	cop_test_alloc_fail(0, 0);
	for (int i = 0; i < 100; i++)
		cop_log_line(log, COP_LOG_INFO, "x", "n=%d", i);
	assert_int_equal(cop_test_alloc_count(), 0);
	assert_int_equal(cop_log_close(log, 10000), COP_OK);
	receiver_free(to);
}

/* syslog is opened under the configured name and facility where it is written to, and nowhere else. */
static void test_log_opens_syslog_only_where_it_writes_to_it(void **state)
{
	(void)state;
	receiver *to = receiver_new(false);
	const struct {
		cop_log_settings settings;
		int opened;
	} cases[] = {
		{ { .facility = "local3", .ident = "unit" }, 1 },
		{ { .facility = "local3", .ident = "unit", .foreground = true }, 0 },
		{ { .facility = "local3", .ident = "unit", .sink = receive, .sink_context = to }, 0 },
		{ { .facility = "local3", .ident = "unit", .foreground = true, .sink = receive, .sink_context = to },
		        0 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cop_log *log;
		memset(&syslog_calls, 0, sizeof syslog_calls);
		assert_int_equal(cop_log_open(&cases[i].settings, &log), COP_OK);
		assert_int_equal(syslog_calls.opened, cases[i].opened);
		assert_int_equal(cop_log_close(log, 10000), COP_OK);
		assert_int_equal(syslog_calls.closed, cases[i].opened);
		if (cases[i].opened == 0)
			continue;
		assert_string_equal(syslog_calls.ident, "unit");
		assert_int_equal(syslog_calls.option & LOG_PID, LOG_PID);
		assert_int_equal(syslog_calls.facility, LOG_LOCAL3);
	}
	receiver_free(to);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_log_lines_arrive_in_order),
		cmocka_unit_test(test_log_quotes_in_values_become_apostrophes),
		cmocka_unit_test(test_log_long_line_is_cut),
		cmocka_unit_test(test_log_stalled_receiver_drops_and_says_where),
		cmocka_unit_test(test_log_close_gives_up_on_a_stalled_receiver),
		cmocka_unit_test(test_log_many_threads_lose_nothing_uncounted),
		cmocka_unit_test(test_log_limited_holds_back_and_counts),
		cmocka_unit_test(test_log_foreground_writes_to_stderr),
		cmocka_unit_test(test_log_opens_syslog_only_where_it_writes_to_it),
		cmocka_unit_test(test_log_null_swallows_everything),
		cmocka_unit_test(test_log_open_refuses_what_it_cannot),
		cmocka_unit_test(test_log_line_allocates_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
