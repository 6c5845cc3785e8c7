#include "bench_pair.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static cop_err failed(cop_diag *diag, const char *source, const char *what)
{
	cop_diag_of(diag, source, "%s: %s", what, strerror(errno));
	return COP_EIO;
}

/* A port of the loopback that nobody uses at the moment; 0: none. */
static unsigned free_port(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof at;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool ok = fd >= 0 && bind(fd, (struct sockaddr *)&at, size) == 0 &&
	          getsockname(fd, (struct sockaddr *)&at, &size) == 0;
	if (fd >= 0)
		(void)close(fd);
	return ok ? ntohs(at.sin_port) : 0;
}

static void choose_endpoint(const cop_bench_pair *pair, bool tcp, const char *name, char *out, size_t size)
{
	if (tcp)
		(void)snprintf(out, size, "tcp://127.0.0.1:%u", free_port());
	else
		(void)snprintf(out, size, "ipc://%s/%s.ipc", pair->folder, name);
}

static void put_model(FILE *file, const cop_bench_costs *set, const char *name, const char *more)
{
	(void)fprintf(file, "model \"%s\" {\n\tlearner = \"dgt\" arms = %zu features = %zu seed = 1\n%s}\n", name,
	        set->arms, set->features, more);
}

static cop_err write_config(const cop_bench_pair *pair, const cop_bench_costs *set, const char *path, cop_diag *diag)
{
	FILE *file = fopen(path, "w");
	if (file == NULL)
		return failed(diag, path, "cannot be written");
	(void)fprintf(file,
	        "state_dir = \"%s/state\"\n"
	        "log { level = \"warning\" }\n"
	        "sockets { requests = { \"%s\" } admin = { \"%s\" } }\n"
	        "journal { sync = \"interval\" interval = \"10ms\" }\n",
	        pair->folder, pair->daemon_endpoint, pair->admin_endpoint);
	put_model(file, set, COP_BENCH_OWN_MODEL, "\trefit { enabled = false }\n"); /* what is timed is serving */
	if (set->refit) { /* a checkpoint would hold up a round on one side */
		(void)fprintf(file, "checkpoint { every = \"1d\" }\n");
		put_model(file, set, COP_BENCH_FITTED_MODEL,
		        "\trefit { enabled = true every = \"365d\" on_drift = \"none\" promote = \"never\"\n"
		        "\t\twindow = 10000000 memory = \"8GiB\" time_limit = \"1d\" }\n");
	}
	return fclose(file) == 0 ? COP_OK : failed(diag, path, "cannot be written");
}

/* The daemon's program, of the same build tree. */
static cop_err find_daemon(const char *self, char *out, size_t size, cop_diag *diag)
{
	int folder = (int)(strrchr(self, '/') - self);
	(void)snprintf(out, size, "%.*s/../daemon/coppiced", folder, self);
	if (access(out, X_OK) == 0)
		return COP_OK;
	cop_diag_of(diag, out, "is missing; expected this build's daemon, or --endpoint and --model");
	return COP_ENOTFOUND;
}

/* In the child: only async-signal-safe calls. Signals are as they were before this program blocked some. */
static void become(char *const *words, int output, pid_t parent)
{
	sigset_t none;
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == parent && dup2(output, STDOUT_FILENO) >= 0 && dup2(output, STDERR_FILENO) >= 0)
		(void)execv(words[0], words);
	_exit(127);
}

static cop_err spawn(const cop_bench_pair *pair, const char *name, char *const *words, pid_t *out, cop_diag *diag)
{
	char path[128];
	(void)snprintf(path, sizeof path, "%s/%s.log", pair->folder, name);
	int output = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (output < 0)
		return failed(diag, path, "cannot be written");
	pid_t parent = getpid();
	pid_t child = fork();
	if (child == 0)
		become(words, output, parent);
	(void)close(output);
	if (child < 0)
		return failed(diag, words[0], "cannot be started");
	*out = child;
	return COP_OK;
}

static cop_err start_echo(cop_bench_pair *pair, char *self, bool tcp, cop_diag *diag)
{
	char echo[] = "echo";
	char option[] = "--endpoint";
	choose_endpoint(pair, tcp, "echo", pair->echo_endpoint, sizeof pair->echo_endpoint);
	char *const words[] = { self, echo, option, pair->echo_endpoint, NULL };
	return spawn(pair, "echo", words, &pair->echo, diag);
}

static cop_err start_daemon(cop_bench_pair *pair, const char *self, const cop_bench_costs *set, cop_diag *diag)
{
	char program[PATH_MAX + 32];
	char config[128];
	char option[] = "--config";
	char stay[] = "--foreground";
	choose_endpoint(pair, set->tcp, "daemon", pair->daemon_endpoint, sizeof pair->daemon_endpoint);
	choose_endpoint(pair, false, "admin", pair->admin_endpoint, sizeof pair->admin_endpoint);
	(void)snprintf(config, sizeof config, "%s/coppice.conf", pair->folder);
	cop_err err = find_daemon(self, program, sizeof program, diag);
	if (err == COP_OK)
		err = write_config(pair, set, config, diag);
	char *const words[] = { program, option, config, stay, NULL };
	return err != COP_OK ? err : spawn(pair, "daemon", words, &pair->daemon, diag);
}

cop_err cop_bench_pair_start(cop_bench_pair *pair, const cop_bench_costs *set, cop_diag *diag)
{
	char self[PATH_MAX];
	const char *temporary = getenv("TMPDIR");
	*pair = (cop_bench_pair){ 0 };
	/* The folder's name is a part of sockets' addresses, which are short. */
	if (temporary == NULL || strlen(temporary) + sizeof "/coppice-bench-XXXXXX" > sizeof pair->folder)
		temporary = "/tmp";
	char folder[sizeof pair->folder];
	(void)snprintf(folder, sizeof folder, "%.40s/coppice-bench-XXXXXX", temporary);
	if (mkdtemp(folder) == NULL)
		return failed(diag, folder, "cannot be made");
	memcpy(pair->folder, folder, sizeof folder);
	ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
	if (length <= 0)
		return failed(diag, "/proc/self/exe", "cannot be read");
	self[length] = '\0';
	bool tcp = set->endpoint != NULL ? strncmp(set->endpoint, "tcp:", 4) == 0 : set->tcp;
	cop_err err = start_echo(pair, self, tcp, diag);
	if (err == COP_OK && set->endpoint == NULL)
		err = start_daemon(pair, self, set, diag);
	else if (err == COP_OK)
		(void)snprintf(pair->daemon_endpoint, sizeof pair->daemon_endpoint, "%s", set->endpoint);
	return err;
}

static cop_err check_one(const cop_bench_pair *pair, pid_t *child, const char *name, cop_diag *diag)
{
	char path[128];
	char line[200] = "";
	if (*child == 0 || waitpid(*child, NULL, WNOHANG) == 0)
		return COP_OK;
	*child = 0;
	(void)snprintf(path, sizeof path, "%s/%s.log", pair->folder, name);
	FILE *file = fopen(path, "r");
	while (file != NULL && fgets(line, sizeof line, file) != NULL)
		line[strcspn(line, "\n")] = '\0';
	if (file != NULL)
		(void)fclose(file);
	cop_diag_message(diag, "the %s has ended: %.180s", name, line);
	return COP_EIO;
}

cop_err cop_bench_pair_check(cop_bench_pair *pair, cop_diag *diag)
{
	cop_err err = check_one(pair, &pair->echo, "echo", diag);
	return err != COP_OK ? err : check_one(pair, &pair->daemon, "daemon", diag);
}

static int drop(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status;
	(void)type;
	(void)walk;
	(void)remove(path);
	return 0;
}

static void stop_one(pid_t *child)
{
	if (*child == 0)
		return;
	(void)kill(*child, SIGTERM);
	(void)waitpid(*child, NULL, 0);
	*child = 0;
}

void cop_bench_pair_stop(cop_bench_pair *pair)
{
	stop_one(&pair->echo);
	stop_one(&pair->daemon);
	if (pair->folder[0] != '\0')
		(void)nftw(pair->folder, drop, 8, FTW_DEPTH | FTW_PHYS);
	pair->folder[0] = '\0';
}
