/* tools/whatif/whatif_pair.h: the two models of a question: how they begin, change with the configuration, take records
 * and look at decisions. One thread, but that each of the two may take its records on one of its own; all else then
 * waits for both.
 *
 * What a model learns does not hang on its policy: where the settings differ in that alone, the first one learns, and
 * both policies look at what it predicts (`alone`). */
#ifndef COP_TOOLS_WHATIF_WHATIF_PAIR_H
#define COP_TOOLS_WHATIF_WHATIF_PAIR_H

#include "online/model_relearn.h"
#include "whatif_config.h"
#include "whatif_settings.h"

/* What both had to say of a decision, the first one at place 0. */
typedef struct cop_whatif_seen {
	uint64_t record; /* its number */
	double time;
	double p;             /* of what was played, as recorded */
	double target[2];     /* that of each policy */
	double target_max[2]; /* the most that it gives to any action */
	double q[2], m[2];    /* cost of what was played, and mean cost, that each expects of its own policy */
	double common;        /* mean cost that the first expects of the second's policy */
	double distance;      /* of the policies, in [0, 1] */
	double best_value[2]; /* values: in [0, 1] */
	uint32_t best[2];
	uint32_t action;
	bool estimated; /* all of it is there; else best_value alone */
} cop_whatif_seen;

/* What the first one would have done with a decision, unless it is alone. */
typedef struct cop_whatif_view {
	double *p;   /* arms of each */
	float *loss; /* as predicted, in [0, 1] */
	size_t arms; /* 0: there is none */
} cop_whatif_view;

typedef struct cop_whatif_side {
	cop_model *model; /* NULL: it has not begun yet */
	cop_model_relearning how;
	uint64_t refused; /* before the span */
} cop_whatif_side;

typedef struct cop_whatif_pair {
	const cop_whatif_changes *changes; /* kept */
	const uint8_t *without;            /* kept; as of the question */
	bool saves;                        /* the second one is wanted as it ends, so it learns in any case */
	bool alone;                        /* the second one has its settings, and learns nothing */
	cop_whatif_side was, would;
	bool anew;  /* the first one is not as the model was, so what it learns with is its own, too */
	bool along; /* promotions are the second one's, too */
	double low, width;
	size_t room; /* actions at most */
	/* Of the thread that the first one is on: */
	cop_whatif_seen first; /* the first one's part of what is seen; all of it where that is alone */
	cop_whatif_view *mine; /* where its view goes */
	cop_candidates among;  /* what is looked at */
	double *p;             /* room of the other policy */
	/* Of the second one's: */
	cop_whatif_seen second;
	const cop_whatif_view *theirs; /* the first one's view */
	float *dense;                  /* a row without what is left out, */
	uint32_t *index;
	float *value;
} cop_whatif_pair;

/* Both new, with these settings and what is changed of them. Finish with fini, also after an error. COP_EINVAL,
 * COP_ENOMEM with *diag. */
COP_CHECK cop_err cop_whatif_pair_new(cop_whatif_pair *pair, const cop_model_settings *was, cop_diag *diag);
/* Both from saved sections. COP_ESHAPE: the second one cannot go on with this state; nothing was begun. */
COP_CHECK cop_err cop_whatif_pair_open(cop_whatif_pair *pair, const void *data, size_t length, cop_diag *diag);
void cop_whatif_pair_fini(cop_whatif_pair *pair);

/* The first one's settings become these, as those of a living model's; the second one's what is changed of them.
 * COP_ESHAPE: their state does not go along. COP_EINVAL, COP_ENOMEM ... with *diag. */
COP_CHECK cop_err cop_whatif_pair_configure(cop_whatif_pair *pair, const cop_whatif_config *config, cop_diag *diag);

/* Actions that a view needs room for. */
size_t cop_whatif_pair_room(const cop_whatif_pair *pair);
/* Before the first one takes a decision. What it sees of it when it does is in `first` and *view. */
void cop_whatif_pair_look(cop_whatif_pair *pair, const cop_wire_record *decision, cop_whatif_view *view);
COP_CHECK cop_err cop_whatif_pair_take(cop_whatif_pair *pair, cop_wire_record_type type, const cop_wire_record *record);
/* Of a feedback that brings its context, of a model of arms: the same, by the first one as it is. COP_EINVAL: it does
 * not fit. */
COP_CHECK cop_err cop_whatif_pair_view(cop_whatif_pair *pair, const cop_wire_record *feedback, cop_whatif_view *view);

/* The second one, which does not see what is left out, and may be on another thread. Before it takes a decision, with
 * what the first one saw; what both saw is in `second` then. */
void cop_whatif_pair_look_second(cop_whatif_pair *pair, const cop_wire_record *decision, const cop_whatif_seen *first,
        const cop_whatif_view *view);
COP_CHECK cop_err cop_whatif_pair_take_second(
        cop_whatif_pair *pair, cop_wire_record_type type, const cop_wire_record *record);
COP_CHECK cop_err cop_whatif_pair_view_second(cop_whatif_pair *pair, const cop_wire_record *feedback,
        const cop_whatif_seen *first, const cop_whatif_view *view);

/* Updates that would have diverged, of either, in the span. */
uint64_t cop_whatif_pair_refused(const cop_whatif_pair *pair);

#endif
