/* wire_put: shortest encodings, counts written afterwards, and memory that runs out. */
#include "support.h"

#include <math.h>
#include <msgpack/pack.h>

#include "base/rng.h"
#include "wire/wire_cursor.h"
#include "wire/wire_put.h"
#include "wire_fixture.h"

static void assert_hex(const cop_bytes *bytes, const char *hex)
{
	cop_bytes want;
	cop_bytes_init(&want);
	put_hex(&want, hex);
	assert_int_equal(bytes->err, COP_OK);
	assert_int_equal(bytes->length, want.length);
	assert_memory_equal(bytes->data, want.data, want.length);
	cop_bytes_fini(&want);
}

static void put_all(cop_bytes *bytes)
{
	const float packed[] = { 1.0F, -2.0F };
	cop_wire_put_map(bytes, 2);
	cop_wire_put_key_unsigned(bytes, "a", 200);
	cop_wire_put_text(bytes, "b");
	cop_wire_put_array(bytes, 9);
	cop_wire_put_nil(bytes);
	cop_wire_put_bool(bytes, true);
	cop_wire_put_unsigned(bytes, 70000);
	cop_wire_put_signed(bytes, -5);
	cop_wire_put_double(bytes, 1.0); /* stays a double */
	cop_wire_put_float(bytes, 2.0F);
	cop_wire_put_string(bytes, "xy", 2);
	cop_wire_put_packed(bytes, packed, 2);
	cop_wire_put_raw(bytes, "\xc0", 1);
}

static void test_put_every_type_gives_known_bytes(void **state)
{
	(void)state;
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	put_all(&bytes);
	assert_hex(&bytes, "82 a1 61 cc c8 a1 62 99 c0 c3 ce 00 01 11 70 fb cb 3f f0 00 00 00 00 00 00 ca 40 00 00 00"
	                   "a2 78 79 c4 08 00 00 80 3f 00 00 00 c0 c0");
	cop_bytes_fini(&bytes);
}

static void test_put_keys_give_known_bytes(void **state)
{
	(void)state;
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	cop_wire_put_key_bool(&bytes, "b", false);
	cop_wire_put_key_signed(&bytes, "s", -200);
	cop_wire_put_key_double(&bytes, "d", 0.5);
	cop_wire_put_key_text(&bytes, "t", "");
	assert_hex(&bytes, "a1 62 c2 a1 73 d1 ff 38 a1 64 cb 3f e0 00 00 00 00 00 00 a1 74 a0");
	cop_bytes_fini(&bytes);
}

static void test_put_array_open_and_close_write_the_count(void **state)
{
	(void)state;
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	size_t array = cop_wire_put_array_open(&bytes);
	for (unsigned i = 0; i < 300; i++)
		cop_wire_put_unsigned(&bytes, 1);
	cop_wire_put_array_close(&bytes, array, 300);
	cop_wire_cursor cursor;
	size_t count;
	cop_wire_cursor_init(&cursor, bytes.data, bytes.length);
	assert_int_equal(cop_wire_cursor_array(&cursor, &count), COP_OK);
	assert_int_equal(count, 300);
	cop_bytes_fini(&bytes);
}

/* The same bytes as a map whose count is told beforehand, whatever stands before and after it. */
static void test_put_map_counts_its_pairs(void **state)
{
	(void)state;
	static const size_t counts[] = { 0, 1, 15, 16, 17, 300, 65535, 65536 };
	for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
		cop_bytes told, counted;
		cop_bytes_init(&told);
		cop_bytes_init(&counted);
		cop_wire_put_text(&told, "before");
		cop_wire_put_map(&told, counts[k]);
		cop_wire_put_text(&counted, "before");
		size_t map = cop_wire_put_map_open(&counted);
		for (size_t i = 0; i < counts[k]; i++) {
			cop_wire_put_key_unsigned(&told, "k", i);
			cop_wire_put_key_unsigned(&counted, "k", i);
		}
		cop_wire_put_map_close(&counted, map);
		cop_wire_put_nil(&told);
		cop_wire_put_nil(&counted);
		assert_int_equal(counted.length, told.length);
		assert_memory_equal(counted.data, told.data, told.length);
		cop_bytes_fini(&told);
		cop_bytes_fini(&counted);
	}
}

static void test_put_maps_in_maps_count_their_own_pairs(void **state)
{
	(void)state;
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	size_t outer = cop_wire_put_map_open(&bytes);
	cop_wire_put_text(&bytes, "in");
	size_t inner = cop_wire_put_map_open(&bytes);
	for (unsigned i = 0; i < 20; i++)
		cop_wire_put_key_bool(&bytes, "k", true);
	cop_wire_put_map_close(&bytes, inner);
	cop_wire_put_key_text(&bytes, "last", "x");
	cop_wire_put_map_close(&bytes, outer);
	cop_wire_cursor cursor;
	size_t count;
	cop_wire_cursor_init(&cursor, bytes.data, bytes.length);
	assert_int_equal(cop_wire_cursor_map(&cursor, &count), COP_OK);
	assert_int_equal(count, 2);
	assert_int_equal(cop_wire_cursor_skip(&cursor, 0), COP_OK);
	assert_int_equal(cop_wire_cursor_map(&cursor, &count), COP_OK);
	assert_int_equal(count, 20);
	cop_bytes_fini(&bytes);
}

/* The header of sixteen pairs takes two bytes more, for which there may be no memory. */
static void test_put_map_that_cannot_grow_is_an_error(void **state)
{
	(void)state;
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	size_t map = cop_wire_put_map_open(&bytes);
	for (unsigned i = 0; i < 16; i++)
		cop_wire_put_key_bool(&bytes, "k", true);
	while (bytes.length < bytes.capacity - 1)
		cop_wire_put_nil(&bytes);
	if ((bytes.length - map - 1) % 2 != 0)
		bytes.length--;
	size_t length = bytes.length;
	cop_test_alloc_fail(1, 0);
	cop_wire_put_map_close(&bytes, map);
	cop_test_alloc_fail(0, 0);
	assert_int_equal(bytes.err, COP_ENOMEM);
	assert_int_equal(bytes.length, length);
	cop_bytes_fini(&bytes);
}

static void test_put_without_memory_is_sticky(void **state)
{
	(void)state;
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	cop_test_alloc_fail(1, 0);
	put_all(&bytes);
	size_t at = cop_wire_put_map_open(&bytes);
	cop_wire_put_map_close(&bytes, at);
	assert_int_equal(bytes.err, COP_ENOMEM);
	assert_int_equal(bytes.length, 0);
	cop_test_alloc_fail(0, 0);
	cop_bytes_clear(&bytes);
	put_all(&bytes);
	assert_int_equal(bytes.err, COP_OK);
	unsigned long allocations = cop_test_alloc_count();
	cop_bytes_clear(&bytes);
	put_all(&bytes);
	assert_int_equal(cop_test_alloc_count(), allocations);
	cop_bytes_fini(&bytes);
}

static int append(void *bytes, const char *piece, size_t length)
{
	cop_bytes_put(bytes, piece, length);
	return 0;
}

/* One value of each kind, around a power of two: by msgpack-c, and by ours. */
static void put_around(uint64_t word, cop_bytes *theirs, cop_bytes *ours)
{
	msgpack_packer packer;
	msgpack_packer_init(&packer, theirs, append);
	size_t length = (size_t)(word & UINT32_MAX);
	double real = ldexp((double)(int64_t)word, -20);
	msgpack_pack_uint64(&packer, word);
	cop_wire_put_unsigned(ours, word);
	msgpack_pack_int64(&packer, (int64_t)word);
	cop_wire_put_signed(ours, (int64_t)word);
	msgpack_pack_int64(&packer, (int64_t)(0 - word));
	cop_wire_put_signed(ours, (int64_t)(0 - word));
	msgpack_pack_double(&packer, real);
	cop_wire_put_double(ours, real);
	msgpack_pack_float(&packer, (float)real);
	cop_wire_put_float(ours, (float)real);
	msgpack_pack_array(&packer, length);
	cop_wire_put_array(ours, length);
	msgpack_pack_map(&packer, length);
	cop_wire_put_map(ours, length);
	msgpack_pack_bin(&packer, length);
	cop_wire_put_binary_head(ours, length);
	if (length >= 70000)
		return;
	static const char text[70000];
	msgpack_pack_str(&packer, length);
	msgpack_pack_str_body(&packer, text, length);
	cop_wire_put_string(ours, text, length);
}

static void test_put_gives_the_bytes_of_msgpack_c(void **state)
{
	(void)state;
	cop_bytes theirs, ours;
	cop_rng rng;
	cop_bytes_init(&theirs);
	cop_bytes_init(&ours);
	cop_rng_init(&rng, 11, 0);
	printf("seed 11\n");
	for (unsigned bit = 0; bit < 64; bit++)
		for (unsigned k = 0; k < 8; k++) {
			uint64_t word =
			        (UINT64_C(1) << bit) + (k < 5 ? (uint64_t)k - 2 : cop_rng_u64(&rng) >> (63 - bit));
			cop_bytes_clear(&theirs);
			cop_bytes_clear(&ours);
			put_around(word, &theirs, &ours);
			assert_int_equal(ours.err, COP_OK);
			assert_int_equal(ours.length, theirs.length);
			assert_memory_equal(ours.data, theirs.data, ours.length);
		}
	for (size_t length = 0; length < 70; length++) { /* where the length of a text has another head */
		char text[71];
		memset(text, 'x', length);
		text[length] = '\0';
		cop_bytes_clear(&theirs);
		cop_bytes_clear(&ours);
		cop_wire_put_string(&theirs, text, length);
		cop_wire_put_text(&ours, text);
		assert_int_equal(ours.length, theirs.length);
		assert_memory_equal(ours.data, theirs.data, ours.length);
	}
	cop_bytes_fini(&theirs);
	cop_bytes_fini(&ours);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_put_every_type_gives_known_bytes),
		cmocka_unit_test(test_put_keys_give_known_bytes),
		cmocka_unit_test(test_put_gives_the_bytes_of_msgpack_c),
		cmocka_unit_test(test_put_array_open_and_close_write_the_count),
		cmocka_unit_test(test_put_map_counts_its_pairs),
		cmocka_unit_test(test_put_maps_in_maps_count_their_own_pairs),
		cmocka_unit_test(test_put_map_that_cannot_grow_is_an_error),
		cmocka_unit_test(test_put_without_memory_is_sticky),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
