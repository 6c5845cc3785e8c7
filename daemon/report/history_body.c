/* Every array has one entry for each interval of the model's timeline; a figure that is not known is nil. */
#include "daemon/report/history_body.h"

#include <math.h>

#include "wire/wire_put.h"

typedef double value_of(const cop_timeline_sums *item);

static double decisions_of(const cop_timeline_sums *item) { return (double)item->decisions; }
static double losses_of(const cop_timeline_sums *item) { return (double)item->losses; }

static double mean_loss_of(const cop_timeline_sums *item)
{
	return item->losses > 0 ? item->loss / (double)item->losses : (double)NAN;
}

/* Counts are whole numbers. */
static void put_series(const char *key, const cop_timeline *t, value_of *value, bool whole, cop_bytes *out)
{
	cop_wire_put_text(out, key);
	cop_wire_put_array(out, t->count);
	for (size_t i = 0; i < t->count; i++) {
		double is = value(&t->item[i]);
		if (isnan(is))
			cop_wire_put_nil(out);
		else if (whole)
			cop_wire_put_unsigned(out, (uint64_t)is);
		else
			cop_wire_put_double(out, is);
	}
}

static void put_arms(const cop_model_slot *slot, cop_bytes *out)
{
	const cop_timeline *t = &slot->timeline;
	cop_wire_put_text(out, "arms");
	cop_wire_put_array(out, t->arms);
	for (size_t k = 0; k < t->arms; k++) {
		size_t map = cop_wire_put_map_open(out);
		if (k < slot->config->arm_name_list.count)
			cop_wire_put_key_text(out, "arm", slot->config->arm_name_list.items[k]);
		cop_wire_put_text(out, "decisions");
		cop_wire_put_array(out, t->count);
		for (size_t i = 0; i < t->count; i++)
			cop_wire_put_unsigned(out, t->arm[i * t->arms + k]);
		if (slot->arm_baseline[k] > 0)
			cop_wire_put_key_unsigned(out, "baseline", slot->arm_baseline[k]);
		cop_wire_put_map_close(out, map);
	}
}

static void put_named_loss(const cop_timeline *t, size_t k, cop_bytes *out)
{
	const cop_loss_series *s = &t->named;
	size_t map = cop_wire_put_map_open(out);
	cop_wire_put_key_text(out, "name", s->names.weights.name[k]);
	cop_wire_put_text(out, "losses");
	cop_wire_put_array(out, t->count);
	for (size_t i = 0; i < t->count; i++)
		cop_wire_put_unsigned(out, s->item[i * s->count + k].count);
	cop_wire_put_text(out, "mean_loss");
	cop_wire_put_array(out, t->count);
	for (size_t i = 0; i < t->count; i++) {
		const cop_loss_sum *is = &s->item[i * s->count + k];
		if (is->count > 0)
			cop_wire_put_double(out, is->sum / (double)is->count);
		else
			cop_wire_put_nil(out);
	}
	cop_wire_put_map_close(out, map);
}

static void put_named_losses(const cop_timeline *t, cop_bytes *out)
{
	if (t->named.count == 0)
		return;
	cop_wire_put_text(out, "named_losses");
	cop_wire_put_array(out, t->named.count);
	for (size_t k = 0; k < t->named.count; k++)
		put_named_loss(t, k, out);
}

/* Of decisions since the process began that a baseline did not make. */
static void put_propensities(const cop_model_slot *slot, cop_bytes *out)
{
	cop_timeline_sums is;
	cop_model_slot_sums(slot, &is);
	cop_wire_put_text(out, "propensities");
	size_t map = cop_wire_put_map_open(out);
	cop_wire_put_key_double(out, "least", slot->least_p);
	cop_wire_put_key_double(out, "mean_weight", is.weights / (double)is.weighed);
	cop_wire_put_key_double(out, "effective_share", cop_timeline_effective_share(&is));
	cop_wire_put_map_close(out, map);
}

static void put_duration(const char *key, const cop_histogram *of, cop_bytes *out)
{
	uint64_t count = cop_histogram_count(of);
	cop_wire_put_text(out, key);
	size_t map = cop_wire_put_map_open(out);
	cop_wire_put_key_unsigned(out, "count", count);
	if (count > 0) {
		cop_wire_put_key_double(out, "p50", cop_histogram_quantile(of, 0.5));
		cop_wire_put_key_double(out, "p99", cop_histogram_quantile(of, 0.99));
	}
	cop_wire_put_map_close(out, map);
}

static void put_durations(const cop_report *report, cop_bytes *out)
{
	const cop_durability *durable = report->durable;
	cop_wire_put_text(out, "durations");
	size_t map = cop_wire_put_map_open(out);
	put_duration("decide", &report->serving->decide_durations, out);
	if (durable->journal != NULL)
		put_duration("journal_sync", &cop_journaler_get_counts(durable->journal)->sync_durations, out);
	put_duration("checkpoint", &durable->checkpoint.durations, out);
	cop_wire_put_map_close(out, map);
}

void cop_history_body_put(const cop_report *report, const cop_model_slot *slot, const cop_wire_seq *seq, cop_bytes *out)
{
	const cop_timeline *t = &slot->timeline;
	size_t map = cop_wire_put_map_open(out);
	cop_wire_put_key_text(out, "model", slot->name);
	cop_wire_put_key_double(out, "began", report->born + (t->began - report->started));
	cop_wire_put_key_double(out, "interval", t->interval);
	put_series("decisions", t, decisions_of, true, out);
	put_series("losses", t, losses_of, true, out);
	put_series("mean_loss", t, mean_loss_of, false, out);
	put_series("effective_share", t, cop_timeline_effective_share, false, out);
	if (t->arms > 0)
		put_arms(slot, out);
	put_named_losses(t, out);
	if (slot->least_p > 0.0)
		put_propensities(slot, out);
	put_durations(report, out);
	cop_wire_seq_put(out, seq);
	cop_wire_put_map_close(out, map);
}
