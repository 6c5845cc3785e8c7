/* history/open_decisions.h: decisions of a journal that wait for their feedback, found by id, the longest waiting
 * first.
 *
 * Each keeps the record that it was read from; what was learned of it comes to lie beside. Equal ids do not wait twice.
 * One thread per table. */
#ifndef COP_HISTORY_OPEN_DECISIONS_H
#define COP_HISTORY_OPEN_DECISIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "events/event_id.h"

typedef struct cop_open_decisions_entry cop_open_decisions_entry;

struct cop_open_decisions_entry {
	cop_open_decisions_entry *older, *younger; /* in the table, or in a list of the caller's (younger: the next) */
	cop_open_decisions_entry *chain;
	uint64_t hash;
	uint64_t sequence; /* of the record */
	double time;       /* when its window began, seconds */
	bool deferred;     /* not shown yet */
	bool unheard;      /* no subscriber was given its action */
	/* What became of it, for whoever takes it out. */
	double loss[2];   /* the second of two-point values */
	double ended;     /* event time of the record that ended it */
	uint64_t learned; /* sequence number of that record */
	bool labelled, defaulted, self_contained;
	size_t text; /* bytes of the journal that it took */
	cop_event_id id;
	size_t length; /* of body */
	uint8_t body[];
};

typedef struct cop_open_decisions {
	cop_open_decisions_entry **buckets;
	size_t room; /* power of two */
	size_t count;
	size_t bytes; /* of the entries */
	cop_open_decisions_entry *oldest, *youngest;
} cop_open_decisions;

/* An entry that waits nowhere, zeroed but for id, length and body (copied). NULL: out of memory. Freed with
 * cop_mem_free. */
cop_open_decisions_entry *cop_open_decisions_entry_new(const cop_event_id *id, const uint8_t *body, size_t length)
        __attribute__((warn_unused_result));
/* One that waits nowhere is another decision's from here on. */
void cop_open_decisions_entry_name(cop_open_decisions_entry *entry, const cop_event_id *id);

/* Zeroed is an empty table. */
void cop_open_decisions_fini(cop_open_decisions *table);
/* Takes the entry in as the youngest (contract: its id does not wait). COP_ENOMEM: it was not taken. */
COP_CHECK cop_err cop_open_decisions_add(cop_open_decisions *table, cop_open_decisions_entry *entry);
/* NULL: it does not wait. */
cop_open_decisions_entry *cop_open_decisions_find(const cop_open_decisions *table, const cop_event_id *id);
/* Takes it out; it is the caller's then. */
void cop_open_decisions_remove(cop_open_decisions *table, cop_open_decisions_entry *entry);
/* Makes it the youngest. */
void cop_open_decisions_renew(cop_open_decisions *table, cop_open_decisions_entry *entry);

#endif
