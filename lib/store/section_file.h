/* store/section_file.h: the container of everything that is saved: named, versioned, checksummed sections.
 *
 *     file:    "COPF", u32 version, u64 length of the whole file, u32 number of sections, u32 CRC32C of these 20 bytes
 *     section: 16 bytes name (zero-padded), u32 version, u64 payload length, u32 CRC32C of these 28 bytes and the
 *              payload, then the payload
 *
 * Little-endian, no padding between sections. A payload may be a whole model file. A reader skips sections that it
 * does not know; names may repeat (trees of a forest). A change in a section raises that section's version; the file's
 * version rises only when this header does. Writing goes through a cop_bytes, so its errors are sticky there. Any
 * thread, distinct objects. */
#ifndef COP_STORE_SECTION_FILE_H
#define COP_STORE_SECTION_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"

#define COP_SECTION_FILE_VERSION  1
#define COP_SECTION_FILE_NAME_MAX 15 /* characters of a section's name */

/* ---- writing: begin, sections one after the other, end; files nest inside sections ---- */

/* Appends a file header; the mark returned goes to cop_section_file_end, which fills in length, count and checksum. */
size_t cop_section_file_begin(cop_bytes *bytes);
void cop_section_file_end(cop_bytes *bytes, size_t mark);

/* Appends a section header; the payload is what is put until cop_section_file_end_section(bytes, mark). name: 1 to
 * COP_SECTION_FILE_NAME_MAX printable ASCII characters. */
size_t cop_section_file_begin_section(cop_bytes *bytes, const char *name, uint32_t version);
void cop_section_file_end_section(cop_bytes *bytes, size_t mark);

/* ---- reading ---- */

typedef struct cop_section_file {
	const uint8_t *data; /* kept: the bytes given to open */
	size_t length;
	uint32_t version;
	uint32_t sections;
} cop_section_file;

typedef struct cop_model_section {
	char name[COP_SECTION_FILE_NAME_MAX + 1];
	uint32_t version;
	const uint8_t *data; /* payload, inside the file's bytes */
	size_t length;
} cop_model_section;

/* Checks the whole container: magic, versions, every header against the bytes that remain, every checksum. `source`
 * (a file name, or NULL) is for *diag (NULL allowed), which gets the offset. data is kept. A nested file is checked
 * when it is opened itself.
 * COP_EFORMAT: damaged, cut, or no model file. COP_EVERSION: of a newer version. */
COP_CHECK cop_err cop_section_file_open(
        cop_section_file *file, const void *data, size_t length, const char *source, cop_diag *diag);

/* The first section of a file of which at least that is there, its checksum checked; what is behind it may be missing.
 * COP_EFORMAT: it is damaged or cut, or this is no model file. COP_ENOTFOUND: the file has none. */
COP_CHECK cop_err cop_section_file_first(const void *data, size_t length, cop_model_section *section);

/* Enumerates: *at starts at 0; false when there are no more. */
bool cop_section_file_next(const cop_section_file *file, size_t *at, cop_model_section *section);

/* The n-th (from 0) section of that name. COP_ENOTFOUND. COP_EVERSION: its version is above `newest`. */
COP_CHECK cop_err cop_section_file_find(
        const cop_section_file *file, const char *name, size_t n, uint32_t newest, cop_model_section *section);

/* ---- on disk ---- */

/* Replaces path as a whole (base/file_atomic.h): a link stays and its target is replaced; no regular file is refused.
 * COP_EIO (errno gives the reason), COP_ENOMEM, or bytes->err when writing the bytes had failed. */
COP_CHECK cop_err cop_section_file_save(const char *path, const cop_bytes *bytes, cop_diag *diag);

/* Reads all of path into bytes (initialised; its content is replaced). What it holds is for cop_section_file_open.
 * COP_ENOTFOUND, COP_EIO, COP_ENOMEM, COP_EFORMAT (no regular file). */
COP_CHECK cop_err cop_section_file_load(const char *path, cop_bytes *bytes, cop_diag *diag);

#endif
