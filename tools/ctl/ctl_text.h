/* tools/ctl/ctl_text.h: a daemon's replies as text for people.
 *
 * Readers of the reply as JSON that show what is there and pass over what is missing or unknown, so that tool and
 * daemon may be of different versions. Printed to `out`; no state. */
#ifndef COP_TOOLS_CTL_CTL_TEXT_H
#define COP_TOOLS_CTL_CTL_TEXT_H

#include <stdio.h>

#include "base/json.h"

/* Every member on a line, indented by `indent` spaces: numbers and texts as they are, maps of scalars in a row, maps of
 * maps and arrays of maps below their key. */
void cop_ctl_text_table(const cop_json *reply, unsigned indent, FILE *out);
/* The same of what was forgotten: `first` and `last` are times. */
void cop_ctl_text_forgotten(const cop_json *reply, FILE *out);
/* status: the daemon, then each model. */
void cop_ctl_text_status(const cop_json *reply, FILE *out);
/* explain: the action, each expert, the path through each of its trees. */
void cop_ctl_text_explain(const cop_json *reply, FILE *out);

#endif
