/* optim/clip.h: gradient clipping by global L2 norm: add up the squares of the whole gradient, take cop_clip_scale
 * once, multiply every part by it. Any thread. */
#ifndef COP_OPTIM_CLIP_H
#define COP_OPTIM_CLIP_H

/* What a gradient of that sum of squares is to be multiplied by so that its norm is at most limit (> 0): 1 when it is
 * already; NaN when squares is not finite. */
double cop_clip_scale(double squares, double limit);

#endif
