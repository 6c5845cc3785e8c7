/* daemon/api/api_route.h: the paths of the listener for HTTP, as rows: method and path to a verb of the request socket.
 *
 * No state: any thread. */
#ifndef COP_DAEMON_API_API_ROUTE_H
#define COP_DAEMON_API_API_ROUTE_H

#include <stdbool.h>
#include <stddef.h>

#include "daemon/config/config.h"

/* What of a verb's reply is shown. */
typedef enum cop_api_shown {
	COP_API_ALL,    /* the reply */
	COP_API_MODELS, /* of a status {models: ...} */
	COP_API_MODEL,  /* of a status the one model */
	COP_API_VIEW,   /* of a view the page; while it is drawn, the verb is asked again */
	/* Of an explanation all; the query names the decision. While it is looked for, the verb is asked again, here
	 * and next. */
	COP_API_DECISION,
	COP_API_DECISIONS, /* those that the query asks for */
	COP_API_VERSION,   /* no verb: this daemon's version */
	COP_API_PAGE,      /* no verb: a part of the page */
	COP_API_SESSION,   /* no verb: whose token or cookie it is */
	COP_API_LOGIN,     /* no verb: a token in the body becomes a cookie */
	COP_API_LOGOUT,    /* no verb: the cookie ends */
	COP_API_RANKED,    /* from here on the paths of daemon/api/api_personalizer.h: a ranking of actions */
	COP_API_REWARDED,  /* nothing */
	COP_API_ACTIVATED, /* nothing, and no body is needed */
	COP_API_SLOTS,     /* no verb: is not there */
} cop_api_shown;

#define COP_API_ROUTE_PERSONAL "/personalizer/"

typedef struct cop_api_route {
	const char *path; /* "*" stands for a model's name, in those of the personalizer for an event's id */
	const char *verb; /* of the request socket, "" for none */
	bool post;        /* POST with a JSON object; else GET or HEAD */
	cop_api_shown shown;
	unsigned right; /* COP_ACCESS_..., 0: every token's */
} cop_api_route;

/* Decodes %XX in place and returns the length. %00 becomes a byte that UTF-8 does not have: no text ends there. */
size_t cop_api_route_decode(char *text);
/* The path within a request's target, which may be a whole address (http://HOST:PORT/path), as proxies send it. */
const char *cop_api_route_path(const char *target);
/* The row for a path (decoded, without its query), and what stands in place of "*", "" for none. *whole: it is all of
 * that; else an event's id was longer, and is cut. NULL: no such path. */
const cop_api_route *cop_api_route_find(const char *path, char name[COP_CONFIG_NAME_MAX + 1], bool *whole);
/* Whether the row takes the method; `allowed` gets the header Allow. */
bool cop_api_route_takes(const cop_api_route *route, const char *method, const char **allowed);
/* Whether strangers may ask, who have no token: the page, and logging in to it; NULL is not. */
bool cop_api_route_is_open(const cop_api_route *route);
/* Whether the path is the personalizer's; NULL is not. */
bool cop_api_route_is_personalizer(const cop_api_route *route);
/* Row i, NULL behind the last: for tests and documents. */
const cop_api_route *cop_api_route_at(size_t i);

#endif
