/* A ring of blocks: `filled` of them were handed over, `taken` are done. A block's bytes belong to the putting thread
 * until it is handed over, then to the taking one. An item is its struct, its view's numbers, and its body, each at a
 * multiple of 8. */
#include "whatif_pipe.h"

#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "base/thread.h"

#define BLOCKS     4
#define BLOCK_FULL ((size_t)1 << 18)

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

/* ---- the taking thread ---- */

static cop_err take_block(cop_whatif_pipe *pipe, const block *b)
{
	cop_err err = COP_OK;
	for (size_t at = 0; at < b->used && err == COP_OK;) {
		cop_whatif_item item;
		memcpy(&item, b->bytes + at, sizeof item);
		at += pad(sizeof item);
		item.view.p = (double *)(void *)(b->bytes + at);
		at += item.view.arms * sizeof *item.view.p;
		item.view.loss = (float *)(void *)(b->bytes + at);
		at += pad(item.view.arms * sizeof *item.view.loss);
		item.body = b->bytes + at;
		at += pad(item.length);
		err = pipe->taker(pipe->context, &item);
	}
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

cop_err cop_whatif_pipe_put(cop_whatif_pipe *pipe, const cop_whatif_item *item)
{
	block *b = &pipe->block[pipe->filled % BLOCKS];
	const size_t p = item->view.arms * sizeof *item->view.p, loss = item->view.arms * sizeof *item->view.loss;
	cop_err err = reserve(b, pad(sizeof *item) + pad(p) + pad(loss) + pad(item->length));
	if (err != COP_OK)
		return err;
	append(b, item, sizeof *item);
	append(b, item->view.p, p);
	append(b, item->view.loss, loss);
	append(b, item->body, item->length);
	return b->used < BLOCK_FULL ? COP_OK : hand_over(pipe, BLOCKS - 1);
}

cop_err cop_whatif_pipe_flush(cop_whatif_pipe *pipe) { return hand_over(pipe, 0); }
