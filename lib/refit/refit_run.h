/* refit/refit_run.h: a challenger for one model, fitted as a whole to what its journal tells, and judged on newer
 * events than any it was fitted to.
 *
 * Window: the newest decisions of the model, in the journal's order, answered or not. Its newest part (`holdout`) is
 * never fitted, only judged; scaling, penalties and leaves come from the part before. Losses are scaled by the model's
 * loss_range to [0, 1]. What is fitted, on scaled features (dense: standardised; sparse: by the root mean square of
 * what is there, never shifted), goes by the model's actions; f is the serving model's loss of each arm where there is
 * one, else the mean loss of each arm, and w = min(1 / p, clip):
 *   arms, tao      TAO on off-policy costs (bandit/offpolicy_cost.h) of the answered events. Then every leaf and arm
 *                  says the mean of f over the leaf's rows plus the self-normalised mean of l - f of the arm there
 *                  (weights w), drawn towards that of the node above as if by `prior` events, and so on to the root,
 *                  which is drawn to 0.
 *   arms, laptao   LapTAO over all contexts, one mask an arm, weights w (their mean scaled to 1), targets l - f of
 *                  means; the leaves are its own.
 *   arms, forest   `trees` extremely randomized trees over all scaled features, of the losses of played arms; leaves as
 *                  of tao but with w = 1 and a prior of 2 events. Of a learner that takes one tree (dgt), or of sparse
 *                  contexts: as tao.
 *   candidates     a regression tree of linear leaves, weights w, of the loss on the joined row: context, then the
 *                  played candidate (dense: its features behind the context's; sparse: feature j is 2^bits + j).
 *   values         a regression tree of targets y - step g, cut to y -+ trust delta and to [0, 1]. g is the slope (l+ -
 *                  l-) / (2 delta), or (l - mean loss) u / delta of one probe.
 * What comes out has raw coordinates and predicts losses of K arms, or of a candidate, or a value; constant leaves are
 * cut to [0, 1]. An arm that was never played in the window, of which no serving model tells anything, costs in every
 * leaf as much as the dearest other one.
 *
 * The step: a loss that stays in [0, 1] on all of [0, 1] and is a parabola bends by at most 8, and a step of 1 / 8
 * never goes beyond the least point of such a one; smaller ones are as safe and slower. The trust region is where
 * losses were seen: between the probes.
 *
 * Penalties alpha are in units of noise: of the root of the rows' sum of squared weights (of costs: of the spread of a
 * row's costs), so that one alpha suits windows of all sizes. Without one a short path is tried from small to large on
 * all but the newest fitted events, and the best on those is taken: by the doubly robust loss of the greedy policy (of
 * values: by squared error), the tree's own predictions as the model; then all fitted events are fitted.
 *
 * Judged is the policy that is greedy by the tree with probability 1 - mix and does as the log did with probability
 * mix, so that it plays the logged action with 1 - mix + mix p if it is the greedy one, else with mix p, against the
 * log itself, whose propensity is p. The model of losses in cop_promotion_test is the challenger, which saw no judged
 * event; m of a policy is its expectation with the logged action in the place of the log's draw, which leaves the
 * estimates' means as they are. Of values there are no propensities; l(y) + g (t - y) + (t - y)^2 / (2 step) bounds the
 * loss at t = T(x) of what bends no more than 1 / step, and the report has by how much that is below l(y).
 *
 * One run per thread; the pool is used by it alone. The same seed and journal give the same bytes for any number of
 * threads. */
#ifndef COP_REFIT_REFIT_RUN_H
#define COP_REFIT_REFIT_RUN_H

#include "base/pool.h"
#include "evaluate/promotion_test.h"
#include "history/journal_history.h"
#include "train/sample.h"
#include "tree/trees.h"

typedef enum cop_refit_method {
	COP_REFIT_TAO = 0,
	COP_REFIT_LAPTAO,
	COP_REFIT_FOREST,
	COP_REFIT_METHODS
} cop_refit_method;
typedef enum cop_refit_costs { COP_REFIT_IPS = 0, COP_REFIT_DR, COP_REFIT_COSTS } cop_refit_costs;

#define COP_REFIT_PATH 3 /* alphas tried */

typedef struct cop_refit_settings {
	const char *model;       /* name; NULL or "": the journal's only one */
	cop_refit_method method; /* of arms; other actions have one of their own */
	cop_refit_costs costs;   /* of arms, tao */
	size_t window;           /* events, at least 1 */
	double holdout;          /* share of the window that is judged, [0, 0.9] */
	uint64_t after;          /* sequence number: evidence is what was answered after it */
	uint64_t until;          /* and records beyond this one are as if they were not there yet; 0: all are */
	uint64_t least;          /* answered events that a fit needs, at least 2 */
	size_t memory;       /* bytes that the events and their fit may take, as far as they can be told beforehand */
	double clip;         /* of 1 / p, >= 1 */
	unsigned height;     /* of the tree, 1 to COP_REFIT_MAX_HEIGHT */
	unsigned iterations; /* most sweeps of TAO, at least 1 */
	double alpha;        /* >= 0, in units of noise; negative: chosen */
	double validation;   /* share of the fitted events that chooses it, (0, 0.9] */
	double prior;        /* > 0: events that a leaf's parent counts for */
	double gamma;        /* laptao: of the Laplacian, >= 0 */
	unsigned neighbours; /* laptao: of each context, at least 2 */
	double perplexity;   /* laptao: >= 1 */
	unsigned rounds;     /* laptao: most, at least 1 */
	double step;         /* values: > 0 */
	double trust;        /* values: > 0, in units of delta */
	double mix;          /* [0, 1] */
	double least_p;      /* no logged action has less than this propensity, [0, 1]; 0: not known */
	cop_promotion_test_settings promotion;
	size_t trees; /* forest: 1 to 256 */
	uint64_t seed;
} cop_refit_settings;

/* TAO on doubly robust costs: 200,000 events, a fifth held out, 1 GiB, height 6, alpha chosen. */
void cop_refit_defaults(cop_refit_settings *settings);
/* What is out of range, in *diag: COP_EINVAL. */
COP_CHECK cop_err cop_refit_settings_check(const cop_refit_settings *settings, cop_diag *diag);

/* The serving model's losses of a raw context: `arms` numbers into out, cut to [0, 1] by the caller. */
typedef struct cop_refit_estimate {
	cop_err (*losses)(void *context, const cop_row *x, size_t arms, float *out);
	void *context;
} cop_refit_estimate;

/* Part of the window: events, those with a loss, and the first and last decision's sequence number (0: no events). */
typedef struct cop_refit_part {
	uint64_t events, answered, first, last;
} cop_refit_part;

typedef struct cop_refit_report {
	cop_journal_history_model model;
	cop_refit_part fitted, judged;
	uint64_t learned; /* the newest record that answered an event of the window: the next run's `after` */
	uint64_t from;    /* the oldest record that was looked at: a segment's first */
	uint64_t passed;  /* records that made no sense */
	uint64_t memory;  /* bytes, as the bound counts them */
	double alpha;     /* taken */
	unsigned tried;   /* 0: it was given, or there was too little to choose by */
	double tried_alpha[COP_REFIT_PATH], tried_value[COP_REFIT_PATH]; /* and the loss that each gave */
	uint64_t leaves, depth, parameters;
	cop_promotion_test promotion; /* of the judged events; goes on with those that follow */
	cop_promotion_test_summary summary;
	/* Values: by how much the challenger's loss is lower, at least, as the judged slopes have it; its standard
	 * error; and the mean distance from the values that were played. Else 0. */
	double gain, gain_error, moved;
	bool stopped; /* by progress */
} cop_refit_report;

/* journal: its folder. serving (arms; NULL: none), pool, progress and diag may be NULL. Caller frees *out, which is
 * NULL unless COP_OK; *report is filled as far as the run came. COP_EEND: nothing new was answered, or too little at
 * all (the report and *diag say), or progress ended it before there was a tree. COP_EINVAL: a setting, or a journal
 * that does not tell what its model is like. COP_EFULL: the memory's bound, what to lower in *diag. Of the reader:
 * COP_ENOTFOUND, COP_EIO (damage and its place), COP_EVERSION, COP_ESHAPE. serving's errors. COP_ENOMEM. Reads the
 * newest segments, as far back as the window goes; a fit takes time with rows x features x height. */
COP_CHECK cop_err cop_refit_run(const cop_refit_settings *settings, const char *journal,
        const cop_refit_estimate *serving, cop_pool *pool, const cop_progress *progress, cop_refit_report *report,
        cop_trees **out, cop_diag *diag);

#endif
