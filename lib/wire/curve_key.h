/* wire/curve_key.h: keys of ZeroMQ's CURVE (RFC 26) as text: 32 bytes in Z85 (RFC 32), 40 characters; and the file that
 * holds one.
 *
 * Pure functions, any thread. */
#ifndef COP_WIRE_CURVE_KEY_H
#define COP_WIRE_CURVE_KEY_H

#include <stdbool.h>

#include "base/err.h"

#define COP_CURVE_KEY      40                  /* characters */
#define COP_CURVE_KEY_ROOM (COP_CURVE_KEY + 1) /* with the end */

/* Whether the text has the length and the characters of a key. */
bool cop_curve_key_is(const char *text);

/* The key that stands alone in a file, perhaps with white space around it. COP_EIO: the file cannot be read, or, with a
 * secret key, others than its owner and group can read or write it. COP_EFORMAT: it holds anything else. *diag names
 * the file; key is then "". */
COP_CHECK cop_err cop_curve_key_read(const char *path, bool secret, char key[COP_CURVE_KEY_ROOM], cop_diag *diag);

#endif
