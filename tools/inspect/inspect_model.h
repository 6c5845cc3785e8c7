/* tools/inspect/inspect_model.h: one saved model shown, as text or as a JSON value. */
#ifndef COP_TOOLS_INSPECT_INSPECT_MODEL_H
#define COP_TOOLS_INSPECT_INSPECT_MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/json.h"
#include "online/model_page_names.h"

#define COP_INSPECT_ALL_TREES UINT64_MAX
#define COP_INSPECT_NO_TREE   (UINT64_MAX - 1)

typedef struct cop_inspect_view {
	cop_json_writer *json;             /* NULL: text to out */
	FILE *out;                         /* text */
	uint64_t tree;                     /* which tree to show in full, or one of the two above */
	const cop_model_page_given *given; /* names from files */
	struct cop_model_page *page;       /* an HTML page instead of text or JSON; NULL: none */
	const cop_model_page_names *named; /* of the model that is shown */
} cop_inspect_view;

/* A model's file (sections of cop_model_save), borrowed. name: NULL when it has none.
 * COP_ENOTFOUND: view->tree is not one of its trees. Errors of cop_model_load. */
COP_CHECK cop_err cop_inspect_model(
        const cop_inspect_view *view, const char *name, const void *data, size_t length, cop_diag *diag);
#endif
