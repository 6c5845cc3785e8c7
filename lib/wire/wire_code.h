/* wire/wire_code.h: the protocol's error codes, its results of a feedback, and a refusal in words.
 *
 * The texts are the protocol (docs/reference/protocol.md) and never change. No state: any thread. */
#ifndef COP_WIRE_WIRE_CODE_H
#define COP_WIRE_WIRE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

typedef enum cop_wire_code {
	COP_WIRE_OK = 0,
	COP_WIRE_BAD_REQUEST,
	COP_WIRE_BAD_FEATURES,
	COP_WIRE_BAD_LOSS,
	COP_WIRE_UNKNOWN_MODEL,
	COP_WIRE_UNKNOWN_VERB,
	COP_WIRE_TOO_LARGE,
	COP_WIRE_BUSY,
	COP_WIRE_NOT_DURABLE,
	COP_WIRE_FORBIDDEN,
	COP_WIRE_INTERNAL,
	COP_WIRE_APPRENTICE, /* the model does not decide: what was decided is missing */
	COP_WIRE_UNKNOWN_DECISION,
	COP_WIRE_BEHIND,     /* the model does not know the position that a batch goes on from */
	COP_WIRE_NOT_LEADER, /* of a group of replicas another instance takes it */
	COP_WIRE_OTHER_PART, /* its key belongs to another instance of a partition */
	COP_WIRE_CODE_COUNT
} cop_wire_code;

/* "bad_request" …; "ok" for COP_WIRE_OK. */
const char *cop_wire_code_text(cop_wire_code code);
/* The code of a text; false when there is none of that name. */
bool cop_wire_code_find(const char *text, size_t length, cop_wire_code *out);

typedef enum cop_wire_result {
	COP_WIRE_APPLIED = 0, /* learned now */
	COP_WIRE_RECORDED,    /* kept until the reward window ends */
	COP_WIRE_DUPLICATE,   /* the decision has its feedback already */
	COP_WIRE_LATE,        /* the reward window is over */
	COP_WIRE_UNKNOWN,     /* no such decision */
	COP_WIRE_RESULT_COUNT
} cop_wire_result;

const char *cop_wire_result_text(cop_wire_result result);
bool cop_wire_result_find(const char *text, size_t length, cop_wire_result *out);

/* Why a message was refused: valid UTF-8, begins with the key it is about ("x[3]: not a finite number"). */
typedef struct cop_wire_fault {
	cop_wire_code code;
	char message[320];
} cop_wire_fault;

/* Fills *fault (NULL: nothing happens); long texts are cut. Returns the library's error for the code: COP_EFORMAT for
 * bad_request, COP_EINVAL otherwise, so that a decoder ends with `return cop_wire_fault_set(...)`. */
cop_err cop_wire_fault_set(cop_wire_fault *fault, cop_wire_code code, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* Copies text into out (size bytes, terminated) as printable UTF-8: control characters and malformed sequences become
 * '?'; a long text is cut between characters and ends in "...". */
void cop_wire_text_clean(char *out, size_t size, const char *text, size_t length);
/* Bytes of the well-formed UTF-8 character at text (length bytes, at least 1), or 0. */
size_t cop_wire_text_step(const char *text, size_t length);

#endif
