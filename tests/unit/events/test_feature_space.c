#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/rng.h"
#include "events/feature_space.h"

static cop_feature_space *new_space(const cop_feature_space_settings *settings)
{
	cop_feature_space *space;
	cop_diag diag;
	if (cop_feature_space_new(settings, &space, &diag) != COP_OK)
		fail_msg("%s", diag.message);
	return space;
}

static void put(cop_feature_space *space, const char *name, double value)
{
	cop_feature_space_put(space, name, strlen(name), value);
}

static void in_namespace(cop_feature_space *space, const char *name, double scale)
{
	cop_feature_space_namespace(space, name, strlen(name), scale);
}

static cop_row end(cop_feature_space *space, cop_feature_room *room, size_t expected_features)
{
	cop_feature_span span;
	size_t features;
	cop_row row;
	assert_int_equal(cop_feature_space_end(space, room, &span, &features), COP_OK);
	assert_int_equal(features, expected_features);
	cop_feature_space_row(space, room, &span, &row);
	return row;
}

static uint32_t place(const char *namespace, const char *name)
{
	uint32_t seed = cop_hash_feature(namespace, strlen(namespace), 0);
	return cop_hash_feature(name, strlen(name), seed) & 0x3ffff;
}

static float at(const cop_row *row, uint32_t index)
{
	for (size_t i = 0; i < row->nnz; i++)
		if (row->index[i] == index)
			return row->value[i];
	return 0;
}

/* ---- settings ---- */

static void test_feature_space_of_wrong_settings_is_refused(void **state)
{
	(void)state;
	static const char *const ab[] = { "ab" };
	static const char *const abc[] = { "::", "abc" };
	const cop_feature_space_settings wrong[] = { { .bits = 31 }, { .dense = true, .pairs = ab, .pair_count = 1 },
		{ .pairs = abc, .pair_count = 2 } };
	static const char *const says[] = { "bits are 31; expected 1 to 30", "pairs of namespaces need hashed features",
		"pair \"abc\"; expected" };
	for (size_t i = 0; i < 3; i++) {
		cop_feature_space *space;
		cop_diag diag;
		assert_int_equal(cop_feature_space_new(&wrong[i], &space, &diag), COP_EINVAL);
		assert_null(space);
		assert_non_null(strstr(diag.message, says[i]));
	}
}

static void test_feature_space_is_plain_where_a_name_is_at_its_hash(void **state)
{
	(void)state;
	static const char *const pairs[] = { "ab" };
	static const struct {
		cop_feature_space_settings settings;
		bool plain;
	} cases[] = { { { .bits = 0 }, true }, { { .ignore = "b" }, true }, { { .keep = " " }, true },
		{ { .dense = true }, false }, { { .hash_all = true }, false }, { { .keep = "b" }, false },
		{ { .ignore = " " }, false }, { { .pairs = pairs, .pair_count = 1 }, false } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cop_feature_space *space = new_space(&cases[i].settings);
		assert_int_equal(cop_feature_space_is_plain(space), cases[i].plain);
		assert_int_equal(cop_feature_space_has_pairs(space), cases[i].settings.pair_count > 0);
		assert_int_equal(cop_feature_space_is_dense(space), cases[i].settings.dense);
		cop_feature_space_free(space);
	}
}

/* Names, numbers and features without a name, row after row. */
static void test_feature_space_reads_rows_that_are_alike(void **state)
{
	(void)state;
	const cop_feature_space_settings settings = { .bits = 0 };
	cop_feature_space *space = new_space(&settings);
	cop_feature_room room = { 0 };
	for (unsigned i = 0; i < 6; i++) {
		cop_feature_space_begin(space);
		in_namespace(space, "n", 1);
		put(space, "a", 1);
		put(space, "10", 2);
		cop_feature_space_put_unnamed(space, 10, 4);
		put(space, "05", 8);
		cop_row row = end(space, &room, 4);
		assert_true(at(&row, place("n", "a")) == 1.0F);
		assert_true(at(&row, place("n", "10")) == 6.0F); /* a name of digits is their number */
		assert_true(at(&row, place("n", "05")) == 8.0F);
		cop_feature_room_clear(&room);
	}
	cop_feature_room_fini(&room);
	cop_feature_space_free(space);
}

static void test_feature_space_takes_as_many_entries_as_it_may(void **state)
{
	(void)state;
	const cop_feature_space_settings settings = { .bits = 21 };
	for (size_t more = 0; more < 2; more++) {
		cop_feature_space *space = new_space(&settings);
		cop_feature_room room = { 0 };
		cop_feature_span span;
		size_t features;
		cop_feature_space_begin(space);
		for (size_t i = 0; i < COP_FEATURE_SPACE_MAX_ENTRIES + more; i++)
			cop_feature_space_put_unnamed(space, i, 1);
		assert_int_equal(cop_feature_space_end(space, &room, &span, &features), more == 0 ? COP_OK : COP_EFULL);
		cop_feature_room_fini(&room);
		cop_feature_space_free(space);
	}
}

static void test_feature_space_has_reserved_the_memory_for_its_features(void **state)
{
	(void)state;
	enum { MOST = 3000 };
	const cop_feature_space_settings settings = { .bits = 0 };
	cop_feature_space *space = new_space(&settings);
	cop_feature_room room = { 0 };
	cop_test_alloc_fail(1, 0);
	assert_int_equal(cop_feature_space_reserve(space, MOST), COP_ENOMEM);
	cop_test_alloc_fail(0, 0);
	assert_int_equal(cop_feature_space_reserve(space, MOST), COP_OK);
	for (unsigned row = 0; row < 2; row++) {
		char name[16];
		cop_test_alloc_fail(1, 0);
		cop_feature_space_begin(space);
		for (unsigned i = 0; i < MOST; i++) {
			(void)snprintf(name, sizeof name, "%c%u", "ab"[row], i);
			put(space, name, 1);
		}
		assert_int_equal(cop_feature_space_failure(space), COP_OK);
		cop_test_alloc_fail(0, 0);
		cop_row whole = end(space, &room, MOST);
		assert_true(whole.nnz > MOST - 100);
	}
	cop_feature_room_fini(&room);
	cop_feature_space_free(space);
}

static void test_feature_space_keeps_and_ignores_by_first_character(void **state)
{
	(void)state;
	const cop_feature_space_settings settings = { .keep = "ab ", .ignore = "b" };
	static const char *const names[] = { "apple", "bee", "cat", "" };
	cop_feature_space *space = new_space(&settings);
	cop_feature_room room = { 0 };
	for (int i = 0; i < 3; i++) {
		cop_feature_space_begin(space);
		for (size_t k = 0; k < 4; k++) {
			in_namespace(space, names[k], 1);
			put(space, "x", (double)k + 1);
		}
		cop_row row = end(space, &room, 2);
		assert_int_equal(row.nnz, 2);
		assert_true(at(&row, place("apple", "x")) == 1 && at(&row, place("", "x")) == 4);
	}
	cop_feature_room_fini(&room);
	cop_feature_space_free(space);
}

/* ---- dense ---- */

static void test_feature_space_dense_grows_in_order_of_appearance(void **state)
{
	(void)state;
	cop_feature_space *space = new_space(&(cop_feature_space_settings){ .dense = true });
	cop_feature_room room = { 0 };
	static const char *const rows[] = { "ac", "abc", "cab", "b", "", "dcab", "abcd" };
	static const char *const columns = "acbd";
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		cop_feature_space_begin(space);
		for (const char *name = rows[i]; *name != '\0'; name++)
			cop_feature_space_put(space, name, 1, (double)*name);
		cop_row row = end(space, &room, strlen(rows[i]));
		assert_int_equal(row.d, cop_feature_space_dimension(space));
		assert_non_null(row.dense);
		for (size_t k = 0; k < row.d; k++)
			assert_true(row.dense[k] == (strchr(rows[i], columns[k]) != NULL ? (float)columns[k] : 0.0F));
	}
	assert_int_equal(cop_feature_space_dimension(space), 4);
	assert_string_equal(cop_feature_space_column(space, 3), "d");
	cop_feature_room_fini(&room);
	cop_feature_space_free(space);
}

static void test_feature_space_dense_names_of_namespaces_are_apart(void **state)
{
	(void)state;
	cop_feature_space *space = new_space(&(cop_feature_space_settings){ .dense = true });
	cop_feature_room room = { 0 };
	static const char *const columns[] = { "x", "a^x", "a^b^x", "a^b^x", "a^0", "a^1", "a^word:text" };
	for (int i = 0; i < 3; i++) {
		cop_feature_space_begin(space);
		put(space, "x", 1);
		in_namespace(space, "a", 2);
		put(space, "x", 2);
		put(space, "b^x", 3);
		in_namespace(space, "a^b", 1);
		put(space, "x", 4);
		in_namespace(space, "a", 1);
		cop_feature_space_put_unnamed(space, 0, 5);
		put(space, "1", 6);
		put(space, "0", 0.5);
		cop_feature_space_put_text(space, "word", 4, "text", 4);
		cop_row row = end(space, &room, 8);
		static const float expected[] = { 1, 4, 6, 4, 5.5F, 6, 1 };
		assert_int_equal(row.d, 7);
		assert_memory_equal(row.dense, expected, sizeof expected);
	}
	for (size_t i = 0; i < 7; i++)
		assert_string_equal(cop_feature_space_column(space, i), columns[i]);
	cop_feature_room_fini(&room);
	cop_feature_space_free(space);
}

static void test_feature_space_dense_frozen_drops_and_counts_new_names(void **state)
{
	(void)state;
	cop_feature_space *space = new_space(&(cop_feature_space_settings){ .dense = true });
	cop_feature_room room = { 0 };
	cop_feature_space_begin(space);
	put(space, "a", 1);
	(void)end(space, &room, 1);
	cop_feature_space_freeze(space);
	cop_feature_space_begin(space);
	put(space, "b", 1);
	in_namespace(space, "new", 1);
	put(space, "a", 1);
	in_namespace(space, "", 1);
	put(space, "a", 7);
	cop_row row = end(space, &room, 3);
	assert_int_equal(row.d, 1);
	assert_true(row.dense[0] == 7);
	assert_int_equal(cop_feature_space_dropped(space), 2);
	cop_feature_room_fini(&room);
	cop_feature_space_free(space);
}

static void test_feature_space_dense_abandoned_event_leaves_no_column(void **state)
{
	(void)state;
	cop_feature_space *space = new_space(&(cop_feature_space_settings){ .dense = true });
	cop_feature_room room = { 0 };
	char name[2000];
	memset(name, 'n', sizeof name);
	cop_feature_space_abandon(space);
	for (int i = 0; i < 50; i++) {
		cop_feature_space_begin(space);
		put(space, "b", 1);
		if (i % 2 == 1) {
			for (size_t k = 0; k < 100; k++) /* new names between and behind the old ones */
				cop_feature_space_put(space, name, sizeof name - k, 1);
			in_namespace(space, "other", 1);
			put(space, "b", 1);
			cop_feature_space_abandon(space);
		} else {
			put(space, "a", 2);
			put(space, i < 20 ? "c" : "d", 3);
			cop_row row = end(space, &room, 3);
			assert_true(row.dense[0] == 1 && row.dense[1] == 2 && row.dense[i < 20 ? 2 : 3] == 3);
		}
		assert_int_equal(cop_feature_space_dimension(space), i == 0 ? 3 : i < 20 ? 3 : 4);
	}
	assert_string_equal(cop_feature_space_column(space, 3), "d");
	cop_feature_room_fini(&room);
	cop_feature_space_free(space);
}

static void test_feature_space_dense_rows_of_one_event_are_widened(void **state)
{
	(void)state;
	cop_feature_space *space = new_space(&(cop_feature_space_settings){ .dense = true });
	cop_feature_room room = { 0 };
	cop_feature_span span[200];
	for (size_t i = 0; i < 200; i++) {
		char name[16];
		size_t features;
		(void)snprintf(name, sizeof name, "%zu", i);
		if (i == 0)
			cop_feature_space_begin(space);
		else
			cop_feature_space_begin_candidate(space);
		put(space, name, (double)i + 1);
		assert_int_equal(cop_feature_space_end(space, &room, &span[i], &features), COP_OK);
	}
	assert_int_equal(cop_feature_space_widen(space, &room, span, 200), COP_OK);
	for (size_t i = 0; i < 200; i++) {
		cop_row row;
		cop_feature_space_row(space, &room, &span[i], &row);
		assert_int_equal(row.d, 200);
		for (size_t k = 0; k < 200; k++)
			assert_true(row.dense[k] == (k == i ? (float)i + 1 : 0.0F));
	}
	cop_feature_room_fini(&room);
	cop_feature_space_free(space);
}

static void test_feature_space_dense_of_too_many_names_is_full(void **state)
{
	(void)state;
	cop_feature_space *space = new_space(&(cop_feature_space_settings){ .dense = true });
	cop_feature_room room = { 0 };
	cop_feature_span span;
	size_t features;
	cop_feature_space_begin(space);
	for (size_t i = 0; i <= COP_FEATURE_SPACE_MAX_DENSE; i++) {
		char name[16];
		(void)snprintf(name, sizeof name, "f%zu", i);
		put(space, name, 1);
	}
	assert_int_equal(cop_feature_space_end(space, &room, &span, &features), COP_EFULL);
	assert_int_equal(cop_feature_space_dimension(space), 0);
	cop_feature_space_begin(space);
	put(space, "f7", 1);
	(void)end(space, &room, 1);
	assert_int_equal(cop_feature_space_dimension(space), 1);
	cop_feature_room_fini(&room);
	cop_feature_space_free(space);
}

/* ---- both ways, beside a plain reference ---- */

#define NAMES 40
#define ROWS  3000

typedef struct feature {
	int space; /* 0: default, 1: "s", 2: "tea" */
	int name;  /* below 0: unnamed, counted */
	double value;
} feature;

static const char *const spaces[] = { "", "s", "tea" };

static void name_of(int name, char out[48])
{
	static const char *const before[] = { "", "feature_with_a_long_name_", "f", "\xc3\xa9", "" };
	(void)snprintf(out, 48, "%s%d%s", before[name % 5], name, name % 5 == 4 ? ".5" : "");
}

/* A row mostly as the one before: some features left out, swapped, doubled, or zero. */
static size_t vary(cop_rng *rng, feature *row, size_t count)
{
	if (count == 0 || cop_rng_below(rng, 40) == 0) {
		count = cop_rng_below(rng, 60);
		for (size_t i = 0; i < count; i++)
			row[i] = (feature){ (int)cop_rng_below(rng, 3), (int)cop_rng_below(rng, NAMES + 8) - 8, 0 };
	}
	if (count > 0 && cop_rng_below(rng, 8) == 0)
		row[cop_rng_below(rng, count)].name = (int)cop_rng_below(rng, NAMES);
	if (count > 1 && cop_rng_below(rng, 8) == 0) {
		size_t i = cop_rng_below(rng, count - 1);
		feature swapped = row[i];
		row[i] = row[i + 1];
		row[i + 1] = swapped;
	}
	for (size_t i = 0; i < count; i++)
		row[i].value = (double)(int)cop_rng_below(rng, 9) - 4;
	return count;
}

/* Puts the row, and adds it up by place as the header says; returns the features that are not zero. */
static size_t put_row(
        cop_feature_space *space, const feature *row, size_t count, bool all, double *sums, bool skip_some)
{
	size_t features = 0;
	int space_now = -1;
	size_t ordinal = 0;
	for (size_t i = 0; i < count; i++) {
		if (skip_some && i % 7 == 3)
			continue;
		if (row[i].space != space_now) {
			space_now = row[i].space;
			ordinal = 0;
			in_namespace(space, spaces[space_now], space_now + 1);
		}
		const char *name = spaces[space_now];
		uint32_t seed = all && *name != '\0' ? cop_hash_murmur3(name, strlen(name), 0)
		                                     : cop_hash_feature(name, strlen(name), 0);
		uint32_t hash = seed + (uint32_t)ordinal;
		char text[48];
		if (row[i].name < 0) {
			cop_feature_space_put_unnamed(space, ordinal++, row[i].value);
		} else {
			name_of(row[i].name, text);
			put(space, text, row[i].value);
			hash = all ? cop_hash_murmur3(text, strlen(text), seed)
			           : cop_hash_feature(text, strlen(text), seed);
		}
		sums[hash & 0x3ff] += row[i].value * (space_now + 1);
		features += row[i].value != 0;
	}
	return features;
}

static void check_hashed_rows(bool all)
{
	cop_feature_space *space = new_space(&(cop_feature_space_settings){ .bits = 10, .hash_all = all });
	cop_feature_room room = { 0 };
	cop_rng rng;
	cop_rng_init(&rng, 21, all);
	feature row[64];
	size_t count = 0;
	for (int i = 0; i < ROWS; i++) {
		double sums[1024] = { 0 };
		count = vary(&rng, row, count);
		cop_feature_room_clear(&room);
		cop_feature_space_begin(space);
		size_t features = put_row(space, row, count, all, sums, cop_rng_below(&rng, 4) == 0);
		cop_row got = end(space, &room, features);
		size_t nnz = 0;
		for (size_t k = 0; k < 1024; k++)
			nnz += sums[k] != 0;
		assert_int_equal(got.nnz, nnz);
		assert_int_equal(got.d, 1024);
		for (size_t k = 0; k < nnz; k++) {
			assert_true(k == 0 || got.index[k - 1] < got.index[k]);
			assert_true((double)got.value[k] == sums[got.index[k]]);
		}
	}
	cop_feature_room_fini(&room);
	cop_feature_space_free(space);
}

static void test_feature_space_hashed_rows_equal_reference(void **state)
{
	(void)state;
	check_hashed_rows(false);
	check_hashed_rows(true);
}

static void test_feature_space_dense_rows_equal_reference(void **state)
{
	(void)state;
	cop_feature_space *space = new_space(&(cop_feature_space_settings){ .dense = true });
	cop_feature_room room = { 0 };
	cop_rng rng;
	cop_rng_init(&rng, 22, 0);
	feature row[64];
	size_t count = 0;
	for (int i = 0; i < ROWS; i++) {
		double unused[1024] = { 0 };
		count = vary(&rng, row, count);
		cop_feature_room_clear(&room);
		cop_feature_space_begin(space);
		size_t features = put_row(space, row, count, false, unused, false);
		cop_row got = end(space, &room, features);
		double total = 0;
		for (size_t k = 0; k < got.d; k++) { /* each column's sum, by its name */
			double sum = 0;
			size_t ordinal = 0;
			for (size_t j = 0; j < count; j++) {
				char text[96];
				char name[48];
				ordinal = j > 0 && row[j - 1].space == row[j].space ? ordinal : 0;
				if (row[j].name < 0)
					(void)snprintf(name, sizeof name, "%zu", ordinal++);
				else
					name_of(row[j].name, name);
				(void)snprintf(text, sizeof text, "%s%s%s", spaces[row[j].space],
				        row[j].space > 0 ? "^" : "", name);
				if (strcmp(text, cop_feature_space_column(space, k)) == 0)
					sum += row[j].value * (row[j].space + 1);
			}
			assert_true((double)got.dense[k] == sum);
			total += sum;
		}
		for (size_t j = 0; j < count; j++)
			total -= row[j].value * (row[j].space + 1);
		assert_true(total == 0);
	}
	cop_feature_room_fini(&room);
	cop_feature_space_free(space);
}

/* ---- pairs ---- */

static uint32_t full_hash(const char *namespace, const char *name)
{
	return cop_hash_feature(name, strlen(name), cop_hash_feature(namespace, strlen(namespace), 0));
}

static uint32_t pair_place(uint32_t first, uint32_t second) { return (first * 16777619u ^ second) & 0x3ffff; }

static void test_feature_space_pairs_keep_given_order_and_are_made_once(void **state)
{
	(void)state;
	static const char *const pairs[] = { "ba", "ab", "b:", "zz" };
	cop_feature_space *space = new_space(&(cop_feature_space_settings){ .pairs = pairs, .pair_count = 4 });
	cop_feature_room room = { 0 };
	uint32_t a = full_hash("a", "x");
	uint32_t b1 = full_hash("b", "y");
	uint32_t b2 = full_hash("b", "z");
	for (int i = 0; i < 2; i++) {
		cop_feature_space_begin(space);
		in_namespace(space, "a", 1);
		put(space, "x", 2);
		put(space, "zero", 0);
		in_namespace(space, "b", 1);
		put(space, "y", 3);
		put(space, "z", 5);
		cop_row row = end(space, &room, 3 + 2 + 3);
		assert_int_equal(row.nnz, 8);
		assert_true(at(&row, pair_place(b1, a)) == 6 && at(&row, pair_place(b2, a)) == 10);
		assert_true(at(&row, pair_place(b1, b1)) == 9 && at(&row, pair_place(b1, b2)) == 15 &&
		            at(&row, pair_place(b2, b2)) == 25);
	}
	cop_feature_room_fini(&room);
	cop_feature_space_free(space);
}

static void test_feature_space_pairs_of_candidate_reach_into_shared_features(void **state)
{
	(void)state;
	static const char *const pairs[] = { "::" };
	cop_feature_space *space = new_space(&(cop_feature_space_settings){ .pairs = pairs, .pair_count = 1 });
	cop_feature_room room = { 0 };
	uint32_t u = full_hash("u", "x");
	uint32_t own_u = full_hash("u", "own");
	uint32_t i = full_hash("i", "y");
	for (int k = 0; k < 2; k++) {
		cop_feature_space_begin(space);
		in_namespace(space, "u", 1);
		put(space, "x", 2);
		cop_row row = end(space, &room, 2);
		assert_true(row.nnz == 2 && at(&row, pair_place(u, u)) == 4);
		for (int candidate = 0; candidate < 2; candidate++) {
			cop_feature_space_begin_candidate(space);
			in_namespace(space, "i", 1);
			put(space, "y", 3);
			in_namespace(space, "u", 1);
			put(space, "own", 5);
			/* y, own, yy, y*own, y*x, own*own, own*x: the candidate's own before the shared ones */
			row = end(space, &room, 7);
			assert_int_equal(row.nnz, 7);
			assert_true(at(&row, pair_place(i, u)) == 6 && at(&row, pair_place(own_u, u)) == 10);
			assert_true(at(&row, pair_place(i, own_u)) == 15 && at(&row, pair_place(u, u)) == 0);
		}
		cop_feature_space_begin(space); /* of another event: nothing is shared */
		(void)end(space, &room, 0);
		for (int candidate = 0; candidate < 2; candidate++) {
			cop_feature_space_begin_candidate(space);
			in_namespace(space, "i", 1);
			put(space, "y", 3);
			(void)end(space, &room, 2);
		}
	}
	cop_feature_room_fini(&room);
	cop_feature_space_free(space);
}

static void test_feature_space_of_too_many_pairs_is_full(void **state)
{
	(void)state;
	static const char *const pairs[] = { "::" };
	cop_feature_space *space = new_space(&(cop_feature_space_settings){ .pairs = pairs, .pair_count = 1 });
	cop_feature_room room = { 0 };
	cop_feature_span span;
	size_t features;
	for (size_t count = 100; count <= 1500; count += 1400) {
		cop_feature_space_begin(space);
		for (size_t i = 0; i < count; i++)
			cop_feature_space_put_unnamed(space, i, 1);
		cop_err err = cop_feature_space_end(space, &room, &span, &features);
		assert_int_equal(err, count == 100 ? COP_OK : COP_EFULL);
		assert_int_equal(features, count == 100 ? 100 + 5050 : 0);
	}
	cop_feature_room_fini(&room);
	cop_feature_space_free(space);
}

/* ---- values ---- */

static void test_feature_space_of_values_beyond_float_refuses_the_row_only(void **state)
{
	(void)state;
	static const char *const pairs[] = { "::" };
	const cop_feature_space_settings settings[] = { { .dense = true }, { .bits = 18 },
		{ .pairs = pairs, .pair_count = 1 } };
	for (size_t i = 0; i < 3; i++) {
		cop_feature_space *space = new_space(&settings[i]);
		cop_feature_room room = { 0 };
		cop_feature_span span;
		size_t features;
		for (int kind = 0; kind < 10; kind++) {
			cop_feature_space_begin(space);
			in_namespace(space, "n", kind == 1 ? 1e30 : 1);
			put(space, "a", kind == 0 ? 1e39 : kind == 1 ? 1e30 : kind < 4 ? 3e38 : 1);
			put(space, kind == 2 ? "a" : "b", kind == 2 || kind == 3 ? 3e38 : 2);
			bool wrong = kind < 3 || (kind == 3 && i == 2); /* a value, a scaled one, a sum, a product */
			cop_err err = cop_feature_space_end(space, &room, &span, &features);
			assert_int_equal(err, wrong ? COP_ENONFINITE : COP_OK);
			if (kind >= 4)
				assert_int_equal(features, i == 2 ? 5 : 2);
		}
		cop_feature_room_fini(&room);
		cop_feature_space_free(space);
	}
}

/* ---- files ---- */

static void fill(cop_feature_space *space, cop_feature_room *room)
{
	static const char odd[] = { 'o', '\0', 'd' };
	cop_feature_space_begin(space);
	put(space, "x", 1);
	in_namespace(space, "user", 1);
	put(space, "x", 2);
	cop_feature_space_put(space, odd, sizeof odd, 3);
	put(space, "", 4);
	(void)end(space, room, 4);
}

static void test_feature_space_saved_is_loaded_equal(void **state)
{
	(void)state;
	static const char *const pairs[] = { "u:", "::" };
	const cop_feature_space_settings settings[] = { { .dense = true, .ignore = "i" },
		{ .bits = 7, .hash_all = true, .keep = "u " }, { .pairs = pairs, .pair_count = 2 } };
	for (size_t i = 0; i < 3; i++) {
		cop_feature_space *space = new_space(&settings[i]);
		cop_feature_room room = { 0 };
		cop_bytes bytes;
		cop_bytes again;
		cop_bytes_init(&bytes);
		cop_bytes_init(&again);
		if (i == 0)
			fill(space, &room);
		cop_feature_space_freeze(space);
		cop_feature_space_save(space, &bytes);
		for (size_t cut = 0; cut <= bytes.length; cut++) {
			cop_feature_space *loaded;
			cop_cursor cursor;
			cop_cursor_init(&cursor, bytes.data, cut);
			cop_err err = cop_feature_space_load(&cursor, &loaded);
			assert_int_equal(err, cut < bytes.length ? COP_EFORMAT : COP_OK);
			if (cut < bytes.length) {
				assert_null(loaded);
				continue;
			}
			cop_feature_space_abandon(loaded);
			cop_feature_space_save(loaded, &again);
			assert_int_equal(again.length, bytes.length);
			assert_memory_equal(again.data, bytes.data, bytes.length);
			if (i == 0) {
				fill(loaded, &room);
				assert_int_equal(cop_feature_space_dropped(loaded), 0);
				assert_string_equal(cop_feature_space_column(loaded, 1), "user^x");
			}
			cop_feature_space_free(loaded);
		}
		cop_bytes_fini(&bytes);
		cop_bytes_fini(&again);
		cop_feature_room_fini(&room);
		cop_feature_space_free(space);
	}
}

/* Hashed features have no columns. */
static void test_feature_space_hashed_with_columns_is_refused(void **state)
{
	(void)state;
	for (uint32_t columns = 0; columns < 2; columns++) {
		cop_feature_space *loaded, *space = new_space(&(cop_feature_space_settings){ .bits = 7 });
		cop_cursor cursor;
		cop_bytes bytes;
		cop_bytes_init(&bytes);
		cop_feature_space_save(space, &bytes);
		bytes.length -= 4;
		cop_bytes_put_u32(&bytes, columns);
		if (columns > 0) {
			cop_bytes_put_u32(&bytes, 0); /* its namespace */
			cop_bytes_put_u32(&bytes, 1);
			cop_bytes_put(&bytes, "x", 1);
		}
		cop_cursor_init(&cursor, bytes.data, bytes.length);
		assert_int_equal(cop_feature_space_load(&cursor, &loaded), columns == 0 ? COP_OK : COP_EFORMAT);
		cop_feature_space_free(loaded);
		cop_bytes_fini(&bytes);
		cop_feature_space_free(space);
	}
}

static void test_feature_space_of_damaged_bytes_is_refused_or_whole(void **state)
{
	(void)state;
	cop_feature_space *space = new_space(&(cop_feature_space_settings){ .dense = true });
	cop_feature_room room = { 0 };
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	fill(space, &room);
	cop_feature_space_save(space, &bytes);
	for (size_t i = 0; i < bytes.length; i++)
		for (int bit = 0; bit < 8; bit++) {
			cop_feature_space *loaded;
			cop_cursor cursor;
			bytes.data[i] ^= (uint8_t)(1 << bit);
			cop_cursor_init(&cursor, bytes.data, bytes.length);
			if (cop_feature_space_load(&cursor, &loaded) == COP_OK) {
				cop_feature_space_begin(loaded);
				put(loaded, "x", 1);
				cop_feature_span span;
				size_t features;
				assert_int_equal(cop_feature_space_end(loaded, &room, &span, &features), COP_OK);
				cop_feature_space_free(loaded);
			}
			bytes.data[i] ^= (uint8_t)(1 << bit);
		}
	cop_bytes_fini(&bytes);
	cop_feature_room_fini(&room);
	cop_feature_space_free(space);
}

/* ---- names of products ---- */

/* How many places of so many rows, each with names of its own, have no name afterwards. */
static size_t nameless(bool insisting)
{
	static const char *const pairs[] = { "::" };
	const cop_feature_space_settings settings = { .bits = 18, .pairs = pairs, .pair_count = 1 };
	cop_feature_space *space;
	cop_feature_room room = { 0 };
	char name[16], text[256];
	size_t count = 0;
	assert_int_equal(cop_feature_space_new(&settings, &space, NULL), COP_OK);
	assert_int_equal(cop_feature_space_keep_names(space, (size_t)1 << 20), COP_OK);
	cop_place_names *names = cop_feature_space_names(space);
	cop_place_names_insist(names, insisting);
	for (int i = 0; i < 30; i++) {
		cop_feature_room_clear(&room);
		cop_feature_space_begin(space);
		for (int k = 0; k < 2; k++) {
			in_namespace(space, k == 0 ? "u" : "v", 1);
			(void)snprintf(name, sizeof name, "n%d_%d", i, k);
			put(space, name, 2);
		}
		cop_feature_span span;
		size_t features;
		assert_int_equal(cop_feature_space_end(space, &room, &span, &features), COP_OK);
		cop_row row;
		cop_feature_space_row(space, &room, &span, &row);
		assert_true(features == 5 && row.nnz == 5); /* each, and three products */
		for (size_t e = 0; e < row.nnz; e++)
			count += cop_place_names_text(names, row.index[e], text, sizeof text) == 0;
	}
	cop_feature_room_fini(&room);
	cop_feature_space_free(space);
	return count;
}

static void test_feature_space_insists_on_names_of_products(void **state)
{
	(void)state;
	assert_int_equal(nameless(true), 0);
	assert_true(nameless(false) > 30); /* a sample of them is kept */
}

/* ---- memory ---- */

/* Some rows, of one kind or the other; the first error. */
static cop_err use(const cop_feature_space_settings *settings, cop_feature_room *room)
{
	cop_feature_space *space;
	cop_diag diag;
	cop_feature_span span[4];
	size_t features;
	cop_err err = cop_feature_space_new(settings, &space, &diag);
	for (int i = 0; i < 4 && err == COP_OK; i++) {
		cop_feature_room_clear(room);
		for (int k = 0; k < 3 && err == COP_OK; k++) {
			char name[16];
			if (k == 0)
				cop_feature_space_begin(space);
			else
				cop_feature_space_begin_candidate(space);
			in_namespace(space, k == 0 ? "u" : "i", 1);
			for (int j = 0; j < 60 + 10 * k; j++) {
				(void)snprintf(name, sizeof name, "f%d_%d", j, k);
				put(space, name, 1);
			}
			cop_feature_space_put_text(space, "t", 1, "text", i == 3 ? 4 : 3);
			err = cop_feature_space_end(space, room, &span[k], &features);
		}
		if (err == COP_OK)
			err = cop_feature_space_widen(space, room, span, 3);
	}
	cop_feature_space_free(space);
	return err;
}

static void test_feature_space_without_memory_fails_cleanly(void **state)
{
	(void)state;
	static const char *const pairs[] = { "::" };
	const cop_feature_space_settings settings[] = { { .dense = true }, { .bits = 18 },
		{ .pairs = pairs, .pair_count = 1 } };
	for (size_t i = 0; i < 3; i++) {
		unsigned long all = 0;
		unsigned long failed = 0;
		size_t passed_over = 0;
		for (unsigned long n = 0; n <= all; n++) {
			cop_feature_room room = { 0 };
			cop_test_alloc_fail(n, 0);
			cop_err err = use(&settings[i], &room);
			all = n == 0 ? cop_test_alloc_count() : all;
			cop_test_alloc_fail(0, 0);
			passed_over += n > 0 && err == COP_OK && cop_test_alloc_failed();
			cop_feature_room_fini(&room);
			assert_true(err == COP_OK || (n > 0 && err == COP_ENOMEM));
			failed += err != COP_OK;
		}
		assert_true(failed >= 4); /* what only makes rows faster may go without */
		assert_true(passed_over <= (i == 1 ? 9 : 0));
	}
}

/* By their own names, in their order; one that stands twice is one column, and names that come later have none. */
static void test_feature_space_of_named_columns_has_these_alone(void **state)
{
	(void)state;
	const cop_feature_space_settings settings = { .dense = true };
	const char *const names[] = { "age", "User^age", "User^age", "Shop^x=tom" };
	cop_feature_space *space = new_space(&settings);
	cop_feature_room room = { 0 };
	assert_int_equal(cop_feature_space_add_columns(space, names, 4), COP_OK);
	assert_int_equal(cop_feature_space_dimension(space), 3);
	cop_feature_space_begin(space);
	in_namespace(space, "Shop", 1.0);
	put(space, "x=tom", 4.0);
	in_namespace(space, "User", 1.0);
	put(space, "age", 2.0);
	put(space, "size", 8.0);
	in_namespace(space, "", 1.0);
	put(space, "age", 1.0);
	cop_feature_span span;
	size_t features;
	cop_row row;
	assert_int_equal(cop_feature_space_end(space, &room, &span, &features), COP_OK);
	cop_feature_space_row(space, &room, &span, &row);
	assert_int_equal(row.d, 3);
	assert_true(row.dense[0] == 1.0f && row.dense[1] == 2.0f && row.dense[2] == 4.0f);
	assert_int_equal(cop_feature_space_dropped(space), 1);
	cop_feature_room_fini(&room);
	cop_feature_space_free(space);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_feature_space_of_wrong_settings_is_refused),
		cmocka_unit_test(test_feature_space_keeps_and_ignores_by_first_character),
		cmocka_unit_test(test_feature_space_dense_grows_in_order_of_appearance),
		cmocka_unit_test(test_feature_space_dense_names_of_namespaces_are_apart),
		cmocka_unit_test(test_feature_space_dense_frozen_drops_and_counts_new_names),
		cmocka_unit_test(test_feature_space_dense_abandoned_event_leaves_no_column),
		cmocka_unit_test(test_feature_space_dense_rows_of_one_event_are_widened),
		cmocka_unit_test(test_feature_space_dense_of_too_many_names_is_full),
		cmocka_unit_test(test_feature_space_hashed_rows_equal_reference),
		cmocka_unit_test(test_feature_space_dense_rows_equal_reference),
		cmocka_unit_test(test_feature_space_pairs_keep_given_order_and_are_made_once),
		cmocka_unit_test(test_feature_space_pairs_of_candidate_reach_into_shared_features),
		cmocka_unit_test(test_feature_space_of_too_many_pairs_is_full),
		cmocka_unit_test(test_feature_space_of_values_beyond_float_refuses_the_row_only),
		cmocka_unit_test(test_feature_space_saved_is_loaded_equal),
		cmocka_unit_test(test_feature_space_hashed_with_columns_is_refused),
		cmocka_unit_test(test_feature_space_of_damaged_bytes_is_refused_or_whole),
		cmocka_unit_test(test_feature_space_insists_on_names_of_products),
		cmocka_unit_test(test_feature_space_without_memory_fails_cleanly),
		cmocka_unit_test(test_feature_space_is_plain_where_a_name_is_at_its_hash),
		cmocka_unit_test(test_feature_space_has_reserved_the_memory_for_its_features),
		cmocka_unit_test(test_feature_space_takes_as_many_entries_as_it_may),
		cmocka_unit_test(test_feature_space_reads_rows_that_are_alike),
		cmocka_unit_test(test_feature_space_of_named_columns_has_these_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
