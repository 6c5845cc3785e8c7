/* Each peer has a connection of its own, over which one ask is under way at a time. One that was not answered until the
 * next is due is dropped with its connection, so that asks do not pile up for a peer that is away. A model's life
 * begins with a record, once this instance writes records of its own. */
#include "daemon/merge/merge.h"

#include <inttypes.h>
#include <string.h>
#include <sys/random.h>

#include "base/mem.h"
#include "daemon/common/clock.h"
#include "daemon/durable/healing.h"
#include "daemon/merge/merge_private.h"
#include "online/model_record.h"

#define LOOK_SECONDS     0.02 /* between looks at the sockets */
#define TAKEN            64   /* messages of a socket in a turn */
#define PATIENCE_SECONDS 2.0  /* for an answer, at least */
#define LINES            1.0  /* of complaints, a second and at once */

cop_sums *cop_merge_sums_of(const cop_merge *m, const cop_model_slot *slot)
{
	if (!cop_config_merges(m->durable->config, slot->name))
		return NULL;
	cop_sums *sums = cop_learner_sums(cop_model_learner(slot->model));
	return sums != NULL && sums->life != 0 ? sums : NULL;
}

static size_t peers_of(const cop_merge *m) { return m->durable->config->partition_peers.count; }

/* What was taken before the start counts for the ages that are shown. */
static void remember(cop_merge *m)
{
	const cop_model_table *models = &m->durable->models;
	for (size_t i = 0; i < models->count; i++) {
		const cop_sums *sums = cop_merge_sums_of(m, models->items[i]);
		for (size_t p = 0; sums != NULL && p < sums->peers; p++) {
			const cop_sums_peer *peer = &sums->peer[p];
			if (peer->part < m->durable->config->partition_of && peer->time > m->newest[peer->part])
				m->newest[peer->part] = peer->time;
		}
	}
}

cop_err cop_merge_open(cop_merge *m, cop_durability *durable, cop_sockets *sockets, cop_diag *diag)
{
	const cop_config *config = durable->config;
	*m = (cop_merge){ .durable = durable, .sockets = sockets };
	m->enabled = config->partition_given && config->partition_merge.count > 0;
	if (!m->enabled)
		return COP_OK;
	cop_bytes_init(&m->head);
	cop_log_limiter_init(&m->limiter, LINES, LINES);
	m->peer = cop_mem_alloc(peers_of(m), sizeof *m->peer);
	m->newest = cop_mem_alloc(config->partition_of, sizeof *m->newest);
	if (m->peer == NULL || m->newest == NULL) {
		cop_diag_message(diag, "partition: %s", cop_err_text(COP_ENOMEM));
		return COP_ENOMEM;
	}
	remember(m);
	cop_log_line(durable->log, COP_LOG_EVENT(merge), "number=%u of=%u models=%zu peers=%zu every=%.3g",
	        config->partition_number, config->partition_of, config->partition_merge.count, peers_of(m),
	        1e-6 * (double)config->partition_every);
	if (config->partition_listen.count == 0)
		return COP_OK;
	return cop_sockets_open_link(sockets, ZMQ_ROUTER, &config->partition_listen, &m->socket, diag);
}

static void disconnect(cop_merge_peer *peer)
{
	if (peer->socket != NULL)
		(void)zmq_close(peer->socket);
	peer->socket = NULL;
	peer->waits = false;
}

void cop_merge_close(cop_merge *m)
{
	if (!m->enabled)
		return;
	for (size_t i = 0; m->peer != NULL && i < peers_of(m); i++)
		disconnect(&m->peer[i]);
	if (m->socket != NULL)
		(void)zmq_close(m->socket);
	cop_merge_drop(m);
	cop_mem_free(m->peer);
	cop_mem_free(m->newest);
	cop_bytes_fini(&m->head);
	*m = (cop_merge){ .enabled = false };
}

/* ---- taking ---- */

static void hear_answer(cop_merge *m, size_t i, cop_sockets_message *message, double now)
{
	cop_merge_message told;
	cop_wire_fault fault = { .message = "" };
	cop_merge_peer *peer = &m->peer[i];
	char reason[sizeof peer->refused];
	if (cop_merge_message_read(zmq_msg_data(&message->frame[0]), zmq_msg_size(&message->frame[0]), &told, &fault) !=
	        COP_OK) {
		m->counts.unfit++;
		cop_log_limited(m->durable->log, &m->limiter, cop_clock_monotonic_us(), COP_LOG_EVENT(merge_refused),
		        "peer=\"%s\" reason=\"%s\"", m->durable->config->partition_peers.items[i], fault.message);
		return;
	}
	if (told.kind == COP_MERGE_SUMMARY && message->count == 2)
		cop_merge_take(m, &told, zmq_msg_data(&message->frame[1]), zmq_msg_size(&message->frame[1]), now);
	peer->waits = peer->waits && told.kind != COP_MERGE_END && told.kind != COP_MERGE_REFUSED;
	peer->silent = false;
	if (told.kind != COP_MERGE_REFUSED) {
		peer->refused[0] = '\0';
		return;
	}
	m->counts.refused++;
	cop_wire_text_clean(reason, sizeof reason, told.reason.text, told.reason.length);
	if (strcmp(reason, peer->refused) != 0) /* else the log has it */
		cop_log_limited(m->durable->log, &m->limiter, cop_clock_monotonic_us(), COP_LOG_EVENT(merge_unanswered),
		        "peer=\"%s\" reason=\"%s\"", m->durable->config->partition_peers.items[i], reason);
	(void)snprintf(peer->refused, sizeof peer->refused, "%s", reason);
}

static bool receive_from(cop_merge *m, void *socket, size_t peer, double now)
{
	cop_sockets_message message;
	size_t count = 0;
	for (; socket != NULL && count < TAKEN && cop_sockets_receive(socket, &message); count++) {
		if (socket == m->socket)
			cop_merge_hear(m, &message);
		else if (!m->durable->follows)
			hear_answer(m, peer, &message, now);
		cop_sockets_release(&message);
	}
	return count > 0;
}

bool cop_merge_receive(cop_merge *m, double now)
{
	if (!m->enabled || now < m->next_look)
		return false;
	bool any = receive_from(m, m->socket, 0, now);
	for (size_t i = 0; i < peers_of(m); i++)
		any |= receive_from(m, m->peer[i].socket, i, now);
	if (!any)
		m->next_look = now + LOOK_SECONDS;
	return any;
}

/* ---- lives ---- */

static void begin_life(cop_merge *m, cop_model_slot *slot)
{
	uint64_t life = 0;
	if (getrandom(&life, sizeof life, 0) != (ssize_t)sizeof life || life == 0)
		return; /* in the next turn */
	const cop_wire_record made = {
		.model = slot->stored, .model_length = strlen(slot->stored), .time = m->durable->time, .life = life
	};
	cop_err err = cop_model_apply(slot->model, COP_WIRE_RECORD_MERGE, &made);
	if (err == COP_OK)
		(void)cop_journaler_put(m->durable->journal, COP_WIRE_RECORD_MERGE, &made);
	cop_log_line(m->durable->log, COP_LOG_EVENT(merge_life), "model=\"%s\" life=%016" PRIx64, slot->name, life);
}

static void begin_lives(cop_merge *m)
{
	const cop_model_table *models = &m->durable->models;
	if (m->durable->follows || !cop_healing_stands(m->durable))
		return;
	for (size_t i = 0; i < models->count; i++) {
		cop_model_slot *slot = models->items[i];
		const cop_sums *sums = cop_learner_sums(cop_model_learner(slot->model));
		if (sums != NULL && sums->life == 0 && cop_config_merges(m->durable->config, slot->name))
			begin_life(m, slot);
	}
}

/* ---- asking ---- */

static void put_known(cop_merge *m, cop_bytes *known)
{
	const cop_model_table *models = &m->durable->models;
	for (size_t i = 0; i < models->count; i++) {
		const cop_sums *sums = cop_merge_sums_of(m, models->items[i]);
		for (size_t p = 0; sums != NULL && p < sums->peers; p++) {
			cop_bytes_put_u64(known, sums->peer[p].life);
			cop_bytes_put_u64(known, sums->peer[p].number);
		}
	}
}

/* In head. */
static bool make_ask(cop_merge *m)
{
	cop_bytes known;
	cop_bytes_init(&known);
	put_known(m, &known);
	const cop_merge_message ask = { .kind = COP_MERGE_ASK,
		.version = COP_MERGE_VERSION,
		.of = m->durable->config->partition_of,
		.part = m->durable->config->partition_number,
		.known = { (const char *)known.data, known.length } };
	cop_bytes_clear(&m->head);
	cop_merge_message_put(&m->head, &ask);
	const bool made = known.err == COP_OK && m->head.err == COP_OK;
	cop_bytes_fini(&known);
	return made;
}

static void ask(cop_merge *m, size_t i, double now)
{
	cop_merge_peer *peer = &m->peer[i];
	const char *item = m->durable->config->partition_peers.items[i];
	cop_diag why = { 0 };
	if (peer->waits && now - peer->asked < PATIENCE_SECONDS)
		return;
	if (peer->waits) {
		m->counts.unanswered++;
		if (!peer->silent)
			cop_log_line(m->durable->log, COP_LOG_EVENT(merge_unanswered),
			        "peer=\"%s\" reason=\"no answer until the next ask\"", item);
		peer->silent = true;
		disconnect(peer);
	}
	if (peer->socket == NULL &&
	        cop_sockets_connect_link(m->sockets, ZMQ_DEALER, item, &peer->socket, &why) != COP_OK) {
		disconnect(peer);
		return;
	}
	m->sockets->sent = true;
	peer->waits = zmq_send(peer->socket, m->head.data, m->head.length, ZMQ_DONTWAIT) >= 0;
	peer->asked = now;
	m->counts.asked += peer->waits;
}

void cop_merge_send(cop_merge *m, double now)
{
	if (!m->enabled)
		return;
	begin_lives(m);
	cop_merge_answer(m, now);
	if (now < m->next_ask || m->durable->follows || !cop_healing_stands(m->durable))
		return;
	m->next_ask = now + 1e-6 * (double)m->durable->config->partition_every;
	if (!make_ask(m))
		return;
	for (size_t i = 0; i < peers_of(m); i++)
		ask(m, i, now);
}

double cop_merge_age(const cop_merge *m, uint32_t part)
{
	const double newest = m->newest[part];
	if (newest <= 0.0)
		return -1.0;
	return m->durable->time > newest ? m->durable->time - newest : 0.0;
}
