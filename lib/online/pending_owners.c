/* An owner's home is its number's low bits: the numbers are hashes. At most half of the places are used, so that a look
 * for one that is not there ends soon. */
#include "online/pending_owners.h"

#include "base/mem.h"

#define SMALLEST 16

void cop_pending_owners_fini(cop_pending_owners *owners)
{
	cop_mem_free(owners->items);
	*owners = (cop_pending_owners){ 0 };
}

/* Where the owner is, or would be put. */
static cop_pending_owner *place(cop_pending_owner *items, size_t capacity, uint32_t owner)
{
	size_t at = owner & (capacity - 1);
	while (items[at].owner != 0 && items[at].owner != owner)
		at = (at + 1) & (capacity - 1);
	return &items[at];
}

cop_pending_owner *cop_pending_owners_find(const cop_pending_owners *owners, uint32_t owner)
{
	if (owners->capacity == 0)
		return NULL;
	cop_pending_owner *found = place(owners->items, owners->capacity, owner);
	return found->owner == owner ? found : NULL;
}

static cop_err grow(cop_pending_owners *owners)
{
	size_t capacity = owners->capacity == 0 ? SMALLEST : 2 * owners->capacity;
	cop_pending_owner *items = cop_mem_alloc(capacity, sizeof *items);
	if (items == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < owners->capacity; i++)
		if (owners->items[i].owner != 0)
			*place(items, capacity, owners->items[i].owner) = owners->items[i];
	cop_mem_free(owners->items);
	owners->items = items;
	owners->capacity = capacity;
	return COP_OK;
}

cop_err cop_pending_owners_reserve(cop_pending_owners *owners, uint32_t owner)
{
	if (cop_pending_owners_find(owners, owner) != NULL)
		return COP_OK;
	cop_err err = 2 * (owners->used + 1) > owners->capacity ? grow(owners) : COP_OK;
	if (err != COP_OK)
		return err;
	place(owners->items, owners->capacity, owner)->owner = owner;
	owners->used++;
	return COP_OK;
}

cop_pending_owner *cop_pending_owners_largest(const cop_pending_owners *owners, bool by_bytes)
{
	cop_pending_owner *largest = NULL;
	for (size_t i = 0; i < owners->capacity; i++) {
		cop_pending_owner *o = &owners->items[i];
		size_t size = cop_pending_owners_size(o, by_bytes);
		size_t most = largest == NULL ? 0 : cop_pending_owners_size(largest, by_bytes);
		if (size > most || (size == most && largest != NULL && o->owner < largest->owner))
			largest = o;
	}
	return largest;
}
