/* All but the height's limit and the floor's follows from the table: which learners and policies have an option. */
#include "learner_options.h"

#include <stdio.h>
#include <string.h>

#include "online/model_options.h"

_Static_assert(
        offsetof(cop_model_settings, learner) == 0, "offsets in cop_model_settings are offsets in the learner's");

void cop_learner_options_init(cop_learner_options *options, const char *command, const char *const *learners)
{
	*options = (cop_learner_options){ .command = command, .learners = learners };
	cop_learner_settings_init(&options->settings);
}

void cop_learner_options_join(struct option *table, size_t room)
{
	cop_option_rows_join(cop_model_options, COP_LEARNER_FIRST, table, room);
}

bool cop_learner_options_any(const cop_learner_options *options)
{
	return memchr(options->given, 1, sizeof options->given) != NULL;
}

int cop_learner_options_find(const char *name, size_t length, bool *takes_argument)
{
	return cop_option_rows_find(cop_model_options, COP_LEARNER_FIRST, name, length, takes_argument);
}

bool cop_learner_options_given(const cop_learner_options *options, const char *name)
{
	bool takes;
	int option = cop_learner_options_find(name, strlen(name), &takes);
	return option != 0 && options->given[option - COP_LEARNER_FIRST];
}

/* A command may have fewer learners than there are. */
static cop_setting row_at(size_t i, const char *const *learners)
{
	cop_setting row = cop_model_options[i];
	if (strcmp(row.name, "learner") == 0)
		row.words = learners;
	return row;
}

bool cop_learner_options_read(cop_learner_options *options, int option, const char *text)
{
	const cop_setting row = row_at((size_t)(option - COP_LEARNER_FIRST), options->learners);
	options->given[option - COP_LEARNER_FIRST] = true;
	return cop_option_rows_read(options->command, &row, text, &options->settings);
}

void cop_learner_options_write(const cop_learner_options *options, char *out, size_t size)
{
	bool given[COP_OPTION_ROWS_MOST];
	memcpy(given, options->given, sizeof given);
	given[0] = true;
	cop_option_rows_write(cop_model_options, given, &options->settings, out, size);
}

/* ---- --help ---- */

/* "policy epsilon: ", "ensemble, rank: ", or nothing. */
static void put_who(const cop_setting *o, unsigned learners, char *out, size_t size)
{
	char names[64];
	unsigned arms = learners & ~COP_SETTING_OF_VALUE;
	bool all = (o->learners & learners) == learners || (o->policies != 0 && (o->learners & arms) == arms);
	cop_setting_name_words(cop_model_options_learners, o->learners & learners, ", ", ", ", names, sizeof names);
	(void)snprintf(out, size, "%s%s%s",
	        o->policies == 0   ? ""
	        : o->policies == 1 ? "policy epsilon: "
	                           : "policies other than epsilon: ",
	        all ? "" : names, all ? "" : ": ");
}

void cop_learner_options_usage(const char *const *learners)
{
	unsigned set = 0;
	for (size_t i = 0; cop_model_options_learners[i] != NULL; i++)
		for (size_t j = 0; learners[j] != NULL; j++)
			if (strcmp(learners[j], cop_model_options_learners[i]) == 0)
				set |= 1u << i;
	for (size_t i = 0; cop_model_options[i].name != NULL; i++) {
		const cop_setting row = row_at(i, learners);
		char who[96];
		cop_bytes standard;
		if (row.line == NULL)
			continue;
		cop_bytes_init(&standard);
		if (row.argument != NULL)
			cop_model_options_default(&row, set, &standard);
		cop_bytes_put_u8(&standard, 0);
		put_who(&row, set, who, sizeof who);
		cop_option_rows_usage(&row, who, standard.err == COP_OK ? (const char *)standard.data : "");
		cop_bytes_fini(&standard);
	}
}

/* ---- what goes with what ---- */

static const char *goes_with(const char *option, const char *what, const char *const *words, unsigned set,
        char wrong[COP_LEARNER_WRONG_ROOM])
{
	int used = snprintf(wrong, COP_LEARNER_WRONG_ROOM, "--%s goes with --%s ", option, what);
	cop_setting_name_words(words, set, ", ", " or ", wrong + used, COP_LEARNER_WRONG_ROOM - (size_t)used);
	return wrong;
}

const char *cop_learner_options_wrong(
        const cop_learner_options *options, bool foreign_policy, char wrong[COP_LEARNER_WRONG_ROOM])
{
	cop_model_settings set = { .learner = options->settings };
	cop_model_options_fill(&set);
	const cop_learner_settings *l = &set.learner;
	unsigned learner = cop_model_options_learner(&set);
	for (size_t i = 0; cop_model_options[i].name != NULL; i++) {
		const cop_setting *o = &cop_model_options[i];
		if (!options->given[i])
			continue;
		if ((o->learners & learner) == 0)
			return goes_with(o->line, "learner", cop_model_options_learners, o->learners, wrong);
		if (!foreign_policy && !cop_model_options_has_policy(&set, o))
			return goes_with(o->line, "policy", cop_model_options_policies, o->policies, wrong);
	}
	bool mixture = (learner & (COP_SETTING_OF_ENSEMBLE | COP_SETTING_OF_RANK)) != 0;
	if (mixture && l->height > COP_LEARNER_MAX_ENSEMBLE_HEIGHT)
		return "--height: expected 1 to 8 for ensemble and rank";
	bool floor = cop_learner_options_given(options, "epsilon-floor") && !foreign_policy;
	return floor && l->exploration.epsilon_floor > l->exploration.epsilon
	               ? "--epsilon-floor: expected at most epsilon"
	               : NULL;
}
