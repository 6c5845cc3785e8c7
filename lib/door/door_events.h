/* door/door_events.h: parts of events that explanations share, for lib/door alone. */
#ifndef COP_DOOR_DOOR_EVENTS_H
#define COP_DOOR_DOOR_EVENTS_H

#include "door/door_private.h"

/* COP_EINVAL: bytes or length. */
COP_CHECK cop_err cop_door_events_id(const coppice_id *id, cop_event_id *out, cop_diag *diag);

/* now, or the latest time that the model was given. COP_ENONFINITE. */
COP_CHECK cop_err cop_door_events_time(const coppice_model *model, double now, double *out, cop_diag *diag);

/* What a context brings, as the model takes it. */
typedef struct cop_door_context {
	cop_row x;
	cop_model_context context; /* without an id */
} cop_door_context;

/* A view of the model's rows until the next one; candidates NULL: there are none, mask is of arms. COP_EINVAL:
 * candidates or a mask where the model has none, or none where it has some. Errors of door/door_rows.h. */
COP_CHECK cop_err cop_door_events_context(coppice_model *model, const coppice_row *x, const unsigned char *mask,
        const coppice_candidates *candidates, cop_door_context *out, cop_diag *diag);

#endif
