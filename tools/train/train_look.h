/* tools/train/train_look.h: defaults that follow the data: a short list of settings is judged on rows held back, and
 * the best of them is fitted to all rows.
 *
 * For `tao` and `dgt` when none of the settings that the list varies is given, and over all learners of one tree when
 * no learner is named. Heights grow with the rows. Up to 3,000 rows are judged by five folds, more by one part; of very
 * many numbers only a part of the rows is looked at. Of more trees, when no learner is named or cart, random forests,
 * randomised trees and boosted ones of cart race over the folds. Every choice follows from the seed. */
#ifndef COP_TOOLS_TRAIN_TRAIN_LOOK_H
#define COP_TOOLS_TRAIN_TRAIN_LOOK_H

#include "train_search.h"

/* Whether the job leaves its settings to a look; job->learner NULL: the learner too. */
bool cop_train_look_wanted(const cop_train_job *job);
/* job is of all rows; its learner and knobs get what was found. progress: a line for each trial; NULL: none. Errors of
 * cop_train_search_among. */
COP_CHECK cop_err cop_train_look(cop_train_job *job, FILE *progress, cop_train_found *found, cop_diag *diag);

/* Depth of a tree for so many rows: a leaf for every five or so, within [4, 12]. */
unsigned cop_train_look_height(size_t rows);

#endif
