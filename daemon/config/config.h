/* daemon/config/config.h: the configuration: read as a whole, printed back, compared for a reload.
 *
 * The file's shape is conf/coppice.conf. Whatever is not given has its default, so a cop_config is always complete
 * and valid. Times are microseconds, sizes bytes. Loading is for one thread at a time (libconfuse's scanner is not
 * reentrant); a loaded configuration is plain data. */
#ifndef COP_DAEMON_CONFIG_CONFIG_H
#define COP_DAEMON_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"
#include "daemon/common/log.h"
#include "daemon/config/access.h"
#include "daemon/config/certificate.h"
#include "daemon/config/live.h"
#include "online/model_options.h"
#include "wire/curve_key.h"

#define COP_CONFIG_UNKNOWN      256
#define COP_CONFIG_NAME_MAX     64           /* characters of a model's name: [A-Za-z0-9._-] */
#define COP_CONFIG_LISTED_NAME  256          /* bytes of a feature's or an arm's, in a file of names */
#define COP_CONFIG_MAX_MODELS   64           /* in one daemon */
#define COP_CONFIG_MAX_MESSAGES 64           /* kept in one report; more are counted */
#define COP_CONFIG_WIRE_LIMIT   (16ul << 20) /* highest message_limit */
#define COP_CONFIG_LISTENERS    8            /* addresses of section api */
#define COP_CONFIG_ENDPOINT     256          /* characters of one */
#define COP_CONFIG_IPC_PATH     107          /* bytes of the path behind ipc:// */
#define COP_CONFIG_FOLLOWERS    16           /* of one leader */
#define COP_CONFIG_MERGED_PARTS 128          /* the same, if they merge models */
#define COP_CONFIG_QUEUE_SHARE  16           /* messages of that length that queue_limit holds at least */

typedef enum cop_config_unheard { COP_UNHEARD_WAIT, COP_UNHEARD_DECIDE } cop_config_unheard;
typedef enum cop_config_sync { COP_SYNC_INTERVAL, COP_SYNC_ALWAYS, COP_SYNC_NEVER, COP_SYNC_REPLICA } cop_config_sync;
typedef enum cop_config_hold { COP_HOLD_MEMORY, COP_HOLD_DISK } cop_config_hold;
typedef enum cop_config_foreign { COP_FOREIGN_REFUSE, COP_FOREIGN_ACCEPT } cop_config_foreign;
typedef enum cop_config_lead { COP_LEAD_HAND } cop_config_lead;
typedef enum cop_config_drift { COP_DRIFT_NONE, COP_DRIFT_ADWIN, COP_DRIFT_PAGE_HINKLEY } cop_config_drift;
typedef enum cop_config_method { COP_METHOD_TAO, COP_METHOD_LAPTAO, COP_METHOD_FOREST } cop_config_method;
typedef enum cop_config_promote {
	COP_PROMOTE_EVIDENCE,
	COP_PROMOTE_BOUND,
	COP_PROMOTE_NEVER,
	COP_PROMOTE_HAND
} cop_config_promote;

/* The word that the file uses, for example "adwin"; never NULL. */
const char *cop_config_drift_text(cop_config_drift drift); /* a detector's name, or "none" */
const char *cop_config_method_text(cop_config_method method);
const char *cop_config_promote_text(cop_config_promote promote);

typedef struct cop_config_list {
	size_t count;
	char **items; /* count texts */
} cop_config_list;

/* Why a model has no refits. */
typedef enum cop_config_refit_off {
	COP_REFIT_ON,
	COP_REFIT_OFF_SAID,    /* enabled = false */
	COP_REFIT_OFF_LEARNER, /* of its values nothing says which challenger is better, or it has no trees */
	COP_REFIT_OFF_JOURNAL, /* there is none */
	COP_REFIT_OFF_PROGRAM, /* the same */
	COP_REFIT_OFF_MEMORY   /* the machine has none for second learners */
} cop_config_refit_off;

/* "on", "configuration", "learner", "no journal", "no program" or "no memory". */
const char *cop_config_refit_off_text(cop_config_refit_off off);

/* A model's section refit: whole trees from its journal, beside serving. */
typedef struct cop_config_refit {
	bool given;               /* the file has the section, */
	bool said;                /* which has the option enabled: else it is what can be */
	bool enabled;             /* false: none by itself, and `ctl refit` is refused */
	cop_config_refit_off off; /* COP_REFIT_ON: enabled */
	uint64_t every;           /* microseconds between two, at least */
	uint32_t least_feedback;  /* losses learned since the last one, at least */
	cop_config_drift on_drift;
	uint32_t window; /* decisions */
	double holdout;  /* share of the window */
	cop_config_method method;
	uint32_t height;
	cop_setting_maybe alpha; /* not given: auto */
	bool idle;               /* scheduling class */
	uint32_t nice;           /* 0 to 19 */
	uint64_t memory;         /* bytes; 0: as much as is free, see daemon/refit/refit_memory.h */
	uint64_t time_limit;     /* microseconds */
	cop_config_promote promote;
	double margin, risk;
	uint32_t keep; /* revisions */
} cop_config_refit;

typedef struct cop_config_model {
	cop_model_settings
	        set; /* with the defaults filled in; what does not apply to the learner has lib/online's, or 0 */
	char name[COP_CONFIG_NAME_MAX + 1];
	char stored[COP_CONFIG_NAME_MAX + 1]; /* in the journal and in checkpoints: the name, or NAME#LIFE */
	uint32_t life;                        /* how often it was begun anew live */
	bool apprentice;            /* an existing system decides, and the model learns from that; not for value */
	uint64_t memory;            /* bytes with all that waits; 0: no bound. pending_bytes is within it */
	uint32_t rate;              /* events in a second, 0: any number */
	uint64_t names_bytes;       /* sparse: for the names of features; 0: none are kept */
	cop_config_unheard unheard; /* contexts on streams while nobody subscribes to the actions */
	uint32_t unheard_max;       /* of them that may wait */
	uint64_t unheard_bytes;
	uint64_t unheard_age; /* microseconds */
	char *feature_names;  /* file as written, NULL: none */
	char *candidate_names;
	char *arm_names;
	char *start_from;                  /* a saved model to begin with, NULL: none */
	char *start_from_path;             /* the same, from where the process stands */
	cop_config_list feature_name_list; /* the files' lines: none, or exactly `features`, `candidate_features` */
	cop_config_list candidate_name_list;
	cop_config_list arm_name_list; /* and `arms` */
	cop_config_refit refit;
} cop_config_model;

typedef struct cop_config {
	char *state_dir; /* relative: to the working directory, as are ipc:// endpoints */
	char *log_facility;
	uint64_t clock_tolerance; /* 0: every clock is believed */
	char *refit_launcher;     /* words before coppice-refit-mpi; NULL: refits are one process */
	double refit_cpu_share;   /* of one processor, that refits of all models may take over time */
	cop_log_level log_level;
	char *http_listen;               /* NULL: off */
	cop_config_list api_listen;      /* empty: off */
	char *api_tokens;                /* file as written; NULL: whoever reaches the listener may do all */
	cop_access *api_access;          /* what is in it, owned */
	char *api_certificate, *api_key; /* files as written, both or none: plain HTTP */
	cop_certificate *api_pair;       /* what is in them, owned */
	char *api_personalizer;          /* model of the personalizer's paths; NULL: a token's only model */
	char *curve_key, *curve_clients; /* files as written; NULL: no section curve */
	char curve_secret[COP_CURVE_KEY_ROOM];
	cop_access *curve_access; /* public keys of clients, owned; NULL: no section curve */
	cop_config_list admin;    /* where verbs of administration are taken; empty: nowhere */
	cop_config_list requests, contexts_bind, contexts_connect, feedback_bind, feedback_connect, feedback_pull_bind,
	        actions_bind;
	bool insecure; /* what other machines can reach may be in the clear */
	uint64_t message_limit;
	uint64_t queue_limit; /* of all that is queued */
	bool journal_enabled, journal_compress;
	uint64_t journal_age; /* 0: any */
	cop_config_sync journal_sync;
	uint64_t journal_interval, journal_segment, journal_keep;
	uint64_t checkpoint_every;
	uint32_t checkpoint_keep;
	uint32_t checkpoint_older;
	char *replica_name;                         /* NULL: the host's */
	cop_config_list replica_listen, replica_of; /* where followers come; the others of the group */
	cop_config_lead replica_lead;
	uint32_t replica_followers; /* that have a record before its answer leaves, by journal_sync */
	cop_config_hold replica_hold;
	uint32_t replica_compare;                          /* records between comparisons of the state */
	uint32_t partition_of, partition_number;           /* instances, and which of them, from 0, this one is */
	cop_config_foreign partition_foreign;              /* events whose key is another instance's */
	cop_config_list partition_listen, partition_peers; /* where summaries are asked for; the other instances */
	cop_config_list partition_merge;                   /* models that learn from all keys */
	uint64_t partition_every;                          /* microseconds between two asks */
	/* The file has such a section. */
	bool journal_given, http_given, api_given, curve_given, replica_given, partition_given;
	size_t model_count;       /* >= 1 */
	cop_config_model *models; /* in the file's order, names unique */
	cop_live_changes live;    /* that are in it, owned */
} cop_config;

/* Whether an address ADDRESS:PORT of the section api cannot be reached from another machine. */
bool cop_config_is_loopback(const char *address);

/* What is wrong, in the order found. Start with cop_config_report_init. */
typedef struct cop_config_report {
	cop_diag *items;
	size_t count;
	size_t omitted; /* found beyond COP_CONFIG_MAX_MESSAGES */
} cop_config_report;

void cop_config_report_init(cop_config_report *report);
void cop_config_report_fini(cop_config_report *report);

/* Where else than in start_from's file a model's saved state may be. All NULL: only in the newest checkpoint. */
typedef struct cop_config_origin {
	const char *const *reset;        /* NULL-ended; models whose checkpointed state does not count; NULL: none */
	const cop_config *live;          /* what is served now, by a reload */
	const cop_live_changes *changes; /* in place of those in the state folder; NULL: those */
} cop_config_origin;

/* Reads the file at path, or the built-in demonstration (conf/demo.conf) when path is NULL, and over it the live
 * changes of the state folder, which it must not contradict; feature_names and
 * arm_names are read relative to the file's folder, and what a model with start_from leaves out is taken from its
 * saved state. origin: NULL is all NULL. Caller frees with cop_config_free; on error *out is NULL and
 * report says everything that is wrong, each with its line; a syntax error or unknown option ends the reading.
 * COP_EIO: the file cannot be read. COP_EFORMAT: syntax error, unknown option. COP_EINVAL: wrong values, or the file
 * enables refits and their program (daemon/common/refit_program.h) is missing. COP_ENOMEM. */
COP_CHECK cop_err cop_config_load(
        const char *path, const cop_config_origin *origin, cop_config **out, cop_config_report *report);

/* The same from memory (borrowed; called `source` in messages). Refits are off unless the text enables them. folder is
 * where name files are; NULL: no file is read, and models that want one get empty lists. */
COP_CHECK cop_err cop_config_parse(const char *text, size_t length, const char *source, const char *folder,
        cop_config **out, cop_config_report *report);

/* "OPTION = VALUE" with a NUL behind it, of an option of a model as live changes call it. False: there is no such. */
bool cop_config_live_print(const char *option, const cop_config_model *model, cop_bytes *out);

/* Whether the option, called so, has several values. */
bool cop_config_live_is_list(const char *option);

/* Whether the model of that name is merged with those of the other instances of the partition. */
bool cop_config_merges(const cop_config *config, const char *name);

/* Whether an instance of this configuration begins as a follower. */
bool cop_config_follows(const cop_config *config);

/* Appends a comment for each model that was changed live: what is there, and what the file says. */
void cop_config_live_put(const cop_config *config, cop_bytes *out);

/* Models that say nothing of refits have them where learner, journal, `program` (there is one) and the machine's memory
 * allow. */
void cop_config_default_refits(cop_config *config, bool program);

void cop_config_free(cop_config *config);

/* Appends the complete effective configuration in the file's syntax; it reads back to an equal one. Failure is in
 * out->err. */
void cop_config_print(const cop_config *config, cop_bytes *out);

typedef enum cop_config_change_kind {
	COP_CHANGE_APPLIED,
	COP_CHANGE_RESTART, /* applied by a restart */
	COP_CHANGE_REFUSED, /* a restart refuses it */
} cop_config_change_kind;

/* What becomes of a model by it. */
typedef enum cop_config_change_of {
	COP_CHANGE_OF_SETTINGS,
	COP_CHANGE_ADDS,
	COP_CHANGE_REMOVES,
	COP_CHANGE_RENEWS,
	COP_CHANGE_GROWS
} cop_config_change_of;

typedef struct cop_config_change {
	cop_config_change_kind kind;
	cop_config_change_of of;
	char model[COP_CONFIG_NAME_MAX + 1]; /* "": no model's */
	char text[1024];                     /* "model demo: epsilon: 0.1 -> 0.2" */
} cop_config_change;

typedef struct cop_config_changes {
	cop_config_change *items;
	size_t count;
} cop_config_changes;

/* What differs in next. Applied while running: models added, removed or begun anew (in another life), more arms of a
 * model, clock_tolerance, refit_cpu_share, log level, checkpoint section, and per model epsilon (with decay and floor),
 * gamma, explore_first, optimism, least_propensity, share_min and share_max, reward_window, default_loss, reward,
 * pending_max, pending_bytes, unheard (with max, bytes and age), explain_keep, names_bytes, apprentice, the name files
 * and all of section refit, unless the model's shape, learner, policy or loss range differ too. Caller frees with
 * cop_config_changes_free, also on error. COP_ENOMEM. */
COP_CHECK cop_err cop_config_diff(const cop_config *old, const cop_config *next, cop_config_changes *changes);
/* One more, whose text is the caller's to fill; NULL: no memory. */
cop_config_change *cop_config_changes_add(cop_config_changes *changes, cop_config_change_kind kind, const char *model);
void cop_config_changes_free(cop_config_changes *changes);

/* Gives live what cop_config_diff calls applied in next, by exchange: free next afterwards. Models that are added,
 * removed, begun anew or given more arms come and go with it, so pointers to models of live mean nothing afterwards.
 * COP_ENOMEM: nothing changed. */
COP_CHECK cop_err cop_config_apply(cop_config *live, cop_config *next, const cop_config_changes *changes);
/* Whether the change of the model is applied; false also if there is none. */
bool cop_config_changes_has(const cop_config_changes *changes, cop_config_change_of of, const char *model);

/* Bytes that the model takes when it is made, about; what waits for feedback comes on top, up to pending_bytes. */
uint64_t cop_config_model_bytes(const cop_config_model *model);

/* Whether the model's learner is that, one of COP_SETTING_OF_*. */
bool cop_config_model_is(const cop_config_model *model, unsigned learner);

/* An item of a list that connects is ENDPOINT, or "ENDPOINT server_key=KEY" where the peer is a server of CURVE: its
 * endpoint, and the key, or NULL. */
const char *cop_config_peer(const char *item, char endpoint[COP_CONFIG_ENDPOINT + 1]);

/* Item i, from 0, of those that bind where other machines can reach them, in the clear; NULL: there are no more. */
const char *cop_config_exposed(const cop_config *config, size_t i);
/* What the daemon will bind to: endpoints, then addresses of listeners for HTTP; NULL behind the last. *option: its
 * name, "requests". */
const char *cop_config_bound(const cop_config *config, size_t i, const char **option);

/* Line i, from 0, of the files of tokens and of clients that names a model which is not there, described in out; false:
 * there are no more. */
bool cop_config_unknown_model(const cop_config *config, size_t i, char out[COP_CONFIG_UNKNOWN]);

/* The model of that name (length characters, borrowed), or NULL. */
const cop_config_model *cop_config_find(const cop_config *config, const char *name, size_t length);

#endif
