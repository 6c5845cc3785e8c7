/* daemon/streams/bridge_reader.h: one partition of one stream, carried by a thread of its own.
 *
 * Each session begins at the position that the daemon knows; a batch goes to the daemon, its actions go to the log,
 * then the next one is read. Whatever fails ends the session, and a new one begins after a wait that grows. So order is
 * kept within a partition, and what is sent twice is a repeat to the daemon. start and stop by one thread, counts by
 * any. */
#ifndef COP_DAEMON_STREAMS_BRIDGE_READER_H
#define COP_DAEMON_STREAMS_BRIDGE_READER_H

#include <pthread.h>
#include <stdatomic.h>

#include "daemon/common/log.h"
#include "daemon/streams/bridge_daemon.h"
#include "daemon/streams/broker.h"

typedef struct cop_bridge_reader_settings {
	const cop_broker_class *class; /* kept, as the rest */
	cop_broker_settings broker;
	cop_bridge_daemon_settings daemon;
	size_t batch; /* events of a batch at most */
	bool json;    /* actions as JSON */
	bool shared;  /* read only while cop_bridge_reader_own says so; else always */
	cop_log *log;
} cop_bridge_reader_settings;

/* The way of an event: out of the log (with the wait for it), into a batch, to the daemon and back, into the log. */
typedef enum cop_bridge_stage {
	COP_BRIDGE_READ,
	COP_BRIDGE_DECODE,
	COP_BRIDGE_DAEMON,
	COP_BRIDGE_WRITE
} cop_bridge_stage;
#define COP_BRIDGE_STAGES 4

typedef struct cop_bridge_stage_counts {
	_Atomic uint64_t events, ns;
} cop_bridge_stage_counts;

/* What it has done since the start. */
typedef struct cop_bridge_reader_counts {
	_Atomic uint64_t events;      /* taken by the daemon, repeats too */
	_Atomic uint64_t repeats;     /* that the daemon had taken before */
	_Atomic uint64_t dead;        /* passed over: no map, or refused as bad input */
	_Atomic uint64_t put_aside;   /* of the dead, letters of which were sent to the log */
	_Atomic uint64_t actions;     /* sent to the log */
	_Atomic uint64_t batches;     /* that the daemon answered */
	_Atomic uint64_t waits;       /* for a daemon that was busy, or could not write */
	_Atomic uint64_t interrupted; /* sessions that ended by a failure */
	_Atomic uint64_t gaps;        /* beginnings at which the log had lost events */
	_Atomic uint64_t lag;         /* events of the log behind the last that the daemon took */
	_Atomic bool lag_known;
	cop_bridge_stage_counts stages[COP_BRIDGE_STAGES];
	_Atomic uint64_t offset, minor; /* of the last event that the daemon took */
	_Atomic bool up;                /* a session is on */
	_Atomic bool own;               /* the partition is read here */
} cop_bridge_reader_counts;

typedef struct cop_bridge_reader {
	cop_bridge_reader_settings set;
	cop_bridge_reader_counts counts;
	_Atomic bool ends;
	int wake; /* written when it is to end, or is to be read or no longer */
	pthread_mutex_t mutex;
	pthread_cond_t let_go;
	bool busy; /* by the mutex: a session is under way */
	pthread_t thread;
	cop_log_limiter limiter;
} cop_bridge_reader;

/* settings: copied. COP_EIO: no thread, no descriptor. */
COP_CHECK cop_err cop_bridge_reader_start(cop_bridge_reader *reader, const cop_bridge_reader_settings *settings);
/* Of a shared one: read from now on; or no longer, and the session that was under way has ended when this returns. Any
 * thread. */
void cop_bridge_reader_own(cop_bridge_reader *reader, bool own);
/* It is to end soon; then wait for it. */
void cop_bridge_reader_end(cop_bridge_reader *reader);
void cop_bridge_reader_join(cop_bridge_reader *reader);

#endif
