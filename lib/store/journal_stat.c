/* One walk per segment; the faults are kept in its row, the first of them is the result. */
#include "store/journal_stat.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

static void note_gap(const cop_journal_walk *walk, cop_journal_stat *stat)
{
	char text[160];
	(void)snprintf(
	        text, sizeof text, "records %" PRIu64 " to %" PRIu64 " are missing", walk->expected, walk->limit - 1);
	cop_journal_walk_diag(walk, walk->end_offset, text, &stat->why);
	stat->err = COP_EFORMAT;
}

/* Over the segments, one after another. */
typedef struct verify {
	const char *folder;
	cop_bytes model_set; /* the header's bytes, to which the row points */
	uint64_t epoch;      /* of the segments before */
} verify;

static void read_segment(verify *v, const cop_journal_file *file, uint64_t limit, cop_journal_stat *stat)
{
	cop_bytes *model_set = &v->model_set;
	cop_journal_walk walk;
	cop_journal_record record;
	memset(stat, 0, sizeof *stat);
	stat->file = *file;
	cop_err err = cop_journal_walk_open(&walk, v->folder, file, limit, &stat->why);
	if (err == COP_OK)
		err = cop_journal_walk_enter(&walk, &v->epoch, &stat->why);
	cop_bytes_clear(model_set);
	cop_bytes_put(model_set, walk.model_set.data, walk.model_set.length);
	if (err == COP_OK && model_set->err != COP_OK) {
		err = model_set->err;
		cop_journal_walk_diag(&walk, 0, "out of memory", &stat->why);
	}
	stat->model_set = model_set->data;
	stat->model_set_length = model_set->length;
	while (err == COP_OK) {
		err = cop_journal_walk_next(&walk, &record, &stat->why);
		stat->records += err == COP_OK;
	}
	stat->last = file->base + stat->records - 1;
	stat->durable = walk.durable;
	stat->epoch = walk.epoch;
	stat->end = err == COP_EEND ? walk.end : COP_JOURNAL_END_DAMAGED;
	stat->end_offset = walk.end_offset;
	stat->cut = walk.cut;
	stat->content = walk.scan.offset;
	stat->err = err == COP_EEND ? COP_OK : err;
	if (err == COP_EEND && walk.end == COP_JOURNAL_END_MISSING)
		note_gap(&walk, stat);
	cop_journal_walk_close(&walk);
}

cop_err cop_journal_stat_verify(const char *folder, const cop_journal_stat_listener *listener, cop_diag *diag)
{
	cop_journal_file *files;
	size_t count;
	verify v = { .folder = folder };
	cop_bytes_init(&v.model_set);
	cop_err first = cop_journal_list(folder, &files, &count, diag);
	for (size_t i = 0; i < count; i++) {
		cop_journal_stat stat;
		read_segment(&v, &files[i], i + 1 < count ? files[i + 1].base : UINT64_MAX, &stat);
		if (first == COP_OK && stat.err != COP_OK) {
			first = stat.err;
			if (diag != NULL)
				*diag = stat.why;
		}
		if (listener != NULL)
			listener->segment(listener->context, &stat);
		if (stat.err == COP_ENOMEM)
			break;
	}
	cop_bytes_fini(&v.model_set);
	cop_mem_free(files);
	return first;
}
