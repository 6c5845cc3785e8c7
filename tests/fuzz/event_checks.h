/* tests/fuzz/event_checks.h: what every event of every reader must keep, for the fuzz targets of readers. */
#ifndef COP_FUZZ_EVENT_CHECKS_H
#define COP_FUZZ_EVENT_CHECKS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "base/assert.h"
#include "events/event_reader.h"

static inline void check_row(const cop_row *row, size_t d)
{
	COP_ASSERT(row->d <= d);
	for (size_t i = 0; i < cop_row_entries(row); i++) {
		COP_ASSERT(isfinite(cop_row_value(row, i)));
		COP_ASSERT(cop_row_index(row, i) < row->d);
		COP_ASSERT(i == 0 || cop_row_index(row, i - 1) < cop_row_index(row, i));
	}
}

static inline void check_event(const cop_logged_event *event, const cop_feature_space *space, size_t candidate_d)
{
	check_row(&event->x, cop_feature_space_dimension(space));
	COP_ASSERT((event->candidates == 0) == (event->candidate == NULL));
	for (size_t i = 0; i < event->candidates; i++)
		check_row(&event->candidate[i], candidate_d > 0 ? candidate_d : cop_feature_space_dimension(space));
	COP_ASSERT(event->weight > 0 && isfinite(event->weight) && event->line > 0 && event->text > 0);
	COP_ASSERT(!event->learn || event->labelled);
	COP_ASSERT(event->id.length <= COP_EVENT_ID_MAX);
	if (event->labelled) {
		COP_ASSERT(event->p >= COP_LOGGED_PROBABILITY_MIN && event->p <= 1);
		COP_ASSERT(fabs(event->cost) <= COP_LOGGED_COST_MAX);
		COP_ASSERT(event->candidates == 0 || event->action < event->candidates);
	}
}

/* Reads data as that format. Bit 0 of flags: a dense space; bit 1: pairs, when it is hashed. */
static inline void check_events(const cop_event_format *format, unsigned flags, const cop_event_reader_settings *given,
        const uint8_t *data, size_t size)
{
	static const char *const pairs[] = { "::" };
	cop_feature_space_settings space_settings = { .dense = (flags & 1) != 0, .bits = 12, .pairs = pairs };
	space_settings.pair_count = (flags & 3) == 2;
	cop_event_reader_settings settings = *given;
	cop_event_reader *reader = NULL;
	cop_stream *stream;
	cop_diag diag = { 0 };
	if (cop_stream_open_memory("fuzz", data, size, &stream, NULL) != COP_OK)
		return;
	COP_ASSERT(cop_feature_space_new(&space_settings, &settings.space, NULL) == COP_OK);
	cop_err err = format->create(&stream, &settings, &reader, &diag);
	COP_ASSERT(stream == NULL && (err == COP_OK) == (reader != NULL));
	while (err == COP_OK || err == COP_EFORMAT || err == COP_ENONFINITE) {
		cop_logged_event event;
		if (reader == NULL)
			break;
		diag.message[0] = '\0';
		err = cop_event_reader_next(reader, &event, &diag);
		if (err == COP_OK)
			check_event(&event, settings.space, 0);
		else
			COP_ASSERT(err == COP_EEND || diag.message[0] != '\0');
	}
	cop_event_reader_free(reader);
	cop_feature_space_free(settings.space);
}

#endif
