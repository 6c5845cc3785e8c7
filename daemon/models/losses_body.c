/* Figures of the policy and of the control group are there where the model has or had one. A figure that is not known
 * is nil in status and NaN among the metrics. */
#include "daemon/models/losses_body.h"

#include <math.h>
#include <stdio.h>

#include "daemon/common/exposition.h"
#include "wire/wire_put.h"

enum { ALL, POLICY, CONTROL, GROUPS };
static const char *const groups[GROUPS] = { "all", "policy", "control" };

static bool compares(const cop_model_slot *slot) { return cop_model_control(slot->model)->terms.share > 0.0; }

static cop_named_summary get(const cop_model_slot *slot, size_t i)
{
	cop_named_summary is;
	cop_named_accounts_get(cop_model_named_losses(slot->model), &cop_model_get_settings(slot->model)->losses, i,
	        cop_control_returning(cop_model_control(slot->model)), &is);
	return is;
}

static const cop_unit_mean_figures *figures(const cop_named_summary *is, unsigned group)
{
	return group == ALL ? &is->all : &is->group[group - POLICY];
}

/* ---- status ---- */

static void put_known(cop_bytes *out, const char *key, double value)
{
	cop_wire_put_text(out, key);
	if (isnan(value))
		cop_wire_put_nil(out);
	else
		cop_wire_put_double(out, value);
}

static void put_figures(const cop_unit_mean_figures *is, cop_bytes *out)
{
	cop_wire_put_key_unsigned(out, "losses", is->n);
	put_known(out, "mean_loss", is->mean);
	cop_wire_put_key_double(out, "low", is->low);
	cop_wire_put_key_double(out, "high", is->high);
}

static void put_comparison(const cop_named_summary *is, cop_bytes *out)
{
	for (unsigned g = POLICY; g < GROUPS; g++) {
		cop_wire_put_text(out, groups[g]);
		size_t map = cop_wire_put_map_open(out);
		put_figures(figures(is, g), out);
		cop_wire_put_map_close(out, map);
	}
	put_known(out, "gain", is->gain);
	put_known(out, "gain_low", is->low);
	put_known(out, "gain_high", is->high);
}

void cop_losses_body_status(const cop_model_slot *slot, cop_bytes *out)
{
	size_t count = cop_model_named_losses(slot->model)->count;
	if (count == 0)
		return;
	cop_wire_put_text(out, "losses");
	cop_wire_put_array(out, count);
	for (size_t i = 0; i < count; i++) {
		const cop_named_summary is = get(slot, i);
		size_t map = cop_wire_put_map_open(out);
		cop_wire_put_key_text(out, "name", is.name);
		cop_wire_put_key_double(out, "weight", is.weight);
		cop_wire_put_text(out, "range");
		cop_wire_put_array(out, 2);
		cop_wire_put_double(out, is.range[0]);
		cop_wire_put_double(out, is.range[1]);
		put_figures(&is.all, out);
		if (compares(slot))
			put_comparison(&is, out);
		cop_wire_put_map_close(out, map);
	}
}

/* ---- metrics ---- */

typedef struct family {
	const cop_metric *metric;
	size_t offset; /* of a double */
} family;

static const family means[] = {
	{ COP_METRIC(coppice_named_mean_loss), offsetof(cop_unit_mean_figures, mean) },
	{ COP_METRIC(coppice_named_mean_loss_low), offsetof(cop_unit_mean_figures, low) },
	{ COP_METRIC(coppice_named_mean_loss_high), offsetof(cop_unit_mean_figures, high) },
};

static const family gains[] = {
	{ COP_METRIC(coppice_named_gain), offsetof(cop_named_summary, gain) },
	{ COP_METRIC(coppice_named_gain_low), offsetof(cop_named_summary, low) },
	{ COP_METRIC(coppice_named_gain_high), offsetof(cop_named_summary, high) },
};
#define ROWS(table) (sizeof(table) / sizeof *(table))
#define LABELS      (COP_CONFIG_NAME_MAX + COP_NAMED_LOSSES_NAME + 48)

static double number_at(const void *base, const family *row)
{
	return *(const double *)(const void *)((const char *)base + row->offset);
}

static void label(const cop_model_slot *slot, const cop_named_summary *is, const char *group, char out[LABELS])
{
	int used = snprintf(out, LABELS, "model=\"%s\",loss=\"%s\"", slot->name, is->name);
	if (group != NULL)
		(void)snprintf(out + used, LABELS - (size_t)used, ",group=\"%s\"", group);
}

/* row NULL: how many losses. */
static void put_groups(const cop_model_slot *slot, const cop_metric *metric, const family *row, cop_bytes *out)
{
	char labels[LABELS];
	unsigned shown = compares(slot) ? GROUPS : POLICY;
	for (size_t i = 0; i < cop_model_named_losses(slot->model)->count; i++) {
		const cop_named_summary is = get(slot, i);
		for (unsigned g = 0; g < shown; g++) {
			label(slot, &is, groups[g], labels);
			if (row == NULL)
				cop_exposition_whole(out, metric, labels, figures(&is, g)->n);
			else
				cop_exposition_number(out, metric, labels, number_at(figures(&is, g), row));
		}
	}
}

static void put_gains(const cop_model_slot *slot, const family *row, cop_bytes *out)
{
	char labels[LABELS];
	for (size_t i = 0; i < cop_model_named_losses(slot->model)->count && compares(slot); i++) {
		const cop_named_summary is = get(slot, i);
		label(slot, &is, NULL, labels);
		cop_exposition_number(out, row->metric, labels, number_at(&is, row));
	}
}

void cop_losses_body_metrics(const cop_model_table *models, cop_bytes *out)
{
	const cop_metric *count = COP_METRIC(coppice_named_losses);
	cop_exposition_family(out, count);
	for (size_t m = 0; m < models->count; m++)
		put_groups(models->items[m], count, NULL, out);
	for (size_t i = 0; i < ROWS(means); i++) {
		cop_exposition_family(out, means[i].metric);
		for (size_t m = 0; m < models->count; m++)
			put_groups(models->items[m], means[i].metric, &means[i], out);
	}
	for (size_t i = 0; i < ROWS(gains); i++) {
		cop_exposition_family(out, gains[i].metric);
		for (size_t m = 0; m < models->count; m++)
			put_gains(models->items[m], &gains[i], out);
	}
}
