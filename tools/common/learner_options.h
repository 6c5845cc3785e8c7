/* tools/common/learner_options.h: the options that say how a model learns and explores, as simulate and replay take
 * them.
 *
 * A subcommand puts COP_LEARNER_OPTION_ROWS into its table for getopt_long, hands those options here, and asks once all
 * are read whether they go together. `--compare` reads them from a text. One thread. */
#ifndef COP_TOOLS_COMMON_LEARNER_OPTIONS_H
#define COP_TOOLS_COMMON_LEARNER_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>

#include "learn/learner.h"

/* getopt_long's numbers of these options. */
enum {
	COP_LEARNER_FIRST = 1000,
	COP_LEARNER_NAME = COP_LEARNER_FIRST,
	COP_LEARNER_POLICY,
	COP_LEARNER_EPSILON,
	COP_LEARNER_EPSILON_DECAY,
	COP_LEARNER_EPSILON_FLOOR,
	COP_LEARNER_GAMMA,
	COP_LEARNER_OPTIMISM,
	COP_LEARNER_LEAST,
	COP_LEARNER_SHARE_MIN,
	COP_LEARNER_SHARE_MAX,
	COP_LEARNER_CHOICE,
	COP_LEARNER_HEIGHT,
	COP_LEARNER_TREES,
	COP_LEARNER_RATE,
	COP_LEARNER_LITERAL,
	COP_LEARNER_END
};

/* clang-format off */
#define COP_LEARNER_OPTION_ROWS \
	{ "learner", required_argument, NULL, COP_LEARNER_NAME }, \
	{ "policy", required_argument, NULL, COP_LEARNER_POLICY }, \
	{ "epsilon", required_argument, NULL, COP_LEARNER_EPSILON }, \
	{ "epsilon-decay", required_argument, NULL, COP_LEARNER_EPSILON_DECAY }, \
	{ "epsilon-floor", required_argument, NULL, COP_LEARNER_EPSILON_FLOOR }, \
	{ "gamma", required_argument, NULL, COP_LEARNER_GAMMA }, \
	{ "optimism", required_argument, NULL, COP_LEARNER_OPTIMISM }, \
	{ "least-propensity", required_argument, NULL, COP_LEARNER_LEAST }, \
	{ "share-min", required_argument, NULL, COP_LEARNER_SHARE_MIN }, \
	{ "share-max", required_argument, NULL, COP_LEARNER_SHARE_MAX }, \
	{ "experts", required_argument, NULL, COP_LEARNER_CHOICE }, \
	{ "height", required_argument, NULL, COP_LEARNER_HEIGHT }, \
	{ "trees", required_argument, NULL, COP_LEARNER_TREES }, \
	{ "rate", required_argument, NULL, COP_LEARNER_RATE }, \
	{ "literal", no_argument, NULL, COP_LEARNER_LITERAL }

/* What --help says of the options from --epsilon to --experts. */
#define COP_LEARNER_EXPLORATION_HELP \
	"  --epsilon E          policy epsilon: share of decisions that explore, 0 to 1\n" \
	"                       (default 0.1; dgt 0.3)\n" \
	"  --epsilon-decay D    policy epsilon: of decision t it is E / sqrt(1 + D t), 0\n" \
	"                       to 1 (default 0)\n" \
	"  --epsilon-floor F    policy epsilon: but not less than F (default 0)\n" \
	"  --gamma G            policies but epsilon: how fast exploration narrows\n" \
	"                       (default 60, squarecb 100; rank 400 and 60; dgt 30)\n" \
	"  --optimism O         ensemble, rank: how much is taken off a predicted loss\n" \
	"                       where little is known (default 0.3; rank 0.1)\n" \
	"  --least-propensity F every one of n eligible arms keeps at least F / n, 0 to\n" \
	"                       1 (default 0.004; policy epsilon and dgt 0)\n" \
	"  --share-min K=P,...  arm K keeps at least probability P where it is eligible;\n" \
	"                       not for rank\n" \
	"  --share-max K=P,...  arm K has at most probability P; not for rank\n" \
	"  --experts A,B,...    ensemble: of linear, trees, quadratic and forest, beside\n" \
	"                       the arms' averages (default: all that can help)\n"
/* clang-format on */

typedef struct cop_learner_options {
	const char *command;           /* for complaints */
	const char *const *learners;   /* names allowed, NULL at the end */
	cop_learner_settings settings; /* as given so far */
	bool given[COP_LEARNER_END - COP_LEARNER_FIRST];
	struct cop_refit_options *refits; /* kept; NULL: the command makes none */
	bool *skyline;                    /* kept; NULL: the command knows none (tools/common/settings_text.h) */
} cop_learner_options;

/* Nothing given, every setting at its default. learners is kept. */
void cop_learner_options_init(cop_learner_options *options, const char *command, const char *const *learners);
static inline bool cop_learner_options_has(int option)
{
	return option >= COP_LEARNER_FIRST && option < COP_LEARNER_END;
}
static inline bool cop_learner_options_given(const cop_learner_options *options, int option)
{
	return options->given[option - COP_LEARNER_FIRST];
}
/* One of them was given. */
bool cop_learner_options_any(const cop_learner_options *options);
/* Takes an option in; on error says what was expected and returns false. */
bool cop_learner_options_read(cop_learner_options *options, int option, const char *text);
/* The option of that name (without dashes; length characters), 0 when there is none. */
int cop_learner_options_find(const char *name, size_t length, bool *takes_argument);
/* What does not go together, or NULL. foreign_policy: the policy is somebody else's (a daemon's), whatever the options
 * say. */
const char *cop_learner_options_wrong(const cop_learner_options *options, bool foreign_policy);

#endif
