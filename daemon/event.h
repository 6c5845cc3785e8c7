/* daemon/event.h: one context or one feedback, from bytes to bytes; what requests and streams share. The loop's thread.
 */
#ifndef COP_DAEMON_EVENT_H
#define COP_DAEMON_EVENT_H

#include "base/bytes.h"
#include "base/err.h"
#include "daemon/served.h"
#include "wire/wire_code.h"

/* Decides the context in body and appends its action to out. On error nothing is appended, the model is as it was, and
 * the fault says why: errors of cop_wire_context_decode, COP_EINVAL (bad_request: no eligible arm), COP_ENOMEM. */
COP_CHECK cop_err cop_event_decide(
        cop_served *served, const void *body, size_t length, double now, cop_bytes *out, cop_wire_fault *fault);

/* Joins the feedback in body with its decision and appends the result to out (NULL: not wanted). On error nothing is
 * appended, the model is as it was, and the fault says why: errors of cop_wire_feedback_decode; COP_EINVAL or
 * COP_ENONFINITE (bad_loss: outside the model's loss_range); COP_EDIVERGED (bad_loss). */
COP_CHECK cop_err cop_event_feedback(
        cop_served *served, const void *body, size_t length, double now, cop_bytes *out, cop_wire_fault *fault);

#endif
