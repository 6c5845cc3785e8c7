/* The order of things makes a kill at any point harmless: until the checkpoint of the models learned again is on disk,
 * files are as they were, and the order begins anew; from then on only what that checkpoint does not need is removed or
 * erased. Waiting decisions of theirs end by a record of their own, so that later records never speak of one; that
 * record, and all before it, is what is edited. From the moment when the thread says that little is left, the loop
 * keeps what it puts into the journal, and gives the rest to the models itself, a little in every turn. */
#include "daemon/durable/forgetting.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "daemon/common/clock.h"
#include "daemon/durable/forget_parked.h"
#include "daemon/durable/forget_waiting.h"
#include "daemon/durable/healing.h"
#include "daemon/durable/promotion.h"
#include "store/checkpoint_file.h"
#include "store/journal_segment.h"
#include "store/state_dir.h"

#define PAUSE       30.0    /* seconds until what went wrong is begun anew */
#define PATIENCE    60.0    /* seconds that readers of the journal have to end */
#define UNFIT       2       /* times that records did not fit, before models stay as they are */
#define TURN_NS     1000000 /* that catching up may take of a turn */
#define LOOK        16      /* records between looks at the clock */
#define HEARD_BYTES ((size_t)256 << 20)

static const char *const states[COP_FORGETTING_STATES] = { "nothing", "pause", "scan", "rest", "learn", "catch_up",
	"save", "erase", "renew" };

const char *cop_forgetting_state_text(cop_forgetting_state state) { return states[state]; }

static void listen(cop_forgetting *f, bool on)
{
	cop_bytes_clear(&f->heard);
	f->taken = 0;
	if (f->durable->journal != NULL)
		cop_journaler_listen(f->durable->journal, on ? &f->heard : NULL);
}

/* ---- how a step ends ---- */

static void fail(cop_forgetting *f, const char *reason)
{
	listen(f, false);
	cop_forget_work_fini(&f->work);
	f->failed++;
	(void)snprintf(f->reason, sizeof f->reason, "%s", reason);
	cop_log_line(f->durable->log, COP_LOG_EVENT(forget_failed),
	        "order=%" PRIu64 " at=%s again_in=%.0f reason=\"%s\"", f->order.number, states[f->state], PAUSE,
	        f->reason);
	f->state = COP_FORGETTING_PAUSE;
	f->durable->held = false;
	f->next = cop_clock_monotonic() + PAUSE;
}

static void fail_of(cop_forgetting *f, cop_err err, const cop_diag *why)
{
	char text[sizeof why->source + sizeof why->message];
	cop_diag_text(why, text, sizeof text);
	fail(f, why->message[0] != '\0' ? text : cop_err_text(err));
}

/* The oldest order that stands is the next one. One that cannot be read holds up the others: what it is of is not
 * known. */
static void look_for_order(cop_forgetting *f)
{
	cop_diag why = { 0 };
	cop_err err = cop_forget_order_first(f->durable->config->state_dir, &f->order, &f->waiting, &why);
	f->state = err == COP_EEND ? COP_FORGETTING_NOTHING : COP_FORGETTING_PAUSE;
	f->durable->held = false;
	f->last_number = f->order.number > f->last_number ? f->order.number : f->last_number;
	f->unfit = 0;
	f->next = 0.0;
	f->unread = err != COP_OK && err != COP_EEND;
	if (!f->unread)
		return;
	f->waiting = f->waiting > 0 ? f->waiting : 1;
	fail_of(f, err, &why);
}

/* ---- orders ---- */

void cop_forgetting_init(cop_forgetting *f, cop_durability *durable, const cop_forgetting_hooks *hooks)
{
	*f = (cop_forgetting){ .durable = durable, .hooks = *hooks };
	cop_bytes_init(&f->heard);
	cop_forget_work_init(&f->work, durable->config->state_dir);
	(void)!cop_checkpoint_prune(durable->config->state_dir, COP_STATE_DIR_FORGET, SIZE_MAX, NULL); /* unfinished */
	look_for_order(f);
}

void cop_forgetting_stop(cop_forgetting *f)
{
	if (f->durable == NULL)
		return;
	listen(f, false);
	cop_forget_work_fini(&f->work);
	cop_bytes_fini(&f->heard);
}

cop_err cop_forgetting_add(cop_forgetting *f, cop_forget_order *order, cop_diag *diag)
{
	order->number = f->last_number + 1;
	order->time = f->durable->time;
	cop_err err = cop_forget_order_put(f->durable->config->state_dir, order, diag);
	if (err != COP_OK)
		return err;
	f->last_number = order->number;
	f->waiting++;
	if (f->state == COP_FORGETTING_NOTHING)
		look_for_order(f);
	return COP_OK;
}

/* ---- scan ---- */

/* Whether the journal is there to read and to write; else the order waits. */
static bool journal_stands(cop_forgetting *f)
{
	if (cop_healing_stands(f->durable))
		return true;
	fail(f, "the journal is broken");
	return false;
}

/* The same, and that no segments lie where none is written any more. */
static bool journal_serves(cop_forgetting *f)
{
	cop_diag why = { 0 };
	cop_journal_file *files = NULL;
	size_t count = 0;
	if (f->durable->journal != NULL)
		return journal_stands(f);
	cop_err err = cop_journal_list(f->work.folder, &files, &count, &why);
	cop_mem_free(files);
	if (err == COP_OK && count > 0) {
		cop_diag_of(&why, f->work.folder,
		        "the journal is off, and what it holds cannot be searched; expected it on (enabled in section "
		        "journal), or its segments gone");
		err = COP_EINVAL;
	}
	if (err != COP_OK)
		fail_of(f, err, &why);
	return err == COP_OK;
}

static void begin(cop_forgetting *f, double now)
{
	const char *model = f->order.model;
	const cop_forget_whom whom = {
		.unit = !f->order.by_id, .name = f->order.whom, .model = model[0] != '\0' ? model : NULL
	};
	if (!journal_serves(f))
		return;
	f->report = (cop_forget_report){ .order = f->order.number };
	f->began = now;
	f->durable->held = true;
	f->work.by_id = f->order.by_id;
	cop_err err = cop_forget_plan_new(&whom, &f->work.plan);
	uint64_t next = f->durable->journal == NULL ? 1 : cop_journaler_next(f->durable->journal);
	if (err == COP_OK && f->durable->journal != NULL)
		err = cop_forget_work_scan(&f->work, next - 1);
	f->state = f->durable->journal != NULL ? COP_FORGETTING_SCAN : COP_FORGETTING_REST;
	cop_log_line(f->durable->log, COP_LOG_EVENT(forget_begun), "order=%" PRIu64, f->order.number);
	if (err != COP_OK)
		fail(f, cop_err_text(err));
}

/* The same for what came while most of it was read, from where on the loop listens. */
static void scan_rest(cop_forgetting *f)
{
	if (!journal_stands(f))
		return;
	listen(f, true);
	f->state = COP_FORGETTING_REST;
	cop_err err = cop_forget_work_scan(&f->work, cop_journaler_next(f->durable->journal) - 1);
	if (err != COP_OK)
		fail(f, cop_err_text(err));
}

/* What was heard and not yet taken, a record at a time. */
static bool next_heard(cop_forgetting *f, cop_journal_record *record)
{
	size_t need, left = f->heard.length - f->taken;
	if (left == 0 || cop_journal_segment_frame_parse(f->heard.data + f->taken, left, record, &need) != COP_OK)
		return false;
	f->taken += COP_JOURNAL_FRAME_HEAD + record->length;
	return true;
}

static cop_err hear(cop_forgetting *f)
{
	cop_journal_record record;
	cop_err err = f->heard.err;
	while (err == COP_OK && next_heard(f, &record))
		err = cop_forget_take(f->work.plan, &record);
	return err;
}

/* What a refit that is under way would make of theirs is not waited for. */
static void stop_refits(cop_forgetting *f)
{
	for (size_t i = 0; i < f->durable->models.count; i++)
		if (cop_forget_work_is_of(&f->work, f->durable->models.items[i]->stored))
			f->hooks.stop_refit(f->hooks.context, f->durable->models.items[i]);
}

static void save(cop_forgetting *f);
static void learn(cop_forgetting *f);

/* All that is theirs is known. */
static void end_scan(cop_forgetting *f)
{
	cop_diag why = { 0 };
	if (!journal_stands(f))
		return;
	cop_err err = hear(f);
	if (f->durable->journal != NULL) /* from here on the models are not what a follower's are */
		f->durable->forgot = cop_journaler_next(f->durable->journal);
	if (err == COP_OK)
		err = cop_forget_waiting_end(f);
	if (err == COP_OK && f->durable->journal != NULL)
		err = hear(f); /* the record of those that waited */
	listen(f, false);
	cop_forget_report_fill(&f->report, f->work.plan);
	f->work.first = f->work.clean = cop_forget_first(f->work.plan);
	bool recorded = err == COP_OK && f->durable->journal != NULL && f->work.first > 0;
	if (recorded)
		err = cop_journaler_roll(f->durable->journal, &why);
	if (err != COP_OK) {
		if (f->durable->journal != NULL && cop_journaler_broken(f->durable->journal))
			cop_healing_broke(f->durable, &why);
		fail_of(f, err, &why);
		return;
	}
	stop_refits(f);
	f->work.edited = f->durable->journal == NULL ? 0 : cop_journaler_next(f->durable->journal);
	f->report.why = f->durable->journal == NULL ? "journal" : "nothing";
	if (recorded)
		learn(f);
	else
		save(f);
}

/* ---- learn ---- */

static void learn(cop_forgetting *f)
{
	cop_config *config = NULL;
	cop_diag why = { 0 };
	cop_err err = f->hooks.copy_config(f->hooks.context, &config, &why);
	f->state = COP_FORGETTING_LEARN;
	f->work.renewed = cop_journaler_next(f->durable->journal);
	const size_t served = err == COP_OK ? config->model_count : 0;
	if (err == COP_OK)
		err = cop_forget_parked_add(&f->work, &f->durable->models, config);
	if (err == COP_OK)
		err = cop_forget_work_learn(&f->work, config, served);
	else
		cop_config_free(config);
	if (err != COP_OK)
		fail_of(f, err, &why);
}

/* The models stay as they are, but for challengers that were made from what is theirs. */
static void stay(cop_forgetting *f)
{
	cop_durability *durable = f->durable;
	cop_diag why = { 0 };
	cop_err err = COP_OK;
	for (size_t i = 0; i < durable->models.count && err == COP_OK; i++) {
		bool serves;
		err = cop_forget_refits_leave(
		        &f->work.refits, f->work.plan, durable, durable->models.items[i], &serves, &why);
		f->report.refits_serving += serves;
	}
	if (err == COP_OK)
		save(f);
	else
		fail_of(f, err, &why);
}

/* The thread has learned what was there. */
static void end_learn(cop_forgetting *f)
{
	cop_err err = cop_forget_work_end(&f->work);
	if (err == COP_ESHAPE) { /* with the new configuration, then */
		listen(f, false);
		learn(f);
		return;
	}
	bool unfit = err == COP_EFORMAT && f->unfit >= UNFIT; /* it will not fit the next time either */
	if (err != COP_OK && !unfit) {
		f->unfit += err == COP_EFORMAT;
		fail_of(f, err, &f->work.why);
		return;
	}
	if (unfit || !f->work.relearned) {
		listen(f, false);
		cop_forget_work_drop_models(&f->work);
		f->report.why = unfit ? "records" : f->work.lack;
		stay(f);
		return;
	}
	f->report.from = f->work.from;
	f->state = COP_FORGETTING_CATCH_UP;
}

static void turn_learn(cop_forgetting *f)
{
	if (!cop_job_is_busy(&f->work.job)) {
		end_learn(f);
	} else if (journal_stands(f) && atomic_load(&f->work.near) && atomic_load(&f->work.stop) == 0) {
		listen(f, true);
		atomic_store(&f->work.stop, cop_journaler_next(f->durable->journal));
	}
}

/* ---- catch up, and take the place ---- */

static cop_err exchange(cop_forgetting *f, cop_model_slot *was, cop_diag *why)
{
	cop_model_table *models = &f->work.models;
	cop_model_slot *slot = cop_model_table_find_stored(models, was->stored, strlen(was->stored));
	if (slot == NULL || !cop_model_slot_alike(slot, was)) {
		cop_diag_message(why, "model %s: its configuration changed", was->name);
		return COP_ESHAPE;
	}
	cop_model_table_swap(models, &f->durable->models, was->stored);
	cop_model_slot_reconfigure(slot, was->config, NULL);
	cop_model_slot_replace(slot, was);
	f->hooks.moved(f->hooks.context, was, slot);
	cop_forget_report_again(&f->report, slot->stored);
	cop_log_line(f->durable->log, COP_LOG_EVENT(model_relearned),
	        "model=%s from=%" PRIu64 " decisions=%" PRIu64 " were=%" PRIu64, slot->name, f->work.from,
	        cop_model_get_counters(slot->model)->decisions, cop_model_get_counters(was->model)->decisions);
	return COP_OK;
}

static void take_places(cop_forgetting *f)
{
	cop_diag why = { 0 };
	cop_err err = COP_OK;
	listen(f, false);
	for (size_t i = 0; i < f->durable->models.count && err == COP_OK; i++)
		if (cop_forget_work_is_of(&f->work, f->durable->models.items[i]->stored))
			err = exchange(f, f->durable->models.items[i], &why);
	if (err != COP_OK) {
		fail_of(f, err, &why);
		return;
	}
	if (f->durable->config->partition_merge.count > 0)
		cop_durability_record_config(f->durable); /* so the sums of now have a number above those of before */
	f->report.relearned = true;
	f->report.why = NULL;
	save(f);
	cop_forget_work_drop_models(&f->work);
}

static void catch_up(cop_forgetting *f)
{
	cop_journal_record record;
	uint64_t until = cop_clock_monotonic_ns() + TURN_NS;
	cop_err err = f->heard.length > HEARD_BYTES ? COP_ENOMEM : f->heard.err;
	size_t count = 0;
	bool more = err == COP_OK;
	while (more && (++count % LOOK != 0 || cop_clock_monotonic_ns() < until)) {
		more = next_heard(f, &record);
		if (more && record.sequence >= f->work.next)
			err = cop_forget_work_apply(&f->work, &record);
		more = more && err == COP_OK;
	}
	if (err == COP_ESHAPE) {
		listen(f, false);
		learn(f);
	} else if (err != COP_OK) {
		fail_of(f, err, &f->work.why);
	} else if (journal_stands(f) && f->taken == f->heard.length) {
		take_places(f);
	}
}

/* ---- save and erase ---- */

static bool found_nothing(const cop_forgetting *f) { return f->work.first == 0 && f->report.waiting == 0; }

static void save(cop_forgetting *f)
{
	const cop_durability *durable = f->durable;
	cop_diag why = { 0 };
	cop_err err = cop_forget_parked_end(f, &why);
	if (err != COP_OK) {
		fail_of(f, err, &why);
		return;
	}
	f->state = COP_FORGETTING_SAVE;
	f->saved_from = durable->journal == NULL ? 0 : cop_journaler_next(durable->journal);
	f->sequence = durable->checkpoint.highest + durable->checkpoint.job.started; /* one under way is of before */
	f->next = 0.0;
	f->durable->forgot = f->saved_from;
	if (found_nothing(f) && !durable->config->replica_given) /* whose followers' journals may reach further back */
		f->state = COP_FORGETTING_ERASE;                 /* nothing to save, nor to erase */
}

static void turn_save(cop_forgetting *f, double now)
{
	cop_durability *durable = f->durable;
	const cop_checkpoint *c = &durable->checkpoint;
	if (c->sequence > f->sequence && c->mark.journal_next >= f->saved_from) {
		f->state = COP_FORGETTING_ERASE;
		f->next = now + PATIENCE;
		f->work.newest = found_nothing(f) ? 0 : c->sequence;
	} else if (!c->job.started && now >= f->next) {
		durable->next_checkpoint = now;
		f->next = now + 1.0; /* when the disk is full it goes on being so for a while */
	}
}

static void end_erase(cop_forgetting *f)
{
	cop_err err = cop_forget_work_end(&f->work);
	if (err != COP_OK) {
		fail_of(f, err, &f->work.why);
		return;
	}
	cop_checkpoint_removed_since(&f->durable->checkpoint, f->work.clean);
	f->state = COP_FORGETTING_RENEW;
}

static void turn_renew(cop_forgetting *f, double now)
{
	cop_diag why = { 0 };
	if (!f->hooks.renew(f->hooks.context, now, &f->report))
		return;
	cop_err err = cop_forget_order_end(f->durable->config->state_dir, f->order.number, &why);
	if (err != COP_OK) {
		fail_of(f, err, &why);
		return;
	}
	for (size_t i = 0; i < f->durable->models.count; i++)
		cop_promotion_look(f->durable->models.items[i], f->durable->config->state_dir);
	f->report.records = f->work.erased.records;
	f->report.segments = f->work.erased.segments;
	f->report.checkpoints = f->work.removed;
	f->report.refits = f->work.refits.count;
	f->report.seconds = now - f->began;
	f->last = f->report;
	f->done++;
	f->reason[0] = '\0';
	cop_forget_work_fini(&f->work);
	cop_forget_report_tell(&f->last, f->durable->log);
	look_for_order(f);
}

/* Nobody is to find half of a segment. */
static void turn_erase(cop_forgetting *f, double now)
{
	if (f->work.job.started) {
		if (!cop_job_is_busy(&f->work.job))
			end_erase(f);
		return;
	}
	if (cop_job_is_busy(&f->durable->retention.job) || (now < f->next && f->hooks.is_read(f->hooks.context)))
		return;
	cop_err err = cop_forget_work_erase(&f->work);
	if (err != COP_OK)
		fail(f, cop_err_text(err));
}

void cop_forgetting_turn(cop_forgetting *f, double now)
{
	bool busy = f->work.job.started && cop_job_is_busy(&f->work.job);
	switch (f->state) {
	case COP_FORGETTING_NOTHING:
	case COP_FORGETTING_STATES:
		break;
	case COP_FORGETTING_PAUSE:
		if (now >= f->next && f->unread)
			look_for_order(f);
		else if (now >= f->next)
			begin(f, now);
		break;
	case COP_FORGETTING_SCAN:
	case COP_FORGETTING_REST: {
		cop_err err = busy ? COP_EEND : f->work.job.started ? cop_forget_work_end(&f->work) : COP_OK;
		if (busy)
			break;
		if (err != COP_OK)
			fail_of(f, err, &f->work.why);
		else if (f->state == COP_FORGETTING_SCAN)
			scan_rest(f);
		else
			end_scan(f);
		break;
	}
	case COP_FORGETTING_LEARN:
		turn_learn(f);
		break;
	case COP_FORGETTING_CATCH_UP:
		catch_up(f);
		break;
	case COP_FORGETTING_SAVE:
		turn_save(f, now);
		break;
	case COP_FORGETTING_ERASE:
		turn_erase(f, now);
		break;
	case COP_FORGETTING_RENEW:
		turn_renew(f, now);
		break;
	}
}
