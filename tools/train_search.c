#include "train_search.h"

#include <math.h>

#include "base/mem.h"
#include "data/split.h"
#include "trained_score.h"

#define MOST_VALUES 12
#define FEWER_TREES 5 /* of a forest, while searching */

enum { CLASSES = 1, VALUES = 2, BOTH = 3 };

typedef struct candidates {
	unsigned learners; /* COP_FOR_... */
	unsigned tasks;
	cop_knob knob;
	size_t count;
	double value[MOST_VALUES];
} candidates;

/* In the order in which they matter most. */
static const candidates lists[] = {
	{ COP_FOR_CART, BOTH, COP_KNOB_HEIGHT, 6, { 4, 6, 8, 10, 14, 20 } },
	{ COP_FOR_CART, BOTH, COP_KNOB_MIN_LEAF, 4, { 1, 3, 10, 30 } },
	{ COP_FOR_TAO, CLASSES, COP_KNOB_ALPHA, 8, { 1e-2, 0.03, 0.1, 0.3, 1, 3, 10, 30 } },
	{ COP_FOR_TAO, VALUES, COP_KNOB_ALPHA, 8, { 0.01, 0.03, 0.1, 0.2, 0.5, 1, 2, 5 } },
	{ COP_FOR_TAO, BOTH, COP_KNOB_HEIGHT, 8, { 3, 4, 5, 6, 7, 8, 9, 11 } },
	{ COP_FOR_TAO, CLASSES, COP_KNOB_LEAF_ALPHA, 7, { 0.03, 0.1, 0.3, 1, 3, 10, 30 } },
	{ COP_FOR_TAO, VALUES, COP_KNOB_LEAF_ALPHA, 8, { 0.03, 0.1, 0.3, 1, 2, 3, 5, 10 } },
	{ COP_FOR_TAO, BOTH, COP_KNOB_START, 2, { 0, 1 } },
	{ COP_FOR_TAO, BOTH, COP_KNOB_ITERATIONS, 3, { 20, 30, 40 } },
	{ COP_FOR_DGT, BOTH, COP_KNOB_HEIGHT, 5, { 2, 4, 6, 8, 10 } },
	{ COP_FOR_DGT, BOTH, COP_KNOB_LAYERS, 2, { 1, 3 } },
	{ COP_FOR_DGT, BOTH, COP_KNOB_WIDTH, 3, { 0, 64, 256 } },
	{ COP_FOR_DGT, BOTH, COP_KNOB_MOMENTUM, 3, { 0, 0.3, 0.8 } },
	{ COP_FOR_DGT, BOTH, COP_KNOB_LR, 5, { 1e-3, 2e-3, 5e-3, 0.01, 0.02 } },
	{ COP_FOR_DGT, BOTH, COP_KNOB_EPOCHS, 4, { 50, 100, 200, 400 } },
	{ COP_FOR_DGT, BOTH, COP_KNOB_L1, 5, { 0, 1e-6, 5e-6, 1e-5, 5e-5 } },
	{ COP_FOR_DGT, BOTH, COP_KNOB_SCALED_QUANTISER, 2, { 0, 1 } },
	{ COP_FOR_DGT, BOTH, COP_KNOB_SHARED_BIAS, 2, { 0, 1 } },
};

typedef struct searching {
	const cop_train_search *search;
	cop_train_job job; /* of a trial */
	size_t n;          /* of all rows */
	uint32_t *rows;
	size_t trials;
	double least;
	cop_diag *diag;
} searching;

/* Row order and division of repeat r. */
static cop_err divide(searching *s, const cop_train_job *whole, size_t repeat, size_t *from)
{
	cop_rng rng;
	cop_rng_init(&rng, whole->seed + repeat, 1);
	for (size_t i = 0; i < s->n; i++)
		s->rows[i] = whole->row != NULL ? whole->row[i] : (uint32_t)i;
	return cop_split_two(&rng, s->n, s->rows, whole->rows->label, s->search->validation, from);
}

static cop_err rate(searching *s, const cop_train_job *whole, const cop_knob_values *knobs, double *loss)
{
	cop_err err = COP_OK;
	*loss = 0.0;
	s->job.knobs = *knobs;
	if (knobs->given[COP_KNOB_TREES])
		s->job.knobs.value[COP_KNOB_TREES] = fmin(knobs->value[COP_KNOB_TREES], FEWER_TREES);
	for (size_t repeat = 0; repeat < s->search->repeats && err == COP_OK; repeat++) {
		cop_trees *trees = NULL;
		cop_train_outcome outcome;
		cop_trained_score score = { 0 };
		size_t from = 0;
		err = divide(s, whole, repeat, &from);
		s->job.row = s->rows;
		s->job.n = from;
		s->job.seed = whole->seed + repeat;
		if (err == COP_OK)
			err = cop_train_fit(&s->job, &trees, &outcome, s->diag);
		if (err == COP_OK)
			err = cop_trained_rate(trees, whole->preparation, whole->rows, s->n - from, s->rows + from,
			        false, whole->pool, &score);
		*loss += (whole->rows->classes > 0 ? score.error : score.rmse) / (double)s->search->repeats;
		cop_trees_free(trees);
	}
	if (err == COP_OK && s->search->progress != NULL) {
		char words[512];
		cop_knob_words(knobs, words, sizeof words);
		(void)fprintf(s->search->progress, "\r\033[Ktrial %zu: %.5g  %s\n", s->trials + 1, *loss, words);
	}
	s->trials++;
	return err;
}

/* All values of a list; the best into knobs. */
static cop_err try_list(
        searching *s, const cop_train_job *whole, const candidates *list, cop_knob_values *knobs, bool *changed)
{
	cop_err err = COP_OK;
	cop_knob_values best = *knobs;
	for (size_t i = 0; i < list->count && err == COP_OK && s->trials < s->search->trials; i++) {
		double loss;
		cop_knob_values trial = *knobs;
		if (trial.given[list->knob] && trial.value[list->knob] == list->value[i])
			continue;
		trial.value[list->knob] = list->value[i];
		trial.given[list->knob] = true;
		err = rate(s, whole, &trial, &loss);
		if (err == COP_OK && loss < s->least) {
			s->least = loss;
			best = trial;
			*changed = true;
		}
	}
	*knobs = best;
	return err;
}

static bool wanted(const candidates *list, const cop_train_job *job, const cop_knob_values *now)
{
	unsigned task = job->rows->classes > 0 ? CLASSES : VALUES;
	if ((list->learners & cop_train_learner_for(job->learner)) == 0 || (list->tasks & task) == 0 ||
	        job->knobs.given[list->knob])
		return false;
	if (list->knob == COP_KNOB_ALPHA && job->alphas > 1)
		return false;
	if (list->knob == COP_KNOB_L1 && job->knobs.given[COP_KNOB_L2])
		return false;
	if (list->knob == COP_KNOB_START && job->start != NULL)
		return false;
	if (list->knob == COP_KNOB_WIDTH && cop_knob_or(now, COP_KNOB_LAYERS, 3.0) <= 1.0)
		return false;
	return list->knob != COP_KNOB_LEAF_ALPHA ||
	       cop_knob_or(&job->knobs, COP_KNOB_LEAVES, COP_LEAVES_CONSTANT) > COP_LEAVES_CONSTANT;
}

cop_err cop_train_search_run(const cop_train_search *search, cop_train_job *job, size_t *trials, cop_diag *diag)
{
	searching s = { .search = search, .job = *job, .n = job->n, .diag = diag };
	cop_knob_values knobs = job->knobs;
	bool changed = true;
	s.job.progress = NULL;
	s.rows = cop_mem_alloc(job->n, sizeof *s.rows);
	cop_err err = s.rows != NULL ? rate(&s, job, &knobs, &s.least) : COP_ENOMEM;
	while (err == COP_OK && changed && s.trials < search->trials) {
		changed = false;
		for (size_t i = 0; i < sizeof lists / sizeof *lists && err == COP_OK; i++)
			if (wanted(&lists[i], job, &knobs))
				err = try_list(&s, job, &lists[i], &knobs, &changed);
	}
	job->knobs = knobs;
	*trials = s.trials;
	cop_mem_free(s.rows);
	return err;
}
