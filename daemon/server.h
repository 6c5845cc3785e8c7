/* daemon/server.h: the serving daemon as one object: what is durable, what serves, refits, and the loop that turns
 * them.
 *
 * One thread owns sockets and live models: every message is taken whole, decided or learned, and answered before the
 * next. The log, ZeroMQ and the two listeners for HTTP have threads
 * of their own. */
#ifndef COP_DAEMON_SERVER_H
#define COP_DAEMON_SERVER_H

#include "daemon/api/api.h"
#include "daemon/common/notify.h"
#include "daemon/durable/forgetting.h"
#include "daemon/models/model_exchange.h"
#include "daemon/merge/merge.h"
#include "daemon/models/slot_bin.h"
#include "daemon/refit/refits.h"
#include "daemon/replica/replica.h"
#include "daemon/report/drop_report.h"
#include "daemon/report/model_view.h"
#include "daemon/report/past_desk.h"
#include "daemon/report/report.h"
#include "daemon/serve/serving.h"

typedef struct cop_model_change cop_model_change;

/* Of daemon/lead.h. */
typedef struct cop_lead {
	bool draining;    /* it hands over */
	double drain_end; /* seconds since the machine began: until another instance has everything, at most */
	cop_wire_seq seq; /* of that order */
	bool ended;       /* it leads no longer, and the process ends */
} cop_lead;

/* A request whose answer comes later. */
typedef struct cop_request_kept {
	bool there;
	void *socket;
	cop_sockets_message message;
} cop_request_kept;

typedef struct cop_server {
	const char *config_path; /* kept; NULL: the built-in configuration */
	cop_config *config;      /* owned */
	cop_log *log;            /* kept */
	cop_http *http;          /* NULL: off */
	cop_api *api;            /* NULL: off */
	cop_durability durable;
	cop_serving serving;
	cop_refits refits;
	cop_forgetting forgetting;
	cop_replica replica;
	cop_merge merge;
	cop_report report;
	cop_drop_report drops;
	cop_model_view view;
	cop_past_desk past;
	cop_notify notify;
	double next_tick;      /* monotonic seconds */
	double next_live_look; /* the same: when the file of live changes is looked for */
	bool live_lost;        /* the log has it that this file is gone, and cannot be written */
	size_t budget;         /* messages of one socket that a turn takes */
	bool linking;          /* a follower waits for the disk */
	bool behind;           /* more reward windows may be over than a turn ended */
	int signals;           /* readable when a signal came */
	bool stop;
	cop_lead lead;
	bool again;               /* it stops to begin anew, with what waits in the state folder */
	bool reload_due;          /* a signal came while a model is being changed */
	cop_model_change *change; /* of a model, under way (daemon/model_change.h); NULL: none */
	cop_request_kept kept;    /* that asked for it */
	cop_slot_bin bin;
} cop_server;

typedef struct cop_server_options {
	const char *config_path; /* kept; NULL: the built-in configuration */
	cop_durability_options start;
} cop_server_options;

/* Opens all: state folder, models, sockets. Takes *config (NULL afterwards) also on error. The error is in *diag.
 * Caller closes. */
COP_CHECK cop_err cop_server_open(
        cop_server *server, const cop_server_options *options, cop_config **config, cop_log *log, cop_diag *diag);
/* Serves until SIGTERM or SIGINT, then writes a last checkpoint; its error is returned, with *diag. */
COP_CHECK cop_err cop_server_run(cop_server *server, cop_diag *diag);
void cop_server_close(cop_server *server);

#endif
