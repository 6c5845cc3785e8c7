/* Greedy policies of trees, and how they do on events that the trees have not seen. */
#include <math.h>

#include "bandit/estimator.h"
#include "base/mem.h"
#include "refit/refit_parts.h"

double cop_refit_slope(const cop_journal_history_model *model, const cop_refit_event *e, double mean)
{
	return model->losses == 2 ? cop_estimator_two_point(e->losses[0], e->losses[1], model->delta)
	                          : cop_estimator_one_point(e->losses[0], mean, e->u, model->delta);
}

/* ---- predictions ---- */

size_t cop_refit_least(const float *loss, const uint8_t *mask, size_t count)
{
	size_t best = count;
	for (size_t k = 0; k < count; k++)
		if ((mask == NULL || mask[k] != 0) && (best == count || loss[k] < loss[best]))
			best = k;
	return best;
}

void cop_refit_losses_fini(cop_refit_losses *losses)
{
	cop_mem_free(losses->loss);
	cop_mem_free(losses->work);
	cop_mem_free(losses->sum);
	cop_refit_joined_fini(&losses->joined);
}

static cop_err make_room(cop_refit_losses *losses, size_t choices)
{
	if (choices <= losses->room)
		return COP_OK;
	cop_mem_free(losses->loss);
	cop_mem_free(losses->work);
	cop_mem_free(losses->sum);
	losses->loss = cop_mem_alloc(choices, sizeof *losses->loss);
	losses->work = cop_mem_alloc(choices, sizeof *losses->work);
	losses->sum = cop_mem_alloc(choices, sizeof *losses->sum);
	bool room = losses->loss != NULL && losses->work != NULL && losses->sum != NULL;
	losses->room = room ? choices : 0;
	return room ? COP_OK : COP_ENOMEM;
}

/* Of a tree, or of trees. */
static cop_err expect(cop_refit_losses *losses, const cop_journal_history_model *model, const cop_tree *raw,
        const cop_trees *trees, const cop_refit_event *e, size_t *choices)
{
	size_t outputs = cop_refit_window_outputs(model);
	*choices = model->max_candidates > 0 ? e->candidates : outputs;
	cop_err err = make_room(losses, *choices);
	for (size_t k = 0; k < *choices && err == COP_OK; k += outputs) {
		cop_row row;
		err = cop_refit_row(&losses->joined, model, e, k, &row);
		if (err != COP_OK)
			return err;
		if (raw != NULL)
			(void)cop_tree_predict(raw, &row, losses->loss + k);
		else
			cop_trees_predict(trees, &row, losses->work, losses->sum + k);
	}
	for (size_t k = 0; k < *choices && err == COP_OK; k++) {
		float loss = raw != NULL ? losses->loss[k] : (float)losses->sum[k];
		losses->loss[k] = fminf(fmaxf(loss, 0.0f), 1.0f);
	}
	return err;
}

cop_err cop_refit_expect(cop_refit_losses *losses, const cop_journal_history_model *model, const cop_tree *raw,
        const cop_refit_event *e, size_t *choices)
{
	return expect(losses, model, raw, NULL, e, choices);
}

cop_err cop_refit_expect_all(cop_refit_losses *losses, const cop_journal_history_model *model, const cop_trees *trees,
        const cop_refit_event *e, size_t *choices)
{
	return expect(losses, model, NULL, trees, e, choices);
}

cop_err cop_refit_greedy_loss(cop_refit_problem *p, const cop_tree *raw, double *out)
{
	cop_refit_losses losses = { .room = 0 };
	cop_err err = COP_OK;
	double sum = 0.0, count = 0.0;
	for (size_t i = p->train; i < p->n && err == COP_OK; i++) {
		const cop_refit_event *e = cop_refit_problem_event(p, i);
		size_t choices;
		if (!e->answered)
			continue;
		err = cop_refit_expect(&losses, &p->window->model, raw, e, &choices);
		if (err != COP_OK)
			break;
		size_t best = cop_refit_least(losses.loss, e->mask, choices);
		double q = (double)losses.loss[best];
		sum += best == e->action ? q + fmin(1.0 / e->p, p->settings->clip) * (e->loss - q) : q;
		count += 1.0;
	}
	cop_refit_losses_fini(&losses);
	*out = sum / count;
	return err;
}

/* ---- held-out events ---- */

typedef struct judging {
	const cop_refit_settings *settings;
	const cop_refit_window *window;
	const cop_trees *trees;
	cop_refit_losses losses;
	double weight_most; /* 0: not known */
	cop_refit_report *report;
} judging;

/* No more than what the caller said of propensities, and nothing when the log says otherwise: then it is not known. */
static double most_weight(const cop_refit_settings *set, const cop_refit_window *w)
{
	bool known = set->least_p > 0.0;
	for (size_t i = w->fitted; i < w->n; i++)
		known = known && w->event[i]->p >= set->least_p;
	return known ? fmax(1.0, (1.0 - set->mix) / set->least_p + set->mix) * (1.0 + 1e-9) : 0.0;
}

static cop_err judge_choice(judging *j, const cop_refit_event *e)
{
	size_t choices;
	cop_err err = cop_refit_expect_all(&j->losses, &j->window->model, j->trees, e, &choices);
	if (err != COP_OK)
		return err;
	size_t best = cop_refit_least(j->losses.loss, e->mask, choices);
	double mix = j->settings->mix, q = (double)j->losses.loss[e->action];
	const cop_promotion_test_event event = {
		.p = e->p,
		.loss = e->loss,
		.champion = e->p,
		.challenger = (best == e->action ? 1.0 - mix : 0.0) + mix * e->p,
		.weight_most = j->weight_most,
		.has_model = true,
		.model_logged = q,
		.model_champion = q,
		.model_challenger = (1.0 - mix) * (double)j->losses.loss[best] + mix * q,
	};
	return cop_promotion_test_add(&j->report->promotion, &event);
}

static cop_err judge_choices(judging *j)
{
	cop_err err = COP_OK;
	for (size_t i = j->window->fitted; i < j->window->n && err == COP_OK; i++)
		if (j->window->event[i]->answered)
			err = judge_choice(j, j->window->event[i]);
	return err;
}

static void judge_values(judging *j)
{
	const cop_refit_window *w = j->window;
	double n = 0.0, mean = 0.0, sum = 0.0, square = 0.0, moved = 0.0;
	for (size_t i = w->fitted; i < w->n; i++) {
		mean += w->event[i]->answered ? w->event[i]->loss : 0.0;
		n += w->event[i]->answered;
	}
	if (n == 0.0)
		return;
	for (size_t i = w->fitted; i < w->n; i++) {
		const cop_refit_event *e = w->event[i];
		float t;
		if (!e->answered)
			continue;
		(void)cop_tree_predict(cop_trees_at(j->trees, 0), &e->x, &t);
		double d = (double)t - e->y;
		double gain = -cop_refit_slope(&w->model, e, mean / n) * d - d * d / (2.0 * j->settings->step);
		sum += gain;
		square += gain * gain;
		moved += fabs(d);
	}
	j->report->gain = sum / n;
	j->report->gain_error = sqrt(fmax(square / n - (sum / n) * (sum / n), 0.0) / n);
	j->report->moved = moved / n;
}

cop_err cop_refit_judge(const cop_refit_settings *settings, const cop_refit_window *window, const cop_trees *trees,
        cop_refit_report *report)
{
	judging j = { .settings = settings, .window = window, .trees = trees, .report = report };
	cop_err err = COP_OK;
	if (window->model.values) {
		judge_values(&j);
	} else {
		j.weight_most = most_weight(settings, window);
		err = judge_choices(&j);
	}
	cop_refit_losses_fini(&j.losses);
	cop_promotion_test_summarise(&report->promotion, &report->summary);
	return err;
}
