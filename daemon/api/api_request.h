/* daemon/api/api_request.h: one HTTP request on its way: what came, the verb's body that it becomes, and the answer.
 *
 * Errors are problem details (RFC 9457) with the protocol's code; on the personalizer's paths with that service's
 * `error` too. The listener's thread. */
#ifndef COP_DAEMON_API_API_REQUEST_H
#define COP_DAEMON_API_API_REQUEST_H

#include <stdint.h>

#include "base/bytes.h"
#include "daemon/api/api_link.h"
#include "daemon/api/api_page.h"
#include "daemon/api/api_route.h"
#include "daemon/api/api_session.h"
#include "daemon/config/access.h"
#include "wire/wire_past.h"

typedef struct cop_api_request {
	const cop_api_route *route; /* NULL: none that fits */
	char model[COP_CONFIG_NAME_MAX + 1];
	char event[COP_CONFIG_NAME_MAX + 1]; /* personalizer: the id, "" for none yet */
	cop_wire_past past;                  /* what the query asks for */
	cop_bytes names;                     /* personalizer: the actions' ids, each with a 0 behind it */
	cop_bytes body;                      /* as it came */
	unsigned status;                     /* of the answer; 0: there is none yet */
	cop_bytes answer;
	const cop_api_page_part *page;     /* what the answer is; NULL: JSON */
	char cookie[COP_API_SESSION_ROOM]; /* header Set-Cookie of the answer, "" for none */
	bool personal;                     /* the path begins as the personalizer's do */
	bool unframed;                     /* nobody knows where its body ends */
	bool stranger;                     /* tokens are asked for, and it has none that is valid */
	bool crowded;                      /* too many such questions wait; no token's limit */
	bool again;                        /* the verb is to be asked once more, later */
	const char *allow;                 /* header of an answer 405, else NULL */
	char client[COP_ACCESS_NAME + 1];  /* the token's name; "": no token was asked for */
	cop_api_owner owner;
} cop_api_request;

void cop_api_request_init(cop_api_request *request);
void cop_api_request_fini(cop_api_request *request);
/* For the next one; keeps moderate room. */
void cop_api_request_reset(cop_api_request *request);

/* The answer is a problem of that status. */
void cop_api_request_refuse(cop_api_request *request, unsigned status, const char *code, const char *format, ...)
        __attribute__((format(printf, 4, 5)));
/* The verb's body into out, with `number` as its seq. False: it is refused. */
bool cop_api_request_put(cop_api_request *request, uint64_t number, cop_bytes *out);
/* The answer is what the verb replied: an `ok` body or an error. */
void cop_api_request_take(cop_api_request *request, bool ok, const void *body, size_t length);
/* The same where no verb is needed: the version, or a part of the page. */
void cop_api_request_answer(cop_api_request *request);

/* The number that such a reply's seq has; false: it has none. */
bool cop_api_request_number(const void *body, size_t length, uint64_t *number);
/* The HTTP status of a code of the protocol. */
unsigned cop_api_request_status(cop_wire_code code);

#endif
