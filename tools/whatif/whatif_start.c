/* Files are looked at from the newest to the oldest. */
#include "whatif_start.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "store/checkpoint_file.h"
#include "store/journal_segment.h"
#include "store/state_dir.h"
#include "store/state_mark.h"

void cop_whatif_start_close(cop_whatif_start *start)
{
	if (start->path[0] != '\0')
		cop_saved_file_close(&start->saved);
	start->path[0] = '\0';
	start->found = false;
}

/* The model in that file, and where the file stands. COP_ENOTFOUND: it is not there. */
static cop_err look(
        cop_whatif_start *out, const char *state, uint64_t sequence, const char *model, cop_state_mark *mark)
{
	char file[COP_CHECKPOINT_NAME_ROOM], name[COP_SAVED_FILE_NAME];
	size_t at = 0;
	cop_diag why;
	*mark = (cop_state_mark){ 0 };
	cop_checkpoint_name(COP_STATE_DIR_CHECKPOINT, sequence, file);
	(void)snprintf(out->path, sizeof out->path, "%s/%s", state, file);
	out->saved = (cop_saved_file){ .path = out->path };
	cop_err err = cop_saved_file_open(&out->saved, &why);
	if (err == COP_OK)
		err = cop_state_mark_read(&out->saved.file, mark);
	while (err == COP_OK) {
		err = cop_saved_file_next(&out->saved, &at, name, &out->data, &out->length, &why);
		if (err == COP_OK && strcmp(name, model) == 0)
			break;
	}
	out->checkpoint = sequence;
	out->next = mark->journal_next == 0 ? 1 : mark->journal_next;
	return err == COP_EEND ? COP_ENOTFOUND : err;
}

static cop_err first_record(const char *state, uint64_t *first, cop_diag *diag)
{
	cop_journal_file *files = NULL;
	size_t count = 0;
	char *folder = cop_journal_path(state, COP_STATE_DIR_JOURNAL);
	if (folder == NULL)
		return COP_ENOMEM;
	cop_err err = cop_journal_list(folder, &files, &count, diag);
	*first = err == COP_OK && count > 0 ? files[0].base : 1;
	cop_mem_free(files);
	cop_mem_free(folder);
	return err;
}

/* Of the files that do, the first (from the newest on) of before `from`, or the last one of all. */
static cop_err choose(cop_whatif_start *out, const char *state, const char *model, double from, uint64_t oldest,
        const uint64_t *all, size_t count)
{
	size_t last = count;
	for (size_t i = 0; i < count; i++) {
		cop_state_mark mark;
		cop_err err = look(out, state, all[i], model, &mark);
		bool serves = err == COP_OK && out->next >= oldest;
		if (serves && mark.time <= from) {
			out->found = out->before = true;
			return COP_OK;
		}
		if (serves)
			last = i;
		cop_whatif_start_close(out);
		if (err == COP_ENOMEM)
			return err;
	}
	if (out->whole || last == count)
		return COP_OK;
	cop_state_mark mark;
	cop_err err = look(out, state, all[last], model, &mark);
	out->found = err == COP_OK;
	return err;
}

cop_err cop_whatif_start_find(const char *state, const char *model, double from, cop_whatif_start *out, cop_diag *diag)
{
	uint64_t *all = NULL, oldest = 1;
	size_t count = 0;
	*out = (cop_whatif_start){ .found = false };
	cop_err err = first_record(state, &oldest, diag);
	out->whole = oldest == 1;
	if (err == COP_OK)
		err = cop_checkpoint_list(state, COP_STATE_DIR_CHECKPOINT, &all, &count, diag);
	if (err == COP_OK) {
		err = choose(out, state, model, from, oldest, all, count);
		if (err != COP_OK)
			cop_diag_of(diag, state, "%s", cop_err_text(err));
	}
	out->whole = out->whole && !out->found;
	cop_mem_free(all);
	return err;
}
