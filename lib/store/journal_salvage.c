/* The records that are intact go out as they are; where one does not follow the one before it, a new output segment
 * begins. */
#include "store/journal_salvage.h"

#include "base/mem.h"
#include "store/journal_writer.h"

#define BATCH ((size_t)1 << 20)

typedef struct salvage {
	const char *out;
	cop_journal_salvage_report *report;
	cop_diag *diag;
	cop_journal_intact *in;
	cop_journal_writer *writer; /* of the current output segment; NULL: the next record begins one */
	cop_bytes batch;
	uint64_t batch_first;
	uint64_t batch_count;
} salvage;

static void note_skip(void *context, const cop_journal_skip *skip)
{
	cop_journal_salvage_report *report = context;
	report->skips++;
	report->skipped_bytes += skip->bytes;
	report->missing += skip->missing_last - skip->missing_first + 1;
	if (report->skipped != NULL)
		report->skipped(report->context, skip);
}

static cop_err flush(salvage *s)
{
	cop_err err = s->batch.err;
	if (err != COP_OK)
		cop_diag_of(s->diag, s->out, "%s", cop_err_text(err));
	else if (s->batch_count > 0)
		err = cop_journal_writer_write(
		        s->writer, s->batch.data, s->batch.length, s->batch_first, s->batch_count, s->diag);
	cop_bytes_clear(&s->batch);
	s->batch_count = 0;
	return err;
}

/* Ends the output segment, so that the next record begins another. */
static cop_err end_output(salvage *s)
{
	if (s->writer == NULL)
		return COP_OK;
	cop_err err = flush(s);
	cop_err closed = cop_journal_writer_close(s->writer, err == COP_OK ? s->diag : NULL);
	s->writer = NULL;
	return err == COP_OK ? closed : err;
}

static cop_err begin_output(salvage *s, uint64_t sequence)
{
	cop_journal_settings settings = { .epoch = cop_journal_intact_epoch(s->in) };
	settings.model_set = cop_journal_intact_model_set(s->in, &settings.model_set_length);
	cop_err err = cop_journal_writer_open(s->out, &settings, sequence, &s->writer, s->diag);
	s->report->segments += err == COP_OK;
	return err;
}

static cop_err copy_record(salvage *s, const cop_journal_record *record)
{
	if (s->batch_count++ == 0)
		s->batch_first = record->sequence;
	cop_bytes_put(&s->batch, record->body - COP_JOURNAL_FRAME_HEAD, COP_JOURNAL_FRAME_HEAD + record->length);
	s->report->records++;
	s->report->last = record->sequence;
	if (s->report->first == 0)
		s->report->first = record->sequence;
	return s->batch.length >= BATCH || s->batch.err != COP_OK ? flush(s) : COP_OK;
}

static cop_err copy_all(salvage *s)
{
	cop_journal_record record;
	bool follows;
	cop_err err;
	while ((err = cop_journal_intact_next(s->in, &record, &follows, s->diag)) == COP_OK) {
		if (!follows)
			err = end_output(s);
		if (err == COP_OK && s->writer == NULL)
			err = begin_output(s, record.sequence);
		if (err == COP_OK)
			err = copy_record(s, &record);
		if (err != COP_OK)
			break;
	}
	cop_err ended = end_output(s);
	return err == COP_EEND ? ended : err;
}

static cop_err check_empty(const char *folder, cop_diag *diag)
{
	cop_journal_file *files;
	size_t count;
	cop_err err = cop_journal_list(folder, &files, &count, diag);
	cop_mem_free(files);
	if (err == COP_OK && count > 0) {
		cop_diag_of(diag, folder, "there are segments already; expected an empty folder");
		err = COP_EEXIST;
	}
	return err;
}

cop_err cop_journal_salvage(
        const char *folder_in, const char *folder_out, cop_journal_salvage_report *report, cop_diag *diag)
{
	cop_journal_salvage_report fresh = { .skipped = report->skipped, .context = report->context };
	*report = fresh;
	const cop_journal_skip_listener listener = { note_skip, report };
	salvage s = { .out = folder_out, .report = report, .diag = diag };
	cop_bytes_init(&s.batch);
	cop_err err = check_empty(folder_out, diag);
	if (err == COP_OK)
		err = cop_journal_intact_open(folder_in, &listener, &s.in, diag);
	if (err == COP_OK)
		err = copy_all(&s);
	cop_journal_intact_close(s.in);
	cop_bytes_fini(&s.batch);
	return err;
}
