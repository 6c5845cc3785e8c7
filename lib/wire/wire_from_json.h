/* wire/wire_from_json.h: one JSON object as a MessagePack map, for bodies that come over HTTP.
 *
 * Members keep their order and repetitions. A number without point and exponent that fits 64 bits is an integer, every
 * other one a double. Texts are checked to be UTF-8. No state: any thread. */
#ifndef COP_WIRE_WIRE_FROM_JSON_H
#define COP_WIRE_WIRE_FROM_JSON_H

#include "base/bytes.h"
#include "wire/wire_code.h"

/* Appends the object in text (length bytes, borrowed; text[length] must be 0) as a map whose header takes five bytes,
 * without its members called `without` (NULL: with all); *pairs is its count, which cop_wire_from_json_add raises.
 * Deeper than COP_WIRE_DEPTH, no object, malformed: COP_EFORMAT, with the fault (bad_request) that names the column,
 * and out as it was. COP_ENOMEM. */
COP_CHECK cop_err cop_wire_from_json(
        cop_bytes *out, const char *text, size_t length, const char *without, uint32_t *pairs, cop_wire_fault *fault);
/* Appends one more pair, a whole number, to the map at `at` of out, which ends it and has *pairs pairs. */
void cop_wire_from_json_add(cop_bytes *out, size_t at, const char *key, uint64_t number, uint32_t *pairs);

#endif
