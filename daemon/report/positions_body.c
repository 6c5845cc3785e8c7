/* One array for each source and partition, in the order of the table. */
#include "daemon/report/positions_body.h"

#include "online/model_positions.h"
#include "wire/wire_put.h"

uint64_t cop_positions_body_put(
        const cop_report *report, const cop_model_slot *slot, const cop_wire_seq *seq, cop_bytes *out)
{
	const cop_positions *known = cop_model_positions(slot->model);
	const cop_journaler *journal = report->durable->journal;
	size_t map = cop_wire_put_map_open(out);
	cop_wire_put_text(out, "positions");
	cop_wire_put_array(out, known->count);
	for (size_t i = 0; i < known->count; i++) {
		const cop_wire_position at = cop_positions_at(known, i);
		cop_wire_position_put(out, &at);
	}
	cop_wire_seq_put(out, seq);
	cop_wire_put_map_close(out, map);
	return journal == NULL ? 0 : cop_journaler_next(journal) - 1;
}
