/* Times are fractions of the lease's seconds T: the lease is renewed every T/3, an etcd endpoint or the daemon has T/6
 * to answer, a watcher looks every T/30, candidates wait T/12 for each other, and the daemon is told to end T/10 before
 * the lease does. */
#include "daemon/lease/lease_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RENEW (1.0 / 3.0)
#define LOOK  (1.0 / 30.0)
#define MEET  (1.0 / 12.0)
#define SPARE 0.1
#define YIELD 2.0 /* so long one that has more is waited for */

static double part(const cop_lease_run *run, double fraction) { return fraction * (double)run->settings.seconds; }

static void enter(cop_lease_run *run, cop_lease_run_stage stage)
{
	run->stage = stage;
	run->since = cop_lease_etcd_now();
}

/* Once, until something works again. */
static void complain(cop_lease_run *run, cop_log_event event, const cop_diag *why)
{
	char text[COP_LOG_LINE];
	if (run->complained)
		return;
	run->complained = true;
	cop_diag_text(why, text, sizeof text);
	cop_log_line(run->log, event, "reason=\"%s\"", text);
}

/* ---- what stands in etcd ---- */

typedef struct seen {
	const cop_lease_run *run;
	const cop_lease_daemon_state *mine;
	cop_lease_text_pair leader; /* key "": none */
	bool better;                /* a candidate has more, or as much and a lower name */
	char best[COP_LEASE_TEXT_NAME];
} seen;

/* The part of the key behind the prefix, which ends with /. */
static const char *inner(const cop_lease_run *run, const char *key)
{
	size_t length = strlen(run->settings.prefix);
	return strncmp(key, run->settings.prefix, length) == 0 ? key + length : "";
}

static void take_pair(void *context, const cop_lease_text_pair *pair)
{
	seen *s = context;
	const char *name = inner(s->run, pair->key);
	uint64_t held, next;
	if (strcmp(name, "leader") == 0)
		s->leader = *pair;
	if (strncmp(name, "candidates/", 11) != 0 || pair->lease == s->run->lease.id ||
	        sscanf(pair->value, "%" SCNu64 " %" SCNu64, &held, &next) != 2)
		return;
	name += 11;
	bool more = held != s->mine->held ? held > s->mine->held : next > s->mine->next;
	bool equal = held == s->mine->held && next == s->mine->next;
	if (!more && !(equal && strcmp(name, s->run->settings.name) < 0))
		return;
	s->better = true;
	(void)snprintf(s->best, sizeof s->best, "%.*s", (int)sizeof s->best - 1, name);
}

static cop_err look(cop_lease_run *run, const cop_lease_daemon_state *mine, seen *out)
{
	cop_diag why = { 0 };
	*out = (seen){ .run = run, .mine = mine };
	cop_err err = cop_lease_etcd_list(run->etcd, run->settings.prefix, take_pair, out, &why);
	if (err != COP_OK) {
		complain(run, COP_LOG_EVENT(lease_etcd_away), &why);
		return err;
	}
	run->complained = false;
	if (strcmp(run->leader, out->leader.value) != 0) {
		(void)snprintf(run->leader, sizeof run->leader, "%.*s", (int)sizeof run->leader - 1, out->leader.value);
		cop_log_line(run->log, COP_LOG_EVENT(lease_leader), "name=\"%s\" epoch=%" PRIu64, run->leader,
		        run->leader[0] == '\0' ? 0 : out->leader.created + run->settings.above);
	}
	return COP_OK;
}

/* The lease is one of no use: etcd ends it by itself, where it cannot be told. */
static void give_back(cop_lease_run *run)
{
	cop_diag why;
	if (run->lease.id != 0)
		(void)!cop_lease_etcd_revoke(run->etcd, &run->lease, &why);
	run->lease = (cop_lease_etcd_lease){ 0 };
	enter(run, COP_LEASE_RUN_WATCHING);
}

/* ---- to lead ---- */

static cop_err order(cop_lease_run *run, cop_diag *why)
{
	double until = run->lease.end - part(run, SPARE);
	cop_err err = cop_lease_daemon_lead(run->daemon, run->epoch, until, why);
	if (err != COP_EINVAL) /* unless it refused, it may have taken it */
		run->told_until = until;
	return err;
}

/* How long to wait then. */
static double begin(cop_lease_run *run, uint64_t created)
{
	cop_diag why = { 0 };
	run->epoch = created + run->settings.above;
	run->renewed = run->lease.end - (double)run->settings.seconds;
	enter(run, COP_LEASE_RUN_LEADING);
	cop_err err = order(run, &why);
	if (err == COP_OK) {
		run->complained = false;
		cop_log_line(run->log, COP_LOG_EVENT(lease_leading), "epoch=%" PRIu64, run->epoch);
		return 0.0;
	}
	run->complained = false;
	if (err == COP_EINVAL) { /* not again at once */
		complain(run, COP_LOG_EVENT(lease_refused), &why);
		give_back(run);
		return part(run, 1.0);
	}
	complain(run, COP_LOG_EVENT(lease_daemon_away), &why);
	enter(run, COP_LEASE_RUN_GIVING_BACK);
	return 0.0;
}

/* ---- nobody leads ---- */

/* Tells the others how far the daemon's journal goes, under a lease that is to become the leader's. */
static cop_err stand(cop_lease_run *run, const cop_lease_daemon_state *mine)
{
	char key[COP_LEASE_TEXT_KEY], value[64];
	cop_diag why = { 0 };
	(void)snprintf(key, sizeof key, "%scandidates/%s", run->settings.prefix, run->settings.name);
	(void)snprintf(value, sizeof value, "%" PRIu64 " %" PRIu64, mine->held, mine->next);
	cop_err err = COP_OK;
	if (run->lease.id == 0)
		err = cop_lease_etcd_grant(run->etcd, run->settings.seconds, &run->lease, &why);
	else
		err = cop_lease_etcd_renew(run->etcd, &run->lease, &why);
	if (err == COP_OK)
		err = cop_lease_etcd_put(run->etcd, key, value, &run->lease, &why);
	if (err != COP_OK) {
		complain(run, COP_LOG_EVENT(lease_etcd_away), &why);
		run->lease = (cop_lease_etcd_lease){ 0 };
	}
	return err;
}

static double try_to_take(cop_lease_run *run)
{
	char key[COP_LEASE_TEXT_KEY];
	cop_diag why = { 0 };
	bool taken = false;
	uint64_t revision;
	(void)snprintf(key, sizeof key, "%sleader", run->settings.prefix);
	cop_err err = cop_lease_etcd_take(run->etcd, key, run->settings.name, &run->lease, &taken, &revision, &why);
	if (err == COP_OK && taken)
		return begin(run, revision);
	if (err != COP_OK)
		complain(run, COP_LOG_EVENT(lease_etcd_away), &why);
	return part(run, LOOK); /* whose it is, a look tells */
}

static double stand_by(cop_lease_run *run)
{
	cop_lease_daemon_state mine = { 0 };
	cop_diag why = { 0 };
	seen s;
	if (cop_lease_daemon_look(run->daemon, &mine, &why) != COP_OK) {
		complain(run, COP_LOG_EVENT(lease_daemon_away), &why);
		give_back(run);
		return part(run, LOOK);
	}
	if (look(run, &mine, &s) != COP_OK)
		return part(run, LOOK);
	if (s.leader.key[0] != '\0' && run->lease.id != 0 && s.leader.lease == run->lease.id)
		return begin(run, s.leader.created); /* it was taken after all */
	if (s.leader.key[0] != '\0') {
		give_back(run);
		return part(run, LOOK);
	}
	if (run->stage != COP_LEASE_RUN_CANDIDATE || run->lease.id == 0) {
		if (stand(run, &mine) == COP_OK)
			enter(run, COP_LEASE_RUN_CANDIDATE);
		return part(run, MEET);
	}
	double waited = cop_lease_etcd_now() - run->since;
	if (s.better && waited < part(run, YIELD)) {
		double left = run->lease.end - cop_lease_etcd_now();
		if (left < part(run, RENEW))
			(void)!stand(run, &mine);
		return part(run, LOOK);
	}
	if (s.better)
		cop_log_line(run->log, COP_LOG_EVENT(lease_not_the_best), "name=\"%s\"", s.best);
	if (stand(run, &mine) != COP_OK)
		return part(run, LOOK);
	return try_to_take(run);
}

/* ---- leading ---- */

static double lose(cop_lease_run *run, const cop_diag *why)
{
	char text[COP_LOG_LINE];
	cop_diag_text(why, text, sizeof text);
	cop_log_line(run->log, COP_LOG_EVENT(lease_lost), "epoch=%" PRIu64 " reason=\"%s\"", run->epoch, text);
	run->lease = (cop_lease_etcd_lease){ 0 };
	run->complained = false;
	enter(run, COP_LEASE_RUN_WATCHING);
	return 0.0;
}

/* Renews the lease, when that is due. False: it is lost, or its renewal is still to be had. */
static bool renew(cop_lease_run *run, cop_err *err, cop_diag *why)
{
	double now = cop_lease_etcd_now();
	*err = COP_OK;
	if (now < run->renewed + part(run, RENEW))
		return true;
	*err = cop_lease_etcd_renew(run->etcd, &run->lease, why);
	if (*err == COP_OK)
		run->renewed = now;
	return *err == COP_OK;
}

static double lead(cop_lease_run *run)
{
	cop_diag why = { 0 };
	cop_err err;
	if (!renew(run, &err, &why)) {
		bool over = cop_lease_etcd_now() >= run->lease.end;
		if (err == COP_ENOTFOUND || over)
			return lose(run, &why);
		complain(run, COP_LOG_EVENT(lease_etcd_away), &why);
		return part(run, LOOK);
	}
	err = order(run, &why);
	if (err == COP_OK) {
		run->complained = false;
		double due = run->renewed + part(run, RENEW) - cop_lease_etcd_now();
		return due > 0.0 ? due : 0.0;
	}
	complain(run, err == COP_EINVAL ? COP_LOG_EVENT(lease_refused) : COP_LOG_EVENT(lease_daemon_away), &why);
	enter(run, COP_LEASE_RUN_GIVING_BACK);
	return 0.0;
}

/* Another may lead as soon as this daemon cannot: by what it was told last, or because it is another process by now,
 * which says that it does not lead. Until then the lease is not renewed. */
static double wait_until_it_cannot_lead(cop_lease_run *run)
{
	cop_lease_daemon_state state;
	cop_diag why;
	if (cop_lease_etcd_now() < run->told_until &&
	        (cop_lease_daemon_look(run->daemon, &state, &why) != COP_OK || state.leads))
		return part(run, LOOK);
	cop_log_line(run->log, COP_LOG_EVENT(lease_given_back), "epoch=%" PRIu64, run->epoch);
	give_back(run);
	run->complained = false;
	return part(run, LOOK);
}

/* Renews the lease where that is due; false: it cannot be kept. */
static bool keeps(cop_lease_run *run)
{
	cop_diag why = { 0 };
	cop_err err;
	const double renewed = run->renewed;
	return renew(run, &err, &why) && (run->renewed <= renewed || order(run, &why) == COP_OK);
}

static double hand_over(cop_lease_run *run)
{
	cop_diag why = { 0 };
	bool late = cop_lease_etcd_now() > run->since + run->settings.hand_over;
	cop_err handed = cop_lease_daemon_end_follow(run->hand_over, part(run, LOOK), &why);
	if (handed == COP_EEND && !late && keeps(run))
		return 0.0;
	if (handed == COP_EEND) /* it may have ended while it was asked for something else */
		handed = cop_lease_daemon_end_follow(run->hand_over, 0.0, &why);
	if (handed == COP_OK)
		run->told_until = 0.0; /* nothing leaves it any more */
	else
		complain(run, COP_LOG_EVENT(lease_not_handed_over), &why);
	enter(run, COP_LEASE_RUN_GIVING_BACK);
	return 0.0;
}

void cop_lease_run_stop(cop_lease_run *run)
{
	cop_diag why = { 0 };
	run->stop = true;
	run->complained = false;
	if (run->stage != COP_LEASE_RUN_LEADING)
		return;
	bool begun = cop_lease_daemon_begin_follow(run->hand_over, &why) == COP_OK;
	enter(run, begun ? COP_LEASE_RUN_HANDING_OVER : COP_LEASE_RUN_GIVING_BACK);
}

double cop_lease_run_step(cop_lease_run *run)
{
	switch (run->stage) {
	case COP_LEASE_RUN_WATCHING:
	case COP_LEASE_RUN_CANDIDATE:
		if (!run->stop)
			return stand_by(run);
		give_back(run);
		return -1.0;
	case COP_LEASE_RUN_LEADING:
		return lead(run);
	case COP_LEASE_RUN_HANDING_OVER:
		return hand_over(run);
	case COP_LEASE_RUN_GIVING_BACK:
		break;
	}
	return wait_until_it_cannot_lead(run);
}
