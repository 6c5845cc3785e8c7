/* A look takes all counters, logs those that grew since the last look, and keeps them as the next one's base. What is
 * new is told soon; after lines were written the next look is PAUSE later, which bounds the log whatever the traffic
 * is. Each kind of trouble has one line, whose figures are differences. */
#include "daemon/report/drop_report.h"

#include <inttypes.h>

#include "daemon/models/control_body.h"
#include "daemon/serve/serving.h"

#define SECONDS 1.0  /* between looks */
#define PAUSE   10.0 /* after one that wrote lines, and between those at control groups, which are work */

static uint64_t of_code(const cop_serving *serving, cop_wire_code code)
{
	return serving->counts.codes[code] + serving->counts.item_codes[code];
}

static uint64_t lost_on_streams(const cop_serving *serving)
{
	uint64_t lost = 0;
	for (size_t i = 0; i < serving->durable->models.count; i++)
		lost += serving->durable->models.items[i]->contexts.gaps.missing +
		        serving->durable->models.items[i]->feedback.gaps.missing;
	return lost;
}

static void count_unheard(const cop_serving *serving, cop_drop_report *is)
{
	for (size_t i = 0; i < serving->durable->models.count; i++) {
		const cop_model_slot *slot = serving->durable->models.items[i];
		for (size_t k = 0; k < COP_UNHEARD_FORGOTTEN; k++)
			is->unheard += slot->unheard.dropped[k];
		is->decisions += slot->unheard_decisions;
	}
}

/* True: lines were written. */
static bool tell_outliers(const cop_serving *serving, cop_model_slot *slot)
{
	cop_outliers now;
	cop_learner_outliers(cop_model_learner(slot->model), &now);
	uint64_t fresh = now.values - slot->outliers_logged.values;
	const char *name = cop_model_slot_feature_name(slot, now.feature);
	if (now.values > slot->outliers_logged.values && name == NULL)
		cop_log_line(serving->durable->log, COP_LOG_EVENT(outliers),
		        "model=%s values=%" PRIu64 " feature=%" PRIu32 " value=%g", slot->name, fresh, now.feature,
		        (double)now.value);
	else if (now.values > slot->outliers_logged.values)
		cop_log_line(serving->durable->log, COP_LOG_EVENT(outliers),
		        "model=%s values=%" PRIu64 " feature=%" PRIu32 " name=\"%s\" value=%g", slot->name, fresh,
		        now.feature, name, (double)now.value);
	if (now.rescaled > slot->outliers_logged.rescaled)
		cop_log_line(serving->durable->log, COP_LOG_EVENT(features_rescaled), "model=%s features=%" PRIu64,
		        slot->name, now.rescaled - slot->outliers_logged.rescaled);
	const bool told = now.values > slot->outliers_logged.values || now.rescaled > slot->outliers_logged.rescaled;
	slot->outliers_logged = now;
	return told;
}

/* True: lines were written. */
static bool tell(const cop_drop_report *was, const cop_drop_report *is, cop_log *log)
{
	const bool refused = is->busy > was->busy || is->internal > was->internal || is->not_durable > was->not_durable;
	const bool dropped = is->replies > was->replies || is->actions > was->actions || is->lost > was->lost;
	const bool unheard = is->unheard > was->unheard || is->decisions > was->decisions;
	if (refused)
		cop_log_line(log, COP_LOG_EVENT(requests_refused),
		        "busy=%" PRIu64 " internal=%" PRIu64 " not_durable=%" PRIu64, is->busy - was->busy,
		        is->internal - was->internal, is->not_durable - was->not_durable);
	if (dropped)
		cop_log_line(log, COP_LOG_EVENT(messages_dropped),
		        "replies=%" PRIu64 " actions=%" PRIu64 " lost=%" PRIu64, is->replies - was->replies,
		        is->actions - was->actions, is->lost - was->lost);
	if (unheard)
		cop_log_line(log, COP_LOG_EVENT(actions_unheard), "dropped=%" PRIu64 " decisions=%" PRIu64,
		        is->unheard - was->unheard, is->decisions - was->decisions);
	return refused || dropped || unheard;
}

void cop_drop_report_look(cop_drop_report *t, cop_serving *serving, double now)
{
	const cop_model_table *models = &serving->durable->models;
	if (now < t->next)
		return;
	cop_drop_report is = {
		.next_control = t->next_control,
		.busy = of_code(serving, COP_WIRE_BUSY),
		.internal = of_code(serving, COP_WIRE_INTERNAL),
		.not_durable = of_code(serving, COP_WIRE_NOT_DURABLE),
		.replies = serving->sockets.replies_dropped,
		.actions = serving->sockets.actions_dropped,
		.lost = lost_on_streams(serving),
	};
	count_unheard(serving, &is);
	bool told = tell(t, &is, serving->durable->log);
	for (size_t i = 0; i < models->count; i++)
		told |= tell_outliers(serving, models->items[i]);
	if (now >= t->next_control) {
		is.next_control = now + PAUSE;
		for (size_t i = 0; i < models->count; i++)
			cop_control_body_look(models->items[i], serving->durable->log);
	}
	is.next = now + (told ? PAUSE : SECONDS);
	*t = is;
}
