/* tools/bakeoff/bakeoff_settings.h: the settings that a bakeoff compares: names, and how each learns and explores.
 *
 * default, epsilon, dgt and skyline are built in; others are the user's, in the words of replay's --compare. A
 * setting's fingerprint is a checksum over what it decides in a small made-up stream: it changes when the setting's
 * options change, and also when a new build learns in another way. One thread. */
#ifndef COP_TOOLS_BAKEOFF_BAKEOFF_SETTINGS_H
#define COP_TOOLS_BAKEOFF_BAKEOFF_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "learn/learner.h"
#include "tools/simulate/simulation.h"
#include "tools/simulate/simulation_refit.h"

#define COP_BAKEOFF_NAME          "bakeoff"
#define COP_BAKEOFF_NAME_ROOM     96 /* of a setting or dataset, its end counted */
#define COP_BAKEOFF_MOST_SETTINGS 64
#define COP_BAKEOFF_OPTIONS_ROOM  512

typedef struct cop_bakeoff_setting {
	char name[COP_BAKEOFF_NAME_ROOM];
	char options[COP_BAKEOFF_OPTIONS_ROOM]; /* as on a command line; all that differs from what ships */
	cop_learner_settings learner;           /* without seed and shape */
	cop_sim_refit_settings refits;          /* beside it */
	bool skyline;                           /* it learns every arm's loss */
	uint32_t fingerprint;
} cop_bakeoff_setting;

typedef struct cop_bakeoff_settings {
	cop_bakeoff_setting setting[COP_BAKEOFF_MOST_SETTINGS];
	size_t count;
} cop_bakeoff_settings;

/* What is wrong with a name (length bytes, not terminated) of a setting or dataset, or NULL. */
const char *cop_bakeoff_settings_name_wrong(const char *name, size_t length);

/* Adds the settings of a text: built-in ones and short ones divided by commas
 * ("default,dgt:height=4,tall=dgt:height=8"), or a long one ("tall: --learner dgt --height 8"). False: complained. */
bool cop_bakeoff_settings_add(cop_bakeoff_settings *settings, const char *text);
/* Those of a file, a text in each line; empty lines and such as begin with # are passed over. False: complained. */
bool cop_bakeoff_settings_read(cop_bakeoff_settings *settings, const char *path);
/* Where a setting's decisions come from, for a model of its learner. Errors of the backends
 * (tools/simulate/simulation.h). */
COP_CHECK cop_err cop_bakeoff_settings_backend(const cop_bakeoff_setting *setting, const cop_model_settings *model,
        const cop_sim_items *items, cop_sim_backend *out, cop_diag *diag);
/* Fills the fingerprints. COP_EINVAL: a learner cannot be made of its options; COP_ENOMEM. */
COP_CHECK cop_err cop_bakeoff_settings_finish(cop_bakeoff_settings *settings, cop_diag *diag);

#endif
