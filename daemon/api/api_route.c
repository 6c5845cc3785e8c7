/* A path is compared with each row, part by part. */
#include "daemon/api/api_route.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

static const cop_api_route routes[] = {
	{ "/v1/models/*/decide", "decide", true, COP_API_ALL, COP_ACCESS_DECIDE },
	{ "/v1/models/*/decide_batch", "decide_batch", true, COP_API_ALL, COP_ACCESS_DECIDE },
	{ "/v1/models/*/rank", "rank", true, COP_API_ALL, COP_ACCESS_DECIDE },
	{ "/v1/models/*/rank_batch", "rank_batch", true, COP_API_ALL, COP_ACCESS_DECIDE },
	{ "/v1/models/*/feedback", "feedback", true, COP_API_ALL, COP_ACCESS_FEEDBACK },
	{ "/v1/models/*/feedback_batch", "feedback_batch", true, COP_API_ALL, COP_ACCESS_FEEDBACK },
	{ "/v1/models/*/activate", "activate", true, COP_API_ALL, COP_ACCESS_DECIDE },
	{ "/v1/models/*/explain", "explain", true, COP_API_ALL, COP_ACCESS_READ },
	{ "/v1/models/*/history", "history", false, COP_API_ALL, COP_ACCESS_READ },
	{ "/v1/models/*/view", "view", false, COP_API_VIEW, COP_ACCESS_READ },
	{ "/v1/models/*/decision", "decision", false, COP_API_DECISION, COP_ACCESS_READ },
	{ "/v1/models/*/decisions", "decisions", false, COP_API_DECISIONS, COP_ACCESS_READ },
	{ "/v1/models/*", "status", false, COP_API_MODEL, COP_ACCESS_READ },
	{ "/v1/models", "status", false, COP_API_MODELS, COP_ACCESS_READ },
	{ "/v1/status", "status", false, COP_API_ALL, COP_ACCESS_READ },
	{ "/v1/version", "", false, COP_API_VERSION, 0 }, { "/v1/session", "", false, COP_API_SESSION, 0 },
	{ "/", "", false, COP_API_PAGE, 0 }, { "/page.css", "", false, COP_API_PAGE, 0 },
	{ "/page.js", "", false, COP_API_PAGE, 0 }, { "/login", "", true, COP_API_LOGIN, 0 },
	{ "/logout", "", true, COP_API_LOGOUT, 0 },
	{ "/personalizer/v1.0/rank", "rank", true, COP_API_RANKED, COP_ACCESS_DECIDE },
	{ "/personalizer/v1.0/events/*/reward", "feedback", true, COP_API_REWARDED, COP_ACCESS_FEEDBACK },
	{ "/personalizer/v1.0/events/*/activate", "activate", true, COP_API_ACTIVATED, COP_ACCESS_DECIDE },
	{ COP_API_ROUTE_PERSONAL "*/multislot/", "", true, COP_API_SLOTS, COP_ACCESS_DECIDE }, /* and all below it */
};
#define ROUTES (sizeof routes / sizeof *routes)

static int digit_of(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c == '\0' ? NULL : strchr(digits, c | 0x20);
	return at == NULL ? -1 : (int)(at - digits);
}

size_t cop_api_route_decode(char *text)
{
	char *out = text;
	for (const char *in = text; *in != '\0'; in++) {
		const int high = *in == '%' ? digit_of(in[1]) : -1, low = high < 0 ? -1 : digit_of(in[2]);
		*out++ = low < 0 ? *in : high + low == 0 ? (char)0xff : (char)(16 * high + low);
		in += low < 0 ? 0 : 2;
	}
	*out = '\0';
	return (size_t)(out - text);
}

const char *cop_api_route_path(const char *target)
{
	const size_t scheme = strncasecmp(target, "http://", 7) == 0    ? 7
	                      : strncasecmp(target, "https://", 8) == 0 ? 8
	                                                                : 0;
	const char *path = strchr(target + scheme, '/');
	return scheme == 0 ? target : path == NULL ? "/" : path;
}

/* Whether path is the row's; the part that "*" stands for is *name, of *length bytes. An event's id may hold slashes.
 */
static bool matches(const cop_api_route *route, const char *path, const char **name, size_t *length)
{
	const char *row = route->path, *star = strchr(row, '*');
	size_t before = star == NULL ? strlen(row) : (size_t)(star - row);
	*length = 0;
	if (strncmp(row, path, before) != 0)
		return false;
	if (route->shown == COP_API_SLOTS)
		return strstr(path + before, star + 1) != NULL;
	if (star == NULL)
		return path[before] == '\0';
	*name = path + before;
	size_t all = strlen(*name), behind = strlen(star + 1);
	if (!cop_api_route_is_personalizer(route))
		*length = strcspn(*name, "/");
	else if (all > behind)
		*length = all - behind;
	size_t most = cop_api_route_is_personalizer(route) ? SIZE_MAX : COP_CONFIG_NAME_MAX;
	return *length > 0 && *length <= most && strcmp(star + 1, *name + *length) == 0;
}

const cop_api_route *cop_api_route_find(const char *path, char found[COP_CONFIG_NAME_MAX + 1], bool *whole)
{
	for (size_t i = 0; i < ROUTES; i++) {
		const char *name = "";
		size_t length;
		if (!matches(&routes[i], path, &name, &length))
			continue;
		*whole = length <= COP_CONFIG_NAME_MAX;
		length = *whole ? length : COP_CONFIG_NAME_MAX;
		memcpy(found, name, length);
		found[length] = '\0';
		return &routes[i];
	}
	return NULL;
}

bool cop_api_route_takes(const cop_api_route *route, const char *method, const char **allowed)
{
	*allowed = route->post ? "POST" : "GET, HEAD";
	if (route->post)
		return strcmp(method, "POST") == 0;
	return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
}

const cop_api_route *cop_api_route_at(size_t i) { return i < ROUTES ? &routes[i] : NULL; }

bool cop_api_route_is_open(const cop_api_route *route)
{
	return route != NULL && route->shown >= COP_API_PAGE && route->shown <= COP_API_LOGOUT;
}

bool cop_api_route_is_personalizer(const cop_api_route *route)
{
	return route != NULL && route->shown >= COP_API_RANKED;
}
