/* gzip by zlib (its memory through base/mem) and zstd, each as one row of the table at the end. */
#include "base/stream_codec.h"

#include <limits.h>
#include <string.h>

#define ZLIB_CONST /* next_in is const */
#include <zlib.h>
#include <zstd.h>

#include "base/mem.h"

#define GZIP_WRAPPER (15 + 16) /* largest window, gzip header and trailer */
#define GZIP_MEMORY  8

typedef struct gzip {
	z_stream z;
	bool boundary; /* between members */
} gzip;

static void *gzip_alloc(void *context, unsigned count, unsigned size)
{
	(void)context;
	return cop_mem_alloc(count, size);
}

static void gzip_release(void *context, void *block)
{
	(void)context;
	cop_mem_free(block);
}

static gzip *gzip_new(void)
{
	gzip *state = cop_mem_alloc(1, sizeof *state);
	if (state == NULL)
		return NULL;
	state->z.zalloc = gzip_alloc;
	state->z.zfree = gzip_release;
	return state;
}

/* zlib counts in unsigned; what does not fit waits for the next call. */
static void gzip_offer(gzip *state, const cop_codec_io *io)
{
	state->z.next_in = io->in;
	state->z.avail_in = io->in_left > UINT_MAX ? UINT_MAX : (unsigned)io->in_left;
	state->z.next_out = io->out;
	state->z.avail_out = io->out_left > UINT_MAX ? UINT_MAX : (unsigned)io->out_left;
}

static void gzip_took(const gzip *state, cop_codec_io *io)
{
	io->in_left -= (size_t)(state->z.next_in - io->in);
	io->in = state->z.next_in;
	io->out_left -= (size_t)(state->z.next_out - io->out);
	io->out = state->z.next_out;
}

static cop_err gzip_decoder_new(void **out)
{
	gzip *state = gzip_new();
	if (state == NULL)
		return COP_ENOMEM;
	if (inflateInit2(&state->z, GZIP_WRAPPER) != Z_OK) {
		cop_mem_free(state);
		return COP_ENOMEM;
	}
	*out = state;
	return COP_OK;
}

static cop_err gzip_decode(void *decoder, cop_codec_io *io, bool *boundary)
{
	gzip *state = decoder;
	if (state->boundary && io->in_left > 0) { /* another member */
		state->boundary = false;
		if (inflateReset(&state->z) != Z_OK)
			return COP_EFORMAT;
	}
	gzip_offer(state, io);
	int status = inflate(&state->z, Z_NO_FLUSH);
	gzip_took(state, io);
	if (status == Z_STREAM_END)
		state->boundary = true;
	*boundary = state->boundary;
	if (status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR)
		return COP_OK;
	return status == Z_MEM_ERROR ? COP_ENOMEM : COP_EFORMAT;
}

static void gzip_decoder_free(void *decoder)
{
	gzip *state = decoder;
	if (state == NULL)
		return;
	(void)inflateEnd(&state->z);
	cop_mem_free(state);
}

static cop_err gzip_encoder_new(void **out)
{
	gzip *state = gzip_new();
	if (state == NULL)
		return COP_ENOMEM;
	if (deflateInit2(&state->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WRAPPER, GZIP_MEMORY, Z_DEFAULT_STRATEGY) !=
	        Z_OK) {
		cop_mem_free(state);
		return COP_ENOMEM;
	}
	*out = state;
	return COP_OK;
}

static cop_err gzip_encode(void *encoder, cop_codec_io *io, bool finish, bool *done)
{
	gzip *state = encoder;
	gzip_offer(state, io);
	bool last = finish && state->z.avail_in == io->in_left;
	int status = deflate(&state->z, last ? Z_FINISH : Z_NO_FLUSH);
	gzip_took(state, io);
	*done = status == Z_STREAM_END;
	return status == Z_STREAM_ERROR ? COP_EIO : COP_OK;
}

static void gzip_encoder_free(void *encoder)
{
	gzip *state = encoder;
	if (state == NULL)
		return;
	(void)deflateEnd(&state->z);
	cop_mem_free(state);
}

static cop_err zstd_decoder_new(void **out)
{
	*out = ZSTD_createDStream();
	return *out == NULL ? COP_ENOMEM : COP_OK;
}

static cop_err zstd_decode(void *decoder, cop_codec_io *io, bool *boundary)
{
	ZSTD_inBuffer in = { io->in, io->in_left, 0 };
	ZSTD_outBuffer out = { io->out, io->out_left, 0 };
	size_t hint = ZSTD_decompressStream(decoder, &out, &in);
	io->in += in.pos;
	io->in_left -= in.pos;
	io->out += out.pos;
	io->out_left -= out.pos;
	*boundary = hint == 0;
	return ZSTD_isError(hint) ? COP_EFORMAT : COP_OK;
}

static void zstd_decoder_free(void *decoder) { (void)ZSTD_freeDStream(decoder); }

static cop_err zstd_encoder_new(void **out)
{
	*out = ZSTD_createCStream();
	return *out == NULL ? COP_ENOMEM : COP_OK;
}

static cop_err zstd_encode(void *encoder, cop_codec_io *io, bool finish, bool *done)
{
	ZSTD_inBuffer in = { io->in, io->in_left, 0 };
	ZSTD_outBuffer out = { io->out, io->out_left, 0 };
	size_t left = ZSTD_compressStream2(encoder, &out, &in, finish ? ZSTD_e_end : ZSTD_e_continue);
	io->in += in.pos;
	io->in_left -= in.pos;
	io->out += out.pos;
	io->out_left -= out.pos;
	*done = finish && left == 0;
	return ZSTD_isError(left) ? COP_ENOMEM : COP_OK;
}

static void zstd_encoder_free(void *encoder) { (void)ZSTD_freeCStream(encoder); }

static const cop_codec codecs[] = {
	{ "gzip", ".gz", { 0x1f, 0x8b }, 2, gzip_decoder_new, gzip_decode, gzip_decoder_free, gzip_encoder_new,
	        gzip_encode, gzip_encoder_free },
	{ "zstd", ".zst", { 0x28, 0xb5, 0x2f, 0xfd }, 4, zstd_decoder_new, zstd_decode, zstd_decoder_free,
	        zstd_encoder_new, zstd_encode, zstd_encoder_free },
};

const cop_codec *cop_stream_codec_by_magic(const uint8_t *start, size_t length)
{
	for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++)
		if (length >= codecs[i].magic_length && memcmp(start, codecs[i].magic, codecs[i].magic_length) == 0)
			return &codecs[i];
	return NULL;
}

const cop_codec *cop_stream_codec_by_ending(const char *path)
{
	size_t length = strlen(path);
	for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++) {
		size_t ending = strlen(codecs[i].ending);
		if (length > ending && strcmp(path + length - ending, codecs[i].ending) == 0)
			return &codecs[i];
	}
	return NULL;
}
