/* data/feature_space.h: named features to places in a row.
 *
 * A feature belongs to a namespace ("" is the default one) and has a name and a value. Two ways to find its place:
 *   hashed  place = hash(namespace, name) modulo 2^bits (data/hash.h), sparse rows; entries that fall together add up.
 *           Pairs (-q) multiply: place = (place1 * 16777619 ^ place2) of the unmasked hashes, modulo 2^bits, as Vowpal
 *           Wabbit computes it;
 *   dense   every name met gets a column of its own, in order of appearance, while the space is growing; rows are
 * dense. For logs whose events all have (nearly) the same features. Frozen, a new name is an error of the caller's
 *           choosing: it is left out and counted. Names must then come in the usual order to be found fast; any order
 *           is right.
 * Namespaces are kept or ignored by their first character, as Vowpal Wabbit does. No constant feature is added:
 * learners have one of their own. One thread per space. */
#ifndef COP_DATA_FEATURE_SPACE_H
#define COP_DATA_FEATURE_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"
#include "linalg/row.h"

#define COP_FEATURE_SPACE_BITS        18 /* Vowpal Wabbit's default */
#define COP_FEATURE_SPACE_MAX_BITS    30
#define COP_FEATURE_SPACE_MAX_DENSE   65536      /* columns */
#define COP_FEATURE_SPACE_MAX_ENTRIES (1u << 20) /* of a row, pairs included */

typedef struct cop_feature_space cop_feature_space;

typedef struct cop_feature_space_settings {
	bool dense;
	unsigned bits;      /* hashed; 0: COP_FEATURE_SPACE_BITS */
	bool hash_all;      /* names of digits are hashed too (--hash all) */
	const char *keep;   /* first characters of the namespaces to keep, ':' all others than...; NULL: all */
	const char *ignore; /* first characters of the namespaces to leave out; NULL: none. ' ' is the default one */
	const char *const *pairs; /* "ab": namespaces that multiply, ':' any; copied */
	size_t pair_count;
} cop_feature_space_settings;

/* COP_EINVAL with a message in *diag: bits, a pair that is not two characters, pairs in a dense space. COP_ENOMEM. */
COP_CHECK cop_err cop_feature_space_new(
        const cop_feature_space_settings *settings, cop_feature_space **out, cop_diag *diag);
void cop_feature_space_free(cop_feature_space *space);

/* Dimension of rows: 2^bits, or the columns so far. */
size_t cop_feature_space_dimension(const cop_feature_space *space);
bool cop_feature_space_is_dense(const cop_feature_space *space);
/* Dense: no more columns; rows from now on have all of them, and 0 where an event has no such feature. */
void cop_feature_space_freeze(cop_feature_space *space);
/* Dense, frozen: features met since that had no column. */
uint64_t cop_feature_space_dropped(const cop_feature_space *space);
/* Dense: "namespace^name" of a column (plain name in the default namespace), borrowed. */
const char *cop_feature_space_column(const cop_feature_space *space, size_t column);

/* ---- a row: begin, then namespaces with their features, then end ---- */

void cop_feature_space_begin(cop_feature_space *space);
/* All features that follow belong to it (name borrowed), their values times `scale`. */
void cop_feature_space_namespace(cop_feature_space *space, const char *name, size_t length, double scale);
/* A feature. Zero values count (Vowpal Wabbit drops them from rows but not from...: see feature_space.c). */
void cop_feature_space_put(cop_feature_space *space, const char *name, size_t length, double value);
/* The same for a feature without a name, `ordinal` from 0 in its namespace: its hash is the namespace's plus ordinal.
 */
void cop_feature_space_put_unnamed(cop_feature_space *space, size_t ordinal, double value);
/* The row, ascending and merged, pairs made: views into room that the caller lends (several rows of one event live in
 * one room). features: how many were put, pairs included, without a constant. COP_EFULL: more than
 * COP_FEATURE_SPACE_MAX_ENTRIES entries or columns. COP_ENONFINITE: a value, or a sum or product, is beyond float.
 * COP_ENOMEM. */
typedef struct cop_feature_room {
	float *value; /* grown as needed; freed by cop_feature_room_fini */
	uint32_t *index;
	size_t used, capacity;
} cop_feature_room;
COP_CHECK cop_err cop_feature_space_end(
        cop_feature_space *space, cop_feature_room *room, size_t *start, size_t *count, size_t *features);
/* The row that lies at start; valid until the room grows or is cleared. */
void cop_feature_space_row(
        const cop_feature_space *space, const cop_feature_room *room, size_t start, size_t count, cop_row *out);
void cop_feature_room_clear(cop_feature_room *room);
void cop_feature_room_fini(cop_feature_room *room);

/* A dense space's columns (settings and names) into a file, and back. COP_EFORMAT, COP_ENOMEM. */
void cop_feature_space_save(const cop_feature_space *space, cop_bytes *bytes);
COP_CHECK cop_err cop_feature_space_load(cop_cursor *cursor, cop_feature_space **out);

#endif
