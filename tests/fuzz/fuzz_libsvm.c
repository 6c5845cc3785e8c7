/* Arbitrary bytes (gzip and zstd among them) as a LIBSVM file: whatever is accepted has ascending indices below d. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "base/assert.h"
#include "table/libsvm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_row(const cop_dataset *ds, size_t i)
{
	cop_row row;
	cop_dataset_row(ds, i, &row);
	COP_ASSERT(isfinite(ds->target[i]));
	for (size_t k = 0; k < row.nnz; k++) {
		COP_ASSERT(row.index[k] < ds->d && (k == 0 || row.index[k] > row.index[k - 1]));
		COP_ASSERT(isfinite(row.value[k]));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cop_stream *stream;
	cop_dataset *ds;
	cop_diag diag;
	if (cop_stream_open_memory("fuzz", data, size, &stream, &diag) != COP_OK)
		return 0;
	if (cop_libsvm_read(stream, &ds, &diag) == COP_OK) {
		COP_ASSERT(ds->n > 0 && ds->d > 0 && ds->sparse);
		for (size_t i = 0; i < ds->n; i++)
			check_row(ds, i);
		cop_dataset_free(ds);
	} else {
		COP_ASSERT(ds == NULL && diag.message[0] != '\0');
	}
	cop_stream_free(stream);
	return 0;
}
