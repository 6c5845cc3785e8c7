/* tests/bench/costs/wire_bare.h: a request answered with no more than its unpacking and an answer's packing, both by
 * msgpack-c as it comes: what a server costs that does nothing. `costs daemon` compares the daemon with it.
 *
 * A map with `items` is answered by a map of as many items, one with `loss` by `{id, result}`, any other by
 * `{id, a, p, rev, greedy}`; `seq` comes back (its value, not its encoding). No decision is made and no form is
 * checked; a header that promises too much is believed, as msgpack-c does: not for the network. One thread per object.
 */
#ifndef COP_COSTS_WIRE_BARE_H
#define COP_COSTS_WIRE_BARE_H

#include <stddef.h>

#include "base/err.h"

typedef struct cop_wire_bare cop_wire_bare;

/* Caller frees with cop_wire_bare_free; on error *out is NULL. COP_ENOMEM. */
COP_CHECK cop_err cop_wire_bare_new(cop_wire_bare **out);
void cop_wire_bare_free(cop_wire_bare *bare);

/* The answer to body (length bytes, borrowed) in *out, which is valid until the next call. COP_EFORMAT: no MessagePack
 * map. COP_ENOMEM. */
COP_CHECK cop_err cop_wire_bare_answer(
        cop_wire_bare *bare, const void *body, size_t length, const char **out, size_t *out_length);

#endif
