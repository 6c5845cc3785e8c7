/* tests/bench/costs/bench_learners.h: learners on made-up events: how many a second, and the same without a clock, for
 * counting instructions. */
#ifndef COP_COSTS_BENCH_LEARNERS_H
#define COP_COSTS_BENCH_LEARNERS_H

#include <stdbool.h>

#include "base/err.h"
#include "base/json.h"

/* Events per second of learners over shapes, as text (json: NULL) or as "learners" in json. */
COP_CHECK cop_err cop_bench_learners(cop_json_writer *json, bool whole);

/* `costs events`. */
int cop_bench_events_command(int argc, char **argv);

#endif
