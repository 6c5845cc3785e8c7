#include "online/mixture.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

#define ETA             0.5
#define DISCOUNT        0.9995
#define DEFAULT_EPSILON 0.1
#define DEFAULT_GAMMA   30.0
#define DEFAULT_TREES   16
#define DEFAULT_HEIGHT  5
#define SPARSE_TREES    8
#define SPARSE_HEIGHT   4
#define PRIOR_LOSS      0.5f /* predicted by a member that has run away: it knows nothing */

void cop_mixture_defaults(cop_learner_settings *s)
{
	bool sparse = s->features == 0;
	if (s->policy[0] == '\0')
		strcpy(s->policy, "squarecb");
	if (s->exploration.epsilon < 0.0)
		s->exploration.epsilon = DEFAULT_EPSILON;
	if (s->exploration.gamma <= 0.0)
		s->exploration.gamma = DEFAULT_GAMMA;
	if (s->height == 0)
		s->height = sparse ? SPARSE_HEIGHT : DEFAULT_HEIGHT;
	if (s->trees == COP_LEARNER_DEFAULT_TREES)
		s->trees = sparse ? SPARSE_TREES : DEFAULT_TREES;
	if (s->learning_rate == 0.0)
		s->learning_rate = 1.0;
}

cop_err cop_mixture_init(cop_mixture *mixture, size_t room)
{
	*mixture = (cop_mixture){ .room = room };
	mixture->mixed = cop_mem_alloc(cop_kernel_pad(room), sizeof *mixture->mixed);
	return mixture->mixed == NULL ? COP_ENOMEM : COP_OK;
}

void cop_mixture_fini(cop_mixture *mixture)
{
	for (size_t i = 0; i < mixture->count; i++) {
		mixture->class[i]->destroy(mixture->member[i]);
		cop_mem_free(mixture->loss[i]);
	}
	cop_mem_free(mixture->mixed);
}

cop_err cop_mixture_join(cop_mixture *mixture, const cop_member_class *class, void *member)
{
	COP_ASSERT(mixture->count < COP_LEARNER_EXPERTS);
	size_t i = mixture->count++;
	mixture->class[i] = class;
	mixture->member[i] = member;
	mixture->loss[i] = cop_mem_alloc(cop_kernel_pad(mixture->room), sizeof *mixture->loss[i]);
	return mixture->loss[i] == NULL ? COP_ENOMEM : COP_OK;
}

void cop_mixture_weigh(const cop_mixture *mixture, double *weight)
{
	double least = mixture->error[0];
	double sum = 0.0;
	for (size_t i = 1; i < mixture->count; i++)
		least = fmin(least, mixture->error[i]);
	for (size_t i = 0; i < mixture->count; i++)
		sum += weight[i] = exp(-ETA * (mixture->error[i] - least));
	for (size_t i = 0; i < mixture->count; i++)
		weight[i] /= sum;
}

void cop_mixture_mix(cop_mixture *mixture, size_t n, const double *weight)
{
	memset(mixture->mixed, 0, n * sizeof *mixture->mixed);
	for (size_t i = 0; i < mixture->count; i++) {
		float *loss = mixture->loss[i];
		for (size_t k = 0; k < n; k++) {
			if (!isfinite(loss[k]))
				loss[k] = PRIOR_LOSS;
			mixture->mixed[k] += (float)weight[i] * loss[k];
		}
	}
}

void cop_mixture_predictions(const cop_mixture *mixture, size_t which, float *prediction)
{
	for (size_t i = 0; i < mixture->count; i++)
		prediction[i] = mixture->loss[i][which];
}

void cop_mixture_settle(cop_mixture *mixture, const float *prediction, double loss)
{
	for (size_t i = 0; i < mixture->count; i++) {
		double miss = (double)prediction[i] - loss;
		if (isfinite(miss))
			mixture->error[i] = DISCOUNT * mixture->error[i] + miss * miss;
	}
}

void cop_mixture_save_errors(const cop_mixture *mixture, cop_bytes *bytes)
{
	cop_bytes_put_u32(bytes, (uint32_t)mixture->count);
	cop_bytes_put_f64s(bytes, mixture->error, mixture->count);
}

cop_err cop_mixture_load_errors(cop_mixture *mixture, cop_cursor *cursor)
{
	uint32_t count = cop_cursor_u32(cursor);
	if (cursor->err != COP_OK)
		return cursor->err;
	if (count != mixture->count)
		return COP_ESHAPE;
	cop_cursor_f64s(cursor, mixture->error, mixture->count);
	return cursor->err;
}

void cop_mixture_save_members(const cop_mixture *mixture, cop_bytes *bytes)
{
	for (size_t i = 0; i < mixture->count; i++) {
		cop_bytes_put_text(bytes, mixture->class[i] -> name);
		mixture->class[i]->save(mixture->member[i], bytes);
	}
}

cop_err cop_mixture_load_members(cop_mixture *mixture, cop_cursor *cursor)
{
	cop_err err = COP_OK;
	for (size_t i = 0; i < mixture->count && err == COP_OK; i++) {
		char name[16];
		cop_cursor_text(cursor, name, sizeof name);
		err = cursor->err;
		if (err == COP_OK)
			err = strcmp(name, mixture->class[i] -> name) == 0
			              ? mixture->class[i]->load(mixture->member[i], cursor)
			              : COP_ESHAPE;
	}
	return err;
}

static size_t trees_of(const cop_mixture *mixture, size_t i)
{
	return mixture->class[i]->trees == NULL ? 0 : mixture->class[i]->trees(mixture->member[i]);
}

size_t cop_mixture_trees(const cop_mixture *mixture)
{
	size_t count = 0;
	for (size_t i = 0; i < mixture->count; i++)
		count += trees_of(mixture, i);
	return count;
}

cop_err cop_mixture_tree(const cop_mixture *mixture, size_t m, cop_oblique_tree **out)
{
	*out = NULL;
	for (size_t i = 0; i < mixture->count; i++) {
		size_t count = trees_of(mixture, i);
		if (m < count)
			return mixture->class[i]->tree(mixture->member[i], m, out);
		m -= count;
	}
	return COP_ENOTFOUND;
}
