/* daemon/model_change.h: the verb `model`: one model added, removed, changed or begun anew while the daemon serves.
 *
 * One change at a time. Where nothing ends by it, it is made by a thread beside the loop: the memory of a model that comes
 * or grows, and the file in the state folder; between two later events it takes effect, and is answered. What is served
 * until then is as before. All calls by the loop's thread. */
#ifndef COP_DAEMON_MODEL_CHANGE_H
#define COP_DAEMON_MODEL_CHANGE_H

#include "daemon/server.h"
#include "wire/wire_keys.h"

/* name: of the model, length bytes. body: `{do: add | set | unset | reset | remove, options?: {OPTION: value | [value ...]},
 * fresh?: bool, seq?}`. Appends what a reload would to out; or *later, and cop_request_answer is called when
 * it is done. What takes a restart is refused, and nothing changed after an error: COP_EINVAL, COP_EFORMAT, COP_EIO,
 * COP_ENOMEM, with *fault. */
COP_CHECK cop_err cop_model_change_order(cop_server *server, const char *name, size_t name_length, const void *body,
        size_t length, bool *later, cop_bytes *out, cop_wire_fault *fault);

/* COP_EINVAL, with *fault: one is under way, and `verb` has to wait for its end. */
COP_CHECK cop_err cop_model_change_check(const cop_server *server, const char *verb, cop_wire_fault *fault);
/* Once a turn: one that is made takes effect, and is answered. */
void cop_model_change_turn(cop_server *server);
/* The same, after waiting for it. */
void cop_model_change_finish(cop_server *server);
/* One under way comes to nothing, unanswered; waits for the thread. */
void cop_model_change_drop(cop_server *server);

#endif
