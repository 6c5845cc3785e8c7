/* Each follower is a row of a table, found by its connection's identity. A connection that says anything but `join`
 * first, as after a restart of this process, is told to join. A turn sends each follower what its window has room for:
 * memory first; where memory begins behind what it needs, a job reads that from the disk, one for each follower at a
 * time. */
#include "daemon/replica/replica_leader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "daemon/common/clock.h"
#include "daemon/models/model_set.h"
#include "daemon/replica/replica_renew.h"
#include "daemon/replica/replica_rows.h"
#include "daemon/replica/replica_state.h"
#include "daemon/serve/permit.h"

#define NEAR_BYTES     ((size_t)16 << 20) /* of records in memory */
#define WINDOW         (4 * COP_REPLICA_PART_BYTES)
#define BEAT_SECONDS   0.5
#define LOST_SECONDS   10.0 /* a follower that says nothing for so long is forgotten */
#define LIVES_SECONDS  2.0  /* one that spoke within these is there; followers speak twice a second */
#define MOMENT_SECONDS 1.0  /* for which a connection that gave way may still be heard of */
#define SHORT_SECONDS  1.0  /* answers that wait for followers for so long are told of */
#define LEAST_UNREAD   3    /* the disk gives nothing so often: only a checkpoint leads on */
#define TAKEN          64   /* messages in a turn */
#define GONE           "its connection ended"
#define JOIN_FIRST     "join first"
#define NAMESAKE       "another follower has the name %.64s; expected a name that no other one has"

static void list(const cop_config_list *endpoints, char out[COP_REPLICA_REQUESTS])
{
	size_t used = 0;
	out[0] = '\0';
	for (size_t i = 0; i < endpoints->count && used < COP_REPLICA_REQUESTS; i++)
		used += (size_t)snprintf(
		        out + used, COP_REPLICA_REQUESTS - used, "%s%s", i == 0 ? "" : " ", endpoints->items[i]);
}

cop_err cop_replica_leader_open(cop_replica_leader *l, cop_diag *diag)
{
	cop_bytes_init(&l->head);
	cop_bytes_init(&l->body);
	cop_bytes_init(&l->work);
	cop_replica_log_init(&l->log, 1, NEAR_BYTES);
	list(&l->durable->config->requests, l->requests);
	list(&l->durable->config->replica_listen, l->links);
	if (l->durable->config->replica_listen.count == 0)
		return COP_OK;
	return cop_sockets_open_link(l->sockets, ZMQ_ROUTER, &l->durable->config->replica_listen, &l->socket, diag);
}

void cop_replica_leader_close(cop_replica_leader *l)
{
	cop_replica_leader_end(l);
	if (l->socket != NULL)
		(void)zmq_close(l->socket);
	l->socket = NULL;
	cop_bytes_fini(&l->head);
	cop_bytes_fini(&l->body);
	cop_bytes_fini(&l->work);
}

/* ---- sending ---- */

/* body: NULL: the kind has none. False: it did not get away. */
static bool send_to(
        cop_replica_leader *l, const cop_replica_peer *peer, const cop_replica_message *m, const cop_bytes *body)
{
	cop_bytes_clear(&l->head);
	cop_replica_message_put(&l->head, m);
	if (l->head.err != COP_OK)
		return false;
	l->sockets->sent = true;
	return zmq_send(l->socket, peer->identity, peer->identity_length, ZMQ_SNDMORE | ZMQ_DONTWAIT) >= 0 &&
	       zmq_send(l->socket, l->head.data, l->head.length, ZMQ_DONTWAIT | (body != NULL ? ZMQ_SNDMORE : 0)) >=
	               0 &&
	       (body == NULL || zmq_send(l->socket, body->data, body->length, ZMQ_DONTWAIT) >= 0);
}

static void refuse(cop_replica_leader *l, const cop_replica_peer *peer, const char *reason)
{
	const bool other = !l->leads;
	const cop_replica_message m = {
		.kind = COP_REPLICA_REFUSED,
		.epoch = l->epoch,
		.reason = cop_replica_message_text(reason),
		.leader = cop_replica_message_text(other ? l->leader : ""),
		.requests = cop_replica_message_text(other ? l->leader_requests : l->requests),
	};
	(void)send_to(l, peer, &m, NULL);
	l->counts->refused++;
}

/* next 0: a checkpoint first. */
static void welcome(cop_replica_leader *l, cop_replica_peer *peer, uint64_t next)
{
	cop_bytes_clear(&l->work);
	cop_live_put_text(&l->durable->config->live, &l->work);
	const cop_replica_message m = {
		.kind = COP_REPLICA_WELCOME,
		.version = COP_REPLICA_VERSION,
		.epoch = l->epoch,
		.next = next,
		.first = l->begun,
		.name = cop_replica_message_text(l->name),
		.program = cop_replica_message_text(COP_VERSION),
		.kernel = cop_replica_message_text(l->kernel),
		.live = { (const char *)l->work.data, l->work.length },
		.requests = cop_replica_message_text(l->requests),
	};
	peer->stage = next == 0 ? COP_REPLICA_COPYING : COP_REPLICA_STREAMING;
	peer->next = next;
	cop_bytes_clear(&l->body);
	(void)cop_model_set_put(l->durable->config, NULL, &l->body);
	(void)send_to(l, peer, &m, &l->body);
	const char *from = next == 0 ? "checkpoint" : "records";
	cop_log_line(l->durable->log, COP_LOG_EVENT(replica_joined), "name=\"%s\" next=%" PRIu64 " from=%s program=%s",
	        peer->name, peer->joined_next, from, peer->program);
}

static void send_records(cop_replica_leader *l, cop_replica_peer *peer, uint64_t count, const cop_bytes *records)
{
	const cop_replica_message m = {
		.kind = COP_REPLICA_RECORDS, .epoch = l->epoch, .first = peer->next, .count = count
	};
	if (!send_to(l, peer, &m, records))
		return;
	peer->next += count;
	peer->sent += records->length;
	l->counts->records += count;
	l->counts->bytes += records->length;
}

static void send_state(cop_replica_leader *l, cop_replica_peer *peer)
{
	const cop_bytes *state = peer->next > 1 ? cop_replica_log_state(&l->log, peer->next - 1) : NULL;
	if (state == NULL || peer->stated == peer->next - 1)
		return;
	peer->stated = peer->next - 1;
	const cop_replica_message m = { .kind = COP_REPLICA_STATE, .epoch = l->epoch, .sequence = peer->stated };
	l->counts->compared += send_to(l, peer, &m, state);
}

/* ---- what the disk gave ---- */

static void drop(cop_replica_leader *l, cop_replica_peer *peer, const char *reason)
{
	cop_log_line(l->durable->log, COP_LOG_EVENT(replica_lost), "name=\"%s\" reason=\"%s\"", peer->name, reason);
	l->counts->lost++;
	cop_replica_rows_clear(peer);
}

/* Two leaders, of which one was cut off, may write the same bytes under one number, behind different records: so the
 * epoch of the record counts, too, where the follower tells it. */
static bool is_same(const cop_replica_peer *peer, uint64_t epoch, uint32_t crc)
{
	if (peer->joined_next <= 1 || peer->alone)
		return true;
	return crc == peer->joined_crc && (peer->joined_epoch == 0 || epoch == peer->joined_epoch);
}

/* epoch, crc: of this one's record before the one that the follower wants. */
static void placed(cop_replica_leader *l, cop_replica_peer *peer, cop_err err, uint64_t epoch, uint32_t crc)
{
	bool same = err == COP_OK && is_same(peer, epoch, crc);
	if (err != COP_OK && err != COP_ENOTFOUND && err != COP_EEND)
		cop_log_line(l->durable->log, COP_LOG_EVENT(replica_unread), "name=\"%s\" reason=\"%s\"", peer->name,
		        peer->source.why.message);
	welcome(l, peer, same && !peer->full ? peer->joined_next : 0);
}

static void take_records(cop_replica_leader *l, cop_replica_peer *peer)
{
	cop_replica_source *s = &peer->source;
	if (s->count > 0) {
		send_records(l, peer, s->count, &s->out);
		l->counts->far_records += s->count;
		peer->unread = 0;
		return;
	}
	if (++peer->unread < LEAST_UNREAD && s->err != COP_ENOTFOUND)
		return; /* the segment that is read is being written: another reader will see more */
	cop_log_line(l->durable->log, COP_LOG_EVENT(replica_unread), "name=\"%s\" reason=\"%s\"", peer->name,
	        s->why.message[0] != '\0' ? s->why.message : cop_err_text(s->err));
	peer->unread = 0;
	welcome(l, peer, 0);
}

static void send_part(cop_replica_leader *l, cop_replica_peer *peer)
{
	const cop_replica_source *s = &peer->source;
	const bool there = s->err == COP_OK;
	const cop_replica_message m = {
		.kind = COP_REPLICA_PART,
		.number = s->number,
		.size = there ? s->size : 0,
		.offset = s->offset,
		.model = cop_replica_message_text(s->model),
	};
	if (!there && s->model[0] == '\0')
		l->durable->next_checkpoint = 0.0; /* there is none yet: now */
	(void)send_to(l, peer, &m, &s->out);
}

/* What the follower's job is to do next; false: nothing. */
static bool next_task(const cop_replica_leader *l, cop_replica_peer *peer, cop_replica_task *task)
{
	cop_replica_source *s = &peer->source;
	if (peer->asked) {
		*task = COP_REPLICA_TASK_PART;
		s->number = peer->ask.number;
		s->offset = peer->ask.offset;
		(void)snprintf(s->model, sizeof s->model, "%s", peer->model);
		peer->asked = false;
		l->counts->checkpoints += s->offset == 0 && s->model[0] == '\0';
		l->counts->files += s->offset == 0 && s->model[0] != '\0';
		return true;
	}
	if (peer->stage == COP_REPLICA_PLACING) {
		*task = COP_REPLICA_TASK_PLACE;
		s->next = peer->joined_next;
		s->until = peer->alone ? 0 : s->next;
		return true;
	}
	if (peer->stage != COP_REPLICA_STREAMING || peer->next >= cop_replica_log_first(&l->log) ||
	        peer->sent - peer->taken >= WINDOW)
		return false;
	*task = COP_REPLICA_TASK_RECORDS;
	s->next = peer->next;
	s->until = l->log.next;
	return true;
}

/* True: a job is under way. */
static bool turn_source(cop_replica_leader *l, cop_replica_peer *peer)
{
	cop_replica_task task = cop_replica_source_take(&peer->source);
	if (task == COP_REPLICA_TASK_PLACE)
		placed(l, peer, peer->source.err, peer->source.epoch, peer->source.crc);
	else if (task == COP_REPLICA_TASK_RECORDS)
		take_records(l, peer);
	else if (task == COP_REPLICA_TASK_PART)
		send_part(l, peer);
	if (!peer->source.job.started && next_task(l, peer, &task) &&
	        cop_replica_source_start(&peer->source, task) != COP_OK)
		drop(l, peer, "no thread to read for it");
	return peer->there && peer->source.job.started;
}

/* ---- what followers say ---- */

/* It gave way to another one of its name. A follower that was started anew gives way to itself: what its former process
 * said may come for a moment yet. */
static void hear_namesake(cop_replica_leader *l, const cop_replica_peer *stranger, cop_replica_peer *of, double now)
{
	char reason[160];
	if (now - of->since < MOMENT_SECONDS)
		return;
	if (!of->contested)
		cop_log_line(l->durable->log, COP_LOG_EVENT(replica_namesake), "name=\"%s\"", of->name);
	of->contested = true;
	(void)snprintf(reason, sizeof reason, NAMESAKE, of->name);
	refuse(l, stranger, reason);
}

/* Somebody was forgotten that it has, or the other way round. */
static bool forgot_else(const cop_replica_leader *l, const cop_replica_peer *peer)
{
	return peer->forgot != l->forgot && peer->forgot != l->durable->forgot;
}

static void join(cop_replica_leader *l, cop_replica_peer *stranger, const cop_replica_message *m, double now)
{
	char kernel[32], reason[160];
	cop_replica_message_copy(m->kernel, kernel, sizeof kernel);
	cop_replica_message_copy(m->name, stranger->name, sizeof stranger->name);
	cop_replica_message_copy(m->program, stranger->program, sizeof stranger->program);
	reason[0] = '\0';
	cop_replica_peer *old = cop_replica_rows_find(l->peer, stranger);
	if (old != NULL)
		cop_replica_rows_clear(old);
	cop_replica_peer *same = cop_replica_rows_find_name(l->peer, stranger->name);
	if (!l->leads)
		(void)snprintf(reason, sizeof reason, "this instance does not lead");
	else if (m->version != COP_REPLICA_VERSION)
		(void)snprintf(reason, sizeof reason,
		        "version %" PRIu64 " of the protocol; expected %d: the same program, or the one before or "
		        "behind it",
		        m->version, COP_REPLICA_VERSION);
	else if (strcmp(kernel, l->kernel) != 0)
		(void)snprintf(reason, sizeof reason, "kernel %s; expected %s, as the leader's: bits depend on it",
		        kernel, l->kernel);
	else if (same != NULL && same->contested && now - same->heard < LIVES_SECONDS)
		(void)snprintf(reason, sizeof reason, NAMESAKE, stranger->name);
	cop_replica_peer *row = reason[0] == '\0' ? cop_replica_rows_make(l->peer, stranger) : NULL;
	if (reason[0] == '\0' && row == NULL)
		(void)snprintf(reason, sizeof reason, "too many followers; expected at most %d", COP_CONFIG_FOLLOWERS);
	if (row == NULL) {
		refuse(l, stranger, reason);
		return;
	}
	*row = *stranger;
	row->there = true;
	row->joined_next = m->next;
	row->joined_epoch = m->last_epoch;
	row->joined_crc = m->last_crc;
	row->full = m->full != 0;
	row->alone = m->alone != 0;
	row->forgot = m->forgot;
	if (row->alone) /* what it has is to be compared soon */
		cop_replica_pace_set(&l->pace, 0);
	row->heard = row->since = now;
	cop_replica_source_init(&row->source, l->durable->config->state_dir);
	l->counts->joins++;
	if (row->full || row->joined_next > l->log.next || row->joined_next == 0 || forgot_else(l, row))
		welcome(l, row, 0);
	else if (row->joined_next > l->begun && row->joined_next - 1 >= cop_replica_log_first(&l->log))
		placed(l, row, COP_OK, l->epoch, cop_replica_log_crc(&l->log, row->joined_next - 1));
}

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

void cop_replica_leader_turn_away(cop_replica_leader *l, cop_replica_peer *peer)
{
	refuse(l, peer, JOIN_FIRST);
	cop_replica_rows_clear(peer);
}

static void have(cop_replica_peer *peer, const cop_replica_message *m)
{
	if (peer->stage != COP_REPLICA_STREAMING || m->bytes > peer->sent)
		return;
	peer->taken = m->bytes;
	peer->written = least(m->written, peer->next - 1);
	peer->synced = least(m->synced, peer->next - 1);
	peer->has = least(m->applied, peer->next - 1);
}

static void take(cop_replica_leader *l, cop_sockets_message *message, double now)
{
	cop_replica_message m;
	cop_replica_peer stranger = { .identity_length = zmq_msg_size(&message->frame[0]) };
	cop_wire_fault fault = { .message = "" };
	const cop_access_entry *client;
	const cop_permit_asked asked = { .right = COP_ACCESS_REPLICATE, .model = "" };
	if (message->count < 2 || stranger.identity_length > sizeof stranger.identity) {
		l->counts->broken++;
		return;
	}
	memcpy(stranger.identity, zmq_msg_data(&message->frame[0]), stranger.identity_length);
	cop_replica_peer *peer = cop_replica_rows_find(l->peer, &stranger);
	zmq_msg_t *head = &message->frame[1];
	if (cop_permit_check(l->durable->config->curve_access, head, &asked, &client, &fault) != COP_OK ||
	        cop_replica_message_read(zmq_msg_data(head), zmq_msg_size(head), &m, &fault) != COP_OK) {
		refuse(l, &stranger, fault.message);
		return;
	}
	const bool tells = m.kind == COP_REPLICA_JOIN || m.kind == COP_REPLICA_HAVE || m.kind == COP_REPLICA_LEADS;
	if (tells && m.epoch > l->epoch && m.epoch > l->higher)
		l->higher = m.epoch;
	if (m.kind == COP_REPLICA_JOIN) {
		join(l, &stranger, &m, now);
	} else if (m.kind == COP_REPLICA_LEADS) {
		l->named_epoch = m.epoch;
		cop_replica_message_copy(m.leader, l->named, sizeof l->named);
	} else if (peer == NULL) {
		cop_replica_peer *namesake = cop_replica_rows_find_next(l->peer, &stranger);
		if (namesake != NULL)
			hear_namesake(l, &stranger, namesake, now);
		else
			refuse(l, &stranger, JOIN_FIRST);
	} else if (m.kind == COP_REPLICA_HAVE) {
		have(peer, &m);
	} else if (m.kind == COP_REPLICA_ASK) {
		peer->asked = true;
		peer->ask = m;
		cop_replica_message_copy(m.model, peer->model, sizeof peer->model);
	}
	if (peer != NULL)
		peer->heard = now;
}

/* Under `replica`: whether followers are too few, or too far behind, for the answers that wait. */
static void watch_held(cop_replica_leader *l, double now)
{
	const cop_config *config = l->durable->config;
	if (config->journal_sync != COP_SYNC_REPLICA)
		return;
	uint64_t held = cop_replica_leader_held(l, config->replica_followers, config->replica_hold);
	cop_journaler_set_held(l->durable->journal, held);
	bool waits = cop_journaler_committed(l->durable->journal) + 1 < l->log.next;
	if (!waits && l->short_since < 0.0)
		cop_log_line(l->durable->log, COP_LOG_EVENT(replica_held), "sequence=%" PRIu64, held);
	if (!waits)
		l->short_since = 0.0;
	else if (l->short_since == 0.0)
		l->short_since = now;
	else if (l->short_since > 0.0 && now - l->short_since > SHORT_SECONDS) {
		cop_log_line(l->durable->log, COP_LOG_EVENT(replica_short),
		        "followers=%" PRIu32 " held=%" PRIu64 " next=%" PRIu64
		        " reason=\"answers wait for followers that have their records\"",
		        config->replica_followers, held, l->log.next);
		l->short_since = -1.0; /* told */
	}
}

void cop_replica_leader_receive(cop_replica_leader *l, double now)
{
	cop_sockets_message message;
	for (size_t i = 0; i < TAKEN && l->socket != NULL && cop_sockets_receive(l->socket, &message); i++) {
		take(l, &message, now);
		cop_sockets_release(&message);
	}
	if (l->leads) /* before the turn's answers leave */
		watch_held(l, now);
}

/* ---- the turn ---- */

static void tap(void *context, const void *data, size_t length, uint64_t first, uint64_t count)
{
	cop_replica_leader *l = context;
	cop_replica_log_put(&l->log, data, length, first, count);
}

void cop_replica_leader_begin(cop_replica_leader *l, uint64_t epoch, uint64_t begun)
{
	uint64_t next = cop_journaler_next(l->durable->journal);
	l->leads = true;
	l->epoch = epoch;
	l->begun = begun;
	l->higher = 0;
	l->forgot = l->durable->forgot;
	l->renewing[0] = '\0';
	l->leader[0] = l->leader_requests[0] = '\0';
	cop_replica_pace_set(&l->pace, next + l->durable->config->replica_compare);
	cop_replica_log_fini(&l->log);
	cop_replica_log_init(&l->log, cop_journaler_written(l->durable->journal) + 1, NEAR_BYTES);
	cop_journaler_set_tap(l->durable->journal, tap, l);
}

void cop_replica_leader_end(cop_replica_leader *l)
{
	for (size_t i = 0; i < COP_CONFIG_FOLLOWERS; i++) {
		if (l->peer[i].there && l->socket != NULL)
			refuse(l, &l->peer[i], "this instance leads no longer");
		cop_replica_rows_clear(&l->peer[i]);
	}
	if (l->leads && l->durable->journal != NULL)
		cop_journaler_set_tap(l->durable->journal, NULL, NULL);
	l->leads = false;
	cop_replica_log_fini(&l->log);
}

static void stream(cop_replica_leader *l, cop_replica_peer *peer)
{
	send_state(l, peer);
	while (peer->next < l->log.next && peer->next >= cop_replica_log_first(&l->log) &&
	        peer->sent - peer->taken < WINDOW) {
		uint64_t before = peer->next;
		cop_bytes_clear(&l->body);
		uint64_t count = cop_replica_log_take(&l->log, peer->next, COP_REPLICA_PART_BYTES, &l->body);
		if (l->body.err != COP_OK || count == 0)
			return;
		send_records(l, peer, count, &l->body);
		if (peer->next == before) { /* its queue is full, or nobody has its identity any more */
			if (errno == EHOSTUNREACH)
				drop(l, peer, GONE);
			return;
		}
		send_state(l, peer);
	}
}

/* Somebody takes records, and serves what is served here: followers take a model that leaves out later. */
static bool can_compare(const cop_replica_leader *l)
{
	bool any = false;
	if (l->durable->models.leaving_count > 0 || !cop_replica_renew_stands(l))
		return false;
	for (size_t i = 0; i < COP_CONFIG_FOLLOWERS; i++)
		any |= l->peer[i].there && l->peer[i].stage == COP_REPLICA_STREAMING;
	return any;
}

static void compare(cop_replica_leader *l, double now)
{
	const uint64_t last = l->log.next - 1;
	if (!cop_replica_pace_due(&l->pace, last, now) || l->log.next != cop_journaler_next(l->durable->journal) ||
	        cop_replica_log_first(&l->log) == l->log.next || !can_compare(l))
		return;
	const double began = cop_clock_monotonic();
	cop_bytes_clear(&l->body);
	cop_replica_state_put(&l->durable->models, &l->work, &l->body);
	if (l->body.err == COP_OK)
		cop_replica_log_put_state(&l->log, &l->body);
	cop_replica_pace_done(&l->pace, last, l->durable->config->replica_compare, began, cop_clock_monotonic());
}

static void beat(cop_replica_leader *l, double now)
{
	const cop_replica_message m = {
		.kind = COP_REPLICA_BEAT,
		.epoch = l->epoch,
		.next = l->log.next,
		.time = l->durable->time,
		.requests = cop_replica_message_text(l->requests),
	};
	if (now < l->next_beat)
		return;
	l->next_beat = now + BEAT_SECONDS;
	for (size_t i = 0; i < COP_CONFIG_FOLLOWERS; i++) {
		cop_replica_peer *peer = &l->peer[i];
		if (peer->there && now - peer->heard > LOST_SECONDS && !peer->source.job.started)
			drop(l, peer, "it says nothing");
		else if (peer->there && !send_to(l, peer, &m, NULL) && errno == EHOSTUNREACH &&
		         !peer->source.job.started)
			drop(l, peer, GONE);
	}
}

bool cop_replica_leader_send(cop_replica_leader *l, double now)
{
	bool busy = false;
	if (!l->leads)
		return false;
	compare(l, now);
	for (size_t i = 0; i < COP_CONFIG_FOLLOWERS; i++) {
		cop_replica_peer *peer = &l->peer[i];
		if (!peer->there)
			continue;
		busy |= turn_source(l, peer);
		if (peer->there && peer->stage == COP_REPLICA_STREAMING && !peer->source.job.started)
			stream(l, peer);
	}
	beat(l, now);
	watch_held(l, now);
	return busy;
}

uint64_t cop_replica_leader_held(const cop_replica_leader *l, uint32_t followers, cop_config_hold hold)
{
	uint64_t have[COP_CONFIG_FOLLOWERS] = { 0 }; /* falling */
	for (size_t i = 0; i < COP_CONFIG_FOLLOWERS; i++) {
		const cop_replica_peer *peer = &l->peer[i];
		uint64_t is = hold == COP_HOLD_DISK ? peer->synced : peer->has;
		for (size_t j = 0; peer->there && j < COP_CONFIG_FOLLOWERS; j++)
			if (is > have[j]) {
				uint64_t was = have[j];
				have[j] = is;
				is = was;
			}
	}
	return have[followers - 1];
}
