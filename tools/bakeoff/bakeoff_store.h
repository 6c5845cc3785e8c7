/* tools/bakeoff/bakeoff_store.h: a bakeoff's files: OUT.csv, and beside it OUT.curves.csv and OUT.settings.csv.
 *
 * Opening takes a lock, cuts off a half-written last line and reads what is there. A run's points are written before
 * its row, each with one write of whole lines: a row stands for a whole run, whatever happens between. The third file
 * holds what each setting was when its first row was written (name, fingerprint, options); rows of a setting that has
 * become another are not mixed. One thread at a time. */
#ifndef COP_TOOLS_BAKEOFF_BAKEOFF_STORE_H
#define COP_TOOLS_BAKEOFF_BAKEOFF_STORE_H

#include "bakeoff_rows.h"

#define COP_BAKEOFF_PATH_ROOM 4096

typedef struct cop_bakeoff_store {
	cop_bakeoff_rows rows;
	cop_bakeoff_points points;
	char path[COP_BAKEOFF_PATH_ROOM]; /* of the csv */
	char curves_path[COP_BAKEOFF_PATH_ROOM];
	char settings_path[COP_BAKEOFF_PATH_ROOM];
	int csv, curves; /* descriptors; -1: closed */
} cop_bakeoff_store;

/* Creates the files, or reads them. replace: rows and points of settings that have become others are removed, else they
 * are an error. COP_EINVAL: the name is none of a csv; a setting has become another. COP_EEXIST: another process writes
 * them. COP_EFORMAT: they hold something else. COP_EIO, COP_ENOMEM. Caller closes in every case. */
COP_CHECK cop_err cop_bakeoff_store_open(
        const char *path, const cop_bakeoff_settings *settings, bool replace, cop_bakeoff_store *store, cop_diag *diag);
/* Reads, without a lock and without changing anything. Half a last line is an error. */
COP_CHECK cop_err cop_bakeoff_store_read(const char *path, cop_bakeoff_store *store, cop_diag *diag);
/* To the files, then to rows and points. COP_EIO: not written, or not whole: nothing more can be added. COP_ENOMEM. */
COP_CHECK cop_err cop_bakeoff_store_add(cop_bakeoff_store *store, const cop_bakeoff_row *row,
        const cop_bakeoff_point *points, size_t count, cop_diag *diag);
void cop_bakeoff_store_close(cop_bakeoff_store *store);

#endif
