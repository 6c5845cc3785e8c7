/* history/waiting.h: decisions of a journal that wait for their feedback, found by id, the longest waiting first.
 *
 * Each keeps the record that it was read from; what was learned of it comes to lie beside. Equal ids do not wait twice.
 * One thread per table. */
#ifndef COP_HISTORY_WAITING_H
#define COP_HISTORY_WAITING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "events/event_id.h"

typedef struct cop_waiting_entry cop_waiting_entry;

struct cop_waiting_entry {
	cop_waiting_entry *older, *younger; /* in the table, or in a list of the caller's (younger: the next) */
	cop_waiting_entry *chain;
	uint64_t hash;
	uint64_t sequence; /* of the record */
	double time;       /* when its window began, seconds */
	uint32_t arm;
	uint32_t losses; /* recorded so far */
	bool deferred;   /* not shown yet */
	bool unheard;    /* no subscriber was given its action */
	double loss[2];  /* last or sum of them; the second of two-point values */
	/* What became of it, for whoever takes it out. */
	double ended;     /* event time of the record that ended it */
	uint64_t learned; /* sequence number of that record */
	bool labelled, defaulted, self_contained;
	size_t text; /* bytes of the journal that it took */
	cop_event_id id;
	size_t length; /* of body */
	uint8_t body[];
};

typedef struct cop_waiting {
	cop_waiting_entry **buckets;
	size_t room; /* power of two */
	size_t count;
	size_t bytes; /* of the entries */
	cop_waiting_entry *oldest, *youngest;
} cop_waiting;

/* An entry that waits nowhere, zeroed but for id, length and body (copied). NULL: out of memory. Freed with
 * cop_mem_free. */
cop_waiting_entry *cop_waiting_entry_new(const cop_event_id *id, const uint8_t *body, size_t length)
        __attribute__((warn_unused_result));

/* Zeroed is an empty table. */
void cop_waiting_fini(cop_waiting *table);
/* Takes the entry in as the youngest (contract: its id does not wait). COP_ENOMEM: it was not taken. */
COP_CHECK cop_err cop_waiting_add(cop_waiting *table, cop_waiting_entry *entry);
/* NULL: it does not wait. */
cop_waiting_entry *cop_waiting_find(const cop_waiting *table, const cop_event_id *id);
/* Takes it out; it is the caller's then. */
void cop_waiting_remove(cop_waiting *table, cop_waiting_entry *entry);
/* Makes it the youngest. */
void cop_waiting_renew(cop_waiting *table, cop_waiting_entry *entry);

#endif
