/* Arbitrary bytes two ways: as the body of a refit's file, and as one whose length and checksums were set right, so
 * that the checks of what is in it are what refuses it. What is accepted fits together, predicts, and comes back from
 * what it is written as, to the same bytes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/crc32c.h"
#include "base/mem.h"
#include "refit/refit_file.h"

#define FILE_HEAD    24
#define SECTION_HEAD 32

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_prediction(const cop_refit_file *file)
{
	static const uint32_t index = 0;
	static const float value = 0.5f;
	const cop_journal_history_model *m = &file->report.model;
	size_t outputs = cop_trees_outputs(file->trees), d = cop_trees_features(file->trees);
	cop_row row = { .d = d, .nnz = 1, .index = &index, .value = &value };
	COP_ASSERT(outputs == (m->arms > 0 ? m->arms : 1));
	COP_ASSERT(m->max_candidates > 0 || d == (m->features != 0 ? m->features : (size_t)1 << m->bits));
	COP_ASSERT(file->report.leaves > 0 && file->report.fitted.answered <= file->report.fitted.events);
	float *work = cop_mem_alloc(outputs, sizeof *work);
	double *out = cop_mem_alloc(outputs, sizeof *out);
	if (work != NULL && out != NULL)
		cop_trees_predict(file->trees, &row, work, out);
	cop_mem_free(work);
	cop_mem_free(out);
}

static void check_again(const cop_refit_file *file)
{
	cop_bytes first, second;
	cop_refit_file again;
	cop_bytes_init(&first);
	cop_bytes_init(&second);
	cop_refit_file_put(file, &first);
	COP_ASSERT(first.err == COP_OK);
	COP_ASSERT(cop_refit_file_open(first.data, first.length, "fuzz", &again, NULL) == COP_OK);
	cop_refit_file_put(&again, &second);
	COP_ASSERT(second.err == COP_OK && second.length == first.length);
	COP_ASSERT(memcmp(first.data, second.data, first.length) == 0);
	cop_refit_file_fini(&again);
	cop_bytes_fini(&first);
	cop_bytes_fini(&second);
}

static void try_file(const uint8_t *data, size_t size)
{
	cop_refit_file file;
	cop_diag diag = { .message = "" };
	if (cop_refit_file_open(data, size, "fuzz", &file, &diag) != COP_OK) {
		COP_ASSERT(file.trees == NULL && diag.message[0] != '\0');
		return;
	}
	check_prediction(&file);
	check_again(&file);
	cop_refit_file_fini(&file);
}

/* Lengths and checksums of the sections, the last of which takes the rest, and of the file. */
static void seal(uint8_t *data, size_t size)
{
	uint64_t length = size;
	uint32_t count = 0, crc;
	for (size_t at = FILE_HEAD; size - at >= SECTION_HEAD; at += SECTION_HEAD + (size_t)length) {
		memcpy(&length, data + at + 20, sizeof length);
		if (length > size - at - SECTION_HEAD)
			length = size - at - SECTION_HEAD;
		memcpy(data + at + 20, &length, sizeof length);
		crc = cop_crc32c(0, data + at, SECTION_HEAD - 4);
		crc = cop_crc32c(crc, data + at + SECTION_HEAD, (size_t)length);
		memcpy(data + at + SECTION_HEAD - 4, &crc, sizeof crc);
		count++;
	}
	length = size;
	memcpy(data, "COPF\1\0\0\0", 8);
	memcpy(data + 8, &length, sizeof length);
	memcpy(data + 16, &count, sizeof count);
	crc = cop_crc32c(0, data, FILE_HEAD - 4);
	memcpy(data + FILE_HEAD - 4, &crc, sizeof crc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try_file(data, size);
	if (size < FILE_HEAD)
		return 0;
	uint8_t *copy = malloc(size);
	if (copy == NULL)
		return 0;
	memcpy(copy, data, size);
	seal(copy, size);
	try_file(copy, size);
	free(copy);
	return 0;
}
