/* daemon/report/report.h: what status and metrics are written from. The loop's thread. */
#ifndef COP_DAEMON_REPORT_REPORT_H
#define COP_DAEMON_REPORT_REPORT_H

#include "daemon/api/api.h"
#include "daemon/common/http.h"
#include "daemon/durable/forgetting.h"
#include "daemon/merge/merge.h"
#include "daemon/refit/refits.h"
#include "daemon/replica/replica.h"
#include "daemon/report/past_desk.h"
#include "daemon/serve/serving.h"

typedef struct cop_report {
	const cop_durability *durable; /* kept, as are the next five */
	const cop_serving *serving;
	const cop_refits *refits;
	const cop_forgetting *forgetting;
	const cop_replica *replica;
	const cop_merge *merge;
	cop_http *http;     /* NULL: off */
	const cop_api *api; /* NULL: off */
	const cop_past_desk *past;
	double born;    /* unix seconds */
	double started; /* monotonic seconds */
} cop_report;

#endif
