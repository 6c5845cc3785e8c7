#include "replay_open.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/crc32c.h"
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
	if (l->values && o->cache != NULL)
		return refuse(o, diag, "its actions are values, which --cache does not keep");
	if (l->candidates > 0 && o->arms != 0)
		return refuse(o, diag,
		        "its actions are candidates with features of their own, which --arms does not go with");
	if (l->candidates == 0 && l->arms < 2)
		return refuse(o, diag,
		        l->arms == 0 ? "no label in it, expected --arms"
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
	                                 : cop_reader_space_new(&o->reader, false, &log->space, diag);
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

/* ---- the cache ---- */

static uint32_t space_checksum(const cop_replay_state *state)
{
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	cop_feature_space_save(state->space, &bytes);
	uint32_t sum = cop_crc32c(0, bytes.data, bytes.length);
	cop_bytes_fini(&bytes);
	return sum;
}

/* All that changes which events there are, or their rows. */
static bool describe(const cop_replay_options *o, const cop_replay_state *state, char *out, size_t size)
{
	const cop_reader_options *r = &o->reader;
	const cop_event_columns *c = &r->reader.columns;
	char pairs[4 * COP_READER_MOST_PAIRS] = "";
	for (size_t i = 0; i < r->pair_count; i++) {
		strcat(pairs, r->pairs[i]);
		strcat(pairs, " ");
	}
#define OR_NONE(text) ((text) != NULL ? (text) : "-")
	int used = snprintf(out, size,
	        "context %s, action %s, cost %s, probability %s, reward %d, items %s, first action %d, assumed %g, "
	        "lines "
	        "%d, features %d, bits %u, hash all %d, keep '%s', ignore '%s', pairs '%s', skip bad %d, arms %zu, "
	        "candidates %zu, range %.17g %.17g, entries %zu, skip %" PRIu64
	        ", model %s, columns %s, state %08" PRIx32,
	        OR_NONE(c->context), OR_NONE(c->action), OR_NONE(c->cost), OR_NONE(c->probability), c->reward,
	        OR_NONE(c->items), r->reader.action_from_one, r->reader.assumed_probability, (int)r->reader.lines,
	        (int)r->features, r->bits, r->hash_all, r->keep, r->ignore, pairs, r->skip, o->arms, o->candidates,
	        o->has_range ? o->low : 0.0, o->has_range ? o->high : 0.0, o->max_nonzeros, o->skip, OR_NONE(o->model),
	        OR_NONE(o->columns), state != NULL ? space_checksum(state) : 0);
#undef OR_NONE
	return used > 0 && (size_t)used < size;
}

static cop_err copy_space(const cop_feature_space *space, cop_feature_space **out, cop_diag *diag)
{
	cop_bytes bytes;
	cop_cursor cursor;
	cop_bytes_init(&bytes);
	cop_feature_space_save(space, &bytes);
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	cop_err err = bytes.err != COP_OK ? bytes.err : cop_feature_space_load(&cursor, out);
	cop_bytes_fini(&bytes);
	if (err != COP_OK)
		cop_diag_message(diag, "the cache's features: %s", cop_err_text(err));
	else if (cop_feature_space_is_dense(*out))
		cop_feature_space_freeze(*out);
	return err;
}

/* The shape that a scan of the whole log would have found. */
static cop_err adopt(const cop_replay_options *o, bool has_state, cop_replay_log *log, cop_diag *diag)
{
	const cop_event_cache_summary *s = cop_event_cache_get_summary(log->cache);
	const cop_feature_space *space = cop_event_cache_space(log->cache);
	log->skipped = s->skipped;
	if (has_state || space == NULL)
		return has_state ? COP_OK : COP_EFORMAT;
	bool unit = s->cost_low >= 0.0 && s->cost_high <= 1.0;
	cop_replay_shape shape = {
		.whole = true,
		.events = s->events,
		.labelled = s->labelled,
		.arms = (size_t)s->arms,
		.candidates = (size_t)s->candidates,
		.low = unit ? 0.0 : s->cost_low,
		.high = unit ? 1.0 : s->cost_high,
		.entries = (size_t)s->entries,
	};
	cop_err err = copy_space(space, &log->space, diag);
	return err != COP_OK ? err : set_limits(o, &shape, log, diag);
}

/* *cached: events come from the cache. A file there that is no cache at all is not overwritten. */
static cop_err open_cache(
        const cop_replay_options *o, const cop_replay_state *state, cop_replay_log *log, bool *cached, cop_diag *diag)
{
	char description[sizeof log->source.options];
	*cached = false;
	if (!describe(o, state, description, sizeof description))
		return refuse(o, diag, "the options are too long for --cache to remember");
	cop_err err = cop_event_cache_source_set(&log->source, o->path, o->reader.format, description, diag);
	if (err != COP_OK)
		return err;
	cop_diag found = { 0 };
	const char *difference = NULL;
	err = access(o->cache, F_OK) != 0 ? COP_ENOTFOUND : cop_event_cache_open(o->cache, &log->cache, &found);
	if (err == COP_OK)
		difference = cop_event_cache_difference(&cop_event_cache_get_summary(log->cache)->source, &log->source);
	if (err == COP_OK && difference == NULL) {
		*cached = true;
		return adopt(o, state != NULL, log, diag);
	}
	cop_event_cache_free(log->cache);
	log->cache = NULL;
	if (difference != NULL)
		cop_command_complain(COP_REPLAY_NAME, "%s: made anew: %s", o->cache, difference);
	if (err != COP_OK && err != COP_ENOTFOUND) {
		*diag = found;
		return err;
	}
	return cop_event_cache_create(o->cache, &log->writer, diag);
}

/* Names of hashed places, for what will be saved. */
static cop_err keep_names(const cop_replay_options *o, bool cached, cop_replay_log *log, cop_diag *diag)
{
	if (o->save == NULL && o->cache == NULL)
		return COP_OK;
	size_t bytes = (size_t)o->names_bytes;
	bool own = cached && cop_feature_space_names(log->space) == NULL && !cop_feature_space_is_dense(log->space);
	cop_err err = own ? cop_event_cache_give_names(log->cache, bytes, log->space)
	                  : cop_feature_space_keep_names(log->space, bytes);
	if (err != COP_OK)
		cop_diag_of(diag, o->path, "names of features: %s", cop_err_text(err));
	return err;
}

static cop_err open_log(const cop_replay_options *options, const cop_replay_state *state, bool whole,
        const volatile sig_atomic_t *stop, cop_replay_log *out, bool *cached, cop_diag *diag)
{
	cop_err err = COP_OK;
	if (options->cache != NULL)
		err = open_cache(options, state, out, cached, diag);
	if (state != NULL) {
		out->space = state->space;
		out->space_is_lent = true;
		out->limits = state->limits;
		return err;
	}
	if (err != COP_OK || *cached)
		return err;
	return strcmp(options->path, "-") == 0 ? open_input(options, out, diag)
	                                       : open_file(options, whole, stop, out, diag);
}

cop_err cop_replay_log_open(const cop_replay_options *options, const cop_replay_state *state, bool whole,
        const volatile sig_atomic_t *stop, cop_replay_log *out, cop_diag *diag)
{
	bool cached = false;
	*out = (cop_replay_log){ .space = NULL };
	cop_err err = open_log(options, state, whole, stop, out, &cached, diag);
	return err == COP_OK ? keep_names(options, cached, out, diag) : err;
}

cop_err cop_replay_log_keep(cop_replay_log *log, uint64_t skipped, cop_diag *diag)
{
	return cop_event_cache_finish(&log->writer, &log->source, skipped, log->space, diag);
}

void cop_replay_log_fini(cop_replay_log *log)
{
	cop_event_cache_abandon(log->writer);
	cop_event_cache_free(log->cache);
	if (!log->space_is_lent)
		cop_feature_space_free(log->space);
	*log = (cop_replay_log){ .space = NULL };
}
