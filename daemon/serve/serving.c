/* An answer leaves when its records are committed, so a turn ends with one commit for all of them. Which actions nobody
 * was given is known only when they leave: that is recorded, and committed, before anything else happens. The budget
 * of windows for each turn grows with what was decided in it: else batches would outrun it. */
#include "daemon/serve/serving.h"

#include <string.h>

#include "daemon/common/clock.h"
#include "daemon/durable/healing.h"
#include "daemon/serve/streams.h"
#include "online/model_record.h"

/* Reward windows ended in a turn, for each model, and two more for each of its decisions. */
#define EXPIRE_BUDGET 256
#define COMPLAINTS    5.0 /* about streams: a second, and at once */

static void action_unheard(void *serving, cop_outbox_item *item)
{
	const void *body = zmq_msg_data(&item->body);
	cop_streams_unheard(serving, item->topic, item->decided, body, zmq_msg_size(&item->body));
}

void cop_serving_init(cop_serving *serving, cop_durability *durable)
{
	*serving = (cop_serving){ .durable = durable };
	cop_bytes_init(&serving->reply);
	cop_bytes_init(&serving->waiting);
	cop_outbox_init(&serving->outbox, action_unheard, serving);
	cop_log_limiter_init(&serving->limiter, COMPLAINTS, COMPLAINTS);
	cop_partition_init(&serving->partition, durable->config, durable->log);
}

void cop_serving_close(cop_serving *serving)
{
	cop_outbox_fini(&serving->outbox);
	cop_sockets_close(&serving->sockets);
	cop_bytes_fini(&serving->reply);
	cop_bytes_fini(&serving->waiting);
}

cop_event_scope cop_serving_scope(cop_serving *serving, cop_model_slot *slot)
{
	const cop_durability *durable = serving->durable;
	return (cop_event_scope){ .served = slot,
		.journal = durable->journal,
		.partition = durable->config->partition_given ? &serving->partition : NULL,
		.now = durable->time };
}

void cop_serving_commit(cop_serving *serving)
{
	cop_durability *durable = serving->durable;
	cop_journaler *journal = durable->journal;
	cop_healing_commit(durable);
	uint64_t committed = journal == NULL ? UINT64_MAX : cop_journaler_committed(journal);
	uint64_t next = journal == NULL ? 0 : cop_journaler_next(journal);
	if (serving->until > 0.0 && cop_clock_read(CLOCK_BOOTTIME) >= serving->until)
		serving->silent = true;
	if (serving->silent)
		return;
	cop_outbox_send(&serving->outbox, &serving->sockets, committed, !cop_healing_stands(durable));
	if (journal != NULL && cop_journaler_next(journal) != next)
		cop_healing_commit(durable);
}

/* Nothing is learned that no record reports: while the journal cannot be written windows wait. */
bool cop_serving_end_windows(cop_serving *serving)
{
	cop_durability *durable = serving->durable;
	bool behind = false;
	if (!cop_healing_stands(durable))
		return false;
	for (size_t i = 0; i < durable->models.count; i++) {
		cop_model_slot *slot = durable->models.items[i];
		uint64_t decided = cop_model_get_counters(slot->model)->decisions - slot->before.decisions;
		size_t most = EXPIRE_BUDGET + 2 * (size_t)(decided - slot->decided);
		slot->decided = decided;
		size_t ended = cop_model_expire(slot->model, durable->time, most);
		cop_wire_record record = {
			.model = slot->stored,
			.model_length = strlen(slot->stored),
			.time = durable->time,
		};
		cop_model_record_ended(slot->model, &record);
		behind = behind || ended == most;
		if (ended > 0)
			(void)cop_journaler_put(durable->journal, COP_WIRE_RECORD_EXPIRY, &record);
		cop_refit_state_watch(&slot->refit, slot->model);
	}
	return behind;
}
