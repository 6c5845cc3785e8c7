/* daemon/change_order.h: what the body of the verb `model` asks for, and what it makes of the live changes
 * (daemon/config/live.h). Plain data: distinct ones on distinct threads. */
#ifndef COP_DAEMON_CHANGE_ORDER_H
#define COP_DAEMON_CHANGE_ORDER_H

#include "daemon/config/config.h"
#include "wire/wire_keys.h"

typedef enum cop_model_deed {
	COP_MODEL_ADD,
	COP_MODEL_SET,
	COP_MODEL_UNSET,
	COP_MODEL_RESET,
	COP_MODEL_REMOVE,
	COP_MODEL_DEEDS
} cop_model_deed;

/* Zeroed but for its name it is for decode. */
typedef struct cop_change_order {
	cop_model_deed deed;
	char name[COP_CONFIG_NAME_MAX + 1];
	cop_live_values values; /* of unset: without meaning */
	bool fresh;
	bool again; /* of add: what the model was before is kept, and comes back */
	cop_wire_seq seq;
} cop_change_order;

/* "add", "set" ... */
const char *cop_change_order_deed(const cop_change_order *order);
void cop_change_order_fini(cop_change_order *order);

/* COP_EINVAL, COP_EFORMAT, COP_ENOMEM, with *fault, as all that follow; finish it also after an error. */
COP_CHECK cop_err cop_change_order_decode(
        const void *body, size_t length, cop_change_order *order, cop_wire_fault *fault);
/* Whether it makes sense where this configuration is served. */
COP_CHECK cop_err cop_change_order_check(
        const cop_change_order *order, const cop_config *config, cop_wire_fault *fault);
/* Puts it into live changes, over those there; file: the configuration without any. */
COP_CHECK cop_err cop_change_order_edit(
        const cop_change_order *order, const cop_config *file, cop_live_changes *live, cop_wire_fault *fault);
/* Whether all that changes is the model, and at once. */
COP_CHECK cop_err cop_change_order_judge(
        const cop_change_order *order, const cop_config_changes *changes, cop_wire_fault *fault);
/* Fills *fault; COP_ENOMEM. */
cop_err cop_change_order_refuse_memory(cop_wire_fault *fault);

#endif
