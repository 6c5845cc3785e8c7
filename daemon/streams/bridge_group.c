/* A membership that fails is left, which gives up its partitions, and another one begins after a wait. */
#include "daemon/streams/bridge_group.h"

#include <inttypes.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/thread.h"

#define LOOK       0.2 /* seconds */
#define LEAST_WAIT 0.1
#define MOST_WAIT  10.0

static void change(void *context, const uint32_t *partitions, size_t count, bool ours)
{
	cop_bridge_group *group = context;
	group->wait = LEAST_WAIT;
	for (size_t i = 0; i < count; i++) {
		if (partitions[i] < group->count) {
			cop_bridge_reader_own(&group->readers[partitions[i]], ours);
			cop_log_line(group->log,
			        ours ? COP_LOG_EVENT(partition_assigned) : COP_LOG_EVENT(partition_revoked),
			        "stream=\"%s\" partition=%" PRIu32 " group=\"%s\"", group->broker.name, partitions[i],
			        group->broker.group);
		} else if (ours) {
			cop_log_line(group->log, COP_LOG_EVENT(partition_beyond),
			        "stream=\"%s\" partition=%" PRIu32 " group=\"%s\" expected_below=%zu",
			        group->broker.name, partitions[i], group->broker.group, group->count);
		}
	}
}

static void complain(const cop_bridge_group *group, const cop_diag *diag)
{
	char why[300];
	cop_diag_text(diag, why, sizeof why);
	cop_log_line(group->log, COP_LOG_EVENT(group_interrupted), "stream=\"%s\" group=\"%s\" wait=%.1f reason=\"%s\"",
	        group->broker.name, group->broker.group, group->wait, why);
}

static cop_err belong(cop_bridge_group *group, cop_diag *diag)
{
	void *member;
	const cop_broker_group_class *class = group->class->group;
	cop_err err = class->join(&group->broker, change, group, &member, diag);
	while (err == COP_OK && !atomic_load(&group->ends))
		err = class->look(member, LOOK, diag);
	class->leave(member);
	for (size_t i = 0; i < group->count; i++) /* what a failure may have left */
		cop_bridge_reader_own(&group->readers[i], false);
	return err;
}

static void *work(void *context)
{
	cop_bridge_group *group = context;
	while (!atomic_load(&group->ends)) {
		cop_diag diag = { 0 };
		struct pollfd wake = { .fd = group->wake, .events = POLLIN };
		if (belong(group, &diag) == COP_OK)
			break;
		complain(group, &diag);
		(void)poll(&wake, 1, (int)(1000.0 * group->wait));
		group->wait = 2.0 * group->wait < MOST_WAIT ? 2.0 * group->wait : MOST_WAIT;
	}
	return NULL;
}

cop_err cop_bridge_group_start(cop_bridge_group *group, cop_bridge_reader *readers, size_t count)
{
	*group = (cop_bridge_group){ .class = readers->set.class,
		.broker = readers->set.broker,
		.readers = readers,
		.count = count,
		.log = readers->set.log,
		.wait = LEAST_WAIT };
	group->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (group->wake < 0)
		return COP_EIO;
	cop_err err = cop_thread_start(&group->thread, work, group);
	if (err != COP_OK)
		(void)close(group->wake);
	return err;
}

void cop_bridge_group_end(cop_bridge_group *group)
{
	const uint64_t one = 1;
	atomic_store(&group->ends, true);
	(void)!write(group->wake, &one, sizeof one);
}

void cop_bridge_group_join(cop_bridge_group *group)
{
	(void)pthread_join(group->thread, NULL);
	(void)close(group->wake);
}
