/* daemon/models/model_slot.h: one model that the daemon serves, with its name, its decoding workspace and its streams'
 * counts.
 *
 * Its configuration is borrowed and replaced at a reload; its workspace is sized once, from what a reload cannot
 * change, so the arrays that rows are decoded into never grow. A model's own names of features, from its file, go
 * before the configuration's. The loop's thread. */
#ifndef COP_DAEMON_MODELS_MODEL_SLOT_H
#define COP_DAEMON_MODELS_MODEL_SLOT_H

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

/* What a model may be given more of while it serves. */
typedef struct cop_model_size {
	size_t arms;     /* 0: it has none */
	size_t features; /* of dense contexts */
} cop_model_size;

typedef struct cop_model_slot {
	char name[COP_CONFIG_NAME_MAX + 1];
	char topic[COP_CONFIG_NAME_MAX + 8];  /* act.<name> */
	char stored[COP_CONFIG_NAME_MAX + 1]; /* its name in the state folder */
	const cop_config_model *config;       /* kept; renewed by cop_model_slot_reconfigure */
	cop_model *model;
	bool restored;        /* its state comes from a checkpoint */
	bool has_began;       /* its state comes from the saved model that it is configured to begin as, */
	uint32_t began;       /* whose file has this CRC-32C */
	bool heir;            /* its state is another slot's yet, which it is to follow */
	cop_bytes room;       /* for a state that is saved and loaded, until it was */
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
	uint64_t *arm_decisions;    /* since the process began to serve it, of counted_arms; not the baseline's, */
	uint64_t *arm_baseline;     /* which are here */
	size_t counted_arms;        /* all, or none where there are more than COP_COUNTED_ARMS */
	cop_quota quota;            /* of config's rate */
	uint64_t limited;           /* messages beyond it */
	double least_p;   /* propensity of what was played since then; 0: none yet; not of values or a baseline */
	uint64_t weighed; /* such decisions, */
	double weights;   /* their 1 / p added up, and its square */
	double weights_squared;
	cop_timeline timeline; /* since then, with the arms if there are at most COP_TIMED_ARMS */
	uint64_t decided;      /* decisions when the loop last looked for reward windows that are over */
	cop_outliers outliers_before, outliers_logged; /* then, and when the log last had a line of them */
	cop_model_counters before;                     /* the model's counters when the process began to serve it, */
	cop_apprentice_summary apprentice_before;      /* and what it had observed (daemon/report/metrics.h) */
	int gain_told;    /* by the log: the policy is better than the control group (1) or worse (-1) */
	bool split_told;  /* that units are not split as promised */
	bool uneven_told; /* that the groups are told of unevenly */
	cop_refit_state refit;
	struct cop_model_slot *behind; /* in a queue of those that are to be closed (daemon/models/slot_bin.h) */
} cop_model_slot;

/* A fresh model as configured (kept). Caller closes it; on error *out is NULL. COP_EINVAL or COP_ENOMEM with a message
 * in *diag (NULL allowed). */
COP_CHECK cop_err cop_model_slot_open(const cop_config_model *config, cop_model_slot **out, cop_diag *diag);
/* The same of a size that is smaller than configured, as the model had once. */
COP_CHECK cop_err cop_model_slot_open_with(
        const cop_config_model *config, const cop_model_size *size, cop_model_slot **out, cop_diag *diag);
cop_model_size cop_model_slot_size(const cop_model_slot *slot);
cop_model_size cop_model_slot_configured(const cop_config_model *config);
/* Whether both have the same size. */
bool cop_model_slot_alike(const cop_model_slot *a, const cop_model_slot *b);
/* The same with the memory for another one's state (cop_model_hold): only good for fill. Any thread, which owns *out.
 */
COP_CHECK cop_err cop_model_slot_open_for(const cop_config_model *config, const cop_model_size *size,
        const cop_model_extent *extent, cop_model_slot **out, cop_diag *diag);
/* The model of a slot that was just opened becomes as that of another one, which is at most as large; it is for follow,
 * between the same two events, and until then `from` is as before. Errors of load: close it. */
COP_CHECK cop_err cop_model_slot_fill(cop_model_slot *slot, const cop_model_slot *from, cop_diag *diag);
/* open_with and fill. */
COP_CHECK cop_err cop_model_slot_grow(const cop_model_slot *from, const cop_config_model *config,
        const cop_model_size *size, cop_model_slot **out, cop_diag *diag);
/* The counts and queues of the process, which are no part of the saved state, move from the one to the other, and so
 * does the state itself where grow left it to that: `from` is only to be closed then. */
void cop_model_slot_follow(cop_model_slot *slot, cop_model_slot *from);
/* The same where the slot's model knows other events than the other one's: what is counted goes on, and never falls. */
void cop_model_slot_replace(cop_model_slot *slot, cop_model_slot *from);
void cop_model_slot_close(cop_model_slot *slot); /* NULL is allowed */

/* The state of a model file, and its names; *diag then begins with the model's name. COP_ESHAPE: of another shape.
 * COP_EFORMAT, COP_EVERSION, COP_ENONFINITE, COP_ENOMEM: close it. */
COP_CHECK cop_err cop_model_slot_load(cop_model_slot *slot, const void *data, size_t length, cop_diag *diag);
/* The same of the saved model that the configuration has it begin with, whose file was read. */
COP_CHECK cop_err cop_model_slot_start_from(cop_model_slot *slot, const cop_bytes *file, cop_log *log, cop_diag *diag);
/* What was learned so far is nothing new to the detector of drift, which is the configuration's. */
void cop_model_slot_settle(cop_model_slot *slot);
/* As one model file, with its names. */
void cop_model_slot_save(const cop_model_slot *slot, cop_bytes *bytes);

/* Brings the model's changeable settings to those of a configuration, which is not kept. */
void cop_model_slot_adjust(cop_model_slot *slot, const cop_config_model *next);
/* Takes over from a configuration (kept) whose changes cop_config_diff called applied. Says in the log (NULL: none) if
 * the model decides from here on, or no longer does. */
void cop_model_slot_reconfigure(cop_model_slot *slot, const cop_config_model *next, cop_log *log);

#define COP_MODEL_SLOT_BUSY                                                                                            \
	"the model %s is sent more events than its rate allows in a second; expected to be sent again later"
/* Whether a message of events, at a monotonic time, is within the model's rate; else it is counted. */
bool cop_model_slot_take(cop_model_slot *slot, uint64_t now_us);
/* More events of a message that was taken. */
void cop_model_slot_charge(cop_model_slot *slot, size_t events);

/* What its decisions and losses add up to: those of the timeline's decisions since serving began. */
void cop_model_slot_sums(const cop_model_slot *slot, cop_timeline_sums *sums);
/* What its named losses add up to, since the model began. */
void cop_model_slot_loss_sums(const cop_model_slot *slot, cop_loss_sum out[COP_NAMED_LOSSES_MOST]);
/* Serving begins; now: monotonic seconds. A model's counters begin with the model and can fall back when a killed
 * process goes on from a checkpoint, which would look like a jump: the metrics' begin here, and the timeline too. */
void cop_model_slot_begin(cop_model_slot *slot, double now);

/* What places of a sparse model are called is not known any more, until it comes again. COP_ENOMEM. */
COP_CHECK cop_err cop_model_slot_drop_names(cop_model_slot *slot);
/* Name of a feature of the context, "NAMESPACE^FEATURE" or configured; NULL: it has none. Until the next naming. */
const char *cop_model_slot_feature_name(const cop_model_slot *slot, size_t index);
/* Names of a place of a sparse model into out (size bytes), "NAMESPACE^FEATURE", of several "A | B"; false: none. */
bool cop_model_slot_place_name(const cop_model_slot *slot, size_t place, char *out, size_t size);
/* While on, all names of what is read are kept: somebody asks about them. */
void cop_model_slot_insist_on_names(cop_model_slot *slot, bool on);
/* The same of candidates, where they have the context's columns. */
const char *cop_model_slot_candidate_name(const cop_model_slot *slot, size_t index);
/* Features that came by names which a dense model does not know; left out. */
uint64_t cop_model_slot_unknown_names(const cop_model_slot *slot);

#endif
