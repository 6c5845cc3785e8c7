/* The front door's errors are lib's, by number. */
#include <stdio.h>
#include <string.h>

#include "door/door_private.h"

#define SAME(name) _Static_assert((int)COPPICE_##name == (int)COP_##name, "the numbers of the front door stay")
SAME(OK);
SAME(EINVAL);
SAME(ENOMEM);
SAME(EIO);
SAME(EFORMAT);
SAME(EVERSION);
SAME(ESHAPE);
SAME(ENONFINITE);
SAME(EDIVERGED);
SAME(ENOTFOUND);
SAME(EEXIST);
SAME(EFULL);
SAME(EEND);
_Static_assert(COP_ERR_COUNT == COPPICE_EEND + 1, "every error has a number in the front door");

COP_DOOR_EXPORT const char *coppice_version(void) { return COPPICE_VERSION; }

COP_DOOR_EXPORT const char *coppice_err_text(coppice_err err) { return cop_err_text((cop_err)err); }

coppice_err cop_door_error_report(cop_err err, const cop_diag *diag, coppice_message *message)
{
	if (err == COP_OK || message == NULL)
		return (coppice_err)err;
	if (diag->message[0] != '\0')
		cop_diag_text(diag, message->text, sizeof message->text);
	else
		(void)snprintf(message->text, sizeof message->text, "%s%s%s", diag->source,
		        diag->source[0] != '\0' ? ": " : "", cop_err_text(err));
	return (coppice_err)err;
}
