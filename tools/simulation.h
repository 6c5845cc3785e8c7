/* tools/simulation.h: labelled rows as a bandit problem: the run behind `coppice simulate`.
 *
 * Each event shows a row to a learner (in process, or a daemon's), gets an action, and later tells its loss: 0/1 for
 * arms (the last column is the class), squared or Huber loss for values, in units of the target's range. The shuffle,
 * the feedback's delay and loss and the learner draw from separate streams of the seed, so in-process and live runs see
 * the same. */
#ifndef COP_TOOLS_SIMULATION_H
#define COP_TOOLS_SIMULATION_H

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "data/dataset.h"
#include "online/model.h"

/* Where decisions come from. */
typedef struct cop_sim_backend {
	void *state;
	/* The action for row x under a number that is the event's id. Arms: out->arm; values: out->probe (in [0, 1]).
	 */
	cop_err (*decide)(void *state, uint64_t id, const cop_row *x, cop_decision *out, cop_diag *diag);
	cop_err (*feedback)(void *state, uint64_t id, const double *loss, size_t count, cop_diag *diag);
	/* Best arm, or value in [0, 1], without learning. */
	cop_err (*greedy)(void *state, const cop_row *x, double *out, cop_diag *diag);
	void (*close)(void *state);
} cop_sim_backend;

/* The model's own code in this process; the model is the backend's own. */
COP_CHECK cop_err cop_sim_local(const cop_model_settings *settings, cop_sim_backend *out, cop_diag *diag);
/* A daemon's model, through its request socket (tools/client.h) or, when they are given, its streams
 * (tools/client_streams.h). When the daemon is configured alike, results are those of cop_sim_local bit for bit. */
typedef struct cop_sim_endpoints {
	const char *requests; /* request socket; always needed (greedy evaluation) */
	const char *contexts; /* streams: all three, or all NULL */
	const char *actions;
	const char *feedback;
	const char *model;
	unsigned probes;              /* what the model must answer: 0 an arm, 1 or 2 values to try */
	double value_low, value_high; /* the model's value_range */
	uint64_t first_id;            /* ids count from here */
	double timeout;               /* seconds to wait for an answer */
} cop_sim_endpoints;
COP_CHECK cop_err cop_sim_live(const cop_sim_endpoints *endpoints, cop_sim_backend *out, cop_diag *diag);

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
	uint64_t delay; /* feedback comes about this many events late, out of order */
	double missing; /* share of feedback that never comes */
	uint64_t curve; /* points of the curve; 0: none */
	FILE *progress; /* progress table; NULL: none */
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
	cop_sim_point *curve;    /* caller frees with cop_mem_free */
	size_t curve_count;
} cop_sim_result;

COP_CHECK cop_err cop_sim_run(
        const cop_sim_settings *settings, const cop_sim_backend *backend, cop_sim_result *out, cop_diag *diag);

#endif
