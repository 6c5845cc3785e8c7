/* A counting sort of the entries by feature; the features are found by a place for each of the d. */
#include "train/tao_turned.h"

#include <string.h>

#include "base/mem.h"

struct cop_tao_turned {
	size_t features;
	uint32_t *feature; /* ascending */
	size_t *start;     /* features + 1 */
	uint32_t *row;     /* ascending for each feature */
	float *v;
};

void cop_tao_turned_free(cop_tao_turned *turned)
{
	if (turned == NULL)
		return;
	cop_mem_free(turned->feature);
	cop_mem_free(turned->start);
	cop_mem_free(turned->row);
	cop_mem_free(turned->v);
	cop_mem_free(turned);
}

/* place, d zeros, becomes the number of each feature that occurs, plus 1. Returns how many there are. */
static size_t number_features(size_t entries, const uint32_t *index, size_t d, uint32_t *place)
{
	uint32_t features = 0;

	for (size_t e = 0; e < entries; e++)
		place[index[e]] = 1;
	for (size_t j = 0; j < d; j++)
		if (place[j] > 0)
			place[j] = ++features;
	return features;
}

/* Rows come in ascending order, and so stay in it for each feature. */
static void fill(cop_tao_turned *t, size_t rows, const size_t *from, const uint32_t *index, const float *v,
        const uint32_t *place)
{
	size_t *start = t->start;

	for (size_t e = 0; e < from[rows]; e++)
		start[place[index[e]]]++;
	for (size_t j = 0; j < t->features; j++)
		start[j + 1] += start[j];
	for (size_t r = 0; r < rows; r++)
		for (size_t e = from[r]; e < from[r + 1]; e++) {
			uint32_t j = place[index[e]] - 1;
			t->feature[j] = index[e];
			t->row[start[j]] = (uint32_t)r;
			t->v[start[j]++] = v[e];
		}
	memmove(start + 1, start, t->features * sizeof *start);
	start[0] = 0;
}

static cop_err make_room(cop_tao_turned *t, size_t entries)
{
	t->feature = cop_mem_alloc(t->features, sizeof *t->feature);
	t->start = cop_mem_alloc(t->features + 1, sizeof *t->start);
	t->row = cop_mem_alloc(entries, sizeof *t->row);
	t->v = cop_mem_alloc(entries, sizeof *t->v);
	return t->feature != NULL && t->start != NULL && t->row != NULL && t->v != NULL ? COP_OK : COP_ENOMEM;
}

cop_err cop_tao_turned_new(
        size_t d, size_t rows, const size_t *start, const uint32_t *index, const float *v, cop_tao_turned **out)
{
	uint32_t *place = cop_mem_alloc(d, sizeof *place);
	cop_tao_turned *t = cop_mem_alloc(1, sizeof *t);
	cop_err err = COP_ENOMEM;

	*out = NULL;
	if (place != NULL && t != NULL) {
		t->features = number_features(start[rows], index, d, place);
		err = make_room(t, start[rows]);
	}
	if (err == COP_OK) {
		fill(t, rows, start, index, v, place);
		*out = t;
	} else {
		cop_tao_turned_free(t);
	}
	cop_mem_free(place);
	return err;
}

void cop_tao_turned_add(const cop_tao_turned *turned, const cop_row *x, double *score)
{
	for (size_t i = 0, j = 0; i < x->nnz && j < turned->features; i++) {
		j = cop_row_find(turned->feature, j, turned->features, x->index[i]);
		if (j == turned->features || turned->feature[j] != x->index[i])
			continue;
		for (size_t e = turned->start[j]; e < turned->start[j + 1]; e++)
			score[turned->row[e]] += (double)turned->v[e] * (double)x->value[i];
	}
}
