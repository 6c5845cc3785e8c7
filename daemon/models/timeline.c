/* Intervals are aligned to the first one's beginning. Two neighbours are joined by adding: so the sums of all intervals
 * are what was counted since the beginning, whatever was joined. An interval in which nobody looked is empty. */
#include "daemon/models/timeline.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

cop_err cop_timeline_init(cop_timeline *timeline, size_t arms)
{
	*timeline = (cop_timeline){ .interval = 1.0, .arms = arms };
	timeline->item = cop_mem_alloc(COP_TIMELINE_MOST, sizeof *timeline->item);
	timeline->arm = cop_mem_alloc(COP_TIMELINE_MOST * arms, sizeof *timeline->arm);
	timeline->arm_past = cop_mem_alloc(arms, sizeof *timeline->arm_past);
	bool made = timeline->item != NULL && timeline->arm != NULL && timeline->arm_past != NULL;
	return made ? COP_OK : COP_ENOMEM;
}

void cop_timeline_fini(cop_timeline *timeline)
{
	cop_mem_free(timeline->item);
	cop_mem_free(timeline->arm);
	cop_mem_free(timeline->arm_past);
	cop_loss_series_fini(&timeline->named);
	*timeline = (cop_timeline){ 0 };
}

static void set_past(cop_timeline *t, const cop_timeline_sums *sums, const uint64_t *arm_decisions)
{
	t->past = *sums;
	for (size_t k = 0; k < t->arms; k++)
		t->arm_past[k] = arm_decisions[k];
}

void cop_timeline_begin(cop_timeline *timeline, double now, const cop_timeline_sums *sums,
        const uint64_t *arm_decisions, const cop_loss_sum *losses)
{
	timeline->began = timeline->taken = now;
	timeline->interval = 1.0;
	timeline->count = 0;
	set_past(timeline, sums, arm_decisions);
	cop_loss_series_begin(&timeline->named, losses);
}

static void add(cop_timeline_sums *to, const cop_timeline_sums *more)
{
	to->decisions += more->decisions;
	to->losses += more->losses;
	to->loss += more->loss;
	to->weighed += more->weighed;
	to->weights += more->weights;
	to->weights_squared += more->weights_squared;
}

/* All are full. */
static void join_neighbours(cop_timeline *t)
{
	for (size_t i = 0; i < COP_TIMELINE_MOST; i++) {
		if (i % 2 == 0)
			t->item[i / 2] = t->item[i];
		else
			add(&t->item[i / 2], &t->item[i]);
		for (size_t k = 0; k < t->arms; k++) {
			uint32_t *to = &t->arm[i / 2 * t->arms + k];
			uint32_t more = t->arm[i * t->arms + k];
			*to = i % 2 == 0 ? more : *to + more;
		}
	}
	cop_loss_series_join(&t->named);
	t->count = COP_TIMELINE_MOST / 2;
	t->interval *= 2.0;
}

void cop_timeline_follow(cop_timeline *timeline, const cop_timeline *from)
{
	const size_t arms = from->arms < timeline->arms ? from->arms : timeline->arms;
	timeline->began = from->began;
	timeline->taken = from->taken;
	timeline->interval = from->interval;
	timeline->count = from->count;
	timeline->past = from->past;
	memcpy(timeline->item, from->item, from->count * sizeof *from->item);
	for (size_t i = 0; i < from->count; i++)
		for (size_t k = 0; k < timeline->arms; k++)
			timeline->arm[i * timeline->arms + k] = k < arms ? from->arm[i * from->arms + k] : 0;
	for (size_t k = 0; k < timeline->arms; k++)
		timeline->arm_past[k] = k < arms ? from->arm_past[k] : 0;
	cop_loss_series_follow(&timeline->named, &from->named);
}

void cop_timeline_shift(cop_timeline *timeline, const cop_timeline_sums *was, const cop_timeline_sums *now)
{
	timeline->past.decisions += now->decisions - was->decisions; /* whatever is greater */
	timeline->past.losses += now->losses - was->losses;
	timeline->past.loss += now->loss - was->loss;
	timeline->past.weighed += now->weighed - was->weighed;
	timeline->past.weights += now->weights - was->weights;
	timeline->past.weights_squared += now->weights_squared - was->weights_squared;
}

static void push_empty(cop_timeline *t, const cop_loss_sum *losses)
{
	t->item[t->count] = (cop_timeline_sums){ 0 };
	for (size_t k = 0; k < t->arms; k++)
		t->arm[t->count * t->arms + k] = 0;
	cop_loss_series_push(&t->named, t->count, losses);
	t->count++;
	t->taken += t->interval;
}

static void push(
        cop_timeline *t, const cop_timeline_sums *sums, const uint64_t *arm_decisions, const cop_loss_sum *losses)
{
	push_empty(t, losses);
	cop_timeline_sums *item = &t->item[t->count - 1];
	item->decisions = sums->decisions - t->past.decisions;
	item->losses = sums->losses - t->past.losses;
	item->loss = sums->loss - t->past.loss;
	item->weighed = sums->weighed - t->past.weighed;
	item->weights = sums->weights - t->past.weights;
	item->weights_squared = sums->weights_squared - t->past.weights_squared;
	for (size_t k = 0; k < t->arms; k++)
		t->arm[(t->count - 1) * t->arms + k] = (uint32_t)(arm_decisions[k] - t->arm_past[k]);
	set_past(t, sums, arm_decisions);
}

void cop_timeline_take(cop_timeline *timeline, double now, const cop_timeline_sums *sums, const uint64_t *arm_decisions,
        const cop_loss_sum *losses)
{
	bool first = true;
	while (now - timeline->taken >= timeline->interval) {
		if (first)
			push(timeline, sums, arm_decisions, losses);
		else
			push_empty(timeline, NULL);
		first = false;
		if (timeline->count == COP_TIMELINE_MOST)
			join_neighbours(timeline);
	}
}

double cop_timeline_effective_share(const cop_timeline_sums *sums)
{
	if (sums->weighed == 0 || !(sums->weights_squared > 0.0))
		return (double)NAN;
	return sums->weights * sums->weights / ((double)sums->weighed * sums->weights_squared);
}
