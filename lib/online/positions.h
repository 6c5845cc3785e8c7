/* online/positions.h: up to where a model has taken event logs in: one position for each source and partition.
 *
 * Rows stand in order of source and partition, so equal tables are equal bytes when saved. Bounded: a new partition of
 * a full table is refused rather than an old one forgotten, for what is forgotten would be learned again. Part of a
 * model; one thread. */
#ifndef COP_ONLINE_POSITIONS_H
#define COP_ONLINE_POSITIONS_H

#include "base/bytes.h"
#include "base/err.h"
#include "wire/wire_position.h"

#define COP_POSITIONS_MOST 1024

typedef struct cop_positions {
	struct cop_positions_row *rows; /* capacity of them */
	size_t count, capacity;
} cop_positions;

void cop_positions_fini(cop_positions *positions); /* empty, and good for use again */

/* Whether an event that stood there is known: it stands at or before the position of its source and partition. */
bool cop_positions_passed(const cop_positions *positions, const cop_wire_position *at);
/* Room to note that position. COP_EFULL: there are rows of COP_POSITIONS_MOST others; COP_ENOMEM. */
COP_CHECK cop_err cop_positions_reserve(cop_positions *positions, const cop_wire_position *at);
/* The position of its source and partition from here on, unless that is further already. There is room for it. */
void cop_positions_note(cop_positions *positions, const cop_wire_position *at);

/* The i-th of count, a view until the next note. */
cop_wire_position cop_positions_at(const cop_positions *positions, size_t i);

void cop_positions_save(const cop_positions *positions, cop_bytes *bytes);
/* In place of what there is. COP_EFORMAT, COP_ENOMEM. */
COP_CHECK cop_err cop_positions_load(cop_positions *positions, cop_cursor *cursor);

#endif
