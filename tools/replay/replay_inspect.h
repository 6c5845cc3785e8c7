/* tools/replay/replay_inspect.h: what a file of `coppice replay --save` holds beside the model, for `coppice inspect`. */
#ifndef COP_TOOLS_REPLAY_REPLAY_INSPECT_H
#define COP_TOOLS_REPLAY_REPLAY_INSPECT_H

#include <stdio.h>

#include "base/json.h"
#include "store/model_file.h"

/* To out, or as a member "replay" of json's object (the other is NULL). Nothing when the file has no such section.
 * COP_EFORMAT and others: it is damaged. */
COP_CHECK cop_err cop_replay_inspect(const cop_model_file *file, FILE *out, cop_json_writer *json, cop_diag *diag);

#endif
