/* optim/clip.h: gradient clipping by global L2 norm.
 *
 * For a gradient in one array, cop_clip_norm. For one in several arrays, add up cop_clip_squares over all, take
 * cop_clip_scale once, apply it to each. Sums run in double in ascending order. Any thread. */
#ifndef COP_OPTIM_CLIP_H
#define COP_OPTIM_CLIP_H

#include <stddef.h>

/* Sum of squares of n values. */
double cop_clip_squares(size_t n, const float *g);

/* What a gradient of that sum of squares is to be multiplied by so that its norm is at most limit (> 0): 1 when it is
 * already; NaN when squares is not finite. */
double cop_clip_scale(double squares, double limit);

/* g *= scale; nothing to do for 1. */
void cop_clip_apply(size_t n, float *g, double scale);

/* All three; returns the scale. A gradient that is not finite is left alone, and NaN returned. */
double cop_clip_norm(size_t n, float *g, double limit);

#endif
