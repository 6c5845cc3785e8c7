/* daemon/common/log.h: the daemon's log: short lines of `event=<id> key=value ...` to syslog(3), or to stderr in the
 * foreground.
 *
 * A caller formats its line and puts it into a bounded ring; one thread takes lines out and writes them, so that a
 * stalled receiver never stalls the caller. When the ring is full the line is dropped and counted, and a line
 * `event=log_dropped count=N` takes the lost lines' place once there is room. Event ids are stable:
 * log_events.def has all of them.
 * cop_log and cop_log_set_level from any thread; no allocation after open. A NULL log swallows everything. */
#ifndef COP_DAEMON_COMMON_LOG_H
#define COP_DAEMON_COMMON_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define COP_LOG_LINE 512  /* bytes of one line with its end; longer ones are cut */
#define COP_LOG_RING 1024 /* lines that can wait */

typedef enum cop_log_level {
	COP_LOG_ERROR,
	COP_LOG_WARNING,
	COP_LOG_NOTICE,
	COP_LOG_INFO,
	COP_LOG_DEBUG
} cop_log_level;

/* What a line reports: its stable id, and how urgent it is. */
typedef struct cop_log_event {
	cop_log_level level;
	const char *name; /* NULL: nothing to report */
} cop_log_event;

/* The event of this id, a row of log_events.def; where its row has two levels, with the second. */
#define COP_LOG_EVENT(id)       ((cop_log_event){ (cop_log_level)COP_LOG_LEVEL_OF_##id, #id })
#define COP_LOG_EVENT_WORSE(id) ((cop_log_event){ (cop_log_level)COP_LOG_WORSE_OF_##id, #id })
#define COP_LOG_NO_EVENT        ((cop_log_event){ COP_LOG_DEBUG, NULL })

enum {
#define PROGRAM(name)
#define EVENT(id, level, worse, keys, meaning)                                                                         \
	COP_LOG_LEVEL_OF_##id = COP_LOG_##level, COP_LOG_WORSE_OF_##id = COP_LOG_##worse,
#include "daemon/common/log_events.def"
#undef EVENT
#undef PROGRAM
};

/* Is the text one of syslog's facility names that a daemon may use (daemon, user, local0 ... local7)? */
bool cop_log_facility_known(const char *text);

typedef struct cop_log_settings {
	const char *facility; /* NULL: daemon */
	cop_log_level level;  /* lines less urgent than this are not logged */
	bool foreground;      /* to stderr, with time and level */
	const char *ident;    /* kept; NULL: coppiced */
	size_t ring;          /* 0: COP_LOG_RING */
	/* For tests; NULL: syslog or stderr. Called on the log's thread only. */
	void (*sink)(void *context, cop_log_level level, const char *line);
	void *sink_context;
} cop_log_settings;

typedef struct cop_log cop_log;

/* Starts the thread. Caller closes with cop_log_close. COP_EINVAL: unknown facility. COP_ENOMEM. COP_EIO: no thread. */
COP_CHECK cop_err cop_log_open(const cop_log_settings *settings, cop_log **out);

/* Waits until all lines are written, at most deadline_ms milliseconds; then the log is gone. When the receiver is
 * stalled for that long the thread is left behind, to end by itself or with the process; COP_EFULL tells so. NULL is
 * allowed. */
cop_err cop_log_close(cop_log *log, unsigned deadline_ms);

/* One line. Control characters become '?'. Never blocks on the receiver. */
void cop_log_line(cop_log *log, cop_log_event event, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* At most `burst` lines at once and `rate` per second. One thread per limiter; time is any monotonic clock in
 * microseconds. The next line let through says how many were held back: `suppressed=N`. */
typedef struct cop_log_limiter {
	double rate, burst, tokens;
	uint64_t last;
	uint64_t suppressed;
} cop_log_limiter;

void cop_log_limiter_init(cop_log_limiter *limiter, double rate, double burst);
void cop_log_limited(cop_log *log, cop_log_limiter *limiter, uint64_t now, cop_log_event event, const char *format, ...)
        __attribute__((format(printf, 5, 6)));

void cop_log_set_level(cop_log *log, cop_log_level level);
/* Would a line of this level be logged? */
bool cop_log_enabled(const cop_log *log, cop_log_level level);
/* Lines dropped since open, because the ring was full. */
uint64_t cop_log_dropped(cop_log *log);

#endif
