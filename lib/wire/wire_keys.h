/* wire/wire_keys.h: the walk over a message's map, and the fields that many messages share.
 *
 * A walk has the message's keys in a table of names; what is not in the table is skipped, what comes twice is
 * refused. Shared by wire's decoders and of use for further verbs. One thread per walk. */
#ifndef COP_WIRE_WIRE_KEYS_H
#define COP_WIRE_WIRE_KEYS_H

#include "events/event_id.h"
#include "wire/wire_code.h"
#include "wire/wire_cursor.h"

/* Encoded bytes that a `seq` may have. */
#define COP_WIRE_SEQ_MAX 64
/* Bytes that a `src` may have. */
#define COP_WIRE_SOURCE_MAX 64

/* A request's `seq` as it was encoded, to be given back unchanged. length 0: none. */
typedef struct cop_wire_seq {
	uint8_t length;
	uint8_t bytes[COP_WIRE_SEQ_MAX];
} cop_wire_seq;

/* Who sent a message and the how-manieth of its messages this is. */
typedef struct cop_wire_source {
	const char *name; /* borrowed from the message, not terminated; NULL when there is no `src` */
	size_t length;    /* 1 to COP_WIRE_SOURCE_MAX */
	uint64_t n;
	bool has_n;
} cop_wire_source;

typedef struct cop_wire_keys {
	cop_wire_cursor *cursor;
	const char *const *names; /* kept */
	unsigned count;           /* names, at most 64 */
	unsigned next;            /* the name behind the last one that came: messages of one sender keep their order */
	uint64_t seen;            /* bit i: names[i] came */
	size_t left;              /* pairs still to read */
	cop_wire_fault *fault;
} cop_wire_keys;

/* Reads the map's header. cursor and names are kept during the walk, fault (NULL allowed) as well. All functions below:
 * COP_EFORMAT with the fault filled (bad_request) when the message is refused. */
COP_CHECK cop_err cop_wire_keys_open(
        cop_wire_keys *keys, cop_wire_cursor *cursor, const char *const *names, unsigned count, cop_wire_fault *fault);
/* The next known key: its number in *which, the cursor on its value, which the caller must read. At the end of the map
 * COP_EEND, after checking that nothing follows. */
COP_CHECK cop_err cop_wire_keys_next(cop_wire_keys *keys, unsigned *which);
/* That the names of the bits in `need` all came; otherwise names the first that did not. */
COP_CHECK cop_err cop_wire_keys_need(const cop_wire_keys *keys, uint64_t need);

/* Whether body is a map that has the key; what stands behind it is not looked at. */
bool cop_wire_keys_has(const void *body, size_t length, const char *name);

/* Fills the fault for a value that a cursor call refused with `err`: "path: got what, expected what". A malformed
 * message is bad_request, everything else `code`. */
COP_CHECK cop_err cop_wire_refuse(cop_wire_fault *fault, cop_wire_code code, cop_err err, const cop_wire_cursor *cursor,
        const char *path, const char *expected);

COP_CHECK cop_err cop_wire_read_id(cop_wire_cursor *cursor, cop_event_id *out, cop_wire_fault *fault);
/* The same of another key. */
COP_CHECK cop_err cop_wire_keys_read_id(
        cop_wire_cursor *cursor, const char *name, cop_event_id *out, cop_wire_fault *fault);
COP_CHECK cop_err cop_wire_read_seq(cop_wire_cursor *cursor, cop_wire_seq *out, cop_wire_fault *fault);
COP_CHECK cop_err cop_wire_read_src(cop_wire_cursor *cursor, cop_wire_source *out, cop_wire_fault *fault);
COP_CHECK cop_err cop_wire_read_n(cop_wire_cursor *cursor, cop_wire_source *out, cop_wire_fault *fault);

/* A request that carries nothing but `seq` (status, checkpoint, reload); an empty body counts as an empty map. */
COP_CHECK cop_err cop_wire_plain_decode(const void *body, size_t length, cop_wire_seq *seq, cop_wire_fault *fault);

/* src and n of a message that could not be decoded, or was refused for its content: whatever of the two can be read is
 * filled. Never fails. */
void cop_wire_read_source(const void *body, size_t length, cop_wire_source *out);

/* id and seq of a message that could not be decoded, so that the error reply can carry them: whatever of the two can
 * be read is filled, by the first if it comes twice; the other is left empty (kind 0, length 0). Never fails. */
void cop_wire_envelope(const void *body, size_t length, cop_event_id *id, cop_wire_seq *seq);

#endif
