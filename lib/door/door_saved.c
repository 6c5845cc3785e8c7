/* A model's file: the sections of lib/online, and the names of its features where it has any. */
#include <stdio.h>

#include "door/door_model.h"
#include "online/model_names.h"
#include "store/section_file.h"

COP_DOOR_EXPORT coppice_err coppice_model_save(coppice_model *model, const char *path)
{
	cop_diag diag = { .message = "" };
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	size_t file = cop_section_file_begin(&bytes);
	cop_model_save(model->model, &bytes);
	if (model->rows.named)
		cop_model_names_save(model->rows.space, &bytes);
	if (model->rows.space != NULL)
		cop_model_names_save_places(model->rows.space, &bytes);
	cop_section_file_end(&bytes, file);
	cop_err err = cop_section_file_save(path, &bytes, &diag);
	cop_bytes_fini(&bytes);
	return cop_door_error_report(err, &diag, &model->message);
}

static cop_err load_names(coppice_model *model, const void *data, size_t length, cop_diag *diag)
{
	cop_section_file file;
	cop_feature_space *space;
	cop_diag none = { .message = "" };
	cop_err err = cop_section_file_open(&file, data, length, NULL, diag);
	if (err != COP_OK)
		return err;
	err = cop_model_names_load(&file, &cop_model_get_settings(model->model)->learner, &space, &none);
	if (err == COP_OK)
		cop_door_rows_take_space(&model->rows, &space);
	else if (err != COP_ENOTFOUND)
		*diag = none;
	if (err != COP_OK && err != COP_ENOTFOUND)
		return err;
	return model->rows.space == NULL || model->rows.features > 0
	               ? COP_OK
	               : cop_model_names_load_places(&file, COP_PLACE_NAMES_BYTES, model->rows.space, diag);
}

static cop_err load(const void *data, size_t length, coppice_model **out, cop_diag *diag)
{
	cop_model_settings settings;
	cop_err err = cop_model_peek(data, length, &settings, diag);
	if (err == COP_OK)
		err = cop_door_model_make(&settings, out, diag);
	if (err == COP_OK)
		err = cop_model_load((*out)->model, data, length, diag);
	return err == COP_OK ? load_names(*out, data, length, diag) : err;
}

COP_DOOR_EXPORT coppice_err coppice_model_load(const char *path, coppice_model **out, coppice_message *message)
{
	cop_diag diag = { .message = "" };
	cop_bytes bytes;
	*out = NULL;
	cop_bytes_init(&bytes);
	cop_err err = cop_section_file_load(path, &bytes, &diag);
	if (err == COP_OK)
		err = load(bytes.data, bytes.length, out, &diag);
	cop_bytes_fini(&bytes);
	if (err != COP_OK) {
		coppice_model_free(*out);
		*out = NULL;
		if (diag.source[0] == '\0')
			(void)snprintf(diag.source, sizeof diag.source, "%s", path);
	}
	return cop_door_error_report(err, &diag, message);
}
