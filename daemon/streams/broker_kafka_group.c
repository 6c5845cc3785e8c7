/* A member of a consumer group of Kafka. It reads nothing: its partitions are paused, and readers of their own read
 * them from where the daemon is, so what a rebalance does to fetches and offsets is of no account. Both protocols of
 * rebalancing are followed; the default moves only what has to move. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "daemon/streams/broker_kafka_private.h"

typedef struct member {
	const cop_broker_settings *set;
	rd_kafka_t *consumer;
	cop_broker_change change;
	void *context;
	bool failed; /* a partition could not be taken or given up */
} member;

bool cop_broker_kafka_option(rd_kafka_conf_t *conf, const char *name, const char *value, char *why, size_t size)
{
	return rd_kafka_conf_set(conf, name, value, why, size) == RD_KAFKA_CONF_OK;
}

/* Errors come as what is read. */
static void swallow(const rd_kafka_t *rk, int level, const char *facility, const char *text)
{
	(void)rk;
	(void)level;
	(void)facility;
	(void)text;
}

bool cop_broker_kafka_given(rd_kafka_conf_t *conf, const cop_broker_settings *set, char *why, size_t size)
{
	char name[COP_BROKER_KAFKA_NAME];
	bool good = cop_broker_kafka_option(conf, "bootstrap.servers", set->servers, why, size);
	if (good && set->password[0] != '\0')
		good = cop_broker_kafka_option(conf, "sasl.username", set->user, why, size) &&
		       cop_broker_kafka_option(conf, "sasl.password", set->password, why, size);
	for (size_t i = 0; i < set->option_count && good; i++) {
		const char *equals = strchr(set->options[i], '=');
		(void)snprintf(name, sizeof name, "%.*s", (int)(equals - set->options[i]), set->options[i]);
		good = cop_broker_kafka_option(conf, name, equals + 1, why, size);
	}
	rd_kafka_conf_set_log_cb(conf, swallow);
	return good;
}

static void report(member *m, const rd_kafka_topic_partition_list_t *list, bool ours)
{
	uint32_t *partitions = cop_mem_alloc((size_t)list->cnt + 1, sizeof *partitions);
	if (partitions == NULL) {
		m->failed = true;
		return;
	}
	for (int i = 0; i < list->cnt; i++)
		partitions[i] = (uint32_t)list->elems[i].partition;
	m->change(m->context, partitions, (size_t)list->cnt, ours);
	cop_mem_free(partitions);
}

static void note(member *m, rd_kafka_error_t *error)
{
	m->failed = m->failed || error != NULL;
	if (error != NULL)
		rd_kafka_error_destroy(error);
}

static void take(member *m, rd_kafka_topic_partition_list_t *list, bool stepwise)
{
	for (int i = 0; i < list->cnt; i++)
		list->elems[i].offset = RD_KAFKA_OFFSET_END;
	if (stepwise)
		note(m, rd_kafka_incremental_assign(m->consumer, list));
	else
		m->failed = m->failed || rd_kafka_assign(m->consumer, list) != RD_KAFKA_RESP_ERR_NO_ERROR;
	(void)rd_kafka_pause_partitions(m->consumer, list);
	report(m, list, true);
}

/* The readers let go first. */
static void give_up(member *m, rd_kafka_topic_partition_list_t *list, bool stepwise)
{
	report(m, list, false);
	if (stepwise)
		note(m, rd_kafka_incremental_unassign(m->consumer, list));
	else
		m->failed = m->failed || rd_kafka_assign(m->consumer, NULL) != RD_KAFKA_RESP_ERR_NO_ERROR;
}

static void rebalance(
        rd_kafka_t *consumer, rd_kafka_resp_err_t err, rd_kafka_topic_partition_list_t *list, void *context)
{
	const char *protocol = rd_kafka_rebalance_protocol(consumer);
	bool stepwise = protocol != NULL && strcmp(protocol, "COOPERATIVE") == 0;
	if (err == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS)
		take(context, list, stepwise);
	else
		give_up(context, list, stepwise);
}

static cop_err complain(const member *m, const char *what, const char *why, cop_diag *diag)
{
	cop_diag_of(diag, m->set->servers, "kafka: group %s: %s: %.200s", m->set->group, what, why);
	return COP_EIO;
}

static void leave(void *context)
{
	member *m = context;
	if (m == NULL)
		return;
	if (m->consumer != NULL) {
		(void)rd_kafka_consumer_close(m->consumer);
		rd_kafka_destroy(m->consumer);
	}
	cop_mem_free(m);
}

static cop_err subscribe(member *m, cop_diag *diag)
{
	rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_list_add(topics, m->set->topic, RD_KAFKA_PARTITION_UA);
	rd_kafka_resp_err_t err = rd_kafka_subscribe(m->consumer, topics);
	rd_kafka_topic_partition_list_destroy(topics);
	return err == RD_KAFKA_RESP_ERR_NO_ERROR ? COP_OK : complain(m, "subscribing", rd_kafka_err2str(err), diag);
}

/* What the configuration gives comes last, so it may choose another assignment. */
static cop_err make(member *m, cop_diag *diag)
{
	char why[256] = "";
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	bool good =
	        cop_broker_kafka_option(conf, "group.id", m->set->group, why, sizeof why) &&
	        cop_broker_kafka_option(conf, "enable.auto.commit", "false", why, sizeof why) &&
	        cop_broker_kafka_option(conf, "partition.assignment.strategy", "cooperative-sticky", why, sizeof why) &&
	        cop_broker_kafka_given(conf, m->set, why, sizeof why);
	rd_kafka_conf_set_rebalance_cb(conf, rebalance);
	rd_kafka_conf_set_opaque(conf, m);
	m->consumer = good ? rd_kafka_new(RD_KAFKA_CONSUMER, conf, why, sizeof why) : NULL;
	if (m->consumer != NULL)
		return COP_OK;
	rd_kafka_conf_destroy(conf);
	return complain(m, "a member", why, diag);
}

static cop_err join(
        const cop_broker_settings *settings, cop_broker_change change, void *context, void **out, cop_diag *diag)
{
	member *m = cop_mem_alloc(1, sizeof *m);
	*out = NULL;
	if (m == NULL)
		return COP_ENOMEM;
	m->set = settings;
	m->change = change;
	m->context = context;
	cop_err err = make(m, diag);
	if (err == COP_OK)
		(void)rd_kafka_poll_set_consumer(m->consumer);
	if (err == COP_OK)
		err = subscribe(m, diag);
	if (err != COP_OK) {
		leave(m);
		return err;
	}
	*out = m;
	return COP_OK;
}

/* Errors that the library does not mend by itself. */
static bool is_grave(rd_kafka_resp_err_t err)
{
	return err == RD_KAFKA_RESP_ERR__FATAL || err == RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED ||
	       err == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED ||
	       err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED || err == RD_KAFKA_RESP_ERR__AUTHENTICATION;
}

static cop_err look(void *context, double seconds, cop_diag *diag)
{
	member *m = context;
	cop_err err = COP_OK;
	rd_kafka_message_t *message = rd_kafka_consumer_poll(m->consumer, (int)(1000.0 * seconds));
	if (message != NULL && is_grave(message->err))
		err = complain(m, "membership", rd_kafka_message_errstr(message), diag);
	if (message != NULL)
		rd_kafka_message_destroy(message);
	if (err == COP_OK && m->failed)
		err = complain(m, "a rebalance", "not carried out", diag);
	return err;
}

const cop_broker_group_class cop_broker_kafka_group = { join, look, leave };
