/* Reading: a state machine over header bytes and counted content; content is skipped, but for the first bytes of a
 * message, so a large body costs nothing but its arithmetic.
 *
 * Filtering: buffer is [what was kept back | new bytes]. Whole frames are judged where they lie and those to be passed
 * on move down, never past what has not been looked at; the beginning of a last frame is kept back for the next
 * bytes. A frame that belongs to a message of several is no subscription. */
#include "daemon/serve/zmtp.h"

#include <endian.h>
#include <string.h>

#define GREETING     64u
#define SIGNATURE    9u  /* place of the greeting's byte whose lowest bit is 1 */
#define VERSION      10u /* place of its major version */
#define MECHANISM    12u /* place of its mechanism's name */
#define SHAKES       2u  /* frames that a peer sends in CURVE's handshake */
#define PONG         5u  /* length of libzmq's heartbeats, which are no messages */
#define PING         7u
#define FLAG_MORE    1u
#define FLAG_LONG    2u
#define FLAG_COMMAND 4u

/* False: another mechanism than the one that has to be. */
static bool take_mechanism(cop_zmtp *zmtp, uint64_t place, uint8_t byte)
{
	static const char curve[] = "CURVE";
	if (place < MECHANISM || place >= MECHANISM + sizeof curve || zmtp->seal == COP_ZMTP_ANY)
		return true;
	bool same = byte == (uint8_t)curve[place - MECHANISM];
	if (!same && zmtp->seal == COP_ZMTP_CURVE)
		return false;
	if (zmtp->seal == COP_ZMTP_GREETING) /* the first letter decides between NULL, PLAIN and CURVE */
		zmtp->seal = same ? COP_ZMTP_CURVE : COP_ZMTP_ANY;
	return true;
}

static cop_zmtp_verdict greet(cop_zmtp *zmtp, const uint8_t *data, size_t length, size_t *taken)
{
	*taken = 0;
	while (zmtp->greeted < GREETING && *taken < length) {
		uint8_t byte = data[(*taken)++];
		uint64_t place = zmtp->greeted++;
		if ((place == 0 && byte != 0xff) || (place == SIGNATURE && (byte & 1u) == 0) ||
		        (place == VERSION && byte < 3))
			return COP_ZMTP_NOT_ZMTP;
		if (!take_mechanism(zmtp, place, byte))
			return COP_ZMTP_CLEAR;
	}
	return COP_ZMTP_GOOD;
}

static size_t header_length(uint8_t flags) { return (flags & FLAG_LONG) != 0 ? 9 : 2; }

static uint64_t content_length(const uint8_t *header)
{
	uint64_t length;
	if ((header[0] & FLAG_LONG) == 0)
		return header[1];
	memcpy(&length, header + 1, sizeof length);
	return be64toh(length);
}

static bool head_is(const cop_zmtp *zmtp, const char *prefix)
{
	size_t length = strlen(prefix);
	return zmtp->heads >= length && memcmp(zmtp->head, prefix, length) == 0;
}

/* Encrypted, and behind the handshake. */
static bool is_open(const cop_zmtp *zmtp) { return zmtp->seal == COP_ZMTP_CURVE && zmtp->shaken == SHAKES; }

/* The encrypted frame is over; counts: the handshake was, before these bytes came. */
static void end_sealed(cop_zmtp *zmtp, bool counts, cop_zmtp_done *done)
{
	uint64_t length = content_length(zmtp->header), cost = zmtp->cost;
	uint64_t clear = length < COP_ZMTP_SEALED ? 0 : length - COP_ZMTP_SEALED;
	zmtp->inside = false;
	zmtp->seen = 0;
	zmtp->cost = 0;
	if (!is_open(zmtp)) {
		zmtp->shaken++;
		return;
	}
	bool beat = (clear == PING || clear == PONG) && zmtp->beats < COP_ZMTP_BEATS;
	zmtp->beats += beat;
	if (!counts || beat)
		return;
	cost -= length - clear;
	done->messages++;
	done->all += cost;
	done->contexts += cost;
	done->feedback += cost;
}

static void end_frame(cop_zmtp *zmtp, cop_zmtp_done *done)
{
	uint8_t flags = zmtp->header[0];
	zmtp->inside = false;
	zmtp->seen = 0;
	if ((flags & FLAG_COMMAND) != 0)
		return;
	zmtp->later = (flags & FLAG_MORE) != 0;
	if (zmtp->later)
		return;
	done->messages++;
	done->all += zmtp->cost;
	done->contexts += head_is(zmtp, "ctx.") ? zmtp->cost : 0;
	done->feedback += head_is(zmtp, "fb.") ? zmtp->cost : 0;
	zmtp->cost = 0;
	zmtp->heads = 0;
}

static cop_zmtp_verdict begin_frame(cop_zmtp *zmtp, const cop_zmtp_limits *limits)
{
	zmtp->left = content_length(zmtp->header);
	zmtp->inside = true;
	if (zmtp->seal == COP_ZMTP_CURVE) {
		zmtp->cost = COP_ZMTP_FRAME_COST;
		bool long_frame =
		        zmtp->left > (is_open(zmtp) ? limits->frame_limit + COP_ZMTP_SEALED : COP_ZMTP_HANDSHAKE);
		return long_frame ? COP_ZMTP_LONG_FRAME : COP_ZMTP_GOOD;
	}
	if (zmtp->left > limits->frame_limit)
		return COP_ZMTP_LONG_FRAME;
	if ((zmtp->header[0] & FLAG_COMMAND) != 0)
		return COP_ZMTP_GOOD;
	if (zmtp->cost + COP_ZMTP_FRAME_COST + zmtp->left > limits->message_limit)
		return COP_ZMTP_LONG_MESSAGE;
	zmtp->cost += COP_ZMTP_FRAME_COST;
	return COP_ZMTP_GOOD;
}

/* The content at data, as far as it has come; returns its length. */
static size_t take_content(cop_zmtp *zmtp, const uint8_t *data, size_t length)
{
	size_t taken = zmtp->left < length ? (size_t)zmtp->left : length;
	if (zmtp->seal == COP_ZMTP_CURVE) {
		zmtp->cost += taken;
	} else if ((zmtp->header[0] & FLAG_COMMAND) == 0) {
		zmtp->cost += taken;
		for (size_t i = 0; !zmtp->later && i < taken && zmtp->heads < sizeof zmtp->head; i++)
			zmtp->head[zmtp->heads++] = data[i];
	}
	zmtp->left -= taken;
	return taken;
}

/* The header at data, as far as it has come; returns its length. At least one byte. */
static size_t take_header(cop_zmtp *zmtp, const uint8_t *data, size_t length)
{
	size_t whole = zmtp->seen == 0 ? header_length(data[0]) : 0;
	if (whole == 0 || whole > length) { /* in pieces */
		zmtp->header[zmtp->seen++] = data[0];
		return 1;
	}
	memcpy(zmtp->header, data, whole);
	zmtp->seen = (uint8_t)whole;
	return whole;
}

cop_zmtp_verdict cop_zmtp_read(
        cop_zmtp *zmtp, const cop_zmtp_limits *limits, const void *data, size_t length, cop_zmtp_done *done)
{
	const uint8_t *bytes = data;
	size_t at;
	bool counts = is_open(zmtp);
	cop_zmtp_verdict greeted = greet(zmtp, bytes, length, &at);
	if (greeted != COP_ZMTP_GOOD)
		return greeted;
	while (at < length) {
		if (!zmtp->inside) {
			at += take_header(zmtp, bytes + at, length - at);
			if (zmtp->seen < header_length(zmtp->header[0]))
				continue;
			cop_zmtp_verdict verdict = begin_frame(zmtp, limits);
			if (verdict != COP_ZMTP_GOOD)
				return verdict;
		}
		at += take_content(zmtp, bytes + at, length - at);
		if (zmtp->left == 0 && zmtp->seal == COP_ZMTP_CURVE)
			end_sealed(zmtp, counts, done);
		else if (zmtp->left == 0)
			end_frame(zmtp, done);
	}
	return COP_ZMTP_GOOD;
}

typedef enum frame_kind { FRAME_PASS, FRAME_SUBSCRIPTION, FRAME_IGNORE } frame_kind;

static bool begins(const uint8_t *data, size_t length, const char *with)
{
	return length >= strlen(with) && memcmp(data, with, strlen(with)) == 0;
}

static frame_kind judge(
        cop_zmtp *zmtp, uint8_t flags, const uint8_t *data, size_t length, cop_zmtp_topic *wanted, const void *context)
{
	static const char subscribe[] = "\x09SUBSCRIBE", cancel[] = "\x06"
	                                                            "CANCEL";
	size_t skip = 1;
	if ((flags & FLAG_COMMAND) != 0) {
		if (!begins(data, length, subscribe) && !begins(data, length, cancel))
			return FRAME_PASS;
		skip = data[0] + 1u;
	} else {
		bool whole = !zmtp->later && (flags & FLAG_MORE) == 0;
		zmtp->later = (flags & FLAG_MORE) != 0;
		if (!whole || length == 0 || data[0] > 1)
			return FRAME_IGNORE;
	}
	return wanted(context, data + skip, length - skip) ? FRAME_SUBSCRIPTION : FRAME_IGNORE;
}

/* Length of the frame at data with its header, or 0 while that has not come whole. */
static uint64_t frame_length(const uint8_t *data, size_t length)
{
	uint64_t header = length == 0 ? 1 : header_length(data[0]);
	uint64_t content = length < header ? 0 : content_length(data);
	return length < header ? 0 : content > COP_ZMTP_SMALL ? UINT64_MAX : header + content;
}

cop_zmtp_filtered cop_zmtp_filter(cop_zmtp *zmtp, cop_zmtp_rest *rest, uint8_t *buffer, size_t length,
        cop_zmtp_topic *wanted, const void *context)
{
	cop_zmtp_filtered out = { 0 };
	size_t end = rest->length + length, at;
	memcpy(buffer, rest->bytes, rest->length);
	out.verdict = greet(zmtp, buffer, end, &at); /* nothing is kept back before the greeting is over */
	if (out.verdict != COP_ZMTP_GOOD)
		return out;
	out.length = at;
	for (uint64_t whole; (whole = frame_length(buffer + at, end - at)) > 0; at += (size_t)whole) {
		if (whole == UINT64_MAX) {
			out.verdict = COP_ZMTP_LONG_FRAME;
			return out;
		}
		if (whole > end - at)
			break;
		size_t header = header_length(buffer[at]);
		frame_kind kind =
		        judge(zmtp, buffer[at], buffer + at + header, (size_t)whole - header, wanted, context);
		out.ignored += kind == FRAME_IGNORE;
		out.subscriptions += kind == FRAME_SUBSCRIPTION;
		if (kind == FRAME_IGNORE)
			continue;
		memmove(buffer + out.length, buffer + at, (size_t)whole);
		out.length += (size_t)whole;
	}
	rest->length = (uint16_t)(end - at);
	memcpy(rest->bytes, buffer + at, end - at);
	return out;
}
