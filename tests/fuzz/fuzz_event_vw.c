/* Arbitrary bytes as Vowpal Wabbit text: the first byte chooses the space and the settings. Every event keeps what its
 * header promises, and rows are the same whether names are compared with those of the row before or hashed each time.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "event_checks.h"
#include "events/event_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct way {
	cop_feature_space *space;
	cop_event_reader *reader;
	cop_logged_event event;
	cop_diag diag;
	cop_err err;
} way;

/* With a pair of namespaces that cannot be there, every row is a list that is sorted. */
static bool open_way(way *w, bool listed, const cop_event_reader_settings *given, const uint8_t *data, size_t size)
{
	static const char *const pairs[] = { "\t\t" };
	cop_feature_space_settings features = { .bits = 10, .pairs = pairs, .pair_count = listed };
	cop_event_reader_settings settings = *given;
	cop_stream *stream;
	memset(w, 0, sizeof *w);
	if (cop_stream_open_memory("fuzz", data, size, &stream, NULL) != COP_OK)
		return false;
	COP_ASSERT(cop_feature_space_new(&features, &w->space, NULL) == COP_OK);
	settings.space = w->space;
	COP_ASSERT(cop_event_format_vw.create(&stream, &settings, &w->reader, &w->diag) == COP_OK);
	return true;
}

static void close_way(way *w)
{
	cop_event_reader_free(w->reader);
	cop_feature_space_free(w->space);
}

static void same_row(const cop_row *a, const cop_row *b)
{
	COP_ASSERT(a->d == b->d && a->nnz == b->nnz);
	COP_ASSERT(a->nnz == 0 || memcmp(a->index, b->index, a->nnz * sizeof *a->index) == 0);
	COP_ASSERT(a->nnz == 0 || memcmp(a->value, b->value, a->nnz * sizeof *a->value) == 0);
}

static void same_events(const cop_event_reader_settings *settings, const uint8_t *data, size_t size)
{
	way w[2];
	if (!open_way(&w[0], false, settings, data, size) || !open_way(&w[1], true, settings, data, size))
		return;
	do {
		for (int i = 0; i < 2; i++)
			w[i].err = cop_event_reader_next(w[i].reader, &w[i].event, &w[i].diag);
		COP_ASSERT(w[0].err == w[1].err && strcmp(w[0].diag.message, w[1].diag.message) == 0);
		COP_ASSERT(w[0].event.features == w[1].event.features);
		COP_ASSERT(w[0].event.candidates == w[1].event.candidates);
		if (w[0].err == COP_OK)
			same_row(&w[0].event.x, &w[1].event.x);
		for (size_t i = 0; i < w[0].event.candidates; i++)
			same_row(&w[0].event.candidate[i], &w[1].event.candidate[i]);
	} while (w[0].err == COP_OK || w[0].err == COP_EFORMAT || w[0].err == COP_ENONFINITE);
	close_way(&w[0]);
	close_way(&w[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	unsigned flags = data[0];
	cop_event_reader_settings settings = {
		.assumed_probability = (flags & 4) != 0 ? 0.5 : 0,
		.lines = (cop_event_lines)((flags >> 3 & 3) % 3),
	};
	check_events(&cop_event_format_vw, flags, &settings, data + 1, size - 1);
	if ((flags & 32) != 0)
		same_events(&settings, data + 1, size - 1);
	return 0;
}
