/* tools/common/refit_options.h: the options of refits beside a model, as simulate and bakeoff take them.
 *
 * They are used like those of tools/common/learner_options.h. One thread. */
#ifndef COP_TOOLS_COMMON_REFIT_OPTIONS_H
#define COP_TOOLS_COMMON_REFIT_OPTIONS_H

#include "option_rows.h"
#include "tools/simulate/simulation_refit.h"

/* getopt_long's numbers of these options. */
enum { COP_REFIT_FIRST = 1100, COP_REFIT_END = COP_REFIT_FIRST + COP_OPTION_ROWS_MOST };

typedef struct cop_refit_options {
	const char *command; /* for complaints */
	cop_sim_refit_settings settings;
	bool given[COP_OPTION_ROWS_MOST];
} cop_refit_options;

/* Nothing given. */
void cop_refit_options_init(cop_refit_options *options, const char *command);
/* Appends their rows to getopt's table. */
void cop_refit_options_join(struct option *table, size_t room);
/* The lines of --help. */
void cop_refit_options_usage(void);
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
