/* history/gone.h: what cannot be told of a journal that is not read from its beginning.
 *
 * Decisions that were made before may still wait: feedback that carries its context may be theirs or stand for itself,
 * and what ends the longest waiting ones ends them first. All that is over once their windows are: a while after the
 * beginning, unless ends of windows are behind, or there is no window. Plain struct; one thread. */
#ifndef COP_HISTORY_GONE_H
#define COP_HISTORY_GONE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct cop_gone {
	bool cut;          /* there are records before; else nothing is in doubt */
	bool begun;        /* a record was seen */
	bool behind;       /* more windows were over than an expiry ended */
	double first;      /* event time of the first record */
	double shown;      /* the same, or when an unknown decision was shown later */
	double window;     /* longest so far, seconds */
	bool endless;      /* there was a record while no window was known */
	uint64_t doubtful; /* the newest record whose meaning hangs on earlier ones; 0: none */
} cop_gone;

/* A record of the model comes; window: seconds, 0: not known. */
void cop_gone_record(cop_gone *beginning, double time, double window);
/* Whether decisions from before may still wait at that time. */
bool cop_gone_is_near(const cop_gone *beginning, double time);
/* The record's meaning hangs on them, if they may. */
void cop_gone_doubt(cop_gone *beginning, uint64_t sequence, double time);
/* An expiry; many: of as many windows as fit into one. */
void cop_gone_expire(cop_gone *beginning, uint64_t sequence, double time, bool many);
/* A decision that is not known was shown: if it is one from before, its window begins now. */
void cop_gone_show(cop_gone *beginning, double time);

#endif
