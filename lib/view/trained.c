/* The section "trained" holds the number of trees that follow and whether each has a census; everything else has a
 * section of its own. A model is put together only of parts that were checked against each other. */
#include "view/trained.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "store/section_file.h"
#include "view/node_counts.h"

#define MOST_TEXT ((size_t)1 << 20) /* of learner and settings */

void cop_trained_free(cop_trained *model)
{
	if (model == NULL)
		return;
	for (size_t i = 0; model->census != NULL && i < cop_trees_count(model->trees); i++)
		cop_node_counts_fini(&model->census[i]);
	cop_mem_free(model->census);
	cop_trees_free(model->trees);
	cop_encoder_free(model->preparation);
	cop_mem_free(model->settings);
	cop_mem_free(model->learner);
	cop_mem_free(model);
}

/* ---- writing ---- */

void cop_trained_put(const cop_trained *model, cop_bytes *bytes)
{
	size_t file = cop_section_file_begin(bytes);
	size_t section = cop_section_file_begin_section(bytes, COP_TRAINED_SECTION, COP_TRAINED_VERSION);
	cop_bytes_put_text(bytes, model->learner);
	cop_bytes_put_text(bytes, model->settings);
	cop_bytes_put_u8(bytes, model->census != NULL);
	cop_section_file_end_section(bytes, section);
	section = cop_section_file_begin_section(bytes, COP_ENCODER_SECTION, COP_ENCODER_VERSION);
	cop_encoder_save(model->preparation, bytes);
	cop_section_file_end_section(bytes, section);
	cop_trees_save(model->trees, bytes);
	for (size_t i = 0; model->census != NULL && i < cop_trees_count(model->trees); i++) {
		section = cop_section_file_begin_section(bytes, COP_NODE_COUNTS_SECTION, COP_NODE_COUNTS_VERSION);
		cop_node_counts_save(&model->census[i], bytes);
		cop_section_file_end_section(bytes, section);
	}
	cop_section_file_end(bytes, file);
}

cop_err cop_trained_save(const cop_trained *model, const char *path, cop_diag *diag)
{
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	cop_trained_put(model, &bytes);
	cop_err err = cop_section_file_save(path, &bytes, diag);
	cop_bytes_fini(&bytes);
	return err;
}

/* ---- reading ---- */

/* A text of put_text of any length; NULL with cursor->err. Caller frees. */
static char *take_text(cop_cursor *cursor)
{
	uint32_t length = cop_cursor_u32(cursor);
	const uint8_t *from = length <= MOST_TEXT ? cop_cursor_take(cursor, length) : NULL;
	if (from == NULL || memchr(from, 0, length) != NULL) {
		cursor->err = COP_EFORMAT;
		return NULL;
	}
	char *text = cop_mem_alloc((size_t)length + 1, 1);
	if (text == NULL)
		cursor->err = COP_ENOMEM;
	else
		memcpy(text, from, length);
	return text;
}

static cop_err read_head(const cop_model_section *section, cop_trained *model, bool *census)
{
	cop_cursor cursor;
	cop_cursor_init(&cursor, section->data, section->length);
	model->learner = take_text(&cursor);
	if (cursor.err == COP_OK)
		model->settings = take_text(&cursor);
	uint8_t told = cop_cursor_u8(&cursor);
	*census = told == 1;
	return cursor.err != COP_OK ? cursor.err : told > 1 || cop_cursor_left(&cursor) > 0 ? COP_EFORMAT : COP_OK;
}

static cop_err read_census(const cop_section_file *file, cop_trained *model)
{
	size_t count = cop_trees_count(model->trees);
	model->census = cop_mem_alloc(count, sizeof *model->census);
	cop_err err = model->census != NULL ? COP_OK : COP_ENOMEM;
	size_t at = 0, i = 0;
	cop_model_section section;
	while (err == COP_OK && i < count && cop_section_file_next(file, &at, &section)) {
		if (strcmp(section.name, COP_NODE_COUNTS_SECTION) != 0)
			continue;
		err = section.version > COP_NODE_COUNTS_VERSION
		              ? COP_EVERSION
		              : cop_node_counts_load(
		                        section.data, section.length, cop_trees_at(model->trees, i), &model->census[i]);
		i++;
	}
	return err == COP_OK && i < count ? COP_EFORMAT : err;
}

/* Whether preparation, trees and census have the same columns and outputs. */
static bool parts_fit(const cop_trained *model)
{
	size_t classes = cop_encoder_classes(model->preparation), outputs = cop_trees_outputs(model->trees);
	cop_tree_link link = cop_tree_view(cop_trees_at(model->trees, 0))->link;
	if (cop_encoder_features(model->preparation) != cop_trees_features(model->trees))
		return false;
	if (classes == 0 ? link != COP_TREE_VALUES || cop_trees_how(model->trees) == COP_TREES_SOFTMAX
	                 : classes != outputs)
		return false;
	for (size_t i = 0; model->census != NULL && i < cop_trees_count(model->trees); i++)
		if (model->census[i].classes != model->census[0].classes)
			return false;
	return true;
}

/* Fills a zero model; *what is the part that an error is of. */
static cop_err read_parts(const cop_section_file *file, cop_trained *model, const char **what)
{
	cop_model_section section;
	bool census = false;
	*what = "section " COP_TRAINED_SECTION;
	cop_err err = cop_section_file_find(file, COP_TRAINED_SECTION, 0, COP_TRAINED_VERSION, &section);
	if (err != COP_OK)
		return err;
	err = read_head(&section, model, &census);
	if (err != COP_OK)
		return err;
	*what = "section " COP_ENCODER_SECTION;
	err = cop_section_file_find(file, COP_ENCODER_SECTION, 0, COP_ENCODER_VERSION, &section);
	if (err == COP_OK)
		err = cop_encoder_load(section.data, section.length, &model->preparation);
	if (err != COP_OK)
		return err == COP_ENOTFOUND ? COP_EFORMAT : err;
	*what = "its trees";
	err = cop_trees_load(file, &model->trees);
	if (err != COP_OK)
		return err == COP_ENOTFOUND ? COP_EFORMAT : err;
	*what = "its census";
	if (census)
		err = read_census(file, model);
	if (err == COP_OK && !parts_fit(model)) {
		*what = "its preparation and trees do not belong together";
		err = COP_EFORMAT;
	}
	return err;
}

cop_err cop_trained_open(const void *data, size_t length, const char *source, cop_trained **out, cop_diag *diag)
{
	cop_section_file file;
	const char *what = "";
	*out = NULL;
	cop_err err = cop_section_file_open(&file, data, length, source, diag);
	if (err != COP_OK)
		return err;
	cop_trained *model = cop_mem_alloc(1, sizeof *model);
	err = model == NULL ? COP_ENOMEM : read_parts(&file, model, &what);
	if (err == COP_OK) {
		*out = model;
		return COP_OK;
	}
	cop_trained_free(model);
	if (err == COP_ENOTFOUND)
		cop_diag_of(diag, source, "a model file, but not of a trained model");
	else
		cop_diag_of(diag, source, "%s%s%s", what, what[0] != '\0' ? ": " : "", cop_err_text(err));
	return err;
}

cop_err cop_trained_load(const char *path, cop_trained **out, cop_diag *diag)
{
	cop_bytes bytes;
	*out = NULL;
	cop_bytes_init(&bytes);
	cop_err err = cop_section_file_load(path, &bytes, diag);
	if (err == COP_OK)
		err = cop_trained_open(bytes.data, bytes.length, path, out, diag);
	cop_bytes_fini(&bytes);
	return err;
}
