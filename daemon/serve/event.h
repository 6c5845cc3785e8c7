/* daemon/serve/event.h: one context, one feedback or one activation, from bytes to bytes, and into the journal; what
 * requests and streams share. The loop's thread. */
#ifndef COP_DAEMON_SERVE_EVENT_H
#define COP_DAEMON_SERVE_EVENT_H

#include "base/bytes.h"
#include "base/err.h"
#include "daemon/durable/journaler.h"
#include "daemon/models/model_table.h"
#include "daemon/serve/partition.h"
#include "wire/wire_code.h"

typedef struct cop_event_scope {
	cop_model_slot *served;
	cop_journaler *journal;   /* NULL: off */
	cop_partition *partition; /* NULL: the keys of all are its own */
	double now;
	uint64_t sequence;          /* newest record that the answer tells of; 0: none */
	bool noted;                 /* the context's source was noted when it came */
	bool follows;               /* the model is another instance's: nothing of it changes */
	bool actions_alone;         /* a repeat whose decision waits no longer gets no answer */
	uint32_t owner, owner_most; /* whose the decision is, and how many of these may wait (online/model.h) */
} cop_event_scope;

typedef cop_err cop_event_handler(
        cop_event_scope *scope, const void *body, size_t length, cop_bytes *out, cop_wire_fault *fault);

/* Decides the context in body (with its candidates, where the model ranks) and appends its action to out. One that an
 * event log brought before changes nothing: it gets its action again, or, if that waits no longer, a repeat's answer
 * (wire/wire_reply.h). On error nothing is appended, the model is as it was, and the fault says why: errors of
 * cop_wire_context_decode, COP_ENOMEM (internal). Where the scope follows, it is the best action, with p = 1 and
 * `durable: false`; models of values are refused. */
COP_CHECK cop_err cop_event_decide(
        cop_event_scope *scope, const void *body, size_t length, cop_bytes *out, cop_wire_fault *fault);

/* Whether that context could be decided now; changes nothing but the note of its source. Errors as above. */
COP_CHECK cop_err cop_event_check(cop_event_scope *scope, const void *body, size_t length, cop_wire_fault *fault);
/* No subscriber was given the actions in body, which cop_event_decide appended (one, or an array of them) when the time
 * was `decided`. Those decisions of them that were new then, and wait still, are unheard from here on, in the journal
 * too; may be called at any time after the decision. How many those are. */
size_t cop_event_unheard(cop_event_scope *scope, double decided, const void *body, size_t length);

/* Joins the feedback in body with its decision and appends the result to out (NULL: not wanted); of one that an event
 * log brought before a repeat's answer. On error nothing is
 * appended, the model is as it was, and the fault says why: errors of cop_wire_feedback_decode; COP_EINVAL or
 * COP_ENONFINITE (bad_loss: outside the model's loss_range); COP_EDIVERGED (internal); COP_EIO (not_durable: the
 * journal is broken). */
COP_CHECK cop_err cop_event_feedback(
        cop_event_scope *scope, const void *body, size_t length, cop_bytes *out, cop_wire_fault *fault);

/* `{id}`: a deferred decision was shown. Appends the result. COP_EFORMAT (bad_request), COP_EIO (not_durable). */
COP_CHECK cop_err cop_event_activate(
        cop_event_scope *scope, const void *body, size_t length, cop_bytes *out, cop_wire_fault *fault);

#endif
