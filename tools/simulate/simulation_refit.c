/* Records are gathered until a refit reads the journal, or there are many of them. */
#include "simulation_refit.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "online/model_record.h"
#include "online/model_shadow.h"
#include "refit/refit_controller.h"
#include "store/journal_keep.h"
#include "store/journal_writer.h"
#include "wire/wire_models.h"

#define MODEL_NAME     "m"
#define BATCH_BYTES    (1u << 20)
#define SEGMENT_BYTES  (64u << 20)
#define DEFAULT_HEIGHT 6
#define MODEL_SET_ROOM 4096

struct cop_sim_refits {
	cop_sim_refit_settings set;
	cop_model *model;
	char folder[4096];
	cop_journal_writer *journal;
	cop_bytes batch, body;
	uint64_t first, next; /* records: of the batch, to come */
	cop_refit_controller_settings rule;
	cop_refit_controller controller;
	cop_sim_refit_counts counts;
};

void cop_sim_refit_defaults(cop_sim_refit_settings *settings)
{
	*settings = (cop_sim_refit_settings){
		.window = 200000, .holdout = 0.2, .method = COP_REFIT_FOREST, .risk = 0.05, .drift = "adwin"
	};
}

/* ---- the journal ---- */

static cop_err make_folder(cop_sim_refits *r, cop_diag *diag)
{
	const char *place = getenv("TMPDIR");
	(void)snprintf(r->folder, sizeof r->folder, "%.4000s/coppice-refits-XXXXXX", place == NULL ? "/tmp" : place);
	if (mkdtemp(r->folder) != NULL)
		return COP_OK;
	cop_diag_of(diag, r->folder, "cannot be made: %s", strerror(errno));
	r->folder[0] = '\0';
	return COP_EIO;
}

static void remove_folder(const char *folder)
{
	DIR *dir = opendir(folder);
	for (const struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;)
		if (entry->d_name[0] != '.')
			(void)unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir != NULL)
		(void)closedir(dir);
	(void)rmdir(folder);
}

static cop_wire_model describe(cop_model *model)
{
	const cop_model_settings *s = cop_model_get_settings(model);
	const cop_learner_settings *l = &cop_model_learner(model)->settings;
	bool values = cop_model_learner(model)->class->values;
	return (cop_wire_model){
		.name = MODEL_NAME,
		.name_length = strlen(MODEL_NAME),
		.learner = l->learner,
		.learner_length = strlen(l->learner),
		.features = l->features,
		.bits = l->features == 0 ? l->bits : 0,
		.max_nonzeros = l->features == 0 ? l->max_nonzeros : 0,
		.arms = l->arms,
		.max_candidates = l->arms == 0 && !values ? l->max_candidates : 0,
		.candidate_features = l->candidate_features,
		.losses = (unsigned)cop_learner_losses(l),
		.loss_range = { s->loss_low, s->loss_high },
		.value_range = { s->value_low, s->value_high },
		.delta = l->delta * (s->value_high - s->value_low),
		.reward = COP_WIRE_REWARD_EARLIEST,
		.reward_window = s->reward_window,
	};
}

static cop_err open_journal(cop_sim_refits *r, cop_diag *diag)
{
	cop_bytes set;
	const cop_wire_model model = describe(r->model);
	cop_bytes_init(&set);
	(void)cop_wire_models_put(&set, &model, 1, MODEL_SET_ROOM);
	cop_err err = set.err;
	const cop_journal_settings settings = {
		.segment_bytes = SEGMENT_BYTES, .model_set = set.data, .model_set_length = set.length
	};
	if (err == COP_OK)
		err = cop_journal_writer_open(r->folder, &settings, 1, &r->journal, diag);
	cop_bytes_fini(&set);
	r->first = r->next = 1;
	return err;
}

static cop_err flush(cop_sim_refits *r, cop_diag *diag)
{
	cop_err err = COP_OK;
	if (r->next > r->first)
		err = cop_journal_writer_write(
		        r->journal, r->batch.data, r->batch.length, r->first, r->next - r->first, diag);
	r->first = r->next;
	cop_bytes_clear(&r->batch);
	return err;
}

static cop_err put(cop_sim_refits *r, cop_wire_record_type type, cop_wire_record *record, cop_diag *diag)
{
	record->model = MODEL_NAME;
	record->model_length = strlen(MODEL_NAME);
	cop_bytes_clear(&r->body);
	cop_wire_record_put(&r->body, type, record);
	cop_journal_record_put(&r->batch, r->next++, (uint8_t)type, r->body.data, r->body.length);
	cop_err err = r->body.err != COP_OK ? r->body.err : r->batch.err;
	if (err != COP_OK)
		cop_diag_message(diag, "journal: %s", cop_err_text(err));
	return err == COP_OK && r->batch.length > BATCH_BYTES ? flush(r, diag) : err;
}

/* Each decision of the window has one record and at most one feedback, as has each one that waits. */
static cop_err tidy(const cop_sim_refits *r, cop_diag *diag)
{
	uint64_t wanted = 2 * (r->set.window + cop_model_pending(r->model));
	return r->next <= wanted ? COP_OK : cop_journal_keep_retain(r->folder, 0, r->next - wanted, NULL, diag);
}

/* ---- refits ---- */

static cop_err losses_of(void *context, const cop_row *x, size_t arms, float *out)
{
	const cop_sim_refits *r = context;
	return cop_model_losses(r->model, x, arms, out);
}

static void fill_settings(const cop_sim_refits *r, cop_refit_settings *set)
{
	const cop_learner *learner = cop_model_learner(r->model);
	const cop_learner_settings *l = &learner->settings;
	unsigned height = learner->class->one_tree ? l->height : DEFAULT_HEIGHT;
	cop_refit_defaults(set);
	set->model = MODEL_NAME;
	set->method = r->set.method;
	set->window = r->set.window;
	set->holdout = r->set.holdout;
	set->after = r->controller.after;
	set->height = r->set.height != 0 ? r->set.height : height;
	set->alpha = r->set.alpha.given ? r->set.alpha.value : -1.0;
	set->seed = l->seed + r->controller.number;
	set->promotion.margin = r->set.margin;
	set->promotion.risk = r->set.risk;
}

static uint64_t learned_of(const cop_sim_refits *r) { return cop_model_get_counters(r->model)->learned; }

static cop_err challenge(cop_sim_refits *r, const cop_trees *trees)
{
	cop_diag why = { 0 };
	cop_err err = cop_model_challenge(r->model, trees, &why);
	r->counts.made += err == COP_OK;
	if (err == COP_OK)
		cop_refit_controller_challenge(&r->controller, r->controller.number, learned_of(r));
	if (err != COP_ESHAPE && err != COP_EINVAL && err != COP_ENONFINITE)
		return err;
	r->counts.refused++;
	return COP_OK;
}

/* No refit is a failure here: one without a challenger is not made again from the same losses. */
static cop_err refit(cop_sim_refits *r, cop_diag *diag)
{
	cop_refit_settings set;
	cop_refit_report report;
	cop_trees *trees = NULL;
	const cop_refit_estimate serving = { losses_of, r };
	bool arms = cop_model_get_settings(r->model)->learner.arms > 0;
	r->controller.number++;
	fill_settings(r, &set);
	cop_refit_controller_begin(&r->controller, learned_of(r), 0.0);
	cop_err err = flush(r, diag);
	if (err == COP_OK)
		err = cop_refit_run(&set, r->folder, arms ? &serving : NULL, NULL, NULL, &report, &trees, diag);
	bool nothing = err == COP_EEND;
	cop_refit_controller_end(&r->controller, true, err == COP_OK ? report.learned : 0, 0.0);
	r->counts.nothing += nothing;
	if (nothing)
		return COP_OK;
	if (err == COP_OK) {
		bool worse = report.summary.verdict == COP_PROMOTION_TEST_WORSE;
		r->counts.worse += worse;
		err = worse ? COP_OK : challenge(r, trees);
	}
	cop_trees_free(trees);
	return err == COP_OK ? tidy(r, diag) : err;
}

/* ---- what losses lead to ---- */

static void watch(cop_sim_refits *r)
{
	const cop_model_counters *c = cop_model_get_counters(r->model);
	const cop_model_settings *s = cop_model_get_settings(r->model);
	cop_refit_controller_watch(&r->controller, c->learned, c->loss_sum, s->loss_low, s->loss_high);
}

static cop_err retire(cop_sim_refits *r)
{
	cop_promotion_test_roles roles;
	cop_model_shadow_roles(r->model, &roles);
	cop_refit_controller_retire(&r->controller, roles.promoted);
	return cop_model_retire(r->model);
}

static cop_err step(cop_sim_refits *r)
{
	cop_promotion_test_roles roles;
	cop_err err = COP_OK;
	cop_model_shadow_roles(r->model, &roles);
	switch (cop_refit_controller_step(&r->controller, &r->rule, &roles)) {
	case COP_REFIT_STAY:
		break;
	case COP_REFIT_PROMOTE:
		r->counts.promoted++;
		cop_refit_controller_promote(&r->controller, roles.learned);
		return cop_model_promote(r->model);
	case COP_REFIT_ROLLBACK:
		r->counts.rolled_back++;
		err = cop_model_rollback(r->model);
		return err == COP_OK ? retire(r) : err;
	case COP_REFIT_RETIRE:
		r->counts.retired++;
		return retire(r);
	}
	return err;
}

static cop_refit_due due(const cop_sim_refits *r)
{
	static const cop_refit_controller_times timeless = { 0 };
	cop_promotion_test_roles roles;
	cop_model_shadow_roles(r->model, &roles);
	return cop_refit_controller_due(&r->controller, &r->rule, &roles, &timeless);
}

cop_err cop_sim_refits_decided(
        cop_sim_refits *refits, const cop_model_context *context, const cop_decision *decision, cop_diag *diag)
{
	cop_wire_record record = { .time = 0.0 };
	cop_model_record_decision(refits->model, context, decision, &record);
	return put(refits, COP_WIRE_RECORD_DECISION, &record, diag);
}

cop_err cop_sim_refits_fed(
        cop_sim_refits *refits, const cop_event_id *id, const double *loss, size_t count, cop_diag *diag)
{
	cop_sim_refits *r = refits;
	cop_wire_record record = { .id = *id, .losses = (unsigned)count, .result = COP_WIRE_APPLIED };
	record.p = 1.0;
	memcpy(record.loss, loss, count * sizeof *loss);
	cop_err err = put(r, COP_WIRE_RECORD_FEEDBACK, &record, diag);
	if (err == COP_OK)
		err = step(r);
	watch(r);
	cop_refit_due is = due(r);
	if (err != COP_OK || !cop_refit_begins(is))
		return err;
	r->counts.drifted += is == COP_REFIT_DRIFT;
	return refit(r, diag);
}

const cop_sim_refit_counts *cop_sim_refits_counts(const cop_sim_refits *refits) { return &refits->counts; }

/* ---- its life ---- */

static cop_err judge_by(const cop_sim_refits *r)
{
	cop_promotion_test_settings rule;
	cop_model_judge_defaults(&rule);
	if (r->set.promote == COP_SIM_PROMOTE_BOUND)
		rule.estimator = COP_PROMOTION_TEST_DR;
	rule.margin = r->set.margin;
	rule.risk = r->set.risk;
	return cop_model_judge_by(r->model, &rule);
}

cop_err cop_sim_refits_new(
        const cop_sim_refit_settings *settings, cop_model *model, cop_sim_refits **out, cop_diag *diag)
{
	*out = NULL;
	cop_sim_refits *r = cop_mem_alloc(1, sizeof *r);
	if (r == NULL)
		return COP_ENOMEM;
	r->set = *settings;
	r->rule = (cop_refit_controller_settings){ .window = settings->window, .least_feedback = settings->every };
	r->model = model;
	cop_bytes_init(&r->batch);
	cop_bytes_init(&r->body);
	cop_err err = judge_by(r);
	if (err == COP_OK)
		err = cop_refit_controller_detect(&r->controller, settings->drift);
	if (err == COP_OK)
		err = make_folder(r, diag);
	if (err == COP_OK)
		err = open_journal(r, diag);
	if (err != COP_OK) {
		cop_sim_refits_free(r);
		return err;
	}
	*out = r;
	return COP_OK;
}

void cop_sim_refits_free(cop_sim_refits *refits)
{
	if (refits == NULL)
		return;
	if (refits->journal != NULL)
		(void)!cop_journal_writer_close(refits->journal, NULL);
	if (refits->folder[0] != '\0')
		remove_folder(refits->folder);
	cop_refit_controller_fini(&refits->controller);
	cop_bytes_fini(&refits->batch);
	cop_bytes_fini(&refits->body);
	cop_mem_free(refits);
}
