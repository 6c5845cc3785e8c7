/* tools/inspect/inspect_page.h: served and replayed models as one HTML page: experts, linear terms, products, forests,
 * and some of their trees drawn.
 *
 * However large a model is, the page is bounded: so many weights of so many arms, so many trees of so many leaves, and
 * it says how many are left out. One thread. */
#ifndef COP_TOOLS_INSPECT_INSPECT_PAGE_H
#define COP_TOOLS_INSPECT_INSPECT_PAGE_H

#include "base/bytes.h"
#include "inspect_names.h"
#include "online/model.h"
#include "view/view_draw.h"

#define COP_INSPECT_PAGE_TREES 64 /* of a page, drawn */

typedef struct cop_inspect_page {
	size_t top;         /* heaviest features of a linear term; 0: 8 */
	uint64_t only_tree; /* UINT64_MAX: some of each kind */
	cop_bytes sections; /* HTML of the models */
	cop_json_writer *json;
	cop_bytes text; /* of the trees, for readers without scripts */
	size_t trees, places;
} cop_inspect_page;

/* COP_ENOMEM. Finish with fini, also after an error. */
COP_CHECK cop_err cop_inspect_page_begin(cop_inspect_page *page);
void cop_inspect_page_fini(cop_inspect_page *page);
/* One model more; name NULL: it has none. COP_ENOMEM, COP_ENONFINITE; COP_ENOTFOUND: only_tree is none of its trees. */
COP_CHECK cop_err cop_inspect_page_model(
        cop_inspect_page *page, const char *name, cop_model *model, const cop_inspect_names *names);
/* The page. */
COP_CHECK cop_err cop_inspect_page_put(cop_inspect_page *page, const char *title, const char *about, cop_bytes *out);

#endif
