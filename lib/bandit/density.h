/* bandit/density.h: from predicted losses of bins of [0, 1] to a density over it, and a draw from it.
 *
 * B bins of equal width. With n losses learned, noise their variance about what was predicted, and gap_k the predicted
 * loss of bin k less the least:
 *     p_k = (1 - f) q_k + f / B,   q_k proportional to 1 / (1 + gap_k^2 n / (s noise)),
 *     s = spread (1 + early_spread / n),   f = floor (1 + early_floor / n) / sqrt(n)   (at most 1; n + 1 for n)
 * so a bin is tried about as often as it takes to tell its loss from the least one (rate noise / (n gap^2), that of
 * posterior sampling), and every value keeps a density above 0. n counts up to a limit, so that exploration never ends.
 * Within a bin the draw is even: the density is p_k B. The unit of the losses does not matter. The early parts
 * are for the time when the losses predicted for what was not played mean little. Pure functions; any thread. */
#ifndef COP_BANDIT_DENSITY_H
#define COP_BANDIT_DENSITY_H

#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"

typedef struct cop_density_settings {
	double spread;
	double floor; /* in [0, 1] */
	double early_spread;
	double early_floor;
	double most; /* n counts up to this */
} cop_density_settings;

/* p: `bins` probabilities, sum 1 up to rounding. A predicted loss that is not finite counts as endlessly high; when
 * none is finite, all bins are alike. */
void cop_density_fill(
        const cop_density_settings *settings, uint64_t n, double noise, size_t bins, const float *loss, double *p);
/* The bin of a value in [0, 1]. */
size_t cop_density_bin(size_t bins, double y);
/* A value in [0, 1), and its density (NULL: not wanted). Takes one number from the generator whatever p is. */
double cop_density_draw(size_t bins, const double *p, cop_rng *rng, double *density);
/* Where the predicted losses are least: the best bin's centre, moved by the parabola through its neighbours, at most to
 * the bin's ends. */
double cop_density_best(size_t bins, const float *loss);

#endif
