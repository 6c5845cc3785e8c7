/* Names become columns until they are too many, or missing too often; then the log is read once more, hashed. */
#include "replay_scan.h"

#include <math.h>
#include <string.h>

#include "replay_reader.h"

typedef struct scan {
	const cop_replay_options *run;
	const cop_reader_options *options; /* its */
	uint64_t most;
	const volatile sig_atomic_t *stop;
	cop_feature_space *space;
	cop_replay_shape shape;
	uint64_t present; /* features of all events */
	bool has_range;   /* a journal told it */
} scan;

static void widen(cop_replay_shape *shape, const cop_row *row)
{
	size_t entries = row->dense != NULL ? row->d : row->nnz;
	shape->entries = entries > shape->entries ? entries : shape->entries;
}

/* The first features, which the row does not lack. */
static size_t known_of(const cop_row *row)
{
	size_t known = 0;
	while (known < row->d && !isnan(row->dense[known]))
		known++;
	return known;
}

/* Of dense candidates, whose columns are not the contexts'. */
static bool has_own_columns(const scan *s)
{
	return cop_replay_is_journal(s->run) || strcmp(s->options->format, "csv") == 0;
}

static void look_at(scan *s, const cop_logged_event *event)
{
	cop_replay_shape *shape = &s->shape;
	if (cop_replay_is_journal(s->run) && event->x.dense != NULL) {
		const size_t known = known_of(&event->x);
		shape->known = shape->known == 0 || known < shape->known ? known : shape->known;
	}
	shape->events++;
	s->present += event->features > 0 ? event->features - 1 : 0; /* the constant counts as one */
	widen(shape, &event->x);
	for (size_t i = 0; i < event->candidates; i++)
		widen(shape, &event->candidate[i]);
	if (event->candidates > 0 && event->candidate[0].dense != NULL && has_own_columns(s))
		shape->candidate_columns = event->candidate[0].d;
	if (event->candidates > shape->candidates)
		shape->candidates = event->candidates;
	if (event->mask != NULL && event->candidates == 0 && event->arms > shape->arms)
		shape->arms = event->arms;
	if (!event->labelled)
		return;
	if (event->candidates == 0 && (size_t)event->action + 1 > shape->arms)
		shape->arms = (size_t)event->action + 1;
	shape->low = shape->labelled == 0 ? event->cost : fmin(shape->low, event->cost);
	shape->high = shape->labelled == 0 ? event->cost : fmax(shape->high, event->cost);
	shape->labelled++;
}

static bool has_too_many(const scan *s)
{
	return s->space != NULL && s->options->features == COP_READER_FEATURES_AUTO &&
	       cop_feature_space_is_dense(s->space) && cop_feature_space_dimension(s->space) > COP_REPLAY_DENSE_COLUMNS;
}

/* What a journal tells of its model stands above what was seen of it. */
static cop_err ask_journal(scan *s, const cop_event_reader *reader, cop_diag *diag)
{
	cop_replay_journal told;
	cop_err err = cop_replay_journal_shape(reader, &told, &s->space, diag);
	if (err != COP_OK || !told.told)
		return err;
	s->has_range = true;
	bool beyond = told.values && s->shape.labelled > 0; /* losses of values may be */
	s->shape.low = beyond ? fmin(told.low, s->shape.low) : told.low;
	s->shape.high = beyond ? fmax(told.high, s->shape.high) : told.high;
	s->shape.entries = told.entries;
	s->shape.arms = told.arms;
	s->shape.values = told.values;
	s->shape.whole = s->shape.whole || (told.arms > 0 && !told.values);
	return COP_OK;
}

/* All of the events; COP_EFULL: too many columns. */
static cop_err read_events(scan *s, cop_diag *diag)
{
	cop_event_reader *reader;
	cop_logged_event event;
	cop_err err = cop_replay_reader_open(s->run, s->space, &reader, diag);
	while (err == COP_OK && (s->most == 0 || s->shape.events < s->most)) {
		err = cop_event_reader_next(reader, &event, diag);
		if (s->options->skip && (err == COP_EFORMAT || err == COP_ENONFINITE)) {
			err = COP_OK;
			continue;
		}
		if (err == COP_OK)
			look_at(s, &event);
		if (err == COP_OK && has_too_many(s))
			err = COP_EFULL;
		if (err == COP_OK && *s->stop != 0) {
			cop_diag_of(diag, s->run->path, "interrupted while it was looked at");
			cop_event_reader_free(reader);
			return COP_EEND;
		}
	}
	s->shape.whole = s->shape.all = err == COP_EEND;
	if (cop_replay_is_journal(s->run) && (err == COP_OK || err == COP_EEND))
		err = ask_journal(s, reader, diag);
	cop_event_reader_free(reader);
	return err == COP_EEND ? COP_OK : err;
}

/* Hashing suits it better. */
static bool is_thin(const scan *s)
{
	size_t columns = cop_feature_space_dimension(s->space);
	bool csv = strcmp(s->options->format, "csv") == 0; /* columns are columns */
	if (columns == 0 || s->shape.candidates > 0)
		return columns == 0 || !csv;
	double present = (double)s->present / fmax((double)s->shape.events, 1.0);
	return !csv && columns > COP_REPLAY_DENSE_ANYWAY && present < COP_REPLAY_DENSE_PRESENCE * (double)columns;
}

/* Hashing `names` names. */
static unsigned bits_for(size_t names)
{
	unsigned bits = COP_REPLAY_LEAST_BITS;
	while (bits < COP_FEATURE_SPACE_BITS && (size_t)1 << bits < COP_REPLAY_PLACES * names)
		bits++;
	return bits;
}

static cop_err pass(scan *s, bool dense, cop_diag *diag)
{
	cop_reader_options options = *s->options;
	if (!dense && options.features == COP_READER_FEATURES_AUTO)
		options.features = COP_READER_FEATURES_HASHED;
	if (!dense && options.bits == 0)
		options.bits = bits_for(cop_feature_space_dimension(s->space));
	cop_feature_space_free(s->space);
	s->space = NULL;
	s->shape = (cop_replay_shape){ .high = 1.0 };
	s->present = 0;
	cop_err err = s->run->columns != NULL ? cop_replay_columns_read(s->run->columns, &s->space, diag)
	                                      : cop_reader_options_space_new(&options, dense, &s->space, diag);
	return err != COP_OK ? err : read_events(s, diag);
}

cop_err cop_replay_scan(const cop_replay_options *options, uint64_t most, const volatile sig_atomic_t *stop,
        cop_feature_space **space, cop_replay_shape *out, cop_diag *diag)
{
	scan s = { .run = options, .options = &options->reader, .most = most, .stop = stop };
	*space = NULL;
	bool journal = cop_replay_is_journal(options);
	cop_err err = journal ? read_events(&s, diag) : pass(&s, true, diag);
	bool is_open = !journal && options->columns == NULL && options->reader.features == COP_READER_FEATURES_AUTO &&
	               s.space != NULL && cop_feature_space_is_dense(s.space);
	if (is_open && (err == COP_EFULL || (err == COP_OK && is_thin(&s))))
		err = pass(&s, false, diag);
	if (err != COP_OK) {
		cop_feature_space_free(s.space);
		return err;
	}
	if (cop_feature_space_is_dense(s.space))
		cop_feature_space_freeze(s.space);
	if (!s.has_range && s.shape.low >= 0.0 && s.shape.high <= 1.0) {
		s.shape.low = 0.0;
		s.shape.high = 1.0;
	}
	*space = s.space;
	*out = s.shape;
	return COP_OK;
}
