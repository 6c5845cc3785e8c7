/* daemon/past_verb.h: the verbs `decision` and `decisions`: a decision explained, whether it waits or not, and
 * decisions found by how their ids begin. What waits is answered at once; what does not is looked for beside the loop
 * (daemon/report/past_desk.h), and until that is found the reply is `{state: "looking"}`. The loop's thread. */
#ifndef COP_DAEMON_PAST_VERB_H
#define COP_DAEMON_PAST_VERB_H

#include "daemon/server.h"
#include "wire/wire_code.h"

/* The reply's body into serving.reply. COP_EINVAL, COP_EFORMAT with the fault filled. */
COP_CHECK cop_err cop_past_verb_decision(
        cop_server *server, cop_model_slot *slot, const void *body, size_t length, cop_wire_fault *fault);
COP_CHECK cop_err cop_past_verb_decisions(
        cop_server *server, cop_model_slot *slot, const void *body, size_t length, cop_wire_fault *fault);

#endif
