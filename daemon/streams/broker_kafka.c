/* The Kafka protocol by librdkafka. The partition is assigned, never subscribed to; which partitions are read here is
 * another source's part (broker_kafka_group.c). The offset of the group coppice-NAME, which has no members, is the
 * hint. Every error of the consumer ends the session, so that a log that was cut is looked at again. Actions have the
 * partition's number as key, which keeps their order. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "daemon/streams/broker_classes.h"
#include "daemon/streams/broker_kafka_private.h"

#define PATIENCE_MS 5000
#define CLOSING_MS  2000 /* for the last hint */
#define MOST_ASKED  5    /* times for the ends of a partition */

typedef struct kafka_log {
	const cop_broker_settings *set;
	rd_kafka_t *consumer, *producer; /* producer NULL: no actions are sent */
	size_t undelivered;              /* actions of this call that were refused */
	int64_t next;                    /* the offset to be taken */
	int64_t hint;                    /* that was left without waiting for the answer; -1: none */
} kafka_log;

static cop_err complain(const kafka_log *log, const char *what, const char *why, cop_diag *diag)
{
	cop_diag_of(diag, log->set->servers, "kafka: %s: %.200s", what, why);
	return COP_EIO;
}

static cop_err refuse(const kafka_log *log, const char *what, rd_kafka_resp_err_t err, cop_diag *diag)
{
	return complain(log, what, rd_kafka_err2str(err), diag);
}

/* The partition alone, at that offset. Caller destroys it. */
static rd_kafka_topic_partition_list_t *list_of(const kafka_log *log, int64_t offset)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_list_add(list, log->set->topic, (int32_t)log->set->partition)->offset = offset;
	return list;
}

/* Waits for the last hint, so that whoever reads on sends no action again. */
static void settle_hint(kafka_log *log)
{
	if (log->hint < 0)
		return;
	rd_kafka_queue_t *answers = rd_kafka_queue_new(log->consumer);
	rd_kafka_topic_partition_list_t *list = list_of(log, log->hint);
	if (rd_kafka_commit_queue(log->consumer, list, answers, NULL, NULL) == RD_KAFKA_RESP_ERR_NO_ERROR) {
		rd_kafka_event_t *answer = rd_kafka_queue_poll(answers, CLOSING_MS);
		if (answer != NULL)
			rd_kafka_event_destroy(answer);
	}
	rd_kafka_topic_partition_list_destroy(list);
	rd_kafka_queue_destroy(answers);
}

static void close_log(void *broker)
{
	kafka_log *log = broker;
	if (log == NULL)
		return;
	if (log->consumer != NULL) {
		settle_hint(log);
		(void)rd_kafka_consumer_close(log->consumer);
		rd_kafka_destroy(log->consumer);
	}
	if (log->producer != NULL) {
		(void)rd_kafka_purge(log->producer, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
		rd_kafka_destroy(log->producer);
	}
	cop_mem_free(log);
}

static void note_delivery(rd_kafka_t *producer, const rd_kafka_message_t *message, void *context)
{
	kafka_log *log = context;
	(void)producer;
	log->undelivered += message->err != RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* NULL: the reason is in *diag. */
static rd_kafka_t *make(kafka_log *log, rd_kafka_type_t type, cop_diag *diag)
{
	char why[256] = "", group[COP_BROKER_KAFKA_NAME];
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	(void)snprintf(group, sizeof group, "coppice-%s", log->set->name);
	bool good = cop_broker_kafka_given(conf, log->set, why, sizeof why);
	if (type == RD_KAFKA_CONSUMER) {
		good = good && cop_broker_kafka_option(conf, "group.id", group, why, sizeof why) &&
		       cop_broker_kafka_option(conf, "enable.auto.commit", "false", why, sizeof why) &&
		       cop_broker_kafka_option(conf, "auto.offset.reset", "error", why, sizeof why);
	} else {
		good = good && cop_broker_kafka_option(conf, "enable.idempotence", "true", why, sizeof why);
		rd_kafka_conf_set_dr_msg_cb(conf, note_delivery);
	}
	rd_kafka_conf_set_opaque(conf, log);
	rd_kafka_t *out = good ? rd_kafka_new(type, conf, why, sizeof why) : NULL;
	if (out == NULL) {
		rd_kafka_conf_destroy(conf);
		(void)complain(log, type == RD_KAFKA_CONSUMER ? "consumer" : "producer", why, diag);
	}
	return out;
}

static cop_err open_log(const cop_broker_settings *settings, void **out, cop_diag *diag)
{
	kafka_log *log = cop_mem_alloc(1, sizeof *log);
	*out = NULL;
	if (log == NULL)
		return COP_ENOMEM;
	log->set = settings;
	log->hint = -1;
	log->consumer = make(log, RD_KAFKA_CONSUMER, diag);
	if (log->consumer != NULL && cop_broker_sends(settings))
		log->producer = make(log, RD_KAFKA_PRODUCER, diag);
	if (log->consumer == NULL || (log->producer == NULL && cop_broker_sends(settings))) {
		close_log(log);
		return COP_EIO;
	}
	(void)rd_kafka_poll_set_consumer(log->consumer);
	*out = log;
	return COP_OK;
}

static cop_err assign(kafka_log *log, int64_t offset, cop_diag *diag)
{
	rd_kafka_topic_partition_list_t *list = list_of(log, offset);
	log->next = offset;
	rd_kafka_resp_err_t err = rd_kafka_assign(log->consumer, list);
	rd_kafka_topic_partition_list_destroy(list);
	return err == RD_KAFKA_RESP_ERR_NO_ERROR ? COP_OK : refuse(log, "assigning", err, diag);
}

/* The library asks for both ends at once. Where one answer is an error that comes together with the other's end, it
 * tells of no error and takes that end for both (2.0), so that all events would be passed over. An answer counts when
 * the next one begins at the same offset and ends no earlier. */
static cop_err ask_ends(const kafka_log *log, int64_t *low, int64_t *high, cop_diag *diag)
{
	for (unsigned asked = 0; asked < MOST_ASKED; asked++) {
		const int64_t low_before = *low, high_before = *high;
		rd_kafka_resp_err_t err = rd_kafka_query_watermark_offsets(
		        log->consumer, log->set->topic, (int32_t)log->set->partition, low, high, PATIENCE_MS);
		if (err != RD_KAFKA_RESP_ERR_NO_ERROR)
			return refuse(log, log->set->topic, err, diag);
		if (asked > 0 && *low == low_before && *high >= high_before)
			return COP_OK;
	}
	return complain(log, log->set->topic, "where the partition begins and ends is answered in two ways", diag);
}

static cop_err seek(void *broker, cop_broker_start start, cop_wire_position *at, bool *gap, cop_diag *diag)
{
	kafka_log *log = broker;
	int64_t low = 0, high = 0;
	*gap = false;
	cop_err err = ask_ends(log, &low, &high, diag);
	if (err != COP_OK)
		return err;
	if (start != COP_BROKER_BEHIND) {
		const int64_t first = start == COP_BROKER_NEWEST ? high : low;
		at->offset = first > 0 ? (uint64_t)first - 1 : 0;
		return assign(log, first, diag);
	}
	if (high <= (int64_t)at->offset) {
		cop_diag_of(diag, log->set->topic,
		        "the partition ends at %" PRId64 ", before the position %" PRIu64
		        " that the daemon knows; expected the log that was read, or another name of the section",
		        high - 1, at->offset);
		return COP_EINVAL;
	}
	*gap = low > (int64_t)at->offset + 1;
	return assign(log, *gap ? low : (int64_t)at->offset + 1, diag);
}

static cop_err take(void *broker, size_t most, double seconds, cop_broker_batch *out, cop_diag *diag)
{
	kafka_log *log = broker;
	cop_err err = COP_OK;
	int wait = (int)(1000.0 * seconds);
	for (size_t i = 0; i < most && err == COP_OK; i++, wait = 0) {
		rd_kafka_message_t *message = rd_kafka_consumer_poll(log->consumer, wait);
		if (message == NULL)
			break;
		if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR)
			err = complain(log, "reading", rd_kafka_message_errstr(message), diag);
		else
			err = cop_broker_batch_add(out, message->payload == NULL ? "" : message->payload,
			        message->payload == NULL ? 0 : message->len, (uint64_t)message->offset, 0);
		log->next = message->offset + 1;
		rd_kafka_message_destroy(message);
	}
	return err;
}

/* As of the last answer to a fetch. What was removed is an error of reading (auto.offset.reset). */
static bool lag(void *broker, uint64_t *out, uint64_t *lost)
{
	const kafka_log *log = broker;
	int64_t low = 0, high = 0;
	*lost = 0;
	if (rd_kafka_get_watermark_offsets(log->consumer, log->set->topic, (int32_t)log->set->partition, &low, &high) !=
	                RD_KAFKA_RESP_ERR_NO_ERROR ||
	        high < 0)
		return false;
	*out = high > log->next ? (uint64_t)(high - log->next) : 0;
	return true;
}

static rd_kafka_resp_err_t produce(kafka_log *log, const cop_broker_batch *actions, const cop_broker_item *item)
{
	char key[16];
	int length = snprintf(key, sizeof key, "%" PRIu32, log->set->partition);
	uint8_t *body = actions->bytes.data + item->at;
	return rd_kafka_producev(log->producer, RD_KAFKA_V_TOPIC(cop_broker_target(log->set, item)),
	        RD_KAFKA_V_VALUE(body, item->length), RD_KAFKA_V_KEY(key, (size_t)length),
	        RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY | RD_KAFKA_MSG_F_BLOCK), RD_KAFKA_V_END);
}

static cop_err send_actions(
        void *broker, const cop_broker_batch *actions, const cop_wire_position *upto, cop_diag *diag)
{
	kafka_log *log = broker;
	rd_kafka_resp_err_t err = RD_KAFKA_RESP_ERR_NO_ERROR;
	log->undelivered = 0;
	for (size_t i = 0; i < actions->count && err == RD_KAFKA_RESP_ERR_NO_ERROR; i++)
		err = produce(log, actions, &actions->items[i]);
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR && actions->count > 0)
		err = rd_kafka_flush(log->producer, PATIENCE_MS);
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR && log->undelivered > 0)
		err = RD_KAFKA_RESP_ERR__MSG_TIMED_OUT;
	if (err != RD_KAFKA_RESP_ERR_NO_ERROR)
		return refuse(log, "sending", err, diag);
	/* The first one has to be there; others may fail, for they are hints. */
	log->hint = upto == NULL ? 0 : (int64_t)upto->offset + 1;
	rd_kafka_topic_partition_list_t *list = list_of(log, log->hint);
	err = rd_kafka_commit(log->consumer, list, upto != NULL);
	rd_kafka_topic_partition_list_destroy(list);
	return upto != NULL || err == RD_KAFKA_RESP_ERR_NO_ERROR ? COP_OK : refuse(log, "the hint", err, diag);
}

static cop_broker_start hinted(void *broker, cop_wire_position *out)
{
	kafka_log *log = broker;
	rd_kafka_topic_partition_list_t *list = list_of(log, RD_KAFKA_OFFSET_INVALID);
	rd_kafka_resp_err_t err = rd_kafka_committed(log->consumer, list, PATIENCE_MS);
	int64_t next = err == RD_KAFKA_RESP_ERR_NO_ERROR ? list->elems[0].offset : RD_KAFKA_OFFSET_INVALID;
	rd_kafka_topic_partition_list_destroy(list);
	*out = (cop_wire_position){ .partition = log->set->partition, .offset = next > 0 ? (uint64_t)next - 1 : 0 };
	if (next < 0)
		return COP_BROKER_NEWEST;
	return next == 0 ? COP_BROKER_OLDEST : COP_BROKER_BEHIND;
}

const cop_broker_class cop_broker_kafka = { "kafka", open_log, seek, take, lag, send_actions, hinted, close_log,
	&cop_broker_kafka_group };
