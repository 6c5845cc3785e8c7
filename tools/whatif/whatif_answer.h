/* tools/whatif/whatif_answer.h: the figures as text on standard output, or as members of a JSON object. One thread. */
#ifndef COP_TOOLS_WHATIF_WHATIF_ANSWER_H
#define COP_TOOLS_WHATIF_WHATIF_ANSWER_H

#include "base/json.h"
#include "whatif_run.h"

/* figures: of at least one event. json NULL: text. */
void cop_whatif_answer(const char *model, const cop_whatif_figures *figures, double level, cop_json_writer *json);

#endif
