#include "daemon/common/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "daemon/common/clock.h"
#include "support.h"
#include "support_lock.h"

#define KEPT 64

void __wrap_openlog(const char *ident, int option, int facility);
void __wrap_closelog(void);
void __wrap_syslog(int priority, const char *format, ...) __attribute__((format(printf, 2, 3)));

ssize_t __real_write(int fd, const void *data, size_t length);
ssize_t __wrap_write(int fd, const void *data, size_t length);

/* What writes to standard error do: at most so many bytes, every other one interrupted, or all fail. */
static struct {
	size_t most; /* 0: no limit */
	bool broken;
	unsigned calls;
} standard_error;

ssize_t __wrap_write(int fd, const void *data, size_t length)
{
	if (fd != STDERR_FILENO || (standard_error.most == 0 && !standard_error.broken))
		return __real_write(fd, data, length);
	standard_error.calls++;
	if (standard_error.broken || standard_error.calls % 2 == 1) {
		errno = standard_error.broken ? EIO : EINTR;
		return -1;
	}
	return __real_write(fd, data, length < standard_error.most ? length : standard_error.most);
}

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument);

static bool no_threads;

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument)
{
	return no_threads ? EAGAIN : __real_pthread_create(thread, attributes, run, argument);
}

static struct {
	int opened, closed, option, facility;
	const char *ident;
	size_t count;
	int priority[8];
	char line[COP_LOG_LINE]; /* the last */
} syslog_calls;

void __wrap_openlog(const char *ident, int option, int facility)
{
	syslog_calls.opened++;
	syslog_calls.ident = ident;
	syslog_calls.option = option;
	syslog_calls.facility = facility;
}

void __wrap_closelog(void) { syslog_calls.closed++; }

void __wrap_syslog(int priority, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	(void)vsnprintf(syslog_calls.line, sizeof syslog_calls.line, format, args);
	va_end(args);
	if (syslog_calls.count < sizeof syslog_calls.priority / sizeof *syslog_calls.priority)
		syslog_calls.priority[syslog_calls.count++] = priority;
}

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
	(void)pthread_cond_broadcast(&to->changed);
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
	cop_log_line(log, (cop_log_event){ COP_LOG_INFO, "start" }, "version=%s", "1");
	cop_log_line(log, (cop_log_event){ COP_LOG_DEBUG, "hidden" }, "x=1");
	cop_log_line(log, (cop_log_event){ COP_LOG_ERROR, "bare" }, "%s", "");
	cop_log_set_level(log, COP_LOG_DEBUG);
	cop_log_line(log, (cop_log_event){ COP_LOG_DEBUG, "shown" }, "name=\"a\nb\"");
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
	cop_log_line(log, (cop_log_event){ COP_LOG_INFO, "a" }, "n=%d reason=\"%s\" more=\"%s\"", 7,
	        "model \"v1\": x\" y=\"z", "");
	cop_log_line(log, (cop_log_event){ COP_LOG_INFO, "b" }, "bare=%s quoted=\"\"", "\"");
	cop_log_line(log, (cop_log_event){ COP_LOG_INFO, "c" }, "text=\"%s\" end=\"\"", text);
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
	cop_log_line(log, (cop_log_event){ COP_LOG_INFO, "long" }, "text=%s", text);
	cop_log_line(log, (cop_log_event){ COP_LOG_INFO, text }, "text=%s", text);
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
	cop_log_line(log, (cop_log_event){ COP_LOG_INFO, "first" }, "n=0");
	receiver_wait_inside(to);
	for (int i = 1; i <= 10; i++) /* 4 wait, 6 are lost */
		cop_log_line(log, (cop_log_event){ COP_LOG_INFO, "more" }, "n=%d", i);
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
	receiver *to = receiver_new(true);
	size_t before = cop_test_lock_count();
	cop_log *log = open_log(to, 4);
	cop_log_line(log, (cop_log_event){ COP_LOG_INFO, "first" }, "n=0");
	receiver_wait_inside(to);
	assert_int_equal(cop_log_close(log, 20), COP_EFULL);
	assert_true(cop_test_lock_count() > before);
	receiver_release(to);
	cop_test_lock_wait(before); /* the thread that is left behind frees the log */
	receiver_free(to);
}

static void *write_many(void *context)
{
	for (int i = 0; i < 1000; i++)
		cop_log_line(context, (cop_log_event){ COP_LOG_INFO, "many" }, "n=%d", i);
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
		cop_log_limited(log, &limiter, 1000000, (cop_log_event){ COP_LOG_WARNING, "bad" }, "n=%d", i);
	assert_int_equal(limiter.suppressed, 8);
	cop_log_limited(log, &limiter, 1500000, (cop_log_event){ COP_LOG_WARNING, "bad" }, "n=10"); /* half a token */
	cop_log_limited(log, &limiter, 2000000, (cop_log_event){ COP_LOG_WARNING, "bad" }, "n=11");
	cop_log_limited(log, &limiter, 1000, (cop_log_event){ COP_LOG_WARNING, "bad" },
	        "n=12"); /* time that goes back gives none */
	cop_log_limited(log, &limiter, 900000000, (cop_log_event){ COP_LOG_DEBUG, "bad" },
	        "n=13"); /* not enabled: not counted */
	assert_int_equal(limiter.suppressed, 1);
	assert_int_equal(cop_log_close(log, 10000), COP_OK);
	assert_int_equal(to->count, 3);
	assert_string_equal(to->line[1], "event=bad n=1");
	assert_string_equal(to->line[2], "event=bad suppressed=9 n=11");
	receiver_free(to);
}

/* Bytes from ' ' to '~', and those of other alphabets, stay; controls become '?'. */
static void test_log_controls_become_question_marks(void **state)
{
	(void)state;
	receiver *to = receiver_new(false);
	cop_log *log = open_log(to, 0);
	cop_log_line(log, (cop_log_event){ COP_LOG_INFO, "a" }, "%s", "\x01\x08\x1f \x7e\x7f\x80\xff.");
	assert_int_equal(cop_log_close(log, 10000), COP_OK);
	assert_string_equal(to->line[0], "event=a ??? \x7e?\x80\xff.");
	receiver_free(to);
}

/* The quote that ends a value stands also where it is the line's last byte, and is cut with what is behind that. */
static void test_log_quote_at_the_cut_stands_or_falls(void **state)
{
	(void)state;
	enum { BEFORE = 9 }; /* event=a " */
	receiver *to = receiver_new(false);
	cop_log *log = open_log(to, 0);
	char text[COP_LOG_LINE];
	for (size_t over = 0; over < 2; over++) {
		size_t length = COP_LOG_LINE - 1 - BEFORE - 1 + over;
		memset(text, 'x', length);
		text[length] = '\0';
		cop_log_line(log, (cop_log_event){ COP_LOG_INFO, "a" }, "\"%s\"", text);
	}
	assert_int_equal(cop_log_close(log, 10000), COP_OK);
	for (size_t over = 0; over < 2; over++) {
		assert_int_equal(strlen(to->line[over]), COP_LOG_LINE - 1);
		assert_int_equal(to->line[over][BEFORE - 1], '"');
		assert_int_equal(to->line[over][COP_LOG_LINE - 3], 'x');
		assert_int_equal(to->line[over][COP_LOG_LINE - 2], over == 0 ? '"' : 'x');
	}
	receiver_free(to);
}

static void test_log_without_a_ring_of_its_own_keeps_1024_lines(void **state)
{
	(void)state;
	receiver *to = receiver_new(true);
	cop_log *log = open_log(to, 0);
	cop_log_line(log, (cop_log_event){ COP_LOG_INFO, "first" }, "n=0");
	receiver_wait_inside(to);
	for (int i = 0; i < 1024; i++)
		cop_log_line(log, (cop_log_event){ COP_LOG_INFO, "more" }, "n=%d", i);
	assert_int_equal(cop_log_dropped(log), 0);
	cop_log_line(log, (cop_log_event){ COP_LOG_INFO, "more" }, "%s", "");
	assert_int_equal(cop_log_dropped(log), 1);
	receiver_release(to);
	assert_int_equal(cop_log_close(log, 30000), COP_OK);
	assert_int_equal(to->count, 1 + 1024 + 1);
	receiver_free(to);
}

static void receiver_wait_count(receiver *to, size_t count)
{
	(void)pthread_mutex_lock(&to->lock);
	while (to->count < count)
		(void)pthread_cond_wait(&to->changed, &to->lock);
	(void)pthread_mutex_unlock(&to->lock);
}

/* Twice, so that the ring has gone round. */
static void test_log_gap_is_told_before_the_line_that_follows(void **state)
{
	(void)state;
	receiver *to = receiver_new(false);
	cop_log *log = open_log(to, 3);
	for (size_t round = 0; round < 2; round++) {
		(void)pthread_mutex_lock(&to->lock);
		to->held = true;
		to->inside = false;
		(void)pthread_mutex_unlock(&to->lock);
		cop_log_line(log, (cop_log_event){ COP_LOG_INFO, "first" }, "%s", "");
		receiver_wait_inside(to);
		for (int i = 1; i <= 5; i++) /* 3 wait, 2 are lost */
			cop_log_line(log, (cop_log_event){ COP_LOG_INFO, "more" }, "n=%d", i);
		receiver_release(to);
		receiver_wait_count(to, round * 6 + 3); /* there is room again */
		cop_log_line(log, (cop_log_event){ COP_LOG_INFO, "next" }, "%s", "");
		receiver_wait_count(to, round * 6 + 6);
	}
	assert_int_equal(cop_log_dropped(log), 4);
	assert_int_equal(cop_log_close(log, 10000), COP_OK);
	static const char *const expected[] = { "event=first ", "event=more n=1", "event=more n=2", "event=more n=3",
		"event=log_dropped count=2", "event=next " };
	assert_int_equal(to->count, 12);
	for (size_t i = 0; i < 12; i++)
		assert_string_equal(to->line[i], expected[i % 6]);
	receiver_free(to);
}

/* Seconds and milliseconds of the deadline are both counted: a log whose thread is well is always closed. */
static void test_log_close_within_any_deadline_waits_for_the_thread(void **state)
{
	(void)state;
	static const unsigned deadlines[] = { 30000, 30001, 30500, 30999, 31999, 60000 };
	for (size_t i = 0; i < sizeof deadlines / sizeof *deadlines; i++) {
		receiver *to = receiver_new(false);
		cop_log *log = open_log(to, 0);
		cop_log_line(log, (cop_log_event){ COP_LOG_INFO, "x" }, "%s", "");
		uint64_t before = cop_clock_monotonic_ns();
		assert_int_equal(cop_log_close(log, deadlines[i]), COP_OK);
		uint64_t behind = cop_clock_monotonic_ns();
		struct timespec until = cop_test_lock_deadline();
		uint64_t waits = (uint64_t)until.tv_sec * 1000000000u + (uint64_t)until.tv_nsec;
		assert_true(waits >= before + deadlines[i] * UINT64_C(1000000));
		assert_true(waits <= behind + deadlines[i] * UINT64_C(1000000));
		assert_true(until.tv_nsec >= 0 && until.tv_nsec < 1000000000);
		assert_int_equal(to->count, 1);
		receiver_free(to);
	}
}

static void test_log_limiter_gives_rate_tokens_a_second(void **state)
{
	(void)state;
	receiver *to = receiver_new(false);
	cop_log *log = open_log(to, 0);
	cop_log_limiter limiter;
	cop_log_limiter_init(&limiter, 4, 3);
	for (int i = 0; i < 4; i++)
		cop_log_limited(log, &limiter, 0, (cop_log_event){ COP_LOG_INFO, "burst" }, "%s", "");
	assert_int_equal(limiter.suppressed, 1);
	cop_log_limited(log, &limiter, 249999, (cop_log_event){ COP_LOG_INFO, "early" }, "%s", "");
	cop_log_limited(log, &limiter, 250001, (cop_log_event){ COP_LOG_INFO, "one" }, "%s", "");
	cop_log_limited(log, &limiter, 250001, (cop_log_event){ COP_LOG_INFO, "none" }, "%s", "");
	cop_log_limited(log, &limiter, 750002, (cop_log_event){ COP_LOG_INFO, "two" }, "%s", "");
	cop_log_limited(log, &limiter, 750002, (cop_log_event){ COP_LOG_INFO, "two" }, "%s", "");
	cop_log_limited(log, &limiter, 750002, (cop_log_event){ COP_LOG_INFO, "none" }, "%s", "");
	for (int i = 0; i < 5; i++) /* however long the silence: no more than the burst */
		cop_log_limited(log, &limiter, 99000000, (cop_log_event){ COP_LOG_INFO, "burst" }, "n=%d", i);
	assert_int_equal(cop_log_close(log, 10000), COP_OK);
	static const char *const expected[] = { "event=burst ", "event=burst ", "event=burst ",
		"event=one suppressed=2 ", "event=two suppressed=1 ", "event=two ", "event=burst suppressed=1 n=0",
		"event=burst n=1", "event=burst n=2" };
	assert_int_equal(to->count, sizeof expected / sizeof *expected);
	for (size_t i = 0; i < to->count; i++)
		assert_string_equal(to->line[i], expected[i]);
	assert_int_equal(limiter.suppressed, 2);
	receiver_free(to);
}

/* What a log in the foreground writes to standard error, a line of each level. */
static void foreground_text(const char *ident, char *text, size_t size)
{
	int ends[2];
	assert_int_equal(pipe(ends), 0);
	int kept = dup(STDERR_FILENO);
	assert_true(kept >= 0 && dup2(ends[1], STDERR_FILENO) >= 0);
	cop_log_settings settings = { .level = COP_LOG_DEBUG, .foreground = true, .ident = ident };
	cop_log *log;
	cop_err err = cop_log_open(&settings, &log);
	for (int level = COP_LOG_ERROR; level <= COP_LOG_DEBUG; level++)
		cop_log_line(log, (cop_log_event){ (cop_log_level)level, "start" }, "a=%d", level);
	cop_err closed = cop_log_close(log, 30000);
	assert_true(dup2(kept, STDERR_FILENO) >= 0);
	assert_int_equal(err, COP_OK);
	assert_int_equal(closed, COP_OK);
	ssize_t length = read(ends[0], text, size - 1);
	assert_true(length > 0);
	text[length] = '\0';
	assert_int_equal(strlen(text), length);
	(void)close(kept);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static void test_log_foreground_writes_to_stderr(void **state)
{
	(void)state;
	static const char *const idents[] = { "unit", NULL };
	static const char *const levels[] = { "error", "warning", "notice", "info", "debug" };
	for (size_t i = 0; i < 2; i++) {
		char text[1024];
		foreground_text(idents[i], text, sizeof text);
		const char *at = text;
		for (int level = 0; level < 5; level++) {
			char ends[64];
			int year, month, day, hour, minute, second, milliseconds, used = 0;
			assert_int_equal(sscanf(at, "%4d-%2d-%2dT%2d:%2d:%2d.%dZ%n", &year, &month, &day, &hour,
			                         &minute, &second, &milliseconds, &used),
			        7);
			assert_int_equal(used, strlen("2026-11-25T01:02:03.004Z"));
			assert_true(year > 2000 && milliseconds >= 0);
			(void)snprintf(ends, sizeof ends, " %s %s: event=start a=%d\n",
			        idents[i] == NULL ? "coppiced" : idents[i], levels[level], level);
			assert_memory_equal(at + used, ends, strlen(ends));
			at += (size_t)used + strlen(ends);
		}
		assert_int_equal(*at, '\0');
	}
}

static void test_log_foreground_line_in_pieces_is_whole(void **state)
{
	(void)state;
	char text[1024];
	standard_error.most = 7;
	foreground_text("unit", text, sizeof text);
	standard_error.most = 0;
	assert_int_equal(strlen(text), 5 * strlen("2026-11-25T01:02:03.004Z unit : event=start a=0\n") +
	                                       strlen("errorwarningnoticeinfodebug"));
	assert_string_equal(
	        text + strlen(text) - strlen(" unit debug: event=start a=4\n"), " unit debug: event=start a=4\n");
}

/* A standard error that takes nothing is given up, line by line. */
static void test_log_foreground_broken_standard_error_is_let_be(void **state)
{
	(void)state;
	cop_log_settings settings = { .level = COP_LOG_INFO, .foreground = true };
	cop_log *log;
	standard_error.broken = true;
	standard_error.calls = 0;
	cop_err err = cop_log_open(&settings, &log);
	cop_log_line(log, (cop_log_event){ COP_LOG_INFO, "a" }, "%s", "");
	cop_log_line(log, (cop_log_event){ COP_LOG_INFO, "b" }, "%s", "");
	cop_err closed = cop_log_close(log, 30000);
	standard_error.broken = false;
	assert_int_equal(err, COP_OK);
	assert_int_equal(closed, COP_OK);
	assert_int_equal(standard_error.calls, 2);
}

/* A name that leaves a line too little room: cut, not overrun. */
static void test_log_foreground_line_with_a_long_name_is_cut(void **state)
{
	(void)state;
	enum { MOST = COP_LOG_LINE + 96 - 1, TIME = sizeof "2026-11-25T01:02:03.004Z" };
	static const char *const levels[] = { "error", "warning", "notice", "info", "debug" };
	for (size_t length = MOST - 60; length <= MOST + 1; length++) {
		char ident[1024], text[8192];
		size_t expected = 0;
		memset(ident, 'i', length);
		ident[length] = '\0';
		foreground_text(ident, text, sizeof text);
		for (size_t i = 0; i < 5; i++) {
			size_t whole = TIME + length + strlen(levels[i]) + strlen(" : event=start a=0\n");
			expected += whole < MOST ? whole : MOST;
		}
		assert_int_equal(strlen(text), expected);
	}
}

static void test_log_syslog_gets_facility_and_priority(void **state)
{
	(void)state;
	static const int priorities[] = { LOG_ERR, LOG_WARNING, LOG_NOTICE, LOG_INFO, LOG_DEBUG };
	static const struct {
		const char *name;
		int code;
	} facilities[] = { { NULL, LOG_DAEMON }, { "daemon", LOG_DAEMON }, { "user", LOG_USER },
		{ "local0", LOG_LOCAL0 }, { "local1", LOG_LOCAL1 }, { "local2", LOG_LOCAL2 }, { "local3", LOG_LOCAL3 },
		{ "local4", LOG_LOCAL4 }, { "local5", LOG_LOCAL5 }, { "local6", LOG_LOCAL6 },
		{ "local7", LOG_LOCAL7 } };
	for (size_t i = 0; i < sizeof facilities / sizeof *facilities; i++) {
		cop_log_settings settings = { .facility = facilities[i].name, .level = COP_LOG_DEBUG };
		cop_log *log;
		memset(&syslog_calls, 0, sizeof syslog_calls);
		assert_int_equal(cop_log_open(&settings, &log), COP_OK);
		for (int level = COP_LOG_ERROR; level <= COP_LOG_DEBUG; level++)
			cop_log_line(log, (cop_log_event){ (cop_log_level)level, "x" }, "n=%d", level);
		assert_int_equal(cop_log_close(log, 30000), COP_OK);
		assert_int_equal(syslog_calls.count, 5);
		for (size_t j = 0; j < 5; j++)
			assert_int_equal(syslog_calls.priority[j], facilities[i].code | priorities[j]);
		assert_string_equal(syslog_calls.line, "event=x n=4");
		assert_string_equal(syslog_calls.ident, "coppiced");
	}
	assert_false(cop_log_facility_known("local8"));
	assert_false(cop_log_facility_known(""));
}

static void test_log_null_swallows_everything(void **state)
{
	(void)state;
	cop_log_line(NULL, (cop_log_event){ COP_LOG_ERROR, "x" }, "y=%d", 1);
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
	no_threads = true;
	cop_err err = cop_log_open(&settings, &log);
	no_threads = false;
	assert_int_equal(err, COP_EIO);
	assert_null(log);
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
		cop_log_line(log, (cop_log_event){ COP_LOG_INFO, "x" }, "n=%d", i);
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
		cmocka_unit_test(test_log_controls_become_question_marks),
		cmocka_unit_test(test_log_quote_at_the_cut_stands_or_falls),
		cmocka_unit_test(test_log_without_a_ring_of_its_own_keeps_1024_lines),
		cmocka_unit_test(test_log_gap_is_told_before_the_line_that_follows),
		cmocka_unit_test(test_log_close_within_any_deadline_waits_for_the_thread),
		cmocka_unit_test(test_log_limiter_gives_rate_tokens_a_second),
		cmocka_unit_test(test_log_foreground_line_with_a_long_name_is_cut),
		cmocka_unit_test(test_log_syslog_gets_facility_and_priority),
		cmocka_unit_test(test_log_foreground_line_in_pieces_is_whole),
		cmocka_unit_test(test_log_foreground_broken_standard_error_is_let_be),
		cmocka_unit_test(test_log_null_swallows_everything),
		cmocka_unit_test(test_log_open_refuses_what_it_cannot),
		cmocka_unit_test(test_log_line_allocates_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
