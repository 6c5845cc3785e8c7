/* tools/train/train_options.h: the command line of `coppice train`. */
#ifndef COP_TOOLS_TRAIN_TRAIN_OPTIONS_H
#define COP_TOOLS_TRAIN_TRAIN_OPTIONS_H

#include "train_baselines.h"
#include "train_fit.h"

typedef struct cop_train_options {
	const char *train, *test, *model, *start_model;
	const char *search_log; /* of the search's trials; NULL: none */
	cop_table_settings table;
	cop_train_job job; /* learner, knobs, alphas, validation, seed */
	unsigned threads;
	bool search, json;
	double labelled;               /* share of the labels that are kept; 0: all */
	unsigned baselines;            /* COP_BASELINE_... */
	size_t trials, repeats, folds; /* of the search; folds 0: rows are held back once */
} cop_train_options;

/* -1: go on; else the exit status, after a message or the help. */
int cop_train_options_read(int argc, char **argv, cop_train_options *options);

#endif
