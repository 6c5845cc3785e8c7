/* learn/surface.h: predicted loss as a surface over contexts and values of [-1, 1], by a small neural network.
 *
 * x: D standardised inputs, their constant included; z the value. Two layers of H and G units:
 *     h = s(A x),   s(a) = a / sqrt(1 + a^2)
 *     loss = m + d (o_0 + sum over j of o_j max(0, t_j + c_j z)),   t = B (h, x)
 * so that the first layer bends the context, and the second one says where on the range the surface has its edges,
 * wherever the context moves them. m and d are mean and deviation of the losses so far: their unit does not matter.
 * A loss is one step of RMSprop on the gradient of its own squared error and of BATCH - 1 events that are kept, drawn
 * evenly; a new event takes the place of any of them, so that their ages fall off by a half-life. Steps fall as 1 / n;
 * predictions are those of weights averaged over the last steps. Weights that grow beyond measure make the network
 * begin again. Seeded alike always. One thread per object; nothing is allocated after new. */
#ifndef COP_LEARN_SURFACE_H
#define COP_LEARN_SURFACE_H

#include "base/bytes.h"
#include "base/err.h"
#include "linalg/kernel.h"

#define COP_SURFACE_MOST_INPUTS 129 /* more would cost too much */

typedef struct cop_surface cop_surface;

/* COP_EINVAL: inputs are none or too many. COP_ENOMEM. On error *out is NULL. */
COP_CHECK cop_err cop_surface_new(const cop_kernel *kernel, size_t inputs, cop_surface **out);
void cop_surface_free(cop_surface *surface);
/* Bytes that one takes, about. */
double cop_surface_footprint(size_t inputs);

/* Predicted losses of `count` values z for x; 1/2 before the first loss. */
void cop_surface_predict(cop_surface *surface, const float *x, size_t count, const float *z, float *loss);
/* z in [-1, 1], |loss| at most 1e15. */
void cop_surface_learn(cop_surface *surface, const float *x, double z, double loss);

void cop_surface_save(const cop_surface *surface, cop_bytes *bytes);
/* Into one of as many inputs, or more (learn/grown_inputs.h): their weights begin at 0, they were 0 in the events that
 * are kept, and the network changes by nothing else. COP_ESHAPE, COP_EFORMAT, COP_ENONFINITE; then its state is
 * undefined. */
COP_CHECK cop_err cop_surface_load(cop_surface *surface, cop_cursor *cursor);

#endif
