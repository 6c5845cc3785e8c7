/* evaluate/special.h: the distribution functions that intervals need: incomplete beta, and quantiles.
 *
 * Incomplete beta by its continued fraction (Abramowitz and Stegun, 26.5.8, evaluated as Lentz 1976); quantiles by
 * Newton's steps kept inside a bracket. About 1e-12 relative. Pure functions; any thread. */
#ifndef COP_EVALUATE_SPECIAL_H
#define COP_EVALUATE_SPECIAL_H

/* Regularised incomplete beta I_x(a, b); a, b > 0, x in [0, 1]. Takes about sqrt(max(a, b)) steps. */
double cop_special_beta(double a, double b, double x);
/* x with I_x(a, b) = p; p in [0, 1]. */
double cop_special_beta_quantile(double a, double b, double p);
/* z with Phi(z) = p; p in (0, 1). */
double cop_special_normal_quantile(double p);
/* t that Student's distribution with df > 0 degrees of freedom (any real number) exceeds with probability `tail`, in
 * (0, 1/2). */
double cop_special_student_quantile(double df, double tail);

#endif
