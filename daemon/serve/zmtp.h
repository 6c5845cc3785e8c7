/* daemon/serve/zmtp.h: follows what a ZeroMQ peer sends, as far as frame lengths and flags go (ZMTP 3, RFC 23 and 37),
 * so that its messages are counted in bytes while they come in, before ZeroMQ hands them over.
 *
 * A connection is a greeting of 64 bytes, then frames: flags, length (1 or 8 bytes, big-endian), content. A frame costs
 * its content and COP_ZMTP_FRAME_COST; a message costs its frames. On an encrypted connection (CURVE, RFC 25) the first
 * two frames are the handshake, and of those behind it the length alone is known: each counts as a message of its own,
 * at what its content costs in the clear, but for COP_ZMTP_BEATS frames as short as libzmq's heartbeats. What came
 * together with the handshake is not counted, since a peer that has no key may have sent it. Plain state in the
 * caller's storage: distinct connections on distinct threads. */
#ifndef COP_DAEMON_SERVE_ZMTP_H
#define COP_DAEMON_SERVE_ZMTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define COP_ZMTP_FRAME_COST 128u /* bytes that ZeroMQ takes for a frame beside its content, about */
#define COP_ZMTP_SMALL      512u /* longest frame that cop_zmtp_filter takes; room for READY with an identity */

typedef enum cop_zmtp_verdict {
	COP_ZMTP_GOOD,
	COP_ZMTP_NOT_ZMTP,     /* no greeting of version 3 */
	COP_ZMTP_LONG_FRAME,   /* longer than frame_limit */
	COP_ZMTP_LONG_MESSAGE, /* costs more than message_limit */
	COP_ZMTP_CLEAR,        /* not encrypted, where it has to be */
} cop_zmtp_verdict;

#define COP_ZMTP_HANDSHAKE 4096u   /* longest frame of CURVE's handshake that is taken */
#define COP_ZMTP_SEALED    33u     /* bytes of an encrypted frame beside its content */
#define COP_ZMTP_BEATS     100000u /* a second each: more than a day without a message */

typedef enum cop_zmtp_seal {
	COP_ZMTP_ANY,      /* frames in the clear, whatever the greeting names */
	COP_ZMTP_CURVE,    /* encrypted; else COP_ZMTP_CLEAR */
	COP_ZMTP_GREETING, /* as the greeting names it */
} cop_zmtp_seal;

/* A connection; zero it before the first byte, but for seal. */
typedef struct cop_zmtp {
	uint64_t greeted;  /* bytes of the greeting seen */
	uint64_t left;     /* bytes of the frame's content to come */
	uint64_t cost;     /* of the message under way, as far as it has come */
	uint8_t header[9]; /* of the frame under way */
	uint8_t seen;      /* bytes of it */
	uint8_t head[4];   /* first bytes of the message */
	uint8_t heads;     /* how many there are */
	bool inside;       /* header complete, content to come */
	bool later;        /* the frame is not its message's first */
	cop_zmtp_seal seal;
	uint8_t shaken; /* frames of CURVE's handshake that have come, at most 2 */
	uint32_t beats; /* encrypted frames that may have been heartbeats; the caller begins anew behind a message */
} cop_zmtp;

typedef struct cop_zmtp_limits {
	uint64_t frame_limit;   /* bytes of content */
	uint64_t message_limit; /* cost of a whole message */
} cop_zmtp_limits;

/* Cost of the messages that became complete: all of them, and those that begin with a stream's prefix. */
typedef struct cop_zmtp_done {
	uint64_t messages;
	uint64_t all, contexts, feedback; /* cost; "ctx.", "fb." */
} cop_zmtp_done;

/* Takes in the next `length` bytes (borrowed) and adds to *done. After a verdict other than good the connection is to
 * be closed; nothing more may be taken in. */
COP_CHECK cop_zmtp_verdict cop_zmtp_read(
        cop_zmtp *zmtp, const cop_zmtp_limits *limits, const void *data, size_t length, cop_zmtp_done *done);

/* What a subscriber sent and has not been passed on: the beginning of a frame. */
typedef struct cop_zmtp_rest {
	uint8_t bytes[9 + COP_ZMTP_SMALL];
	uint16_t length;
} cop_zmtp_rest;

typedef struct cop_zmtp_filtered {
	size_t length;            /* bytes to pass on */
	uint64_t subscriptions;   /* and cancellations, passed on */
	uint64_t ignored;         /* messages taken out */
	cop_zmtp_verdict verdict; /* NOT_ZMTP, LONG_FRAME or GOOD */
} cop_zmtp_filtered;

/* Whether a subscription to this topic (borrowed) can match anything. */
typedef bool cop_zmtp_topic(const void *context, const uint8_t *topic, size_t length);

/* Of a subscriber's bytes leaves those that an XPUB socket needs: commands, and subscriptions to topics that `wanted`
 * accepts. buffer holds rest->length bytes of room, where what was kept back is put, then `length` new bytes; what is
 * to be passed on is at its beginning afterwards. */
cop_zmtp_filtered cop_zmtp_filter(cop_zmtp *zmtp, cop_zmtp_rest *rest, uint8_t *buffer, size_t length,
        cop_zmtp_topic *wanted, const void *context);

#endif
