/* One line of what was done, and a warning for each thing that stays. */
#include "daemon/durable/forget_report.h"

#include <inttypes.h>
#include <string.h>

void cop_forget_report_fill(cop_forget_report *report, const cop_forget_plan *plan)
{
	size_t count;
	const cop_forget_model *models = cop_forget_models(plan, &count);
	report->models = count;
	for (size_t i = 0; i < count && i < COP_FORGET_REPORT_MODELS; i++)
		report->of[i] = models[i];
}

void cop_forget_report_again(cop_forget_report *report, const char *stored)
{
	for (size_t i = 0; i < report->models && i < COP_FORGET_REPORT_MODELS; i++)
		report->again[i] |= strcmp(report->of[i].name, stored) == 0;
}

void cop_forget_report_tell(const cop_forget_report *r, cop_log *log)
{
	cop_log_line(log, COP_LOG_EVENT(forgotten),
	        "order=%" PRIu64 " models=%zu records=%" PRIu64 " waiting=%" PRIu64 " contexts=%" PRIu64
	        " segments=%" PRIu64 " checkpoints=%" PRIu64 " refits=%" PRIu64 " followers=%" PRIu64
	        " relearned=%s seconds=%.3f",
	        r->order, r->models, r->records, r->waiting, r->contexts, r->segments, r->checkpoints, r->refits,
	        r->followers, r->relearned ? "yes" : r->why, r->seconds);
	if (r->refits_serving > 0)
		cop_log_line(log, COP_LOG_EVENT(forget_serving),
		        "models=%" PRIu64 " reason=\"served by trees that were fitted to records of theirs\"",
		        r->refits_serving);
	if (r->followers_left > 0)
		cop_log_line(log, COP_LOG_EVENT(forget_followers),
		        "left=%" PRIu64 " reason=\"they did not come back; they begin anew when they do\"",
		        r->followers_left);
	if (r->parked > 0)
		cop_log_line(log, COP_LOG_EVENT(forget_parked),
		        "models=%" PRIu64
		        " reason=\"not served, and not learned again, so what they learned of theirs stays part of "
		        "their sums\"",
		        r->parked);
}
