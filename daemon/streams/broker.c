/* The table of classes, by what the build found, and batches. */
#include "daemon/streams/broker.h"

#include <string.h>

#include "base/mem.h"
#include "daemon/streams/broker_classes.h"

static const cop_broker_class *const classes[] = {
#ifdef COP_STREAMS_REDIS
	&cop_broker_redis,
#endif
#ifdef COP_STREAMS_NATS
	&cop_broker_nats,
#endif
#ifdef COP_STREAMS_KAFKA
	&cop_broker_kafka,
#endif
	NULL,
};

const cop_broker_class *cop_broker_find(const char *name)
{
	size_t i = 0;
	while (classes[i] != NULL && strcmp(classes[i]->name, name) != 0)
		i++;
	return classes[i];
}

const cop_broker_class *cop_broker_at(size_t i) { return i < sizeof classes / sizeof *classes ? classes[i] : NULL; }

void cop_broker_batch_clear(cop_broker_batch *batch)
{
	cop_bytes_clear(&batch->bytes);
	batch->count = 0;
}

void cop_broker_batch_fini(cop_broker_batch *batch)
{
	cop_bytes_fini(&batch->bytes);
	cop_mem_free(batch->items);
	*batch = (cop_broker_batch){ .count = 0 };
}

static cop_err make_room(cop_broker_batch *batch)
{
	if (batch->count < batch->capacity)
		return COP_OK;
	size_t capacity = batch->capacity == 0 ? 64 : 2 * batch->capacity;
	cop_broker_item *items = cop_mem_alloc(capacity, sizeof *items);
	if (items == NULL)
		return COP_ENOMEM;
	if (batch->count > 0)
		memcpy(items, batch->items, batch->count * sizeof *items);
	cop_mem_free(batch->items);
	batch->items = items;
	batch->capacity = capacity;
	return COP_OK;
}

cop_err cop_broker_batch_end(cop_broker_batch *batch, size_t at, uint64_t offset, uint64_t minor, bool dead)
{
	size_t length = batch->bytes.length - at;
	cop_bytes_put_u8(&batch->bytes, 0); /* readers of JSON want an end */
	if (batch->bytes.err != COP_OK || make_room(batch) != COP_OK) {
		batch->bytes.length = at;
		return COP_ENOMEM;
	}
	batch->items[batch->count++] = (cop_broker_item){ at, length, offset, minor, dead };
	return COP_OK;
}

cop_err cop_broker_batch_add(cop_broker_batch *batch, const void *body, size_t length, uint64_t offset, uint64_t minor)
{
	size_t at = batch->bytes.length;
	cop_bytes_put(&batch->bytes, body, length);
	return cop_broker_batch_end(batch, at, offset, minor, false);
}

bool cop_broker_sends(const cop_broker_settings *settings)
{
	return settings->actions[0] != '\0' || settings->dead[0] != '\0';
}

const char *cop_broker_target(const cop_broker_settings *settings, const cop_broker_item *item)
{
	return item->dead ? settings->dead : settings->actions;
}
