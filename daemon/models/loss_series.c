/* Rows are intervals, columns names. Whatever is joined, a column's sum is what was counted since it began. */
#include "daemon/models/loss_series.h"

#include <string.h>

#include "base/mem.h"

void cop_loss_series_fini(cop_loss_series *series)
{
	cop_mem_free(series->item);
	*series = (cop_loss_series){ .count = 0 };
}

/* The other one's column of the same name and range; COP_NAMED_LOSSES_MOST: there is none. */
static size_t find(const cop_loss_series *in, const cop_named_losses *names, size_t i)
{
	const char *name = names->weights.name[i];
	double is[2], was[2];
	size_t at = cop_named_losses_find(&in->names.weights, name, strlen(name));
	if (at >= in->count)
		return COP_NAMED_LOSSES_MOST;
	cop_named_losses_range(names, i, &is[0], &is[1]);
	cop_named_losses_range(&in->names, at, &was[0], &was[1]);
	return is[0] == was[0] && is[1] == was[1] ? at : COP_NAMED_LOSSES_MOST;
}

void cop_loss_series_follow(cop_loss_series *series, const cop_loss_series *from)
{
	for (size_t i = 0; i < series->count; i++) {
		size_t at = find(from, &series->names, i);
		if (at >= from->count)
			continue;
		series->past[i] = from->past[at];
		for (size_t row = 0; row < COP_LOSS_SERIES_MOST; row++)
			series->item[row * series->count + i] = from->item[row * from->count + at];
	}
}

void cop_loss_series_name(cop_loss_series *series, const cop_named_losses *names)
{
	cop_loss_series next = { .names = *names, .count = (size_t)names->weights.count };
	if (memcmp(&series->names, names, sizeof *names) == 0)
		return;
	next.item = next.count == 0 ? NULL : cop_mem_alloc(COP_LOSS_SERIES_MOST * next.count, sizeof *next.item);
	if (next.item == NULL)
		next.count = 0;
	cop_loss_series_follow(&next, series);
	cop_loss_series_fini(series);
	*series = next;
}

void cop_loss_series_sums(
        const cop_named_accounts *accounts, const cop_named_losses *names, cop_loss_sum out[COP_NAMED_LOSSES_MOST])
{
	memset(out, 0, COP_NAMED_LOSSES_MOST * sizeof *out);
	for (size_t i = 0; i < accounts->count; i++) {
		cop_named_summary is;
		cop_named_accounts_get(accounts, names, i, false, &is);
		if (is.all.n > 0)
			out[i] = (cop_loss_sum){ is.all.n, (double)is.all.n * is.all.mean };
	}
}

void cop_loss_series_begin(cop_loss_series *series, const cop_loss_sum *sums)
{
	for (size_t i = 0; i < series->count; i++)
		series->past[i] = sums[i];
}

void cop_loss_series_shift(cop_loss_series *series, const cop_loss_sum *was, const cop_loss_sum *now)
{
	for (size_t i = 0; i < series->count; i++) {
		series->past[i].count += now[i].count - was[i].count; /* whatever is greater */
		series->past[i].sum += now[i].sum - was[i].sum;
	}
}

void cop_loss_series_push(cop_loss_series *series, size_t at, const cop_loss_sum *sums)
{
	for (size_t i = 0; i < series->count; i++) {
		cop_loss_sum *item = &series->item[at * series->count + i], *past = &series->past[i];
		*item = (cop_loss_sum){ 0 };
		if (sums == NULL || sums[i].count == past->count)
			continue;
		*item = (cop_loss_sum){ sums[i].count - past->count, sums[i].sum - past->sum };
		*past = sums[i];
	}
}

void cop_loss_series_join(cop_loss_series *series)
{
	for (size_t row = 0; row < COP_LOSS_SERIES_MOST; row++)
		for (size_t i = 0; i < series->count; i++) {
			cop_loss_sum *to = &series->item[row / 2 * series->count + i];
			const cop_loss_sum more = series->item[row * series->count + i];
			*to = row % 2 == 0 ? more : (cop_loss_sum){ to->count + more.count, to->sum + more.sum };
		}
}
