/* The file is read once into a buffer of a few lines, which is wiped; what is longer than that is no key. */
#include "wire/curve_key.h"

#include <stdio.h>
#include <string.h>

#include "base/file_guarded.h"

#define ROOM 256 /* of a file with a key and white space */
#define GAPS " \t\r\n"

bool cop_curve_key_is(const char *text)
{
	static const char letters[] =
	        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
	return strlen(text) == COP_CURVE_KEY && strspn(text, letters) == COP_CURVE_KEY;
}

/* The text's only word in *key; false: there is none that is a key, or more. */
static bool only_word(char *text, char *key)
{
	text += strspn(text, GAPS);
	size_t length = strcspn(text, GAPS);
	const char *rest = text + length;
	if (rest[strspn(rest, GAPS)] != '\0')
		return false;
	text[length] = '\0';
	if (!cop_curve_key_is(text))
		return false;
	memcpy(key, text, COP_CURVE_KEY_ROOM);
	return true;
}

cop_err cop_curve_key_read(const char *path, bool secret, char key[COP_CURVE_KEY_ROOM], cop_diag *diag)
{
	char text[ROOM] = "";
	FILE *file;
	key[0] = '\0';
	cop_err err = cop_file_guarded_open(path, secret ? COP_FILE_SECRET : COP_FILE_PUBLIC, &file, diag);
	if (err != COP_OK)
		return err;
	size_t length = fread(text, 1, sizeof text, file);
	bool whole = ferror(file) == 0;
	(void)fclose(file);
	bool good = whole && length < sizeof text && memchr(text, '\0', length) == NULL && only_word(text, key);
	explicit_bzero(text, sizeof text);
	if (good)
		return COP_OK;
	cop_diag_of(diag, path, "no key; expected the 40 characters that coppice keygen wrote");
	return whole ? COP_EFORMAT : COP_EIO;
}
