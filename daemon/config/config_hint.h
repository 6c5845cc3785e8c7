/* daemon/config/config_hint.h: what was expected where libconfuse says only what it met. Pure functions. */
#ifndef COP_DAEMON_CONFIG_CONFIG_HINT_H
#define COP_DAEMON_CONFIG_CONFIG_HINT_H

#include <stddef.h>

/* Adds to a message of libconfuse, in text of `size` bytes, what was expected: for an option that it does not know the
 * section that has it, or the option whose name is nearest. A message of which nothing can be said stays as it is. */
void cop_config_hint(char *text, size_t size);

#endif
