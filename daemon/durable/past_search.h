/* daemon/durable/past_search.h: decisions of the journal by their ids, the newest first.
 *
 * Segments are read from the newest back, each as a whole, so the work is bounded by records, and rounded up to a
 * segment. Files are only read, and a daemon may write them meanwhile. One thread. */
#ifndef COP_DAEMON_DURABLE_PAST_SEARCH_H
#define COP_DAEMON_DURABLE_PAST_SEARCH_H

#include "daemon/config/config.h"
#include "wire/wire_glance.h"
#include "wire/wire_past.h"

#define COP_PAST_SEARCH_RECORDS 4000000u /* after so many no further segment is begun */

/* Which decisions. */
typedef struct cop_past_search_wanted {
	const char *folder;     /* of the journal, */
	const char *model;      /* in whatever life, or NAME#LIFE (past_find.h) */
	const cop_event_id *id; /* NULL: whose id is written with the prefix at its beginning */
	const char *prefix;
	uint64_t before;  /* records before this one; 0: all */
	size_t limit;     /* the newest so many, at most COP_WIRE_PAST_LIMIT */
	uint64_t records; /* after so many no further segment is begun */
} cop_past_search_wanted;

typedef struct cop_past_search_found {
	cop_event_id id;
	char stored[COP_CONFIG_NAME_MAX + 1]; /* the model's name in the journal */
	uint64_t sequence;
	double time; /* unix seconds */
	bool has_arm, has_value, has_p;
	uint64_t arm;
	double value; /* in [0, 1] */
	double p;
	cop_wire_maker by;
	cop_wire_limit limit;
} cop_past_search_found;

typedef struct cop_past_search {
	cop_past_search_found found[COP_WIRE_PAST_LIMIT]; /* the newest first */
	size_t count;
	uint64_t from, to; /* records that were looked through, all between; 0: none */
	double since;      /* time of the oldest of them */
	uint64_t looked;   /* how many */
	uint64_t more;     /* go on before this record; 0: the journal's beginning was reached */
} cop_past_search;

/* COP_ENOTFOUND: there is no journal. Else as the journal's reader; all with *diag. */
COP_CHECK cop_err cop_past_search_run(const cop_past_search_wanted *wanted, cop_past_search *out, cop_diag *diag);
/* The one decision that the record is. COP_ENOTFOUND: it is none of the model, or not there any more. Else as above. */
COP_CHECK cop_err cop_past_search_record(
        const cop_past_search_wanted *wanted, uint64_t sequence, cop_past_search_found *out, cop_diag *diag);

#endif
