/* sim/sim.h: machines, their clocks, disks and network inside one process, all of which follow from one seed.
 *
 * A machine is a number; those below SIM_DAEMONS run coppiced, SIM_CLIENTS has clients and whoever gives orders.
 * Threads are tasks that take turns on one thread: a task runs until it waits, and time moves only while all wait.
 * Nothing here reads a real clock. */
#ifndef COP_SIM_SIM_H
#define COP_SIM_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SIM_DAEMONS 3
#define SIM_CLIENTS SIM_DAEMONS
#define SIM_NODES   (SIM_DAEMONS + 1)
#define SIM_NEVER   UINT64_MAX
#define SIM_MS      1000000u
#define SIM_SECOND  1000000000u

/* A defect that is planted, so that the tests of the tests have something to find (sim_plant.c). */
typedef enum sim_plant {
	SIM_PLANT_NONE,
	SIM_PLANT_LYING_DISK, /* a sync does nothing */
	SIM_PLANT_EARLY,      /* answers leave when their records are written */
	SIM_PLANT_DROP,       /* a reward is acknowledged, and its record never put */
	SIM_PLANT_TWICE,      /* the record of a reward is put twice */
	SIM_PLANT_SKIP,       /* a follower takes a record and does not learn from it */
	SIM_PLANT_DEAF,       /* a leader that hears of a higher epoch goes on */
	SIM_PLANTS
} sim_plant;

typedef struct sim_settings {
	uint64_t seed;
	const char *folder; /* of this run; made and removed by the caller */
	sim_plant plant;
	bool trace;
} sim_settings;

extern sim_settings sim_run;

/* ---- sim_task.c: tasks, time, chance ---- */

uint64_t sim_now(void); /* ns since the start */
/* [0, below), from the seed. */
uint64_t sim_draw(uint64_t below);
bool sim_chance(double probability);
int sim_node(void);                 /* whose task runs; -1: none does */
const void *sim_wake_key(int node); /* what a machine's poll waits for */

void sim_start(int node, void *(*work)(void *), void *context);
/* Until sim_wake(key) or that time; false: it is time. */
bool sim_wait(const void *key, uint64_t until);
void sim_wake(const void *key);
void sim_sleep(uint64_t ns);
/* Its tasks run no more; the caller is not one of them. */
void sim_stop_tasks(int node);
/* Of the running task's machine: everything ends here and now. */
_Noreturn void sim_die(void);
/* Runs tasks until one calls sim_end. */
void sim_loop(void);
_Noreturn void sim_end(int status);
void sim_trace(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- sim_clock.c ---- */

/* A new machine: how fast its clock goes, and by how much it is wrong. */
void sim_clock_init(int node);

/* ---- sim_disk.c ---- */

void sim_disk_init(int node, const char *root);
/* The power is cut: what was not synced is gone, in whole or in part. Its files are closed. */
void sim_disk_cut(int node);
void sim_disk_close(int node);
/* Dies in the nth of the calls from here on that change its disk; 0: in none. */
void sim_disk_die_at(int node, uint64_t nth);
size_t sim_disk_read(const char *path, char **out); /* the caller frees */

/* ---- sim_net.c ---- */

void sim_net_stop(int node); /* its sockets are gone */
/* From now on nothing passes between two machines; breaks: connections end, else what is sent arrives later. */
void sim_net_part(int one, int other, bool breaks);
void sim_net_heal(void);
uint64_t sim_net_next(void); /* when the next message arrives */
void sim_net_deliver(void);  /* those whose time has come */
bool sim_net_ready(int fd);  /* of a descriptor of ZMQ_FD */

/* ---- sim_daemon.c ---- */

void sim_daemon_start(int node);
void sim_daemon_kill(int node);      /* with its machine */
void sim_daemon_terminate(int node); /* SIGTERM */
bool sim_daemon_runs(int node);
int sim_daemon_status(int node); /* with which it ended last */

/* ---- sim_world.c ---- */

void *sim_world(void *unused);

#endif
