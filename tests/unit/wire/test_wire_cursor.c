/* wire_cursor against msgpack-c: its packer writes random documents, its unpacker says what they mean. */
#include "support.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <msgpack.h>

#include "base/rng.h"
#include "wire/wire_cursor.h"
#include "wire/wire_put.h"
#include "wire_fixture.h"

static cop_wire_cursor cursor_of(const cop_bytes *bytes)
{
	cop_wire_cursor cursor;
	cop_wire_cursor_init(&cursor, bytes->data, bytes->length);
	return cursor;
}

/* ---- differential test ---- */

static void pack_number(msgpack_packer *pk, cop_rng *rng)
{
	uint64_t word = cop_rng_u64(rng) >> cop_rng_below(rng, 64);
	switch (cop_rng_below(rng, 4)) {
	case 0:
		msgpack_pack_uint64(pk, word);
		break;
	case 1:
		msgpack_pack_int64(pk, -(int64_t)(word >> 1));
		break;
	case 2:
		msgpack_pack_float(pk, (float)cop_rng_normal(rng));
		break;
	default:
		msgpack_pack_double(pk, cop_rng_normal(rng));
		break;
	}
}

static void pack_stretch(msgpack_packer *pk, cop_rng *rng, int kind)
{
	static const char text[70000] = "coppice";
	size_t length = (size_t)cop_rng_below(rng, cop_rng_below(rng, 40) == 0 ? sizeof text : 40);
	if (kind == 0) {
		msgpack_pack_str(pk, length);
		msgpack_pack_str_body(pk, text, length);
	} else if (kind == 1) {
		msgpack_pack_bin(pk, length);
		msgpack_pack_bin_body(pk, text, length);
	} else {
		msgpack_pack_ext(pk, length, (int8_t)cop_rng_below(rng, 100));
		msgpack_pack_ext_body(pk, text, length);
	}
}

static void pack_random(msgpack_packer *pk, cop_rng *rng, unsigned depth)
{
	uint64_t kind = cop_rng_below(rng, depth == 0 ? 8 : 10);
	size_t count = (size_t)cop_rng_below(rng, cop_rng_below(rng, 8) == 0 ? 40 : 5);
	if (kind < 4) {
		pack_number(pk, rng);
	} else if (kind == 4) {
		msgpack_pack_nil(pk);
	} else if (kind == 5) {
		cop_rng_below(rng, 2) != 0 ? msgpack_pack_true(pk) : msgpack_pack_false(pk);
	} else if (kind < 8) {
		pack_stretch(pk, rng, (int)cop_rng_below(rng, 3));
	} else {
		size_t values = kind == 8 ? count : 2 * count;
		kind == 8 ? msgpack_pack_array(pk, count) : msgpack_pack_map(pk, count);
		for (size_t i = 0; i < values; i++)
			pack_random(pk, rng, depth - 1);
	}
}

static void compare_number(cop_wire_cursor *cursor, const msgpack_object *object)
{
	uint64_t u;
	int64_t s;
	double d;
	cop_wire_cursor again = *cursor;
	if (object->type == MSGPACK_OBJECT_POSITIVE_INTEGER) {
		assert_int_equal(cop_wire_cursor_peek(cursor), COP_WIRE_TYPE_UNSIGNED);
		assert_int_equal(cop_wire_cursor_unsigned(cursor, &u), COP_OK);
		assert_true(u == object->via.u64);
		assert_int_equal(cop_wire_cursor_signed(&again, &s), u > INT64_MAX ? COP_ENONFINITE : COP_OK);
	} else if (object->type == MSGPACK_OBJECT_NEGATIVE_INTEGER) {
		assert_int_equal(cop_wire_cursor_peek(cursor), COP_WIRE_TYPE_NEGATIVE);
		assert_int_equal(cop_wire_cursor_unsigned(cursor, &u), COP_EINVAL);
		assert_int_equal(cop_wire_cursor_signed(cursor, &s), COP_OK);
		assert_true(s == object->via.i64);
	} else {
		assert_int_equal(cop_wire_cursor_peek(cursor), COP_WIRE_TYPE_FLOAT);
		assert_int_equal(cop_wire_cursor_double(cursor, &d), COP_OK);
		assert_memory_equal(&d, &object->via.f64, sizeof d);
	}
}

static void compare_stretch(cop_wire_cursor *cursor, const msgpack_object *object)
{
	const char *text;
	const uint8_t *data;
	size_t length;
	int8_t type;
	if (object->type == MSGPACK_OBJECT_STR) {
		assert_int_equal(cop_wire_cursor_string(cursor, &text, &length), COP_OK);
		assert_int_equal(length, object->via.str.size);
		assert_memory_equal(text, object->via.str.ptr, length);
	} else if (object->type == MSGPACK_OBJECT_BIN) {
		assert_int_equal(cop_wire_cursor_binary(cursor, &data, &length), COP_OK);
		assert_int_equal(length, object->via.bin.size);
		assert_memory_equal(data, object->via.bin.ptr, length);
	} else {
		assert_int_equal(cop_wire_cursor_extension(cursor, &type, &data, &length), COP_OK);
		assert_int_equal(type, object->via.ext.type);
		assert_int_equal(length, object->via.ext.size);
		assert_memory_equal(data, object->via.ext.ptr, length);
	}
}

static void compare(cop_wire_cursor *cursor, const msgpack_object *object)
{
	size_t count;
	bool flag;
	switch (object->type) {
	case MSGPACK_OBJECT_NIL:
		assert_int_equal(cop_wire_cursor_nil(cursor), COP_OK);
		break;
	case MSGPACK_OBJECT_BOOLEAN:
		assert_int_equal(cop_wire_cursor_bool(cursor, &flag), COP_OK);
		assert_int_equal(flag, object->via.boolean);
		break;
	case MSGPACK_OBJECT_ARRAY:
		assert_int_equal(cop_wire_cursor_array(cursor, &count), COP_OK);
		assert_int_equal(count, object->via.array.size);
		for (size_t i = 0; i < count; i++)
			compare(cursor, &object->via.array.ptr[i]);
		break;
	case MSGPACK_OBJECT_MAP:
		assert_int_equal(cop_wire_cursor_map(cursor, &count), COP_OK);
		assert_int_equal(count, object->via.map.size);
		for (size_t i = 0; i < count; i++) {
			compare(cursor, &object->via.map.ptr[i].key);
			compare(cursor, &object->via.map.ptr[i].val);
		}
		break;
	case MSGPACK_OBJECT_STR:
	case MSGPACK_OBJECT_BIN:
	case MSGPACK_OBJECT_EXT:
		compare_stretch(cursor, object);
		break;
	default:
		compare_number(cursor, object);
		break;
	}
}

static void test_cursor_random_documents_read_as_msgpack_does(void **state)
{
	(void)state;
	const uint64_t seed = 20240611;
	print_message("seed %llu\n", (unsigned long long)seed);
	cop_rng rng;
	cop_rng_init(&rng, seed, 0);
	msgpack_sbuffer buffer;
	msgpack_sbuffer_init(&buffer);
	msgpack_packer pk;
	msgpack_packer_init(&pk, &buffer, msgpack_sbuffer_write);
	for (int round = 0; round < 3000; round++) {
		msgpack_sbuffer_clear(&buffer);
		pack_random(&pk, &rng, 5);
		msgpack_unpacked whole;
		msgpack_unpacked_init(&whole);
		size_t offset = 0;
		assert_int_equal(
		        msgpack_unpack_next(&whole, buffer.data, buffer.size, &offset), MSGPACK_UNPACK_SUCCESS);
		cop_wire_cursor cursor, skipper;
		cop_wire_cursor_init(&cursor, buffer.data, buffer.size);
		skipper = cursor;
		compare(&cursor, &whole.data);
		assert_int_equal(cop_wire_cursor_left(&cursor), 0);
		assert_int_equal(cop_wire_cursor_skip(&skipper, COP_WIRE_DEPTH), COP_OK);
		assert_int_equal(cop_wire_cursor_left(&skipper), 0);
		size_t cut = (size_t)cop_rng_below(&rng, buffer.size);
		cop_wire_cursor_init(&skipper, buffer.data, cut);
		assert_int_equal(cop_wire_cursor_skip(&skipper, COP_WIRE_DEPTH), COP_EFORMAT);
		assert_int_equal(cop_wire_cursor_left(&skipper), cut);
		msgpack_unpacked_destroy(&whole);
	}
	msgpack_sbuffer_destroy(&buffer);
}

/* Random bytes: whatever msgpack-c takes as complete, the cursor skips to the same place, and the other way round. */
static void test_cursor_random_bytes_agree_with_msgpack(void **state)
{
	(void)state;
	cop_rng rng;
	cop_rng_init(&rng, 7, 1);
	unsigned taken = 0;
	for (int round = 0; round < 20000; round++) {
		char data[24];
		size_t length = 1 + (size_t)cop_rng_below(&rng, sizeof data);
		for (size_t i = 0; i < length; i++)
			data[i] = (char)cop_rng_below(&rng, 256);
		cop_wire_cursor cursor;
		cop_wire_cursor_init(&cursor, data, length);
		if (cop_wire_cursor_skip(&cursor, COP_WIRE_DEPTH) != COP_OK)
			continue; /* msgpack-c may accept a nesting beyond ours, and must not see header bombs */
		msgpack_unpacked whole;
		msgpack_unpacked_init(&whole);
		size_t offset = 0;
		msgpack_unpack_return result = msgpack_unpack_next(&whole, data, length, &offset);
		assert_true(result == MSGPACK_UNPACK_SUCCESS || result == MSGPACK_UNPACK_EXTRA_BYTES);
		assert_int_equal(offset, length - cop_wire_cursor_left(&cursor));
		msgpack_unpacked_destroy(&whole);
		taken++;
	}
	assert_true(taken > 1000);
}

/* ---- bounds ---- */

static void test_cursor_nothing_left_is_refused(void **state)
{
	(void)state;
	cop_wire_cursor cursor;
	bool flag;
	uint64_t u;
	double d;
	size_t n;
	cop_wire_cursor_init(&cursor, NULL, 0);
	assert_int_equal(cop_wire_cursor_peek(&cursor), COP_WIRE_TYPE_END);
	assert_int_equal(cop_wire_cursor_nil(&cursor), COP_EFORMAT);
	assert_int_equal(cop_wire_cursor_bool(&cursor, &flag), COP_EFORMAT);
	assert_int_equal(cop_wire_cursor_unsigned(&cursor, &u), COP_EFORMAT);
	assert_int_equal(cop_wire_cursor_double(&cursor, &d), COP_EFORMAT);
	assert_int_equal(cop_wire_cursor_array(&cursor, &n), COP_EFORMAT);
	assert_int_equal(cop_wire_cursor_skip(&cursor, 0), COP_EFORMAT);
	assert_string_equal(cop_wire_cursor_type_text(COP_WIRE_TYPE_END), "nothing");
	assert_string_equal(cop_wire_cursor_type_text(COP_WIRE_TYPE_COUNT), "something unknown");
}

/* Every first byte with every cut of a value behind it: types never lie about what is there. */
static void test_cursor_headers_beyond_the_end_are_refused(void **state)
{
	(void)state;
	static const char *const hex[] = { "c1", "91", "81 01", "a1", "d9", "d9 01", "da 00", "da 00 01", "db 00 00 00",
		"db ff ff ff ff 00", "c4", "c4 02 00", "c5 ff ff 00", "c6 ff ff ff ff", "c7 01", "c7 01 05",
		"c8 00 01 05", "c9 ff ff ff ff 05", "d4", "d4 05", "d8 05 00 00", "dc 00 01", "dd 00 00 00 01",
		"dd ff ff ff ff 01", "de 00 01 01", "df 00 00 00 01 01", "df ff ff ff ff 01 01", "ca 00 00 00",
		"cb 00 00 00 00 00 00 00", "cc", "cd 00", "ce 00 00 00", "cf 00 00 00 00 00 00 00", "d0", "d1 00",
		"d2 00 00 00", "d3 00 00 00 00 00 00 00" };
	for (size_t i = 0; i < sizeof hex / sizeof *hex; i++) {
		cop_bytes bytes;
		cop_bytes_init(&bytes);
		put_hex(&bytes, hex[i]);
		uint8_t *copy = malloc(bytes.length);
		assert_non_null(copy);
		memcpy(copy, bytes.data, bytes.length);
		cop_wire_cursor cursor;
		cop_wire_cursor_init(&cursor, copy, bytes.length);
		assert_int_equal(cop_wire_cursor_peek(&cursor), COP_WIRE_TYPE_BAD);
		assert_int_equal(cop_wire_cursor_skip(&cursor, COP_WIRE_DEPTH), COP_EFORMAT);
		assert_ptr_equal(cursor.at, copy);
		free(copy);
		cop_bytes_fini(&bytes);
	}
}

static void test_cursor_header_bombs_allocate_nothing(void **state)
{
	(void)state;
	uint8_t bomb[155], nest[155];
	for (size_t i = 0; i < sizeof bomb; i++)
		bomb[i] = i % 5 == 0 ? 0xdd : 0xff;
	memset(nest, 0x91, sizeof nest);
	cop_test_alloc_fail(0, 0);
	cop_wire_cursor cursor;
	cop_wire_cursor_init(&cursor, bomb, sizeof bomb);
	assert_int_equal(cop_wire_cursor_skip(&cursor, COP_WIRE_DEPTH), COP_EFORMAT);
	cop_wire_cursor_init(&cursor, nest, sizeof nest);
	assert_int_equal(cop_wire_cursor_skip(&cursor, COP_WIRE_DEPTH), COP_EFORMAT);
	for (size_t i = 0; i + 5 <= sizeof bomb; i += 5) { /* counts that the rest would just hold */
		bomb[i + 1] = bomb[i + 2] = bomb[i + 3] = 0;
		bomb[i + 4] = (uint8_t)(sizeof bomb - i - 5);
	}
	cop_wire_cursor_init(&cursor, bomb, sizeof bomb);
	assert_int_equal(cop_wire_cursor_skip(&cursor, COP_WIRE_DEPTH), COP_EFORMAT);
	assert_int_equal(cop_test_alloc_count(), 0);
}

static void test_cursor_skip_depth_is_exact(void **state)
{
	(void)state;
	for (unsigned depth = 0; depth <= COP_WIRE_DEPTH; depth++) {
		uint8_t nest[COP_WIRE_DEPTH + 2];
		memset(nest, 0x91, sizeof nest);
		nest[depth] = 0xc0;
		cop_wire_cursor cursor;
		cop_wire_cursor_init(&cursor, nest, depth + 1);
		if (depth > 0) {
			assert_int_equal(cop_wire_cursor_skip(&cursor, depth - 1), COP_EFORMAT);
			assert_int_equal(cop_wire_cursor_left(&cursor), depth + 1);
		}
		assert_int_equal(cop_wire_cursor_skip(&cursor, depth), COP_OK);
		assert_int_equal(cop_wire_cursor_left(&cursor), 0);
	}
}

/* ---- numbers ---- */

static void test_cursor_wrong_type_moves_nothing(void **state)
{
	(void)state;
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	cop_wire_put_text(&bytes, "seven");
	cop_wire_cursor cursor = cursor_of(&bytes);
	double d;
	float f;
	int64_t s;
	size_t n;
	const uint8_t *data;
	assert_int_equal(cop_wire_cursor_double(&cursor, &d), COP_EINVAL);
	assert_int_equal(cop_wire_cursor_float(&cursor, &f), COP_EINVAL);
	assert_int_equal(cop_wire_cursor_signed(&cursor, &s), COP_EINVAL);
	assert_int_equal(cop_wire_cursor_map(&cursor, &n), COP_EINVAL);
	assert_int_equal(cop_wire_cursor_binary(&cursor, &data, &n), COP_EINVAL);
	assert_int_equal(cop_wire_cursor_left(&cursor), bytes.length);
	cop_bytes_fini(&bytes);
}

static void test_cursor_nonfinite_is_refused(void **state)
{
	(void)state;
	const float wrong[] = { NAN, -NAN, INFINITY, -INFINITY };
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	for (size_t i = 0; i < 8; i++) {
		cop_bytes_clear(&bytes);
		if (i < 4)
			cop_wire_put_double(&bytes, (double)wrong[i]);
		else
			cop_wire_put_float(&bytes, wrong[i - 4]);
		cop_wire_cursor cursor = cursor_of(&bytes);
		double d;
		float f;
		size_t bad;
		assert_int_equal(cop_wire_cursor_double(&cursor, &d), COP_ENONFINITE);
		assert_int_equal(cop_wire_cursor_float(&cursor, &f), COP_ENONFINITE);
		assert_int_equal(cop_wire_cursor_floats(&cursor, &f, 1, &bad), COP_ENONFINITE);
		assert_int_equal(bad, 0);
	}
	cop_bytes_fini(&bytes);
}

static void test_cursor_float_range_ends_at_its_largest(void **state)
{
	(void)state;
	const double largest = (double)FLT_MAX;
	const double values[] = { largest, -largest, nextafter(largest, DBL_MAX), -1e300, 1e-300 };
	const cop_err want[] = { COP_OK, COP_OK, COP_ENONFINITE, COP_ENONFINITE, COP_OK };
	for (size_t i = 0; i < 5; i++) {
		cop_bytes bytes;
		cop_bytes_init(&bytes);
		cop_wire_put_double(&bytes, values[i]);
		cop_wire_cursor cursor = cursor_of(&bytes), again = cursor;
		float f = 1.0F;
		size_t bad;
		assert_int_equal(cop_wire_cursor_floats(&again, &f, 1, &bad), want[i]);
		assert_int_equal(cop_wire_cursor_float(&cursor, &f), want[i]);
		if (want[i] == COP_OK)
			assert_true(f == (float)values[i]);
		cop_bytes_fini(&bytes);
	}
}

static void test_cursor_floats_mixed_encodings_are_read(void **state)
{
	(void)state;
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	cop_wire_put_double(&bytes, 0.5);
	cop_wire_put_float(&bytes, -1.25F);
	cop_wire_put_unsigned(&bytes, 0);
	cop_wire_put_unsigned(&bytes, 1);
	cop_wire_put_unsigned(&bytes, UINT64_MAX);
	cop_wire_put_signed(&bytes, -3);
	cop_wire_put_signed(&bytes, INT64_MIN);
	const float want[] = { 0.5F, -1.25F, 0.0F, 1.0F, 18446744073709551616.0F, -3.0F, -9223372036854775808.0F };
	cop_wire_cursor cursor = cursor_of(&bytes);
	float got[7];
	size_t bad;
	assert_int_equal(cop_wire_cursor_floats(&cursor, got, 7, &bad), COP_OK);
	assert_memory_equal(got, want, sizeof want);
	assert_int_equal(cop_wire_cursor_left(&cursor), 0);
	cop_wire_put_text(&bytes, "x");
	cursor = cursor_of(&bytes);
	float more[9];
	assert_int_equal(cop_wire_cursor_floats(&cursor, more, 9, &bad), COP_EINVAL);
	assert_int_equal(bad, 7);
	assert_int_equal(cop_wire_cursor_peek(&cursor), COP_WIRE_TYPE_STRING);
	cop_bytes_fini(&bytes);
}

static void test_cursor_packed_first_nonfinite_is_named(void **state)
{
	(void)state;
	float values[40], out[40];
	size_t bad;
	for (size_t i = 0; i < 40; i++)
		values[i] = (float)i;
	uint8_t bytes[sizeof values + 1];
	memcpy(bytes + 1, values, sizeof values); /* not aligned */
	assert_int_equal(cop_wire_cursor_packed(bytes + 1, out, 40, &bad), COP_OK);
	assert_memory_equal(out, values, sizeof values);
	values[33] = INFINITY;
	values[37] = NAN;
	memcpy(bytes + 1, values, sizeof values);
	assert_int_equal(cop_wire_cursor_packed(bytes + 1, out, 40, &bad), COP_ENONFINITE);
	assert_int_equal(bad, 33);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cursor_random_documents_read_as_msgpack_does),
		cmocka_unit_test(test_cursor_random_bytes_agree_with_msgpack),
		cmocka_unit_test(test_cursor_nothing_left_is_refused),
		cmocka_unit_test(test_cursor_headers_beyond_the_end_are_refused),
		cmocka_unit_test(test_cursor_header_bombs_allocate_nothing),
		cmocka_unit_test(test_cursor_skip_depth_is_exact),
		cmocka_unit_test(test_cursor_wrong_type_moves_nothing),
		cmocka_unit_test(test_cursor_nonfinite_is_refused),
		cmocka_unit_test(test_cursor_float_range_ends_at_its_largest),
		cmocka_unit_test(test_cursor_floats_mixed_encodings_are_read),
		cmocka_unit_test(test_cursor_packed_first_nonfinite_is_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
