/* Dense: `count` rows in all, mean and m2 (sum of squared deviations) per feature; `shift` and `scale` are the floats
 * that apply uses, refreshed by observe. Sparse: per feature the number of rows it was present in and its sum of
 * squares. */
#include "online/standardiser.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "linalg/kernel.h"
#include "linalg/welford.h"

struct cop_standardiser {
	const cop_kernel *kernel;
	cop_welford_add *add;
	size_t d;
	size_t room; /* of arrays of d: dense COP_WELFORD_ROOM's multiple */
	bool sparse;
	size_t max_nonzeros;
	double count;   /* dense */
	double *mean;   /* dense: d */
	double *spread; /* d: dense m2, sparse sum of squares */
	double *seen;   /* sparse: d */
	float *shift;   /* dense: d */
	float *scale;   /* dense: d */
	float *value;   /* output: dense d + 1, sparse max_nonzeros + 1 */
	uint32_t *index;
};

cop_err cop_standardiser_new(size_t d, bool sparse, size_t max_nonzeros, cop_standardiser **out)
{
	*out = NULL;
	if (d == 0 || (sparse && max_nonzeros == 0))
		return COP_EINVAL;
	cop_standardiser *s = cop_mem_alloc(1, sizeof *s);
	if (s == NULL)
		return COP_ENOMEM;
	s->kernel = cop_kernel_best();
	s->add = cop_welford_best();
	s->d = d;
	s->room = sparse ? d : (d + COP_WELFORD_ROOM - 1) / COP_WELFORD_ROOM * COP_WELFORD_ROOM;
	s->sparse = sparse;
	s->max_nonzeros = max_nonzeros;
	size_t outputs = (sparse ? max_nonzeros : d) + 1;
	s->spread = cop_mem_alloc(s->room, sizeof *s->spread);
	s->value = cop_mem_alloc(outputs, sizeof *s->value);
	bool ok = s->spread != NULL && s->value != NULL;
	if (sparse) {
		s->seen = cop_mem_alloc(d, sizeof *s->seen);
		s->index = cop_mem_alloc(outputs, sizeof *s->index);
		ok = ok && s->seen != NULL && s->index != NULL;
	} else {
		s->mean = cop_mem_alloc(s->room, sizeof *s->mean);
		s->shift = cop_mem_alloc(s->room, sizeof *s->shift);
		s->scale = cop_mem_alloc(s->room, sizeof *s->scale);
		ok = ok && s->mean != NULL && s->shift != NULL && s->scale != NULL;
	}
	if (!ok) {
		cop_standardiser_free(s);
		return COP_ENOMEM;
	}
	*out = s;
	return COP_OK;
}

double cop_standardiser_footprint(size_t d, bool sparse, size_t max_nonzeros)
{
	size_t feature = 2 * sizeof(double) + (sparse ? 0 : 3 * sizeof(float)); /* statistics, shift, scale, output */
	return (double)d * (double)feature + (sparse ? (double)max_nonzeros * 2.0 * sizeof(float) : 0.0);
}

void cop_standardiser_free(cop_standardiser *s)
{
	if (s == NULL)
		return;
	cop_mem_free(s->mean);
	cop_mem_free(s->spread);
	cop_mem_free(s->seen);
	cop_mem_free(s->shift);
	cop_mem_free(s->scale);
	cop_mem_free(s->value);
	cop_mem_free(s->index);
	cop_mem_free(s);
}

#define LARGEST_SCALE (1.0 / (double)FLT_MIN) /* beyond it, a float is or soon becomes infinite */

static float inverse_rms(double squares, double count)
{
	double scale = squares > 0.0 ? sqrt(count / squares) : 1.0;
	return scale <= LARGEST_SCALE ? (float)scale : 1.0f;
}

static void refresh(cop_standardiser *s)
{
	if (s->count > 0.0) {
		s->kernel->standardise(s->room, s->count, s->mean, s->spread, s->shift, s->scale);
		return;
	}
	memset(s->shift, 0, s->d * sizeof *s->shift);
	memset(s->scale, 0, s->d * sizeof *s->scale);
}

static void observe(cop_standardiser *s, const cop_row *raw)
{
	COP_ASSERT(raw->d == s->d && (raw->dense == NULL) == s->sparse);
	if (!s->sparse) {
		s->count += 1.0;
		s->add(s->d, 1.0 / s->count, raw->dense, s->mean, s->spread);
		return;
	}
	for (size_t i = 0; i < raw->nnz; i++) {
		s->seen[raw->index[i]] += 1.0;
		s->spread[raw->index[i]] += (double)raw->value[i] * (double)raw->value[i];
	}
}

void cop_standardiser_observe(cop_standardiser *s, const cop_row *raw) { cop_standardiser_observe_all(s, raw, 1); }

void cop_standardiser_observe_all(cop_standardiser *s, const cop_row *raw, size_t count)
{
	for (size_t i = 0; i < count; i++)
		observe(s, &raw[i]);
	if (!s->sparse)
		refresh(s);
}

static float clip(float x)
{
	return x > COP_STANDARDISER_CLIP    ? COP_STANDARDISER_CLIP
	       : x < -COP_STANDARDISER_CLIP ? -COP_STANDARDISER_CLIP
	                                    : x;
}

static void apply_sparse(cop_standardiser *s, const cop_row *raw, cop_row *out)
{
	COP_ASSERT(raw->nnz <= s->max_nonzeros);
	for (size_t i = 0; i < raw->nnz; i++) {
		uint32_t j = raw->index[i];
		s->index[i] = j;
		s->value[i] = clip(raw->value[i] * inverse_rms(s->spread[j], s->seen[j]));
	}
	s->index[raw->nnz] = (uint32_t)s->d;
	s->value[raw->nnz] = 1.0f;
	*out = (cop_row){ .d = s->d + 1, .nnz = raw->nnz + 1, .index = s->index, .value = s->value };
}

void cop_standardiser_apply(cop_standardiser *s, const cop_row *raw, cop_row *out)
{
	COP_ASSERT(raw->d == s->d && (raw->dense == NULL) == s->sparse);
	if (s->sparse) {
		apply_sparse(s, raw, out);
		return;
	}
	const float *restrict x = raw->dense;
	const float *restrict shift = s->shift;
	const float *restrict scale = s->scale;
	float *restrict value = s->value;
	size_t d = s->d;
#pragma omp simd
	for (size_t j = 0; j < d; j++) {
		float scaled = (x[j] - shift[j]) * scale[j];
		float above = scaled > -COP_STANDARDISER_CLIP ? scaled : -COP_STANDARDISER_CLIP;
		float inside = above < COP_STANDARDISER_CLIP ? above : COP_STANDARDISER_CLIP;
		value[j] = scale[j] > 0.0f ? inside : 0.0f; /* not infinity * 0 */
	}
	value[d] = 1.0f;
	*out = (cop_row){ .d = s->d + 1, .dense = value };
}

void cop_standardiser_way(const cop_standardiser *s, size_t j, double *shift, double *scale)
{
	COP_ASSERT(j < s->d);
	*shift = s->sparse ? 0.0 : (double)s->shift[j];
	*scale = (double)(s->sparse ? inverse_rms(s->spread[j], s->seen[j]) : s->scale[j]);
}

/* How the statistics are written: all columns, all places (as they were before), places that were seen. */
enum { COLUMNS, PLACES, SEEN };

static void save_seen(const cop_standardiser *s, cop_bytes *bytes)
{
	uint64_t count = 0;
	for (size_t j = 0; j < s->d; j++)
		count += s->seen[j] != 0.0 || s->spread[j] != 0.0;
	cop_bytes_put_u64(bytes, count);
	for (size_t j = 0; j < s->d; j++) {
		if (s->seen[j] == 0.0 && s->spread[j] == 0.0)
			continue;
		cop_bytes_put_u32(bytes, (uint32_t)j);
		cop_bytes_put_f64(bytes, s->seen[j]);
		cop_bytes_put_f64(bytes, s->spread[j]);
	}
}

static void load_seen(cop_standardiser *s, cop_cursor *cursor)
{
	uint64_t count = cop_cursor_u64(cursor), next = 0;
	memset(s->seen, 0, s->d * sizeof *s->seen);
	memset(s->spread, 0, s->d * sizeof *s->spread);
	for (uint64_t i = 0; i < count && cursor->err == COP_OK; i++) {
		uint32_t j = cop_cursor_u32(cursor);
		if (cursor->err == COP_OK && (j < next || j >= s->d))
			cursor->err = COP_EFORMAT;
		if (cursor->err != COP_OK)
			return;
		next = (uint64_t)j + 1;
		cop_cursor_f64s(cursor, &s->seen[j], 1);
		cop_cursor_f64s(cursor, &s->spread[j], 1);
	}
}

void cop_standardiser_save(const cop_standardiser *s, cop_bytes *bytes)
{
	cop_bytes_put_u64(bytes, s->d);
	cop_bytes_put_u8(bytes, s->sparse ? SEEN : COLUMNS);
	cop_bytes_put_f64(bytes, s->count);
	if (s->sparse) {
		save_seen(s, bytes);
		return;
	}
	cop_bytes_put_f64s(bytes, s->mean, s->d);
	cop_bytes_put_f64s(bytes, s->spread, s->d);
}

/* Whether rows of floats can have led here: what cannot have may grow beyond all numbers from here on. */
static bool is_possible(const cop_standardiser *s)
{
	const double most = 0x1p53; /* rows */
	const double widest = 4.0 * (double)FLT_MAX * (double)FLT_MAX;
	bool possible = s->sparse || (s->count >= 0.0 && s->count <= most);
	for (size_t j = 0; j < s->d && possible; j++) {
		double count = s->sparse ? s->seen[j] : s->count;
		possible = count >= 0.0 && count <= most && s->spread[j] >= 0.0 && s->spread[j] <= count * widest;
		if (!s->sparse)
			possible = possible && fabs(s->mean[j]) <= 1.000000001 * (double)FLT_MAX;
	}
	return possible;
}

cop_err cop_standardiser_load(cop_standardiser *s, cop_cursor *cursor)
{
	uint64_t d = cop_cursor_u64(cursor);
	uint8_t form = cop_cursor_u8(cursor);
	if (cursor->err != COP_OK)
		return cursor->err;
	if (d != s->d || form > SEEN || (form != COLUMNS) != s->sparse)
		return COP_ESHAPE;
	s->count = cop_cursor_f64(cursor);
	if (form == SEEN) {
		load_seen(s, cursor);
	} else {
		cop_cursor_f64s(cursor, s->sparse ? s->seen : s->mean, s->d);
		cop_cursor_f64s(cursor, s->spread, s->d);
	}
	if (cursor->err != COP_OK)
		return cursor->err;
	if (!is_possible(s))
		return COP_EFORMAT;
	if (!s->sparse)
		refresh(s);
	return COP_OK;
}
