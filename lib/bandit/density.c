/* Every quotient has a denominator above 0 (DBL_MIN is added to the width), so nothing is divided by 0; without a
 * finite loss the density is even. The probabilities are divided by their sum in the order of the bins. A draw spends
 * one number of the generator, for the bin and the place within it; the best value is the vertex of the parabola
 * through the best bin and its neighbours, at most half a bin away. */
#include "bandit/density.h"

#include <float.h>
#include <math.h>

/* The least that is finite; as many as there are: none is. */
static size_t best_of(size_t bins, const float *loss)
{
	size_t best = bins;
	for (size_t k = 0; k < bins; k++)
		if (isfinite(loss[k]) && (best == bins || loss[k] < loss[best]))
			best = k;
	return best;
}

void cop_density_fill(
        const cop_density_settings *settings, uint64_t n, double noise, size_t bins, const float *loss, double *p)
{
	size_t best = best_of(bins, loss);
	double events = fmin((double)n, settings->most);
	double even = fmin(settings->floor * (1.0 + settings->early_floor / (events + 1.0)) / sqrt(events + 1.0), 1.0);
	double spread = settings->spread * (1.0 + settings->early_spread / (events + 1.0)), sum = 0.0;
	double width = spread * noise / (events + 1.0) + DBL_MIN; /* the square of a gap that halves q */
	for (size_t k = 0; k < bins; k++) {
		double gap = best == bins ? 0.0 : isfinite(loss[k]) ? (double)loss[k] - (double)loss[best] : HUGE_VAL;
		p[k] = 1.0 / (1.0 + gap * gap / width);
		sum += p[k];
	}
	for (size_t k = 0; k < bins; k++)
		p[k] = (1.0 - even) * p[k] / sum + even / (double)bins;
}

size_t cop_density_bin(size_t bins, double y)
{
	double at = fmin(fmax(y, 0.0), 1.0) * (double)bins;
	return at >= (double)bins ? bins - 1 : (size_t)at;
}

double cop_density_draw(size_t bins, const double *p, cop_rng *rng, double *density)
{
	double left = cop_rng_unit(rng);
	size_t k = 0;
	for (; k + 1 < bins && left >= p[k]; k++)
		left -= p[k];
	double inside = fmin(left / p[k], 1.0 - DBL_EPSILON); /* the last bin takes what rounding left */
	if (density != NULL)
		*density = p[k] * (double)bins;
	return fmin(((double)k + inside) / (double)bins, 1.0 - DBL_EPSILON);
}

double cop_density_best(size_t bins, const float *loss)
{
	size_t best = best_of(bins, loss);
	double shift = 0.0;
	if (best == bins)
		return 0.5;
	if (best > 0 && best + 1 < bins && isfinite(loss[best - 1]) && isfinite(loss[best + 1])) {
		double below = (double)loss[best - 1] - (double)loss[best];
		double above = (double)loss[best + 1] - (double)loss[best];
		if (below + above > 0.0)
			shift = fmin(fmax(0.5 * (below - above) / (below + above), -0.5), 0.5);
	}
	return ((double)best + 0.5 + shift) / (double)bins;
}
