/* A table of more arms that takes over what waits in another one is as the table that loads what the other one saves:
 * to the byte, entry by entry, and in all that is done to both afterwards. */
#include "unit/learn/rows.h"

#include <string.h>

#include "base/rng.h"
#include "online/pending.h"

enum { D = 3, MOST = 24, MAX = 2000, OWNERS = 5 };

static cop_pending *table_of(size_t arms, bool masks)
{
	const cop_pending_shape shape = { .d = D, .arms = arms, .predictions = 2, .masks = masks };
	cop_pending *table;
	assert_int_equal(cop_pending_new(&shape, MAX, 77, &table), COP_OK);
	return table;
}

/* Of any kind, with a mask or without. */
static void add(cop_pending *table, size_t arms, uint64_t n, cop_rng *rng)
{
	float x[D] = { (float)n, 1.0f, (float)cop_rng_normal(rng) };
	uint8_t mask[MOST];
	uint32_t handle;
	cop_event_id id;
	cop_event_id_from_unsigned(&id, n);
	for (size_t k = 0; k < arms; k++)
		mask[k] = k == n % arms || cop_rng_below(rng, 2) != 0;
	cop_pending_entry e = { .time = (double)n,
		.records = cop_rng_below(rng, 2) != 0,
		.observed = cop_rng_below(rng, 2) != 0,
		.owner = (uint32_t)cop_rng_below(rng, OWNERS),
		.decision = { .arm = (uint32_t)(n % arms), .p = 0.5, .rev = n },
		.x = { .d = D, .dense = x },
		.mask = cop_rng_below(rng, 2) != 0 ? mask : NULL };
	e.shadow.is = cop_rng_below(rng, 3) == 0;
	cop_err err = cop_pending_add(table, &id, &e, &handle);
	assert_int_equal(err, COP_OK);
}

/* Some are answered, the oldest expires. */
static void end(cop_pending *table, uint64_t below, cop_rng *rng)
{
	for (int i = 0; i < 20; i++) {
		cop_pending_entry e;
		cop_event_id id;
		cop_event_id_from_unsigned(&id, cop_rng_below(rng, below));
		if (cop_pending_find(table, &id, &e))
			cop_pending_remove(table, &e, COP_RECENT_IDS_ANSWERED, (double)below);
	}
	cop_pending_entry oldest;
	if (cop_pending_oldest(table, &oldest))
		cop_pending_remove(table, &oldest, COP_RECENT_IDS_EXPIRED, (double)below);
}

static void live(cop_pending *table, size_t arms, uint64_t from, size_t n)
{
	cop_rng rng;
	cop_rng_init(&rng, 3, from);
	for (uint64_t i = from; i < from + n; i++) {
		add(table, arms, i, &rng);
		if (i % 30 == 29)
			end(table, i, &rng);
	}
}

static cop_pending *loaded_of(const cop_pending *few, size_t arms, size_t more, bool masks)
{
	cop_pending *table = table_of(more, masks);
	cop_bytes bytes;
	cop_cursor cursor;
	cop_bytes_init(&bytes);
	cop_pending_save(few, &bytes);
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	cop_pending_expect(table, arms, 0, 0);
	assert_int_equal(cop_pending_load(table, &cursor), COP_OK);
	cop_pending_expect(table, 0, 0, 0);
	cop_bytes_fini(&bytes);
	return table;
}

static cop_pending *heir_of(cop_pending *few, size_t more, bool masks)
{
	cop_pending *table = table_of(more, masks);
	assert_int_equal(cop_pending_make_room(table, few), COP_OK);
	cop_pending_inherit(table, few);
	assert_int_equal(cop_pending_count(few), 0);
	cop_pending_free(few);
	return table;
}

static void check_gives_way(cop_pending *a, cop_pending *b)
{
	for (uint32_t owner = 0; owner < OWNERS; owner++)
		for (int by_bytes = 0; by_bytes < 2; by_bytes++) {
			cop_pending_entry one, two;
			bool any = cop_pending_gives_way(a, owner, by_bytes, &one);
			assert_true(cop_pending_gives_way(b, owner, by_bytes, &two) == any);
			assert_true(!any || one.decision.rev == two.decision.rev);
		}
}

static void check_entries(const cop_pending *a, const cop_pending *b, uint64_t below, size_t arms)
{
	for (uint64_t n = 0; n < below; n++) {
		cop_pending_entry one, two;
		cop_event_id id;
		cop_event_id_from_unsigned(&id, n);
		bool waits = cop_pending_find(a, &id, &one);
		assert_true(cop_pending_find(b, &id, &two) == waits);
		assert_int_equal(cop_pending_recall(a, &id), cop_pending_recall(b, &id));
		if (!waits)
			continue;
		assert_int_equal(one.decision.arm, two.decision.arm);
		assert_true((one.mask != NULL) == (two.mask != NULL));
		if (one.mask != NULL)
			assert_memory_equal(one.mask, two.mask, arms);
	}
}

static void check_alike(cop_pending *a, cop_pending *b, uint64_t below, size_t arms)
{
	cop_bytes one, two;
	cop_bytes_init(&one);
	cop_bytes_init(&two);
	cop_pending_save(a, &one);
	cop_pending_save(b, &two);
	assert_bytes_equal(&one, &two);
	assert_int_equal(cop_pending_bytes(a), cop_pending_bytes(b));
	assert_int_equal(cop_pending_masked(a), cop_pending_masked(b));
	assert_int_equal(cop_pending_observed(a), cop_pending_observed(b));
	check_gives_way(a, b);
	check_entries(a, b, below, arms);
	cop_bytes_fini(&one);
	cop_bytes_fini(&two);
}

static void test_heir_is_as_the_loaded_table_over_several_steps(void **state)
{
	(void)state;
	static const size_t steps[] = { 7, 8, 9, 15, 16, 17, MOST };
	for (int masks = 0; masks < 2; masks++) {
		cop_pending *a = table_of(5, masks), *b = table_of(5, masks);
		size_t arms = 5;
		uint64_t n = 0;
		for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
			live(a, arms, n, 100);
			live(b, arms, n, 100);
			n += 100;
			check_alike(a, b, n, arms);
			cop_pending *loaded = loaded_of(b, arms, steps[i], masks);
			cop_pending_free(b);
			b = loaded;
			a = heir_of(a, steps[i], masks);
			arms = steps[i];
			check_alike(a, b, n, arms);
		}
		for (cop_pending_entry one, two; cop_pending_oldest(a, &one);) {
			assert_true(cop_pending_oldest(b, &two));
			cop_pending_remove(a, &one, COP_RECENT_IDS_EXPIRED, (double)n);
			cop_pending_remove(b, &two, COP_RECENT_IDS_EXPIRED, (double)n);
			assert_int_equal(cop_pending_bytes(a), cop_pending_bytes(b));
		}
		assert_int_equal(cop_pending_masked(a), 0);
		cop_pending_free(a);
		cop_pending_free(b);
	}
}

/* Masks of many arms make records larger than any that there was room for before. */
static void test_largest_records_of_an_heir_fit(void **state)
{
	(void)state;
	const cop_pending_shape few = { .d = D, .arms = 2, .predictions = 2, .masks = true };
	cop_pending_shape many = few;
	cop_pending *table, *from;
	uint8_t mask[COP_LEARNER_MAX_ARMS] = { 1 };
	const float x[D] = { 0 };
	char text[COP_EVENT_ID_MAX];
	uint32_t handle;
	cop_event_id id;
	many.arms = COP_LEARNER_MAX_ARMS;
	memset(text, 'a', sizeof text);
	assert_true(cop_event_id_from_bytes(&id, COP_EVENT_ID_STRING, text, sizeof text));
	assert_int_equal(cop_pending_new(&few, MAX, 1, &from), COP_OK);
	assert_int_equal(cop_pending_new(&many, MAX, 1, &table), COP_OK);
	assert_int_equal(cop_pending_make_room(table, from), COP_OK);
	cop_pending_inherit(table, from);
	cop_pending_free(from);
	cop_pending_entry e = { .records = true,
		.observed = true,
		.owner = 3,
		.refitted = true,
		.shadow = { .is = true, .compared = true, .measured = true },
		.decision = { .arm = COP_LEARNER_MAX_ARMS - 1, .p = 1.0 },
		.x = { .d = D, .dense = x },
		.mask = mask };
	assert_int_equal(cop_pending_add(table, &id, &e, &handle), COP_OK);
	assert_true(cop_pending_find(table, &id, &e));
	assert_int_equal(e.decision.arm, COP_LEARNER_MAX_ARMS - 1);
	assert_memory_equal(e.mask, mask, sizeof mask);
	cop_pending_free(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_heir_is_as_the_loaded_table_over_several_steps),
		cmocka_unit_test(test_largest_records_of_an_heir_fit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
