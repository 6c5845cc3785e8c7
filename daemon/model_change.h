/* daemon/model_change.h: changes that take effect while the daemon serves: the verb `model`, one model added, removed,
 * changed or begun anew, and a reload of the configuration.
 *
 * One change at a time. It is made by a thread beside the loop: the memory of a model that comes or grows, what one
 * that is removed is parked as, and the file in the state folder; between two later events it takes effect, and is
 * answered. What is served until then is as before, but that a model which is removed or begun anew is not served any
 * more. All calls by the loop's thread. */
#ifndef COP_DAEMON_MODEL_CHANGE_H
#define COP_DAEMON_MODEL_CHANGE_H

#include "daemon/server.h"
#include "wire/wire_keys.h"

/* name: of the model, length bytes. body: `{do: add | set | unset | reset | remove, options?: {OPTION: value | [value
 * ...]}, fresh?: bool, seq?}`. *later: cop_request_answer is called when it is done, with what a reload replies. What
 * takes a restart is refused, and nothing changed after an error: COP_EINVAL, COP_EFORMAT, COP_EIO, COP_ENOMEM, with
 * *fault. */
COP_CHECK cop_err cop_model_change_order(cop_server *server, const char *name, size_t name_length, const void *body,
        size_t length, bool *later, cop_wire_fault *fault);
/* As cop_reload (daemon/reload.h), or *later where models come, go or grow; seq: NULL is nobody's, who gets no answer.
 * None is under way. */
COP_CHECK cop_err cop_model_change_reload(
        cop_server *server, const cop_wire_seq *seq, bool *later, cop_bytes *out, cop_wire_fault *fault);

/* COP_EINVAL, with *fault: one is under way, and `verb` has to wait for its end. */
COP_CHECK cop_err cop_model_change_check(const cop_server *server, const char *verb, cop_wire_fault *fault);
/* Once a turn: one that is made goes on, and in the end takes effect and is answered. */
void cop_model_change_turn(cop_server *server);
/* Once a turn, now in monotonic seconds: looks once a second whether the live changes that are served still stand in
 * the state folder. Where somebody removed them they are written again. */
void cop_model_change_look(cop_server *server, double now);
/* As turn, after waiting for it. */
void cop_model_change_finish(cop_server *server);
/* Whether one is under way during which nobody is to be forgotten: of whom a model that leaves, or comes back, would
 * know. */
bool cop_model_change_holds(const cop_server *server);
/* One under way comes to nothing, unanswered; waits for the thread. */
void cop_model_change_drop(cop_server *server);

#endif
