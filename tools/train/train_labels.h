/* tools/train/train_labels.h: which rows of a training file are learned from with their labels, and which without. */
#ifndef COP_TOOLS_TRAIN_TRAIN_LABELS_H
#define COP_TOOLS_TRAIN_TRAIN_LABELS_H

#include "tools/common/labelled_rows.h"

/* Numbers of rows. Owned. */
typedef struct cop_train_labels {
	uint32_t *known; /* the file has a label or target: first those that are hidden, then those that are used */
	size_t hidden;
	size_t used;
	bool some_lack; /* of the file's rows, some have none or are hidden */
} cop_train_labels;

/* share: of the labels that are used, drawn by the seed from each class alike; 0 or 1: all. Caller ends it with
 * cop_train_labels_fini in every case. COP_ENOMEM. */
COP_CHECK cop_err cop_train_labels_choose(const cop_labelled *rows, double share, uint64_t seed, cop_train_labels *out);
void cop_train_labels_fini(cop_train_labels *labels);

static inline const uint32_t *cop_train_labels_used(const cop_train_labels *labels)
{
	return labels->known + labels->hidden;
}

/* A copy of the rows row[0..n), which have labels. Caller ends it with cop_labelled_rows_fini in every case.
 * COP_ENOMEM. */
COP_CHECK cop_err cop_train_labels_pick(const cop_labelled *rows, size_t n, const uint32_t *row, cop_labelled *out);

#endif
