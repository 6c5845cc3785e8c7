#include "daemon/serve/outflow.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "support.h"

#define SHARE 65536u

static int set_up(void **state) { return cop_outflow_new(SHARE, (cop_outflow **)state) == COP_OK ? 0 : -1; }

static int tear_down(void **state)
{
	cop_outflow_free(*state);
	return 0;
}

/* Whether it has room for an answer of that length, which is left in *message. */
static bool answer(cop_outflow *outflow, const char *to, size_t length, zmq_msg_t *message)
{
	zmq_msg_t identity;
	assert_int_equal(zmq_msg_init_size(&identity, strlen(to)), 0);
	memcpy(zmq_msg_data(&identity), to, strlen(to));
	assert_int_equal(zmq_msg_init_size(message, length), 0);
	memset(zmq_msg_data(message), 'z', length);
	bool room = cop_outflow_answer(outflow, &identity, message);
	(void)zmq_msg_close(&identity);
	assert_int_equal(zmq_msg_size(message), length);
	assert_int_equal(((char *)zmq_msg_data(message))[length - 1], 'z');
	return room;
}

static void test_answers_count_until_zeromq_lets_them_go(void **state)
{
	zmq_msg_t one, two;
	assert_true(answer(*state, "a", 10000, &one));
	assert_true(answer(*state, "b", 2000, &two));
	assert_int_equal(cop_outflow_answers(*state), 12000 + 2 * COP_OUTFLOW_COST);
	(void)zmq_msg_close(&one);
	assert_int_equal(cop_outflow_answers(*state), 2000 + COP_OUTFLOW_COST);
	(void)zmq_msg_close(&two);
	assert_int_equal(cop_outflow_answers(*state), 0);
}

static void test_small_answers_are_counted_by_the_eighth(void **state)
{
	zmq_msg_t small[9];
	for (unsigned i = 0; i < 9; i++) {
		assert_int_equal(cop_outflow_answers(*state), i < 8 ? 0 : 8 * (100 + COP_OUTFLOW_COST));
		assert_true(answer(*state, "a", 100, &small[i]));
	}
	for (unsigned i = 0; i < 9; i++)
		(void)zmq_msg_close(&small[i]);
	assert_int_equal(cop_outflow_answers(*state), 0);
}

static void test_one_who_does_not_read_keeps_room_for_those_who_do(void **state)
{
	zmq_msg_t held[3], refused, other, small;
	assert_true(answer(*state, "stuck", 20000, &held[0]));
	assert_true(answer(*state, "stuck", 10000, &held[1]));
	assert_false(answer(*state, "stuck", 10000, &refused)); /* more than half of the share */
	assert_true(answer(*state, "stuck", 100, &small));
	assert_false(cop_outflow_answers_press(*state));
	assert_true(answer(*state, "other", 20000, &held[2]));
	assert_true(cop_outflow_answers_press(*state));
	assert_true(answer(*state, "reader", 10000, &other)); /* one who has read all */
	(void)zmq_msg_close(&refused);
	assert_false(answer(*state, "reader", 10, &refused)); /* now that one has not */
	for (unsigned i = 0; i < 3; i++)
		(void)zmq_msg_close(&held[i]);
	(void)zmq_msg_close(&small);
	(void)zmq_msg_close(&other);
	(void)zmq_msg_close(&refused);
	assert_int_equal(cop_outflow_answers(*state), 0);
}

/* Identities whose hashes lead to the same bucket do not count as one, until all buckets near it are held. */
static void test_who_reads_does_not_share_with_who_does_not(void **state)
{
	enum { SAME = 9 };
	char names[SAME][16];
	zmq_msg_t held[SAME], none;
	unsigned found = 0;
	for (unsigned i = 0; found < SAME; i++) {
		(void)snprintf(names[found], sizeof names[found], "peer %u", i);
		uint32_t hash = cop_hash_murmur3(names[found], strlen(names[found]), 0);
		found += hash % COP_OUTFLOW_BUCKETS == 7;
	}
	assert_true(answer(*state, names[0], 25000, &held[0]));
	assert_true(answer(*state, names[1], 22000, &held[1]));
	assert_false(answer(*state, names[0], 3000, &none)); /* all is three quarters of the share and more */
	(void)zmq_msg_close(&none);
	for (unsigned i = 2; i < SAME - 1; i++) {
		assert_true(answer(*state, names[i], 1500, &held[i]));
		assert_false(answer(*state, names[i], 1500, &none));
		(void)zmq_msg_close(&none);
	}
	assert_false(answer(*state, names[SAME - 1], 1500, &held[SAME - 1])); /* the ninth shares the first one's */
	(void)zmq_msg_close(&held[2]);
	assert_true(answer(*state, names[SAME - 1], 100, &none));
	(void)zmq_msg_close(&none);
	for (unsigned i = 0; i < SAME; i++)
		if (i != 2)
			(void)zmq_msg_close(&held[i]);
	assert_int_equal(cop_outflow_answers(*state), 0);
}

/* Small answers on their way are no reason to refuse the next. */
static void test_who_has_read_all_but_a_little_is_refused_last(void **state)
{
	zmq_msg_t held[2], small[2], none;
	assert_true(answer(*state, "a", 30000, &held[0]));
	assert_true(answer(*state, "reader", 1024 - COP_OUTFLOW_COST, &small[0]));
	assert_true(answer(*state, "b", 24000, &held[1]));
	assert_true(answer(*state, "reader", 3000, &small[1]));
	assert_false(answer(*state, "reader", 3000, &none));
	for (unsigned i = 0; i < 2; i++) {
		(void)zmq_msg_close(&held[i]);
		(void)zmq_msg_close(&small[i]);
	}
	(void)zmq_msg_close(&none);
	assert_int_equal(cop_outflow_answers(*state), 0);
}

static void test_first_answer_has_room_however_large(void **state)
{
	zmq_msg_t large, next;
	assert_true(answer(*state, "a", 10 * SHARE, &large));
	assert_false(answer(*state, "b", SHARE, &next));
	(void)zmq_msg_close(&large);
	(void)zmq_msg_close(&next);
	assert_true(answer(*state, "b", 1, &next));
	(void)zmq_msg_close(&next);
}

static void test_answer_without_memory_is_refused_and_left(void **state)
{
	zmq_msg_t message;
	cop_test_alloc_fail(1, 0);
	assert_false(answer(*state, "a", 2000, &message));
	cop_test_alloc_fail(0, 0);
	assert_int_equal(cop_outflow_answers(*state), 0);
	(void)zmq_msg_close(&message);
}

static void test_actions_have_half_a_share(void **state)
{
	assert_true(cop_outflow_add_action(*state, 10 * SHARE)); /* the first one always */
	cop_outflow_remove_action(*state, 10 * SHARE);
	unsigned count = 0;
	while (cop_outflow_add_action(*state, 1024 - COP_OUTFLOW_COST))
		count++;
	assert_int_equal(count, SHARE / 2 / 1024);
	assert_true(cop_outflow_actions_press(*state));
	for (unsigned i = 0; i < SHARE / 16 / 1024; i++)
		cop_outflow_remove_action(*state, 1024 - COP_OUTFLOW_COST);
	assert_false(cop_outflow_actions_press(*state));
	assert_int_equal(cop_outflow_actions(*state), SHARE / 16 * 7);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_answers_count_until_zeromq_lets_them_go),
		TEST(test_small_answers_are_counted_by_the_eighth),
		TEST(test_one_who_does_not_read_keeps_room_for_those_who_do),
		TEST(test_who_reads_does_not_share_with_who_does_not),
		TEST(test_who_has_read_all_but_a_little_is_refused_last),
		TEST(test_first_answer_has_room_however_large),
		TEST(test_answer_without_memory_is_refused_and_left),
		TEST(test_actions_have_half_a_share),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
