/* daemon/model_change.h: the verb `model`: one model added, removed, changed or begun anew while the daemon serves. The
 * loop's thread. */
#ifndef COP_DAEMON_MODEL_CHANGE_H
#define COP_DAEMON_MODEL_CHANGE_H

#include "daemon/server.h"
#include "wire/wire_keys.h"

/* name: of the model, length bytes. body: `{do: add | set | unset | reset | remove, options?: {OPTION: value | [value ...]},
 * fresh?: bool, seq?}`. Appends what a reload would to out. What takes a restart is refused, and nothing changed after an
 * error: COP_EINVAL, COP_EFORMAT, COP_EIO, COP_ENOMEM, with *fault. */
COP_CHECK cop_err cop_model_change(cop_server *server, const char *name, size_t name_length, const void *body,
        size_t length, cop_bytes *out, cop_wire_fault *fault);

#endif
