/* What happens to a group of machines, drawn from the seed: some rounds in each of which clients work and one thing
 * goes wrong, then everything is healed, asked for once more and stopped. One machine dies at a time, and the next
 * fault comes when all followers have everything again: what `sync = "replica"` with a follower in memory promises to
 * survive. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <dirent.h>
#include <signal.h>

#include "tests/sim/sim.h"
#include "tests/sim/sim_client.h"

#define PATIENCE (300 * (uint64_t)SIM_MS)
#define DEADLINE (90 * (uint64_t)SIM_SECOND)
#define CLIENTS  3

typedef struct group {
	size_t count; /* of daemons; 1: a lone one */
	bool disk;    /* followers hold records on disk */
	int leader;
	bool calm; /* what is started anew does not die again */
	unsigned snapshots;
} group;

static group world;
static sim_reply reply;

static const char *endpoint(int node, const char *what)
{
	static char text[64];
	(void)snprintf(text, sizeof text, "ipc://sim/%d/%s", node, what);
	return text;
}

static void note(const char *what)
{
	(void)sim_note(what);
	(void)putchar('\n');
}

static void stuck(const char *what)
{
	(void)printf("stuck %s\n", what);
	sim_trace("stuck: %s", what);
	sim_end(1);
}

/* ---- machines ---- */

static void put_replica(FILE *file, int node)
{
	(void)fprintf(file, "replica { name = \"n%d\" listen = \"%s\" of = {", node, endpoint(node, "link"));
	for (int i = 0, any = 0; i < (int)world.count; i++)
		if (i != node)
			(void)fprintf(file, "%s\"%s\"", any++ ? ", " : " ", endpoint(i, "link"));
	(void)fprintf(file, " } followers = %zu hold = \"%s\" compare = 100 }\n", world.count - 1,
	        world.disk ? "disk" : "memory");
}

static void make_machine(int node)
{
	char path[300], root[256];
	(void)snprintf(root, sizeof root, "%s/%d", sim_run.folder, node);
	(void)snprintf(path, sizeof path, "%s.conf", root);
	FILE *file = fopen(path, "we");
	if (file == NULL || mkdir(root, 0750) != 0)
		abort();
	(void)fprintf(
	        file, "state_dir = \"%s/state\"\nsockets { requests = { \"ipc://sim/%d/requests\" } ", root, node);
	(void)fprintf(file, "admin = { \"%s\" } }\n", endpoint(node, "admin"));
	(void)fprintf(file, "journal { sync = \"%s\" interval = \"5ms\" segment = \"64KiB\" keep = \"1GiB\" }\n",
	        world.count > 1 ? "replica" : "always");
	(void)fprintf(file, "checkpoint { every = \"1s\" keep = 2 }\n");
	if (world.count > 1)
		put_replica(file, node);
	(void)fprintf(file, "model \"d\" { learner = \"dgt\" features = 2 height = 2 seed = 1 arms = 3 "
	                    "reward_window = \"1d\" refit { enabled = false } }\n");
	if (fclose(file) != 0)
		abort();
	sim_clock_init(node);
	sim_disk_init(node, root);
}

static void start(int node)
{
	note("start");
	sim_daemon_start(node);
}

/* Until it answers; false: it ended. */
static bool serves(int node)
{
	for (uint64_t end = sim_now() + DEADLINE; sim_now() < end;) {
		if (!sim_daemon_runs(node))
			return false;
		if (sim_request(endpoint(node, "admin"), "status", PATIENCE, &reply))
			return true;
	}
	stuck("a machine answers nothing");
	return false;
}

static bool lead(int node)
{
	uint64_t epoch;
	for (uint64_t end = sim_now() + DEADLINE; sim_now() < end;) {
		size_t at = 0;
		if (!sim_daemon_runs(node))
			return false;
		if (sim_request(endpoint(node, "admin"), "lead", PATIENCE, &reply)) {
			if (reply.ok && sim_reply_number(&reply, "epoch", &at, &epoch)) {
				(void)printf("lead %d %llu\n", node, (unsigned long long)epoch);
				sim_trace("%d leads in %llu", node, (unsigned long long)epoch);
				world.leader = node;
				note("up");
				return true;
			}
			sim_trace("lead refused: %.*s", (int)reply.length, (const char *)reply.body);
		}
		sim_sleep(50 * SIM_MS);
	}
	stuck("nobody leads");
	return false;
}

/* Whether the leader says that all others have what its journal has. */
static bool is_level(void)
{
	uint64_t next, applied;
	size_t at = 0, have = 0;
	if (!sim_request(endpoint(world.leader, "admin"), "status", PATIENCE, &reply) ||
	        !sim_reply_find(&reply, "journal", &at) || !sim_reply_number(&reply, "next", &at, &next))
		return false;
	at = 0;
	if (world.count > 1 && !sim_reply_find(&reply, "followers", &at))
		return false;
	while (sim_reply_find(&reply, "streaming", &at) && sim_reply_number(&reply, "applied", &at, &applied))
		have += applied + 1 >= next;
	return have >= world.count - 1;
}

static int other_than(int node)
{
	int chosen = (node + 1 + (int)sim_draw(world.count - 1)) % (int)world.count;
	return chosen == node ? (node + 1) % (int)world.count : chosen;
}

/* What ended is started anew, what died after its power was cut. Another one leads when the leader did. */
static void revive(int node)
{
	const bool died = sim_daemon_status(node) == -SIGKILL;
	if (died) {
		note("cut");
		sim_disk_cut(node);
	}
	if (node == world.leader && world.count > 1)
		(void)lead(other_than(node));
	if (died && node != world.leader && !world.calm && sim_chance(0.2))
		sim_disk_die_at(node, 1 + sim_draw(60));
	start(node);
}

static void settle(void)
{
	for (uint64_t end = sim_now() + DEADLINE; sim_now() < end; sim_sleep(20 * SIM_MS)) {
		bool all = true;
		for (int i = 0; i < (int)world.count; i++)
			if (!sim_daemon_runs(i)) {
				all = false;
				revive(i);
			}
		if (all && (world.count == 1 ? serves(0) : is_level())) {
			if (world.count == 1)
				note("up");
			return;
		}
	}
	stuck("followers do not get everything");
}

/* What the leader's journal holds is what the group goes by; it is kept as it was before something happens to it. */
static void keep_journal(void)
{
	char from[300], to[300], file_from[600], file_to[600];
	const struct dirent *entry;
	(void)snprintf(from, sizeof from, "%s/%d/state/journal", sim_run.folder, world.leader);
	(void)snprintf(to, sizeof to, "%s/line.%u", sim_run.folder, world.snapshots++);
	DIR *folder = opendir(from);
	if (folder == NULL || mkdir(to, 0750) != 0)
		abort();
	while ((entry = readdir(folder)) != NULL) {
		char *bytes;
		if (strstr(entry->d_name, ".journal") == NULL)
			continue;
		(void)snprintf(file_from, sizeof file_from, "%s/%s", from, entry->d_name);
		(void)snprintf(file_to, sizeof file_to, "%s/%s", to, entry->d_name);
		size_t length = sim_disk_read(file_from, &bytes);
		FILE *file = fopen(file_to, "we");
		if (file == NULL || fwrite(bytes, 1, length, file) != length || fclose(file) != 0)
			abort();
		free(bytes);
	}
	(void)closedir(folder);
}

/* ---- what goes wrong ---- */

static void work(void)
{
	uint64_t goal = sim_clients_told() + sim_draw(40), end = sim_now() + 5 * (uint64_t)SIM_SECOND;
	while (sim_clients_told() < goal && sim_now() < end)
		sim_sleep(sim_draw(20 * SIM_MS));
}

static void kill_one(void)
{
	int victim = world.count == 1 || sim_chance(0.65) ? world.leader : other_than(world.leader);
	if (sim_chance(0.5)) {
		sim_disk_die_at(victim, 1 + sim_draw(80));
		for (uint64_t end = sim_now() + 2 * (uint64_t)SIM_SECOND; sim_now() < end && sim_daemon_runs(victim);)
			sim_sleep(2 * SIM_MS);
	}
	if (sim_daemon_runs(victim)) {
		sim_trace("kills %d", victim);
		sim_daemon_kill(victim);
	}
}

/* A machine alone on one side; the clients are on the other one, or reach both. */
static void part_one(void)
{
	const int alone = sim_chance(0.6) ? world.leader : other_than(world.leader);
	const bool breaks = sim_chance(0.5), clients = sim_chance(0.5);
	sim_trace("parts %d%s%s", alone, breaks ? ", breaks" : "", clients ? ", also from clients" : "");
	for (int i = 0; i < SIM_NODES; i++)
		if (i != alone && (i != SIM_CLIENTS || clients))
			sim_net_part(alone, i, breaks);
	work();
	if (alone == world.leader && sim_chance(0.6))
		(void)lead(other_than(alone));
	sim_sleep(sim_draw((sim_chance(0.2) ? 12 : 2) * (uint64_t)SIM_SECOND));
	work();
	sim_net_heal();
	sim_trace("healed");
}

static void hand_over(void)
{
	int old = world.leader;
	if (sim_request(endpoint(old, "admin"), "follow", 15 * (uint64_t)SIM_SECOND, &reply) && reply.ok)
		(void)lead(other_than(old));
}

static void go_wrong(void)
{
	uint64_t kind = world.count == 1 ? 0 : sim_draw(100);
	keep_journal();
	if (kind < 50)
		kill_one();
	else if (kind < 90)
		part_one();
	else
		hand_over();
	settle();
	for (int i = 0; i < (int)world.count; i++)
		sim_disk_die_at(i, 0);
	world.calm = true;
	settle(); /* one may have died meanwhile */
	world.calm = false;
}

/* ---- the end ---- */

static void stop_all(void)
{
	for (int i = 0; i < (int)world.count; i++)
		if (i != world.leader)
			sim_daemon_terminate(i);
	for (bool waits = true; waits; sim_sleep(10 * SIM_MS)) {
		waits = false;
		for (int i = 0; i < (int)world.count; i++)
			waits |= i != world.leader && sim_daemon_runs(i);
	}
	sim_daemon_terminate(world.leader);
	while (sim_daemon_runs(world.leader))
		sim_sleep(10 * SIM_MS);
}

void *sim_world(void *unused)
{
	static const struct {
		size_t count;
		bool disk;
	} kinds[] = { { 1, false }, { 2, false }, { 2, true }, { 3, false }, { 3, true } };
	(void)unused;
	sim_clock_init(SIM_CLIENTS);
	const size_t kind = sim_draw(sizeof kinds / sizeof *kinds);
	world = (group){ .count = kinds[kind].count, .disk = kinds[kind].disk };
	world.leader = (int)sim_draw(world.count);
	for (int i = 0; i < (int)world.count; i++)
		make_machine(i);
	for (int i = 0; i < (int)world.count; i++)
		start(i);
	if (world.count > 1)
		(void)lead(world.leader);
	settle();
	sim_clients_start(CLIENTS, world.count);
	for (uint64_t rounds = 2 + sim_draw(4); rounds > 0; rounds--) {
		work();
		go_wrong();
	}
	work();
	sim_clients_end();
	for (uint64_t end = sim_now() + DEADLINE; !sim_clients_ended(); sim_sleep(20 * SIM_MS))
		if (sim_now() > end)
			stuck("clients get no answer");
	settle();
	if (!sim_request(endpoint(world.leader, "admin"), "status", 10 * (uint64_t)SIM_SECOND, &reply))
		stuck("no status at the end");
	(void)printf("status ");
	sim_print_hex(reply.body, reply.length);
	stop_all();
	(void)printf("leader %d of %zu\n", world.leader, world.count);
	sim_end(0);
	return NULL;
}
