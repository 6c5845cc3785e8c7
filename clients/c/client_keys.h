/* clients/c/client_keys.h: keys of ZeroMQ's CURVE: new pairs, and those that a client shows. Any thread. */
#ifndef COP_CLIENTS_C_CLIENT_KEYS_H
#define COP_CLIENTS_C_CLIENT_KEYS_H

#include "wire/curve_key.h"

/* Files, as coppice keygen writes them. */
typedef struct cop_client_keys {
	const char *own;    /* the client's secret key; NULL: no CURVE */
	const char *server; /* the daemon's public key */
} cop_client_keys;

/* The socket's next connection is encrypted, if there are keys. COP_EIO, COP_EFORMAT: a file; *diag names it.
 * COP_EINVAL: libzmq has no CURVE. */
COP_CHECK cop_err cop_client_keys_set(void *socket, const cop_client_keys *keys, cop_diag *diag);

/* A pair whose public key can stand in a configuration, where ${ begins a variable. COP_EIO, with *diag: libzmq has no
 * CURVE. */
COP_CHECK cop_err cop_client_keys_make(
        char public[COP_CURVE_KEY_ROOM], char secret[COP_CURVE_KEY_ROOM], cop_diag *diag);

#endif
