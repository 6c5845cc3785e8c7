/* Parts are rows. The page is asked for again each time, so that it never is older than the daemon. */
#include "daemon/api/api_page.h"

#include <string.h>

/* It runs no script and asks no server but its own, and is shown in no other page's frame. */
#define OWN                                                                                                            \
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; "                 \
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

static const cop_api_page_part parts[] = {
	{ "/", "text/html; charset=utf-8", OWN, cop_api_page_html, &cop_api_page_html_length },
	{ "/page.css", "text/css; charset=utf-8", OWN, cop_api_page_css, &cop_api_page_css_length },
	{ "/page.js", "text/javascript; charset=utf-8", OWN, cop_api_page_js, &cop_api_page_js_length },
};

const cop_api_page_part *cop_api_page_find(const char *path)
{
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (strcmp(parts[i].path, path) == 0)
			return &parts[i];
	return NULL;
}

const cop_api_page_part cop_api_page_view = { "", "text/html; charset=utf-8",
	"default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; base-uri 'none'; form-action "
	"'none'; "
	"frame-ancestors 'none'; sandbox allow-scripts",
	NULL, NULL };

const char *const cop_api_page_headers[] = {
	"X-Content-Type-Options",
	"nosniff",
	"Referrer-Policy",
	"no-referrer",
	"Cache-Control",
	"no-cache",
	NULL,
};
