/* Round trips of a bare REQ and REP of ZeroMQ in two processes, what answers that wait for another instance are
 * measured against: bare_trips ENDPOINT BYTES COUNT prints the median in microseconds, of messages of so many bytes
 * both ways. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <zmq.h>

#define MOST_BYTES 65536
#define MOST_TRIPS 1000000
#define WARM       200 /* trips before those that count */

static char message[MOST_BYTES];

static double now(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static int answer(const char *endpoint, long trips)
{
	void *context = zmq_ctx_new(), *socket = zmq_socket(context, ZMQ_REP);
	if (socket == NULL || zmq_bind(socket, endpoint) != 0)
		return 1;
	for (long i = 0; i < trips; i++) {
		int got = zmq_recv(socket, message, sizeof message, 0);
		if (got < 0 || zmq_send(socket, message, (size_t)got, 0) != got)
			return 1;
	}
	return zmq_close(socket) != 0 || zmq_ctx_term(context) != 0;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static int ask(const char *endpoint, size_t bytes, long trips, double *took)
{
	void *context = zmq_ctx_new(), *socket = zmq_socket(context, ZMQ_REQ);
	if (socket == NULL || zmq_connect(socket, endpoint) != 0)
		return 1;
	for (long i = 0; i < trips; i++) {
		double began = now();
		if (zmq_send(socket, message, bytes, 0) < 0 || zmq_recv(socket, message, sizeof message, 0) < 0)
			return 1;
		took[i] = now() - began;
	}
	return zmq_close(socket) != 0 || zmq_ctx_term(context) != 0;
}

int main(int argc, char **argv)
{
	long bytes = argc == 4 ? strtol(argv[2], NULL, 10) : 0;
	long trips = argc == 4 ? strtol(argv[3], NULL, 10) : 0;
	if (bytes < 1 || bytes > MOST_BYTES || trips < 1 || trips > MOST_TRIPS) {
		(void)fputs("usage: bare_trips ENDPOINT BYTES COUNT\n", stderr);
		return 2;
	}
	static double took[MOST_TRIPS + WARM];
	pid_t child = fork();
	if (child < 0)
		return 1;
	if (child == 0)
		_exit(answer(argv[1], trips + WARM));
	int failed = ask(argv[1], (size_t)bytes, trips + WARM, took), status;
	failed |= waitpid(child, &status, 0) != child || status != 0;
	qsort(took + WARM, (size_t)trips, sizeof *took, compare);
	(void)printf("%.3f\n", took[WARM + trips / 2]);
	return failed;
}
