/* Decisions that a fuzzed record ends. Bytes for them lie in *room until the next call. */
#ifndef COP_TESTS_FUZZ_FUZZ_SETTLED_H
#define COP_TESTS_FUZZ_FUZZ_SETTLED_H

#include "wire/wire_record.h"

/* `count` of them from id on, with outcomes from the one that `form` means on; losses: numbers of each that learned. */
static inline cop_wire_settled settled_of(cop_bytes *room, size_t count, unsigned id, unsigned form, unsigned losses)
{
	cop_bytes_clear(room);
	for (unsigned i = 0; i < count; i++) {
		cop_wire_settlement is = {
			.outcome = (cop_wire_outcome)((form + i) % COP_WIRE_OUTCOMES),
			.loss = { (double)(form & 7) / 4.0, 0.5 },
		};
		is.losses = cop_wire_settled_learned(is.outcome) ? losses : 0;
		cop_event_id_from_unsigned(&is.id, (id + i) & 15);
		cop_wire_settled_add(room, &is);
	}
	return (cop_wire_settled){ .items = room->data, .length = room->length, .count = count };
}

#endif
