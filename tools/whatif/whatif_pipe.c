/* A ring of blocks: `filled` of them were handed over, `taken` are done. A block's bytes belong to the putting thread
 * until it is handed over, then to the taking one. An item is its struct, its view's numbers, its record with its
 * arrays, and its body, in which the record's texts are, each at a multiple of 8. */
#include "whatif_pipe.h"

#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "base/thread.h"

#define BLOCKS     32
#define BLOCK_FULL ((size_t)1 << 16)

typedef struct block {
	uint8_t *bytes;
	size_t used, room;
} block;

struct cop_whatif_pipe {
	cop_whatif_taker *taker;
	void *context;
	block block[BLOCKS];
	pthread_t thread;
	pthread_mutex_t lock; /* around the rest */
	pthread_cond_t moved;
	uint64_t filled, taken;
	bool ends;
	cop_err err;
};

static size_t pad(size_t length) { return (length + 7) & ~(size_t)7; }

/* ---- items in a block ---- */

/* Bytes of a record's parts, which stand behind it. */
typedef struct arrays {
	size_t dense, entries, mask;
} arrays;

static arrays arrays_of(const cop_wire_record *r)
{
	return (arrays){
		.dense = r->has_x && r->x.dense != NULL ? r->x.d * sizeof *r->x.dense : 0,
		.entries = r->has_x && r->x.dense == NULL ? r->x.nnz * sizeof *r->x.value : 0,
		.mask = r->mask != NULL ? r->arms : 0,
	};
}

/* The next part, of that length. */
static void *part(uint8_t **at, size_t length)
{
	uint8_t *here = *at;
	*at += pad(length);
	return here;
}

static cop_wire_record *next_record(uint8_t **at)
{
	cop_wire_record *r = part(at, sizeof *r);
	const arrays of = arrays_of(r);
	if (of.dense > 0)
		r->x.dense = part(at, of.dense);
	if (of.entries > 0) {
		r->x.index = part(at, of.entries);
		r->x.value = part(at, of.entries);
	}
	if (of.mask > 0)
		r->mask = part(at, of.mask);
	return r;
}

/* What pointed into one copy of the body points into another. */
static const void *moved(const void *text, const uint8_t *from, const uint8_t *to)
{
	return text == NULL ? NULL : to + ((const uint8_t *)text - from);
}

static void move_texts(cop_wire_record *r, const uint8_t *from, const uint8_t *to)
{
	r->model = NULL;
	r->model_length = 0;
	r->from.source = moved(r->from.source, from, to);
	r->played = moved(r->played, from, to);
	r->named.pairs = moved(r->named.pairs, from, to);
	r->settled.items = moved(r->settled.items, from, to);
}

static bool has_view(const cop_whatif_item *item) { return item->saw || item->type == COP_WIRE_RECORD_DECISION; }

/* The rest of the struct is left out where there is no view. */
static size_t used(const cop_whatif_item *item)
{
	return has_view(item) ? sizeof *item : offsetof(cop_whatif_item, view);
}

static bool has_texts(const cop_wire_record *r)
{
	return r->from.source != NULL || r->played != NULL || r->named.pairs != NULL || r->settled.items != NULL;
}

/* The item at the block's place, with what is its own; the place is then that of the next one. */
static cop_whatif_item *next_item(uint8_t **at)
{
	cop_whatif_item *item = (cop_whatif_item *)(void *)*at;
	(void)part(at, used(item));
	if (has_view(item)) {
		item->view.p = part(at, item->view.arms * sizeof *item->view.p);
		item->view.loss = part(at, item->view.arms * sizeof *item->view.loss);
	}
	cop_wire_record *record = item->record != NULL ? next_record(at) : NULL;
	const uint8_t *body = part(at, item->length);
	if (record != NULL)
		move_texts(record, item->body, body);
	item->record = record;
	item->body = body;
	return item;
}

/* ---- the taking thread ---- */

static cop_err take_block(cop_whatif_pipe *pipe, const block *b)
{
	cop_err err = COP_OK;
	for (uint8_t *at = b->bytes; at < b->bytes + b->used && err == COP_OK;)
		err = pipe->taker(pipe->context, next_item(&at));
	return err;
}

static void *work(void *context)
{
	cop_whatif_pipe *pipe = context;
	(void)pthread_mutex_lock(&pipe->lock);
	for (;;) {
		while (pipe->taken == pipe->filled && !pipe->ends)
			(void)pthread_cond_wait(&pipe->moved, &pipe->lock);
		if (pipe->ends)
			break;
		const block *next = &pipe->block[pipe->taken % BLOCKS];
		cop_err err = pipe->err;
		(void)pthread_mutex_unlock(&pipe->lock);
		if (err == COP_OK)
			err = take_block(pipe, next);
		(void)pthread_mutex_lock(&pipe->lock);
		pipe->err = err;
		pipe->taken++;
		(void)pthread_cond_broadcast(&pipe->moved);
	}
	(void)pthread_mutex_unlock(&pipe->lock);
	return NULL;
}

/* ---- the putting thread ---- */

cop_err cop_whatif_pipe_new(cop_whatif_taker *taker, void *context, cop_whatif_pipe **out)
{
	cop_whatif_pipe *pipe = cop_mem_alloc(1, sizeof *pipe);
	*out = NULL;
	if (pipe == NULL)
		return COP_ENOMEM;
	pipe->taker = taker;
	pipe->context = context;
	(void)pthread_mutex_init(&pipe->lock, NULL);
	(void)pthread_cond_init(&pipe->moved, NULL);
	if (cop_thread_start(&pipe->thread, work, pipe) == COP_OK) {
		*out = pipe;
		return COP_OK;
	}
	(void)pthread_mutex_destroy(&pipe->lock);
	(void)pthread_cond_destroy(&pipe->moved);
	cop_mem_free(pipe);
	return COP_ENOMEM;
}

void cop_whatif_pipe_free(cop_whatif_pipe *pipe)
{
	if (pipe == NULL)
		return;
	(void)pthread_mutex_lock(&pipe->lock);
	pipe->ends = true;
	(void)pthread_cond_broadcast(&pipe->moved);
	(void)pthread_mutex_unlock(&pipe->lock);
	(void)pthread_join(pipe->thread, NULL);
	(void)pthread_mutex_destroy(&pipe->lock);
	(void)pthread_cond_destroy(&pipe->moved);
	for (size_t i = 0; i < BLOCKS; i++)
		cop_mem_free(pipe->block[i].bytes);
	cop_mem_free(pipe);
}

/* The block being filled goes over, and at most `most` are not taken then. */
static cop_err hand_over(cop_whatif_pipe *pipe, uint64_t most)
{
	(void)pthread_mutex_lock(&pipe->lock);
	pipe->filled += pipe->block[pipe->filled % BLOCKS].used > 0;
	(void)pthread_cond_broadcast(&pipe->moved);
	while (pipe->filled - pipe->taken > most)
		(void)pthread_cond_wait(&pipe->moved, &pipe->lock);
	cop_err err = pipe->err;
	(void)pthread_mutex_unlock(&pipe->lock);
	pipe->block[pipe->filled % BLOCKS].used = 0;
	return err;
}

static cop_err reserve(block *b, size_t more)
{
	size_t room = b->room == 0 ? BLOCK_FULL + BLOCK_FULL / 4 : b->room;
	while (room < b->used + more)
		room *= 2;
	if (room == b->room)
		return COP_OK;
	uint8_t *bytes = cop_mem_resize(b->bytes, b->room, room, 1);
	if (bytes == NULL)
		return COP_ENOMEM;
	b->bytes = bytes;
	b->room = room;
	return COP_OK;
}

static void append(block *b, const void *data, size_t length)
{
	if (length > 0)
		memcpy(b->bytes + b->used, data, length);
	b->used += pad(length);
}

static size_t size_of(const cop_wire_record *r, const arrays *of)
{
	return pad(sizeof *r) + pad(of->dense) + 2 * pad(of->entries) + pad(of->mask);
}

static void append_record(block *b, const cop_wire_record *r, const arrays *of)
{
	append(b, r, sizeof *r);
	append(b, r->x.dense, of->dense);
	append(b, r->x.index, of->entries);
	append(b, r->x.value, of->entries);
	append(b, r->mask, of->mask);
}

cop_err cop_whatif_pipe_put(cop_whatif_pipe *pipe, const cop_whatif_item *item)
{
	block *b = &pipe->block[pipe->filled % BLOCKS];
	const cop_wire_record *r = item->record;
	const size_t arms = has_view(item) ? item->view.arms : 0;
	const size_t p = arms * sizeof *item->view.p, loss = arms * sizeof *item->view.loss;
	const arrays of = r != NULL ? arrays_of(r) : (arrays){ 0 };
	const size_t record = r != NULL ? size_of(r, &of) : 0;
	cop_err err = reserve(b, pad(sizeof *item) + pad(p) + pad(loss) + record + pad(item->length));
	if (err != COP_OK)
		return err;
	cop_whatif_item *put = (cop_whatif_item *)(void *)(b->bytes + b->used);
	append(b, item, used(item));
	append(b, item->view.p, p);
	append(b, item->view.loss, loss);
	if (r != NULL)
		append_record(b, r, &of);
	if (r == NULL || has_texts(r))
		append(b, item->body, item->length);
	else
		put->length = 0;
	return b->used < BLOCK_FULL ? COP_OK : hand_over(pipe, BLOCKS - 1);
}

cop_err cop_whatif_pipe_flush(cop_whatif_pipe *pipe) { return hand_over(pipe, 0); }
