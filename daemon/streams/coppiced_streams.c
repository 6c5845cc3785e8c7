/* coppiced-streams: carries events between event logs and a daemon. Exit status: 0 stopped as asked, 1 failed, 2 usage. */
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "daemon/common/clock.h"
#include "daemon/common/http.h"
#include "daemon/common/notify.h"
#include "daemon/common/signals.h"
#include "daemon/streams/bridge_config.h"
#include "daemon/streams/bridge_metrics.h"

#define EXIT_USAGE      2
#define CONFIG          "/etc/coppice/coppiced-streams.conf"
#define LOG_DEADLINE_MS 2000
#define TURN_MS         1000

static const char usage_text[] = "usage: coppiced-streams [--config FILE] [--foreground]\n"
                                 "       coppiced-streams [--config FILE] --check\n\n"
                                 "Carries contexts and feedback from event logs (Redis Streams, NATS JetStream, the\n"
                                 "Kafka protocol) to a coppiced, and its actions back. Each event is learned once.\n\n"
                                 "  --config FILE   configuration (default " CONFIG ")\n"
                                 "  --foreground    log to standard error instead of syslog (default when that is a\n"
                                 "                  terminal)\n"
                                 "  --check         read the configuration, report what is wrong, and stop\n"
                                 "  --version       print the version and the engines that were built in, and stop\n"
                                 "  --help          print this and stop\n\n"
                                 "SIGTERM and SIGINT stop it.\n";

typedef struct options {
	const char *config;
	bool foreground, check;
} options;

static int print_version(void)
{
	(void)fputs("coppiced-streams " COP_VERSION " with", stdout);
	for (size_t i = 0; cop_broker_at(i) != NULL; i++)
		(void)printf(" %s", cop_broker_at(i)->name);
	(void)puts(cop_broker_at(0) == NULL ? " no engine" : "");
	return EXIT_SUCCESS;
}

/* -1: go on; else the exit status. */
static int read_options(int argc, char **argv, options *o)
{
	static const struct option known[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "foreground", no_argument, NULL, 'f' },
		{ "check", no_argument, NULL, 'k' },
		{ "version", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	for (int option; (option = getopt_long(argc, argv, "h", known, NULL)) != -1;) {
		switch (option) {
		case 'c':
			o->config = optarg;
			break;
		case 'f':
			o->foreground = true;
			break;
		case 'k':
			o->check = true;
			break;
		case 'v':
			return print_version();
		case 'h':
			(void)fputs(usage_text, stdout);
			return EXIT_SUCCESS;
		default:
			(void)fputs(usage_text, stderr);
			return EXIT_USAGE;
		}
	}
	if (optind == argc)
		return -1;
	(void)fprintf(stderr, "coppiced-streams: unexpected argument '%s'\n%s", argv[optind], usage_text);
	return EXIT_USAGE;
}

static int print_checked(const cop_bridge_config *config)
{
	for (size_t i = 0; i < config->count; i++) {
		const cop_bridge_stream *s = &config->streams[i];
		(void)printf("ok: stream %s, %s of model %s by %s, partitions %" PRIu32 "\n", s->name,
		        s->feedback ? "feedback" : "contexts", s->model, s->class->name, s->partitions);
	}
	return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static void fill(const cop_bridge_config *config, const cop_bridge_stream *stream, uint32_t partition, cop_log *log,
        cop_bridge_reader_settings *out)
{
	*out = (cop_bridge_reader_settings){
		.class = stream->class,
		.daemon = { .endpoint = config->daemon,
		        .keys = { config->key[0] == '\0' ? NULL : config->key,
		                config->server_key[0] == '\0' ? NULL : config->server_key },
		        .model = stream->model,
		        .feedback = stream->feedback,
		        .timeout = config->timeout },
		.batch = stream->batch,
		.json = stream->json,
		.log = log,
	};
	cop_bridge_config_broker(stream, partition, &out->broker);
}

static cop_err start_readers(const cop_bridge_config *config, cop_bridge_readers *readers)
{
	for (size_t i = 0; i < config->count; i++)
		for (uint32_t p = 0; p < config->streams[i].partitions; p++) {
			cop_bridge_reader_settings settings;
			fill(config, &config->streams[i], p, readers->log, &settings);
			cop_err err = cop_bridge_reader_start(&readers->items[readers->count], &settings);
			if (err != COP_OK)
				return err;
			readers->count++;
		}
	return COP_OK;
}

static void stop_readers(cop_bridge_readers *readers)
{
	for (size_t i = 0; i < readers->count; i++)
		cop_bridge_reader_end(&readers->items[i]);
	for (size_t i = 0; i < readers->count; i++)
		cop_bridge_reader_join(&readers->items[i]);
}

/* Until a signal ends it. */
static void run(const cop_bridge_readers *readers, cop_http *http, int signals)
{
	int number = 0;
	cop_notify notify;
	cop_notify_init(&notify, cop_clock_monotonic_us());
	cop_notify_ready("carrying events");
	cop_http_set_phase(http, COP_HTTP_SERVING);
	while (number == 0) {
		struct pollfd fds[] = { { .fd = signals, .events = POLLIN },
			{ .fd = cop_http_fd(http), .events = POLLIN } };
		(void)poll(fds, 2, TURN_MS);
		cop_http_alive(http, cop_clock_monotonic_ns());
		cop_http_answer(http, cop_bridge_metrics_put, readers);
		(void)cop_notify_tick(&notify, cop_clock_monotonic_us());
		if (!cop_signals_take(&number))
			number = 0;
	}
	cop_log_line(readers->log, COP_LOG_NOTICE, "stopping", "signal=%d", number);
	cop_notify_stopping("stopping");
	cop_http_set_phase(http, COP_HTTP_STOPPING);
}

static int carry(const cop_bridge_config *config, cop_log *log)
{
	int signals;
	cop_http *http = NULL;
	cop_diag diag = { 0 };
	cop_bridge_readers readers = { .log = log };
	readers.items = cop_mem_alloc(config->readers, sizeof *readers.items);
	cop_err err = readers.items == NULL ? COP_ENOMEM : cop_signals_open(&signals);
	if (err == COP_OK && config->metrics[0] != '\0')
		err = cop_http_open(config->metrics, &http, &diag);
	if (err == COP_OK)
		err = start_readers(config, &readers);
	if (err == COP_OK)
		run(&readers, http, signals);
	else
		cop_log_line(log, COP_LOG_ERROR, "failed", "reason=\"%s\"",
		        diag.message[0] != '\0' ? diag.message : cop_err_text(err));
	stop_readers(&readers);
	cop_http_close(http);
	cop_signals_close();
	cop_mem_free(readers.items);
	return err == COP_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	options o = { .config = CONFIG };
	cop_log *log;
	cop_bridge_config *config;
	int status = read_options(argc, argv, &o);
	if (status >= 0)
		return status;
	if (cop_bridge_config_load(o.config, stderr, &config) != COP_OK)
		return EXIT_FAILURE;
	if (o.check) {
		status = print_checked(config);
		cop_bridge_config_free(config);
		return status;
	}
	const cop_log_settings settings = {
		.facility = config->log_facility,
		.level = config->log_level,
		.foreground = o.foreground || isatty(STDERR_FILENO) != 0,
		.ident = "coppiced-streams",
	};
	if (cop_log_open(&settings, &log) != COP_OK) {
		(void)fputs("coppiced-streams: the log cannot be opened\n", stderr);
		cop_bridge_config_free(config);
		return EXIT_FAILURE;
	}
	status = carry(config, log);
	cop_log_line(log, COP_LOG_NOTICE, "stopped", "status=%d", status);
	(void)cop_log_close(log, LOG_DEADLINE_MS);
	cop_bridge_config_free(config);
	return status;
}
