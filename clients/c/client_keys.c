/* Pairs are drawn until one fits: of 200 about one does not. */
#include "client_keys.h"

#include <errno.h>
#include <string.h>

#include <zmq.h>

static bool set_key(void *socket, int option, const char *key)
{
	return zmq_setsockopt(socket, option, key, COP_CURVE_KEY_ROOM) == 0;
}

cop_err cop_client_keys_set(void *socket, const cop_client_keys *keys, cop_diag *diag)
{
	char secret[COP_CURVE_KEY_ROOM] = "", public[COP_CURVE_KEY_ROOM], server[COP_CURVE_KEY_ROOM] = "";
	if (keys->own == NULL)
		return COP_OK;
	cop_err err = cop_curve_key_read(keys->own, true, secret, diag);
	if (err == COP_OK)
		err = cop_curve_key_read(keys->server, false, server, diag);
	if (err == COP_OK && (zmq_curve_public(public, secret) != 0 || !set_key(socket, ZMQ_CURVE_SERVERKEY, server) ||
	                             !set_key(socket, ZMQ_CURVE_PUBLICKEY, public) ||
	                             !set_key(socket, ZMQ_CURVE_SECRETKEY, secret))) {
		cop_diag_of(diag, keys->own, "%s; expected a libzmq with CURVE", zmq_strerror(errno));
		err = COP_EINVAL;
	}
	explicit_bzero(secret, sizeof secret);
	return err;
}

cop_err cop_client_keys_make(char public[COP_CURVE_KEY_ROOM], char secret[COP_CURVE_KEY_ROOM], cop_diag *diag)
{
	do {
		if (zmq_curve_keypair(public, secret) != 0) {
			cop_diag_message(diag, "no key pair: %s; expected a libzmq with CURVE", zmq_strerror(errno));
			return COP_EIO;
		}
	} while (strstr(public, "${") != NULL);
	return COP_OK;
}
