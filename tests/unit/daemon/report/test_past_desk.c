/* The queue of questions, without a process: what is the same, what is too many, what is dropped. */
#include "daemon/report/past_desk.h"

#include "support.h"
#include "wire/wire_past.h"

static const cop_past_desk_item *ask(
        cop_past_desk *desk, const char *verb, const char *model, uint64_t record, double now)
{
	cop_bytes body;
	cop_bytes_init(&body);
	const cop_wire_past past = { .record = record };
	cop_wire_past_put(&past, &body);
	const cop_past_desk_question question = { .verb = verb, .model = model, .stored = model, .body = &body };
	const cop_past_desk_item *item = cop_past_desk_ask(desk, &question, now);
	cop_bytes_fini(&body);
	return item;
}

static void test_equal_questions_are_one_and_so_many_wait(void **state)
{
	static const char one[] = "decision", other[] = "decisions";
	static cop_past_desk desk;
	(void)state;
	cop_past_desk_init(&desk, NULL, NULL);
	const cop_past_desk_item *first = ask(&desk, one, "m", 1, 0.0);
	assert_non_null(first);
	assert_int_equal(first->state, COP_PAST_DESK_QUEUED);
	assert_ptr_equal(ask(&desk, one, "m", 1, 1.0), first);
	assert_ptr_not_equal(ask(&desk, other, "m", 1, 1.0), first);
	assert_ptr_not_equal(ask(&desk, one, "n", 1, 1.0), first);
	for (uint64_t record = 2; record < COP_PAST_DESK_WAITING - 1; record++)
		assert_non_null(ask(&desk, one, "m", record, 1.0));
	assert_null(ask(&desk, one, "m", 100, 1.0));
	assert_ptr_equal(ask(&desk, one, "m", 1, 1.5), first);
	assert_int_equal(desk.counts.refused, 1);
	assert_int_equal(desk.used, COP_PAST_DESK_WAITING);
	cop_past_desk_turn(&desk, 1.5 + COP_PAST_DESK_PATIENT + 1.0); /* nobody asked again */
	assert_int_equal(desk.used, 0);
	assert_int_equal(desk.counts.dropped, COP_PAST_DESK_WAITING);
	assert_int_equal(desk.counts.started, 0);
	cop_past_desk_fini(&desk);
}

static void test_answer_is_good_for_a_moment_and_gives_its_place(void **state)
{
	static const char verb[] = "decision";
	static cop_past_desk desk;
	(void)state;
	cop_past_desk_init(&desk, NULL, NULL);
	for (uint64_t record = 1; record <= COP_PAST_DESK_ITEMS; record++) { /* all have an answer */
		cop_past_desk_item *item = &desk.items[record - 1];
		assert_ptr_equal(ask(&desk, verb, "m", record, (double)record / 100.0), item);
		item->state = record % 2 ? COP_PAST_DESK_FOUND : COP_PAST_DESK_FAILED;
		item->at = 1.0;
	}
	assert_ptr_equal(ask(&desk, verb, "m", 1, 2.0), &desk.items[0]);
	assert_int_equal(desk.items[0].state, COP_PAST_DESK_FOUND);
	assert_ptr_equal(ask(&desk, verb, "m", 99, 2.0), &desk.items[1]); /* asked for longest ago */
	assert_int_equal(desk.items[1].state, COP_PAST_DESK_QUEUED);
	const cop_past_desk_item *anew = ask(&desk, verb, "m", 1, 4.0);
	assert_ptr_not_equal(anew, &desk.items[0]);
	assert_int_equal(anew->state, COP_PAST_DESK_QUEUED);
	assert_int_equal(desk.used, COP_PAST_DESK_ITEMS);
	cop_past_desk_fini(&desk);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_questions_are_one_and_so_many_wait),
		cmocka_unit_test(test_answer_is_good_for_a_moment_and_gives_its_place),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
