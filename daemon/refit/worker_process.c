/* pid is 0 exactly while there is no child. The pipe is read before the child is waited for and once more after its
 * end, so its last line is not lost; the first result line counts. A result is believed only from a process that
 * exited with status 0. The deadline moves with each signal: SIGTERM at the deadline, SIGKILL GRACE seconds later.
 * Descriptors above 2 are closed in the child, and signals are at their defaults. */
#include "daemon/refit/worker_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"

#define GRACE 2.0 /* seconds between SIGTERM and SIGKILL */

void cop_worker_process_init(cop_worker_process *process) { *process = (cop_worker_process){ .fd = -1 }; }

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

static int spawn(pid_t *pid, const char *program, char *const argv[], int out)
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
		bad = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
		bad |= posix_spawn_file_actions_adddup2(&actions, out, 1);
		bad |= posix_spawn_file_actions_addclosefrom_np(&actions, 3);
		bad |= set_signals(&attributes);
		if (bad == 0)
			bad = posix_spawn(pid, program, &actions, &attributes, argv, variables);
		(void)posix_spawnattr_destroy(&attributes);
	}
	(void)posix_spawn_file_actions_destroy(&actions);
	cop_mem_free(variables);
	return bad;
}

cop_err cop_worker_process_start(cop_worker_process *process, const char *program, char *const argv[], double now,
        double seconds, cop_diag *diag)
{
	int ends[2];
	pid_t pid = 0;
	cop_worker_process_init(process);
	if (pipe2(ends, O_CLOEXEC) != 0) {
		cop_diag_message(diag, "no pipe: %s", strerror(errno));
		return COP_EIO;
	}
	(void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
	int bad = spawn(&pid, program, argv, ends[1]);
	(void)close(ends[1]);
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

static void take_line(cop_worker_process *process, const char *line)
{
	if (!process->has_result && cop_worker_line_parse(line, &process->last))
		process->has_result = process->last.result;
}

/* Whole lines of what is in `part`; one that is too long is dropped. */
static void take_lines(cop_worker_process *process)
{
	char *end;
	while ((end = memchr(process->part, '\n', process->used)) != NULL) {
		*end = '\0';
		take_line(process, process->part);
		size_t length = (size_t)(end + 1 - process->part);
		process->used -= length;
		memmove(process->part, end + 1, process->used);
	}
	if (process->used == sizeof process->part)
		process->used = 0;
}

static void read_lines(cop_worker_process *process)
{
	while (process->fd >= 0) {
		size_t room = sizeof process->part - process->used;
		ssize_t n = read(process->fd, process->part + process->used, room);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			(void)close(process->fd);
			process->fd = -1;
			return;
		}
		process->used += (size_t)n;
		take_lines(process);
	}
}

static cop_worker_line failed(cop_worker_outcome outcome)
{
	return (cop_worker_line){ .result = true, .outcome = outcome, .share = 1.0 };
}

static cop_worker_line judge(const cop_worker_process *process, int status)
{
	bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
	if (good && process->has_result)
		return process->last;
	cop_worker_line line = failed(process->told > 0 ? COP_WORKER_TIMEOUT : COP_WORKER_CRASHED);
	const char *where = process->last.text[0] != '\0' ? process->last.text : "start";
	if (process->told > 0)
		(void)snprintf(line.text, sizeof line.text, "beyond its time, at: %.300s", where);
	else if (WIFSIGNALED(status))
		(void)snprintf(line.text, sizeof line.text, "ended by signal %d (%s), at: %.300s", WTERMSIG(status),
		        strsignal(WTERMSIG(status)), where);
	else
		(void)snprintf(line.text, sizeof line.text, "exit status %d without a result, at: %.300s",
		        WIFEXITED(status) ? WEXITSTATUS(status) : -1, where);
	return line;
}

static double seconds_of(const struct rusage *used)
{
	return (double)(used->ru_utime.tv_sec + used->ru_stime.tv_sec) +
	       1e-6 * (double)(used->ru_utime.tv_usec + used->ru_stime.tv_usec);
}

static void press(cop_worker_process *process, double now)
{
	if (now < process->deadline)
		return;
	(void)kill(process->pid, process->told == 0 ? SIGTERM : SIGKILL);
	process->told++;
	process->deadline = now + GRACE;
}

cop_err cop_worker_process_take(cop_worker_process *process, double now, cop_worker_line *end)
{
	int status = 0;
	if (process->pid == 0)
		return COP_EEND;
	read_lines(process);
	struct rusage used = { 0 };
	pid_t ended = wait4(process->pid, &status, WNOHANG, &used);
	if (ended == 0 || (ended < 0 && errno == EINTR)) {
		press(process, now);
		return COP_EEND;
	}
	read_lines(process); /* what it said last */
	*end = ended > 0 ? judge(process, status) : failed(COP_WORKER_CRASHED);
	end->spent = seconds_of(&used);
	if (process->fd >= 0)
		(void)close(process->fd);
	cop_worker_process_init(process);
	return COP_OK;
}

double cop_worker_process_stop(cop_worker_process *process)
{
	struct rusage used = { 0 };
	if (process->pid == 0)
		return 0.0;
	(void)kill(process->pid, SIGKILL);
	while (wait4(process->pid, NULL, 0, &used) < 0 && errno == EINTR)
		;
	if (process->fd >= 0)
		(void)close(process->fd);
	cop_worker_process_init(process);
	return seconds_of(&used);
}
