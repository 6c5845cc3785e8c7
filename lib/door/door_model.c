/* A model of the front door is a model of lib/online, room for its rows, and the latest time and message. */
#include <string.h>

#include "base/mem.h"
#include "door/door_model.h"
#include "door/door_settings.h"

cop_err cop_door_model_make(const cop_model_settings *settings, coppice_model **out, cop_diag *diag)
{
	*out = NULL;
	coppice_model *model = cop_mem_alloc(1, sizeof *model);
	if (model == NULL)
		return COP_ENOMEM;
	cop_err err = cop_model_new(settings, &model->model, diag);
	if (err == COP_OK)
		err = cop_door_rows_init(&model->rows, &cop_model_get_settings(model->model)->learner);
	if (err != COP_OK) {
		coppice_model_free(model);
		return err;
	}
	*out = model;
	return COP_OK;
}

COP_DOOR_EXPORT coppice_err coppice_model_new(const char *settings, coppice_model **out, coppice_message *message)
{
	cop_model_settings set;
	cop_diag diag = { .message = "" };
	*out = NULL;
	cop_model_settings_init(&set);
	cop_err err = cop_door_settings_read(settings, false, &set, &diag);
	if (err == COP_OK)
		err = cop_door_model_make(&set, out, &diag);
	return cop_door_error_report(err, &diag, message);
}

COP_DOOR_EXPORT void coppice_model_free(coppice_model *model)
{
	if (model == NULL)
		return;
	cop_model_free(model->model);
	cop_door_rows_fini(&model->rows);
	cop_json_writer_free(model->json);
	cop_mem_free(model);
}

COP_DOOR_EXPORT const char *coppice_model_message(const coppice_model *model) { return model->message.text; }

/* Options of the other learners and policies have no effect, as in a configuration that changes them. */
COP_DOOR_EXPORT coppice_err coppice_model_adjust(coppice_model *model, const char *settings)
{
	cop_model_settings set = *cop_model_get_settings(model->model);
	cop_diag diag = { .message = "" };
	cop_err err = cop_door_settings_read(settings, true, &set, &diag);
	if (err == COP_OK)
		err = cop_model_adjust(model->model, &set, &diag);
	return cop_door_error_report(err, &diag, &model->message);
}

COP_DOOR_EXPORT coppice_err coppice_model_name_features(coppice_model *model, const char *const *name)
{
	cop_diag diag = { .message = "" };
	cop_err err = cop_door_rows_name(&model->rows, name, &diag);
	return cop_door_error_report(err, &diag, &model->message);
}

/* ---- what it is like ---- */

COP_DOOR_EXPORT coppice_actions coppice_model_actions(const coppice_model *model)
{
	if (model->rows.max_candidates > 0)
		return COPPICE_CANDIDATES;
	return model->rows.arms > 0 ? COPPICE_ARMS : COPPICE_VALUES;
}

COP_DOOR_EXPORT size_t coppice_model_arms(const coppice_model *model) { return model->rows.arms; }
COP_DOOR_EXPORT size_t coppice_model_features(const coppice_model *model) { return model->rows.features; }
COP_DOOR_EXPORT size_t coppice_model_max_candidates(const coppice_model *model) { return model->rows.max_candidates; }

COP_DOOR_EXPORT size_t coppice_model_losses(const coppice_model *model)
{
	return cop_learner_losses(&cop_model_get_settings(model->model)->learner);
}

COP_DOOR_EXPORT void coppice_model_counters(const coppice_model *model, coppice_counters *out)
{
	const cop_model_counters *c = cop_model_get_counters(model->model);
	*out = (coppice_counters){
		.waiting = cop_model_pending(model->model),
		.decisions = c->decisions,
		.repeated = c->repeated,
		.greedy = c->greedy,
		.learned = c->learned,
		.defaulted = c->defaulted,
		.dropped = c->dropped,
		.evicted = c->evicted,
		.refused = c->refused,
		.loss_sum = c->loss_sum,
	};
	_Static_assert(sizeof out->feedback == sizeof c->feedback, "one counter for each result");
	memcpy(out->feedback, c->feedback, sizeof out->feedback);
}
