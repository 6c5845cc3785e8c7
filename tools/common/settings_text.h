/* tools/common/settings_text.h: how a model learns, written in one text, as replay's --compare and bakeoff's --settings
 * take it.
 *
 * Short: "dgt:height=4:literal", the learner's name and then its options. Long: "--learner dgt --height 4". Options are
 * those of tools/common/learner_options.h and, where the command takes them, of tools/common/refit_options.h and
 * `skyline`. One thread. */
#ifndef COP_TOOLS_COMMON_SETTINGS_TEXT_H
#define COP_TOOLS_COMMON_SETTINGS_TEXT_H

#include <stdbool.h>

#include "learner_options.h"

#define COP_SETTING_WRONG_ROOM 512

/* Into *learner; the text is cut up. False: wrong (of COP_SETTING_WRONG_ROOM bytes) says what was expected, or is empty
 * when that was printed already. Whether the options go together is for the caller to ask. */
bool cop_setting_short(char *text, cop_learner_options *learner, char *wrong);
/* text begins with the first option's dashes. */
bool cop_setting_long(char *text, cop_learner_options *learner, char *wrong);

#endif
