/* door/door_model.h: making models of the front door, for lib/door alone. */
#ifndef COP_DOOR_DOOR_MODEL_H
#define COP_DOOR_DOOR_MODEL_H

#include "door/door_private.h"

/* A new one. COP_EINVAL with *diag, COP_ENOMEM. Caller frees with coppice_model_free; on error *out is NULL. */
COP_CHECK cop_err cop_door_model_make(const cop_model_settings *settings, coppice_model **out, cop_diag *diag);

#endif
