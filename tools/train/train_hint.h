/* tools/train/train_hint.h: whether what a training file holds looks like something else. */
#ifndef COP_TOOLS_TRAIN_TRAIN_HINT_H
#define COP_TOOLS_TRAIN_TRAIN_HINT_H

#include <stdbool.h>

#include "tools/common/labelled_rows.h"

/* True when every class is a number and either one has a fraction, or there are at least ten and some whole numbers
 * between the least and the greatest are missing or have hardly any rows, as the ends of a count's distribution have.
 */
bool cop_train_hint_numbers(const cop_labelled *rows, const cop_encoder *preparation);
/* True when more than half of the rows (at least twenty) have a text of their own in one column, as a name of the row
 * is: the column's name ("": it has none), its number from 0 and how many texts. *column is borrowed. */
bool cop_train_hint_name(
        const cop_labelled *rows, const cop_encoder *preparation, const char **column, size_t *place, size_t *texts);

/* A column of numbers but for a few texts, which make it a category. */
typedef struct cop_train_mixed {
	const char *column; /* its name, length bytes; borrowed */
	size_t length;
	size_t numbers;   /* different ones, at least five times the texts */
	const char *text; /* the first that is none; borrowed */
} cop_train_mixed;
/* The first such column. False: there is none. */
bool cop_train_hint_mixed(const cop_encoder *preparation, cop_train_mixed *mixed);
/* True when the values of a dense feature are so large, and so close together, that floats keep fewer than 4096 of
 * them apart; the first such feature, its value farthest from 0 and the step between floats there. The rows are scaled,
 * so a feature that never varies is only found when they are not. */
bool cop_train_hint_lost(
        const cop_labelled *rows, const cop_encoder *preparation, size_t *feature, double *value, double *step);

#endif
