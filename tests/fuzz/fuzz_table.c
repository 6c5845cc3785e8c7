/* Two bytes of settings, then what they say: a training file and, behind a byte of 255, a later one; or a training file
 * and changes to what its preparation is saved as (place and bits, three bytes each); or a saved preparation. Whatever
 * is accepted has the promised shape and values, and a preparation is saved and loaded without a change. */
#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "table/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LIBSVM = 1, REGRESSION = 2, SCALE_TARGET = 4, AUTO = 32, CHANGES = 64, SAVED = 128 };

static const char *const columns[] = { NULL, "0", "a", "0,1,a" };

static cop_table_settings settings_of(const uint8_t *bytes)
{
	return (cop_table_settings){
		.regression = (bytes[0] & REGRESSION) != 0,
		.scale_target = (bytes[0] & SCALE_TARGET) != 0,
		.scaling = (bytes[0] & AUTO) != 0 ? COP_SCALE_AUTO : (cop_scaling)(bytes[0] >> 3 & 3),
		.missing = (cop_missing)(bytes[1] & 3),
		.target = columns[(bytes[1] >> 2 & 3) % 3],
		.categories = columns[bytes[1] >> 4 & 3],
		.ignored = columns[(bytes[1] >> 6 & 3) % 3],
	};
}

static void check_rows(const cop_dataset *data, const cop_encoder *p, bool labelled)
{
	size_t classes = cop_encoder_classes(p);
	COP_ASSERT(data->n > 0 && data->d == cop_encoder_features(p));
	for (size_t i = 0; i < data->n; i++) {
		cop_row row;
		cop_dataset_row(data, i, &row);
		for (size_t e = 0; e < cop_row_entries(&row); e++)
			COP_ASSERT(isfinite(cop_row_value(&row, e)) && cop_row_index(&row, e) < data->d);
		double t = data->target[i];
		COP_ASSERT(isfinite(t) || !labelled);
		COP_ASSERT(isnan(t) || classes == 0 || (cop_dataset_is_class(t) && t < (double)classes));
	}
}

static void check_names(const cop_encoder *p)
{
	for (size_t j = 0; j < cop_encoder_features(p); j++) {
		double shift, scale;
		cop_encoder_scale(p, j, &shift, &scale);
		COP_ASSERT(isfinite(shift) && isfinite(scale) && strlen(cop_encoder_feature(p, j)) > 0);
		COP_ASSERT(cop_encoder_stem(p, j) < strlen(cop_encoder_feature(p, j)));
	}
	for (size_t k = 0; k < cop_encoder_classes(p); k++)
		COP_ASSERT(strlen(cop_encoder_class(p, k)) <= COP_ENCODER_MAX_TEXT);
	COP_ASSERT(strlen(cop_encoder_target(p)) > 0);
}

static cop_encoder *loaded_again(const cop_encoder *p)
{
	cop_bytes first, second;
	cop_encoder *copy;
	cop_bytes_init(&first);
	cop_bytes_init(&second);
	cop_encoder_save(p, &first);
	COP_ASSERT(first.err == COP_OK && cop_encoder_load(first.data, first.length, &copy) == COP_OK);
	cop_encoder_save(copy, &second);
	COP_ASSERT(second.length == first.length && memcmp(first.data, second.data, first.length) == 0);
	cop_bytes_fini(&first);
	cop_bytes_fini(&second);
	return copy;
}

/* With and without labels. */
static void read_later(const cop_encoder *p, bool libsvm, const uint8_t *text, size_t length)
{
	for (int labelled = 0; labelled < 2; labelled++) {
		cop_stream *stream;
		cop_dataset *data;
		cop_diag diag = { .message = "" };
		if (cop_stream_open_memory("later", text, length, &stream, NULL) != COP_OK)
			return;
		if (cop_table_from(stream, libsvm, p, labelled != 0, &data, &diag) == COP_OK) {
			check_rows(data, p, labelled != 0);
			cop_encoder_apply(p, data);
			check_rows(data, p, labelled != 0);
			cop_dataset_free(data);
		} else {
			COP_ASSERT(data == NULL && diag.message[0] != '\0');
		}
		cop_stream_free(stream);
	}
}

/* With what is left of a payload after changes. */
static void load_changed(const cop_encoder *p, const uint8_t *change, size_t size, const uint8_t *text, size_t length)
{
	cop_bytes bytes;
	cop_encoder *changed;
	cop_bytes_init(&bytes);
	cop_encoder_save(p, &bytes);
	COP_ASSERT(bytes.err == COP_OK);
	for (; size >= 3; change += 3, size -= 3)
		bytes.data[((size_t)change[0] << 8 | change[1]) % bytes.length] ^= change[2];
	if (cop_encoder_load(bytes.data, bytes.length, &changed) == COP_OK) {
		check_names(changed);
		cop_encoder_free(loaded_again(changed));
		read_later(changed, false, text, length);
		read_later(changed, true, text, length);
		cop_encoder_free(changed);
	}
	cop_bytes_fini(&bytes);
}

static void train(const uint8_t *bytes, const uint8_t *text, size_t size)
{
	const uint8_t *end = memchr(text, 255, size);
	size_t length = end == NULL ? size : (size_t)(end - text);
	const uint8_t *more = end == NULL ? text : end + 1;
	size_t more_length = end == NULL ? size : size - length - 1;
	cop_table_settings settings = settings_of(bytes);
	bool libsvm = (bytes[0] & LIBSVM) != 0;
	cop_stream *stream;
	cop_dataset *data;
	cop_encoder *p;
	cop_diag diag = { .message = "" };
	if (cop_stream_open_memory("training", text, length, &stream, NULL) != COP_OK)
		return;
	if (cop_table_training_from(stream, libsvm, &settings, &data, &p, &diag) == COP_OK) {
		check_rows(data, p, true);
		COP_ASSERT(cop_encoder_fit(p, data, data->n, NULL) == COP_OK);
		cop_encoder_apply(p, data);
		check_rows(data, p, true);
		check_names(p);
		cop_encoder *copy = loaded_again(p);
		if ((bytes[0] & CHANGES) != 0)
			load_changed(copy, more, more_length, text, length);
		else
			read_later(copy, libsvm, more, more_length);
		cop_encoder_free(copy);
		cop_encoder_free(p);
		cop_dataset_free(data);
	} else {
		COP_ASSERT(data == NULL && p == NULL && diag.message[0] != '\0');
	}
	cop_stream_free(stream);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cop_encoder *p;
	if (size < 2)
		return 0;
	if ((data[0] & SAVED) == 0) {
		train(data, data + 2, size - 2);
	} else if (cop_encoder_load(data + 2, size - 2, &p) == COP_OK) {
		check_names(p);
		cop_encoder_free(loaded_again(p));
		cop_encoder_free(p);
	}
	return 0;
}
