#include "policy_run.h"

#include "base/mem.h"
#include "learn/bins.h"

struct cop_policy_run {
	cop_policy_run_settings set;
	cop_model *model;
	double low, width; /* of costs */
};

static bool has_model(cop_replay_kind kind) { return kind == COP_REPLAY_LEARNS || kind == COP_REPLAY_FROZEN; }

cop_err cop_policy_run_new(
        const cop_policy_run_settings *settings, cop_model **model, cop_policy_run **out, cop_diag *diag)
{
	*out = NULL;
	cop_err err = COP_OK;
	cop_policy_run *player = cop_mem_alloc(1, sizeof *player);
	if (player == NULL)
		cop_diag_message(diag, "%s", cop_err_text(COP_ENOMEM));
	if (player != NULL) {
		player->set = *settings;
		player->model = *model;
		*model = NULL;
	}
	if (player != NULL && player->model == NULL && has_model(settings->kind))
		err = cop_model_new(&settings->model, &player->model, diag);
	if (player == NULL || err != COP_OK) {
		cop_policy_run_free(player);
		return player == NULL ? COP_ENOMEM : err;
	}
	if (player->model != NULL)
		player->set.model = *cop_model_get_settings(player->model);
	player->low = player->set.model.loss_low;
	player->width = player->set.model.loss_high - player->set.model.loss_low;
	*out = player;
	return COP_OK;
}

void cop_policy_run_free(cop_policy_run *player)
{
	if (player == NULL)
		return;
	cop_model_free(player->model);
	cop_mem_free(player);
}

cop_model *cop_policy_run_model(const cop_policy_run *player) { return player->model; }

const cop_policy_run_settings *cop_policy_run_get_settings(const cop_policy_run *player) { return &player->set; }

/* ---- policies without a model ---- */

static size_t eligible(const cop_logged_event *event, size_t all)
{
	size_t count = 0;
	for (size_t i = 0; event->mask != NULL && i < all; i++)
		count += event->mask[i] != 0;
	return event->mask == NULL ? all : count;
}

static void look_plain(const cop_policy_run *player, const cop_logged_event *event, cop_replay_seen *out)
{
	size_t all = event->candidates > 0 ? event->candidates : player->set.model.learner.arms;
	uint32_t constant = player->set.constant;
	switch (player->set.kind) {
	case COP_REPLAY_CONSTANT:
		out->best = constant;
		out->best_p = out->target_max = 1.0;
		out->target = event->action == constant ? 1.0 : 0.0;
		break;
	case COP_REPLAY_LOGGED: /* of the others the log says nothing */
		out->best = event->action;
		out->best_p = out->target = out->target_max = event->labelled ? event->p : 1.0;
		break;
	default:
		out->best = 0;
		out->best_p = out->target = out->target_max = 1.0 / (double)eligible(event, all);
		break;
	}
}

/* ---- policies with one ---- */

static double cost_of(const cop_policy_run *player, float loss) { return player->low + player->width * (double)loss; }

static double mean_cost(const cop_policy_run *player, const cop_policy_view *view)
{
	double sum = 0.0;
	for (size_t k = 0; k < view->arms; k++)
		sum += view->p[k] * (double)view->loss[k];
	return player->low + player->width * sum;
}

static double likeliest(const cop_policy_view *view)
{
	double most = 0.0;
	for (size_t k = 0; k < view->arms; k++)
		most = view->p[k] > most ? view->p[k] : most;
	return most;
}

static void note(
        const cop_policy_run *player, const cop_logged_event *event, const cop_policy_view *view, cop_replay_seen *out)
{
	bool exploring = player->set.exploring;
	out->has_model = true;
	out->best = (uint32_t)view->best;
	out->best_cost = cost_of(player, view->loss[view->best]);
	out->best_p = exploring ? view->p[view->best] : 1.0;
	out->target = exploring ? view->p[event->action] : event->action == view->best ? 1.0 : 0.0;
	out->target_max = exploring ? likeliest(view) : 1.0;
	out->q = cost_of(player, view->loss[event->action]);
	out->m = exploring ? mean_cost(player, view) : out->best_cost;
}

/* A learner of values wants the density, one of arms the bin's probability. */
static cop_model_logged logged_of(const cop_policy_run *player, const cop_logged_event *event)
{
	bool density = event->has_y && cop_model_learner(player->model)->class->values;
	return (cop_model_logged){
		.x = &event->x,
		.mask = event->mask,
		.arm = event->action,
		.p = density ? event->p * COP_BINS : event->p,
		.y = event->y,
		.loss = event->cost,
		.learn = event->labelled && event->learn,
		.candidate = event->candidate,
		.candidates = event->candidates,
	};
}

static cop_err look_on(cop_policy_run *player, const cop_logged_event *event, cop_policy_view *view)
{
	cop_model_logged logged = logged_of(player, event);
	return cop_model_view_logged(player->model, &logged, view);
}

static cop_err follow(
        cop_policy_run *player, const cop_logged_event *event, cop_policy_view *view, cop_replay_seen *out)
{
	cop_model_logged logged = logged_of(player, event);
	cop_err err = cop_model_take_logged(player->model, &logged, view);
	out->refused = err == COP_EDIVERGED;
	return err == COP_EDIVERGED ? COP_OK : err;
}

cop_err cop_policy_run_take(cop_policy_run *player, const cop_logged_event *event, bool hold, cop_replay_seen *out)
{
	cop_policy_view view;
	*out = (cop_replay_seen){ .target = 0.0 };
	if (player->model == NULL) {
		look_plain(player, event, out);
		return COP_OK;
	}
	bool follows = player->set.kind == COP_REPLAY_LEARNS && !hold;
	cop_err err = follows ? follow(player, event, &view, out) : look_on(player, event, &view);
	if (err == COP_OK)
		note(player, event, &view, out);
	return err;
}
