/* The rows with labels stand in one array, the hidden ones before the used ones, each part in ascending order. */
#include "train_labels.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/rng.h"
#include "table/split.h"

#define STREAM 4 /* of the seed */

static int ascending(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

cop_err cop_train_labels_choose(const cop_labelled *rows, double share, uint64_t seed, cop_train_labels *out)
{
	size_t n = rows->data->n;
	cop_rng rng;
	cop_err err = COP_OK;
	*out = (cop_train_labels){ .known = cop_mem_alloc(n, sizeof *out->known) };
	if (out->known == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (!isnan(rows->data->target[i]))
			out->known[out->used++] = (uint32_t)i;
	if (share > 0.0 && share < 1.0 && out->used >= 2) {
		size_t known = out->used;
		cop_rng_init(&rng, seed, STREAM);
		err = cop_split_two(&rng, known, out->known, rows->label, share, &out->hidden);
		out->used = known - out->hidden;
		qsort(out->known, out->hidden, sizeof *out->known, ascending);
		qsort(out->known + out->hidden, out->used, sizeof *out->known, ascending);
	}
	out->some_lack = out->used < n;
	return err;
}

void cop_train_labels_fini(cop_train_labels *labels)
{
	cop_mem_free(labels->known);
	*labels = (cop_train_labels){ 0 };
}

static cop_err push(cop_dataset *to, const cop_dataset *from, size_t i)
{
	if (!from->sparse)
		return cop_dataset_push_dense(to, from->x + i * from->d, from->target[i]);
	size_t start = from->start[i];
	return cop_dataset_push_sparse(
	        to, from->start[i + 1] - start, from->index + start, from->value + start, from->target[i]);
}

cop_err cop_train_labels_pick(const cop_labelled *rows, size_t n, const uint32_t *row, cop_labelled *out)
{
	const cop_dataset *from = rows->data;
	*out = (cop_labelled){ .classes = rows->classes, .known = n };
	cop_err err = from->sparse ? cop_dataset_new_sparse(&out->data) : cop_dataset_new_dense(from->d, &out->data);
	out->label = rows->label != NULL ? cop_mem_alloc(n, sizeof *out->label) : NULL;
	out->target = rows->target != NULL ? cop_mem_alloc(n, sizeof *out->target) : NULL;
	if (err == COP_OK && out->label == NULL && out->target == NULL)
		err = COP_ENOMEM;
	for (size_t i = 0; i < n && err == COP_OK; i++) {
		err = push(out->data, from, row[i]);
		if (out->label != NULL)
			out->label[i] = rows->label[row[i]];
		else
			out->target[i] = rows->target[row[i]];
	}
	if (err == COP_OK && from->sparse)
		err = cop_dataset_conform(out->data, from->d, from->index_base);
	return err;
}
