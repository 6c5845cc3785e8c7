/* Random trials come first; from the best of them on, one hyperparameter after another is tried at every value of
 * its list (train_search.h). */
#include "train_search.h"

#include <math.h>

#include "base/assert.h"
#include "base/mem.h"
#include "table/split.h"
#include "tools/common/trained_score.h"

#define MOST_VALUES 12
#define FEWER_TREES 5    /* of a forest, while searching */
#define TIE         1e-9 /* means that differ by less, as a share, differ by rounding */

enum { CLASSES = 1, VALUES = 2, BOTH = 3 };

typedef struct candidates {
	unsigned learners; /* COP_FOR_... */
	unsigned tasks;
	cop_hyperparameter knob;
	size_t count;
	double value[MOST_VALUES];
} candidates;

/* In the order in which they matter most. */
static const candidates lists[] = {
	{ COP_FOR_CART, BOTH, COP_HYPERPARAMETER_HEIGHT, 6, { 4, 6, 8, 10, 14, 20 } },
	{ COP_FOR_CART, BOTH, COP_HYPERPARAMETER_MIN_LEAF, 4, { 1, 3, 10, 30 } },
	{ COP_FOR_TAO, CLASSES, COP_HYPERPARAMETER_ALPHA, 8, { 1e-2, 0.03, 0.1, 0.3, 1, 3, 10, 30 } },
	{ COP_FOR_TAO, VALUES, COP_HYPERPARAMETER_ALPHA, 8, { 0.01, 0.03, 0.1, 0.2, 0.5, 1, 2, 5 } },
	{ COP_FOR_TAO, BOTH, COP_HYPERPARAMETER_HEIGHT, 8, { 3, 4, 5, 6, 7, 8, 9, 11 } },
	{ COP_FOR_TAO, CLASSES, COP_HYPERPARAMETER_LEAF_ALPHA, 7, { 0.03, 0.1, 0.3, 1, 3, 10, 30 } },
	{ COP_FOR_TAO, VALUES, COP_HYPERPARAMETER_LEAF_ALPHA, 8, { 0.03, 0.1, 0.3, 1, 2, 3, 5, 10 } },
	{ COP_FOR_TAO, BOTH, COP_HYPERPARAMETER_START, 2, { 0, 1 } },
	{ COP_FOR_TAO, BOTH, COP_HYPERPARAMETER_ORDER, 2, { 0, 1 } },
	{ COP_FOR_TAO, BOTH, COP_HYPERPARAMETER_ITERATIONS, 3, { 20, 30, 40 } },
	{ COP_FOR_LAPTAO, BOTH, COP_HYPERPARAMETER_GAMMA, 6, { 0.003, 0.01, 0.03, 0.1, 0.3, 1 } },
	{ COP_FOR_LAPTAO, BOTH, COP_HYPERPARAMETER_GRAPH, 2, { 0, 1 } },
	{ COP_FOR_LAPTAO, BOTH, COP_HYPERPARAMETER_ALPHA, 6, { 0.003, 0.01, 0.03, 0.1, 0.3, 1 } },
	{ COP_FOR_LAPTAO, BOTH, COP_HYPERPARAMETER_HEIGHT, 6, { 3, 4, 5, 6, 7, 8 } },
	{ COP_FOR_LAPTAO, BOTH, COP_HYPERPARAMETER_NEIGHBOURS, 4, { 5, 10, 15, 25 } },
	{ COP_FOR_LAPTAO, BOTH, COP_HYPERPARAMETER_LEAF_ALPHA, 6, { 0.01, 0.03, 0.1, 0.3, 1, 3 } },
	{ COP_FOR_DGT, BOTH, COP_HYPERPARAMETER_HEIGHT, 5, { 2, 4, 6, 8, 10 } },
	{ COP_FOR_DGT, BOTH, COP_HYPERPARAMETER_LAYERS, 2, { 1, 3 } },
	{ COP_FOR_DGT, BOTH, COP_HYPERPARAMETER_WIDTH, 3, { 0, 64, 256 } },
	{ COP_FOR_DGT, BOTH, COP_HYPERPARAMETER_MOMENTUM, 3, { 0, 0.3, 0.8 } },
	{ COP_FOR_DGT, BOTH, COP_HYPERPARAMETER_LR, 5, { 1e-3, 2e-3, 5e-3, 0.01, 0.02 } },
	{ COP_FOR_DGT, BOTH, COP_HYPERPARAMETER_RESTARTS, 2, { 1, 3 } },
	{ COP_FOR_DGT, BOTH, COP_HYPERPARAMETER_EPOCHS, 4, { 50, 100, 200, 400 } },
	{ COP_FOR_DGT, BOTH, COP_HYPERPARAMETER_L1, 5, { 0, 1e-6, 5e-6, 1e-5, 5e-5 } },
	{ COP_FOR_DGT, BOTH, COP_HYPERPARAMETER_SCALED_QUANTISER, 2, { 0, 1 } },
	{ COP_FOR_DGT, BOTH, COP_HYPERPARAMETER_SHARED_BIAS, 2, { 0, 1 } },
	{ COP_FOR_LATENT, BOTH, COP_HYPERPARAMETER_LAYERS, 4, { 1, 2, 3, 4 } },
	{ COP_FOR_LATENT, BOTH, COP_HYPERPARAMETER_HEIGHT, 5, { 2, 3, 4, 5, 6 } },
	{ COP_FOR_LATENT, BOTH, COP_HYPERPARAMETER_LR, 4, { 1e-3, 3e-3, 0.01, 0.02 } },
	{ COP_FOR_LATENT, BOTH, COP_HYPERPARAMETER_BATCH, 4, { 32, 64, 128, 512 } },
	{ COP_FOR_LATENT, BOTH, COP_HYPERPARAMETER_LAMBDA, 7, { 1e-3, 0.01, 0.1, 1, 10, 100, 1000 } },
	{ COP_FOR_LATENT, BOTH, COP_HYPERPARAMETER_WIDTH, 3, { 32, 64, 128 } },
	{ COP_FOR_LATENT, BOTH, COP_HYPERPARAMETER_DROPOUT, 4, { 0, 0.1, 0.25, 0.5 } },
	{ COP_FOR_LATENT, BOTH, COP_HYPERPARAMETER_ELU, 1, { 1 } },
	{ COP_FOR_POLYTOPE, BOTH, COP_HYPERPARAMETER_HEIGHT, 6, { 2, 4, 6, 8, 10, 12 } },
	{ COP_FOR_POLYTOPE, BOTH, COP_HYPERPARAMETER_B0, 4, { 1e-3, 0.01, 0.1, 1 } },
	{ COP_FOR_POLYTOPE, BOTH, COP_HYPERPARAMETER_REFINE_LR, 3, { 0.005, 0.01, 0.02 } },
	{ COP_FOR_POLYTOPE, BOTH, COP_HYPERPARAMETER_LEAST_GAIN, 4, { 1e-4, 3e-4, 1e-3, 3e-3 } },
	{ COP_FOR_POLYTOPE, BOTH, COP_HYPERPARAMETER_FACETS, 3, { 5, 10, 20 } },
};

typedef struct searching {
	const cop_train_search *search;
	const cop_train_job *whole;
	cop_train_job job; /* of a trial */
	uint32_t *rows;    /* all: those to fit, then those to judge by */
	size_t judged;     /* where the latter begin */
	uint32_t *fold;    /* of each row; NULL: a part is held back */
	uint32_t *label;   /* of the whole's rows in their order; NULL: values */
	double *loss;      /* of each fit of a trial */
	size_t fits, trials;
	bool among; /* trials differ in the learner too */
	cop_train_rating best;
	cop_diag *diag;
} searching;

static uint32_t row_of(const searching *s, size_t i) { return s->whole->row != NULL ? s->whole->row[i] : (uint32_t)i; }

/* Before the parts of a repeat. */
static cop_err begin_repeat(searching *s, size_t repeat)
{
	const cop_train_job *whole = s->whole;
	cop_rng rng;
	cop_rng_init(&rng, whole->seed + repeat, 1);
	s->job.seed = whole->seed + repeat;
	if (s->fold != NULL)
		return cop_split_folds(&rng, whole->n, s->label, s->search->folds, s->fold);
	for (size_t i = 0; i < whole->n; i++)
		s->rows[i] = row_of(s, i);
	cop_err err = cop_split_two(&rng, whole->n, s->rows, whole->rows->label, s->search->validation, &s->judged);
	s->job.n = s->judged;
	return err;
}

/* The rows but those of a fold, then those. */
static void leave_out(searching *s, uint32_t fold)
{
	size_t first = 0;
	size_t last = s->whole->n;
	for (size_t i = 0; i < s->whole->n; i++) {
		if (s->fold[i] != fold)
			s->rows[first++] = row_of(s, i);
		else
			s->rows[--last] = row_of(s, i);
	}
	s->job.n = s->judged = first;
}

/* Fits the first job.n rows and judges by those from `judged` on. */
static cop_err fit_and_judge(searching *s, double *loss, double *parameters)
{
	const cop_train_job *whole = s->whole;
	cop_trees *trees;
	cop_train_outcome outcome;
	cop_trained_score score;
	cop_err err = cop_train_fit(&s->job, &trees, &outcome, s->diag);
	if (err != COP_OK)
		return err;
	err = cop_trained_score_rate(trees, whole->preparation, whole->rows, whole->n - s->judged, s->rows + s->judged,
	        false, whole->pool, &score);
	*loss = whole->rows->classes > 0 ? score.error : score.rmse;
	*parameters += (double)cop_trees_parameters(trees);
	cop_trees_free(trees);
	return err;
}

void cop_train_search_rate(size_t n, const double *loss, cop_train_rating *out)
{
	double squares = 0.0;
	out->mean = 0.0;
	for (size_t i = 0; i < n; i++)
		out->mean += loss[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += (loss[i] - out->mean) * (loss[i] - out->mean);
	out->error = n > 1 ? sqrt(squares / (double)(n - 1) / (double)n) : (double)NAN;
}

bool cop_train_search_better(const cop_train_rating *a, const cop_train_rating *b)
{
	double apart = a->mean - b->mean;
	return fabs(apart) <= TIE * fabs(b->mean) ? a->parameters < b->parameters : apart < 0.0;
}

static void tell_trial(const searching *s, const cop_hyperparameters_values *knobs, const cop_train_rating *rating)
{
	FILE *const files[] = { s->search->progress, s->search->log };
	char words[512];
	char error[32] = "";
	cop_hyperparameters_words(knobs, words, sizeof words);
	if (!isnan(rating->error))
		(void)snprintf(error, sizeof error, " +- %.2g", rating->error);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		if (files[i] == NULL)
			continue;
		const char *over = i == 0 ? "\r\033[K" : "";
		(void)fprintf(files[i], "%strial %zu: %.5g%s  ", over, s->trials, rating->mean, error);
		if (s->among)
			(void)fprintf(files[i], "--learner %s ", cop_train_learner_name(s->job.learner));
		(void)fprintf(files[i], "%s\n", words);
	}
}

/* These settings, with fewer trees where that is wanted, in the job. */
static void set_trial(searching *s, const cop_hyperparameters_values *knobs)
{
	double most = s->search->most_trees > 0 ? (double)s->search->most_trees : FEWER_TREES;
	s->job.knobs = *knobs;
	if (knobs->given[COP_HYPERPARAMETER_TREES])
		s->job.knobs.value[COP_HYPERPARAMETER_TREES] = fmin(knobs->value[COP_HYPERPARAMETER_TREES], most);
}

/* Fits and judges with these settings, as often as the search repeats a trial. */
static cop_err rate(searching *s, const cop_hyperparameters_values *knobs, cop_train_rating *rating)
{
	cop_err err = COP_OK;
	size_t parts = s->fold != NULL ? s->search->folds : 1;
	*rating = (cop_train_rating){ 0 };
	set_trial(s, knobs);
	for (size_t i = 0; i < s->fits && err == COP_OK; i++) {
		if (i % parts == 0)
			err = begin_repeat(s, i / parts);
		if (err == COP_OK && s->fold != NULL)
			leave_out(s, (uint32_t)(i % parts));
		if (err == COP_OK)
			err = fit_and_judge(s, &s->loss[i], &rating->parameters);
	}
	s->trials++;
	if (err != COP_OK)
		return err;
	rating->parameters /= (double)s->fits;
	cop_train_search_rate(s->fits, s->loss, rating);
	tell_trial(s, knobs, rating);
	return COP_OK;
}

/* All values of a list; the best into knobs. */
static cop_err try_list(searching *s, const candidates *list, cop_hyperparameters_values *knobs, bool *changed)
{
	cop_err err = COP_OK;
	cop_hyperparameters_values best = *knobs;
	for (size_t i = 0; i < list->count && err == COP_OK && s->trials < s->search->trials; i++) {
		cop_train_rating rating;
		cop_hyperparameters_values trial = *knobs;
		if (trial.given[list->knob] && trial.value[list->knob] == list->value[i])
			continue;
		trial.value[list->knob] = list->value[i];
		trial.given[list->knob] = true;
		err = rate(s, &trial, &rating);
		if (err == COP_OK && cop_train_search_better(&rating, &s->best)) {
			s->best = rating;
			best = trial;
			*changed = true;
		}
	}
	*knobs = best;
	return err;
}

static bool wanted(const candidates *list, const cop_train_job *job, const cop_hyperparameters_values *now)
{
	unsigned task = job->rows->classes > 0 ? CLASSES : VALUES;
	if ((list->learners & cop_train_learner_for(job->learner)) == 0 || (list->tasks & task) == 0 ||
	        job->knobs.given[list->knob])
		return false;
	if (list->knob == COP_HYPERPARAMETER_ALPHA && job->alphas > 1)
		return false;
	if (list->knob == COP_HYPERPARAMETER_L1 && job->knobs.given[COP_HYPERPARAMETER_L2])
		return false;
	if (list->knob == COP_HYPERPARAMETER_START && job->start != NULL)
		return false;
	if (list->knob == COP_HYPERPARAMETER_GRAPH && job->rows->data->sparse)
		return false;
	if (list->knob == COP_HYPERPARAMETER_WIDTH &&
	        cop_hyperparameters_or(now, COP_HYPERPARAMETER_LAYERS, 3.0) <= 1.0)
		return false;
	return list->knob != COP_HYPERPARAMETER_LEAF_ALPHA ||
	       cop_hyperparameters_or(&job->knobs, COP_HYPERPARAMETER_LEAVES, COP_LEAVES_CONSTANT) >
	               COP_LEAVES_CONSTANT;
}

/* Half of the trials: every knob at a value of its list, or as it is, by lot. The best into knobs. */
static cop_err try_drawn(searching *s, cop_hyperparameters_values *knobs)
{
	cop_err err = COP_OK;
	cop_rng rng;
	cop_rng_init(&rng, s->whole->seed, 3);
	while (err == COP_OK && s->trials < s->search->trials / 2) {
		cop_train_rating rating;
		cop_hyperparameters_values trial = s->whole->knobs;
		for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
			size_t value = (size_t)cop_rng_below(&rng, (uint32_t)lists[i].count + 1);
			if (value == lists[i].count || !wanted(&lists[i], s->whole, &trial))
				continue;
			trial.value[lists[i].knob] = lists[i].value[value];
			trial.given[lists[i].knob] = true;
		}
		err = rate(s, &trial, &rating);
		if (err == COP_OK && cop_train_search_better(&rating, &s->best)) {
			s->best = rating;
			*knobs = trial;
		}
	}
	return err;
}

static cop_err searching_init(searching *s)
{
	size_t n = s->whole->n;
	size_t folds = s->search->folds;
	if (folds > n) {
		cop_diag_message(s->diag, "%zu rows are too few for %zu folds", n, folds);
		return COP_EINVAL;
	}
	s->fits = s->search->repeats * (folds > 0 ? folds : 1);
	s->job.row = s->rows = cop_mem_alloc(n, sizeof *s->rows);
	s->loss = cop_mem_alloc(s->fits, sizeof *s->loss);
	if (folds > 0)
		s->fold = cop_mem_alloc(n, sizeof *s->fold);
	if (s->whole->rows->label != NULL)
		s->label = cop_mem_alloc(n, sizeof *s->label);
	for (size_t i = 0; s->label != NULL && i < n; i++)
		s->label[i] = s->whole->rows->label[row_of(s, i)];
	return s->rows != NULL && s->loss != NULL && (folds == 0 || s->fold != NULL) &&
	                       (s->label != NULL || s->whole->rows->label == NULL)
	               ? COP_OK
	               : COP_ENOMEM;
}

static void searching_fini(searching *s)
{
	cop_mem_free(s->rows);
	cop_mem_free(s->fold);
	cop_mem_free(s->label);
	cop_mem_free(s->loss);
}

cop_err cop_train_search_among(const cop_train_search *search, const cop_train_job *job, size_t count,
        const cop_train_choice *choices, size_t *best, cop_train_found *found, cop_diag *diag)
{
	searching s = { .search = search, .whole = job, .job = *job, .among = true, .diag = diag };
	s.job.progress = NULL;
	cop_err err = searching_init(&s);
	for (size_t i = 0; i < count && err == COP_OK; i++) {
		cop_train_rating rating;
		s.job.learner = choices[i].learner;
		err = rate(&s, &choices[i].knobs, &rating);
		if (err == COP_OK && (i == 0 || cop_train_search_better(&rating, &s.best))) {
			s.best = rating;
			*best = i;
		}
	}
	if (err != COP_OK && diag->message[0] == '\0')
		cop_diag_message(diag, "%s", cop_err_text(err));
	*found = (cop_train_found){ s.trials, s.best };
	searching_fini(&s);
	return err;
}

/* ---- a race ---- */

typedef struct racer {
	size_t place; /* among the choices */
	size_t fits;
	double loss[COP_TRAIN_RACE_MOST];
	double parameters; /* of the fits together */
	cop_train_rating rating;
} racer;

static cop_err race_one(searching *s, const cop_train_choice *choice, racer *r)
{
	s->job.learner = choice->learner;
	set_trial(s, &choice->knobs);
	cop_err err = fit_and_judge(s, &r->loss[r->fits], &r->parameters);
	if (err != COP_OK)
		return err;
	cop_train_search_rate(++r->fits, r->loss, &r->rating);
	r->rating.parameters = r->parameters / (double)r->fits;
	s->trials = r->place + 1;
	tell_trial(s, &choice->knobs, &r->rating);
	return COP_OK;
}

/* Better, or as good and earlier among the choices. */
static bool is_ahead(const racer *a, const racer *b)
{
	if (cop_train_search_better(&a->rating, &b->rating))
		return true;
	return a->place < b->place && !cop_train_search_better(&b->rating, &a->rating);
}

static void rank_racers(size_t count, racer *racers)
{
	for (size_t i = 1; i < count; i++) {
		racer moved = racers[i];
		size_t at = i;
		for (; at > 0 && is_ahead(&moved, &racers[at - 1]); at--)
			racers[at] = racers[at - 1];
		racers[at] = moved;
	}
}

static cop_err run_race(
        searching *s, const cop_train_race *race, size_t count, const cop_train_choice *choices, racer *racers)
{
	cop_err err = begin_repeat(s, 0);
	bool warm_up = race->warm_up < 1.0;
	for (size_t round = 0; round < race->rounds && err == COP_OK; round++) {
		if (round > 0)
			count = race->field[round] < count ? race->field[round] : count;
		leave_out(s, (uint32_t)(warm_up && round > 0 ? round - 1 : round));
		if (warm_up && round == 0)
			s->job.n = (size_t)ceil(race->warm_up * (double)s->judged);
		for (size_t i = 0; i < count && err == COP_OK; i++) {
			if (warm_up && round == 1) {
				racers[i].fits = 0;
				racers[i].parameters = 0.0;
			}
			err = race_one(s, &choices[racers[i].place], &racers[i]);
		}
		rank_racers(count, racers);
	}
	return err;
}

cop_err cop_train_search_race(const cop_train_search *search, const cop_train_race *race, const cop_train_job *job,
        size_t count, const cop_train_choice *choices, size_t *best, cop_train_found *found, cop_diag *diag)
{
	COP_ASSERT(count > 0 && count <= COP_TRAIN_RACE_MOST && race->rounds <= COP_TRAIN_RACE_MOST);
	COP_ASSERT(race->rounds > 0 && race->rounds <= search->folds);
	searching s = { .search = search, .whole = job, .job = *job, .among = true, .diag = diag };
	racer *racers = cop_mem_alloc(count, sizeof *racers);
	s.job.progress = NULL;
	cop_err err = racers != NULL ? searching_init(&s) : COP_ENOMEM;
	for (size_t i = 0; i < count && racers != NULL; i++)
		racers[i].place = i;
	if (err == COP_OK)
		err = run_race(&s, race, count, choices, racers);
	if (err != COP_OK && diag->message[0] == '\0')
		cop_diag_message(diag, "%s", cop_err_text(err));
	if (err == COP_OK) {
		*best = racers[0].place;
		*found = (cop_train_found){ count, racers[0].rating };
	}
	cop_mem_free(racers);
	searching_fini(&s);
	return err;
}

cop_err cop_train_search_run(const cop_train_search *search, cop_train_job *job, cop_train_found *found, cop_diag *diag)
{
	searching s = { .search = search, .whole = job, .job = *job, .diag = diag };
	cop_hyperparameters_values knobs = job->knobs;
	bool changed = true;
	s.job.progress = NULL;
	cop_err err = searching_init(&s);
	if (err == COP_OK)
		err = rate(&s, &knobs, &s.best);
	if (err == COP_OK)
		err = try_drawn(&s, &knobs);
	while (err == COP_OK && changed && s.trials < search->trials) {
		changed = false;
		for (size_t i = 0; i < sizeof lists / sizeof *lists && err == COP_OK; i++)
			if (wanted(&lists[i], job, &knobs))
				err = try_list(&s, &lists[i], &knobs, &changed);
	}
	if (err != COP_OK && diag->message[0] == '\0')
		cop_diag_message(diag, "search: %s", cop_err_text(err));
	job->knobs = knobs;
	*found = (cop_train_found){ s.trials, s.best };
	searching_fini(&s);
	return err;
}
