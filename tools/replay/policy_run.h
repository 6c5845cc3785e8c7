/* tools/replay/policy_run.h: one policy on a log: what it would do with each event, and what it learns from it.
 *
 * A player learns as it goes (each event is looked at before it is learned), or is a saved model that stays as it is,
 * or one of the policies that need no model. One thread per player. */
#ifndef COP_TOOLS_REPLAY_POLICY_RUN_H
#define COP_TOOLS_REPLAY_POLICY_RUN_H

#include "events/logged_event.h"
#include "online/model.h"
#include "replay_feed.h"

typedef enum cop_replay_kind {
	COP_REPLAY_LEARNS,
	COP_REPLAY_FROZEN,   /* a saved model */
	COP_REPLAY_CONSTANT, /* always the same action */
	COP_REPLAY_LOGGED,   /* the policy that wrote the log */
	COP_REPLAY_UNIFORM,
} cop_replay_kind;

typedef struct cop_policy_run_settings {
	cop_replay_kind kind;
	cop_model_settings model; /* kinds with a model; else its loss range and arms count */
	uint32_t constant;        /* the action */
	bool exploring;           /* evaluated as it explores, not by its best action */
} cop_policy_run_settings;

typedef struct cop_policy_run cop_policy_run;

/* model: a saved model (kinds with one), taken; *model NULL: a new one. Caller frees; on error *out is NULL.
 * COP_EINVAL, COP_ENOMEM with *diag. */
COP_CHECK cop_err cop_policy_run_new(
        const cop_policy_run_settings *settings, cop_model **model, cop_policy_run **out, cop_diag *diag);
void cop_policy_run_free(cop_policy_run *player);
/* NULL when it has none. */
cop_model *cop_policy_run_model(const cop_policy_run *player);
const cop_policy_run_settings *cop_policy_run_get_settings(const cop_policy_run *player);

/* Looks at the event, then learns from it unless hold says that it may not (or it is no learner, or the event forbids
 * it). An event that cannot be is COP_EINVAL. */
COP_CHECK cop_err cop_policy_run_take(
        cop_policy_run *player, const cop_logged_event *event, bool hold, cop_replay_seen *out);

#endif
