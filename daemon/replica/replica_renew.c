/* One at a time joins again, is told to take a checkpoint then, and is waited for, so that answers which wait for
 * followers go on where there is another one. */
#include "daemon/replica/replica_renew.h"

#include <stdio.h>
#include <string.h>

#define PATIENCE 60.0 /* seconds for a checkpoint, and a start */

static bool is_stale(const cop_replica_leader *l, const cop_replica_peer *peer)
{
	return peer->there && peer->forgot != l->durable->forgot;
}

bool cop_replica_renew_stands(const cop_replica_leader *l)
{
	bool stands = l->forgot == l->durable->forgot;
	for (size_t i = 0; i < COP_CONFIG_FOLLOWERS; i++)
		stands = stands && !is_stale(l, &l->peer[i]);
	return stands;
}

static cop_replica_peer *find(cop_replica_leader *l, const char *name)
{
	for (size_t i = 0; i < COP_CONFIG_FOLLOWERS; i++)
		if (l->peer[i].there && strcmp(l->peer[i].name, name) == 0)
			return &l->peer[i];
	return NULL;
}

/* True: there is nobody to wait for, any more. */
static bool look(cop_replica_leader *l, double now, uint64_t *renewed, uint64_t *left)
{
	if (l->renewing[0] == '\0')
		return true;
	cop_replica_peer *peer = find(l, l->renewing);
	const bool back = peer != NULL && !is_stale(l, peer) && peer->stage == COP_REPLICA_STREAMING;
	if (!back && now < l->renew_end)
		return false;
	*(back ? renewed : left) += 1;
	if (peer != NULL)
		peer->passed = true;
	l->renewing[0] = '\0';
	return true;
}

bool cop_replica_renew_turn(cop_replica_leader *l, double now, uint64_t *renewed, uint64_t *left)
{
	if (l->forgot != l->durable->forgot) /* what was summed until then has whoever is forgotten */
		cop_replica_log_drop_states(&l->log);
	l->forgot = l->durable->forgot;
	if (!look(l, now, renewed, left))
		return false;
	for (size_t i = 0; i < COP_CONFIG_FOLLOWERS; i++) {
		cop_replica_peer *peer = &l->peer[i];
		if (!is_stale(l, peer) || peer->passed)
			continue;
		(void)snprintf(l->renewing, sizeof l->renewing, "%s", peer->name);
		l->renew_end = now + PATIENCE;
		cop_log_line(l->durable->log, COP_LOG_EVENT(replica_renewed), "name=\"%s\"", peer->name);
		if (peer->stage != COP_REPLICA_COPYING)
			cop_replica_leader_turn_away(l, peer);
		return false;
	}
	return true;
}
