/* daemon/report/explain_body.h: the body of explain's reply; docs/reference/protocol.md has its keys.
 * The loop's thread. */
#ifndef COP_DAEMON_REPORT_EXPLAIN_BODY_H
#define COP_DAEMON_REPORT_EXPLAIN_BODY_H

#include "base/bytes.h"
#include "daemon/models/model_table.h"
#include "events/place_names.h"
#include "wire/wire_keys.h"

/* Of a decision of the past: names that were not kept then. */
typedef struct cop_explain_past {
	const cop_place_names *later; /* of a state behind it; NULL: there is none */
	bool came_later, unknown;     /* out: names of places were found there, or nowhere */
} cop_explain_past;

typedef struct cop_explain_body {
	const cop_model_slot *served;
	const cop_event_id *id; /* NULL: a context was explained */
	const cop_wire_seq *seq;
	cop_decision decision;
	const cop_explanation *explanation;
	bool kept; /* made at decide time */
	cop_wire_maker by;
	double own_p;    /* as of cop_model_waiting, */
	size_t eligible; /* and this */
	const char *arm; /* the candidate's name, not terminated; NULL: it has none */
	size_t arm_length;
	cop_row x, candidate;   /* raw, of what is explained; candidate: of models that rank */
	cop_explain_past *past; /* NULL: it is explained as it is made */
} cop_explain_body;

/* Fills in the decision of that id (kept), which waits, all but served and seq. COP_ENOTFOUND: none does. */
COP_CHECK cop_err cop_explain_body_of_waiting(cop_explain_body *body, const cop_event_id *id);
/* All but seq, into the map that is open. */
void cop_explain_body_put_keys(const cop_explain_body *body, cop_bytes *out);
void cop_explain_body_put(const cop_explain_body *body, cop_bytes *out);

#endif
