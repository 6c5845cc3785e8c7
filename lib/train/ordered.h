/* train/ordered.h: the values of a feature over some rows in ascending order: the way of everything that looks for the
 * best threshold.
 *
 * A pair holds a value's key in its upper 32 bits and the place of the row, among those looked at, in the lower ones.
 * Keys are ordered as the values are, and -0 has the key of 0. Distinct objects on distinct threads. */
#ifndef COP_TRAIN_ORDERED_H
#define COP_TRAIN_ORDERED_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "table/dataset.h"

#define COP_ORDERED_ZERO UINT32_C(0x80000000) /* the key of 0 */

static inline uint32_t cop_ordered_key(float x)
{
	uint32_t bits;
	x += 0.0F;
	memcpy(&bits, &x, sizeof bits);
	return (bits & COP_ORDERED_ZERO) != 0 ? ~bits : bits | COP_ORDERED_ZERO;
}

static inline float cop_ordered_value(uint32_t key)
{
	float x;
	key = (key & COP_ORDERED_ZERO) != 0 ? key & ~COP_ORDERED_ZERO : ~key;
	memcpy(&x, &key, sizeof x);
	return x;
}

static inline uint64_t cop_ordered_pair(uint32_t key, size_t place) { return (uint64_t)key << 32 | (uint32_t)place; }
static inline uint32_t cop_ordered_key_of(uint64_t pair) { return (uint32_t)(pair >> 32); }
static inline uint32_t cop_ordered_place_of(uint64_t pair) { return (uint32_t)pair; }

/* The float between two values, lo < hi, with lo < result <= hi: midway, where floats are dense enough. */
float cop_ordered_between(float lo, float hi);

/* Sorts n pairs by key, stably; spare has room for as many. Returns the one of the two that holds the result; the
 * other one is overwritten. Linear in n. */
uint64_t *cop_ordered_sort(size_t n, uint64_t *pair, uint64_t *spare);

/* Pairs of a sparse dataset's rows, feature by feature; values that are 0 are left out. */
typedef struct cop_ordered_sparse {
	size_t features;   /* that have a pair */
	uint32_t *feature; /* which, each once, in no special order */
	size_t *start;     /* features + 1: pairs of feature[i] are start[i] to start[i + 1], places ascending */
	uint64_t *pair;
	size_t *cursor; /* d, zero between calls */
} cop_ordered_sparse;

/* Entries that the rows row[0..n) store. */
size_t cop_ordered_entries(const cop_dataset *rows, size_t n, const uint32_t *row);
/* Room for `entries` pairs of d features; the caller ends it with fini in every case. COP_ENOMEM. */
COP_CHECK cop_err cop_ordered_sparse_init(cop_ordered_sparse *sparse, size_t d, size_t entries);
void cop_ordered_sparse_fini(cop_ordered_sparse *sparse);
/* The pairs of rows row[0..n), place i for row[i], which must fit. Linear in their entries. */
void cop_ordered_sparse_fill(cop_ordered_sparse *sparse, const cop_dataset *rows, size_t n, const uint32_t *row);

#endif
