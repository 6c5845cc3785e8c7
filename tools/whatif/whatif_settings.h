/* tools/whatif/whatif_settings.h: the settings that are asked about, over those that a model has. One thread. */
#ifndef COP_TOOLS_WHATIF_WHATIF_SETTINGS_H
#define COP_TOOLS_WHATIF_WHATIF_SETTINGS_H

#include "online/model_options.h"

typedef struct cop_whatif_changes {
	size_t count;
	char *const *words; /* SETTING=VALUE each; kept */
	double window;      /* seconds that losses may take; 0: the model's */
} cop_whatif_changes;

/* False: a word is wrong, which was said on standard error. */
bool cop_whatif_settings_change(
        const cop_whatif_changes *changes, const cop_model_settings *was, cop_model_settings *would);
/* Whether decisions end alike: windows, rules of rewards, default losses, how many may wait. */
bool cop_whatif_settings_end_alike(const cop_model_settings *a, const cop_model_settings *b);
/* Whether they differ at most in how the model explores, so that it learns the same from the same records. */
bool cop_whatif_settings_learn_alike(const cop_model_settings *a, const cop_model_settings *b);

#endif
