/* tools/whatif/whatif_promote.h: challengers and promotions of a journal, done to a model that learns the journal
 * again. One thread. */
#ifndef COP_TOOLS_WHATIF_WHATIF_PROMOTE_H
#define COP_TOOLS_WHATIF_WHATIF_PROMOTE_H

#include "online/model_shadow.h"
#include "wire/wire_record.h"

/* state: the folder; name: the model's, as stored; record: of type promotion. COP_ENOTFOUND: a challenger's file, or
 * the second learner, is not there. COP_EFORMAT, COP_ESHAPE, COP_EEXIST ... all with *diag. */
COP_CHECK cop_err cop_whatif_promote(
        cop_model *model, const char *state, const char *name, const cop_wire_record *record, cop_diag *diag);

#endif
