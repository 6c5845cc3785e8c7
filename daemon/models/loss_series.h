/* daemon/models/loss_series.h: a model's named losses (events/named_losses.h) over the intervals of its timeline.
 *
 * A column is of a name and its range, as the model's account of it is (online/named_accounts.h): with another range it
 * begins again. For models without named losses there is no memory. The loop's thread. */
#ifndef COP_DAEMON_MODELS_LOSS_SERIES_H
#define COP_DAEMON_MODELS_LOSS_SERIES_H

#include "events/named_losses.h"
#include "online/named_accounts.h"

#define COP_LOSS_SERIES_MOST 128 /* intervals, even */

/* Losses that were told by a name, and their sum in the name's units. */
typedef struct cop_loss_sum {
	uint64_t count;
	double sum;
} cop_loss_sum;

/* Zeroed: of no names. */
typedef struct cop_loss_series {
	cop_named_losses names;
	size_t count;                             /* columns: names, or 0 where there was no memory */
	cop_loss_sum *item;                       /* COP_LOSS_SERIES_MOST x count; owned */
	cop_loss_sum past[COP_NAMED_LOSSES_MOST]; /* when the last interval ended */
} cop_loss_series;

void cop_loss_series_fini(cop_loss_series *series);
/* The names are these from now on: columns whose name and range stay are kept, the others begin. */
void cop_loss_series_name(cop_loss_series *series, const cop_named_losses *names);
/* Those of its columns that the other one has become the other one's. */
void cop_loss_series_follow(cop_loss_series *series, const cop_loss_series *from);

/* What accounts of the same names come to, by their order. */
void cop_loss_series_sums(
        const cop_named_accounts *accounts, const cop_named_losses *names, cop_loss_sum out[COP_NAMED_LOSSES_MOST]);

/* The functions of the timeline; sums by the order of the names. */
void cop_loss_series_begin(cop_loss_series *series, const cop_loss_sum *sums);
void cop_loss_series_shift(cop_loss_series *series, const cop_loss_sum *was, const cop_loss_sum *now);
/* Interval `at` has what came since the one before; sums NULL: nothing. */
void cop_loss_series_push(cop_loss_series *series, size_t at, const cop_loss_sum *sums);
/* All intervals are full: each two neighbours become one. */
void cop_loss_series_join(cop_loss_series *series);

#endif
