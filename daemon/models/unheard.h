/* daemon/models/unheard.h: contexts of one model that wait until somebody subscribes to its actions.
 *
 * A queue of stream bodies in order of arrival, bounded by contexts, bytes and age; beyond a bound the oldest bodies go
 * and their contexts are counted. The contexts of one array stay together. The loop's thread. */
#ifndef COP_DAEMON_MODELS_UNHEARD_H
#define COP_DAEMON_MODELS_UNHEARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum cop_unheard_reason {
	COP_UNHEARD_COUNT,     /* more contexts than may wait */
	COP_UNHEARD_BYTES,     /* more bytes, or no memory */
	COP_UNHEARD_AGE,       /* waited too long */
	COP_UNHEARD_FORGOTTEN, /* of somebody who was forgotten */
	COP_UNHEARD_REASONS
} cop_unheard_reason;

/* "count" ...; never NULL. */
const char *cop_unheard_reason_text(cop_unheard_reason reason);

typedef struct cop_unheard_limits {
	size_t contexts;
	size_t bytes; /* of bodies, and of the queue's own */
	double age;   /* seconds */
} cop_unheard_limits;

/* Whose the decisions will be, and how many of theirs may wait (online/model.h). */
typedef struct cop_unheard_owner {
	uint32_t owner, most;
} cop_unheard_owner;

typedef struct cop_unheard_body {
	struct cop_unheard_body *younger;
	double time; /* of its arrival, seconds */
	cop_unheard_owner owner;
	size_t contexts;
	size_t length;
	uint8_t data[];
} cop_unheard_body;

typedef struct cop_unheard_item {
	const void *body; /* borrowed */
	size_t length, contexts;
	cop_unheard_owner owner;
} cop_unheard_item;

typedef struct cop_unheard {
	cop_unheard_body *oldest, *youngest;
	size_t contexts, bytes;                /* waiting */
	uint64_t dropped[COP_UNHEARD_REASONS]; /* contexts */
} cop_unheard;

/* Zeroed is an empty queue. */
void cop_unheard_fini(cop_unheard *queue);
/* Whether a body of that size would wait without another having to go. */
bool cop_unheard_has_room(const cop_unheard *queue, const cop_unheard_limits *limits, size_t length, size_t contexts);
/* Puts a copy of the body at the end; what no longer has room is dropped, the oldest first, at last the body itself. */
void cop_unheard_put(cop_unheard *queue, const cop_unheard_limits *limits, double now, const cop_unheard_item *item);
/* Drops what has waited for longer than limits->age. */
void cop_unheard_drop_old(cop_unheard *queue, const cop_unheard_limits *limits, double now);
/* Takes a body out; before: the one that is older by one place, NULL: it is the oldest. The caller's then. */
void cop_unheard_remove(cop_unheard *queue, cop_unheard_body *before, cop_unheard_body *body);
/* Takes the oldest out, NULL when none waits. Caller frees with cop_mem_free. */
cop_unheard_body *cop_unheard_take(cop_unheard *queue) __attribute__((warn_unused_result));

#endif
