/* One connection at a time: to the first of the group that leads. Messages of records wait in line for
 * daemon/replica/replica_apply.c; the leader's window bounds how much that is. Whatever goes wrong with the link, the
 * follower joins again with what it has. */
#include "daemon/replica/replica_follower.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "daemon/common/clock.h"
#include "daemon/replica/replica_apply.h"
#include "daemon/replica/replica_models.h"

#define ANSWER_SECONDS 1.0 /* for the answer to a join */
#define LOST_SECONDS   5.0 /* a leader that says nothing for so long is sought anew */
#define TRY_SECONDS    0.2 /* between joins */
#define PAUSE_SECONDS  2.0 /* before a join that will be refused again */
#define ASK_SECONDS    0.5 /* between asks for a file that is not there yet */
#define HAVE_SECONDS   0.5 /* between words of one that has nothing new */
#define TAKEN          32  /* messages in a turn */
#define SILENT_TOURS   2   /* of all that are asked, none of which answers: the log has it */

const char *cop_replica_follower_state_text(cop_replica_state state)
{
	static const char *const texts[COP_REPLICA_STATES] = { "seeking", "following", "waiting", "fetching",
		"stopped" };
	return texts[state];
}

cop_err cop_replica_follower_open(cop_replica_follower *f, cop_diag *diag)
{
	cop_replica_source source;
	cop_durability *durable = f->durable;
	cop_bytes_init(&f->head);
	cop_bytes_init(&f->body);
	cop_bytes_init(&f->work);
	cop_replica_copy_init(&f->copy, durable->config->state_dir);
	f->recovery = (cop_recovery){ .state_dir = durable->config->state_dir, .log = durable->log };
	f->next = cop_journaler_next(durable->journal);
	f->epoch = cop_journaler_epoch(durable->journal);
	cop_replica_source_init(&source, durable->config->state_dir);
	source.next = source.until = f->next;
	cop_err err = cop_replica_source_start(&source, COP_REPLICA_TASK_PLACE);
	cop_job_finish(&source.job);
	f->last_known = err == COP_OK && source.err == COP_OK && f->next > 1;
	f->last_crc = source.crc;
	f->last_epoch = source.epoch;
	cop_replica_source_fini(&source);
	if (err != COP_OK)
		cop_diag_message(diag, "replica: no thread to read the journal");
	return err;
}

static void disconnect(cop_replica_follower *f)
{
	cop_replica_apply_drop(f);
	cop_replica_copy_fini(&f->copy);
	f->copy.model[0] = '\0';
	f->copy.number = 0;
	if (f->socket != NULL)
		(void)zmq_close(f->socket);
	f->socket = NULL;
}

void cop_replica_follower_end(cop_replica_follower *f)
{
	disconnect(f);
	f->follows = false;
	if (f->durable->journal != NULL)
		cop_journaler_set_eager(f->durable->journal, false);
}

void cop_replica_follower_close(cop_replica_follower *f)
{
	cop_replica_follower_end(f);
	cop_bytes_fini(&f->head);
	cop_bytes_fini(&f->body);
	cop_bytes_fini(&f->work);
}

void cop_replica_follower_begin(cop_replica_follower *f)
{
	f->follows = f->durable->config->replica_of.count > 0;
	f->state = COP_REPLICA_SEEKING;
	f->reason[0] = '\0';
	f->next_try = 0.0;
	f->next = cop_journaler_next(f->durable->journal);
}

/* ---- the connection ---- */

static void say(cop_replica_follower *f, const cop_replica_message *m)
{
	cop_bytes_clear(&f->head);
	cop_replica_message_put(&f->head, m);
	f->sockets->sent = true;
	if (f->head.err == COP_OK)
		(void)zmq_send(f->socket, f->head.data, f->head.length, ZMQ_DONTWAIT);
}

static void join(cop_replica_follower *f, double now)
{
	const cop_config_list *of = &f->durable->config->replica_of;
	cop_diag why = { 0 };
	disconnect(f);
	f->place %= of->count;
	f->taken = 0;
	f->next_try = now + ANSWER_SECONDS;
	if (cop_sockets_connect_link(f->sockets, ZMQ_DEALER, of->items[f->place], &f->socket, &why) != COP_OK) {
		cop_replica_apply_set_state(f, COP_REPLICA_SEEKING, COP_LOG_EVENT(replica_unreached), why.message);
		f->place++;
		return;
	}
	const cop_replica_message m = {
		.kind = COP_REPLICA_JOIN,
		.version = COP_REPLICA_VERSION,
		.epoch = f->epoch,
		.next = f->next,
		.last_epoch = f->last_epoch,
		.last_crc = f->last_crc,
		.alone = !f->last_known && f->next > 1,
		.full = f->full,
		.forgot = f->durable->forgot,
		.name = cop_replica_message_text(f->name),
		.program = cop_replica_message_text(COP_VERSION),
		.kernel = cop_replica_message_text(f->kernel),
	};
	f->counts->connects++;
	say(f, &m);
}

/* Another one of the group, after a pause. */
static void seek(cop_replica_follower *f, double now, double pause)
{
	disconnect(f);
	f->place++;
	f->next_try = now + pause;
	if (f->state != COP_REPLICA_STOPPED)
		f->state = COP_REPLICA_SEEKING;
}

/* One that was asked to be followed did not answer in time; the next one is asked. */
static void pass_over(cop_replica_follower *f)
{
	char endpoint[COP_CONFIG_ENDPOINT + 1], reason[sizeof f->reason];
	const cop_config_list *of = &f->durable->config->replica_of;
	(void)cop_config_peer(of->items[f->place % of->count], endpoint);
	f->place++;
	f->silent++;
	if (f->silent != SILENT_TOURS * of->count)
		return;
	if (of->count == 1)
		(void)snprintf(reason, sizeof reason, "%.200s does not answer", endpoint);
	else
		(void)snprintf(reason, sizeof reason, "none of the %zu in of answers", of->count);
	cop_replica_apply_set_state(f, COP_REPLICA_SEEKING, COP_LOG_EVENT(replica_unreached), reason);
}

static void ask(cop_replica_follower *f, double now)
{
	const cop_replica_message m = {
		.kind = COP_REPLICA_ASK,
		.number = f->copy.number,
		.offset = f->copy.offset,
		.model = cop_replica_message_text(f->copy.model),
	};
	f->next_ask = now + LOST_SECONDS;
	say(f, &m);
}

/* ---- what a leader says ---- */

/* Whether this instance serves what the leader does, or will when it has come to its live changes. */
static bool serves(cop_replica_follower *f, const cop_replica_message *m, zmq_msg_t *models, char *why, size_t room)
{
	const cop_replica_text set = { zmq_msg_data(models), zmq_msg_size(models) };
	if (cop_replica_models_fit(f->durable->config, set.text, set.length, why, room))
		return true;
	return (f->hooks.reload(f->hooks.context) == COP_OK &&
	               cop_replica_models_fit(f->durable->config, set.text, set.length, why, room)) ||
	       f->hooks.fits(f->hooks.context, m->live, &set, why, room);
}

static void welcome(cop_replica_follower *f, const cop_replica_message *m, zmq_msg_t *models, double now)
{
	char why[200], kernel[32];
	cop_replica_message_copy(m->kernel, kernel, sizeof kernel);
	cop_replica_message_copy(m->name, f->leader, sizeof f->leader);
	if (f->state != COP_REPLICA_SEEKING && f->state != COP_REPLICA_FOLLOWING)
		return;
	if (!serves(f, m, models, why, sizeof why)) {
		cop_replica_apply_set_state(f, COP_REPLICA_SEEKING, COP_LOG_EVENT(replica_models_differ), why);
		seek(f, now, PAUSE_SECONDS);
		return;
	}
	if (m->next != 0 && m->next != f->next) {
		seek(f, now, TRY_SECONDS);
		return;
	}
	f->epoch = m->epoch;
	f->begun = m->first;
	if (m->next > 1)
		cop_replica_apply_epoch(f, m->next - 1);
	f->leader_next = m->next;
	f->reason[0] = '\0';
	f->taken = 0;
	f->state = m->next == 0 ? COP_REPLICA_FETCHING : COP_REPLICA_FOLLOWING;
	const char *from = m->next == 0 ? "checkpoint" : "records";
	cop_log_line(f->durable->log, COP_LOG_EVENT(replica_follows),
	        "leader=\"%s\" epoch=%" PRIu64 " next=%" PRIu64 " from=%s", f->leader, f->epoch, f->next, from);
	if (f->state != COP_REPLICA_FETCHING)
		return;
	cop_replica_apply_drop(f);
	f->copy.model[0] = '\0';
	f->copy.number = f->copy.offset = 0;
	f->counts->checkpoints++;
	ask(f, now);
}

/* Of the checkpoint that is whole; before it is kept, so that a start has both. */
static cop_err keep_live(cop_replica_follower *f, cop_diag *diag)
{
	char why[200];
	cop_err err = cop_replica_copy_live(&f->copy, &f->work, diag);
	if (err == COP_ENOTFOUND)
		return COP_OK;
	const cop_replica_text live = { (const char *)f->work.data, f->work.length };
	if (err == COP_OK && (err = f->hooks.change(f->hooks.context, live, false, why, sizeof why)) != COP_OK)
		cop_diag_message(diag, "%s", why);
	return err;
}

static void whole(cop_replica_follower *f)
{
	cop_diag why = { 0 };
	if (f->copy.model[0] != '\0') {
		if (cop_replica_copy_place_challenger(&f->copy, &why) != COP_OK)
			cop_replica_apply_set_state(
			        f, COP_REPLICA_WAITING, COP_LOG_EVENT(replica_copy_failed), why.message);
		f->copy.model[0] = '\0';
		f->placed = f->next;
		f->next_look = 0.0;
		return;
	}
	if (keep_live(f, &why) == COP_OK &&
	        cop_replica_copy_keep_checkpoint(&f->copy, f->durable->forgot, &why) == COP_OK)
		f->again = true;
	else
		cop_replica_apply_set_state(f, COP_REPLICA_SEEKING, COP_LOG_EVENT(replica_copy_failed), why.message);
}

static void take_part(cop_replica_follower *f, const cop_replica_message *m, zmq_msg_t *data, double now)
{
	cop_diag why = { 0 };
	char model[COP_CONFIG_NAME_MAX + 1];
	cop_err err = COP_OK;
	cop_replica_message_copy(m->model, model, sizeof model);
	if (strcmp(model, f->copy.model) != 0 || m->offset != f->copy.offset)
		return; /* of what is no longer wanted */
	if (m->size == 0 && model[0] != '\0') {
		f->full = true; /* the leader does not have it either */
		cop_replica_apply_set_state(f, COP_REPLICA_SEEKING, COP_LOG_EVENT(replica_parted),
		        "the leader has a challenger's file no longer");
		seek(f, now, 0.0);
		return;
	}
	if (m->size == 0) {
		f->next_ask = now + ASK_SECONDS;
		return;
	}
	if (m->offset == 0) {
		f->counts->files += model[0] != '\0';
		err = cop_replica_copy_begin(&f->copy, model, m->number, &why);
	}
	if (err == COP_OK)
		err = cop_replica_copy_take(&f->copy, zmq_msg_data(data), zmq_msg_size(data), m->size, &why);
	if (err == COP_OK) {
		ask(f, now);
	} else if (err == COP_EEND) {
		whole(f);
	} else {
		cop_replica_apply_set_state(f, COP_REPLICA_SEEKING, COP_LOG_EVENT(replica_copy_failed), why.message);
		seek(f, now, PAUSE_SECONDS);
	}
}

/* Which of the configuration's list has this link among its own, which are divided by spaces; the list's length: none.
 */
static size_t find_place(const cop_replica_follower *f, const char *links)
{
	char endpoint[COP_CONFIG_ENDPOINT + 1];
	const cop_config_list *of = &f->durable->config->replica_of;
	for (size_t i = 0; i < of->count; i++) {
		(void)cop_config_peer(of->items[i], endpoint);
		const char *at = links;
		const size_t length = strlen(endpoint);
		while (*at != '\0') {
			size_t one = strcspn(at, " ");
			if (one == length && memcmp(at, endpoint, length) == 0)
				return i;
			at += one + strspn(at + one, " ");
		}
	}
	return of->count;
}

static void refused(cop_replica_follower *f, const cop_replica_message *m, double now)
{
	char reason[200], leader[COP_CONFIG_ENDPOINT + 1];
	const cop_config_list *of = &f->durable->config->replica_of;
	cop_replica_message_copy(m->reason, reason, sizeof reason);
	cop_replica_message_copy(m->leader, leader, sizeof leader);
	bool again = strcmp(reason, "join first") == 0; /* it was started anew */
	if (!again)
		cop_replica_apply_set_state(f, COP_REPLICA_SEEKING,
		        m->leader.length == 0 && of->count == 1 ? COP_LOG_EVENT(replica_refused) : COP_LOG_NO_EVENT,
		        reason);
	if (again)
		f->place += of->count - 1;
	seek(f, now, again ? 0.0 : TRY_SECONDS);
	size_t place = find_place(f, leader);
	if (place < of->count)
		f->place = place;
}

/* In line; it is the item's then. */
static void queue(cop_replica_follower *f, cop_replica_item *item)
{
	item->behind = NULL;
	if (f->last == NULL)
		f->first = item;
	else
		f->last->behind = item;
	f->last = item;
	if (item->read.kind == COP_REPLICA_RECORDS && item->read.first + item->read.count > f->leader_next)
		f->leader_next = item->read.first + item->read.count;
}

/* False: the item is in line. */
static bool take(cop_replica_follower *f, cop_replica_item *item, double now)
{
	const cop_replica_message *m = &item->read;
	zmq_msg_t *frame = &item->message.frame[1];
	cop_wire_fault fault = { .message = "" };
	zmq_msg_t *head = &item->message.frame[0];
	if (cop_replica_message_read(zmq_msg_data(head), zmq_msg_size(head), &item->read, &fault) != COP_OK) {
		f->counts->broken++;
		return true;
	}
	const bool carries = m->kind == COP_REPLICA_WELCOME || m->kind == COP_REPLICA_RECORDS ||
	                     m->kind == COP_REPLICA_PART || m->kind == COP_REPLICA_STATE;
	const bool broken = carries != (item->message.count == 2);
	const bool fenced = !broken && m->kind != COP_REPLICA_PART && m->epoch < f->epoch; /* it led once */
	f->counts->broken += broken;
	f->counts->fenced += fenced;
	if (broken || fenced)
		return true;
	f->heard = now;
	f->silent = 0;
	if (m->kind == COP_REPLICA_RECORDS || m->kind == COP_REPLICA_STATE) {
		if (f->state != COP_REPLICA_FOLLOWING && f->state != COP_REPLICA_WAITING)
			return true;
		queue(f, item);
		return false;
	}
	if (m->kind == COP_REPLICA_WELCOME) {
		cop_replica_message_copy(m->requests, f->requests, sizeof f->requests);
		welcome(f, m, frame, now);
	} else if (m->kind == COP_REPLICA_PART) {
		take_part(f, m, frame, now);
	} else if (m->kind == COP_REPLICA_BEAT) {
		cop_replica_message_copy(m->requests, f->requests, sizeof f->requests);
		f->leader_next = m->next > f->leader_next ? m->next : f->leader_next;
	} else if (m->kind == COP_REPLICA_REFUSED) {
		refused(f, m, now);
	}
	return true;
}

void cop_replica_follower_hear(cop_replica_follower *f, uint64_t epoch, double now)
{
	if (epoch <= f->epoch)
		return;
	f->epoch = epoch;
	f->begun = UINT64_MAX; /* its leader will tell */
	if (f->state != COP_REPLICA_SEEKING)
		seek(f, now, 0.0);
}

void cop_replica_follower_turn_to(cop_replica_follower *f, uint64_t epoch, const char *links, double now)
{
	size_t place = find_place(f, links);
	bool there = f->socket != NULL && f->place == place; /* its answer is under way */
	if (epoch < f->epoch || f->state != COP_REPLICA_SEEKING || there ||
	        place == f->durable->config->replica_of.count)
		return;
	disconnect(f);
	f->place = place;
	f->next_try = now;
}

/* ---- the turn ---- */

static bool receive_some(cop_replica_follower *f, double now)
{
	size_t count = 0;
	for (; count < TAKEN && f->socket != NULL; count++) {
		cop_replica_item *item = cop_mem_alloc(1, sizeof *item);
		if (item == NULL || !cop_sockets_receive(f->socket, &item->message)) {
			cop_mem_free(item);
			break;
		}
		if (take(f, item, now)) {
			cop_sockets_release(&item->message);
			cop_mem_free(item);
		}
	}
	return count > 0;
}

bool cop_replica_follower_receive(cop_replica_follower *f, double now)
{
	if (f->follows && f->state == COP_REPLICA_STOPPED && f->socket != NULL)
		disconnect(f); /* what arrived and nobody took would keep the loop from waiting */
	if (!f->follows || f->again || f->state == COP_REPLICA_STOPPED)
		return false;
	if (f->state == COP_REPLICA_SEEKING && now >= f->next_try) {
		if (f->socket != NULL)
			pass_over(f);
		join(f, now);
	}
	bool any = receive_some(f, now);
	cop_journaler_set_eager(f->durable->journal, f->durable->config->replica_hold == COP_HOLD_DISK);
	any |= cop_replica_apply_turn(f, now);
	if (f->state == COP_REPLICA_SEEKING && f->first != NULL)
		disconnect(f);
	return any;
}

static void have(cop_replica_follower *f, double now)
{
	const cop_journaler *journal = f->durable->journal;
	const uint64_t written = cop_journaler_written(journal), synced = cop_journaler_durable(journal);
	if (now < f->next_have && written == f->told.written && synced == f->told.synced &&
	        f->next - 1 == f->told.applied && f->taken == f->told.taken)
		return;
	const cop_replica_message m = {
		.kind = COP_REPLICA_HAVE,
		.epoch = f->epoch,
		.written = f->told.written = written,
		.synced = f->told.synced = synced,
		.applied = f->told.applied = f->next - 1,
		.bytes = f->told.taken = f->taken,
	};
	f->next_have = now + HAVE_SECONDS;
	say(f, &m);
}

void cop_replica_follower_send(cop_replica_follower *f, double now)
{
	if (!f->follows || f->socket == NULL || f->state == COP_REPLICA_SEEKING || f->state == COP_REPLICA_STOPPED)
		return;
	if (now - f->heard > LOST_SECONDS) {
		cop_replica_apply_set_state(
		        f, COP_REPLICA_SEEKING, COP_LOG_EVENT(replica_leader_lost), "the leader says nothing");
		seek(f, now, 0.0);
		return;
	}
	bool wants = f->state == COP_REPLICA_FETCHING || (f->state == COP_REPLICA_WAITING && f->copy.model[0] != '\0');
	if (wants && now >= f->next_ask)
		ask(f, now);
	have(f, now);
}
