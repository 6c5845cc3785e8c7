/* optim/l1_model.h: what the L1 solvers share: the quadratic model of a loss over rows, plus lambda ||w||_1.
 *
 * With r_i and h_i the first and second derivative of the loss by row i's prediction <w, x_i> + b, the model of the
 * objective at (w + dw, b + db) is
 *
 *     sum_i r_i z_i + h_i z_i^2 / 2 + lambda ||w + dw||_1,   z = X dw + db.
 *
 * It is minimised by coordinate descent; after each coordinate's move the bias is the best one again, which costs
 * nothing: with m_j = sum_i h_i x_ij and H = sum_i h_i, a move of dw_j by t moves db by -t m_j / H, and adds
 * -t m_j / H h_i to the derivative by z_i, a share that r leaves out. */
#ifndef COP_OPTIM_L1_MODEL_H
#define COP_OPTIM_L1_MODEL_H

#include "linalg/columns.h"
#include "optim/l1_gram.h"

typedef struct cop_l1_model {
	const cop_columns *x; /* kept */
	double lambda;
	float *r, *h, *z;         /* cop_kernel_pad(n), the padding 0; cop_l1_model_minimise uses r up */
	double *gradient;         /* d: of the loss by w */
	double gradient_b;        /* of the loss by b */
	double *mean, *curvature; /* d: of active features: m_j / H, and sum_i h_i x_ij (x_ij - mean) */
	double total;             /* H */
	float *q;                 /* scratch of products */
	float *dw;                /* d: 0 outside the active features */
	double db;
	uint32_t *active; /* d */
	size_t active_count;
	double change; /* of the linear part and the penalty at (dw, db); negative */
} cop_l1_model;

/* The caller ends it with cop_l1_model_fini in every case. COP_ENOMEM. */
COP_CHECK cop_err cop_l1_model_init(cop_l1_model *model, const cop_columns *x, double lambda);
void cop_l1_model_fini(cop_l1_model *model);

/* gradient and gradient_b from r. Returns the largest violation of the optimality conditions at w. */
double cop_l1_model_gradient(cop_l1_model *model, const float *w);
/* Lists the features that can move: those of w, and those whose gradient is within `margin` of lambda, or beyond. */
void cop_l1_model_choose(cop_l1_model *model, const float *w, double margin);
/* total, and mean and curvature of the active features, from h. */
void cop_l1_model_curve(cop_l1_model *model);
/* dw and db from r: passes over the active features until the largest violation in the model is at most `violation`, or
 * `passes` of them, whose number it returns. r becomes the model's derivative but for db h. */
unsigned cop_l1_model_minimise(cop_l1_model *model, const float *w, double violation, unsigned passes);
/* z, and change. */
void cop_l1_model_step(cop_l1_model *model, const float *w);

/* What is kept from step to step of one loss. */
typedef struct cop_l1_progress {
	unsigned passes;          /* over columns, most in one step */
	double pays;              /* passes over columns that making products of features may cost */
	double enough;            /* the violation at which the caller will be content */
	double violation, before; /* at this step, and at the last one */
	unsigned age;             /* steps since the products were made */
	size_t rows;              /* of their sample */
	bool by_products;         /* the last step was */
	bool failed;              /* by the caller: the last step helped nothing */
} cop_l1_progress;

/* The next step at w, where the gradient is known and its largest violation is state->violation: dw, db, z and change,
 * by columns or by products of features (gram, zeroed at first, ended with cop_l1_gram_fini), whichever is less work;
 * by columns after a step by products that failed. COP_ENOMEM. */
COP_CHECK cop_err cop_l1_model_propose(cop_l1_model *model, cop_l1_gram *gram, cop_l1_progress *state, const float *w);

/* The logistic loss along a step, for cop_l1_model_search. */
typedef struct cop_l1_line {
	const float *prediction, *sign, *weight; /* n: at w */
	float *trial;                            /* n: predictions at the step taken */
	double objective;                        /* loss + lambda ||w||_1 at w; at the step taken */
} cop_l1_line;

/* The longest t of 1, 1/2, 1/4, ... such that w + t dw, b + t db lowers the objective by a share of what the model says
 * (Armijo); 0: none does. r and h are those last tried. */
float cop_l1_model_search(cop_l1_model *model, const float *w, cop_l1_line *line);

/* to[0..n) = weight (NULL: all 1) over the largest, which *unit becomes (1 when there is none above 0); shares below
 * 1e-30 become 0. COP_ENONFINITE. */
COP_CHECK cop_err cop_l1_model_weights(size_t n, const float *weight, float *to, double *unit);

/* sum_j |w_j|, and that of w + t dw. */
double cop_l1_model_norm(size_t d, const float *w);
double cop_l1_model_norm_along(size_t d, const float *w, const float *dw, float t);
size_t cop_l1_model_nonzeros(size_t d, const float *w);
bool cop_l1_model_finite(size_t d, const float *w);

#endif
