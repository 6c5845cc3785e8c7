/* Needs are in order of their record's sequence number, so releasing a prefix of the journal removes a prefix of the
 * list. Marks are pairs (next record, decisions so far) in rising order; when the table is full every other one goes,
 * so memory is bounded and the window begins at most one mark too early, never too late. */
#include "daemon/models/refit_state.h"

#include <string.h>

#include "base/mem.h"

#define MOST_NEEDS 1000000 /* read from a file */

void cop_refit_state_init(cop_refit_state *state) { *state = (cop_refit_state){ 0 }; }

void cop_refit_state_fini(cop_refit_state *state)
{
	cop_refit_controller_fini(&state->controller);
	cop_mem_free(state->need);
	cop_refit_state_init(state);
}

void cop_refit_state_configure(cop_refit_state *state, const cop_config_refit *config)
{
	(void)!cop_refit_controller_detect(
	        &state->controller, config->enabled ? cop_config_drift_text(config->on_drift) : "none");
}

void cop_refit_state_sync(cop_refit_state *state, const cop_model *model)
{
	const cop_model_counters *c = cop_model_get_counters(model);
	cop_refit_controller_sync(&state->controller, c->learned, c->loss_sum);
}

void cop_refit_state_watch(cop_refit_state *state, const cop_model *model)
{
	const cop_model_counters *c = cop_model_get_counters(model);
	const cop_model_settings *s = cop_model_get_settings(model);
	cop_refit_controller_watch(&state->controller, c->learned, c->loss_sum, s->loss_low, s->loss_high);
}

/* ---- challengers ---- */

cop_err cop_refit_state_need(cop_refit_state *state, uint64_t sequence, uint64_t number)
{
	cop_refit_need *need = cop_mem_resize(state->need, state->needs, state->needs + 1, sizeof *need);
	if (need == NULL)
		return COP_ENOMEM;
	state->need = need;
	need[state->needs++] = (cop_refit_need){ sequence, number };
	return COP_OK;
}

void cop_refit_state_release(cop_refit_state *state, uint64_t from)
{
	size_t gone = 0;
	while (gone < state->needs && state->need[gone].sequence < from)
		gone++;
	state->needs -= gone;
	if (gone > 0)
		memmove(state->need, state->need + gone, state->needs * sizeof *state->need);
}

bool cop_refit_state_needs(const cop_refit_state *state, uint64_t number)
{
	bool needed = number == state->controller.current;
	for (size_t i = 0; i < state->needs && !needed; i++)
		needed = state->need[i].number == number;
	return needed;
}

/* ---- the window ---- */

static uint64_t first_of(uint64_t decisions, uint64_t window) { return decisions > window ? decisions - window : 0; }

/* The last mark that lies before the window; marks: there is none. */
static size_t mark_before(const cop_refit_state *state, uint64_t first)
{
	size_t at = state->marks;
	for (size_t i = 0; i < state->marks && state->mark[i].decisions <= first; i++)
		at = i;
	return at;
}

void cop_refit_state_mark(cop_refit_state *state, uint64_t next, uint64_t decisions, uint64_t window)
{
	size_t before = mark_before(state, first_of(decisions, window));
	if (before < state->marks && before > 0) {
		state->marks -= before;
		memmove(state->mark, state->mark + before, state->marks * sizeof *state->mark);
	}
	if (state->marks > 0 && state->mark[state->marks - 1].decisions == decisions)
		return;
	if (state->marks == COP_REFIT_STATE_MARKS) { /* every other one */
		for (size_t i = 0; i < COP_REFIT_STATE_MARKS / 2; i++)
			state->mark[i] = state->mark[2 * i];
		state->marks /= 2;
	}
	state->mark[state->marks++] = (cop_refit_mark){ next, decisions };
}

uint64_t cop_refit_state_window(const cop_refit_state *state, uint64_t decisions, uint64_t window)
{
	size_t before = mark_before(state, first_of(decisions, window));
	return before < state->marks ? state->mark[before].next : 0;
}

void cop_refit_state_replace(cop_refit_state *state, const cop_refit_state *from)
{
	cop_refit_controller *c = &state->controller;
	const cop_refit_controller *was = &from->controller;
	c->number = was->number > c->number ? was->number : c->number;
	c->began = was->began;
	c->spent = was->spent;
	c->asked = was->asked;
	c->failures = was->failures;
	c->not_before = was->not_before;
	state->history = from->history;
}

/* ---- saved ---- */

bool cop_refit_state_used(const cop_refit_state *state)
{
	const cop_refit_controller *c = &state->controller;
	return c->detector != NULL || c->number > 0 || c->began > 0.0 || state->needs > 0 || state->history.count > 0;
}

void cop_refit_state_save(const cop_refit_state *state, cop_bytes *out)
{
	const cop_refit_controller *c = &state->controller;
	cop_bytes_put_u64(out, c->learned);
	cop_bytes_put_u64(out, c->after);
	cop_bytes_put_f64(out, c->began);
	cop_bytes_put_f64(out, c->spent);
	cop_bytes_put_u64(out, c->number);
	cop_bytes_put_u64(out, c->current);
	cop_bytes_put_u64(out, c->taken);
	cop_bytes_put_u8(out, c->drifted);
	cop_bytes_put_u64(out, state->needs);
	for (size_t i = 0; i < state->needs; i++) {
		cop_bytes_put_u64(out, state->need[i].sequence);
		cop_bytes_put_u64(out, state->need[i].number);
	}
	cop_bytes_put_u64(out, state->marks);
	for (size_t i = 0; i < state->marks; i++) {
		cop_bytes_put_u64(out, state->mark[i].next);
		cop_bytes_put_u64(out, state->mark[i].decisions);
	}
	cop_bytes_put_u8(out, c->detector != NULL);
	if (c->detector != NULL)
		cop_change_save(c->detector, out);
	cop_refit_history_save(&state->history, out);
}

static cop_err load_needs(cop_refit_state *state, cop_cursor *in)
{
	uint64_t count = cop_cursor_u64(in);
	if (count > MOST_NEEDS || count * sizeof(cop_refit_need) > cop_cursor_left(in))
		return COP_EFORMAT;
	state->need = cop_mem_alloc((size_t)count, sizeof *state->need);
	if (state->need == NULL)
		return COP_ENOMEM;
	state->needs = (size_t)count;
	for (size_t i = 0; i < state->needs; i++) {
		state->need[i].sequence = cop_cursor_u64(in);
		state->need[i].number = cop_cursor_u64(in);
	}
	return in->err;
}

static cop_err load_marks(cop_refit_state *state, cop_cursor *in)
{
	uint64_t count = cop_cursor_u64(in);
	if (count > COP_REFIT_STATE_MARKS)
		return COP_EFORMAT;
	state->marks = (size_t)count;
	for (size_t i = 0; i < state->marks; i++) {
		state->mark[i].next = cop_cursor_u64(in);
		state->mark[i].decisions = cop_cursor_u64(in);
	}
	return in->err;
}

cop_err cop_refit_state_load(cop_refit_state *state, cop_cursor *in)
{
	cop_refit_controller *c = &state->controller;
	cop_refit_state_fini(state);
	c->learned = cop_cursor_u64(in);
	c->after = cop_cursor_u64(in);
	c->began = cop_cursor_f64(in);
	c->spent = cop_cursor_f64(in);
	c->number = cop_cursor_u64(in);
	c->current = cop_cursor_u64(in);
	c->taken = cop_cursor_u64(in);
	c->drifted = cop_cursor_u8(in) != 0;
	cop_err err = in->err;
	if (err == COP_OK)
		err = load_needs(state, in);
	if (err == COP_OK)
		err = load_marks(state, in);
	if (err == COP_OK && cop_cursor_u8(in) != 0)
		err = cop_change_load(in, &c->detector);
	if (err == COP_OK) {
		cop_refit_history_load(&state->history, in);
		err = in->err;
	}
	if (err != COP_OK)
		cop_refit_state_fini(state);
	return err;
}
