/* daemon/refit/refit_body.h: what the outside hears and says of refits and promotions: bodies of verbs, maps of status.
 * The loop's thread. */
#ifndef COP_DAEMON_REFIT_REFIT_BODY_H
#define COP_DAEMON_REFIT_REFIT_BODY_H

#include "daemon/refit/refits.h"
#include "wire/wire_code.h"
#include "wire/wire_keys.h"

typedef struct cop_refit_order {
	cop_model_slot *slot; /* whose model */
	bool has_number;
	uint64_t number; /* of a challenger */
	bool on;         /* freeze; true unless told otherwise */
	cop_wire_seq seq;
	uint64_t sequence; /* newest journal record that the reply reports, out */
} cop_refit_order;

/* The body of promote, rollback and freeze: `{n?, on?, seq?}`. COP_EFORMAT (bad_request). */
COP_CHECK cop_err cop_refit_body_decode(const void *body, size_t length, cop_refit_order *order, cop_wire_fault *fault);

/* The verbs; the reply is appended to out. On error the fault is filled and nothing changed (but a promotion by number
 * may have brought its challenger). */
COP_CHECK cop_err cop_refit_body_refit(
        cop_refits *refits, cop_refit_order *order, cop_bytes *out, cop_wire_fault *fault);
COP_CHECK cop_err cop_refit_body_promote(
        cop_refits *refits, cop_refit_order *order, cop_bytes *out, cop_wire_fault *fault);
COP_CHECK cop_err cop_refit_body_rollback(
        cop_refits *refits, cop_refit_order *order, cop_bytes *out, cop_wire_fault *fault);
COP_CHECK cop_err cop_refit_body_freeze(
        cop_refits *refits, cop_refit_order *order, cop_bytes *out, cop_wire_fault *fault);

/* The pairs "refit" and "challenger" of a model's status, where there is something to report. */
void cop_refit_body_status(const cop_refits *refits, const cop_model_slot *slot, cop_bytes *out);

#endif
