/* tools/common/option_list.h: the list of all options, for programs: what `coppice --options` prints. The build makes
 * completions and manual pages from it (docs/manual/).
 *
 * A line for each fact: "command NAME SUMMARY", then of this command "option --NAME none|one|maybe" (how many arguments
 * it takes) and "words --NAME WORD ..." (what its argument may be). One thread. */
#ifndef COP_TOOLS_COMMON_OPTION_LIST_H
#define COP_TOOLS_COMMON_OPTION_LIST_H

#include <getopt.h>
#include <stdbool.h>

#include "command.h"

/* Prints the list. Returns the exit status. */
int cop_option_list_print(const cop_program *program);
/* getopt_long; while the list is printed, prints the command's options instead and returns '?', on which a command
 * ends. */
int cop_option_list_getopt(int argc, char **argv, const char *letters, const struct option *known);
/* While the list is printed: the words that an option takes, NULL-terminated. Else nothing. */
void cop_option_list_words(const char *name, const char *const *words);

#endif
