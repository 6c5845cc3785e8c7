/* An id of bytes is marked, since JSON spells it like a text of its digits. */
#include "daemon/report/past_body.h"

#include <stdlib.h>
#include <string.h>

#include "wire/wire_context.h"
#include "wire/wire_put.h"

static void put_losses(const double *loss, unsigned losses, cop_bytes *out)
{
	cop_wire_put_text(out, "loss");
	if (losses == 1) {
		cop_wire_put_double(out, loss[0]);
		return;
	}
	cop_wire_put_array(out, losses);
	for (unsigned i = 0; i < losses; i++)
		cop_wire_put_double(out, loss[i]);
}

static void put_named(const cop_past_fate_named *named, cop_bytes *out)
{
	const cop_wire_named view = { named->pairs, named->length, named->count };
	if (named->count == 0)
		return;
	cop_wire_put_text(out, "losses");
	cop_wire_named_put(out, &view);
}

/* One that waits has no name in the journal: it is of today's. */
static bool is_of_today(const cop_config_model *model, const cop_past_search_found *found)
{
	return found->stored[0] == '\0' || strcmp(found->stored, model->stored) == 0;
}

static void put_action(const cop_config_model *model, const cop_past_search_found *found, cop_bytes *out)
{
	const double low = model->set.value_low, high = model->set.value_high;
	if (found->has_value)
		cop_wire_put_key_double(out, "y", low + found->value * (high - low));
	if (found->has_arm) {
		cop_wire_put_key_unsigned(out, "a", found->arm);
		if (found->arm < model->arm_name_list.count && is_of_today(model, found))
			cop_wire_put_key_text(out, "arm", model->arm_name_list.items[found->arm]);
	}
	if (found->has_p)
		cop_wire_put_key_double(out, "p", found->p);
	if (found->by != COP_WIRE_BY_POLICY)
		cop_wire_put_key_text(out, "by", cop_wire_split_maker_text(found->by));
	if (found->limit != COP_WIRE_LIMIT_NONE)
		cop_wire_put_key_text(out, "limit", cop_wire_split_limit_text(found->limit));
}

void cop_past_body_put_life(const cop_config_model *model, const cop_past_search_found *found, cop_bytes *out)
{
	const char *mark = strchr(found->stored, '#');
	if (!is_of_today(model, found))
		cop_wire_put_key_unsigned(out, "life", mark == NULL ? 0 : strtoul(mark + 1, NULL, 10));
}

void cop_past_body_put_found(const cop_config_model *model, const cop_past_search_found *found, cop_bytes *out)
{
	cop_wire_put_text(out, "id");
	cop_wire_id_put(out, &found->id);
	if (found->id.kind == COP_EVENT_ID_BINARY)
		cop_wire_put_key_bool(out, "binary", true);
	put_action(model, found, out);
	cop_wire_put_key_double(out, "t", found->time);
	if (found->sequence != 0)
		cop_wire_put_key_unsigned(out, "record", found->sequence);
	cop_past_body_put_life(model, found, out);
}

static void put_feedback(const cop_past_fate_feedback *feedback, cop_bytes *out)
{
	size_t map = cop_wire_put_map_open(out);
	cop_wire_put_key_double(out, "t", feedback->time);
	put_losses(feedback->loss, feedback->losses, out);
	put_named(&feedback->named, out);
	cop_wire_put_key_text(out, "result", cop_wire_result_text(feedback->result));
	cop_wire_put_map_close(out, map);
}

static void put_end(const cop_past_fate *fate, cop_bytes *out)
{
	cop_wire_put_text(out, "ended");
	size_t map = cop_wire_put_map_open(out);
	cop_wire_put_key_text(out, "how", fate->how);
	cop_wire_put_key_double(out, "t", fate->time);
	if (fate->losses > 0)
		put_losses(fate->loss, fate->losses, out);
	put_named(&fate->named, out);
	cop_wire_put_map_close(out, map);
}

void cop_past_body_put_fate(const cop_past_fate *fate, cop_bytes *out)
{
	if (fate->ended || fate->waits)
		cop_wire_put_key_bool(out, "waits", fate->waits);
	if (fate->feedbacks > 0) {
		cop_wire_put_text(out, "feedback");
		cop_wire_put_array(out, fate->feedbacks);
		for (size_t i = 0; i < fate->feedbacks; i++)
			put_feedback(&fate->feedback[i], out);
	}
	if (fate->ended)
		put_end(fate, out);
}

void cop_past_body_put_search(
        const cop_config_model *model, const cop_past_search *search, const cop_past_fate *fates, cop_bytes *out)
{
	cop_wire_put_text(out, "decisions");
	cop_wire_put_array(out, search->count);
	for (size_t i = 0; i < search->count; i++) {
		size_t map = cop_wire_put_map_open(out);
		cop_past_body_put_found(model, &search->found[i], out);
		cop_past_body_put_fate(&fates[i], out);
		cop_wire_put_map_close(out, map);
	}
	cop_wire_put_text(out, "looked");
	size_t map = cop_wire_put_map_open(out);
	cop_wire_put_key_unsigned(out, "records", search->looked);
	if (search->to != 0) {
		cop_wire_put_key_unsigned(out, "from", search->from);
		cop_wire_put_key_unsigned(out, "to", search->to);
		cop_wire_put_key_double(out, "since", search->since);
	}
	cop_wire_put_map_close(out, map);
	if (search->more != 0)
		cop_wire_put_key_unsigned(out, "more", search->more);
}
