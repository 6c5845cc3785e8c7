/* daemon/report/model_view.h: a serving model as a page (online/model_page.h), drawn on a thread beside the loop.
 *
 * Until the page is there, whoever asks has to ask again. For that the loop saves the model once, as for a checkpoint;
 * the thread loads that and draws it. One is drawn at a time, and the newest pages are kept for a while, so that many
 * who ask cost no more than one. The loop's thread. */
#ifndef COP_DAEMON_REPORT_MODEL_VIEW_H
#define COP_DAEMON_REPORT_MODEL_VIEW_H

#include "base/bytes.h"
#include "daemon/common/job.h"
#include "daemon/models/model_table.h"
#include "online/model_page_names.h"

#define COP_MODEL_VIEW_PAGES   4
#define COP_MODEL_VIEW_SECONDS 10.0 /* that a page is as good as a new one */

typedef struct cop_model_view_page {
	char model[COP_CONFIG_NAME_MAX + 1]; /* "": none */
	double at;                           /* monotonic seconds: the model was as it is shown */
	cop_err err;
	cop_diag why; /* it could not be drawn */
	cop_bytes html;
} cop_model_view_page;

typedef struct cop_model_view {
	cop_model_view_page page[COP_MODEL_VIEW_PAGES];
	cop_job job;
	cop_model_view_page drawn; /* with what follows the thread's, until the job is done */
	cop_bytes saved;
	cop_model_page_given names[COP_MODEL_PAGE_GIVEN];
	char title[COP_CONFIG_NAME_MAX + 1], about[96];
} cop_model_view;

/* All zero is empty. Waits for what is being drawn. */
void cop_model_view_fini(cop_model_view *view);

/* now: monotonic seconds, real: unix ones. The page of the model, borrowed until the next call; NULL: it is being
 * drawn, or another one is. page->err: it cannot be drawn. */
const cop_model_view_page *cop_model_view_ask(
        cop_model_view *view, const cop_model_slot *slot, double now, double real);

#endif
