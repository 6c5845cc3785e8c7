/* daemon/models/model_table.h: the models that the daemon serves, each with its name, its decoding workspace and its
 * streams' counts.
 *
 * Made from the configuration; state comes from a checkpoint. Models that a checkpoint holds but the configuration does
 * not name are parked: kept as bytes and written into every later checkpoint. The loop's thread. */
#ifndef COP_DAEMON_MODELS_MODEL_TABLE_H
#define COP_DAEMON_MODELS_MODEL_TABLE_H

#include "base/bytes.h"
#include "base/err.h"
#include "daemon/common/log.h"
#include "daemon/common/quota.h"
#include "daemon/config/config.h"
#include "daemon/models/played_names.h"
#include "daemon/models/refit_state.h"
#include "daemon/models/sequence_gaps.h"
#include "daemon/models/timeline.h"
#include "daemon/models/unheard.h"
#include "online/model_apprentice.h"
#include "wire/wire_features.h"

/* What came over a stream. */
typedef struct cop_model_stream {
	uint64_t received;      /* items */
	uint64_t refused;       /* items that said nothing usable */
	cop_sequence_gaps gaps; /* messages that never came, by sender */
} cop_model_stream;

#define COP_COUNTED_ARMS 256u
#define COP_TIMED_ARMS   32u

typedef struct cop_model_slot {
	char name[COP_CONFIG_NAME_MAX + 1];
	char topic[COP_CONFIG_NAME_MAX + 8]; /* act.<name> */
	const cop_config_model *config;      /* kept; renewed by cop_model_table_reconfigure */
	cop_model *model;
	bool restored;        /* its state comes from a checkpoint */
	cop_wire_shape shape; /* its naming is owned; its arm_names are NULL or those below */
	cop_name_table arm_names;
	cop_wire_workspace workspace;
	uint32_t *order;          /* rank: max_candidates */
	cop_played_names *played; /* rank: of the newest decisions */
	double *held_probability; /* arms, or max_candidates */
	bool names_saved;         /* what names mean comes from the saved state, and goes into the next */
	uint64_t unknown_past;    /* features whose names the model does not know, met by namings before this one */
	cop_model_stream contexts, feedback;
	cop_unheard unheard;        /* contexts that nobody would hear the actions of */
	uint64_t unheard_decisions; /* whose action no subscriber was given */
	uint64_t *arm_decisions;    /* since the process began to serve it, of counted_arms */
	size_t counted_arms;        /* all, or none where there are more than COP_COUNTED_ARMS */
	cop_quota quota;            /* of config's rate */
	uint64_t limited;           /* messages beyond it */
	double least_p;             /* propensity of what was played since then; 0: none yet; not of values */
	double weights;             /* of its decisions since then, 1 / p added up, and its square; not of values */
	double weights_squared;
	cop_timeline timeline; /* since then, with the arms if there are at most COP_TIMED_ARMS */
	uint64_t decided;      /* decisions when the loop last looked for reward windows that are over */
	cop_outliers outliers_before, outliers_logged; /* then, and when the log last had a line of them */
	cop_model_counters before;                     /* the model's counters when the process began to serve it, */
	cop_apprentice_summary apprentice_before;      /* and what it had observed (daemon/report/metrics.h) */
	int gain_told;   /* by the log: the policy is better than the control group (1) or worse (-1) */
	bool split_told; /* that units are not split as promised */
	cop_refit_state refit;
} cop_model_slot;

typedef struct cop_parked {
	cop_bytes section; /* payload of the checkpoint's section */
	char name[COP_CONFIG_NAME_MAX + 1];
} cop_parked;

typedef struct cop_model_table {
	cop_model_slot *items;
	size_t count;
	cop_parked *parked;
	size_t parked_count;
} cop_model_table;

/* A fresh model for each of the configuration's (kept). COP_EINVAL or COP_ENOMEM with a message in *diag.
 * Caller finishes with fini, also after an error. */
COP_CHECK cop_err cop_model_table_init(cop_model_table *set, const cop_config *config, cop_diag *diag);
void cop_model_table_fini(cop_model_table *set);

/* By name (length characters); NULL when there is none. An empty name is the only model's, if there is only one. */
cop_model_slot *cop_model_table_find(cop_model_table *set, const char *name, size_t length);

#define COP_MODEL_TABLE_BUSY                                                                                           \
	"the model %s is sent more events than its rate allows in a second; expected to be sent again later"
/* Whether a message of events, at a monotonic time, is within the model's rate; else it is counted. */
bool cop_model_table_take(cop_model_slot *slot, uint64_t now_us);
/* More events of a message that was taken. */
void cop_model_table_charge(cop_model_slot *slot, size_t events);

/* What a slot's decisions and losses add up to: those of the timeline's decisions since serving began. */
void cop_model_table_sums(const cop_model_slot *slot, cop_timeline_sums *sums);
/* The timelines of all begin; now: monotonic seconds. */
void cop_model_table_begin(cop_model_table *set, double now);
/* They go on. */
void cop_model_table_tick(cop_model_table *set, double now);

/* Brings the models' changeable settings to those of a configuration, which is not kept. */
void cop_model_table_adjust(cop_model_table *set, const cop_config *config);
/* Takes over from a configuration (kept) whose changes cop_config_diff called applied. Says in the log (NULL: none)
 * which models decide from here on, or no longer do. */
void cop_model_table_reconfigure(cop_model_table *set, const cop_config *config, cop_log *log);

/* Name of a feature of the context, "NAMESPACE^FEATURE" or configured; NULL: it has none. Until the next naming. */
const char *cop_model_table_feature_name(const cop_model_slot *slot, size_t index);
/* Names of a place of a sparse model into out (size bytes), "NAMESPACE^FEATURE", of several "A | B"; false: none. */
bool cop_model_table_place_name(const cop_model_slot *slot, size_t place, char *out, size_t size);
/* While on, all names of what is read are kept: somebody asks about them. */
void cop_model_table_insist_on_names(cop_model_slot *slot, bool on);
/* The same of candidates, where they have the context's columns. */
const char *cop_model_table_candidate_name(const cop_model_slot *slot, size_t index);
/* Features that came by names which a dense model does not know; left out. */
uint64_t cop_model_table_unknown_names(const cop_model_slot *slot);

/* One model as a model file, with its names. */
void cop_model_table_save_slot(const cop_model_slot *slot, cop_bytes *bytes);
/* Every model, parked ones too, as sections "model" of the model file that the caller has begun, and "refit" for those
 * that have had to do with refits. */
void cop_model_table_save(const cop_model_table *set, cop_bytes *bytes);
/* From a checkpoint's body. Models named in `reset` (NULL-terminated, NULL allowed) stay fresh.
 * COP_ESHAPE: a model no longer has the saved shape; *diag names it and both shapes. COP_EFORMAT, COP_EVERSION,
 * COP_ENONFINITE, COP_ENOMEM. */
COP_CHECK cop_err cop_model_table_load(
        cop_model_table *set, const cop_bytes *body, const char *const *reset, cop_diag *diag);
/* Models whose configuration names a saved model to begin with, and which no checkpoint holds, take its state; *count
 * of them. Errors as load, and COP_ENOTFOUND, COP_EIO. */
COP_CHECK cop_err cop_model_table_start_from(cop_model_table *set, cop_log *log, size_t *count, cop_diag *diag);

#endif
