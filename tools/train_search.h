/* tools/train_search.h: settings of a learner chosen by validation.
 *
 * A part of the rows is held back. From the learner's defaults on, each knob in turn is tried at every value of its
 * list, and keeps the best (least loss on the rows held back; the earlier one among equals); rounds over the knobs go
 * on until one changes nothing or the trials are used up. What was given on the command line is not searched. */
#ifndef COP_TOOLS_TRAIN_SEARCH_H
#define COP_TOOLS_TRAIN_SEARCH_H

#include <stdio.h>

#include "train_fit.h"

typedef struct cop_train_search {
	double validation; /* share held back, in (0, 1) */
	size_t trials;     /* most */
	size_t repeats;    /* each is fitted with so many seeds and divisions, >= 1 */
	FILE *progress;    /* a line for each trial; NULL: none */
} cop_train_search;

/* job->knobs get what was found; *trials how many were fitted. Errors of cop_train_fit. */
COP_CHECK cop_err cop_train_search_run(
        const cop_train_search *search, cop_train_job *job, size_t *trials, cop_diag *diag);

#endif
