/* Column j: `rows` that its statistics stand for, mean and m2 (sum of squared deviations) of values cut to [low, high],
 * which are made at the end of each block of rows from the statistics as they are then, FLT_MAX where there is no
 * limit. Of the block so far: least and most value as it came, how many were `outside`. At a block's end a column
 * begins anew from the block's least and most value when half of its values were outside; and when its values, though
 * not all the same, stayed within 1 / NARROW of the deviation for an eighth of the rows, `narrow` blocks in a row:
 * least and most are kept over these. A column is `flat` when its last block without outsiders was constant. */
#include "learn/dense_scale.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "linalg/kernel.h"
#include "linalg/welford.h"

#define NARROW   16.0 /* deviations are so many times the range of values that are narrow */
#define SHARE    8.0  /* of a column's rows, one in so many have to be narrow */
#define ACROSS   4.0  /* deviations in the range of a block, about */
#define WORTH    6.0  /* rows that know as much as the two ends of a block, about */
#define BLOCKS   255  /* narrow blocks that are counted, at most */
#define NO_LEAST FLT_MAX
#define NO_MOST  (-FLT_MAX)

_Static_assert(COP_DENSE_SCALE_BLOCK % COP_DENSE_SCALE_FIRST == 0, "a block's parts");

/* What an unknown value must not move. */
typedef struct aside {
	double rows, mean, m2;
	float least, most, outside;
} aside;

struct cop_dense_scale {
	const cop_kernel *kernel;
	cop_welford_add *add;
	size_t d, room; /* room: of each array, in whole lanes */
	size_t known;   /* columns from here on may be unknown; d: none */
	aside *aside;   /* d - known */
	uint64_t seen;  /* rows, in all */
	double *rows, *mean, *m2;
	float *shift, *scale;
	float *low, *high, *least, *most, *outside, *wild;
	float *value; /* the row, cut */
	uint8_t *narrow, *flat;
	cop_outliers outliers;
};

static void begin_block(cop_dense_scale *s, size_t j)
{
	s->least[j] = NO_LEAST;
	s->most[j] = NO_MOST;
	s->outside[j] = 0.0f;
}

static bool allocate(cop_dense_scale *s)
{
	size_t n = s->room;
	s->rows = cop_mem_alloc(n, sizeof *s->rows);
	s->mean = cop_mem_alloc(n, sizeof *s->mean);
	s->m2 = cop_mem_alloc(n, sizeof *s->m2);
	s->shift = cop_mem_alloc(n, sizeof *s->shift);
	s->scale = cop_mem_alloc(n, sizeof *s->scale);
	s->low = cop_mem_alloc(n, sizeof *s->low);
	s->high = cop_mem_alloc(n, sizeof *s->high);
	s->least = cop_mem_alloc(n, sizeof *s->least);
	s->most = cop_mem_alloc(n, sizeof *s->most);
	s->outside = cop_mem_alloc(n, sizeof *s->outside);
	s->wild = cop_mem_alloc(n, sizeof *s->wild);
	s->value = cop_mem_alloc(n, sizeof *s->value);
	s->narrow = cop_mem_alloc(n, sizeof *s->narrow);
	s->flat = cop_mem_alloc(n, sizeof *s->flat);
	return s->rows != NULL && s->mean != NULL && s->m2 != NULL && s->shift != NULL && s->scale != NULL &&
	       s->low != NULL && s->high != NULL && s->least != NULL && s->most != NULL && s->outside != NULL &&
	       s->wild != NULL && s->value != NULL && s->narrow != NULL && s->flat != NULL;
}

cop_err cop_dense_scale_new(size_t d, cop_dense_scale **out)
{
	*out = NULL;
	cop_dense_scale *s = cop_mem_alloc(1, sizeof *s);
	if (s == NULL)
		return COP_ENOMEM;
	s->kernel = cop_kernel_best();
	s->add = cop_welford_best();
	s->d = s->known = d;
	s->room = (d + COP_WELFORD_ROOM - 1) / COP_WELFORD_ROOM * COP_WELFORD_ROOM;
	if (!allocate(s)) {
		cop_dense_scale_free(s);
		return COP_ENOMEM;
	}
	for (size_t j = 0; j < s->room; j++) {
		s->low[j] = -FLT_MAX;
		s->high[j] = s->wild[j] = FLT_MAX;
		begin_block(s, j);
	}
	*out = s;
	return COP_OK;
}

double cop_dense_scale_footprint(size_t d)
{
	return (double)d * (3.0 * sizeof(double) + 8.0 * sizeof(float) + 2.0 * sizeof(uint8_t));
}

void cop_dense_scale_free(cop_dense_scale *s)
{
	if (s == NULL)
		return;
	cop_mem_free(s->rows);
	cop_mem_free(s->mean);
	cop_mem_free(s->m2);
	cop_mem_free(s->shift);
	cop_mem_free(s->scale);
	cop_mem_free(s->low);
	cop_mem_free(s->high);
	cop_mem_free(s->least);
	cop_mem_free(s->most);
	cop_mem_free(s->outside);
	cop_mem_free(s->wild);
	cop_mem_free(s->value);
	cop_mem_free(s->narrow);
	cop_mem_free(s->flat);
	cop_mem_free(s->aside);
	cop_mem_free(s);
}

/* Some values of the row were cut: those of columns that vary are counted. */
static void count_outliers(cop_dense_scale *s, const float *x)
{
	for (size_t j = 0; j < s->d; j++) {
		if (s->value[j] == x[j] || s->flat[j] || isnan(x[j]))
			continue;
		s->outliers.values++;
		s->outliers.feature = (uint32_t)j;
		s->outliers.value = x[j];
	}
}

static void begin_anew(cop_dense_scale *s, size_t j, double rows)
{
	double range = (double)s->most[j] - (double)s->least[j];
	s->rows[j] = rows;
	s->mean[j] = 0.5 * ((double)s->most[j] + (double)s->least[j]);
	s->m2[j] = rows * (range / ACROSS) * (range / ACROSS);
	s->narrow[j] = 0;
	s->outliers.rescaled++;
	begin_block(s, j);
}

/* Whether the column's rows were narrow for long enough, those of this block among them. */
static bool is_narrow_long(cop_dense_scale *s, size_t j)
{
	double needed = fmin(s->rows[j] / (SHARE * COP_DENSE_SCALE_BLOCK), (double)BLOCKS);
	if (s->narrow[j] < BLOCKS)
		s->narrow[j]++;
	return (double)s->narrow[j] >= needed;
}

static void judge(cop_dense_scale *s, size_t j, double block)
{
	double range = (double)s->most[j] - (double)s->least[j];
	bool inside = s->outside[j] == 0.0f;
	if (inside)
		s->flat[j] = !(range > 0.0);
	if (range > 0.0 && 2.0 * (double)s->outside[j] >= block) {
		begin_anew(s, j, WORTH);
		return;
	}
	if (inside && range > 0.0 && NARROW * NARROW * range * range * s->rows[j] < s->m2[j]) {
		if (is_narrow_long(s, j))
			begin_anew(s, j, WORTH);
		return;
	}
	s->narrow[j] = 0;
	begin_block(s, j);
}

static void limit(cop_dense_scale *s, size_t j)
{
	double away = sqrt(s->m2[j] / s->rows[j]) * COP_DENSE_SCALE_FAR * (1.0 + COP_DENSE_SCALE_FIRST / s->rows[j]);
	double low = s->mean[j] - away, high = s->mean[j] + away;
	s->low[j] = away > 0.0 && low > -(double)FLT_MAX ? (float)low : -FLT_MAX;
	s->high[j] = away > 0.0 && high < (double)FLT_MAX ? (float)high : FLT_MAX;
	away *= COP_DENSE_SCALE_WILD / COP_DENSE_SCALE_FAR;
	s->wild[j] = !s->flat[j] && away > 0.0 && away < (double)FLT_MAX ? (float)away : FLT_MAX;
}

/* A column that was unknown all along stays as it is. */
static bool has_block(const cop_dense_scale *s, size_t j) { return j < s->known || s->least[j] <= s->most[j]; }

static void end_block(cop_dense_scale *s, double block)
{
	for (size_t j = 0; j < s->d; j++) {
		if (!has_block(s, j))
			continue;
		judge(s, j, block);
		if (s->rows[j] > COP_DENSE_SCALE_MEMORY) {
			s->m2[j] *= COP_DENSE_SCALE_MEMORY / s->rows[j];
			s->rows[j] = COP_DENSE_SCALE_MEMORY;
		}
		limit(s, j);
	}
}

/* Unknown values become the mean for as long as the row is taken in; whether there were any. */
static bool set_aside(cop_dense_scale *s, const float *x)
{
	bool any = false;
	for (size_t j = s->known; j < s->d; j++) {
		if (!isnan(x[j]))
			continue;
		any = true;
		s->value[j] = (float)s->mean[j];
		s->aside[j - s->known] =
		        (aside){ s->rows[j], s->mean[j], s->m2[j], s->least[j], s->most[j], s->outside[j] };
	}
	return any;
}

static void put_back(cop_dense_scale *s, const float *x)
{
	for (size_t j = s->known; j < s->d; j++) {
		const aside *kept = &s->aside[j - s->known];
		if (!isnan(x[j]))
			continue;
		s->rows[j] = kept->rows;
		s->mean[j] = kept->mean;
		s->m2[j] = kept->m2;
		s->least[j] = kept->least;
		s->most[j] = kept->most;
		s->outside[j] = kept->outside;
	}
}

size_t cop_dense_scale_known(const cop_dense_scale *s) { return s->known; }

cop_err cop_dense_scale_know(cop_dense_scale *s, size_t known)
{
	if (known == s->known)
		return COP_OK;
	aside *room = cop_mem_alloc(s->d - known, sizeof *room);
	if (room == NULL)
		return COP_ENOMEM;
	cop_mem_free(s->aside);
	s->aside = room;
	s->known = known;
	return COP_OK;
}

void cop_dense_scale_add(cop_dense_scale *s, const float *x)
{
	memcpy(s->value, x, s->d * sizeof *x);
	const bool unknown = set_aside(s, x);
	if (s->kernel->bound(s->room, s->low, s->high, s->value, s->least, s->most, s->outside) > 0)
		count_outliers(s, x);
	s->add(s->d, s->value, s->rows, s->mean, s->m2);
	if (unknown)
		put_back(s, x);
	uint64_t block = ++s->seen < COP_DENSE_SCALE_BLOCK ? COP_DENSE_SCALE_FIRST : COP_DENSE_SCALE_BLOCK;
	if (s->seen % block == 0)
		end_block(s, s->seen <= COP_DENSE_SCALE_BLOCK ? COP_DENSE_SCALE_FIRST : COP_DENSE_SCALE_BLOCK);
}

void cop_dense_scale_refresh(cop_dense_scale *s)
{
	s->kernel->standardise(s->room, s->rows, s->mean, s->m2, s->shift, s->scale);
}

void cop_dense_scale_apply(const cop_dense_scale *s, const float *x, float most, float *out)
{
	s->kernel->scaled(s->d, x, s->shift, s->scale, s->wild, most, out);
	for (size_t j = s->known; j < s->d; j++)
		if (isnan(x[j]))
			out[j] = 0.0f;
}

void cop_dense_scale_bound(const cop_dense_scale *s, const float *x, float *out)
{
	for (size_t j = 0; j < s->d; j++) {
		if (j >= s->known && isnan(x[j]))
			out[j] = (float)s->mean[j];
		else if (s->flat[j])
			out[j] = x[j];
		else if (fabs((double)x[j] - s->mean[j]) > (double)s->wild[j])
			out[j] = (float)s->mean[j];
		else
			out[j] = fminf(fmaxf(x[j], s->low[j]), s->high[j]);
	}
}

/* Blocks have more rows than a column begins anew with. */
bool cop_dense_scale_is_anew(const cop_dense_scale *s, size_t j)
{
	return s->seen >= COP_DENSE_SCALE_FIRST && s->rows[j] == WORTH;
}

double cop_dense_scale_mean(const cop_dense_scale *s, size_t j) { return s->mean[j]; }
double cop_dense_scale_rows(const cop_dense_scale *s, size_t j) { return s->rows[j]; }

void cop_dense_scale_way(const cop_dense_scale *s, size_t j, double *shift, double *scale)
{
	*shift = (double)s->shift[j];
	*scale = (double)s->scale[j];
}

const cop_outliers *cop_dense_scale_outliers(const cop_dense_scale *s) { return &s->outliers; }

void cop_dense_scale_save(const cop_dense_scale *s, cop_bytes *bytes)
{
	cop_bytes_put_u64(bytes, s->seen);
	cop_bytes_put_f64s(bytes, s->rows, s->d);
	cop_bytes_put_f64s(bytes, s->mean, s->d);
	cop_bytes_put_f64s(bytes, s->m2, s->d);
	cop_bytes_put_f32s(bytes, s->low, s->d);
	cop_bytes_put_f32s(bytes, s->high, s->d);
	cop_bytes_put_f32s(bytes, s->least, s->d);
	cop_bytes_put_f32s(bytes, s->most, s->d);
	cop_bytes_put_f32s(bytes, s->outside, s->d);
	cop_bytes_put_f32s(bytes, s->wild, s->d);
	cop_bytes_put(bytes, s->narrow, s->d);
	cop_bytes_put(bytes, s->flat, s->d);
	cop_outliers_save(&s->outliers, bytes);
}

/* Whether rows of floats can have led here: what cannot have may grow beyond all numbers from here on. */
static bool is_possible(const cop_dense_scale *s)
{
	const double most = 0x1p53; /* rows */
	const double widest = 4.0 * (double)FLT_MAX * (double)FLT_MAX;
	bool possible = true;
	for (size_t j = 0; j < s->d && possible; j++)
		possible = s->rows[j] >= 0.0 && s->rows[j] <= most && s->m2[j] >= 0.0 &&
		           s->m2[j] <= s->rows[j] * widest && fabs(s->mean[j]) <= 1.000000001 * (double)FLT_MAX &&
		           s->outside[j] >= 0.0f && s->outside[j] <= COP_DENSE_SCALE_BLOCK && s->low[j] <= s->high[j] &&
		           (s->rows[j] > 0.0 || s->seen == 0 || j >= s->known) && s->flat[j] <= 1;
	return possible;
}

static void take_bytes(cop_cursor *cursor, uint8_t *out, size_t length)
{
	const uint8_t *from = cop_cursor_take(cursor, length);
	if (from != NULL)
		memcpy(out, from, length);
}

/* Columns from `saved` on begin now. */
static void widen(cop_dense_scale *s, size_t saved)
{
	for (size_t j = saved; j < s->d; j++) {
		s->rows[j] = s->mean[j] = s->m2[j] = 0.0;
		s->low[j] = -FLT_MAX;
		s->high[j] = s->wild[j] = FLT_MAX;
		s->narrow[j] = s->flat[j] = 0;
		begin_block(s, j);
	}
}

cop_err cop_dense_scale_load(cop_dense_scale *s, size_t saved, size_t known, cop_cursor *cursor)
{
	cop_err err = cop_dense_scale_know(s, known);
	if (err != COP_OK)
		return err;
	widen(s, saved);
	s->seen = cop_cursor_u64(cursor);
	cop_cursor_f64s(cursor, s->rows, saved);
	cop_cursor_f64s(cursor, s->mean, saved);
	cop_cursor_f64s(cursor, s->m2, saved);
	cop_cursor_f32s(cursor, s->low, saved);
	cop_cursor_f32s(cursor, s->high, saved);
	cop_cursor_f32s(cursor, s->least, saved);
	cop_cursor_f32s(cursor, s->most, saved);
	cop_cursor_f32s(cursor, s->outside, saved);
	cop_cursor_f32s(cursor, s->wild, saved);
	take_bytes(cursor, s->narrow, saved);
	take_bytes(cursor, s->flat, saved);
	cop_outliers_load(&s->outliers, saved, cursor);
	if (cursor->err != COP_OK)
		return cursor->err;
	if (!is_possible(s))
		return COP_EFORMAT;
	cop_dense_scale_refresh(s);
	return COP_OK;
}

cop_err cop_dense_scale_load_plain(cop_dense_scale *s, cop_cursor *cursor)
{
	double count = cop_cursor_f64(cursor);
	cop_cursor_f64s(cursor, s->mean, s->d);
	cop_cursor_f64s(cursor, s->m2, s->d);
	if (cursor->err != COP_OK)
		return cursor->err;
	if (!(count >= 0.0 && count <= 0x1p53))
		return COP_EFORMAT;
	s->seen = (uint64_t)count;
	s->outliers = (cop_outliers){ .values = 0 };
	memset(s->narrow, 0, s->d);
	memset(s->flat, 0, s->d);
	for (size_t j = 0; j < s->d; j++) {
		s->rows[j] = count;
		s->low[j] = -FLT_MAX;
		s->high[j] = s->wild[j] = FLT_MAX;
		begin_block(s, j);
		if (count >= COP_DENSE_SCALE_FIRST)
			limit(s, j);
	}
	if (!is_possible(s))
		return COP_EFORMAT;
	cop_dense_scale_refresh(s);
	return COP_OK;
}
