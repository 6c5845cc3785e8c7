/* base/err.h: the error codes of the library and the diagnostic a person reads.
 *
 * Every fallible function returns a cop_err (0 is success) and gives results through trailing out-parameters.
 * Functions that read human text or files also fill a cop_diag. No globals: any thread. */
#ifndef COP_BASE_ERR_H
#define COP_BASE_ERR_H

#include <stddef.h>
#include <stdint.h>

#define COP_CHECK __attribute__((warn_unused_result))

typedef enum cop_err {
	COP_OK = 0,
	COP_EINVAL,     /* an argument or value is outside what is allowed */
	COP_ENOMEM,     /* memory could not be had */
	COP_EIO,        /* the operating system refused a read or write; errno has the reason */
	COP_EFORMAT,    /* bytes or text are malformed */
	COP_EVERSION,   /* written by a newer version */
	COP_ESHAPE,     /* dimensions do not fit */
	COP_ENONFINITE, /* NaN or infinity where a number was expected */
	COP_EDIVERGED,  /* the update would make a parameter non-finite; nothing was changed */
	COP_ENOTFOUND,  /* no such name, id, file or section */
	COP_EEXIST,     /* it is there already */
	COP_EFULL,      /* a bound is reached */
	COP_EEND,       /* end of input, not a fault */
	COP_ERR_COUNT
} cop_err;

/* Short lower-case text, never NULL. */
const char *cop_err_text(cop_err err);

typedef struct cop_diag {
	char source[256];  /* file name or what else was read; "" when none */
	uint64_t line;     /* from 1; 0 when lines mean nothing */
	uint64_t offset;   /* bytes from the start, for binary sources */
	char message[512]; /* what is wrong and what was expected */
} cop_diag;

/* Each fills *diag (NULL allowed: then nothing happens); long texts are cut. They differ in how much is known of the
 * place: nothing, the source (NULL counts as ""), a line of the source, an offset in the source. What is not known is
 * "" or 0. */
void cop_diag_message(cop_diag *diag, const char *format, ...) __attribute__((format(printf, 2, 3)));
void cop_diag_of(cop_diag *diag, const char *source, const char *format, ...) __attribute__((format(printf, 3, 4)));
void cop_diag_at_line(cop_diag *diag, const char *source, uint64_t line, const char *format, ...)
        __attribute__((format(printf, 4, 5)));
void cop_diag_at_offset(cop_diag *diag, const char *source, uint64_t offset, const char *format, ...)
        __attribute__((format(printf, 4, 5)));

/* "source:line: message", "source: message" or "message" into out (size bytes, always terminated). */
void cop_diag_text(const cop_diag *diag, char *out, size_t size);

#endif
