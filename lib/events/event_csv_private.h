/* events/event_csv_private.h: the parts of the csv log's reader, for its sources alone.
 *
 * Which columns mean what: they are named by their header's name or their place from 1. And the candidates, a line of
 * numbers for each action, that all events share. */
#ifndef COP_EVENTS_EVENT_CSV_PRIVATE_H
#define COP_EVENTS_EVENT_CSV_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/csv.h"
#include "base/err.h"
#include "events/event_reader.h"

#define COP_CSV_NO_COLUMN SIZE_MAX

typedef struct cop_csv_roles {
	size_t action, cost, probability; /* COP_CSV_NO_COLUMN: there is none (probability only) */
	bool reward;                      /* the cost's column holds 1 - cost */
	size_t *context;                  /* context_count of them, in order; freed by cop_csv_roles_fini */
	size_t context_count;
} cop_csv_roles;

/* From what the user said and the file's first line, which was read. need_probability: a log without that column is an
 * error. COP_EINVAL: a column named by the user is not there, or means two things. COP_EFORMAT: a column that nobody
 * named is not there. COP_ENOMEM. With *diag, whose source is `name`. */
COP_CHECK cop_err cop_csv_roles_find(const cop_csv *csv, const char *name, const cop_event_columns *columns,
        bool need_probability, cop_csv_roles *out, cop_diag *diag);
void cop_csv_roles_fini(cop_csv_roles *roles);

typedef struct cop_csv_items {
	cop_row *rows; /* count of them, all dense or all sparse as the space's are */
	size_t count, capacity;
	size_t features; /* of all, as Vowpal Wabbit counts them, without constants */
	float *dense;    /* count rows of d */
	size_t d;
	cop_feature_room room; /* or sparse ones */
	cop_feature_span *span;
} cop_csv_items;

/* items is all zero before, and to be freed with cop_csv_items_fini also on error. COP_EINVAL: the file cannot be
 * opened. COP_EFORMAT: it holds something else. COP_EIO, COP_ENOMEM. With *diag. */
COP_CHECK cop_err cop_csv_items_read(cop_csv_items *items, cop_feature_space *space, const char *path, cop_diag *diag);
void cop_csv_items_fini(cop_csv_items *items);

#endif
