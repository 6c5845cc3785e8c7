/* Arbitrary bytes two ways: as the file of a trained model, and as one whose length and checksums were set right, so
 * that its parts' own checks are what refuses it. What is accepted predicts, comes back from what it is saved as, and,
 * when it is small, is shown in every view. */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/crc32c.h"
#include "base/mem.h"
#include "view/view.h"

#define FILE_HEAD    24
#define SECTION_HEAD 32
#define MOST_SHOWN   20000 /* numbers of leaves, features and outputs together */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_views(const cop_trained *model)
{
	cop_view_settings settings = { .tree = COP_VIEW_ALL, .title = "fuzz" };
	for (size_t i = 0; cop_view_at(i) != NULL; i++) {
		cop_bytes out;
		cop_bytes_init(&out);
		COP_ASSERT(cop_view_at(i)->put(model, &settings, &out) == COP_OK && out.length > 0);
		cop_bytes_fini(&out);
	}
}

static void try_prediction(const cop_trained *model)
{
	static const uint32_t index = 0;
	static const float value = 0.5f;
	size_t outputs = cop_trees_outputs(model->trees), d = cop_trees_features(model->trees);
	cop_row row = { .d = d, .nnz = 1, .index = &index, .value = &value };
	float *work = cop_mem_alloc(outputs, sizeof *work);
	double *out = cop_mem_alloc(outputs, sizeof *out), *share = cop_mem_alloc(d, sizeof *share);
	if (work != NULL && out != NULL && share != NULL) {
		cop_trees_predict(model->trees, &row, work, out);
		COP_ASSERT((cop_trained_importance(model, NULL, share) == COP_OK) == (model->census != NULL));
	}
	cop_mem_free(work);
	cop_mem_free(out);
	cop_mem_free(share);
}

static void try_model(const uint8_t *data, size_t size)
{
	cop_trained *model, *again;
	cop_diag diag = { .message = "" };
	cop_bytes bytes;
	if (cop_trained_open(data, size, "fuzz", &model, &diag) != COP_OK) {
		COP_ASSERT(model == NULL && diag.message[0] != '\0');
		return;
	}
	cop_bytes_init(&bytes);
	cop_trained_put(model, &bytes);
	COP_ASSERT(cop_trained_open(bytes.data, bytes.length, "fuzz", &again, &diag) == COP_OK);
	cop_trained_free(again);
	cop_bytes_fini(&bytes);
	try_prediction(model);
	size_t leaves = 0, outputs = cop_trees_outputs(model->trees);
	for (size_t i = 0; i < cop_trees_count(model->trees); i++)
		leaves += cop_tree_leaves(cop_trees_at(model->trees, i));
	if (outputs <= MOST_SHOWN && leaves * outputs + cop_trees_features(model->trees) <= MOST_SHOWN)
		try_views(model);
	cop_trained_free(model);
}

/* Length and checksums as the container wants them, as far as headers can be followed; the number of sections too. */
static void seal(uint8_t *data, size_t size)
{
	uint64_t length = size;
	uint32_t sections = 0, crc;
	for (size_t at = FILE_HEAD; size - at >= SECTION_HEAD; at += SECTION_HEAD + (size_t)length, sections++) {
		memcpy(&length, data + at + 20, sizeof length);
		if (length > size - at - SECTION_HEAD) {
			length = size - at - SECTION_HEAD;
			memcpy(data + at + 20, &length, sizeof length);
		}
		crc = cop_crc32c(0, data + at, SECTION_HEAD - 4);
		crc = cop_crc32c(crc, data + at + SECTION_HEAD, (size_t)length);
		memcpy(data + at + SECTION_HEAD - 4, &crc, sizeof crc);
	}
	length = size;
	memcpy(data, "COPF\1\0\0\0", 8);
	memcpy(data + 8, &length, sizeof length);
	memcpy(data + 16, &sections, sizeof sections);
	crc = cop_crc32c(0, data, FILE_HEAD - 4);
	memcpy(data + FILE_HEAD - 4, &crc, sizeof crc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try_model(data, size);
	uint8_t *copy = malloc(size == 0 ? 1 : size);
	if (copy != NULL && size >= FILE_HEAD) {
		memcpy(copy, data, size);
		seal(copy, size);
		try_model(copy, size);
	}
	free(copy);
	return 0;
}
