/* daemon/models/unheard_forget.h: contexts that wait for a subscriber and are those of somebody who is forgotten: they
 * go.
 *
 * Bodies are what a stream brought (wire/wire_items.h). The loop's thread. */
#ifndef COP_DAEMON_MODELS_UNHEARD_FORGET_H
#define COP_DAEMON_MODELS_UNHEARD_FORGET_H

#include "base/err.h"
#include "daemon/models/unheard.h"
#include "events/event_id.h"

/* Takes out those of the unit, or by_id: of the id; *gone is how many. The others keep their order. COP_ENOMEM: some
 * may be left. */
COP_CHECK cop_err cop_unheard_forget(cop_unheard *queue, const cop_event_id *whom, bool by_id, size_t *gone);

#endif
