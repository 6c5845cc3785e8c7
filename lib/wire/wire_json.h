/* wire/wire_json.h: one MessagePack value as JSON text, for tools that show a reply to a person or a script.
 *
 * Integers are written exactly, floats in the shortest form that reads back equal (always with a point or exponent),
 * NaN and infinities as null, binary as a string of hex digits, extensions as `{"extension": type, "data": hex}`, keys
 * that are no strings as their text in quotes. Malformed UTF-8 becomes U+FFFD. No state: any thread. */
#ifndef COP_WIRE_WIRE_JSON_H
#define COP_WIRE_WIRE_JSON_H

#include "base/bytes.h"
#include "base/err.h"

/* Appends the text of the one value in data (length bytes, borrowed). indent: spaces per level, 0 for one line without
 * spaces. COP_EFORMAT: malformed, deeper than COP_WIRE_DEPTH, bytes behind the value, a container as key (nothing is
 * appended in the first three cases); COP_ENOMEM. */
COP_CHECK cop_err cop_wire_json(cop_bytes *out, const void *data, size_t length, unsigned indent);
/* The same on one line; of a map, pairs whose key is the text `without` are left out at the top. */
COP_CHECK cop_err cop_wire_json_without(cop_bytes *out, const void *data, size_t length, const char *without);

#endif
