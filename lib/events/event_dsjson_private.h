/* events/event_dsjson_private.h: the parts of the dsjson reader, for its sources alone.
 *
 * event_dsjson.c reads lines and finds which form each has; event_dsjson_label.c gathers what was played and what it
 * cost; event_dsjson_features.c puts features into rows. All read through one events/json_scan, where faults stay. */
#ifndef COP_EVENTS_EVENT_DSJSON_PRIVATE_H
#define COP_EVENTS_EVENT_DSJSON_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>

#include "events/event_reader.h"
#include "events/json_scan.h"

/* Candidates of one event. */
#define COP_DSJSON_CANDIDATES_MAX 65536

/* A number of the label and where it stood (NULL: nowhere). */
typedef struct cop_dsjson_number {
	const char *at;
	double value;
} cop_dsjson_number;

/* A list of numbers of which the first matters. */
typedef struct cop_dsjson_list {
	const char *at;
	size_t count;
	double first;
	bool holds_zero;
} cop_dsjson_list;

typedef struct cop_dsjson_label {
	cop_dsjson_number cost, original_cost, probability;
	cop_dsjson_number action; /* from 1; 0: none */
	cop_dsjson_number index;  /* from 0 */
	cop_dsjson_number drop;   /* probability that such an event was left out of the log */
	cop_dsjson_list actions, probabilities;
	const char *skip_at;
	bool skip_learn;
} cop_dsjson_label;

typedef enum cop_dsjson_taken {
	COP_DSJSON_NOT_TAKEN = 0, /* no such member of a label: its value still stands before the scan */
	COP_DSJSON_TAKEN,         /* or a fault */
} cop_dsjson_taken;

/* A member whose name begins with an underscore. */
cop_dsjson_taken cop_dsjson_label_member(cop_dsjson_label *label, cop_json_scan *scan, const cop_json_scan_span *name);
/* "a", "p" and "pdrop", which mean this only beside a "c". The value stands before the scan. */
void cop_dsjson_label_short(cop_dsjson_label *label, cop_json_scan *scan, const cop_json_scan_span *name);
/* Puts the label into the event, whose candidates are known; false and a fault when it makes no sense. */
bool cop_dsjson_label_apply(
        const cop_dsjson_label *label, double assumed_probability, cop_json_scan *scan, cop_logged_event *event);

typedef struct cop_dsjson_features {
	cop_json_scan *scan;     /* kept for one line */
	cop_dsjson_label *label; /* likewise */
	cop_feature_space *space;
	size_t spaces, active; /* namespaces entered so far, and the one that was entered last (from 1) */
	char *names;           /* room: decoded names, as many bytes as the longest line so far had */
	char *word;            /* room: one feature's name */
	size_t names_used, length;

	cop_feature_room room;
	cop_feature_span *span; /* of the shared row, then of count candidates */
	cop_row *rows;          /* of the candidates, for the event */
	size_t count, capacity;
	size_t shared_features, own_features; /* of the event; of all candidates */
	cop_err err;                          /* of the space */

	bool shared_done; /* its row is made */
	bool late;        /* a shared feature came after its row was made: read the line again, with last_multi */
	bool last_multi;  /* candidates wait until the rest is read */
	bool multi;       /* there are candidates */
	cop_json_scan multi_scan; /* where they wait */
} cop_dsjson_features;

/* Before each reading of a line. COP_ENOMEM. */
COP_CHECK cop_err cop_dsjson_features_begin(cop_dsjson_features *f, size_t length);
/* The object that comes next holds the event's features (and perhaps its candidates and label). */
void cop_dsjson_features_context(cop_dsjson_features *f);
/* The same for an object that was entered already, of which one member comes next. */
void cop_dsjson_features_member(cop_dsjson_features *f, const cop_json_scan_span *name);
/* Ends what context or member began: what waited is read, rows are made, and the event gets them. COP_ENOMEM. */
COP_CHECK cop_err cop_dsjson_features_end(cop_dsjson_features *f, cop_logged_event *event);
void cop_dsjson_features_fini(cop_dsjson_features *f);

#endif
