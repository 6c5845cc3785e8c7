/* daemon/report/positions_body.h: the body of positions' reply; docs/reference/protocol.md has its keys.
 * The loop's thread. */
#ifndef COP_DAEMON_REPORT_POSITIONS_BODY_H
#define COP_DAEMON_REPORT_POSITIONS_BODY_H

#include "base/bytes.h"
#include "daemon/report/report.h"
#include "wire/wire_keys.h"

/* The journal's record that the reply waits for, so that it is as durable as what was acknowledged; 0: none. */
uint64_t cop_positions_body_put(
        const cop_report *report, const cop_model_slot *slot, const cop_wire_seq *seq, cop_bytes *out);

#endif
