/* tools/common/refit_options.h: the options of refits beside a model, as simulate and bakeoff take them.
 *
 * They are used like those of tools/common/learner_options.h. One thread. */
#ifndef COP_TOOLS_COMMON_REFIT_OPTIONS_H
#define COP_TOOLS_COMMON_REFIT_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>

#include "tools/simulate/simulation_refit.h"

/* getopt_long's numbers of these options. */
enum {
	COP_REFIT_FIRST = 1100,
	COP_REFIT_EVERY = COP_REFIT_FIRST,
	COP_REFIT_WINDOW,
	COP_REFIT_HOLDOUT,
	COP_REFIT_METHOD,
	COP_REFIT_HEIGHT,
	COP_REFIT_ALPHA,
	COP_REFIT_PROMOTE,
	COP_REFIT_MARGIN,
	COP_REFIT_RISK,
	COP_REFIT_ON_DRIFT,
	COP_REFIT_END
};

/* clang-format off */
#define COP_REFIT_OPTION_ROWS \
	{ "refit-every", required_argument, NULL, COP_REFIT_EVERY }, \
	{ "refit-window", required_argument, NULL, COP_REFIT_WINDOW }, \
	{ "refit-holdout", required_argument, NULL, COP_REFIT_HOLDOUT }, \
	{ "refit-method", required_argument, NULL, COP_REFIT_METHOD }, \
	{ "refit-height", required_argument, NULL, COP_REFIT_HEIGHT }, \
	{ "refit-alpha", required_argument, NULL, COP_REFIT_ALPHA }, \
	{ "refit-promote", required_argument, NULL, COP_REFIT_PROMOTE }, \
	{ "refit-margin", required_argument, NULL, COP_REFIT_MARGIN }, \
	{ "refit-risk", required_argument, NULL, COP_REFIT_RISK }, \
	{ "refit-on-drift", required_argument, NULL, COP_REFIT_ON_DRIFT }
/* clang-format on */

typedef struct cop_refit_options {
	const char *command; /* for complaints */
	cop_sim_refit_settings settings;
	bool given[COP_REFIT_END - COP_REFIT_FIRST];
} cop_refit_options;

/* The lines of --help. */
extern const char cop_refit_options_usage[];

/* Nothing given. */
void cop_refit_options_init(cop_refit_options *options, const char *command);
static inline bool cop_refit_options_has(int option) { return option >= COP_REFIT_FIRST && option < COP_REFIT_END; }
/* Takes an option in; on error says what was expected and returns false. */
bool cop_refit_options_read(cop_refit_options *options, int option, const char *text);
/* The option of that name (without dashes), 0 when there is none; each takes an argument. */
int cop_refit_options_find(const char *name);
/* What does not go together, with each other or with that learner, or NULL. */
const char *cop_refit_options_wrong(const cop_refit_options *options, const char *learner);
/* " --NAME VALUE" of each option given, the same text for the same values, as far as there is room. */
void cop_refit_options_write(const cop_refit_options *options, char *out, size_t size);

#endif
