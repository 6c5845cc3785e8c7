/* A family's samples stand together, as the format demands: for each family, one pass over all models. Evidence is a
 * table of gauges, each a function of a model's evidence; what is not known yet is NaN. Counters start at 0 with the
 * process, while evidence comes from the model's state. */
#include "daemon/report/refit_metrics.h"

#include <math.h>
#include <stdio.h>

#include "daemon/common/exposition.h"
#include "online/model_shadow.h"

#define LABELS (COP_CONFIG_NAME_MAX + 64)

static void put_ended(const cop_served_set *models, cop_bytes *out)
{
	static const char name[] = "coppice_refits_total";
	char labels[LABELS];
	cop_exposition_family(out, name, COP_EXPOSITION_COUNTER, "Refits that ended, by their outcome.");
	for (size_t i = 0; i < models->count * COP_WORKER_OUTCOMES; i++) {
		const cop_served *served = &models->items[i / COP_WORKER_OUTCOMES];
		cop_worker_outcome outcome = (cop_worker_outcome)(i % COP_WORKER_OUTCOMES);
		(void)snprintf(labels, sizeof labels, "model=\"%s\",outcome=\"%s\"", served->name,
		        cop_worker_outcome_text(outcome));
		cop_exposition_whole(out, name, labels, served->refit.outcomes[outcome]);
	}
}

static void put_enabled(const cop_served_set *models, cop_bytes *out)
{
	static const char name[] = "coppice_refits_enabled";
	char labels[LABELS];
	cop_exposition_family(out, name, COP_EXPOSITION_GAUGE, "1 where the model has refits.");
	for (size_t i = 0; i < models->count; i++) {
		(void)snprintf(labels, sizeof labels, "model=\"%s\"", models->items[i].name);
		cop_exposition_whole(out, name, labels, models->items[i].config->refit.enabled);
	}
}

static void put_spent(const cop_served_set *models, cop_bytes *out)
{
	static const char name[] = "coppice_refit_processor_seconds_total";
	char labels[LABELS];
	cop_exposition_family(out, name, COP_EXPOSITION_COUNTER, "Processor time of refits that ended.");
	for (size_t i = 0; i < models->count; i++) {
		(void)snprintf(labels, sizeof labels, "model=\"%s\"", models->items[i].name);
		cop_exposition_number(out, name, labels, models->items[i].refit.spent_total);
	}
}

static void put_promotions(const cop_served_set *models, cop_bytes *out)
{
	static const char name[] = "coppice_promotions_total";
	char labels[LABELS];
	cop_exposition_family(out, name, COP_EXPOSITION_COUNTER, "What became of challengers, by its kind.");
	for (size_t i = 0; i < models->count * COP_WIRE_PROMOTIONS; i++) {
		const cop_served *served = &models->items[i / COP_WIRE_PROMOTIONS];
		cop_wire_promotion kind = (cop_wire_promotion)(i % COP_WIRE_PROMOTIONS);
		(void)snprintf(
		        labels, sizeof labels, "model=\"%s\",kind=\"%s\"", served->name, cop_wire_promotion_text(kind));
		if (kind != COP_WIRE_PROMOTION_NONE)
			cop_exposition_whole(out, name, labels, served->refit.promotions[kind]);
	}
}

/* ---- evidence ---- */

static double shadow_of(const cop_model_evidence *is) { return is->shadow ? 1.0 : 0.0; }
static double serving_of(const cop_model_evidence *is) { return is->promoted ? 1.0 : 0.0; }
static double frozen_of(const cop_model_evidence *is) { return is->frozen ? 1.0 : 0.0; }
static double events_of(const cop_model_evidence *is) { return (double)is->summary.events; }
static double known(const cop_model_evidence *is, const double *value)
{
	return is->summary.events > 0 ? value[COP_PROMOTION_TEST_DR] : (double)NAN;
}
static double gain_of(const cop_model_evidence *is) { return known(is, is->summary.value); }
static double low_of(const cop_model_evidence *is) { return known(is, is->summary.low); }
static double high_of(const cop_model_evidence *is) { return known(is, is->summary.high); }
static double verdict_of(const cop_model_evidence *is)
{
	static const double values[] = {
		[COP_PROMOTION_TEST_OPEN] = 0.0, [COP_PROMOTION_TEST_BETTER] = 1.0, [COP_PROMOTION_TEST_WORSE] = -1.0
	};
	return values[is->summary.verdict];
}

static const struct {
	const char *name, *help;
	double (*of)(const cop_model_evidence *is);
} gauges[] = {
	{ "coppice_shadow_learners", "1 while a second learner runs in the shadow.", shadow_of },
	{ "coppice_challenger_serving", "1 while a promoted challenger serves.", serving_of },
	{ "coppice_frozen", "1 while the model does not learn.", frozen_of },
	{ "coppice_shadow_events", "Losses weighed for the learner in the shadow against the serving one.", events_of },
	{ "coppice_shadow_verdict", "On the learner in the shadow: 1 better, -1 worse, 0 open.", verdict_of },
	{ "coppice_shadow_gain", "By how much its mean loss is lower, of a loss_range of 1.", gain_of },
	{ "coppice_shadow_gain_low", "Lower end of the interval for coppice_shadow_gain.", low_of },
	{ "coppice_shadow_gain_high", "Upper end of the interval for coppice_shadow_gain.", high_of },
};

static void put_evidence(const cop_served_set *models, cop_bytes *out)
{
	char labels[LABELS];
	for (size_t row = 0; row < sizeof gauges / sizeof *gauges; row++) {
		cop_exposition_family(out, gauges[row].name, COP_EXPOSITION_GAUGE, gauges[row].help);
		for (size_t i = 0; i < models->count; i++) {
			cop_model_evidence is;
			cop_model_get_evidence(models->items[i].model, &is);
			(void)snprintf(labels, sizeof labels, "model=\"%s\"", models->items[i].name);
			cop_exposition_number(out, gauges[row].name, labels, gauges[row].of(&is));
		}
	}
}

void cop_refit_metrics_put(const cop_served_set *models, cop_bytes *out)
{
	put_enabled(models, out);
	put_ended(models, out);
	put_spent(models, out);
	put_promotions(models, out);
	put_evidence(models, out);
}
