/* The learner's state is what its own save writes; a model is made, loads it, is frozen and saved. */
#include "online/model_trained.h"

#include <string.h>

#include "base/mem.h"
#include "learn/learner_trained.h"
#include "online/model.h"
#include "online/model_names.h"
#include "online/model_options.h"
#include "online/model_shadow.h"
#include "store/section_file.h"
#include "view/trained.h"

#define LEARNER "learner"

bool cop_model_trained_is(const void *data, size_t length)
{
	cop_section_file file;
	cop_model_section section;
	return cop_section_file_open(&file, data, length, NULL, NULL) == COP_OK &&
	       cop_section_file_find(&file, COP_TRAINED_SECTION, 0, UINT32_MAX, &section) == COP_OK;
}

/* ---- what can be served ---- */

static cop_err check(const cop_trained *trained, const char *source, cop_diag *diag)
{
	const size_t d = cop_encoder_features(trained->preparation),
	             classes = cop_encoder_classes(trained->preparation);
	const size_t outputs = cop_trees_outputs(trained->trees);
	if (d < 1 || d > COP_LEARNER_MAX_FEATURES)
		cop_diag_of(diag, source, "a trained model of %zu features; expected 1 to %d, as contexts have", d,
		        COP_LEARNER_MAX_FEATURES);
	else if (classes == 0 && outputs != 1)
		cop_diag_of(diag, source,
		        "a trained model (%.40s) that predicts %zu numbers, as embeddings do; expected classes or one "
		        "number",
		        trained->learner, outputs);
	else if (classes == 1 || classes > COP_LEARNER_MAX_ARMS)
		cop_diag_of(diag, source, "a trained model of %zu classes; expected 2 to %d, as there may be arms",
		        classes, COP_LEARNER_MAX_ARMS);
	else
		return COP_OK;
	return COP_ESHAPE;
}

static void shape(const cop_trained *trained, cop_model_settings *out)
{
	cop_model_settings_init(out);
	out->learner.arms = cop_encoder_classes(trained->preparation);
	out->learner.features = cop_encoder_features(trained->preparation);
	out->learner.feedback = COP_VALUE_ONE;
	strcpy(out->learner.learner, out->learner.arms > 0 ? "trained" : "trained_value");
	cop_model_options_fill(out);
}

/* ---- features' names ---- */

static cop_err add_columns(const cop_encoder *encoder, cop_feature_space *space)
{
	cop_err err = COP_OK;
	for (size_t j = 0; j < cop_encoder_features(encoder) && err == COP_OK; j++) {
		const char *column = cop_encoder_feature(encoder, j);
		err = cop_feature_space_add_columns(space, &column, 1);
	}
	return err;
}

/* Nothing where two features have one name: contexts are then sent as arrays. */
static cop_err put_names(const cop_encoder *encoder, cop_bytes *bytes)
{
	const cop_feature_space_settings dense = { .dense = true };
	cop_feature_space *space;
	cop_err err = cop_feature_space_new(&dense, &space, NULL);
	if (err != COP_OK)
		return err;
	err = add_columns(encoder, space);
	cop_feature_space_freeze(space);
	if (err == COP_OK && cop_feature_space_dimension(space) == cop_encoder_features(encoder))
		cop_model_names_save(space, bytes);
	cop_feature_space_free(space);
	return err;
}

/* ---- the model ---- */

static cop_err fill(cop_model *model, const cop_trained *trained)
{
	cop_bytes state;
	cop_cursor cursor;
	cop_bytes_init(&state);
	cop_bytes_put_text(&state, cop_model_learner(model)->class->name);
	cop_bytes_put_u64(&state, 0);
	cop_bytes_put_u8(&state, 1);
	cop_learner_trained_put(trained->preparation, trained->trees, &state);
	cop_err err = state.err;
	cop_cursor_init(&cursor, state.data, state.length);
	if (err == COP_OK)
		err = cop_learner_load(cop_model_learner(model), &cursor);
	cop_bytes_fini(&state);
	return err;
}

static cop_err put_model(const cop_trained *trained, cop_bytes *out, cop_diag *diag)
{
	cop_model_settings settings;
	cop_model *model;
	shape(trained, &settings);
	cop_err err = cop_model_new(&settings, &model, diag);
	if (err != COP_OK)
		return err;
	err = fill(model, trained);
	if (err == COP_OK) {
		cop_model_freeze(model, true);
		size_t file = cop_section_file_begin(out);
		cop_model_save(model, out);
		err = put_names(trained->preparation, out);
		cop_section_file_end(out, file);
	}
	cop_model_free(model);
	return err == COP_OK ? out->err : err;
}

cop_err cop_model_trained_convert(cop_bytes *bytes, const char *source, cop_diag *diag)
{
	cop_trained *trained;
	cop_bytes out;
	cop_err err = cop_trained_open(bytes->data, bytes->length, source, &trained, diag);
	if (err != COP_OK)
		return err;
	cop_bytes_init(&out);
	err = check(trained, source, diag);
	if (err == COP_OK)
		err = put_model(trained, &out, diag);
	cop_trained_free(trained);
	if (err != COP_OK) {
		cop_bytes_fini(&out);
		return err;
	}
	cop_bytes_fini(bytes);
	*bytes = out;
	return COP_OK;
}

cop_err cop_model_trained_load(const char *path, cop_bytes *bytes, cop_diag *diag)
{
	cop_err err = cop_section_file_load(path, bytes, diag);
	if (err == COP_OK && cop_model_trained_is(bytes->data, bytes->length))
		err = cop_model_trained_convert(bytes, path, diag);
	return err;
}

/* ---- arms' names ---- */

static cop_err copy_classes(const cop_encoder *encoder, char ***names, size_t *count)
{
	const size_t classes = cop_encoder_classes(encoder);
	char **list = cop_mem_alloc(classes, sizeof *list);
	cop_err err = list == NULL ? COP_ENOMEM : COP_OK;
	for (size_t k = 0; k < classes && err == COP_OK; k++) {
		list[k] = cop_mem_strdup(cop_encoder_class(encoder, k));
		err = list[k] == NULL ? COP_ENOMEM : COP_OK;
	}
	for (size_t k = 0; err != COP_OK && list != NULL && k < classes; k++)
		cop_mem_free(list[k]);
	if (err != COP_OK) {
		cop_mem_free(list);
		return err;
	}
	*names = list;
	*count = classes;
	return COP_OK;
}

cop_err cop_model_trained_arms(const void *data, size_t length, char ***names, size_t *count)
{
	cop_section_file file;
	cop_model_section section;
	cop_cursor cursor;
	cop_encoder *encoder = NULL;
	char name[sizeof((cop_learner_settings *)NULL)->learner];
	*names = NULL;
	*count = 0;
	cop_err err = cop_section_file_open(&file, data, length, NULL, NULL);
	if (err == COP_OK)
		err = cop_section_file_find(&file, LEARNER, 0, UINT32_MAX, &section);
	if (err != COP_OK)
		return err == COP_ENOTFOUND ? COP_EFORMAT : err;
	cop_cursor_init(&cursor, section.data, section.length);
	cop_cursor_text(&cursor, name, sizeof name);
	(void)cop_cursor_u64(&cursor);
	if (cursor.err != COP_OK || strcmp(name, cop_learner_trained.name) != 0)
		return cursor.err;
	err = cop_learner_trained_encoder(&cursor, &encoder);
	if (err == COP_OK && encoder != NULL)
		err = copy_classes(encoder, names, count);
	cop_encoder_free(encoder);
	return err;
}
