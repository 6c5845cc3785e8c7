/* daemon/streams/broker.h: what the bridge needs of an event log: one partition of it, read from a position that the
 * daemon knows, actions written, a hint kept of how far they were.
 *
 * A class is a table of functions; those whose library the build found are in cop_broker_find. Where reading begins
 * is the caller's to say: what the broker remembers of a reader is a hint of which actions were sent, never more. One
 * thread per broker. */
#ifndef COP_DAEMON_STREAMS_BROKER_H
#define COP_DAEMON_STREAMS_BROKER_H

#include <stdbool.h>

#include "base/bytes.h"
#include "wire/wire_position.h"

#define COP_BROKER_TEXT 256 /* bytes of a topic's or server's name with its end */

typedef struct cop_broker_settings {
	const char *name;            /* of the stream's section; borrowed until close, as the others */
	const char *servers;         /* as the engine writes them */
	const char *user, *password; /* "": none */
	char topic[COP_BROKER_TEXT];
	char actions[COP_BROKER_TEXT]; /* "": none are sent */
	char dead[COP_BROKER_TEXT];    /* where events that are passed over go; "": nowhere */
	const char *group;             /* whose members share out the partitions; "": all are read here */
	uint32_t partition;
	bool newest;                /* where reading begins when there is no position; else at the oldest event */
	unsigned long actions_max;  /* how many the log keeps of them, where the engine bounds them; 0: all */
	const char *const *options; /* NAME=VALUE, for the engine alone */
	size_t option_count;
} cop_broker_settings;

/* Bodies one behind the other in bytes. */
typedef struct cop_broker_item {
	size_t at, length;
	uint64_t offset, minor;
	bool dead; /* of what was read: passed over; of what is sent: goes to `dead`, not to `actions` */
} cop_broker_item;

typedef struct cop_broker_batch {
	cop_bytes bytes;
	cop_broker_item *items;
	size_t count, capacity;
} cop_broker_batch;

void cop_broker_batch_clear(cop_broker_batch *batch);
void cop_broker_batch_fini(cop_broker_batch *batch);
/* COP_ENOMEM: nothing was added. */
COP_CHECK cop_err cop_broker_batch_add(
        cop_broker_batch *batch, const void *body, size_t length, uint64_t offset, uint64_t minor);

/* The bytes from `at` on were appended to batch->bytes and become its next item. COP_ENOMEM: they are taken off again.
 */
COP_CHECK cop_err cop_broker_batch_end(cop_broker_batch *batch, size_t at, uint64_t offset, uint64_t minor, bool dead);

/* Whether anything is ever sent, and where an item goes. */
bool cop_broker_sends(const cop_broker_settings *settings);
const char *cop_broker_target(const cop_broker_settings *settings, const cop_broker_item *item);

/* Where reading begins. */
typedef enum cop_broker_start { COP_BROKER_BEHIND, COP_BROKER_OLDEST, COP_BROKER_NEWEST } cop_broker_start;

/* What a member of a group hears: the partitions are its own, or are so no longer, which is true once the function
 * returns. */
typedef void (*cop_broker_change)(void *context, const uint32_t *partitions, size_t count, bool ours);

/* A member of the group that settings->group names, where the engine shares out partitions. One thread, which also
 * hears the changes: in look and in leave. Errors as of a class. */
typedef struct cop_broker_group_class {
	cop_err (*join)(const cop_broker_settings *settings, cop_broker_change change, void *context, void **out,
	        cop_diag *diag);
	/* Waits for at most `seconds`. */
	cop_err (*look)(void *member, double seconds, cop_diag *diag);
	void (*leave)(void *member); /* gives up all that it has; NULL is allowed */
} cop_broker_group_class;

/* Every function: COP_EIO with the reason in *diag when the broker does not answer or refuses; COP_ENOMEM. After an
 * error the broker is good for close alone. */
typedef struct cop_broker_class {
	const char *name;
	/* Connects. On error *out is NULL. */
	cop_err (*open)(const cop_broker_settings *settings, void **out, cop_diag *diag);
	/* The next event is the first behind *at, or the oldest, or the next that is added; *at is then what it is
	 * behind. *gap: the log has lost events behind the position. COP_EINVAL: the log ends before it, and would give
	 * its numbers again. */
	cop_err (*seek)(void *broker, cop_broker_start start, cop_wire_position *at, bool *gap, cop_diag *diag);
	/* Appends up to `most` events that are there, in order; waits for the first at most `seconds`. */
	cop_err (*take)(void *broker, size_t most, double seconds, cop_broker_batch *out, cop_diag *diag);
	/* How many events the log has behind the last that was taken, near enough; false: not known. *lost: events that
	 * it removed before they were taken, as far as seen and not told before. */
	bool (*lag)(void *broker, uint64_t *out, uint64_t *lost);
	/* Sends the actions, in order, and then leaves the hint that all up to `upto` were (NULL: up to none). */
	cop_err (*send)(void *broker, const cop_broker_batch *actions, const cop_wire_position *upto, cop_diag *diag);
	/* The hint that was left: COP_BROKER_BEHIND what *out is, or at the OLDEST event, since nothing was sent yet.
	 * NEWEST: there is none. */
	cop_broker_start (*hinted)(void *broker, cop_wire_position *out);
	void (*close)(void *broker);         /* NULL is allowed */
	const cop_broker_group_class *group; /* NULL: the engine has none */
} cop_broker_class;

/* NULL: no such one, or its library was not there when this was built. */
const cop_broker_class *cop_broker_find(const char *name);
/* The i-th that is there; NULL behind the last. */
const cop_broker_class *cop_broker_at(size_t i);

#endif
