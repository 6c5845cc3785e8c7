/* Name and key are properties of the connection, which daemon/serve/zap.c gave it. A name whose key is another one
 * since a reload counts as gone: the connection was made with the key before. */
#include "daemon/serve/permit.h"

#include <string.h>

#include "daemon/common/clock.h"
#include "daemon/serve/zap.h"

const char *cop_permit_name(zmq_msg_t *frame) { return zmq_msg_gets(frame, "User-Id"); }

cop_err cop_permit_check(const cop_access *access, zmq_msg_t *frame, const cop_permit_asked *asked,
        const cop_access_entry **client, cop_wire_fault *fault)
{
	*client = NULL;
	const char *name = access == NULL ? NULL : cop_permit_name(frame);
	if (name == NULL)
		return COP_OK;
	const cop_access_entry *entry = cop_access_named(access, name);
	const char *key = entry == NULL ? NULL : zmq_msg_gets(frame, COP_ZAP_KEY);
	if (key == NULL || strcmp(key, entry->token) != 0)
		return cop_wire_fault_set(
		        fault, COP_WIRE_FORBIDDEN, "the key of %.64s is no longer in the file of clients", name);
	*client = entry;
	if (cop_access_allows(entry, asked->right, asked->model))
		return COP_OK;
	return cop_wire_fault_set(fault, COP_WIRE_FORBIDDEN, "%s lacks the right %s %s%s", name,
	        cop_access_right_text(asked->right), asked->model[0] == '\0' ? "for all models" : "for the model ",
	        asked->model);
}

cop_err cop_permit_take(const cop_access *access, zmq_msg_t *frame, const cop_permit_asked *asked,
        const cop_access_entry **client, cop_wire_fault *fault)
{
	cop_err err = cop_permit_check(access, frame, asked, client, fault);
	const cop_access_entry *c = *client;
	if (err != COP_OK || c == NULL || c->quota == NULL)
		return err;
	const char *what = cop_quota_take(c->quota, &c->limits, cop_clock_monotonic_us(), asked->bytes);
	if (what == NULL)
		return COP_OK;
	return cop_wire_fault_set(fault, COP_WIRE_BUSY, COP_QUOTA_REFUSAL, c->name, what);
}

void cop_permit_charge(const cop_access_entry *client, size_t items)
{
	if (client != NULL && client->quota != NULL && items > 1)
		cop_quota_charge(client->quota, items - 1, 0);
}
