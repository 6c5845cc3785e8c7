/* daemon/report/past_body.h: what the verbs `decision` and `decisions` answer beside an explanation;
 * docs/reference/protocol.md has the keys. Into the map that is open. No state: any thread. */
#ifndef COP_DAEMON_REPORT_PAST_BODY_H
#define COP_DAEMON_REPORT_PAST_BODY_H

#include "daemon/config/config.h"
#include "daemon/durable/past_fate.h"

/* A decision as its record has it: id, t, action, record, life. */
void cop_past_body_put_found(const cop_config_model *model, const cop_past_search_found *found, cop_bytes *out);
/* The life that the model was in, where it is in another one now. */
void cop_past_body_put_life(const cop_config_model *model, const cop_past_search_found *found, cop_bytes *out);
/* waits, feedback, ended. */
void cop_past_body_put_fate(const cop_past_fate *fate, cop_bytes *out);
/* The array of decisions, and how far back was looked. fates: of search->found. */
void cop_past_body_put_search(
        const cop_config_model *model, const cop_past_search *search, const cop_past_fate *fates, cop_bytes *out);

#endif
