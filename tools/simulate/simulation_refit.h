/* tools/simulate/simulation_refit.h: refits beside a model in this process, by the daemon's rules (refit/refit_rule.h).
 *
 * What happens to the model is written to a journal in a temporary folder. When a refit is due it is fitted from that
 * at once, between two events, and its challenger runs in the shadow; after each loss evidence promotes, retires or
 * rolls back. Nothing depends on time: the same events give the same result. One thread per object. */
#ifndef COP_TOOLS_SIMULATE_SIMULATION_REFIT_H
#define COP_TOOLS_SIMULATE_SIMULATION_REFIT_H

#include "base/err.h"
#include "online/model.h"
#include "online/setting.h"
#include "refit/refit_run.h"

/* Names, meaning and defaults as of the section refit of a configuration, where `every` is least_feedback. */
typedef struct cop_sim_refit_settings {
	uint64_t every; /* losses learned between two refits; 0: none are made */
	uint64_t window;
	double holdout;
	cop_refit_method method;
	unsigned height;         /* 0: 6, for learner dgt the model's own */
	cop_setting_maybe alpha; /* not given: chosen */
	enum { COP_SIM_PROMOTE_EVIDENCE, COP_SIM_PROMOTE_BOUND } promote;
	double margin, risk;
	char drift[16]; /* detector that makes one due early, or "none" */
} cop_sim_refit_settings;

/* every 0, else what ships. */
void cop_sim_refit_defaults(cop_sim_refit_settings *settings);

typedef struct cop_sim_refit_counts {
	uint64_t made;                           /* challengers */
	uint64_t nothing, worse, refused;        /* refits without one */
	uint64_t drifted;                        /* of all, those that an alarm began */
	uint64_t promoted, rolled_back, retired; /* by evidence; rolled back ones are retired too */
} cop_sim_refit_counts;

typedef struct cop_sim_refits cop_sim_refits;

/* model is kept, of a name of its own; its evidence goes by these settings from here on. Caller frees with
 * cop_sim_refits_free, which removes the folder. COP_EINVAL: a setting; COP_EIO: no folder; COP_ENOMEM. */
COP_CHECK cop_err cop_sim_refits_new(
        const cop_sim_refit_settings *settings, cop_model *model, cop_sim_refits **out, cop_diag *diag);
void cop_sim_refits_free(cop_sim_refits *refits);

/* The model decided. Errors of the journal. */
COP_CHECK cop_err cop_sim_refits_decided(
        cop_sim_refits *refits, const cop_model_context *context, const cop_decision *decision, cop_diag *diag);
/* The model took a feedback in; refits and successions follow. Errors of the journal and of a refit, but for what a
 * daemon would go on after (which is counted). */
COP_CHECK cop_err cop_sim_refits_fed(
        cop_sim_refits *refits, const cop_event_id *id, const double *loss, size_t count, cop_diag *diag);

const cop_sim_refit_counts *cop_sim_refits_counts(const cop_sim_refits *refits);

#endif
