/* daemon/streams/bridge_config.h: the configuration of coppiced-streams, a file as conf/coppiced-streams.conf. One
 * thread. */
#ifndef COP_DAEMON_STREAMS_BRIDGE_CONFIG_H
#define COP_DAEMON_STREAMS_BRIDGE_CONFIG_H

#include <stdio.h>

#include "daemon/common/log.h"
#include "daemon/streams/bridge_daemon.h"
#include "daemon/streams/broker.h"

#define COP_BRIDGE_CONFIG_READERS 1024 /* partitions of all streams */

/* One section `stream`. */
typedef struct cop_bridge_stream {
	const char *name; /* borrowed of the configuration, as the others */
	const cop_broker_class *class;
	const char *servers, *user, *password, *topic, *actions, *model, *group, *dead;
	const char **options;
	size_t option_count;
	uint32_t partitions;
	unsigned long actions_max;
	size_t batch;
	bool feedback, json, newest;
} cop_bridge_stream;

typedef struct cop_bridge_config {
	const char *daemon, *key, *server_key, *metrics; /* metrics "": off; keys "": none */
	const char *log_facility;
	cop_log_level log_level;
	double timeout;
	cop_bridge_stream *streams;
	size_t count, readers;
	void *file;
} cop_bridge_config;

/* Says on `errors` everything that is wrong, each with its place and what was expected. COP_EINVAL, COP_EIO,
 * COP_ENOMEM; on error *out is NULL. */
COP_CHECK cop_err cop_bridge_config_load(const char *path, FILE *errors, cop_bridge_config **out);
void cop_bridge_config_free(cop_bridge_config *config);

/* The settings of a partition's broker. */
void cop_bridge_config_broker(const cop_bridge_stream *stream, uint32_t partition, cop_broker_settings *out);

#endif
