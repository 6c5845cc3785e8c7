/* Arbitrary bytes two ways: as a model file, and as one whose checksums were set right, so that the headers' own checks
 * are what refuses it. The sections of what is accepted are walked through. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/crc32c.h"
#include "store/section_file.h"

#define FILE_HEAD    24
#define SECTION_HEAD 32

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_file(const uint8_t *data, size_t size)
{
	cop_section_file file;
	cop_model_section section;
	cop_diag diag;
	size_t at = 0;
	uint32_t count = 0;
	diag.message[0] = '\0';
	if (cop_section_file_open(&file, data, size, "fuzz", &diag) != COP_OK) {
		COP_ASSERT(diag.message[0] != '\0');
		return;
	}
	for (; cop_section_file_next(&file, &at, &section); count++) {
		COP_ASSERT(section.data >= data && section.length <= (size_t)(data + size - section.data));
		COP_ASSERT(strlen(section.name) >= 1);
		cop_model_section first;
		COP_ASSERT(cop_section_file_find(&file, section.name, 0, UINT32_MAX, &first) == COP_OK);
	}
	COP_ASSERT(count == file.sections);
}

/* Length and checksums as the format wants them, wherever a header can be read. */
static void seal(uint8_t *data, size_t size)
{
	uint64_t length = size;
	memcpy(data, "COPF\1\0\0\0", 8);
	memcpy(data + 8, &length, sizeof length);
	uint32_t crc = cop_crc32c(0, data, FILE_HEAD - 4);
	memcpy(data + FILE_HEAD - 4, &crc, sizeof crc);
	for (size_t at = FILE_HEAD; size - at >= SECTION_HEAD; at += SECTION_HEAD + (size_t)length) {
		memcpy(&length, data + at + 20, sizeof length);
		if (length > size - at - SECTION_HEAD)
			return;
		crc = cop_crc32c(0, data + at, SECTION_HEAD - 4);
		crc = cop_crc32c(crc, data + at + SECTION_HEAD, (size_t)length);
		memcpy(data + at + SECTION_HEAD - 4, &crc, sizeof crc);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try_file(data, size);
	uint8_t *copy = malloc(size == 0 ? 1 : size);
	if (copy != NULL && size >= FILE_HEAD) {
		memcpy(copy, data, size);
		seal(copy, size);
		try_file(copy, size);
	}
	free(copy);
	return 0;
}
