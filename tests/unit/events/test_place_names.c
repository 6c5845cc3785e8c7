#include "support.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "events/feature_space.h"
#include "events/place_names.h"

#define BITS 10

static cop_place_names *make(size_t bytes)
{
	cop_place_names *names;
	assert_int_equal(cop_place_names_new(bytes, BITS, &names), COP_OK);
	return names;
}

static uint32_t meet(cop_place_names *names, const char *space, const char *name)
{
	uint32_t hash = cop_hash_feature(name, strlen(name), cop_hash_feature(space, strlen(space), 0));
	const cop_place_name whole = {
		.space = space, .space_length = strlen(space), .name = name, .name_length = strlen(name)
	};
	cop_place_names_meet(names, hash, &whole);
	return hash;
}

/* As whoever puts features does. */
static uint32_t put(cop_place_names *names, const char *name)
{
	uint32_t hash = cop_hash_feature(name, strlen(name), 0);
	return cop_place_names_wants(names, hash & ((1u << BITS) - 1)) ? meet(names, "", name) : hash;
}

static void expect(const cop_place_names *names, uint32_t hash, const char *expected)
{
	char text[COP_PLACE_NAMES_ROOM];
	size_t length = cop_place_names_text(names, hash & ((1u << BITS) - 1), text, sizeof text);
	assert_string_equal(text, expected);
	assert_int_equal(length, strlen(expected));
}

static void test_place_names_are_spelled_as_contexts_spell_them(void **state)
{
	(void)state;
	cop_place_names *names = make(COP_PLACE_NAMES_BYTES);
	expect(names, 5, "");
	expect(NULL, 5, "");
	uint32_t plain = meet(names, "", "age"), spaced = meet(names, "User", "tom");
	cop_place_names_meet(names, 7, &(cop_place_name){ .space = "a", .space_length = 1, .number = 42 });
	cop_place_names_meet(names, 8, &(cop_place_name){ "a", "city", "Rome", 1, 4, 4, 0 });
	cop_place_names_meet_product(names, 9, plain, spaced);
	cop_place_names_meet_product(names, 10, plain, 12345); /* a name that is not known */
	expect(names, plain, "age");
	expect(names, spaced, "User^tom");
	expect(names, 7, "a^42");
	expect(names, 8, "a^city:Rome");
	expect(names, 9, "age*User^tom");
	expect(names, 10, "");
	assert_int_equal(cop_place_names_count(names), 5);
	assert_int_equal(cop_place_names_place(names, 2), 7);
	cop_place_names_free(names);
	cop_place_names_free(NULL);
}

static void test_place_names_of_one_place_stand_side_by_side(void **state)
{
	(void)state;
	cop_place_names *names = make(COP_PLACE_NAMES_BYTES);
	const cop_place_name user = { "User", "tom", NULL, 4, 3, 0, 0 };
	const cop_place_name item = { "Item", "17", NULL, 4, 2, 0, 0 };
	const cop_place_name also = { "Item", "18", NULL, 4, 2, 0, 0 };
	cop_place_names_meet(names, 3, &user);
	cop_place_names_meet(names, 3 + (1u << BITS), &item);
	expect(names, 3, "User^tom | Item^17");
	cop_place_names_meet(names, 3 + (1u << BITS), &item); /* the more used comes first */
	expect(names, 3, "Item^17 | User^tom");
	cop_place_names_meet(names, 3, &also); /* of one hash, too */
	expect(names, 3, "Item^17 | User^tom | Item^18");
	assert_int_equal(cop_place_names_count(names), 3);
	cop_place_names_free(names);
}

static void test_place_names_long_or_unprintable_are_shown_in_part(void **state)
{
	(void)state;
	char text[COP_PLACE_NAMES_ROOM], small[16], name[400];
	cop_place_names *names = make(COP_PLACE_NAMES_BYTES);
	expect(names,
	        meet(names, "",
	                "a\nb\xff"
	                "c\xc3\xa4"),
	        "a?b?c\xc3\xa4");
	for (size_t i = 0; i + 3 <= sizeof name; i += 2)
		memcpy(name + i, "\xc3\xa4", 3);
	uint32_t hash = meet(names, "s", name);
	(void)meet(names, "s", name);
	assert_int_equal(cop_place_names_count(names), 2); /* the long one is known again */
	size_t length = cop_place_names_text(names, hash & ((1u << BITS) - 1), text, sizeof text);
	assert_true(length <= COP_PLACE_NAMES_LONG && length > COP_PLACE_NAMES_LONG - 3);
	assert_string_equal(text + length - 5, "\xc3\xa4...");
	length = cop_place_names_text(names, hash & ((1u << BITS) - 1), small, sizeof small);
	assert_true(length == strlen(small) && length < sizeof small);
	assert_string_equal(small + length - 3, "...");
	cop_place_names_free(names);
}

static void test_place_names_keep_their_bound_and_give_up_the_least_used(void **state)
{
	(void)state;
	cop_test_alloc_fail(0, 0);
	cop_place_names *names = make(COP_PLACE_NAMES_LEAST);
	char name[32];
	uint32_t often[20];
	for (unsigned round = 0; round < 4000; round++) {
		cop_place_names_row(names);
		for (unsigned i = 0; i < 20; i++) {
			(void)snprintf(name, sizeof name, "often%u", i);
			often[i] = put(names, name);
		}
		for (unsigned i = 0; i < 5; i++) {
			(void)snprintf(name, sizeof name, "once%u", 5 * round + i);
			(void)put(names, name);
		}
		assert_true(cop_place_names_used(names) <= COP_PLACE_NAMES_LEAST);
	}
	assert_int_equal(cop_place_names_bound(names), COP_PLACE_NAMES_LEAST);
	assert_true(cop_test_alloc_bytes() <= COP_PLACE_NAMES_LEAST + 4 * COP_MEM_ALIGN); /* in all of its life */
	assert_true(cop_place_names_given_up(names) > 100);
	for (unsigned i = 0; i < 20; i++) {
		char text[COP_PLACE_NAMES_ROOM];
		(void)snprintf(name, sizeof name, "often%u", i);
		(void)cop_place_names_text(names, often[i] & ((1u << BITS) - 1), text, sizeof text);
		assert_memory_equal(text, name, strlen(name)); /* before what shares its place */
	}
	cop_place_names_free(names);
}

/* Entries and texts may meet, and then one name more gives some up. */
static void test_place_names_are_given_up_when_there_is_no_room_left_at_all(void **state)
{
	(void)state;
	cop_place_names *names = make(COP_PLACE_NAMES_LEAST);
	char name[64];
	(void)meet(names, "", "12345678901234567890");
	size_t each = cop_place_names_used(names); /* twice an entry's size */
	assert_int_equal(each, 40);
	size_t left = names->arena_size - each;
	for (unsigned i = 0; left > 0; i++) {
		int width = left % each == 0 ? 20 : 40; /* the arena's size is that of a number of entries */
		(void)snprintf(name, sizeof name, "%0*u", width, i);
		(void)meet(names, "", name);
		left -= 20 + (size_t)width;
		assert_int_equal(cop_place_names_used(names), names->arena_size - left);
	}
	assert_int_equal(cop_place_names_given_up(names), 0);
	(void)meet(names, "", "a");
	assert_true(cop_place_names_given_up(names) > 0);
	cop_place_names_free(names);
}

static void test_place_names_insist_on_a_name_that_would_be_passed_over(void **state)
{
	(void)state;
	cop_place_names *names = make(COP_PLACE_NAMES_LEAST);
	char name[32], text[COP_PLACE_NAMES_ROOM];
	unsigned kept = 0;
	for (unsigned i = 0; i < 2000; i++) {
		(void)snprintf(name, sizeof name, "n%u", i);
		(void)meet(names, "", name);
	}
	assert_true(cop_place_names_given_up(names) > 0);
	for (unsigned i = 0; i < 200; i++) {
		cop_place_names_insist(names, i >= 100);
		cop_place_names_row(names);
		(void)snprintf(name, sizeof name, "new%u", i);
		uint32_t hash = meet(names, "", name);
		(void)cop_place_names_text(names, hash & ((1u << BITS) - 1), text, sizeof text);
		kept += strstr(text, name) != NULL;
		assert_true(i < 100 || strstr(text, name) != NULL);
	}
	assert_true(kept < 190);
	cop_place_names_free(names);
}

static void save(const cop_place_names *names, cop_bytes *bytes)
{
	cop_bytes_init(bytes);
	cop_place_names_save(names, bytes);
	assert_int_equal(bytes->err, COP_OK);
}

static void test_place_names_saved_go_on_as_if_nothing_had_been(void **state)
{
	(void)state;
	cop_place_names *a = make(COP_PLACE_NAMES_LEAST), *b;
	cop_bytes first, second;
	cop_cursor cursor;
	char name[32];
	cop_rng rng;
	cop_rng_init(&rng, 5, 0);
	for (unsigned i = 0; i < 3000; i++) {
		cop_place_names_row(a);
		(void)snprintf(name, sizeof name, "n%u", (unsigned)cop_rng_below(&rng, i % 2 == 0 ? 50 : 5000));
		(void)meet(a, "s", name);
	}
	save(a, &first);
	cop_cursor_init(&cursor, first.data, first.length);
	assert_int_equal(cop_place_names_load(&cursor, COP_PLACE_NAMES_LEAST, BITS, &b), COP_OK);
	assert_int_equal(cop_cursor_left(&cursor), 0);
	for (unsigned i = 0; i < 3000; i++) {
		cop_place_names_row(a);
		cop_place_names_row(b);
		assert_int_equal(a->all, b->all);
		(void)snprintf(name, sizeof name, "n%u", (unsigned)cop_rng_below(&rng, 5000));
		(void)meet(a, "s", name);
		(void)meet(b, "s", name);
	}
	cop_bytes_fini(&first);
	save(a, &first);
	save(b, &second);
	assert_int_equal(first.length, second.length);
	assert_memory_equal(first.data, second.data, first.length);
	cop_place_names_free(b);
	cop_bytes_fini(&second);
	/* under another bound as many as fit, and cut anywhere none */
	cop_cursor_init(&cursor, first.data, first.length);
	assert_int_equal(cop_place_names_load(&cursor, COP_PLACE_NAMES_BYTES, BITS, &b), COP_OK);
	assert_int_equal(cop_place_names_count(b), cop_place_names_count(a));
	cop_place_names_free(b);
	cop_cursor_init(&cursor, first.data, first.length);
	assert_int_equal(cop_place_names_load(&cursor, COP_PLACE_NAMES_BYTES, BITS + 1, &b), COP_EFORMAT);
	assert_null(b);
	for (size_t length = 0; length < first.length; length += 1 + first.length / 200) {
		cop_cursor_init(&cursor, first.data, length);
		assert_int_equal(cop_place_names_load(&cursor, COP_PLACE_NAMES_LEAST, BITS, &b), COP_EFORMAT);
	}
	cop_place_names_free(a);
	cop_bytes_fini(&first);
}

/* All of the first rows, then one of 32 by the table's own sequence. */
static void test_place_names_of_the_first_256_rows_are_all_met(void **state)
{
	(void)state;
	cop_place_names *names = make(COP_PLACE_NAMES_BYTES);
	for (unsigned i = 0; i < 256; i++) {
		cop_place_names_row(names);
		assert_true(names->all);
	}
	cop_place_names_row(names);
	assert_false(names->all);
	unsigned all = 0;
	for (unsigned i = 0; i < 6400; i++) {
		cop_place_names_row(names);
		all += names->all;
	}
	assert_in_range(all, 150, 250);
	assert_int_equal(names->rows, 256);
	cop_place_names_insist(names, true);
	cop_place_names_row(names);
	assert_true(names->all);
	cop_place_names_free(names);
}

static void test_place_names_uses_are_counted_by_place(void **state)
{
	(void)state;
	cop_place_names *names = make(COP_PLACE_NAMES_BYTES);
	const cop_place_name a = { .name = "a", .name_length = 1 }, b = { .name = "b", .name_length = 1 };
	const size_t places = (size_t)1 << BITS;
	assert_int_equal(cop_place_names_uses(names, 3), 0);
	for (unsigned i = 0; i < 5; i++)
		cop_place_names_meet(names, 3, &a);
	cop_place_names_meet(names, 3 + (uint32_t)places, &b);
	cop_place_names_meet(names, 4, &b);
	cop_place_names_meet(names, (uint32_t)places - 1, &b);
	assert_int_equal(cop_place_names_uses(names, 3), 6);
	assert_int_equal(cop_place_names_uses(names, 4), 1);
	assert_int_equal(cop_place_names_uses(names, places - 1), 1);
	assert_int_equal(cop_place_names_uses(names, places), 0);
	assert_int_equal(cop_place_names_used(names), 4 * (20 + 1));
	expect(names, (uint32_t)places - 1, "b");
	char text[COP_PLACE_NAMES_ROOM] = "x";
	assert_int_equal(cop_place_names_text(names, places, text, sizeof text), 0);
	assert_string_equal(text, "");
	cop_place_names_free(names);
}

/* A name that has as many bytes as are kept is kept whole, one of more is cut. */
static void test_place_names_are_cut_behind_255_bytes(void **state)
{
	(void)state;
	char name[300] = "", want[300];
	for (size_t length = 254; length <= 256; length++) {
		cop_place_names *names = make(COP_PLACE_NAMES_BYTES);
		memset(name, 'n', length);
		name[length] = '\0';
		memcpy(want, name, sizeof want);
		if (length > COP_PLACE_NAMES_LONG)
			memcpy(want + 252, "...", 4);
		expect(names, meet(names, "", name), want);
		cop_place_names_free(names);
	}
}

/* The control characters' bounds, and what is no UTF-8, as '?'; room for what fits alone. */
static void test_place_names_are_shown_as_far_as_there_is_room(void **state)
{
	(void)state;
	cop_place_names *names = make(COP_PLACE_NAMES_BYTES);
	expect(names, meet(names, "", "\x1f\x20\x7e\x7f\x01"), "? ~??");
	uint32_t hash = meet(names, "", "abcdef");
	for (size_t size = 4; size < 14; size++) {
		char text[16];
		const char *want = "abcdef";
		char cut[16];
		if (size < 6 + 4) {
			(void)snprintf(cut, sizeof cut, "%.*s...", (int)(size - 4), want);
			want = cut;
		}
		memset(text, 'z', sizeof text);
		size_t length = cop_place_names_text(names, hash & ((1u << BITS) - 1), text, size);
		assert_string_equal(text, want);
		assert_int_equal(length, strlen(want));
		assert_int_equal(text[size], 'z');
	}
	cop_place_names_free(names);
}

static void test_place_names_damaged_counters_are_refused(void **state)
{
	(void)state;
	static const struct {
		size_t at;
		uint8_t byte;
		cop_err err;
	} cases[] = { { 24, 63, COP_OK }, { 24, 64, COP_EFORMAT }, { 20, 0, COP_EFORMAT }, { 20, 2, COP_OK } };
	cop_place_names *names = make(COP_PLACE_NAMES_BYTES);
	(void)meet(names, "", "a");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cop_place_names *read;
		cop_bytes bytes;
		cop_cursor cursor;
		save(names, &bytes);
		assert_int_equal(bytes.data[20], 1); /* the sequence's first state; nothing is drawn yet */
		bytes.data[cases[i].at] = cases[i].byte;
		cop_cursor_init(&cursor, bytes.data, bytes.length);
		assert_int_equal(cop_place_names_load(&cursor, COP_PLACE_NAMES_BYTES, BITS, &read), cases[i].err);
		assert_int_equal(read != NULL, cases[i].err == COP_OK);
		cop_place_names_free(read);
		cop_bytes_fini(&bytes);
	}
	cop_place_names_free(names);
}

/* What is kept depends on the calls alone, so that a replay of a journal makes the same file: names of every spelling,
 * some met by far more often than others, more of them than there is room for. */
static void test_place_names_kept_are_the_recorded_ones(void **state)
{
	(void)state;
	static const size_t bounds[] = { 1, COP_PLACE_NAMES_LEAST, 40000, 100000 };
	static const struct {
		size_t count, used;
		uint64_t given_up;
		uint32_t crc;
	} recorded[] = { { 277, 11751, 7247, 0x3832a61fu }, { 277, 11751, 7247, 0x3832a61fu },
		{ 840, 34432, 6363, 0x27a40934u }, { 2165, 92870, 4499, 0x6a126ba4u } };
	for (size_t k = 0; k < sizeof bounds / sizeof *bounds; k++) {
		cop_place_names *names = make(bounds[k]);
		cop_bytes bytes;
		cop_rng rng;
		char name[400];
		cop_rng_init(&rng, 6, 0);
		for (unsigned i = 0; i < 8000; i++) {
			cop_place_names_insist(names, i % 1000 < 3);
			cop_place_names_row(names);
			uint32_t common = (uint32_t)cop_rng_below(&rng, 6);
			(void)snprintf(name, sizeof name, "often%u", common);
			uint32_t first = meet(names, "User", name);
			(void)snprintf(name, sizeof name, "n%0*u", (int)(i % 9 * 35) + 1,
			        (unsigned)cop_rng_below(&rng, i % 3 == 0 ? 40 : 4000));
			uint32_t second = put(names, name);
			cop_place_names_meet_product(names, first ^ second, first, second);
			const cop_place_name told = { "Item", "colour", name, 4, i % 2 == 0 ? 0 : 6, i % 16, i % 5 };
			cop_place_names_meet(names, (uint32_t)cop_rng_below(&rng, 300) * 7, &told);
		}
		save(names, &bytes);
		print_message("{ %zu, %zu, %llu, 0x%08xu },\n", cop_place_names_count(names),
		        cop_place_names_used(names), (unsigned long long)cop_place_names_given_up(names),
		        (unsigned)cop_crc32c(0, bytes.data, bytes.length));
		assert_int_equal(cop_place_names_count(names), recorded[k].count);
		assert_int_equal(cop_place_names_used(names), recorded[k].used);
		assert_int_equal(cop_place_names_given_up(names), recorded[k].given_up);
		assert_int_equal(cop_crc32c(0, bytes.data, bytes.length), recorded[k].crc);
		cop_bytes_fini(&bytes);
		cop_place_names_free(names);
	}
}

static cop_feature_space *make_space(const char *const *pairs, size_t count)
{
	const cop_feature_space_settings settings = { .bits = BITS, .pairs = pairs, .pair_count = count };
	cop_feature_space *space;
	cop_diag diag;
	assert_int_equal(cop_feature_space_new(&settings, &space, &diag), COP_OK);
	return space;
}

/* Two rows alike: the second goes through the lane of the first. */
static void put_row(cop_feature_space *space, cop_feature_room *room, cop_row *row)
{
	cop_feature_span span;
	size_t features;
	cop_feature_space_begin(space);
	cop_feature_space_namespace(space, "User", 4, 1);
	cop_feature_space_put(space, "tom", 3, 1);
	cop_feature_space_put_text(space, "city", 4, "Rome", 4);
	cop_feature_space_namespace(space, "Item", 4, 1);
	cop_feature_space_put_unnamed(space, 3, 2);
	assert_int_equal(cop_feature_space_end(space, room, &span, &features), COP_OK);
	cop_feature_space_row(space, room, &span, row);
}

static void names_of(const cop_feature_space *space, const cop_row *row, char *out, size_t size)
{
	char text[COP_PLACE_NAMES_ROOM];
	out[0] = '\0';
	for (size_t i = 0; i < row->nnz; i++) {
		assert_true(cop_place_names_text(cop_feature_space_names(space), row->index[i], text, sizeof text) > 0);
		(void)snprintf(out + strlen(out), size - strlen(out), "[%s]", text);
	}
}

static void test_feature_space_names_what_was_put(void **state)
{
	(void)state;
	cop_feature_room room = { 0 };
	cop_row row;
	char text[4096];
	cop_feature_space *space = make_space(NULL, 0);
	put_row(space, &room, &row);
	put_row(space, &room, &row); /* it is in the lane now */
	assert_int_equal(cop_feature_space_keep_names(space, COP_PLACE_NAMES_BYTES), COP_OK);
	put_row(space, &room, &row);
	put_row(space, &room, &row);
	names_of(space, &row, text, sizeof text);
	assert_non_null(strstr(text, "[User^tom]"));
	assert_non_null(strstr(text, "[User^city:Rome]"));
	assert_non_null(strstr(text, "[Item^3]"));
	/* another bound keeps them, none forgets them */
	assert_int_equal(cop_feature_space_keep_names(space, COP_PLACE_NAMES_LEAST), COP_OK);
	assert_int_equal(cop_place_names_bound(cop_feature_space_names(space)), COP_PLACE_NAMES_LEAST);
	assert_int_equal(cop_place_names_count(cop_feature_space_names(space)), 3);
	assert_int_equal(cop_feature_space_keep_names(space, 0), COP_OK);
	assert_null(cop_feature_space_names(space));
	cop_feature_space_free(space);
	cop_feature_room_fini(&room);
}

static void test_feature_space_names_products(void **state)
{
	(void)state;
	static const char *const pairs[] = { "UI" };
	cop_feature_room room = { 0 };
	cop_row row;
	char text[4096];
	cop_feature_space *space = make_space(pairs, 1);
	assert_int_equal(cop_feature_space_keep_names(space, COP_PLACE_NAMES_BYTES), COP_OK);
	for (int i = 0; i < 100; i++)
		put_row(space, &room, &row);
	assert_int_equal(row.nnz, 5);
	names_of(space, &row, text, sizeof text);
	assert_non_null(strstr(text, "[User^tom*Item^3]"));
	assert_non_null(strstr(text, "[User^city:Rome*Item^3]"));
	cop_feature_space_free(space);
	cop_feature_room_fini(&room);
}

static void test_place_names_short_of_memory_cost_names_alone(void **state)
{
	(void)state;
	cop_place_names *names = NULL;
	for (unsigned long n = 1; n <= 3; n++) {
		cop_test_alloc_fail(n, 0);
		assert_int_equal(cop_place_names_new(COP_PLACE_NAMES_LEAST, BITS, &names), COP_ENOMEM);
		assert_null(names);
	}
	cop_test_alloc_fail(0, 0);
	names = make(COP_PLACE_NAMES_LEAST);
	cop_test_alloc_fail(1, 0);
	uint32_t hash = meet(names, "", "a");
	cop_test_alloc_fail(0, 0);
	expect(names, hash, "");
	expect(names, meet(names, "", "a"), "a");
	cop_place_names_free(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_place_names_are_spelled_as_contexts_spell_them),
		cmocka_unit_test(test_place_names_of_one_place_stand_side_by_side),
		cmocka_unit_test(test_place_names_long_or_unprintable_are_shown_in_part),
		cmocka_unit_test(test_place_names_keep_their_bound_and_give_up_the_least_used),
		cmocka_unit_test(test_place_names_insist_on_a_name_that_would_be_passed_over),
		cmocka_unit_test(test_place_names_saved_go_on_as_if_nothing_had_been),
		cmocka_unit_test(test_place_names_of_the_first_256_rows_are_all_met),
		cmocka_unit_test(test_place_names_uses_are_counted_by_place),
		cmocka_unit_test(test_place_names_are_cut_behind_255_bytes),
		cmocka_unit_test(test_place_names_are_shown_as_far_as_there_is_room),
		cmocka_unit_test(test_place_names_damaged_counters_are_refused),
		cmocka_unit_test(test_place_names_kept_are_the_recorded_ones),
		cmocka_unit_test(test_feature_space_names_what_was_put),
		cmocka_unit_test(test_feature_space_names_products),
		cmocka_unit_test(test_place_names_short_of_memory_cost_names_alone),
		cmocka_unit_test(test_place_names_are_given_up_when_there_is_no_room_left_at_all),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
