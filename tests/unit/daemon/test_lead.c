/* Orders about who leads, to a daemon that is open and whose loop the test turns by hand: what is answered, what is
 * refused and by which words, and what the instance is then. What is expected follows docs/reference/protocol.md and
 * docs/how-to/failover.md. */
#include "daemon/lead.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "daemon/request.h"
#include "support.h"

#define PATIENCE 10000 /* milliseconds, for what must come */

typedef enum role { NO_JOURNAL, ALONE, LEADS, FOLLOWS } role;

static char folder[64];
static cop_server server;
static void *context, *client; /* of the admin endpoint */

/* Begins alone, or as one of a group that leads, or that nobody leads yet. */
static void open_server(role as)
{
	static const char *const none[] = { NULL };
	char group[200], text[1000], endpoint[96];
	cop_config *config = NULL;
	cop_config_report report;
	cop_diag diag = { .message = "" };
	(void)snprintf(folder, sizeof folder, "/tmp/test_lead_XXXXXX");
	assert_non_null(mkdtemp(folder));
	(void)snprintf(group, sizeof group, "replica { name = \"a\" listen = \"ipc://%s/link\" %s }", folder,
	        as == FOLLOWS ? "of = { \"ipc:///tmp/nobody-leads-here\" }" : "");
	(void)snprintf(text, sizeof text,
	        "state_dir = \"%s/state\"\nsockets { admin = { \"ipc://%s/a\" } requests = { \"ipc://%s/r\" } }\n"
	        "journal { sync = never %s }\n%s\n"
	        "model \"m\" { learner = dgt arms = 2 features = 2 height = 1 }\n",
	        folder, folder, folder, as == NO_JOURNAL ? "enabled = false" : "", as >= LEADS ? group : "");
	cop_config_report_init(&report);
	if (cop_config_parse(text, strlen(text), "text", NULL, &config, &report) != COP_OK)
		fail_msg("%s", report.count > 0 ? report.items[0].message : "no configuration");
	cop_config_report_fini(&report);
	const cop_server_options options = { .start = { .reset = none } };
	if (cop_server_open(&server, &options, &config, NULL, &diag) != COP_OK)
		fail_msg("%s", diag.message);
	context = zmq_ctx_new();
	client = zmq_socket(context, ZMQ_DEALER);
	(void)snprintf(endpoint, sizeof endpoint, "ipc://%s/a", folder);
	assert_int_equal(zmq_connect(client, endpoint), 0);
}

static void close_server(void)
{
	char command[96];
	(void)zmq_close(client);
	(void)zmq_ctx_term(context);
	cop_server_close(&server);
	(void)snprintf(command, sizeof command, "rm -rf %s", folder);
	assert_int_equal(system(command), 0); /* NOLINT: a test's own folder */
}

/* ---- lead ---- */

/* {epoch?, until?, clock} of a reply, of which only the first is read: the key's value, a small whole number. */
static uint64_t epoch_of(const cop_bytes *reply)
{
	static const uint8_t key[] = { 0xa5, 'e', 'p', 'o', 'c', 'h' };
	assert_true(reply->length > 1 + sizeof key && (reply->data[0] & 0xf0) == 0x80);
	assert_memory_equal(reply->data + 1, key, sizeof key);
	assert_true(reply->data[1 + sizeof key] < 0x80);
	return reply->data[1 + sizeof key];
}

#define LEAD(body) lead(body, sizeof(body) - 1)
#define EPOCH(last)                                                                                                    \
	"\x81\xa5"                                                                                                     \
	"epoch" last
#define FOR(bytes)                                                                                                     \
	"\x81\xa3"                                                                                                     \
	"for" bytes

static cop_err lead_of(const char *body, size_t length, cop_bytes *reply, cop_wire_fault *fault)
{
	cop_bytes_init(reply);
	*fault = (cop_wire_fault){ .message = "" };
	return cop_lead_order(&server, body, length, reply, fault);
}

/* The order is taken: the epoch of the reply. */
static uint64_t lead(const char *body, size_t length)
{
	cop_bytes reply;
	cop_wire_fault fault;
	if (lead_of(body, length, &reply, &fault) != COP_OK)
		fail_msg("refused: %s", fault.message);
	const uint64_t epoch = epoch_of(&reply);
	cop_bytes_fini(&reply);
	return epoch;
}

static void refuses(const char *body, size_t length, cop_wire_code code, const char *holds)
{
	cop_bytes reply;
	cop_wire_fault fault;
	assert_int_not_equal(lead_of(body, length, &reply, &fault), COP_OK);
	assert_int_equal(fault.code, code);
	if (strstr(fault.message, holds) == NULL)
		fail_msg("\"%s\" does not say: %s", fault.message, holds);
	assert_int_equal(reply.length, 0);
	cop_bytes_fini(&reply);
}

#define REFUSES(body, code, holds) refuses(body, sizeof(body) - 1, COP_WIRE_##code, holds)

static void test_lone_daemon_begins_epochs_and_none_below(void **state)
{
	(void)state;
	open_server(ALONE);
	assert_int_equal(LEAD(""), 0);
	assert_int_equal(LEAD("\x80"), 0);
	const uint64_t next = cop_journaler_next(server.durable.journal);
	assert_int_equal(LEAD(EPOCH("\x07")), 7);
	assert_int_equal(cop_journaler_epoch(server.durable.journal), 7);
	const uint64_t base = cop_journaler_base(server.durable.journal);
	assert_int_equal(base, next); /* a segment of its own */
	assert_int_equal(LEAD(EPOCH("\x07")), 7);
	assert_int_equal(LEAD(""), 7);
	assert_int_equal(cop_journaler_base(server.durable.journal), base); /* renewed, not begun again */
	REFUSES(EPOCH("\x06"), BAD_REQUEST, "epoch: 6, expected at least 7");
	assert_int_equal(cop_journaler_epoch(server.durable.journal), 7);
	close_server();
}

static void test_order_ends_when_it_says_and_is_renewed(void **state)
{
	(void)state;
	open_server(ALONE);
	const double before = cop_lead_now();
	assert_int_equal(LEAD(FOR("\x64")), 0);
	const double until = server.serving.until;
	assert_true(until >= before + 100.0 && until <= cop_lead_now() + 100.0);
	assert_int_equal(LEAD(FOR("\x78")), 0);
	assert_true(server.serving.until >= until + 20.0);
	assert_int_equal(LEAD("\x80"), 0); /* without end */
	assert_true(server.serving.until == 0.0);
	close_server();
}

static void test_orders_that_are_wrong_are_refused_by_name(void **state)
{
	(void)state;
	open_server(ALONE);
	LEAD(FOR("\x64"));
	const double until = server.serving.until;
	REFUSES(EPOCH("\x00"), BAD_REQUEST, "epoch: 0, expected a whole number above 0");
	REFUSES(EPOCH("\xa1x"), BAD_REQUEST, "expected a whole number above 0");
	REFUSES(FOR("\x00"), BAD_REQUEST, "for: 0, expected seconds above 0");
	REFUSES(FOR("\xff"), BAD_REQUEST, "for: -1, expected seconds above 0");
	REFUSES(FOR("\xa1x"), BAD_REQUEST, "a number of seconds");
	REFUSES("\x81\xa5until\xcb\x3e\x00\x00\x00\x00\x00\x00\x00", BAD_REQUEST, "until: it is over");
	REFUSES("\x82\xa3"
	        "for\x01\xa5until\xcb\x7e\x00\x00\x00\x00\x00\x00\x00",
	        BAD_REQUEST, "for, until: both given");
	REFUSES("\x01", BAD_REQUEST, "map");
	assert_true(server.serving.until == until); /* nothing changed */
	close_server();
}

static void test_without_a_journal_nobody_leads(void **state)
{
	(void)state;
	open_server(NO_JOURNAL);
	REFUSES("", BAD_REQUEST, "expected a journal");
	close_server();
}

static void test_follower_leads_above_all_that_it_has_heard_of(void **state)
{
	(void)state;
	open_server(FOLLOWS);
	assert_true(cop_replica_follows(&server.replica) && server.durable.follows);
	cop_replica_follower_hear(&server.replica.follower, 5, 0.0);
	REFUSES(EPOCH("\x05"), BAD_REQUEST, "epoch: 5, expected above 5");
	assert_true(cop_replica_follows(&server.replica));
	const uint64_t next = cop_journaler_next(server.durable.journal);
	assert_int_equal(LEAD(""), 6);
	assert_false(cop_replica_follows(&server.replica) || server.durable.follows);
	assert_true(server.replica.leader.leads && server.replica.leader.epoch == 6);
	assert_int_equal(server.replica.leader.begun, next);
	assert_true(cop_journaler_next(server.durable.journal) > next); /* what it serves is recorded */
	assert_int_equal(LEAD(""), 6);
	close_server();
}

static void test_follower_that_stopped_does_not_lead(void **state)
{
	(void)state;
	open_server(FOLLOWS);
	server.replica.follower.state = COP_REPLICA_STOPPED;
	(void)snprintf(server.replica.follower.reason, sizeof server.replica.follower.reason, "it differs");
	REFUSES("", BAD_REQUEST, "this instance follows no more: it differs");
	assert_true(server.durable.follows);
	assert_int_equal(cop_journaler_epoch(server.durable.journal), 0);
	close_server();
}

/* ---- follow ---- */

/* Hands the order in over the socket: later or at once. */
static void ask_follow(void)
{
	cop_sockets_message message;
	zmq_pollitem_t item = { .socket = server.serving.sockets.admin, .events = ZMQ_POLLIN };
	assert_int_equal(zmq_send(client, "follow", 6, ZMQ_SNDMORE), 6);
	assert_int_equal(zmq_send(client, "", 0, ZMQ_SNDMORE), 0);
	assert_int_equal(zmq_send(client, "\x80", 1, 0), 1);
	assert_int_equal(zmq_poll(&item, 1, PATIENCE), 1);
	assert_true(cop_sockets_receive(server.serving.sockets.admin, &message));
	cop_request_handle(&server, server.serving.sockets.admin, &message);
	if (message.count > 0)
		cop_sockets_release(&message);
}

static void answered(const char *status, const char *holds)
{
	cop_sockets_message got;
	char text[400] = "";
	zmq_pollitem_t item = { .socket = client, .events = ZMQ_POLLIN };
	cop_serving_commit(&server.serving);
	assert_int_equal(zmq_poll(&item, 1, PATIENCE), 1);
	assert_true(cop_sockets_receive(client, &got));
	assert_int_equal(got.count, 2);
	assert_int_equal(zmq_msg_size(&got.frame[0]), strlen(status));
	assert_memory_equal(zmq_msg_data(&got.frame[0]), status, strlen(status));
	const size_t length = zmq_msg_size(&got.frame[1]);
	memcpy(text, zmq_msg_data(&got.frame[1]), length < sizeof text ? length : sizeof text - 1);
	for (size_t i = 0; i < sizeof text - 1; i++)
		text[i] = text[i] == '\0' ? ' ' : text[i];
	if (strstr(text, holds) == NULL)
		fail_msg("the answer does not say: %s", holds);
	cop_sockets_release(&got);
}

static void test_follow_where_nobody_else_is_is_refused(void **state)
{
	(void)state;
	open_server(ALONE);
	ask_follow();
	answered("error", "expected a section replica");
	assert_false(server.lead.draining);
	close_server();
}

static void test_follow_of_one_that_follows_is_answered_at_once(void **state)
{
	(void)state;
	open_server(FOLLOWS);
	ask_follow();
	answered("ok", "epoch");
	assert_false(server.lead.draining || server.kept.there);
	close_server();
}

/* A follower that has all but the last so many records. */
static void follower_lacks(uint64_t records)
{
	cop_replica_peer *peer = &server.replica.leader.peer[0];
	if (!peer->there)
		cop_replica_source_init(&peer->source, server.config->state_dir);
	peer->there = true;
	peer->stage = COP_REPLICA_STREAMING;
	peer->has = cop_journaler_next(server.durable.journal) - 1 - records;
}

static void test_hand_over_waits_for_a_follower_with_everything(void **state)
{
	(void)state;
	open_server(LEADS);
	follower_lacks(1);
	ask_follow();
	assert_true(server.lead.draining && server.kept.there && server.durable.follows);
	cop_lead_turn(&server);
	assert_true(server.lead.draining && server.kept.there && !server.stop);
	REFUSES(EPOCH("\x09"), BUSY, "this instance hands over");
	assert_int_equal(cop_journaler_epoch(server.durable.journal), 0);
	ask_follow();
	answered("error", "another order is under way");
	follower_lacks(0);
	cop_lead_turn(&server);
	answered("ok", "next");
	assert_false(server.stop); /* only when the answer is on its way */
	cop_lead_turn(&server);
	assert_true(server.lead.ended && server.stop);
	REFUSES("", BUSY, "this instance hands over");
	close_server();
}

static void test_hand_over_that_nobody_takes_in_time_is_given_up(void **state)
{
	(void)state;
	open_server(LEADS);
	follower_lacks(1);
	ask_follow();
	server.lead.drain_end = 0.0;
	cop_lead_turn(&server);
	answered("error", "this instance leads on");
	assert_false(server.lead.draining || server.lead.ended || server.durable.follows || server.stop);
	assert_int_equal(LEAD(EPOCH("\x02")), 2);
	close_server();
}

/* ---- the end ---- */

static void test_higher_epoch_ends_it_without_another_word(void **state)
{
	(void)state;
	open_server(LEADS);
	cop_lead_turn(&server);
	assert_false(server.lead.ended || server.serving.silent || server.stop);
	server.replica.leader.higher = 3;
	cop_lead_turn(&server);
	assert_true(server.lead.ended && server.stop && server.serving.silent && server.serving.sockets.silent);
	REFUSES("", BUSY, "hands over");
	close_server();
}

static void test_order_that_is_over_ends_it_without_another_word(void **state)
{
	(void)state;
	open_server(ALONE);
	LEAD(FOR("\x64"));
	server.serving.until = 1e-3; /* long ago */
	cop_serving_commit(&server.serving);
	cop_lead_turn(&server);
	assert_true(server.lead.ended && server.stop && server.serving.silent && server.serving.sockets.silent);
	close_server();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lone_daemon_begins_epochs_and_none_below),
		cmocka_unit_test(test_order_ends_when_it_says_and_is_renewed),
		cmocka_unit_test(test_orders_that_are_wrong_are_refused_by_name),
		cmocka_unit_test(test_without_a_journal_nobody_leads),
		cmocka_unit_test(test_follower_leads_above_all_that_it_has_heard_of),
		cmocka_unit_test(test_follower_that_stopped_does_not_lead),
		cmocka_unit_test(test_follow_where_nobody_else_is_is_refused),
		cmocka_unit_test(test_follow_of_one_that_follows_is_answered_at_once),
		cmocka_unit_test(test_hand_over_waits_for_a_follower_with_everything),
		cmocka_unit_test(test_hand_over_that_nobody_takes_in_time_is_given_up),
		cmocka_unit_test(test_higher_epoch_ends_it_without_another_word),
		cmocka_unit_test(test_order_that_is_over_ends_it_without_another_word),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
