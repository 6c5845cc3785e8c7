/* The table of positions against a plain list; bounds, saving, damage, failing memory. */
#include "support.h"

#include <stdio.h>

#include "base/rng.h"
#include "online/positions.h"

#define NAMES 7
#define PARTS 5

static const char *const names[NAMES] = { "a", "aa", "ab", "b", "orders", "orders.eu", "z" };

static cop_wire_position at(const char *name, uint64_t partition, uint64_t offset, uint64_t minor)
{
	return (cop_wire_position){ name, strlen(name), partition, offset, minor };
}

static void note(cop_positions *p, const cop_wire_position *position)
{
	assert_int_equal(cop_positions_reserve(p, position), COP_OK);
	cop_positions_note(p, position);
}

static void test_positions_equal_a_list(void **state)
{
	(void)state;
	cop_positions p = { 0 };
	uint64_t best[NAMES][PARTS][2] = { { { 0 } } };
	bool known[NAMES][PARTS] = { { false } };
	cop_rng rng;
	cop_rng_init(&rng, 24, 1);
	for (int i = 0; i < 20000; i++) {
		size_t n = cop_rng_below(&rng, NAMES), k = cop_rng_below(&rng, PARTS);
		uint64_t *is = best[n][k];
		const cop_wire_position position = at(names[n], k, cop_rng_below(&rng, 40), cop_rng_below(&rng, 3));
		bool further = position.offset > is[0] || (position.offset == is[0] && position.minor > is[1]);
		assert_int_equal(cop_positions_passed(&p, &position), known[n][k] && !further);
		if (cop_rng_below(&rng, 20) != 0)
			continue;
		note(&p, &position);
		if (!known[n][k] || further) {
			is[0] = position.offset;
			is[1] = position.minor;
		}
		known[n][k] = true;
		assert_true(cop_positions_passed(&p, &position));
	}
	size_t row = 0;
	for (size_t n = 0; n < NAMES; n++) /* in order */
		for (size_t k = 0; k < PARTS; k++) {
			if (!known[n][k])
				continue;
			const cop_wire_position is = cop_positions_at(&p, row++);
			assert_int_equal(is.length, strlen(names[n]));
			assert_memory_equal(is.source, names[n], is.length);
			assert_true(is.partition == k && is.offset == best[n][k][0] && is.minor == best[n][k][1]);
		}
	assert_int_equal(row, p.count);
	cop_positions_fini(&p);
}

static void save(const cop_positions *p, cop_bytes *bytes)
{
	cop_bytes_clear(bytes);
	cop_positions_save(p, bytes);
	assert_int_equal(bytes->err, COP_OK);
}

static void test_positions_save_equal_bytes_whatever_the_order(void **state)
{
	(void)state;
	cop_positions first = { 0 }, second = { 0 }, third = { 0 };
	cop_bytes a, b;
	cop_bytes_init(&a);
	cop_bytes_init(&b);
	for (uint64_t i = 0; i < 40; i++) {
		const cop_wire_position up = at(names[i % NAMES], i / NAMES, i, i % 3);
		const uint64_t k = 39 - i;
		const cop_wire_position down = at(names[k % NAMES], k / NAMES, k, k % 3);
		note(&first, &up);
		note(&second, &down);
	}
	save(&first, &a);
	save(&second, &b);
	assert_int_equal(a.length, b.length);
	assert_memory_equal(a.data, b.data, a.length);
	cop_cursor cursor;
	cop_cursor_init(&cursor, a.data, a.length);
	assert_int_equal(cop_positions_load(&third, &cursor), COP_OK);
	assert_int_equal(cop_cursor_left(&cursor), 0);
	save(&third, &b);
	assert_memory_equal(a.data, b.data, a.length);
	for (size_t cut = 0; cut < a.length; cut++) {
		cop_cursor_init(&cursor, a.data, cut);
		assert_int_equal(cop_positions_load(&third, &cursor), COP_EFORMAT);
	}
	cop_bytes_fini(&a);
	cop_bytes_fini(&b);
	cop_positions_fini(&first);
	cop_positions_fini(&second);
	cop_positions_fini(&third);
}

static void test_positions_load_refuses_another_order_and_too_many(void **state)
{
	(void)state;
	cop_positions p = { 0 };
	cop_bytes bytes;
	cop_cursor cursor;
	cop_bytes_init(&bytes);
	for (int same = 0; same < 2; same++) {
		cop_bytes_clear(&bytes);
		cop_bytes_put_u32(&bytes, 2);
		for (int i = 0; i < 2; i++) {
			cop_bytes_put_u8(&bytes, 1);
			cop_bytes_put(&bytes, same || i == 0 ? "b" : "a", 1);
			for (int k = 0; k < 3; k++)
				cop_bytes_put_u64(&bytes, 1);
		}
		cop_cursor_init(&cursor, bytes.data, bytes.length);
		assert_int_equal(cop_positions_load(&p, &cursor), COP_EFORMAT);
	}
	cop_bytes_clear(&bytes);
	cop_bytes_put_u32(&bytes, COP_POSITIONS_MOST + 1);
	for (uint64_t i = 0; i <= COP_POSITIONS_MOST; i++) {
		cop_bytes_put_u8(&bytes, 1);
		cop_bytes_put(&bytes, "a", 1);
		cop_bytes_put_u64(&bytes, i);
		cop_bytes_put_u64(&bytes, 1);
		cop_bytes_put_u64(&bytes, 0);
	}
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	assert_int_equal(cop_positions_load(&p, &cursor), COP_EFORMAT);
	cop_bytes_fini(&bytes);
	cop_positions_fini(&p);
}

static void test_positions_full_table_refuses_only_what_is_new(void **state)
{
	(void)state;
	cop_positions p = { 0 };
	for (uint64_t i = 0; i < COP_POSITIONS_MOST; i++) {
		const cop_wire_position position = at("s", i, 1, 0);
		note(&p, &position);
	}
	const cop_wire_position new = at("s", COP_POSITIONS_MOST, 1, 0), old = at("s", 9, 2, 0);
	assert_int_equal(cop_positions_reserve(&p, &new), COP_EFULL);
	assert_false(cop_positions_passed(&p, &new));
	note(&p, &old);
	assert_true(cop_positions_passed(&p, &old));
	assert_int_equal(p.count, COP_POSITIONS_MOST);
	cop_positions_fini(&p);
}

static void test_positions_keep_what_they_have_without_memory(void **state)
{
	(void)state;
	cop_positions p = { 0 };
	for (uint64_t i = 0; i < 8; i++) {
		const cop_wire_position position = at("s", i, i, 0);
		note(&p, &position);
	}
	const cop_wire_position ninth = at("s", 8, 8, 0), third = at("s", 3, 3, 0);
	cop_test_alloc_fail(1, 1);
	assert_int_equal(cop_positions_reserve(&p, &ninth), COP_ENOMEM);
	assert_int_equal(cop_positions_reserve(&p, &third), COP_OK);
	cop_test_alloc_fail(0, 0);
	assert_true(cop_positions_passed(&p, &third));
	assert_false(cop_positions_passed(&p, &ninth));
	note(&p, &ninth);
	cop_positions_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_positions_equal_a_list),
		cmocka_unit_test(test_positions_save_equal_bytes_whatever_the_order),
		cmocka_unit_test(test_positions_load_refuses_another_order_and_too_many),
		cmocka_unit_test(test_positions_full_table_refuses_only_what_is_new),
		cmocka_unit_test(test_positions_keep_what_they_have_without_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
