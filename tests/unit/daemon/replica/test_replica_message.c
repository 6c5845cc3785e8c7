/* Messages of the link: what is put is read back, by kind, and what is missing or wrong is named. */
#include "daemon/replica/replica_message.h"

#include "support.h"
#include "wire/wire_put.h"

static cop_replica_message full(cop_replica_kind kind)
{
	return (cop_replica_message){ .kind = kind,
		.version = 1,
		.epoch = 2,
		.next = 3,
		.last_epoch = 4,
		.last_crc = 0xffffffff,
		.alone = 1,
		.full = 1,
		.written = 8,
		.synced = 7,
		.applied = 9,
		.bytes = 1ull << 40,
		.first = 11,
		.count = 12,
		.sequence = 13,
		.number = 14,
		.size = 15,
		.offset = 16,
		.time = 17.5,
		.name = cop_replica_message_text("b"),
		.program = cop_replica_message_text("0.1.0"),
		.kernel = cop_replica_message_text("plain"),
		.model = cop_replica_message_text(""),
		.reason = cop_replica_message_text("why"),
		.live = cop_replica_message_text("{}"),
		.leader = cop_replica_message_text("tcp://l"),
		.requests = cop_replica_message_text("tcp://r ipc://r") };
}

static void same_text(cop_replica_text is, const char *text)
{
	assert_int_equal(is.length, strlen(text));
	assert_memory_equal(is.text, text, is.length);
}

static void test_message_of_each_kind_is_read_as_it_was_put(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < COP_REPLICA_KINDS; kind++) {
		cop_replica_message put = full((cop_replica_kind)kind), is;
		cop_wire_fault fault;
		cop_bytes bytes, again;
		cop_bytes_init(&bytes);
		cop_bytes_init(&again);
		cop_replica_message_put(&bytes, &put);
		assert_int_equal(cop_replica_message_read(bytes.data, bytes.length, &is, &fault), COP_OK);
		assert_int_equal(is.kind, kind);
		cop_replica_message_put(&again, &is);
		assert_int_equal(again.length, bytes.length);
		assert_memory_equal(again.data, bytes.data, bytes.length);
		for (size_t length = 0; length < bytes.length; length++)
			assert_int_equal(cop_replica_message_read(bytes.data, length, &is, &fault), COP_EFORMAT);
		cop_bytes_fini(&bytes);
		cop_bytes_fini(&again);
	}
}

static void test_message_join_has_what_it_begins_with(void **state)
{
	(void)state;
	cop_replica_message put = full(COP_REPLICA_JOIN), is;
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	cop_replica_message_put(&bytes, &put);
	assert_int_equal(cop_replica_message_read(bytes.data, bytes.length, &is, NULL), COP_OK);
	assert_int_equal(is.version, 1);
	assert_int_equal(is.epoch, 2);
	assert_int_equal(is.next, 3);
	assert_int_equal(is.last_crc, 0xffffffff);
	same_text(is.name, "b");
	same_text(is.kernel, "plain");
	assert_int_equal(is.written, 0); /* of another kind */
	cop_bytes_fini(&bytes);
}

static void test_message_that_is_wrong_is_refused_by_name(void **state)
{
	(void)state;
	static const struct {
		const char *bytes;
		size_t length;
		const char *holds;
	} cases[] = {
		{ "\x80", 1, "k" },
		{ "\x81\xa1k\xa4"
		  "nope",
		        8, "kind of message" },
		{ "\x82\xa1k\xa4"
		  "beat\xa5"
		  "epoch\xa1x",
		        16, "epoch" },
		{ "\x81\xa1k\xa4"
		  "beat",
		        8, "epoch" },
		{ "\x90", 1, "map" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cop_replica_message is;
		cop_wire_fault fault = { .message = "" };
		assert_int_equal(cop_replica_message_read(cases[i].bytes, cases[i].length, &is, &fault), COP_EFORMAT);
		assert_non_null(strstr(fault.message, cases[i].holds));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_message_of_each_kind_is_read_as_it_was_put),
		cmocka_unit_test(test_message_join_has_what_it_begins_with),
		cmocka_unit_test(test_message_that_is_wrong_is_refused_by_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
