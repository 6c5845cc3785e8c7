/* Means before deviations: two passes over the rows, row by row as they lie in memory, with doubles. A feature is
 * constant when its smallest value is its largest: deviations are 0 only to within rounding. */
#include "table/encoder_private.h"

#include <float.h>
#include <math.h>

#include "base/assert.h"
#include "base/mem.h"

/* COP_SCALE_AUTO takes features for amounts of one unit from so many on, ... */
#define UNIT_FEATURES 16
#define UNIT_ZEROS    (1.0 / 3.0) /* when so many of their values are 0 ... */
#define UNIT_LARGE    0.75        /* and so many of them reach ... */
#define UNIT_REACH    0.5         /* so much of the greatest. */

const char *const cop_scaling_names[COP_SCALINGS + 1] = { "none", "standard", "range", "maximum", "auto", NULL };

/* Of each feature over the rows; what a sparse row does not hold is 0. */
typedef struct moments {
	double *mean, *square; /* d; square: sum of squared deviations from the mean */
	float *low, *high;     /* d */
	uint32_t *held;        /* d; rows that hold it (dense: where it is not 0) */
} moments;

static size_t nth(const uint32_t *row, size_t i) { return row == NULL ? i : row[i]; }

static void moments_fini(moments *m)
{
	cop_mem_free(m->mean);
	cop_mem_free(m->square);
	cop_mem_free(m->low);
	cop_mem_free(m->high);
	cop_mem_free(m->held);
}

static cop_err moments_init(moments *m, size_t d)
{
	*m = (moments){ cop_mem_alloc(d, sizeof *m->mean), cop_mem_alloc(d, sizeof *m->square),
		cop_mem_alloc(d, sizeof *m->low), cop_mem_alloc(d, sizeof *m->high),
		cop_mem_alloc(d, sizeof *m->held) };
	if (m->mean == NULL || m->square == NULL || m->low == NULL || m->high == NULL || m->held == NULL) {
		moments_fini(m);
		return COP_ENOMEM;
	}
	for (size_t j = 0; j < d; j++) {
		m->low[j] = INFINITY;
		m->high[j] = -INFINITY;
	}
	return COP_OK;
}

static void divide(double *sum, size_t d, size_t n)
{
	for (size_t j = 0; j < d; j++)
		sum[j] /= (double)n;
}

static void take_dense(moments *m, const cop_dataset *data, size_t n, const uint32_t *row)
{
	const size_t d = data->d;
	for (size_t i = 0; i < n; i++) {
		const float *x = data->x + nth(row, i) * d;
		for (size_t j = 0; j < d; j++) {
			m->mean[j] += (double)x[j];
			m->low[j] = x[j] < m->low[j] ? x[j] : m->low[j];
			m->high[j] = x[j] > m->high[j] ? x[j] : m->high[j];
			m->held[j] += x[j] != 0;
		}
	}
	divide(m->mean, d, n);
	for (size_t i = 0; i < n; i++) {
		const float *x = data->x + nth(row, i) * d;
		for (size_t j = 0; j < d; j++) {
			double off = (double)x[j] - m->mean[j];
			m->square[j] += off * off;
		}
	}
}

static void take_sparse(moments *m, const cop_dataset *data, size_t n, const uint32_t *row)
{
	for (size_t i = 0; i < n; i++)
		for (size_t e = data->start[nth(row, i)]; e < data->start[nth(row, i) + 1]; e++) {
			uint32_t j = data->index[e];
			float x = data->value[e];
			m->mean[j] += (double)x;
			m->low[j] = x < m->low[j] ? x : m->low[j];
			m->high[j] = x > m->high[j] ? x : m->high[j];
			m->held[j]++;
		}
	divide(m->mean, data->d, n);
	for (size_t i = 0; i < n; i++)
		for (size_t e = data->start[nth(row, i)]; e < data->start[nth(row, i) + 1]; e++) {
			uint32_t j = data->index[e];
			double off = (double)data->value[e] - m->mean[j];
			m->square[j] += off * off;
		}
	for (size_t j = 0; j < data->d; j++)
		if (m->held[j] < n) {
			m->square[j] += (double)(n - m->held[j]) * m->mean[j] * m->mean[j];
			m->low[j] = m->low[j] < 0 ? m->low[j] : 0;
			m->high[j] = m->high[j] > 0 ? m->high[j] : 0;
		}
}

static double magnitude(float low, float high) { return (double)fmaxf(fabsf(low), fabsf(high)); }

static double largest_of(const moments *m, size_t d)
{
	double largest = 0;
	for (size_t j = 0; j < d; j++)
		largest = fmax(largest, magnitude(m->low[j], m->high[j]));
	return largest;
}

/* Standard deviations would blow up what is nearly always 0 (an image's margin) and shift what has a zero of its own.
 * Features that do not vary, whose scale is 0, do not count. */
static cop_scaling decide(const moments *m, size_t d, size_t n)
{
	const double reach = UNIT_REACH * largest_of(m, d);
	size_t vary = 0, large = 0;
	double zeros = 0;
	for (size_t j = 0; j < d; j++) {
		if (m->low[j] == m->high[j])
			continue;
		if (m->low[j] < 0)
			return COP_SCALE_STANDARD;
		vary++;
		large += (double)m->high[j] >= reach;
		zeros += (double)(n - m->held[j]) / (double)n;
	}
	bool unit = vary >= UNIT_FEATURES && zeros >= UNIT_ZEROS * (double)vary &&
	            (double)large >= UNIT_LARGE * (double)vary;
	return unit ? COP_SCALE_MAXIMUM : COP_SCALE_STANDARD;
}

static void set_scales(cop_encoder *p, const moments *m, size_t n)
{
	const double largest = largest_of(m, p->d);
	for (size_t j = 0; j < p->d; j++) {
		double shift = 0, scale = 0;
		if (m->low[j] == m->high[j]) {
			shift = 0;
		} else if (p->scaling == COP_SCALE_STANDARD) {
			shift = m->mean[j];
			scale = 1 / sqrt(m->square[j] / (double)n);
		} else if (p->scaling == COP_SCALE_RANGE) {
			shift = (double)m->low[j];
			scale = 1 / (p->sparse ? magnitude(m->low[j], m->high[j]) : (double)m->high[j] - shift);
		} else {
			scale = 1 / largest;
		}
		p->shift[j] = p->sparse ? 0 : shift;
		p->scale[j] = scale;
	}
}

static void fit_target(cop_encoder *p, const cop_dataset *data, size_t n, const uint32_t *row)
{
	double low = (double)INFINITY, high = -(double)INFINITY;
	p->target_shift = 0;
	p->target_range = 1;
	if (!p->regression || !p->scale_target)
		return;
	for (size_t i = 0; i < n; i++) {
		double t = data->target[nth(row, i)];
		low = t < low ? t : low;
		high = t > high ? t : high;
	}
	if (low <= high && isfinite(high - low)) {
		p->target_shift = low;
		p->target_range = high > low ? high - low : 1;
	}
}

void cop_encoder_set_scaling(cop_encoder *p, cop_scaling scaling, bool scale_target)
{
	COP_ASSERT(scaling < COP_SCALINGS);
	p->scaling = (uint8_t)scaling;
	p->scale_target = scale_target;
}

cop_scaling cop_encoder_scaling(const cop_encoder *p) { return (cop_scaling)p->scaling; }

cop_err cop_encoder_fit(cop_encoder *p, const cop_dataset *data, size_t n, const uint32_t *row)
{
	if (data->d != p->d || data->sparse != p->sparse)
		return COP_ESHAPE;
	if (n == 0 || (row == NULL && n > data->n))
		return COP_EINVAL;
	if (p->scaling == COP_SCALE_NONE) {
		for (size_t j = 0; j < p->d; j++) {
			p->shift[j] = 0;
			p->scale[j] = 1;
		}
	} else {
		moments m;
		cop_err err = moments_init(&m, p->d);
		if (err != COP_OK)
			return err;
		(data->sparse ? take_sparse : take_dense)(&m, data, n, row);
		if (p->scaling == COP_SCALE_AUTO)
			p->scaling = (uint8_t)decide(&m, p->d, n);
		set_scales(p, &m, n);
		moments_fini(&m);
	}
	fit_target(p, data, n, row);
	return COP_OK;
}

static float scaled(double x, double shift, double scale)
{
	double y = (x - shift) * scale;
	y = y > (double)FLT_MAX ? (double)FLT_MAX : y;
	return (float)(y < -(double)FLT_MAX ? -(double)FLT_MAX : y);
}

void cop_encoder_apply_row(const cop_encoder *p, float *x)
{
	for (size_t j = 0; j < p->d && p->scaling != COP_SCALE_NONE; j++)
		x[j] = scaled((double)x[j], p->shift[j], p->scale[j]);
}

void cop_encoder_apply(const cop_encoder *p, cop_dataset *data)
{
	COP_ASSERT(data->d == p->d && data->sparse == p->sparse);
	if (p->scaling == COP_SCALE_NONE)
		return;
	if (data->sparse) {
		for (size_t e = 0; e < data->start[data->n]; e++)
			data->value[e] = scaled((double)data->value[e], 0, p->scale[data->index[e]]);
		return;
	}
	for (size_t i = 0; i < data->n; i++)
		cop_encoder_apply_row(p, data->x + i * data->d);
}

double cop_encoder_to_scale(const cop_encoder *p, double target)
{
	return (target - p->target_shift) / p->target_range;
}

double cop_encoder_from_scale(const cop_encoder *p, double value) { return p->target_shift + value * p->target_range; }
