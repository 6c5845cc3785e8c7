/* online/pending_owners.h: whose the waiting decisions are, for pending.c alone: how many each owner has, in how many
 * bytes, and the ends of its chain.
 *
 * An owner is a number other than 0, for example a hash of a client's name; decisions of nobody in particular are not
 * kept here. An open-addressing table by owner, with linear probing, that only grows. One thread. */
#ifndef COP_ONLINE_PENDING_OWNERS_H
#define COP_ONLINE_PENDING_OWNERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

typedef struct cop_pending_owner {
	uint32_t owner;            /* 0: the place is free */
	uint32_t oldest, youngest; /* handles of its records; 0: it has none */
	size_t count, bytes;
	size_t masked; /* of count */
} cop_pending_owner;

static inline size_t cop_pending_owners_size(const cop_pending_owner *owner, bool by_bytes)
{
	return by_bytes ? owner->bytes : owner->count;
}

/* Zeroed is an empty table. */
typedef struct cop_pending_owners {
	cop_pending_owner *items;
	size_t capacity, used;
} cop_pending_owners;

void cop_pending_owners_fini(cop_pending_owners *owners);
/* The owner's entry, which stays where it is until the next reserve; NULL: it never had one. */
cop_pending_owner *cop_pending_owners_find(const cop_pending_owners *owners, uint32_t owner);
/* Makes sure that the owner has an entry. COP_ENOMEM. */
COP_CHECK cop_err cop_pending_owners_reserve(cop_pending_owners *owners, uint32_t owner);
/* The one with the most decisions, or bytes; of equal ones that of the lowest number. NULL: none has any. */
cop_pending_owner *cop_pending_owners_largest(const cop_pending_owners *owners, bool by_bytes);

#endif
