/* A ring. Of an id that comes again, after its decision ended, the newest counts. */
#include "daemon/models/played_names.h"

#include <string.h>

void cop_played_names_put(cop_played_names *names, const cop_event_id *id, const char *name, size_t length)
{
	cop_played_name *item = &names->item[names->count % COP_PLAYED_NAMES];
	if (length >= sizeof item->name)
		return;
	item->id = *id;
	item->length = length;
	memcpy(item->name, name, length);
	item->name[length] = '\0';
	names->count++;
}

const cop_played_name *cop_played_names_find(const cop_played_names *names, const cop_event_id *id)
{
	size_t held = names->count < COP_PLAYED_NAMES ? names->count : COP_PLAYED_NAMES;
	for (size_t back = 1; back <= held; back++) {
		const cop_played_name *item = &names->item[(names->count - back) % COP_PLAYED_NAMES];
		if (cop_event_id_equal(&item->id, id))
			return item;
	}
	return NULL;
}
