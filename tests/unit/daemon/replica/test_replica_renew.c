/* Who begins anew when somebody was forgotten, in which order, and for how long one is waited for. Followers are rows
 * of the table alone: what they are sent goes nowhere. */
#include "daemon/replica/replica_renew.h"

#include <stdio.h>

#include "support.h"

static cop_durability durable;
static cop_sockets sockets;
static cop_replica_counts counts;
static cop_replica_leader leader;
static uint64_t renewed, left;

static cop_replica_peer *follower(size_t i, const char *name, uint64_t forgot)
{
	cop_replica_peer *peer = &leader.peer[i];
	*peer = (cop_replica_peer){ .there = true, .stage = COP_REPLICA_STREAMING, .forgot = forgot };
	(void)snprintf(peer->name, sizeof peer->name, "%s", name);
	cop_replica_source_init(&peer->source, "/tmp");
	return peer;
}

static int set_up(void **state)
{
	(void)state;
	durable = (cop_durability){ .forgot = 20 };
	counts = (cop_replica_counts){ 0 };
	leader = (cop_replica_leader){ .durable = &durable, .sockets = &sockets, .counts = &counts, .leads = true };
	cop_bytes_init(&leader.head);
	leader.forgot = 10;
	renewed = left = 0;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	cop_bytes_fini(&leader.head);
	return 0;
}

static bool turn(double now) { return cop_replica_renew_turn(&leader, now, &renewed, &left); }

static void test_nobody_to_wait_for_is_done_at_once(void **state)
{
	(void)state;
	assert_false(cop_replica_renew_stands(&leader)); /* the order is under way */
	(void)follower(0, "b", 20);
	assert_true(turn(1.0));
	assert_int_equal(leader.forgot, 20);
	assert_int_equal(renewed + left, 0);
	assert_true(cop_replica_renew_stands(&leader));
}

/* It is of models that have whoever is forgotten, and would be told to followers that begin anew behind that record. */
static void test_states_of_before_are_told_no_more(void **state)
{
	(void)state;
	static const uint8_t record[COP_JOURNAL_FRAME_HEAD] = { 0 };
	cop_bytes sums;
	cop_bytes_init(&sums);
	cop_bytes_put(&sums, "sums", 4);
	cop_replica_log_init(&leader.log, 1, 1u << 20);
	cop_replica_log_put(&leader.log, record, sizeof record, 1, 1);
	cop_replica_log_put_state(&leader.log, &sums);
	assert_non_null(cop_replica_log_state(&leader.log, 1));
	assert_true(turn(1.0));
	assert_null(cop_replica_log_state(&leader.log, 1));
	cop_replica_log_put_state(&leader.log, &sums);
	assert_true(turn(2.0));
	assert_non_null(cop_replica_log_state(&leader.log, 1)); /* of now */
	cop_replica_log_fini(&leader.log);
	cop_bytes_fini(&sums);
}

static void test_followers_begin_anew_one_after_another(void **state)
{
	(void)state;
	(void)follower(0, "b", 10);
	(void)follower(1, "c", 0);
	assert_false(turn(1.0));
	assert_false(leader.peer[0].there); /* told to join again */
	assert_true(leader.peer[1].there);
	assert_int_equal(counts.refused, 1);
	follower(0, "b", 10)->stage = COP_REPLICA_COPYING; /* it takes the checkpoint */
	assert_false(turn(2.0));
	assert_true(leader.peer[0].there && leader.peer[1].there);
	assert_false(cop_replica_renew_stands(&leader));
	(void)follower(0, "b", 20); /* and is back */
	assert_false(turn(3.0));
	assert_int_equal(renewed, 1);
	assert_false(leader.peer[1].there);
	(void)follower(1, "c", 20);
	assert_true(turn(4.0));
	assert_int_equal(renewed, 2);
	assert_int_equal(left, 0);
	assert_true(cop_replica_renew_stands(&leader));
}

static void test_one_that_does_not_come_back_is_left(void **state)
{
	(void)state;
	(void)follower(0, "b", 10);
	assert_false(turn(100.0));
	assert_false(turn(159.0));
	assert_true(turn(161.0)); /* a minute behind */
	assert_int_equal(renewed, 0);
	assert_int_equal(left, 1);
}

static void test_checkpoint_that_takes_too_long_is_not_begun_again(void **state)
{
	(void)state;
	follower(0, "b", 10)->stage = COP_REPLICA_COPYING;
	assert_false(turn(100.0));
	assert_true(leader.peer[0].there); /* it goes on */
	assert_true(turn(161.0));
	assert_true(leader.peer[0].there);
	assert_int_equal(left, 1);
	assert_int_equal(counts.refused, 0);
	assert_false(cop_replica_renew_stands(&leader)); /* so nothing is compared with it */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_nobody_to_wait_for_is_done_at_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_states_of_before_are_told_no_more, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_followers_begin_anew_one_after_another, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_one_that_does_not_come_back_is_left, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		        test_checkpoint_that_takes_too_long_is_not_begun_again, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
