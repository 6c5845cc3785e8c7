/* daemon/api/api_page.h: the page at `/`: its document, style sheet and script, which the build puts into the program.
 *
 * The page asks the listener for all it shows (docs/reference/http.md), as any other client may. Constant: any thread.
 */
#ifndef COP_DAEMON_API_API_PAGE_H
#define COP_DAEMON_API_API_PAGE_H

#include <stddef.h>

extern const unsigned char cop_api_page_html[];
extern const size_t cop_api_page_html_length;
extern const unsigned char cop_api_page_css[];
extern const size_t cop_api_page_css_length;
extern const unsigned char cop_api_page_js[];
extern const size_t cop_api_page_js_length;

typedef struct cop_api_page_part {
	const char *path, *type;
	const char *policy; /* header Content-Security-Policy: what it may load and run */
	const unsigned char *data;
	const size_t *length;
} cop_api_page_part;

/* NULL: no part has this path. */
const cop_api_page_part *cop_api_page_find(const char *path);
/* What a model's view is, whose document is no part of the program (NULL data): all is in it, and it asks nobody. */
extern const cop_api_page_part cop_api_page_view;
/* Headers of every part beside these, by pairs of name and value, NULL at the end. */
extern const char *const cop_api_page_headers[];

#endif
