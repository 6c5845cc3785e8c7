/* daemon/config/live.h: what was changed in the models while the daemon served (coppice ctl model), as it
 * stands in the state folder, over the configuration file.
 *
 * Options are kept as texts in the file's words, a list's as so many values of one option; those of section refit are
 * called refit.OPTION. Beside them stands what the configuration file had there, so that a later change of the file is
 * noticed. A model that was begun anew is in a new life: under its stored name, NAME#LIFE, the journal and the
 * checkpoints know it apart from what it was before. Plain data; one thread. */
#ifndef COP_DAEMON_CONFIG_LIVE_H
#define COP_DAEMON_CONFIG_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"

#define COP_LIVE_NAME_MAX 64       /* bytes of a model's stored name too */
#define COP_LIVE_LIFE_MAX 99999999 /* of one model */

typedef enum cop_live_kind {
	COP_LIVE_SET,    /* over the file's model, or begun anew */
	COP_LIVE_ADDED,  /* the file has no such model */
	COP_LIVE_REMOVED /* what it was in the state folder is kept */
} cop_live_kind;

/* "set", "added" or "removed". */
const char *cop_live_kind_text(cop_live_kind kind);

typedef struct cop_live_value {
	char *option;
	char *text;
} cop_live_value;

typedef struct cop_live_values {
	size_t count;
	cop_live_value *items;
} cop_live_values;

typedef struct cop_live_model {
	char name[COP_LIVE_NAME_MAX + 1];
	cop_live_kind kind;
	uint32_t life;          /* 0: the first */
	cop_live_values values; /* by option, in the order given */
	cop_live_values were;   /* of a model of the file: "OPTION = VALUE" of each, as printed from the file */
} cop_live_model;

typedef struct cop_live_changes {
	size_t count;
	cop_live_model *items;
} cop_live_changes;

void cop_live_free(cop_live_changes *changes);
cop_live_model *cop_live_find(const cop_live_changes *changes, const char *name);
/* The one of that name, made if there is none; NULL: no memory. */
cop_live_model *cop_live_put(cop_live_changes *changes, const char *name);

/* Removes the one of that name, if there is one. */
void cop_live_drop(cop_live_changes *changes, const char *name);

/* One more value of an option; false: no memory. */
bool cop_live_values_add(cop_live_values *values, const char *option, const char *text);
/* Removes an option's values; how many there were. */
size_t cop_live_values_remove(cop_live_values *values, const char *option);
void cop_live_values_clear(cop_live_values *values);

/* Copies into *out, which is freed with cop_live_free, also on error. COP_ENOMEM. */
COP_CHECK cop_err cop_live_copy(const cop_live_changes *changes, cop_live_changes *out);

/* All of it as the file has it. Failure: out->err. */
void cop_live_put_text(const cop_live_changes *changes, cop_bytes *out);
/* The same back; source: a name for *diag. Free *out, also on error. COP_EFORMAT, COP_ENOMEM, with *diag. */
COP_CHECK cop_err cop_live_parse(
        const void *text, size_t length, const char *source, cop_live_changes *out, cop_diag *diag);

/* What stands in the state folder: nothing where there is no file. Free *out, also on error. COP_EIO, COP_EFORMAT with
 * the file in *diag, COP_ENOMEM. */
COP_CHECK cop_err cop_live_read(const char *state_dir, cop_live_changes *out, cop_diag *diag);
/* False: there is no file. */
bool cop_live_is_there(const char *state_dir);
/* Replaces it as a whole, on disk when this returns. COP_EIO, COP_ENOMEM; COP_EFULL: there is too much of it. */
COP_CHECK cop_err cop_live_write(const char *state_dir, const cop_live_changes *changes, cop_diag *diag);

#endif
