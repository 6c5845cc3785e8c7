/* wire/wire_reply.h: what the daemon answers: actions, results of a feedback, errors; written by it, read by clients.
 *
 * Doubles travel with all their bits: a propensity is never rounded. Nothing is allocated beyond the buffer's growth.
 * No state: distinct buffers on distinct threads. */
#ifndef COP_WIRE_WIRE_REPLY_H
#define COP_WIRE_WIRE_REPLY_H

#include "wire/wire_context.h"
#include "wire/wire_split.h"

/* `{id, a, p, rev, greedy, order?, probabilities?}` for arms and candidates (`by: holdout` or `conservative`: the
 * baseline decided; `limit`: the option that raised or lowered p), `{id, y, probe, p?, rev}` for values;
 * `repeated: true` when the id was pending and the action is the first one's; `durable: false` when the decision is not
 * on disk and may not get there. */
typedef struct cop_wire_action {
	cop_event_id id;
	bool value;      /* a value (y, probe), not an arm (a, p, greedy) */
	size_t a;        /* from 0 */
	const char *arm; /* its name, not terminated; NULL: it has none */
	size_t arm_length;
	double p;        /* in (0, 1]; values: density at y, per unit of value */
	bool density;    /* values: there is one */
	bool greedy;     /* the arm of the lowest predicted loss */
	double y;        /* the model's value */
	unsigned probes; /* 1 or 2 values to try */
	double probe[2];
	const uint32_t *order; /* candidates, best predicted first; NULL: not wanted (decoded: always) */
	size_t order_count;
	const double *probability; /* of each arm or candidate; NULL, as order */
	size_t probability_count;
	uint64_t rev;         /* the model's revision */
	cop_wire_maker by;    /* who decided */
	cop_wire_limit limit; /* by the policy: what decided about p beside it */
	bool repeated;        /* decided earlier */
	bool durable;
	cop_wire_seq seq;
} cop_wire_action;

/* Appends one map. */
void cop_wire_reply_action_put(cop_bytes *bytes, const cop_wire_action *action);
/* Appends the encoded action (length bytes) with `durable: false`, the rest as it is; what is no action as it came. */
void cop_wire_reply_action_mark(cop_bytes *bytes, const void *body, size_t length);
/* `{id, result}`; seq may be NULL. */
void cop_wire_reply_result_put(
        cop_bytes *bytes, const cop_event_id *id, cop_wire_result result, const cop_wire_seq *seq);
/* What an event gets that an event log brought again (wire/wire_position.h): `{id, repeated: true}`, with `result:
 * duplicate` where it is feedback. */
void cop_wire_reply_repeat_put(cop_bytes *bytes, const cop_event_id *id, bool feedback, const cop_wire_seq *seq);
/* `{code, message}` and, where they are known, id (NULL or kind 0: not) and seq. The message is cleaned to UTF-8. */
void cop_wire_reply_error_put(
        cop_bytes *bytes, cop_wire_code code, const char *message, const cop_event_id *id, const cop_wire_seq *seq);

/* Adds `version`, the program's, as the last key of the reply in bytes, which is one map. COP_ENOMEM in bytes->err: it
 * is as it was. */
void cop_wire_reply_version_put(cop_bytes *bytes, const char *version);

/* Client's side. body (length bytes, borrowed) must be one map and nothing behind it. COP_EFORMAT with the fault (NULL
 * allowed) filled; *out is then undefined. */
COP_CHECK cop_err cop_wire_reply_action_decode(
        const void *body, size_t length, cop_wire_action *out, cop_wire_fault *fault);
COP_CHECK cop_err cop_wire_reply_result_decode(const void *body, size_t length, cop_event_id *id,
        cop_wire_result *result, cop_wire_seq *seq, cop_wire_fault *fault);
/* A code of a later version becomes COP_WIRE_INTERNAL. id's kind is 0 and seq's length 0 when they are not there. */
COP_CHECK cop_err cop_wire_reply_error_decode(const void *body, size_t length, cop_wire_fault *error, cop_event_id *id,
        cop_wire_seq *seq, cop_wire_fault *fault);
/* Whether a batch's item is an error (it has the key `code`). */
bool cop_wire_reply_is_error(const void *body, size_t length);

#endif
