/* coppiced-streams: carries events between event logs and a daemon. Exit status: 0 stopped as asked, 1 failed, 2 usage.
 */
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/common/clock.h"
#include "daemon/common/known_options.h"
#include "daemon/common/http.h"
#include "daemon/common/notify.h"
#include "daemon/common/signals.h"
#include "daemon/streams/bridge_carrier.h"

#define EXIT_USAGE      2
#define CONFIG          "/etc/coppice/coppiced-streams.conf"
#define LOG_DEADLINE_MS 2000
#define TURN_MS         1000

static const char usage_text[] = "usage: coppiced-streams [--config FILE] [--foreground]\n"
                                 "       coppiced-streams [--config FILE] --check\n\n"
                                 "Carries contexts and feedback from event logs (Redis Streams, NATS JetStream,\n"
                                 "the Kafka protocol) to a coppiced, and its actions back. Each event is learned\n"
                                 "once.\n\n"
                                 "  --config FILE   configuration (default " CONFIG ")\n"
                                 "  --foreground    log to standard error instead of syslog (default when that is\n"
                                 "                  a terminal)\n"
                                 "  --check         read the configuration, report what is wrong, and stop\n"
                                 "  --version       print the version and the engines that were built in, and stop\n"
                                 "  --help          print this and stop\n\n"
                                 "SIGTERM and SIGINT stop it; on SIGHUP it reads its configuration again, unless\n"
                                 "that has errors.\n";

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
		{ "options", no_argument, NULL, 'l' },
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
		case 'l':
			return cop_known_options_print(known);
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
	(void)fprintf(stderr,
	        "coppiced-streams: unexpected argument '%s'; a configuration is given as --config FILE\n%s",
	        argv[optind], usage_text);
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

/* The file is read again. One with errors changes nothing; else what is under way ends in order, and the new one
 * begins. *config is the one that is carried afterwards. */
static cop_err reload(const char *path, cop_bridge_config **config, cop_bridge_carrier *carrier)
{
	char *text = NULL;
	size_t length = 0;
	cop_bridge_config *next = NULL;
	cop_log *log = carrier->readers.log;
	FILE *errors = open_memstream(&text, &length);
	cop_err err = errors == NULL ? COP_ENOMEM : cop_bridge_config_load(path, errors, &next);
	if (errors != NULL)
		(void)fclose(errors);
	if (err != COP_OK) {
		if (text != NULL)
			text[strcspn(text, "\n")] = '\0';
		cop_log_line(log, COP_LOG_EVENT(reload_failed), "reason=\"%s\"",
		        text == NULL || text[0] == '\0' ? cop_err_text(err) : text);
		free(text);
		return COP_OK;
	}
	free(text);
	cop_bridge_carrier_stop(carrier);
	cop_bridge_config_free(*config);
	*config = next;
	err = cop_bridge_carrier_start(next, log, carrier);
	if (err == COP_OK)
		cop_log_line(log, COP_LOG_EVENT(reloaded), "streams=%zu partitions=%zu", next->count, next->readers);
	return err;
}

/* Until a signal ends it. */
static cop_err run(
        const char *path, cop_bridge_config **config, cop_bridge_carrier *carrier, cop_http *http, int signals)
{
	cop_err err = COP_OK;
	int number = 0;
	cop_log *log = carrier->readers.log;
	cop_notify notify;
	cop_notify_init(&notify, cop_clock_monotonic_us());
	cop_notify_ready("carrying events");
	cop_http_set_phase(http, COP_HTTP_SERVING);
	while (err == COP_OK && number != SIGTERM && number != SIGINT) {
		struct pollfd fds[] = { { .fd = signals, .events = POLLIN },
			{ .fd = cop_http_fd(http), .events = POLLIN } };
		(void)poll(fds, 2, TURN_MS);
		cop_http_alive(http, cop_clock_monotonic_ns());
		cop_http_answer(http, cop_bridge_metrics_put, &carrier->readers);
		(void)cop_notify_tick(&notify, cop_clock_monotonic_us());
		if (!cop_signals_take(&number))
			number = 0;
		if (number == SIGHUP)
			err = reload(path, config, carrier);
	}
	cop_log_line(log, COP_LOG_EVENT(stopping), "signal=%d", number);
	cop_notify_stopping("stopping");
	cop_http_set_phase(http, COP_HTTP_STOPPING);
	return err;
}

static int carry(const char *path, cop_bridge_config **config, cop_log *log)
{
	int signals;
	cop_http *http = NULL;
	cop_diag diag = { 0 };
	cop_bridge_carrier carrier = { .config = NULL };
	cop_err err = cop_signals_open(&signals);
	if (err == COP_OK && (*config)->metrics[0] != '\0')
		err = cop_http_open((*config)->metrics, &http, &diag);
	if (err == COP_OK)
		err = cop_bridge_carrier_start(*config, log, &carrier);
	if (err == COP_OK)
		err = run(path, config, &carrier, http, signals);
	if (err != COP_OK)
		cop_log_line(log, COP_LOG_EVENT(failed), "reason=\"%s\"",
		        diag.message[0] != '\0' ? diag.message : cop_err_text(err));
	cop_bridge_carrier_stop(&carrier);
	cop_http_close(http);
	cop_signals_close();
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
	status = carry(o.config, &config, log);
	cop_log_line(log, COP_LOG_EVENT(stopped), "status=%d", status);
	(void)cop_log_close(log, LOG_DEADLINE_MS);
	cop_bridge_config_free(config);
	return status;
}
