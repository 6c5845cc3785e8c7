/* tools/inspect/inspect_trained.h: a trained model file (of `coppice train`) shown in one of the views of view/view.h.
 */
#ifndef COP_TOOLS_INSPECT_INSPECT_TRAINED_H
#define COP_TOOLS_INSPECT_INSPECT_TRAINED_H

#include "base/bytes.h"
#include "view/view.h"

typedef struct cop_inspect_trained {
	const char *path;
	const cop_view *view;
	cop_view_settings settings;
	const char *out; /* file, "-": standard output */
	bool importance; /* the features' shares instead of a view, as text or JSON */
	bool json;
	bool source_json; /* the view is put as {"function", "source"} into a JSON object */
} cop_inspect_trained;

/* bytes: the whole file. COP_EINVAL: no such tree. */
COP_CHECK cop_err cop_inspect_trained_show(const cop_inspect_trained *in, const cop_bytes *bytes, cop_diag *diag);

/* "text, rules, json, dot, html, c" into out. */
void cop_inspect_trained_view_names(char *out, size_t size);
/* Writes bytes as they are. */
COP_CHECK cop_err cop_inspect_trained_write(const char *path, const cop_bytes *bytes, cop_diag *diag);

#endif
