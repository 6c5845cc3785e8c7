/* One row for each learner. A negative figure: the learner has no such setting. */
#include "learn/learner_defaults.h"

#include <string.h>

static const struct {
	const char *learner, *policy;
	double epsilon;
	double gamma, squarecb; /* of the other policies, and of squarecb */
	double optimism;
	unsigned height[2]; /* dense, sparse */
	size_t trees[2];
	double rate;
	double delta; /* share of the value range */
} table[] = {
	{ "ensemble", "matching", 0.1, 60, 100, 0.3, { 4, 4 }, { 4, 8 }, 1, 0 },
	{ "rank", "fastcb", 0.1, 400, 60, 0.1, { 5, 4 }, { 16, 8 }, 1, 0 },
	{ "dgt", "epsilon", 0.3, 30, 30, -1, { 6, 6 }, { 1, 1 }, 1e-3, 0 },
	{ "ridge", "fastcb", 0.1, 60, 100, -1, { 1, 1 }, { 0, 0 }, 1, 0 },
	/* Deeper trees fit the noise of a few thousand contexts. */
	{ "value", "", -1, -1, -1, -1, { 3, 3 }, { 16, 16 }, 1, 0.1 },
	{ "trained", "", -1, -1, -1, -1, { 0, 0 }, { 0, 0 }, 0, 0 },
	{ "trained_value", "", -1, -1, -1, -1, { 0, 0 }, { 0, 0 }, 0, 0 },
};

void cop_learner_defaults_fill(cop_learner_settings *s)
{
	size_t i = 0;
	while (i < sizeof table / sizeof *table && strcmp(table[i].learner, s->learner) != 0)
		i++;
	if (i == sizeof table / sizeof *table)
		return;
	cop_policy_settings *e = &s->exploration;
	bool sparse = s->features == 0;
	if (s->policy[0] == '\0')
		strcpy(s->policy, table[i].policy);
	if (e->epsilon < 0.0)
		e->epsilon = table[i].epsilon;
	if (e->gamma <= 0.0 && table[i].gamma > 0.0)
		e->gamma = strcmp(s->policy, "squarecb") == 0 ? table[i].squarecb : table[i].gamma;
	if (e->optimism < 0.0)
		e->optimism = table[i].optimism;
	if (e->shares.least_propensity < 0.0)
		e->shares.least_propensity = cop_learner_least_propensity(s);
	if (s->height == 0)
		s->height = table[i].height[sparse];
	/* dgt has one, ridge none. */
	if (s->trees == COP_LEARNER_DEFAULT_TREES || strcmp(s->learner, "dgt") == 0 || strcmp(s->learner, "ridge") == 0)
		s->trees = table[i].trees[sparse];
	if (s->learning_rate == 0.0)
		s->learning_rate = table[i].rate;
	if (s->delta == 0.0)
		s->delta = table[i].delta;
}
