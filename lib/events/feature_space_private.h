/* events/feature_space_private.h: what a feature space holds, for its own sources (feature_space*.c) only. */
#ifndef COP_EVENTS_FEATURE_SPACE_PRIVATE_H
#define COP_EVENTS_FEATURE_SPACE_PRIVATE_H

#include "base/name_table.h"
#include "events/feature_pairs_private.h"
#include "events/feature_space.h"
#include "events/place_names.h"

#define COP_FEATURE_GROUPS 256 /* first characters of namespaces */

struct cop_feature_space {
	bool dense, hash_all, frozen;
	unsigned bits;
	uint32_t mask;
	bool kept[COP_FEATURE_GROUPS];
	cop_feature_pair *pairs;
	size_t pair_count;

	cop_name_order lane;
	bool candidate; /* the row under way is one */
	cop_err err;    /* first failure of the row under way */
	bool keeping;   /* the namespace under way is kept */

	/* dense */
	cop_name_table columns, namespaces; /* tag of a column: number of its namespace */
	size_t old_columns, old_namespaces; /* before the event under way */
	cop_name_order_hint *hint;          /* one for each column */
	uint32_t *place_of;                 /* of a column among hints */
	float *slot;                        /* one for each column; lane.slot */
	size_t known;                       /* columns from here on may be unknown; 0: none */
	size_t column_room;
	size_t first_hint[2]; /* where the last row, and the last candidate, began */
	bool first_put;       /* none has been put into the row yet */
	uint64_t dropped;
	cop_bytes both; /* a name and its text */

	/* hashed */
	uint8_t group;
	cop_place_names *names; /* what places are called; NULL: not kept */
	const char *space_name; /* of the namespace under way, borrowed */
	size_t space_name_length;
	cop_feature_entries entries;
	cop_feature_parts parts;
};

/* A space without columns, pairs and kept namespaces. COP_ENOMEM. */
COP_CHECK cop_err cop_feature_space_make(bool dense, unsigned bits, bool hash_all, cop_feature_space **out);
/* A new column of lane.space behind the hint that the lane came to last; a failure becomes the row's. */
void cop_feature_space_add_column(cop_feature_space *space, const char *name, size_t length);

#endif
