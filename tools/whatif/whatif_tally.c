/* A decision that waits has what was seen of it as its body in the table. */
#include "whatif_tally.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

static cop_offpolicy_event event_of(const cop_whatif_seen *s, int policy, double cost)
{
	return (cop_offpolicy_event){
		.p = s->p,
		.cost = cost,
		.weight = 1.0,
		.target = s->target[policy],
		.target_max = s->target_max[policy],
		.has_model = true,
		.model_logged = s->q[policy],
		.model_target = s->m[policy],
	};
}

/* Nothing but what was played is known of it. */
static cop_offpolicy_event plain_event(double cost)
{
	return (cop_offpolicy_event){ .p = 1.0, .cost = cost, .weight = 1.0, .target = 1.0, .target_max = 1.0 };
}

static cop_err add_estimates(cop_whatif_figures *f, const cop_whatif_seen *s, double cost)
{
	const cop_offpolicy_event a = s->estimated ? event_of(s, 0, cost) : plain_event(cost);
	cop_err err = cop_offpolicy_add(&f->was, &a);
	if (err != COP_OK || !s->estimated)
		return err;
	const cop_offpolicy_event b = event_of(s, 1, cost);
	cop_offpolicy_event common = b;
	common.model_logged = s->q[0];
	common.model_target = s->common;
	err = cop_offpolicy_add(&f->would, &b);
	return err == COP_OK ? cop_offpolicy_pair_add(&f->gain, &common, &a, s->distance) : err;
}

void cop_whatif_tally_count(cop_whatif_figures *f, const cop_event_id *id, const cop_whatif_seen *s, double cost)
{
	if (add_estimates(f, s, cost) != COP_OK) {
		f->bad++;
		return;
	}
	double moved = fabs(s->best_value[1] - s->best_value[0]);
	f->moved += moved;
	const bool changed = f->values ? moved * COP_WHATIF_CLOSE > 1.0 : s->best[0] != s->best[1];
	f->changed += changed;
	if (changed && f->lines != NULL && f->unwritten == COP_OK)
		f->unwritten = cop_whatif_changed_put(f->lines, id, s, cost);
	if (f->arms > 0 && s->best[0] < f->arms && s->best[1] < f->arms)
		f->change[s->best[0] * f->arms + s->best[1]]++;
	f->first = f->events == 0 ? s->time : fmin(f->first, s->time);
	f->last = f->events == 0 ? s->time : fmax(f->last, s->time);
	f->events++;
}

/* ---- decisions that wait ---- */

void cop_whatif_tally_fini(cop_whatif_tally_waiting *w)
{
	for (cop_open_decisions_entry *entry = w->spare; entry != NULL;) {
		cop_open_decisions_entry *next = entry->younger;
		cop_mem_free(entry);
		entry = next;
	}
	w->spare = NULL;
	cop_open_decisions_fini(&w->open);
}

static void spare(cop_whatif_tally_waiting *w, cop_open_decisions_entry *entry)
{
	entry->younger = w->spare;
	w->spare = entry;
}

static cop_open_decisions_entry *make_entry(
        cop_whatif_tally_waiting *w, const cop_event_id *id, const cop_whatif_seen *seen)
{
	cop_open_decisions_entry *entry = w->spare;
	if (entry == NULL)
		return cop_open_decisions_entry_new(id, (const uint8_t *)seen, sizeof *seen);
	w->spare = entry->younger;
	entry->younger = NULL;
	cop_open_decisions_entry_name(entry, id);
	memcpy(entry->body, seen, sizeof *seen);
	return entry;
}

cop_err cop_whatif_tally_keep(cop_whatif_tally_waiting *w, const cop_event_id *id, const cop_whatif_seen *seen)
{
	cop_open_decisions_entry *entry = cop_open_decisions_find(&w->open, id);
	if (entry != NULL) { /* of what was left out of the journal */
		cop_open_decisions_remove(&w->open, entry);
		spare(w, entry);
	}
	entry = make_entry(w, id, seen);
	if (entry == NULL)
		return COP_ENOMEM;
	cop_err err = cop_open_decisions_add(&w->open, entry);
	if (err != COP_OK)
		spare(w, entry);
	return err;
}

/* losses: 0, it ended without any. */
static void end(
        cop_whatif_tally_waiting *w, const cop_event_id *id, const double *loss, unsigned losses, cop_whatif_figures *f)
{
	cop_open_decisions_entry *entry = cop_open_decisions_find(&w->open, id);
	cop_whatif_seen seen;
	if (entry == NULL)
		return;
	memcpy(&seen, entry->body, sizeof seen);
	cop_open_decisions_remove(&w->open, entry);
	spare(w, entry);
	if (losses > 0)
		cop_whatif_tally_count(f, id, &seen, losses == 2 ? (loss[0] + loss[1]) / 2.0 : loss[0]);
}

void cop_whatif_tally_end(
        cop_whatif_tally_waiting *w, cop_wire_record_type type, const cop_wire_record *rec, cop_whatif_figures *f)
{
	cop_wire_settled rest = rec->settled;
	cop_wire_settlement is;
	while (cop_wire_settled_next(&rest, &is))
		end(w, &is.id, is.loss, cop_wire_settled_learned(is.outcome) ? is.losses : 0, f);
	if (type == COP_WIRE_RECORD_FEEDBACK && rec->result == COP_WIRE_APPLIED && (rec->joined || !rec->has_x))
		end(w, &rec->id, rec->loss, rec->losses, f);
}
