/* The one function of lib that prints and ends the process: a caller of ours broke a contract, and going on could
 * write wrong state to the disk. */
#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void cop_assert_failed(const char *condition, const char *file, int line)
{
	(void)fprintf(stderr, "coppice: broken contract at %s:%d: %s\n", file, line, condition);
	abort();
}
