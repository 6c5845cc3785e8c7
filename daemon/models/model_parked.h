/* daemon/models/model_parked.h: what is done to models that are not served (model_table.h). The loop's thread. */
#ifndef COP_DAEMON_MODELS_MODEL_PARKED_H
#define COP_DAEMON_MODELS_MODEL_PARKED_H

#include "daemon/models/model_table.h"

/* Ends the waiting decisions of these ids in the parked model, with nothing learned; how many those were: *ended. With
 * that, or with `anyway`, what its places are called goes too, for it may name somebody. What it learned stays. Errors
 * of cop_model_open and cop_model_names_load: it is as before. */
COP_CHECK cop_err cop_model_parked_forget(
        cop_parked *parked, const cop_event_id *ids, size_t count, bool anyway, double now, size_t *ended);

/* The settings that it was saved with. Errors of cop_model_peek. */
COP_CHECK cop_err cop_model_parked_peek(const cop_parked *parked, cop_model_settings *settings);
/* The slot's model, under the settings of the slot's configuration, becomes what is parked of the table's model, and so
 * do its refits. COP_ENOMEM, and errors of cop_refit_state_load: it is as before. */
COP_CHECK cop_err cop_model_parked_renew(cop_model_table *set, cop_parked *parked, cop_model_slot *slot);

#endif
