/* online/model_apprentice.h: a model that learns from the decisions of an existing system, and does not decide.
 *
 * An observed decision is the system's: its arm with its propensity. The model moves as by a decision of its own that
 * had drawn that arm; it waits under its id as its own do, with the same rules for windows, repeated ids and capacity,
 * and its loss is learned likewise (counters count it too). Beside it is kept with what probability the model itself
 * would have played the arm, so that its loss is evidence (online/apprentice.h). A challenger in the shadow goes along.
 * Own and observed decisions may follow one another in any order: nothing of a mode is kept in the model.
 *
 * Models of arms and of candidates; values have no propensities. All but the view are events: the same ones in the
 * same order give the same bytes. They allocate no more than those of online/model.h. Thread rule as of the model. */
#ifndef COP_ONLINE_MODEL_APPRENTICE_H
#define COP_ONLINE_MODEL_APPRENTICE_H

#include "online/apprentice.h"
#include "online/model.h"

typedef struct cop_model_observed {
	/* arm and p as the system says; greedy: whether the model's own best arm is that one. */
	cop_decision decision;
	double own_p; /* with what probability the model would have played it, in [0, 1] */
} cop_model_observed;

/* The system decided for the context: in, decision's arm and p; out, all the rest. An id that waits already gets its
 * first decision again (*repeated), whoever made that. COP_EINVAL: as cop_model_decide; the arm is none of the eligible
 * ones; p is outside (0, 1]; the model is one of values. COP_ENOMEM. Nothing changed then. */
COP_CHECK cop_err cop_model_observe(
        cop_model *model, const cop_model_context *context, double now, cop_model_observed *observed, bool *repeated);

/* A decision of the system with its loss, complete. */
typedef struct cop_model_answered {
	const cop_row *x;
	uint32_t arm;
	double p;
	double loss; /* in loss_range */
	/* In: own_p and agrees are told, by a journal; else they are found. Out: its id did not wait with this arm, and
	 * was not known, so it is a decision observed just now. */
	bool observed;
	double own_p;
	bool agrees;
} cop_model_answered;

/* As cop_model_feedback_full; a decision that was not known counts as observed, and its loss as evidence. All arms are
 * taken to have been eligible. COP_EINVAL also: the model has no arms (candidates that were not played are not known:
 * cop_model_feedback_played). */
COP_CHECK cop_err cop_model_observe_answered(cop_model *model, const cop_event_id *id, cop_model_answered *answered,
        double now, cop_feedback_result *result);

void cop_model_get_apprentice(const cop_model *model, cop_apprentice_summary *out);

#endif
