/* tools/train/train_search.h: settings of a learner chosen by validation.
 *
 * A part of the rows is held back, or each of K folds in turn. Half of the trials draw all knobs at random from their
 * lists (Bergstra and Bengio 2012), beside the learner's defaults. From the best of them on, each knob in turn is tried
 * at every value of its list, and keeps the one whose mean loss on the rows held back is least; among equals the one of
 * fewer parameters, then the earlier. Rounds over the knobs go on until one changes nothing or the trials are used up.
 * What was given on the command line is not searched. laptao uses the rows held back, but not their labels. */
#ifndef COP_TOOLS_TRAIN_TRAIN_SEARCH_H
#define COP_TOOLS_TRAIN_TRAIN_SEARCH_H

#include <stdio.h>

#include "train_fit.h"

#define COP_TRAIN_RACE_MOST 32 /* choices, rounds */

typedef struct cop_train_search {
	size_t folds;      /* K; 0: one part is held back */
	double validation; /* its share, in (0, 1) */
	size_t trials;     /* most */
	size_t repeats;    /* each is fitted with so many seeds and divisions, >= 1 */
	size_t most_trees; /* of a forest, in trials; 0: a few */
	FILE *progress;    /* a line for each trial, over the one that stands there; NULL: none */
	FILE *log;         /* the same lines, plain; NULL: none */
} cop_train_search;

/* What is known of a trial, over repeats and folds. */
typedef struct cop_train_rating {
	double mean;       /* loss on the rows held back: share of wrong classes, or RMSE in the file's unit */
	double error;      /* standard error of the mean, as if the fits were independent; NaN: of a single one */
	double parameters; /* of the model, mean */
} cop_train_rating;

typedef struct cop_train_found {
	size_t trials; /* made */
	cop_train_rating rating;
} cop_train_found;

/* Mean and standard error of n >= 1 losses. */
void cop_train_search_rate(size_t n, const double *loss, cop_train_rating *out);
/* a is better than b, which was there earlier. */
bool cop_train_search_better(const cop_train_rating *a, const cop_train_rating *b);

/* job is of the rows to be divided; job->knobs get what was found. Errors of cop_train_fit; COP_EINVAL also:
 * more folds than rows. */
COP_CHECK cop_err cop_train_search_run(
        const cop_train_search *search, cop_train_job *job, cop_train_found *found, cop_diag *diag);

typedef struct cop_train_choice {
	const cop_train_learner *learner;
	cop_hyperparameters_values knobs;
} cop_train_choice;

/* Judges these choices alone, in the same way; the place of the best, among equals as above, into *best. count >= 1.
 * Errors as above. */
COP_CHECK cop_err cop_train_search_among(const cop_train_search *search, const cop_train_job *job, size_t count,
        const cop_train_choice *choices, size_t *best, cop_train_found *found, cop_diag *diag);

/* A race: each round is a fold, and only the best so far, by the mean of their folds, go on into the next. */
typedef struct cop_train_race {
	size_t rounds;       /* 1..COP_TRAIN_RACE_MOST */
	const size_t *field; /* rounds: how many of them at most; of the first round all choices */
	double warm_up;      /* share of the rows that the first round fits to, in (0, 1); then its fold is used again
	                        in the second, and what it showed does not count any more. 1: it is as the others */
} cop_train_race;

/* As above, in less time: search has the folds (at least the rounds), and no repeats. count at most
 * COP_TRAIN_RACE_MOST. */
COP_CHECK cop_err cop_train_search_race(const cop_train_search *search, const cop_train_race *race,
        const cop_train_job *job, size_t count, const cop_train_choice *choices, size_t *best, cop_train_found *found,
        cop_diag *diag);

#endif
