/* daemon/durable/healing.h: a journal that broke, and how it comes to stand again; files and the clock, looked at once
 * a second.
 *
 * While the journal is broken, decisions are marked as not durable and feedback is refused. Healing puts what is
 * missing into a new segment, and what happened meanwhile into a checkpoint; where the segment is gone, all of it goes
 * into the checkpoint. The loop's thread. */
#ifndef COP_DAEMON_DURABLE_HEALING_H
#define COP_DAEMON_DURABLE_HEALING_H

#include "daemon/durable/durability.h"

/* True also without a journal. */
bool cop_healing_stands(const cop_durability *durable);
/* Notes, and logs, that the journal is broken. */
void cop_healing_broke(cop_durability *durable, const cop_diag *why);
/* Commits what was put into the journal, if there is one; logs it if that, or putting, broke the journal. */
void cop_healing_commit(cop_durability *durable);
/* Once a turn, now in monotonic seconds: looks at files and clock when it is time, and tries to heal. */
void cop_healing_turn(cop_durability *durable, double now);

#endif
