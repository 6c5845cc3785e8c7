/* tools/ctl/ctl_id.h: an id or a unit as it is written on the command line. One thread. */
#ifndef COP_TOOLS_CTL_CTL_ID_H
#define COP_TOOLS_CTL_CTL_ID_H

#include <stdbool.h>

#include "base/err.h"
#include "events/event_id.h"

/* What a text stands for: an integer where it is written as one, else a string. */
typedef struct cop_ctl_id_rule {
	bool string; /* always a string */
	bool binary; /* bytes, in hexadecimal digits; not with string */
} cop_ctl_id_rule;

bool cop_ctl_id_is_digits(const char *text);
/* name: the argument's, for *diag. COP_EINVAL: not 1 to 64 bytes, or no hexadecimal digits where these are expected. */
COP_CHECK cop_err cop_ctl_id_read(
        const cop_ctl_id_rule *rule, const char *name, const char *text, cop_event_id *id, cop_diag *diag);

#endif
