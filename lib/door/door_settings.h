/* door/door_settings.h: the text of a configuration's section `model` as the settings of a model.
 *
 *     text    = { NAME "=" value }          separated by white space; '#' begins a comment, up to the line's end
 *     value   = word | "{" [ word { [","] word } ] "}"
 *     word    = '"' characters '"' | characters but white space, quotes, commas, braces and '#'
 *
 * Each option stands once. Pure functions. */
#ifndef COP_DOOR_DOOR_SETTINGS_H
#define COP_DOOR_DOOR_SETTINGS_H

#include <stdbool.h>

#include "base/err.h"
#include "online/model.h"

/* Into *settings, which has all that the text does not give. living: only options that may change in a living model.
 * COP_EFORMAT: syntax, or no such option. COP_EINVAL: a value, an option that only a daemon has or that cannot change
 * now. With *diag, which has the line. On error *settings is undefined. */
COP_CHECK cop_err cop_door_settings_read(const char *text, bool living, cop_model_settings *settings, cop_diag *diag);

#endif
