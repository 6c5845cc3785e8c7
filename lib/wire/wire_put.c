/* msgpack-c chooses the encodings; its packer is two pointers on the stack. */
#include "wire/wire_put.h"

#include <string.h>

#include <msgpack/pack.h>

#include "base/assert.h"

static int append(void *data, const char *piece, size_t length)
{
	cop_bytes_put(data, piece, length);
	return 0; /* failures are sticky in the buffer */
}

static msgpack_packer packer(cop_bytes *bytes)
{
	msgpack_packer pk;
	msgpack_packer_init(&pk, bytes, append);
	return pk;
}

void cop_wire_put_nil(cop_bytes *bytes)
{
	msgpack_packer pk = packer(bytes);
	(void)msgpack_pack_nil(&pk);
}

void cop_wire_put_bool(cop_bytes *bytes, bool value)
{
	msgpack_packer pk = packer(bytes);
	(void)(value ? msgpack_pack_true(&pk) : msgpack_pack_false(&pk));
}

void cop_wire_put_unsigned(cop_bytes *bytes, uint64_t value)
{
	msgpack_packer pk = packer(bytes);
	(void)msgpack_pack_uint64(&pk, value);
}

void cop_wire_put_signed(cop_bytes *bytes, int64_t value)
{
	msgpack_packer pk = packer(bytes);
	(void)msgpack_pack_int64(&pk, value);
}

void cop_wire_put_double(cop_bytes *bytes, double value)
{
	msgpack_packer pk = packer(bytes);
	(void)msgpack_pack_double(&pk, value);
}

void cop_wire_put_float(cop_bytes *bytes, float value)
{
	msgpack_packer pk = packer(bytes);
	(void)msgpack_pack_float(&pk, value);
}

void cop_wire_put_string(cop_bytes *bytes, const char *text, size_t length)
{
	COP_ASSERT(length <= UINT32_MAX);
	msgpack_packer pk = packer(bytes);
	(void)msgpack_pack_str(&pk, length);
	cop_bytes_put(bytes, text, length);
}

void cop_wire_put_binary_head(cop_bytes *bytes, size_t length)
{
	COP_ASSERT(length <= UINT32_MAX);
	msgpack_packer pk = packer(bytes);
	(void)msgpack_pack_bin(&pk, length);
}

void cop_wire_put_binary(cop_bytes *bytes, const void *data, size_t length)
{
	cop_wire_put_binary_head(bytes, length);
	cop_bytes_put(bytes, data, length);
}

void cop_wire_put_packed(cop_bytes *bytes, const float *values, size_t count)
{
	cop_wire_put_binary(bytes, values, count * sizeof *values);
}

void cop_wire_put_array(cop_bytes *bytes, size_t count)
{
	COP_ASSERT(count <= UINT32_MAX);
	msgpack_packer pk = packer(bytes);
	(void)msgpack_pack_array(&pk, count);
}

void cop_wire_put_map(cop_bytes *bytes, size_t count)
{
	COP_ASSERT(count <= UINT32_MAX);
	msgpack_packer pk = packer(bytes);
	(void)msgpack_pack_map(&pk, count);
}

void cop_wire_put_raw(cop_bytes *bytes, const void *data, size_t length) { cop_bytes_put(bytes, data, length); }

static size_t open_header(cop_bytes *bytes, uint8_t first)
{
	size_t at = bytes->length;
	cop_bytes_put_u8(bytes, first);
	cop_bytes_put_u32(bytes, 0);
	return at;
}

size_t cop_wire_put_array_open(cop_bytes *bytes) { return open_header(bytes, 0xdd); }
size_t cop_wire_put_map_open(cop_bytes *bytes) { return open_header(bytes, 0xdf); }

void cop_wire_put_close(cop_bytes *bytes, size_t at, size_t count)
{
	COP_ASSERT(count <= UINT32_MAX);
	if (bytes->err != COP_OK)
		return;
	COP_ASSERT(at + 5 <= bytes->length);
	uint32_t word = __builtin_bswap32((uint32_t)count);
	memcpy(bytes->data + at + 1, &word, sizeof word);
}
