/* daemon/report/history_body.h: the body of history's reply; docs/reference/protocol.md has its keys.
 * The loop's thread. */
#ifndef COP_DAEMON_REPORT_HISTORY_BODY_H
#define COP_DAEMON_REPORT_HISTORY_BODY_H

#include "base/bytes.h"
#include "daemon/report/report.h"
#include "wire/wire_keys.h"

void cop_history_body_put(
        const cop_report *report, const cop_model_slot *slot, const cop_wire_seq *seq, cop_bytes *out);

#endif
