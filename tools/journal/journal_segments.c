/* coppice journal ls and verify: segment by segment, as the library judges them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "journal_verb.h"
#include "journal_view.h"
#include "store/journal_stat.h"
#include "tools/common/command.h"

typedef struct listing {
	const cop_journal_request *request;
	cop_json_writer *json; /* NULL: text */
	uint64_t segments, records, first, last;
	cop_journal_stat torn; /* the last segment, when it ends in a torn tail */
	bool is_torn;
	bool is_damaged;
	cop_journal_progress progress; /* verify */
} listing;

static const char *end_word(const cop_journal_stat *stat)
{
	switch (stat->end) {
	case COP_JOURNAL_END_WHOLE:
	case COP_JOURNAL_END_ZEROS:
		return "clean";
	case COP_JOURNAL_END_TORN:
		return "torn";
	case COP_JOURNAL_END_MISSING:
		return "gap";
	case COP_JOURNAL_END_DAMAGED:
		break;
	}
	return "damaged";
}

static void note(listing *l, const cop_journal_stat *stat)
{
	l->segments++;
	l->records += stat->records;
	if (stat->records > 0) {
		l->first = l->first == 0 ? stat->file.base : l->first;
		l->last = stat->last;
	}
	if (stat->end == COP_JOURNAL_END_TORN) {
		l->is_torn = true;
		l->torn = *stat;
	}
	l->is_damaged = l->is_damaged || stat->err != COP_OK;
}

static void put_file(cop_json_writer *json, const cop_journal_file *file)
{
	char name[COP_JOURNAL_NAME_ROOM];
	cop_journal_name(file->base, file->compressed, name);
	cop_json_put_text(json, "file", name);
}

/* File and message are in the diagnostic; the offset is not in every message. */
static void put_fault(cop_json_writer *json, const cop_journal_stat *stat)
{
	put_file(json, &stat->file);
	cop_json_put_unsigned(json, "offset", stat->end_offset);
	cop_json_put_text(json, "message", stat->why.message);
}

static void tell_fault(const cop_journal_stat *stat)
{
	bool placed = strstr(stat->why.message, "offset") != NULL;
	if (placed || stat->err != COP_EFORMAT)
		(void)cop_command_failed(COP_JOURNAL_COMMAND, &stat->why);
	else
		cop_command_complain(COP_JOURNAL_COMMAND, "%s: from offset %" PRIu64 " on %s", stat->why.source,
		        stat->end_offset, stat->why.message);
}

static void put_torn(cop_json_writer *json, const cop_journal_stat *stat)
{
	put_file(json, &stat->file);
	cop_json_put_unsigned(json, "offset", stat->end_offset);
	cop_json_put_unsigned(json, "bytes", stat->cut);
}

/* ---- ls ---- */

static void list_as_json(cop_json_writer *json, const cop_journal_stat *stat)
{
	cop_json_begin_object(json);
	put_file(json, &stat->file);
	cop_json_put_unsigned(json, "base", stat->file.base);
	cop_json_put_unsigned(json, "epoch", stat->epoch);
	if (stat->records > 0)
		cop_json_put_unsigned(json, "last", stat->last);
	cop_json_put_unsigned(json, "records", stat->records);
	cop_json_put_unsigned(json, "bytes", stat->file.bytes);
	cop_json_put_boolean(json, "compressed", stat->file.compressed);
	cop_json_put_text(json, "end", end_word(stat));
	cop_journal_verb_json_models(json, stat->model_set, stat->model_set_length);
	cop_json_put_integer(json, "time", stat->file.modified);
	if (stat->end == COP_JOURNAL_END_TORN) {
		cop_json_put_unsigned(json, "offset", stat->end_offset);
		cop_json_put_unsigned(json, "torn_bytes", stat->cut);
	} else if (stat->err != COP_OK) {
		cop_json_put_unsigned(json, "offset", stat->end_offset);
		cop_json_put_text(json, "message", stat->why.message);
	}
	cop_json_end_object(json);
}

static void list_segment(void *context, const cop_journal_stat *stat)
{
	listing *l = context;
	char time[COP_JOURNAL_VIEW_TIME];
	char last[24] = "-";
	char models[128];
	note(l, stat);
	if (l->json != NULL) {
		list_as_json(l->json, stat);
		return;
	}
	if (stat->records > 0)
		(void)snprintf(last, sizeof last, "%" PRIu64, stat->last);
	cop_journal_view_time((double)stat->file.modified, time);
	cop_journal_verb_model_names(stat->model_set, stat->model_set_length, models, sizeof models);
	(void)printf("%20" PRIu64 " %20s %12" PRIu64 " %14" PRIu64 " %-10s %-7s %.19sZ %s\n", stat->file.base, last,
	        stat->records, stat->file.bytes, stat->file.compressed ? "yes" : "no", end_word(stat), time, models);
	if (stat->err != COP_OK) {
		(void)fflush(stdout);
		tell_fault(stat);
	}
}

/* Damage is part of the answer; only what keeps the folder from being read is a failure. */
int cop_journal_verb_ls(const cop_journal_request *request)
{
	listing l = { .request = request };
	cop_diag diag = { 0 };
	const cop_journal_stat_listener listener = { list_segment, &l };
	if (!cop_journal_verb_begin_json(request->json, &l.json))
		return COP_EXIT_FAILED;
	if (l.json != NULL) {
		cop_json_put_text(l.json, "folder", request->folder);
		cop_json_put_array(l.json, "segments");
	} else {
		(void)printf("%20s %20s %12s %14s %-10s %-7s %-20s %s\n", "base", "last", "records", "bytes",
		        "compressed", "end", "time", "models");
	}
	cop_err err = cop_journal_stat_verify(request->folder, &listener, &diag);
	if (err == COP_ENOMEM || (err != COP_OK && l.segments == 0)) {
		cop_json_writer_free(l.json);
		return cop_command_failed(COP_JOURNAL_COMMAND, &diag);
	}
	if (l.json == NULL)
		return 0;
	cop_json_end_array(l.json);
	return cop_journal_verb_print_json(l.json);
}

/* ---- verify ---- */

static void verify_segment(void *context, const cop_journal_stat *stat)
{
	listing *l = context;
	note(l, stat);
	cop_journal_verb_progress_show(&l->progress, l->records);
	if (stat->err == COP_OK)
		return;
	cop_journal_verb_progress_clear(&l->progress);
	tell_fault(stat);
	if (l->json != NULL) {
		cop_json_begin_object(l->json);
		put_fault(l->json, stat);
		cop_json_end_object(l->json);
	}
}

static void print_verdict(const listing *l, const char *folder)
{
	char name[COP_JOURNAL_NAME_ROOM];
	(void)printf("%s: %s, %" PRIu64 " segment%s, %" PRIu64 " record%s", folder,
	        l->is_damaged ? "not whole" : "whole", l->segments, l->segments == 1 ? "" : "s", l->records,
	        l->records == 1 ? "" : "s");
	if (l->records > 0)
		(void)printf(" (%" PRIu64 " to %" PRIu64 ")", l->first, l->last);
	(void)putchar('\n');
	if (l->is_torn) {
		cop_journal_name(l->torn.file.base, l->torn.file.compressed, name);
		(void)printf("%s: the last %" PRIu64 " bytes, from offset %" PRIu64
		             " on, are a torn tail: a write that was cut short\n",
		        name, l->torn.cut, l->torn.end_offset);
	}
}

static int print_verdict_json(const listing *l, const char *folder)
{
	cop_json_end_array(l->json);
	cop_json_put_text(l->json, "folder", folder);
	cop_json_put_boolean(l->json, "whole", !l->is_damaged);
	cop_json_put_unsigned(l->json, "segments", l->segments);
	cop_json_put_unsigned(l->json, "records", l->records);
	if (l->records > 0) {
		cop_json_put_unsigned(l->json, "first", l->first);
		cop_json_put_unsigned(l->json, "last", l->last);
	}
	if (l->is_torn) {
		cop_json_put_object(l->json, "torn");
		put_torn(l->json, &l->torn);
		cop_json_end_object(l->json);
	}
	return cop_journal_verb_print_json(l->json);
}

int cop_journal_verb_verify(const cop_journal_request *request)
{
	listing l = { .request = request };
	cop_diag diag = { 0 };
	const cop_journal_stat_listener listener = { verify_segment, &l };
	if (!cop_journal_verb_begin_json(request->json, &l.json))
		return COP_EXIT_FAILED;
	if (l.json != NULL)
		cop_json_put_array(l.json, "faults");
	cop_journal_verb_progress_begin(&l.progress);
	cop_err err = cop_journal_stat_verify(request->folder, &listener, &diag);
	cop_journal_verb_progress_clear(&l.progress);
	if (err == COP_ENOMEM || (err != COP_OK && !l.is_damaged)) {
		cop_json_writer_free(l.json);
		return cop_command_failed(COP_JOURNAL_COMMAND, &diag);
	}
	int printed = 0;
	if (l.json != NULL)
		printed = print_verdict_json(&l, request->folder);
	else
		print_verdict(&l, request->folder);
	return l.is_damaged ? COP_EXIT_FAILED : printed;
}
