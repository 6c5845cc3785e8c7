/* learn/anatomy.h: what a learner is made of, for views of it: its parts with their linear terms, trees and forests.
 *
 * Plain views of the learner, valid until its next call. Any thread that the learner may be read by. */
#ifndef COP_LEARN_ANATOMY_H
#define COP_LEARN_ANATOMY_H

#include <stdbool.h>
#include <stddef.h>

#include "learn/forest.h"
#include "tree/trees.h"

#define COP_ANATOMY_PARTS 6

/* What weights and leaves of a part add up to. */
typedef enum cop_anatomy_unit {
	COP_ANATOMY_LOSS,  /* predicted loss */
	COP_ANATOMY_LOGIT, /* log odds of 1 - loss: the higher, the lower the loss */
	COP_ANATOMY_VALUE  /* the action itself, in [0, 1] */
} cop_anatomy_unit;

/* The weight of input i for output k is weights[i * step + k * jump]. Inputs are standardised features and the
 * constant; behind `plain` of them come products, which enter multiplied by product_scale. */
typedef struct cop_anatomy_linear {
	const float *weights; /* NULL: no linear term */
	size_t inputs, outputs, step, jump;
	size_t plain;
	float product_scale;
} cop_anatomy_linear;

typedef struct cop_anatomy_part {
	const char *name;
	double weight; /* in the mixture; 1 where it is all */
	bool resting;
	cop_anatomy_unit unit;
	cop_anatomy_linear linear;
	size_t first_tree, trees; /* of cop_learner_tree */
	const cop_forest *forest; /* NULL: none */
	const cop_trees *fitted;  /* trees of a batch fit that predict as they are; NULL: none */
	bool refit;               /* the trees of a batch fit (cop_learner_class.refitted) */
} cop_anatomy_part;

struct cop_learner;
/* Its parts; how many. */
size_t cop_learner_anatomy(const struct cop_learner *learner, cop_anatomy_part parts[COP_ANATOMY_PARTS]);

#endif
