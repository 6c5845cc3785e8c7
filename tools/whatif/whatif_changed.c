/* Keys are those of the answer's `changes`; ids are written as the journal has them. */
#include "whatif_changed.h"

#include <string.h>

#include "tools/common/command.h"
#include "wire/wire_past.h"

cop_err cop_whatif_changed_open(
        cop_whatif_changed *changed, const char *path, const cop_model_settings *set, cop_diag *diag)
{
	*changed = (cop_whatif_changed){ .low = set->value_low };
	if (cop_learner_plays_values(&set->learner))
		changed->width = set->value_high - set->value_low;
	cop_bytes_init(&changed->line);
	return cop_stream_open_replace(path, &changed->out, diag);
}

static void put_id(cop_json_writer *json, const cop_event_id *id)
{
	char text[COP_WIRE_PAST_PREFIX];
	uint64_t word = 0;
	size_t length;
	switch ((cop_event_id_kind)id->kind) {
	case COP_EVENT_ID_STRING:
	case COP_EVENT_ID_BINARY:
		length = cop_wire_past_spell(id, text);
		cop_json_put_text_length(json, "id", text, length);
		if (id->kind == COP_EVENT_ID_BINARY)
			cop_json_put_boolean(json, "binary", true);
		return;
	case COP_EVENT_ID_UNSIGNED:
		memcpy(&word, id->bytes, sizeof word);
		cop_json_put_unsigned(json, "id", word);
		return;
	case COP_EVENT_ID_NEGATIVE:
		memcpy(&word, id->bytes, sizeof word);
		cop_json_put_integer(json, "id", (int64_t)word);
		return;
	}
}

static void put_action(const cop_whatif_changed *changed, const cop_whatif_seen *seen, cop_json_writer *json)
{
	if (changed->width > 0.0) {
		cop_json_put_number(json, "was", changed->low + changed->width * seen->best_value[0]);
		cop_json_put_number(json, "would", changed->low + changed->width * seen->best_value[1]);
		return;
	}
	cop_json_put_unsigned(json, "was", seen->best[0]);
	cop_json_put_unsigned(json, "would", seen->best[1]);
	cop_json_put_unsigned(json, "played", seen->action);
	cop_json_put_number(json, "p", seen->p);
}

cop_err cop_whatif_changed_put(
        cop_whatif_changed *changed, const cop_event_id *id, const cop_whatif_seen *seen, double loss)
{
	cop_json_writer *json;
	cop_err err = cop_command_json_begin(true, &json);
	if (err != COP_OK)
		return err;
	put_id(json, id);
	cop_json_put_number(json, "t", seen->time);
	cop_json_put_unsigned(json, "record", seen->record);
	put_action(changed, seen, json);
	cop_json_put_number(json, "loss", loss);
	cop_bytes_clear(&changed->line);
	err = cop_command_json_line(json, &changed->line);
	return err == COP_OK ? cop_stream_write(changed->out, changed->line.data, changed->line.length) : err;
}

cop_err cop_whatif_changed_close(cop_whatif_changed *changed, bool keep, cop_diag *diag)
{
	cop_err err = COP_OK;
	if (keep)
		err = cop_stream_close(changed->out, diag);
	else
		cop_stream_free(changed->out);
	cop_bytes_fini(&changed->line);
	changed->out = NULL;
	return err;
}
