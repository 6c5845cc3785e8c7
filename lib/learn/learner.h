/* learn/learner.h: the online learner: a context in, a decision out; a loss in, an update.
 *
 * Learners are found by name: "ensemble" (mixture of experts, the default), "dgt" (DGT-Bandit), "ridge" (least squares
 * by arm, whose state is sums alone), "value" (continuous actions), "rank" (candidates with features of their own,
 * whose number may change from event to event; an action is a candidate's place among them), "trained" and
 * "trained_value" (trees that a batch learner made, classes and numbers, as they are; learn/learner_trained.c). A
 * decision is a plain value that the caller keeps (online/pending.h) and gives back with the loss. Contexts are raw
 * rows: dense with `features` values, or sparse over 2^bits hashed features; candidates likewise. Losses of arms and
 * candidates are in [0, 1]; values live in [0, 1], scaled from value_range by the caller. Same settings, seed and
 * calls: same bits, on the same kind of processor. One thread per learner; decide, learn and explain allocate nothing.
 * Trees of a batch fit may be taken in. */
#ifndef COP_LEARN_LEARNER_H
#define COP_LEARN_LEARNER_H

#include <stdbool.h>
#include <stdint.h>

#include "bandit/policy.h"
#include "base/bytes.h"
#include "base/err.h"
#include "learn/anatomy.h"
#include "learn/explanation.h"
#include "learn/outliers.h"
#include "linalg/kernel.h"
#include "linalg/row.h"
#include "tree/oblique_tree.h"
#include "tree/trees.h"

#define COP_LEARNER_EXPERTS 6 /* the last place is a refit's */

/* The limits of settings, here and in configurations. */
#define COP_LEARNER_MAX_FEATURES        65536
#define COP_LEARNER_MAX_BITS            24
#define COP_LEARNER_MAX_NONZEROS        65536
#define COP_LEARNER_MAX_ARMS            10000
#define COP_LEARNER_MAX_CANDIDATES      10000
#define COP_LEARNER_MAX_CANDIDATE_ROOM  ((size_t)1 << 24) /* candidates times entries of one */
#define COP_LEARNER_MAX_TREES           64
#define COP_LEARNER_MAX_HEIGHT          12 /* dgt, value */
#define COP_LEARNER_MAX_ENSEMBLE_HEIGHT 8
#define COP_LEARNER_MAX_RIDGE_FEATURES  256
#define COP_LEARNER_MAX_RIDGE_SUMS      ((size_t)1 << 22) /* of all arms */
#define COP_LEARNER_MAX_RATE            100
#define COP_LEARNER_MAX_EPSILON_DECAY   1

#define COP_LEARNER_SPARSE_TYPICAL 32 /* entries of a usual sparse context, by which random weights are sized */

/* Bits of cop_learner_settings.experts, and their names, in order; NULL at the end. */
extern const char *const cop_learner_expert_names[];
enum {
	COP_EXPERT_LINEAR = 1,
	COP_EXPERT_TREES = 2,
	COP_EXPERT_QUADRATIC = 4,
	COP_EXPERT_FOREST = 8,
	COP_EXPERT_ALL = 15
};

/* What a value learner plays and is told. */
typedef enum cop_value_feedback {
	COP_VALUE_BINS, /* the default: drawn from a density over bins (learn/bins.h); one loss */
	COP_VALUE_ONE,  /* a probe beside the learner's value; one loss */
	COP_VALUE_TWO,  /* probes on both sides; two losses */
	COP_VALUE_FEEDBACKS
} cop_value_feedback;

typedef struct cop_learner_settings {
	char learner[16];          /* name */
	size_t features;           /* dense dimension, at most COP_LEARNER_MAX_FEATURES; 0: sparse, hashed to 2^bits */
	size_t known;              /* a new learner's: features that are never unknown, as below; 0: all. Not saved */
	unsigned bits;             /* sparse: 1 .. COP_LEARNER_MAX_BITS */
	size_t max_nonzeros;       /* sparse: most entries of a context */
	size_t arms;               /* 2 .. COP_LEARNER_MAX_ARMS; learners value and rank: 0 */
	size_t candidate_features; /* rank: dimension of dense candidates; 0 when contexts are sparse (and so are they)
	                            */
	size_t max_candidates;     /* rank: 1 .. COP_LEARNER_MAX_CANDIDATES, most of one event */
	char policy[16];           /* "" is the learner's default */
	cop_policy_settings exploration; /* negative epsilon, gamma, optimism or least propensity: the default */
	unsigned experts;                /* ensemble: those that take part, COP_EXPERT_*; 0: all that can help */
	unsigned height;                 /* 0: the learner's default */
	size_t trees;                    /* ensemble, value; COP_LEARNER_DEFAULT_TREES: the default */
	double learning_rate;            /* dgt: RMSprop's rate; others: factor on their rates; 0: the default */
	bool literal;                    /* dgt: Algorithm 1 to the letter, without the shared leaf bias */
	double delta;                    /* value: perturbation in (0, 1/2], of the scaled range; 0: the default */
	double delta_decay;          /* value, one or two: after t losses it is delta / (1 + delta_decay t)^(1/4), */
	double delta_floor;          /* but not less than this */
	cop_value_feedback feedback; /* value */
	uint64_t seed;
} cop_learner_settings;

#define COP_LEARNER_DEFAULT_TREES      SIZE_MAX
#define COP_LEARNER_DEFAULT_CANDIDATES 64
#define COP_LEARNER_LEAST_PROPENSITY   0.004 /* of ensemble and rank, unless their policy is epsilon */

/* Every field at "the default"; learner "ensemble". */
void cop_learner_settings_init(cop_learner_settings *settings);
/* exploration's, or the default: COP_LEARNER_LEAST_PROPENSITY; 0 with policy epsilon, which has a share of its own that
 * explores, and for dgt and value. */
double cop_learner_least_propensity(const cop_learner_settings *settings);

typedef struct cop_decision {
	uint32_t arm;                          /* arms */
	bool greedy;                           /* arms: the best predicted arm was played */
	uint8_t limit;                         /* arms: what decided about p (cop_shares_limit) */
	int8_t u;                              /* one-point: sign of the perturbation */
	double p;                              /* arms: propensity of the played arm; values: 1; bins: density at y */
	double y;                              /* values: centre, in [0, 1] */
	double probe[2];                       /* values: what to play; one-point uses the first */
	uint64_t rev;                          /* model revision that decided: updates so far */
	float prediction[COP_LEARNER_EXPERTS]; /* predicted loss of the played arm by each expert */
} cop_decision;

/* What there is to choose from. NULL in place of one: all arms. */
typedef struct cop_candidates {
	/* Of learners of candidates, else 0. 0: row is the played candidate alone, which is what learning wants. */
	size_t count;
	const cop_row *row;
	const uint8_t *mask; /* a flag of 0 or 1 for each arm or candidate; NULL: all are eligible */
} cop_candidates;

static inline const uint8_t *cop_learner_mask(const cop_candidates *c) { return c == NULL ? NULL : c->mask; }

typedef struct cop_learner cop_learner;

/* Calls have looked at their arguments before they come to the class. */
typedef struct cop_learner_class {
	const char *name;
	bool values;             /* continuous actions */
	bool candidates;         /* candidates instead of arms */
	bool masks;              /* learning wants the mask of the decision */
	bool experts;            /* it can be told which experts take part, and has policy "matching" */
	bool fixed;              /* what it is stays: it learns nothing, and no arms or features can be added */
	bool one_tree;           /* a refit's tree takes the place of its own, if it is as high at most */
	unsigned max_height;     /* of its trees */
	double least_propensity; /* where the settings have none, with other policies than epsilon */
	size_t predictions;      /* of a decision, that learning wants back */
	/* What is wrong with settings beside what all learners refuse, "name: expectation"; NULL: nothing, or no
	 * function. */
	const char *(*refusal)(const cop_learner_settings *settings);
	double (*footprint)(const cop_learner_settings *settings); /* bytes, with the defaults filled in */
	cop_err (*create)(const cop_learner_settings *settings, cop_learner **out);
	void (*destroy)(cop_learner *learner);
	void (*observe)(cop_learner *learner, const cop_row *x, const cop_candidates *c); /* statistics; c as below */
	/* Fills all but rev. */
	cop_err (*decide)(cop_learner *learner, const cop_row *x, const cop_candidates *c, cop_decision *out);
	cop_err (*learn)(cop_learner *learner, const cop_row *x, const cop_candidates *c, const cop_decision *decision,
	        const double *loss);
	/* Every loss that is told, each as of an arm played with propensity 1 (learn/skyline.h); how many steps were
	 * not refused, by so many rev rises. NULL: learn does, one by one. */
	size_t (*learn_all)(cop_learner *learner, const cop_row *x, const cop_candidates *c, const double *loss);
	/* What the policy would do with x, by the model as it is; the decision's predictions are filled for its arm. */
	cop_err (*view)(cop_learner *learner, const cop_row *x, const cop_candidates *c, cop_decision *decision,
	        cop_policy_view *out);
	/* As cop_learner_view_as. NULL: what it does is no policy's. */
	cop_err (*view_as)(
	        cop_learner *learner, const cop_policy_other *other, const cop_candidates *c, cop_policy_view *out);
	cop_policy_view (*last_policy)(cop_learner *learner); /* NULL, as view: values without density */
	void (*advance)(cop_learner *learner);                /* what a decide draws, without it */
	void (*probes)(const cop_learner *learner, cop_decision *decision);
	double (*greedy)(cop_learner *learner, const cop_row *x, const cop_candidates *c);
	void (*explain)(cop_learner *learner, const cop_row *x, const cop_candidates *c, const cop_decision *decision,
	        cop_explanation *e);
	/* Of the index of an explained feature: whether it stands for a product of two, and of which; indices of a
	 * candidate's features follow the context's. NULL: none does. */
	bool (*product)(const cop_learner *learner, size_t index, size_t *i, size_t *j);
	/* Of learners whose products are hashed, as cop_learner_find_product and cop_learner_hashed; else NULL. */
	bool (*find_product)(const cop_learner *learner, const cop_row *x, const cop_row *candidate, size_t index,
	        size_t skip, size_t pair[2]);
	size_t (*hashed)(const cop_learner *learner, size_t feature, size_t candidate_feature);
	size_t (*anatomy)(const cop_learner *learner, cop_anatomy_part *parts);
	void (*outliers)(const cop_learner *learner, cop_outliers *out); /* NULL: it counts none */
	void (*save)(const cop_learner *learner, cop_bytes *bytes);
	cop_err (*load)(cop_learner *learner, cop_cursor *cursor);
	/* As cop_learner_grown and cop_learner_hold; both NULL: its size is that of its settings. */
	size_t (*grown)(const cop_learner *learner);
	cop_err (*hold)(cop_learner *learner, size_t leaves);
	/* As cop_learner_make_room and cop_learner_inherit; NULL: no arms. */
	cop_err (*make_room)(cop_learner *learner, const cop_learner *from);
	void (*inherit)(cop_learner *learner, cop_learner *from);
	bool widens; /* these two take one of fewer features of dense contexts, too */
	/* Loss of the decision's action, from what its experts had predicted; NULL: they are none. */
	double (*combine)(const cop_learner *learner, const cop_decision *decision);
	/* Trees and nodes of an explanation, where they are not those of its trees and refit. NULL: they are. */
	void (*paths)(const cop_learner *learner, size_t *trees, size_t *nodes);
	/* The trees that are its own; NULL: it has none. */
	size_t (*trees)(const cop_learner *learner);
	cop_err (*tree)(const cop_learner *learner, size_t m, cop_oblique_tree **out);
	/* Takes a refit's trees in; NULL: it cannot. And what it took in; NULL: nothing, or its own trees were
	 * replaced. */
	cop_err (*refit)(cop_learner *learner, const cop_trees *trees, cop_diag *diag);
	const struct cop_refit *(*refitted)(const cop_learner *learner);
	/* Its sums, of a learner that is nothing but sums and how it explores; changed: they are not what they were.
	 * NULL: models of several instances cannot be merged, since `apart` does not add up. */
	struct cop_sums *(*sums)(cop_learner *learner, bool changed);
	const char *apart; /* parts of its state, in words */
} cop_learner_class;

/* First member of every learner. */
struct cop_learner {
	const cop_learner_class *class;
	cop_learner_settings settings; /* with the defaults filled in */
	uint64_t rev;
	bool frozen;       /* neither is this saved, */
	uint64_t unlearnt; /* nor how many losses came since it was made that a frozen one did not learn */
	/* Of the state that is loaded next, at most settings.arms and .features: those beyond are new. 0: the same. Not
	 * saved. */
	size_t saved_arms, saved_features;
	/* Features of dense contexts that are never unknown: the first ones; the others, which came to a saved state,
	 * may be NaN. 0: all. */
	size_t known;
	/* Learning comes right after view of the same row, or explaining right after deciding it: what that left in
	 * workspaces holds. */
	bool followed;
};

/* COP_EINVAL with a message in *diag: a setting is out of range. COP_ENOMEM. On error *out is NULL. */
COP_CHECK cop_err cop_learner_new(const cop_learner_settings *settings, cop_learner **out, cop_diag *diag);
void cop_learner_free(cop_learner *learner);
/* What is wrong with a learner's exploration, "name: expectation"; NULL when nothing is. */
const char *cop_learner_exploration_refusal(const cop_learner_settings *settings);
/* Exploration (that nothing is wrong with) of a living learner; the policy's kind stays. A negative epsilon, gamma,
 * optimism or least propensity leaves that one alone. */
void cop_learner_explore(cop_learner *learner, const cop_policy_settings *exploration);

/* By its number: "bins", "one", "two". */
extern const char *const cop_value_feedback_words[];
/* Numbers in a loss: 2 of a value learner with two probes, else 1. */
size_t cop_learner_losses(const cop_learner_settings *settings);

/* The class of that name, NULL: there is none. */
const cop_learner_class *cop_learner_find(const char *name);
/* Whether the learner of that name plays values, or candidates; false of one that does not exist. */
bool cop_learner_plays_values(const cop_learner_settings *settings);
bool cop_learner_plays_candidates(const cop_learner_settings *settings);
/* Whether saved states of the fewer of settings->features and `features` can be loaded by a learner of the more, which
 * may be as many: of dense contexts, not of candidates. Loading still refuses a state of another form than that of so
 * many (COP_ESHAPE). */
bool cop_learner_takes_features(const cop_learner_settings *settings, size_t features);
/* Why they cannot, in words; NULL: they can. */
const char *cop_learner_keeps_features(const cop_learner_settings *settings, size_t features);

/* Dimension of raw rows: features, or 2^bits. */
size_t cop_learner_dimension(const cop_learner_settings *settings);
/* Dimension of candidates' raw rows; sparse: as of contexts. Learners without candidates: 0. */
size_t cop_learner_candidate_dimension(const cop_learner_settings *settings);

/* Whether there is something to choose: an eligible arm; 1 .. max_candidates, one of them eligible. Values need none.
 */
bool cop_learner_can_decide(const cop_learner *learner, const cop_candidates *c);
/* Statistics of x and of every candidate, eligible or not, are taken in. COP_EINVAL: it cannot decide; nothing changed.
 */
COP_CHECK cop_err cop_learner_decide(
        cop_learner *learner, const cop_row *x, const cop_candidates *c, cop_decision *out);
/* Moves the learner as a decide for x did that happened before (statistics, clock and generator), without deciding: how
 * a journal is replayed. */
void cop_learner_advance(cop_learner *learner, const cop_row *x, const cop_candidates *c);
/* What the learner would do with x at its next decide: arms, candidates, and values drawn from a density, whose view is
 * over the COP_BINS bins of equal width that y lies in one of, with predicted losses of any size (decision->y is given,
 * and its arm becomes that bin). Fills rev and the experts' predictions for the arm of *decision (which somebody else
 * may have played). Nothing changes but workspaces. COP_EINVAL: it cannot decide, or the decision's arm is no
 * candidate. */
COP_CHECK cop_err cop_learner_view(
        cop_learner *learner, const cop_row *x, const cop_candidates *c, cop_decision *decision, cop_policy_view *out);
/* Right after view or follow with the same c: what it would have been with another policy, by the same predictions. Of
 * learners whose class has it. Errors as view. */
COP_CHECK cop_err cop_learner_view_as(
        cop_learner *learner, const cop_policy_other *other, const cop_candidates *c, cop_policy_view *out);
/* Right after decide, view or follow (arms or candidates): what that drew from, or would have; all but `best`. */
cop_policy_view cop_learner_last_policy(cop_learner *learner);
/* A decision by another policy, *decision's arm with propensity p: the learner moves as by a decide for x that had
 * drawn that arm, and *out says what it would have done itself. Learning may follow with decided_here. Errors as view;
 * nothing changed then. */
COP_CHECK cop_err cop_learner_follow(
        cop_learner *learner, const cop_row *x, const cop_candidates *c, cop_decision *decision, cop_policy_view *out);
/* follow and, unless loss is NULL, learn from one loss for the decision: the same bits as the two calls, in less time.
 * Errors as both; after those of learn the learner has followed. */
COP_CHECK cop_err cop_learner_take(cop_learner *learner, const cop_row *x, const cop_candidates *c,
        cop_decision *decision, const double *loss, cop_policy_view *out);
/* Fills probe from y and u (value learners; others: nothing). */
void cop_learner_probes(const cop_learner *learner, cop_decision *decision);
/* c: that of the decision, or what is left of it: of arms the mask, which only learners whose class masks look at; of
 * candidates the played one. loss: one value; two for two-point values (at probe[0], probe[1]). decided_here: the
 * decision came from this learner's decide, so its statistics know x and its experts' weights learn from the loss, too.
 * COP_EINVAL: loss outside [0, 1] (arms). COP_ENONFINITE. COP_EDIVERGED: the step was refused, nothing changed (in
 * a mixture, experts that refuse stay as they were, and the step is refused when all do). */
COP_CHECK cop_err cop_learner_learn(cop_learner *learner, const cop_row *x, const cop_candidates *c,
        const cop_decision *decision, const double *loss, bool decided_here);
/* Best of the eligible (at least one), or value in [0, 1], by the model as it is; changes nothing. */
double cop_learner_greedy(cop_learner *learner, const cop_row *x, const cop_candidates *c);
/* Why the model as it is would take the decision's action for x; with all candidates also their predicted losses. e:
 * room by cop_learner_explanation_init. */
void cop_learner_explain(cop_learner *learner, const cop_row *x, const cop_candidates *c, const cop_decision *decision,
        cop_explanation *e);
/* The same right after cop_learner_decide gave this decision for x: cheaper where the learner still has its way. */
void cop_learner_explain_decided(cop_learner *learner, const cop_row *x, const cop_candidates *c,
        const cop_decision *decision, cop_explanation *e);
/* Room for explanations of the learner as it is: a refit may need more. */
COP_CHECK cop_err cop_learner_explanation_init(const cop_learner *learner, cop_explanation *e);
/* Whether e has that room. */
bool cop_learner_explanation_fits(const cop_learner *learner, const cop_explanation *e);

/* What an explained feature is. */
typedef struct cop_learner_feature {
	size_t count; /* of parts; 2: their product; 0: a hashed product, cop_learner_find_product */
	struct {
		bool constant, candidate; /* neither: the context's */
		size_t index;
	} part[2];
} cop_learner_feature;
void cop_learner_describe(const cop_learner *learner, size_t index, cop_learner_feature *out);
/* Which features of these raw rows a hashed product is of: the skip-th pair of those that share its index. false: there
 * is none. Cost: all pairs. */
bool cop_learner_find_product(const cop_learner *learner, const cop_row *x, const cop_row *candidate, size_t index,
        size_t skip, cop_learner_feature *out);
/* Of sparse rows: the index of the product of two features; a learner of candidates. */
size_t cop_learner_hashed(const cop_learner *learner, size_t feature, size_t candidate_feature);

/* Values of contexts (rank: and candidates, whose features follow the contexts') that entered the statistics cut, since
 * the model began; rank: the last value of the kind that has more of them. */
void cop_learner_outliers(const cop_learner *learner, cop_outliers *out);

/* Trees of a batch fit over raw rows become part of the model, which goes on learning from there; rev rises by one. The
 * trees' features are the contexts' (sparse: 2^bits), their outputs:
 *     ensemble  predicted losses of the arms, in [0, 1]: one further expert (learn/mixture.h); any trees of values
 *     rank      one, a candidate's predicted loss; features: context then candidate (sparse: 2^bits of each)
 *     dgt       as the ensemble's; one tree with constant leaves, not deeper than the learner's, takes its tree's place
 *               (learn/learner_dgt.c: how it is scaled)
 *     value     one, the best value in [0, 1]: that is the prediction from here on, and what learning adds begins at 0
 * COP_ESHAPE: the learner cannot take such trees in, *diag says why. COP_EINVAL, COP_ENONFINITE (splits that floats
 * cannot hold), COP_ENOMEM. Nothing changed then. */
COP_CHECK cop_err cop_learner_refit(cop_learner *learner, const cop_trees *trees, cop_diag *diag);
/* What it took in; NULL: nothing, or its own trees were replaced. */
const struct cop_refit *cop_learner_refitted(const cop_learner *learner);
/* Predictions of a decision that learning wants back: at least the class's. */
size_t cop_learner_predictions(const cop_learner *learner);
/* The loss in [0, 1] that the predictions of a decision add up to, as the learner weighs them now; NaN: some are not
 * there, or it has no experts (class->combine NULL). */
double cop_learner_combine(const cop_learner *learner, const cop_decision *decision);
/* A frozen learner decides, but its statistics do not move and losses are counted (unlearnt) instead of learned. */
void cop_learner_freeze(cop_learner *learner, bool frozen);
/* A new learner of the same settings and state, not frozen. COP_ENOMEM; on error *out is NULL. */
COP_CHECK cop_err cop_learner_clone(const cop_learner *learner, cop_learner **out);

/* What a clone needs but the state itself, made beforehand (most of cloning is this), on any thread while the learner
 * goes on. Zeroed is none. */
typedef struct cop_learner_spare {
	cop_learner *learner; /* owned, as new */
	cop_bytes state;      /* empty room that was touched */
} cop_learner_spare;

/* For clones of a learner with these settings (of a living one), whose state is about so many bytes: with room for
 * less, cloning allocates. Finish with fini, also after an error. COP_ENOMEM. */
COP_CHECK cop_err cop_learner_spare_init(
        cop_learner_spare *spare, const cop_learner_settings *settings, size_t state_bytes);
void cop_learner_spare_fini(cop_learner_spare *spare);
/* The spare's learner becomes a clone. Contract: of the same settings but for the exploration. COP_ENOMEM: its state is
 * then undefined. */
COP_CHECK cop_err cop_learner_clone_into(const cop_learner *learner, cop_learner_spare *spare);

/* State, not settings. */
void cop_learner_save(const cop_learner *learner, cop_bytes *bytes);
/* Into a learner of equal settings. COP_ESHAPE, COP_EFORMAT, COP_ENONFINITE; then the state is undefined. */
COP_CHECK cop_err cop_learner_load(cop_learner *learner, cop_cursor *cursor);

/* What does not add up in the state of learners with these settings, "the forest, ..."; NULL: all of it does, so that
 * what several instances learned of distinct events can be merged. */
const char *cop_learner_apart(const cop_learner_settings *settings);
/* Of such a learner; else NULL. Between two calls of others of its functions. */
struct cop_sums *cop_learner_sums(cop_learner *learner);
struct cop_summary;
/* What another instance learned becomes part of the model (learn/sums.h). COP_EINVAL: its verdict is not
 * COP_SUMS_NEW, or the learner has no sums; COP_ENOMEM. Nothing changed then. */
COP_CHECK cop_err cop_learner_merge(cop_learner *learner, const struct cop_summary *summary);

/* How large the state has grown, and soon will be: leaves of its largest tree; 0: no larger than at first. */
size_t cop_learner_grown(const cop_learner *learner);
/* A fresh learner gets the memory that such a state is copied into, all of its pages too, so that nothing of it is left
 * to the moment of taking over; it is only good for that, or for loading, then. COP_ESHAPE: there is no room for so
 * much. COP_ENOMEM. */
COP_CHECK cop_err cop_learner_hold(cop_learner *learner, size_t leaves);
/* A fresh learner that is as another one but for further arms, and where its class widens for further features, gets
 * all the memory that it needs to take over that one's state. COP_ESHAPE: it is not, or there is no room for so many.
 * COP_ENOMEM. `from` is as before. */
COP_CHECK cop_err cop_learner_make_room(cop_learner *learner, const cop_learner *from);
/* After that: the state becomes the learner's, as saving and loading it would, bit for bit, but what does not lie arm
 * by arm changes hands instead. `from` is only good for freeing then. Exploration comes with it. */
void cop_learner_inherit(cop_learner *learner, cop_learner *from);

/* Trees in the model, each as a plain oblique tree over standardised features (caller frees). */
size_t cop_learner_trees(const cop_learner *learner);
COP_CHECK cop_err cop_learner_tree(const cop_learner *learner, size_t m, cop_oblique_tree **out);

/* The learners, NULL at the end: learn/learner_table.c. A test may link another table. */
extern const cop_learner_class *const cop_learner_table[];
extern const cop_learner_class cop_learner_ensemble;
extern const cop_learner_class cop_learner_dgt;
extern const cop_learner_class cop_learner_ridge;
extern const cop_learner_class cop_learner_value;
extern const cop_learner_class cop_learner_rank;
extern const cop_learner_class cop_learner_trained;
extern const cop_learner_class cop_learner_trained_value;
/* Not a row: what learner value makes of settings with bins. */
extern const cop_learner_class cop_learner_bins;

#endif
