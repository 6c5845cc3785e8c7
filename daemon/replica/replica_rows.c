/* Rows are few, so they are looked through. */
#include "daemon/replica/replica_rows.h"

#include <string.h>

static bool same(const uint8_t *a, size_t a_length, const uint8_t *b, size_t b_length)
{
	return a_length == b_length && memcmp(a, b, a_length) == 0;
}

cop_replica_peer *cop_replica_rows_find(cop_replica_peer *rows, const cop_replica_peer *stranger)
{
	for (cop_replica_peer *row = rows; row < rows + COP_CONFIG_FOLLOWERS; row++)
		if (row->there &&
		        same(row->identity, row->identity_length, stranger->identity, stranger->identity_length))
			return row;
	return NULL;
}

cop_replica_peer *cop_replica_rows_find_name(cop_replica_peer *rows, const char *name)
{
	for (cop_replica_peer *row = rows; row < rows + COP_CONFIG_FOLLOWERS; row++)
		if (row->there && strcmp(row->name, name) == 0)
			return row;
	return NULL;
}

cop_replica_peer *cop_replica_rows_find_next(cop_replica_peer *rows, const cop_replica_peer *stranger)
{
	for (cop_replica_peer *row = rows; row < rows + COP_CONFIG_FOLLOWERS; row++)
		if (row->there && row->before_length > 0 &&
		        same(row->before, row->before_length, stranger->identity, stranger->identity_length))
			return row;
	return NULL;
}

cop_replica_peer *cop_replica_rows_make(cop_replica_peer *rows, cop_replica_peer *stranger)
{
	cop_replica_peer *before = cop_replica_rows_find_name(rows, stranger->name);
	if (before != NULL) {
		memcpy(stranger->before, before->identity, before->identity_length);
		stranger->before_length = before->identity_length;
		cop_replica_rows_clear(before);
		return before;
	}
	for (cop_replica_peer *row = rows; row < rows + COP_CONFIG_FOLLOWERS; row++)
		if (!row->there)
			return row;
	return NULL;
}

void cop_replica_rows_clear(cop_replica_peer *row)
{
	if (!row->there)
		return;
	cop_replica_source_fini(&row->source);
	*row = (cop_replica_peer){ .there = false };
}
