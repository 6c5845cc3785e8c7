/* refit/refit_parts.h: what a refit's parts share: the rows that are fitted, their scaling, and trees on their way from
 * scaled coordinates to raw ones.
 *
 * Rows are events of the fitted part, in time order: the first `train` of them for trees that are tried, all of them
 * for the one that is taken. One thread (the pool aside). */
#ifndef COP_REFIT_REFIT_PARTS_H
#define COP_REFIT_REFIT_PARTS_H

#include "graph/graph.h"
#include "refit/refit_window.h"
#include "train/tao.h"

typedef struct cop_refit_problem cop_refit_problem;

/* How a model's kind of action is fitted. */
typedef struct cop_refit_kind {
	bool unanswered; /* events without a loss are rows, too */
	/* Targets and weights of the rows. */
	cop_err (*prepare)(cop_refit_problem *problem);
	/* Of the first n rows (n is train or all); alpha in units of noise; start NULL or a tree in scaled coordinates.
	 * *scaled for the next start, *raw with its leaves filled; the caller frees both. */
	cop_err (*fit)(cop_refit_problem *problem, size_t n, double alpha, const cop_tree *start, cop_tree **scaled,
	        cop_tree **raw);
	/* Loss of the raw tree on the rows from train on. */
	cop_err (*value)(cop_refit_problem *problem, const cop_tree *raw, double *out);
	/* In place of both, for a forest: its next trees, of all rows: as many as come at once, from that number on.
	 * The caller frees those that are counted, on error too. */
	cop_err (*grow)(cop_refit_problem *problem, size_t first, cop_tree **raw, size_t *count);
} cop_refit_kind;

extern const cop_refit_kind cop_refit_arms_tao, cop_refit_arms_laptao, cop_refit_arms_forest, cop_refit_candidates,
        cop_refit_values;

struct cop_refit_problem {
	const cop_refit_settings *settings; /* kept, as are window, serving, pool, progress */
	const cop_refit_window *window;
	const cop_refit_estimate *serving;
	cop_pool *pool;
	const cop_progress *progress;
	const cop_refit_kind *kind;
	size_t n, train, outputs;
	uint32_t *source;      /* n: event of each row */
	cop_dataset *rows;     /* scaled */
	double *mean;          /* of each feature; NULL when sparse */
	double *inverse;       /* 1 / spread of each feature; 0: constant */
	float *target;         /* n x outputs: costs, labels or targets */
	float *weight;         /* laptao: n x outputs; regression: n */
	float *model;          /* n x outputs: f; NULL: of an arm always the same, which is mean_loss */
	double *mean_loss;     /* outputs */
	uint8_t *played;       /* outputs: ever, in the rows */
	double middle, spread; /* of regression's targets, which are standardised */
	cop_graph *graph;      /* laptao */
};

/* Rows, scaling and what the kind prepares. Finish with fini in every case. COP_ENOMEM and serving's errors. */
COP_CHECK cop_err cop_refit_problem_init(cop_refit_problem *problem);
void cop_refit_problem_fini(cop_refit_problem *problem);
static inline const cop_refit_event *cop_refit_problem_event(const cop_refit_problem *problem, size_t row)
{
	return problem->window->event[problem->source[row]];
}

/* Room for a raw row that trees take: the context, joined with a candidate where the model has them (cop_refit_row). */
typedef struct cop_refit_joined {
	float *value;
	uint32_t *index;
	size_t room;
} cop_refit_joined;

void cop_refit_joined_fini(cop_refit_joined *joined);
/* COP_ENOMEM. A view until the next call; of events without candidates a copy of its context's. */
COP_CHECK cop_err cop_refit_row(cop_refit_joined *joined, const cop_journal_history_model *model,
        const cop_refit_event *e, size_t candidate, cop_row *out);

/* dl / dy of an answered event of values; mean: of all losses, for one probe. */
double cop_refit_slope(const cop_journal_history_model *model, const cop_refit_event *e, double mean);

/* alpha times the root of the first n of sum (noise_i^2). */
double cop_refit_penalty(double alpha, const double *noise, size_t n);
/* TAO's settings for values or costs. */
void cop_refit_tao(const cop_refit_problem *problem, cop_task task, double alpha, cop_tao_settings *out);
/* A generator that depends on the seed alone, the same for every fit. */
cop_rng cop_refit_rng(const cop_refit_problem *problem);

/* The tree's decision nodes in raw coordinates, with leaves: constant, `leaf` (leaves x outputs), or NULL: the tree's
 * own ones, score = middle + spread x theirs. Caller frees *out. COP_ENONFINITE, COP_ENOMEM. */
COP_CHECK cop_err cop_refit_unscale(
        const cop_refit_problem *problem, const cop_tree *scaled, const float *leaf, cop_tree **out);

/* The choice of least loss among those that may be made (mask NULL: all), the first of equals. */
size_t cop_refit_least(const float *loss, const uint8_t *mask, size_t count);
/* Losses of an event's choices (arms or candidates) by a raw tree, cut to [0, 1], into *loss (room of *room, grown). */
typedef struct cop_refit_losses {
	float *loss, *work;
	double *sum;
	size_t room;
	cop_refit_joined joined;
} cop_refit_losses;
void cop_refit_losses_fini(cop_refit_losses *losses);
COP_CHECK cop_err cop_refit_expect(cop_refit_losses *losses, const cop_journal_history_model *model,
        const cop_tree *raw, const cop_refit_event *e, size_t *choices);
/* The same of trees. */
COP_CHECK cop_err cop_refit_expect_all(cop_refit_losses *losses, const cop_journal_history_model *model,
        const cop_trees *trees, const cop_refit_event *e, size_t *choices);
/* Mean doubly robust loss of the greedy policy on the answered rows from train on. */
COP_CHECK cop_err cop_refit_greedy_loss(cop_refit_problem *problem, const cop_tree *raw, double *out);

typedef struct cop_refit_filling {
	double clip;  /* of 1 / p; 1: all events of an arm count alike */
	double prior; /* > 0: events that a leaf's parent counts for */
} cop_refit_filling;

/* f of the rows, and what is known of arms. COP_ENOMEM and serving's errors. */
COP_CHECK cop_err cop_refit_prepare_losses(cop_refit_problem *problem);
/* Raw splits of a tree in scaled coordinates, with leaves of cop_refit_fill. Caller frees *raw. */
COP_CHECK cop_err cop_refit_refill(
        cop_refit_problem *problem, const cop_tree *scaled, size_t n, const cop_refit_filling *how, cop_tree **raw);
/* Leaves of arms: leaves x outputs of the raw splits, from the first n rows, all of them answered. */
COP_CHECK cop_err cop_refit_fill(
        const cop_refit_problem *problem, const cop_tree *raw, size_t n, const cop_refit_filling *how, float *leaf);
/* Arms that were never played, of which nobody tells: as dear as the dearest other one of the leaf. */
void cop_refit_unplayed(const cop_refit_problem *problem, size_t leaves, float *leaf);

/* Judges on the window's last part: promotion, summary, and what the report has of values. */
COP_CHECK cop_err cop_refit_judge(const cop_refit_settings *settings, const cop_refit_window *window,
        const cop_trees *trees, cop_refit_report *report);

#endif
