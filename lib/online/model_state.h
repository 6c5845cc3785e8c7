/* online/model_state.h: the inside of a model, for model.c and model_*.c alone. */
#ifndef COP_ONLINE_MODEL_STATE_H
#define COP_ONLINE_MODEL_STATE_H

#include "online/model_apprentice.h"
#include "online/model_relearn.h"
#include "online/model_shadow.h"
#include "online/positions.h"
#include "wire/wire_settled.h"

/* The pair of learners: who serves and who is in the shadow. */
typedef struct cop_shadow {
	cop_learner *learner; /* NULL: none */
	uint32_t pair;        /* its number, from 1; 0: there was none yet */
	bool second;          /* the serving one is its second */
	uint64_t survivors;   /* bit g mod 64: of pair g the second one stayed */
	bool frozen;
	uint64_t frozen_losses;
	double frozen_loss_sum;
	uint64_t refused;
	uint32_t rivals[2]; /* of the one that serves, since one won by wealth: challengers, predecessors */
	double carried;     /* what they have won by predictions; evaluate/promotion_test.h */
	cop_promotion_test_settings rule; /* of coming evidence */
	cop_promotion_test evidence;
} cop_shadow;

struct cop_model {
	cop_model_settings set;
	cop_learner *learner;
	cop_pending *pending;
	cop_model_counters counters;
	cop_explanation *kept; /* kept_count of them, a ring */
	uint32_t *kept_handle; /* waiting decision that each one explains */
	size_t kept_count;     /* explain_keep */
	size_t kept_next;
	bool explains_applied; /* decisions of records are explained too */
	cop_explanation fresh; /* of the model as it is */
	cop_shadow shadow;
	cop_apprentice apprentice;
	cop_control control;
	cop_constant_arms constant; /* of decisions beside a control group */
	cop_arm_gains gains;        /* of decisions without one */
	cop_model_maker made_by;
	uint8_t *playable; /* room for a flag for each arm */
	cop_positions positions;
	cop_named_accounts named; /* by the names of set.losses */
	cop_loss_values told;     /* of the feedback in hand */
	/* Of the last event: waiting decisions that it ended beside its own, and whether its own waited. */
	struct {
		cop_bytes items; /* wire/wire_settled.h */
		size_t count;
		size_t missing; /* of a record's endings, those that did not wait */
		bool joined;
	} ended;
};

static inline cop_candidates cop_model_candidates(const cop_model_context *context)
{
	return (cop_candidates){ context->candidates, context->candidate, context->mask };
}

/* What is left of a waiting decision's. */
static inline cop_candidates cop_model_state_left(const cop_pending_entry *entry)
{
	return (cop_candidates){ .row = &entry->candidate, .mask = entry->mask };
}

/* Of the hashes that say who is held out. */
static inline uint64_t cop_model_state_control_key(const cop_model *model)
{
	return model->set.learner.seed * UINT64_C(0x9e3779b97f4a7c15);
}

/* How many actions the context has; values: 0. */
static inline size_t cop_model_state_arms(const cop_model *model, const cop_model_context *context)
{
	return model->learner->class->candidates ? context->candidates : model->set.learner.arms;
}

/* Whether it can decide the context: an eligible arm, or candidates where it ranks, and none where not. */
bool cop_model_fits(const cop_model *model, const cop_model_context *context);

/* Says that a saved state of fewer arms or features has no form for as many as the model has. */
void cop_model_state_refuse_growth(const cop_model_settings *saved, const cop_model_settings *is, cop_diag *diag);

/* Room for explanations of that learner, too. COP_ENOMEM: nothing changed. */
COP_CHECK cop_err cop_model_explain_also(cop_model *model, const cop_learner *learner);

/* Losses from outside: finite, as many as the model takes, scaled; those of arms inside the range. COP_EINVAL,
 * COP_ENONFINITE. */
COP_CHECK cop_err cop_model_scale(const cop_model *model, const double *loss, size_t count, double *scaled);
/* What became of an update. Gives err back. */
COP_CHECK cop_err cop_model_count_learned(cop_model *model, cop_err err, const double *scaled);

/* Memory for a decision of the context, which may wait then. COP_ENOMEM. */
COP_CHECK cop_err cop_model_reserve(cop_model *model, const cop_model_context *context, bool observed);
/* The learner moves as by its own decision, which another maker made (in: arm and p). With what probability the policy
 * would have played the arm. */
double cop_model_state_follow(cop_model *model, const cop_model_context *context, cop_decision *decision);
/* A new event: nothing has ended. */
void cop_model_begin(cop_model *model);
/* The id's decision, if it is waiting; complete with its probes. */
bool cop_model_find(cop_model *model, const cop_event_id *id, cop_pending_entry *entry);
/* The same of one whose window is not over; one that is over is ended here. A new event begins. */
bool cop_model_find_open(cop_model *model, const cop_event_id *id, double now, cop_pending_entry *entry);
/* Right after it was decided or followed: waits from now on, memory for it was reserved. own_p: of an observed one or
 * one that is held, NULL: it is the policy's. split: NULL, there is no control group. settled: of its record; NULL: it
 * is no record's, so its explanation may be asked for. */
void cop_model_await(cop_model *model, const cop_model_context *context, double now, const cop_decision *decision,
        const double *own_p, const cop_control_split *split, const cop_wire_settled *settled);

/* Who made it, where there is a control group. */
cop_control_by cop_model_state_maker(const cop_pending_entry *entry);
/* A waiting decision ends so: is learned of, counted and taken out, and stands among those that the event ended. */
void cop_model_settle(cop_model *model, const cop_pending_entry *entry, const cop_wire_settlement *is, double now);
/* All of a record's that gave way, or all others. Those that do not wait, or have more or fewer losses than the model
 * takes, are passed over and counted as missing. */
void cop_model_settle_all(cop_model *model, const cop_wire_settled *settled, bool gave_way, double now);
/* Follows a decision's record and waits with it; how: NULL, as recovery does. Errors of cop_model_apply. */
COP_CHECK cop_err cop_model_state_apply_decision(
        cop_model *model, const cop_wire_record *r, const cop_model_relearning *how);
/* Learns from losses of a waiting decision. Errors of learning; nothing changed then. */
COP_CHECK cop_err cop_model_learn(cop_model *model, const cop_pending_entry *entry, const double *scaled);
/* Adds losses to a waiting decision's, by the reward rule. COP_EDIVERGED: they overflow; nothing changed then. */
COP_CHECK cop_err cop_model_record_loss(cop_model *model, cop_pending_entry *entry, const double *scaled);
/* Applied: the decision is learned of and ends; recorded: its losses are kept; a duplicate changes nothing. Errors of
 * the first two. */
COP_CHECK cop_err cop_model_join(
        cop_model *model, cop_pending_entry *entry, const double *scaled, cop_feedback_result result, double now);
/* Counts a feedback's result if err is COP_OK, and forgets old ids. Returns err. */
COP_CHECK cop_err cop_model_count_result(cop_model *model, cop_err err, double now, const cop_feedback_result *result);
void cop_model_forget_old(cop_model *model, double now);
/* Learns from a decision that is not known here, or was another one; answered: NULL, or of an observed one. */
COP_CHECK cop_err cop_model_take_foreign(
        cop_model *model, const cop_model_played *played, const double *scaled, cop_model_answered *answered);

/* Self-contained feedback. */
typedef struct cop_model_sent {
	cop_model_played played;
	double scaled[2];
	cop_model_answered *answered; /* NULL: not of an observed decision */
} cop_model_sent;

/* Learned at once, unless its id waits here with this action. Errors of learning; nothing changed then. */
COP_CHECK cop_err cop_model_take_sent(
        cop_model *model, const cop_event_id *id, const cop_model_sent *sent, double now, cop_feedback_result *result);
/* Fills own_p and agrees, by the model as it is. */
void cop_model_view_answered(cop_model *model, cop_model_answered *answered);

void cop_model_shadow_init(cop_model *model);
/* Tells the pending table what coming decisions will carry. */
void cop_model_shadow_extend(cop_model *model);
/* The learner in the shadow goes along with a decision for the context that the serving one has just decided, or
 * followed (decided: the decision was drawn from its policy); *out is for its entry. */
void cop_model_shadow_follow(cop_model *model, const cop_model_context *context, const cop_decision *decision,
        bool decided, cop_pending_shadow *out);
/* Fills compared, loss, expected, measured and difference from both learners' views of one context; losses are the
 * deciding one's. */
void cop_model_shadow_compare(
        const cop_policy_view *own, const cop_policy_view *other, uint32_t arm, cop_pending_shadow *out);
/* An entry before its losses are learned. The second half is there where a learner is in the shadow. */
typedef struct cop_model_lesson {
	cop_decision own, other; /* as the serving learner made it, or would have; as the other one */
	bool far, other_far; /* values: beyond the probes that it could have played, so nothing is learned from it */
	double said[2];      /* the losses that either had predicted; NAN: not known */
} cop_model_lesson;
void cop_model_shadow_ask(const cop_model *model, const cop_pending_entry *entry, cop_model_lesson *out);
/* Once the serving learner has learned: the losses are evidence, and the other one learns. */
void cop_model_shadow_learn(
        cop_model *model, const cop_pending_entry *entry, const cop_model_lesson *lesson, const double *scaled);
void cop_model_shadow_weigh(cop_model *model, const cop_promotion_test_event *event);
/* Whether there is anything to save. */
bool cop_model_shadow_is_used(const cop_model *model);
void cop_model_shadow_save(const cop_model *model, cop_bytes *bytes);
/* As if there never had been one; not frozen. */
void cop_model_shadow_forget(cop_model *model);
/* Into such a model. COP_EFORMAT, COP_ENONFINITE, COP_ESHAPE, COP_EVERSION, COP_ENOMEM. */
COP_CHECK cop_err cop_model_shadow_load(cop_model *model, cop_cursor *cursor);

#endif
