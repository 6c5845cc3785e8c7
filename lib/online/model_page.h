/* online/model_page.h: served and replayed models as one HTML page: experts, linear terms, products, forests,
 * and some of their trees drawn.
 *
 * However large a model is, the page is bounded: so many weights of so many arms, so many trees of so many leaves, and
 * it says how many are left out. One thread. */
#ifndef COP_ONLINE_MODEL_PAGE_H
#define COP_ONLINE_MODEL_PAGE_H

#include "base/bytes.h"
#include "online/model_page_names.h"
#include "online/model.h"
#include "view/view_draw.h"

#define COP_MODEL_PAGE_TREES 64 /* of a page, drawn */

typedef struct cop_model_page {
	size_t top;         /* heaviest features of a linear term; 0: 8 */
	uint64_t only_tree; /* UINT64_MAX: some of each kind */
	cop_bytes sections; /* HTML of the models */
	cop_json_writer *json;
	cop_bytes text; /* of the trees, for readers without scripts */
	size_t trees, places;
} cop_model_page;

/* COP_ENOMEM. Finish with fini, also after an error. */
COP_CHECK cop_err cop_model_page_begin(cop_model_page *page);
void cop_model_page_fini(cop_model_page *page);
/* One model more; name NULL: it has none. COP_ENOMEM, COP_ENONFINITE; COP_ENOTFOUND: only_tree is none of its trees. */
COP_CHECK cop_err cop_model_page_model(
        cop_model_page *page, const char *name, cop_model *model, const cop_model_page_names *names);
/* The same of a saved model (data: sections of cop_model_save and the names beside them, borrowed), with names from the
 * caller (COP_MODEL_PAGE_GIVEN of them, kept). Errors of cop_model_load and of the two above, with *diag. */
COP_CHECK cop_err cop_model_page_saved(cop_model_page *page, const char *name, const cop_model_page_given *given,
        const void *data, size_t length, cop_diag *diag);
/* The page. */
COP_CHECK cop_err cop_model_page_put(cop_model_page *page, const char *title, const char *about, cop_bytes *out);

#endif
