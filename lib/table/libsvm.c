/* Rows keep the indices as written until the end; only then is it known from where they count. */
#include "table/libsvm.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "base/number.h"

#define SHOWN 40 /* characters of a wrong field in a message */

typedef struct reader {
	cop_stream *stream;
	cop_diag *diag;
	size_t nnz;
	size_t capacity;
	uint32_t *index;               /* capacity */
	float *value;                  /* capacity */
	bool from_zero;                /* index 0 has occurred */
	const cop_libsvm_judge *judge; /* NULL: none */
} reader;

typedef struct span {
	const char *at;
	size_t length;
} span;

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

/* The next field at *at, which moves behind it; length 0 at the end. */
static span next_field(const char **at, const char *end)
{
	while (*at < end && is_blank(**at))
		(*at)++;
	const char *start = *at;
	while (*at < end && !is_blank(**at))
		(*at)++;
	return (span){ start, (size_t)(*at - start) };
}

static cop_err wrong(const reader *r, span field, cop_err err, const char *expected)
{
	char shown[SHOWN + 1];
	size_t length = field.length < SHOWN ? field.length : SHOWN;
	for (size_t i = 0; i < length; i++)
		shown[i] = (char)(isprint((unsigned char)field.at[i]) ? field.at[i] : '?');
	shown[length] = '\0';
	cop_diag_at_line(r->diag, cop_stream_name(r->stream), cop_stream_line_number(r->stream), "\"%s\": expected %s",
	        shown, expected);
	return err;
}

static cop_err plain_fault(const reader *r, cop_err err)
{
	cop_diag_at_line(
	        r->diag, cop_stream_name(r->stream), cop_stream_line_number(r->stream), "%s", cop_err_text(err));
	return err;
}

static bool parse_index(span text, uint32_t *index)
{
	uint64_t value = 0;
	for (size_t i = 0; i < text.length; i++) {
		unsigned digit = (unsigned char)(text.at[i] - '0');
		if (digit > 9)
			return false;
		value = value * 10 + digit;
		if (value >= COP_DATASET_MAX_FEATURES)
			return false;
	}
	*index = (uint32_t)value;
	return text.length > 0;
}

static cop_err add_entry(reader *r, uint32_t index, float value)
{
	if (r->nnz == r->capacity) {
		size_t capacity = r->capacity == 0 ? 256 : r->capacity * 2;
		uint32_t *indices = cop_mem_resize(r->index, r->nnz, capacity, sizeof *indices);
		if (indices == NULL)
			return plain_fault(r, COP_ENOMEM);
		r->index = indices;
		float *values = cop_mem_resize(r->value, r->nnz, capacity, sizeof *values);
		if (values == NULL)
			return plain_fault(r, COP_ENOMEM);
		r->value = values;
		r->capacity = capacity;
	}
	r->index[r->nnz] = index;
	r->value[r->nnz++] = value;
	return COP_OK;
}

static cop_err parse_entry(reader *r, span field)
{
	const char *colon = memchr(field.at, ':', field.length);
	uint32_t index;
	if (colon == NULL || !parse_index((span){ field.at, (size_t)(colon - field.at) }, &index))
		return wrong(r, field, COP_EFORMAT, "index:value with an index from 0 to 2147483647");
	if (r->nnz > 0 && index <= r->index[r->nnz - 1])
		return wrong(r, field, COP_EFORMAT, "an index above the one before");
	double value;
	cop_err err = cop_number_parse(colon + 1, (size_t)(field.at + field.length - colon - 1), &value);
	if (err == COP_OK && !isfinite((float)value))
		err = COP_ENONFINITE;
	if (err != COP_OK)
		return wrong(r, field, err, "a finite number after the colon");
	r->from_zero |= index == 0;
	return add_entry(r, index, (float)value);
}

static cop_err judge_target(const reader *r, double *target)
{
	char says[COP_LIBSVM_SAYS] = "";
	cop_err err = r->judge->judge(r->judge->owner, target, says);
	if (err != COP_OK)
		cop_diag_at_line(r->diag, cop_stream_name(r->stream), cop_stream_line_number(r->stream), "%s", says);
	return err;
}

static cop_err parse_line(reader *r, const char *line, size_t length, cop_dataset *ds)
{
	const char *comment = memchr(line, '#', length);
	const char *end = comment != NULL ? comment : line + length;
	const char *at = line;
	span field = next_field(&at, end);
	if (field.length == 0)
		return COP_OK;
	double target;
	cop_err err = cop_number_parse(field.at, field.length, &target);
	if (err != COP_OK)
		return wrong(r, field, err, "a finite number as the target");
	if (r->judge != NULL)
		err = judge_target(r, &target);
	r->nnz = 0;
	while (err == COP_OK && (field = next_field(&at, end)).length > 0)
		err = parse_entry(r, field);
	if (err != COP_OK)
		return err;
	err = cop_dataset_push_sparse(ds, r->nnz, r->index, r->value, target);
	if (ds->odd_line == 0 && !cop_dataset_is_class(target))
		ds->odd_line = cop_stream_line_number(r->stream);
	return err == COP_OK ? COP_OK : plain_fault(r, err);
}

/* All lines into ds, whose indices then count from 0. */
static cop_err read_rows(reader *r, cop_dataset *ds)
{
	char *line;
	size_t length;
	cop_err err;
	while ((err = cop_stream_line(r->stream, &line, &length)) == COP_OK) {
		err = parse_line(r, line, length, ds);
		if (err != COP_OK)
			return err;
	}
	if (err != COP_EEND) {
		if (r->diag != NULL)
			*r->diag = *cop_stream_diag(r->stream);
		return err;
	}
	if (ds->d == 0) {
		cop_diag_of(r->diag, cop_stream_name(r->stream), "it holds no %s", ds->n == 0 ? "rows" : "features");
		return COP_EFORMAT;
	}
	if (r->from_zero)
		return COP_OK;
	for (size_t i = 0; i < ds->start[ds->n]; i++)
		ds->index[i]--;
	ds->d--;
	ds->index_base = 1;
	return COP_OK;
}

cop_err cop_libsvm_read(cop_stream *stream, cop_dataset **out, cop_diag *diag)
{
	return cop_libsvm_read_judged(stream, NULL, out, diag);
}

cop_err cop_libsvm_read_judged(cop_stream *stream, const cop_libsvm_judge *judge, cop_dataset **out, cop_diag *diag)
{
	reader r = { .stream = stream, .diag = diag, .judge = judge };
	cop_err err = cop_dataset_new_sparse(out);
	if (err != COP_OK)
		return plain_fault(&r, err);
	err = read_rows(&r, *out);
	cop_mem_free(r.index);
	cop_mem_free(r.value);
	if (err == COP_OK)
		return COP_OK;
	cop_dataset_free(*out);
	*out = NULL;
	return err;
}
