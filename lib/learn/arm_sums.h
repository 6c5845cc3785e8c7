/* learn/arm_sums.h: sums over the rows of one arm, from which a linear least-squares model follows.
 *
 * Of d features x and residuals r, in this order: the number of rows n; q = sum of r; s = sum of x; g = sum of r x; and
 * S = sum of x xᵀ, its rows from the diagonal on. Sums over the rows of several arms or instances add up. A feature
 * that the rows lack has -1 in place of the sum of its squares, and 0 in place of its other sums: nothing is known of
 * it, and sums of different features can be made those of the same ones. Pure functions. */
#ifndef COP_LEARN_ARM_SUMS_H
#define COP_LEARN_ARM_SUMS_H

#include <stdbool.h>
#include <stddef.h>

#define COP_ARM_SUMS_FEATURES 256 /* most that are told from their numbers */

/* Numbers of d features. */
size_t cop_arm_sums_width(size_t d);
/* The features of so many numbers; false: no d has as many. */
bool cop_arm_sums_features(size_t width, size_t *d);

/* Takes a row of d values in; those of features that the rows lack are 0. */
void cop_arm_sums_add(double *sum, const float *x, size_t d, double r);
/* As if feature j of all rows had been `value`. */
void cop_arm_sums_fix(double *sum, size_t d, size_t j, double value);
/* As if all rows lacked feature j; and whether they do. */
void cop_arm_sums_miss(double *sum, size_t d, size_t j);
bool cop_arm_sums_lacks(const double *sum, size_t d, size_t j);
/* The sums of `from` features as those of the first d, which may be more: the rows lack the others then. */
void cop_arm_sums_place(const double *sum, size_t from, double *out, size_t d);

#endif
