/* daemon/lease/lease_run.h: which instance of a group leads, by a lease in etcd.
 *
 * Under the group's prefix stand `leader`, the key that is made once and lives as long as its maker's lease, and
 * `candidates/NAME`: while there is no leader, each instance tells there how far its journal goes, and the one that has
 * most takes the key. The revision that made the key is the epoch. The daemon leads until shortly before the lease
 * ends; who cannot renew it orders nothing more, and the daemon ends by itself. A lease is given back only when its
 * daemon cannot be leading any more. One thread. */
#ifndef COP_DAEMON_LEASE_LEASE_RUN_H
#define COP_DAEMON_LEASE_LEASE_RUN_H

#include "daemon/common/log.h"
#include "daemon/lease/lease_daemon.h"
#include "daemon/lease/lease_etcd.h"

typedef struct cop_lease_run_settings {
	const char *prefix, *name; /* kept */
	uint64_t seconds;          /* of the lease */
	uint64_t above;            /* epochs are revisions and this */
	double hand_over;          /* seconds that a hand-over may take */
} cop_lease_run_settings;

typedef enum cop_lease_run_stage {
	COP_LEASE_RUN_WATCHING,  /* another one leads, or nothing is known */
	COP_LEASE_RUN_CANDIDATE, /* nobody leads */
	COP_LEASE_RUN_LEADING,
	COP_LEASE_RUN_HANDING_OVER,
	COP_LEASE_RUN_GIVING_BACK, /* the lease, once the daemon cannot be leading any more */
} cop_lease_run_stage;

typedef struct cop_lease_run {
	cop_lease_run_settings settings;
	cop_lease_etcd *etcd; /* kept, as are daemon and log */
	cop_lease_daemon *daemon;
	cop_lease_daemon *hand_over; /* the same, on a connection of its own */
	cop_log *log;
	cop_lease_run_stage stage;
	cop_lease_etcd_lease lease;
	uint64_t epoch;
	double told_until;                /* when the daemon ends leading by what it was told last */
	double renewed;                   /* when the lease was asked for last */
	double since;                     /* when the stage began */
	bool stop;                        /* hand over, then end */
	bool complained;                  /* of what still holds */
	char leader[COP_LEASE_TEXT_NAME]; /* as it was seen last; "": none */
} cop_lease_run;

/* One step, which takes at most a few timeouts; how many seconds to wait before the next. Below 0: it is over. */
double cop_lease_run_step(cop_lease_run *run);
/* From here on it hands over. */
void cop_lease_run_stop(cop_lease_run *run);

#endif
