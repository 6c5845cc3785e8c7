/* The queue of contexts that wait to be heard: order, its three bounds, and what is counted. */
#include "support.h"

#include <string.h>

#include "base/mem.h"
#include "daemon/models/unheard.h"

#define OWN sizeof(cop_unheard_body)

static const cop_unheard_limits wide = { 1000, 1u << 20, 100.0 };

static void put(cop_unheard *queue, const cop_unheard_limits *limits, double now, const char *text, size_t contexts)
{
	const cop_unheard_item item = { text, strlen(text), contexts, { (uint32_t)contexts, 7 } };
	cop_unheard_put(queue, limits, now, &item);
}

static void expect(cop_unheard *queue, const char *text)
{
	cop_unheard_body *body = cop_unheard_take(queue);
	if (text == NULL) {
		assert_null(body);
		return;
	}
	assert_non_null(body);
	assert_int_equal(body->length, strlen(text));
	assert_memory_equal(body->data, text, body->length);
	assert_true(body->owner.owner == body->contexts && body->owner.most == 7);
	cop_mem_free(body);
}

static void expect_dropped(const cop_unheard *queue, uint64_t count, uint64_t bytes, uint64_t age)
{
	assert_int_equal(queue->dropped[COP_UNHEARD_COUNT], count);
	assert_int_equal(queue->dropped[COP_UNHEARD_BYTES], bytes);
	assert_int_equal(queue->dropped[COP_UNHEARD_AGE], age);
}

static void test_bodies_come_out_in_order_of_arrival(void **state)
{
	(void)state;
	cop_unheard queue = { 0 };
	expect(&queue, NULL);
	for (int round = 0; round < 2; round++) {
		put(&queue, &wide, 1.0, "first", 1);
		put(&queue, &wide, 1.0, "", 0);
		put(&queue, &wide, 2.0, "third", 7);
		assert_int_equal(queue.contexts, 8);
		assert_int_equal(queue.bytes, 3 * OWN + 10);
		expect(&queue, "first");
		expect(&queue, "");
		expect(&queue, "third");
		expect(&queue, NULL);
		assert_true(queue.contexts == 0 && queue.bytes == 0 && queue.youngest == NULL);
	}
	expect_dropped(&queue, 0, 0, 0);
	put(&queue, &wide, 3.0, "left", 1);
	put(&queue, &wide, 3.0, "too", 1);
	cop_unheard_fini(&queue);
	expect(&queue, NULL);
}

static void test_count_drops_the_oldest(void **state)
{
	(void)state;
	const cop_unheard_limits five = { 5, 1u << 20, 100.0 };
	cop_unheard queue = { 0 };
	put(&queue, &five, 1.0, "a", 2);
	assert_true(cop_unheard_has_room(&queue, &five, 1, 3));
	assert_false(cop_unheard_has_room(&queue, &five, 1, 4));
	put(&queue, &five, 1.0, "b", 3);
	put(&queue, &five, 1.0, "c", 1);
	assert_int_equal(queue.contexts, 4);
	expect_dropped(&queue, 2, 0, 0);
	put(&queue, &five, 1.0, "d", 5);
	expect_dropped(&queue, 6, 0, 0);
	put(&queue, &five, 1.0, "more than all", 6); /* drops the others, and itself */
	expect_dropped(&queue, 17, 0, 0);
	put(&queue, &five, 1.0, "huge", SIZE_MAX);
	expect(&queue, NULL);
	put(&queue, &five, 1.0, "e", 5);
	expect(&queue, "e");
}

static void test_bytes_drop_the_oldest(void **state)
{
	(void)state;
	const cop_unheard_limits small = { 100, 3 * OWN + 30, 100.0 };
	cop_unheard queue = { 0 };
	put(&queue, &small, 1.0, "0123456789", 1);
	put(&queue, &small, 1.0, "abcdefghij", 2);
	put(&queue, &small, 1.0, "ABCDEFGHIJ", 3);
	assert_int_equal(queue.bytes, small.bytes);
	expect_dropped(&queue, 0, 0, 0);
	assert_false(cop_unheard_has_room(&queue, &small, 0, 1));
	put(&queue, &small, 1.0, "x", 4);
	expect_dropped(&queue, 0, 1, 0);
	put(&queue, &small, 1.0, "9876543210abcdefghi", 1);
	expect_dropped(&queue, 0, 3, 0);
	char large[3 * OWN + 40];
	memset(large, 'l', sizeof large);
	cop_unheard_put(
	        &queue, &small, 1.0, &(cop_unheard_item){ .body = large, .length = sizeof large, .contexts = 9 });
	expect_dropped(&queue, 0, 3 + 3 + 4 + 1 + 9, 0);
	expect(&queue, NULL);
	large[2 * OWN + 30] = '\0';
	assert_true(cop_unheard_has_room(&queue, &small, strlen(large), 1));
	put(&queue, &small, 1.0, large, 1); /* takes all there is */
	assert_int_equal(queue.bytes, small.bytes);
	expect(&queue, large);
}

static void test_age_drops_what_waited_for_longer(void **state)
{
	(void)state;
	cop_unheard queue = { 0 };
	put(&queue, &wide, 1.0, "a", 1);
	put(&queue, &wide, 2.0, "b", 2);
	put(&queue, &wide, 50.0, "c", 3);
	cop_unheard_drop_old(&queue, &wide, 101.0); /* not longer yet */
	expect_dropped(&queue, 0, 0, 0);
	cop_unheard_drop_old(&queue, &wide, 102.5);
	expect_dropped(&queue, 0, 0, 3);
	expect(&queue, "c");
	cop_unheard_drop_old(&queue, &wide, 1e9);
	expect_dropped(&queue, 0, 0, 3);
}

static void test_short_of_memory_is_counted(void **state)
{
	(void)state;
	cop_unheard queue = { 0 };
	put(&queue, &wide, 1.0, "a", 1);
	cop_test_alloc_fail(1, 0);
	put(&queue, &wide, 1.0, "b", 2);
	cop_test_alloc_fail(0, 0);
	expect_dropped(&queue, 0, 2, 0);
	put(&queue, &wide, 1.0, "c", 1);
	expect(&queue, "a");
	expect(&queue, "c");
	expect(&queue, NULL);
}

static void test_reasons_have_texts(void **state)
{
	(void)state;
	assert_string_equal(cop_unheard_reason_text(COP_UNHEARD_COUNT), "count");
	assert_string_equal(cop_unheard_reason_text(COP_UNHEARD_BYTES), "bytes");
	assert_string_equal(cop_unheard_reason_text(COP_UNHEARD_AGE), "age");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bodies_come_out_in_order_of_arrival),
		cmocka_unit_test(test_count_drops_the_oldest),
		cmocka_unit_test(test_bytes_drop_the_oldest),
		cmocka_unit_test(test_age_drops_what_waited_for_longer),
		cmocka_unit_test(test_short_of_memory_is_counted),
		cmocka_unit_test(test_reasons_have_texts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
