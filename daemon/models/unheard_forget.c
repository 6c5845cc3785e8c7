/* A body in which nothing is theirs stays as it is; of another one what stays is written over it. */
#include "daemon/models/unheard_forget.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "wire/wire_items.h"
#include "wire/wire_put.h"

typedef struct asked {
	const cop_event_id *whom;
	bool by_id;
} asked;

static bool is_theirs(const asked *a, const void *item, size_t length)
{
	const char *const names[] = { a->by_id ? "id" : "unit" };
	cop_wire_cursor cursor;
	cop_wire_keys keys;
	cop_event_id id = { 0 };
	unsigned which;
	cop_wire_cursor_init(&cursor, item, length);
	cop_err err = cop_wire_keys_open(&keys, &cursor, names, 1, NULL);
	if (err == COP_OK)
		err = cop_wire_keys_next(&keys, &which);
	if (err == COP_OK)
		err = cop_wire_keys_read_id(&cursor, names[0], &id, NULL);
	return err == COP_OK && cop_event_id_equal(&id, a->whom);
}

static size_t count_theirs(const asked *a, const cop_unheard_body *body)
{
	cop_wire_items items;
	const void *item;
	size_t length, count = 0;
	if (cop_wire_items_stream(&items, body->data, body->length, NULL) != COP_OK)
		return 0;
	while (cop_wire_items_next(&items, &item, &length))
		count += is_theirs(a, item, length);
	return count;
}

/* At least one stays, so the body is an array. */
static cop_err put_rest(const asked *a, const cop_unheard_body *body, cop_bytes *out)
{
	cop_wire_items items;
	const void *item;
	size_t length, kept = 0;
	cop_bytes_clear(out);
	size_t mark = cop_wire_put_array_open(out);
	cop_err err = cop_wire_items_stream(&items, body->data, body->length, NULL);
	while (err == COP_OK && cop_wire_items_next(&items, &item, &length))
		if (!is_theirs(a, item, length)) {
			cop_wire_put_raw(out, item, length);
			kept++;
		}
	cop_wire_put_array_close(out, mark, kept);
	return err == COP_OK ? out->err : err;
}

/* Takes theirs out of the body; it stays where it is. */
static cop_err cut(const asked *a, cop_unheard *queue, cop_unheard_body *body, size_t theirs, cop_bytes *room)
{
	cop_err err = put_rest(a, body, room);
	if (err != COP_OK)
		return err;
	assert(room->length <= body->length); /* a context is longer than what an array's head may grow by */
	memcpy(body->data, room->data, room->length);
	queue->bytes -= body->length - room->length;
	queue->contexts -= theirs;
	body->length = room->length;
	body->contexts -= theirs;
	return COP_OK;
}

cop_err cop_unheard_forget(cop_unheard *queue, const cop_event_id *whom, bool by_id, size_t *gone)
{
	const asked a = { whom, by_id };
	cop_unheard_body *before = NULL, *next;
	cop_bytes room;
	cop_err err = COP_OK;
	*gone = 0;
	cop_bytes_init(&room);
	for (cop_unheard_body *body = queue->oldest; body != NULL && err == COP_OK; body = next) {
		const size_t theirs = count_theirs(&a, body);
		next = body->younger;
		if (theirs > 0 && theirs == body->contexts) {
			cop_unheard_remove(queue, before, body);
			cop_mem_free(body);
		} else {
			err = theirs > 0 ? cut(&a, queue, body, theirs, &room) : COP_OK;
			before = body;
		}
		*gone += err == COP_OK ? theirs : 0;
	}
	cop_bytes_fini(&room);
	queue->dropped[COP_UNHEARD_FORGOTTEN] += *gone;
	return err;
}
