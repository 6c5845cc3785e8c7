/* Exactly one of `whole` and `intact` is open: the first stops at damage, the second passes over it and reports what
 * it skipped. Files are listed before either is opened, so an empty folder is an error and not an empty journal. */
#include "history/record_source.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

cop_err cop_record_source_open(cop_record_source *source, const char *path, uint64_t from, bool skip,
        const cop_journal_skip_listener *listener, cop_diag *diag)
{
	*source = (cop_record_source){ .whole = NULL };
	cop_err err = cop_journal_segment_find(path, &source->folder, &source->files, &source->count, diag);
	if (err == COP_OK && source->count == 0) {
		cop_diag_of(diag, path, "no segments here; expected a journal's folder, or a segment");
		err = COP_ENOTFOUND;
	}
	if (err == COP_OK)
		err = skip ? cop_journal_intact_open(path, listener, &source->intact, diag)
		           : cop_journal_reader_open(path, from, false, &source->whole, diag);
	return err;
}

void cop_record_source_fini(cop_record_source *source)
{
	cop_journal_reader_close(source->whole);
	cop_journal_intact_close(source->intact);
	cop_mem_free(source->folder);
	cop_mem_free(source->files);
	*source = (cop_record_source){ .whole = NULL };
}

cop_err cop_record_source_next(cop_record_source *source, cop_journal_record *record, cop_diag *diag)
{
	bool follows;
	if (source->intact != NULL)
		return cop_journal_intact_next(source->intact, record, &follows, diag);
	cop_err err = cop_journal_next(source->whole, record, diag);
	if (err == COP_EFORMAT && diag != NULL) {
		cop_diag why = *diag;
		cop_diag_at_offset(diag, why.source, why.offset,
		        "%.300s; what is intact can be read by passing over it, or copied by `coppice journal "
		        "salvage`",
		        why.message);
	}
	return err == COP_EFORMAT || err == COP_ENOTFOUND ? COP_EIO : err;
}

uint64_t cop_record_source_base(const cop_record_source *source)
{
	return source->intact != NULL ? cop_journal_intact_base(source->intact)
	                              : cop_journal_reader_base(source->whole);
}

const uint8_t *cop_record_source_model_set(const cop_record_source *source, size_t *length)
{
	return source->intact != NULL ? cop_journal_intact_model_set(source->intact, length)
	                              : cop_journal_reader_model_set(source->whole, length);
}

void cop_record_source_place(const cop_record_source *source, uint64_t base, cop_diag *diag)
{
	char name[COP_JOURNAL_NAME_ROOM];
	bool compressed = false;
	for (size_t i = 0; i < source->count; i++)
		if (source->files[i].base == base)
			compressed = source->files[i].compressed;
	cop_journal_name(base, compressed, name);
	(void)snprintf(diag->source, sizeof diag->source, "%.200s/%s", source->folder, name);
}
