/* tools/simulate/simulation.h: labelled rows as a bandit problem: the run behind `coppice simulate`.
 *
 * Each event shows a row to a learner (in process, or a daemon's), gets an action, and later tells its loss: 0/1 for
 * arms (the last column is the class), squared or Huber loss for values, in units of the target's range. The shuffle,
 * the feedback's delay and loss and the learner draw from separate streams of the seed, so in-process and live runs see
 * the same. */
#ifndef COP_TOOLS_SIMULATE_SIMULATION_H
#define COP_TOOLS_SIMULATE_SIMULATION_H

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "online/model.h"
#include "simulation_refit.h"
#include "table/dataset.h"

/* The rows: of all data files together, and of the holdout file. */
typedef struct cop_sim_files {
	const char *const *data; /* count >= 1 of them */
	size_t count;
	const char *holdout; /* NULL: none */
	bool values;         /* the last column is a number, not a class */
	bool only_classes;   /* there is no learner of numbers to hint at */
} cop_sim_files;
/* Caller frees both, also on error, with cop_dataset_free; both are NULL before. *diag names the file, and the line of
 * a value that is wrong. Errors of cop_dataset_read; COP_EINVAL: no class; COP_ESHAPE: files do not fit together. */
COP_CHECK cop_err cop_sim_read(const cop_sim_files *files, cop_dataset **data, cop_dataset **holdout, cop_diag *diag);

/* The classes as candidates with features of their own, for learner rank: the same ones in every event. */
typedef struct cop_sim_items_settings {
	size_t classes;
	bool sparse; /* as contexts are: over 2^bits features */
	unsigned bits;
	const char
	        *path; /* csv, class k's features in line k, at least two columns; NULL: one for each class, one-hot */
} cop_sim_items_settings;
typedef struct cop_sim_items {
	size_t count;    /* at least the classes */
	size_t features; /* columns */
	cop_row *row;    /* count */
	float *value;
	uint32_t *index;
} cop_sim_items;
/* Errors of cop_dataset_read; COP_ESHAPE: too few or too many lines, too many columns. Caller finishes with fini, which
 * an empty one survives too. */
COP_CHECK cop_err cop_sim_items_init(cop_sim_items *items, const cop_sim_items_settings *settings, cop_diag *diag);
void cop_sim_items_fini(cop_sim_items *items);

/* Features, bits and the most entries of a row as the rows need them; sparse rows are widened to the hashed dimension.
 * bits_given: bits are fixed. source (borrowed) is named in *diag. holdout may be NULL. COP_EINVAL: bits for dense
 * rows; COP_ESHAPE: an index beyond the bits. */
COP_CHECK cop_err cop_sim_fit_dimension(cop_learner_settings *learner, bool bits_given, const char *source,
        cop_dataset *data, cop_dataset *holdout, cop_diag *diag);
/* The candidates of learner rank for rows of so many classes (path: as in the items' settings), and the learner's
 * settings for them. Rows are fitted before. Errors of cop_sim_items_init. */
COP_CHECK cop_err cop_sim_fit_items(cop_learner_settings *learner, const cop_dataset *data, size_t classes,
        const char *path, cop_sim_items *items, cop_diag *diag);

/* Where decisions come from. */
typedef struct cop_sim_backend {
	void *state;
	/* The action for row x under a number that is the event's id. Arms: out->arm; values: out->probe (in [0, 1]).
	 */
	cop_err (*decide)(void *state, uint64_t id, const cop_row *x, cop_decision *out, cop_diag *diag);
	cop_err (*feedback)(void *state, uint64_t id, const double *loss, size_t count, cop_diag *diag);
	/* Where it is not NULL, instead of feedback: the class of row x, and so the loss of every arm. */
	cop_err (*label)(void *state, const cop_row *x, double class, cop_diag *diag);
	/* Best arm, or value in [0, 1], without learning; read only with holdout data. */
	cop_err (*greedy)(void *state, const cop_row *x, double *out, cop_diag *diag);
	void (*close)(void *state);
	const cop_sim_refit_counts *refits; /* of its refits so far; NULL: it makes none */
} cop_sim_backend;

/* The model's own code in this process; the model is the backend's own. items (kept): candidates of a ranking model,
 * else empty. refits: with them beside it; NULL: without. */
COP_CHECK cop_err cop_sim_local(const cop_model_settings *settings, const cop_sim_items *items,
        const cop_sim_refit_settings *refits, cop_sim_backend *out, cop_diag *diag);
/* A learner of arms or candidates in this process that is told every arm's loss (learn/skyline.h). items as above. */
COP_CHECK cop_err cop_sim_skyline(
        const cop_model_settings *settings, const cop_sim_items *items, cop_sim_backend *out, cop_diag *diag);
/* A daemon's model, through its request socket (clients/c/client.h) or, when they are given, its streams
 * (clients/c/client_streams.h). When the daemon is configured alike, results are those of cop_sim_local bit for bit.
 */
typedef struct cop_sim_endpoints {
	const char *requests; /* request socket; always needed (greedy evaluation) */
	const char *contexts; /* streams: all three, or all NULL */
	const char *actions;
	const char *feedback;
	const char *model;
	unsigned probes;              /* what the model must answer: 0 an arm, 1 or 2 values to try */
	double value_low, value_high; /* the model's value_range */
	const cop_sim_items *items;   /* kept: candidates of a ranking model, else empty */
	uint64_t first_id;            /* ids count from here */
	double timeout;               /* seconds to wait for an answer */
} cop_sim_endpoints;
COP_CHECK cop_err cop_sim_live(const cop_sim_endpoints *endpoints, cop_sim_backend *out, cop_diag *diag);

/* A model as rows and options need it. */
typedef struct cop_sim_shape {
	bool values;
	size_t features;                       /* 0: sparse */
	unsigned bits;                         /* sparse: indices are below 2^bits */
	size_t arms;                           /* classes; 0 for values and candidates */
	size_t candidates, candidate_features; /* of a model that ranks; else 0 */
	bool bits_given, feedback_given, range_given;
	cop_value_feedback feedback;
	double delta;     /* as a share of the range; 0: any */
	double low, high; /* value_range */
} cop_sim_shape;
/* Compares with what the daemon's status says of the model. What was not given becomes the daemon's: feedback, low,
 * high. COP_ESHAPE: the model does not fit; *diag says what there is and what was expected. Errors of tools/client. */
COP_CHECK cop_err cop_sim_live_fit(const cop_sim_endpoints *endpoints, cop_sim_shape *shape, cop_diag *diag);

typedef struct cop_sim_settings {
	const cop_dataset *data;
	const cop_dataset *holdout; /* NULL: none */
	bool values;                /* target is a number, not a class */
	bool two_point;
	bool huber;
	double huber_width; /* in units of the target's range */
	double target_low, target_high;
	uint64_t seed;
	uint64_t events; /* 0: passes decide */
	uint64_t passes;
	bool in_order;                     /* rows as they come, in each pass; else shuffled */
	uint64_t delay;                    /* feedback comes about this many events late, out of order */
	double missing;                    /* share of feedback that never comes */
	uint64_t curve;                    /* points of the curve; 0: none */
	bool curve_log;                    /* they lie evenly on a scale of logarithms, from event 10 on */
	FILE *progress;                    /* progress table; NULL: none */
	const volatile sig_atomic_t *stop; /* not 0: end with the event under way; NULL: never */
} cop_sim_settings;

typedef struct cop_sim_point {
	uint64_t events;
	double average; /* progressive loss so far */
	double since;   /* since the point before */
	double holdout; /* accuracy or RMSE; NaN without holdout data */
} cop_sim_point;

typedef struct cop_sim_result {
	uint64_t events;
	double progressive_loss; /* mean over all events; two-point: of both probes' mean */
	double holdout;          /* accuracy, or RMSE in the target's unit; NaN without holdout data */
	double seconds;          /* of deciding and learning, evaluation not counted */
	double processor;        /* the same by this thread's processor time */
	cop_sim_point *curve;    /* caller frees with cop_mem_free */
	size_t curve_count;
	bool stopped;  /* before all events were over */
	bool refitted; /* with refits beside it */
	cop_sim_refit_counts refits;
} cop_sim_result;

/* Errors of the backend. At least one event is over before a stop. */
COP_CHECK cop_err cop_sim_run(
        const cop_sim_settings *settings, const cop_sim_backend *backend, cop_sim_result *out, cop_diag *diag);

/* To settings->progress, if any: how many rows, features and arms, or the target's range. */
void cop_sim_print_rows(const cop_sim_settings *settings, const cop_dataset *data, size_t arms);
/* To standard output. COP_ENOMEM. */
COP_CHECK cop_err cop_sim_print_json(const cop_sim_settings *settings, const cop_sim_result *result);
void cop_sim_print_text(const cop_sim_settings *settings, const cop_sim_result *result);

#endif
