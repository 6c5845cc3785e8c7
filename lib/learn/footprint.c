/* Parts that a learner is made of know their own; the rest follows the learners' allocations. */
#include "learn/footprint.h"

static double explanations(const cop_learner_settings *s, size_t count)
{
	const cop_learner_class *class = cop_learner_find(s->learner);
	size_t tree = sizeof(cop_explained_tree) + s->height * sizeof(cop_explained_node);
	bool bins = class->values && s->feedback == COP_VALUE_BINS;
	size_t trees = class->candidates ? 2 * s->trees : bins ? 0 : s->trees; /* two of its scorers have them */
	size_t scores = class->candidates ? s->max_candidates * sizeof(float) : 0;
	return (double)count * (double)(sizeof(cop_explanation) + trees * tree + scores);
}

double cop_footprint(const cop_learner_settings *settings, size_t explain_keep)
{
	return cop_learner_find(settings->learner)->footprint(settings) + explanations(settings, explain_keep);
}
