#include "support.h"

#include <math.h>
#include <string.h>

#include "base/bytes.h"

static const float floats[] = { 1.5f, -2.0f };
static const double doubles[] = { 0.1, -1e300, 5e-324 };

static void put_all(cop_bytes *bytes)
{
	cop_bytes_put_u8(bytes, 0x12);
	cop_bytes_put_u32(bytes, 0x789abcdeu);
	cop_bytes_put_u64(bytes, UINT64_C(0x0123456789abcdef));
	cop_bytes_put_f32(bytes, 1.25f);
	cop_bytes_put_f64(bytes, -0.1);
	cop_bytes_put_f32s(bytes, floats, 2);
	cop_bytes_put_f64s(bytes, doubles, 3);
	cop_bytes_put_text(bytes, "front-page");
	cop_bytes_put_text(bytes, "");
	cop_bytes_put(bytes, "raw", 3);
	cop_bytes_put(bytes, NULL, 0);
}

/* Reads all fields; the cursor tells whether they were there. */
static void take_all(cop_cursor *cursor, int whole)
{
	float f[2];
	double d[3];
	char text[16];
	char empty[1];
	uint8_t u8 = cop_cursor_u8(cursor);
	uint32_t u32 = cop_cursor_u32(cursor);
	uint64_t u64 = cop_cursor_u64(cursor);
	float f32 = cop_cursor_f32(cursor);
	double f64 = cop_cursor_f64(cursor);
	cop_cursor_f32s(cursor, f, 2);
	cop_cursor_f64s(cursor, d, 3);
	cop_cursor_text(cursor, text, sizeof text);
	cop_cursor_text(cursor, empty, sizeof empty);
	const uint8_t *raw = cop_cursor_take(cursor, 3);
	if (!whole)
		return;
	assert_true(u8 == 0x12 && u32 == 0x789abcdeu && u64 == UINT64_C(0x0123456789abcdef));
	assert_true(f32 == 1.25f && f64 == -0.1);
	assert_memory_equal(f, floats, sizeof f);
	assert_memory_equal(d, doubles, sizeof d);
	assert_string_equal(text, "front-page");
	assert_string_equal(empty, "");
	assert_memory_equal(raw, "raw", 3);
}

static void test_bytes_put_is_little_endian(void **state)
{
	(void)state;
	static const uint8_t expected[] = { 0x12, 0xde, 0xbc, 0x9a, 0x78, 0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23,
		0x01, 0x00, 0x00, 0xa0, 0x3f };
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	put_all(&bytes);
	assert_int_equal(bytes.err, COP_OK);
	assert_true(bytes.length > sizeof expected);
	assert_memory_equal(bytes.data, expected, sizeof expected);
	cop_bytes_fini(&bytes);
}

static void test_cursor_reads_what_was_put_and_fails_at_every_cut(void **state)
{
	(void)state;
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	put_all(&bytes);
	for (size_t cut = 0; cut <= bytes.length; cut++) {
		cop_cursor cursor;
		cop_cursor_init(&cursor, bytes.data, cut);
		assert_int_equal(cop_cursor_left(&cursor), cut);
		take_all(&cursor, cut == bytes.length);
		assert_int_equal(cursor.err, cut == bytes.length ? COP_OK : COP_EFORMAT);
		assert_int_equal(cop_cursor_left(&cursor), 0);
	}
	cop_bytes_fini(&bytes);
}

static void test_cursor_after_failure_gives_zeros_and_keeps_first_error(void **state)
{
	(void)state;
	static const uint8_t data[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	cop_cursor cursor;
	cop_cursor_init(&cursor, data, sizeof data);
	assert_null(cop_cursor_take(&cursor, 9));
	assert_int_equal(cursor.err, COP_EFORMAT);
	assert_int_equal(cop_cursor_u8(&cursor), 0);
	assert_true(cop_cursor_f64(&cursor) == 0);
	assert_null(cop_cursor_take(&cursor, 1));
	float values[4] = { 1, 1, 1, 1 };
	cop_cursor_f32s(&cursor, values, 4);
	assert_true(values[0] == 0 && values[3] == 0);

	const double wrong[] = { 1, (double)INFINITY };
	cop_cursor_init(&cursor, wrong, sizeof wrong);
	assert_true(cop_cursor_f64(&cursor) == 1);
	(void)cop_cursor_f64(&cursor);
	assert_int_equal(cursor.err, COP_ENONFINITE);
	(void)cop_cursor_u64(&cursor);
	assert_int_equal(cursor.err, COP_ENONFINITE);
}

static void test_cursor_of_nonfinite_numbers_is_refused(void **state)
{
	(void)state;
	const float wrong[] = { NAN, INFINITY, -INFINITY };
	for (size_t i = 0; i < 3; i++) {
		cop_bytes bytes;
		cop_bytes_init(&bytes);
		cop_bytes_put_f32(&bytes, wrong[i]);
		cop_bytes_put_f64(&bytes, (double)wrong[i]);
		cop_cursor cursor;
		cop_cursor_init(&cursor, bytes.data, 4);
		(void)cop_cursor_f32(&cursor);
		assert_int_equal(cursor.err, COP_ENONFINITE);
		cop_cursor_init(&cursor, bytes.data + 4, 8);
		(void)cop_cursor_f64(&cursor);
		assert_int_equal(cursor.err, COP_ENONFINITE);
		cop_bytes_fini(&bytes);
	}
}

static void test_cursor_text_that_does_not_fit_is_refused(void **state)
{
	(void)state;
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	cop_bytes_put_text(&bytes, "four");
	char text[8] = "x";
	cop_cursor cursor;
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	cop_cursor_text(&cursor, text, 4);
	assert_int_equal(cursor.err, COP_EFORMAT);
	assert_string_equal(text, "");
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	cop_cursor_text(&cursor, text, 5);
	assert_int_equal(cursor.err, COP_OK);
	assert_string_equal(text, "four");
	bytes.data[5] = 0;
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	cop_cursor_text(&cursor, text, sizeof text);
	assert_int_equal(cursor.err, COP_EFORMAT);
	memset(bytes.data, 0xff, 4);
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	cop_cursor_text(&cursor, text, sizeof text);
	assert_int_equal(cursor.err, COP_EFORMAT);
	cop_bytes_fini(&bytes);
}

/* A text that could not be one: a byte of zero in it, wherever. */
static void test_cursor_text_with_a_zero_in_it_is_refused(void **state)
{
	(void)state;
	for (uint32_t length = 0; length < 6; length++)
		for (uint32_t zero = 0; zero <= length; zero++) { /* the last: none */
			char text[8], of[8] = "abcdef";
			cop_bytes bytes;
			cop_cursor cursor;
			of[zero] = zero < length ? '\0' : of[zero];
			cop_bytes_init(&bytes);
			cop_bytes_put_u32(&bytes, length);
			cop_bytes_put(&bytes, of, length);
			cop_cursor_init(&cursor, bytes.data, bytes.length);
			cop_cursor_text(&cursor, text, sizeof text);
			assert_int_equal(cursor.err, zero < length ? COP_EFORMAT : COP_OK);
			assert_int_equal(strlen(text), zero < length ? 0 : length);
			cop_bytes_fini(&bytes);
		}
}

static void test_cursor_of_huge_counts_is_refused(void **state)
{
	(void)state;
	static const uint8_t data[16] = { 0 };
	float value;
	double wide;
	volatile size_t huge = SIZE_MAX;
	cop_cursor cursor;
	cop_cursor_init(&cursor, data, sizeof data);
	cop_cursor_f32s(&cursor, &value, huge);
	assert_int_equal(cursor.err, COP_EFORMAT);
	cop_cursor_init(&cursor, data, sizeof data);
	cop_cursor_f64s(&cursor, &wide, huge / 4);
	assert_int_equal(cursor.err, COP_EFORMAT);
}

static void test_bytes_without_memory_stick_to_the_error(void **state)
{
	(void)state;
	char block[100] = { 0 };
	for (unsigned long n = 1; n <= 4; n++) {
		cop_bytes bytes;
		cop_bytes_init(&bytes);
		cop_test_alloc_fail(n, 0);
		for (int i = 0; i < 10; i++)
			cop_bytes_put(&bytes, block, sizeof block);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(bytes.err, COP_ENOMEM);
		size_t length = bytes.length;
		assert_true(length < 1000 && length % sizeof block == 0);
		cop_bytes_put_u8(&bytes, 1);
		assert_int_equal(bytes.length, length);
		cop_bytes_clear(&bytes);
		cop_bytes_put_u8(&bytes, 1);
		assert_int_equal(bytes.err, COP_OK);
		assert_int_equal(bytes.length, 1);
		cop_bytes_fini(&bytes);
	}
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	cop_bytes_put_u8(&bytes, 1);
	cop_bytes_reserve(&bytes, SIZE_MAX);
	assert_int_equal(bytes.err, COP_ENOMEM);
	assert_int_equal(bytes.length, 1);
	cop_bytes_fini(&bytes);
	cop_bytes_fini(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes_put_is_little_endian),
		cmocka_unit_test(test_cursor_reads_what_was_put_and_fails_at_every_cut),
		cmocka_unit_test(test_cursor_after_failure_gives_zeros_and_keeps_first_error),
		cmocka_unit_test(test_cursor_of_nonfinite_numbers_is_refused),
		cmocka_unit_test(test_cursor_text_that_does_not_fit_is_refused),
		cmocka_unit_test(test_cursor_of_huge_counts_is_refused),
		cmocka_unit_test(test_bytes_without_memory_stick_to_the_error),
		cmocka_unit_test(test_cursor_text_with_a_zero_in_it_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
