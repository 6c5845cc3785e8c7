/* Learning again is a recovery from the newest checkpoint that knows nothing of them, over records that are edited as
 * they will be on the disk; records that come meanwhile follow. When little is left, the loop, which hears every record
 * as it is put, takes over from one record on: so none is missed and none is taken twice. */
#include "daemon/durable/forget_work.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "daemon/common/step_back.h"
#include "daemon/durable/checkpoint.h"
#include "store/journal_reader.h"
#include "store/state_dir.h"

#define NEAR   20000 /* records of one round that are little */
#define BREATH 1024  /* records between looks at cancel */
#define NICE   19

void cop_forget_work_init(cop_forget_work *work, const char *state_dir)
{
	*work = (cop_forget_work){ .state_dir = state_dir };
	(void)snprintf(work->folder, sizeof work->folder, "%s/" COP_STATE_DIR_JOURNAL, state_dir);
	cop_bytes_init(&work->room);
}

void cop_forget_work_drop_models(cop_forget_work *work)
{
	cop_model_table_fini(&work->models);
	cop_config_free(work->config);
	work->config = NULL;
}

void cop_forget_work_fini(cop_forget_work *work)
{
	atomic_store(&work->cancel, true);
	cop_job_finish(&work->job);
	cop_forget_work_drop_models(work);
	cop_forget_plan_free(work->plan);
	cop_forget_refits_fini(&work->refits);
	cop_bytes_fini(&work->room);
	cop_forget_work_init(work, work->state_dir);
}

static cop_err begin(cop_forget_work *work, cop_job_work *step)
{
	atomic_store(&work->cancel, false);
	atomic_store(&work->near, false);
	atomic_store(&work->stop, 0);
	work->why = (cop_diag){ 0 };
	return cop_job_start(&work->job, step, work);
}

cop_err cop_forget_work_end(cop_forget_work *work)
{
	cop_job_finish(&work->job);
	return work->err;
}

/* ---- scan ---- */

static bool goes_on(void *context)
{
	const cop_forget_work *work = context;
	return !atomic_load(&work->cancel);
}

static void scan(void *context)
{
	cop_forget_work *work = context;
	cop_step_back_thread(NICE);
	cop_forget_ask(work->plan, goes_on, work);
	work->err = cop_forget_scan(work->plan, work->folder, work->up_to, &work->why);
}

cop_err cop_forget_work_scan(cop_forget_work *work, uint64_t up_to)
{
	work->up_to = up_to;
	return begin(work, scan);
}

/* ---- learn ---- */

bool cop_forget_work_is_of(const cop_forget_work *work, const char *stored)
{
	size_t count;
	const cop_forget_model *models = cop_forget_models(work->plan, &count);
	for (size_t i = 0; i < count; i++)
		if (strcmp(models[i].name, stored) == 0)
			return true;
	return false;
}

static bool is_theirs(const cop_forget_work *work, const cop_journal_record *record)
{
	char stored[COP_WIRE_RECORD_MODEL + 1];
	const char *name;
	size_t length;
	if (record->type == COP_WIRE_RECORD_CONFIG)
		return true;
	if (cop_wire_record_model(record->body, record->length, &name, &length) != COP_OK || length >= sizeof stored)
		return false;
	(void)snprintf(stored, sizeof stored, "%.*s", (int)length, name);
	return cop_forget_work_is_of(work, stored);
}

/* Whether a model of theirs that is served is no longer what records lead to. One that is parked is not learned again
 * then, and is nothing to the others. */
static bool parts(cop_forget_work *work, const cop_journal_record *record)
{
	bool any = false;
	size_t kept = 0;
	for (size_t i = 0; i < work->models.count; i++) {
		cop_model_slot *slot = work->models.items[i];
		bool is = cop_forget_work_is_of(work, slot->stored) &&
		          cop_recovery_parts(slot, record, record->sequence == work->from);
		bool parked = slot->config >= work->config->models + work->served;
		any |= is && !parked;
		if (is && parked)
			cop_model_slot_close(slot);
		else
			work->models.items[kept++] = slot;
	}
	work->models.count = kept;
	return any;
}

cop_err cop_forget_work_apply(cop_forget_work *work, const cop_journal_record *record)
{
	cop_journal_record now = *record;
	cop_forget_fate fate;
	if (!is_theirs(work, record))
		return COP_OK;
	if (record->type == COP_WIRE_RECORD_CONFIG && record->sequence >= work->renewed) {
		cop_diag_message(&work->why, "the configuration changed");
		return COP_ESHAPE;
	}
	if (parts(work, record)) {
		work->lack = "gap";
		return COP_ENOTFOUND;
	}
	cop_err err = record->sequence < work->edited ? cop_forget_edit(work->plan, record, &work->room, &now, &fate)
	                                              : COP_OK;
	if (err == COP_OK)
		err = cop_recovery_apply(&work->recovery, &work->models, &now);
	if (err != COP_OK) {
		char text[sizeof work->recovery.why];
		cop_diag_text(&work->recovery.why, text, sizeof text);
		cop_diag_message(&work->why, "record %llu does not fit: %.200s", (unsigned long long)record->sequence,
		        text[0] != '\0' ? text : cop_err_text(err));
	}
	return err == COP_ESHAPE ? COP_EFORMAT : err;
}

/* A decision of before the journal's first record may wait under the id: then older checkpoints have it, too. */
static cop_err end_waiting(cop_forget_work *work, double time)
{
	cop_err err = COP_OK;
	for (size_t i = 0; i < work->models.count && err == COP_OK; i++) {
		cop_model_slot *slot = work->models.items[i];
		size_t count;
		cop_event_id *ids;
		err = cop_forget_ids(work->plan, slot->stored, &ids, &count);
		if (err == COP_OK && cop_model_forget(slot->model, ids, count, time) > 0)
			work->clean = 0;
		cop_mem_free(ids);
	}
	return err;
}

/* Models as before the first record concerned: *from is the record to go on with. COP_ENOTFOUND: they are not known. */
static cop_err restore(cop_forget_work *work, uint64_t *from)
{
	cop_checkpoint_mark mark = { 0 };
	size_t begun;
	cop_err err = cop_model_table_init(&work->models, work->config, &work->why);
	if (err == COP_OK)
		err = cop_checkpoint_restore_before(work->state_dir, work->first, &work->models, &mark, &work->why);
	if (err == COP_OK && work->by_id)
		err = end_waiting(work, mark.time);
	if (err == COP_OK)
		err = cop_model_table_start_from(&work->models, NULL, &begun, &work->why);
	if (err == COP_ENOTFOUND || err == COP_EIO) /* a saved model that is gone */
		work->lack = "start";
	*from = mark.journal_next == 0 ? 1 : mark.journal_next;
	return err;
}

static bool has_more(cop_forget_work *work)
{
	uint64_t stop = atomic_load(&work->stop);
	return goes_on(work) && (stop == 0 || work->next < stop);
}

/* From work->next to the end of what is there: how many records. */
static cop_err follow(cop_forget_work *work, uint64_t *count)
{
	cop_journal_reader *reader;
	cop_journal_record record;
	*count = 0;
	cop_err err = cop_journal_reader_open(work->folder, work->next, true, &reader, &work->why);
	if (err != COP_OK)
		return err;
	while (*count % BREATH != 0 || has_more(work)) {
		uint64_t stop = atomic_load(&work->stop);
		err = cop_journal_next(reader, &record, &work->why);
		bool over = err == COP_OK && stop != 0 && record.sequence >= stop;
		if (over)
			work->next = stop;
		if (err != COP_OK || over)
			break;
		if (record.sequence != work->next)
			work->lack = "gap";
		err = work->lack == NULL ? cop_forget_work_apply(work, &record) : COP_ENOTFOUND;
		if (err != COP_OK)
			break;
		work->next = record.sequence + 1;
		++*count;
	}
	cop_journal_reader_close(reader);
	return err == COP_EEND ? COP_OK : err;
}

/* Little is left: until the loop says where to stop. */
static void wait_for_stop(cop_forget_work *work)
{
	const struct timespec a_little = { .tv_nsec = 500000 };
	atomic_store(&work->near, true);
	while (atomic_load(&work->stop) == 0 && !atomic_load(&work->cancel))
		(void)nanosleep(&a_little, NULL);
}

static cop_err learn_all(cop_forget_work *work)
{
	cop_err err = cop_forget_refits_find(&work->refits, work->state_dir, work->plan, &work->why);
	if (err == COP_OK)
		err = restore(work, &work->next);
	work->from = work->next;
	for (uint64_t count = 0; err == COP_OK && has_more(work);) {
		err = follow(work, &count);
		if (err == COP_ENOTFOUND && work->next == work->from && work->lack == NULL)
			work->lack = "start"; /* the journal begins later */
		if (err == COP_OK && count < NEAR)
			wait_for_stop(work);
	}
	work->relearned = err == COP_OK && work->lack == NULL;
	if (work->lack != NULL)
		return COP_OK;
	return err == COP_OK && atomic_load(&work->cancel) ? COP_EEND : err;
}

static void learn(void *context)
{
	cop_forget_work *work = context;
	cop_step_back_thread(NICE);
	work->err = learn_all(work);
}

cop_err cop_forget_work_learn(cop_forget_work *work, cop_config *config, size_t served)
{
	cop_forget_work_drop_models(work);
	work->config = config;
	work->served = served;
	work->lack = NULL;
	work->recovery = (cop_recovery){ .state_dir = work->state_dir, .folder = work->folder };
	return begin(work, learn);
}

/* ---- erase ---- */

/* Checkpoints first: a journal without their records would no longer fit them. */
static void erase(void *context)
{
	cop_forget_work *work = context;
	cop_step_back_thread(NICE);
	work->err = work->newest == 0 ? COP_OK
	                              : cop_checkpoint_remove_since(
	                                        work->state_dir, work->clean, work->newest, &work->removed, &work->why);
	if (work->err == COP_OK)
		work->err = cop_forget_refits_remove(&work->refits, work->state_dir, work->plan, &work->why);
	if (work->err == COP_OK && work->first != 0)
		work->err = cop_forget_erase(work->plan, work->folder, &work->erased, &work->why);
}

cop_err cop_forget_work_erase(cop_forget_work *work) { return begin(work, erase); }
