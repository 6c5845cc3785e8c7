/* tools/whatif/whatif_run.h: a span of a journal learned twice: with the settings that the model has, and with others.
 *
 * Both models begin new at the span's beginning and learn the same events in the same order, the losses of actions that
 * were played. Before each event both are asked what they would have done; what that would have cost is estimated from
 * the recorded propensities. One thread. */
#ifndef COP_TOOLS_WHATIF_WHATIF_RUN_H
#define COP_TOOLS_WHATIF_WHATIF_RUN_H

#include "evaluate/offpolicy_pair.h"
#include "online/model.h"

#define COP_WHATIF_ARMS 64 /* whose changes are counted from arm to arm */

typedef struct cop_whatif_question {
	const char *journal;           /* folder */
	const char *model;             /* its name there */
	cop_model_settings was, would; /* of the same shape */
	double window;                 /* seconds that losses may take for the second; 0: however long they took */
	double from, to;               /* of the decisions, seconds since 1970; may be infinite */
	const uint8_t *without; /* a flag for each feature that the second model does not see; NULL: it sees all */
	double level;           /* of the sequence intervals */
} cop_whatif_question;

typedef struct cop_whatif_figures {
	uint64_t events, bad; /* learned; that made no sense */
	uint64_t late;        /* whose loss the second model did not wait for */
	uint64_t refused;     /* updates of either that would have diverged */
	uint64_t changed;     /* whose best action is another one for the second model */
	double first, last;   /* times of decisions */
	cop_offpolicy was, would;
	cop_offpolicy_pair gain; /* second less first */
	size_t arms;             /* COP_WHATIF_ARMS at most; 0: candidates, or more arms */
	uint64_t *change;        /* arms x arms: from the first model's best to the second's; owned */
} cop_whatif_figures;

/* Caller frees with fini, also after an error. COP_ESHAPE, COP_EINVAL: not a model of arms or candidates, or the models
 * cannot be made; COP_ENOTFOUND, COP_EIO, COP_EFORMAT, COP_EVERSION, COP_ENOMEM. */
COP_CHECK cop_err cop_whatif_run(const cop_whatif_question *question, cop_whatif_figures *out, cop_diag *diag);
void cop_whatif_run_fini(cop_whatif_figures *figures);

#endif
