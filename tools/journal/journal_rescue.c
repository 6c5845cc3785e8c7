/* coppice journal salvage: what is intact as a new journal, and what was passed over. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "journal_verb.h"
#include "store/journal_salvage.h"
#include "tools/common/command.h"

#define FOLDER_MODE 0750

/* Where a segment ends, neither bytes nor records may be known: then only the reason is printed. */
static void print_skip(const cop_journal_skip *skip)
{
	(void)printf("%s: offset %" PRIu64 ": ", skip->file, skip->offset);
	if (skip->bytes > 0)
		(void)printf("%" PRIu64 " byte%s passed over: ", skip->bytes, skip->bytes == 1 ? "" : "s");
	(void)printf("%s", skip->reason);
	if (skip->missing_first == skip->missing_last)
		(void)printf("; record %" PRIu64 " is lost", skip->missing_first);
	else if (skip->missing_first < skip->missing_last)
		(void)printf("; records %" PRIu64 " to %" PRIu64 " are lost", skip->missing_first, skip->missing_last);
	(void)putchar('\n');
}

static void json_skip(cop_json_writer *json, const cop_journal_skip *skip)
{
	cop_json_begin_object(json);
	cop_json_put_text(json, "file", skip->file);
	cop_json_put_unsigned(json, "offset", skip->offset);
	cop_json_put_unsigned(json, "bytes", skip->bytes);
	if (skip->missing_first <= skip->missing_last) {
		cop_json_put_unsigned(json, "missing_first", skip->missing_first);
		cop_json_put_unsigned(json, "missing_last", skip->missing_last);
	}
	cop_json_put_text(json, "reason", skip->reason);
	cop_json_end_object(json);
}

/* context: the JSON writer; NULL: text. */
static void tell_skip(void *context, const cop_journal_skip *skip)
{
	if (context != NULL)
		json_skip(context, skip);
	else
		print_skip(skip);
}

static void print_report(const cop_journal_salvage_report *report, const char *out)
{
	(void)printf("%s: %" PRIu64 " record%s copied", out, report->records, report->records == 1 ? "" : "s");
	if (report->records > 0)
		(void)printf(" (%" PRIu64 " to %" PRIu64 ") into %" PRIu64 " segment%s", report->first, report->last,
		        report->segments, report->segments == 1 ? "" : "s");
	(void)printf("; %" PRIu64 " place%s passed over, %" PRIu64 " bytes, %" PRIu64 " record%s known to be lost\n",
	        report->skips, report->skips == 1 ? "" : "s", report->skipped_bytes, report->missing,
	        report->missing == 1 ? "" : "s");
}

static int print_report_json(
        const cop_journal_request *request, cop_json_writer *json, const cop_journal_salvage_report *report)
{
	cop_json_end_array(json);
	cop_json_put_text(json, "folder", request->folder);
	cop_json_put_text(json, "out", request->out);
	cop_json_put_unsigned(json, "records", report->records);
	if (report->records > 0) {
		cop_json_put_unsigned(json, "first", report->first);
		cop_json_put_unsigned(json, "last", report->last);
	}
	cop_json_put_unsigned(json, "segments", report->segments);
	cop_json_put_unsigned(json, "skipped_bytes", report->skipped_bytes);
	cop_json_put_unsigned(json, "missing", report->missing);
	return cop_journal_verb_print_json(json);
}

int cop_journal_verb_salvage(const cop_journal_request *request)
{
	cop_json_writer *json = NULL;
	cop_diag diag = { 0 };
	if (mkdir(request->out, FOLDER_MODE) != 0 && errno != EEXIST) {
		cop_command_complain(COP_JOURNAL_COMMAND, "%s: cannot be made: %s", request->out, strerror(errno));
		return COP_EXIT_FAILED;
	}
	if (!cop_journal_verb_begin_json(request->json, &json))
		return COP_EXIT_FAILED;
	if (json != NULL)
		cop_json_put_array(json, "skips");
	cop_journal_salvage_report report = { .skipped = tell_skip, .context = json };
	if (cop_journal_salvage(request->folder, request->out, &report, &diag) != COP_OK) {
		cop_json_writer_free(json);
		(void)fflush(stdout);
		return cop_command_failed(COP_JOURNAL_COMMAND, &diag);
	}
	if (json != NULL)
		return print_report_json(request, json, &report);
	print_report(&report, request->out);
	return 0;
}
