/* optim/optim.h: first-order optimisers, found by name, for a float matrix of rows x cols weights.
 *
 * With gradient g, learning rate lr and root(s) = sqrt(s) + eps, or sqrt(s + eps) when eps_inside:
 *     sgd       w -= lr g
 *     momentum  v = momentum v + g;  w -= lr v
 *     rmsprop   s = alpha s + (1 - alpha) g^2;  w -= lr g / root(s);
 *               with momentum > 0: v = momentum v + g / root(s);  w -= lr v      (not centred, no bias correction)
 *     adagrad   s += g^2;  w -= lr g / root(s)
 *     adam      m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2;
 *               w -= lr m / (1 - beta1^t) / root(v / (1 - beta2^t))
 *     qhadam    m and v as adam's, both with their bias corrected;                      (Ma and Yarats 2019, eq. 13)
 *               w -= lr ((1 - nu1) g + nu1 m) / root((1 - nu2) g^2 + nu2 v)
 * All state starts at 0. The owner keeps the weights and sets lr between steps (optim/schedule.h). Stepping allocates
 * nothing. One thread per object. */
#ifndef COP_OPTIM_OPTIM_H
#define COP_OPTIM_OPTIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"

typedef struct cop_optim_settings {
	double lr;       /* [0, 1e6] */
	double momentum; /* [0, 1) */
	double alpha;    /* [0, 1): rmsprop's memory */
	double eps;      /* [1e-12, 1] */
	double beta1;    /* [0, 0.9999] */
	double beta2;    /* [0, 1) */
	double nu1, nu2; /* [0, 1]: qhadam's share of the averages */
	bool eps_inside; /* eps under the root; default false, as the papers' programs */
} cop_optim_settings;

typedef struct cop_optim cop_optim;

/* Name of optimiser i, NULL past the last. */
const char *cop_optim_name(size_t i);

/* The usual settings of an optimiser. COP_ENOTFOUND: no such name. */
COP_CHECK cop_err cop_optim_defaults(const char *name, cop_optim_settings *settings);

/* Caller frees with cop_optim_free; on error *out is NULL. COP_ENOTFOUND: no such name. COP_EINVAL: a setting outside
 * its range (also of one that this optimiser does not use), rows or cols 0. COP_ENOMEM. */
COP_CHECK cop_err cop_optim_new(
        const char *name, const cop_optim_settings *settings, size_t rows, size_t cols, cop_optim **out);
void cop_optim_free(cop_optim *optim);

/* lr in [0, 1e6], for the steps to come. */
void cop_optim_set_lr(cop_optim *optim, double lr);
/* Steps done. */
uint64_t cop_optim_steps(const cop_optim *optim);

/* One step on all weights w (rows x cols) with gradient g of the same shape; they may not overlap.
 * COP_EDIVERGED: a weight or the state would not be finite; then nothing was changed and no step was counted. */
COP_CHECK cop_err cop_optim_step(cop_optim *optim, float *w, const float *g);

/* The step of gradient scale * g, scale in [0, 1], in one pass over memory: for large weights in batch fits. On
 * COP_EDIVERGED some weights and states may have moved, all still finite. */
COP_CHECK cop_err cop_optim_step_scaled(cop_optim *optim, float *w, const float *g, double scale);

/* One step in which only the rows listed (n_rows distinct indices, borrowed) have a gradient. w and g are whole
 * matrices; other rows are neither read nor written, so the cost is that of the rows listed. A row's decays of the
 * steps it missed are made up for when it is touched next. For sgd, adagrad and rmsprop without momentum that equals
 * cop_optim_step with zeros elsewhere, up to rounding of the decay. For momentum, rmsprop with momentum and adam
 * the averages decay all the same, but the moves that a remembered gradient would still have caused in missed steps are
 * left out (as "lazy" variants do); adam's bias correction counts all steps. Errors as cop_optim_step. */
COP_CHECK cop_err cop_optim_step_rows(cop_optim *optim, float *w, const float *g, const uint32_t *rows, size_t n_rows);

/* State and step count (not the settings). Errors stay in bytes->err. */
void cop_optim_save(const cop_optim *optim, cop_bytes *bytes);

/* Into an optimiser of the same name, shape and number of state arrays, or of more rows, the last `kept` of which
 * are those that were the last of the saved ones (0: those behind all are new); from there it continues as the saved
 * one, bit for bit. On error the state is as new. COP_ESHAPE: saved by another kind or shape. COP_EFORMAT,
 * COP_ENONFINITE. */
COP_CHECK cop_err cop_optim_load(cop_optim *optim, size_t kept, cop_cursor *cursor);
/* Into one of the same kind, columns and number of state arrays, and at least as many rows: the first rows go on as the
 * other's, further ones begin. */
void cop_optim_inherit(cop_optim *optim, const cop_optim *from);

#endif
