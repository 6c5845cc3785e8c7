/* tools/diff/diff_terms.h: what two models of one shape have learned differently: experts, linear terms, forests.
 *
 * One thread. */
#ifndef COP_TOOLS_DIFF_DIFF_TERMS_H
#define COP_TOOLS_DIFF_DIFF_TERMS_H

#include "base/json.h"
#include "online/model.h"
#include "online/model_page_names.h"

typedef struct cop_diff_pair {
	cop_model *old, *new;             /* of one shape */
	const cop_model_page_names *name; /* of the newer one */
	size_t top;                       /* terms of a part that are shown */
} cop_diff_pair;

/* As text to out, or with json as its members. COP_ENOMEM. */
COP_CHECK cop_err cop_diff_terms_put(const cop_diff_pair *pair, cop_bytes *out, cop_json_writer *json);

#endif
