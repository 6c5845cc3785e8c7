/* A ring of blocks: `filled` of them were handed over, `done` by each taker are finished. A block's bytes belong to
 * the putting thread until it is handed over, then to the first taker, and once that is done with it to the second. An
 * item is its struct, its view's room, its record with its rows and mask, and its body, in which the record's texts
 * are, each at a multiple of 8. */
#include "whatif_pipe.h"

#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "base/thread.h"

#define BLOCKS     32
#define BLOCK_FULL ((size_t)1 << 16)
#define STAGES     2

typedef struct block {
	uint8_t *bytes;
	size_t used, room;
} block;

typedef struct stage {
	cop_whatif_pipe *pipe;
	cop_whatif_taker *taker;
	void *context;
	const uint64_t *before; /* blocks that the one before is done with */
	uint64_t done;
	pthread_t thread;
} stage;

struct cop_whatif_pipe {
	block block[BLOCKS];
	pthread_mutex_t lock; /* around the rest, and done of the stages */
	pthread_cond_t moved;
	uint64_t filled;
	bool ends;
	cop_err err;
	stage stage[STAGES];
	size_t running; /* of the stages */
};

static size_t pad(size_t length) { return (length + 7) & ~(size_t)7; }

/* ---- items in a block ---- */

static size_t row_size(const cop_row *x)
{
	return x->dense != NULL ? pad(x->d * sizeof *x->dense) : 2 * pad(x->nnz * sizeof *x->value);
}

static size_t mask_size(const cop_wire_record *r) { return r->mask != NULL ? r->arms : 0; }

static size_t rows_of(const cop_wire_record *r) { return r->candidate != NULL ? r->candidates : 0; }

static size_t record_size(const cop_wire_record *r)
{
	size_t size = pad(sizeof *r) + (r->has_x ? row_size(&r->x) : 0) + pad(rows_of(r) * sizeof *r->candidate) +
	              pad(mask_size(r));
	for (size_t k = 0; k < rows_of(r); k++)
		size += row_size(&r->candidate[k]);
	return size;
}

/* The next part, of that length. */
static void *part(uint8_t **at, size_t length)
{
	uint8_t *here = *at;
	*at += pad(length);
	return here;
}

static void place_row(uint8_t **at, cop_row *x)
{
	const size_t length = x->nnz * sizeof *x->value;
	if (x->dense != NULL) {
		x->dense = part(at, x->d * sizeof *x->dense);
		return;
	}
	x->index = part(at, length);
	x->value = part(at, length);
}

static cop_wire_record *next_record(uint8_t **at)
{
	cop_wire_record *r = part(at, sizeof *r);
	const size_t rows = rows_of(r);
	if (r->has_x)
		place_row(at, &r->x);
	cop_row *candidate = part(at, rows * sizeof *candidate);
	for (size_t k = 0; k < rows; k++)
		place_row(at, &candidate[k]);
	if (rows > 0)
		r->candidate = candidate;
	if (mask_size(r) > 0)
		r->mask = part(at, mask_size(r));
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

/* The rest of the struct is left out where nothing is asked. */
static size_t used(const cop_whatif_item *item) { return item->asks ? sizeof *item : offsetof(cop_whatif_item, room); }

static bool has_texts(const cop_wire_record *r)
{
	return r->from.source != NULL || r->played != NULL || r->named.pairs != NULL || r->settled.items != NULL;
}

/* The item at the block's place, with what is its own; the place is then that of the next one. */
static cop_whatif_item *next_item(uint8_t **at)
{
	cop_whatif_item *item = (cop_whatif_item *)(void *)*at;
	(void)part(at, used(item));
	if (item->asks) {
		item->view.p = part(at, item->room * sizeof *item->view.p);
		item->view.loss = part(at, item->room * sizeof *item->view.loss);
	}
	cop_wire_record *record = item->record != NULL ? next_record(at) : NULL;
	const uint8_t *body = part(at, item->length);
	if (record != NULL)
		move_texts(record, item->body, body);
	item->record = record;
	item->body = body;
	return item;
}

/* ---- the taking threads ---- */

static cop_err take_block(const stage *s, const block *b)
{
	cop_err err = COP_OK;
	for (uint8_t *at = b->bytes; at < b->bytes + b->used && err == COP_OK;)
		err = s->taker(s->context, next_item(&at));
	return err;
}

static void *work(void *context)
{
	stage *s = context;
	cop_whatif_pipe *pipe = s->pipe;
	(void)pthread_mutex_lock(&pipe->lock);
	for (;;) {
		while (s->done == *s->before && !pipe->ends)
			(void)pthread_cond_wait(&pipe->moved, &pipe->lock);
		if (pipe->ends)
			break;
		const block *next = &pipe->block[s->done % BLOCKS];
		cop_err err = pipe->err;
		(void)pthread_mutex_unlock(&pipe->lock);
		if (err == COP_OK)
			err = take_block(s, next);
		(void)pthread_mutex_lock(&pipe->lock);
		if (pipe->err == COP_OK)
			pipe->err = err;
		s->done++;
		(void)pthread_cond_broadcast(&pipe->moved);
	}
	(void)pthread_mutex_unlock(&pipe->lock);
	return NULL;
}

/* ---- the putting thread ---- */

cop_err cop_whatif_pipe_new(cop_whatif_taker *const taker[STAGES], void *const context[STAGES], cop_whatif_pipe **out)
{
	cop_whatif_pipe *pipe = cop_mem_alloc(1, sizeof *pipe);
	cop_err err = COP_OK;
	*out = NULL;
	if (pipe == NULL)
		return COP_ENOMEM;
	(void)pthread_mutex_init(&pipe->lock, NULL);
	(void)pthread_cond_init(&pipe->moved, NULL);
	for (size_t i = 0; i < STAGES && err == COP_OK; i++) {
		stage *s = &pipe->stage[i];
		*s = (stage){ pipe, taker[i], context[i], i == 0 ? &pipe->filled : &pipe->stage[i - 1].done, 0, 0 };
		err = cop_thread_start(&s->thread, work, s);
		pipe->running += err == COP_OK;
	}
	if (err != COP_OK) {
		cop_whatif_pipe_free(pipe);
		return COP_ENOMEM;
	}
	*out = pipe;
	return COP_OK;
}

void cop_whatif_pipe_free(cop_whatif_pipe *pipe)
{
	if (pipe == NULL)
		return;
	(void)pthread_mutex_lock(&pipe->lock);
	pipe->ends = true;
	(void)pthread_cond_broadcast(&pipe->moved);
	(void)pthread_mutex_unlock(&pipe->lock);
	for (size_t i = 0; i < pipe->running; i++)
		(void)pthread_join(pipe->stage[i].thread, NULL);
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
	while (pipe->filled - pipe->stage[STAGES - 1].done > most)
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

static void append_row(block *b, const cop_row *x)
{
	if (x->dense != NULL) {
		append(b, x->dense, x->d * sizeof *x->dense);
		return;
	}
	append(b, x->index, x->nnz * sizeof *x->index);
	append(b, x->value, x->nnz * sizeof *x->value);
}

static void append_record(block *b, const cop_wire_record *r)
{
	append(b, r, sizeof *r);
	if (r->has_x)
		append_row(b, &r->x);
	append(b, r->candidate, rows_of(r) * sizeof *r->candidate);
	for (size_t k = 0; k < rows_of(r); k++)
		append_row(b, &r->candidate[k]);
	append(b, r->mask, mask_size(r));
}

cop_err cop_whatif_pipe_put(cop_whatif_pipe *pipe, const cop_whatif_item *item)
{
	block *b = &pipe->block[pipe->filled % BLOCKS];
	const cop_wire_record *r = item->record;
	const size_t view = pad(item->room * sizeof *item->view.p) + pad(item->room * sizeof *item->view.loss);
	const size_t record = r != NULL ? record_size(r) : 0;
	cop_err err = reserve(b, pad(sizeof *item) + view + record + pad(item->length));
	if (err != COP_OK)
		return err;
	cop_whatif_item *put = (cop_whatif_item *)(void *)(b->bytes + b->used);
	append(b, item, used(item));
	if (item->asks)
		b->used += view;
	if (r != NULL)
		append_record(b, r);
	if (r == NULL || has_texts(r))
		append(b, item->body, item->length);
	else
		put->length = 0;
	return b->used < BLOCK_FULL ? COP_OK : hand_over(pipe, BLOCKS - 1);
}

cop_err cop_whatif_pipe_flush(cop_whatif_pipe *pipe) { return hand_over(pipe, 0); }
