/* The learner and the policy come before all else, on whose defaults the others hang. */
#include "whatif_settings.h"

#include <stdio.h>
#include <string.h>

#include "tools/common/command.h"

#define NAME        "whatif"
#define MOST_VALUES 65 /* of one option */
#define MOST_WORD   8192

static bool listed(const char *const *names, const char *name)
{
	for (; *names != NULL; names++)
		if (strcmp(*names, name) == 0)
			return true;
	return false;
}

/* What the journal's rows and losses are, and, of probes, what was played. */
static bool is_fixed(const cop_model_settings *set, const char *name)
{
	static const char *const names[] = { "arms", "features", "bits", "max_nonzeros", "candidate_features",
		"max_candidates", "loss_range", "value_range", "feedback", "losses", "loss_ranges", NULL };
	static const char *const probes[] = { "delta", "delta_decay", "delta_floor", NULL };
	return listed(names, name) || (set->learner.feedback != COP_VALUE_BINS && listed(probes, name));
}

/* What becomes of decisions, beside what the learner goes by. */
static const char *const endings[] = { "default_loss", "reward_window", "reward", "pending_max", "pending_bytes",
	NULL };

/* The defaults of a learner, for the same rows and losses. */
static void begin_learner(const cop_model_settings *was, const char *learner, cop_model_settings *out)
{
	cop_model_settings_init(out);
	cop_setting_copy(cop_model_options_find("learner"), out, was);
	for (const cop_setting *o = cop_model_options; o->name != NULL; o++)
		if (is_fixed(was, o->name) || listed(endings, o->name))
			cop_setting_copy(o, out, was);
	out->learner.known = was->learner.known;
	(void)snprintf(out->learner.learner, sizeof out->learner.learner, "%s", learner);
}

static bool wrong(const char *word, const cop_setting *o)
{
	char expected[192];
	cop_setting_describe(o, expected, sizeof expected);
	return cop_command_complain(NAME, "%s: expected %s", word, expected);
}

static bool read_setting(char *word, cop_model_settings *set)
{
	char *equals = strchr(word, '='), *value = equals + 1;
	const char *texts[MOST_VALUES];
	size_t count = 0, place;
	*equals = '\0';
	const cop_setting *o = cop_model_options_find(word);
	bool acts = o != NULL && o->kind < COP_SETTING_OTHER &&
	            (o->offset < sizeof(cop_learner_settings) || listed(endings, word));
	if (!acts || is_fixed(set, word))
		return cop_command_complain(NAME,
		        o != NULL && is_fixed(set, word)
		                ? "%s: is what the journal's decisions have; expected another option"
		                : "%s: no such option of a model that learns from a journal",
		        word);
	if (strcmp(word, "learner") != 0 && !cop_model_options_has(set, o))
		return cop_command_complain(NAME, "%s: learner %s has no such option", word, set->learner.learner);
	for (char *at = value; at != NULL && count < MOST_VALUES; count++) {
		char *comma = cop_setting_is_list(o) ? strchr(at, ',') : NULL;
		if (comma != NULL)
			*comma = '\0';
		texts[count] = at;
		at = comma == NULL ? NULL : comma + 1;
	}
	return cop_setting_read(o, texts, count, set, &place) || wrong(word, o);
}

static bool begins(const char *word, const char *name)
{
	size_t length = strlen(name);
	return strncmp(word, name, length) == 0 && word[length] == '=';
}

static bool check_words(const cop_whatif_changes *changes)
{
	char *const *words = changes->words;
	for (size_t i = 0; i < changes->count; i++) {
		if (strchr(words[i], '=') == NULL || words[i][0] == '=')
			return cop_command_complain(NAME, "'%s': expected SETTING=VALUE", words[i]);
		for (size_t k = 0; k < i; k++)
			if (strncmp(words[k], words[i], strcspn(words[i], "=") + 1) == 0)
				return cop_command_complain(NAME, "%s: given twice, expected once", words[i]);
	}
	return true;
}

static bool read_word(const char *word, const cop_model_settings *was, cop_model_settings *would)
{
	const cop_setting *policy = cop_model_options_find("policy");
	char copy[MOST_WORD];
	if (strlen(word) >= sizeof copy)
		return cop_command_complain(NAME, "'%.40s...': expected less than %d characters", word, MOST_WORD);
	strcpy(copy, word);
	bool good = read_setting(copy, would);
	if (good && (begins(word, "learner") || begins(word, "policy")) && !cop_setting_equal(policy, would, was)) {
		would->learner.exploration.gamma = -1.0;
		would->learner.exploration.shares.least_propensity = -1.0;
	}
	return good;
}

bool cop_whatif_settings_change(
        const cop_whatif_changes *changes, const cop_model_settings *was, cop_model_settings *would)
{
	*would = *was;
	if (!check_words(changes))
		return false;
	for (size_t i = 0; i < changes->count; i++) {
		const char *learner = changes->words[i] + strlen("learner=");
		if (begins(changes->words[i], "learner") && strcmp(learner, would->learner.learner) != 0)
			begin_learner(was, learner, would);
	}
	for (int first = 1; first >= 0; first--)
		for (size_t i = 0; i < changes->count; i++) {
			const char *word = changes->words[i];
			if ((begins(word, "learner") || begins(word, "policy")) != (first == 1))
				continue;
			if (!read_word(word, was, would))
				return false;
		}
	if (changes->window > 0.0)
		would->reward_window = changes->window;
	if (changes->count > 0)
		cop_model_options_fill(would);
	return true;
}

bool cop_whatif_settings_learn_alike(const cop_model_settings *a, const cop_model_settings *b)
{
	static const char *const policy[] = { "policy", "epsilon", "epsilon_decay", "epsilon_floor", "gamma",
		"explore_first", "optimism", "least_propensity", "share_min", "share_max", NULL };
	for (const cop_setting *o = cop_model_options; o->name != NULL; o++)
		if (o->kind < COP_SETTING_OTHER && !listed(policy, o->name) && !cop_setting_equal(o, a, b))
			return false;
	return true;
}

bool cop_whatif_settings_end_alike(const cop_model_settings *a, const cop_model_settings *b)
{
	for (size_t i = 0; endings[i] != NULL; i++)
		if (!cop_setting_equal(cop_model_options_find(endings[i]), a, b))
			return false;
	return true;
}
