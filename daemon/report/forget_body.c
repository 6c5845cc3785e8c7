/* Every map is opened and closed with cop_wire_put_map_open and cop_wire_put_map_close, which count its entries. Orders
 * are carried out by rising numbers, so that one below the order under way is done. */
#include "daemon/report/forget_body.h"

#include "wire/wire_put.h"

static void put_report(const cop_forget_report *r, bool group, cop_bytes *out)
{
	size_t count = r->models < COP_FORGET_REPORT_MODELS ? r->models : COP_FORGET_REPORT_MODELS;
	cop_wire_put_text(out, "models");
	cop_wire_put_array(out, count);
	for (size_t i = 0; i < count; i++) {
		size_t model = cop_wire_put_map_open(out);
		cop_wire_put_key_text(out, "name", r->of[i].name);
		cop_wire_put_key_unsigned(out, "decisions", r->of[i].decisions);
		cop_wire_put_key_unsigned(out, "feedback", r->of[i].feedback);
		cop_wire_put_key_double(out, "first", r->of[i].first_time);
		cop_wire_put_key_double(out, "last", r->of[i].last_time);
		cop_wire_put_key_bool(out, "relearned", r->again[i]);
		cop_wire_put_map_close(out, model);
	}
	cop_wire_put_key_unsigned(out, "records", r->records);
	cop_wire_put_key_unsigned(out, "waiting", r->waiting);
	cop_wire_put_key_unsigned(out, "contexts", r->contexts);
	cop_wire_put_key_unsigned(out, "segments", r->segments);
	cop_wire_put_key_unsigned(out, "checkpoints", r->checkpoints);
	cop_wire_put_key_unsigned(out, "refits", r->refits);
	cop_wire_put_key_unsigned(out, "refits_serving", r->refits_serving);
	cop_wire_put_key_bool(out, "relearned", r->relearned);
	if (r->relearned)
		cop_wire_put_key_unsigned(out, "from", r->from);
	else
		cop_wire_put_key_text(out, "why", r->why);
	if (group) {
		cop_wire_put_key_unsigned(out, "followers", r->followers);
		cop_wire_put_key_unsigned(out, "followers_left", r->followers_left);
	}
	cop_wire_put_key_unsigned(out, "parked", r->parked);
	cop_wire_put_key_double(out, "seconds", r->seconds);
}

void cop_forget_body_status(const cop_forgetting *f, cop_bytes *out)
{
	cop_wire_put_text(out, "forget");
	size_t map = cop_wire_put_map_open(out);
	cop_wire_put_key_text(out, "state", cop_forgetting_state_text(f->state));
	cop_wire_put_key_unsigned(out, "orders", f->waiting);
	if (f->waiting > 0)
		cop_wire_put_key_unsigned(out, "order", f->order.number);
	cop_wire_put_key_unsigned(out, "done", f->done);
	cop_wire_put_key_unsigned(out, "failed", f->failed);
	if (f->reason[0] != '\0')
		cop_wire_put_key_text(out, "reason", f->reason);
	if (f->done > 0) {
		cop_wire_put_text(out, "last");
		size_t last = cop_wire_put_map_open(out);
		cop_wire_put_key_unsigned(out, "order", f->last.order);
		put_report(&f->last, f->durable->config->replica_given, out);
		cop_wire_put_map_close(out, last);
	}
	cop_wire_put_map_close(out, map);
}

void cop_forget_body_order(const cop_forgetting *f, uint64_t number, const cop_wire_seq *seq, cop_bytes *out)
{
	bool under_way = f->waiting > 0 && number >= f->order.number;
	size_t map = cop_wire_put_map_open(out);
	cop_wire_put_key_unsigned(out, "order", number);
	cop_wire_put_key_bool(out, "done", !under_way);
	if (under_way)
		cop_wire_put_key_text(
		        out, "state", number > f->order.number ? "waiting" : cop_forgetting_state_text(f->state));
	if (under_way && f->reason[0] != '\0')
		cop_wire_put_key_text(out, "reason", f->reason);
	if (!under_way && f->last.order == number)
		put_report(&f->last, f->durable->config->replica_given, out);
	cop_wire_seq_put(out, seq);
	cop_wire_put_map_close(out, map);
}
