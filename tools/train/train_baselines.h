/* tools/train/train_baselines.h: what LapTAO is compared with, on the same labelled rows.
 *
 *     oblique-lbl    TAO on the labelled rows alone
 *     oblique-all    TAO on every label that the file has
 *     self-training  TAO on the labelled rows; then again on those and on what it is sure of, with the label or value
 *                    it gave them first, until there is nothing new or SELF_ROUNDS fits were made. It is sure of a row
 *                    whose leaf holds enough labelled rows that it gets right: (right + 1) / (rows + 2) >= 0.8, or for
 *                    values at least 3 of them, whose errors' root mean square is at most 0.3 of the labelled targets'
 *                    standard deviation (forests: in most trees)
 *     knn            vote or mean of the k nearest labelled rows; k of a list by leaving one out
 *
 * TAO has those of LapTAO's settings that were given and are its own too, and otherwise LapTAO's height and its own
 * fixed penalties, without a look; with a search the others are searched. */
#ifndef COP_TOOLS_TRAIN_TRAIN_BASELINES_H
#define COP_TOOLS_TRAIN_TRAIN_BASELINES_H

#include "tools/common/trained_score.h"
#include "train_search.h"

enum {
	COP_BASELINE_LABELLED = 1,
	COP_BASELINE_ALL = 2,
	COP_BASELINE_SELF = 4,
	COP_BASELINE_KNN = 8,
};
#define COP_BASELINES 4

/* Bits of a name, of "all" every one; 0: none of that name. */
unsigned cop_train_baselines_find(const char *name);
/* Of the i-th bit. */
const char *cop_train_baselines_name(size_t i);

typedef struct cop_train_baseline {
	bool there;
	cop_trained_score test;
	double seconds; /* of the fit, without the search */
	size_t rounds;  /* self-training: fits */
	size_t rows;    /* that were fitted, in the end */
	size_t k;       /* knn */
} cop_train_baseline;

typedef struct cop_train_comparison {
	unsigned baselines;
	const cop_train_job *job; /* LapTAO's, as it was asked for, before a search */
	size_t known;             /* rows with a label in the file, hidden ones too */
	const uint32_t *known_row;
	const cop_labelled *test;
	const cop_train_search *search; /* NULL: none */
} cop_train_comparison;

/* COP_EINVAL, with *diag filled, as cop_train_fit. */
COP_CHECK cop_err cop_train_baselines_compare(
        const cop_train_comparison *what, cop_train_baseline out[COP_BASELINES], cop_diag *diag);

#endif
