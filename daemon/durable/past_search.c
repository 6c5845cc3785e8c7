/* Within a segment the newest matches are kept in a ring; behind its end they go, newest first, behind those of younger
 * segments. A segment may have been compressed, or removed, since the folder was listed. */
#include "daemon/durable/past_search.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "daemon/durable/past_find.h"
#include "store/journal_reader.h"
#include "wire/wire_record.h"

typedef struct ring {
	cop_past_search_found kept[COP_WIRE_PAST_LIMIT];
	size_t room, next, count;
	bool dropped;
} ring;

static bool fits(const cop_past_search_wanted *wanted, const cop_event_id *id)
{
	return wanted->id != NULL ? cop_event_id_equal(wanted->id, id) : cop_wire_past_begins(id, wanted->prefix);
}

static bool is_of(const cop_past_search_wanted *wanted, const cop_wire_glance *glance)
{
	return glance->model != NULL && glance->model_length <= COP_CONFIG_NAME_MAX &&
	       cop_past_find_is_of(wanted->model, glance->model, glance->model_length);
}

/* Whether the record is one that is wanted. */
static bool read_found(const cop_past_search_wanted *wanted, const cop_journal_record *raw, cop_past_search_found *out)
{
	cop_wire_glance glance;
	if (raw->type != COP_WIRE_RECORD_DECISION || cop_wire_glance_head(raw->body, raw->length, &glance) != COP_OK ||
	        !is_of(wanted, &glance) || !fits(wanted, &glance.id) ||
	        cop_wire_glance_read(raw->body, raw->length, &glance) != COP_OK)
		return false;
	*out = (cop_past_search_found){ .id = glance.id,
		.sequence = raw->sequence,
		.time = glance.time,
		.has_arm = glance.has_arm,
		.has_value = glance.has_value,
		.has_p = glance.has_p,
		.arm = glance.arm,
		.value = glance.value,
		.p = glance.p,
		.by = glance.by,
		.limit = glance.limit };
	memcpy(out->stored, glance.model, glance.model_length);
	return true;
}

static void keep(ring *r, const cop_past_search_found *found)
{
	r->kept[r->next] = *found;
	r->next = (r->next + 1) % r->room;
	r->dropped = r->dropped || r->count == r->room;
	r->count += r->count < r->room;
}

static void take(ring *r, cop_past_search *out)
{
	for (size_t i = 0; i < r->count; i++)
		out->found[out->count++] = r->kept[(r->next + r->room - 1 - i) % r->room];
}

/* Under the name that it has now. COP_ENOTFOUND: it is gone. */
static cop_err open_segment(const char *folder, const cop_journal_file *file, cop_journal_reader **out, cop_diag *diag)
{
	cop_err err = COP_ENOTFOUND;
	for (int i = 0; i < 2 && err == COP_ENOTFOUND; i++) {
		char name[COP_JOURNAL_NAME_ROOM];
		cop_journal_name(file->base, file->compressed != (i == 1), name);
		char *path = cop_journal_path(folder, name);
		err = path == NULL ? COP_ENOMEM : cop_journal_reader_open(path, 0, true, out, diag);
		cop_mem_free(path);
	}
	return err;
}

/* Records of the segment before `limit`. */
static cop_err read_segment(const cop_past_search_wanted *wanted, const cop_journal_file *file, uint64_t limit,
        cop_past_search *out, cop_diag *diag)
{
	ring r = { .room = wanted->limit - out->count };
	cop_journal_reader *reader;
	cop_journal_record raw;
	cop_past_search_found found;
	cop_wire_glance glance;
	uint64_t first = 0, last = 0;
	cop_err err = open_segment(wanted->folder, file, &reader, diag);
	if (err != COP_OK)
		return err;
	while ((err = cop_journal_next(reader, &raw, diag)) == COP_OK && raw.sequence < limit) {
		if (first == 0 && cop_wire_glance_head(raw.body, raw.length, &glance) == COP_OK) {
			first = raw.sequence;
			out->since = glance.time;
		}
		last = raw.sequence;
		out->looked++;
		if (read_found(wanted, &raw, &found))
			keep(&r, &found);
	}
	cop_journal_reader_close(reader);
	if (err != COP_OK && err != COP_EEND)
		return err;
	if (first != 0) {
		out->from = first;
		out->to = out->to == 0 ? last : out->to;
	}
	take(&r, out);
	if (out->count == wanted->limit)
		out->more = out->found[out->count - 1].sequence;
	return COP_OK;
}

cop_err cop_past_search_run(const cop_past_search_wanted *wanted, cop_past_search *out, cop_diag *diag)
{
	cop_journal_file *files;
	size_t count;
	*out = (cop_past_search){ .count = 0 };
	cop_err err = cop_journal_list(wanted->folder, &files, &count, diag);
	uint64_t limit = wanted->before == 0 ? UINT64_MAX : wanted->before;
	for (size_t i = count; err == COP_OK && i-- > 0 && out->count < wanted->limit;) {
		if (files[i].base < limit) {
			if (out->looked >= wanted->records) {
				out->more = limit;
				break;
			}
			err = read_segment(wanted, &files[i], limit, out, diag);
		}
		limit = files[i].base < limit ? files[i].base : limit;
		if (err == COP_ENOTFOUND && i + 1 < count) { /* removed meanwhile, with all before it */
			err = COP_OK;
			break;
		}
	}
	if (err == COP_OK && count > 0 && out->more <= files[0].base)
		out->more = 0;
	cop_mem_free(files);
	return err;
}

cop_err cop_past_search_record(
        const cop_past_search_wanted *wanted, uint64_t sequence, cop_past_search_found *out, cop_diag *diag)
{
	cop_journal_reader *reader;
	cop_journal_record raw;
	cop_err err = cop_journal_reader_open(wanted->folder, sequence, true, &reader, diag);
	if (err != COP_OK)
		return err;
	err = cop_journal_next(reader, &raw, diag);
	if (err == COP_EEND || (err == COP_OK && (raw.sequence != sequence || !read_found(wanted, &raw, out)))) {
		cop_diag_of(diag, wanted->folder, "record %" PRIu64 " is no such decision of the model", sequence);
		err = COP_ENOTFOUND;
	}
	cop_journal_reader_close(reader);
	return err;
}
