/* daemon/lease/lease_text.h: what is said to etcd's JSON gateway (v3, of etcd 3.4), and what its answers hold.
 *
 * Keys and values go as base64, 64-bit integers as texts; a field whose value is 0 or empty may be missing. Pure
 * functions over texts. */
#ifndef COP_DAEMON_LEASE_LEASE_TEXT_H
#define COP_DAEMON_LEASE_LEASE_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"

#define COP_LEASE_TEXT_KEY  256 /* bytes of a key */
#define COP_LEASE_TEXT_NAME 128 /* bytes of an instance's name */

/* Bodies of requests, appended, terminated. Failure: out->err. */
void cop_lease_text_grant(cop_bytes *out, uint64_t seconds);
void cop_lease_text_lease(cop_bytes *out, int64_t lease); /* of keepalive and revoke */
/* Makes the key, unless it is there, for as long as the lease lives. */
void cop_lease_text_take(cop_bytes *out, const char *key, const char *value, int64_t lease);
void cop_lease_text_put(cop_bytes *out, const char *key, const char *value, int64_t lease);
/* All keys that begin so. */
void cop_lease_text_prefix(cop_bytes *out, const char *prefix);

/* Answers. COP_EFORMAT: it is none of the kind, or an error, in *diag. COP_ENOMEM. */

/* The lease and its seconds; of a keepalive, 0 seconds: the lease is gone. */
COP_CHECK cop_err cop_lease_text_read_lease(const cop_bytes *answer, int64_t *lease, uint64_t *seconds, cop_diag *diag);
/* Of take: whether it was made, and the revision that made it. */
COP_CHECK cop_err cop_lease_text_read_take(const cop_bytes *answer, bool *taken, uint64_t *revision, cop_diag *diag);

typedef struct cop_lease_text_pair {
	char key[COP_LEASE_TEXT_KEY], value[COP_LEASE_TEXT_KEY]; /* cut where they are longer */
	uint64_t created;                                        /* revision */
	int64_t lease;
} cop_lease_text_pair;

/* Told of each pair in turn. */
typedef void cop_lease_text_listener(void *context, const cop_lease_text_pair *pair);

COP_CHECK cop_err cop_lease_text_read_range(
        const cop_bytes *answer, cop_lease_text_listener *listener, void *context, cop_diag *diag);

#endif
