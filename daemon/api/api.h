/* daemon/api/api.h: the listener for HTTP and JSON, on a thread of its own that speaks to the loop by its request
 * socket, as any client does.
 *
 * The thread owns the connections (libmicrohttpd's, driven by this thread) and a socket of ZeroMQ inside the process. A
 * request's connection is suspended until its reply comes, so requests of many connections are under way at once. What
 * is bounded: connections, bytes of a body, bytes of all bodies, seconds without a byte, seconds until a reply. */
#ifndef COP_DAEMON_API_API_H
#define COP_DAEMON_API_API_H

#include <stdatomic.h>
#include <stdint.h>

#include "daemon/common/log.h"
#include "daemon/config/config.h"

#define COP_API_STATUSES 6 /* classes of HTTP statuses: [2] counts those from 200 to 299 */

typedef struct cop_api_counts {
	_Atomic uint64_t requests[COP_API_STATUSES]; /* answered, by class of status */
	_Atomic uint64_t strangers;                  /* of them, without a token of the file, */
	_Atomic uint64_t forbidden;                  /* whose token lacks the right, */
	_Atomic uint64_t limited;                    /* or beyond its limits */
	_Atomic uint64_t unanswered;                 /* of them, those that the loop gave no reply in time */
	_Atomic uint64_t connections;                /* at present */
	_Atomic uint64_t ended;                      /* connections ended to make room for others */
	_Atomic(int64_t) certificate_ends;           /* Unix seconds; 0: plain HTTP */
} cop_api_counts;

typedef struct cop_api cop_api;

/* Listens where the configuration says (borrowed, but its api_access and api_pair are taken) and starts the thread.
 * context: ZeroMQ's, in which `endpoint` is bound; kept. *out is NULL when the configuration has no such listener.
 * COP_EIO with a message, COP_ENOMEM; then *out is NULL too. */
COP_CHECK cop_err cop_api_open(
        cop_config *config, void *context, const char *endpoint, cop_log *log, cop_api **out, cop_diag *diag);
/* From here on these tokens are asked for; *access is taken (NULL: none are), and NULL afterwards. NULL api is allowed.
 */
void cop_api_set_access(cop_api *api, cop_access **access);
/* Those that are asked for now, which the caller alone exchanges; NULL: none, or no api. */
const cop_access *cop_api_access(const cop_api *api);
/* New connections are shown this certificate; *pair is taken, and NULL afterwards. NULL api is allowed; a listener
 * without TLS stays without. */
void cop_api_set_certificate(cop_api *api, cop_certificate **pair);
/* From here on requests are answered 503. NULL is allowed. */
void cop_api_stop(cop_api *api);
/* Ends the thread; what waits is answered 503. NULL is allowed. Before the endpoint's socket is closed. */
void cop_api_close(cop_api *api);

/* Never NULL: of no listener all are 0. Any thread. */
const cop_api_counts *cop_api_look(const cop_api *api);

#endif
