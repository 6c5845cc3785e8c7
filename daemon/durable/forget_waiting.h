/* daemon/durable/forget_waiting.h: what waits and is of somebody who is forgotten: decisions, for their feedback, and
 * contexts, for a subscriber. It ends. The loop's thread. */
#ifndef COP_DAEMON_DURABLE_FORGET_WAITING_H
#define COP_DAEMON_DURABLE_FORGET_WAITING_H

#include "daemon/durable/forgetting.h"

/* In all models that are served, when all that is theirs is known; the report has how many. COP_ENOMEM. */
COP_CHECK cop_err cop_forget_waiting_end(cop_forgetting *f);

#endif
