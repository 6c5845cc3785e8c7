/* A look takes all counters, logs those that grew since the last look, and keeps them as the next one's base. Looks
 * are at least SECONDS apart, which bounds the log whatever the traffic is. Each kind of trouble has one line, whose
 * figures are differences. */
#include "daemon/report/drop_report.h"

#include <inttypes.h>

#include "daemon/server.h"

#define SECONDS 10.0 /* between looks */

static uint64_t of_code(const cop_server *server, cop_wire_code code)
{
	return server->counts.codes[code] + server->counts.item_codes[code];
}

static uint64_t lost_on_streams(const cop_server *server)
{
	uint64_t lost = 0;
	for (size_t i = 0; i < server->models.count; i++)
		lost += server->models.items[i].contexts.gaps.missing + server->models.items[i].feedback.gaps.missing;
	return lost;
}

static void count_unheard(const cop_server *server, cop_drop_report *is)
{
	for (size_t i = 0; i < server->models.count; i++) {
		const cop_served *served = &server->models.items[i];
		for (size_t k = 0; k < COP_UNHEARD_REASONS; k++)
			is->unheard += served->unheard.dropped[k];
		is->decisions += served->unheard_decisions;
	}
}

static void tell_outliers(const cop_server *server, cop_served *served)
{
	cop_outliers now;
	cop_learner_outliers(cop_model_learner(served->model), &now);
	if (now.values > served->outliers_told.values)
		cop_log_line(server->log, COP_LOG_WARNING, "outliers",
		        "model=%s values=%" PRIu64 " feature=%" PRIu32 " value=%g", served->name,
		        now.values - served->outliers_told.values, now.feature, (double)now.value);
	if (now.rescaled > served->outliers_told.rescaled)
		cop_log_line(server->log, COP_LOG_NOTICE, "features_rescaled", "model=%s features=%" PRIu64,
		        served->name, now.rescaled - served->outliers_told.rescaled);
	served->outliers_told = now;
}

void cop_drop_report_tell(cop_drop_report *t, cop_server *server, double now)
{
	if (now < t->next)
		return;
	cop_drop_report is = {
		.next = now + SECONDS,
		.busy = of_code(server, COP_WIRE_BUSY),
		.internal = of_code(server, COP_WIRE_INTERNAL),
		.not_durable = of_code(server, COP_WIRE_NOT_DURABLE),
		.replies = server->sockets.replies_dropped,
		.actions = server->sockets.actions_dropped,
		.lost = lost_on_streams(server),
	};
	count_unheard(server, &is);
	if (is.busy > t->busy || is.internal > t->internal || is.not_durable > t->not_durable)
		cop_log_line(server->log, COP_LOG_WARNING, "requests_refused",
		        "busy=%" PRIu64 " internal=%" PRIu64 " not_durable=%" PRIu64, is.busy - t->busy,
		        is.internal - t->internal, is.not_durable - t->not_durable);
	if (is.replies > t->replies || is.actions > t->actions || is.lost > t->lost)
		cop_log_line(server->log, COP_LOG_WARNING, "messages_dropped",
		        "replies=%" PRIu64 " actions=%" PRIu64 " lost=%" PRIu64, is.replies - t->replies,
		        is.actions - t->actions, is.lost - t->lost);
	if (is.unheard > t->unheard || is.decisions > t->decisions)
		cop_log_line(server->log, COP_LOG_WARNING, "actions_unheard", "dropped=%" PRIu64 " decisions=%" PRIu64,
		        is.unheard - t->unheard, is.decisions - t->decisions);
	for (size_t i = 0; i < server->models.count; i++)
		tell_outliers(server, &server->models.items[i]);
	*t = is;
}
