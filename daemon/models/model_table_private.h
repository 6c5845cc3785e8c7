/* daemon/models/model_table_private.h: what the table (model_table.c) and models that come and go in it
 * (model_exchange.c) share: slots by themselves, and what is parked. */
#ifndef COP_DAEMON_MODELS_MODEL_TABLE_PRIVATE_H
#define COP_DAEMON_MODELS_MODEL_TABLE_PRIVATE_H

#include "daemon/models/model_table.h"

/* The slot's model begins as the saved one that it is configured to, as large as that one is: further arms and features
 * are added as records, or the end of recovery, have it. Errors of cop_model_table_start_from. */
COP_CHECK cop_err cop_model_table_start_slot(cop_model_slot **slot, cop_log *log, cop_diag *diag);
/* It becomes as large as configured; the slot is another one then. */
COP_CHECK cop_err cop_model_table_complete_slot(cop_model_slot **slot, cop_diag *diag);

/* Payloads of a checkpoint's sections. Failure: bytes->err. */
void cop_model_table_put_model(const cop_model_slot *slot, cop_bytes *bytes);
void cop_model_table_put_refits(const cop_model_slot *slot, cop_bytes *bytes);

/* The models of these names (count of them, some may not be there) leave; COP_ENOMEM: none does. */
COP_CHECK cop_err cop_model_table_let_leave(cop_model_table *set, const char *const *names, size_t count);
/* Those that leave are served again, where they were. */
void cop_model_table_put_back(cop_model_table *set);

/* One more, whose section is the caller's to fill; NULL: no memory. */
cop_parked *cop_model_table_add_parked(cop_parked **list, size_t *count, const char *stored, bool refit);
void cop_model_table_free_parked(cop_parked *parked, size_t count);

#endif
