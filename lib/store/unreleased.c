/* Only beginnings are compared: nothing else of such a file is looked at. */
#include "store/unreleased.h"

#include <string.h>

bool cop_unreleased_begins(const void *data, size_t length)
{
	static const char *const beginnings[] = { "COPJRNAL", "COPCHKPT", "COPM" };
	for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++) {
		size_t wanted = strlen(beginnings[i]);
		if (length >= wanted && memcmp(data, beginnings[i], wanted) == 0)
			return true;
	}
	return false;
}
