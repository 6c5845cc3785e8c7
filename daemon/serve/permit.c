/* Name and key are properties of the connection, which daemon/serve/zap.c gave it. A name whose key is another one since
 * a reload counts as gone: the connection was made with the key before. */
#include "daemon/serve/permit.h"

#include <string.h>

#include "daemon/serve/zap.h"

const char *cop_permit_name(zmq_msg_t *frame) { return zmq_msg_gets(frame, "User-Id"); }

cop_err cop_permit_check(
        const cop_access *access, zmq_msg_t *frame, unsigned right, const char *model, cop_wire_fault *fault)
{
	const char *name = access == NULL ? NULL : cop_permit_name(frame);
	if (name == NULL)
		return COP_OK;
	const cop_access_entry *entry = cop_access_named(access, name);
	const char *key = entry == NULL ? NULL : zmq_msg_gets(frame, COP_ZAP_KEY);
	if (key == NULL || strcmp(key, entry->token) != 0)
		return cop_wire_fault_set(
		        fault, COP_WIRE_FORBIDDEN, "the key of %.64s is no longer in the file of clients", name);
	if (cop_access_allows(entry, right, model))
		return COP_OK;
	return cop_wire_fault_set(fault, COP_WIRE_FORBIDDEN, "%s lacks the right %s %s%s", name,
	        cop_access_right_text(right), model[0] == '\0' ? "for all models" : "for the model ", model);
}
