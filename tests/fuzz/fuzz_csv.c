/* Arbitrary bytes (gzip and zstd among them) as a csv file: whatever is accepted has the promised shape and values. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "base/assert.h"
#include "table/dataset_csv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cop_stream *stream;
	cop_dataset *ds;
	cop_diag diag;
	if (cop_stream_open_memory("fuzz", data, size, &stream, &diag) != COP_OK)
		return 0;
	if (cop_dataset_csv_read(stream, &ds, &diag) == COP_OK) {
		COP_ASSERT(ds->n > 0 && ds->d > 0 && !ds->sparse);
		for (size_t i = 0; i < ds->n * ds->d; i++)
			COP_ASSERT(isfinite(ds->x[i]));
		for (size_t i = 0; i < ds->n; i++)
			COP_ASSERT(isfinite(ds->target[i]));
		cop_dataset_free(ds);
	} else {
		COP_ASSERT(ds == NULL && diag.message[0] != '\0');
	}
	cop_stream_free(stream);
	return 0;
}
