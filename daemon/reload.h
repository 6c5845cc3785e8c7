/* daemon/reload.h: the configuration, read again while the daemon serves: all at once, or its parts, which change by
 * change what takes time is made beside the loop goes through (daemon/model_change.h). The loop's thread. */
#ifndef COP_DAEMON_RELOAD_H
#define COP_DAEMON_RELOAD_H

#include "daemon/server.h"
#include "wire/wire_keys.h"

/* Reads the configuration again and applies what can change, at once; appends `{applied: [text ...], restart: [text
 * ...], refused?: [text ...], seq?}` to body. COP_EINVAL: the file is wrong, *fault says as much of it as fits; nothing
 * changed. COP_EIO: a model is to go, and no checkpoint can be written of it; COP_ENOMEM; nothing changed either. */
COP_CHECK cop_err cop_reload(cop_server *server, const cop_wire_seq *seq, cop_bytes *body, cop_wire_fault *fault);

/* ---- its parts, in their order ---- */

/* It begins, or ends: in the log, and for whoever started this process. */
void cop_reload_tell_begin(void);
void cop_reload_tell_end(cop_server *server, const cop_config_changes *changes, cop_err err);
/* The file, and over it live changes; live: NULL is those in the state folder. Caller frees *next with cop_config_free.
 * COP_EINVAL, with *fault. */
COP_CHECK cop_err cop_reload_read(
        cop_server *server, const cop_live_changes *live, cop_config **next, cop_wire_fault *fault);
/* What differs, and what a restart would say of it; caller frees changes, also after an error. COP_ENOMEM. */
COP_CHECK cop_err cop_reload_compare(cop_server *server, const cop_config *next, cop_config_changes *changes);
/* Makes what is to come, and writes a checkpoint if models are to go. Caller ends the exchange with
 * cop_model_exchange_drop, or gives it to apply. COP_EIO, COP_ENOMEM. */
COP_CHECK cop_err cop_reload_prepare(cop_server *server, const cop_config *next, cop_config_changes *changes,
        cop_model_exchange *exchange, cop_diag *diag);
/* From here on it is served. COP_ENOMEM: nothing changed. */
COP_CHECK cop_err cop_reload_apply(
        cop_server *server, cop_config *next, cop_config_changes *changes, cop_model_exchange *exchange);
/* The reply. */
void cop_reload_put(const cop_config_changes *changes, const cop_wire_seq *seq, cop_bytes *body);
/* Fills *fault, whose message begins with `what`; err. */
cop_err cop_reload_fault(const char *what, cop_err err, const cop_diag *why, cop_wire_fault *fault);

#endif
