/* tools/replay/replay_table.h: the progress table, in Vowpal Wabbit's columns and with their meaning.
 *
 *   average loss, since last   of the policy, estimated from the log (tools/replay/estimates.h); n.a. without a
 * label example counter, weight    so far current label              action:cost:probability of the log, or unknown
 *   current predict            the policy's best action and its probability (exploring) or predicted cost (greedy)
 *   current features           as Vowpal Wabbit counts them
 * Actions count as in the log. One thread. */
#ifndef COP_TOOLS_REPLAY_REPLAY_TABLE_H
#define COP_TOOLS_REPLAY_REPLAY_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "estimates.h"
#include "events/logged_event.h"

typedef struct cop_replay_table {
	FILE *out;      /* NULL: no table */
	double step;    /* a line when the weight of examples reaches the next mark, which moves by this, */
	bool adds;      /* added, or multiplied */
	unsigned base;  /* what the first action is called */
	bool exploring; /* what is shown of the prediction */
	double mark;
	double loss_before, weight_before;
	bool begun;
} cop_replay_table;

/* Marks at 1, 2, 4, 8 ..., unless step says else. */
void cop_replay_table_init(cop_replay_table *table, FILE *out, double step, bool adds);
/* The tally was not empty when this run began. */
void cop_replay_table_resume(cop_replay_table *table, const cop_estimates *tally);
/* An event that the tally has already. */
void cop_replay_table_add(cop_replay_table *table, const cop_estimates *tally, const cop_logged_event *event,
        const cop_replay_seen *seen);
/* "n.a." or six decimals, cut to `width` characters as Vowpal Wabbit does, left-aligned; into out (32 bytes). */
void cop_replay_table_loss(char *out, double loss, int width);

#endif
