/* Two tables, counts and figures, say which fields of a summary are shown, under which key and as which metric;
 * status, the log's text and the metrics page walk through them in the same order. A figure that is not known is nil
 * in status, "unknown" in text and NaN on the page. Counters on the page are less what the model had when the process
 * began, as Prometheus expects of a new process. */
#include "daemon/models/apprentice_body.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "daemon/common/counters.h"
#include "daemon/common/exposition.h"
#include "wire/wire_put.h"

const cop_counter cop_apprentice_body_counters[] = {
	{ "observed", COP_METRIC(coppice_apprentice_observed_total), offsetof(cop_apprentice_summary, observed) },
	{ "agreed", COP_METRIC(coppice_apprentice_agreed_total), offsetof(cop_apprentice_summary, agreed) },
	{ "losses", COP_METRIC(coppice_apprentice_losses_total), offsetof(cop_apprentice_summary, losses) },
	COP_COUNTERS_END,
};

typedef struct shown {
	const char *key;
	const cop_metric *metric;
	size_t offset; /* in a summary */
} shown;

/* Figures that may be unknown, in the order in which they are shown. */
static const shown figures[] = {
	{ "agreement", NULL, offsetof(cop_apprentice_summary, agreement) },
	{ "own_p", COP_METRIC(coppice_apprentice_own_probability), offsetof(cop_apprentice_summary, own_p) },
	{ "support", COP_METRIC(coppice_apprentice_support), offsetof(cop_apprentice_summary, support) },
	{ "gain", COP_METRIC(coppice_apprentice_gain), offsetof(cop_apprentice_summary, gain) },
	{ "low", COP_METRIC(coppice_apprentice_gain_low), offsetof(cop_apprentice_summary, low) },
	{ "high", COP_METRIC(coppice_apprentice_gain_high), offsetof(cop_apprentice_summary, high) },
};
#define FIGURES (sizeof figures / sizeof *figures)

static double figure(const cop_apprentice_summary *summary, size_t i)
{
	const void *at = (const char *)summary + figures[i].offset;
	return *(const double *)at;
}

void cop_apprentice_body_status(const cop_model_slot *slot, cop_bytes *out)
{
	cop_apprentice_summary is;
	cop_model_get_apprentice(slot->model, &is);
	if (!slot->shape.apprentice && is.observed == 0)
		return;
	cop_wire_put_text(out, "apprentice");
	size_t map = cop_wire_put_map_open(out);
	cop_wire_put_key_bool(out, "on", slot->shape.apprentice);
	cop_counters_put_status(cop_apprentice_body_counters, &is, out);
	for (size_t i = 0; i < FIGURES; i++) {
		double value = figure(&is, i);
		cop_wire_put_text(out, figures[i].key);
		if (isnan(value))
			cop_wire_put_nil(out);
		else
			cop_wire_put_double(out, value);
	}
	if (is.doubt != COP_APPRENTICE_SURE)
		cop_wire_put_key_text(out, "unknown", cop_apprentice_doubt_text(is.doubt));
	cop_wire_put_map_close(out, map);
}

void cop_apprentice_body_text(const cop_model *model, char out[COP_APPRENTICE_TEXT])
{
	cop_apprentice_summary is;
	size_t used = 0;
	cop_model_get_apprentice(model, &is);
	for (const cop_counter *row = cop_apprentice_body_counters; !cop_counters_is_end(row); row++)
		if (used < COP_APPRENTICE_TEXT)
			used += (size_t)snprintf(out + used, COP_APPRENTICE_TEXT - used, "%s%s=%" PRIu64,
			        used == 0 ? "" : " ", row->key, cop_counters_value(row, &is));
	for (size_t i = 0; i < FIGURES && used < COP_APPRENTICE_TEXT; i++) {
		double value = figure(&is, i);
		char text[32] = "unknown";
		if (!isnan(value))
			(void)snprintf(text, sizeof text, "%.6g", value);
		used += (size_t)snprintf(out + used, COP_APPRENTICE_TEXT - used, " %s=%s", figures[i].key, text);
	}
}

static const char *label(const cop_model_slot *slot, char out[COP_CONFIG_NAME_MAX + 16])
{
	(void)snprintf(out, COP_CONFIG_NAME_MAX + 16, "model=\"%s\"", slot->name);
	return out;
}

/* NaN, as Prometheus has it, where it is not known. */
static void put_figure(const cop_model_table *models, size_t which, cop_bytes *out)
{
	char labels[COP_CONFIG_NAME_MAX + 16];
	cop_exposition_family(out, figures[which].metric);
	for (size_t i = 0; i < models->count; i++) {
		cop_apprentice_summary is;
		cop_model_get_apprentice(models->items[i]->model, &is);
		cop_exposition_number(out, figures[which].metric, label(models->items[i], labels), figure(&is, which));
	}
}

void cop_apprentice_body_metrics(const cop_model_table *models, cop_bytes *out)
{
	char labels[COP_CONFIG_NAME_MAX + 16];
	cop_exposition_family(out, COP_METRIC(coppice_apprentice));
	for (size_t i = 0; i < models->count; i++)
		cop_exposition_whole(out, COP_METRIC(coppice_apprentice), label(models->items[i], labels),
		        models->items[i]->shape.apprentice);
	for (const cop_counter *row = cop_apprentice_body_counters; !cop_counters_is_end(row); row++) {
		cop_exposition_family(out, row->metric);
		for (size_t i = 0; i < models->count; i++) {
			const cop_model_slot *slot = models->items[i];
			cop_apprentice_summary is;
			cop_model_get_apprentice(slot->model, &is);
			cop_exposition_whole(out, row->metric, label(slot, labels),
			        cop_counters_value(row, &is) - cop_counters_value(row, &slot->apprentice_before));
		}
	}
	for (size_t which = 0; which < FIGURES; which++)
		if (figures[which].metric != NULL)
			put_figure(models, which, out);
}
