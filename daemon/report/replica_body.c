/* Followers are told by the leader, what it knows of them; each instance reports its own role. */
#include "daemon/report/replica_body.h"

#include <math.h>
#include <stdio.h>

#include "daemon/common/clock.h"
#include "daemon/common/counters.h"
#include "daemon/common/exposition.h"
#include "wire/wire_put.h"

#define COUNT(key, metric, member)                                                                                     \
	{                                                                                                              \
		key, metric, offsetof(cop_replica_counts, member)                                                      \
	}
static const cop_counter counts[] = {
	COUNT("joins", COP_METRIC(coppice_replica_joins_total), joins),
	COUNT("refused", COP_METRIC(coppice_replica_refused_total), refused),
	COUNT("lost", COP_METRIC(coppice_replica_lost_total), lost),
	COUNT("connects", COP_METRIC(coppice_replica_connects_total), connects),
	COUNT("broken", COP_METRIC(coppice_replica_broken_total), broken),
	COUNT("fenced", COP_METRIC(coppice_replica_fenced_total), fenced),
	COUNT("records", COP_METRIC(coppice_replica_records_total), records),
	COUNT("bytes", COP_METRIC(coppice_replica_bytes_total), bytes),
	COUNT("far_records", COP_METRIC(coppice_replica_far_records_total), far_records),
	COUNT("checkpoints", COP_METRIC(coppice_replica_checkpoints_total), checkpoints),
	COUNT("files", COP_METRIC(coppice_replica_files_total), files),
	COUNT("compared", COP_METRIC(coppice_replica_compared_total), compared),
	COUNT("differed", COP_METRIC(coppice_replica_differed_total), differed),
	COP_COUNTERS_END,
};

static const char *stage_text(cop_replica_stage stage)
{
	static const char *const texts[] = { "placing", "streaming", "copying" };
	return texts[stage];
}

static uint64_t behind(const cop_replica_leader *l, const cop_replica_peer *peer)
{
	return l->log.next - 1 > peer->has ? l->log.next - 1 - peer->has : 0;
}

static void put_followers(const cop_replica_leader *l, cop_bytes *out)
{
	size_t count = 0;
	cop_wire_put_text(out, "followers");
	size_t at = cop_wire_put_array_open(out);
	for (size_t i = 0; i < COP_CONFIG_FOLLOWERS; i++) {
		const cop_replica_peer *peer = &l->peer[i];
		if (!peer->there)
			continue;
		size_t map = cop_wire_put_map_open(out);
		cop_wire_put_key_text(out, "name", peer->name);
		cop_wire_put_key_text(out, "program", peer->program);
		cop_wire_put_key_text(out, "stage", stage_text(peer->stage));
		cop_wire_put_key_unsigned(out, "written", peer->written);
		cop_wire_put_key_unsigned(out, "synced", peer->synced);
		cop_wire_put_key_unsigned(out, "applied", peer->has);
		cop_wire_put_key_unsigned(out, "behind", behind(l, peer));
		cop_wire_put_map_close(out, map);
		count++;
	}
	cop_wire_put_array_close(out, at, count);
}

static void put_follower(const cop_replica_follower *f, cop_bytes *out)
{
	cop_wire_put_key_text(out, "state", cop_replica_follower_state_text(f->state));
	if (f->reason[0] != '\0')
		cop_wire_put_key_text(out, "reason", f->reason);
	if (f->state != COP_REPLICA_SEEKING)
		cop_wire_put_key_text(out, "leader", f->leader);
	cop_wire_put_key_text(out, "requests", f->requests);
	cop_wire_put_key_unsigned(out, "behind", f->leader_next > f->next ? f->leader_next - f->next : 0);
}

void cop_replica_body_status(const cop_replica *r, double until, cop_bytes *out)
{
	if (!r->enabled)
		return;
	bool follows = cop_replica_follows(r);
	cop_wire_put_text(out, "replica");
	size_t map = cop_wire_put_map_open(out);
	cop_wire_put_key_text(out, "name", r->name);
	cop_wire_put_key_text(out, "role", follows ? "follower" : "leader");
	cop_wire_put_key_text(out, "kernel", r->leader.kernel);
	cop_wire_put_key_unsigned(out, "epoch", cop_replica_epoch(r));
	cop_wire_put_key_unsigned(out, "held", cop_journaler_epoch(r->durable->journal));
	cop_wire_put_key_unsigned(out, "next", cop_journaler_next(r->durable->journal));
	if (until > 0.0)
		cop_wire_put_key_double(out, "until", until);
	cop_wire_put_key_double(out, "clock", cop_clock_read(CLOCK_BOOTTIME));
	if (follows)
		put_follower(&r->follower, out);
	else
		put_followers(&r->leader, out);
	cop_counters_put_status(counts, &r->counts, out);
	cop_wire_put_map_close(out, map);
}

/* A sample of each follower. */
static void put_behind(const cop_replica_leader *l, cop_bytes *out)
{
	const cop_metric *metric = COP_METRIC(coppice_replica_follower_behind_records);
	char labels[COP_CONFIG_NAME_MAX + 32];
	cop_exposition_family(out, metric);
	for (size_t i = 0; i < COP_CONFIG_FOLLOWERS; i++) {
		(void)snprintf(labels, sizeof labels, "follower=\"%s\"", l->peer[i].name);
		if (l->peer[i].there)
			cop_exposition_whole(out, metric, labels, behind(l, &l->peer[i]));
	}
}

void cop_replica_body_metrics(const cop_replica *r, double until, cop_bytes *out)
{
	const cop_replica_follower *f = &r->follower;
	if (!r->enabled)
		return;
	bool follows = cop_replica_follows(r);
	cop_exposition_lone_whole(out, COP_METRIC(coppice_replica_leads), !follows);
	cop_exposition_family(out, COP_METRIC(coppice_replica_lead_seconds));
	if (!follows && until > 0.0)
		cop_exposition_number(out, COP_METRIC(coppice_replica_lead_seconds), "",
		        fmax(until - cop_clock_read(CLOCK_BOOTTIME), 0.0));
	cop_exposition_lone_whole(out, COP_METRIC(coppice_replica_epoch), follows ? f->epoch : r->leader.epoch);
	cop_exposition_lone_whole(
	        out, COP_METRIC(coppice_replica_following), follows && f->state == COP_REPLICA_FOLLOWING);
	cop_exposition_lone_whole(out, COP_METRIC(coppice_replica_stopped), follows && f->state == COP_REPLICA_STOPPED);
	cop_exposition_lone_whole(out, COP_METRIC(coppice_replica_behind_records),
	        follows && f->leader_next > f->next ? f->leader_next - f->next : 0);
	put_behind(&r->leader, out);
	cop_counters_put_metrics(counts, &r->counts, out);
}
