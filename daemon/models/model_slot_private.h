/* daemon/models/model_slot_private.h: what a slot (model_slot.c) asks of its names (model_slot_names.c). */
#ifndef COP_DAEMON_MODELS_MODEL_SLOT_PRIVATE_H
#define COP_DAEMON_MODELS_MODEL_SLOT_PRIVATE_H

#include "daemon/models/model_slot.h"

/* What the model was given since it began may be unknown in contexts. */
void cop_model_slot_know_features(cop_model_slot *slot);
/* By which names feedback is read and history is kept: the model's, as they are now. After the timeline's init. */
void cop_model_slot_name_losses(cop_model_slot *slot);
/* The configuration's; of features those, or plain hashes, unless the saved state has a better way. On error the names
 * of before stay. COP_ENOMEM, COP_EEXIST. */
COP_CHECK cop_err cop_model_slot_name_features(cop_model_slot *slot);
COP_CHECK cop_err cop_model_slot_name_candidates(cop_model_slot *slot);
COP_CHECK cop_err cop_model_slot_name_arms(cop_model_slot *slot);
/* The space that stands beside the model in its file, if one does, and the names that were kept. Errors of
 * cop_model_slot_load, with *diag. */
COP_CHECK cop_err cop_model_slot_take_names(cop_model_slot *slot, const void *data, size_t length, cop_diag *diag);

#endif
