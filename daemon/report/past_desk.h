/* daemon/report/past_desk.h: questions about decisions of the past, answered one at a time by a process beside the
 * loop.
 *
 * Whoever asks has to ask again until the answer is there, and a question that nobody asks again is dropped: its
 * process is killed. Equal questions are one. The process is this program (daemon/past_answer.h). What is bounded:
 * questions that wait, the process' time, memory and answer. The loop's thread. */
#ifndef COP_DAEMON_REPORT_PAST_DESK_H
#define COP_DAEMON_REPORT_PAST_DESK_H

#include "base/bytes.h"
#include "daemon/common/log.h"
#include "daemon/common/side_process.h"
#include "daemon/config/config.h"

#define COP_PAST_DESK_WAITING 8    /* questions, beside the one that is looked for */
#define COP_PAST_DESK_ITEMS   12   /* with those whose answer is there */
#define COP_PAST_DESK_BODY    256  /* bytes of a question */
#define COP_PAST_DESK_SECONDS 60.0 /* for an answer */
#define COP_PAST_DESK_NOTHING 3    /* exit status: no such decision, or no journal */
#define COP_PAST_DESK_PATIENT 2.0  /* seconds until a question that nobody asks again is dropped */

typedef enum cop_past_desk_state {
	COP_PAST_DESK_FREE,
	COP_PAST_DESK_QUEUED,
	COP_PAST_DESK_RUNNING,
	COP_PAST_DESK_DROPPED, /* runs, and is being killed */
	COP_PAST_DESK_FOUND,   /* the answer is there; so are the next two */
	COP_PAST_DESK_NOT_FOUND,
	COP_PAST_DESK_FAILED,
} cop_past_desk_state;

typedef struct cop_past_desk_counts {
	uint64_t started, found, not_found, failed, dropped, refused;
} cop_past_desk_counts;

typedef struct cop_past_desk_item {
	cop_past_desk_state state;
	const char *verb; /* static */
	char model[COP_CONFIG_NAME_MAX + 1], stored[COP_CONFIG_NAME_MAX + 1];
	uint8_t body[COP_PAST_DESK_BODY];
	size_t length;
	uint64_t order;   /* the lower, the sooner */
	double asked;     /* monotonic seconds: last */
	double at;        /* the same, when the answer came */
	cop_bytes answer; /* the reply's body, or why there is none */
} cop_past_desk_item;

typedef struct cop_past_desk {
	const char *config_path; /* kept; NULL: the built-in configuration */
	cop_log *log;            /* kept */
	cop_log_limiter limiter;
	cop_past_desk_item items[COP_PAST_DESK_ITEMS];
	cop_past_desk_item *running; /* NULL: none */
	cop_side_process process;
	uint64_t orders;
	size_t used; /* items that are not free */
	double next_look;
	cop_past_desk_counts counts;
} cop_past_desk;

typedef struct cop_past_desk_question {
	const char *verb;      /* static: "decision" or "decisions" */
	const char *model;     /* its name, */
	const char *stored;    /* and in the state folder */
	const cop_bytes *body; /* as cop_wire_past_put gives it */
} cop_past_desk_question;

void cop_past_desk_init(cop_past_desk *desk, const char *config_path, cop_log *log);
/* Kills the process, if one runs. */
void cop_past_desk_fini(cop_past_desk *desk);

/* The question's item, borrowed until the desk's next call: its state is QUEUED, RUNNING, or that of an answer. NULL:
 * too many wait. now: monotonic seconds. */
const cop_past_desk_item *cop_past_desk_ask(cop_past_desk *desk, const cop_past_desk_question *question, double now);
/* Once a turn of the loop. */
void cop_past_desk_turn(cop_past_desk *desk, double now);

#endif
