/* daemon/report/forget_body.h: what becomes of orders to forget somebody: in status, and as the reply about one order.
 * No state. */
#ifndef COP_DAEMON_REPORT_FORGET_BODY_H
#define COP_DAEMON_REPORT_FORGET_BODY_H

#include "daemon/durable/forgetting.h"
#include "wire/wire_keys.h"

/* Key `forget` and a map: its state, orders that are left, and the report of the last one that was carried out. */
void cop_forget_body_status(const cop_forgetting *forgetting, cop_bytes *out);
/* `{order, done, state?, reason?, ..., seq?}` of one order by its number; done with the report, if it is the last one.
 */
void cop_forget_body_order(const cop_forgetting *forgetting, uint64_t number, const cop_wire_seq *seq, cop_bytes *out);

#endif
