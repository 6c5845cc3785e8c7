/* A text of --compare is either one setting in the words of the command line, "name: --learner dgt --height 4", or
 * several short ones, "ensemble,dgt:height=4,uniform". */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay_options.h"
#include "tools/common/command.h"
#include "tools/common/settings_text.h"

#define TEXT_ROOM 512

static bool complain(const char *spec, const char *what)
{
	cop_command_complain(COP_REPLAY_NAME, "--compare '%s': %s (coppice replay --help)", spec, what);
	return false;
}

bool cop_replay_plain_policy(const char *text, cop_replay_setting *out)
{
	char *end;
	out->kind = strcmp(text, "logged") == 0    ? COP_REPLAY_LOGGED
	            : strcmp(text, "uniform") == 0 ? COP_REPLAY_UNIFORM
	                                           : COP_REPLAY_CONSTANT;
	if (out->kind == COP_REPLAY_CONSTANT) {
		if (strncmp(text, "constant:", 9) != 0 || text[9] < '0' || text[9] > '9')
			return false;
		errno = 0;
		unsigned long arm = strtoul(text + 9, &end, 10);
		if (*end != '\0' || errno != 0 || arm >= UINT32_MAX)
			return false;
		out->constant = (uint32_t)arm;
	}
	(void)snprintf(out->name, sizeof out->name, "%s", text);
	return true;
}

static bool complain_unless_said(const char *spec, const char *wrong)
{
	return wrong[0] != '\0' && complain(spec, wrong);
}

static bool finish(
        cop_replay_options *out, const char *spec, cop_replay_setting *setting, const cop_learner_options *learner)
{
	char text[COP_LEARNER_WRONG_ROOM];
	const char *wrong = learner == NULL ? NULL : cop_learner_options_wrong(learner, false, text);
	if (wrong != NULL)
		return complain(spec, wrong);
	if (out->settings == COP_REPLAY_MOST_SETTINGS)
		return complain(spec, "too many settings, expected at most 16");
	for (size_t i = 0; i < out->settings; i++)
		if (strcmp(out->setting[i].name, setting->name) == 0)
			return complain(spec, "another setting has this name");
	if (learner != NULL) {
		setting->learner = learner->settings;
		setting->learner_given = cop_learner_options_given(learner, "learner");
	}
	out->setting[out->settings++] = *setting;
	return true;
}

/* "dgt:height=4", or a policy without a model. */
static bool read_short(const char *spec, char *text, const cop_learner_options *base, cop_replay_options *out)
{
	cop_replay_setting setting = { .kind = COP_REPLAY_LEARNS };
	cop_learner_options learner = *base;
	char wrong[COP_SETTING_WRONG_ROOM];
	if (cop_replay_plain_policy(text, &setting))
		return finish(out, spec, &setting, NULL);
	setting = (cop_replay_setting){ .kind = COP_REPLAY_LEARNS };
	(void)snprintf(setting.name, sizeof setting.name, "%s", text);
	if (!cop_setting_short(text, &learner, wrong))
		return complain_unless_said(spec, wrong);
	return finish(out, spec, &setting, &learner);
}

/* "name: --learner dgt --height 4". */
static bool read_long(const char *spec, char *text, const cop_learner_options *base, cop_replay_options *out)
{
	cop_replay_setting setting = { .kind = COP_REPLAY_LEARNS };
	cop_learner_options learner = *base;
	char wrong[COP_SETTING_WRONG_ROOM];
	char *options = strstr(text, "--");
	size_t name = (size_t)(options - text);
	while (name > 0 && (text[name - 1] == ' ' || text[name - 1] == ':'))
		name--;
	(void)snprintf(setting.name, sizeof setting.name, "%.*s", (int)(name > 0 ? name : strlen(text)), text);
	if (!cop_setting_long(options, &learner, wrong))
		return complain_unless_said(spec, wrong);
	return finish(out, spec, &setting, &learner);
}

bool cop_replay_specs_read(const char *text, const cop_learner_options *base, cop_replay_options *out)
{
	char copy[TEXT_ROOM];
	if (strlen(text) >= sizeof copy)
		return complain(text, "too long");
	strcpy(copy, text);
	if (strstr(copy, "--") != NULL)
		return read_long(text, copy, base, out);
	char *at = NULL;
	bool any = false;
	for (char *spec = strtok_r(copy, ",", &at); spec != NULL; spec = strtok_r(NULL, ",", &at)) {
		any = true;
		if (!read_short(text, spec, base, out))
			return false;
	}
	return any || complain(text, "expected a learner's name");
}
