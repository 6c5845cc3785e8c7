/* tools/whatif/whatif_run.h: a span of a journal learned twice: as the model learned it, and with other settings.
 *
 * Both models take the journal's records in their order (online/model_relearn.h). At each decision both are asked what
 * they would have done, and when its loss is known, what that would have cost is estimated from the recorded
 * propensity. Where they begin as the model did (or as a checkpoint has it), the first one's state is the model's own,
 * byte for byte, and so is the second one's with the same settings. Three threads: one reads, and one is for each
 * model; a second model that differs in its policy alone is not learned (whatif_pair.h). */
#ifndef COP_TOOLS_WHATIF_WHATIF_RUN_H
#define COP_TOOLS_WHATIF_WHATIF_RUN_H

#include "evaluate/offpolicy_pair.h"
#include "whatif_changed.h"
#include "whatif_settings.h"

#define COP_WHATIF_ARMS  64 /* whose changes are counted from arm to arm */
#define COP_WHATIF_CLOSE 50 /* best values that are within 1 / so much of value_range of each other are alike */

typedef struct cop_whatif_question {
	const char *state;      /* folder */
	const char *journal;    /* the one in it */
	const char *model;      /* its name there */
	cop_model_settings was; /* those of its newest checkpoint */
	const void *data;       /* its sections there: names for `save` */
	size_t length;
	uint64_t next; /* the first record that is not in it */
	const cop_whatif_changes *changes;
	bool fresh;                  /* both begin anew, whatever there is to begin with */
	double from, to;             /* of the decisions, seconds since 1970; may be infinite */
	const uint8_t *without;      /* a flag for each feature that the second model does not see; NULL: it sees all */
	double level;                /* of the sequence intervals */
	cop_whatif_changed *changed; /* where decisions that would have changed go; NULL: not wanted */
	cop_bytes *save;             /* the second model at the span's end, as a model file; NULL: not wanted */
} cop_whatif_question;

/* What both models began as. */
typedef enum cop_whatif_begun {
	COP_WHATIF_ANEW,       /* new, at the span's beginning */
	COP_WHATIF_JOURNAL,    /* new, as the model was at the journal's first record of it */
	COP_WHATIF_CHECKPOINT, /* as a checkpoint has the model */
} cop_whatif_begun;

/* Whether the first model is byte for byte what the newest checkpoint has, where that stands. */
typedef enum cop_whatif_live {
	COP_WHATIF_UNKNOWN, /* both began anew, or the span does not reach there */
	COP_WHATIF_LIVE,
	COP_WHATIF_NOT_LIVE
} cop_whatif_live;

typedef struct cop_whatif_figures {
	cop_whatif_begun begun;
	cop_whatif_live live;
	uint64_t checkpoint;  /* its number */
	uint64_t record;      /* the first that was learned; 0: none was */
	uint64_t events, bad; /* whose loss is known; records and events that made no sense */
	uint64_t held;        /* made by the baseline of a control group: learned, and not of the estimates */
	uint64_t late;        /* whose loss the second model did not wait for */
	uint64_t refused;     /* updates of either that would have diverged */
	uint64_t changed;     /* whose best action is another one for the second model */
	double first, last;   /* times of decisions */
	bool values;          /* actions are values: `moved` instead of arms */
	bool estimated;       /* what was played has propensities; else `logged` of `was` alone is known */
	double moved;         /* sum of the distances between the best values, in units of value_range */
	cop_offpolicy was, would;
	cop_offpolicy_pair gain;   /* second less first */
	size_t arms;               /* COP_WHATIF_ARMS at most; 0: candidates, values, or more arms */
	cop_whatif_changed *lines; /* as of the question */
	cop_err unwritten;         /* the first error of writing them */
	uint64_t *change;          /* arms x arms: from the first model's best to the second's; owned */
} cop_whatif_figures;

/* Caller frees with fini, also after an error. COP_ESHAPE, COP_EINVAL: the models cannot be made, or the journal is
 * not of what the first one begins with; COP_ENOTFOUND, COP_EIO, COP_EFORMAT, COP_EVERSION, COP_ENOMEM. */
COP_CHECK cop_err cop_whatif_run(const cop_whatif_question *question, cop_whatif_figures *out, cop_diag *diag);
void cop_whatif_run_fini(cop_whatif_figures *figures);

bool cop_whatif_run_in_span(const cop_whatif_question *question, double time);

#endif
