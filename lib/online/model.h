/* online/model.h: one named model, whole: learner, waiting decisions, reward rules, counters, explanations. Events in,
 * decisions and updates out; time (seconds, never falling) is an argument; no I/O. The daemon, simulate and replay all
 * run this. A second learner may run beside the serving one: online/model_shadow.h. Others' decisions:
 * online/model_apprentice.h.
 *
 * Losses come in the model's declared loss_range and are scaled to [0, 1]; actions of value models go out in
 * value_range. One thread per model; in a steady load no event allocates. */
#ifndef COP_ONLINE_MODEL_H
#define COP_ONLINE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"
#include "events/event_id.h"
#include "learn/learner.h"
#include "online/arm_gains.h"
#include "online/constant_arms.h"
#include "online/control.h"
#include "online/model_counters.h"
#include "online/named_accounts.h"
#include "online/pending.h"
#include "wire/wire_split.h"

typedef enum cop_reward_rule {
	/* The first feedback is learned, further ones are duplicates: at once, but where decisions often end by the
	 * default loss, it is recorded and learned when the window ends. */
	COP_REWARD_EARLIEST,
	COP_REWARD_LAST,  /* recorded; the last one is learned when the window ends */
	COP_REWARD_SUM,   /* recorded; the sum (cut to the loss range) is learned when the window ends */
	COP_REWARD_FIRST, /* recorded; learned when the window ends, further ones are duplicates */
} cop_reward_rule;

typedef struct cop_model_settings {
	cop_learner_settings learner; /* delta and delta_floor in units of value_range */
	double reward_window;         /* seconds, > 0 */
	bool has_default_loss;        /* at the window's end without feedback: learn default_loss, or drop */
	double default_loss;          /* in loss_range */
	cop_reward_rule reward;
	double loss_low, loss_high;   /* loss_range; value models: only the scale, losses may lie outside */
	double value_low, value_high; /* value models */
	size_t pending_max;           /* decisions that may wait; the oldest gives way */
	size_t pending_bytes;         /* memory that they may take; the oldest give way */
	size_t explain_keep;          /* newest decisions whose explanation is kept from decide time */
	double holdout;               /* share of units that the baseline decides for (online/control.h), in [0, 1) */
	double conservative; /* by how much losses may be above the baseline's, in units of loss_range; 0: no bound */
	bool has_baseline;   /* it is arm (of candidates: place) `baseline`; else that is a position among */
	double baseline;     /* "uniform" and "caller" */
	cop_named_losses losses; /* not of values */
} cop_model_settings;

/* Learner defaults, window 600 s, no default loss, earliest, ranges [0, 1], a million waiting in at most 1 GiB, none
 * explained, no control group. */
void cop_model_settings_init(cop_model_settings *settings);

/* Whether a decision needs what the caller would play. */
bool cop_model_needs_caller(const cop_model_settings *settings);

typedef struct cop_model cop_model;

/* COP_EINVAL with a message in *diag, COP_ENOMEM. On error *out is NULL. */
COP_CHECK cop_err cop_model_new(const cop_model_settings *settings, cop_model **out, cop_diag *diag);
void cop_model_free(cop_model *model);

const cop_model_settings *cop_model_get_settings(const cop_model *model); /* with defaults filled in */
cop_learner *cop_model_learner(cop_model *model);                         /* that serves now */
const cop_model_counters *cop_model_get_counters(const cop_model *model);
/* Features that dense contexts always have: as many as the model began with. Those behind may be NaN, unknown. */
size_t cop_model_known(const cop_model *model);
size_t cop_model_pending(const cop_model *model);
/* Memory of the waiting decisions. */
size_t cop_model_pending_bytes(const cop_model *model);

/* Takes over what may change in a living model: exploration, reward_window, default loss, reward rule, pending_max,
 * pending_bytes, holdout, baseline, conservative, losses, explain_keep (a changed one forgets the explanations kept).
 * COP_EINVAL with a message, COP_ENOMEM; then nothing changed. */
COP_CHECK cop_err cop_model_adjust(cop_model *model, const cop_model_settings *settings, cop_diag *diag);

/* What a decision is asked for. */
typedef struct cop_model_context {
	const cop_event_id *id;
	const cop_row *x;
	const cop_row *candidate; /* ranking models: what to choose from; else NULL */
	size_t candidates;
	const uint8_t *mask; /* arms (ranking: candidates) flags, NULL: all */
	uint32_t owner; /* whose decision it is, for example a hash of a client's name; 0: nobody's in particular */
	uint32_t owner_most; /* decisions of the owner's that may wait, its oldest give way; 0: no limit of its own */
	bool defer; /* the window begins with cop_model_activate; not activated, it is dropped when one is over */
	const cop_event_id *unit; /* by which it is held out, or not; NULL: id */
	cop_control_caller caller;
} cop_model_context;

/* Who made a decision, where there is a control group. */
typedef struct cop_model_maker {
	bool split;                 /* there was one */
	cop_control_split split_by; /* of a decision that was new; repeated: `by` alone */
	double own_p;               /* of the baseline's: with what probability the policy would have played the arm */
} cop_model_maker;

/* A decision for the context; waits for feedback under its id. An id that waits already gets its first decision again
 * (*repeated). Value models: the decision's y and probes are in [0, 1]; cop_model_value brings them to value_range.
 * COP_EINVAL: no arm is eligible, or there are no candidates, or more than max_candidates, or some where the model does
 * not rank. COP_ENOMEM. Nothing changed then. */
COP_CHECK cop_err cop_model_decide(
        cop_model *model, const cop_model_context *context, double now, cop_decision *out, bool *repeated);
/* Of the model's last decision. */
const cop_model_maker *cop_model_made_by(const cop_model *model);
/* Right after a new decision of the baseline's: with what probability the baseline plays each arm (of candidates:
 * place); p has room for all. */
void cop_model_held_probabilities(const cop_model *model, const cop_model_context *context, double *p);
const cop_control *cop_model_control(const cop_model *model);
/* Of models of arms, the policy's losses against each arm's: beside a control group, and of decisions without one since
 * the model began, or since there was one. */
const cop_constant_arms *cop_model_constant_arms(const cop_model *model);
const cop_arm_gains *cop_model_arm_gains(const cop_model *model);
/* Ranking models: the places of the eligible candidates, best predicted first, by the model as it is; changes nothing.
 * order: room for all. COP_EINVAL as decide. */
COP_CHECK cop_err cop_model_order(cop_model *model, const cop_model_context *context, uint32_t *order, size_t *count);
/* A deferred decision was shown: its window begins. APPLIED; DUPLICATE: it has begun already, or is answered; LATE;
 * UNKNOWN. */
void cop_model_activate(cop_model *model, const cop_event_id *id, double now, cop_feedback_result *result);
/* No subscriber was given the action of a waiting decision: at its window's end the default loss is not learned, while
 * feedback that comes all the same is. decided: the `now` it was decided at, so that a later decision under the same id
 * is not mistaken for it; NULL: whichever waits. Whether the decision was found;
 * one that an existing system made is not. */
bool cop_model_unheard(cop_model *model, const cop_event_id *id, const double *decided);
double cop_model_value(const cop_model *model, double y);
/* Of a value drawn from a density (feedback from bins): that at y, per unit of value_range. */
double cop_model_density(const cop_model *model, const cop_decision *decision);

/* Of the feedback that comes next, in whatever form: what it has by the names of settings.losses beside the loss, which
 * is theirs weighed (events/named_losses.h). NULL: nothing. */
void cop_model_tell_losses(cop_model *model, const cop_loss_values *losses);
/* By the names of settings.losses. */
const cop_named_accounts *cop_model_named_losses(const cop_model *model);
/* Loss (count 1, or 2 for two-point values, at probe + and probe -) for a decision, under the reward rule.
 * COP_ENONFINITE; COP_EINVAL: outside loss_range, or count is not what the model takes (2 only for two-point values);
 * COP_EDIVERGED: the update was refused. Nothing changed then, and the decision goes on waiting. A decision whose
 * window is over at `now` is ended first, as by cop_model_expire. */
COP_CHECK cop_err cop_model_feedback(cop_model *model, const cop_event_id *id, const double *loss, size_t count,
        double now, cop_feedback_result *result);

/* Self-contained feedback: as above when the id is known here with this arm; else learned at once from the given
 * context, arm and propensity (a waiting decision for another arm is thereby answered). COP_EINVAL also: arm or p out
 * of range, or a one-point value model (whose perturbation is not in the message). */
COP_CHECK cop_err cop_model_feedback_full(cop_model *model, const cop_event_id *id, const cop_row *x, uint32_t arm,
        double p, const double *loss, size_t count, double now, cop_feedback_result *result);

#define COP_MODEL_ANY_ARM UINT32_MAX

/* What a sender knows of a candidate that was played. */
typedef struct cop_model_played {
	const cop_row *x;
	const cop_row *candidate; /* its row */
	uint32_t arm;             /* its place among the candidates; COP_MODEL_ANY_ARM: not told, the waiting one's */
	double p;
} cop_model_played;

/* Self-contained feedback of a ranking model. COP_EINVAL also: the model does not rank. */
COP_CHECK cop_err cop_model_feedback_played(cop_model *model, const cop_event_id *id, const cop_model_played *played,
        double loss, double now, cop_feedback_result *result);

/* An event of a log, that another policy decided. */
typedef struct cop_model_logged {
	const cop_row *x;
	const uint8_t *mask; /* arms (ranking: candidates) flags, NULL: all; the logged arm is eligible */
	uint32_t arm;
	double p;                 /* the log's propensity of the arm, in (0, 1]; its density at y, per unit of [0, 1] */
	double loss;              /* in loss_range */
	bool learn;               /* false: only followed; p and loss do not matter */
	const cop_row *candidate; /* ranking models: what there was to choose from; else NULL */
	size_t candidates;
	double y; /* models of values with a density: what was played, in [0, 1]; arm does not matter */
} cop_model_logged;

/* The model takes the event as one of its own (cop_learner_follow) that is answered at once. *out: what it would have
 * done itself, before it learned; borrowed until its next call. Of
 * values for those with a density alone (cop_learner_view).
 * COP_EINVAL: arm, mask or p. COP_EINVAL, COP_ENONFINITE: the loss. Nothing changed then. COP_EDIVERGED: followed, but
 * the update was refused. */
COP_CHECK cop_err cop_model_take_logged(cop_model *model, const cop_model_logged *logged, cop_policy_view *out);
/* What the model as it is would do with the event; nothing changes (p, loss and learn do not matter). COP_EINVAL as
 * above. */
COP_CHECK cop_err cop_model_view_logged(cop_model *model, const cop_model_logged *logged, cop_policy_view *out);

/* Ends up to `most` reward windows that are over at `now` (learning or dropping), then decisions that are more than
 * pending_max, as after it was lowered, and forgets old ids; how many ended. */
size_t cop_model_expire(cop_model *model, double now, size_t most);

/* Ends the decisions that wait under these ids, with nothing learned, as if their windows had ended. How many waited.
 */
size_t cop_model_forget(cop_model *model, const cop_event_id *ids, size_t count, double now);

/* Whether decisions that are applied from records (online/model_record.h) are explained as they are made, too, as far
 * as explanations are kept. At first they are not. */
void cop_model_explain_applied(cop_model *model, bool on);
/* Why: for a waiting decision, as it was at decide time when that is still kept (*kept), else by the model as it is.
 * The explanation is the model's own until its next call. COP_ENOTFOUND: the id does not wait. */
COP_CHECK cop_err cop_model_explain(
        cop_model *model, const cop_event_id *id, cop_decision *decision, const cop_explanation **out, bool *kept);
/* The rows of a waiting decision: its context and, of ranking models, the candidate that was played; views until the
 * model's next call. COP_ENOTFOUND. */
COP_CHECK cop_err cop_model_waiting_rows(
        const cop_model *model, const cop_event_id *id, cop_row *x, cop_row *candidate);
/* A decision that waits. */
typedef struct cop_model_waiting {
	double time; /* when its window began */
	cop_decision decision;
	cop_wire_maker by;
	double own_p;    /* not the policy's: with what probability that would have played the arm */
	size_t eligible; /* arms, where not all were; 0: all, or it is not known */
} cop_model_waiting;
typedef bool cop_model_visitor(void *context, const cop_event_id *id, const cop_model_waiting *waiting);
/* The youngest `most` of those that wait, the youngest first, until the visitor, which changes nothing, gives false.
 * How many were visited. */
size_t cop_model_visit(const cop_model *model, size_t most, cop_model_visitor *visitor, void *context);
/* Visits the one of that id; false: none waits. */
bool cop_model_visit_one(const cop_model *model, const cop_event_id *id, cop_model_visitor *visitor, void *context);
/* For a context: the action that the model would hold for the best of the eligible ones (mask as for decide, at least
 * one), with p = 1. Its id and defer do not matter. COP_EINVAL as decide. */
COP_CHECK cop_err cop_model_explain_context(
        cop_model *model, const cop_model_context *context, cop_decision *decision, const cop_explanation **out);

/* Sections "settings", "learner", "pending", "counters" and, once there was one, "shadow", and once something was
 * observed, "apprentice" into a model file that the caller has begun. */
void cop_model_save(const cop_model *model, cop_bytes *bytes);
/* From such a file's bytes, with the saved values of what cop_model_adjust may change (but explain_keep); call that
 * again to have the configured ones. The saved shape must be that of this model's settings, but that it may have fewer
 * arms or, of dense contexts, fewer features: COP_ESHAPE with both shapes in *diag. COP_EFORMAT, COP_EVERSION,
 * COP_ENONFINITE, COP_ENOMEM; after an error the model is only good for freeing. */
COP_CHECK cop_err cop_model_load(cop_model *model, const void *data, size_t length, cop_diag *diag);
/* What is to be known of a model, to make the memory for its state in another one while it goes on. */
typedef struct cop_model_extent {
	cop_model_settings set;
	size_t leaves;        /* cop_learner_grown of the learner */
	bool shadow;          /* there is a challenger, */
	size_t shadow_leaves; /* of so many */
	size_t bytes;         /* that saving one of its learners takes, about */
} cop_model_extent;
void cop_model_measure(const cop_model *model, cop_model_extent *out);
/* A model that nothing happened to gets the memory for the state of such a one, all of its pages too; any thread. It is
 * only good for make_room or load then. Errors of make_room. */
COP_CHECK cop_err cop_model_hold(cop_model *model, const cop_model_extent *extent, cop_diag *diag);
/* Whether a model that nothing happened to is as another one but for further arms and features, so that it can inherit.
 */
bool cop_model_inherits(const cop_model *model, const cop_model *from);
/* Memory for all that such a model is to take over, and where there are further features its learners' state, through
 * room; `from` is as before. COP_ESHAPE with both numbers of arms, or of features, in *diag: there is no room for so
 * many; COP_ENOMEM. */
COP_CHECK cop_err cop_model_make_room(cop_model *model, const cop_model *from, cop_bytes *room, cop_diag *diag);
/* After that, between two events: its state is as if it had loaded what the other one saves, bit for bit, and it keeps
 * explanations too; but what does not lie arm by arm changes hands instead. `from` is only good for freeing then. */
void cop_model_inherit(cop_model *model, cop_model *from);
/* Whether state saved under `saved` can be loaded by a model of `settings`: COP_ESHAPE with both shapes in *diag. */
COP_CHECK cop_err cop_model_can_load(
        const cop_model_settings *saved, const cop_model_settings *settings, cop_diag *diag);
/* The settings in such a file, to make a model of its shape. */
COP_CHECK cop_err cop_model_peek(const void *data, size_t length, cop_model_settings *settings, cop_diag *diag);
/* A model of those settings with the file's state. Errors of peek, new and load; on error *out is NULL. Caller frees
 * with cop_model_free. */
COP_CHECK cop_err cop_model_open(const void *data, size_t length, cop_model **out, cop_diag *diag);

#endif
