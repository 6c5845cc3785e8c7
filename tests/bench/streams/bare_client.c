/* What a client that learns nothing moves through a broker: bare_client ENGINE SERVERS TOPIC ACTIONS PARTITIONS COUNT
 * SIZE
 *
 * A thread for each partition reads COUNT events of TOPIC in batches of 64, from the oldest, and for each batch sends
 * as many actions of SIZE bytes (none where ACTIONS is ""), by the calls that coppiced-streams makes. %p in the names
 * is the partition. Prints the seconds that all took. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/common/clock.h"
#include "daemon/streams/broker.h"

#define BATCH  64
#define SOME   64 /* partitions at most */
#define SECOND 0.5

typedef struct carrier {
	const cop_broker_class *class;
	cop_broker_settings set;
	size_t count, size;
	cop_err err;
	cop_diag diag;
	pthread_t thread;
} carrier;

static void expand(const char *text, uint32_t partition, char out[COP_BROKER_TEXT])
{
	const char *mark = strstr(text, "%p");
	if (mark == NULL)
		(void)snprintf(out, COP_BROKER_TEXT, "%s", text);
	else
		(void)snprintf(
		        out, COP_BROKER_TEXT, "%.*s%" PRIu32 "%s", (int)(mark - text), text, partition, mark + 2);
}

static cop_err answer(carrier *c, void *broker, const cop_broker_batch *taken, cop_broker_batch *actions)
{
	static const char zeros[4096];
	cop_err err = COP_OK;
	cop_broker_batch_clear(actions);
	for (size_t i = 0; i < taken->count && err == COP_OK; i++)
		err = cop_broker_batch_add(actions, zeros, c->size, 0, 0);
	const cop_broker_item *last = &taken->items[taken->count - 1];
	const cop_wire_position upto = { c->set.name, strlen(c->set.name), c->set.partition, last->offset,
		last->minor };
	return err == COP_OK ? c->class->send(broker, actions, &upto, &c->diag) : err;
}

static void *carry(void *context)
{
	bool gap;
	void *broker;
	carrier *c = context;
	cop_wire_position at = { .partition = c->set.partition };
	cop_broker_batch taken = { .count = 0 }, actions = { .count = 0 };
	cop_bytes_init(&taken.bytes);
	cop_bytes_init(&actions.bytes);
	c->err = c->class->open(&c->set, &broker, &c->diag);
	if (c->err == COP_OK)
		c->err = c->class->seek(broker, COP_BROKER_OLDEST, &at, &gap, &c->diag);
	for (size_t done = 0; c->err == COP_OK && done < c->count; done += taken.count) {
		cop_broker_batch_clear(&taken);
		c->err = c->class->take(broker, BATCH, SECOND, &taken, &c->diag);
		if (c->err == COP_OK && taken.count > 0 && cop_broker_sends(&c->set))
			c->err = answer(c, broker, &taken, &actions);
	}
	c->class->close(broker);
	cop_broker_batch_fini(&taken);
	cop_broker_batch_fini(&actions);
	return NULL;
}

int main(int argc, char **argv)
{
	static carrier all[SOME];
	int status = EXIT_SUCCESS;
	size_t partitions = argc == 8 ? strtoul(argv[5], NULL, 10) : 0;
	const cop_broker_class *class = argc == 8 ? cop_broker_find(argv[1]) : NULL;
	if (class == NULL || partitions == 0 || partitions > SOME || strtoul(argv[7], NULL, 10) > 4096) {
		(void)fputs("usage: bare_client ENGINE SERVERS TOPIC ACTIONS PARTITIONS COUNT SIZE\n", stderr);
		return 2;
	}
	const double start = cop_clock_monotonic();
	for (size_t p = 0; p < partitions; p++) {
		all[p] = (carrier){ .class = class,
			.set = { .name = "bare",
			        .servers = argv[2],
			        .user = "",
			        .password = "",
			        .group = "",
			        .partition = (uint32_t)p },
			.count = strtoul(argv[6], NULL, 10),
			.size = strtoul(argv[7], NULL, 10) };
		expand(argv[3], (uint32_t)p, all[p].set.topic);
		expand(argv[4], (uint32_t)p, all[p].set.actions);
		if (pthread_create(&all[p].thread, NULL, carry, &all[p]) != 0)
			return EXIT_FAILURE;
	}
	for (size_t p = 0; p < partitions; p++) {
		(void)pthread_join(all[p].thread, NULL);
		if (all[p].err == COP_OK)
			continue;
		(void)fprintf(stderr, "bare_client: %s\n", all[p].diag.message);
		status = EXIT_FAILURE;
	}
	(void)printf("%.6f\n", cop_clock_monotonic() - start);
	return status;
}
