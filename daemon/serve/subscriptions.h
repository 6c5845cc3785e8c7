/* daemon/serve/subscriptions.h: which of the models' actions have a subscriber, from what an XPUB socket reports.
 *
 * A subscription is a prefix of topics. Only those that are a prefix of some model's topic `act.<name>` are kept, so a
 * peer that subscribes to anything else takes no room here. One thread. */
#ifndef COP_DAEMON_SERVE_SUBSCRIPTIONS_H
#define COP_DAEMON_SERVE_SUBSCRIPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/config/config.h"

#define COP_SUBSCRIPTIONS_TOPIC (COP_CONFIG_NAME_MAX + 8) /* room for act.<name> */

typedef struct cop_subscription {
	uint64_t count;
	size_t length;
	char prefix[COP_SUBSCRIPTIONS_TOPIC];
} cop_subscription;

typedef struct cop_subscriptions {
	const cop_config *config; /* kept; its models' names are the topics */
	cop_subscription *items;  /* count above 0 */
	size_t count;
	uint64_t unkept; /* present ones that there was no memory for: they count as prefixes of every topic */
} cop_subscriptions;

/* None yet. Caller finishes with fini. */
void cop_subscriptions_init(cop_subscriptions *subscriptions, const cop_config *config);
void cop_subscriptions_fini(cop_subscriptions *subscriptions);

/* Whether it is a prefix of some model's topic. */
bool cop_subscriptions_matters(const cop_subscriptions *subscriptions, const char *prefix, size_t length);
/* A subscription (length bytes, borrowed) came, or went. One that went without having come changes nothing. */
void cop_subscriptions_add(cop_subscriptions *subscriptions, const void *prefix, size_t length);
void cop_subscriptions_remove(cop_subscriptions *subscriptions, const void *prefix, size_t length);

/* Whether this very subscription is present. */
bool cop_subscriptions_has(const cop_subscriptions *subscriptions, const void *prefix, size_t length);
/* Whether a present subscription is a prefix of the topic, which is a model's. */
bool cop_subscriptions_cover(const cop_subscriptions *subscriptions, const char *topic);

#endif
