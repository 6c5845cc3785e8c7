/* pid is 0 exactly while there is no child. The deadline moves with each signal: SIGTERM at the deadline, SIGKILL GRACE
 * seconds later. Descriptors above 2 are closed in the child, and signals are at their defaults. What the child is
 * given to read lies in a pipe before it starts, so that nobody waits for it. */
#include "daemon/common/side_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/mem.h"

#define GRACE 2.0 /* seconds between SIGTERM and SIGKILL */

void cop_side_process_init(cop_side_process *process) { *process = (cop_side_process){ .fd = -1 }; }

/* Ours, without what tells of a service manager: a worker must not speak to it. */
static char **environment(void)
{
	static char threads[] = "OPENBLAS_NUM_THREADS=1";
	static const char *const dropped[] = {
		"NOTIFY_SOCKET=", "WATCHDOG_USEC=", "WATCHDOG_PID=", "OPENBLAS_NUM_THREADS="
	};
	size_t count = 0, kept = 0;
	while (environ[count] != NULL)
		count++;
	char **out = cop_mem_alloc(count + 2, sizeof *out);
	for (size_t i = 0; out != NULL && i < count; i++) {
		bool drop = false;
		for (size_t j = 0; j < sizeof dropped / sizeof *dropped; j++)
			drop = drop || strncmp(environ[i], dropped[j], strlen(dropped[j])) == 0;
		if (!drop)
			out[kept++] = environ[i];
	}
	if (out != NULL)
		out[kept] = threads;
	return out;
}

/* Signals that we ignore or handle are the worker's own again. */
static int set_signals(posix_spawnattr_t *attributes)
{
	sigset_t all, none;
	(void)sigfillset(&all);
	(void)sigemptyset(&none);
	int bad = posix_spawnattr_setsigdefault(attributes, &all);
	bad |= posix_spawnattr_setsigmask(attributes, &none);
	return bad | posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
}

/* in: -1: nothing is to be read. */
static int set_descriptors(posix_spawn_file_actions_t *actions, int in, int out)
{
	int bad = in >= 0 ? posix_spawn_file_actions_adddup2(actions, in, 0)
	                  : posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
	bad |= posix_spawn_file_actions_adddup2(actions, out, 1);
	return bad | posix_spawn_file_actions_addclosefrom_np(actions, 3);
}

static int spawn(pid_t *pid, const char *program, char *const argv[], int in, int out)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	char **variables = environment();
	if (variables == NULL)
		return ENOMEM;
	int bad = posix_spawn_file_actions_init(&actions);
	if (bad != 0) {
		cop_mem_free(variables);
		return bad;
	}
	bad = posix_spawnattr_init(&attributes);
	if (bad == 0) {
		bad = set_descriptors(&actions, in, out);
		bad |= set_signals(&attributes);
		if (bad == 0)
			bad = posix_spawn(pid, program, &actions, &attributes, argv, variables);
		(void)posix_spawnattr_destroy(&attributes);
	}
	(void)posix_spawn_file_actions_destroy(&actions);
	cop_mem_free(variables);
	return bad;
}

/* The end to read from, with the input in it; -1: there is none. */
static int fill_input(const cop_side_process_input *input)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) != 0)
		return -1;
	bool put = write(ends[1], input->data, input->length) == (ssize_t)input->length;
	(void)close(ends[1]);
	if (put)
		return ends[0];
	(void)close(ends[0]);
	return -1;
}

cop_err cop_side_process_start(cop_side_process *process, const char *program, char *const argv[],
        const cop_side_process_input *input, double now, double seconds, cop_diag *diag)
{
	int ends[2], in = -1;
	pid_t pid = 0;
	COP_ASSERT(input == NULL || input->length <= COP_SIDE_PROCESS_INPUT);
	cop_side_process_init(process);
	if (pipe2(ends, O_CLOEXEC) != 0) {
		cop_diag_message(diag, "no pipe: %s", strerror(errno));
		return COP_EIO;
	}
	(void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
	int bad = input != NULL && (in = fill_input(input)) < 0 ? errno : spawn(&pid, program, argv, in, ends[1]);
	(void)close(ends[1]);
	if (in >= 0)
		(void)close(in);
	if (bad != 0) {
		(void)close(ends[0]);
		cop_diag_of(diag, program, "cannot be started: %s", strerror(bad));
		return COP_EIO;
	}
	process->pid = pid;
	process->fd = ends[0];
	process->deadline = now + seconds;
	return COP_OK;
}

size_t cop_side_process_read(cop_side_process *process, void *out, size_t room)
{
	while (process->fd >= 0) {
		ssize_t n = read(process->fd, out, room);
		if (n > 0)
			return (size_t)n;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		(void)close(process->fd);
		process->fd = -1;
	}
	return 0;
}

double cop_side_process_seconds(const struct rusage *used)
{
	return (double)(used->ru_utime.tv_sec + used->ru_stime.tv_sec) +
	       1e-6 * (double)(used->ru_utime.tv_usec + used->ru_stime.tv_usec);
}

static void press(cop_side_process *process, double now)
{
	if (now < process->deadline)
		return;
	(void)kill(process->pid, process->told == 0 ? SIGTERM : SIGKILL);
	process->told++;
	process->deadline = now + GRACE;
}

bool cop_side_process_ended(cop_side_process *process, double now, int *status, struct rusage *used)
{
	*used = (struct rusage){ 0 };
	pid_t ended = wait4(process->pid, status, WNOHANG, used);
	if (ended == 0 || (ended < 0 && errno == EINTR)) {
		press(process, now);
		return false;
	}
	if (ended < 0)
		*status = -1;
	return true;
}

void cop_side_process_close(cop_side_process *process)
{
	if (process->fd >= 0)
		(void)close(process->fd);
	cop_side_process_init(process);
}

double cop_side_process_stop(cop_side_process *process)
{
	struct rusage used = { 0 };
	if (process->pid == 0)
		return 0.0;
	(void)kill(process->pid, SIGKILL);
	while (wait4(process->pid, NULL, 0, &used) < 0 && errno == EINTR)
		;
	cop_side_process_close(process);
	return cop_side_process_seconds(&used);
}
