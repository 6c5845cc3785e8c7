/* online/model_names.h: the feature space that a model's places were found by, beside it in its file.
 *
 * Section "features" of the file that cop_model_save writes into: with it a model is asked by the names of the log that
 * it was made from. Section "names": what its places are called. Distinct objects on distinct threads. */
#ifndef COP_ONLINE_MODEL_NAMES_H
#define COP_ONLINE_MODEL_NAMES_H

#include "events/feature_space.h"
#include "learn/learner.h"
#include "store/model_file.h"

#define COP_MODEL_NAMES_ALL SIZE_MAX

void cop_model_names_save(const cop_feature_space *space, cop_bytes *bytes);
/* Caller frees. A dense space is frozen. *out NULL and COP_ENOTFOUND: the file has none. COP_EFORMAT: damaged, or not
 * of a model with these settings (NULL: not compared). COP_EVERSION, COP_ENOMEM. With *diag. */
COP_CHECK cop_err cop_model_names_load(
        const cop_model_file *file, const cop_learner_settings *settings, cop_feature_space **out, cop_diag *diag);

/* The names that a hashed space keeps of its places (events/place_names.h), in a section of their own, "names"; nothing
 * where it has none. They are no part of the model's state: what is decided and learned does not depend on them, and
 * those that came since a checkpoint are not in the journal. */
void cop_model_names_save_places(const cop_feature_space *space, cop_bytes *bytes);
/* From such a file, of a model of 2^bits places, in a table of at most so many bytes (COP_MODEL_NAMES_ALL: as many as
 * it takes). *out NULL: the file has none. COP_EFORMAT: damaged, or of other places. COP_EVERSION, COP_ENOMEM. With
 * *diag.
 */
COP_CHECK cop_err cop_model_names_read_places(
        const cop_model_file *file, size_t bytes, unsigned bits, cop_place_names **out, cop_diag *diag);
/* Into a hashed space, to be kept in so many bytes; 0, or none in the file: the space has none of them. Errors as
 * above. */
COP_CHECK cop_err cop_model_names_load_places(
        const cop_model_file *file, size_t bytes, cop_feature_space *space, cop_diag *diag);

#endif
