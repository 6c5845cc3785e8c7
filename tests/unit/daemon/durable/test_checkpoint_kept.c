#include "support.h"

#include "daemon/durable/checkpoint_kept.h"

static void add(cop_checkpoint_kept *kept, uint64_t sequence, uint64_t next)
{
	assert_int_equal(cop_checkpoint_kept_add(kept, sequence, next), COP_OK);
}

static void expect(const cop_checkpoint_kept *kept, const uint64_t *next, size_t count)
{
	assert_int_equal(kept->count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(kept->next[i], next[i]);
}

static void test_the_one_goes_whose_loss_leaves_the_smallest_gap(void **state)
{
	(void)state;
	const cop_checkpoint_keeping keeping = { .newest = 2, .older = 3, .first = 5 };
	cop_checkpoint_kept kept = { .count = 0 };
	const uint64_t next[] = { 10, 20, 50, 55, 90, 95, 99 };
	for (size_t i = 0; i < 7; i++)
		add(&kept, i + 1, next[i]);
	cop_checkpoint_kept_thin(&kept, &keeping);
	/* First 50 (from 20 to 55), then 90 (from 55 to 95), the oldest never. */
	expect(&kept, (const uint64_t[]){ 99, 95, 55, 20, 10 }, 5);
	assert_int_equal(kept.sequence[2], 4);
	assert_int_equal(cop_checkpoint_kept_needs(&kept, 2), 95);
	assert_int_equal(cop_checkpoint_kept_needs(&kept, 6), 0);
	add(&kept, 8, 100);
	cop_checkpoint_kept_thin(&kept, &keeping); /* 95, which is no newest one any more: from 55 to 99 */
	expect(&kept, (const uint64_t[]){ 100, 99, 55, 20, 10 }, 5);
	cop_checkpoint_kept_fini(&kept);
}

static void test_the_oldest_goes_when_its_records_go_and_the_newest_stay(void **state)
{
	(void)state;
	cop_checkpoint_keeping keeping = { .newest = 2, .older = 3 };
	cop_checkpoint_kept kept = { .count = 0 };
	for (uint64_t i = 1; i <= 5; i++)
		add(&kept, i, 10 * i);
	assert_false(cop_checkpoint_kept_is_late(&kept, &keeping)); /* where the journal begins is not known */
	keeping.first = 10;
	assert_false(cop_checkpoint_kept_is_late(&kept, &keeping));
	keeping.first = 21;
	assert_true(cop_checkpoint_kept_is_late(&kept, &keeping));
	cop_checkpoint_kept_thin(&kept, &keeping);
	expect(&kept, (const uint64_t[]){ 50, 40, 30 }, 3);
	keeping.first = 1000; /* of another journal */
	cop_checkpoint_kept_thin(&kept, &keeping);
	expect(&kept, (const uint64_t[]){ 50, 40 }, 2);
	assert_false(cop_checkpoint_kept_is_late(&kept, &keeping));
	cop_checkpoint_kept_fini(&kept);
}

/* A journal with its first record can be replayed from there. */
static void test_a_whole_journal_needs_none_at_its_beginning(void **state)
{
	(void)state;
	const cop_checkpoint_keeping keeping = { .newest = 1, .older = 1, .first = 1 };
	cop_checkpoint_kept kept = { .count = 0 };
	add(&kept, 1, 2);
	add(&kept, 2, 50);
	add(&kept, 3, 100);
	cop_checkpoint_kept_thin(&kept, &keeping);
	expect(&kept, (const uint64_t[]){ 100, 50 }, 2);
	cop_checkpoint_kept_fini(&kept);
}

/* A journal of 1,000 records' room and checkpoints each record: no place is further from a checkpoint before it than
 * three parts in eight. */
static void test_gaps_stay_even_while_the_journal_moves_on(void **state)
{
	(void)state;
	cop_checkpoint_keeping keeping = { .newest = 3, .older = 8, .first = 1 };
	cop_checkpoint_kept kept = { .count = 0 };
	uint64_t most = 0;
	for (uint64_t next = 2; next < 20000; next++) {
		keeping.first = next > 1001 ? next - 1000 : 1;
		add(&kept, next, next);
		cop_checkpoint_kept_thin(&kept, &keeping);
		assert_true(kept.count <= 11 && kept.next[0] == next);
		for (size_t i = 1; i < kept.count; i++)
			most = kept.next[i - 1] - kept.next[i] > most ? kept.next[i - 1] - kept.next[i] : most;
		const uint64_t before = kept.next[kept.count - 1] - keeping.first;
		most = before > most ? before : most;
	}
	assert_true(most <= 375);
	cop_checkpoint_kept_fini(&kept);
}

static void test_those_since_a_record_are_forgotten_but_for_the_newest(void **state)
{
	(void)state;
	cop_checkpoint_kept kept = { .count = 0 };
	for (uint64_t i = 1; i <= 5; i++)
		add(&kept, i, 10 * i);
	cop_checkpoint_kept_drop_since(&kept, 20);
	expect(&kept, (const uint64_t[]){ 50, 20, 10 }, 3);
	cop_checkpoint_kept_drop_since(&kept, 0);
	expect(&kept, (const uint64_t[]){ 50 }, 1);
	cop_checkpoint_kept_fini(&kept);
}

static void test_without_memory_nothing_is_known(void **state)
{
	(void)state;
	for (size_t nth = 1; nth <= 2; nth++) {
		cop_checkpoint_kept kept = { .count = 0 };
		for (uint64_t i = 1; i <= 16; i++)
			add(&kept, i, i);
		cop_test_alloc_fail(nth, 1);
		assert_int_equal(cop_checkpoint_kept_add(&kept, 17, 17), COP_ENOMEM);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(kept.count, 0);
		assert_int_equal(cop_checkpoint_kept_needs(&kept, 1), 0);
		add(&kept, 18, 18);
		expect(&kept, (const uint64_t[]){ 18 }, 1);
		cop_checkpoint_kept_fini(&kept);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_one_goes_whose_loss_leaves_the_smallest_gap),
		cmocka_unit_test(test_the_oldest_goes_when_its_records_go_and_the_newest_stay),
		cmocka_unit_test(test_a_whole_journal_needs_none_at_its_beginning),
		cmocka_unit_test(test_gaps_stay_even_while_the_journal_moves_on),
		cmocka_unit_test(test_those_since_a_record_are_forgotten_but_for_the_newest),
		cmocka_unit_test(test_without_memory_nothing_is_known),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
