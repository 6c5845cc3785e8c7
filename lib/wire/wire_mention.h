/* wire/wire_mention.h: whom a journal record mentions, read from its body without the model's shape, and bodies that
 * mention less.
 *
 * Rows are passed over, not decoded, so that a journal is gone through as fast as it is read. Views point into the
 * body. No state: any thread. */
#ifndef COP_WIRE_WIRE_MENTION_H
#define COP_WIRE_WIRE_MENTION_H

#include "wire/wire_glance.h"

/* Of types 1 to 4, 7 and 8 (wire/wire_record.h), which have a time and a model. COP_EFORMAT: the body is no such
 * record's. */
COP_CHECK cop_err cop_wire_mention_read(const void *body, size_t length, cop_wire_glance *out);

/* Whether the decision of a settlement is to be kept. */
typedef bool (*cop_wire_mention_keep)(void *context, const cop_wire_settlement *settlement);

/* How many settlements of the mention are not kept. */
size_t cop_wire_mention_count(const cop_wire_glance *mention, cop_wire_mention_keep keep, void *context);

/* Appends the body of a forgotten record (type 8) in the place of the one that was read: its time, its model, and of
 * `s` what is kept. Failure: bytes->err. */
void cop_wire_mention_put_forgotten(
        cop_bytes *bytes, const cop_wire_glance *mention, cop_wire_mention_keep keep, void *context);
/* Appends the same body, which is the one that was read and has `s`, without the settlements that are not kept. */
void cop_wire_mention_put_rest(cop_bytes *bytes, const void *body, size_t length, const cop_wire_glance *mention,
        cop_wire_mention_keep keep, void *context);

#endif
