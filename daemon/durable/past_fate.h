/* daemon/durable/past_fate.h: what became of decisions of the journal: the feedback that came, and how each ended.
 *
 * The records behind the oldest of them are read until all have ended, the journal ends, or so many were read. One
 * thread. */
#ifndef COP_DAEMON_DURABLE_PAST_FATE_H
#define COP_DAEMON_DURABLE_PAST_FATE_H

#include "daemon/durable/past_search.h"

#define COP_PAST_FATE_FEEDBACK 8

/* Losses by their names, as a cop_wire_named views them. */
typedef struct cop_past_fate_named {
	uint8_t pairs[COP_WIRE_NAMED_ROOM];
	size_t length, count; /* count 0: none */
} cop_past_fate_named;

typedef struct cop_past_fate_feedback {
	double time;
	double loss[2];
	unsigned losses;
	cop_past_fate_named named;
	cop_wire_result result;
} cop_past_fate_feedback;

typedef struct cop_past_fate {
	cop_event_id id;
	const char *stored; /* its model in the journal; borrowed */
	uint64_t sequence;  /* of the decision */
	bool ended, waits;  /* neither: that is not known, since not all records behind it were read */
	double time;        /* when it ended, unix seconds */
	const char *how;    /* "feedback", or as in cop_past_fate_outcome_text */
	double loss[2];     /* that was learned, or came */
	unsigned losses;    /* 0: none */
	cop_past_fate_named named;
	cop_past_fate_feedback feedback[COP_PAST_FATE_FEEDBACK]; /* the first ones, its last one included */
	size_t feedbacks;
} cop_past_fate;

/* "recorded", "default", "unanswered", "pushed_out", "pushed_out_recorded", "another_action". */
const char *cop_past_fate_outcome_text(cop_wire_outcome outcome);

/* folder: of the journal. fates: of decisions that are there, id, stored and sequence given, in any order; at most
 * `records` are read. Errors are those of the journal's reader, with *diag. */
COP_CHECK cop_err cop_past_fate_follow(
        const char *folder, cop_past_fate *fates, size_t count, uint64_t records, cop_diag *diag);

#endif
