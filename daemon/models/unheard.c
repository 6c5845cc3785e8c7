/* A singly linked list; contexts and bytes are sums over it. */
#include "daemon/models/unheard.h"

#include <string.h>

#include "base/mem.h"

const char *cop_unheard_reason_text(cop_unheard_reason reason)
{
	static const char *const texts[COP_UNHEARD_REASONS] = { "count", "bytes", "age", "forgotten" };
	return texts[reason];
}

static size_t size_of(size_t length) { return sizeof(cop_unheard_body) + length; }

void cop_unheard_remove(cop_unheard *queue, cop_unheard_body *before, cop_unheard_body *body)
{
	if (before != NULL)
		before->younger = body->younger;
	else
		queue->oldest = body->younger;
	if (queue->youngest == body)
		queue->youngest = before;
	queue->contexts -= body->contexts;
	queue->bytes -= size_of(body->length);
}

cop_unheard_body *cop_unheard_take(cop_unheard *queue)
{
	cop_unheard_body *body = queue->oldest;
	if (body != NULL)
		cop_unheard_remove(queue, NULL, body);
	return body;
}

static void drop(cop_unheard *queue, cop_unheard_reason reason)
{
	cop_unheard_body *body = cop_unheard_take(queue);
	queue->dropped[reason] += body->contexts;
	cop_mem_free(body);
}

void cop_unheard_fini(cop_unheard *queue)
{
	for (cop_unheard_body *body; (body = cop_unheard_take(queue)) != NULL;)
		cop_mem_free(body);
}

static bool fits_count(const cop_unheard *queue, const cop_unheard_limits *limits, size_t contexts)
{
	return contexts <= limits->contexts && queue->contexts <= limits->contexts - contexts;
}

static bool fits_bytes(const cop_unheard *queue, const cop_unheard_limits *limits, size_t length)
{
	return size_of(length) <= limits->bytes && queue->bytes <= limits->bytes - size_of(length);
}

bool cop_unheard_has_room(const cop_unheard *queue, const cop_unheard_limits *limits, size_t length, size_t contexts)
{
	return fits_count(queue, limits, contexts) && fits_bytes(queue, limits, length);
}

void cop_unheard_put(cop_unheard *queue, const cop_unheard_limits *limits, double now, const cop_unheard_item *item)
{
	size_t contexts = item->contexts, length = item->length;
	while (queue->oldest != NULL && !fits_count(queue, limits, contexts))
		drop(queue, COP_UNHEARD_COUNT);
	while (queue->oldest != NULL && !fits_bytes(queue, limits, length))
		drop(queue, COP_UNHEARD_BYTES);
	if (!fits_count(queue, limits, contexts)) {
		queue->dropped[COP_UNHEARD_COUNT] += contexts;
		return;
	}
	cop_unheard_body *fresh = fits_bytes(queue, limits, length) ? cop_mem_alloc(1, size_of(length)) : NULL;
	if (fresh == NULL) {
		queue->dropped[COP_UNHEARD_BYTES] += contexts;
		return;
	}
	*fresh = (cop_unheard_body){ .time = now, .owner = item->owner, .contexts = contexts, .length = length };
	memcpy(fresh->data, item->body, length);
	if (queue->youngest != NULL)
		queue->youngest->younger = fresh;
	else
		queue->oldest = fresh;
	queue->youngest = fresh;
	queue->contexts += contexts;
	queue->bytes += size_of(length);
}

void cop_unheard_drop_old(cop_unheard *queue, const cop_unheard_limits *limits, double now)
{
	while (queue->oldest != NULL && queue->oldest->time + limits->age < now)
		drop(queue, COP_UNHEARD_AGE);
}
