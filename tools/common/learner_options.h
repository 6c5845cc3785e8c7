/* tools/common/learner_options.h: the options that say how a model learns and explores, as simulate and replay take
 * them: those of online/model_options.h that have a name for the command line.
 *
 * A subcommand joins them to its table for getopt_long, hands those options here, and asks once all are read whether
 * they go together. `--compare` reads them from a text. One thread. */
#ifndef COP_TOOLS_COMMON_LEARNER_OPTIONS_H
#define COP_TOOLS_COMMON_LEARNER_OPTIONS_H

#include "learn/learner.h"
#include "option_rows.h"

/* getopt_long's numbers of these options. */
enum { COP_LEARNER_FIRST = 1000, COP_LEARNER_END = COP_LEARNER_FIRST + COP_OPTION_ROWS_MOST };

#define COP_LEARNER_WRONG_ROOM 128

typedef struct cop_learner_options {
	const char *command;           /* for complaints */
	const char *const *learners;   /* names allowed, NULL at the end */
	cop_learner_settings settings; /* as given so far */
	bool given[COP_OPTION_ROWS_MOST];
	struct cop_refit_options *refits; /* kept; NULL: the command makes none */
	bool *skyline;                    /* kept; NULL: the command knows none (tools/common/settings_text.h) */
} cop_learner_options;

/* Nothing given, every setting at its default. learners is kept. */
void cop_learner_options_init(cop_learner_options *options, const char *command, const char *const *learners);
/* Appends their rows to getopt's table. */
void cop_learner_options_join(struct option *table, size_t room);
/* The lines of --help, for a command that has these learners. */
void cop_learner_options_usage(const char *const *learners);
static inline bool cop_learner_options_has(int option)
{
	return option >= COP_LEARNER_FIRST && option < COP_LEARNER_END;
}
/* By its name, without dashes. */
bool cop_learner_options_given(const cop_learner_options *options, const char *name);
/* One of them was given. */
bool cop_learner_options_any(const cop_learner_options *options);
/* Takes an option in; on error says what was expected and returns false. */
bool cop_learner_options_read(cop_learner_options *options, int option, const char *text);
/* The option of that name (without dashes; length characters), 0 when there is none. */
int cop_learner_options_find(const char *name, size_t length, bool *takes_argument);
/* " --NAME VALUE" of each option given, the learner's name always, the same text for the same values. */
void cop_learner_options_write(const cop_learner_options *options, char *out, size_t size);
/* What does not go together, as a text in wrong, or NULL. foreign_policy: the policy is somebody else's (a daemon's),
 * whatever the options say. */
const char *cop_learner_options_wrong(
        const cop_learner_options *options, bool foreign_policy, char wrong[COP_LEARNER_WRONG_ROOM]);

#endif
