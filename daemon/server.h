/* daemon/server.h: the serving daemon as one object: sockets, models, checkpoints, and the loop that turns them.
 *
 * One thread owns sockets and live models: every message is taken whole, decided or learned, and answered before the
 * next. The log, ZeroMQ and HTTP have threads of their own. */
#ifndef COP_DAEMON_SERVER_H
#define COP_DAEMON_SERVER_H

#include "base/bytes.h"
#include "daemon/config/config.h"
#include "daemon/durable/checkpoint.h"
#include "daemon/durable/journal_retention.h"
#include "daemon/durable/journaler.h"
#include "daemon/durable/state_lock.h"
#include "daemon/refit/refits.h"
#include "daemon/report/drop_report.h"
#include "daemon/common/histogram.h"
#include "daemon/common/http.h"
#include "daemon/common/log.h"
#include "daemon/common/notify.h"
#include "daemon/common/event_clock.h"
#include "daemon/serve/outbox.h"
#include "daemon/models/served.h"
#include "daemon/serve/sockets.h"
#include "wire/wire_code.h"
#include "wire/wire_keys.h"

typedef struct cop_server_counts {
	uint64_t requests;                        /* received */
	uint64_t errors;                          /* answered with an error */
	uint64_t codes[COP_WIRE_CODE_COUNT];      /* the same, by code */
	uint64_t item_codes[COP_WIRE_CODE_COUNT]; /* items of batches, answered with an error each */
	uint64_t streamed;                        /* messages received on streams */
	uint64_t unroutable;                      /* stream messages for no model of ours, or without topic and body */
	uint64_t dropped;                         /* stream messages, since too much was queued */
} cop_server_counts;

typedef struct cop_server cop_server;

struct cop_server {
	const char *config_path; /* kept; NULL: the built-in configuration */
	cop_config *config;      /* owned */
	cop_state_lock lock;     /* of the state folder */
	cop_log *log;            /* kept */
	cop_sockets sockets;
	cop_served_set models;
	cop_checkpoint checkpoint;
	cop_journaler *journal; /* NULL: off */
	cop_journal_retention care;
	cop_outbox outbox;
	cop_refits refits;
	double next_look;   /* monotonic seconds: when files and the clock are looked at again */
	double next_heal;   /* the same: when a broken journal is tried again */
	double next_plaint; /* the same: when a journal that does not heal is complained of again */
	bool broken_told;   /* the log has it that the journal is broken */
	char broken_reason[160];
	cop_notify notify;
	cop_drop_report trouble;
	cop_server_counts counts;
	cop_log_limiter limiter;        /* of complaints about streams */
	cop_bytes reply;                /* of the message in hand */
	cop_bytes waiting;              /* of the same, the contexts that wait */
	cop_http *http;                 /* NULL: off */
	cop_histogram decide_durations; /* from a decide request's receipt to its reply */
	uint64_t mark;        /* monotonic nanoseconds: when the turn began, then when its last request was answered */
	double born;          /* unix seconds */
	double started;       /* monotonic seconds */
	double time;          /* event time of the loop's turn: unix seconds that never jump nor fall */
	uint64_t journal_end; /* without a journal: where an old one ended */
	cop_event_clock clock;
	double next_checkpoint; /* monotonic seconds */
	size_t budget;          /* messages of one socket that a turn takes */
	bool behind;            /* more reward windows may be over than a turn ended */
	int signals;            /* readable when a signal came */
	bool stop;
};

typedef struct cop_server_options {
	const char *config_path;  /* kept; NULL: the built-in configuration */
	const char *const *reset; /* models to begin anew, NULL-terminated; NULL: none */
	bool checkpoint_only;     /* set the journal aside */
	bool salvaged;            /* the journal has gaps */
	bool trust_clock;         /* however far it is ahead of the newest record */
} cop_server_options;

/* Opens all: state folder, models from the newest checkpoint (those in `reset` afresh) and the journal after it,
 * sockets. Takes *config (NULL afterwards) also on error. The error is in *diag. Caller closes. */
COP_CHECK cop_err cop_server_open(
        cop_server *server, const cop_server_options *options, cop_config **config, cop_log *log, cop_diag *diag);
/* Writes a checkpoint and waits for it. COP_EIO, COP_ENOMEM: logged, with *diag. */
COP_CHECK cop_err cop_server_checkpoint(cop_server *server, cop_diag *diag);
/* The configuration from here on goes into the journal, for whoever replays. */
void cop_server_record_config(cop_server *server);
/* Serves until SIGTERM or SIGINT, then writes a last checkpoint; its error is returned, with *diag. */
COP_CHECK cop_err cop_server_run(cop_server *server, cop_diag *diag);
void cop_server_close(cop_server *server);

/* Reads the configuration again and applies what can change; appends `{applied: [text ...], restart: [text ...], seq?}`
 * to body. COP_EINVAL: the file is wrong, *fault says as much of it as fits; nothing changed. COP_ENOMEM. */
COP_CHECK cop_err cop_server_reload(
        cop_server *server, const cop_wire_seq *seq, cop_bytes *body, cop_wire_fault *fault);

#endif
