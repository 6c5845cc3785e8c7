/* The sum of squares is in double, so no float gradient overflows it. A norm that is not finite gives NaN and leaves
 * the gradient alone: whoever asked refuses the update. */
#include "optim/clip.h"

#include <math.h>

double cop_clip_squares(size_t n, const float *g)
{
	double sum = 0.0;
	for (size_t i = 0; i < n; i++)
		sum += (double)g[i] * (double)g[i];
	return sum;
}

double cop_clip_scale(double squares, double limit)
{
	if (!isfinite(squares))
		return (double)NAN;
	double norm = sqrt(squares);
	return norm > limit ? limit / norm : 1.0;
}

void cop_clip_apply(size_t n, float *g, double scale)
{
	if (scale >= 1.0)
		return;
	for (size_t i = 0; i < n; i++)
		g[i] = (float)((double)g[i] * scale);
}

double cop_clip_norm(size_t n, float *g, double limit)
{
	double scale = cop_clip_scale(cop_clip_squares(n, g), limit);
	if (!isnan(scale))
		cop_clip_apply(n, g, scale);
	return scale;
}
