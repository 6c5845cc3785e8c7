/* Parts that a learner is made of know their own; the rest follows the learners' allocations. */
#include "learn/footprint.h"

#include <string.h>

#include "learn/additive.h"
#include "learn/standardiser.h"

/* Splits and leaf values, each with its gradient and RMSprop's mean square; the optimisers' and accumulators' lists of
 * rows. */
static double dgt(const cop_learner_settings *s, size_t inputs)
{
	double leaves = (double)((size_t)1 << s->height);
	double splits = (double)inputs * (double)cop_kernel_pad((size_t)leaves);
	double rows = (double)inputs + (double)s->arms;
	return 3.0 * sizeof(float) * (splits + (double)s->arms * leaves) +
	       rows * (sizeof(uint64_t) + sizeof(uint32_t) + sizeof(uint8_t));
}

static double additive(const cop_learner_settings *s, size_t inputs, size_t outputs)
{
	cop_additive_settings settings = {
		.inputs = inputs, .outputs = outputs, .trees = s->trees, .height = s->height
	};
	return cop_additive_footprint(&settings);
}

static bool has_bins(const cop_learner_settings *s)
{
	return strcmp(s->learner, "value") == 0 && s->feedback == COP_VALUE_BINS;
}

static double explanations(const cop_learner_settings *s, size_t count)
{
	size_t tree = sizeof(cop_explained_tree) + s->height * sizeof(cop_explained_node);
	bool ranks = strcmp(s->learner, "rank") == 0;
	size_t trees = ranks ? 2 * s->trees : has_bins(s) ? 0 : s->trees; /* two of its scorers have them */
	size_t scores = ranks ? s->max_candidates * sizeof(float) : 0;
	return (double)count * (double)(sizeof(cop_explanation) + trees * tree + scores);
}

double cop_footprint(const cop_learner_settings *s, size_t explain_keep)
{
	size_t d = cop_learner_dimension(s);
	size_t inputs = d + 1;
	bool sparse = s->features == 0;
	if (strcmp(s->learner, "rank") == 0)
		return cop_rank_footprint(s) + explanations(s, explain_keep);
	double sum = cop_standardiser_footprint(d, sparse, s->max_nonzeros) + explanations(s, explain_keep);
	if (strcmp(s->learner, "dgt") == 0)
		return sum + dgt(s, inputs);
	if (has_bins(s))
		return sum + cop_bins_learner_footprint(s);
	if (strcmp(s->learner, "value") == 0)
		return sum + additive(s, inputs, 1);
	return sum + cop_ensemble_footprint(s);
}
