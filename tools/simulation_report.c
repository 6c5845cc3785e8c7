#include "base/json.h"
#include "simulation.h"
#include "command.h"

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

void cop_sim_print_json(const cop_sim_settings *set, const cop_sim_result *r)
{
	cop_json_writer *json;
	if (cop_json_writer_new(COP_JSON_COMPACT, &json) != COP_OK)
		return;
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
	(void)cop_command_json(json);
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
}
