/* daemon/lease/lease_daemon.h: orders to the daemon that the lease is for, over its endpoint of administration.
 *
 * Until when the daemon may lead is told in seconds of its own clock, which each of its answers tells: however long an
 * order is under way, it never means more time than there is. One thread. */
#ifndef COP_DAEMON_LEASE_LEASE_DAEMON_H
#define COP_DAEMON_LEASE_LEASE_DAEMON_H

#include "clients/c/client.h"

typedef struct cop_lease_daemon {
	const char *endpoint;        /* kept */
	const cop_client_keys *keys; /* kept; NULL: none */
	double timeout;              /* seconds that an answer may take */
	cop_client *client;          /* NULL: it is opened by the next call */
	bool heard;                  /* it has told its clock: */
	double ahead;                /* what its clock shows more than ours, at least */
} cop_lease_daemon;

void cop_lease_daemon_init(cop_lease_daemon *daemon, const char *endpoint, const cop_client_keys *keys, double timeout);
void cop_lease_daemon_fini(cop_lease_daemon *daemon);

typedef struct cop_lease_daemon_state {
	bool leads;
	uint64_t epoch;      /* the highest it has heard of */
	uint64_t held, next; /* epoch of the newest record that it has, and the number of the record to come */
} cop_lease_daemon_state;

/* Of all: COP_EEND: no answer in time. COP_EINVAL: refused; *diag has what it said. COP_EFORMAT, COP_EIO, COP_ENOMEM.
 */

COP_CHECK cop_err cop_lease_daemon_look(cop_lease_daemon *daemon, cop_lease_daemon_state *out, cop_diag *diag);
/* Leads, in this epoch, until then (seconds of our clock). It has been looked at. */
COP_CHECK cop_err cop_lease_daemon_lead(cop_lease_daemon *daemon, uint64_t epoch, double until, cop_diag *diag);
/* Begins to hand over; it answers when that is done. */
COP_CHECK cop_err cop_lease_daemon_begin_follow(cop_lease_daemon *daemon, cop_diag *diag);
/* Waits for that answer at most so long. COP_EEND: it is not there. */
COP_CHECK cop_err cop_lease_daemon_end_follow(cop_lease_daemon *daemon, double seconds, cop_diag *diag);

#endif
