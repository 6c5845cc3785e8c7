/* Waiting contexts of somebody who is forgotten go, alone or out of an array; the others keep their bytes and order. */
#include "support.h"

#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "daemon/models/unheard_forget.h"
#include "wire/wire_context.h"
#include "wire/wire_put.h"

static const cop_unheard_limits wide = { 1000, 1u << 20, 100.0 };

static cop_event_id text_id(const char *text)
{
	cop_event_id id;
	assert_true(cop_event_id_from_bytes(&id, COP_EVENT_ID_STRING, text, strlen(text)));
	return id;
}

static void put_context(cop_bytes *out, uint64_t n, const char *unit)
{
	cop_event_id id, whom = text_id(unit);
	cop_event_id_from_unsigned(&id, n);
	size_t map = cop_wire_put_map_open(out);
	cop_wire_put_text(out, "id");
	cop_wire_id_put(out, &id);
	cop_wire_put_text(out, "x");
	cop_wire_put_array(out, 1);
	cop_wire_put_double(out, 0.5);
	cop_wire_put_text(out, "unit");
	cop_wire_id_put(out, &whom);
	cop_wire_put_map_close(out, map);
}

/* Contexts from `first` on, a letter of `units` each. */
static void make(cop_bytes *out, bool array, uint64_t first, const char *units)
{
	cop_bytes_clear(out);
	size_t mark = array ? cop_wire_put_array_open(out) : 0;
	for (size_t i = 0; units[i] != '\0'; i++)
		put_context(out, first + i, (const char[]){ units[i], '\0' });
	if (array)
		cop_wire_put_array_close(out, mark, strlen(units));
	assert_int_equal(out->err, COP_OK);
}

static void put(cop_unheard *queue, cop_bytes *room, bool array, uint64_t first, const char *units)
{
	make(room, array, first, units);
	const cop_unheard_item item = { room->data, room->length, strlen(units), { 3, 7 } };
	cop_unheard_put(queue, &wide, 1.0, &item);
}

static void expect(cop_unheard *queue, const cop_bytes *body, size_t contexts)
{
	cop_unheard_body *is = cop_unheard_take(queue);
	assert_non_null(is);
	assert_int_equal(is->contexts, contexts);
	assert_int_equal(is->length, body->length);
	assert_memory_equal(is->data, body->data, body->length);
	assert_true(is->owner.owner == 3 && is->owner.most == 7);
	cop_mem_free(is);
}

static void test_contexts_of_a_unit_go(void **state)
{
	(void)state;
	cop_unheard queue = { 0 };
	cop_bytes room, two;
	cop_event_id whom = text_id("t"), other = text_id("x");
	size_t gone;
	cop_bytes_init(&room);
	cop_bytes_init(&two);
	put(&queue, &room, false, 1, "t");
	put(&queue, &room, true, 2, "atbtt");
	put(&queue, &room, false, 7, "a");
	put(&queue, &room, true, 8, "tt");
	assert_int_equal(cop_unheard_forget(&queue, &other, false, &gone), COP_OK);
	assert_true(gone == 0 && queue.contexts == 9);
	assert_int_equal(cop_unheard_forget(&queue, &whom, false, &gone), COP_OK);
	assert_int_equal(gone, 6);
	assert_int_equal(queue.contexts, 3);
	assert_int_equal(queue.dropped[COP_UNHEARD_FORGOTTEN], 6);
	size_t mark = cop_wire_put_array_open(&two);
	put_context(&two, 2, "a");
	put_context(&two, 4, "b");
	cop_wire_put_array_close(&two, mark, 2);
	expect(&queue, &two, 2);
	make(&room, false, 7, "a");
	expect(&queue, &room, 1);
	assert_true(queue.oldest == NULL && queue.youngest == NULL && queue.contexts == 0 && queue.bytes == 0);
	put(&queue, &room, true, 20, "ab"); /* the queue is whole */
	expect(&queue, &room, 2);
	cop_bytes_fini(&room);
	cop_bytes_fini(&two);
}

static void test_contexts_of_an_id_go(void **state)
{
	(void)state;
	cop_unheard queue = { 0 };
	cop_bytes room;
	cop_event_id id, text = text_id("5");
	size_t gone;
	cop_bytes_init(&room);
	put(&queue, &room, true, 4, "aaa");
	put(&queue, &room, false, 5, "b");
	cop_event_id_from_unsigned(&id, 5);
	assert_int_equal(cop_unheard_forget(&queue, &text, true, &gone), COP_OK);
	assert_int_equal(gone, 0);
	assert_int_equal(cop_unheard_forget(&queue, &id, true, &gone), COP_OK);
	assert_true(gone == 2 && queue.contexts == 2);
	put(&queue, &room, false, 9, "c");
	cop_unheard_body *first = cop_unheard_take(&queue);
	assert_int_equal(first->contexts, 2);
	cop_mem_free(first);
	expect(&queue, &room, 1);
	cop_unheard_fini(&queue);
	cop_bytes_fini(&room);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_contexts_of_a_unit_go),
		cmocka_unit_test(test_contexts_of_an_id_go),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
