/* daemon/report/status_body.h: the body of status's reply; docs/reference/protocol.md has its keys.
 * The loop's thread. */
#ifndef COP_DAEMON_REPORT_STATUS_BODY_H
#define COP_DAEMON_REPORT_STATUS_BODY_H

#include "daemon/report/report.h"
#include "wire/wire_keys.h"

/* Of one model, or (NULL) of all. */
/* Of it, `state_dir` and `journal`. */
void cop_status_body_put_state(const cop_report *report, cop_bytes *out);
void cop_status_body_put(const cop_report *report, const cop_model_slot *only, const cop_wire_seq *seq, cop_bytes *out);

#endif
