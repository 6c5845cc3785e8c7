/* A record is looked at before anything changes: whether the journal takes it, whether the models are those that it is
 * of, whether a challenger's file is there. Then it is applied, as recovery does, and appended, which cannot fail any
 * more. What is not passed yet stays first in line. */
#include "daemon/replica/replica_apply.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/mem.h"
#include "daemon/durable/healing.h"
#include "daemon/replica/replica_models.h"
#include "daemon/replica/replica_state.h"
#include "store/checkpoint_file.h"
#include "store/state_dir.h"
#include "wire/wire_record.h"

#define TURN_BYTES   ((size_t)1 << 20) /* of records that a turn takes */
#define LOOK_SECONDS 1.0               /* between looks at what is waited for */

typedef enum verdict { TAKES, WAITS } verdict;

void cop_replica_apply_set_state(
        cop_replica_follower *f, cop_replica_state state, cop_log_event event, const char *reason)
{
	bool told = f->state == state && strcmp(f->reason, reason) == 0;
	f->state = state;
	if (reason != f->reason)
		(void)snprintf(f->reason, sizeof f->reason, "%s", reason);
	if (!told && event.name != NULL)
		cop_log_line(f->durable->log, event, "record=%" PRIu64 " reason=\"%s\"", f->next, f->reason);
}

static void drop_first(cop_replica_follower *f)
{
	cop_replica_item *item = f->first;
	f->first = item->behind;
	if (f->first == NULL)
		f->last = NULL;
	cop_sockets_release(&item->message);
	cop_mem_free(item);
}

void cop_replica_apply_drop(cop_replica_follower *f)
{
	while (f->first != NULL)
		drop_first(f);
}

/* ---- before a record is applied ---- */

static bool decode(const cop_journal_record *raw, cop_wire_record *record)
{
	static const cop_wire_shape no_shape = { .features = 1, .arms = 1 };
	static const cop_wire_workspace no_workspace = { 0 };
	return cop_wire_record_decode((cop_wire_record_type)raw->type, raw->body, raw->length, &no_shape, &no_workspace,
	               record, NULL) == COP_OK;
}

static verdict want_checkpoint(cop_replica_follower *f, const char *reason)
{
	f->full = true;
	cop_replica_apply_set_state(f, COP_REPLICA_SEEKING, COP_LOG_EVENT(replica_parted), reason);
	f->next_try = 0.0;
	return WAITS;
}

/* What the leader changed live is changed here, too, behind the records before it. False: it cannot be, yet. */
static bool change_live(cop_replica_follower *f, const cop_wire_record *record)
{
	static const cop_live_changes none;
	const cop_live_changes *mine = &f->durable->config->live;
	char why[200];
	cop_replica_text live = { record->live, record->live_length };
	if (record->live == NULL && mine->count == 0)
		return true;
	cop_bytes_clear(&f->work);
	cop_bytes_clear(&f->body);
	cop_live_put_text(mine, &f->work);
	if (record->live == NULL) {
		cop_live_put_text(&none, &f->body);
		live = (cop_replica_text){ (const char *)f->body.data, f->body.length };
	}
	if (f->work.err == COP_OK && f->work.length == live.length && memcmp(f->work.data, live.text, live.length) == 0)
		return true;
	if (f->hooks.change(f->hooks.context, live, true, why, sizeof why) == COP_OK)
		return true;
	cop_replica_apply_set_state(f, COP_REPLICA_WAITING, COP_LOG_EVENT(replica_models_differ), why);
	return false;
}

/* The models that this instance serves must be those that are served from here on. */
static verdict check_config(cop_replica_follower *f, const cop_journal_record *raw)
{
	cop_wire_record record;
	char why[160], reason[256];
	const bool read = decode(raw, &record);
	if (read && !change_live(f, &record))
		return WAITS;
	for (size_t i = 0; i < f->durable->models.count; i++)
		if (cop_recovery_parts(f->durable->models.items[i], raw, !f->last_known))
			return want_checkpoint(f, "the leader's models are not what its records lead to");
	if (!read || record.models == NULL)
		return TAKES; /* applying it tells what is wrong */
	const cop_config *config = f->durable->config;
	if (cop_replica_models_fit(config, record.models, record.models_length, why, sizeof why))
		return TAKES;
	if (f->hooks.reload(f->hooks.context) == COP_OK &&
	        cop_replica_models_fit(config, record.models, record.models_length, why, sizeof why))
		return TAKES;
	(void)snprintf(reason, sizeof reason, "%s; expected this instance's configuration to be changed as well", why);
	cop_replica_apply_set_state(f, COP_REPLICA_WAITING, COP_LOG_EVENT(replica_models_differ), reason);
	return WAITS;
}

/* Whether the file is there, as it was recorded. */
static bool has_challenger(const cop_replica_follower *f, const char *model, const cop_wire_record *record)
{
	char prefix[sizeof COP_STATE_DIR_CHALLENGER + COP_CONFIG_NAME_MAX], name[COP_CHECKPOINT_NAME_ROOM];
	char path[4096 + COP_CHECKPOINT_NAME_ROOM + 16];
	cop_bytes body;
	cop_bytes_init(&body);
	(void)snprintf(prefix, sizeof prefix, COP_STATE_DIR_CHALLENGER "%s", model);
	cop_checkpoint_name(prefix, record->count, name);
	(void)snprintf(path, sizeof path, "%s/" COP_STATE_DIR_CHALLENGERS "/%s", f->durable->config->state_dir, name);
	bool there = cop_checkpoint_read(path, &body, NULL) == COP_OK &&
	             cop_crc32c(0, body.data, body.length) == record->crc;
	cop_bytes_fini(&body);
	return there;
}

static verdict check_promotion(cop_replica_follower *f, const cop_journal_record *raw)
{
	cop_wire_record record;
	char model[COP_CONFIG_NAME_MAX + 1], reason[160];
	if (!decode(raw, &record) || record.promotion != COP_WIRE_PROMOTION_CHALLENGE)
		return TAKES;
	(void)snprintf(model, sizeof model, "%.*s", (int)record.model_length, record.model);
	if (cop_model_table_find_stored(&f->durable->models, model, strlen(model)) == NULL ||
	        has_challenger(f, model, &record))
		return TAKES;
	if (f->placed == raw->sequence)
		return want_checkpoint(f, "the leader's file of a challenger is not the one that was recorded");
	if (f->copy.file < 0) { /* asked for by the link */
		(void)snprintf(f->copy.model, sizeof f->copy.model, "%s", model);
		f->copy.number = record.count;
		f->copy.offset = 0;
	}
	(void)snprintf(
	        reason, sizeof reason, "challenger %" PRIu64 " of model %s is not here yet", record.count, model);
	cop_replica_apply_set_state(f, COP_REPLICA_WAITING, COP_LOG_NO_EVENT, reason);
	return WAITS;
}

/* ---- records ---- */

static verdict stop(cop_replica_follower *f, cop_log_event event, const char *reason)
{
	cop_replica_apply_set_state(f, COP_REPLICA_STOPPED, event, reason);
	return WAITS;
}

void cop_replica_apply_epoch(cop_replica_follower *f, uint64_t sequence)
{
	cop_journaler *journal = f->durable->journal;
	cop_diag why = { 0 };
	bool begins = sequence >= f->begun && cop_journaler_epoch(journal) < f->epoch;
	if (begins && !cop_journaler_broken(journal) && cop_journaler_begin_epoch(journal, f->epoch, &why) != COP_OK)
		cop_healing_broke(f->durable, &why);
}

static verdict apply(cop_replica_follower *f, const cop_journal_record *raw)
{
	cop_durability *durable = f->durable;
	char reason[256], why[200];
	size_t length = COP_JOURNAL_FRAME_HEAD + raw->length;
	cop_replica_apply_epoch(f, raw->sequence);
	if (!cop_journaler_room(durable->journal, length))
		return WAITS; /* it is broken, and heals */
	cop_err err = cop_recovery_apply(&f->recovery, &durable->models, raw);
	if (err != COP_OK) {
		cop_diag_text(&f->recovery.why, why, sizeof why);
		(void)snprintf(
		        reason, sizeof reason, "the record does not fit: %s", why[0] != '\0' ? why : cop_err_text(err));
		return stop(f, COP_LOG_EVENT(replica_unfit), reason);
	}
	(void)cop_journaler_append(durable->journal, raw->body - COP_JOURNAL_FRAME_HEAD, length, 1);
	durable->time = f->recovery.time > durable->time ? f->recovery.time : durable->time;
	f->last_crc = cop_replica_log_frame_crc(raw->body - COP_JOURNAL_FRAME_HEAD);
	f->last_epoch = cop_journaler_epoch(durable->journal);
	f->last_known = true;
	f->next++;
	f->counts->records++;
	f->counts->bytes += length;
	return TAKES;
}

static verdict take_record(cop_replica_follower *f, const cop_journal_record *raw)
{
	if (raw->sequence < f->next)
		return TAKES; /* it is there */
	if (raw->sequence > f->next) {
		cop_replica_apply_set_state(
		        f, COP_REPLICA_SEEKING, COP_LOG_EVENT(replica_gap), "records are missing before it");
		return WAITS;
	}
	verdict v = raw->type == COP_WIRE_RECORD_CONFIG      ? check_config(f, raw)
	            : raw->type == COP_WIRE_RECORD_PROMOTION ? check_promotion(f, raw)
	                                                     : TAKES;
	return v == TAKES ? apply(f, raw) : v;
}

/* Whether all of its records were taken. */
static bool take_records(cop_replica_follower *f, cop_replica_item *item, size_t *budget)
{
	zmq_msg_t *frame = &item->message.frame[1];
	const uint8_t *data = zmq_msg_data(frame);
	size_t length = zmq_msg_size(frame), need;
	cop_journal_record raw;
	while (item->at<length && * budget> 0) {
		if (cop_journal_segment_frame_parse(data + item->at, length - item->at, &raw, &need) != COP_OK ||
		        raw.type == COP_JOURNAL_MARK) {
			cop_replica_apply_set_state(
			        f, COP_REPLICA_SEEKING, COP_LOG_EVENT(replica_damaged), "what came is no record");
			return false;
		}
		if (take_record(f, &raw) == WAITS)
			return false;
		size_t size = COP_JOURNAL_FRAME_HEAD + raw.length;
		item->at += size;
		f->taken += size;
		*budget -= size < *budget ? size : *budget;
	}
	return item->at == length;
}

/* ---- the state ---- */

static void compare(cop_replica_follower *f, const cop_replica_item *item)
{
	char differs[COP_REPLICA_STATE_NAME], reason[256];
	zmq_msg_t *frame = (zmq_msg_t *)(uintptr_t)&item->message.frame[1];
	if (item->read.sequence + 1 != f->next)
		return;
	cop_bytes_clear(&f->body);
	cop_replica_state_put(&f->durable->models, &f->work, &f->body);
	if (f->body.err != COP_OK)
		return;
	f->counts->compared++;
	if (cop_replica_state_equal(&f->body, zmq_msg_data(frame), zmq_msg_size(frame), differs))
		return;
	f->counts->differed++;
	(void)snprintf(reason, sizeof reason, "%s differs from the leader's behind record %" PRIu64, differs,
	        item->read.sequence);
	(void)stop(f, COP_LOG_EVENT(replica_diverged), reason);
}

bool cop_replica_apply_turn(cop_replica_follower *f, double now)
{
	size_t budget = TURN_BYTES;
	bool any = false;
	if (f->first == NULL || (f->state == COP_REPLICA_WAITING && now < f->next_look))
		return false;
	f->next_look = now + LOOK_SECONDS;
	if (f->state == COP_REPLICA_WAITING)
		cop_replica_apply_set_state(f, COP_REPLICA_FOLLOWING, COP_LOG_NO_EVENT, f->reason);
	while (f->first != NULL && f->state == COP_REPLICA_FOLLOWING && budget > 0) {
		cop_replica_item *item = f->first;
		uint64_t before = f->taken;
		bool done = true;
		if (item->read.kind == COP_REPLICA_RECORDS)
			done = take_records(f, item, &budget);
		else
			compare(f, item);
		any |= done || f->taken != before;
		if (!done)
			break;
		drop_first(f);
	}
	if (f->state == COP_REPLICA_FOLLOWING)
		f->reason[0] = '\0';
	return any;
}
