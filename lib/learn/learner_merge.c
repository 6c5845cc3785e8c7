/* Which learners can be merged, and how: those that are sums alone hand them out, and hear when they changed. */
#include "learn/learner.h"
#include "learn/sums.h"

const char *cop_learner_apart(const cop_learner_settings *settings)
{
	const cop_learner_class *class = cop_learner_find(settings->learner);
	return class == NULL ? "the learner, which is not known" : class->sums == NULL ? class->apart : NULL;
}

cop_sums *cop_learner_sums(cop_learner *learner)
{
	return learner->class->sums == NULL ? NULL : learner->class->sums(learner, false);
}

cop_err cop_learner_merge(cop_learner *learner, const cop_summary *summary)
{
	cop_sums *sums = cop_learner_sums(learner);
	cop_err err = sums == NULL ? COP_EINVAL : cop_sums_take(sums, summary);
	if (err == COP_OK)
		(void)learner->class->sums(learner, true);
	return err;
}
