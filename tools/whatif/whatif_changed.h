/* tools/whatif/whatif_changed.h: the decisions that would have changed, a JSON line each, in the order in which their
 * losses came. One thread. */
#ifndef COP_TOOLS_WHATIF_WHATIF_CHANGED_H
#define COP_TOOLS_WHATIF_WHATIF_CHANGED_H

#include "base/stream.h"
#include "events/event_id.h"
#include "whatif_pair.h"

typedef struct cop_whatif_changed {
	cop_stream *out;
	cop_bytes line;
	double low, width; /* of values; width 0: actions are arms or candidates */
} cop_whatif_changed;

/* The file is replaced when it is closed without an error; set: the model's. Finish with close. Errors of
 * cop_stream_open_replace. */
COP_CHECK cop_err cop_whatif_changed_open(
        cop_whatif_changed *changed, const char *path, const cop_model_settings *set, cop_diag *diag);
/* A decision whose loss is known. COP_EIO, COP_ENOMEM. */
COP_CHECK cop_err cop_whatif_changed_put(
        cop_whatif_changed *changed, const cop_event_id *id, const cop_whatif_seen *seen, double loss);
/* keep: what was written stays. COP_EIO, COP_ENOMEM, with *diag. */
COP_CHECK cop_err cop_whatif_changed_close(cop_whatif_changed *changed, bool keep, cop_diag *diag);

#endif
