/* daemon/reload.h: the configuration, read again while the daemon serves. The loop's thread. */
#ifndef COP_DAEMON_RELOAD_H
#define COP_DAEMON_RELOAD_H

#include "daemon/server.h"
#include "wire/wire_keys.h"

/* Reads the configuration again and applies what can change; appends `{applied: [text ...], restart: [text ...], seq?}`
 * to body. COP_EINVAL: the file is wrong, *fault says as much of it as fits; nothing changed. COP_ENOMEM. */
COP_CHECK cop_err cop_reload(cop_server *server, const cop_wire_seq *seq, cop_bytes *body, cop_wire_fault *fault);

#endif
