/* events/feature_memo.h: what a row of hashed features named, so that the next rows need not hash and sort the same
 * again.
 *
 * A row is recorded name by name; finished, its places in ascending order are the slots of a lane. When a row does not
 * fit, the memo is void, and the next recording waits for more rows each time. One thread per memo. */
#ifndef COP_EVENTS_FEATURE_MEMO_H
#define COP_EVENTS_FEATURE_MEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"
#include "events/feature_lane.h"

typedef struct cop_feature_memo {
	bool ready;
	cop_feature_hint *hint; /* count of them */
	size_t count, room;
	cop_bytes names;
	uint32_t *place; /* places of them, ascending */
	float *slot;     /* the row's values, by place */
	size_t places;
	unsigned missed; /* rows that did not fit, one after the other */
	unsigned wait;   /* rows to let pass before the next recording */
} cop_feature_memo;

/* Fills what follows from the name; ordinal: the number that its digits are. */
void cop_feature_hint_set(cop_feature_hint *hint, const char *name, size_t length, uint32_t space, uint32_t slot);

/* All zero is an empty memo. */
void cop_feature_memo_fini(cop_feature_memo *memo);

/* Sets the lane to the memo's hints and zeroed slots; false: there are none. */
bool cop_feature_memo_begin(cop_feature_memo *memo, cop_feature_lane *lane);
/* The row went through the lane; or it did not, and the memo is void. */
void cop_feature_memo_fitted(cop_feature_memo *memo);
void cop_feature_memo_missed(cop_feature_memo *memo);

/* Starts recording; false: not yet. */
bool cop_feature_memo_record(cop_feature_memo *memo);
/* The next feature of the row. NULL: an unnamed one, `length` its ordinal. false: the row is too large to be kept. */
bool cop_feature_memo_name(cop_feature_memo *memo, const char *name, size_t length, uint32_t space, uint32_t place);
/* The row is over: the memo is ready. COP_ENOMEM. */
COP_CHECK cop_err cop_feature_memo_finish(cop_feature_memo *memo);

#endif
