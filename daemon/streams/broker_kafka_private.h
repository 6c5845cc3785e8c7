/* daemon/streams/broker_kafka_private.h: what readers of a partition and members of a group set in the same way. Any
 * thread. */
#ifndef COP_DAEMON_STREAMS_BROKER_KAFKA_PRIVATE_H
#define COP_DAEMON_STREAMS_BROKER_KAFKA_PRIVATE_H

#include <librdkafka/rdkafka.h>

#include "daemon/streams/broker.h"

#define COP_BROKER_KAFKA_NAME 128 /* bytes of an option's or a group's name with its end */

bool cop_broker_kafka_option(rd_kafka_conf_t *conf, const char *name, const char *value, char *why, size_t size);
/* Servers, password and the options that the configuration gives; the library logs nothing. */
bool cop_broker_kafka_given(rd_kafka_conf_t *conf, const cop_broker_settings *set, char *why, size_t size);

extern const cop_broker_group_class cop_broker_kafka_group;

#endif
