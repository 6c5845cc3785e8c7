/* `y` of a hidden layer holds what the next one is given: after ELU and dropout. Its derivative follows from that value
 * and `kept`, which is 0 where a number was dropped and else what it was multiplied by. */
#include "train/mlp.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "linalg/blas.h"

typedef struct layer {
	size_t in, out;
	size_t at;     /* of W in the weights; b follows */
	float *y, *dy; /* hidden: rows x out */
	float *kept;   /* hidden: rows x out */
} layer;

struct cop_mlp {
	cop_mlp_shape shape;
	size_t weights;
	layer layer[COP_MLP_MAX_LAYERS];
};

static bool shape_is_valid(const cop_mlp_shape *s)
{
	bool valid = s->rows >= 1 && s->layers >= 1 && s->layers <= COP_MLP_MAX_LAYERS && s->dropout >= 0.0 &&
	             s->dropout < 1.0;
	for (unsigned l = 0; valid && l <= s->layers; l++)
		valid = s->size[l] >= 1;
	return valid;
}

static bool make_layer(cop_mlp *mlp, unsigned l)
{
	const cop_mlp_shape *s = &mlp->shape;
	layer *here = &mlp->layer[l];
	here->in = s->size[l];
	here->out = s->size[l + 1];
	here->at = mlp->weights;
	size_t weights;
	if (__builtin_mul_overflow(here->in + 1, here->out, &weights) ||
	        __builtin_add_overflow(mlp->weights, weights, &mlp->weights))
		return false;
	if (l + 1 == s->layers)
		return true;
	here->y = cop_mem_alloc(s->rows, here->out * sizeof *here->y);
	here->dy = cop_mem_alloc(s->rows, here->out * sizeof *here->dy);
	here->kept = cop_mem_alloc(s->rows, here->out * sizeof *here->kept);
	return here->y != NULL && here->dy != NULL && here->kept != NULL;
}

cop_err cop_mlp_new(const cop_mlp_shape *shape, cop_mlp **out)
{
	*out = NULL;
	if (!shape_is_valid(shape))
		return COP_EINVAL;
	cop_mlp *mlp = cop_mem_alloc(1, sizeof *mlp);
	if (mlp == NULL)
		return COP_ENOMEM;
	mlp->shape = *shape;
	for (unsigned l = 0; l < shape->layers; l++)
		if (!make_layer(mlp, l)) {
			cop_mlp_free(mlp);
			return COP_ENOMEM;
		}
	*out = mlp;
	return COP_OK;
}

void cop_mlp_free(cop_mlp *mlp)
{
	for (unsigned l = 0; mlp != NULL && l < mlp->shape.layers; l++) {
		cop_mem_free(mlp->layer[l].y);
		cop_mem_free(mlp->layer[l].dy);
		cop_mem_free(mlp->layer[l].kept);
	}
	cop_mem_free(mlp);
}

size_t cop_mlp_weights(const cop_mlp *mlp) { return mlp->weights; }

void cop_mlp_start(const cop_mlp *mlp, cop_rng *rng, float *w)
{
	for (unsigned l = 0; l < mlp->shape.layers; l++) {
		const layer *here = &mlp->layer[l];
		const double bound = 1.0 / sqrt((double)here->in);
		for (size_t i = 0; i < (here->in + 1) * here->out; i++)
			w[here->at + i] = (float)(bound * (2.0 * cop_rng_unit(rng) - 1.0));
	}
}

/* ELU and dropout of a hidden layer, in place. */
static void activate(const cop_mlp *mlp, layer *here, size_t rows, cop_rng *rng)
{
	const double dropout = rng != NULL ? mlp->shape.dropout : 0.0;
	const float scale = (float)(1.0 / (1.0 - dropout));
	for (size_t i = 0; i < rows * here->out; i++) {
		here->kept[i] = dropout > 0.0 && cop_rng_unit(rng) < dropout ? 0.0f : scale;
		here->y[i] = here->kept[i] * (here->y[i] < 0.0f ? expm1f(here->y[i]) : here->y[i]);
	}
}

void cop_mlp_forward(cop_mlp *mlp, const float *w, size_t rows, const float *x, cop_rng *rng, float *y)
{
	for (unsigned l = 0; l < mlp->shape.layers; l++) {
		layer *here = &mlp->layer[l];
		const bool hidden = l < mlp->shape.layers - 1;
		const float *b = w + here->at + here->in * here->out;
		float *to = hidden ? here->y : y;
		for (size_t i = 0; i < rows; i++)
			memcpy(to + i * here->out, b, here->out * sizeof *to);
		cop_blas_gemm(false, true, rows, here->out, here->in, 1.0f, l == 0 ? x : mlp->layer[l - 1].y,
		        w + here->at, 1.0f, to);
		if (hidden)
			activate(mlp, here, rows, rng);
	}
}

/* dy of a hidden layer becomes that before its ELU and dropout: the slope is 1, or the value before scaling plus 1. */
static void deactivate(layer *here, size_t rows)
{
	for (size_t i = 0; i < rows * here->out; i++) {
		const float y = here->y[i], kept = here->kept[i];
		here->dy[i] *= y < 0.0f ? y + kept : kept;
	}
}

void cop_mlp_backward(cop_mlp *mlp, const float *w, size_t rows, const float *x, const float *dy, float *g, float *dx)
{
	for (unsigned l = mlp->shape.layers; l-- > 0;) {
		layer *here = &mlp->layer[l];
		const bool hidden = l < mlp->shape.layers - 1;
		float *gb = g + here->at + here->in * here->out;
		if (hidden)
			deactivate(here, rows);
		const float *d = hidden ? here->dy : dy;
		cop_blas_gemm(true, false, here->out, here->in, rows, 1.0f, d, l == 0 ? x : mlp->layer[l - 1].y, 0.0f,
		        g + here->at);
		memset(gb, 0, here->out * sizeof *gb);
		for (size_t i = 0; i < rows; i++)
			for (size_t k = 0; k < here->out; k++)
				gb[k] += d[i * here->out + k];
		cop_blas_gemm(false, false, rows, here->in, here->out, 1.0f, d, w + here->at, 0.0f,
		        l == 0 ? dx : mlp->layer[l - 1].dy);
	}
}
