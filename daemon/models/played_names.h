/* daemon/models/played_names.h: the names of the candidates that the newest decisions played, for who asks why later.
 *
 * Of models that rank, whose candidates have names only for as long as the message that brought them. One thread. */
#ifndef COP_DAEMON_MODELS_PLAYED_NAMES_H
#define COP_DAEMON_MODELS_PLAYED_NAMES_H

#include <stddef.h>

#include "events/event_id.h"

#define COP_PLAYED_NAMES      256
#define COP_PLAYED_NAMES_ROOM 65

typedef struct cop_played_name {
	cop_event_id id;
	size_t length;
	char name[COP_PLAYED_NAMES_ROOM];
} cop_played_name;

typedef struct cop_played_names {
	cop_played_name item[COP_PLAYED_NAMES];
	size_t count; /* ever put */
} cop_played_names;

/* In the place of the oldest. Longer names than there is room for are left out. */
void cop_played_names_put(cop_played_names *names, const cop_event_id *id, const char *name, size_t length);
/* NULL: it had none, or newer ones took its place. Looks at all of them. */
const cop_played_name *cop_played_names_find(const cop_played_names *names, const cop_event_id *id);

#endif
