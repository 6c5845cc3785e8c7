/* NATS JetStream. A topic is STREAM or STREAM/SUBJECT; a message's sequence in the stream is its offset. Each session
 * has a consumer of its own, without acknowledgements, that begins behind the position; its numbers are checked to have
 * no hole. There are no reconnects inside a session, so nothing waits in the library that the bridge does not know of.
 * The hint is the key NAME.PARTITION of the bucket coppice-streams, put when the actions are stored: the sequence, and
 * when the stream was created, for a stream of the same name that was created since has other events under its numbers.
 */
#include <ctype.h>
#include <inttypes.h>
#include <nats/nats.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "daemon/streams/broker_classes.h"

#define PATIENCE_MS 5000
#define BUCKET      "coppice-streams"
#define IDLE_NS     (INT64_C(60) * 1000000000) /* after which the server forgets a consumer that nobody reads */

typedef struct nats_log {
	const cop_broker_settings *set;
	natsConnection *connection;
	jsCtx *js;
	natsSubscription *subscription;
	kvStore *hints; /* NULL: no actions are sent */
	char hint[COP_BROKER_TEXT + 16];
	char stream[COP_BROKER_TEXT];
	char consumer[COP_BROKER_TEXT]; /* of this session; the server names it */
	const char *subject;            /* within the topic; NULL: all of the stream */
	int64_t created, hinted;        /* ns: the stream, now and by the hint; 0: not known */
	uint64_t delivered;             /* the consumer's number of the last message, */
	uint64_t reached;               /* and the stream's */
	uint64_t lost;                  /* messages that were removed before they came, and were not told yet */
	char why[COP_BROKER_TEXT + 64]; /* of what was not stored, the first: its subject and the reason */
	_Atomic bool failed;            /* something was not stored; then `why` changes no more */
} nats_log;

static cop_err complain(const nats_log *log, const char *what, natsStatus status, cop_diag *diag)
{
	const char *last = nats_GetLastError(NULL);
	cop_diag_of(diag, log->set->servers, "nats: %s: %s%s%.120s", what, natsStatus_GetText(status),
	        last == NULL ? "" : ": ", last == NULL ? "" : last);
	return COP_EIO;
}

static void close_log(void *broker)
{
	nats_log *log = broker;
	if (log == NULL)
		return;
	natsSubscription_Destroy(log->subscription);
	kvStore_Destroy(log->hints);
	jsCtx_Destroy(log->js);
	natsConnection_Close(log->connection);
	natsConnection_Destroy(log->connection);
	cop_mem_free(log);
}

static void note_failure(jsCtx *js, jsPubAckErr *error, void *closure)
{
	nats_log *log = closure;
	(void)js;
	if (atomic_load(&log->failed))
		return;
	(void)snprintf(log->why, sizeof log->why, "%s: %s",
	        error->Msg == NULL ? "an action" : natsMsg_GetSubject(error->Msg),
	        error->Err == NATS_NO_RESPONDERS ? "no stream keeps this subject; expected one that does"
	                                         : natsStatus_GetText(error->Err));
	atomic_store(&log->failed, true);
}

static natsStatus dial(nats_log *log)
{
	natsOptions *options = NULL;
	jsOptions js;
	const cop_broker_settings *set = log->set;
	natsStatus status = natsOptions_Create(&options);
	if (status == NATS_OK)
		status = natsOptions_SetURL(options, set->servers);
	if (status == NATS_OK && set->password[0] != '\0')
		status = set->user[0] == '\0' ? natsOptions_SetToken(options, set->password)
		                              : natsOptions_SetUserInfo(options, set->user, set->password);
	if (status == NATS_OK)
		status = natsOptions_SetAllowReconnect(options, false);
	if (status == NATS_OK)
		status = natsOptions_SetTimeout(options, PATIENCE_MS);
	if (status == NATS_OK)
		status = natsConnection_Connect(&log->connection, options);
	natsOptions_Destroy(options);
	if (status == NATS_OK)
		status = jsOptions_Init(&js);
	js.PublishAsync.ErrHandler = note_failure;
	js.PublishAsync.ErrHandlerClosure = log;
	js.Wait = PATIENCE_MS;
	return status == NATS_OK ? natsConnection_JetStream(&log->js, log->connection, &js) : status;
}

/* Keys take letters, digits, dashes and dots. */
static natsStatus open_hints(nats_log *log)
{
	kvConfig config;
	if (!cop_broker_sends(log->set))
		return NATS_OK;
	(void)snprintf(log->hint, sizeof log->hint, "%s.%" PRIu32, log->set->name, log->set->partition);
	for (char *c = log->hint; *c != '\0'; c++)
		if (!isalnum((unsigned char)*c) && *c != '-' && *c != '.')
			*c = '_';
	if (js_KeyValue(&log->hints, log->js, BUCKET) == NATS_OK)
		return NATS_OK;
	(void)kvConfig_Init(&config);
	config.Bucket = BUCKET;
	config.History = 1;
	config.StorageType = js_FileStorage;
	return js_CreateKeyValue(&log->hints, log->js, &config);
}

static cop_err open_log(const cop_broker_settings *settings, void **out, cop_diag *diag)
{
	nats_log *log = cop_mem_alloc(1, sizeof *log);
	*out = NULL;
	if (log == NULL)
		return COP_ENOMEM;
	log->set = settings;
	size_t length = strcspn(settings->topic, "/");
	(void)snprintf(log->stream, sizeof log->stream, "%.*s", (int)length, settings->topic);
	log->subject = settings->topic[length] == '/' ? settings->topic + length + 1 : NULL;
	natsStatus status = dial(log);
	if (status == NATS_OK)
		status = open_hints(log);
	if (status != NATS_OK) {
		cop_err err = complain(log, "connecting", status, diag);
		close_log(log);
		return err;
	}
	*out = log;
	return COP_OK;
}

/* A consumer that begins at that sequence. */
static cop_err subscribe(nats_log *log, uint64_t from, cop_diag *diag)
{
	jsConsumerConfig config;
	jsConsumerInfo *info = NULL;
	jsSubOptions options;
	(void)jsConsumerConfig_Init(&config);
	config.DeliverPolicy = js_DeliverByStartSequence;
	config.OptStartSeq = from;
	config.AckPolicy = js_AckNone;
	config.FilterSubject = log->subject;
	config.InactiveThreshold = IDLE_NS;
	natsStatus status = js_AddConsumer(&info, log->js, log->stream, &config, NULL, NULL);
	if (status != NATS_OK)
		return complain(log, "a consumer", status, diag);
	(void)snprintf(log->consumer, sizeof log->consumer, "%s", info->Name);
	(void)jsSubOptions_Init(&options);
	options.Stream = log->stream;
	options.Consumer = log->consumer;
	status = js_PullSubscribe(&log->subscription, log->js, NULL, NULL, NULL, &options, NULL);
	jsConsumerInfo_Destroy(info);
	log->delivered = 0;
	return status == NATS_OK ? COP_OK : complain(log, "subscribing", status, diag);
}

/* Whether the stream is the one that was read up to there. */
static cop_err recognise(const nats_log *log, uint64_t last, uint64_t offset, cop_diag *diag)
{
	static const char expected[] = "expected the stream that was read, or another name of the section";
	if (log->hinted != 0 && log->hinted != log->created)
		cop_diag_of(diag, log->set->topic, "the stream was created anew behind the position %" PRIu64 "; %s",
		        offset, expected);
	else if (last < offset)
		cop_diag_of(diag, log->set->topic,
		        "the stream ends at %" PRIu64 ", before the position %" PRIu64 " that the daemon knows; %s",
		        last, offset, expected);
	else
		return COP_OK;
	return COP_EINVAL;
}

static cop_err seek(void *broker, cop_broker_start start, cop_wire_position *at, bool *gap, cop_diag *diag)
{
	nats_log *log = broker;
	jsStreamInfo *info = NULL;
	*gap = false;
	natsStatus status = js_GetStreamInfo(&info, log->js, log->stream, NULL, NULL);
	if (status != NATS_OK)
		return complain(log, log->stream, status, diag);
	const uint64_t first = info->State.FirstSeq, last = info->State.LastSeq;
	log->created = info->Created;
	jsStreamInfo_Destroy(info);
	if (start != COP_BROKER_BEHIND)
		at->offset = start == COP_BROKER_NEWEST ? last : first > 0 ? first - 1 : 0;
	cop_err err = recognise(log, last, at->offset, diag);
	if (err != COP_OK)
		return err;
	*gap = start == COP_BROKER_BEHIND && first > at->offset + 1;
	log->reached = *gap ? first - 1 : at->offset;
	return subscribe(log, at->offset + 1, diag);
}

static cop_err add_message(nats_log *log, natsMsg *message, cop_broker_batch *out, cop_diag *diag)
{
	jsMsgMetaData *meta = NULL;
	natsStatus status = natsMsg_GetMetaData(&meta, message);
	if (status != NATS_OK)
		return complain(log, "a message", status, diag);
	const jsSequencePair sequence = meta->Sequence;
	jsMsgMetaData_Destroy(meta);
	if (sequence.Consumer != log->delivered + 1) {
		cop_diag_of(diag, log->set->topic, "nats: messages were lost on their way");
		return COP_EIO;
	}
	log->delivered = sequence.Consumer;
	if (log->subject == NULL) /* else others' messages are between */
		log->lost += sequence.Stream - log->reached - 1;
	log->reached = sequence.Stream;
	int length = natsMsg_GetDataLength(message);
	return cop_broker_batch_add(
	        out, length == 0 ? "" : natsMsg_GetData(message), (size_t)length, sequence.Stream, 0);
}

static cop_err take(void *broker, size_t most, double seconds, cop_broker_batch *out, cop_diag *diag)
{
	nats_log *log = broker;
	natsMsgList list = { NULL, 0 };
	cop_err err = COP_OK;
	int64_t wait = seconds < 0.01 ? 10 : (int64_t)(1000.0 * seconds);
	natsStatus status = natsSubscription_Fetch(&list, log->subscription, (int)most, wait, NULL);
	if (status == NATS_TIMEOUT)
		return natsConnection_IsClosed(log->connection) ? complain(log, "reading", NATS_CONNECTION_CLOSED, diag)
		                                                : COP_OK;
	if (status != NATS_OK)
		return complain(log, "reading", status, diag);
	for (int i = 0; i < list.Count && err == COP_OK; i++)
		err = add_message(log, list.Msgs[i], out, diag);
	natsMsgList_Destroy(&list);
	return err;
}

static bool lag(void *broker, uint64_t *out, uint64_t *lost)
{
	nats_log *log = broker;
	jsConsumerInfo *info = NULL;
	*lost = log->lost;
	log->lost = 0;
	if (js_GetConsumerInfo(&info, log->js, log->stream, log->consumer, NULL, NULL) != NATS_OK)
		return false;
	*out = info->NumPending;
	jsConsumerInfo_Destroy(info);
	return true;
}

static natsStatus leave_hint(nats_log *log, uint64_t offset)
{
	char text[64];
	(void)snprintf(text, sizeof text, "%" PRIu64 " %" PRId64, offset, log->created);
	return kvStore_PutString(NULL, log->hints, log->hint, text);
}

static cop_err send_actions(
        void *broker, const cop_broker_batch *actions, const cop_wire_position *upto, cop_diag *diag)
{
	nats_log *log = broker;
	jsPubOptions options;
	natsStatus status = NATS_OK;
	if (log->hints == NULL)
		return COP_OK; /* nothing is ever sent */
	for (size_t i = 0; i < actions->count && status == NATS_OK; i++) {
		const cop_broker_item *item = &actions->items[i];
		status = js_PublishAsync(log->js, cop_broker_target(log->set, item), actions->bytes.data + item->at,
		        (int)item->length, NULL);
	}
	(void)jsPubOptions_Init(&options);
	options.MaxWait = PATIENCE_MS;
	if (status == NATS_OK && actions->count > 0)
		status = js_PublishAsyncComplete(log->js, &options);
	if (atomic_load(&log->failed)) {
		cop_diag_of(diag, log->set->servers, "nats: %s", log->why);
		return COP_EIO;
	}
	if (status == NATS_OK)
		status = leave_hint(log, upto == NULL ? 0 : upto->offset);
	return status == NATS_OK ? COP_OK : complain(log, "sending", status, diag);
}

static cop_broker_start hinted(void *broker, cop_wire_position *out)
{
	nats_log *log = broker;
	kvEntry *entry = NULL;
	*out = (cop_wire_position){ .partition = log->set->partition };
	if (log->hints == NULL || kvStore_Get(&entry, log->hints, log->hint) != NATS_OK)
		return COP_BROKER_NEWEST;
	const char *text = kvEntry_ValueString(entry);
	char *end = NULL;
	out->offset = text == NULL ? 0 : strtoull(text, &end, 10);
	log->hinted = text == NULL ? 0 : strtoll(end, NULL, 10);
	kvEntry_Destroy(entry);
	return out->offset == 0 ? COP_BROKER_OLDEST : COP_BROKER_BEHIND;
}

const cop_broker_class cop_broker_nats = { "nats", open_log, seek, take, lag, send_actions, hinted, close_log, NULL };
