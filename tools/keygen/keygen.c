/* coppice keygen: a new key pair for ZeroMQ's CURVE. Both files are created, never overwritten; when the second one
 * cannot be written the first one is removed again. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file_atomic.h"
#include "base/mem.h"
#include "clients/c/client_keys.h"
#include "tools/common/command.h"
#include "tools/common/options.h"

#define NAME "keygen"

static const char usage_text[] = "usage: coppice keygen [--json] FILE\n\n"
                                 "Makes a key pair for CURVE: writes the secret key to FILE (mode 0600) and the\n"
                                 "public key to FILE.pub, and prints the public key. A file that is there already\n"
                                 "is not overwritten.\n\n"
                                 "  --json   one JSON object: files and public key\n";

typedef struct keygen {
	bool json;
	const char *path;
	char *public_path;
	char secret[COP_CURVE_KEY_ROOM], public[COP_CURVE_KEY_ROOM];
} keygen;

static const cop_option rows[] = {
	{ "json", COP_OPTION_FLAG, COP_OPTION_OF(keygen, json) },
	{ .name = NULL },
};

static cop_err write_key(const char *path, const char *key, mode_t mode, cop_diag *diag)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	if (fd < 0) {
		cop_diag_of(
		        diag, path, "%s", errno == EEXIST ? "is there already; expected a new file" : strerror(errno));
		return COP_EIO;
	}
	cop_err err = cop_file_write_all(fd, key, COP_CURVE_KEY);
	if (err == COP_OK)
		err = cop_file_write_all(fd, "\n", 1);
	if (err == COP_OK && fsync(fd) != 0)
		err = COP_EIO;
	int why = errno;
	if (close(fd) != 0 && err == COP_OK) {
		err = COP_EIO;
		why = errno;
	}
	if (err != COP_OK) {
		(void)unlink(path);
		cop_diag_of(diag, path, "%s", strerror(why));
	}
	return err;
}

static cop_err write_pair(keygen *k, cop_diag *diag)
{
	size_t length = strlen(k->path) + sizeof ".pub";
	k->public_path = cop_mem_alloc(length, 1);
	if (k->public_path == NULL)
		return COP_ENOMEM;
	(void)snprintf(k->public_path, length, "%s.pub", k->path);
	cop_err err = write_key(k->path, k->secret, 0600, diag);
	if (err != COP_OK)
		return err;
	err = write_key(k->public_path, k->public, 0644, diag);
	if (err != COP_OK)
		(void)unlink(k->path);
	return err;
}

static cop_err print(const keygen *k)
{
	cop_json_writer *json;
	cop_err err = cop_command_json_begin(k->json, &json);
	if (err == COP_OK && json == NULL)
		return printf("%s\n", k->public) > 0 ? COP_OK : COP_EIO;
	if (err != COP_OK)
		return err;
	cop_json_put_text(json, "secret_file", k->path);
	cop_json_put_text(json, "public_file", k->public_path);
	cop_json_put_text(json, "public_key", k->public);
	return cop_command_json(json);
}

int cop_command_keygen(int argc, char **argv)
{
	keygen k = { .json = false };
	const cop_options options = { NAME, usage_text, .sets = { { rows, &k, NULL } } };
	int status = cop_options_read(&options, argc, argv);
	if (status != COP_OPTIONS_READ)
		return status;
	if (optind + 1 != argc)
		return cop_command_misused(NAME, "expected FILE (coppice keygen --help)");
	k.path = argv[optind];
	cop_diag diag = { 0 };
	cop_err err = cop_client_keys_make(k.public, k.secret, &diag);
	if (err == COP_OK)
		err = write_pair(&k, &diag);
	if (err == COP_OK)
		err = print(&k);
	explicit_bzero(k.secret, sizeof k.secret);
	cop_mem_free(k.public_path);
	return cop_command_end(NAME, err, NULL, &diag);
}
