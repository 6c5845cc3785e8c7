/* base/number.h: decimal text to double and back, the same in every locale.
 *
 * Grammar: [+-] digits [. digits] [e [+-] digits], with digits on at least one side of the point. Correctly rounded:
 * the same double as strtod in the C locale. Any thread. */
#ifndef COP_BASE_NUMBER_H
#define COP_BASE_NUMBER_H

#include <stddef.h>

#include "base/err.h"

/* Longest text taken for a number. */
#define COP_NUMBER_MAX 1024
/* Room for any formatted number and its end. */
#define COP_NUMBER_ROOM 32

/* The number that fills text[0, length) wholly (borrowed, need not be terminated).
 * COP_EFORMAT: anything else. COP_ENONFINITE: spelled nan or inf(inity), or beyond the largest double. On error
 * *value is 0. */
COP_CHECK cop_err cop_number_parse(const char *text, size_t length, double *value);

/* The longest number that text[0, end - text) begins with; where it ended comes back. NULL: no number is there, words
 * for NaN and infinity among them, or it is longer than COP_NUMBER_MAX; *value is 0 then. Beyond the largest double
 * *value is an infinity. Fastest when 25 bytes can be read. */
const char *cop_number_scan(const char *text, const char *end, double *value);

/* Fewest significant digits that read back as the same double (the same float); value is finite. Terminated text,
 * its length returned. */
size_t cop_number_format(double value, char out[COP_NUMBER_ROOM]);
size_t cop_number_format_float(float value, char out[COP_NUMBER_ROOM]);

#endif
