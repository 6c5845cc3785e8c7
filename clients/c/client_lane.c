/* A message keeps its bytes, so that it is the same whenever it is sent again. */
#include "clients/c/client_lane.h"

#include <string.h>

#include "base/mem.h"
#include "wire/wire_context.h"
#include "wire/wire_items.h"
#include "wire/wire_put.h"

/* ---- the queue ---- */

cop_client_lane *cop_client_lane_find(cop_client_lane **lanes, const cop_client_asked *asked, size_t batch)
{
	cop_client_lane *l = *lanes;
	while (l != NULL && (strcmp(l->verb, asked->verb) != 0 || strcmp(l->model, asked->model) != 0))
		l = l->next;
	if (l != NULL || (l = cop_mem_alloc(1, sizeof *l)) == NULL)
		return l;
	(void)strncpy(l->verb, asked->verb, sizeof l->verb - 1);
	(void)strncpy(l->model, asked->model, sizeof l->model - 1);
	l->batched = asked->batched;
	l->batch = asked->batched ? batch : 1;
	l->next = *lanes;
	*lanes = l;
	return l;
}

void cop_client_lane_put(cop_client_lane *l, cop_client_call *call, bool front)
{
	call->queued = true;
	call->next = front ? l->first : NULL;
	if (l->first == NULL)
		l->first = l->last = call;
	else if (front)
		l->first = call;
	else
		l->last = l->last->next = call;
}

static cop_client_call *take(cop_client_lane *l)
{
	cop_client_call *call = l->first;
	l->first = call->next;
	l->last = l->first == NULL ? NULL : l->last;
	call->queued = false;
	return call;
}

/* ---- messages ---- */

static void free_batch(cop_client_batch *m)
{
	cop_bytes_fini(&m->body);
	cop_mem_free(m->calls);
	cop_mem_free(m);
}

void cop_client_lane_drop(cop_client_lane *l, cop_client_batch *gone)
{
	cop_client_batch **at = &l->messages;
	while (*at != gone)
		at = &(*at)->next;
	*at = gone->next;
	l->under_way--;
	free_batch(gone);
}

void cop_client_lanes_free(cop_client_lane *lanes)
{
	for (cop_client_lane *l = lanes, *next; l != NULL; l = next) {
		next = l->next;
		while (l->messages != NULL)
			cop_client_lane_drop(l, l->messages);
		cop_mem_free(l);
	}
}

/* A body's own map with one pair more. */
static void put_single(cop_client_batch *m, const cop_wire_seq *seq)
{
	cop_wire_cursor cursor;
	size_t pairs = 0;
	const cop_bytes *own = &m->calls[0]->body;
	cop_wire_cursor_init(&cursor, own->data, own->length);
	if (own->length > 0 && cop_wire_cursor_map(&cursor, &pairs) != COP_OK)
		pairs = 0;
	size_t left = own->length > 0 ? cop_wire_cursor_left(&cursor) : 0;
	cop_wire_put_map(&m->body, pairs + 1);
	cop_wire_put_raw(&m->body, own->data + (own->length - left), left);
	cop_wire_seq_put(&m->body, seq);
}

static void put_body(const cop_client_lane *l, cop_client_batch *m)
{
	cop_wire_seq seq;
	cop_wire_seq_from_unsigned(&seq, m->seq);
	if (!l->batched) {
		put_single(m, &seq);
		return;
	}
	cop_wire_items_put(&m->body, m->count, &seq);
	for (size_t i = 0; i < m->count; i++)
		cop_wire_put_raw(&m->body, m->calls[i]->body.data, m->calls[i]->body.length);
}

bool cop_client_lane_make(cop_client_lane *l, uint64_t seq, double now, double pause)
{
	cop_client_batch *m = cop_mem_alloc(1, sizeof *m);
	if (m == NULL || (m->calls = cop_mem_alloc(l->batch, sizeof *m->calls)) == NULL) {
		cop_mem_free(m);
		return false;
	}
	cop_bytes_init(&m->body);
	while (l->first != NULL && m->count < l->batch)
		m->calls[m->count++] = take(l);
	m->left = m->count;
	m->seq = seq;
	m->again = now;
	m->pause = pause;
	put_body(l, m);
	if (m->body.err != COP_OK) {
		for (size_t i = m->count; i > 0; i--)
			cop_client_lane_put(l, m->calls[i - 1], true);
		free_batch(m);
		return false;
	}
	m->next = l->messages;
	l->messages = m;
	l->under_way++;
	return true;
}

/* ---- calls whose time is over ---- */

static bool leave_queue(cop_client_lane *l, const cop_client_call *call)
{
	cop_client_call *before = NULL;
	for (cop_client_call *c = l->first; c != NULL; before = c, c = c->next)
		if (c == call) {
			*(before == NULL ? &l->first : &before->next) = c->next;
			l->last = l->last == c ? before : l->last;
			return true;
		}
	return false;
}

static bool leave_message(cop_client_lane *l, const cop_client_call *call)
{
	for (cop_client_batch *m = l->messages; m != NULL; m = m->next)
		for (size_t i = 0; i < m->count; i++)
			if (m->calls[i] == call) {
				m->calls[i] = NULL;
				if (--m->left == 0)
					cop_client_lane_drop(l, m);
				return true;
			}
	return false;
}

void cop_client_lane_leave(cop_client_lane *lanes, const cop_client_call *call)
{
	bool left = false;
	for (cop_client_lane *l = lanes; l != NULL && !left; l = l->next)
		left = call->queued ? leave_queue(l, call) : leave_message(l, call);
}
