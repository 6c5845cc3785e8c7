/* base/stream_codec.h: the compressed formats behind base/stream, as a table.
 *
 * Internal to base. A coder's state is made once per stream; distinct states on distinct threads. */
#ifndef COP_BASE_STREAM_CODEC_H
#define COP_BASE_STREAM_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* What is left to consume, and the room left to fill; both move on. */
typedef struct cop_codec_io {
	const uint8_t *in; /* borrowed */
	size_t in_left;
	uint8_t *out; /* borrowed */
	size_t out_left;
} cop_codec_io;

typedef struct cop_codec {
	const char *name;   /* as in diagnostics */
	const char *ending; /* of file names */
	uint8_t magic[4];   /* first bytes */
	size_t magic_length;

	cop_err (*decoder_new)(void **out); /* COP_ENOMEM */
	/* Consumes and fills as much as it can. *boundary: the data may end here. COP_EFORMAT, COP_ENOMEM. */
	cop_err (*decode)(void *decoder, cop_codec_io *io, bool *boundary);
	void (*decoder_free)(void *decoder);

	cop_err (*encoder_new)(void **out); /* COP_ENOMEM */
	/* Consumes and fills as much as it can. finish: no input follows; then *done once all of it is out. */
	cop_err (*encode)(void *encoder, cop_codec_io *io, bool finish, bool *done);
	void (*encoder_free)(void *encoder);
} cop_codec;

/* Longest magic. */
#define COP_CODEC_MAGIC_MAX 4

/* The codec of data that starts so; NULL: plain. */
const cop_codec *cop_stream_codec_by_magic(const uint8_t *start, size_t length);
/* The codec of a file name's ending; NULL: plain. */
const cop_codec *cop_stream_codec_by_ending(const char *path);

#endif
