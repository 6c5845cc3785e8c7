/* One line for each row of the array that getopt_long reads by: an option cannot be left out of the list. */
#include "daemon/common/known_options.h"

#include <stdio.h>
#include <stdlib.h>

int cop_known_options_print(const struct option *known)
{
	for (; known->name != NULL; known++)
		(void)printf("option --%s %s\n", known->name, known->has_arg == no_argument ? "none" : "one");
	return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
