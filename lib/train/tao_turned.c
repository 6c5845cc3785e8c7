/* Linear leaves of sparse samples, feature by feature. */
#include <string.h>

#include "base/mem.h"
#include "train/tao_parts.h"

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

/* The features of the entries, each once, ascending, by place, whose d zeros become the number of each plus 1. */
static size_t number_features(const cop_tao_leaf *leaf, size_t d, uint32_t *place)
{
	uint32_t features = 0;

	for (size_t e = 0; e < leaf->start[leaf->rows]; e++)
		place[leaf->index[e]] = 1;
	for (size_t j = 0; j < d; j++)
		if (place[j] > 0)
			place[j] = ++features;
	return features;
}

/* A counting sort of the entries by feature; rows come in ascending order. */
static void turn(const cop_tao_leaf *leaf, const uint32_t *place, cop_tao_turned *t)
{
	size_t *start = t->start;

	for (size_t e = 0; e < leaf->start[leaf->rows]; e++)
		start[place[leaf->index[e]]]++;
	for (size_t j = 0; j < t->features; j++)
		start[j + 1] += start[j];
	for (size_t r = 0; r < leaf->rows; r++)
		for (size_t e = leaf->start[r]; e < leaf->start[r + 1]; e++) {
			uint32_t j = place[leaf->index[e]] - 1;
			t->feature[j] = leaf->index[e];
			t->row[start[j]] = (uint32_t)r;
			t->v[start[j]++] = leaf->v[e];
		}
	memmove(start + 1, start, t->features * sizeof *start);
	start[0] = 0;
}

cop_err cop_tao_leaf_turn(const cop_tao_state *state, cop_tao_leaf *leaf)
{
	if (!state->sample->rows->sparse || leaf->start == NULL)
		return COP_OK;
	size_t entries = leaf->start[leaf->rows];
	uint32_t *place = cop_mem_alloc(state->d, sizeof *place);
	cop_tao_turned *t = leaf->turned = cop_mem_alloc(1, sizeof *t);
	cop_err err = COP_ENOMEM;

	if (place != NULL && t != NULL) {
		t->features = number_features(leaf, state->d, place);
		t->feature = cop_mem_alloc(t->features, sizeof *t->feature);
		t->start = cop_mem_alloc(t->features + 1, sizeof *t->start);
		t->row = cop_mem_alloc(entries, sizeof *t->row);
		t->v = cop_mem_alloc(entries, sizeof *t->v);
		if (t->feature != NULL && t->start != NULL && t->row != NULL && t->v != NULL) {
			turn(leaf, place, t);
			err = COP_OK;
		}
	}
	cop_mem_free(place);
	return err;
}
