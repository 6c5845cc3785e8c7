/* door/door_private.h: the objects of include/coppice.h from inside, and how errors leave. For lib/door alone. */
#ifndef COP_DOOR_DOOR_PRIVATE_H
#define COP_DOOR_DOOR_PRIVATE_H

#include <coppice.h>
#include <stdbool.h>

#include "base/json.h"
#include "base/name_table.h"
#include "door/door_rows.h"
#include "online/model.h"
#include "view/trained.h"

/* What is exported, where everything else is hidden. */
#define COP_DOOR_EXPORT __attribute__((visibility("default")))

struct coppice_model {
	cop_model *model;
	cop_door_rows rows;
	bool timed;            /* it was given a time: */
	double now;            /* the latest one */
	cop_json_writer *json; /* the text that was given out last, or NULL */
	coppice_message message;
};

struct coppice_trained {
	cop_trained *trained;
	cop_name_table names; /* of the features, the first of equal ones, */
	uint32_t *feature;    /* and which each one is */
	float *x;             /* a row, d */
	float *work;          /* outputs */
	coppice_message message;
};

struct coppice_table {
	cop_dataset *data; /* scaled */
};

/* err in the enumeration of the front door; an error's text goes to *message (NULL allowed), and that of err where diag
 * has none. */
coppice_err cop_door_error_report(cop_err err, const cop_diag *diag, coppice_message *message);

#endif
