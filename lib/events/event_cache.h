/* events/event_cache.h: a bandit log that was parsed once, in a file that is read back at the speed of memory.
 *
 * Layout: 64 bytes ("COPCACHE", version, where the summary is, checksum); blocks of events (events/event_block.h), each
 * with length and CRC-32C; at the end the summary: what the log was, how it was read, what was met, the feature
 * space and the names of its places. The file is written beside its final place and renamed there, so one that exists
 * is whole unless something cut or damaged it, which is told; then deleting it and parsing again is the way out, as
 * every message says. A cache is good for one machine's byte order and is no archive. One thread per object. */
#ifndef COP_EVENTS_EVENT_CACHE_H
#define COP_EVENTS_EVENT_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "events/event_block.h"
#include "events/event_reader.h"
#include "events/feature_space.h"

#define COP_EVENT_CACHE_VERSION 2 /* 1 has no names of places */

/* What it was made from, to tell whether it is still that. */
typedef struct cop_event_cache_source {
	char name[1024];   /* the log as it was named */
	uint64_t size;     /* of the file, in bytes; 0 for what has none */
	uint64_t modified; /* nanoseconds since 1970; 0 for what has none */
	char format[16];
	char options[1024]; /* how it was read, in the caller's words */
} cop_event_cache_source;

/* Name, size and time of the file; "-" and folders have neither size nor time. COP_EINVAL: name, format or options are
 * too long. COP_ENOTFOUND, COP_EIO. */
COP_CHECK cop_err cop_event_cache_source_set(
        cop_event_cache_source *source, const char *path, const char *format, const char *options, cop_diag *diag);
/* NULL when a cache of `made` is good for `wanted`; else what differs, for a message: "the log has changed" ... */
const char *cop_event_cache_difference(const cop_event_cache_source *made, const cop_event_cache_source *wanted);

typedef struct cop_event_cache_summary {
	cop_event_cache_source source;
	uint64_t events, labelled;
	uint64_t skipped;           /* bad events of the log, the caller's count */
	uint64_t arms;              /* largest action + 1, or length of a mask, of events without candidates */
	uint64_t candidates;        /* most of one event */
	uint64_t entries;           /* most of one row */
	uint64_t dimension;         /* largest of a row */
	double cost_low, cost_high; /* of the labelled; 0 when there are none */
} cop_event_cache_summary;

/* ---- making one ---- */

typedef struct cop_event_cache_writer cop_event_cache_writer;

/* A file beside `path`, which comes to be only at the end. Caller ends with finish or abandon; on error *out is NULL.
 * COP_EIO, COP_ENOMEM. */
COP_CHECK cop_err cop_event_cache_create(const char *path, cop_event_cache_writer **out, cop_diag *diag);
/* Adds an event (copied). COP_EINVAL, COP_EFULL as cop_event_block_add, COP_EIO, COP_ENOMEM. */
COP_CHECK cop_err cop_event_cache_add(cop_event_cache_writer *writer, const cop_logged_event *event, cop_diag *diag);
/* Adds all of a block at once. */
COP_CHECK cop_err cop_event_cache_put(cop_event_cache_writer *writer, const cop_event_block *block, cop_diag *diag);
/* What was added so far; source and skipped are zero. Borrowed. */
const cop_event_cache_summary *cop_event_cache_added(const cop_event_cache_writer *writer);
/* Writes the rest and gives the file its name. The writer is taken in every case; on error no file is left. space: of
 * the rows; NULL allowed. COP_EIO, COP_ENOMEM. */
COP_CHECK cop_err cop_event_cache_finish(cop_event_cache_writer **writer, const cop_event_cache_source *source,
        uint64_t skipped, const cop_feature_space *space, cop_diag *diag);
/* Leaves no file. NULL is allowed. */
void cop_event_cache_abandon(cop_event_cache_writer *writer);

/* ---- reading it ---- */

typedef struct cop_event_cache cop_event_cache;

/* Reads all but the events. Caller frees with cop_event_cache_free; on error *out is NULL and *diag filled.
 * COP_ENOTFOUND; COP_EVERSION: of a newer coppice; COP_EFORMAT: no cache, cut or damaged; COP_EIO, COP_ENOMEM. */
COP_CHECK cop_err cop_event_cache_open(const char *path, cop_event_cache **out, cop_diag *diag);
void cop_event_cache_free(cop_event_cache *cache);
const cop_event_cache_summary *cop_event_cache_get_summary(const cop_event_cache *cache);
/* Of the rows; NULL when none was given. Borrowed. */
const cop_feature_space *cop_event_cache_space(const cop_event_cache *cache);
/* The names that the space kept of its places, in so many bytes, to the space of the same places; nothing where there
 * are none. COP_EFORMAT, COP_ENOMEM. */
COP_CHECK cop_err cop_event_cache_give_names(const cop_event_cache *cache, size_t bytes, cop_feature_space *space);
/* The next block, into the caller's. COP_EEND; COP_EFORMAT: damaged; COP_EIO, COP_ENOMEM. */
COP_CHECK cop_err cop_event_cache_read(cop_event_cache *cache, cop_event_block *block, cop_diag *diag);
/* The first block is next again. */
void cop_event_cache_rewind(cop_event_cache *cache);
/* The same events one by one, through events/event_reader.h; a damaged block is the end (COP_EIO). The reader is the
 * cache itself: freeing either frees both. */
cop_event_reader *cop_event_cache_reader(cop_event_cache *cache);

#endif
