/* base/stream.h: files read and written plain, through gzip or through zstd.
 *
 * Reading: the format follows from the first bytes; gzip members and zstd frames may follow one another, and one that
 * is cut short is an error. Writing: by the name's ending (.gz, .zst). "-" is standard input or output.
 * Failures are sticky: every later call gives the same error, and cop_stream_diag has what was wrong.
 * One thread per stream. */
#ifndef COP_BASE_STREAM_H
#define COP_BASE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Longest line in bytes, its end not counted. */
#define COP_STREAM_LINE_MAX ((size_t)16 << 20)

/* Bytes behind a line's end that can be read, of whatever content. */
#define COP_STREAM_SLACK 32
/* Most that can be looked at without taking it. */
#define COP_STREAM_PEEK_MAX ((size_t)64 << 10)

typedef struct cop_stream cop_stream;

/* Caller closes with cop_stream_close; on error *out is NULL and *diag (NULL allowed) filled.
 * COP_ENOTFOUND: no such file. COP_EIO: it cannot be opened or read. COP_EFORMAT: the compressed data is damaged.
 * COP_ENOMEM. */
COP_CHECK cop_err cop_stream_open_read(const char *path, cop_stream **out, cop_diag *diag);
/* Whether what is at `path` is there again for a second reader; false for "-", pipes, sockets and devices. */
bool cop_stream_can_repeat(const char *path);

/* Reads data[0, length), which is kept, in the same way; `name` (copied) appears in diagnostics. */
COP_CHECK cop_err cop_stream_open_memory(
        const char *name, const void *data, size_t length, cop_stream **out, cop_diag *diag);

/* Up to `size` further bytes; *got is smaller only at the end. COP_EEND: nothing is left (*got is 0).
 * COP_EIO, COP_EFORMAT, COP_ENOMEM. */
COP_CHECK cop_err cop_stream_read(cop_stream *stream, void *data, size_t size, size_t *got);

/* The next line, terminated, without its newline and a carriage return before it; borrowed until the next call, and the
 * caller may write inside it; COP_STREAM_SLACK bytes behind its end can be read. It can hold zero bytes. The last line
 * needs no newline. COP_EEND: no more lines. COP_EFORMAT: longer than COP_STREAM_LINE_MAX, or damaged. COP_EIO,
 * COP_ENOMEM. */
COP_CHECK cop_err cop_stream_line(cop_stream *stream, char **line, size_t *length);

/* What comes next, not taken: at least `wanted` bytes (at most COP_STREAM_PEEK_MAX), fewer only at the end, often more.
 * Borrowed until the next call. COP_EEND: nothing is left. COP_EIO, COP_EFORMAT, COP_ENOMEM. */
COP_CHECK cop_err cop_stream_peek(cop_stream *stream, size_t wanted, const char **text, size_t *length);

/* Number of the line that cop_stream_line gave last, from 1; 0 before the first. */
uint64_t cop_stream_line_number(const cop_stream *stream);
/* Share of the file that was read and given out, in [0, 1], of compressed bytes where it is compressed; a little more
 * may have been counted then. Negative: not known (pipes, memory). A call of the operating system each time. */
double cop_stream_share(const cop_stream *stream);

/* Creates or empties the file. Errors as cop_stream_open_read. */
COP_CHECK cop_err cop_stream_open_write(const char *path, cop_stream **out, cop_diag *diag);
/* The same, but a regular file is replaced as a whole when the stream is closed without an error, and stays as it was
 * otherwise (base/file_atomic.h; COP_EIO where its folder is missing); devices and pipes are written in place. */
COP_CHECK cop_err cop_stream_open_replace(const char *path, cop_stream **out, cop_diag *diag);

/* COP_EIO, COP_ENOMEM. */
COP_CHECK cop_err cop_stream_write(cop_stream *stream, const void *data, size_t length);

/* Ends a written stream: writes what is buffered, closes and frees it in every case; NULL is allowed. The stream's
 * first error comes back and *diag (NULL allowed) is filled then. Reading streams give COP_OK. */
COP_CHECK cop_err cop_stream_close(cop_stream *stream, cop_diag *diag);

/* Frees a reading stream, or a written one whose content no longer matters. NULL is allowed. */
void cop_stream_free(cop_stream *stream);

/* Path or name as given; "standard input" or "standard output" for "-". Borrowed. */
const char *cop_stream_name(const cop_stream *stream);
/* What the first failure was; meaningful after an error. Borrowed. */
const cop_diag *cop_stream_diag(const cop_stream *stream);

#endif
