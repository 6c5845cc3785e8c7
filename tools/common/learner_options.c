#include "learner_options.h"

#include <stdio.h>
#include <string.h>

#include "command.h"

static const struct option rows[] = { COP_LEARNER_OPTION_ROWS };

void cop_learner_options_init(cop_learner_options *options, const char *command, const char *const *learners)
{
	*options = (cop_learner_options){ .command = command, .learners = learners };
	cop_learner_settings_init(&options->settings);
}

bool cop_learner_options_any(const cop_learner_options *options)
{
	return memchr(options->given, 1, sizeof options->given) != NULL;
}

int cop_learner_options_find(const char *name, size_t length, bool *takes_argument)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (strlen(rows[i].name) == length && memcmp(rows[i].name, name, length) == 0) {
			*takes_argument = rows[i].has_arg == required_argument;
			return rows[i].val;
		}
	return 0;
}

/* Names divided by commas, or by + where commas divide whole settings. */
static bool read_experts(const char *command, const char *text, unsigned *experts)
{
	char word[16];
	size_t place = 0;
	*experts = 0;
	for (size_t length;; text += length + 1) {
		length = strcspn(text, ",+");
		(void)snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word), text);
		if (!cop_command_word(command, "--experts", word, cop_learner_expert_names, &place))
			return false;
		if ((*experts >> place & 1u) != 0) {
			cop_command_complain(command, "--experts: expected '%s' once", word);
			return false;
		}
		*experts |= 1u << place;
		if (text[length] == '\0')
			return true;
	}
}

/* "0=0.1,3=0.2", or by + as experts. The shares given last hold. */
static bool read_shares(const char *command, const char *option, const char *text, cop_arm_shares *shares)
{
	char word[64];
	*shares = (cop_arm_shares){ .count = 0 };
	for (size_t length;; text += length + 1) {
		length = strcspn(text, ",+");
		(void)snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word), text);
		const char *wrong = cop_shares_add(shares, word);
		if (wrong != NULL) {
			cop_command_complain(command, "%s: '%s': %s", option, word, wrong);
			return false;
		}
		if (text[length] == '\0')
			return true;
	}
}

bool cop_learner_options_read(cop_learner_options *options, int option, const char *text)
{
	static const char *const policies[] = { "epsilon", "squarecb", "fastcb", "matching", NULL };
	const char *name = options->command;
	cop_learner_settings *l = &options->settings;
	size_t place = 0;
	uint64_t whole = 0;
	bool ok;
	options->given[option - COP_LEARNER_FIRST] = true;
	switch (option) {
	case COP_LEARNER_NAME:
		ok = cop_command_word(name, "--learner", text, options->learners, &place);
		strcpy(l->learner, options->learners[place]);
		return ok;
	case COP_LEARNER_POLICY:
		ok = cop_command_word(name, "--policy", text, policies, &place);
		strcpy(l->policy, policies[place]);
		return ok;
	case COP_LEARNER_EPSILON:
		return cop_command_number(name, "--epsilon", text, 0.0, 1.0, &l->exploration.epsilon);
	case COP_LEARNER_EPSILON_DECAY:
		return cop_command_number(name, "--epsilon-decay", text, 0.0, COP_LEARNER_MAX_EPSILON_DECAY,
		        &l->exploration.epsilon_decay);
	case COP_LEARNER_EPSILON_FLOOR:
		return cop_command_number(name, "--epsilon-floor", text, 0.0, 1.0, &l->exploration.epsilon_floor);
	case COP_LEARNER_OPTIMISM:
		return cop_command_number(name, "--optimism", text, 0.0, 1000.0, &l->exploration.optimism);
	case COP_LEARNER_LEAST:
		return cop_command_number(
		        name, "--least-propensity", text, 0.0, 1.0, &l->exploration.shares.least_propensity);
	case COP_LEARNER_SHARE_MIN:
		return read_shares(name, "--share-min", text, &l->exploration.shares.min);
	case COP_LEARNER_SHARE_MAX:
		return read_shares(name, "--share-max", text, &l->exploration.shares.max);
	case COP_LEARNER_CHOICE:
		return read_experts(name, text, &l->experts);
	case COP_LEARNER_GAMMA:
		return cop_command_number(name, "--gamma", text, 1e-6, 1e9, &l->exploration.gamma);
	case COP_LEARNER_HEIGHT:
		ok = cop_command_whole(name, "--height", text, 1, COP_LEARNER_MAX_HEIGHT, &whole);
		l->height = (unsigned)whole;
		return ok;
	case COP_LEARNER_TREES:
		ok = cop_command_whole(name, "--trees", text, 0, COP_LEARNER_MAX_TREES, &whole);
		l->trees = (size_t)whole;
		return ok;
	case COP_LEARNER_RATE:
		return cop_command_number(name, "--rate", text, 1e-9, COP_LEARNER_MAX_RATE, &l->learning_rate);
	default:
		l->literal = true;
		return true;
	}
}

/* ---- what goes with what ---- */

static bool is(const cop_learner_options *o, const char *learner) { return strcmp(o->settings.learner, learner) == 0; }
static bool is_dgt(const cop_learner_options *o) { return is(o, "dgt"); }
static bool has_arms(const cop_learner_options *o) { return !is(o, "value"); }
static bool has_shares(const cop_learner_options *o) { return has_arms(o) && !is(o, "rank"); }
static bool has_trees(const cop_learner_options *o) { return !is_dgt(o); }
static bool is_low(const cop_learner_options *o)
{
	return is_dgt(o) || is(o, "value") || o->settings.height <= COP_LEARNER_MAX_ENSEMBLE_HEIGHT;
}

static bool is_policy(const cop_learner_options *o, const char *policy, bool otherwise)
{
	const char *chosen = o->settings.policy;
	return has_arms(o) && (chosen[0] == '\0' ? otherwise : strcmp(chosen, policy) == 0);
}

static bool has_epsilon(const cop_learner_options *o) { return is_policy(o, "epsilon", is_dgt(o)); }
static bool has_gamma(const cop_learner_options *o)
{
	return is_policy(o, "squarecb", !is_dgt(o)) || is_policy(o, "fastcb", !is_dgt(o)) ||
	       is_policy(o, "matching", !is_dgt(o));
}
static bool has_doubts(const cop_learner_options *o) { return is(o, "ensemble") || is(o, "rank"); }
static bool is_ensemble(const cop_learner_options *o) { return is(o, "ensemble"); }
static bool has_room_for_floor(const cop_learner_options *o)
{
	const cop_policy_settings *p = &o->settings.exploration;
	double epsilon = p->epsilon >= 0.0 ? p->epsilon : is_dgt(o) ? 0.3 : 0.1;
	return p->epsilon_floor <= epsilon;
}

static const struct {
	int option;
	bool (*applies)(const cop_learner_options *o);
	bool of_policy;
	const char *otherwise;
} companions[] = {
	{ COP_LEARNER_POLICY, has_arms, false, "--policy goes with --learner ensemble, dgt or rank" },
	{ COP_LEARNER_EPSILON, has_epsilon, true, "--epsilon goes with --policy epsilon" },
	{ COP_LEARNER_EPSILON_DECAY, has_epsilon, true, "--epsilon-decay goes with --policy epsilon" },
	{ COP_LEARNER_EPSILON_FLOOR, has_epsilon, true, "--epsilon-floor goes with --policy epsilon" },
	{ COP_LEARNER_EPSILON_FLOOR, has_room_for_floor, true, "--epsilon-floor: expected at most epsilon" },
	{ COP_LEARNER_GAMMA, has_gamma, true, "--gamma goes with --policy matching, fastcb or squarecb" },
	{ COP_LEARNER_OPTIMISM, has_doubts, false, "--optimism goes with --learner ensemble or rank" },
	{ COP_LEARNER_LEAST, has_arms, false, "--least-propensity goes with --learner ensemble, dgt or rank" },
	{ COP_LEARNER_SHARE_MIN, has_shares, false, "--share-min goes with --learner ensemble or dgt" },
	{ COP_LEARNER_SHARE_MAX, has_shares, false, "--share-max goes with --learner ensemble or dgt" },
	{ COP_LEARNER_CHOICE, is_ensemble, false, "--experts goes with --learner ensemble" },
	{ COP_LEARNER_HEIGHT, is_low, false, "--height: expected 1 to 8 for ensemble and rank" },
	{ COP_LEARNER_TREES, has_trees, false, "--trees goes with --learner ensemble, value or rank" },
	{ COP_LEARNER_LITERAL, is_dgt, false, "--literal goes with --learner dgt" },
};

const char *cop_learner_options_wrong(const cop_learner_options *options, bool foreign_policy)
{
	for (size_t i = 0; i < sizeof companions / sizeof *companions; i++) {
		bool applies =
		        companions[i].of_policy && foreign_policy ? has_arms(options) : companions[i].applies(options);
		if (cop_learner_options_given(options, companions[i].option) && !applies)
			return companions[i].otherwise;
	}
	return NULL;
}
