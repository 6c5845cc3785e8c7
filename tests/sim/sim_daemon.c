/* coppiced as a task: its own main, started anew as the service manager would, and in place of its log, its signals and
 * its look at ZeroMQ's connections something that knows machines. */
#include "tests/sim/sim.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <getopt.h>
#include <signal.h>

#include "daemon/common/log.h"
#include "daemon/common/signals.h"
#include "daemon/serve/inlet.h"

static struct machine {
	bool runs, term, again;
	int status;
} machines[SIM_NODES];

int cop_sim_coppiced(int argc, char **argv); /* main of daemon/coppiced.c */
int __wrap_execv(const char *path, char *const argv[]);

int __wrap_execv(const char *path, char *const argv[])
{
	(void)path;
	(void)argv;
	machines[sim_node()].again = true;
	return -1;
}

static void *run(void *unused)
{
	struct machine *m = &machines[sim_node()];
	char config[512], *arguments[] = { "coppiced", "--config", config, "--foreground", NULL };
	(void)unused;
	(void)snprintf(config, sizeof config, "%s/%d.conf", sim_run.folder, sim_node());
	do {
		m->again = false;
		optind = 0;
		m->status = cop_sim_coppiced(4, arguments);
		sim_trace("ended with %d%s", m->status, m->again ? ", begins anew" : "");
	} while (m->again);
	m->runs = false;
	sim_net_stop(sim_node());
	sim_disk_close(sim_node());
	sim_wake(m);
	return NULL;
}

void sim_daemon_start(int node)
{
	machines[node] = (struct machine){ .runs = true };
	sim_start(node, run, NULL);
}

void sim_daemon_kill(int node)
{
	machines[node].runs = false;
	machines[node].status = -SIGKILL;
	sim_stop_tasks(node);
	sim_net_stop(node);
	sim_disk_close(node);
}

void sim_daemon_terminate(int node)
{
	machines[node].term = true;
	sim_wake(sim_wake_key(node));
}

bool sim_daemon_runs(int node) { return machines[node].runs; }
int sim_daemon_status(int node) { return machines[node].status; }

/* ---- signals ---- */

cop_err cop_signals_open(int *fd)
{
	*fd = -1;
	return COP_OK;
}

void cop_signals_close(void) {}

bool cop_signals_take(int *number)
{
	struct machine *m = &machines[sim_node()];
	bool came = m->term;
	*number = SIGTERM;
	m->term = false;
	return came;
}

/* ---- the log: what it has to say is the trace ---- */

struct cop_log {
	char unused;
};

static cop_log log_of_all;

bool cop_log_facility_known(const char *text) { return text != NULL; }

cop_err cop_log_open(const cop_log_settings *settings, cop_log **out)
{
	(void)settings;
	*out = &log_of_all;
	return COP_OK;
}

cop_err cop_log_close(cop_log *log, unsigned deadline_ms)
{
	(void)log;
	(void)deadline_ms;
	return COP_OK;
}

/* It shows what one that follows no more does. */
static void *end_soon(void *unused)
{
	(void)unused;
	sim_sleep(2 * (uint64_t)SIM_SECOND);
	sim_end(1);
}

static void put_line(const char *event, const char *format, va_list list)
{
	char text[COP_LOG_LINE];
	(void)vsnprintf(text, sizeof text, format, list);
	sim_trace("event=%s %s", event, text);
	if (strcmp(event, "replica_diverged") == 0 || strcmp(event, "replica_unfit") == 0) {
		(void)printf("alarm %d %s %s\n", sim_node(), event, text);
		sim_start(SIM_CLIENTS, end_soon, NULL);
	}
}

void cop_log_line(cop_log *log, cop_log_event event, const char *format, ...)
{
	va_list list;
	(void)log;
	va_start(list, format);
	put_line(event.name, format, list);
	va_end(list);
}

void cop_log_limiter_init(cop_log_limiter *limiter, double rate, double burst)
{
	*limiter = (cop_log_limiter){ .rate = rate, .burst = burst, .tokens = burst };
}

void cop_log_limited(cop_log *log, cop_log_limiter *limiter, uint64_t now, cop_log_event event, const char *format, ...)
{
	va_list list;
	(void)log;
	(void)limiter;
	(void)now;
	va_start(list, format);
	put_line(event.name, format, list);
	va_end(list);
}

void cop_log_set_level(cop_log *log, cop_log_level level)
{
	(void)log;
	(void)level;
}

bool cop_log_enabled(const cop_log *log, cop_log_level level)
{
	(void)log;
	(void)level;
	return sim_run.trace;
}

uint64_t cop_log_dropped(cop_log *log)
{
	(void)log;
	return 0;
}

/* ---- connections of ZeroMQ, of which there are none ---- */

__typeof__(cop_inlet_add) __wrap_cop_inlet_add;
__typeof__(cop_inlet_add_peer) __wrap_cop_inlet_add_peer;
__typeof__(cop_inlet_close) __wrap_cop_inlet_close;
__typeof__(cop_inlet_close_slowest) __wrap_cop_inlet_close_slowest;
__typeof__(cop_inlet_deaf) __wrap_cop_inlet_deaf;
__typeof__(cop_inlet_end_lost) __wrap_cop_inlet_end_lost;
__typeof__(cop_inlet_full) __wrap_cop_inlet_full;
__typeof__(cop_inlet_idle) __wrap_cop_inlet_idle;
__typeof__(cop_inlet_look) __wrap_cop_inlet_look;
__typeof__(cop_inlet_name) __wrap_cop_inlet_name;
__typeof__(cop_inlet_open) __wrap_cop_inlet_open;
__typeof__(cop_inlet_seals) __wrap_cop_inlet_seals;
__typeof__(cop_inlet_set_models) __wrap_cop_inlet_set_models;
__typeof__(cop_inlet_taken) __wrap_cop_inlet_taken;
__typeof__(cop_inlet_taken_from) __wrap_cop_inlet_taken_from;

cop_err __wrap_cop_inlet_open(const cop_config *config, cop_inlet **out)
{
	(void)config;
	*out = (cop_inlet *)&log_of_all;
	return COP_OK;
}

void __wrap_cop_inlet_close(cop_inlet *inlet) { (void)inlet; }

cop_err __wrap_cop_inlet_add(cop_inlet *inlet, cop_inlet_kind kind, bool curve, const char *endpoint)
{
	(void)inlet;
	(void)kind;
	(void)curve;
	(void)endpoint;
	return COP_OK;
}

cop_err __wrap_cop_inlet_add_peer(cop_inlet *inlet, cop_inlet_kind kind, const char *endpoint)
{
	return __wrap_cop_inlet_add(inlet, kind, false, endpoint);
}

void __wrap_cop_inlet_name(cop_inlet *inlet, int fd, const char *name)
{
	(void)inlet;
	(void)fd;
	(void)name;
}

void __wrap_cop_inlet_end_lost(cop_inlet *inlet, cop_inlet_lost *lost, const void *context)
{
	(void)inlet;
	(void)lost;
	(void)context;
}

void __wrap_cop_inlet_set_models(
        cop_inlet *inlet, const cop_config *config, bool added, cop_inlet_lost *lost, const void *context)
{
	(void)inlet;
	(void)config;
	(void)added;
	(void)lost;
	(void)context;
}

void __wrap_cop_inlet_deaf(cop_inlet *inlet, int fd)
{
	(void)inlet;
	(void)fd;
}

void __wrap_cop_inlet_taken(cop_inlet *inlet, cop_inlet_kind queue, uint64_t cost)
{
	(void)inlet;
	(void)queue;
	(void)cost;
}

bool __wrap_cop_inlet_seals(const cop_inlet *inlet)
{
	(void)inlet;
	return false;
}

void __wrap_cop_inlet_taken_from(cop_inlet *inlet, int fd)
{
	(void)inlet;
	(void)fd;
}

bool __wrap_cop_inlet_full(const cop_inlet *inlet, cop_inlet_kind queue)
{
	(void)inlet;
	(void)queue;
	return false;
}

void __wrap_cop_inlet_idle(cop_inlet *inlet) { (void)inlet; }

void __wrap_cop_inlet_close_slowest(cop_inlet *inlet, cop_inlet_kind kind)
{
	(void)inlet;
	(void)kind;
}

void __wrap_cop_inlet_look(cop_inlet *inlet, cop_inlet_state *now)
{
	(void)inlet;
	*now = (cop_inlet_state){ 0 };
}
