/* online/model_names.h: the feature space that a model's places were found by, beside it in its file.
 *
 * Section "features" of the file that cop_model_save writes into: with it a model is asked by the names of the log that
 * it was made from. Distinct objects on distinct threads. */
#ifndef COP_ONLINE_MODEL_NAMES_H
#define COP_ONLINE_MODEL_NAMES_H

#include "data/feature_space.h"
#include "online/learner.h"
#include "tree/model_file.h"

void cop_model_names_save(const cop_feature_space *space, cop_bytes *bytes);
/* Caller frees. A dense space is frozen. *out NULL and COP_ENOTFOUND: the file has none. COP_EFORMAT: damaged, or not
 * of a model with these settings (NULL: not compared). COP_EVERSION, COP_ENOMEM. With *diag. */
COP_CHECK cop_err cop_model_names_load(
        const cop_model_file *file, const cop_learner_settings *settings, cop_feature_space **out, cop_diag *diag);

#endif
