/* daemon/serve/serving.h: what serving has besides the models: sockets, answers that wait for the journal, counts.
 *
 * The loop's thread. */
#ifndef COP_DAEMON_SERVE_SERVING_H
#define COP_DAEMON_SERVE_SERVING_H

#include "base/bytes.h"
#include "daemon/common/histogram.h"
#include "daemon/durable/durability.h"
#include "daemon/serve/event.h"
#include "daemon/serve/outbox.h"
#include "daemon/serve/sockets.h"
#include "wire/wire_code.h"

typedef struct cop_serving_counts {
	uint64_t turns;                           /* of the loop, in which messages were taken */
	uint64_t requests;                        /* received */
	uint64_t errors;                          /* answered with an error */
	uint64_t codes[COP_WIRE_CODE_COUNT];      /* the same, by code */
	uint64_t item_codes[COP_WIRE_CODE_COUNT]; /* items of batches, answered with an error each */
	uint64_t streamed;                        /* messages received on streams */
	uint64_t unroutable;                      /* stream messages for no model of ours, or without topic and body */
	uint64_t forbidden;                       /* stream messages whose sender's key has not the right */
	uint64_t dropped;                         /* stream messages, since too much was queued */
	uint64_t limited; /* requests and stream messages beyond the limits of their client's line */
} cop_serving_counts;

typedef struct cop_serving {
	cop_durability *durable; /* kept: the models, their journal, the turn's time */
	cop_sockets sockets;
	cop_outbox outbox;
	cop_serving_counts counts;
	cop_log_limiter limiter;        /* of complaints about streams */
	cop_bytes reply;                /* of the message in hand */
	cop_bytes waiting;              /* of the same, the contexts that wait */
	cop_partition partition;        /* whose keys are its own */
	cop_histogram decide_durations; /* from a decide request's receipt to its reply */
	double until;  /* seconds since the machine began: from then on no answer leaves; 0: without end */
	bool silent;   /* none does any more */
	uint64_t mark; /* monotonic nanoseconds: when the turn began, then when its last request was answered */
} cop_serving;

/* Zeroes all, without sockets; durable is kept. Caller closes. */
void cop_serving_init(cop_serving *serving, cop_durability *durable);
/* Also the sockets. */
void cop_serving_close(cop_serving *serving);

/* An event of the model, at the turn's time. */
cop_event_scope cop_serving_scope(cop_serving *serving, cop_model_slot *slot);
/* All that was put in this turn goes to the disk, and the answers that waited for it leave. */
void cop_serving_commit(cop_serving *serving);
/* Ends reward windows, within a budget for the turn. True: more may be over than were ended. */
bool cop_serving_end_windows(cop_serving *serving);

#endif
