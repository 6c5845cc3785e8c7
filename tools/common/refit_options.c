#include "refit_options.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "command.h"
#include "train/tao.h"

const char cop_refit_options_usage[] =

        "  --refit-every N      refits beside the learner, one every N losses, by the\n"
        "                       rules of the daemon's section refit; the following\n"
        "                       options are named as there (docs/concepts/refit.md)\n"
        "  --refit-window N     newest decisions that it is fitted to (default 200000)\n"
        "  --refit-holdout H    share of them that it is judged by instead, 0 to 0.9\n"
        "                       (default 0.2)\n"
        "  --refit-method M     forest (default; tao for learner dgt and for sparse\n"
        "                       rows), tao or laptao\n"
        "  --refit-height H     of the tree, 1 to 20 (default 6; dgt: its own)\n"
        "  --refit-alpha A      penalty on weights, in units of noise, or auto (default)\n"
        "  --refit-promote P    evidence (default), or bound: by the interval of losses\n"
        "                       alone\n"
        "  --refit-margin G     by how much a challenger's loss must be lower, 0 to 1\n"
        "                       (default 0)\n"
        "  --refit-risk R       of promoting one that is not better (default 0.05)\n"
        "  --refit-on-drift D   adwin (default), page-hinkley or none: begins one at once\n"
        "                       when the loss rises\n";

static const struct option rows[] = { COP_REFIT_OPTION_ROWS };

static const char *const methods[] = { "tao", "laptao", "forest", NULL };
static const char *const promotes[] = { "evidence", "bound", NULL };
static const char *const detectors[] = { "adwin", "page-hinkley", "none", NULL };

void cop_refit_options_init(cop_refit_options *options, const char *command)
{
	*options = (cop_refit_options){ .command = command };
	cop_sim_refit_defaults(&options->settings);
}

static bool read_alpha(const char *command, const char *text, double *alpha)
{
	*alpha = -1.0;
	return strcmp(text, "auto") == 0 || cop_command_number(command, "--refit-alpha", text, 0.0, 1e6, alpha);
}

bool cop_refit_options_read(cop_refit_options *options, int option, const char *text)
{
	const char *name = options->command;
	cop_sim_refit_settings *s = &options->settings;
	uint64_t whole = 0;
	size_t place = 0;
	bool ok;
	options->given[option - COP_REFIT_FIRST] = true;
	switch (option) {
	case COP_REFIT_EVERY:
		return cop_command_whole(name, "--refit-every", text, 1, UINT64_MAX / 2, &s->every);
	case COP_REFIT_WINDOW:
		return cop_command_whole(name, "--refit-window", text, 1, UINT32_MAX, &s->window);
	case COP_REFIT_HOLDOUT:
		return cop_command_number(name, "--refit-holdout", text, 0.0, 0.9, &s->holdout);
	case COP_REFIT_METHOD:
		ok = cop_command_word(name, "--refit-method", text, methods, &place);
		s->method = (cop_refit_method)place;
		return ok;
	case COP_REFIT_HEIGHT:
		ok = cop_command_whole(name, "--refit-height", text, 1, COP_TAO_MAX_DEPTH, &whole);
		s->height = (unsigned)whole;
		return ok;
	case COP_REFIT_ALPHA:
		return read_alpha(name, text, &s->alpha);
	case COP_REFIT_PROMOTE:
		ok = cop_command_word(name, "--refit-promote", text, promotes, &place);
		s->bound = place == 1;
		return ok;
	case COP_REFIT_MARGIN:
		return cop_command_number(name, "--refit-margin", text, 0.0, 1.0, &s->margin);
	case COP_REFIT_RISK:
		return cop_command_number(name, "--refit-risk", text, 1e-12, 0.999, &s->risk);
	default:
		ok = cop_command_word(name, "--refit-on-drift", text, detectors, &place);
		(void)snprintf(s->drift, sizeof s->drift, "%s", detectors[place]);
		return ok;
	}
}

int cop_refit_options_find(const char *name)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (strcmp(rows[i].name, name) == 0)
			return rows[i].val;
	return 0;
}

const char *cop_refit_options_wrong(const cop_refit_options *options, const char *learner)
{
	if (options->settings.every > 0)
		return strcmp(learner, "value") == 0 ? "--refit-every: of values there is no evidence to promote by"
		                                     : NULL;
	return memchr(options->given, 1, sizeof options->given) != NULL ? "--refit-... goes with --refit-every" : NULL;
}

static void value_of(const cop_sim_refit_settings *s, int option, char text[COP_NUMBER_ROOM])
{
	const double numbers[] = { [COP_REFIT_EVERY - COP_REFIT_FIRST] = (double)s->every,
		[COP_REFIT_WINDOW - COP_REFIT_FIRST] = (double)s->window,
		[COP_REFIT_HOLDOUT - COP_REFIT_FIRST] = s->holdout,
		[COP_REFIT_HEIGHT - COP_REFIT_FIRST] = (double)s->height,
		[COP_REFIT_ALPHA - COP_REFIT_FIRST] = s->alpha,
		[COP_REFIT_MARGIN - COP_REFIT_FIRST] = s->margin,
		[COP_REFIT_RISK - COP_REFIT_FIRST] = s->risk,
		[COP_REFIT_ON_DRIFT - COP_REFIT_FIRST] = 0.0 };
	if (option == COP_REFIT_METHOD)
		strcpy(text, methods[s->method]);
	else if (option == COP_REFIT_PROMOTE)
		strcpy(text, promotes[s->bound]);
	else if (option == COP_REFIT_ON_DRIFT)
		strcpy(text, s->drift);
	else if (option == COP_REFIT_ALPHA && s->alpha < 0.0)
		strcpy(text, "auto");
	else
		(void)cop_number_format(numbers[option - COP_REFIT_FIRST], text);
}

void cop_refit_options_write(const cop_refit_options *options, char *out, size_t size)
{
	size_t used = 0;
	out[0] = '\0';
	for (size_t i = 0; i < sizeof rows / sizeof *rows && used < size; i++) {
		char text[COP_NUMBER_ROOM];
		if (!options->given[rows[i].val - COP_REFIT_FIRST])
			continue;
		value_of(&options->settings, rows[i].val, text);
		int n = snprintf(out + used, size - used, " --%s %s", rows[i].name, text);
		used += n < 0 ? size : (size_t)n;
	}
}
