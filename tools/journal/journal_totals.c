/* coppice journal stat: one pass over the records, counted by type and model. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "journal_verb.h"
#include "journal_view.h"
#include "store/journal_reader.h"
#include "tools/common/command.h"
#include "wire/wire_code.h"

#define TYPES COP_JOURNAL_VIEW_TYPES /* place 0: types without a name */

typedef struct model_totals {
	char *name; /* owned; not terminated */
	size_t length;
	uint64_t type[TYPES];
} model_totals;

typedef struct totals {
	model_totals *models;
	size_t count;
	size_t room;
	size_t segments;
	uint64_t bytes;   /* of the segments, on the disk */
	uint64_t content; /* of the records, with their heads */
	uint64_t records, first, last, missing, malformed;
	uint64_t type[TYPES];
	bool has_time;
	double earliest, latest; /* event time of the models' records */
	cop_journal_tail tail;
	cop_bytes model_set; /* the newest one */
	uint64_t model_base; /* of the segment that it is of */
	cop_journal_progress progress;
	cop_err err; /* COP_OK, or what ended the reading; the totals are of what lies before */
	cop_diag why;
} totals;

/* ---- counting ---- */

/* NULL: out of memory. There are few models. */
static model_totals *find_model(totals *t, const char *name, size_t length)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->models[i].length == length && memcmp(t->models[i].name, name, length) == 0)
			return &t->models[i];
	if (t->count == t->room) {
		size_t room = t->room == 0 ? 8 : 2 * t->room;
		model_totals *models = cop_mem_resize(t->models, t->room, room, sizeof *models);
		if (models == NULL)
			return NULL;
		t->models = models;
		t->room = room;
	}
	model_totals *model = &t->models[t->count];
	model->name = cop_mem_alloc(length, 1);
	if (model->name == NULL)
		return NULL;
	memcpy(model->name, name, length);
	model->length = length;
	t->count++;
	return model;
}

static void count_time(totals *t, double time)
{
	if (!t->has_time || time < t->earliest)
		t->earliest = time;
	if (!t->has_time || time > t->latest)
		t->latest = time;
	t->has_time = true;
}

static cop_err count_record(totals *t, const cop_journal_record *record)
{
	cop_journal_view view;
	size_t type = record->type < TYPES ? record->type : 0;
	cop_journal_view_read(record, &view);
	if (t->records > 0 && record->sequence > t->last + 1) {
		cop_journal_verb_progress_clear(&t->progress);
		cop_journal_verb_report_gap(t->last + 1, record->sequence - 1);
		t->missing += record->sequence - t->last - 1;
	}
	t->first = t->records == 0 ? record->sequence : t->first;
	t->last = record->sequence;
	t->records++;
	t->content += COP_JOURNAL_FRAME_HEAD + record->length;
	t->type[type]++;
	t->malformed += view.malformed;
	if (view.malformed || view.model == NULL)
		return COP_OK;
	if (view.has_time)
		count_time(t, view.time);
	model_totals *model = find_model(t, view.model, view.model_length);
	if (model == NULL)
		return COP_ENOMEM;
	model->type[type]++;
	return COP_OK;
}

static cop_err count_files(totals *t, const char *folder, cop_diag *diag)
{
	cop_journal_file *files;
	cop_err err = cop_journal_list(folder, &files, &t->segments, diag);
	for (size_t i = 0; i < t->segments; i++)
		t->bytes += files[i].bytes;
	cop_mem_free(files);
	return err;
}

static cop_err keep_models(totals *t, const cop_journal_reader *reader)
{
	size_t length;
	const uint8_t *set = cop_journal_reader_model_set(reader, &length);
	if (t->model_base == cop_journal_reader_base(reader) || length == 0)
		return COP_OK;
	t->model_base = cop_journal_reader_base(reader);
	cop_bytes_clear(&t->model_set);
	cop_bytes_put(&t->model_set, set, length);
	return t->model_set.err;
}

/* COP_OK when there are totals to show; t->err is COP_OK then if they are of the whole journal. */
static cop_err count_all(totals *t, const char *folder, cop_diag *diag)
{
	cop_journal_reader *reader = NULL;
	cop_journal_record record;
	cop_err err = count_files(t, folder, diag);
	cop_journal_verb_progress_begin(&t->progress);
	if (err == COP_OK)
		err = cop_journal_reader_open(folder, 0, true, &reader, diag);
	while (err == COP_OK && (err = cop_journal_next(reader, &record, &t->why)) == COP_OK) {
		err = count_record(t, &record);
		if (err == COP_OK)
			err = keep_models(t, reader);
		if (t->records % 4096 == 0)
			cop_journal_verb_progress_show(&t->progress, t->records);
		if (err != COP_OK)
			cop_diag_of(diag, folder, "%s", cop_err_text(err));
	}
	cop_journal_verb_progress_clear(&t->progress);
	if (err == COP_EEND)
		t->tail = *cop_journal_reader_tail(reader);
	else if (reader != NULL && err != COP_ENOMEM)
		t->err = err;
	bool shown = err == COP_EEND || t->err != COP_OK;
	cop_journal_reader_close(reader);
	return shown ? COP_OK : err;
}

static void totals_fini(totals *t)
{
	for (size_t i = 0; i < t->count; i++)
		cop_mem_free(t->models[i].name);
	cop_mem_free(t->models);
	cop_bytes_fini(&t->model_set);
}

static double mean_bytes(const totals *t) { return t->records > 0 ? (double)t->content / (double)t->records : 0.0; }

/* ---- text ---- */

static const char *type_name(size_t type) { return type == 0 ? "other" : cop_journal_view_types[type - 1]; }

static void print_types(const totals *t)
{
	for (size_t i = 1; i <= TYPES; i++) {
		size_t type = i % TYPES;
		if (t->type[type] > 0)
			(void)printf("  %-16s%" PRIu64 "\n", type_name(type), t->type[type]);
	}
}

static void print_models(const totals *t)
{
	char name[80];
	if (t->count > 0)
		(void)printf("\n%-24s %12s %12s %12s %12s %12s %12s %12s %12s\n", "model", "decision", "feedback",
		        "expiry", "activation", "promotion", "unheard", "forgotten", "position");
	for (size_t i = 0; i < t->count; i++) {
		const uint64_t *type = t->models[i].type;
		cop_wire_text_clean(name, sizeof name, t->models[i].name, t->models[i].length);
		(void)printf("%-24s %12" PRIu64 " %12" PRIu64 " %12" PRIu64 " %12" PRIu64 " %12" PRIu64 " %12" PRIu64
		             " %12" PRIu64 " %12" PRIu64 "\n",
		        name, type[1], type[2], type[3], type[4], type[6], type[7], type[8], type[9]);
	}
	for (size_t i = 0; i < t->count; i++) {
		cop_wire_model model;
		char shape[512];
		if (!cop_journal_verb_find_model(
		            t->model_set.data, t->model_set.length, t->models[i].name, t->models[i].length, &model))
			continue;
		cop_wire_text_clean(name, sizeof name, model.name, model.name_length);
		cop_journal_verb_model_text(&model, shape, sizeof shape);
		(void)printf("%s: %s\n", name, shape);
	}
}

static void print_text(const totals *t)
{
	char first[COP_JOURNAL_VIEW_TIME], last[COP_JOURNAL_VIEW_TIME];
	(void)printf("segments          %zu\nbytes             %" PRIu64 "\nrecords           %" PRIu64 "\n",
	        t->segments, t->bytes, t->records);
	print_types(t);
	if (t->records > 0)
		(void)printf("sequence          %" PRIu64 " to %" PRIu64 "\nbytes per record  %.1f\n", t->first,
		        t->last, mean_bytes(t));
	if (t->has_time) {
		cop_journal_view_time(t->earliest, first);
		cop_journal_view_time(t->latest, last);
		(void)printf("event time        %s to %s\n", first, last);
	}
	if (t->missing > 0)
		(void)printf("missing           %" PRIu64 "\n", t->missing);
	if (t->malformed > 0)
		(void)printf("malformed         %" PRIu64 "\n", t->malformed);
	if (t->tail.torn)
		(void)printf("torn tail         %" PRIu64 " bytes, %s from offset %" PRIu64 " on\n", t->tail.bytes,
		        t->tail.file, t->tail.offset);
	else if (t->err == COP_OK)
		(void)puts("torn tail         none");
	print_models(t);
}

/* ---- JSON ---- */

static void json_types(cop_json_writer *json, const uint64_t type[TYPES])
{
	for (size_t i = 1; i < TYPES; i++)
		cop_json_put_unsigned(json, type_name(i), type[i]);
	if (type[0] > 0)
		cop_json_put_unsigned(json, type_name(0), type[0]);
}

static void json_models(cop_json_writer *json, const totals *t)
{
	cop_json_put_array(json, "models");
	for (size_t i = 0; i < t->count; i++) {
		cop_json_begin_object(json);
		cop_json_put_text_length(json, "name", t->models[i].name, t->models[i].length);
		cop_wire_model model;
		if (cop_journal_verb_find_model(
		            t->model_set.data, t->model_set.length, t->models[i].name, t->models[i].length, &model))
			cop_journal_verb_json_model(json, &model);
		json_types(json, t->models[i].type);
		cop_json_end_object(json);
	}
	cop_json_end_array(json);
}

static void json_damage(cop_json_writer *json, const cop_diag *why)
{
	const char *slash = strrchr(why->source, '/');
	cop_json_put_object(json, "damage");
	cop_json_put_text(json, "file", slash != NULL ? slash + 1 : why->source);
	cop_json_put_unsigned(json, "offset", why->offset);
	cop_json_put_text(json, "message", why->message);
	cop_json_end_object(json);
}

static void json_ends(cop_json_writer *json, const totals *t)
{
	if (t->records > 0) {
		cop_json_put_unsigned(json, "first", t->first);
		cop_json_put_unsigned(json, "last", t->last);
		cop_json_put_number(json, "bytes_per_record", mean_bytes(t));
	}
	if (t->has_time) {
		cop_json_key(json, "first_time");
		cop_json_number(json, t->earliest);
		cop_json_key(json, "last_time");
		cop_json_number(json, t->latest);
	}
	cop_json_put_unsigned(json, "missing", t->missing);
	cop_json_put_unsigned(json, "malformed", t->malformed);
	if (t->tail.torn) {
		cop_json_put_object(json, "torn");
		cop_json_put_text(json, "file", t->tail.file);
		cop_json_put_unsigned(json, "offset", t->tail.offset);
		cop_json_put_unsigned(json, "bytes", t->tail.bytes);
		cop_json_end_object(json);
	}
	if (t->err != COP_OK)
		json_damage(json, &t->why);
}

static int print_json(const totals *t, const char *folder)
{
	cop_json_writer *json;
	if (!cop_journal_verb_begin_json(true, &json))
		return COP_EXIT_FAILED;
	cop_json_put_text(json, "folder", folder);
	cop_json_put_unsigned(json, "segments", t->segments);
	cop_json_put_unsigned(json, "bytes", t->bytes);
	cop_json_put_unsigned(json, "records", t->records);
	cop_json_put_object(json, "types");
	json_types(json, t->type);
	cop_json_end_object(json);
	json_models(json, t);
	json_ends(json, t);
	return cop_journal_verb_print_json(json);
}

int cop_journal_verb_stat(const cop_journal_request *request)
{
	totals t = { 0 };
	cop_bytes_init(&t.model_set);
	cop_diag diag = { 0 };
	int status = 0;
	if (count_all(&t, request->folder, &diag) != COP_OK)
		status = cop_command_failed(COP_JOURNAL_COMMAND, &diag);
	else if (request->json)
		status = print_json(&t, request->folder);
	else
		print_text(&t);
	if (t.err != COP_OK) {
		(void)fflush(stdout);
		cop_command_complain(COP_JOURNAL_COMMAND, "these are the figures of what lies before the damage");
		status = cop_journal_verb_report_damage(t.err, &t.why);
	}
	totals_fini(&t);
	return status;
}
