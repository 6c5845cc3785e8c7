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
#define QUIET                  .flags = COP_SETTING_IS_SAVED | COP_SETTING_IS_LIVE | COP_SETTING_IS_QUIET
#define QUIET_ARMED            .flags = COP_SETTING_IS_SAVED | COP_SETTING_IS_LIVE | COP_SETTING_IS_QUIET | COP_SETTING_IS_ARMED
#define EPSILON                .policies = 1u
#define GAMMA                  .policies = 14u /* all others */
#define MILLISECOND            1e3
#define DAY                    (86400 * 1e6)
#define KIB                    1024.0
#define TIB                    (KIB * KIB * KIB * KIB)

/* clang-format off */
const cop_setting cop_model_options[] = {
	{ "learner", COP_SETTING_NAME, L(learner), .words = cop_model_options_learners, OF(ALL),
		ON_LINE("learner", "NAME"), .text = "what learns; rank chooses among candidates that have features of their own, "
		"value plays numbers" },
	{ "features", COP_SETTING_WHOLE, L(features), WITHIN(0, COP_LEARNER_MAX_FEATURES), OF(ALL), SHAPE,
		.text = "number of a context's features; 0: sparse, by name" },
	{ "arms", COP_SETTING_WHOLE, L(arms), WITHIN(2, COP_LEARNER_MAX_ARMS), OF(CLASSES), SHAPE,
		.text = "number of actions" },
	{ "bits", COP_SETTING_COUNT, L(bits), WITHIN(1, COP_LEARNER_MAX_BITS), OF(LEARNING), SHAPE,
		.text = "sparse: features are hashed to 2^bits places" },
	{ "max_nonzeros", COP_SETTING_WHOLE, L(max_nonzeros), WITHIN(1, COP_LEARNER_MAX_NONZEROS), OF(LEARNING), SAVED,
		.text = "sparse: most features of a context" },
	{ "max_candidates", COP_SETTING_WHOLE, L(max_candidates), WITHIN(1, 100000), OF(LEARNING), SAVED,
		.text = "rank: most candidates of an event" },
	{ "candidate_features", COP_SETTING_WHOLE, L(candidate_features), WITHIN(0, COP_LEARNER_MAX_FEATURES),
		OF(RANK), SHAPE, .text = "number of a candidate's features, where contexts are not sparse" },
	{ "policy", COP_SETTING_NAME, L(policy), .words = cop_model_options_policies, OF(POLICY), SAVED,
		ON_LINE("policy", "NAME"), .text = "how it explores; matching is of ensemble alone" },
	{ "epsilon", COP_SETTING_NUMBER, X(epsilon), WITHIN(0, 1), OF(POLICY), EPSILON, SAVED_LIVE,
		ON_LINE("epsilon", "E"), .text = "share of decisions that explore" },
	{ "epsilon_decay", COP_SETTING_NUMBER, X(epsilon_decay), WITHIN(0, COP_LEARNER_MAX_EPSILON_DECAY), OF(POLICY),
		EPSILON, SAVED_LIVE, ON_LINE("epsilon-decay", "D"), .text = "of decision t it is E / sqrt(1 + D t)" },
	{ "epsilon_floor", COP_SETTING_NUMBER, X(epsilon_floor), WITHIN(0, 1), OF(POLICY), EPSILON, SAVED_LIVE,
		ON_LINE("epsilon-floor", "F"), .text = "but not less than F" },
	{ "gamma", COP_SETTING_NUMBER, X(gamma), WITHIN(1e-6, 1e9), OF(POLICY), GAMMA, SAVED_LIVE,
		ON_LINE("gamma", "G"), .text = "how fast exploration narrows" },
	{ "explore_first", COP_SETTING_WHOLE, X(first), WITHIN(0, 1e9), OF(POLICY), QUIET,
		ON_LINE("explore-first", "N"), .text = "the first N decisions are drawn evenly" },
	{ "optimism", COP_SETTING_NUMBER, X(optimism), WITHIN(0, 1000), .learners = COP_SETTING_OF_ENSEMBLE | COP_SETTING_OF_RANK,
		SAVED_LIVE, ON_LINE("optimism", "O"), .text = "how much is taken off a predicted loss where little is known" },
	{ "least_propensity", COP_SETTING_NUMBER, X(shares.least_propensity), WITHIN(0, 1), OF(POLICY), SAVED_LIVE,
		ON_LINE("least-propensity", "F"), .text = "every one of n eligible arms keeps at least F / n" },
	{ "share_min", COP_SETTING_SHARES, X(shares.min), OF(ARMS), SAVED_ARMED, ON_LINE("share-min", "K=P,..."),
		.text = "arm K keeps at least probability P where it is eligible" },
	{ "share_max", COP_SETTING_SHARES, X(shares.max), OF(ARMS), SAVED_ARMED, ON_LINE("share-max", "K=P,..."),
		.text = "arm K has at most probability P" },
	{ "experts", COP_SETTING_WORDS, L(experts), .words = cop_learner_expert_names, OF(ENSEMBLE), SHAPE,
		ON_LINE("experts", "A,B,..."), .text = "which take part beside the arms' averages" },
	{ "height", COP_SETTING_COUNT, L(height), WITHIN(1, COP_LEARNER_MAX_HEIGHT), OF(LEARNING), SHAPE,
		ON_LINE("height", "H"), .text = "of the oblique trees, for ensemble and rank at most 8" },
	{ "trees", COP_SETTING_WHOLE, L(trees), WITHIN(0, COP_LEARNER_MAX_TREES),
		.learners = COP_SETTING_OF_ENSEMBLE | COP_SETTING_OF_VALUE | COP_SETTING_OF_RANK, SHAPE,
		ON_LINE("trees", "M"), .text = "number of oblique trees" },
	{ "learning_rate", COP_SETTING_NUMBER, L(learning_rate), WITHIN(1e-9, COP_LEARNER_MAX_RATE), OF(LEARNING), SAVED,
		ON_LINE("rate", "R"), .text = "learning rate: dgt's own, a factor for the others" },
	{ "seed", COP_SETTING_WHOLE, L(seed), WITHIN(0, 0x1p64), .learners = COP_SETTING_OF_LEARNING | COP_SETTING_OF_RIDGE, SAVED,
		.text = "of the model's start and its exploration" },
	{ "reward_window", COP_SETTING_SECONDS, IN(reward_window), WITHIN(MILLISECOND, 365 * DAY), OF(ALL), LIVE,
		.text = "how long a decision waits for its feedback" },
	{ "default_loss", COP_SETTING_MAYBE, IN(has_default_loss), WITHIN(-(double)INFINITY, (double)INFINITY), .words = none, OF(ALL),
		LIVE, .text = "what is learned when the window ends without feedback; none: nothing" },
	{ "reward", COP_SETTING_WORD, IN(reward), .words = rewards, OF(ALL), LIVE,
		.text = "which of several feedbacks counts" },
	{ "loss_range", COP_SETTING_RANGE, IN(loss_low), WITHIN(-1e100, 1e100), OF(ALL), SHAPE,
		.text = "losses lie in here; of values only the scale" },
	{ "value_range", COP_SETTING_RANGE, IN(value_low), WITHIN(-1e100, 1e100), OF(VALUE), SHAPE,
		.text = "values that are played lie in here" },
	{ "delta", COP_SETTING_NUMBER, L(delta), WITHIN(1e-102, 1e100), OF(VALUE), SHAPE,
		.text = "distance of the probes, in units of value_range; the default is for a range of 1" },
	{ "delta_decay", COP_SETTING_NUMBER, L(delta_decay), WITHIN(0, COP_LEARNER_MAX_EPSILON_DECAY), OF(VALUE), SHAPE,
		.text = "after t losses it is delta / (1 + delta_decay t)^(1/4)" },
	{ "delta_floor", COP_SETTING_NUMBER, L(delta_floor), WITHIN(0, 1e100), OF(VALUE), SHAPE,
		.text = "but not less than this" },
	{ "feedback", COP_SETTING_WORD, L(feedback), .words = cop_value_feedback_words, OF(VALUE), SHAPE,
		.text = "what is played: a draw from bins, or one or two probes" },
	{ "shared_bias", COP_SETTING_UNLESS, L(literal), OF(DGT), SHAPE, ON_LINE("literal", NULL),
		.text = "Algorithm 1 to the letter, without the shared leaf bias" },
	{ "holdout", COP_SETTING_NUMBER, IN(holdout), WITHIN(0, 0.99), OF(POLICY), QUIET,
		.text = "share of units, the control group, that the baseline decides for" },
	{ "baseline", COP_SETTING_MAYBE, IN(has_baseline), WITHIN(0, COP_LEARNER_MAX_ARMS - 1), .words = baselines,
		OF(POLICY), QUIET_ARMED,
		.text = "what the control group gets: an arm, or a candidate's place, evenly drawn, or what the caller sends" },
	{ "conservative", COP_SETTING_NUMBER, IN(conservative), WITHIN(0, 1e100), OF(POLICY), QUIET,
		.text = "by how much the mean loss may be above the baseline's, in units of loss_range; 0: no bound" },
	{ "losses", COP_SETTING_WEIGHTS, IN(losses.weights), OF(POLICY), QUIET,
		.text = "names of a decision's losses, of which the sum of WEIGHT times loss is learned; without WEIGHT: only reported" },
	{ "loss_ranges", COP_SETTING_RANGES, IN(losses.ranges), OF(POLICY), QUIET,
		.text = "between which a named loss lies; without it 0 and 1" },
	{ "apprentice", COP_SETTING_OTHER, .learners = COP_SETTING_OF_LEARNING | COP_SETTING_OF_RIDGE, LIVE,
		.text = "an existing system decides, and the model learns from that" },
	{ "pending_max", COP_SETTING_WHOLE, IN(pending_max), WITHIN(1, 100000000), OF(ALL), LIVE,
		.text = "decisions that may wait for feedback; the oldest gives way" },
	{ "pending_bytes", COP_SETTING_SIZE, IN(pending_bytes), WITHIN(64 * KIB, TIB), OF(ALL), LIVE,
		.text = "memory of decisions that wait; the oldest give way" },
	{ "unheard", COP_SETTING_OTHER, OF(ALL), LIVE, .text = "contexts on streams while nobody subscribes to actions" },
	{ "unheard_max", COP_SETTING_OTHER, OF(ALL), LIVE, .text = "of these contexts that may wait" },
	{ "unheard_bytes", COP_SETTING_OTHER, OF(ALL), LIVE, .text = "memory of these contexts" },
	{ "unheard_age", COP_SETTING_OTHER, OF(ALL), LIVE, .text = "how long such a context waits" },
	{ "memory", COP_SETTING_OTHER, OF(ALL), .flags = COP_SETTING_IS_LIVE | COP_SETTING_IS_QUIET, .text = "bytes that the model may take with all that waits; 0: no bound" },
	{ "rate", COP_SETTING_OTHER, OF(ALL), .flags = COP_SETTING_IS_LIVE | COP_SETTING_IS_QUIET, .text = "events in a second: contexts and feedback; 0: any number" },
	{ "explain_keep", COP_SETTING_WHOLE, IN(explain_keep), WITHIN(0, 65536), OF(ALL), LIVE,
		.text = "newest decisions whose explanation is kept from decide time" },
	{ "names_bytes", COP_SETTING_OTHER, OF(LEARNING), LIVE, .text = "sparse: memory of features' names" },
	{ "feature_names", COP_SETTING_OTHER, OF(ALL), LIVE, .text = "file with a name for each feature" },
	{ "candidate_names", COP_SETTING_OTHER, OF(RANK), LIVE, .text = "file with a name for each feature of candidates" },
	{ "arm_names", COP_SETTING_OTHER, OF(CLASSES), LIVE, .text = "file with a name for each arm" },
	{ "start_from", COP_SETTING_OTHER, OF(ALL), .text = "a saved model to begin with" },
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
	if (o->kind == COP_SETTING_WORDS || o->words == cop_model_options_learners) {
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
