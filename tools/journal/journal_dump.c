/* coppice journal dump: the records, one a line. Gaps are reported and passed over; damage ends it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "journal_verb.h"
#include "journal_view.h"
#include "store/journal_reader.h"
#include "tools/common/command.h"
#include "wire/wire_code.h"
#include "wire/wire_split.h"

typedef struct dump {
	const cop_journal_request *request;
	cop_bytes scratch;
	cop_bytes line;
	uint64_t malformed; /* how many, of those shown */
} dump;

/* ---- one record ---- */

static bool wanted(const cop_journal_request *r, const cop_journal_record *record, const cop_journal_view *view)
{
	if (r->type != 0 && r->type != record->type)
		return false;
	if (r->model != NULL && (view->model == NULL || view->model_length != strlen(r->model) ||
	                                memcmp(view->model, r->model, view->model_length) != 0))
		return false;
	return (r->id == NULL || cop_journal_view_id_is(&view->id, r->id)) &&
	       (r->unit == NULL || cop_journal_view_id_is(&view->unit, r->unit));
}

static void print_named(const cop_journal_view *view)
{
	cop_wire_named rest = view->named;
	const char *name;
	size_t length;
	double value;
	while (cop_wire_named_next(&rest, &name, &length, &value)) {
		char clean[3 * COP_NAMED_LOSSES_NAME + 1];
		cop_wire_text_clean(clean, sizeof clean, name, length);
		(void)printf(" %s=%.6g", clean, value);
	}
}

static void print_notes(const cop_journal_view *view)
{
	char unit[COP_JOURNAL_VIEW_ID];
	cop_journal_view_id(&view->unit, unit);
	if (view->unit.kind != 0)
		(void)printf(" unit=%s", unit);
	print_named(view);
	if (view->deferred)
		(void)fputs(" deferred", stdout);
	if (view->has_own)
		(void)printf(" %s, own p %.6g", view->split ? "the baseline's" : "observed", view->own);
	if (view->limit > COP_WIRE_LIMIT_NONE && view->limit < COP_WIRE_LIMITS)
		(void)printf(" limit=%s", cop_wire_split_limit_text((cop_wire_limit)view->limit));
	if (view->has_count)
		(void)printf(" n=%" PRIu64, view->count);
	if (view->has_text)
		(void)printf(" %zu bytes", view->text_length);
	if (view->models_length > 0) {
		char names[128];
		cop_journal_verb_model_names(view->models, view->models_length, names, sizeof names);
		(void)printf(" models=%s", names);
	}
}

static void print_text(const cop_journal_record *record, const cop_journal_view *view)
{
	char type[24], time[COP_JOURNAL_VIEW_TIME] = "-", model[80] = "-", id[COP_JOURNAL_VIEW_ID];
	char action[32] = "-", p[32] = "-", loss[64] = "-";
	(void)snprintf(type, sizeof type, "%u", (unsigned)record->type);
	if (view->malformed) {
		(void)printf("%12" PRIu64 " %-10s malformed body of %zu bytes\n", record->sequence,
		        record->type < COP_JOURNAL_VIEW_TYPES ? cop_journal_view_types[record->type - 1] : type,
		        record->length);
		return;
	}
	if (view->has_time)
		cop_journal_view_time(view->time, time);
	if (view->model != NULL)
		cop_wire_text_clean(model, sizeof model, view->model, view->model_length);
	cop_journal_view_id(&view->id, id);
	if (view->has_arm)
		(void)snprintf(action, sizeof action, "%" PRIu64, view->arm);
	else if (view->has_value)
		(void)snprintf(action, sizeof action, "%.6g", view->value);
	if (view->has_p)
		(void)snprintf(p, sizeof p, "%.6g", view->p);
	if (view->losses == 1)
		(void)snprintf(loss, sizeof loss, "%.6g", view->loss[0]);
	else if (view->losses == 2)
		(void)snprintf(loss, sizeof loss, "%.6g,%.6g", view->loss[0], view->loss[1]);
	(void)printf("%12" PRIu64 " %-10s %-27s %-16s %-20s %8s %9s %9s", record->sequence,
	        record->type < COP_JOURNAL_VIEW_TYPES ? cop_journal_view_types[record->type - 1] : type, time, model,
	        id, action, p, loss);
	print_notes(view);
	(void)putchar('\n');
}

static cop_err print_json(dump *d, const cop_journal_record *record)
{
	cop_bytes_clear(&d->line);
	cop_err err = cop_journal_view_json(record, &d->scratch, &d->line);
	if (err != COP_OK)
		return err;
	(void)fwrite(d->line.data, 1, d->line.length, stdout);
	(void)putchar('\n');
	return COP_OK;
}

static cop_err show(dump *d, const cop_journal_record *record, cop_diag *diag)
{
	cop_journal_view view;
	cop_journal_view_read(record, &view);
	if (!wanted(d->request, record, &view))
		return COP_OK;
	if (view.malformed) {
		d->malformed++;
		cop_command_complain(COP_JOURNAL_COMMAND, "record %" PRIu64 ": malformed body", record->sequence);
	}
	if (!d->request->json) {
		print_text(record, &view);
		return COP_OK;
	}
	cop_err err = print_json(d, record);
	if (err != COP_OK)
		cop_diag_message(diag, "record %" PRIu64 ": %s", record->sequence, cop_err_text(err));
	return err;
}

/* ---- all ---- */

/* Where to begin: `from`, or the oldest record when that one is gone already. */
static cop_err begin(const cop_journal_request *request, uint64_t *from, cop_diag *diag)
{
	cop_journal_file *files;
	size_t count;
	cop_err err = cop_journal_list(request->folder, &files, &count, diag);
	*from = count > 0 && request->from <= files[0].base ? 0 : request->from;
	cop_mem_free(files);
	return err;
}

static cop_err show_all(dump *d, cop_diag *diag)
{
	cop_journal_reader *reader = NULL;
	cop_journal_record record;
	uint64_t from = 0;
	uint64_t expected = 0;
	cop_err err = begin(d->request, &from, diag);
	if (err == COP_OK)
		err = cop_journal_reader_open(d->request->folder, from, true, &reader, diag);
	while (err == COP_OK && expected <= d->request->to) { /* what lies behind is not read */
		err = cop_journal_next(reader, &record, diag);
		if (err != COP_OK || record.sequence > d->request->to)
			break;
		if (expected != 0 && record.sequence > expected)
			cop_journal_verb_report_gap(expected, record.sequence - 1);
		expected = record.sequence + 1;
		err = show(d, &record, diag);
		if (ferror(stdout) != 0)
			break;
	}
	cop_journal_reader_close(reader);
	return err == COP_EEND ? COP_OK : err;
}

int cop_journal_verb_dump(const cop_journal_request *request)
{
	dump d = { .request = request };
	cop_diag diag = { 0 };
	cop_bytes_init(&d.scratch);
	cop_bytes_init(&d.line);
	cop_err err = show_all(&d, &diag);
	cop_bytes_fini(&d.scratch);
	cop_bytes_fini(&d.line);
	if (err != COP_OK) {
		(void)fflush(stdout);
		return cop_journal_verb_report_damage(err, &diag);
	}
	return d.malformed > 0 ? COP_EXIT_FAILED : 0;
}
