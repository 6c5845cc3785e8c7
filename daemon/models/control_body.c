/* Tables say which figures of a group, and of both together, are shown under which key and as which metric. A
 * figure that is not known is nil in status and NaN on the page. */
#include "daemon/models/control_body.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "daemon/common/exposition.h"
#include "daemon/models/arm_label.h"
#include "wire/wire_put.h"

static const char *const groups[] = { "policy", "control" };

typedef struct shown {
	const char *key;
	const cop_metric *metric;
	size_t offset;
} shown;

/* Of a group. */
static const shown losses[] = {
	{ "mean_loss", COP_METRIC(coppice_holdout_mean_loss), offsetof(cop_control_figures, loss) },
	{ "low", COP_METRIC(coppice_holdout_mean_loss_low), offsetof(cop_control_figures, low) },
	{ "high", COP_METRIC(coppice_holdout_mean_loss_high), offsetof(cop_control_figures, high) },
};

static const shown gains[] = {
	{ "gain", COP_METRIC(coppice_holdout_gain), offsetof(cop_control_summary, gain) },
	{ "low", COP_METRIC(coppice_holdout_gain_low), offsetof(cop_control_summary, low) },
	{ "high", COP_METRIC(coppice_holdout_gain_high), offsetof(cop_control_summary, high) },
};
#define ROWS(table) (sizeof(table) / sizeof *(table))

static double figure(const void *base, const shown *row)
{
	return *(const double *)(const void *)((const char *)base + row->offset);
}

/* In units of loss_range: of a difference, or of a loss. */
static double scaled(const cop_model_slot *slot, double value, bool difference)
{
	const cop_model_settings *s = cop_model_get_settings(slot->model);
	return (difference ? 0.0 : s->loss_low) + value * (s->loss_high - s->loss_low);
}

static bool is_used(const cop_model_slot *slot) { return cop_model_control(slot->model)->terms.share > 0.0; }

static void put_known(cop_bytes *out, const char *key, double value)
{
	cop_wire_put_text(out, key);
	if (isnan(value))
		cop_wire_put_nil(out);
	else
		cop_wire_put_double(out, value);
}

static void put_baseline(int64_t baseline, cop_bytes *out)
{
	cop_wire_put_text(out, "baseline");
	if (baseline == COP_CONTROL_UNIFORM)
		cop_wire_put_text(out, "uniform");
	else if (baseline == COP_CONTROL_CALLER)
		cop_wire_put_text(out, "caller");
	else
		cop_wire_put_unsigned(out, (uint64_t)baseline);
}

static void put_group(const cop_model_slot *slot, const cop_control_figures *group, cop_bytes *out)
{
	size_t map = cop_wire_put_map_open(out);
	cop_wire_put_key_unsigned(out, "decisions", group->decisions);
	cop_wire_put_key_unsigned(out, "losses", group->losses);
	for (size_t i = 0; i < ROWS(losses); i++)
		put_known(out, losses[i].key, scaled(slot, figure(group, &losses[i]), false));
	put_known(out, "told", group->told);
	cop_wire_put_map_close(out, map);
}

static size_t count_arms(const cop_model_slot *slot) { return cop_model_constant_arms(slot->model)->count; }

/* Of the decisions beside a control group, or of those without one. */
static cop_constant_gain arm_gain(const cop_model_slot *slot, size_t k, bool beside)
{
	cop_constant_gain is;
	if (beside)
		cop_constant_arms_get(cop_model_constant_arms(slot->model), k, &is);
	else
		cop_arm_gains_get(cop_model_arm_gains(slot->model), k, &is);
	return is;
}

/* Whether the arms are compared by what is decided beside a control group now. */
static bool is_beside(const cop_model_slot *slot) { return cop_model_get_settings(slot->model)->holdout > 0.0; }

/* A map for each arm, in their order. */
static void put_arms(const cop_model_slot *slot, const char *key, bool beside, cop_bytes *out)
{
	if (count_arms(slot) == 0)
		return;
	cop_wire_put_text(out, key);
	cop_wire_put_array(out, count_arms(slot));
	for (size_t k = 0; k < count_arms(slot); k++) {
		const cop_constant_gain is = arm_gain(slot, k, beside);
		size_t map = cop_wire_put_map_open(out);
		if (k < slot->config->arm_name_list.count)
			cop_wire_put_key_text(out, "arm", slot->config->arm_name_list.items[k]);
		cop_wire_put_key_unsigned(out, "losses", is.losses);
		cop_wire_put_key_double(out, "effective_sample_size", is.effective);
		put_known(out, "gain", scaled(slot, is.gain, true));
		put_known(out, "low", scaled(slot, is.low, true));
		put_known(out, "high", scaled(slot, is.high, true));
		cop_wire_put_map_close(out, map);
	}
}

void cop_control_body_status(const cop_model_slot *slot, cop_bytes *out)
{
	cop_control_summary is;
	const cop_control *control = cop_model_control(slot->model);
	if (!is_beside(slot) && !slot->config->apprentice)
		put_arms(slot, "arm_gains", false, out);
	if (!is_used(slot))
		return;
	cop_control_summarise(control, &is);
	cop_wire_put_text(out, "holdout");
	size_t map = cop_wire_put_map_open(out);
	cop_wire_put_key_double(out, "share", control->terms.share);
	put_baseline(control->terms.baseline, out);
	cop_wire_put_key_double(out, "since", control->since);
	for (size_t i = 0; i < ROWS(gains); i++)
		put_known(out, gains[i].key, scaled(slot, figure(&is, &gains[i]), true));
	for (size_t g = 0; g < 2; g++) {
		cop_wire_put_text(out, groups[g]);
		put_group(slot, &is.group[g], out);
	}
	put_arms(slot, "arms", true, out);
	if (control->terms.allowance < 1.0)
		cop_wire_put_key_double(out, "conservative", scaled(slot, control->terms.allowance, true));
	cop_wire_put_key_unsigned(out, "kept", is.kept);
	cop_wire_put_key_unsigned(out, "units", is.units);
	cop_wire_put_key_unsigned(out, "units_held", is.held);
	cop_wire_put_key_double(out, "odds", is.odds);
	cop_wire_put_key_bool(out, "suspicious", is.suspicious);
	cop_wire_put_key_bool(out, "uneven", is.uneven);
	cop_wire_put_map_close(out, map);
}

/* ---- metrics ---- */

#define LABELS (COP_CONFIG_NAME_MAX + 40)

static const char *label(const cop_model_slot *slot, const char *group, char out[LABELS])
{
	(void)snprintf(out, LABELS, group != NULL ? "model=\"%s\",group=\"%s\"" : "model=\"%s\"", slot->name, group);
	return out;
}

/* One sample of a family, of a model or of one of its groups (both: g is 0 and 1). */
typedef void put_sample(
        const cop_model_slot *slot, const cop_control_summary *is, size_t g, const shown *row, cop_bytes *out);

static void put_gain(
        const cop_model_slot *slot, const cop_control_summary *is, size_t g, const shown *row, cop_bytes *out)
{
	char labels[LABELS];
	if (g == 0)
		cop_exposition_number(out, row->metric, label(slot, NULL, labels), scaled(slot, figure(is, row), true));
}

static void put_loss(
        const cop_model_slot *slot, const cop_control_summary *is, size_t g, const shown *row, cop_bytes *out)
{
	char labels[LABELS];
	cop_exposition_number(
	        out, row->metric, label(slot, groups[g], labels), scaled(slot, figure(&is->group[g], row), false));
}

static void put_count(
        const cop_model_slot *slot, const cop_control_summary *is, size_t g, const shown *row, cop_bytes *out)
{
	char labels[LABELS];
	const void *at = (const char *)&is->group[g] + row->offset;
	cop_exposition_whole(out, row->metric, label(slot, groups[g], labels), *(const uint64_t *)at);
}

static void put_whole(
        const cop_model_slot *slot, const cop_control_summary *is, size_t g, const shown *row, cop_bytes *out)
{
	char labels[LABELS];
	const void *at = (const char *)is + row->offset;
	if (g == 0)
		cop_exposition_whole(out, row->metric, label(slot, NULL, labels), *(const uint64_t *)at);
}

static void put_share(
        const cop_model_slot *slot, const cop_control_summary *is, size_t g, const shown *row, cop_bytes *out)
{
	char labels[LABELS];
	cop_exposition_number(out, row->metric, label(slot, groups[g], labels), figure(&is->group[g], row));
}

static void put_odds(
        const cop_model_slot *slot, const cop_control_summary *is, size_t g, const shown *row, cop_bytes *out)
{
	char labels[LABELS];
	if (g == 0)
		cop_exposition_number(out, row->metric, label(slot, NULL, labels), figure(is, row));
}

static void put_flag(
        const cop_model_slot *slot, const cop_control_summary *is, size_t g, const shown *row, cop_bytes *out)
{
	char labels[LABELS];
	const void *at = (const char *)is + row->offset;
	if (g == 0)
		cop_exposition_whole(out, row->metric, label(slot, NULL, labels), *(const bool *)at);
}

static const shown counts[] = {
	{ NULL, COP_METRIC(coppice_holdout_decisions), offsetof(cop_control_figures, decisions) },
	{ NULL, COP_METRIC(coppice_holdout_losses), offsetof(cop_control_figures, losses) },
};
static const shown wholes[] = {
	{ NULL, COP_METRIC(coppice_holdout_kept_decisions), offsetof(cop_control_summary, kept) },
	{ NULL, COP_METRIC(coppice_holdout_units), offsetof(cop_control_summary, units) },
	{ NULL, COP_METRIC(coppice_holdout_units_held), offsetof(cop_control_summary, held) },
};
static const shown shares[] = {
	{ NULL, COP_METRIC(coppice_holdout_told_share), offsetof(cop_control_figures, told) },
};
static const shown odds[] = {
	{ NULL, COP_METRIC(coppice_holdout_split_odds), offsetof(cop_control_summary, odds) },
};
static const shown flags[] = {
	{ NULL, COP_METRIC(coppice_holdout_told_unevenly), offsetof(cop_control_summary, uneven) },
};

static void put_families(
        const cop_model_table *models, const shown *rows, size_t count, put_sample *put, cop_bytes *out)
{
	for (size_t k = 0; k < count; k++) {
		cop_exposition_family(out, rows[k].metric);
		for (size_t i = 0; i < 2 * models->count; i++) {
			const cop_model_slot *slot = models->items[i / 2];
			cop_control_summary is;
			if (!is_used(slot))
				continue;
			cop_control_summarise(cop_model_control(slot->model), &is);
			put(slot, &is, i % 2, &rows[k], out);
		}
	}
}

static const shown constants[] = {
	{ NULL, COP_METRIC(coppice_constant_gain), offsetof(cop_constant_gain, gain) },
	{ NULL, COP_METRIC(coppice_constant_gain_low), offsetof(cop_constant_gain, low) },
	{ NULL, COP_METRIC(coppice_constant_gain_high), offsetof(cop_constant_gain, high) },
	{ NULL, COP_METRIC(coppice_constant_effective_sample_size), offsetof(cop_constant_gain, effective) },
};

static size_t shown_arms(const cop_model_slot *slot) { return slot->config->apprentice ? 0 : count_arms(slot); }

/* Of all models' arms in a row, in units of loss_range: each takes a search for its bounds. NULL: no memory. */
static cop_constant_gain *find_gains(const cop_model_table *models)
{
	size_t count = 0;
	for (size_t m = 0; m < models->count; m++)
		count += shown_arms(models->items[m]);
	cop_constant_gain *all = cop_mem_alloc(count, sizeof *all), *at = all;
	for (size_t m = 0; m < models->count && all != NULL; m++) {
		const cop_model_slot *slot = models->items[m];
		for (size_t k = 0; k < shown_arms(slot); k++, at++) {
			*at = arm_gain(slot, k, is_beside(slot));
			at->gain = scaled(slot, at->gain, true);
			at->low = scaled(slot, at->low, true);
			at->high = scaled(slot, at->high, true);
		}
	}
	return all;
}

static void put_constant(
        const cop_model_table *models, const cop_constant_gain *gains_of_arms, const shown *row, cop_bytes *out)
{
	char labels[COP_ARM_LABEL_ROOM];
	cop_exposition_family(out, row->metric);
	for (size_t m = 0; m < models->count; m++)
		for (size_t k = 0; k < shown_arms(models->items[m]); k++, gains_of_arms++) {
			cop_arm_label(models->items[m], k, labels);
			cop_exposition_number(out, row->metric, labels, figure(gains_of_arms, row));
		}
}

static void put_constants(const cop_model_table *models, cop_bytes *out)
{
	cop_constant_gain *all = find_gains(models);
	if (all == NULL) {
		out->err = COP_ENOMEM;
		return;
	}
	for (size_t i = 0; i < ROWS(constants); i++)
		put_constant(models, all, &constants[i], out);
	cop_mem_free(all);
}

void cop_control_body_metrics(const cop_model_table *models, cop_bytes *out)
{
	put_families(models, counts, ROWS(counts), put_count, out);
	put_families(models, wholes, ROWS(wholes), put_whole, out);
	put_families(models, losses, ROWS(losses), put_loss, out);
	put_families(models, gains, ROWS(gains), put_gain, out);
	put_families(models, shares, ROWS(shares), put_share, out);
	put_families(models, odds, ROWS(odds), put_odds, out);
	put_families(models, flags, ROWS(flags), put_flag, out);
	put_constants(models, out);
}

/* ---- the log ---- */

void cop_control_body_look(cop_model_slot *slot, cop_log *log)
{
	cop_control_summary is;
	if (!is_used(slot))
		return;
	cop_control_summarise(cop_model_control(slot->model), &is);
	int sign = is.suspicious ? 0 : is.low > 0.0 ? 1 : is.high < 0.0 ? -1 : 0;
	double gain = scaled(slot, is.gain, true), low = scaled(slot, is.low, true), high = scaled(slot, is.high, true);
	if (sign != slot->gain_told && sign > 0)
		cop_log_line(log, COP_LOG_EVENT(gain_sure), "model=%s gain=%.6g low=%.6g high=%.6g", slot->name, gain,
		        low, high);
	else if (sign != slot->gain_told && sign < 0)
		cop_log_line(log, COP_LOG_EVENT(gain_negative), "model=%s gain=%.6g low=%.6g high=%.6g", slot->name,
		        gain, low, high);
	slot->gain_told = sign;
	if (is.suspicious && !slot->split_told)
		cop_log_line(log, COP_LOG_EVENT(split_suspicious),
		        "model=%s units=%" PRIu64 " held=%" PRIu64 " share=%.6g", slot->name, is.units, is.held,
		        cop_model_control(slot->model)->terms.share);
	slot->split_told = is.suspicious;
	if (is.uneven && !slot->uneven_told)
		cop_log_line(log, COP_LOG_EVENT(told_unevenly), "model=%s policy=%.6g control=%.6g", slot->name,
		        is.group[0].told, is.group[1].told);
	slot->uneven_told = is.uneven;
}
