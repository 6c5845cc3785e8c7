/* A row of the list is a learner with settings, whose heights may follow the rows; what the list gives on twelve sets
 * is in docs/evidence/papers.md, of forests in docs/evidence/learners.md. */
#include "train_look.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "table/split.h"

#define MOST_PAIRS   6
#define MOST_CHOICES 32
#define FOLDS        5
#define FEW_ROWS     3000 /* judged by folds */
#define MANY_ROWS    8000 /* of forests: judged by one fold, fewer by two or three */
#define WARM_UP      0.2
#define WIDE         40     /* features */
#define HELD_BACK    0.2    /* else */
#define LOOK_CELLS   600000 /* rows times (columns + OVERHEAD) */
#define OVERHEAD     8

enum { CLASSES = 1, VALUES = 2, BOTH = 3 };
/* Whether the learner is; forests: many trees, and cart or none is named. Of few rows or many: FOREST_... */
enum { EITHER, NAMED, UNNAMED, FOREST, FOREST_OF_FEW, FOREST_OF_MANY };
enum { DEEP = -1, MIDDLE = -2 }; /* heights that follow the rows */
enum { HALF = -1, ALL = 0 };     /* features */

typedef struct pair {
	cop_hyperparameter knob;
	double value;
} pair;

typedef struct look_row {
	const char *learner;
	unsigned tasks;
	int when;
	pair pairs[MOST_PAIRS];
	size_t count;
} look_row;

#define KNOB(name, value)                                                                                              \
	{                                                                                                              \
		COP_HYPERPARAMETER_##name, value                                                                       \
	}

#define ADABOOST KNOB(FOREST, COP_FOREST_ADABOOST)
#define GRADIENT KNOB(FOREST, COP_FOREST_GRADIENT)
#define DRAWN    KNOB(THRESHOLDS, COP_THRESHOLDS_DRAWN)

static const look_row rows[] = {
	{ "cart", BOTH, UNNAMED, { { 0, 0 } }, 0 },
	{ "tao", CLASSES, EITHER, { KNOB(HEIGHT, DEEP), KNOB(ALPHA, 0.3) }, 2 },
	{ "tao", CLASSES, EITHER, { KNOB(HEIGHT, DEEP), KNOB(ALPHA, 1) }, 2 },
	{ "tao", CLASSES, EITHER, { KNOB(HEIGHT, DEEP), KNOB(ALPHA, 3) }, 2 },
	{ "tao", CLASSES, EITHER, { KNOB(HEIGHT, MIDDLE), KNOB(ALPHA, 0.3) }, 2 },
	{ "tao", CLASSES, EITHER, { KNOB(HEIGHT, MIDDLE), KNOB(ALPHA, 10) }, 2 },
	{ "tao", CLASSES, EITHER, { KNOB(HEIGHT, 6), KNOB(ALPHA, 1) }, 2 },
	{ "tao", CLASSES, EITHER, { KNOB(HEIGHT, 4), KNOB(ALPHA, 3) }, 2 },
	{ "tao", CLASSES, EITHER, { KNOB(HEIGHT, DEEP), KNOB(ALPHA, 1), KNOB(START, COP_START_CART) }, 3 },
	{ "tao", CLASSES, EITHER, { KNOB(ALPHA, 3), KNOB(START, COP_START_PRUNED) }, 2 },
	{ "tao", CLASSES, EITHER, { KNOB(ALPHA, 1), KNOB(START, COP_START_PRUNED), KNOB(SPLIT, 1) }, 3 },
	{ "tao", VALUES, EITHER, { KNOB(HEIGHT, DEEP), KNOB(ALPHA, 0.2) }, 2 },
	{ "tao", VALUES, EITHER, { KNOB(HEIGHT, DEEP), KNOB(ALPHA, 1) }, 2 },
	{ "tao", VALUES, EITHER, { KNOB(HEIGHT, MIDDLE), KNOB(ALPHA, 0.2) }, 2 },
	{ "tao", VALUES, EITHER, { KNOB(HEIGHT, 6), KNOB(ALPHA, 0.2) }, 2 },
	{ "tao", VALUES, EITHER, { KNOB(HEIGHT, 6), KNOB(ALPHA, 1) }, 2 },
	{ "tao", VALUES, EITHER, { KNOB(HEIGHT, 6), KNOB(ALPHA, 0.2), KNOB(START, COP_START_CART) }, 3 },
	{ "tao", VALUES, EITHER, { KNOB(HEIGHT, MIDDLE), KNOB(ALPHA, 1), KNOB(START, COP_START_CART) }, 3 },
	{ "tao", VALUES, EITHER, { KNOB(ALPHA, 0.5), KNOB(START, COP_START_PRUNED) }, 2 },
	{ "tao", VALUES, EITHER, { KNOB(ALPHA, 0.1), KNOB(START, COP_START_PRUNED), KNOB(SPLIT, 1) }, 3 },
	{ "tao", CLASSES, UNNAMED,
	        { KNOB(LEAVES, COP_LEAVES_LINEAR), KNOB(HEIGHT, 4), KNOB(ALPHA, 1), KNOB(LEAF_ALPHA, 0.3) }, 4 },
	{ "tao", CLASSES, UNNAMED,
	        { KNOB(LEAVES, COP_LEAVES_LINEAR), KNOB(HEIGHT, 2), KNOB(ALPHA, 1), KNOB(LEAF_ALPHA, 1) }, 4 },
	{ "tao", CLASSES, UNNAMED,
	        { KNOB(LEAVES, COP_LEAVES_LINEAR), KNOB(HEIGHT, 6), KNOB(ALPHA, 0.3), KNOB(LEAF_ALPHA, 0.3),
	                KNOB(START, COP_START_CART) },
	        5 },
	{ "tao", VALUES, UNNAMED,
	        { KNOB(LEAVES, COP_LEAVES_LINEAR), KNOB(HEIGHT, MIDDLE), KNOB(ALPHA, 0.5), KNOB(LEAF_ALPHA, 1) }, 4 },
	{ "tao", VALUES, UNNAMED,
	        { KNOB(LEAVES, COP_LEAVES_LINEAR), KNOB(HEIGHT, 4), KNOB(ALPHA, 0.5), KNOB(LEAF_ALPHA, 1) }, 4 },
	{ "tao", VALUES, UNNAMED,
	        { KNOB(LEAVES, COP_LEAVES_LINEAR), KNOB(HEIGHT, MIDDLE), KNOB(ALPHA, 1), KNOB(LEAF_ALPHA, 1),
	                KNOB(START, COP_START_CART) },
	        5 },
	{ "dgt", CLASSES, EITHER, { KNOB(HEIGHT, MIDDLE), KNOB(LAYERS, 1), KNOB(MOMENTUM, 0.8), KNOB(LR, 0.005) }, 4 },
	{ "dgt", CLASSES, NAMED, { KNOB(HEIGHT, DEEP), KNOB(LAYERS, 1), KNOB(MOMENTUM, 0.8), KNOB(LR, 0.01) }, 4 },
	{ "dgt", CLASSES, NAMED, { KNOB(HEIGHT, 6), KNOB(LAYERS, 3) }, 2 },
	{ "dgt", VALUES, NAMED, { KNOB(HEIGHT, 6), KNOB(LAYERS, 3), KNOB(WIDTH, 64) }, 3 },
	{ "dgt", VALUES, EITHER, { KNOB(HEIGHT, 4), KNOB(LAYERS, 3), KNOB(WIDTH, 64), KNOB(LR, 0.002) }, 4 },
	{ "dgt", VALUES, NAMED, { KNOB(HEIGHT, MIDDLE), KNOB(LAYERS, 3), KNOB(WIDTH, 64), KNOB(LR, 0.002) }, 4 },
	{ "cart", CLASSES, FOREST, { KNOB(SHARE, 1), DRAWN }, 2 },
	{ "cart", CLASSES, FOREST, { KNOB(SHARE, 1), DRAWN, KNOB(FEATURES, HALF) }, 3 },
	{ "cart", CLASSES, FOREST, { KNOB(SHARE, 1), DRAWN, KNOB(FEATURES, ALL) }, 3 },
	{ "cart", CLASSES, FOREST, { KNOB(SHARE, 1), DRAWN, KNOB(FEATURES, HALF), KNOB(MIN_LEAF, 3) }, 4 },
	{ "cart", CLASSES, FOREST_OF_FEW, { KNOB(SHARE, 1), KNOB(REPLACE, 1) }, 2 },
	{ "cart", CLASSES, FOREST_OF_MANY, { KNOB(SHARE, 1), KNOB(REPLACE, 1), KNOB(MIN_LEAF, 5) }, 3 },
	{ "cart", CLASSES, FOREST_OF_MANY, { KNOB(SHARE, 1) }, 1 },
	{ "cart", CLASSES, FOREST_OF_MANY, { KNOB(SHARE, 1), KNOB(FEATURES, HALF) }, 2 },
	{ "cart", CLASSES, FOREST, { ADABOOST, KNOB(HEIGHT, 16), KNOB(MIN_LEAF, 3), KNOB(FEATURES, HALF) }, 4 },
	{ "cart", CLASSES, FOREST_OF_FEW, { ADABOOST, KNOB(HEIGHT, 6) }, 2 },
	{ "cart", CLASSES, FOREST_OF_FEW,
	        { GRADIENT, KNOB(HEIGHT, MIDDLE), KNOB(SHRINKAGE, 0.3), KNOB(MIN_LEAF, 5), KNOB(FEATURES, HALF) }, 5 },
	{ "cart", CLASSES, FOREST_OF_MANY, { GRADIENT, KNOB(HEIGHT, 4), KNOB(SHRINKAGE, 0.3) }, 3 },
	{ "cart", CLASSES, FOREST_OF_MANY,
	        { GRADIENT, KNOB(HEIGHT, MIDDLE), KNOB(SHRINKAGE, 0.25), KNOB(MIN_LEAF, 5), KNOB(FEATURES, HALF) }, 5 },
	{ "cart", CLASSES, FOREST_OF_MANY,
	        { GRADIENT, KNOB(HEIGHT, DEEP), KNOB(SHRINKAGE, 0.15), KNOB(MIN_LEAF, 5), KNOB(FEATURES, HALF) }, 5 },
	{ "cart", VALUES, FOREST, { KNOB(SHARE, 1), DRAWN }, 2 },
	{ "cart", VALUES, FOREST, { KNOB(SHARE, 1), DRAWN, KNOB(MIN_LEAF, 5) }, 3 },
	{ "cart", VALUES, FOREST, { KNOB(SHARE, 1), KNOB(FEATURES, HALF) }, 2 },
	{ "cart", VALUES, FOREST, { KNOB(SHARE, 1), KNOB(REPLACE, 1), KNOB(FEATURES, HALF), KNOB(MIN_LEAF, 5) }, 4 },
	{ "cart", VALUES, FOREST,
	        { GRADIENT, KNOB(HEIGHT, 5), KNOB(SHRINKAGE, 0.15), KNOB(MIN_LEAF, 20), KNOB(FEATURES, HALF) }, 5 },
	{ "cart", VALUES, FOREST,
	        { GRADIENT, KNOB(HEIGHT, MIDDLE), KNOB(SHRINKAGE, 0.15), KNOB(MIN_LEAF, 5), KNOB(FEATURES, HALF) }, 5 },
	{ "cart", VALUES, FOREST,
	        { GRADIENT, KNOB(HEIGHT, DEEP), KNOB(SHRINKAGE, 0.15), KNOB(MIN_LEAF, 5), KNOB(FEATURES, HALF) }, 5 },
	{ "cart", VALUES, FOREST,
	        { GRADIENT, KNOB(HEIGHT, DEEP), KNOB(SHRINKAGE, 0.2), KNOB(MIN_LEAF, 10), KNOB(FEATURES, HALF) }, 5 },
	{ "cart", VALUES, FOREST,
	        { GRADIENT, KNOB(HEIGHT, 16), KNOB(SHRINKAGE, 0.15), KNOB(MIN_LEAF, 10), KNOB(FEATURES, HALF) }, 5 },
};
#define ROWS (sizeof rows / sizeof *rows)

/* Forests: which settings are good shows early, and the whole look may take little more time than one fit. */
static const size_t field[] = { MOST_CHOICES, 4, 3, 2, 2 };

static int when_of(const cop_train_job *job)
{
	bool many = cop_hyperparameters_or(&job->knobs, COP_HYPERPARAMETER_TREES, 1.0) > 1.0;
	bool cart = job->learner != NULL && strcmp(cop_train_learner_name(job->learner), "cart") == 0;
	return many && (cart || job->learner == NULL) ? FOREST : job->learner != NULL ? NAMED : UNNAMED;
}

unsigned cop_train_look_height(size_t n)
{
	double height = floor(log2((double)(n > 0 ? n : 1) / 5.0));
	return height < 4.0 ? 4 : height > 12.0 ? 12 : (unsigned)height;
}

static double height_of(double value, size_t n)
{
	unsigned deep = cop_train_look_height(n);
	return value > 0.0 ? value : value > -1.5 ? (double)deep : (double)((deep + 6) / 2);
}

static bool is_for(const look_row *row, const cop_train_job *job)
{
	int when = when_of(job);
	if (when == FOREST || row->when >= FOREST)
		return when == FOREST && row->when >= FOREST;
	return (row->when == EITHER || row->when == when) &&
	       (when == UNNAMED || strcmp(row->learner, cop_train_learner_name(job->learner)) == 0);
}

bool cop_train_look_wanted(const cop_train_job *job)
{
	bool listed = false;
	if (job->learner == NULL)
		return true;
	if (job->start != NULL || job->alphas > 0)
		return false;
	for (size_t i = 0; i < ROWS; i++) {
		if (!is_for(&rows[i], job))
			continue;
		listed = true;
		for (size_t p = 0; p < rows[i].count; p++)
			if (job->knobs.given[rows[i].pairs[p].knob])
				return false;
	}
	return listed;
}

/* What the row sets, for a tree of so many rows of d features, but what was given. */
static void set_knobs(const look_row *row, size_t n, size_t d, cop_hyperparameters_values *knobs)
{
	for (size_t p = 0; p < row->count; p++) {
		const pair *set = &row->pairs[p];
		if (knobs->given[set->knob])
			continue;
		knobs->given[set->knob] = true;
		if (set->knob == COP_HYPERPARAMETER_HEIGHT)
			knobs->value[set->knob] = height_of(set->value, n);
		else if (set->knob == COP_HYPERPARAMETER_FEATURES && set->value < 0.0)
			knobs->value[set->knob] = (double)((d + 1) / 2);
		else
			knobs->value[set->knob] = set->value;
	}
}

/* A forest of classes whose nodes try every feature takes long where there are many. */
static bool is_wide(const cop_train_job *job) { return job->rows->data->d > WIDE && job->rows->classes > 0; }

static cop_train_race race_for(const cop_train_job *job)
{
	bool few = job->n <= FEW_ROWS;
	size_t rounds = few ? FOLDS : job->n > MANY_ROWS ? 2 : is_wide(job) ? 3 : 4;
	return (cop_train_race){ rounds, field, few ? 1.0 : WARM_UP };
}

static bool tries_all(const look_row *row)
{
	for (size_t p = 0; p < row->count; p++)
		if (row->pairs[p].knob == COP_HYPERPARAMETER_FEATURES && row->pairs[p].value == ALL)
			return true;
	return false;
}

static size_t list_choices(const cop_train_job *job, size_t n, cop_train_choice *choices, const look_row **from)
{
	unsigned task = job->rows->classes > 0 ? CLASSES : VALUES;
	int other = n <= FEW_ROWS ? FOREST_OF_MANY : FOREST_OF_FEW;
	size_t count = 0;
	for (size_t i = 0; i < ROWS && count < MOST_CHOICES; i++) {
		if (!is_for(&rows[i], job) || (rows[i].tasks & task) == 0 || rows[i].when == other ||
		        (is_wide(job) && tries_all(&rows[i])))
			continue;
		from[count] = &rows[i];
		choices[count].learner = cop_train_learner_find(rows[i].learner);
		choices[count].knobs = job->knobs;
		set_knobs(&rows[i], n, job->rows->data->d, &choices[count++].knobs);
	}
	return count;
}

/* A part of the rows, where there are very many. *picked is owned by the caller. */
static cop_err take_part(cop_train_job *job, uint32_t **picked)
{
	size_t most = LOOK_CELLS / (job->rows->data->d + OVERHEAD);
	*picked = NULL;
	most = most < FEW_ROWS ? FEW_ROWS : most;
	if (job->n <= most)
		return COP_OK;
	cop_rng rng;
	uint32_t *all = *picked = cop_mem_alloc(job->n, sizeof *all);
	if (all == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < job->n; i++)
		all[i] = job->row != NULL ? job->row[i] : (uint32_t)i;
	cop_rng_init(&rng, job->seed, 5);
	cop_err err = cop_split_two(&rng, job->n, all, job->rows->label, 1.0 - (double)most / (double)job->n, &job->n);
	job->row = all;
	return err;
}

cop_err cop_train_look(cop_train_job *job, FILE *progress, cop_train_found *found, cop_diag *diag)
{
	cop_train_choice choices[MOST_CHOICES];
	const look_row *from[MOST_CHOICES];
	cop_train_job part = *job;
	uint32_t *picked;
	size_t best = 0;
	cop_err err = take_part(&part, &picked);
	size_t count = list_choices(job, part.n, choices, from);
	bool few = part.n <= FEW_ROWS;
	bool raced = when_of(job) == FOREST && part.n >= FOLDS;
	const cop_train_race race = race_for(&part);
	const cop_train_search search = {
		.folds = part.n >= FOLDS && (few || raced) ? FOLDS : 0,
		.validation = HELD_BACK,
		.trials = count,
		.repeats = 1,
		.most_trees = when_of(job) == FOREST ? COP_TREES_MOST : 0,
		.progress = progress,
	};
	if (err == COP_OK && raced)
		err = cop_train_search_race(&search, &race, &part, count, choices, &best, found, diag);
	else if (err == COP_OK)
		err = cop_train_search_among(&search, &part, count, choices, &best, found, diag);
	cop_mem_free(picked);
	if (err != COP_OK)
		return err;
	job->learner = choices[best].learner;
	set_knobs(from[best], job->n, job->rows->data->d, &job->knobs);
	return COP_OK;
}
