#include <stddef.h>
#include <string.h>

#include "base/json.h"
#include "simulation.h"
#include "tools/common/command.h"

void cop_sim_print_rows(const cop_sim_settings *set, const cop_dataset *data, size_t arms)
{
	if (set->progress == NULL)
		return;
	(void)fprintf(set->progress, "%zu rows, %s%zu features, ", data->n, data->sparse ? "hashed to " : "", data->d);
	if (set->values)
		(void)fprintf(set->progress, "target %g to %g\n", set->target_low, set->target_high);
	else
		(void)fprintf(set->progress, "%zu arms\n", arms);
}

static const struct {
	const char *name;
	size_t offset;
} refit_figures[] = {
	{ "made", offsetof(cop_sim_refit_counts, made) },
	{ "nothing", offsetof(cop_sim_refit_counts, nothing) },
	{ "worse", offsetof(cop_sim_refit_counts, worse) },
	{ "refused", offsetof(cop_sim_refit_counts, refused) },
	{ "drifted", offsetof(cop_sim_refit_counts, drifted) },
	{ "promoted", offsetof(cop_sim_refit_counts, promoted) },
	{ "rolled_back", offsetof(cop_sim_refit_counts, rolled_back) },
	{ "retired", offsetof(cop_sim_refit_counts, retired) },
};
#define REFIT_FIGURES (sizeof refit_figures / sizeof *refit_figures)

static uint64_t refit_figure(const cop_sim_refit_counts *counts, size_t i)
{
	uint64_t count;
	memcpy(&count, (const char *)counts + refit_figures[i].offset, sizeof count);
	return count;
}

static void put_refits(cop_json_writer *json, const cop_sim_refit_counts *counts)
{
	cop_json_key(json, "refits");
	cop_json_begin_object(json);
	for (size_t i = 0; i < REFIT_FIGURES; i++) {
		cop_json_key(json, refit_figures[i].name);
		cop_json_unsigned(json, refit_figure(counts, i));
	}
	cop_json_end_object(json);
}

cop_err cop_sim_print_json(const cop_sim_settings *set, const cop_sim_result *r)
{
	cop_json_writer *json;
	cop_err err = cop_json_writer_new(COP_JSON_COMPACT, &json);
	if (err != COP_OK)
		return err;
	cop_json_begin_object(json);
	cop_json_key(json, "events");
	cop_json_unsigned(json, r->events);
	cop_json_key(json, "progressive_loss");
	cop_json_number(json, r->progressive_loss);
	if (set->holdout != NULL) {
		cop_json_key(json, set->values ? "holdout_rmse" : "holdout_accuracy");
		cop_json_number(json, r->holdout);
	}
	cop_json_key(json, "events_per_second");
	cop_json_number(json, (double)r->events / r->seconds);
	cop_json_key(json, "seconds");
	cop_json_number(json, r->seconds);
	if (r->refitted)
		put_refits(json, &r->refits);
	if (r->curve_count > 0) {
		cop_json_key(json, "curve");
		cop_json_begin_array(json);
		for (size_t i = 0; i < r->curve_count; i++) {
			cop_json_begin_object(json);
			cop_json_key(json, "events");
			cop_json_unsigned(json, r->curve[i].events);
			cop_json_key(json, "progressive_loss");
			cop_json_number(json, r->curve[i].average);
			cop_json_key(json, "loss_since_last");
			cop_json_number(json, r->curve[i].since);
			if (set->holdout != NULL) {
				cop_json_key(json, set->values ? "holdout_rmse" : "holdout_accuracy");
				cop_json_number(json, r->curve[i].holdout);
			}
			cop_json_end_object(json);
		}
		cop_json_end_array(json);
	}
	return cop_command_json(json);
}

void cop_sim_print_text(const cop_sim_settings *set, const cop_sim_result *r)
{
	const char *holdout = set->values ? "holdout RMSE" : "holdout accuracy";
	if (r->curve_count > 0)
		(void)printf("%12s %12s %12s%s%s\n", "events", "average loss", "since last",
		        set->holdout != NULL ? "  " : "", set->holdout != NULL ? holdout : "");
	for (size_t i = 0; i < r->curve_count; i++) {
		(void)printf("%12llu %12.6f %12.6f", (unsigned long long)r->curve[i].events, r->curve[i].average,
		        r->curve[i].since);
		if (set->holdout != NULL)
			(void)printf("  %.6f", r->curve[i].holdout);
		(void)putchar('\n');
	}
	(void)printf("events            %llu\n", (unsigned long long)r->events);
	(void)printf("progressive loss  %.6f\n", r->progressive_loss);
	if (set->holdout != NULL)
		(void)printf("%-17s %.6f\n", holdout, r->holdout);
	(void)printf("events per second %.0f\n", (double)r->events / r->seconds);
	if (r->refitted)
		(void)printf("refits           ");
	for (size_t i = 0; r->refitted && i < REFIT_FIGURES; i++)
		(void)printf(" %s %llu", refit_figures[i].name, (unsigned long long)refit_figure(&r->refits, i));
	if (r->refitted)
		(void)putchar('\n');
}
