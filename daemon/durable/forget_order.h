/* daemon/durable/forget_order.h: an order to forget somebody, as it stands in the state folder until it is carried out.
 *
 * One file for each (store/checkpoint_file.h), numbered in the order in which they were given. Plain data; one thread.
 */
#ifndef COP_DAEMON_DURABLE_FORGET_ORDER_H
#define COP_DAEMON_DURABLE_FORGET_ORDER_H

#include "base/err.h"
#include "daemon/config/config.h"
#include "events/event_id.h"

typedef struct cop_forget_order {
	uint64_t number;
	bool by_id; /* whom is a decision's id; else a unit */
	cop_event_id whom;
	char model[COP_CONFIG_NAME_MAX + 1]; /* "": all models */
	double time;                         /* when it was given, unix seconds */
} cop_forget_order;

/* Gives the order a number, its own if none is as high, and writes it; it is on disk when this returns. Errors of
 * cop_checkpoint_write and list. */
COP_CHECK cop_err cop_forget_order_put(const char *state_dir, cop_forget_order *order, cop_diag *diag);
/* The oldest one. COP_EEND: there is none. Else errors of cop_checkpoint_list and read, and COP_EFORMAT. */
COP_CHECK cop_err cop_forget_order_first(const char *state_dir, cop_forget_order *order, size_t *count, cop_diag *diag);
/* It was carried out. COP_EIO. */
COP_CHECK cop_err cop_forget_order_end(const char *state_dir, uint64_t number, cop_diag *diag);

#endif
