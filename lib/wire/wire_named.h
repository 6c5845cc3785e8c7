/* wire/wire_named.h: named losses (events/named_losses.h), as feedback brings them and journal records keep them: a map
 * of names and numbers.
 *
 * A record is read without knowing the names: as a walk over pairs. No state: any thread. */
#ifndef COP_WIRE_WIRE_NAMED_H
#define COP_WIRE_WIRE_NAMED_H

#include "events/named_losses.h"
#include "base/bytes.h"
#include "wire/wire_code.h"
#include "wire/wire_cursor.h"

/* Encoded pairs, borrowed. Zeroed: none. */
typedef struct cop_wire_named {
	const uint8_t *pairs;
	size_t length; /* bytes */
	size_t count;
} cop_wire_named;

/* Bytes of those of all names: of each its length, itself and a number. */
#define COP_WIRE_NAMED_ROOM (COP_NAMED_LOSSES_MOST * (COP_NAMED_LOSSES_NAME + 9))

/* The told ones, in the order of the names; borrowed of the room. */
void cop_wire_named_encode(const cop_loss_weights *names, const cop_loss_values *losses,
        uint8_t room[COP_WIRE_NAMED_ROOM], cop_wire_named *out);
/* Appends the map. Failure: bytes->err. */
void cop_wire_named_put(cop_bytes *bytes, const cop_wire_named *named);
/* A map at the cursor, every pair checked. COP_EINVAL, COP_EFORMAT, COP_ENONFINITE; the cursor stays then. */
COP_CHECK cop_err cop_wire_named_read(cop_wire_cursor *cursor, cop_wire_named *out);
/* The first of those that are left, which is taken off; false: none is left. The name is borrowed, not terminated. */
bool cop_wire_named_next(cop_wire_named *rest, const char **name, size_t *length, double *value);
/* Those of them that have one of these names. */
void cop_wire_named_find(const cop_wire_named *named, const cop_loss_weights *names, cop_loss_values *out);

/* `losses` of a feedback: numbers within their ranges, of names that the model has; those with a weight must be there.
 * COP_EFORMAT (bad_request); COP_EINVAL, COP_ENONFINITE (bad_loss), with the fault filled (NULL allowed). */
COP_CHECK cop_err cop_wire_named_decode(
        cop_wire_cursor *cursor, const cop_named_losses *losses, cop_loss_values *out, cop_wire_fault *fault);
/* "click, revenue": the names, as far as they fit. */
void cop_wire_named_list(const cop_loss_weights *names, char *out, size_t size);

#endif
