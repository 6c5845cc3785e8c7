/* A first ask makes a copy of all that can be told, as of the newest record; whoever asked until the journal has that
 * record is answered from it. The order: who asks, what is told, when. */
#include "daemon/merge/merge_private.h"

#include <inttypes.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/mem.h"
#include "daemon/common/clock.h"
#include "daemon/durable/healing.h"
#include "daemon/serve/permit.h"

#define STALE 3.0 /* asks without a word from a life, until what is known of it is told to others */

/* ---- who asks ---- */

static void send(cop_merge *m, const cop_merge_asker *to, const cop_bytes *head, const cop_bytes *sums)
{
	m->sockets->sent = true;
	if (zmq_send(m->socket, to->identity, to->length, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0 ||
	        zmq_send(m->socket, head->data, head->length, ZMQ_DONTWAIT | (sums != NULL ? ZMQ_SNDMORE : 0)) < 0)
		return;
	if (sums != NULL)
		(void)zmq_send(m->socket, sums->data, sums->length, ZMQ_DONTWAIT);
}

static void say(cop_merge *m, const cop_merge_asker *to, cop_merge_kind kind, const char *reason)
{
	const cop_merge_message word = {
		.kind = kind, .version = COP_MERGE_VERSION, .reason = cop_merge_message_text(reason)
	};
	cop_bytes_clear(&m->head);
	cop_merge_message_put(&m->head, &word);
	if (m->head.err == COP_OK)
		send(m, to, &m->head, NULL);
}

/* NULL: it is to be answered. */
static const char *reason_not_to(const cop_merge *m, const cop_merge_message *ask)
{
	const cop_config *config = m->durable->config;
	if (ask->kind != COP_MERGE_ASK)
		return "expected an ask";
	if (ask->version != COP_MERGE_VERSION)
		return "version: expected 1";
	if (ask->of != config->partition_of)
		return "of: this instance is one of another number";
	if (ask->part >= config->partition_of || ask->part == config->partition_number)
		return "part: expected another instance's";
	if (ask->known.length % (2 * sizeof(uint64_t)) != 0)
		return "known: expected pairs";
	if (m->durable->follows)
		return "this instance follows another one";
	return m->askers < COP_MERGE_ASKERS ? NULL : "too many ask at once";
}

static bool keep_asker(cop_merge *m, cop_merge_asker *asker, const cop_merge_message *ask)
{
	cop_cursor cursor;
	asker->pairs = ask->known.length / (2 * sizeof(uint64_t));
	asker->known = cop_mem_alloc(2 * asker->pairs, sizeof *asker->known);
	if (asker->known == NULL)
		return false;
	cop_cursor_init(&cursor, ask->known.text, ask->known.length);
	for (size_t i = 0; i < 2 * asker->pairs; i++)
		asker->known[i] = cop_cursor_u64(&cursor);
	m->asker[m->askers++] = *asker;
	return true;
}

void cop_merge_hear(cop_merge *m, cop_sockets_message *message)
{
	cop_merge_message ask;
	cop_wire_fault fault = { .message = "" };
	const cop_access_entry *client;
	const cop_permit_asked asked = { .right = COP_ACCESS_REPLICATE, .model = "" };
	cop_merge_asker asker = { .length = zmq_msg_size(&message->frame[0]) };
	if (message->count < 2 || asker.length > sizeof asker.identity)
		return;
	memcpy(asker.identity, zmq_msg_data(&message->frame[0]), asker.length);
	zmq_msg_t *head = &message->frame[1];
	const char *reason = fault.message;
	if (cop_permit_check(m->durable->config->curve_access, head, &asked, &client, &fault) == COP_OK &&
	        cop_merge_message_read(zmq_msg_data(head), zmq_msg_size(head), &ask, &fault) == COP_OK)
		reason = reason_not_to(m, &ask);
	if (reason == NULL && keep_asker(m, &asker, &ask))
		return;
	m->counts.refused++;
	say(m, &asker, COP_MERGE_REFUSED, reason == NULL ? "no memory" : reason);
}

/* ---- what is told ---- */

static void drop_parcels(cop_merge *m)
{
	for (size_t i = 0; i < m->parcels; i++) {
		cop_bytes_fini(&m->parcel[i].head);
		cop_bytes_fini(&m->parcel[i].sums);
	}
	cop_mem_free(m->parcel);
	m->parcel = NULL;
	m->parcels = 0;
	m->until = 0;
}

void cop_merge_drop(cop_merge *m)
{
	for (size_t i = 0; i < m->askers; i++)
		cop_mem_free(m->asker[i].known);
	m->askers = 0;
	drop_parcels(m);
}

/* peer NULL: what this instance learned itself. */
static void pack(cop_merge *m, const cop_model_slot *slot, const cop_sums *sums, const cop_sums_peer *peer)
{
	cop_merge_parcel *parcel = &m->parcel[m->parcels++];
	const cop_config *config = m->durable->config;
	const cop_learner_settings *s = &cop_model_get_settings(slot->model)->learner;
	*parcel = (cop_merge_parcel){ .life = peer == NULL ? sums->life : peer->life,
		.number = peer == NULL ? m->until : peer->number,
		.own = peer == NULL };
	cop_bytes_init(&parcel->head);
	cop_bytes_init(&parcel->sums);
	if (peer == NULL)
		cop_sums_put_own(sums, &parcel->sums);
	else
		cop_sums_put_peer(sums, peer, &parcel->sums);
	const cop_merge_message told = { .kind = COP_MERGE_SUMMARY,
		.version = COP_MERGE_VERSION,
		.of = config->partition_of,
		.part = peer == NULL ? config->partition_number : peer->part,
		.own = parcel->own,
		.life = parcel->life,
		.number = parcel->number,
		.features = peer == NULL ? s->features : peer->features,
		.arms = s->arms,
		.crc = cop_crc32c(0, parcel->sums.data, parcel->sums.length),
		.time = peer == NULL ? m->durable->time : peer->time,
		.model = cop_merge_message_text(slot->name),
		.learner = cop_merge_message_text(s->learner) };
	cop_merge_message_put(&parcel->head, &told);
}

static bool is_stale(const cop_merge *m, uint64_t life, double now)
{
	const double patience = STALE * 1e-6 * (double)m->durable->config->partition_every;
	for (size_t i = 0; i < m->lives; i++)
		if (m->heard[i].life == life)
			return now - m->heard[i].mark > patience;
	return true;
}

static size_t count_parcels(const cop_merge *m)
{
	size_t count = 0;
	for (size_t i = 0; i < m->durable->models.count; i++) {
		const cop_sums *sums = cop_merge_sums_of(m, m->durable->models.items[i]);
		count += sums != NULL ? 1 + sums->peers : 0;
	}
	return count;
}

/* False: short of memory; whoever asked asks again. */
static bool pack_all(cop_merge *m, double now)
{
	const cop_model_table *models = &m->durable->models;
	m->parcel = cop_mem_alloc(count_parcels(m), sizeof *m->parcel);
	if (m->parcel == NULL)
		return false;
	m->until = cop_journaler_next(m->durable->journal) - 1;
	for (size_t i = 0; i < models->count; i++) {
		const cop_sums *sums = cop_merge_sums_of(m, models->items[i]);
		if (sums == NULL)
			continue;
		pack(m, models->items[i], sums, NULL);
		for (size_t p = 0; p < sums->peers; p++)
			if (is_stale(m, sums->peer[p].life, now))
				pack(m, models->items[i], sums, &sums->peer[p]);
	}
	return true;
}

static bool is_known(const cop_merge_asker *asker, const cop_merge_parcel *parcel)
{
	for (size_t i = 0; i < asker->pairs && !parcel->own; i++)
		if (asker->known[2 * i] == parcel->life)
			return asker->known[2 * i + 1] >= parcel->number;
	return false;
}

static void tell(cop_merge *m, const cop_merge_asker *asker)
{
	for (size_t i = 0; i < m->parcels; i++) {
		const cop_merge_parcel *parcel = &m->parcel[i];
		if (parcel->head.err == COP_OK && parcel->sums.err == COP_OK && !is_known(asker, parcel))
			send(m, asker, &parcel->head, &parcel->sums);
	}
	say(m, asker, COP_MERGE_END, "");
	m->counts.answered++;
}

void cop_merge_answer(cop_merge *m, double now)
{
	if (m->askers == 0)
		return;
	if (!cop_healing_stands(m->durable)) { /* they ask again */
		cop_merge_drop(m);
		return;
	}
	if (m->until == 0 && !pack_all(m, now)) {
		cop_merge_drop(m);
		return;
	}
	if (cop_journaler_committed(m->durable->journal) < m->until)
		return;
	for (size_t i = 0; i < m->askers; i++)
		tell(m, &m->asker[i]);
	cop_merge_drop(m);
}
