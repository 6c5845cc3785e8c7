#include "settings_text.h"

#include <stdio.h>
#include <string.h>

#include "refit_options.h"

static bool refuse(char *wrong, const char *what)
{
	(void)snprintf(wrong, COP_SETTING_WRONG_ROOM, "%s", what);
	return false;
}

enum { SKYLINE = COP_REFIT_END };

/* 0: there is none of that name. */
static int find(const cop_learner_options *learner, const char *name, bool *takes_argument)
{
	*takes_argument = false;
	if (learner->skyline != NULL && strcmp(name, "skyline") == 0)
		return SKYLINE;
	int option = cop_learner_options_find(name, strlen(name), takes_argument);
	if (option != 0 || learner->refits == NULL)
		return option;
	option = cop_refit_options_find(name);
	*takes_argument = option != 0;
	return option;
}

/* One option, its name without dashes. */
static bool read_option(cop_learner_options *learner, const char *name, const char *value, char *wrong)
{
	bool takes_argument = false;
	int option = find(learner, name, &takes_argument);
	if (option == 0 || takes_argument != (value != NULL)) {
		(void)snprintf(wrong, COP_SETTING_WRONG_ROOM,
		        option == 0     ? "'%s' is no option of a learner"
		        : value == NULL ? "'%s' needs a value"
		                        : "'%s' takes no value",
		        name);
		return false;
	}
	if (option == SKYLINE) {
		*learner->skyline = true;
		return true;
	}
	return cop_refit_options_has(option) ? cop_refit_options_read(learner->refits, option, value)
	                                     : cop_learner_options_read(learner, option, value);
}

bool cop_setting_short(char *text, cop_learner_options *learner, char *wrong)
{
	char *at = NULL;
	char *word = strtok_r(text, ":", &at);
	wrong[0] = '\0';
	if (word == NULL)
		return refuse(wrong, "expected a learner's name");
	if (!read_option(learner, "learner", word, wrong))
		return false;
	while ((word = strtok_r(NULL, ":", &at)) != NULL) {
		char *value = strchr(word, '=');
		if (value != NULL)
			*value++ = '\0';
		if (!read_option(learner, word, value, wrong))
			return false;
	}
	return true;
}

bool cop_setting_long(char *text, cop_learner_options *learner, char *wrong)
{
	char *at = NULL;
	wrong[0] = '\0';
	for (char *word = strtok_r(text, " ", &at); word != NULL; word = strtok_r(NULL, " ", &at)) {
		bool takes_argument = false;
		if (strncmp(word, "--", 2) != 0)
			return refuse(wrong, "expected NAME: --OPTION VALUE ...");
		char *value = strchr(word, '=');
		if (value != NULL)
			*value++ = '\0';
		else if (find(learner, word + 2, &takes_argument) != 0 && takes_argument)
			value = strtok_r(NULL, " ", &at);
		if (!read_option(learner, word + 2, value, wrong))
			return false;
	}
	return true;
}
