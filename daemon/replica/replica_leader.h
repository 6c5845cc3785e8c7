/* daemon/replica/replica_leader.h: the link's side of the one that leads: it feeds its journal to followers.
 *
 * A follower that is near gets records out of memory as they are written, one that is further behind out of the
 * journal's files, and one that cannot go on from what it has, a checkpoint first. What is on its way to one follower
 * is bounded: beyond that it is sent nothing until it says that it took some. Nothing here waits. The loop's thread. */
#ifndef COP_DAEMON_REPLICA_REPLICA_LEADER_H
#define COP_DAEMON_REPLICA_REPLICA_LEADER_H

#include "daemon/durable/durability.h"
#include "daemon/replica/replica_log.h"
#include "daemon/replica/replica_message.h"
#include "daemon/replica/replica_pace.h"
#include "daemon/replica/replica_source.h"
#include "daemon/serve/sockets.h"

#define COP_REPLICA_IDENTITY 64 /* bytes of a connection's, at most */
#define COP_REPLICA_REQUESTS 1024

typedef enum cop_replica_stage {
	COP_REPLICA_PLACING,   /* whether it can go on from what it has is being found out */
	COP_REPLICA_STREAMING, /* it takes records */
	COP_REPLICA_COPYING,   /* it takes a checkpoint */
} cop_replica_stage;

typedef struct cop_replica_peer {
	bool there;
	uint8_t identity[COP_REPLICA_IDENTITY];
	size_t identity_length;
	char name[COP_CONFIG_NAME_MAX + 1], program[32];
	uint8_t before[COP_REPLICA_IDENTITY]; /* the connection that had this name, and gave way */
	size_t before_length;
	double since;   /* monotonic seconds: it joined */
	bool contested; /* that one has spoken since: two followers have the name */
	cop_replica_stage stage;
	uint64_t joined_next, joined_epoch, joined_crc; /* epoch 0: it was not told */
	bool full, alone;                               /* it asked for a checkpoint; it has one alone */
	uint64_t forgot;                                /* since which record somebody is forgotten in its state */
	bool passed;                                    /* what it is to begin anew with takes too long to wait for */
	uint64_t next;                                  /* the first record that was not sent to it */
	uint64_t stated;                                /* record whose checksums were sent last */
	uint64_t sent, taken;                           /* bytes of records since it joined */
	uint64_t written, synced, has;                  /* last records; has: applied */
	double heard;                                   /* monotonic seconds */
	bool asked;                                     /* for a part of a file */
	cop_replica_message ask;                        /* texts are in `model` */
	char model[COP_CONFIG_NAME_MAX + 1];
	unsigned unread; /* times that the disk gave nothing */
	cop_replica_source source;
} cop_replica_peer;

typedef struct cop_replica_counts {
	uint64_t joins, refused, lost; /* followers */
	uint64_t records, bytes;       /* sent, or taken */
	uint64_t far_records;          /* of those sent, out of files */
	uint64_t checkpoints, files;   /* begun to be sent, or taken */
	uint64_t compared, differed;   /* states */
	uint64_t connects;             /* of a follower */
	uint64_t broken, fenced;       /* messages that are none, or of an epoch that is over */
} cop_replica_counts;

typedef struct cop_replica_leader {
	cop_durability *durable; /* kept */
	cop_sockets *sockets;    /* kept */
	void *socket;            /* ROUTER; NULL: nobody can follow */
	bool leads;              /* else everybody who comes is told who does */
	uint64_t epoch;
	uint64_t begun;  /* the first record of the epoch */
	uint64_t forgot; /* what followers have forgotten; behind durable's while somebody is being forgotten */
	char renewing[COP_CONFIG_NAME_MAX + 1]; /* the follower that begins anew; "": none */
	double renew_end;                       /* monotonic seconds: until it has, at most */
	uint64_t higher;                        /* an epoch above its own, of which it was told; 0: none */
	const char *name;                       /* kept */
	const char *kernel;                     /* kept */
	cop_replica_log log;
	cop_replica_peer peer[COP_CONFIG_FOLLOWERS];
	char links[COP_REPLICA_REQUESTS];           /* where followers come, divided by spaces */
	char requests[COP_REPLICA_REQUESTS];        /* the same of requests */
	char named[COP_REPLICA_REQUESTS];           /* while another one leads: its links, as it said itself */
	uint64_t named_epoch;                       /* in that epoch; 0: it did not since this was taken */
	char leader[COP_CONFIG_ENDPOINT + 1];       /* while another one leads: its link, where it is known, */
	char leader_requests[COP_REPLICA_REQUESTS]; /* and requests */
	double next_beat;
	double short_since;    /* monotonic seconds: answers wait for followers; 0: they do not */
	cop_replica_pace pace; /* of comparing states */
	cop_bytes head, body, work;
	cop_replica_counts *counts; /* kept */
} cop_replica_leader;

/* Binds, if the configuration says where. COP_EIO, COP_ENOMEM, with *diag. Caller closes. */
COP_CHECK cop_err cop_replica_leader_open(cop_replica_leader *leader, cop_diag *diag);
void cop_replica_leader_close(cop_replica_leader *leader);

/* From here on it leads, in this epoch, whose first record is `begun`. */
void cop_replica_leader_begin(cop_replica_leader *leader, uint64_t epoch, uint64_t begun);
/* It leads no longer: followers are told. */
void cop_replica_leader_end(cop_replica_leader *leader);

/* The follower is told to join again; its row is empty then. */
void cop_replica_leader_turn_away(cop_replica_leader *leader, cop_replica_peer *peer);

/* Takes what came; now: monotonic seconds. */
void cop_replica_leader_receive(cop_replica_leader *leader, double now);
/* Once a turn, after what was put is written. True: something is under way that no socket wakes for. */
bool cop_replica_leader_send(cop_replica_leader *leader, double now);
/* The last record that `followers` of them have; hold: how. */
uint64_t cop_replica_leader_held(const cop_replica_leader *leader, uint32_t followers, cop_config_hold hold);

#endif
