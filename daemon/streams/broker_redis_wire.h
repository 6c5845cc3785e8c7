/* daemon/streams/broker_redis_wire.h: commands to Redis as one buffer, and its answers in memory that is used again: a
 * batch is hundreds of small words each way. hiredis reads and writes the socket. One thread. */
#ifndef COP_DAEMON_STREAMS_BROKER_REDIS_WIRE_H
#define COP_DAEMON_STREAMS_BROKER_REDIS_WIRE_H

#include <hiredis/hiredis.h>

#include "base/bytes.h"

typedef struct cop_broker_redis_block cop_broker_redis_block;

/* All zeros: empty. */
typedef struct cop_broker_redis_wire {
	redisContext *context; /* kept */
	cop_bytes commands;    /* that were not sent yet */
	cop_broker_redis_block *blocks, *at;
} cop_broker_redis_wire;

/* The context's answers are in this memory from now on; the wire must outlive the context. */
void cop_broker_redis_wire_init(cop_broker_redis_wire *wire, redisContext *context);
/* After the context was freed. */
void cop_broker_redis_wire_fini(cop_broker_redis_wire *wire);

/* A command of so many words, which follow. Failures stay in wire->commands.err. */
void cop_broker_redis_wire_open(cop_broker_redis_wire *wire, size_t words);
void cop_broker_redis_wire_word(cop_broker_redis_wire *wire, const void *word, size_t length);
void cop_broker_redis_wire_text(cop_broker_redis_wire *wire, const char *text);
/* Passes the commands on; their answers are got by redisGetReply, each good until the next send. REDIS_OK or not. */
int cop_broker_redis_wire_send(cop_broker_redis_wire *wire);

#endif
