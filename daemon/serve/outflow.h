/* daemon/serve/outflow.h: bytes that were given to ZeroMQ and that no peer has read yet: answers and actions.
 *
 * A counted message counts from when it is wrapped until ZeroMQ lets it go, on a thread of its own. Functions are for
 * the loop's thread. */
#ifndef COP_DAEMON_SERVE_OUTFLOW_H
#define COP_DAEMON_SERVE_OUTFLOW_H

#include <stdatomic.h>
#include <stdbool.h>

#include <zmq.h>

#include "base/err.h"

#define COP_OUTFLOW_BUCKETS 1024 /* of requesters, by a hash of their identities */
#define COP_OUTFLOW_COST    256u /* bytes that ZeroMQ takes for a message and the frames before it, about */

typedef struct cop_outflow cop_outflow;

/* share: bytes that answers may take; actions may take half of that. Caller frees, once ZeroMQ's context has ended. */
COP_CHECK cop_err cop_outflow_new(size_t share, cop_outflow **out);
void cop_outflow_free(cop_outflow *outflow);

/* Counts an answer to the requester called `to`; body is another message with the same content then. False: there is no
 * room for it, since requesters do not read, or no memory; one who has read all before, or all but a little, is refused
 * last. */
bool cop_outflow_answer(cop_outflow *outflow, zmq_msg_t *to, zmq_msg_t *body);
/* Counts an action of that many bytes; false when there is no room. */
bool cop_outflow_add_action(cop_outflow *outflow, size_t length);
/* On any thread. */
void cop_outflow_remove_action(cop_outflow *outflow, size_t length);

/* Bytes that count at present; 0 for NULL. */
size_t cop_outflow_answers(const cop_outflow *outflow);
size_t cop_outflow_actions(const cop_outflow *outflow);
/* More than half of the answers' share is taken, seven eighths of the actions': whoever reads least is to go. */
bool cop_outflow_answers_press(const cop_outflow *outflow);
bool cop_outflow_actions_press(const cop_outflow *outflow);

#endif
