/* Leader and follower stand side by side: one of them is at work, and the other one's socket tells who comes that. */
#include "daemon/replica/replica.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "linalg/kernel.h"
#include "store/journal_reader.h"
#include "store/state_dir.h"

#define PATH (4096 + 64)

cop_err cop_replica_settle(cop_durability *durable, cop_diag *diag)
{
	cop_replica_settled settled;
	if (!durable->config->replica_given)
		return COP_OK;
	cop_err err = cop_replica_copy_settle(durable->config->state_dir, &settled, diag);
	if (settled.done)
		cop_log_line(durable->log,
		        settled.to[0] == '\0' ? COP_LOG_EVENT(replica_settled) : COP_LOG_EVENT_WORSE(replica_settled),
		        "moved_to=\"%s\" erased=%s reason=\"begins with the leader's checkpoint\"", settled.to,
		        settled.erased ? "yes" : "no");
	return err;
}

static void take_name(cop_replica *r)
{
	const char *given = r->durable->config->replica_name;
	if (given != NULL)
		(void)snprintf(r->name, sizeof r->name, "%s", given);
	else if (gethostname(r->name, sizeof r->name - 1) != 0)
		(void)snprintf(r->name, sizeof r->name, "unnamed");
}

/* Of the epoch that this instance goes on in; where that cannot be read, the record to come. */
static uint64_t first_record(const cop_durability *durable)
{
	const uint64_t epoch = cop_journaler_epoch(durable->journal), next = cop_journaler_next(durable->journal);
	char folder[PATH];
	uint64_t base;
	(void)snprintf(folder, sizeof folder, "%s/" COP_STATE_DIR_JOURNAL, durable->config->state_dir);
	cop_err err = cop_journal_reader_epoch_base(folder, epoch, &base);
	return err == COP_OK && base > 0 && base < next ? base : next;
}

cop_err cop_replica_open(
        cop_replica *r, cop_durability *durable, cop_sockets *sockets, const cop_replica_hooks *hooks, cop_diag *diag)
{
	const char *kernel = cop_kernel_best()->name;
	*r = (cop_replica){ .enabled = durable->config->replica_given, .durable = durable };
	if (!r->enabled)
		return COP_OK;
	take_name(r);
	r->leader = (cop_replica_leader){
		.durable = durable, .sockets = sockets, .name = r->name, .kernel = kernel, .counts = &r->counts
	};
	r->follower = (cop_replica_follower){ .durable = durable,
		.sockets = sockets,
		.hooks = *hooks,
		.name = r->name,
		.kernel = kernel,
		.counts = &r->counts };
	cop_err err = cop_replica_leader_open(&r->leader, diag);
	cop_replica_herald_init(&r->herald, sockets, &durable->config->replica_of);
	if (err == COP_OK)
		err = cop_replica_follower_open(&r->follower, diag);
	if (err != COP_OK)
		return err;
	if (cop_config_follows(durable->config))
		cop_replica_follower_begin(&r->follower);
	else
		cop_replica_leader_begin(&r->leader, cop_journaler_epoch(durable->journal), first_record(durable));
	cop_log_line(durable->log, COP_LOG_EVENT(replica), "name=\"%s\" role=%s kernel=%s", r->name,
	        r->follower.follows ? "follower" : "leader", kernel);
	return COP_OK;
}

void cop_replica_close(cop_replica *r)
{
	if (!r->enabled)
		return;
	cop_replica_herald_end(&r->herald);
	cop_replica_follower_close(&r->follower);
	cop_replica_leader_close(&r->leader);
	r->enabled = false;
}

bool cop_replica_follows(const cop_replica *r) { return r->enabled && r->follower.follows; }

void cop_replica_lead(cop_replica *r, uint64_t epoch)
{
	if (!r->enabled)
		return;
	cop_replica_follower_end(&r->follower);
	cop_replica_leader_end(&r->leader); /* who follows joins again, in the new epoch */
	cop_replica_leader_begin(&r->leader, epoch, cop_journaler_next(r->durable->journal));
}

uint64_t cop_replica_epoch(const cop_replica *r)
{
	return !r->enabled ? 0 : r->follower.follows ? r->follower.epoch : r->leader.epoch;
}

uint64_t cop_replica_higher(const cop_replica *r) { return r->enabled && r->leader.leads ? r->leader.higher : 0; }

uint64_t cop_replica_held(const cop_replica *r)
{
	return r->enabled ? cop_replica_leader_held(&r->leader, 1, r->durable->config->replica_hold) : 0;
}

const char *cop_replica_requests(const cop_replica *r) { return r->enabled ? r->follower.requests : ""; }

/* Who comes to a follower is told where its leader is. */
static void point(cop_replica *r)
{
	const cop_replica_follower *f = &r->follower;
	const cop_config_list *of = &r->durable->config->replica_of;
	bool known = f->state != COP_REPLICA_SEEKING && f->place < of->count;
	r->leader.leader[0] = '\0';
	if (known)
		(void)cop_config_peer(of->items[f->place], r->leader.leader);
	(void)snprintf(r->leader.leader_requests, sizeof r->leader.leader_requests, "%s", f->requests);
	r->leader.epoch = f->epoch;
}

/* Of whom others told that it leads. */
static void hear(cop_replica *r, double now)
{
	cop_replica_follower_hear(&r->follower, r->leader.higher, now);
	if (r->leader.named_epoch > 0)
		cop_replica_follower_turn_to(&r->follower, r->leader.named_epoch, r->leader.named, now);
	r->leader.named_epoch = 0;
}

bool cop_replica_receive(cop_replica *r, double now)
{
	if (!r->enabled)
		return false;
	if (r->follower.follows)
		point(r);
	cop_replica_leader_receive(&r->leader, now);
	if (r->follower.follows)
		hear(r, now);
	return cop_replica_follower_receive(&r->follower, now);
}

bool cop_replica_send(cop_replica *r, double now)
{
	if (!r->enabled)
		return false;
	cop_replica_follower_send(&r->follower, now);
	if (r->leader.leads)
		cop_replica_herald_turn(&r->herald, r->leader.epoch, r->leader.links, r->leader.requests, now);
	return cop_replica_leader_send(&r->leader, now);
}

static size_t add_fd(void *socket, int *fd)
{
	size_t size = sizeof *fd;
	return socket != NULL && zmq_getsockopt(socket, ZMQ_FD, fd, &size) == 0 ? 1 : 0;
}

size_t cop_replica_fds(const cop_replica *r, int fds[COP_REPLICA_FDS])
{
	if (!r->enabled)
		return 0;
	size_t count = add_fd(r->leader.socket, &fds[0]);
	return count + add_fd(r->follower.socket, &fds[count]);
}
