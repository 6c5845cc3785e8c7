/* tools/ctl/ctl_forget.h: an order to forget somebody, given to a running daemon and waited for. One thread. */
#ifndef COP_TOOLS_CTL_CTL_FORGET_H
#define COP_TOOLS_CTL_CTL_FORGET_H

#include <stdbool.h>

#include "base/err.h"
#include "clients/c/client_keys.h"
#include "events/event_id.h"

typedef struct cop_ctl_forget_request {
	const char *endpoint;
	cop_client_keys keys;
	double timeout;    /* seconds, for each answer */
	cop_event_id whom; /* a unit; by_id: a decision's id */
	bool by_id;
	const char *model; /* "": all */
	bool wait;         /* until it is carried out, however long that takes */
	bool json;
} cop_ctl_forget_request;

/* Prints what was forgotten, or without waiting the order's number, on standard output. COP_EINVAL: refused. COP_EEND,
 * COP_EIO, COP_EFORMAT, COP_ENOMEM. COP_ENOTFOUND: that there was nothing is printed. *diag is filled. */
COP_CHECK cop_err cop_ctl_forget(const cop_ctl_forget_request *request, cop_diag *diag);

#endif
