#include "support.h"

#include <string.h>

#include "base/mem.h"

static void test_mem_alloc_is_zeroed_and_aligned(void **state)
{
	(void)state;
	for (size_t count = 0; count < 300; count += 7) {
		unsigned char *array = cop_mem_alloc(count, 3);
		assert_non_null(array);
		assert_int_equal((uintptr_t)array % COP_MEM_ALIGN, 0);
		for (size_t i = 0; i < count * 3; i++)
			assert_int_equal(array[i], 0);
		memset(array, 0xff, count * 3);
		cop_mem_free(array);
	}
	void *nothing = cop_mem_alloc(5, 0);
	assert_non_null(nothing);
	cop_mem_free(nothing);
	cop_mem_free(NULL);
}

static void test_mem_alloc_beyond_address_space_is_null(void **state)
{
	(void)state;
	volatile size_t huge = SIZE_MAX;
	assert_null(cop_mem_alloc(huge, 2));
	assert_null(cop_mem_alloc(huge, 1));
	assert_null(cop_mem_alloc(huge / 2 + 2, 2));
	assert_null(cop_mem_alloc(2, huge / 2 + 1));
	char kept[1] = { 'k' };
	assert_null(cop_mem_resize(kept, 1, huge, 8));
	assert_int_equal(kept[0], 'k');
}

static void test_mem_resize_keeps_old_and_zeroes_new(void **state)
{
	(void)state;
	int *array = cop_mem_resize(NULL, 0, 3, sizeof *array);
	assert_non_null(array);
	for (int i = 0; i < 3; i++)
		array[i] = i + 1;
	array = cop_mem_resize(array, 3, 100, sizeof *array);
	assert_non_null(array);
	for (int i = 0; i < 100; i++)
		assert_int_equal(array[i], i < 3 ? i + 1 : 0);
	array = cop_mem_resize(array, 100, 2, sizeof *array);
	assert_non_null(array);
	assert_int_equal(array[1], 2);
	cop_mem_free(array);
}

static void test_mem_without_memory_is_null_and_keeps_old(void **state)
{
	(void)state;
	char *text = cop_mem_strdup("text");
	assert_non_null(text);
	cop_test_alloc_fail(1, 1);
	void *fresh = cop_mem_alloc(1, 1);
	char *copy = cop_mem_strdup("text");
	char *moved = cop_mem_resize(text, 5, 10, 1);
	assert_int_equal(cop_test_alloc_count(), 3);
	cop_test_alloc_fail(0, 0);
	assert_null(fresh);
	assert_null(copy);
	assert_null(moved);
	assert_string_equal(text, "text");
	cop_mem_free(text);
}

static void test_mem_strdup_copies_text(void **state)
{
	(void)state;
	static const char *const texts[] = { "", "a",
		"some longer text, longer than the sixty-four bytes of one cache line" };
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		char *copy = cop_mem_strdup(texts[i]);
		assert_non_null(copy);
		assert_string_equal(copy, texts[i]);
		cop_mem_free(copy);
	}
}

static void test_exchange_any_size(void **state)
{
	(void)state;
	for (size_t size = 0; size < 200; size++) {
		unsigned char a[200], b[200], was_a[200], was_b[200];
		for (size_t i = 0; i < sizeof a; i++) {
			a[i] = was_a[i] = (unsigned char)i;
			b[i] = was_b[i] = (unsigned char)(255 - i);
		}
		cop_mem_exchange(a, b, size);
		assert_memory_equal(a, was_b, size);
		assert_memory_equal(b, was_a, size);
		assert_memory_equal(a + size, was_a + size, sizeof a - size);
		assert_memory_equal(b + size, was_b + size, sizeof b - size);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mem_alloc_is_zeroed_and_aligned),
		cmocka_unit_test(test_mem_alloc_beyond_address_space_is_null),
		cmocka_unit_test(test_mem_resize_keeps_old_and_zeroes_new),
		cmocka_unit_test(test_mem_without_memory_is_null_and_keeps_old),
		cmocka_unit_test(test_mem_strdup_copies_text),
		cmocka_unit_test(test_exchange_any_size),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
