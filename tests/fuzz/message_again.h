/* message_again.h: a message that is read and put again is read as the same; one that is refused has a reason. */
#ifndef COP_FUZZ_MESSAGE_AGAIN_H
#define COP_FUZZ_MESSAGE_AGAIN_H

#include <string.h>

#include "base/assert.h"
#include "base/bytes.h"
#include "wire/wire_table.h"

typedef struct message_codec {
	void (*put)(cop_bytes *out, const void *message);
	cop_err (*read)(const void *data, size_t length, void *out, cop_wire_fault *fault);
} message_codec;

/* Into message, whether it is one; again: room for another. */
static inline bool message_again(
        const message_codec *codec, const uint8_t *data, size_t size, void *message, void *again)
{
	cop_wire_fault fault = { .message = "" };
	cop_bytes first, second;
	if (codec->read(data, size, message, &fault) != COP_OK) {
		COP_ASSERT(fault.message[0] != '\0');
		return false;
	}
	cop_bytes_init(&first);
	cop_bytes_init(&second);
	codec->put(&first, message);
	COP_ASSERT(codec->read(first.data, first.length, again, &fault) == COP_OK);
	codec->put(&second, again);
	COP_ASSERT(first.length == second.length && memcmp(first.data, second.data, first.length) == 0);
	cop_bytes_fini(&first);
	cop_bytes_fini(&second);
	return true;
}

#endif
