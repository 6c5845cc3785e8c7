/* Of feature j: how often it was `present`, its sum of `squares`, and a `streak` of values that were outside one after
 * the other, or (negative) below 1 / SMALL of the root mean square. A feature begins anew, as if its last value had
 * come COP_SPARSE_SCALE_FIRST times, after OUTSIDE values of the one kind, or when those of the other are an eighth of
 * all, at most LONGEST. */
#include "learn/sparse_scale.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"

#define LARGEST_SCALE (1.0 / (double)FLT_MIN) /* beyond it, a float is or soon becomes infinite */
#define SMALL         32.0
#define SHARE         8.0
#define OUTSIDE       8
#define LONGEST       100

struct cop_sparse_scale {
	size_t d;
	double *present, *squares;
	int8_t *streak;
	cop_outliers outliers;
};

cop_err cop_sparse_scale_new(size_t d, cop_sparse_scale **out)
{
	*out = NULL;
	cop_sparse_scale *s = cop_mem_alloc(1, sizeof *s);
	if (s == NULL)
		return COP_ENOMEM;
	s->d = d;
	s->present = cop_mem_alloc(d, sizeof *s->present);
	s->squares = cop_mem_alloc(d, sizeof *s->squares);
	s->streak = cop_mem_alloc(d, sizeof *s->streak);
	if (s->present == NULL || s->squares == NULL || s->streak == NULL) {
		cop_sparse_scale_free(s);
		return COP_ENOMEM;
	}
	*out = s;
	return COP_OK;
}

double cop_sparse_scale_footprint(size_t d) { return (double)d * (2.0 * sizeof(double) + sizeof(int8_t)); }

void cop_sparse_scale_free(cop_sparse_scale *s)
{
	if (s == NULL)
		return;
	cop_mem_free(s->present);
	cop_mem_free(s->squares);
	cop_mem_free(s->streak);
	cop_mem_free(s);
}

static void begin_anew(cop_sparse_scale *s, uint32_t j, double square)
{
	s->present[j] = COP_SPARSE_SCALE_FIRST;
	s->squares[j] = COP_SPARSE_SCALE_FIRST * square;
	s->streak[j] = 0;
	s->outliers.rescaled++;
}

/* A value beyond the limit: counted, and what of its square enters; begins anew when there were enough of them. */
static double cut(cop_sparse_scale *s, uint32_t j, float value, double most)
{
	s->outliers.values++;
	s->outliers.feature = j;
	s->outliers.value = value;
	s->streak[j] = (int8_t)(s->streak[j] > 0 ? s->streak[j] + 1 : 1);
	if (s->streak[j] < OUTSIDE)
		return most;
	begin_anew(s, j, (double)value * (double)value);
	return (double)value * (double)value;
}

static void count_small(cop_sparse_scale *s, uint32_t j, double square)
{
	s->streak[j] = (int8_t)(s->streak[j] < 0 ? s->streak[j] - 1 : -1);
	double needed = fmin(fmax(s->present[j] / SHARE, (double)COP_SPARSE_SCALE_FIRST), (double)LONGEST);
	if (-(double)s->streak[j] >= needed)
		begin_anew(s, j, square);
}

#define FAR_SQUARE (COP_SPARSE_SCALE_FAR * COP_SPARSE_SCALE_FAR)

/* A value that is far from the root mean square, breaks a streak, or comes after very many: what of its square enters.
 */
static __attribute__((noinline)) double unusual(cop_sparse_scale *s, uint32_t j, float value)
{
	double square = (double)value * (double)value;
	double share = square * s->present[j];
	if (s->present[j] >= 1.0 && s->squares[j] > 0.0) {
		if (s->present[j] >= COP_SPARSE_SCALE_FIRST && share > FAR_SQUARE * s->squares[j])
			square = cut(s, j, value, FAR_SQUARE * s->squares[j] / s->present[j]);
		else if (SMALL * SMALL * share < s->squares[j] && square > 0.0)
			count_small(s, j, square);
		else
			s->streak[j] = 0;
	}
	if (s->present[j] >= COP_SPARSE_SCALE_MEMORY) {
		s->squares[j] *= 1.0 - 1.0 / COP_SPARSE_SCALE_MEMORY;
		s->present[j] = COP_SPARSE_SCALE_MEMORY - 1.0;
	}
	return square;
}

void cop_sparse_scale_add(cop_sparse_scale *s, const cop_row *row)
{
	double *present = s->present, *squares = s->squares;
	for (size_t i = 0; i < row->nnz; i++) {
		uint32_t j = row->index[i];
		double square = (double)row->value[i] * (double)row->value[i];
		double share = square * present[j];
		bool is_usual = share <= FAR_SQUARE * squares[j] && SMALL * SMALL * share >= squares[j] &&
		                s->streak[j] == 0 && present[j] < COP_SPARSE_SCALE_MEMORY;
		if (!is_usual)
			square = unusual(s, j, row->value[i]);
		present[j] += 1.0;
		squares[j] += square;
	}
}

static float scale_of(const cop_sparse_scale *s, size_t j)
{
	double scale = s->squares[j] > 0.0 ? sqrt(s->present[j] / s->squares[j]) : 1.0;
	return scale <= LARGEST_SCALE ? (float)scale : 1.0f;
}

float cop_sparse_scale_of(const cop_sparse_scale *s, size_t j) { return scale_of(s, j); }

void cop_sparse_scale_apply(const cop_sparse_scale *s, const cop_row *row, float most, float *out)
{
	for (size_t i = 0; i < row->nnz; i++) {
		float scaled = row->value[i] * scale_of(s, row->index[i]);
		float size = fabsf(scaled);
		if (size > most) /* rare */
			scaled = size > COP_SPARSE_SCALE_WILD ? 0.0f : copysignf(most, scaled);
		out[i] = scaled;
	}
}

const cop_outliers *cop_sparse_scale_outliers(const cop_sparse_scale *s) { return &s->outliers; }

void cop_sparse_scale_save(const cop_sparse_scale *s, cop_bytes *bytes)
{
	uint64_t count = 0;
	for (size_t j = 0; j < s->d; j++)
		count += s->present[j] != 0.0;
	cop_bytes_put_u64(bytes, count);
	for (size_t j = 0; j < s->d; j++) {
		if (s->present[j] == 0.0)
			continue;
		cop_bytes_put_u32(bytes, (uint32_t)j);
		cop_bytes_put_f64(bytes, s->present[j]);
		cop_bytes_put_f64(bytes, s->squares[j]);
		cop_bytes_put_u8(bytes, (uint8_t)s->streak[j]);
	}
	cop_outliers_save(&s->outliers, bytes);
}

/* Whether rows of floats can have led here: what cannot have may grow beyond all numbers from here on. */
static bool is_possible(const cop_sparse_scale *s)
{
	const double widest = 4.0 * (double)FLT_MAX * (double)FLT_MAX;
	bool possible = true;
	for (size_t j = 0; j < s->d && possible; j++)
		possible = s->present[j] >= 0.0 && s->present[j] <= 0x1p53 && s->squares[j] >= 0.0 &&
		           s->squares[j] <= s->present[j] * widest && s->streak[j] < OUTSIDE && s->streak[j] > -LONGEST;
	return possible;
}

/* Hashed models have far more places than a log has names: only those that were present are in the file. */
static void load_present(cop_sparse_scale *s, cop_cursor *cursor)
{
	uint64_t count = cop_cursor_u64(cursor), next = 0;
	memset(s->present, 0, s->d * sizeof *s->present);
	memset(s->squares, 0, s->d * sizeof *s->squares);
	memset(s->streak, 0, s->d);
	for (uint64_t i = 0; i < count && cursor->err == COP_OK; i++) {
		uint32_t j = cop_cursor_u32(cursor);
		if (cursor->err == COP_OK && (j < next || j >= s->d))
			cursor->err = COP_EFORMAT;
		if (cursor->err != COP_OK)
			return;
		next = (uint64_t)j + 1;
		cop_cursor_f64s(cursor, &s->present[j], 1);
		cop_cursor_f64s(cursor, &s->squares[j], 1);
		s->streak[j] = (int8_t)cop_cursor_u8(cursor);
	}
}

cop_err cop_sparse_scale_load(cop_sparse_scale *s, cop_cursor *cursor)
{
	load_present(s, cursor);
	cop_outliers_load(&s->outliers, s->d, cursor);
	if (cursor->err != COP_OK)
		return cursor->err;
	return is_possible(s) ? COP_OK : COP_EFORMAT;
}

cop_err cop_sparse_scale_load_plain(cop_sparse_scale *s, cop_cursor *cursor)
{
	(void)cop_cursor_f64(cursor); /* dense rows */
	cop_cursor_f64s(cursor, s->present, s->d);
	cop_cursor_f64s(cursor, s->squares, s->d);
	memset(s->streak, 0, s->d);
	s->outliers = (cop_outliers){ .values = 0 };
	if (cursor->err != COP_OK)
		return cursor->err;
	return is_possible(s) ? COP_OK : COP_EFORMAT;
}
