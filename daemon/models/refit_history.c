/* An entry is made by whichever comes first, the worker's end or the record of its challenge. */
#include "daemon/models/refit_history.h"

#include <math.h>
#include <string.h>

static cop_refit_history_item *push(cop_refit_history *h)
{
	memmove(&h->item[1], &h->item[0], (COP_REFIT_HISTORY_MOST - 1) * sizeof *h->item);
	h->item[0] = (cop_refit_history_item){ .outcome = COP_WORKER_MADE };
	h->count += h->count < COP_REFIT_HISTORY_MOST;
	return &h->item[0];
}

static cop_refit_history_item *find(cop_refit_history *h, uint64_t number)
{
	for (size_t i = 0; i < h->count && number != 0; i++)
		if (h->item[i].number == number)
			return &h->item[i];
	return NULL;
}

void cop_refit_history_end(cop_refit_history *history, const cop_worker_line *end, double now, double seconds)
{
	cop_refit_history_item *item = find(history, end->number);
	if (item == NULL)
		item = push(history);
	item->time = now;
	item->seconds = seconds;
	item->processor = end->spent;
	item->outcome = end->outcome;
	item->number = end->number;
	memcpy(item->reason, end->text, sizeof item->reason - 1);
	size_t length = strnlen(item->reason, sizeof item->reason - 1);
	bool cut = strlen(end->text) > length;
	while (cut && length > 0 && (uint8_t)item->reason[length - 1] >= 0x80) /* a letter goes as a whole */
		length--;
	item->reason[length] = '\0';
}

/* The one in the shadow makes room for another. */
static void replace(cop_refit_history *h, double now)
{
	for (size_t i = 0; i < h->count; i++)
		if (h->item[i].last == COP_WIRE_PROMOTION_CHALLENGE) {
			h->item[i].last = COP_WIRE_PROMOTION_RETIRE;
			h->item[i].changed = now;
		}
}

static double known(double figure) { return isfinite(figure) ? figure : 0.0; }

void cop_refit_history_change(cop_refit_history *history, cop_wire_promotion kind, uint64_t number, double now,
        const cop_promotion_test_summary *evidence)
{
	if (number == 0 || kind == COP_WIRE_PROMOTION_NONE || kind >= COP_WIRE_PROMOTION_FREEZE)
		return;
	cop_refit_history_item *item = find(history, number);
	if (item == NULL) {
		item = push(history);
		item->number = number;
		item->time = now;
	}
	if (kind == COP_WIRE_PROMOTION_CHALLENGE)
		replace(history, now);
	if (kind == COP_WIRE_PROMOTION_RETIRE && item->last != COP_WIRE_PROMOTION_CHALLENGE)
		return; /* its predecessor went, or it was rolled back before */
	item->last = kind;
	item->changed = now;
	item->promoted = item->promoted || kind == COP_WIRE_PROMOTION_PROMOTE;
	if (kind == COP_WIRE_PROMOTION_CHALLENGE)
		return;
	item->verdict = evidence->verdict;
	item->events = evidence->events;
	item->value = known(evidence->value[COP_PROMOTION_TEST_DR]);
	item->low = known(evidence->low[COP_PROMOTION_TEST_DR]);
	item->high = known(evidence->high[COP_PROMOTION_TEST_DR]);
}

/* ---- saved ---- */

void cop_refit_history_save(const cop_refit_history *history, cop_bytes *out)
{
	if (history->count == 0)
		return;
	cop_bytes_put_u8(out, (uint8_t)history->count);
	for (size_t i = 0; i < history->count; i++) {
		const cop_refit_history_item *is = &history->item[i];
		const double figures[] = { is->time, is->seconds, is->processor, is->changed, is->value, is->low,
			is->high };
		cop_bytes_put_f64s(out, figures, sizeof figures / sizeof *figures);
		cop_bytes_put_u64(out, is->number);
		cop_bytes_put_u64(out, is->events);
		cop_bytes_put_u8(out, (uint8_t)is->outcome);
		cop_bytes_put_u8(out, (uint8_t)is->last);
		cop_bytes_put_u8(out, is->promoted);
		cop_bytes_put_u8(out, (uint8_t)is->verdict);
		cop_bytes_put_text(out, is->reason);
	}
}

static void load_item(cop_refit_history_item *is, cop_cursor *in)
{
	double figures[7];
	cop_cursor_f64s(in, figures, 7);
	*is = (cop_refit_history_item){ .number = cop_cursor_u64(in) };
	is->events = cop_cursor_u64(in);
	uint8_t outcome = cop_cursor_u8(in), last = cop_cursor_u8(in), promoted = cop_cursor_u8(in);
	uint8_t verdict = cop_cursor_u8(in);
	cop_cursor_text(in, is->reason, sizeof is->reason);
	bool sound = outcome < COP_WORKER_OUTCOMES && last < COP_WIRE_PROMOTION_FREEZE && promoted <= 1 &&
	             verdict <= COP_PROMOTION_TEST_WORSE;
	for (size_t i = 0; i < 7 && in->err == COP_OK; i++)
		sound = sound && isfinite(figures[i]);
	if (in->err == COP_OK && !sound)
		in->err = COP_EFORMAT;
	if (in->err != COP_OK)
		return;
	is->time = figures[0];
	is->seconds = figures[1];
	is->processor = figures[2];
	is->changed = figures[3];
	is->value = figures[4];
	is->low = figures[5];
	is->high = figures[6];
	is->outcome = (cop_worker_outcome)outcome;
	is->last = (cop_wire_promotion)last;
	is->promoted = promoted != 0;
	is->verdict = (cop_promotion_test_verdict)verdict;
}

void cop_refit_history_load(cop_refit_history *history, cop_cursor *in)
{
	*history = (cop_refit_history){ .count = 0 };
	if (in->err != COP_OK || cop_cursor_left(in) == 0)
		return;
	size_t count = cop_cursor_u8(in);
	if (count == 0 || count > COP_REFIT_HISTORY_MOST)
		in->err = COP_EFORMAT;
	for (size_t i = 0; i < count && in->err == COP_OK; i++)
		load_item(&history->item[i], in);
	history->count = in->err == COP_OK ? count : 0;
}
