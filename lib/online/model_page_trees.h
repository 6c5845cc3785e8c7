/* online/model_page_trees.h: the trees of a model that its page draws. One thread. */
#ifndef COP_ONLINE_MODEL_PAGE_TREES_H
#define COP_ONLINE_MODEL_PAGE_TREES_H

#include "online/model_page.h"

/* Some trees of each part, as far as the page has room. Errors of cop_model_page_model. */
COP_CHECK cop_err cop_model_page_trees_draw(
        cop_model_page *page, const char *name, cop_model *model, const cop_model_page_names *names);

#endif
