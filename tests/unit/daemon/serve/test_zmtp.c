#include "daemon/serve/zmtp.h"

#include <string.h>

#include "base/rng.h"
#include "support.h"

#define GREETING 64u

/* A stream being written. */
typedef struct stream {
	uint8_t bytes[16384];
	size_t length;
} stream;

static void put(stream *s, const void *data, size_t length)
{
	assert_true(s->length + length <= sizeof s->bytes);
	memcpy(s->bytes + s->length, data, length);
	s->length += length;
}

static void greet(stream *s)
{
	uint8_t greeting[GREETING] = { 0xff, [9] = 0x7f, [10] = 3, [12] = 'N', 'U', 'L', 'L' };
	*s = (stream){ 0 };
	put(s, greeting, sizeof greeting);
}

/* flags: 1 more, 2 long, 4 command */
static void put_frame(stream *s, unsigned flags, const void *content, size_t length)
{
	uint8_t header[9] = { (uint8_t)flags, (uint8_t)length };
	if ((flags & 2u) != 0)
		for (unsigned i = 0; i < 8; i++)
			header[1 + i] = (uint8_t)((uint64_t)length >> (56 - 8 * i));
	put(s, header, (flags & 2u) != 0 ? 9 : 2);
	if (content != NULL)
		put(s, content, length);
}

static const cop_zmtp_limits wide = { .frame_limit = 1000, .message_limit = 5000 };

static cop_zmtp_verdict read_pieces(cop_zmtp *zmtp, const stream *s, size_t piece, cop_zmtp_done *done)
{
	cop_zmtp_verdict verdict = COP_ZMTP_GOOD;
	for (size_t at = 0; at < s->length && verdict == COP_ZMTP_GOOD; at += piece)
		verdict = cop_zmtp_read(
		        zmtp, &wide, s->bytes + at, s->length - at < piece ? s->length - at : piece, done);
	return verdict;
}

static void test_read_counts_messages_whatever_the_pieces(void **state)
{
	(void)state;
	stream s;
	char body[600] = { 0 };
	greet(&s);
	put_frame(&s, 4, "\x05READY", 6);
	put_frame(&s, 1, "ctx.m", 5);
	put_frame(&s, 2, body, sizeof body);
	put_frame(&s, 1, "fb.m", 4);
	put_frame(&s, 4, "\x04PING", 5); /* between the frames of a message */
	put_frame(&s, 0, "", 0);
	put_frame(&s, 0, "ctx", 3);
	put_frame(&s, 1, "ct", 2);
	put_frame(&s, 0, "x.m", 3); /* no topic: it is not in the first frame */
	for (size_t piece = 1; piece <= s.length; piece++) {
		cop_zmtp zmtp = { 0 };
		cop_zmtp_done done = { 0 };
		assert_int_equal(read_pieces(&zmtp, &s, piece, &done), COP_ZMTP_GOOD);
		assert_int_equal(done.messages, 4);
		assert_int_equal(done.contexts, 605 + 2 * COP_ZMTP_FRAME_COST);
		assert_int_equal(done.feedback, 4 + 2 * COP_ZMTP_FRAME_COST);
		assert_int_equal(done.all, done.contexts + done.feedback + 3 + 5 + 3 * COP_ZMTP_FRAME_COST);
		assert_int_equal(zmtp.cost, 0);
	}
}

static void test_read_unfinished_message_costs_what_has_come(void **state)
{
	(void)state;
	stream s;
	greet(&s);
	put_frame(&s, 1, "decide", 6);
	put_frame(&s, 2, NULL, 900);
	put(&s, "0123456789", 10);
	cop_zmtp zmtp = { 0 };
	cop_zmtp_done done = { 0 };
	assert_int_equal(read_pieces(&zmtp, &s, 7, &done), COP_ZMTP_GOOD);
	assert_int_equal(done.messages, 0);
	assert_int_equal(zmtp.cost, 16 + 2 * COP_ZMTP_FRAME_COST);
}

static cop_zmtp_verdict read_frames(unsigned flags, size_t length, size_t times)
{
	stream s;
	static const char zeros[1100];
	cop_zmtp zmtp = { 0 };
	cop_zmtp_done done = { 0 };
	greet(&s);
	cop_zmtp_verdict verdict = cop_zmtp_read(&zmtp, &wide, s.bytes, s.length, &done);
	for (size_t i = 0; i < times && verdict == COP_ZMTP_GOOD; i++) {
		s.length = 0;
		put_frame(&s, flags, zeros, length);
		verdict = cop_zmtp_read(&zmtp, &wide, s.bytes, s.length, &done);
	}
	return verdict;
}

static void test_read_limits_are_kept_to_the_byte(void **state)
{
	(void)state;
	assert_int_equal(read_frames(2, 1000, 50), COP_ZMTP_GOOD);
	assert_int_equal(read_frames(2, 1001, 1), COP_ZMTP_LONG_FRAME);
	assert_int_equal(read_frames(6, 1001, 1), COP_ZMTP_LONG_FRAME); /* a command too */
	assert_int_equal(read_frames(3, 1000, 4), COP_ZMTP_GOOD);
	assert_int_equal(read_frames(3, 1000, 5), COP_ZMTP_LONG_MESSAGE);
	assert_int_equal(read_frames(1, 0, 39), COP_ZMTP_GOOD);
	assert_int_equal(read_frames(1, 0, 40), COP_ZMTP_LONG_MESSAGE); /* empty frames are not free */
	assert_int_equal(read_frames(3, 5000 / 4 - COP_ZMTP_FRAME_COST - 250, 5), COP_ZMTP_GOOD);
}

static void test_read_long_frame_is_known_by_its_header(void **state)
{
	(void)state;
	stream s;
	cop_zmtp zmtp = { 0 };
	cop_zmtp_done done = { 0 };
	greet(&s);
	put_frame(&s, 2, NULL, SIZE_MAX);
	assert_int_equal(cop_zmtp_read(&zmtp, &wide, s.bytes, s.length - 1, &done), COP_ZMTP_GOOD);
	assert_int_equal(cop_zmtp_read(&zmtp, &wide, s.bytes + s.length - 1, 1, &done), COP_ZMTP_LONG_FRAME);
}

static void test_read_other_protocols_are_refused(void **state)
{
	(void)state;
	static const struct {
		size_t at;
		uint8_t value;
	} wrong[] = { { 0, 'G' }, { 9, 0x7e }, { 10, 2 } };
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		stream s;
		cop_zmtp zmtp = { 0 };
		cop_zmtp_done done = { 0 };
		greet(&s);
		s.bytes[wrong[i].at] = wrong[i].value;
		assert_int_equal(cop_zmtp_read(&zmtp, &wide, s.bytes, s.length, &done), COP_ZMTP_NOT_ZMTP);
	}
}

static bool wanted(const void *context, const uint8_t *topic, size_t length)
{
	const char *all = context;
	return length <= strlen(all) && memcmp(topic, all, length) == 0;
}

/* Filters s in pieces of up to `most` bytes; what is passed on is in out. */
static cop_zmtp_filtered filter_pieces(const stream *s, cop_rng *rng, size_t most, stream *out)
{
	cop_zmtp zmtp = { 0 };
	cop_zmtp_rest rest = { 0 };
	cop_zmtp_filtered sum = { 0 };
	*out = (stream){ 0 };
	for (size_t at = 0; at < s->length && sum.verdict == COP_ZMTP_GOOD;) {
		uint8_t buffer[sizeof s->bytes + sizeof rest.bytes];
		size_t length = 1 + (size_t)cop_rng_below(rng, most);
		length = s->length - at < length ? s->length - at : length;
		memcpy(buffer + rest.length, s->bytes + at, length);
		cop_zmtp_filtered f = cop_zmtp_filter(&zmtp, &rest, buffer, length, wanted, "act.model");
		put(out, buffer, f.length);
		sum.subscriptions += f.subscriptions;
		sum.ignored += f.ignored;
		sum.verdict = f.verdict;
		at += length;
	}
	return sum;
}

static void test_filter_passes_on_what_can_match_whatever_the_pieces(void **state)
{
	(void)state;
	stream s, expected, out;
	char large[COP_ZMTP_SMALL] = { 1 };
	greet(&s);
	put_frame(&s, 4, "\x05READY", 6);
	put_frame(&s, 4, "\x05READY\x0bSocket-Type\0\0\0\3SUB", 25);
	put_frame(&s, 4, "\x09SUBSCRIPTact.", 14);
	put_frame(&s, 0, "\x01", 1);
	put_frame(&s, 2,
	        "\x01"
	        "act.model",
	        10);
	put_frame(&s, 4, "\x09SUBSCRIBEact.", 14);
	put_frame(&s, 4,
	        "\x06"
	        "CANCELact.",
	        11);
	put_frame(&s, 4, "\x04PING", 5);
	put_frame(&s, 0,
	        "\x00"
	        "act.m",
	        6);
	expected = s;
	put_frame(&s, 0,
	        "\x01"
	        "act.other",
	        10);
	put_frame(&s, 0,
	        "\x01"
	        "act.model2",
	        11);
	put_frame(&s, 4, "\x09SUBSCRIBEweather", 17);
	put_frame(&s, 2, large, sizeof large);
	put_frame(&s, 0, "", 0);
	put_frame(&s, 0, "\x02", 1);
	put_frame(&s, 1, "\x01", 1); /* a message of two frames is none */
	put_frame(&s, 0, "\x01", 1);
	for (unsigned i = 0; i < 2; i++) {
		put_frame(&s, 0, "\x01", 1);
		put_frame(&expected, 0, "\x01", 1);
	}
	cop_rng rng;
	cop_rng_init(&rng, 7, 0);
	for (size_t most = 1; most <= s.length + 100; most += most < 20 ? 1 : 37) {
		cop_zmtp_filtered f = filter_pieces(&s, &rng, most, &out);
		assert_int_equal(f.verdict, COP_ZMTP_GOOD);
		assert_int_equal(f.subscriptions, 7);
		assert_int_equal(f.ignored, 8);
		assert_int_equal(out.length, expected.length);
		assert_memory_equal(out.bytes, expected.bytes, expected.length);
	}
}

static void test_filter_long_frames_and_other_protocols_are_refused(void **state)
{
	(void)state;
	stream s, out;
	cop_rng rng;
	cop_rng_init(&rng, 8, 0);
	greet(&s);
	put_frame(&s, 2, NULL, COP_ZMTP_SMALL + 1);
	assert_int_equal(filter_pieces(&s, &rng, 1, &out).verdict, COP_ZMTP_LONG_FRAME);
	greet(&s);
	s.bytes[0] = 0;
	assert_int_equal(filter_pieces(&s, &rng, 100, &out).verdict, COP_ZMTP_NOT_ZMTP);
}

static void greet_curve(stream *s)
{
	greet(s);
	memcpy(s->bytes + 12, "CURVE", 5);
}

/* The greeting and both frames of the handshake. */
static void put_handshake(stream *s)
{
	static const char content[300];
	greet_curve(s);
	put_frame(s, 4, content, 200);
	put_frame(s, 6, content, 300);
}

/* The handshake alone; then frames of an encrypted message of 100 bytes in the clear, a heartbeat, and another. */
static void test_read_counts_encrypted_frames_behind_the_handshake(void **state)
{
	(void)state;
	for (size_t piece = 1; piece < 500; piece += 7) {
		stream s;
		char content[512] = { 0 };
		cop_zmtp zmtp = { .seal = COP_ZMTP_CURVE };
		cop_zmtp_done done = { 0 };
		put_handshake(&s);
		assert_int_equal(read_pieces(&zmtp, &s, piece, &done), COP_ZMTP_GOOD);
		assert_int_equal(done.messages, 0);
		s.length = 0;
		put_frame(&s, 0, content, 100 + COP_ZMTP_SEALED);
		put_frame(&s, 0, content, 7 + COP_ZMTP_SEALED);
		put_frame(&s, 0, content, COP_ZMTP_SEALED);
		assert_int_equal(read_pieces(&zmtp, &s, piece, &done), COP_ZMTP_GOOD);
		assert_int_equal(done.messages, 2);
		assert_int_equal(done.all, 100 + 2 * COP_ZMTP_FRAME_COST);
		assert_int_equal(done.contexts, done.all);
		assert_int_equal(zmtp.cost, 0);
	}
}

/* So long as no message comes, what might be heartbeats counts after a while. */
static void test_read_counts_heartbeats_without_end(void **state)
{
	(void)state;
	stream s;
	char content[512] = { 0 };
	cop_zmtp zmtp = { .seal = COP_ZMTP_CURVE };
	cop_zmtp_done done = { 0 };
	put_handshake(&s);
	assert_int_equal(read_pieces(&zmtp, &s, s.length, &done), COP_ZMTP_GOOD);
	s.length = 0;
	put_frame(&s, 0, content, 5 + COP_ZMTP_SEALED);
	for (unsigned i = 0; i < COP_ZMTP_BEATS; i++)
		assert_int_equal(read_pieces(&zmtp, &s, s.length, &done), COP_ZMTP_GOOD);
	assert_int_equal(done.messages, 0);
	assert_int_equal(read_pieces(&zmtp, &s, s.length, &done), COP_ZMTP_GOOD);
	assert_int_equal(done.messages, 1);
	assert_int_equal(done.all, 5 + COP_ZMTP_FRAME_COST);
	zmtp.beats = 0;
	assert_int_equal(read_pieces(&zmtp, &s, s.length, &done), COP_ZMTP_GOOD);
	assert_int_equal(done.messages, 1);
}

/* A peer that has no key can send as much with its greeting. */
static void test_read_counts_nothing_that_came_with_the_handshake(void **state)
{
	(void)state;
	stream s;
	char content[512] = { 0 };
	cop_zmtp zmtp = { .seal = COP_ZMTP_CURVE };
	cop_zmtp_done done = { 0 };
	put_handshake(&s);
	for (int i = 0; i < 50; i++)
		put_frame(&s, 0, content, 200);
	assert_int_equal(read_pieces(&zmtp, &s, s.length, &done), COP_ZMTP_GOOD);
	assert_int_equal(done.messages, 0);
}

static void test_read_refuses_what_is_not_encrypted_or_too_long_to_be_a_handshake(void **state)
{
	(void)state;
	stream s;
	cop_zmtp_done done = { 0 };
	cop_zmtp zmtp = { .seal = COP_ZMTP_CURVE };
	greet(&s);
	assert_int_equal(read_pieces(&zmtp, &s, 1, &done), COP_ZMTP_CLEAR);
	greet(&s);
	memcpy(s.bytes + 12, "CURVED", 6);
	zmtp = (cop_zmtp){ .seal = COP_ZMTP_CURVE };
	assert_int_equal(read_pieces(&zmtp, &s, 64, &done), COP_ZMTP_CLEAR);
	greet_curve(&s);
	put_frame(&s, 6, NULL, COP_ZMTP_HANDSHAKE + 1);
	zmtp = (cop_zmtp){ .seal = COP_ZMTP_CURVE };
	assert_int_equal(read_pieces(&zmtp, &s, 10, &done), COP_ZMTP_LONG_FRAME);
	assert_int_equal(done.messages, 0);
}

static void test_read_goes_by_the_greeting_where_either_may_be(void **state)
{
	(void)state;
	stream s;
	cop_zmtp_done done = { 0 };
	cop_zmtp zmtp = { .seal = COP_ZMTP_GREETING };
	greet(&s);
	put_frame(&s, 0, "ctx.m", 5);
	assert_int_equal(read_pieces(&zmtp, &s, 3, &done), COP_ZMTP_GOOD);
	assert_int_equal(done.messages, 1);
	assert_int_equal(zmtp.seal, COP_ZMTP_ANY);
	zmtp = (cop_zmtp){ .seal = COP_ZMTP_GREETING };
	greet_curve(&s);
	put_frame(&s, 0, "ctx.m", 5);
	assert_int_equal(read_pieces(&zmtp, &s, 3, &done), COP_ZMTP_GOOD);
	assert_int_equal(done.messages, 1);
	assert_int_equal(zmtp.seal, COP_ZMTP_CURVE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read_counts_encrypted_frames_behind_the_handshake),
		cmocka_unit_test(test_read_counts_heartbeats_without_end),
		cmocka_unit_test(test_read_counts_nothing_that_came_with_the_handshake),
		cmocka_unit_test(test_read_refuses_what_is_not_encrypted_or_too_long_to_be_a_handshake),
		cmocka_unit_test(test_read_goes_by_the_greeting_where_either_may_be),
		cmocka_unit_test(test_read_counts_messages_whatever_the_pieces),
		cmocka_unit_test(test_read_unfinished_message_costs_what_has_come),
		cmocka_unit_test(test_read_limits_are_kept_to_the_byte),
		cmocka_unit_test(test_read_long_frame_is_known_by_its_header),
		cmocka_unit_test(test_read_other_protocols_are_refused),
		cmocka_unit_test(test_filter_passes_on_what_can_match_whatever_the_pieces),
		cmocka_unit_test(test_filter_long_frames_and_other_protocols_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
