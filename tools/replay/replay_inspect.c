#include "replay_inspect.h"

#include <inttypes.h>
#include <math.h>

#include "replay_state.h"

static void show_text(const cop_replay_state *s, double average, FILE *out)
{
	(void)fprintf(out, "\nreplay\n  %-18s %" PRIu64 "\n", "events", s->events);
	(void)fprintf(out, "  %-18s %" PRIu64 "\n", "labelled", s->tally.seen.n + s->tally.held.n);
	if (!isnan(average))
		(void)fprintf(out, "  %-18s %.6f\n", "average loss", average);
	(void)fprintf(out, "  %-18s %s\n", "policy", s->exploring ? "exploring" : "greedy");
	(void)fprintf(out, "  %-18s %zu, %s\n", "features", cop_feature_space_dimension(s->space),
	        cop_feature_space_is_dense(s->space) ? "dense" : "hashed");
}

static void show_json(const cop_replay_state *s, double average, cop_json_writer *json)
{
	cop_json_key(json, "replay");
	cop_json_begin_object(json);
	cop_json_key(json, "events");
	cop_json_unsigned(json, s->events);
	cop_json_key(json, "labelled");
	cop_json_unsigned(json, s->tally.seen.n + s->tally.held.n);
	if (!isnan(average)) {
		cop_json_key(json, "progressive_loss");
		cop_json_number(json, average);
	}
	cop_json_key(json, "policy");
	cop_json_text(json, s->exploring ? "exploring" : "greedy");
	cop_json_key(json, "features_kind");
	cop_json_text(json, cop_feature_space_is_dense(s->space) ? "dense" : "hashed");
	cop_json_end_object(json);
}

cop_err cop_replay_inspect(const cop_section_file *file, FILE *out, cop_json_writer *json, cop_diag *diag)
{
	cop_replay_state state;
	cop_model_section section;
	if (cop_section_file_find(file, COP_REPLAY_SECTION, 0, UINT32_MAX, &section) == COP_ENOTFOUND)
		return COP_OK;
	cop_err err = cop_replay_state_peek(file, &state, diag);
	if (err != COP_OK)
		return err;
	double average = cop_estimates_average(&state.tally);
	if (json != NULL)
		show_json(&state, average, json);
	else
		show_text(&state, average, out);
	cop_replay_state_fini(&state);
	return COP_OK;
}
