/* Where reading begins, while a cluster (librdkafka's mock, in this process) answers some questions with errors: the
 * library asks for both ends of a partition at once, and what it makes of one error and one end is neither. */
#include "support.h"

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdio.h>

#include "daemon/streams/broker.h"

#define EVENTS       30
#define ROUNDS       60
#define KNOWN        9
#define LIST_OFFSETS 2 /* the request's number in the protocol */

typedef struct cluster {
	rd_kafka_t *kafka; /* also the producer */
	rd_kafka_mock_cluster_t *mock;
	const char *servers;
} cluster;

static cluster start(void)
{
	char why[256];
	cluster c = { .kafka = rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), why, sizeof why) };
	assert_non_null(c.kafka);
	c.mock = rd_kafka_mock_cluster_new(c.kafka, 1);
	c.servers = rd_kafka_mock_cluster_bootstraps(c.mock);
	assert_int_equal(rd_kafka_brokers_add(c.kafka, c.servers), 1);
	assert_int_equal(rd_kafka_mock_topic_create(c.mock, "ctx", 1, 1), RD_KAFKA_RESP_ERR_NO_ERROR);
	for (int i = 0; i < EVENTS; i++)
		assert_int_equal(rd_kafka_producev(c.kafka, RD_KAFKA_V_TOPIC("ctx"), RD_KAFKA_V_PARTITION(0),
		                         RD_KAFKA_V_VALUE(&i, sizeof i), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
		                         RD_KAFKA_V_END),
		        RD_KAFKA_RESP_ERR_NO_ERROR);
	assert_int_equal(rd_kafka_flush(c.kafka, 30000), RD_KAFKA_RESP_ERR_NO_ERROR);
	return c;
}

static void stop(cluster *c)
{
	rd_kafka_mock_cluster_destroy(c->mock);
	rd_kafka_destroy(c->kafka);
}

/* Begins to read while the next `errors` questions for ends are refused; whether that was without a fault. */
static bool begin(const cluster *c, unsigned errors, cop_broker_start start, cop_wire_position *at)
{
	const cop_broker_class *class = cop_broker_find("kafka");
	cop_broker_settings set = {
		.name = "visits", .servers = c->servers, .user = "", .password = "", .topic = "ctx"
	};
	void *broker;
	bool gap;
	cop_diag diag = { 0 };
	assert_int_equal(class->open(&set, &broker, &diag), COP_OK);
	for (unsigned i = 0; i < errors; i++)
		rd_kafka_mock_push_request_errors(
		        c->mock, LIST_OFFSETS, 1, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
	cop_err err = class->seek(broker, start, at, &gap, &diag);
	rd_kafka_mock_clear_request_errors(c->mock, LIST_OFFSETS);
	class->close(broker);
	assert_true(err == COP_OK || err == COP_EIO);
	assert_true(err != COP_OK || !gap);
	return err == COP_OK;
}

static void test_one_end_is_not_taken_for_the_other(void **state)
{
	(void)state;
	cluster c = start();
	size_t begun = 0;
	for (unsigned n = 0; n < ROUNDS; n++) {
		cop_wire_position at = { .offset = KNOWN };
		begun += begin(&c, n % 3, COP_BROKER_BEHIND, &at);
		assert_int_equal(at.offset, KNOWN);
		if (begin(&c, n % 3, COP_BROKER_OLDEST, &at))
			assert_int_equal(at.offset, 0);
		if (begin(&c, n % 3, COP_BROKER_NEWEST, &at))
			assert_int_equal(at.offset, EVENTS - 1);
	}
	assert_true(begun >= ROUNDS / 3);
	stop(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_one_end_is_not_taken_for_the_other) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
