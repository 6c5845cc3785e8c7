/* What a model was configured with when it was removed is saved with it, as far as its sums depend on it: the rest has
 * its defaults here, and records of configurations change it as they come. A model that began as a saved one has no
 * name of that file, and so, without a checkpoint from before, it parts from what records lead to. */
#include "daemon/durable/forget_parked.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "daemon/config/config_rules.h"
#include "daemon/models/model_parked.h"

static cop_err add(cop_config *config, const cop_parked *parked)
{
	const size_t count = config->model_count;
	cop_model_settings settings;
	cop_err err = cop_model_parked_peek(parked, &settings);
	if (err != COP_OK)
		return err == COP_ENOMEM ? err : COP_OK;
	cop_config_model *models = cop_mem_resize(config->models, count, count + 1, sizeof *models);
	if (models == NULL)
		return COP_ENOMEM;
	config->models = models;
	cop_config_model_defaults(&models[count]);
	models[count].set = settings;
	(void)snprintf(models[count].stored, sizeof models[count].stored, "%s", parked->stored);
	(void)snprintf(models[count].name, sizeof models[count].name, "%.*s", (int)strcspn(parked->stored, "#"),
	        parked->stored);
	config->model_count = count + 1;
	return COP_OK;
}

cop_err cop_forget_parked_add(const cop_forget_work *work, const cop_model_table *models, cop_config *config)
{
	cop_err err = COP_OK;
	for (size_t i = 0; i < models->parked_count && err == COP_OK; i++)
		if (!models->parked[i].refit && cop_forget_work_is_of(work, models->parked[i].stored))
			err = add(config, &models->parked[i]);
	return err;
}

static cop_err renew(cop_forgetting *f, cop_parked *parked, cop_model_slot *slot)
{
	cop_err err = cop_model_parked_renew(&f->durable->models, parked, slot);
	if (err == COP_OK) {
		cop_forget_report_again(&f->report, slot->stored);
		cop_log_line(f->durable->log, COP_LOG_EVENT(model_relearned),
		        "model=%s from=%" PRIu64 " decisions=%" PRIu64 " parked=1", slot->stored, f->work.from,
		        cop_model_get_counters(slot->model)->decisions);
	}
	return err;
}

static cop_err end(cop_forgetting *f, cop_parked *parked)
{
	size_t count = 0, ended = 0;
	cop_event_id *ids = NULL;
	const bool is_of = cop_forget_work_is_of(&f->work, parked->stored);
	cop_model_slot *slot = cop_model_table_find_stored(&f->work.models, parked->stored, strlen(parked->stored));
	cop_err err = cop_forget_ids(f->work.plan, parked->stored, &ids, &count);
	if (err == COP_OK && (is_of || count > 0))
		err = cop_model_parked_forget(parked, ids, count, is_of, f->durable->time, &ended);
	cop_mem_free(ids);
	f->report.waiting += ended;
	if (err == COP_OK && slot != NULL && is_of)
		return renew(f, parked, slot);
	f->report.parked += is_of || ended > 0;
	if (ended > 0 && f->work.by_id) /* it may have waited since before the journal's first record */
		f->work.clean = 0;
	return err;
}

cop_err cop_forget_parked_end(cop_forgetting *f, cop_diag *diag)
{
	cop_model_table *models = &f->durable->models;
	cop_err err = COP_OK;
	for (size_t i = 0; i < models->parked_count && err == COP_OK; i++) {
		cop_parked *parked = &models->parked[i];
		if (parked->refit)
			continue;
		err = end(f, parked);
		if (err != COP_OK)
			cop_diag_message(diag, "model %s, which is not served: %s", parked->stored, cop_err_text(err));
	}
	return err;
}
