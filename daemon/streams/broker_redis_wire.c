/* Answers are cut from blocks that double in size and are kept; a send takes all of them back. hiredis frees nothing.
 */
#include "daemon/streams/broker_redis_wire.h"

#include <stdalign.h>
#include <string.h>

#include "base/mem.h"

#define LEAST ((size_t)64 << 10)

#if HIREDIS_MAJOR >= 1
typedef size_t elements_count;
#else
typedef int elements_count;
#endif

struct cop_broker_redis_block {
	cop_broker_redis_block *next;
	size_t used, size;
	alignas(max_align_t) unsigned char data[];
};

/* ---- answers ---- */

static cop_broker_redis_block *next_block(cop_broker_redis_wire *wire, size_t bytes)
{
	cop_broker_redis_block *last = wire->at;
	while (last != NULL && last->next != NULL) {
		last = last->next;
		last->used = 0;
		if (last->size >= bytes)
			return last;
	}
	size_t size = last == NULL ? LEAST : 2 * last->size;
	size = size < bytes ? bytes : size;
	cop_broker_redis_block *block = cop_mem_alloc(1, sizeof *block + size);
	if (block == NULL)
		return NULL;
	block->size = size;
	if (last == NULL)
		wire->blocks = block;
	else
		last->next = block;
	return block;
}

/* NULL: no memory. */
static void *cut(cop_broker_redis_wire *wire, size_t bytes)
{
	bytes = (bytes + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
	cop_broker_redis_block *block = wire->at;
	if (block == NULL || block->size - block->used < bytes)
		block = next_block(wire, bytes);
	if (block == NULL)
		return NULL;
	wire->at = block;
	void *out = block->data + block->used;
	block->used += bytes;
	return out;
}

static redisReply *make(const redisReadTask *task)
{
	redisReply *reply = cut(task->privdata, sizeof *reply);
	if (reply == NULL)
		return NULL;
	memset(reply, 0, sizeof *reply);
	reply->type = task->type;
	if (task->parent != NULL)
		((redisReply *)task->parent->obj)->element[task->idx] = reply;
	return reply;
}

static void *make_string(const redisReadTask *task, char *text, size_t length)
{
	redisReply *reply = make(task);
	char *copy = reply == NULL ? NULL : cut(task->privdata, length + 1);
	if (copy == NULL)
		return NULL;
	memcpy(copy, text, length);
	copy[length] = '\0';
	reply->str = copy;
	reply->len = length;
	return reply;
}

static void *make_array(const redisReadTask *task, elements_count count)
{
	redisReply *reply = make(task);
	if (reply == NULL || count <= 0)
		return reply;
	reply->element = cut(task->privdata, (size_t)count * sizeof(redisReply *));
	if (reply->element == NULL)
		return NULL;
	memset(reply->element, 0, (size_t)count * sizeof(redisReply *));
	reply->elements = (size_t)count;
	return reply;
}

static void *make_integer(const redisReadTask *task, long long value)
{
	redisReply *reply = make(task);
	if (reply != NULL)
		reply->integer = value;
	return reply;
}

static void *make_nil(const redisReadTask *task) { return make(task); }

static void free_nothing(void *reply) { (void)reply; }

static redisReplyObjectFunctions functions = { .createString = make_string,
	.createArray = make_array,
	.createInteger = make_integer,
	.createNil = make_nil,
	.freeObject = free_nothing };

void cop_broker_redis_wire_init(cop_broker_redis_wire *wire, redisContext *context)
{
	*wire = (cop_broker_redis_wire){ .context = context };
	cop_bytes_init(&wire->commands);
	if (context == NULL || context->reader == NULL)
		return;
	context->reader->fn = &functions;
	context->reader->privdata = wire;
}

void cop_broker_redis_wire_fini(cop_broker_redis_wire *wire)
{
	while (wire->blocks != NULL) {
		cop_broker_redis_block *next = wire->blocks->next;
		cop_mem_free(wire->blocks);
		wire->blocks = next;
	}
	cop_bytes_fini(&wire->commands);
}

/* ---- commands ---- */

static void put_count(cop_bytes *out, char kind, size_t count)
{
	char text[24];
	size_t at = sizeof text;
	text[--at] = '\n';
	text[--at] = '\r';
	do
		text[--at] = (char)('0' + count % 10);
	while ((count /= 10) > 0);
	text[--at] = kind;
	cop_bytes_put(out, text + at, sizeof text - at);
}

void cop_broker_redis_wire_open(cop_broker_redis_wire *wire, size_t words) { put_count(&wire->commands, '*', words); }

void cop_broker_redis_wire_word(cop_broker_redis_wire *wire, const void *word, size_t length)
{
	put_count(&wire->commands, '$', length);
	cop_bytes_put(&wire->commands, word, length);
	cop_bytes_put(&wire->commands, "\r\n", 2);
}

void cop_broker_redis_wire_text(cop_broker_redis_wire *wire, const char *text)
{
	cop_broker_redis_wire_word(wire, text, strlen(text));
}

int cop_broker_redis_wire_send(cop_broker_redis_wire *wire)
{
	int status = REDIS_ERR;
	if (wire->commands.err == COP_OK)
		status = redisAppendFormattedCommand(
		        wire->context, (const char *)wire->commands.data, wire->commands.length);
	cop_bytes_clear(&wire->commands);
	wire->at = wire->blocks;
	if (wire->at != NULL)
		wire->at->used = 0;
	return status;
}
