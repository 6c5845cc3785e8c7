/* optim/l1_settings.h: what the L1 solvers take and report. */
#ifndef COP_OPTIM_L1_SETTINGS_H
#define COP_OPTIM_L1_SETTINGS_H

#include <float.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct cop_l1_settings {
	double lambda;      /* of the penalty, >= 0 */
	double tolerance;   /* > 0; each solver's header says of what */
	unsigned max_steps; /* >= 1: Newton steps, or passes where there are none */
} cop_l1_settings;

typedef struct cop_l1_report {
	double objective; /* at what is returned; never above that of the start */
	unsigned steps;   /* of those that max_steps counts */
	size_t nonzeros;  /* of w */
} cop_l1_report;

/* Every setting is in its range. */
static inline bool cop_l1_settings_valid(const cop_l1_settings *settings)
{
	return settings->lambda >= 0.0 && settings->lambda <= DBL_MAX && settings->tolerance > 0.0 &&
	       settings->max_steps > 0;
}

#endif
