/* The file is read once into a buffer of a few lines, which is wiped; what is longer than that is no key. */
#include "wire/curve_key.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

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
	struct stat info;
	key[0] = '\0';
	FILE *file = fopen(path, "re");
	if (file == NULL) {
		cop_diag_of(diag, path, "%s", strerror(errno));
		return COP_EIO;
	}
	(void)setvbuf(file, NULL, _IONBF, 0); /* no other copy of the secret */
	bool shared = secret && (fstat(fileno(file), &info) != 0 || (info.st_mode & (S_IROTH | S_IWOTH)) != 0);
	size_t length = shared ? 0 : fread(text, 1, sizeof text, file);
	bool whole = !shared && ferror(file) == 0;
	(void)fclose(file);
	bool good = whole && length < sizeof text && memchr(text, '\0', length) == NULL && only_word(text, key);
	explicit_bzero(text, sizeof text);
	if (good)
		return COP_OK;
	if (shared)
		cop_diag_of(diag, path, "everybody can read or write it; expected chmod o-rw");
	else
		cop_diag_of(diag, path, "no key; expected the 40 characters that coppice keygen wrote");
	return whole ? COP_EFORMAT : COP_EIO;
}
