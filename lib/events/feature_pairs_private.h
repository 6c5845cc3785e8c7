/* events/feature_pairs_private.h: hashed features as entries of a sparse row, and products of two of them.
 *
 * A pair of namespaces (a, b), by first character, makes every feature of a times every feature of b, at the place
 * (hash of a's * 16777619) xor (hash of b's); (a, a) makes each feature times itself and those behind it. ':' stands
 * for every namespace whose first character is printable; a pair met twice, in either order, is made once. As Vowpal
 * Wabbit does it. One thread per object. */
#ifndef COP_EVENTS_FEATURE_PAIRS_PRIVATE_H
#define COP_EVENTS_FEATURE_PAIRS_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "events/place_names.h"

typedef struct cop_feature_entry {
	uint32_t place;
	float value;
} cop_feature_entry;

typedef struct cop_feature_entries {
	cop_feature_entry *entry; /* count of them */
	cop_feature_entry *spare; /* as much room again, for sorting */
	size_t count, capacity;
} cop_feature_entries;

/* Room for one more. COP_EFULL: `limit` are there. COP_ENOMEM. */
COP_CHECK cop_err cop_feature_entries_grow(cop_feature_entries *entries, size_t limit);
/* Room for so many in all. COP_ENOMEM. */
COP_CHECK cop_err cop_feature_entries_reserve(cop_feature_entries *entries, size_t capacity);
/* By place, below 2^bits; equal places stay in their order. */
void cop_feature_entries_sort(cop_feature_entries *entries, unsigned bits);
void cop_feature_entries_fini(cop_feature_entries *entries);

/* A feature that may be part of pairs. */
typedef struct cop_feature_part {
	uint32_t hash; /* not masked */
	float value;
	uint8_t group; /* first character of the namespace */
	bool shared;   /* set among the sorted ones: pairs of two shared ones are not made */
} cop_feature_part;

typedef struct cop_feature_parts {
	cop_feature_part *part;   /* count of them; the first `shared` are the shared ones */
	cop_feature_part *sorted; /* by group, shared ones last in each */
	size_t count, shared, capacity;
	cop_place_names *names; /* borrowed: gets names of some products; NULL: of none */
	unsigned wait;          /* products until the next one that gets its name */
} cop_feature_parts;

COP_CHECK cop_err cop_feature_parts_add(cop_feature_parts *parts, const cop_feature_part *part, size_t limit);
/* Room for so many in all. COP_ENOMEM. */
COP_CHECK cop_err cop_feature_parts_reserve(cop_feature_parts *parts, size_t capacity);
void cop_feature_parts_fini(cop_feature_parts *parts);

typedef struct cop_feature_pair {
	uint8_t first, second;
} cop_feature_pair;

/* Adds the products to entries (places masked). *made: how many. COP_EFULL: more than `limit` entries.
 * COP_ENONFINITE, COP_ENOMEM. Sorts parts->sorted. */
COP_CHECK cop_err cop_feature_pairs_make(const cop_feature_pair *pairs, size_t pair_count, cop_feature_parts *parts,
        uint32_t mask, cop_feature_entries *entries, size_t limit, size_t *made);

#endif
