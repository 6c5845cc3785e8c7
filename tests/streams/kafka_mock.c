/* A broker of Kafka's protocol for tests: librdkafka's mock cluster, in memory. Prints its bootstrap servers, then does
 * one command a line and answers with a line `ok ...`: create TOPIC PARTITIONS; add TOPIC PARTITION HEX ...; events
 * TOPIC PARTITION (as hex, - for none); down [BROKER]; up [BROKER]; leader TOPIC PARTITION BROKER; coordinator GROUP
 * BROKER; errors KEY CODE COUNT. Brokers have the numbers 1 to 3. An event of no bytes is "-". */
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BROKERS     3
#define PATIENCE_MS 20000
#define TRIALS      20

typedef struct mock {
	rd_kafka_t *producer;
	rd_kafka_mock_cluster_t *cluster;
	const char *servers;
} mock;

static size_t failed;

static void note(rd_kafka_t *producer, const rd_kafka_message_t *message, void *context)
{
	(void)producer;
	(void)context;
	failed += message->err != RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_t *make(rd_kafka_type_t type, const char *const (*options)[2])
{
	char why[256];
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	for (size_t i = 0; options[i][0] != NULL; i++)
		if (rd_kafka_conf_set(conf, options[i][0], options[i][1], why, sizeof why) != RD_KAFKA_CONF_OK)
			return NULL;
	rd_kafka_conf_set_dr_msg_cb(conf, note);
	return rd_kafka_new(type, conf, why, sizeof why);
}

static size_t read_hex(const char *text, unsigned char *out)
{
	unsigned byte;
	size_t length = 0;
	for (; sscanf(text, "%2x", &byte) == 1; text += 2)
		out[length++] = (unsigned char)byte;
	return length;
}

static void add(const mock *m, char *rest)
{
	char *save = NULL;
	const char *topic = strtok_r(rest, " \n", &save), *part = strtok_r(NULL, " \n", &save), *word;
	unsigned char *body = malloc(strlen(save) + 1);
	failed = 0;
	while ((word = strtok_r(NULL, " \n", &save)) != NULL) {
		size_t length = word[0] == '-' ? 0 : read_hex(word, body);
		failed += rd_kafka_producev(m->producer, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(atoi(part)),
		                  RD_KAFKA_V_VALUE(body, length), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
		                  RD_KAFKA_V_END) != RD_KAFKA_RESP_ERR_NO_ERROR;
	}
	free(body);
	failed += rd_kafka_flush(m->producer, PATIENCE_MS) != RD_KAFKA_RESP_ERR_NO_ERROR;
	(void)printf("ok %zu\n", failed);
}

static void put_event(const rd_kafka_message_t *message)
{
	const unsigned char *body = message->payload;
	(void)fputs(message->len == 0 ? " -" : " ", stdout);
	for (size_t i = 0; i < message->len; i++)
		(void)printf("%02x", body[i]);
}

/* All that are there, by a consumer of their own. */
static void events(const mock *m, const char *topic, int part)
{
	const char *const options[][2] = { { "bootstrap.servers", m->servers }, { "group.id", "test" },
		{ "enable.auto.commit", "false" }, { "auto.offset.reset", "earliest" }, { NULL, NULL } };
	int64_t low = 0, high = 0;
	rd_kafka_t *consumer = make(RD_KAFKA_CONSUMER, options);
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
	for (int i = 0; i < TRIALS && rd_kafka_query_watermark_offsets(consumer, topic, part, &low, &high,
	                                      PATIENCE_MS) != RD_KAFKA_RESP_ERR_NO_ERROR;)
		i++; /* errors that a test has injected */
	rd_kafka_topic_partition_list_add(list, topic, part)->offset = low;
	(void)rd_kafka_assign(consumer, list);
	(void)fputs("ok", stdout);
	for (int64_t next = low; next < high;) {
		rd_kafka_message_t *message = rd_kafka_consumer_poll(consumer, PATIENCE_MS);
		if (message == NULL)
			break;
		if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
			put_event(message);
			next = message->offset + 1;
		}
		rd_kafka_message_destroy(message);
	}
	(void)fputs("\n", stdout);
	rd_kafka_topic_partition_list_destroy(list);
	(void)rd_kafka_consumer_close(consumer);
	rd_kafka_destroy(consumer);
}

/* One, or all. */
static void switch_brokers(const mock *m, const char *line)
{
	int only = 0;
	bool down = sscanf(line, "down %d", &only) == 1 || strcmp(line, "down\n") == 0;
	if (!down && sscanf(line, "up %d", &only) != 1 && strcmp(line, "up\n") != 0)
		return;
	for (int i = 1; i <= BROKERS; i++)
		if (only == 0 || only == i)
			(void)(down ? rd_kafka_mock_broker_set_down : rd_kafka_mock_broker_set_up)(m->cluster, i);
}

static void carry_out(const mock *m, char *line)
{
	char topic[200];
	int a = 0, b = 0, c = 0;
	if (strncmp(line, "add ", 4) == 0) {
		add(m, line + 4);
		return;
	}
	if (sscanf(line, "events %199s %d", topic, &a) == 2) {
		events(m, topic, a);
		return;
	}
	if (sscanf(line, "create %199s %d", topic, &a) == 2)
		(void)rd_kafka_mock_topic_create(m->cluster, topic, a, BROKERS);
	if (sscanf(line, "leader %199s %d %d", topic, &a, &b) == 3)
		(void)rd_kafka_mock_partition_set_leader(m->cluster, topic, a, b);
	if (sscanf(line, "coordinator %199s %d", topic, &a) == 2)
		(void)rd_kafka_mock_coordinator_set(m->cluster, "group", topic, a);
	switch_brokers(m, line);
	if (sscanf(line, "errors %d %d %d", &a, &b, &c) == 3)
		while (c-- > 0)
			rd_kafka_mock_push_request_errors(m->cluster, (int16_t)a, 1, (rd_kafka_resp_err_t)b);
	(void)puts("ok");
}

int main(void)
{
	const char *const none[][2] = { { NULL, NULL } };
	char *line = NULL;
	size_t size = 0;
	mock m = { .producer = make(RD_KAFKA_PRODUCER, none) };
	if (m.producer == NULL)
		return 1;
	m.cluster = rd_kafka_mock_cluster_new(m.producer, BROKERS);
	m.servers = rd_kafka_mock_cluster_bootstraps(m.cluster);
	const char *const options[][2] = { { "bootstrap.servers", m.servers }, { "enable.idempotence", "true" },
		{ NULL, NULL } };
	rd_kafka_t *handle = m.producer;
	m.producer = make(RD_KAFKA_PRODUCER, options);
	(void)setvbuf(stdout, NULL, _IOLBF, 1 << 16);
	(void)printf("%s\n", m.servers);
	while (getline(&line, &size, stdin) > 0)
		carry_out(&m, line);
	free(line);
	rd_kafka_destroy(m.producer);
	rd_kafka_mock_cluster_destroy(m.cluster);
	rd_kafka_destroy(handle);
	return 0;
}
