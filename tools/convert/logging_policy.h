/* tools/convert/logging_policy.h: the policy that decides for labelled rows, so that they become a bandit log.
 *
 *   uniform   p(k) = 1 / K
 *   epsilon   p(k) = (1 - e) 1[k = base(x)] + e / K
 *   softmax   p(k) = (1 - e) exp(-s_k(x) / T) / sum + e / K, less what no log may hold (events/logged_event.h)
 *   constant  always one arm, p = 1
 *
 * base(x) and the scores s_k (predicted cost) are a model's that was fitted to the first rows before any is logged and
 * stays as it is, or one given arm. Rows are standardised by those rows. One thread. */
#ifndef COP_TOOLS_CONVERT_LOGGING_POLICY_H
#define COP_TOOLS_CONVERT_LOGGING_POLICY_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "table/dataset.h"

typedef enum cop_logging_kind {
	COP_LOGGING_UNIFORM,
	COP_LOGGING_EPSILON,
	COP_LOGGING_SOFTMAX,
	COP_LOGGING_CONSTANT,
} cop_logging_kind;

typedef enum cop_logging_base {
	COP_LOGGING_LINEAR,
	COP_LOGGING_TREES,
	COP_LOGGING_ARM,
} cop_logging_base;

typedef struct cop_logging_settings {
	cop_logging_kind kind;
	double epsilon;
	double temperature;
	cop_logging_base base;
	uint64_t arm;  /* base ARM, or constant */
	size_t rows;   /* the base learns from so many */
	uint64_t seed; /* of draws, and of the base's start */
} cop_logging_settings;

typedef struct cop_logging_policy cop_logging_policy;

/* Fits the base to the first rows of `order` (a permutation of the dataset's; both borrowed). Caller frees with
 * cop_logging_policy_free. COP_EINVAL: the arm is none of the arms, or the base would be too large. COP_ENOMEM. */
COP_CHECK cop_err cop_logging_policy_new(const cop_logging_settings *settings, const cop_dataset *data, size_t arms,
        const uint32_t *order, cop_logging_policy **out, cop_diag *diag);
void cop_logging_policy_free(cop_logging_policy *policy);

/* An arm for the row and the probability with which it was drawn. */
void cop_logging_policy_draw(cop_logging_policy *policy, const cop_row *x, uint32_t *arm, double *p);

#endif
