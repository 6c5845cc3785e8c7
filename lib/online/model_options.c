/* The table, and what follows from an option's bits. Limits are what memory and the formats bear, not advice. */
#include "online/model_options.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "learn/learner_defaults.h"

const char *const cop_model_options_learners[] = { "ensemble", "dgt", "value", "rank", "trained", "trained_value",
	"ridge", NULL };
const char *const cop_model_options_policies[] = { "epsilon", "squarecb", "fastcb", "matching", NULL };
static const char *const rewards[] = { "earliest", "last", "sum", "first", NULL };
static const char *const none[] = { "none", NULL };
static const char *const baselines[] = { "uniform", "caller", NULL };

#define IN(member)             .offset = offsetof(cop_model_settings, member)
#define L(member)              IN(learner.member)
#define X(member)              IN(learner.exploration.member)
#define OF(who)                .learners = COP_SETTING_OF_##who
#define WITHIN(from, to)       .low = from, .high = to
#define ON_LINE(option, value) .line = option, .argument = value
#define LIVE                   .flags = COP_SETTING_IS_LIVE
#define SAVED                  .flags = COP_SETTING_IS_SAVED
#define SHAPE                  .flags = COP_SETTING_IS_SAVED | COP_SETTING_IS_SHAPE
#define SAVED_LIVE             .flags = COP_SETTING_IS_SAVED | COP_SETTING_IS_LIVE
#define SAVED_ARMED            .flags = COP_SETTING_IS_SAVED | COP_SETTING_IS_LIVE | COP_SETTING_IS_ARMED
#define QUIETLY                (COP_SETTING_IS_SAVED | COP_SETTING_IS_LIVE | COP_SETTING_IS_QUIET)
#define QUIET                  .flags = QUIETLY
#define QUIET_ARMED            .flags = QUIETLY | COP_SETTING_IS_ARMED
#define EPSILON                .policies = 1u
#define GAMMA                  .policies = 14u /* all others */
#define MILLISECOND            1e3
#define DAY                    (86400 * 1e6)
#define KIB                    1024.0
#define TIB                    (KIB * KIB * KIB * KIB)

/* clang-format off */
const cop_setting cop_model_options[] = {
	{ "learner", COP_SETTING_NAME, L(learner), .words = cop_model_options_learners, OF(ALL),
		ON_LINE("learner", "NAME"),
		.text = "how the model learns (value: actions are numbers; rank: actions are candidates with features "
		        "of their own)" },
	{ "features", COP_SETTING_WHOLE, L(features), WITHIN(0, COP_LEARNER_MAX_FEATURES), OF(ALL), SHAPE,
		.text = "number of features of a context; 0: sparse contexts, whose features have names" },
	{ "arms", COP_SETTING_WHOLE, L(arms), WITHIN(2, COP_LEARNER_MAX_ARMS), OF(CLASSES), SHAPE,
		.text = "number of arms, the actions to choose from" },
	{ "bits", COP_SETTING_COUNT, L(bits), WITHIN(1, COP_LEARNER_MAX_BITS), OF(LEARNING), SHAPE,
		.text = "sparse contexts: names are hashed to 2^bits columns" },
	{ "max_nonzeros", COP_SETTING_WHOLE, L(max_nonzeros), WITHIN(1, COP_LEARNER_MAX_NONZEROS), OF(LEARNING), SAVED,
		.text = "most features of a sparse context; one with more is refused" },
	{ "max_candidates", COP_SETTING_WHOLE, L(max_candidates), WITHIN(1, 100000), OF(LEARNING), SAVED,
		.text = "rank: most candidates of a context, at most 10000; one with more is refused" },
	{ "candidate_features", COP_SETTING_WHOLE, L(candidate_features), WITHIN(0, COP_LEARNER_MAX_FEATURES),
		OF(RANK), SHAPE,
		.text = "number of features of a candidate; with features = 0, candidates are sparse and this is 0" },
	{ "policy", COP_SETTING_NAME, L(policy), .words = cop_model_options_policies, OF(POLICY), SAVED,
		ON_LINE("policy", "NAME"), .text = "how the model explores (matching: ensemble only)" },
	{ "epsilon", COP_SETTING_NUMBER, X(epsilon), WITHIN(0, 1), OF(POLICY), EPSILON, SAVED_LIVE,
		ON_LINE("epsilon", "E"), .text = "share of decisions that explore, each arm equally likely" },
	{ "epsilon_decay", COP_SETTING_NUMBER, X(epsilon_decay), WITHIN(0, COP_LEARNER_MAX_EPSILON_DECAY), OF(POLICY),
		EPSILON, SAVED_LIVE, ON_LINE("epsilon-decay", "D"),
		.text = "the share shrinks to E / sqrt(1 + D t) at decision t" },
	{ "epsilon_floor", COP_SETTING_NUMBER, X(epsilon_floor), WITHIN(0, 1), OF(POLICY), EPSILON, SAVED_LIVE,
		ON_LINE("epsilon-floor", "F"), .text = "the share stays at F or above" },
	{ "gamma", COP_SETTING_NUMBER, X(gamma), WITHIN(1e-6, 1e9), OF(POLICY), GAMMA, SAVED_LIVE,
		ON_LINE("gamma", "G"), .text = "the greater G, the sooner the model keeps to the best predicted arm" },
	{ "explore_first", COP_SETTING_WHOLE, X(first), WITHIN(0, 1e9), OF(POLICY), QUIET,
		ON_LINE("explore-first", "N"), .text = "in the first N decisions each eligible arm is equally likely" },
	{ "optimism", COP_SETTING_NUMBER, X(optimism), WITHIN(0, 1000),
		.learners = COP_SETTING_OF_ENSEMBLE | COP_SETTING_OF_RANK,
		SAVED_LIVE, ON_LINE("optimism", "O"),
		.text = "how much the model prefers arms that it knows little of, by lowering their predicted losses" },
	{ "least_propensity", COP_SETTING_NUMBER, X(shares.least_propensity), WITHIN(0, 1), OF(POLICY), SAVED_LIVE,
		ON_LINE("least-propensity", "F"), .text = "each of n eligible arms keeps probability F / n or more" },
	{ "share_min", COP_SETTING_SHARES, X(shares.min), OF(ARMS), SAVED_ARMED, ON_LINE("share-min", "K=P,..."),
		.text = "arm K keeps probability P or more where it is eligible" },
	{ "share_max", COP_SETTING_SHARES, X(shares.max), OF(ARMS), SAVED_ARMED, ON_LINE("share-max", "K=P,..."),
		.text = "arm K has probability P or less" },
	{ "experts", COP_SETTING_WORDS, L(experts), .words = cop_learner_expert_names, OF(ENSEMBLE), SHAPE,
		ON_LINE("experts", "A,B,..."), .text = "experts that take part beside the arms' averages" },
	{ "height", COP_SETTING_COUNT, L(height), WITHIN(1, COP_LEARNER_MAX_HEIGHT), OF(LEARNING), SHAPE,
		ON_LINE("height", "H"), .text = "height of each oblique tree (ensemble, rank: at most 8)" },
	{ "trees", COP_SETTING_WHOLE, L(trees), WITHIN(0, COP_LEARNER_MAX_TREES),
		.learners = COP_SETTING_OF_ENSEMBLE | COP_SETTING_OF_VALUE | COP_SETTING_OF_RANK, SHAPE,
		ON_LINE("trees", "M"), .text = "number of oblique trees" },
	{ "learning_rate", COP_SETTING_NUMBER, L(learning_rate), WITHIN(1e-9, COP_LEARNER_MAX_RATE),
		OF(LEARNING), SAVED,
		ON_LINE("rate", "R"),
		.text = "learning rate (dgt: the step size; others: a factor on their step sizes)" },
	{ "seed", COP_SETTING_WHOLE, L(seed), WITHIN(0, 0x1p64),
		.learners = COP_SETTING_OF_LEARNING | COP_SETTING_OF_RIDGE, SAVED,
		.text = "start of all random draws of the model" },
	{ "reward_window", COP_SETTING_SECONDS, IN(reward_window), WITHIN(MILLISECOND, 365 * DAY), OF(ALL), LIVE,
		.text = "how long a decision waits for its feedback" },
	{ "default_loss", COP_SETTING_MAYBE, IN(has_default_loss), WITHIN(-(double)INFINITY, (double)INFINITY),
		.words = none, OF(ALL), LIVE,
		.text = "loss that is learned when the window ends without feedback; none: the decision is dropped" },
	{ "reward", COP_SETTING_WORD, IN(reward), .words = rewards, OF(ALL), LIVE,
		.text = "which feedback counts when a decision gets several" },
	{ "loss_range", COP_SETTING_RANGE, IN(loss_low), WITHIN(-1e100, 1e100), OF(ALL), SHAPE,
		.text = "least and greatest loss; value takes any loss, and uses the range as a scale" },
	{ "value_range", COP_SETTING_RANGE, IN(value_low), WITHIN(-1e100, 1e100), OF(VALUE), SHAPE,
		.text = "least and greatest value that may be played" },
	{ "delta", COP_SETTING_NUMBER, L(delta), WITHIN(1e-102, 1e100), OF(VALUE), SHAPE,
		.text = "distance of a probe from the value of the model, in the unit of value_range; by default a "
		"tenth of that range" },
	{ "delta_decay", COP_SETTING_NUMBER, L(delta_decay), WITHIN(0, COP_LEARNER_MAX_EPSILON_DECAY), OF(VALUE), SHAPE,
		.text = "the distance shrinks to delta / (1 + delta_decay t)^(1/4) after t losses" },
	{ "delta_floor", COP_SETTING_NUMBER, L(delta_floor), WITHIN(0, 1e100), OF(VALUE), SHAPE,
		.text = "the distance stays at this or above, in the unit of value_range" },
	{ "feedback", COP_SETTING_WORD, L(feedback), .words = cop_value_feedback_words, OF(VALUE), SHAPE,
		.text = "what is played: a value drawn from bins, or one or two probes beside the value of the model" },
	{ "shared_bias", COP_SETTING_UNLESS, L(literal), OF(DGT), SHAPE, ON_LINE("literal", NULL),
		.text = "without the bias that all leaves share (shared_bias = false), as in Algorithm 1 of the "
		        "paper" },
	{ "holdout", COP_SETTING_NUMBER, IN(holdout), WITHIN(0, 0.99), OF(POLICY), QUIET,
		.text = "share of units that get the baseline in place of the policy, as a control group" },
	{ "baseline", COP_SETTING_MAYBE, IN(has_baseline), WITHIN(0, COP_LEARNER_MAX_ARMS - 1), .words = baselines,
		OF(POLICY), QUIET_ARMED,
		.text = "what the control group gets; uniform: each arm equally likely; a number: always that arm, "
		"or the candidate at that place; caller: what the caller sends" },
	{ "conservative", COP_SETTING_NUMBER, IN(conservative), WITHIN(0, 1e100), OF(POLICY), QUIET,
		.text = "by how much the mean loss may be above the baseline's, as a share of loss_range; beyond, "
		"the baseline decides; 0: no bound" },
	{ "losses", COP_SETTING_WEIGHTS, IN(losses.weights), OF(POLICY), QUIET,
		.text = "names of the losses of a decision; the sum of WEIGHT times loss is learned, a name without "
		"WEIGHT is only reported" },
	{ "loss_ranges", COP_SETTING_RANGES, IN(losses.ranges), OF(POLICY), QUIET,
		.text = "least and greatest loss of a name; without them 0 and 1" },
	{ "apprentice", COP_SETTING_OTHER, .learners = COP_SETTING_OF_LEARNING | COP_SETTING_OF_RIDGE, LIVE,
		.text = "true: an existing system decides, and the model learns from its decisions" },
	{ "pending_max", COP_SETTING_WHOLE, IN(pending_max), WITHIN(1, 100000000), OF(ALL), LIVE,
		.text = "most decisions that wait for feedback; when there are more, the oldest ends at once" },
	{ "pending_bytes", COP_SETTING_SIZE, IN(pending_bytes), WITHIN(64 * KIB, TIB), OF(ALL), LIVE,
		.text = "most memory of decisions that wait for feedback; when they need more, the oldest end at "
		        "once" },
	{ "unheard", COP_SETTING_OTHER, OF(ALL), LIVE,
		.text = "what becomes of contexts on streams while nobody subscribes to the model's actions" },
	{ "unheard_max", COP_SETTING_OTHER, OF(ALL), LIVE,
		.text = "most contexts that wait for a subscriber; when there are more, the oldest are dropped" },
	{ "unheard_bytes", COP_SETTING_OTHER, OF(ALL), LIVE,
		.text = "most memory of contexts that wait for a subscriber" },
	{ "unheard_age", COP_SETTING_OTHER, OF(ALL), LIVE,
		.text = "longest time that a context waits for a subscriber" },
	{ "memory", COP_SETTING_OTHER, OF(ALL), .flags = COP_SETTING_IS_LIVE | COP_SETTING_IS_QUIET,
		.text = "most memory of the model and of all that waits for it; 0B: no bound" },
	{ "rate", COP_SETTING_OTHER, OF(ALL), .flags = COP_SETTING_IS_LIVE | COP_SETTING_IS_QUIET,
		.text = "most contexts and feedback that the model takes in a second; 0: no bound" },
	{ "explain_keep", COP_SETTING_WHOLE, IN(explain_keep), WITHIN(0, 65536), OF(ALL), LIVE,
		.text = "number of newest decisions whose explanation is kept as it was when they were made" },
	{ "names_bytes", COP_SETTING_OTHER, OF(LEARNING), LIVE,
		.text = "sparse contexts: most memory for names of features, which explanations show; 0B: none" },
	{ "feature_names", COP_SETTING_OTHER, OF(ALL), LIVE, .text = "file with the name of each feature, one a line" },
	{ "candidate_names", COP_SETTING_OTHER, OF(RANK), LIVE,
		.text = "file with the name of each feature of a candidate, one a line" },
	{ "arm_names", COP_SETTING_OTHER, OF(CLASSES), LIVE, .text = "file with the name of each arm, one a line" },
	{ "start_from", COP_SETTING_OTHER, OF(ALL),
		.text = "file of a saved model, with which this one begins unless a checkpoint holds it" },
	{ .name = NULL },
};
/* clang-format on */

_Static_assert(offsetof(cop_model_settings, loss_high) == offsetof(cop_model_settings, loss_low) + sizeof(double),
        "a range is two doubles");
_Static_assert(offsetof(cop_model_settings, value_high) == offsetof(cop_model_settings, value_low) + sizeof(double),
        "a range is two doubles");
_Static_assert(offsetof(cop_model_settings, default_loss) ==
                       offsetof(cop_model_settings, has_default_loss) + offsetof(cop_setting_maybe, value),
        "a flag and its number");
_Static_assert(offsetof(cop_model_settings, baseline) ==
                       offsetof(cop_model_settings, has_baseline) + offsetof(cop_setting_maybe, value),
        "a flag and its number");
_Static_assert(sizeof(cop_reward_rule) == sizeof(unsigned), "enums are moved as unsigned");

const cop_setting *cop_model_options_find(const char *name)
{
	const cop_setting *option = cop_model_options;
	while (option->name != NULL && strcmp(option->name, name) != 0)
		option++;
	return option->name != NULL ? option : NULL;
}

/* A bit for the word's place; 0: it is none of them. */
static unsigned bit_of(const char *word, const char *const *words)
{
	for (unsigned i = 0; words[i] != NULL; i++)
		if (strcmp(words[i], word) == 0)
			return 1u << i;
	return 0;
}

unsigned cop_model_options_learner(const cop_model_settings *settings)
{
	return bit_of(settings->learner.learner, cop_model_options_learners);
}

bool cop_model_options_is_of_probes(const cop_setting *option)
{
	static const char *const names[] = { "delta", "delta_decay", "delta_floor", "height", "trees", "learning_rate",
		NULL };
	return bit_of(option->name, names) != 0;
}

bool cop_model_options_has_policy(const cop_model_settings *settings, const cop_setting *option)
{
	return option->policies == 0 ||
	       (option->policies & bit_of(settings->learner.policy, cop_model_options_policies)) != 0;
}

bool cop_model_options_has(const cop_model_settings *settings, const cop_setting *option)
{
	unsigned learner = cop_model_options_learner(settings);
	bool bins = learner == COP_SETTING_OF_VALUE && settings->learner.feedback == COP_VALUE_BINS;
	return (option->learners & learner) == learner && cop_model_options_has_policy(settings, option) &&
	       !(bins && cop_model_options_is_of_probes(option));
}

void cop_model_options_fill(cop_model_settings *settings)
{
	cop_policy_settings *e = &settings->learner.exploration;
	cop_learner_defaults_fill(&settings->learner);
	e->epsilon = fmax(e->epsilon, 0.0);
	e->gamma = fmax(e->gamma, 0.0);
	e->optimism = fmax(e->optimism, 0.0);
}

/* ---- defaults in words ---- */

/* What a default may hang on, beside the learner. */
enum { PLAIN, SPARSE, SQUARECB, EPSILON_POLICY, VARIANTS };

static void fill_variant(unsigned learner, int variant, cop_model_settings *s)
{
	cop_learner_settings *l = &s->learner;
	cop_model_settings_init(s);
	strcpy(l->learner, cop_model_options_learners[learner]);
	l->features = variant != SPARSE;
	if (variant == SQUARECB || variant == EPSILON_POLICY)
		strcpy(l->policy, variant == SQUARECB ? "squarecb" : "epsilon");
	cop_model_options_fill(s);
}

static void put(cop_bytes *out, const char *text) { cop_bytes_put(out, text, strlen(text)); }

/* "5, sparse 4": what differs from the learner's plain default is named. */
static void put_variants(const cop_setting *o, unsigned learner, cop_bytes *out)
{
	static const char *const names[VARIANTS] = { "", ", sparse ", ", squarecb ", ", policy epsilon " };
	cop_model_settings plain, other;
	fill_variant(learner, PLAIN, &plain);
	cop_setting_print(o, o->kind == COP_SETTING_RANGE ? &cop_setting_in_file : &cop_setting_on_line, &plain, out);
	for (int i = SPARSE; i < VARIANTS; i++) {
		fill_variant(learner, i, &other);
		bool has =
		        cop_model_options_has_policy(&other, o) && (i == SPARSE || learner != 2); /* value has none */
		if (!has || o->kind == COP_SETTING_NAME || cop_setting_equal(o, &plain, &other))
			continue;
		put(out, names[i]);
		cop_setting_print(o, &cop_setting_on_line, &other, out);
	}
}

void cop_model_options_default(const cop_setting *o, unsigned learners, cop_bytes *out)
{
	cop_bytes first, next;
	unsigned set = learners & o->learners;
	if ((o->kind >= COP_SETTING_SHARES && o->kind <= COP_SETTING_OTHER) || set == 0)
		return;
	if (o->kind == COP_SETTING_WORDS || strcmp(o->name, "learner") == 0) {
		put(out, o->kind == COP_SETTING_WORDS ? "all that can help" : cop_model_options_learners[0]);
		return;
	}
	cop_bytes_init(&first);
	cop_bytes_init(&next);
	for (unsigned i = 0; cop_model_options_learners[i] != NULL; i++) {
		if ((set >> i & 1u) == 0)
			continue;
		cop_bytes *at = first.length == 0 ? &first : &next;
		next.length = 0;
		put_variants(o, i, at);
		if (at == &next && next.length == first.length && memcmp(next.data, first.data, next.length) == 0)
			continue;
		put(out, at == &next ? "; " : "");
		put(out, at == &next ? cop_model_options_learners[i] : "");
		put(out, at == &next ? " " : "");
		cop_bytes_put(out, at->data, at->length);
	}
	cop_bytes_fini(&first);
	cop_bytes_fini(&next);
}
