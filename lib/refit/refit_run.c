/* The order of things: read, is there evidence, scale, try penalties, fit, judge. */
#include "refit/refit_run.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "learn/learner.h"
#include "refit/refit_parts.h"
#include "refit/refit_rule.h"

#define LEAST_ANSWERED  2  /* of the fitted part */
#define LEAST_CHOOSING  20 /* answered events on either side, for alphas to be tried */
#define MOST_NEIGHBOURS 1000
#define MOST_TREES      256
#define READING         0.1 /* of the progress */

static const double path[COP_REFIT_PATH] = { 0.02, 0.1, 0.5 };
#define PATH_DEFAULT 1 /* where there is too little to choose by */

_Static_assert(COP_REFIT_MAX_HEIGHT <= COP_TAO_MAX_DEPTH, "TAO takes lower trees only");

void cop_refit_defaults(cop_refit_settings *settings)
{
	*settings = (cop_refit_settings){
		.method = COP_REFIT_TAO,
		.costs = COP_REFIT_DR,
		.window = 200000,
		.holdout = 0.2,
		.least = 100,
		.memory = (size_t)1 << 30,
		.clip = 50.0,
		.height = 6,
		.iterations = 20,
		.alpha = -1.0,
		.validation = 0.2,
		.prior = 10.0,
		.gamma = 0.1,
		.neighbours = 15,
		.perplexity = 8.0,
		.rounds = 10,
		.step = 0.125,
		.trust = 1.0,
		.mix = 0.1,
		.trees = 16,
	};
	cop_promotion_test_defaults(&settings->promotion);
}

/* ---- settings ---- */

static bool between(double x, double low, double high) { return x >= low && x <= high; }

cop_err cop_refit_settings_check(const cop_refit_settings *s, cop_diag *diag)
{
	cop_promotion_test unused;
	const struct {
		bool fits;
		const char *what;
	} rules[] = {
		{ (unsigned)s->method < COP_REFIT_METHODS, "method: tao, laptao or forest" },
		{ (unsigned)s->costs < COP_REFIT_COSTS, "costs: ips or dr" },
		{ s->window >= 1 && s->window <= COP_DATASET_MAX_ROWS, "window: at least 1" },
		{ between(s->holdout, 0.0, 0.9), "holdout: from 0 to 0.9" },
		{ s->least >= LEAST_ANSWERED, "least: at least 2" },
		{ between(s->clip, 1.0, 1e12), "clip: from 1 to 1e12" },
		{ s->height >= 1 && s->height <= COP_REFIT_MAX_HEIGHT, "height: from 1 to 20" },
		{ s->iterations >= 1 && s->iterations < 1000000, "iterations: from 1 to 999999" },
		{ isfinite(s->alpha), "alpha: a number" },
		{ s->validation > 0.0 && s->validation <= 0.9, "validation: above 0, to 0.9" },
		{ s->prior > 0.0 && isfinite(s->prior), "prior: above 0" },
		{ s->gamma >= 0.0 && isfinite(s->gamma), "gamma: at least 0" },
		{ s->neighbours >= 2 && s->neighbours <= MOST_NEIGHBOURS, "neighbours: from 2 to 1000" },
		{ s->perplexity >= 1.0 && isfinite(s->perplexity), "perplexity: at least 1" },
		{ s->rounds >= 1 && s->rounds <= 1000, "rounds: from 1 to 1000" },
		{ s->step > 0.0 && isfinite(s->step), "step: above 0" },
		{ s->trust > 0.0 && isfinite(s->trust), "trust: above 0" },
		{ between(s->mix, 0.0, 1.0), "mix: from 0 to 1" },
		{ s->trees >= 1 && s->trees <= MOST_TREES, "trees: from 1 to 256" },
		{ between(s->least_p, 0.0, 1.0), "least_p: from 0 to 1" },
		{ cop_promotion_test_init(&unused, &s->promotion) == COP_OK,
		        "promotion: outside the limits of its settings" },
	};
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		if (!rules[i].fits) {
			cop_diag_message(diag, "refit: wrong setting; expected %s", rules[i].what);
			return COP_EINVAL;
		}
	return COP_OK;
}

/* ---- progress ---- */

typedef struct stage {
	const cop_progress *outer;
	double from, span;
	bool stopped;
} stage;

static bool tell_stage(void *context, double share, const char *text)
{
	stage *s = context;
	bool on = s->outer == NULL || s->outer->report(s->outer->context, s->from + s->span * share, text);
	s->stopped = s->stopped || !on;
	return !s->stopped;
}

/* ---- evidence ---- */

static cop_refit_part part_of(const cop_refit_window *w, size_t from, size_t to)
{
	cop_refit_part part = { .events = to - from };
	if (from == to)
		return part;
	part.first = w->event[from]->sequence;
	part.last = w->event[to - 1]->sequence;
	for (size_t i = from; i < to; i++)
		part.answered += w->event[i]->answered;
	return part;
}

static void report_window(const cop_refit_window *w, cop_refit_report *report)
{
	report->model = w->model;
	report->learned = w->learned;
	report->from = w->from;
	report->passed = w->passed;
	report->memory = w->memory;
	report->stopped = w->stopped;
	report->fitted = part_of(w, 0, w->fitted);
	report->judged = part_of(w, w->fitted, w->n);
}

static cop_err need_evidence(
        const cop_refit_settings *set, const cop_refit_window *w, const cop_refit_report *report, cop_diag *diag)
{
	if (w->fresh == 0) {
		cop_diag_message(diag, "nothing was answered after record %" PRIu64, set->after);
		return COP_EEND;
	}
	if (w->answered < set->least || report->fitted.answered < LEAST_ANSWERED) {
		cop_diag_message(diag, "%zu events were answered, %" PRIu64 " to be fitted; expected at least %" PRIu64,
		        w->answered, report->fitted.answered, set->least);
		return COP_EEND;
	}
	return COP_OK;
}

/* ---- fits ---- */

typedef struct trial {
	cop_tree *scaled, *raw;
	double value;
} trial;

static void trial_fini(trial *t)
{
	cop_tree_free(t->scaled);
	cop_tree_free(t->raw);
	*t = (trial){ .raw = NULL };
}

static bool can_choose(const cop_refit_problem *p)
{
	size_t train = 0, other = 0;
	for (size_t i = 0; i < p->n; i++)
		*(i < p->train ? &train : &other) += cop_refit_problem_event(p, i)->answered;
	return train >= LEAST_CHOOSING && other >= LEAST_CHOOSING;
}

/* The best of the path; each begins with the tree before it. */
static cop_err try_path(cop_refit_problem *p, stage *at, cop_refit_report *report, trial *best)
{
	trial last = { .raw = NULL };
	cop_err err = COP_OK;
	for (size_t i = 0; i < COP_REFIT_PATH && err == COP_OK && !at->stopped; i++) {
		trial now = { .raw = NULL };
		at->from = READING + (double)i * at->span;
		err = p->kind->fit(p, p->train, path[i], last.scaled, &now.scaled, &now.raw);
		if (err == COP_OK)
			err = p->kind->value(p, now.raw, &now.value);
		bool better = err == COP_OK && (best->raw == NULL || now.value <= best->value);
		if (err == COP_OK) {
			report->tried_alpha[i] = path[i];
			report->tried_value[i] = now.value;
			report->tried = (unsigned)i + 1;
		}
		/* `last` is either the best so far, which owns it, or nobody's. */
		if (last.scaled != best->scaled)
			trial_fini(&last);
		if (better) {
			if (best->raw != NULL)
				trial_fini(best);
			*best = now;
			report->alpha = path[i];
		}
		last = now;
	}
	if (last.scaled != best->scaled)
		trial_fini(&last);
	return err;
}

static cop_err fit(cop_refit_problem *p, stage *at, cop_refit_report *report, cop_tree **out)
{
	trial best = { .raw = NULL }, all = { .raw = NULL };
	const cop_refit_settings *set = p->settings;
	bool given = set->alpha >= 0.0;
	cop_err err = COP_OK;
	*out = NULL;
	at->span = (1.0 - READING) / (given ? 1 : COP_REFIT_PATH + 1);
	report->alpha = given ? set->alpha : path[PATH_DEFAULT];
	if (!given && can_choose(p))
		err = try_path(p, at, report, &best);
	if (err == COP_OK && !(at->stopped && best.raw != NULL)) {
		at->from = 1.0 - at->span;
		err = p->kind->fit(p, p->n, report->alpha, best.scaled, &all.scaled, &all.raw);
	}
	trial *taken = all.raw != NULL ? &all : &best;
	if (err == COP_OK) {
		*out = taken->raw;
		taken->raw = NULL;
	}
	trial_fini(&best);
	trial_fini(&all);
	return err;
}

static cop_err wrap(cop_tree **tree, cop_refit_report *report, cop_trees **out)
{
	report->leaves = cop_tree_leaves(*tree);
	report->depth = cop_tree_depth(*tree);
	report->parameters = cop_tree_parameters(*tree);
	return cop_trees_new(COP_TREES_MEAN, 1, tree, NULL, NULL, out);
}

static void note_tree(const cop_tree *tree, cop_refit_report *report)
{
	report->leaves += cop_tree_leaves(tree);
	report->depth = report->depth > cop_tree_depth(tree) ? report->depth : cop_tree_depth(tree);
	report->parameters += cop_tree_parameters(tree);
}

static cop_err grow_all(cop_refit_problem *p, stage *at, cop_refit_report *report, cop_trees **out)
{
	const size_t trees = p->settings->trees;
	size_t count = 0;
	cop_tree **tree = cop_mem_alloc(trees, sizeof *tree);
	cop_err err = tree == NULL ? COP_ENOMEM : COP_OK;
	while (count < trees && err == COP_OK && (count == 0 || !at->stopped)) {
		size_t more;
		err = p->kind->grow(p, count, &tree[count], &more);
		for (size_t i = 0; i < more; i++, count++)
			note_tree(tree[count], report);
		if (err == COP_OK)
			(void)tell_stage(at, READING + (1.0 - READING) * (double)count / (double)trees, "growing");
	}
	if (err == COP_OK)
		err = cop_trees_new(COP_TREES_MEAN, count, tree, NULL, NULL, out);
	for (size_t i = 0; i < count; i++)
		cop_tree_free(tree[i]);
	cop_mem_free(tree);
	return err;
}

static const cop_refit_kind *kind_of(const cop_refit_settings *set, const cop_journal_history_model *model)
{
	if (model->values)
		return &cop_refit_values;
	if (model->max_candidates > 0)
		return &cop_refit_candidates;
	const cop_learner_class *class = cop_learner_find(model->learner);
	bool one_tree = class != NULL && class->one_tree;
	if (set->method == COP_REFIT_FOREST && model->features > 0 && !one_tree)
		return &cop_refit_arms_forest;
	return set->method == COP_REFIT_LAPTAO ? &cop_refit_arms_laptao : &cop_refit_arms_tao;
}

static cop_err fit_window(const cop_refit_settings *settings, const cop_refit_window *window,
        const cop_refit_estimate *serving, cop_pool *pool, const cop_progress *progress, cop_refit_report *report,
        cop_trees **out)
{
	stage at = { .outer = progress };
	const cop_progress inner = { tell_stage, &at };
	cop_tree *tree = NULL;
	cop_refit_problem problem = {
		.settings = settings,
		.window = window,
		.serving = serving,
		.pool = pool,
		.progress = &inner,
		.kind = kind_of(settings, &window->model),
	};
	cop_err err = cop_refit_problem_init(&problem);
	if (err == COP_OK && problem.kind->grow != NULL) {
		err = grow_all(&problem, &at, report, out);
	} else {
		if (err == COP_OK)
			err = fit(&problem, &at, report, &tree);
		if (err == COP_OK)
			err = wrap(&tree, report, out);
	}
	report->stopped = at.stopped;
	cop_tree_free(tree);
	cop_refit_problem_fini(&problem);
	return err;
}

cop_err cop_refit_run(const cop_refit_settings *settings, const char *journal, const cop_refit_estimate *serving,
        cop_pool *pool, const cop_progress *progress, cop_refit_report *report, cop_trees **out, cop_diag *diag)
{
	cop_refit_window window;
	cop_diag mine = { .message = "" };
	if (diag == NULL)
		diag = &mine;
	*out = NULL;
	*report = (cop_refit_report){ .alpha = 0.0 };
	cop_err err = cop_refit_settings_check(settings, diag);
	if (err == COP_OK)
		err = cop_promotion_test_init(&report->promotion, &settings->promotion);
	if (err != COP_OK)
		return err;
	err = cop_refit_window_read(settings, journal, progress, &window, diag);
	report_window(&window, report);
	if (err == COP_EEND)
		cop_diag_message(diag, "stopped while the journal was read");
	if (err == COP_OK)
		err = need_evidence(settings, &window, report, diag);
	if (err == COP_OK) {
		diag->message[0] = '\0';
		err = fit_window(settings, &window, serving, pool, progress, report, out);
		if (err == COP_OK)
			err = cop_refit_judge(settings, &window, *out, report);
		if (err != COP_OK)
			cop_diag_of(diag, journal, "refit of model \"%s\": %s", window.model.name, cop_err_text(err));
	}
	if (err != COP_OK) {
		cop_trees_free(*out);
		*out = NULL;
	}
	cop_refit_window_fini(&window);
	return err;
}
