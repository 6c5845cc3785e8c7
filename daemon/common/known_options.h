/* daemon/common/known_options.h: a program's options for programs, as `coppice --options` has them
 * (tools/common/option_list.h). The build makes completions from the list. One thread. */
#ifndef COP_DAEMON_COMMON_KNOWN_OPTIONS_H
#define COP_DAEMON_COMMON_KNOWN_OPTIONS_H

#include <getopt.h>

/* Prints a line "option --NAME none|one" for each option of getopt_long's array. Returns the exit status. */
int cop_known_options_print(const struct option *known);

#endif
