/* daemon/common/worker_line.h: what a refit worker tells the daemon, a line each, on its standard output.
 *
 *     progress SHARE TEXT
 *     result OUTCOME NUMBER LEARNED LEAVES GAIN TEXT      the last one
 *
 * SHARE in [0, 1]. NUMBER is the challenger's (0: none was written), LEARNED the journal record up to which feedback
 * was seen (0: not known), LEAVES its leaves, GAIN by how much lower its loss was on what it was judged by. No state:
 * any thread. */
#ifndef COP_DAEMON_COMMON_WORKER_LINE_H
#define COP_DAEMON_COMMON_WORKER_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COP_WORKER_LINE 512 /* bytes of one, with its end */
#define COP_WORKER_TEXT 400

/* How a refit ended. The first ones are the worker's to tell. */
typedef enum cop_worker_outcome {
	COP_WORKER_MADE,    /* a challenger */
	COP_WORKER_NOTHING, /* there was nothing new, or too little */
	COP_WORKER_WORSE,   /* what was fitted is worse by what it was judged by; it was not kept */
	COP_WORKER_MEMORY,  /* out of memory */
	COP_WORKER_DATA,    /* journal or checkpoint cannot be read or do not fit */
	COP_WORKER_FAILED,  /* anything else */
	COP_WORKER_TIMEOUT,
	COP_WORKER_CRASHED,
	COP_WORKER_REFUSED, /* the model does not take the challenger in */
	COP_WORKER_OUTCOMES
} cop_worker_outcome;

/* "made", "nothing", ...; never NULL. */
const char *cop_worker_outcome_text(cop_worker_outcome outcome);
/* Whether something went wrong. */
bool cop_worker_outcome_bad(cop_worker_outcome outcome);

typedef struct cop_worker_line {
	bool result;
	double share; /* of progress */
	cop_worker_outcome outcome;
	uint64_t number, learned, leaves;
	double gain;
	double spent;               /* seconds of a processor until its end, which the daemon fills in */
	char text[COP_WORKER_TEXT]; /* printable */
} cop_worker_line;

/* The line with its end; its length. */
size_t cop_worker_line_put(const cop_worker_line *line, char out[COP_WORKER_LINE]);
/* A line without its end, terminated. False: it is none; *out is as it was. */
bool cop_worker_line_parse(const char *text, cop_worker_line *out);

#endif
