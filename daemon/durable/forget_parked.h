/* daemon/durable/forget_parked.h: models that are not served, but whose state is kept, and that learned from somebody
 * who is forgotten: they are learned again beside those that are served. The loop's thread. */
#ifndef COP_DAEMON_DURABLE_FORGET_PARKED_H
#define COP_DAEMON_DURABLE_FORGET_PARKED_H

#include "daemon/durable/forgetting.h"

/* Behind the configuration's models come those of the order that are parked, each as it was saved; one whose settings
 * cannot be read does not. COP_ENOMEM. */
COP_CHECK cop_err cop_forget_parked_add(const cop_forget_work *work, const cop_model_table *models, cop_config *config);
/* In all that are parked their decisions that wait end. What was learned again takes its place; the report has how many
 * were not. Errors of cop_model_parked_forget and renew, with *diag. */
COP_CHECK cop_err cop_forget_parked_end(cop_forgetting *f, cop_diag *diag);

#endif
