/* A bracket [low, high] always holds the wanted quantile; a Newton step that leaves it becomes a bisection. */
#include "evaluate/special.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

#define STEPS    300
#define SMALL    1e-9 /* after so small a step, the next would be lost in rounding: they converge quadratically */
#define TINY     1e-300
#define FAR_TAIL 40.0
#define STIRLING 30.0
#define LARGE_DF 1e5 /* from here on the expansion about the normal quantile is exact to double precision */

static double log_gamma(double x)
{
	int sign;
	return lgamma_r(x, &sign); /* lgamma itself writes a global */
}

/* What Stirling's formula lacks of log_gamma; x >= STIRLING. */
static double stirling_rest(double x)
{
	double y = 1.0 / (x * x);
	return (1.0 / 12.0 - y * (1.0 / 360.0 - y * (1.0 / 1260.0 - y * (1.0 / 1680.0 - y / 1188.0)))) / x;
}

/* log_gamma(x + more) - log_gamma(x) */
static double log_gamma_rise(double x, double more)
{
	double s = x + more;
	if (x < STIRLING)
		return log_gamma(s) - log_gamma(x);
	return more * (log(s) - 1.0) + (x - 0.5) * log1p(more / x) + stirling_rest(s) - stirling_rest(x);
}

/* x^a (1-x)^b / B(a, b). Large shapes by Stirling's formula about the peak, where nothing large cancels. */
static double beta_power(double a, double b, double x)
{
	double s = a + b;
	if (fmin(a, b) < STIRLING)
		return exp(a * log(x) + b * log1p(-x) + log_gamma_rise(fmax(a, b), fmin(a, b)) - log_gamma(fmin(a, b)));
	double off = fma(x, s, -a);
	double about = a * log1p(off / a) + b * log1p(-off / b);
	double rest = stirling_rest(s) - stirling_rest(a) - stirling_rest(b);
	return exp(about + rest) * sqrt(a / s * b * 0.5 * M_1_PI);
}

static double away_from_zero(double x) { return fabs(x) < TINY ? TINY : x; }

/* The continued fraction, which converges fast for x below (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
	unsigned most = 1000 + (unsigned)(20.0 * sqrt(fmin(fmax(a, b), 1e12)));
	double c = 1.0, d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0)), h = d;
	for (unsigned i = 1; i <= most; i++) {
		double m = i;
		double even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
		d = 1.0 / away_from_zero(1.0 + even * d);
		c = away_from_zero(1.0 + even / c);
		h *= d * c;
		double odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
		d = 1.0 / away_from_zero(1.0 + odd * d);
		c = away_from_zero(1.0 + odd / c);
		h *= d * c;
		if (fabs(d * c - 1.0) < 4.0 * DBL_EPSILON)
			break;
	}
	return h;
}

double cop_special_beta(double a, double b, double x)
{
	if (!(x > 0.0))
		return 0.0;
	if (x >= 1.0)
		return 1.0;
	if (x < (a + 1.0) / (a + b + 2.0))
		return beta_power(a, b, x) * beta_fraction(a, b, x) / a;
	return 1.0 - beta_power(b, a, 1.0 - x) * beta_fraction(b, a, 1.0 - x) / b;
}

double cop_special_beta_quantile(double a, double b, double p)
{
	double low = 0.0, high = 1.0, x = a / (a + b);
	if (!(p > 0.0))
		return 0.0;
	if (p >= 1.0)
		return 1.0;
	for (int i = 0; i < STEPS; i++) {
		double gap = cop_special_beta(a, b, x) - p;
		if (gap > 0.0)
			high = x;
		else
			low = x;
		double density = beta_power(a, b, x) / (x * (1.0 - x));
		double step = gap / density;
		bool inside = x - step > low && x - step < high;
		x = inside ? x - step : 0.5 * (low + high);
		if (inside ? fabs(step) <= SMALL * fmin(x, 1.0 - x) : high - low <= 4.0 * DBL_EPSILON * low)
			break;
	}
	return x;
}

/* z > 0 that a standard normal exceeds with probability `tail` < 1/2. */
static double normal_upper(double tail)
{
	double low = 0.0, high = FAR_TAIL, z = 1.0;
	for (int i = 0; i < STEPS; i++) {
		double gap = 0.5 * erfc(z * M_SQRT1_2) - tail;
		if (gap > 0.0)
			low = z;
		else
			high = z;
		double density = exp(-0.5 * z * z) * 0.5 * M_2_SQRTPI * M_SQRT1_2;
		double step = gap / density;
		bool inside = z + step > low && z + step < high;
		z = inside ? z + step : 0.5 * (low + high);
		if (inside ? fabs(step) <= SMALL * z : high - low <= 4.0 * DBL_EPSILON * low)
			break;
	}
	return z;
}

double cop_special_normal_quantile(double p)
{
	if (p == 0.5)
		return 0.0;
	return p < 0.5 ? -normal_upper(p) : normal_upper(1.0 - p);
}

double cop_special_student_quantile(double df, double tail)
{
	if (df >= LARGE_DF) { /* Abramowitz and Stegun, 26.7.5 */
		double z = normal_upper(tail), z3 = z * z * z, z5 = z3 * z * z;
		return z + (z3 + z) / (4.0 * df) + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * df * df);
	}
	double y = cop_special_beta_quantile(0.5, 0.5 * df, 1.0 - 2.0 * tail); /* t^2 / (df + t^2) */
	if (y < 0.5)
		return sqrt(df * y / (1.0 - y));
	double x = cop_special_beta_quantile(0.5 * df, 0.5, 2.0 * tail); /* 1 - y */
	return sqrt(df * (1.0 - x) / x);
}
