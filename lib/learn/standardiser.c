/* The statistics are of learn/dense_scale.h or learn/sparse_scale.h; here rows are made from them. */
#include "learn/standardiser.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "learn/dense_scale.h"
#include "learn/sparse_scale.h"

#define BOUNDED 2 /* saved beside `sparse`, 0 or 1: the statistics' values are bounded */
#define GROWN   4 /* how many features are known follows */

struct cop_standardiser {
	size_t d;
	size_t max_nonzeros;
	cop_dense_scale *dense;   /* or */
	cop_sparse_scale *sparse; /* the other is NULL */
	float *value;             /* output: dense d + 1, sparse max_nonzeros + 1 */
	uint32_t *index;
	float *filled; /* d, where features were added; else NULL */
};

cop_err cop_standardiser_new(size_t d, bool sparse, size_t max_nonzeros, cop_standardiser **out)
{
	*out = NULL;
	if (d == 0 || (sparse && max_nonzeros == 0))
		return COP_EINVAL;
	cop_standardiser *s = cop_mem_alloc(1, sizeof *s);
	if (s == NULL)
		return COP_ENOMEM;
	s->d = d;
	s->max_nonzeros = max_nonzeros;
	size_t outputs = (sparse ? max_nonzeros : d) + 1;
	s->value = cop_mem_alloc(outputs, sizeof *s->value);
	s->index = cop_mem_alloc(sparse ? outputs : 0, sizeof *s->index);
	cop_err err = s->value == NULL || s->index == NULL ? COP_ENOMEM : COP_OK;
	if (err == COP_OK)
		err = sparse ? cop_sparse_scale_new(d, &s->sparse) : cop_dense_scale_new(d, &s->dense);
	if (err != COP_OK) {
		cop_standardiser_free(s);
		return err;
	}
	*out = s;
	return COP_OK;
}

double cop_standardiser_footprint(size_t d, bool sparse, size_t max_nonzeros)
{
	return sparse ? cop_sparse_scale_footprint(d) + (double)max_nonzeros * 2.0 * sizeof(float)
	              : cop_dense_scale_footprint(d) + (double)d * sizeof(float);
}

void cop_standardiser_free(cop_standardiser *s)
{
	if (s == NULL)
		return;
	cop_dense_scale_free(s->dense);
	cop_sparse_scale_free(s->sparse);
	cop_mem_free(s->value);
	cop_mem_free(s->index);
	cop_mem_free(s->filled);
	cop_mem_free(s);
}

void cop_standardiser_observe(cop_standardiser *s, const cop_row *raw) { cop_standardiser_observe_all(s, raw, 1); }

void cop_standardiser_observe_all(cop_standardiser *s, const cop_row *raw, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		COP_ASSERT(raw[i].d == s->d && (raw[i].dense == NULL) == (s->sparse != NULL));
		if (s->sparse != NULL)
			cop_sparse_scale_add(s->sparse, &raw[i]);
		else
			cop_dense_scale_add(s->dense, raw[i].dense);
	}
	if (s->dense != NULL)
		cop_dense_scale_refresh(s->dense);
}

void cop_standardiser_outliers(const cop_standardiser *s, cop_outliers *out)
{
	*out = s->sparse != NULL ? *cop_sparse_scale_outliers(s->sparse) : *cop_dense_scale_outliers(s->dense);
}

static void apply_sparse(cop_standardiser *s, const cop_row *raw, cop_row *out)
{
	COP_ASSERT(raw->nnz <= s->max_nonzeros);
	if (raw->nnz > 0)
		memcpy(s->index, raw->index, raw->nnz * sizeof *s->index);
	cop_sparse_scale_apply(s->sparse, raw, COP_STANDARDISER_CLIP, s->value);
	s->index[raw->nnz] = (uint32_t)s->d;
	s->value[raw->nnz] = 1.0f;
	*out = (cop_row){ .d = s->d + 1, .nnz = raw->nnz + 1, .index = s->index, .value = s->value };
}

void cop_standardiser_apply(cop_standardiser *s, const cop_row *raw, cop_row *out)
{
	COP_ASSERT(raw->d == s->d && (raw->dense == NULL) == (s->sparse != NULL));
	if (s->sparse != NULL) {
		apply_sparse(s, raw, out);
		return;
	}
	cop_dense_scale_apply(s->dense, raw->dense, COP_STANDARDISER_CLIP, s->value);
	s->value[s->d] = 1.0f;
	*out = (cop_row){ .d = s->d + 1, .dense = s->value };
}

size_t cop_standardiser_known(const cop_standardiser *s)
{
	return s->dense == NULL ? s->d : cop_dense_scale_known(s->dense);
}

static bool make_filled(cop_standardiser *s, size_t known)
{
	if (known < s->d && s->filled == NULL)
		s->filled = cop_mem_alloc(s->d, sizeof *s->filled);
	return known == s->d || s->filled != NULL;
}

cop_err cop_standardiser_know(cop_standardiser *s, size_t known)
{
	COP_ASSERT(s->dense != NULL && known >= 1 && known <= s->d);
	return make_filled(s, known) ? cop_dense_scale_know(s->dense, known) : COP_ENOMEM;
}

bool cop_standardiser_fill(cop_standardiser *s, const cop_row *raw, cop_row *out)
{
	bool any = false;
	for (size_t j = cop_standardiser_known(s); j < s->d && !any; j++)
		any = isnan(raw->dense[j]) != 0;
	if (!any)
		return false;
	for (size_t j = 0; j < s->d; j++) {
		double shift = (double)raw->dense[j], scale;
		if (isnan(raw->dense[j]))
			cop_dense_scale_way(s->dense, j, &shift, &scale);
		s->filled[j] = (float)shift;
	}
	*out = (cop_row){ .d = s->d, .dense = s->filled };
	return true;
}

void cop_standardiser_way(const cop_standardiser *s, size_t j, double *shift, double *scale)
{
	COP_ASSERT(j < s->d);
	if (s->sparse == NULL) {
		cop_dense_scale_way(s->dense, j, shift, scale);
		return;
	}
	*shift = 0.0;
	*scale = (double)cop_sparse_scale_of(s->sparse, j);
}

void cop_standardiser_save(const cop_standardiser *s, cop_bytes *bytes)
{
	const bool grown = cop_standardiser_known(s) < s->d;
	cop_bytes_put_u64(bytes, s->d);
	cop_bytes_put_u8(bytes, (uint8_t)(BOUNDED + (s->sparse != NULL) + (grown ? GROWN : 0)));
	if (grown)
		cop_bytes_put_u64(bytes, cop_standardiser_known(s));
	if (s->sparse != NULL)
		cop_sparse_scale_save(s->sparse, bytes);
	else
		cop_dense_scale_save(s->dense, bytes);
}

static cop_err load_dense(cop_standardiser *s, size_t saved, size_t known, cop_cursor *cursor)
{
	if (known == 0 || known > saved)
		return COP_EFORMAT;
	if (!make_filled(s, known))
		return COP_ENOMEM;
	return cop_dense_scale_load(s->dense, saved, known, cursor);
}

cop_err cop_standardiser_load(cop_standardiser *s, cop_cursor *cursor)
{
	const uint64_t d = cop_cursor_u64(cursor);
	const uint8_t kind = cop_cursor_u8(cursor);
	const bool bounded = (kind & BOUNDED) != 0, grown = (kind & GROWN) != 0;
	const uint64_t known = grown ? cop_cursor_u64(cursor) : d;
	if (cursor->err != COP_OK)
		return cursor->err;
	const bool fits = d == s->d || (s->dense != NULL && d < s->d && bounded);
	if (!fits || kind % BOUNDED != (s->sparse != NULL) || kind >= 2 * GROWN ||
	        (grown && (s->dense == NULL || !bounded)))
		return COP_ESHAPE;
	if (s->sparse != NULL)
		return bounded ? cop_sparse_scale_load(s->sparse, cursor)
		               : cop_sparse_scale_load_plain(s->sparse, cursor);
	return bounded ? load_dense(s, (size_t)d, (size_t)known, cursor) : cop_dense_scale_load_plain(s->dense, cursor);
}
