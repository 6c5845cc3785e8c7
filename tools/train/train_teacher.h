/* tools/train/train_teacher.h: guesses for rows without a label, by extremely randomised trees (Geurts et al. 2006)
 * that are fitted to the rows that have one.
 *
 * LapTAO takes the guesses as labels of a weight of their own. What few labelled rows show of the features then reaches
 * the tree beside what the graph shows, and the tree learns to predict like a forest. One thread; the pool fits the
 * trees. */
#ifndef COP_TOOLS_TRAIN_TRAIN_TEACHER_H
#define COP_TOOLS_TRAIN_TRAIN_TEACHER_H

#include "train_fit.h"

/* Trees of the forest, and the weight of a guess beside a label's 1, unless they are given. */
#define COP_TRAIN_TEACHER_TREES  200
#define COP_TRAIN_TEACHER_WEIGHT 1.0

typedef struct cop_train_teacher {
	float *target;   /* values: of all rows, guessed where the sample has none */
	uint32_t *label; /* classes: likewise */
	float *mask;     /* 1 of the sample's rows, else `weight`, of classes times the guessed class's probability */
} cop_train_teacher;

/* labelled: the rows that have labels. trees 0 or weight 0: no guesses, and a mask of 0 there. The caller ends *out in
 * every case. COP_ENOMEM. */
COP_CHECK cop_err cop_train_teacher_guess(
        const cop_train_job *job, const cop_sample *labelled, size_t trees, double weight, cop_train_teacher *out);
void cop_train_teacher_fini(cop_train_teacher *teacher);

#endif
