/* The context lies at the front and stays; each candidate is written behind it, over the one before. Indices rise,
 * since the candidate's begin where the context's can end, so the row needs no sorting. `context` counts what lies in
 * front. */
#include "learn/concat_row.h"

#include <string.h>

#include "base/mem.h"

void cop_concat_row_init(cop_concat_row *joined, size_t d, size_t candidate_d, bool sparse, size_t max_nonzeros)
{
	*joined = (cop_concat_row){
		.d = d,
		.candidate_d = candidate_d,
		.entries = sparse ? 2 * max_nonzeros : d + candidate_d,
		.sparse = sparse,
	};
}

cop_err cop_concat_row_make_room(cop_concat_row *joined)
{
	if (joined->value == NULL)
		joined->value = cop_mem_alloc(joined->entries, sizeof *joined->value);
	if (joined->sparse && joined->index == NULL)
		joined->index = cop_mem_alloc(joined->entries, sizeof *joined->index);
	return joined->value == NULL || (joined->sparse && joined->index == NULL) ? COP_ENOMEM : COP_OK;
}

void cop_concat_row_fini(cop_concat_row *joined)
{
	cop_mem_free(joined->value);
	cop_mem_free(joined->index);
}

size_t cop_concat_row_features(const cop_concat_row *joined) { return joined->d + joined->candidate_d; }

/* Behind `at` entries, features counted from `first` on. */
static void lay(cop_concat_row *joined, size_t at, const cop_row *x, size_t first)
{
	const float *value = x->dense != NULL ? x->dense : x->value;
	size_t entries = cop_row_entries(x);
	if (entries == 0)
		return;
	memcpy(joined->value + at, value, entries * sizeof *value);
	for (size_t i = 0; x->dense == NULL && i < entries; i++)
		joined->index[at + i] = (uint32_t)(first + x->index[i]);
}

void cop_concat_row_set_context(cop_concat_row *joined, const cop_row *x)
{
	lay(joined, 0, x, 0);
	joined->context = cop_row_entries(x);
}

void cop_concat_row_row(cop_concat_row *joined, const cop_row *candidate, cop_row *out)
{
	lay(joined, joined->context, candidate, joined->d);
	*out = (cop_row){ .d = cop_concat_row_features(joined) };
	if (candidate->dense != NULL) {
		out->dense = joined->value;
		return;
	}
	out->nnz = joined->context + candidate->nnz;
	out->index = joined->index;
	out->value = joined->value;
}
