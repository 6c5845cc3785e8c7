/* The ring holds `used` lines from `head` on; everything in it, and the counters, are guarded by `lock`. The thread
 * copies a line out under the lock and writes it without. `lost` counts lines dropped since the last accepted one; the
 * next accepted line carries that number, or the thread reports it when it finds the ring empty, so a report always
 * stands where the lines are missing. Lock order: `lock` is the only one and is a leaf; no call leaves this file under
 * it. */
#include "daemon/common/log.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/thread.h"

#define FORMAT_MAX 512 /* of a format's length, in which its quotes are looked for */

typedef struct entry {
	cop_log_level level;
	struct timespec time;
	uint64_t lost; /* lines dropped just before this one */
	char text[COP_LOG_LINE];
} entry;

struct cop_log {
	pthread_mutex_t lock;
	pthread_cond_t filled;   /* a line came, or stopping */
	pthread_cond_t finished; /* done is true */
	pthread_t thread;
	entry *ring;
	size_t size, head, used;
	uint64_t lost, dropped;
	bool stopping, done, abandoned;
	atomic_int level;
	int facility;
	bool foreground;
	const char *ident;
	void (*sink)(void *context, cop_log_level level, const char *line);
	void *sink_context;
};

static const struct {
	const char *name;
	int code;
} facilities[] = {
	{ "daemon", LOG_DAEMON },
	{ "user", LOG_USER },
	{ "local0", LOG_LOCAL0 },
	{ "local1", LOG_LOCAL1 },
	{ "local2", LOG_LOCAL2 },
	{ "local3", LOG_LOCAL3 },
	{ "local4", LOG_LOCAL4 },
	{ "local5", LOG_LOCAL5 },
	{ "local6", LOG_LOCAL6 },
	{ "local7", LOG_LOCAL7 },
};

static const struct {
	const char *name;
	int priority;
} levels[] = {
	[COP_LOG_ERROR] = { "error", LOG_ERR },
	[COP_LOG_WARNING] = { "warning", LOG_WARNING },
	[COP_LOG_NOTICE] = { "notice", LOG_NOTICE },
	[COP_LOG_INFO] = { "info", LOG_INFO },
	[COP_LOG_DEBUG] = { "debug", LOG_DEBUG },
};

static bool facility_find(const char *text, int *code)
{
	for (size_t i = 0; i < sizeof facilities / sizeof *facilities; i++) {
		if (strcmp(facilities[i].name, text) == 0) {
			*code = facilities[i].code;
			return true;
		}
	}
	return false;
}

bool cop_log_facility_known(const char *text)
{
	int code;
	return facility_find(text, &code);
}

/* The whole line, however many writes it takes; a broken standard error is nobody's to report to. */
static void write_all(const char *text, size_t length)
{
	while (length > 0) {
		ssize_t n = write(STDERR_FILENO, text, length);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		text += n;
		length -= (size_t)n;
	}
}

static void emit(const cop_log *log, const entry *line)
{
	if (log->sink != NULL) {
		log->sink(log->sink_context, line->level, line->text);
		return;
	}
	if (!log->foreground) {
		syslog(log->facility | levels[line->level].priority, "%s", line->text);
		return;
	}
	struct tm utc;
	char when[32], out[COP_LOG_LINE + 96];
	if (gmtime_r(&line->time.tv_sec, &utc) == NULL || strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", &utc) == 0)
		when[0] = '\0';
	int length = snprintf(out, sizeof out, "%s.%03ldZ %s %s: %s\n", when, line->time.tv_nsec / 1000000, log->ident,
	        levels[line->level].name, line->text);
	if (length > 0)
		write_all(out, (size_t)length < sizeof out ? (size_t)length : sizeof out - 1);
}

static void emit_lost(const cop_log *log, uint64_t lost)
{
	const cop_log_event event = COP_LOG_EVENT(log_dropped);
	entry line = { .level = event.level };
	(void)clock_gettime(CLOCK_REALTIME, &line.time);
	(void)snprintf(line.text, sizeof line.text, "event=%s count=%" PRIu64, event.name, lost);
	emit(log, &line);
}

/* The next line into *out, waiting for one; false at the end. *lost: lines missing before it, or, when *empty, since.
 */
static bool take(cop_log *log, entry *out, uint64_t *lost, bool *empty)
{
	(void)pthread_mutex_lock(&log->lock);
	while (log->used == 0 && log->lost == 0 && !log->stopping)
		(void)pthread_cond_wait(&log->filled, &log->lock);
	*empty = log->used == 0;
	bool more = !*empty || log->lost != 0;
	if (*empty) {
		*lost = log->lost;
		log->lost = 0;
	} else {
		*out = log->ring[log->head];
		*lost = out->lost;
		log->head = (log->head + 1) % log->size;
		log->used--;
	}
	(void)pthread_mutex_unlock(&log->lock);
	return more;
}

static void destroy(cop_log *log)
{
	(void)pthread_cond_destroy(&log->filled);
	(void)pthread_cond_destroy(&log->finished);
	(void)pthread_mutex_destroy(&log->lock);
	cop_mem_free(log->ring);
	cop_mem_free(log);
}

static void *run(void *context)
{
	cop_log *log = context;
	entry line;
	uint64_t lost;
	bool empty;
	while (take(log, &line, &lost, &empty)) {
		if (lost != 0)
			emit_lost(log, lost);
		if (!empty)
			emit(log, &line);
	}
	(void)pthread_mutex_lock(&log->lock);
	log->done = true;
	bool abandoned = log->abandoned;
	(void)pthread_cond_signal(&log->finished);
	(void)pthread_mutex_unlock(&log->lock);
	if (abandoned)
		destroy(log);
	return NULL;
}

static void init_locks(cop_log *log)
{
	pthread_condattr_t attributes;
	(void)pthread_condattr_init(&attributes);
	(void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	(void)pthread_mutex_init(&log->lock, NULL);
	(void)pthread_cond_init(&log->filled, NULL);
	(void)pthread_cond_init(&log->finished, &attributes);
	(void)pthread_condattr_destroy(&attributes);
}

cop_err cop_log_open(const cop_log_settings *settings, cop_log **out)
{
	*out = NULL;
	int facility;
	if (!facility_find(settings->facility == NULL ? "daemon" : settings->facility, &facility))
		return COP_EINVAL;
	cop_log *log = cop_mem_alloc(1, sizeof *log);
	if (log == NULL)
		return COP_ENOMEM;
	log->size = settings->ring == 0 ? COP_LOG_RING : settings->ring;
	log->ring = cop_mem_alloc(log->size, sizeof *log->ring);
	if (log->ring == NULL) {
		cop_mem_free(log);
		return COP_ENOMEM;
	}
	atomic_init(&log->level, (int)settings->level);
	log->facility = facility;
	log->foreground = settings->foreground;
	log->ident = settings->ident == NULL ? "coppiced" : settings->ident;
	log->sink = settings->sink;
	log->sink_context = settings->sink_context;
	init_locks(log);
	if (!log->foreground && log->sink == NULL)
		openlog(log->ident, LOG_PID | LOG_NDELAY, facility);
	if (cop_thread_start(&log->thread, run, log) != COP_OK) {
		destroy(log);
		return COP_EIO;
	}
	*out = log;
	return COP_OK;
}

cop_err cop_log_close(cop_log *log, unsigned deadline_ms)
{
	if (log == NULL)
		return COP_OK;
	struct timespec until;
	(void)clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (time_t)(deadline_ms / 1000);
	until.tv_nsec += (long)(deadline_ms % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	(void)pthread_mutex_lock(&log->lock);
	log->stopping = true;
	(void)pthread_cond_signal(&log->filled);
	int waited = 0;
	while (!log->done && waited == 0)
		waited = pthread_cond_timedwait(&log->finished, &log->lock, &until);
	bool done = log->done;
	log->abandoned = !done;
	if (!done) /* under the lock: the thread may free the log as soon as it has it */
		(void)pthread_detach(log->thread);
	(void)pthread_mutex_unlock(&log->lock);
	if (!done)
		return COP_EFULL;
	(void)pthread_join(log->thread, NULL);
	if (!log->foreground && log->sink == NULL)
		closelog();
	destroy(log);
	return COP_OK;
}

static void push(cop_log *log, const entry *line)
{
	(void)pthread_mutex_lock(&log->lock);
	if (log->used == log->size) {
		log->lost++;
		log->dropped++;
	} else {
		entry *slot = &log->ring[(log->head + log->used) % log->size];
		*slot = *line;
		slot->lost = log->lost;
		log->lost = 0;
		log->used++;
		(void)pthread_cond_signal(&log->filled);
	}
	(void)pthread_mutex_unlock(&log->lock);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* beginnings of a checked format */

/* Fills out with values in which ' stands for each ": only the format's own quotes are quotes in the line. They are
 * found by how long the text before them comes out. */
static void __attribute__((format(printf, 3, 0)))
format_fields(char *out, size_t size, const char *format, va_list args)
{
	char before[FORMAT_MAX];
	va_list copy;
	va_copy(copy, args);
	(void)vsnprintf(out, size, format, copy);
	va_end(copy);
	for (char *c = out; *c != '\0'; c++)
		if (*c == '"')
			*c = '\'';
	for (size_t i = 0; i < sizeof before && format[i] != '\0'; i++) {
		if (format[i] != '"')
			continue;
		memcpy(before, format, i);
		before[i] = '\0';
		va_copy(copy, args);
		int length = vsnprintf(NULL, 0, before, copy);
		va_end(copy);
		if (length >= 0 && (size_t)length + 1 < size)
			out[length] = '"';
	}
}
#pragma GCC diagnostic pop

static void __attribute__((format(printf, 4, 0)))
format_line(entry *line, const char *event, uint64_t suppressed, const char *format, va_list args)
{
	char extra[48] = "";
	if (suppressed != 0)
		(void)snprintf(extra, sizeof extra, " suppressed=%" PRIu64, suppressed);
	int length =
	        snprintf(line->text, sizeof line->text, "event=%s%s%s", event, extra, format[0] == '\0' ? "" : " ");
	if (length > 0 && (size_t)length < sizeof line->text)
		format_fields(line->text + length, sizeof line->text - (size_t)length, format, args);
	for (char *c = line->text; *c != '\0'; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
}

bool cop_log_enabled(const cop_log *log, cop_log_level level)
{
	return log != NULL && (int)level <= atomic_load_explicit(&log->level, memory_order_relaxed);
}

void cop_log_line(cop_log *log, cop_log_event event, const char *format, ...)
{
	if (!cop_log_enabled(log, event.level))
		return;
	entry line = { .level = event.level };
	(void)clock_gettime(CLOCK_REALTIME, &line.time);
	va_list args;
	va_start(args, format);
	format_line(&line, event.name, 0, format, args);
	va_end(args);
	push(log, &line);
}

void cop_log_limiter_init(cop_log_limiter *limiter, double rate, double burst)
{
	*limiter = (cop_log_limiter){ .rate = rate, .burst = burst, .tokens = burst };
}

static bool limiter_pass(cop_log_limiter *limiter, uint64_t now)
{
	if (now > limiter->last) {
		limiter->tokens += (double)(now - limiter->last) * 1e-6 * limiter->rate;
		limiter->last = now;
	}
	if (limiter->tokens > limiter->burst)
		limiter->tokens = limiter->burst;
	if (limiter->tokens < 1) {
		limiter->suppressed++;
		return false;
	}
	limiter->tokens -= 1;
	return true;
}

void cop_log_limited(cop_log *log, cop_log_limiter *limiter, uint64_t now, cop_log_event event, const char *format, ...)
{
	if (!cop_log_enabled(log, event.level) || !limiter_pass(limiter, now))
		return;
	entry line = { .level = event.level };
	(void)clock_gettime(CLOCK_REALTIME, &line.time);
	va_list args;
	va_start(args, format);
	format_line(&line, event.name, limiter->suppressed, format, args);
	va_end(args);
	limiter->suppressed = 0;
	push(log, &line);
}

void cop_log_set_level(cop_log *log, cop_log_level level)
{
	if (log != NULL)
		atomic_store_explicit(&log->level, (int)level, memory_order_relaxed);
}

uint64_t cop_log_dropped(cop_log *log)
{
	if (log == NULL)
		return 0;
	(void)pthread_mutex_lock(&log->lock);
	uint64_t dropped = log->dropped;
	(void)pthread_mutex_unlock(&log->lock);
	return dropped;
}
