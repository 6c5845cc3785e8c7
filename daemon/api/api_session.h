/* daemon/api/api_session.h: the cookie by which a browser that has shown a token reads on.
 *
 * The cookie holds the token's name, when it ends, and a signature (HMAC-SHA256) of both and of the token, by a secret
 * that the process draws at its start. So nothing is kept of a session, a token that leaves the file ends its sessions,
 * and the cookie is no token: the listener takes it for reading alone. The listener's thread. */
#ifndef COP_DAEMON_API_API_SESSION_H
#define COP_DAEMON_API_API_SESSION_H

#include <stdbool.h>

#include "daemon/config/access.h"

#define COP_API_SESSION_COOKIE  "coppice"
#define COP_API_SESSION_SECONDS 43200 /* that one lasts */
#define COP_API_SESSION_ROOM    320   /* of a header's value */

typedef struct cop_api_session {
	unsigned char secret[32];
	bool secure; /* cookies are for TLS alone */
} cop_api_session;

/* COP_EIO: the system gives no random bytes. */
COP_CHECK cop_err cop_api_session_init(cop_api_session *session, bool secure);
/* The value of the header Set-Cookie that begins the entry's session; now: unix seconds. */
void cop_api_session_begin(
        const cop_api_session *session, const cop_access_entry *entry, double now, char header[COP_API_SESSION_ROOM]);
/* The one that ends it. */
void cop_api_session_end(const cop_api_session *session, char header[COP_API_SESSION_ROOM]);
/* Whose session a cookie's value is (borrowed; NULL: there is none); NULL: nobody's, or it is over. */
const cop_access_entry *cop_api_session_find(
        const cop_api_session *session, const cop_access *access, const char *cookie, double now);

#endif
