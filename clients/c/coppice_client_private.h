/* clients/c/coppice_client_private.h: what the functions of include/coppice_client.h share: arguments to MessagePack,
 * answers back, reasons. No state: any thread. */
#ifndef COP_CLIENTS_C_COPPICE_CLIENT_PRIVATE_H
#define COP_CLIENTS_C_COPPICE_CLIENT_PRIVATE_H

#include <coppice_client.h>

#include "base/bytes.h"
#include "base/err.h"

/* What the library shows; all else stays inside (the map beside). */
#define COP_CLIENT_EXPORT __attribute__((visibility("default")))

/* The reason into *message (NULL: not wanted); returns err. */
coppice_client_err cop_client_fail(coppice_client_err err, coppice_message *message, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
/* The same of an error of ours. */
coppice_client_err cop_client_failed(cop_err err, const cop_diag *diag, coppice_message *message);
/* Of an error's body. */
coppice_client_err cop_client_fail_refused(const cop_bytes *body, coppice_message *message);

/* What is not checked here the daemon refuses. */
coppice_client_err cop_client_check_model(const char *model, coppice_message *message);
/* Keys and values of an open map; COPPICE_CLIENT_EINVAL. */
coppice_client_err cop_client_put_id(cop_bytes *bytes, const coppice_id *id, coppice_message *message);
coppice_client_err cop_client_put_context(
        cop_bytes *bytes, const coppice_client_context *context, coppice_message *message);
void cop_client_put_losses(cop_bytes *bytes, const double *loss, size_t count);
coppice_client_err cop_client_put_named(
        cop_bytes *bytes, const coppice_loss *loss, size_t count, coppice_message *message);

/* id: NULL: not wanted; its bytes go to `kept` (COP_EVENT_ID_MAX of them). COPPICE_CLIENT_EFORMAT. */
coppice_client_err cop_client_get_action(
        const void *body, size_t length, coppice_id *id, uint8_t *kept, coppice_action *out, coppice_message *message);
coppice_client_err cop_client_get_result(const cop_bytes *body, coppice_result *out, coppice_message *message);

#endif
