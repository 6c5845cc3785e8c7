/* tools/train/train_hint.h: whether the classes of a training file look like counts or measurements. */
#ifndef COP_TOOLS_TRAIN_TRAIN_HINT_H
#define COP_TOOLS_TRAIN_TRAIN_HINT_H

#include <stdbool.h>

#include "tools/common/labelled_rows.h"

/* True when every class is a number and either one has a fraction, or there are at least ten and some whole numbers
 * between the least and the greatest are missing or have hardly any rows, as the ends of a count's distribution have.
 */
bool cop_train_hint_numbers(const cop_labelled *rows, const cop_encoder *preparation);

#endif
