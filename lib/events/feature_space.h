/* events/feature_space.h: named features to places in a row.
 *
 * A feature belongs to a namespace ("" is the default one) and has a name and a value. Two ways to find its place:
 *   hashed  place = hash(namespace, name) modulo 2^bits (base/hash.h), sparse rows; entries that fall together add up.
 *           Pairs (-q) multiply: place = (place1 * 16777619 ^ place2) of the unmasked hashes, modulo 2^bits, as Vowpal
 *           Wabbit computes it;
 *   dense   every name met gets a column of its own, in order of appearance, while the space is growing; rows are
 *           dense, 0 where an event lacks the feature. For logs whose events all have (nearly) the same features.
 *           Frozen, a new name is left out and counted.
 * Dense is fastest when names come in the order of the row before (events/name_order.h); any order is right.
 * Namespaces are kept or ignored by their first character, as Vowpal Wabbit does. No constant feature is added:
 * learners have one of their own. One thread per space. */
#ifndef COP_EVENTS_FEATURE_SPACE_H
#define COP_EVENTS_FEATURE_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"
#include "events/name_order.h"
#include "events/place_names.h"
#include "linalg/row.h"

#define COP_FEATURE_SPACE_BITS        18 /* Vowpal Wabbit's default */
#define COP_FEATURE_SPACE_MAX_BITS    30
#define COP_FEATURE_SPACE_MAX_DENSE   65536      /* columns */
#define COP_FEATURE_SPACE_MAX_ENTRIES (1u << 20) /* of a row, pairs included */
#define COP_FEATURE_ROOM_MAX          (1u << 26) /* entries of all rows in a room */

typedef struct cop_feature_space cop_feature_space;

typedef struct cop_feature_space_settings {
	bool dense;
	unsigned bits;            /* hashed; 0: COP_FEATURE_SPACE_BITS */
	bool hash_all;            /* names of digits are hashed too (--hash all) */
	const char *keep;         /* first characters of the namespaces to keep; NULL: all */
	const char *ignore;       /* of those to leave out nevertheless; NULL: none. ' ' is the default namespace */
	const char *const *pairs; /* "ab": namespaces that multiply, by first character, ':' any; copied */
	size_t pair_count;
} cop_feature_space_settings;

/* COP_EINVAL with a message in *diag: bits, a pair that is not two characters, pairs in a dense space. COP_ENOMEM. */
COP_CHECK cop_err cop_feature_space_new(
        const cop_feature_space_settings *settings, cop_feature_space **out, cop_diag *diag);
void cop_feature_space_free(cop_feature_space *space);

/* Dimension of rows: 2^bits, or the columns so far. */
size_t cop_feature_space_dimension(const cop_feature_space *space);
bool cop_feature_space_is_dense(const cop_feature_space *space);
/* Dense: no more columns. */
void cop_feature_space_freeze(cop_feature_space *space);
/* Dense: in rows from here on, columns from `known` on are NaN unless a value comes for them; 0: none are. Not saved.
 */
void cop_feature_space_set_known(cop_feature_space *space, size_t known);
/* Dense, frozen: features met since that had no column. */
uint64_t cop_feature_space_dropped(const cop_feature_space *space);
/* Hashed, names of digits are numbers, all of the default namespace count, and nothing is multiplied: a name without a
 * namespace is at its hash (base/hash.h), and that is all that there is to it. */
bool cop_feature_space_is_plain(const cop_feature_space *space);
bool cop_feature_space_has_pairs(const cop_feature_space *space);
/* Takes the memory that hashed rows of up to so many features need now (pairs excepted). COP_ENOMEM. */
COP_CHECK cop_err cop_feature_space_reserve(cop_feature_space *space, size_t entries);
/* Hashed: names of the features that are put from here on are kept, in at most so many bytes (events/place_names.h); 0:
 * no longer, and those that are there are forgotten. Those there are stay when the bound changes. Dense: nothing.
 * COP_ENOMEM: as it was. */
COP_CHECK cop_err cop_feature_space_keep_names(cop_feature_space *space, size_t bytes);
/* The same with names from a file, which are taken (*names NULL afterwards); its places must be the space's. */
void cop_feature_space_take_names(cop_feature_space *space, cop_place_names **names);
/* NULL: none are kept. For those, too, who hash names of plain spaces themselves. */
cop_place_names *cop_feature_space_names(const cop_feature_space *space);
/* Dense: the column of a name; SIZE_MAX: there is none. */
size_t cop_feature_space_find(const cop_feature_space *space, const char *namespace, size_t namespace_length,
        const char *name, size_t length);
/* Dense: "namespace^name" of a column (plain name in the default namespace), borrowed. */
const char *cop_feature_space_column(const cop_feature_space *space, size_t column);

/* ---- a row: begin, then namespaces with their features, then end ---- */

/* The first row of an event: the only one, or what its candidates share. */
void cop_feature_space_begin(cop_feature_space *space);
/* A candidate of the event that begin (and end) started: pairs are made of its features with each other and with the
 * shared ones; those of shared features alone are in the shared row. */
void cop_feature_space_begin_candidate(cop_feature_space *space);
/* All features that follow belong to it, their values times `scale`; its name must stay until the next one, or the
 * row's end. A row begins in the default one. */
void cop_feature_space_namespace(cop_feature_space *space, const char *name, size_t length, double scale);
/* A feature. Vowpal Wabbit leaves out those whose value is zero: they are not counted, and stand in no sparse row. */
void cop_feature_space_put(cop_feature_space *space, const char *name, size_t length, double value);
/* The same for a feature without a name, `ordinal` from 0 in its namespace: its hash is the namespace's plus ordinal;
 * its column's name is the ordinal. */
void cop_feature_space_put_unnamed(cop_feature_space *space, size_t ordinal, double value);
/* A feature whose value is a text: 1 at the hash of the text with the name's hash as seed; its column is "name:text".
 */
void cop_feature_space_put_text(
        cop_feature_space *space, const char *name, size_t length, const char *text, size_t text_length);
/* A value for a place itself (below the dimension), whatever its name; it is no part of pairs, and no namespace's scale
 * counts. */
void cop_feature_space_put_place(cop_feature_space *space, size_t place, double value);
/* Of the row under way: features put so far that are not zero, and the first failure, which end would return. */
size_t cop_feature_space_features(const cop_feature_space *space);
COP_CHECK cop_err cop_feature_space_failure(const cop_feature_space *space);
/* For readers that compare names in place; valid from begin to end. */
cop_name_order *cop_feature_space_lane(cop_feature_space *space);

/* Rows of one event lie in one room. All zero is an empty one too. */
typedef struct cop_feature_room {
	float *value; /* grown as needed; freed by cop_feature_room_fini */
	uint32_t *index;
	size_t used, capacity;
} cop_feature_room;
typedef struct cop_feature_span {
	size_t start, count; /* in a room */
} cop_feature_span;

/* The row into the room: ascending and merged, pairs made. features: how many were put, those of value zero left out,
 * pairs included, without a constant. COP_EFULL: more than COP_FEATURE_SPACE_MAX_ENTRIES entries of a row,
 * COP_FEATURE_SPACE_MAX_DENSE columns, COP_FEATURE_ROOM_MAX entries of the room or COP_NAME_TABLE_MAX bytes of names.
 * COP_ENONFINITE: a value, or a sum or product, is beyond float. COP_ENOMEM. After an error the event is abandoned. */
COP_CHECK cop_err cop_feature_space_end(
        cop_feature_space *space, cop_feature_room *room, cop_feature_span *span, size_t *features);
/* Forgets the event that begin started last, and the columns that it brought. */
void cop_feature_space_abandon(cop_feature_space *space);
/* Dense, growing: makes all rows of an event (`count` spans, in order, all that the room holds) as long as the last
 * one; to call before the rows are used. COP_EFULL, COP_ENOMEM. */
COP_CHECK cop_err cop_feature_space_widen(
        const cop_feature_space *space, cop_feature_room *room, cop_feature_span *span, size_t count);
/* The row as a view; valid until the room grows or is cleared. */
void cop_feature_space_row(
        const cop_feature_space *space, const cop_feature_room *room, const cop_feature_span *span, cop_row *out);
void cop_feature_room_clear(cop_feature_room *room);
void cop_feature_room_fini(cop_feature_room *room);

/* Settings and columns into a file, and back. COP_EFORMAT, COP_ENOMEM. */
void cop_feature_space_save(const cop_feature_space *space, cop_bytes *bytes);
COP_CHECK cop_err cop_feature_space_load(cop_cursor *cursor, cop_feature_space **out);

/* Dense: these names become columns, in this order, behind those that there are, and then there are no more. A name is
 * "namespace^feature", or a feature of the default namespace; one that stands twice is one column. COP_ENOMEM. */
COP_CHECK cop_err cop_feature_space_add_columns(cop_feature_space *space, const char *const *names, size_t count);

#endif
