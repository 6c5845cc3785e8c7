/* A thread-local word: set once, where the thread begins. */
#include "daemon/common/reads.h"

static _Thread_local bool own;

void cop_reads_are_own(void) { own = true; }
bool cop_reads_own(void) { return own; }
