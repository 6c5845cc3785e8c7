/* online/model_options.h: what a model may be set to, one row for each option.
 *
 * Configurations, the front door's texts, the command line, saved settings and the reference follow from the table.
 * Rows stand in the order in which configurations are printed; offsets are in cop_model_settings. Rows of the kind
 * COP_SETTING_OTHER are of programs that serve models: they have the field and how it is read. Defaults are those of
 * cop_model_settings_init and learn/learner_defaults.h. Pure functions. */
#ifndef COP_ONLINE_MODEL_OPTIONS_H
#define COP_ONLINE_MODEL_OPTIONS_H

#include "online/model.h"
#include "online/setting.h"

/* Bits of learners, in the order of cop_model_options_learners. */
#define COP_SETTING_OF_ENSEMBLE      1u
#define COP_SETTING_OF_DGT           2u
#define COP_SETTING_OF_VALUE         4u
#define COP_SETTING_OF_RANK          8u
#define COP_SETTING_OF_TRAINED       16u
#define COP_SETTING_OF_TRAINED_VALUE 32u
#define COP_SETTING_OF_RIDGE         64u
#define COP_SETTING_OF_ARMS          (COP_SETTING_OF_ENSEMBLE | COP_SETTING_OF_DGT | COP_SETTING_OF_RIDGE)
#define COP_SETTING_OF_CLASSES       (COP_SETTING_OF_ARMS | COP_SETTING_OF_TRAINED)
#define COP_SETTING_OF_POLICY        (COP_SETTING_OF_ARMS | COP_SETTING_OF_RANK)
#define COP_SETTING_OF_LEARNING      15u
#define COP_SETTING_OF_ALL           127u

extern const char *const cop_model_options_learners[];
extern const char *const cop_model_options_policies[];
extern const cop_setting cop_model_options[]; /* the last one has no name */

/* NULL: there is none of that name. */
const cop_setting *cop_model_options_find(const char *name);
/* Of the learner, COP_SETTING_OF_*; 0: it is not known. */
unsigned cop_model_options_learner(const cop_model_settings *settings);
/* Whether the settings' learner, policy and feedback have the option. */
bool cop_model_options_has(const cop_model_settings *settings, const cop_setting *option);
/* Whether learner value with feedback bins has no use for the option, which is of probes alone. */
bool cop_model_options_is_of_probes(const cop_setting *option);
/* Fills in whatever is at "the default". What the learner does not have becomes 0. */
void cop_model_options_fill(cop_model_settings *settings);
/* Whether the settings' policy has the option. */
bool cop_model_options_has_policy(const cop_model_settings *settings, const cop_setting *option);
/* The default in words, "4; dgt 6; rank 5, sparse 4", of those learners that have the option; empty: there is none. */
void cop_model_options_default(const cop_setting *option, unsigned learners, cop_bytes *out);

#endif
