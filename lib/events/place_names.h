/* events/place_names.h: the names of the features of which a hashed row has the places alone.
 *
 * A table of bounded size: when it is full, the least used quarter is given up, and of meetings with names that are not
 * in it one of thirty-two counts from then on, so that names that come once do not push each other out. All names of
 * the first rows are met, later those of one row in thirty-two, and in the others those of places that have no name
 * yet: `wants` finds that in a few instructions. Several names of one place stand side by side. What is kept depends on
 * the calls alone. Names are as contexts may spell them: NAME, NAMESPACE^NAME, NAMESPACE^NAME:TEXT; products are
 * FIRST*SECOND. One thread per table. */
#ifndef COP_EVENTS_PLACE_NAMES_H
#define COP_EVENTS_PLACE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"

#define COP_PLACE_NAMES_BYTES ((size_t)1 << 20) /* a usual bound */
#define COP_PLACE_NAMES_LEAST ((size_t)1 << 14) /* the smallest one */
#define COP_PLACE_NAMES_LONG  255               /* bytes of a name; a longer one is cut and ends with "..." */
#define COP_PLACE_NAMES_ROOM  640               /* for the names of one place */

/* Its fields are place_names.c's own, but for what the inline function reads. */
typedef struct cop_place_names {
	bool all; /* the row under way: every name is met */
	bool insisting;
	uint32_t known_mask;
	uint64_t *known; /* bits of places that have a name, modulo their number */
	uint32_t mask;   /* of places */
	uint32_t *head;  /* chains of entries, heads of them */
	size_t heads;
	uint8_t *arena; /* entries from the front, their texts from the back */
	size_t arena_size, count, text;
	size_t bytes;
	uint64_t rows, given_up;
	uint32_t draw;
	uint32_t passing; /* unknown names that are passed by, before the next one is met */
} cop_place_names;

/* Takes at most `bytes` in all, which are had when the first name comes; fewer than COP_PLACE_NAMES_LEAST are that
 * many. Places are below 2^bits. COP_ENOMEM: *out is NULL. Caller frees with cop_place_names_free. */
COP_CHECK cop_err cop_place_names_new(size_t bytes, unsigned bits, cop_place_names **out);
void cop_place_names_free(cop_place_names *names);

/* Names that are kept, the bytes that they take (without the table's own), the bound, and names given up so far. */
size_t cop_place_names_count(const cop_place_names *names);
size_t cop_place_names_used(const cop_place_names *names);
size_t cop_place_names_bound(const cop_place_names *names);
uint64_t cop_place_names_given_up(const cop_place_names *names);

/* A row begins. */
void cop_place_names_row(cop_place_names *names);
/* While on: every name of every row is met and kept. For rows that are to be explained. */
void cop_place_names_insist(cop_place_names *names, bool on);

/* Whether the name of a feature at the place, which was met, is to be given to meet. */
static inline bool cop_place_names_wants(cop_place_names *names, uint32_t place)
{
	if (names->all)
		return true;
	if ((names->known[(place & names->known_mask) / 64] >> place % 64 & 1) != 0)
		return false;
	if (names->passing == 0)
		return true;
	names->passing--;
	return false;
}

typedef struct cop_place_name {
	const char *space, *name, *text; /* name NULL: it has none, and `number` is its ordinal; text NULL: none */
	size_t space_length, name_length, text_length;
	uint64_t number;
} cop_place_name;

/* A feature of that hash (its place is the hash modulo 2^bits) was met. Memory that is short costs the name. */
void cop_place_names_meet(cop_place_names *names, uint32_t hash, const cop_place_name *name);
/* A number below `below`, a power of two, of the table's own sequence: by which callers meet only some of many names.
 */
unsigned cop_place_names_draw(cop_place_names *names, unsigned below);
/* The same of a product of two features, by their hashes; nothing where one of them has no name. */
void cop_place_names_meet_product(cop_place_names *names, uint32_t hash, uint32_t first, uint32_t second);

/* The names of a place, the most used first: "A", or "A | B"; control characters and what is not UTF-8 as '?'. out:
 * size bytes, terminated; what does not fit is left out behind "...". Its length, 0: the place has no name. names NULL:
 * none.
 */
size_t cop_place_names_text(const cop_place_names *names, size_t place, char *out, size_t size);
/* The place of the i-th name (below count), in the order in which they came. */
size_t cop_place_names_place(const cop_place_names *names, size_t i);
/* How often the names of a place were met, about: counts are sampled, and halved when names are given up. */
uint64_t cop_place_names_uses(const cop_place_names *names, size_t place);

/* All of it into a file, and back under that bound. COP_EFORMAT: damaged, or of another number of places. COP_ENOMEM.
 */
void cop_place_names_save(const cop_place_names *names, cop_bytes *bytes);
COP_CHECK cop_err cop_place_names_load(cop_cursor *cursor, size_t bytes, unsigned bits, cop_place_names **out);

#endif
