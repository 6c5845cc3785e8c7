/* tests/unit/learn/rows.h: random rows, dense and sparse of equal content, and byte comparison of saved states. */
#ifndef COP_TESTS_ONLINE_ROWS_H
#define COP_TESTS_ONLINE_ROWS_H

#include "support.h"

#include <string.h>

#include "base/bytes.h"
#include "base/rng.h"
#include "linalg/row.h"

#define ROW_MAX 64

typedef struct test_row {
	float dense[ROW_MAX];
	uint32_t index[ROW_MAX];
	float value[ROW_MAX];
	size_t d, nnz;
} test_row;

static inline cop_row row_dense(const test_row *r) { return (cop_row){ .d = r->d, .dense = r->dense }; }

static inline cop_row row_sparse(const test_row *r)
{
	return (cop_row){ .d = r->d, .nnz = r->nnz, .index = r->index, .value = r->value };
}

/* The sparse form of what dense holds. */
static inline void row_index(test_row *r)
{
	r->nnz = 0;
	for (size_t j = 0; j < r->d; j++)
		if (r->dense[j] != 0.0f) {
			r->index[r->nnz] = (uint32_t)j;
			r->value[r->nnz++] = r->dense[j];
		}
}

/* d entries, each present with probability `density`, standard normal; the last is 1 when `constant`. */
static inline void row_random(test_row *r, cop_rng *rng, size_t d, double density, int constant)
{
	r->d = d;
	for (size_t j = 0; j < d; j++) {
		double v = cop_rng_normal(rng);
		r->dense[j] = cop_rng_unit(rng) < density ? (float)v : 0.0f;
	}
	if (constant)
		r->dense[d - 1] = 1.0f;
	row_index(r);
}

static inline void assert_bytes_equal(const cop_bytes *a, const cop_bytes *b)
{
	assert_int_equal(a->err, COP_OK);
	assert_int_equal(b->err, COP_OK);
	assert_int_equal(a->length, b->length);
	assert_memory_equal(a->data, b->data, a->length);
}

#endif
