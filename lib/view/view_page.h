/* view/view_page.h: the style sheet and the script of the HTML page: view_page.css and view_page.js, which the build
 * puts into the library. Constant: any thread. */
#ifndef COP_VIEW_VIEW_PAGE_H
#define COP_VIEW_VIEW_PAGE_H

#include <stddef.h>

extern const unsigned char cop_view_page_css[];
extern const size_t cop_view_page_css_length;
extern const unsigned char cop_view_page_js[];
extern const size_t cop_view_page_js_length;

#endif
