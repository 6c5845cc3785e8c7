#include "replay_open.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/stream.h"
#include "replay_reader.h"
#include "replay_scan.h"
#include "tools/common/command.h"

/* ---- what the options and the scan say together ---- */

static cop_err refuse(const cop_replay_options *o, cop_diag *diag, const char *what)
{
	cop_diag_of(diag, o->path, "%s", what);
	return COP_EINVAL;
}

/* Costs of [low, high]: a model's range must have a width. */
static void set_range(const cop_replay_options *o, double low, double high, cop_replay_limits *l)
{
	l->low = o->has_range ? o->low : low;
	l->high = o->has_range ? o->high : high;
	if (l->low == l->high) {
		l->low = fmin(l->low, 0.0);
		l->high = fmax(l->high, l->low == l->high ? 1.0 : 0.0);
	}
}

/* Room for rows of so many entries: enough, and the same for logs that are nearly alike. */
static size_t entries_room(const cop_replay_options *o, size_t entries)
{
	size_t room = COP_REPLAY_USUAL_ENTRIES;
	while (o->max_nonzeros == 0 && room < entries && room < COP_LEARNER_MAX_NONZEROS)
		room *= 2;
	return o->max_nonzeros != 0 ? o->max_nonzeros : room;
}

static cop_err set_limits(
        const cop_replay_options *o, const cop_replay_shape *shape, cop_replay_log *log, cop_diag *diag)
{
	cop_replay_limits *l = &log->limits;
	l->candidates = o->candidates != 0 ? o->candidates : shape->candidates;
	l->arms = l->candidates > 0 ? 0 : o->arms != 0 ? o->arms : shape->arms;
	l->values = shape->values;
	set_range(o, shape->low, shape->high, l);
	l->entries = entries_room(o, shape->entries);
	l->dimension = cop_feature_space_dimension(log->space);
	l->dense = cop_feature_space_is_dense(log->space);
	l->known = shape->known > 0 && shape->known < l->dimension ? shape->known : l->dimension;
	l->features_open = cop_replay_is_journal(o) && !shape->all;
	l->candidate_dimension = shape->candidate_columns != 0 ? shape->candidate_columns : l->dimension;
	l->open[COP_REPLAY_SKIP_ACTION] = !shape->whole && o->arms == 0;
	l->open[COP_REPLAY_SKIP_COST] = !shape->whole && !o->has_range;
	l->open[COP_REPLAY_SKIP_CANDIDATES] = !shape->whole && o->candidates == 0;
	l->open[COP_REPLAY_SKIP_FEATURES] = !shape->whole && o->max_nonzeros == 0;
	l->columns_open = !shape->whole && cop_feature_space_is_dense(log->space) && o->columns == NULL;
	if (l->dimension == 0)
		return refuse(o, diag, "no features in it");
	if (l->values && o->arms != 0)
		return refuse(o, diag, "its actions are values, which --arms does not go with");
	if (l->candidates > 0 && o->arms != 0)
		return refuse(o, diag,
		        "its actions are candidates with features of their own, which --arms does not go with");
	if (l->candidates == 0 && l->arms < 2)
		return refuse(o, diag,
		        shape->events == 0 ? "no events in it"
		        : l->arms == 0     ? "no label in it, expected --arms"
		                           : "a single action in it, expected two or --arms");
	return COP_OK;
}

static cop_err open_input(const cop_replay_options *o, cop_replay_log *log, cop_diag *diag)
{
	cop_replay_shape shape = { .whole = true, .high = 1.0 };
	if (o->arms == 0 && o->candidates == 0)
		return refuse(o, diag, "standard input cannot be scanned, expected --arms (or --candidates)");
	if (o->reader.features == COP_READER_FEATURES_DENSE && o->columns == NULL)
		return refuse(o, diag, "standard input cannot be scanned for its columns, expected --columns");
	cop_err err = o->columns != NULL ? cop_replay_columns_read(o->columns, &log->space, diag)
	                                 : cop_reader_options_space_new(&o->reader, false, &log->space, diag);
	return err != COP_OK ? err : set_limits(o, &shape, log, diag);
}

static bool is_enough(const cop_replay_options *o, const cop_replay_shape *shape)
{
	bool arms = o->arms != 0 || shape->candidates > 0 || shape->arms >= 2;
	return arms && shape->labelled > 0;
}

static cop_err open_file(
        const cop_replay_options *o, bool whole, const volatile sig_atomic_t *stop, cop_replay_log *log, cop_diag *diag)
{
	cop_replay_shape shape;
	uint64_t most = whole ? 0 : COP_REPLAY_SCAN_BEGINNING;
	cop_err err = cop_replay_scan(o, most, stop, &log->space, &shape, diag);
	if (err == COP_OK && !shape.whole && !is_enough(o, &shape)) {
		cop_feature_space_free(log->space);
		err = cop_replay_scan(o, 0, stop, &log->space, &shape, diag);
	}
	return err != COP_OK ? err : set_limits(o, &shape, log, diag);
}

/* Names of hashed places, for what will be saved. */
static cop_err keep_names(const cop_replay_options *o, cop_replay_log *log, cop_diag *diag)
{
	if (o->save == NULL)
		return COP_OK;
	cop_err err = cop_feature_space_keep_names(log->space, (size_t)o->names_bytes);
	if (err != COP_OK)
		cop_diag_of(diag, o->path, "names of features: %s", cop_err_text(err));
	return err;
}

cop_err cop_replay_log_open(const cop_replay_options *options, const cop_replay_state *state, bool whole,
        const volatile sig_atomic_t *stop, cop_replay_log *out, cop_diag *diag)
{
	cop_err err = COP_OK;
	const bool input = strcmp(options->path, "-") == 0;
	*out = (cop_replay_log){ .space = NULL };
	if (!input && !cop_stream_can_repeat(options->path) && (state == NULL || options->passes > 1))
		return refuse(options, diag,
		        "it can be read only once, and is scanned first, or read in several passes; expected a file, "
		        "or - for standard input");
	if (state != NULL) {
		out->space = state->space;
		out->space_is_lent = true;
		out->limits = state->limits;
	} else if (input) {
		err = open_input(options, out, diag);
	} else {
		err = open_file(options, whole, stop, out, diag);
	}
	return err == COP_OK ? keep_names(options, out, diag) : err;
}

void cop_replay_log_fini(cop_replay_log *log)
{
	if (!log->space_is_lent)
		cop_feature_space_free(log->space);
	*log = (cop_replay_log){ .space = NULL };
}
