#include "refit/refit_rule.h"

#include <math.h>

cop_refit_step cop_refit_step_of(cop_promotion_test_verdict verdict, bool promoted, bool frozen, bool over)
{
	if (frozen)
		return COP_REFIT_STAY;
	if (verdict == COP_PROMOTION_TEST_OPEN)
		return over ? COP_REFIT_RETIRE : COP_REFIT_STAY;
	if (verdict == COP_PROMOTION_TEST_WORSE)
		return COP_REFIT_RETIRE;
	return promoted ? COP_REFIT_ROLLBACK : COP_REFIT_PROMOTE;
}

cop_refit_due cop_refit_is_due(const cop_refit_standing *s)
{
	if (s->fresh == 0)
		return COP_REFIT_FEW;
	if (s->asked)
		return COP_REFIT_ASKED;
	if (s->fresh < s->least_feedback)
		return COP_REFIT_FEW;
	if (s->paused)
		return COP_REFIT_PAUSED;
	if (s->resting)
		return COP_REFIT_RESTING;
	if (s->drifted)
		return COP_REFIT_DRIFT;
	if (s->early)
		return COP_REFIT_EARLY;
	return s->trial ? COP_REFIT_TRIAL : COP_REFIT_SCHEDULE;
}

bool cop_refit_begins(cop_refit_due due) { return due >= COP_REFIT_ASKED; }

double cop_refit_rested(double began, double processor_seconds, double share)
{
	return began + processor_seconds / share;
}

bool cop_refit_on_trial(
        cop_promotion_test_verdict verdict, uint64_t since, uint64_t learned, uint64_t window, uint64_t least_feedback)
{
	double patience = fmax(fmin((double)learned, (double)window), (double)least_feedback);
	return verdict == COP_PROMOTION_TEST_OPEN && (double)since < patience;
}
