/* Trained trees: a row of features becomes a dense row at the scale of training, as `coppice predict` makes them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "door/door_private.h"
#include "door/door_trained.h"

static const cop_encoder *encoder(const coppice_trained *trained) { return trained->trained->preparation; }

/* Each name once, for the first feature that has it. */
static cop_err take_names(coppice_trained *trained, size_t d)
{
	const cop_name_prefix none = { NULL, 0 };
	for (size_t j = 0; j < d; j++) {
		const char *name = cop_encoder_feature(encoder(trained), j);
		size_t length = strlen(name);
		uint32_t number;
		if (cop_name_table_find(&trained->names, 0, name, length) != COP_NAME_NONE)
			continue;
		cop_err err = cop_name_table_add(&trained->names, 0, none, name, length, &number);
		if (err != COP_OK)
			return err;
		trained->feature[number] = (uint32_t)j;
	}
	return COP_OK;
}

static cop_err make_room(coppice_trained *trained)
{
	size_t d = cop_encoder_features(encoder(trained));
	trained->feature = cop_mem_alloc(d, sizeof *trained->feature);
	trained->x = cop_mem_alloc(d, sizeof *trained->x);
	trained->work = cop_mem_alloc(cop_trees_outputs(trained->trained->trees), sizeof *trained->work);
	if (trained->feature == NULL || trained->x == NULL || trained->work == NULL)
		return COP_ENOMEM;
	return take_names(trained, d);
}

COP_DOOR_EXPORT coppice_err coppice_trained_load(const char *path, coppice_trained **out, coppice_message *message)
{
	cop_diag diag = { .message = "" };
	coppice_trained *trained = cop_mem_alloc(1, sizeof *trained);
	*out = NULL;
	cop_err err = trained == NULL ? COP_ENOMEM : cop_trained_load(path, &trained->trained, &diag);
	if (err == COP_OK)
		err = make_room(trained);
	if (err == COP_OK)
		*out = trained;
	else
		coppice_trained_free(trained);
	return cop_door_error_report(err, &diag, message);
}

COP_DOOR_EXPORT void coppice_trained_free(coppice_trained *trained)
{
	if (trained == NULL)
		return;
	cop_trained_free(trained->trained);
	cop_name_table_fini(&trained->names);
	cop_mem_free(trained->feature);
	cop_mem_free(trained->x);
	cop_mem_free(trained->work);
	cop_mem_free(trained);
}

COP_DOOR_EXPORT const char *coppice_trained_message(const coppice_trained *trained) { return trained->message.text; }

COP_DOOR_EXPORT size_t coppice_trained_features(const coppice_trained *trained)
{
	return cop_encoder_features(encoder(trained));
}

COP_DOOR_EXPORT const char *coppice_trained_feature(const coppice_trained *trained, size_t j)
{
	return cop_encoder_feature(encoder(trained), j);
}

COP_DOOR_EXPORT size_t coppice_trained_classes(const coppice_trained *trained)
{
	return cop_encoder_classes(encoder(trained));
}

COP_DOOR_EXPORT const char *coppice_trained_class(const coppice_trained *trained, size_t k)
{
	return cop_encoder_class(encoder(trained), k);
}

COP_DOOR_EXPORT const char *coppice_trained_target(const coppice_trained *trained)
{
	return cop_encoder_target(encoder(trained));
}

COP_DOOR_EXPORT size_t coppice_trained_trees(const coppice_trained *trained)
{
	return cop_trees_count(trained->trained->trees);
}

COP_DOOR_EXPORT size_t coppice_trained_outputs(const coppice_trained *trained)
{
	return cop_trees_outputs(trained->trained->trees);
}

/* ---- predicting ---- */

void cop_door_trained_predict(coppice_trained *trained, const cop_row *row, double *out, size_t *best)
{
	size_t outputs = coppice_trained_outputs(trained);
	bool values = coppice_trained_classes(trained) == 0;
	size_t greatest = 0;
	cop_trees_predict(trained->trained->trees, row, trained->work, out);
	for (size_t k = 0; k < outputs; k++) {
		if (values)
			out[k] = cop_encoder_from_scale(encoder(trained), out[k]);
		else if (out[k] > out[greatest])
			greatest = k;
	}
	if (best != NULL)
		*best = greatest;
}

/* The feature of entry i. */
static cop_err find_feature(const coppice_trained *trained, const coppice_row *in, size_t i, size_t *j, cop_diag *diag)
{
	size_t d = coppice_trained_features(trained);
	uint32_t number;
	if (in->name == NULL) {
		*j = in->place != NULL ? in->place[i] : i;
		if (*j < d)
			return COP_OK;
		cop_diag_message(diag, "entry %zu: place %zu, expected one below %zu", i, *j, d);
		return COP_ESHAPE;
	}
	number = cop_name_table_find(&trained->names, 0, in->name[i], strlen(in->name[i]));
	if (number == COP_NAME_NONE) {
		cop_diag_message(diag, "\"%.200s\": no feature of the model has this name", in->name[i]);
		return COP_ENOTFOUND;
	}
	*j = trained->feature[number];
	return COP_OK;
}

static cop_err read_row(coppice_trained *trained, const coppice_row *in, cop_diag *diag)
{
	size_t d = coppice_trained_features(trained);
	size_t j;
	if (in->place != NULL && in->name != NULL) {
		cop_diag_message(diag, "the row has places and names; expected one of them");
		return COP_ESHAPE;
	}
	if (in->place == NULL && in->name == NULL && in->count != d) {
		cop_diag_message(diag, "%zu values, expected %zu", in->count, d);
		return COP_ESHAPE;
	}
	memset(trained->x, 0, d * sizeof *trained->x);
	for (size_t i = 0; i < in->count; i++) {
		cop_err err = find_feature(trained, in, i, &j, diag);
		if (err != COP_OK)
			return err;
		if (!isfinite(in->value[i])) {
			cop_diag_message(diag, "entry %zu: expected a finite number", i);
			return COP_ENONFINITE;
		}
		trained->x[j] = in->value[i];
	}
	cop_encoder_apply_row(encoder(trained), trained->x);
	return COP_OK;
}

COP_DOOR_EXPORT coppice_err coppice_trained_predict(
        coppice_trained *trained, const coppice_row *x, double *out, size_t *best)
{
	cop_diag diag = { .message = "" };
	cop_err err = read_row(trained, x, &diag);
	if (err == COP_OK) {
		const cop_row row = { .d = coppice_trained_features(trained), .dense = trained->x };
		cop_door_trained_predict(trained, &row, out, best);
	}
	return cop_door_error_report(err, &diag, &trained->message);
}
