/* Redis Streams. An entry's event is the value of its field `event`, or, where there is none, of its only field; its id
 * MS-SEQ is offset and minor. Actions and the hint go in one transaction, so the hint is exact as long as Redis keeps
 * what it acknowledged. The hint is the key coppice:NAME:PARTITION. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "daemon/streams/broker_classes.h"
#include "daemon/streams/broker_redis_wire.h"

#define PATIENCE 5  /* seconds for an answer */
#define ID_ROOM  48 /* MS-SEQ */
#define PORT     6379
#define FIELD    "event"

typedef struct redis_log {
	const cop_broker_settings *set;
	redisContext *context;
	cop_broker_redis_wire wire;
	uint64_t ms, seq; /* the last entry that was read */
	int64_t passed;   /* entries up to there that were ever added, */
	bool exact;       /* as far as known, or as counted */
	char hint[COP_BROKER_TEXT + 32];
} redis_log;

static void close_log(void *broker)
{
	redis_log *log = broker;
	if (log == NULL)
		return;
	if (log->context != NULL)
		redisFree(log->context);
	cop_broker_redis_wire_fini(&log->wire);
	cop_mem_free(log);
}

static cop_err complain(const redis_log *log, const redisReply *reply, cop_diag *diag)
{
	const char *why = reply != NULL && reply->type == REDIS_REPLY_ERROR ? reply->str
	                  : log->context != NULL && log->context->err != 0  ? log->context->errstr
	                                                                    : "an answer of another kind";
	cop_diag_of(diag, log->set->servers, "redis: %.200s", why);
	return COP_EIO;
}

/* HOST:PORT, HOST, or the path of a socket. */
static redisContext *dial(const char *servers)
{
	static const struct timeval patience = { PATIENCE, 0 };
	char host[COP_BROKER_TEXT];
	if (servers[0] == '/')
		return redisConnectUnixWithTimeout(servers, patience);
	const char *colon = strrchr(servers, ':');
	size_t length = colon == NULL ? strlen(servers) : (size_t)(colon - servers);
	(void)snprintf(host, sizeof host, "%.*s", (int)length, servers);
	return redisConnectWithTimeout(host, colon == NULL ? PORT : atoi(colon + 1), patience);
}

/* The answer is good until the next command; NULL: none came, or the memory for it. */
static const redisReply *answer_of(redis_log *log)
{
	void *answer = NULL;
	return redisGetReply(log->context, &answer) == REDIS_OK ? answer : NULL;
}

static const redisReply *ask(redis_log *log, const char *const *words, size_t count)
{
	cop_broker_redis_wire_open(&log->wire, count);
	for (size_t i = 0; i < count; i++)
		cop_broker_redis_wire_text(&log->wire, words[i]);
	return cop_broker_redis_wire_send(&log->wire) == REDIS_OK ? answer_of(log) : NULL;
}

static cop_err greet(redis_log *log, cop_diag *diag)
{
	const cop_broker_settings *set = log->set;
	static const struct timeval patience = { PATIENCE, 0 };
	if (log->context == NULL || log->context->err != 0 || redisSetTimeout(log->context, patience) != REDIS_OK)
		return complain(log, NULL, diag);
	const char *const ping[] = { "PING" }, *const lone[] = { "AUTH", set->password },
	                  *const named[] = { "AUTH", set->user, set->password };
	const redisReply *reply = set->password[0] == '\0' ? ask(log, ping, 1)
	                          : set->user[0] == '\0'   ? ask(log, lone, 2)
	                                                   : ask(log, named, 3);
	return reply != NULL && reply->type != REDIS_REPLY_ERROR ? COP_OK : complain(log, reply, diag);
}

static cop_err open_log(const cop_broker_settings *settings, void **out, cop_diag *diag)
{
	redis_log *log = cop_mem_alloc(1, sizeof *log);
	*out = NULL;
	if (log == NULL)
		return COP_ENOMEM;
	log->set = settings;
	(void)snprintf(log->hint, sizeof log->hint, "coppice:%s:%" PRIu32, settings->name, settings->partition);
	log->context = dial(settings->servers);
	cop_broker_redis_wire_init(&log->wire, log->context);
	cop_err err = greet(log, diag);
	if (err != COP_OK) {
		close_log(log);
		return err;
	}
	*out = log;
	return COP_OK;
}

static bool read_id(const redisReply *reply, uint64_t *ms, uint64_t *seq)
{
	char *end;
	if (reply == NULL || (reply->type != REDIS_REPLY_STRING && reply->type != REDIS_REPLY_STATUS))
		return false;
	errno = 0;
	*ms = strtoull(reply->str, &end, 10);
	if (end == reply->str || *end != '-')
		return false;
	const char *second = end + 1;
	*seq = strtoull(second, &end, 10);
	return end != second && *end == '\0' && errno == 0;
}

static const redisReply *member(const redisReply *map, const char *key)
{
	for (size_t i = 0; i + 1 < map->elements; i += 2)
		if (map->element[i]->type == REDIS_REPLY_STRING && strcmp(map->element[i]->str, key) == 0)
			return map->element[i + 1];
	return NULL;
}

static bool is_before(uint64_t ms, uint64_t seq, const cop_wire_position *at)
{
	return ms < at->offset || (ms == at->offset && seq < at->minor);
}

typedef struct stream_facts {
	uint64_t last[2], first[2], lost[2]; /* ids; lost: the greatest that was removed */
	int64_t added, length;
} stream_facts;

static int64_t number(const redisReply *reply)
{
	return reply != NULL && reply->type == REDIS_REPLY_INTEGER ? reply->integer : 0;
}

/* Those of Redis 7; older ones have neither `lost` nor `added`. */
static void read_facts(const redisReply *reply, stream_facts *out)
{
	const redisReply *first = member(reply, "first-entry");
	(void)read_id(member(reply, "max-deleted-entry-id"), &out->lost[0], &out->lost[1]);
	if (first != NULL && first->type == REDIS_REPLY_ARRAY && first->elements == 2)
		(void)read_id(first->element[0], &out->first[0], &out->first[1]);
	out->length = number(member(reply, "length"));
	out->added = number(member(reply, "entries-added"));
}

/* A stream that nothing was added to yet is not there. */
static cop_err look(redis_log *log, stream_facts *out, cop_diag *diag)
{
	const char *const words[] = { "XINFO", "STREAM", log->set->topic };
	const redisReply *reply = ask(log, words, 3);
	*out = (stream_facts){ .added = 0 };
	bool absent = reply != NULL && reply->type == REDIS_REPLY_ERROR && strstr(reply->str, "no such key") != NULL;
	bool good = absent || (reply != NULL && reply->type == REDIS_REPLY_ARRAY &&
	                              read_id(member(reply, "last-generated-id"), &out->last[0], &out->last[1]));
	if (good && !absent)
		read_facts(reply, out);
	cop_err err = good ? COP_OK : complain(log, reply, diag);
	return err;
}

/* Redis counts no entries behind an id: those of a reader that begins in the midst are estimated by time, until it has
 * been at the end. */
static int64_t entries_behind(const redis_log *log, const stream_facts *is)
{
	if (is->last[0] == log->ms && is->last[1] == log->seq)
		return 0;
	if (log->ms < is->first[0] || is->last[0] <= is->first[0])
		return is->length;
	if (is->last[0] <= log->ms)
		return 1;
	return (int64_t)((double)is->length * (double)(is->last[0] - log->ms) / (double)(is->last[0] - is->first[0]));
}

/* Where no entry up to the last one that was read is there, or none behind it, entries up to there are a difference of
 * what Redis counts. Of these the ones that were not read were removed before. */
static void count_passed(redis_log *log, const stream_facts *is, uint64_t *lost)
{
	const cop_wire_position first = { .offset = is->first[0], .minor = is->first[1] };
	const bool end = is->last[0] == log->ms && is->last[1] == log->seq;
	const bool ahead = is->length == 0 || is_before(log->ms, log->seq, &first);
	const int64_t passed = end ? is->added : is->added - is->length;
	const bool counts = is->added > 0 || is->last[0] == 0; /* before Redis 7 it does not */
	*lost = 0;
	if (!counts || (!end && !ahead))
		return;
	if (log->exact && passed > log->passed)
		*lost = (uint64_t)(passed - log->passed);
	log->passed = passed;
	log->exact = true;
}

static bool lag(void *broker, uint64_t *out, uint64_t *lost)
{
	redis_log *log = broker;
	stream_facts is;
	cop_diag diag;
	*lost = 0;
	if (look(log, &is, &diag) != COP_OK)
		return false;
	count_passed(log, &is, lost);
	*out = is.added > log->passed ? (uint64_t)(is.added - log->passed) : 0;
	return is.added > 0;
}

static cop_err seek(void *broker, cop_broker_start start, cop_wire_position *at, bool *gap, cop_diag *diag)
{
	redis_log *log = broker;
	stream_facts is;
	uint64_t lost;
	*gap = false;
	cop_err err = look(log, &is, diag);
	if (err != COP_OK)
		return err;
	if (start != COP_BROKER_BEHIND) {
		at->offset = start == COP_BROKER_NEWEST ? is.last[0] : 0;
		at->minor = start == COP_BROKER_NEWEST ? is.last[1] : 0;
	}
	log->ms = at->offset;
	log->seq = at->minor;
	log->passed = is.added - entries_behind(log, &is);
	log->exact = false;
	count_passed(log, &is, &lost);
	if (is_before(is.last[0], is.last[1], at)) {
		cop_diag_of(diag, log->set->topic,
		        "the stream ends at %" PRIu64 "-%" PRIu64 ", before the position %" PRIu64 "-%" PRIu64
		        " that the daemon knows; expected the stream that was read, or another name of the section",
		        is.last[0], is.last[1], at->offset, at->minor);
		return COP_EINVAL;
	}
	*gap = start == COP_BROKER_BEHIND &&
	       (is.lost[0] > at->offset || (is.lost[0] == at->offset && is.lost[1] > at->minor));
	return COP_OK;
}

static cop_err add_entry(redis_log *log, const redisReply *entry, cop_broker_batch *out)
{
	uint64_t ms, seq;
	if (entry->type != REDIS_REPLY_ARRAY || entry->elements != 2 || !read_id(entry->element[0], &ms, &seq))
		return COP_EFORMAT;
	const redisReply *fields = entry->element[1], *event = NULL;
	if (fields->type == REDIS_REPLY_ARRAY) {
		event = member(fields, FIELD);
		if (event == NULL && fields->elements == 2)
			event = fields->element[1];
	}
	cop_err err =
	        cop_broker_batch_add(out, event == NULL ? "" : event->str, event == NULL ? 0 : event->len, ms, seq);
	if (err == COP_OK) {
		log->ms = ms;
		log->seq = seq;
		log->passed++;
	}
	return err;
}

static cop_err take(void *broker, size_t most, double seconds, cop_broker_batch *out, cop_diag *diag)
{
	redis_log *log = broker;
	char id[ID_ROOM], count[ID_ROOM], wait[ID_ROOM];
	(void)snprintf(id, sizeof id, "%" PRIu64 "-%" PRIu64, log->ms, log->seq);
	(void)snprintf(count, sizeof count, "%zu", most);
	(void)snprintf(wait, sizeof wait, "%d", seconds < 0.001 ? 1 : (int)(1000.0 * seconds));
	const char *const words[] = { "XREAD", "COUNT", count, "BLOCK", wait, "STREAMS", log->set->topic, id };
	const redisReply *reply = ask(log, words, 8);
	cop_err err = COP_OK;
	if (reply == NULL || (reply->type != REDIS_REPLY_NIL && reply->type != REDIS_REPLY_ARRAY))
		err = complain(log, reply, diag);
	else if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 1 && reply->element[0]->elements == 2) {
		const redisReply *entries = reply->element[0]->element[1];
		for (size_t i = 0; i < entries->elements && err == COP_OK; i++)
			err = add_entry(log, entries->element[i], out);
		if (err == COP_EFORMAT)
			err = complain(log, NULL, diag);
	}
	return err;
}

static void put_action(redis_log *log, const cop_broker_batch *actions, const cop_broker_item *item)
{
	char most[ID_ROOM];
	cop_broker_redis_wire *wire = &log->wire;
	bool all = log->set->actions_max == 0;
	cop_broker_redis_wire_open(wire, all ? 5 : 8);
	cop_broker_redis_wire_text(wire, "XADD");
	cop_broker_redis_wire_text(wire, cop_broker_target(log->set, item));
	if (!all) {
		(void)snprintf(most, sizeof most, "%lu", log->set->actions_max);
		cop_broker_redis_wire_text(wire, "MAXLEN");
		cop_broker_redis_wire_text(wire, "~");
		cop_broker_redis_wire_text(wire, most);
	}
	cop_broker_redis_wire_text(wire, "*");
	cop_broker_redis_wire_text(wire, FIELD);
	cop_broker_redis_wire_word(wire, actions->bytes.data + item->at, item->length);
}

/* The answers to all that was appended; the last one is that of EXEC. */
static cop_err read_answers(redis_log *log, size_t count, cop_diag *diag)
{
	cop_err err = COP_OK;
	for (size_t i = 0; i < count && err == COP_OK; i++) {
		const redisReply *reply = answer_of(log);
		if (reply == NULL)
			return complain(log, NULL, diag);
		bool good = reply->type != REDIS_REPLY_ERROR && (i + 1 < count || reply->type == REDIS_REPLY_ARRAY);
		err = good ? COP_OK : complain(log, reply, diag);
		for (size_t k = 0; err == COP_OK && i + 1 == count && k < reply->elements; k++)
			if (reply->element[k]->type == REDIS_REPLY_ERROR)
				err = complain(log, reply->element[k], diag);
	}
	return err;
}

static cop_err send_actions(
        void *broker, const cop_broker_batch *actions, const cop_wire_position *upto, cop_diag *diag)
{
	redis_log *log = broker;
	char id[ID_ROOM];
	(void)snprintf(
	        id, sizeof id, "%" PRIu64 "-%" PRIu64, upto == NULL ? 0 : upto->offset, upto == NULL ? 0 : upto->minor);
	cop_broker_redis_wire *wire = &log->wire;
	cop_broker_redis_wire_open(wire, 1);
	cop_broker_redis_wire_text(wire, "MULTI");
	for (size_t i = 0; i < actions->count; i++)
		put_action(log, actions, &actions->items[i]);
	cop_broker_redis_wire_open(wire, 3);
	cop_broker_redis_wire_text(wire, "SET");
	cop_broker_redis_wire_text(wire, log->hint);
	cop_broker_redis_wire_text(wire, id);
	cop_broker_redis_wire_open(wire, 1);
	cop_broker_redis_wire_text(wire, "EXEC");
	bool good = cop_broker_redis_wire_send(wire) == REDIS_OK;
	return good ? read_answers(log, actions->count + 3, diag) : complain(log, NULL, diag);
}

static cop_broker_start hinted(void *broker, cop_wire_position *out)
{
	redis_log *log = broker;
	*out = (cop_wire_position){ .partition = log->set->partition };
	const char *const words[] = { "GET", log->hint };
	const redisReply *reply = ask(log, words, 2);
	bool there = read_id(reply, &out->offset, &out->minor);
	if (!there)
		return COP_BROKER_NEWEST;
	return out->offset == 0 && out->minor == 0 ? COP_BROKER_OLDEST : COP_BROKER_BEHIND;
}

const cop_broker_class cop_broker_redis = { "redis", open_log, seek, take, lag, send_actions, hinted, close_log, NULL };
