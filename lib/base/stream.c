/* Reading: bytes come from a descriptor (or memory) into `in`, through the codec where there is one, into the caller's
 * buffer or into `text`, in which lines are sought. text[text_at, text_end) is decoded and not yet given out; more than
 * the capacity is allocated so that a last line can be terminated and read behind its end.
 * Writing: bytes are gathered in `out`, encoded there when there is a codec, and written when it is full. */
#include "base/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/file_atomic.h"
#include "base/mem.h"
#include "base/stream_codec.h"

#define BLOCK ((size_t)256 << 10)

struct cop_stream {
	char *name;
	int fd; /* -1: memory */
	bool owned;
	bool writing;
	cop_file_atomic *whole; /* what fd belongs to when a file is replaced; NULL: none is */

	const cop_codec *codec; /* NULL: plain */
	void *coder;
	bool boundary; /* the compressed data may end here */

	uint8_t *block;    /* BLOCK bytes: input of a descriptor, or output */
	const uint8_t *in; /* not yet decoded; inside block, or memory */
	size_t in_left;
	bool at_end; /* nothing follows `in` */
	size_t out_used;

	char *text;
	size_t text_capacity;
	size_t text_at;
	size_t text_end;
	uint64_t line;

	cop_err err; /* first failure */
	cop_diag diag;
};

#define FAIL(stream, code, at_line, ...)                                                                               \
	(cop_diag_at_line(&(stream)->diag, (stream)->name, (at_line), __VA_ARGS__), (stream)->err = (code))

void cop_stream_free(cop_stream *stream)
{
	if (stream == NULL)
		return;
	if (stream->coder != NULL)
		(stream->writing ? stream->codec->encoder_free : stream->codec->decoder_free)(stream->coder);
	if (stream->owned && stream->fd >= 0)
		(void)close(stream->fd);
	cop_file_atomic_abandon(stream->whole);
	cop_mem_free(stream->block);
	cop_mem_free(stream->text);
	cop_mem_free(stream->name);
	cop_mem_free(stream);
}

static cop_err stream_new(const char *name, bool writing, cop_stream **out)
{
	cop_stream *stream = cop_mem_alloc(1, sizeof *stream);
	if (stream == NULL)
		return COP_ENOMEM;
	stream->fd = -1;
	stream->writing = writing;
	stream->name = cop_mem_strdup(name);
	if (stream->name == NULL) {
		cop_stream_free(stream);
		return COP_ENOMEM;
	}
	*out = stream;
	return COP_OK;
}

/* Opens `path` into the stream; "-" is the standard descriptor. */
static cop_err stream_open(cop_stream *stream, const char *path)
{
	stream->block = cop_mem_alloc(BLOCK, 1);
	if (stream->block == NULL)
		return FAIL(stream, COP_ENOMEM, 0, "out of memory");
	if (strcmp(path, "-") == 0) {
		stream->fd = stream->writing ? STDOUT_FILENO : STDIN_FILENO;
		return COP_OK;
	}
	int flags = stream->writing ? O_WRONLY | O_CREAT | O_TRUNC : O_RDONLY;
	do
		stream->fd = open(path, flags | O_CLOEXEC, 0666);
	while (stream->fd < 0 && errno == EINTR);
	if (stream->fd < 0)
		return FAIL(
		        stream, errno == ENOENT ? COP_ENOTFOUND : COP_EIO, 0, "cannot be opened: %s", strerror(errno));
	stream->owned = true;
	return COP_OK;
}

/* At least one byte into data[0, size), or *got = 0 at the end. */
static cop_err read_some(cop_stream *stream, void *data, size_t size, size_t *got)
{
	ssize_t n;
	do
		n = read(stream->fd, data, size);
	while (n < 0 && errno == EINTR);
	*got = n < 0 ? 0 : (size_t)n;
	if (n < 0)
		return FAIL(stream, COP_EIO, 0, "cannot be read: %s", strerror(errno));
	stream->at_end = n == 0;
	return COP_OK;
}

/* Chooses the codec by the first bytes, of which `in` holds as many as there are. */
static cop_err choose_decoder(cop_stream *stream)
{
	stream->codec = cop_stream_codec_by_magic(stream->in, stream->in_left);
	if (stream->codec != NULL && stream->codec->decoder_new(&stream->coder) != COP_OK)
		return FAIL(stream, COP_ENOMEM, 0, "out of memory");
	return COP_OK;
}

/* Gives the stream out, or frees it after handing on its diagnostic. */
static cop_err opened(cop_stream *stream, cop_err err, cop_stream **out, cop_diag *diag)
{
	if (err == COP_OK) {
		*out = stream;
		return COP_OK;
	}
	if (diag != NULL)
		*diag = stream->diag;
	cop_stream_free(stream);
	return err;
}

cop_err cop_stream_open_read(const char *path, cop_stream **out, cop_diag *diag)
{
	*out = NULL;
	cop_stream *stream;
	if (stream_new(strcmp(path, "-") == 0 ? "standard input" : path, false, &stream) != COP_OK) {
		cop_diag_of(diag, path, "out of memory");
		return COP_ENOMEM;
	}
	cop_err err = stream_open(stream, path);
	while (err == COP_OK && stream->in_left < COP_CODEC_MAGIC_MAX && !stream->at_end) {
		size_t got;
		err = read_some(stream, stream->block + stream->in_left, BLOCK - stream->in_left, &got);
		stream->in = stream->block;
		stream->in_left += got;
	}
	if (err == COP_OK)
		err = choose_decoder(stream);
	return opened(stream, err, out, diag);
}

cop_err cop_stream_open_memory(const char *name, const void *data, size_t length, cop_stream **out, cop_diag *diag)
{
	*out = NULL;
	cop_stream *stream;
	if (stream_new(name, false, &stream) != COP_OK) {
		cop_diag_of(diag, name, "out of memory");
		return COP_ENOMEM;
	}
	stream->in = data;
	stream->in_left = length;
	stream->at_end = true;
	return opened(stream, choose_decoder(stream), out, diag);
}

static cop_err produce_plain(cop_stream *stream, void *data, size_t size, size_t *got)
{
	if (stream->in_left == 0)
		return stream->at_end ? COP_OK : read_some(stream, data, size, got);
	*got = size < stream->in_left ? size : stream->in_left;
	memcpy(data, stream->in, *got);
	stream->in += *got;
	stream->in_left -= *got;
	return COP_OK;
}

static cop_err produce_decoded(cop_stream *stream, void *data, size_t size, size_t *got)
{
	cop_codec_io io = { stream->in, stream->in_left, data, size };
	while (io.out_left == size) {
		if (io.in_left == 0 && !stream->at_end) {
			cop_err err = read_some(stream, stream->block, BLOCK, &io.in_left);
			if (err != COP_OK)
				return err;
			io.in = stream->block;
		}
		bool dry = io.in_left == 0;
		if (dry && stream->boundary)
			break;
		cop_err err = stream->codec->decode(stream->coder, &io, &stream->boundary);
		if (err == COP_ENOMEM)
			return FAIL(stream, err, 0, "out of memory");
		if (err != COP_OK)
			return FAIL(stream, err, 0, "the %s data is damaged", stream->codec->name);
		if (dry && stream->at_end && io.out_left == size && !stream->boundary)
			return FAIL(stream, COP_EFORMAT, 0, "the %s data is cut short", stream->codec->name);
	}
	stream->in = io.in;
	stream->in_left = io.in_left;
	*got = size - io.out_left;
	return COP_OK;
}

/* At least one decoded byte into data[0, size), size > 0; COP_EEND: there is none. */
static cop_err produce(cop_stream *stream, void *data, size_t size, size_t *got)
{
	*got = 0;
	if (stream->err != COP_OK)
		return stream->err;
	cop_err err = stream->codec == NULL ? produce_plain(stream, data, size, got)
	                                    : produce_decoded(stream, data, size, got);
	return err == COP_OK && *got == 0 ? COP_EEND : err;
}

cop_err cop_stream_read(cop_stream *stream, void *data, size_t size, size_t *got)
{
	COP_ASSERT(!stream->writing);
	size_t have = stream->text_end - stream->text_at;
	*got = have < size ? have : size;
	if (*got > 0)
		memcpy(data, stream->text + stream->text_at, *got);
	stream->text_at += *got;
	while (*got < size) {
		size_t more;
		cop_err err = produce(stream, (uint8_t *)data + *got, size - *got, &more);
		if (err == COP_EEND && *got > 0)
			return COP_OK;
		if (err != COP_OK)
			return err;
		*got += more;
	}
	return COP_OK;
}

/* Room behind text_end: moves what is left to the front, and doubles the buffer when it is more than half full. */
static cop_err text_room(cop_stream *stream)
{
	size_t have = stream->text_end - stream->text_at;
	if (have > 0 && stream->text_at > 0)
		memmove(stream->text, stream->text + stream->text_at, have);
	stream->text_at = 0;
	stream->text_end = have;
	if (have < stream->text_capacity / 2)
		return COP_OK;
	size_t capacity = stream->text == NULL ? BLOCK : stream->text_capacity * 2;
	char *text = cop_mem_resize(stream->text, have, capacity + 1 + COP_STREAM_SLACK, 1);
	if (text == NULL)
		return FAIL(stream, COP_ENOMEM, stream->line + 1, "out of memory");
	stream->text = text;
	stream->text_capacity = capacity;
	return COP_OK;
}

/* Gives out text[text_at, text_at + length), behind which `end` bytes of newline follow. */
static cop_err give_line(cop_stream *stream, size_t length, size_t end, char **line, size_t *line_length)
{
	char *start = stream->text + stream->text_at;
	stream->text_at += length + end;
	if (length > 0 && start[length - 1] == '\r')
		length--;
	if (length > COP_STREAM_LINE_MAX)
		return FAIL(
		        stream, COP_EFORMAT, stream->line + 1, "line is longer than %zu bytes", COP_STREAM_LINE_MAX);
	start[length] = '\0';
	stream->line++;
	*line = start;
	*line_length = length;
	return COP_OK;
}

cop_err cop_stream_line(cop_stream *stream, char **line, size_t *length)
{
	COP_ASSERT(!stream->writing);
	*line = NULL;
	*length = 0;
	if (stream->err != COP_OK)
		return stream->err;
	size_t seen = 0; /* bytes from text_at without a newline */
	for (;;) {
		size_t have = stream->text_end - stream->text_at;
		char *start = have > 0 ? stream->text + stream->text_at : NULL;
		char *newline = have > seen ? memchr(start + seen, '\n', have - seen) : NULL;
		if (newline != NULL)
			return give_line(stream, (size_t)(newline - start), 1, line, length);
		seen = have;
		if (seen > COP_STREAM_LINE_MAX + 1)
			return FAIL(stream, COP_EFORMAT, stream->line + 1, "line is longer than %zu bytes",
			        COP_STREAM_LINE_MAX);
		cop_err err = text_room(stream);
		if (err != COP_OK)
			return err;
		size_t got;
		err = produce(stream, stream->text + have, stream->text_capacity - have, &got);
		if (err == COP_EEND && have > 0)
			return give_line(stream, have, 0, line, length);
		if (err != COP_OK)
			return err;
		stream->text_end += got;
	}
}

cop_err cop_stream_peek(cop_stream *stream, size_t wanted, const char **text, size_t *length)
{
	COP_ASSERT(!stream->writing && wanted <= COP_STREAM_PEEK_MAX);
	cop_err err = stream->err;
	while (err == COP_OK && stream->text_end - stream->text_at < wanted) {
		size_t got = 0;
		err = text_room(stream);
		if (err == COP_OK)
			err = produce(stream, stream->text + stream->text_end, stream->text_capacity - stream->text_end,
			        &got);
		stream->text_end += got;
	}
	*length = stream->text_end - stream->text_at;
	*text = *length > 0 ? stream->text + stream->text_at : NULL;
	return err == COP_EEND && *length > 0 ? COP_OK : err;
}

uint64_t cop_stream_line_number(const cop_stream *stream) { return stream->line; }

double cop_stream_share(const cop_stream *stream)
{
	struct stat status;
	if (stream->fd < 0 || fstat(stream->fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= 0)
		return -1;
	off_t at = lseek(stream->fd, 0, SEEK_CUR);
	if (at < 0)
		return -1;
	double given = (double)at - (double)stream->in_left;
	if (stream->codec == NULL)
		given -= (double)(stream->text_end - stream->text_at);
	double share = given / (double)status.st_size;
	return share < 0 ? 0 : share > 1 ? 1 : share;
}

bool cop_stream_can_repeat(const char *path)
{
	struct stat status;
	return strcmp(path, "-") != 0 &&
	       (stat(path, &status) != 0 || S_ISREG(status.st_mode) || S_ISDIR(status.st_mode));
}

/* Devices, pipes and the like are written in place. */
static bool is_replaced(const char *path)
{
	struct stat status;
	return strcmp(path, "-") != 0 && (stat(path, &status) != 0 || S_ISREG(status.st_mode));
}

static cop_err open_whole(cop_stream *stream, const char *path)
{
	stream->block = cop_mem_alloc(BLOCK, 1);
	if (stream->block == NULL)
		return FAIL(stream, COP_ENOMEM, 0, "out of memory");
	stream->err = cop_file_atomic_begin(path, &stream->whole, &stream->diag);
	if (stream->err == COP_OK)
		stream->fd = cop_file_atomic_fd(stream->whole);
	return stream->err;
}

static cop_err open_written(const char *path, bool whole, cop_stream **out, cop_diag *diag)
{
	*out = NULL;
	cop_stream *stream;
	if (stream_new(strcmp(path, "-") == 0 ? "standard output" : path, true, &stream) != COP_OK) {
		cop_diag_of(diag, path, "out of memory");
		return COP_ENOMEM;
	}
	cop_err err = COP_OK;
	stream->codec = cop_stream_codec_by_ending(path);
	if (stream->codec != NULL && stream->codec->encoder_new(&stream->coder) != COP_OK)
		err = FAIL(stream, COP_ENOMEM, 0, "out of memory");
	if (err == COP_OK)
		err = whole ? open_whole(stream, path) : stream_open(stream, path);
	return opened(stream, err, out, diag);
}

cop_err cop_stream_open_write(const char *path, cop_stream **out, cop_diag *diag)
{
	return open_written(path, false, out, diag);
}

cop_err cop_stream_open_replace(const char *path, cop_stream **out, cop_diag *diag)
{
	return open_written(path, is_replaced(path), out, diag);
}

/* Writes all that block[0, out_used) holds. */
static cop_err flush(cop_stream *stream)
{
	if (cop_file_write_all(stream->fd, stream->block, stream->out_used) != COP_OK)
		return FAIL(stream, COP_EIO, 0, "cannot be written: %s", strerror(errno));
	stream->out_used = 0;
	return COP_OK;
}

/* One step of encoding (plain: copying) into the block, which has room. */
static cop_err encode_some(cop_stream *stream, cop_codec_io *io, bool finish, bool *done)
{
	io->out = stream->block + stream->out_used;
	io->out_left = BLOCK - stream->out_used;
	*done = finish;
	cop_err err = COP_OK;
	if (stream->codec != NULL) {
		err = stream->codec->encode(stream->coder, io, finish, done);
		if (err != COP_OK)
			(void)FAIL(stream, err, 0, "%s cannot compress: %s", stream->codec->name, cop_err_text(err));
	} else if (io->in_left > 0) {
		size_t n = io->in_left < io->out_left ? io->in_left : io->out_left;
		memcpy(io->out, io->in, n);
		io->in += n;
		io->in_left -= n;
		io->out_left -= n;
	}
	stream->out_used = BLOCK - io->out_left;
	return err;
}

cop_err cop_stream_write(cop_stream *stream, const void *data, size_t length)
{
	COP_ASSERT(stream->writing);
	cop_codec_io io = { data, length, NULL, 0 };
	while (stream->err == COP_OK && io.in_left > 0) {
		bool done;
		cop_err err = encode_some(stream, &io, false, &done);
		if (err == COP_OK && stream->out_used == BLOCK)
			err = flush(stream);
		if (err != COP_OK)
			return err;
	}
	return stream->err;
}

static cop_err finish_writing(cop_stream *stream)
{
	cop_codec_io io = { stream->block, 0, NULL, 0 };
	bool done = false;
	while (stream->err == COP_OK && !done)
		if (encode_some(stream, &io, true, &done) == COP_OK)
			(void)flush(stream);
	if (stream->whole != NULL && stream->err == COP_OK) {
		cop_file_atomic *whole = stream->whole;
		stream->whole = NULL;
		stream->err = cop_file_atomic_commit(whole, &stream->diag);
	}
	if (!stream->owned)
		return stream->err;
	stream->owned = false;
	if (close(stream->fd) != 0 && stream->err == COP_OK)
		return FAIL(stream, COP_EIO, 0, "cannot be written: %s", strerror(errno));
	return stream->err;
}

cop_err cop_stream_close(cop_stream *stream, cop_diag *diag)
{
	if (stream == NULL || !stream->writing) {
		cop_stream_free(stream);
		return COP_OK;
	}
	cop_err err = finish_writing(stream);
	if (err != COP_OK && diag != NULL)
		*diag = stream->diag;
	cop_stream_free(stream);
	return err;
}

const char *cop_stream_name(const cop_stream *stream) { return stream->name; }

const cop_diag *cop_stream_diag(const cop_stream *stream) { return &stream->diag; }
