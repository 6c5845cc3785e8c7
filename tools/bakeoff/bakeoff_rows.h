/* tools/bakeoff/bakeoff_rows.h: results of single runs, in memory and as csv.
 *
 * A row is one run: a dataset, a seed, a setting. Peers' files have the same columns, in the same order. A point
 * belongs to a row and holds its mean loss after `at` events. One thread per object. */
#ifndef COP_TOOLS_BAKEOFF_BAKEOFF_ROWS_H
#define COP_TOOLS_BAKEOFF_BAKEOFF_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bakeoff_settings.h"
#include "base/err.h"

#define COP_BAKEOFF_HEADER        "dataset,seed,events,features,classes,setting,progressive_loss,seconds"
#define COP_BAKEOFF_CURVES_HEADER "dataset,seed,events,setting,at,progressive_loss"
/* Longest csv line of one row or point: names are shorter than COP_BAKEOFF_NAME_ROOM. */
#define COP_BAKEOFF_LINE_ROOM 512

typedef struct cop_bakeoff_row {
	char dataset[COP_BAKEOFF_NAME_ROOM];
	char setting[COP_BAKEOFF_NAME_ROOM];
	uint64_t seed, events, features, classes;
	double loss;    /* mean over the events, in [0, 1] */
	double seconds; /* of deciding and learning */
} cop_bakeoff_row;

typedef struct cop_bakeoff_point {
	char dataset[COP_BAKEOFF_NAME_ROOM];
	char setting[COP_BAKEOFF_NAME_ROOM];
	uint64_t seed, events;
	uint64_t at; /* 1 .. events */
	double loss;
} cop_bakeoff_point;

typedef struct cop_bakeoff_rows {
	cop_bakeoff_row *row;
	size_t count, room;
} cop_bakeoff_rows;
typedef struct cop_bakeoff_points {
	cop_bakeoff_point *point;
	size_t count, room;
} cop_bakeoff_points;

/* COP_ENOMEM. */
COP_CHECK cop_err cop_bakeoff_rows_add(cop_bakeoff_rows *rows, const cop_bakeoff_row *row);
COP_CHECK cop_err cop_bakeoff_points_add(cop_bakeoff_points *points, const cop_bakeoff_point *point);
void cop_bakeoff_rows_fini(cop_bakeoff_rows *rows);
void cop_bakeoff_points_fini(cop_bakeoff_points *points);

/* The newest row of that run, NULL: none. */
const cop_bakeoff_row *cop_bakeoff_rows_find(
        const cop_bakeoff_rows *rows, const char *dataset, const char *setting, uint64_t seed, uint64_t events);

/* Adds the rows of a file. COP_EFORMAT with file and line in *diag: another header, or a field that is none of its
 * column. A file without any row is no error. Errors of base/stream; COP_ENOMEM. */
COP_CHECK cop_err cop_bakeoff_rows_read(const char *path, cop_bakeoff_rows *rows, cop_diag *diag);
COP_CHECK cop_err cop_bakeoff_points_read(const char *path, cop_bakeoff_points *points, cop_diag *diag);

/* A line with its end, into COP_BAKEOFF_LINE_ROOM bytes; its length. */
size_t cop_bakeoff_row_line(const cop_bakeoff_row *row, char *out);
size_t cop_bakeoff_point_line(const cop_bakeoff_point *point, char *out);

#endif
