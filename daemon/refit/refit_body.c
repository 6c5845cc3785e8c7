/* Orders are decoded completely before anything is done. A promotion by number is two events, a challenge and a
 * promotion, each with its own record; the reply waits for the later one, and the challenge stays if the promotion is
 * refused. Any other order that is refused changes nothing. */
#include "daemon/refit/refit_body.h"

#include <inttypes.h>
#include <math.h>

#include "base/mem.h"
#include "daemon/common/clock.h"
#include "daemon/durable/challenger.h"
#include "daemon/durable/healing.h"
#include "daemon/durable/promotion.h"
#include "online/model_shadow.h"
#include "wire/wire_put.h"

/* ---- verbs ---- */

cop_err cop_refit_body_decode(const void *body, size_t length, cop_refit_order *order, cop_wire_fault *fault)
{
	static const char *const names[] = { "n", "on", "seq" };
	cop_wire_cursor cursor;
	cop_wire_keys keys;
	unsigned which;
	*order = (cop_refit_order){ .slot = order->slot, .on = true };
	if (length == 0)
		return COP_OK;
	cop_wire_cursor_init(&cursor, body, length);
	cop_err err = cop_wire_keys_open(&keys, &cursor, names, 3, fault);
	while (err == COP_OK && (err = cop_wire_keys_next(&keys, &which)) == COP_OK) {
		if (which == 2) {
			err = cop_wire_read_seq(&cursor, &order->seq, fault);
			continue;
		}
		err = which == 0 ? cop_wire_cursor_unsigned(&cursor, &order->number)
		                 : cop_wire_cursor_bool(&cursor, &order->on);
		order->has_number |= which == 0;
		if (err != COP_OK)
			err = cop_wire_refuse(fault, COP_WIRE_BAD_REQUEST, err, &cursor, names[which],
			        which == 0 ? "a challenger's number" : "a boolean");
	}
	return err == COP_EEND ? COP_OK : err;
}

cop_err cop_refit_body_refit(cop_refits *refits, cop_refit_order *order, cop_bytes *out, cop_wire_fault *fault)
{
	cop_refits_answer answer = cop_refits_ask(refits, order->slot);
	if (answer == COP_REFITS_OFF)
		return cop_wire_fault_set(fault, COP_WIRE_FORBIDDEN,
		        "refit: off for this model (%s); expected one whose refits are on, and a journal",
		        cop_refits_why_text(refits, order->slot));
	size_t map = cop_wire_put_map_open(out);
	cop_wire_put_key_text(out, "state", cop_refits_answer_text(answer));
	cop_wire_seq_put(out, &order->seq);
	cop_wire_put_map_close(out, map);
	return COP_OK;
}

static cop_err refuse(const cop_durability *durable, cop_err err, const cop_diag *why, cop_wire_fault *fault)
{
	cop_wire_code code = err == COP_ENOMEM                                ? COP_WIRE_INTERNAL
	                     : err == COP_EIO && !cop_healing_stands(durable) ? COP_WIRE_NOT_DURABLE
	                                                                      : COP_WIRE_BAD_REQUEST;
	char text[sizeof why->message + sizeof why->source];
	cop_diag_text(why, text, sizeof text);
	(void)cop_wire_fault_set(fault, code, "%.300s", text);
	return err;
}

static cop_err promote(
        cop_refits *refits, cop_refit_order *order, cop_wire_promotion kind, uint64_t number, cop_wire_fault *fault)
{
	cop_diag why = { 0 };
	const cop_promotion p = { .durable = refits->durable, .slot = order->slot, .by = "hand" };
	cop_err err = cop_promotion_do(&p, kind, number, &order->sequence, &why);
	return err == COP_OK ? COP_OK : refuse(refits->durable, err, &why, fault);
}

static cop_err answer(
        cop_refits *refits, cop_refit_order *order, cop_wire_promotion kind, cop_bytes *out, cop_wire_fault *fault)
{
	const cop_model_slot *slot = order->slot;
	cop_err err = promote(refits, order, kind, 0, fault);
	if (err != COP_OK)
		return err;
	size_t map = cop_wire_put_map_open(out);
	cop_wire_put_key_text(out, "kind", cop_wire_promotion_text(kind));
	cop_wire_put_key_unsigned(out, "rev", cop_model_learner(slot->model)->rev);
	if (slot->refit.controller.current != 0)
		cop_wire_put_key_unsigned(out, "n", slot->refit.controller.current);
	cop_wire_seq_put(out, &order->seq);
	cop_wire_put_map_close(out, map);
	return COP_OK;
}

/* What cannot be looked at is for the promotion to tell. */
static bool is_kept(const cop_refits *refits, const cop_refit_order *order)
{
	uint64_t *all = NULL;
	size_t count = 0;
	cop_diag why;
	if (cop_challenger_list(refits->durable->config->state_dir, order->slot->stored, &all, &count, &why) != COP_OK)
		return true;
	bool kept = false;
	for (size_t i = 0; i < count; i++)
		kept |= all[i] == order->number;
	cop_mem_free(all);
	return kept;
}

cop_err cop_refit_body_promote(cop_refits *refits, cop_refit_order *order, cop_bytes *out, cop_wire_fault *fault)
{
	cop_promotion_test_roles roles;
	const cop_model_slot *slot = order->slot;
	if (slot->config->refit.promote == COP_PROMOTE_NEVER)
		return cop_wire_fault_set(
		        fault, COP_WIRE_FORBIDDEN, "promote: the model's section refit has promote = never");
	cop_model_shadow_roles(slot->model, &roles);
	bool there = roles.shadow && !roles.promoted && order->number == slot->refit.controller.current;
	if (order->has_number && !there && !is_kept(refits, order))
		return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST,
		        "promote: model \"%s\" has no challenger %" PRIu64
		        "; expected one of those in status (refit.kept)",
		        slot->name, order->number);
	cop_err err = order->has_number && !there
	                      ? promote(refits, order, COP_WIRE_PROMOTION_CHALLENGE, order->number, fault)
	                      : COP_OK;
	return err == COP_OK ? answer(refits, order, COP_WIRE_PROMOTION_PROMOTE, out, fault) : err;
}

cop_err cop_refit_body_rollback(cop_refits *refits, cop_refit_order *order, cop_bytes *out, cop_wire_fault *fault)
{
	return answer(refits, order, COP_WIRE_PROMOTION_ROLLBACK, out, fault);
}

cop_err cop_refit_body_freeze(cop_refits *refits, cop_refit_order *order, cop_bytes *out, cop_wire_fault *fault)
{
	return answer(refits, order, order->on ? COP_WIRE_PROMOTION_FREEZE : COP_WIRE_PROMOTION_THAW, out, fault);
}

/* ---- status ---- */

static void put_running(const cop_refits *r, cop_bytes *out)
{
	const cop_worker_line *said = &r->process.last;
	bool loading = cop_refits_is_loading(r);
	cop_wire_put_key_double(out, "seconds", cop_clock_monotonic() - r->began);
	cop_wire_put_key_double(out, "progress", loading ? 1.0 : said->share);
	cop_wire_put_key_text(out, "text", loading ? "taking in" : said->text);
	if (!loading)
		cop_wire_put_key_unsigned(out, "pid", (uint64_t)r->process.side.pid);
}

static void put_last(const cop_refit_state *s, cop_bytes *out)
{
	cop_wire_put_key_text(out, "last", cop_worker_outcome_text(s->last.outcome));
	cop_wire_put_key_text(out, "last_reason", s->last.text);
	cop_wire_put_key_double(out, "last_time", s->last_time);
	cop_wire_put_key_double(out, "last_seconds", s->last_seconds);
	cop_wire_put_key_double(out, "last_processor", s->last.spent);
}

static const char *const verdicts[] = { "open", "better", "worse" };

/* What became of a challenger. */
static void put_fate(const cop_refit_history_item *is, cop_bytes *out)
{
	static const char *const states[COP_WIRE_PROMOTIONS] = {
		[COP_WIRE_PROMOTION_CHALLENGE] = "shadow",
		[COP_WIRE_PROMOTION_PROMOTE] = "promoted",
		[COP_WIRE_PROMOTION_ROLLBACK] = "rolled back",
		[COP_WIRE_PROMOTION_RETIRE] = "retired",
	};
	cop_wire_put_key_text(out, "state", states[is->last]);
	cop_wire_put_key_double(out, "changed", is->changed);
	cop_wire_put_key_bool(out, "promoted", is->promoted);
	if (is->last == COP_WIRE_PROMOTION_CHALLENGE)
		return;
	cop_wire_put_key_text(out, "verdict", verdicts[is->verdict]);
	cop_wire_put_key_unsigned(out, "events", is->events);
	if (is->events == 0)
		return;
	cop_wire_put_key_double(out, "gain", is->value);
	cop_wire_put_key_double(out, "low", is->low);
	cop_wire_put_key_double(out, "high", is->high);
}

static void put_history(const cop_refit_state *s, cop_bytes *out)
{
	cop_wire_put_text(out, "history");
	cop_wire_put_array(out, s->history.count);
	for (size_t i = 0; i < s->history.count; i++) {
		const cop_refit_history_item *is = &s->history.item[i];
		size_t map = cop_wire_put_map_open(out);
		cop_wire_put_key_double(out, "time", is->time);
		cop_wire_put_key_text(out, "outcome", cop_worker_outcome_text(is->outcome));
		cop_wire_put_key_text(out, "reason", is->reason);
		cop_wire_put_key_double(out, "seconds", is->seconds);
		cop_wire_put_key_double(out, "processor", is->processor);
		if (is->number != 0)
			cop_wire_put_key_unsigned(out, "n", is->number);
		if (is->last != COP_WIRE_PROMOTION_NONE)
			put_fate(is, out);
		cop_wire_put_map_close(out, map);
	}
	cop_wire_put_text(out, "kept");
	cop_wire_put_array(out, s->kept_count);
	for (size_t i = 0; i < s->kept_count; i++)
		cop_wire_put_unsigned(out, s->kept[i]);
}

static void put_refit(const cop_refits *refits, const cop_model_slot *slot, cop_bytes *out)
{
	const cop_refit_state *s = &slot->refit;
	uint64_t ended = 0, bad = 0;
	for (unsigned i = 0; i < COP_WORKER_OUTCOMES; i++) {
		ended += s->outcomes[i];
		bad += cop_worker_outcome_bad((cop_worker_outcome)i) ? s->outcomes[i] : 0;
	}
	const cop_refit_controller *c = &s->controller;
	uint64_t learned = cop_model_get_counters(slot->model)->learned;
	double pause = c->failures == 0 ? 0.0 : fmax(c->not_before - cop_clock_monotonic(), 0.0);
	cop_wire_put_text(out, "refit");
	size_t map = cop_wire_put_map_open(out);
	cop_wire_put_key_text(out, "state", cop_refits_state_text(refits, slot));
	cop_wire_put_key_text(out, "why", refits->running == slot ? "" : cop_refits_why_text(refits, slot));
	cop_wire_put_key_double(out, "rest", fmax(cop_refits_rested(refits) - refits->durable->time, 0.0));
	cop_wire_put_key_unsigned(out, "ended", ended);
	cop_wire_put_key_unsigned(out, "failed", bad);
	cop_wire_put_key_unsigned(out, "fresh", cop_refit_controller_fresh(c, learned));
	cop_wire_put_key_bool(out, "drift", c->drifted);
	cop_wire_put_key_double(out, "pause", pause);
	if (refits->running == slot)
		put_running(refits, out);
	if (s->has_last)
		put_last(s, out);
	put_history(s, out);
	cop_wire_put_map_close(out, map);
}

static void put_evidence(const cop_promotion_test_summary *e, cop_bytes *out)
{
	cop_wire_put_key_unsigned(out, "events", e->events);
	cop_wire_put_key_text(out, "verdict", verdicts[e->verdict]);
	if (e->events == 0)
		return;
	cop_wire_put_key_double(out, "gain", e->value[COP_PROMOTION_TEST_DR]);
	cop_wire_put_key_double(out, "low", e->low[COP_PROMOTION_TEST_DR]);
	cop_wire_put_key_double(out, "high", e->high[COP_PROMOTION_TEST_DR]);
	cop_wire_put_key_double(out, "effective_sample_size", e->effective_sample_size);
}

static void put_challenger(const cop_model_slot *slot, const cop_model_evidence *is, cop_bytes *out)
{
	cop_wire_put_text(out, "challenger");
	size_t map = cop_wire_put_map_open(out);
	cop_wire_put_key_text(out, "state", is->promoted ? "serving" : is->shadow ? "shadow" : "none");
	cop_wire_put_key_bool(out, "frozen", is->frozen);
	cop_wire_put_key_unsigned(out, "challenges", is->challenges);
	if (slot->refit.controller.current != 0)
		cop_wire_put_key_unsigned(out, "n", slot->refit.controller.current);
	if (is->shadow) {
		cop_wire_put_key_unsigned(out, "shadow_rev", is->rev);
		put_evidence(&is->summary, out);
	}
	cop_wire_put_map_close(out, map);
}

void cop_refit_body_status(const cop_refits *refits, const cop_model_slot *slot, cop_bytes *out)
{
	cop_model_evidence is;
	cop_model_get_evidence(slot->model, &is);
	put_refit(refits, slot, out);
	if (is.challenges > 0 || is.frozen)
		put_challenger(slot, &is, out);
}
