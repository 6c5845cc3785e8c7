/* daemon/models/model_exchange.h: models that come, go or grow, made before anything changes in the table that serves.
 *
 * begin, make, made and ready, in this order, then take; drop ends it at any time. make may run beside the loop: what
 * it makes is its own, and of the table it only reads what stays as it is until take or drop, if nobody forgets a unit
 * meanwhile: what is parked, and models that leave. These are served no longer from begin on, so that their state is
 * the same in all that is saved of it; drop brings them back. What grows is made as large as it was at begin; ready
 * gives it the state that there is by then, so ready and take go between the same two events. All but make by the
 * loop's thread. */
#ifndef COP_DAEMON_MODELS_MODEL_EXCHANGE_H
#define COP_DAEMON_MODELS_MODEL_EXCHANGE_H

#include "daemon/models/model_table.h"

typedef struct cop_model_exchange {
	cop_model_table *set;     /* kept; NULL: it was not begun, or is used up */
	cop_model_slot **fresh;   /* for each of the configuration's to come; NULL: it stays as it is */
	cop_model_extent *extent; /* of those that grow */
	bool *grows;
	size_t count;
	bool resumes;        /* one that comes is parked */
	cop_parked *leaving; /* of those that are removed */
	size_t leaving_count;
	cop_err err;            /* of what is removed, by make */
	cop_model_slot **items; /* room for the table's to come */
	cop_parked *parked;
} cop_model_exchange;

/* Looks at what the changes add, begin anew, remove or have grow in next (kept until take or drop), and lets leave what
 * is removed or begun anew. COP_ENOMEM. Caller ends it with take or drop, also after an error. */
COP_CHECK cop_err cop_model_exchange_begin(
        cop_model_exchange *exchange, cop_model_table *set, const cop_config *next, const cop_config_changes *changes);
/* Makes their slots: from what is parked, from the saved model that one is to begin with, or with memory alone where it
 * grows. One that cannot be made is noted as refused in changes. And what those are parked as that are removed. */
void cop_model_exchange_make(
        cop_model_exchange *exchange, const cop_config *next, cop_config_changes *changes, cop_log *log);
/* After make: a checkpoint takes what leaves as it was made. COP_ENOMEM: make found no memory for it. */
COP_CHECK cop_err cop_model_exchange_made(cop_model_exchange *exchange);
/* Whether it needs nobody to be forgotten until it is taken. */
bool cop_model_exchange_holds(const cop_model_exchange *exchange);
/* The state of those that grow, noted as refused if they cannot. COP_ENOMEM. */
COP_CHECK cop_err cop_model_exchange_ready(
        cop_model_exchange *exchange, const cop_config *next, cop_config_changes *changes);
void cop_model_exchange_drop(cop_model_exchange *exchange);
/* Puts them into the table, whose models are then those of the configuration (kept), in its order. Those that served
 * until now are given to `gone`, one by one, which closes them. The exchange is used up. */
void cop_model_exchange_take(cop_model_exchange *exchange, const cop_config *config,
        void (*gone)(void *context, cop_model_slot *slot), void *context);

#endif
