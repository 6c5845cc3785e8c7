/* refit/refit_window.h: the newest events of a model, in memory.
 *
 * In the order of their decisions. Of the journal only its newest segments are read, so far back that the window is
 * full; where few of its records are decisions of the model, that may be all of it. One thread. */
#ifndef COP_REFIT_REFIT_WINDOW_H
#define COP_REFIT_REFIT_WINDOW_H

#include "refit/refit_run.h"

typedef struct cop_refit_event {
	uint64_t sequence;
	uint64_t learned; /* of the record that answered it, or ended its waiting */
	bool answered;
	double loss; /* scaled; of arms and candidates within [0, 1]; the mean of two */
	double p;
	uint32_t action; /* of candidates: its place */
	double y;        /* values, in [0, 1] */
	int8_t u;
	double losses[2]; /* values, scaled */
	cop_row x;
	const uint8_t *mask; /* of arms or candidates; NULL: all */
	size_t arms;         /* that there were then; in a window that was read none counts but these */
	size_t candidates;
	const cop_row *candidate;
	size_t size; /* bytes */
} cop_refit_event;   /* one block with all that it points to */

typedef struct cop_refit_window {
	cop_journal_history_model model;
	cop_refit_event **event;
	size_t n, room;
	uint8_t *mask;    /* those of events that had fewer arms than there are */
	float *value;     /* contexts of events in which features were unknown, with the means of those that were not */
	size_t fitted;    /* the first ones; the rest is judged */
	size_t bytes;     /* of the events */
	size_t memory;    /* with what their fit will take */
	size_t fresh;     /* of the window: answered after settings->after */
	size_t answered;  /* of the window */
	uint64_t learned; /* the newest record that answered an event of the window */
	uint64_t from;    /* base of the segment that was read first */
	uint64_t passed;  /* records that made no sense */
	bool stopped;
} cop_refit_window;

/* Finish with fini in every case. Errors as of cop_refit_run; COP_EEND when progress ended it. */
COP_CHECK cop_err cop_refit_window_read(const cop_refit_settings *settings, const char *journal,
        const cop_progress *progress, cop_refit_window *window, cop_diag *diag);
void cop_refit_window_fini(cop_refit_window *window);

/* Features of a row that is fitted: the context's, joined with a candidate's. */
size_t cop_refit_window_features(const cop_journal_history_model *model);
/* Arms; 1 of candidates or values. */
size_t cop_refit_window_outputs(const cop_journal_history_model *model);

#endif
