/* The pipe is read before the child is waited for and once more after its end, so its last line is not lost; the first
 * result line counts. A result is believed only from a process that exited with status 0. */
#include "daemon/refit/worker_process.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

void cop_worker_process_init(cop_worker_process *process)
{
	*process = (cop_worker_process){ .has_result = false };
	cop_side_process_init(&process->side);
}

cop_err cop_worker_process_start(cop_worker_process *process, const char *program, char *const argv[], double now,
        double seconds, cop_diag *diag)
{
	cop_worker_process_init(process);
	return cop_side_process_start(&process->side, program, argv, NULL, now, seconds, diag);
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
	size_t n;
	while ((n = cop_side_process_read(
	                &process->side, process->part + process->used, sizeof process->part - process->used)) > 0) {
		process->used += n;
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
	cop_worker_line line = failed(process->side.told > 0 ? COP_WORKER_TIMEOUT : COP_WORKER_CRASHED);
	const char *where = process->last.text[0] != '\0' ? process->last.text : "start";
	if (process->side.told > 0)
		(void)snprintf(line.text, sizeof line.text, "beyond its time, at: %.300s", where);
	else if (WIFSIGNALED(status))
		(void)snprintf(line.text, sizeof line.text, "ended by signal %d (%s), at: %.300s", WTERMSIG(status),
		        strsignal(WTERMSIG(status)), where);
	else
		(void)snprintf(line.text, sizeof line.text, "exit status %d without a result, at: %.300s",
		        WIFEXITED(status) ? WEXITSTATUS(status) : -1, where);
	return line;
}

cop_err cop_worker_process_take(cop_worker_process *process, double now, cop_worker_line *end)
{
	int status = 0;
	struct rusage used;
	if (process->side.pid == 0)
		return COP_EEND;
	read_lines(process);
	if (!cop_side_process_ended(&process->side, now, &status, &used))
		return COP_EEND;
	read_lines(process); /* what it said last */
	*end = status != -1 ? judge(process, status) : failed(COP_WORKER_CRASHED);
	end->spent = cop_side_process_seconds(&used);
	cop_side_process_close(&process->side);
	cop_worker_process_init(process);
	return COP_OK;
}

double cop_worker_process_stop(cop_worker_process *process)
{
	double spent = cop_side_process_stop(&process->side);
	cop_worker_process_init(process);
	return spent;
}
