/* The order of a start: the torn tail of the newest segment is cut, the segments are compared with the checkpoint's
 * mark, and every record from the mark on is applied once, in order, each to the model that it names. A record that
 * does not fit its model ends the start, since whatever follows was written by a state that is not this one; only with
 * --salvaged, where records are known to be missing, is it passed over. */
#include "daemon/durable/recovery.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/folder.h"
#include "base/mem.h"
#include "daemon/common/clock.h"
#include "daemon/durable/promotion.h"
#include "online/model_record.h"
#include "store/journal_keep.h"
#include "store/journal_reader.h"
#include "wire/wire_models.h"

#define BREATH 4096 /* records between signs of life */

#define WAYS_OUT                                                                                                       \
	"; two ways out: `coppice journal salvage` copies every intact record into a new folder, from which "          \
	"--salvaged starts, or start with "                                                                            \
	"--checkpoint-only, which sets the journal aside"

static bool listed(const char *const *names, const char *name)
{
	for (; names != NULL && *names != NULL; names++)
		if (strcmp(*names, name) == 0)
			return true;
	return false;
}

static cop_err apply_to(cop_recovery *recovery, cop_model_slot *served, cop_wire_record_type type,
        const cop_wire_record *r, uint64_t sequence)
{
	if (type == COP_WIRE_RECORD_PROMOTION)
		return cop_promotion_replay(served, recovery->state_dir, r, sequence, &recovery->why);
	cop_err err = cop_model_apply(served->model, type, r);
	cop_refit_state_watch(&served->refit, served->model);
	if (err == COP_OK && type == COP_WIRE_RECORD_DECISION && r->played != NULL && served->shape.max_candidates > 0)
		cop_played_names_put(served->played, &r->id, r->played, r->played_length);
	return err;
}

/* Models whose records are from here on of further arms or features, or which begin anew. */
static cop_err set_models(const cop_recovery *recovery, cop_model_table *set, const cop_wire_record *r, cop_diag *diag)
{
	cop_wire_models models;
	cop_wire_model model;
	cop_err err = COP_OK;
	if (r->models == NULL || cop_wire_models_open(&models, r->models, r->models_length, NULL) != COP_OK)
		return COP_OK;
	while (err == COP_OK && cop_wire_models_next(&models, &model, NULL) == COP_OK) {
		const cop_model_size size = { model.arms, model.features };
		err = model.anew ? cop_model_table_begin_anew(set, &model, recovery->log, diag)
		                 : cop_model_table_set_size(set, model.name, model.name_length, &size, diag);
	}
	return err;
}

/* The settings from here on, as far as they may change in a living model. */
static cop_err apply_config(cop_recovery *recovery, cop_model_table *set, const cop_wire_record *r)
{
	cop_diag *diag = &recovery->why;
	cop_config *config;
	cop_config_report report;
	cop_config_report_init(&report);
	cop_err err = cop_config_parse(r->text, r->text_length, "journal", NULL, &config, &report);
	if (err == COP_OK)
		err = set_models(recovery, set, r, diag);
	if (err == COP_OK)
		cop_model_table_adjust(set, config);
	if (err != COP_OK && diag->message[0] == '\0')
		cop_diag_message(diag, "%s", cop_err_text(err));
	cop_config_free(config);
	cop_config_report_fini(&report);
	return err;
}

/* The model that the record is of; *served NULL: of none, as a configuration, or of one that is passed over. */
static cop_err find_model(cop_recovery *recovery, cop_model_table *set, const cop_journal_record *raw, bool *skip,
        cop_model_slot **served)
{
	const char *name;
	size_t length;
	*served = NULL;
	*skip = false;
	if (raw->type == COP_WIRE_RECORD_CONFIG)
		return COP_OK;
	cop_err err = cop_wire_record_model(raw->body, raw->length, &name, &length);
	if (err == COP_OK && length == 0 && raw->type <= COP_WIRE_RECORD_MERGE) {
		cop_diag_message(&recovery->why, "it names no model; expected a key m");
		err = COP_EFORMAT;
	}
	if (err != COP_OK)
		return err;
	if (length > 0)
		*served = cop_model_table_find_stored(set, name, length);
	*skip = *served == NULL || listed(recovery->reset, (*served)->name);
	return COP_OK;
}

cop_err cop_recovery_apply(cop_recovery *recovery, cop_model_table *set, const cop_journal_record *raw)
{
	static const cop_wire_shape no_shape = { .features = 1, .arms = 1 };
	static const cop_wire_workspace no_workspace = { 0 };
	bool skip;
	cop_model_slot *served;
	cop_wire_record record;
	cop_wire_fault fault = { 0 };
	cop_wire_record_type type = (cop_wire_record_type)raw->type;
	recovery->why = (cop_diag){ 0 };
	cop_err err = find_model(recovery, set, raw, &skip, &served);
	if (err == COP_OK && skip)
		recovery->skipped++;
	if (err != COP_OK || skip)
		return err;
	err = cop_wire_record_decode(type, raw->body, raw->length, served == NULL ? &no_shape : &served->shape,
	        served == NULL ? &no_workspace : &served->workspace, &record, &fault);
	if (err != COP_OK)
		cop_diag_message(&recovery->why, "%s", fault.message);
	else
		err = type == COP_WIRE_RECORD_CONFIG ? apply_config(recovery, set, &record)
		                                     : apply_to(recovery, served, type, &record, raw->sequence);
	if (err == COP_OK && record.time > recovery->time)
		recovery->time = record.time;
	return err;
}

bool cop_recovery_parts(const cop_model_slot *slot, const cop_journal_record *raw, bool first)
{
	static const cop_wire_shape no_shape = { .features = 1, .arms = 1 };
	static const cop_wire_workspace no_workspace = { 0 };
	cop_wire_record record;
	cop_wire_models models;
	cop_wire_model model;
	if (raw->type != COP_WIRE_RECORD_CONFIG ||
	        cop_wire_record_decode(COP_WIRE_RECORD_CONFIG, raw->body, raw->length, &no_shape, &no_workspace,
	                &record, NULL) != COP_OK ||
	        cop_wire_models_open(&models, record.models, record.models_length, NULL) != COP_OK)
		return false; /* applying it tells what is wrong */
	while (cop_wire_models_next(&models, &model, NULL) == COP_OK) {
		if (model.name_length != strlen(slot->stored) ||
		        memcmp(model.name, slot->stored, model.name_length) != 0)
			continue;
		bool same = slot->has_began && slot->began == model.began;
		return (model.apart && !(first && slot->restored)) || (model.has_began && !slot->restored && !same);
	}
	return false;
}

static cop_err refuse_record(const cop_recovery *recovery, const cop_journal_reader *reader,
        const cop_journal_record *raw, cop_err err, cop_diag *diag)
{
	char why[sizeof recovery->why];
	char name[COP_JOURNAL_NAME_ROOM];
	cop_diag_text(&recovery->why, why, sizeof why);
	cop_journal_reader_file(reader, name);
	char *path = cop_journal_path(recovery->folder, name);
	if (err == COP_ENOMEM) /* the journal is not to blame */
		cop_diag_at_offset(diag, path == NULL ? name : path, raw->offset,
		        "record %" PRIu64 " (offset %" PRIu64 ") cannot be applied: %s", raw->sequence, raw->offset,
		        cop_err_text(err));
	else
		cop_diag_at_offset(diag, path == NULL ? name : path, raw->offset,
		        "record %" PRIu64 " (offset %" PRIu64 ") does not fit: %.240s" WAYS_OUT, raw->sequence,
		        raw->offset, why[0] != '\0' ? why : cop_err_text(err));
	cop_mem_free(path);
	return err == COP_ENOMEM ? err : COP_EFORMAT;
}

static cop_err apply_all(cop_recovery *recovery, cop_model_table *set, cop_journal_reader *reader, cop_diag *diag)
{
	cop_journal_record raw;
	cop_err err;
	while ((err = cop_journal_next(reader, &raw, diag)) == COP_OK) {
		if (recovery->applied % BREATH == 0)
			cop_http_alive(recovery->http, cop_clock_monotonic_ns());
		err = cop_recovery_apply(recovery, set, &raw);
		if (err != COP_OK && err != COP_ENOMEM && recovery->salvaged) {
			recovery->skipped++;
			continue;
		}
		if (err != COP_OK)
			return refuse_record(recovery, reader, &raw, err, diag);
		recovery->applied++;
	}
	if (err == COP_EFORMAT && diag != NULL) {
		cop_diag why = *diag;
		cop_diag_at_offset(
		        diag, why.source, why.offset, "%.300s (offset %" PRIu64 ")" WAYS_OUT, why.message, why.offset);
	}
	return err == COP_EEND ? COP_OK : err;
}

static cop_err cut_tail(cop_recovery *recovery, cop_journal_tail *tail, cop_diag *diag)
{
	cop_err err = cop_journal_keep_cut_tail(recovery->folder, tail, diag);
	if (err == COP_EFORMAT && diag != NULL) {
		cop_diag why = *diag;
		cop_diag_at_offset(
		        diag, why.source, why.offset, "%.300s (offset %" PRIu64 ")" WAYS_OUT, why.message, why.offset);
	}
	bool full = err == COP_EFULL;
	if (full)
		err = COP_OK;
	if (err == COP_OK && tail->torn)
		cop_log_line(recovery->log, COP_LOG_EVENT(journal_torn),
		        "file=\"%s\" offset=%" PRIu64 " bytes=%" PRIu64 " cut=%d", tail->file, tail->offset,
		        tail->bytes, !full);
	return err;
}

/* Whether there is the segment that was being written when the checkpoint was, or one that follows it and holds what
 * the checkpoint does not. */
static bool has_segment(const cop_journal_file *files, size_t count, const cop_checkpoint_mark *mark)
{
	for (size_t i = 0; i < count; i++)
		if (files[i].base >= mark->journal_base && files[i].base <= mark->journal_next)
			return true;
	return mark->journal_base == 0;
}

static cop_err segment_missing(const cop_recovery *recovery, const cop_checkpoint_mark *mark, cop_diag *diag)
{
	char name[COP_JOURNAL_NAME_ROOM];
	cop_journal_name(mark->journal_base, false, name);
	if (recovery->salvaged) {
		cop_log_line(recovery->log, COP_LOG_EVENT(journal_missing), "file=\"%s\"", name);
		return COP_OK;
	}
	cop_diag_of(diag, recovery->folder,
	        "segment %s is missing: it was being written when the checkpoint was, and records from %" PRIu64
	        " on may have been in it" WAYS_OUT,
	        name, mark->journal_next);
	return COP_EFORMAT;
}

/* What ought to be there by the checkpoint and is not. A journal that is gone as a whole was moved away, as the way
 * out from damage is; that is logged. */
static cop_err check_segments(
        const cop_recovery *recovery, const cop_checkpoint_mark *mark, const cop_journal_tail *tail, cop_diag *diag)
{
	cop_journal_file *files;
	size_t count;
	cop_err err = cop_journal_list(recovery->folder, &files, &count, diag);
	if (err != COP_OK)
		return err;
	if (count > 0 && !has_segment(files, count, mark))
		err = segment_missing(recovery, mark, diag);
	else if (count == 0 && mark->journal_base > 0 && !recovery->aside)
		cop_log_line(recovery->log, COP_LOG_EVENT(journal_missing), "file=\"%s\"", recovery->folder);
	else if (count > 0 && tail->next_sequence < mark->journal_next)
		cop_log_line(recovery->log, COP_LOG_EVENT(journal_short),
		        "file=\"%s\" next=%" PRIu64 " checkpoint_next=%" PRIu64, tail->file, tail->next_sequence,
		        mark->journal_next);
	cop_mem_free(files);
	return err;
}

cop_err cop_recovery_run(cop_recovery *recovery, cop_model_table *set, const cop_checkpoint_mark *mark, cop_diag *diag)
{
	recovery->time = mark->time;
	recovery->applied = recovery->skipped = 0;
	recovery->why = (cop_diag){ 0 };
	if (cop_folder_make(recovery->folder, 0750) != COP_OK) {
		cop_diag_of(diag, recovery->folder, "cannot make the journal's folder: %s", strerror(errno));
		return COP_EIO;
	}
	cop_journal_tail tail = { 0 };
	cop_err err = cut_tail(recovery, &tail, diag);
	if (err == COP_OK)
		err = check_segments(recovery, mark, &tail, diag);
	if (err != COP_OK)
		return err;
	uint64_t from = mark->journal_next == 0 ? 1 : mark->journal_next;
	recovery->next = tail.next_sequence > from ? tail.next_sequence : from;
	if (tail.next_sequence <= from)
		return COP_OK; /* the checkpoint has it all */
	cop_journal_reader *reader;
	err = cop_journal_reader_open(recovery->folder, from, recovery->salvaged, &reader, diag);
	if (err == COP_ENOTFOUND) {
		cop_diag_of(diag, recovery->folder,
		        "the journal begins after record %" PRIu64 ", where the checkpoint ends; expected an older "
		        "segment or a newer checkpoint, or --checkpoint-only",
		        from);
		return err;
	}
	if (err != COP_OK)
		return err;
	double started = cop_clock_monotonic();
	err = apply_all(recovery, set, reader, diag);
	cop_journal_reader_close(reader);
	if (err == COP_OK)
		cop_log_line(recovery->log, COP_LOG_EVENT(replayed),
		        "records=%" PRIu64 " skipped=%" PRIu64 " seconds=%.3f", recovery->applied, recovery->skipped,
		        cop_clock_monotonic() - started);
	return err;
}

cop_err cop_recovery_set_aside(const char *folder, char *to, size_t size, cop_diag *diag)
{
	(void)snprintf(to, size, "%s.aside.%" PRIu64, folder, (uint64_t)cop_clock_real());
	if (rename(folder, to) == 0 || errno == ENOENT)
		return COP_OK;
	cop_diag_of(diag, folder, "cannot be set aside: %s", strerror(errno));
	return COP_EIO;
}
