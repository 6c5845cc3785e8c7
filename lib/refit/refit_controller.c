/* Each transition changes the fields that its event is about, and no function asks for anything but its arguments: the
 * same events in the same order give the same state. The detector sees each learned loss once: `seen` and `seen_sum`
 * are the model's sums at the last look; of one look it is given at most MOST_FED losses. */
#include "refit/refit_controller.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MOST_FED      4096
#define PAUSE_SECONDS 60.0 /* after a failure, doubled with each */
#define PAUSE_MOST    21600.0

void cop_refit_controller_fini(cop_refit_controller *controller)
{
	cop_change_free(controller->detector);
	*controller = (cop_refit_controller){ 0 };
}

/* ---- drift ---- */

cop_err cop_refit_controller_detect(cop_refit_controller *controller, const char *detector)
{
	const char *is = controller->detector == NULL ? "none" : cop_change_settings_of(controller->detector)->detector;
	if (strcmp(detector, is) == 0)
		return COP_OK;
	cop_change_free(controller->detector);
	controller->detector = NULL;
	controller->drifted = false;
	if (strcmp(detector, "none") == 0)
		return COP_OK;
	cop_change_settings settings;
	cop_change_defaults(&settings);
	(void)snprintf(settings.detector, sizeof settings.detector, "%s", detector);
	return cop_change_new(&settings, &controller->detector);
}

void cop_refit_controller_sync(cop_refit_controller *controller, uint64_t learned, double loss_sum)
{
	controller->seen = learned;
	controller->seen_sum = loss_sum;
}

void cop_refit_controller_watch(
        cop_refit_controller *controller, uint64_t learned, double loss_sum, double low, double high)
{
	uint64_t count = learned - controller->seen;
	if (count == 0)
		return;
	double loss = ((loss_sum - controller->seen_sum) / (double)count - low) / (high - low);
	for (uint64_t i = 0; controller->detector != NULL && i < count && i < MOST_FED; i++)
		if (cop_change_add(controller->detector, loss) == COP_CHANGE_RISE)
			controller->drifted = true;
	cop_refit_controller_sync(controller, learned, loss_sum);
}

/* ---- refits ---- */

uint64_t cop_refit_controller_fresh(const cop_refit_controller *controller, uint64_t learned)
{
	return learned > controller->learned ? learned - controller->learned : 0;
}

cop_refit_due cop_refit_controller_due(const cop_refit_controller *controller,
        const cop_refit_controller_settings *settings, const cop_promotion_test_roles *roles,
        const cop_refit_controller_times *times)
{
	const cop_refit_standing standing = {
		.fresh = cop_refit_controller_fresh(controller, roles->learned),
		.least_feedback = settings->least_feedback,
		.asked = controller->asked,
		.paused = times->monotonic < controller->not_before,
		.resting = times->event < times->rested,
		.drifted = controller->drifted,
		.early = times->event < controller->began + settings->every,
		.trial = controller->current != 0 && roles->shadow &&
		         cop_refit_on_trial(roles->verdict, roles->learned - controller->taken, controller->taken,
		                 settings->window, settings->least_feedback),
	};
	return cop_refit_is_due(&standing);
}

void cop_refit_controller_begin(cop_refit_controller *controller, uint64_t learned, double event_time)
{
	controller->due_learned = learned;
	controller->due_drifted = controller->drifted;
	controller->asked = false;
	controller->drifted = false;
	controller->began = event_time;
	controller->spent = 0.0;
}

void cop_refit_controller_end(cop_refit_controller *controller, bool well, uint64_t after, double monotonic)
{
	if (well) {
		controller->failures = 0;
		controller->learned = controller->due_learned;
		controller->after = after > controller->after ? after : controller->after;
		return;
	}
	double pause = fmin(PAUSE_SECONDS * exp2((double)controller->failures), PAUSE_MOST);
	controller->failures++;
	controller->drifted |= controller->due_drifted; /* still to be answered */
	controller->not_before = monotonic + pause;
}

/* ---- challengers ---- */

cop_refit_step cop_refit_controller_step(const cop_refit_controller *controller,
        const cop_refit_controller_settings *settings, const cop_promotion_test_roles *roles)
{
	bool over = roles->shadow && roles->learned - controller->taken >= settings->window;
	return cop_refit_step_of(roles->verdict, roles->promoted, roles->frozen, over);
}

void cop_refit_controller_challenge(cop_refit_controller *controller, uint64_t number, uint64_t learned)
{
	controller->current = number;
	controller->number = number > controller->number ? number : controller->number;
	controller->taken = learned;
}

void cop_refit_controller_promote(cop_refit_controller *controller, uint64_t learned) { controller->taken = learned; }

void cop_refit_controller_retire(cop_refit_controller *controller, bool promoted)
{
	if (!promoted)
		controller->current = 0;
}
