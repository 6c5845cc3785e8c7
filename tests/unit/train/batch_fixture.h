/* Small samples of every task, for the tests of batch learners. */
#ifndef COP_TESTS_BATCH_FIXTURE_H
#define COP_TESTS_BATCH_FIXTURE_H

#include "support.h"

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "train/sample.h"
#include "tree/tree.h"

typedef struct batch_fixture {
	cop_dataset *rows;
	uint32_t *label;
	float *target, *weight;
	cop_sample sample; /* of all rows, without weights */
} batch_fixture;

/* n rows of d features with `values` values, halves of integers around 0; every output depends on the first two
 * features, and on chance as often as once in `noise` rows (0: never). Equal seeds give the same rows, dense or
 * sparse. */
static inline void batch_fixture_make(batch_fixture *f, cop_task task, size_t n, size_t d, size_t outputs,
        uint64_t values, uint64_t noise, bool sparse, uint64_t seed)
{
	cop_rng rng;
	cop_rng_init(&rng, seed, 77);
	memset(f, 0, sizeof *f);
	assert_int_equal(sparse ? cop_dataset_new_sparse(&f->rows) : cop_dataset_new_dense(d, &f->rows), COP_OK);
	f->label = cop_mem_alloc(n, sizeof *f->label);
	f->target = cop_mem_alloc(n, outputs * sizeof *f->target);
	f->weight = cop_mem_alloc(n, sizeof *f->weight);
	float *x = cop_mem_alloc(d, sizeof *x), *v = cop_mem_alloc(d, sizeof *v);
	uint32_t *index = cop_mem_alloc(d, sizeof *index);
	for (size_t i = 0; i < n; i++) {
		size_t nnz = 0;
		for (size_t j = 0; j < d; j++) {
			x[j] = ((float)cop_rng_below(&rng, values) - (float)(values / 2)) / 2;
			if (x[j] != 0.0F || (j == d - 1 && i == 0)) {
				index[nnz] = (uint32_t)j;
				v[nnz++] = x[j];
			}
		}
		assert_int_equal(sparse ? cop_dataset_push_sparse(f->rows, nnz, index, v, 0.0)
		                        : cop_dataset_push_dense(f->rows, x, 0.0),
		        COP_OK);
		bool odd = noise > 0 && cop_rng_below(&rng, noise) == 0;
		uint32_t side = (uint32_t)(x[0] >= 0.5F) + 2 * (uint32_t)(x[d > 1] >= 0.0F);
		f->label[i] = (odd ? (uint32_t)cop_rng_below(&rng, outputs) : side) % (uint32_t)outputs;
		for (size_t k = 0; k < outputs; k++)
			f->target[i * outputs + k] =
			        (odd ? (float)cop_rng_below(&rng, 8) : (float)((side + 3 * k) % 5)) / 4;
		f->weight[i] = (float)cop_rng_below(&rng, 4);
	}
	cop_mem_free(x);
	cop_mem_free(v);
	cop_mem_free(index);
	f->sample = (cop_sample){ .rows = f->rows,
		.n = n,
		.task = task,
		.outputs = outputs,
		.label = task == COP_TASK_CLASSES ? f->label : NULL,
		.target = task == COP_TASK_CLASSES ? NULL : f->target };
}

static inline void batch_fixture_end(batch_fixture *f)
{
	cop_dataset_free(f->rows);
	cop_mem_free(f->label);
	cop_mem_free(f->target);
	cop_mem_free(f->weight);
}

/* Two trees, node by node and leaf by leaf, by the bytes they are saved as. */
static inline bool batch_fixture_same(const cop_tree *a, const cop_tree *b)
{
	cop_bytes x, y;
	cop_bytes_init(&x);
	cop_bytes_init(&y);
	cop_tree_save(a, &x);
	cop_tree_save(b, &y);
	assert_int_equal(x.err | y.err, COP_OK);
	bool same = x.length == y.length && memcmp(x.data, y.data, x.length) == 0;
	cop_bytes_fini(&x);
	cop_bytes_fini(&y);
	return same;
}

#endif
