/* learn/learner_trained.h: the state of learners "trained" and "trained_value", as it is saved behind name and
 * revision: a byte (1), then a section file with the encoder and the trees. */
#ifndef COP_LEARN_LEARNER_TRAINED_H
#define COP_LEARN_LEARNER_TRAINED_H

#include "learn/learner.h"
#include "table/encoder.h"

/* That section file. Errors stay in bytes->err. */
void cop_learner_trained_put(const cop_encoder *encoder, const cop_trees *trees, cop_bytes *bytes);
/* The encoder of such a state, the byte included; *out NULL: it has none. Caller frees. COP_EFORMAT, COP_ENOMEM. */
COP_CHECK cop_err cop_learner_trained_encoder(cop_cursor *state, cop_encoder **out);

#endif
