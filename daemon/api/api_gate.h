/* daemon/api/api_gate.h: what a request's first line and headers allow: path, method, type of the body, token.
 *
 * The check is for the listener's thread; tokens may be exchanged on any other one. */
#ifndef COP_DAEMON_API_API_GATE_H
#define COP_DAEMON_API_API_GATE_H

#include <pthread.h>

#include <microhttpd.h>

#include "daemon/api/api_request.h"

typedef struct cop_api_gate {
	pthread_mutex_t lock;                       /* of access; nothing is called with it that waits */
	cop_access *access;                         /* owned; NULL: no token is asked for */
	char personalizer[COP_CONFIG_NAME_MAX + 1]; /* model of its paths, "" for none */
	cop_api_session session;
} cop_api_gate;

/* Takes config's api_access. COP_EIO: the system gives no random bytes. Caller finishes with fini, also after an error.
 */
COP_CHECK cop_err cop_api_gate_init(cop_api_gate *gate, cop_config *config);
void cop_api_gate_fini(cop_api_gate *gate);
/* Takes *access, NULL afterwards. */
void cop_api_gate_exchange(cop_api_gate *gate, cop_access **access);

/* Fills the request's route, model, event and owner; what is not allowed, or beyond the limits of its token, has its
 * answer afterwards. */
void cop_api_gate_check(cop_api_gate *gate, cop_api_request *request, struct MHD_Connection *connection,
        const char *path, const char *method);
/* The body of a request that was let in has come, of so many bytes: they, and a batch's items, are its token's. body:
 * as MessagePack. */
void cop_api_gate_charge(cop_api_gate *gate, const cop_api_request *request, const cop_bytes *body, size_t bytes);
/* The answer to a request whose path is of a session: who it is, or the cookie that its token becomes. Whoever logged
 * in is the request's client. */
void cop_api_gate_answer(cop_api_gate *gate, cop_api_request *request);

#endif
