/* Of the older files the one goes whose loss leaves the smallest gap: from the file before it, which replays in its
 * place, to the one after it. The oldest has none before it, and stays, unless the journal has its very first record:
 * then replaying begins there. */
#include "daemon/durable/checkpoint_kept.h"

#include <string.h>

#include "base/mem.h"

void cop_checkpoint_kept_fini(cop_checkpoint_kept *kept)
{
	cop_mem_free(kept->sequence);
	cop_mem_free(kept->next);
	*kept = (cop_checkpoint_kept){ .count = 0 };
}

static cop_err grow(cop_checkpoint_kept *kept)
{
	size_t room = kept->room == 0 ? 16 : 2 * kept->room;
	uint64_t *sequence = cop_mem_resize(kept->sequence, kept->count, room, sizeof *sequence);
	if (sequence == NULL)
		return COP_ENOMEM;
	kept->sequence = sequence;
	uint64_t *next = cop_mem_resize(kept->next, kept->count, room, sizeof *next);
	if (next == NULL)
		return COP_ENOMEM;
	kept->next = next;
	kept->room = room;
	return COP_OK;
}

cop_err cop_checkpoint_kept_add(cop_checkpoint_kept *kept, uint64_t sequence, uint64_t next)
{
	if (kept->count == kept->room && grow(kept) != COP_OK) {
		kept->count = 0;
		return COP_ENOMEM;
	}
	memmove(kept->sequence + 1, kept->sequence, kept->count * sizeof *kept->sequence);
	memmove(kept->next + 1, kept->next, kept->count * sizeof *kept->next);
	kept->sequence[0] = sequence;
	kept->next[0] = next;
	kept->count++;
	return COP_OK;
}

static void remove_at(cop_checkpoint_kept *kept, size_t at)
{
	kept->count--;
	memmove(kept->sequence + at, kept->sequence + at + 1, (kept->count - at) * sizeof *kept->sequence);
	memmove(kept->next + at, kept->next + at + 1, (kept->count - at) * sizeof *kept->next);
}

bool cop_checkpoint_kept_is_late(const cop_checkpoint_kept *kept, const cop_checkpoint_keeping *keeping)
{
	return kept->count > keeping->newest && kept->next[kept->count - 1] < keeping->first;
}

/* Records between its neighbours. at: of an older one. */
static uint64_t gap_without(const cop_checkpoint_kept *kept, size_t at, uint64_t first)
{
	bool oldest = at + 1 == kept->count;
	uint64_t before = oldest ? 1 : kept->next[at + 1], after = kept->next[at - 1];
	if (oldest && first != 1)
		return UINT64_MAX;
	return after > before ? after - before : 0;
}

void cop_checkpoint_kept_thin(cop_checkpoint_kept *kept, const cop_checkpoint_keeping *keeping)
{
	while (cop_checkpoint_kept_is_late(kept, keeping))
		kept->count--;
	while (kept->count > keeping->newest + keeping->older) {
		size_t least = keeping->newest;
		for (size_t i = least + 1; i < kept->count; i++)
			if (gap_without(kept, i, keeping->first) < gap_without(kept, least, keeping->first))
				least = i;
		remove_at(kept, least);
	}
}

void cop_checkpoint_kept_drop_since(cop_checkpoint_kept *kept, uint64_t first)
{
	for (size_t i = kept->count; i-- > 1;)
		if (kept->next[i] > first)
			remove_at(kept, i);
}

uint64_t cop_checkpoint_kept_needs(const cop_checkpoint_kept *kept, size_t newest)
{
	return kept->count < newest ? 0 : kept->next[newest - 1];
}
