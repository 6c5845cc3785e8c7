/* Second moments are kept about their own mean; other centres are reached by the parallel axis theorem, so that no
 * large squares cancel. */
#include "evaluate/moments.h"

#include <math.h>

double cop_moments_mean_w(const cop_moments *m)
{
	return m->n == 0 ? 0.0 : cop_sum_value(&m->aw) / cop_sum_value(&m->a);
}

double cop_moments_mean_y(const cop_moments *m)
{
	return m->n == 0 ? 0.0 : cop_sum_value(&m->ay) / cop_sum_value(&m->a);
}

double cop_moments_square(const cop_moments *m, double gamma, double centre)
{
	double about = m->yy - 2.0 * gamma * m->wy + gamma * gamma * m->ww;
	double off = m->mean_y - gamma * m->mean_w - centre;
	return (about > 0.0 ? about : 0.0) + m->a2 * off * off;
}

double cop_moments_product(const cop_moments *m, double gamma)
{
	return m->wy - gamma * m->ww + m->a2 * m->mean_w * (m->mean_y - gamma * m->mean_w);
}

double cop_moments_weight_square(const cop_moments *m) { return m->ww + m->a2 * m->mean_w * m->mean_w; }

double cop_moments_typical_weight(const cop_moments *m)
{
	double weights = cop_sum_value(&m->aw);
	return weights > 0.0 ? cop_moments_weight_square(m) / weights * cop_sum_value(&m->a) / m->a2 : 0.0;
}

static void put_sum(const cop_sum *sum, cop_bytes *out)
{
	cop_bytes_put_f64(out, sum->total);
	cop_bytes_put_f64(out, sum->rest);
}

void cop_moments_save(const cop_moments *m, cop_bytes *out)
{
	const double values[] = { m->a2, m->mean_w, m->mean_y, m->ww, m->wy, m->yy };
	cop_bytes_put_u64(out, m->n);
	put_sum(&m->a, out);
	put_sum(&m->aw, out);
	put_sum(&m->ay, out);
	cop_bytes_put_f64s(out, values, sizeof values / sizeof *values);
}

void cop_moments_load(cop_moments *m, cop_cursor *in)
{
	double v[12];
	m->n = cop_cursor_u64(in);
	cop_cursor_f64s(in, v, 12);
	m->a = (cop_sum){ v[0], v[1] };
	m->aw = (cop_sum){ v[2], v[3] };
	m->ay = (cop_sum){ v[4], v[5] };
	m->a2 = v[6];
	m->mean_w = v[7];
	m->mean_y = v[8];
	m->ww = v[9];
	m->wy = v[10];
	m->yy = v[11];
	if (in->err == COP_OK && ((m->n > 0) != (cop_sum_value(&m->a) > 0.0) || (m->n > 0) != (m->a2 > 0.0) ||
	                                 m->ww < 0.0 || m->yy < 0.0))
		in->err = COP_EFORMAT;
}
