/* tools/inspect/inspect_page_trees.h: the trees of a model that its page draws. One thread. */
#ifndef COP_TOOLS_INSPECT_INSPECT_PAGE_TREES_H
#define COP_TOOLS_INSPECT_INSPECT_PAGE_TREES_H

#include "inspect_page.h"

/* Some trees of each part, as far as the page has room. Errors of cop_inspect_page_model. */
COP_CHECK cop_err cop_inspect_page_trees_draw(
        cop_inspect_page *page, const char *name, cop_model *model, const cop_inspect_names *names);

#endif
