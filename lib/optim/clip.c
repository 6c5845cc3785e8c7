/* A norm that is not finite gives NaN, so that the caller refuses the update. */
#include "optim/clip.h"

#include <math.h>

double cop_clip_scale(double squares, double limit)
{
	if (!isfinite(squares))
		return (double)NAN;
	double norm = sqrt(squares);
	return norm > limit ? limit / norm : 1.0;
}
