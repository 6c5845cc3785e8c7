/* daemon/common/quota.h: how much a client may send in a second, and how much it has sent.
 *
 * Events and bytes each have a bucket that fills at the limit's rate and holds one second of it. What is taken may
 * leave a bucket below empty, so that a batch passes whole and is paid for afterwards. A client has its quota on one
 * thread. */
#ifndef COP_DAEMON_COMMON_QUOTA_H
#define COP_DAEMON_COMMON_QUOTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 0: no limit. */
typedef struct cop_quota_limits {
	uint32_t rate;    /* events in a second: requests, items of batches, items on streams */
	uint64_t bytes;   /* of bodies in a second */
	uint32_t pending; /* decisions of a model that wait for their feedback */
} cop_quota_limits;

/* Zeroed is full. */
typedef struct cop_quota {
	double events, bytes; /* taken, and not filled up again */
	uint64_t at;          /* microseconds, of the last take */
} cop_quota;

/* Why a message is refused: for the client's name, and what cop_quota_take returned. */
#define COP_QUOTA_REFUSAL "%s sends more %s than its line allows in a second; expected to be sent again later"

/* Takes an event of so many bytes at a monotonic time. NULL, or what there is too much of: "events" or "bytes"; then
 * nothing is taken. */
const char *cop_quota_take(cop_quota *quota, const cop_quota_limits *limits, uint64_t now_us, size_t bytes);
/* More events, and bytes, of a message that was taken. */
void cop_quota_charge(cop_quota *quota, size_t events, size_t bytes);

#endif
