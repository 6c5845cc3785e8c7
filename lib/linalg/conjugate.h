/* linalg/conjugate.h: preconditioned conjugate gradients for A x = b with A symmetric, positive definite and known only
 * by its products.
 *
 * Several systems of one size, the outputs, are solved side by side: vectors are n x outputs, row-major, and one call
 * of the operator serves all of them. Their matrices may differ. Everything in double, sums in a fixed order: the same
 * bits on every call if the operator gives the same. One solve at a time per object. */
#ifndef COP_LINALG_CONJUGATE_H
#define COP_LINALG_CONJUGATE_H

#include <stddef.h>

#include "base/err.h"

typedef struct cop_conjugate cop_conjugate;

/* Workspace: 4 n x outputs doubles. n, outputs > 0. Caller frees with cop_conjugate_free; on error *out is NULL.
 * COP_ENOMEM. */
COP_CHECK cop_err cop_conjugate_new(size_t n, size_t outputs, cop_conjugate **out);
void cop_conjugate_free(cop_conjugate *conjugate);

/* out = A in, both n x outputs. */
typedef void cop_conjugate_apply(void *context, const double *in, double *out);

typedef struct cop_conjugate_system {
	cop_conjugate_apply *apply;
	void *context;
	const double *diagonal; /* n x outputs: A's, all positive, as preconditioner (Jacobi); NULL: none */
	const double *right;    /* n x outputs: b */
	double tolerance;       /* of |b - A x| / |b|, of each output */
	size_t most;            /* steps */
} cop_conjugate_system;

typedef struct cop_conjugate_report {
	size_t steps;    /* of the output that took the most */
	double residual; /* |b - A x| / |b| of the worst output, computed anew from x */
} cop_conjugate_report;

/* x in: where to start. Out: the solution, or what most steps come to: compare the report's residual. x is 0 where b
 * is. report may be NULL. COP_EDIVERGED: A is not positive definite, or something is not finite; x then holds the last
 * good steps. */
COP_CHECK cop_err cop_conjugate_solve(
        cop_conjugate *conjugate, const cop_conjugate_system *system, double *x, cop_conjugate_report *report);

#endif
