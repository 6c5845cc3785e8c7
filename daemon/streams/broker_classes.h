/* daemon/streams/broker_classes.h: the classes of brokers, each in a source of its own, which is built where its
 * library is there. Thread rule as of broker.h. */
#ifndef COP_DAEMON_STREAMS_BROKER_CLASSES_H
#define COP_DAEMON_STREAMS_BROKER_CLASSES_H

#include "daemon/streams/broker.h"

extern const cop_broker_class cop_broker_redis;
extern const cop_broker_class cop_broker_nats;
extern const cop_broker_class cop_broker_kafka;

#endif
