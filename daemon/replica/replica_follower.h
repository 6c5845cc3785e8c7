/* daemon/replica/replica_follower.h: the link's side of one that follows: recovery that goes on for ever.
 *
 * Records that come are applied to the models and appended to the journal under the numbers that they have, and the
 * leader is told. What cannot be applied yet, as a promotion whose challenger's file is not there, is neither passed
 * nor acknowledged. The loop's thread. */
#ifndef COP_DAEMON_REPLICA_REPLICA_FOLLOWER_H
#define COP_DAEMON_REPLICA_REPLICA_FOLLOWER_H

#include "daemon/durable/durability.h"
#include "daemon/durable/recovery.h"
#include "daemon/replica/replica_copy.h"
#include "daemon/replica/replica_leader.h"

typedef enum cop_replica_state {
	COP_REPLICA_SEEKING,   /* for one that leads */
	COP_REPLICA_FOLLOWING, /* it takes records */
	COP_REPLICA_WAITING,   /* it will go on, when a file has come, or its own configuration has changed */
	COP_REPLICA_FETCHING,  /* it takes a checkpoint, with which this process will begin anew */
	COP_REPLICA_STOPPED,   /* somebody has to look */
	COP_REPLICA_STATES
} cop_replica_state;

/* "seeking" ...; never NULL. */
const char *cop_replica_follower_state_text(cop_replica_state state);

/* What the daemon around it does. */
typedef struct cop_replica_hooks {
	/* Reads the configuration again and serves it. COP_EINVAL: it is wrong. */
	cop_err (*reload)(void *context);
	/* Whether its configuration, with these live changes (daemon/config/live.h), has the models of the set; else
	 * why. */
	bool (*fits)(void *context, cop_replica_text live, const cop_replica_text *set, char *why, size_t room);
	/* Serves them, or only writes them for the start that follows. COP_EINVAL, COP_EFORMAT, COP_EIO, COP_ENOMEM,
	 * with why; nothing was changed then. */
	cop_err (*change)(void *context, cop_replica_text live, bool serve, char *why, size_t room);
	void *context;
} cop_replica_hooks;

/* What came and was not taken yet, in order: records, and checksums of the state. */
typedef struct cop_replica_item {
	struct cop_replica_item *behind;
	cop_sockets_message message;
	cop_replica_message read; /* of its first frame */
	size_t at;                /* records are taken up to this byte of its second frame, */
	uint64_t count;           /* which are so many */
} cop_replica_item;

typedef struct cop_replica_follower {
	cop_durability *durable; /* kept */
	cop_sockets *sockets;    /* kept */
	cop_replica_hooks hooks;
	const char *name, *kernel;  /* kept */
	cop_replica_counts *counts; /* kept */
	bool follows;
	cop_replica_state state;
	size_t silent;    /* asked in a row that did not answer */
	char reason[256]; /* why it does not follow */
	void *socket;     /* DEALER; NULL: none */
	size_t place;     /* in the configuration's list `of`, of the one it is connected to */
	uint64_t epoch;   /* the highest that was heard of */
	uint64_t begun;   /* the first record of it */
	char leader[COP_CONFIG_NAME_MAX + 1], requests[COP_REPLICA_REQUESTS];
	uint64_t leader_next; /* the leader's record to come, as it was told last */
	double heard;         /* monotonic seconds: when the leader said something last */
	double next_try;      /* the same */
	uint64_t next;        /* record to come, which is the journal's too */
	uint64_t last_epoch;  /* of the record before it, as its segment has it, */
	uint32_t last_crc;
	bool last_known; /* where there is one */
	uint64_t placed; /* record whose challenger's file came; 0: none */
	bool full;       /* only a checkpoint leads on */
	uint64_t taken;  /* bytes of records since the welcome */
	cop_replica_item *first, *last;
	cop_replica_copy copy;
	cop_recovery recovery;
	struct {
		uint64_t written, synced, applied, taken;
	} told; /* to the leader */
	double next_have, next_look, next_ask;
	bool again; /* this process is to begin anew, with the checkpoint that waits */
	cop_bytes head, body, work;
} cop_replica_follower;

/* Finds where the journal ends. COP_EIO ..., with *diag. Caller closes. */
COP_CHECK cop_err cop_replica_follower_open(cop_replica_follower *follower, cop_diag *diag);
void cop_replica_follower_close(cop_replica_follower *follower);
/* From here on it follows, or no longer. */
void cop_replica_follower_begin(cop_replica_follower *follower);
void cop_replica_follower_end(cop_replica_follower *follower);

/* An epoch that another one told of: whoever leads in a lower one is left. */
void cop_replica_follower_hear(cop_replica_follower *follower, uint64_t epoch, double now);
/* The one that leads in that epoch has these links, divided by spaces: where it seeks, it joins there. */
void cop_replica_follower_turn_to(cop_replica_follower *follower, uint64_t epoch, const char *links, double now);
/* Takes what came, as much as a turn may; now: monotonic seconds. True: there was something. */
bool cop_replica_follower_receive(cop_replica_follower *follower, double now);
/* Once a turn, after what was put is written. */
void cop_replica_follower_send(cop_replica_follower *follower, double now);

#endif
