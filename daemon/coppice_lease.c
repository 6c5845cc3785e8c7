/* coppice-lease: which instance of a group of replicas leads, by a lease in etcd. Exit status: 0 stopped as asked, 1
 * failed, 2 usage. */
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/common/known_options.h"
#include "daemon/common/signals.h"
#include "daemon/lease/lease_run.h"

#define EXIT_USAGE      2
#define LOG_DEADLINE_MS 2000
#define MOST_SECONDS    3600.0

static const char usage_text[] = "usage: coppice-lease --etcd URL[,URL ...] --group GROUP [OPTION ...]\n\n"
                                 "Keeps a lease in etcd for a coppiced that has replicas: while it holds the lease\n"
                                 "its coppiced leads, and no other of the group does.\n\n"
                                 "  --etcd URL[,URL ...]  where etcd takes clients, http://HOST:PORT or https\n"
                                 "  --group GROUP         the group of replicas; its keys in etcd are\n"
                                 "                        /coppice/GROUP/...\n"
                                 "  --name NAME           this instance (default: the host's name)\n"
                                 "  --endpoint EP         the daemon's admin endpoint (default\n"
                                 "                        ipc:///run/coppice/admin.ipc)\n"
                                 "  --key FILE            the secret key to show it, where it is encrypted\n"
                                 "  --server-key FILE     and its public key\n"
                                 "  --seconds S           the lease's (default 3)\n"
                                 "  --hand-over S         at a stop, wait so long until another instance has all\n"
                                 "                        that the daemon has (default 10)\n"
                                 "  --above N             epochs begin behind N (default 0): for an etcd that has\n"
                                 "                        lost its data; all of the group have the same\n"
                                 "  --etcd-ca FILE        whom etcd's certificate is to be of\n"
                                 "  --etcd-cert FILE      the certificate to show to etcd,\n"
                                 "  --etcd-key FILE       and its key\n"
                                 "  --foreground          log to standard error instead of syslog (default when\n"
                                 "                        that is a terminal)\n"
                                 "  --version             print the version and stop\n"
                                 "  --help                print this and stop\n\n"
                                 "SIGTERM and SIGINT hand over and stop.\n";

typedef struct options {
	cop_lease_etcd_settings etcd;
	cop_lease_run_settings run;
	const char *group, *endpoint;
	cop_client_keys keys;
	double seconds, above;
	bool foreground;
	char name[COP_LEASE_TEXT_NAME], prefix[COP_LEASE_TEXT_NAME + 16];
} options;

static bool wrong(const char *option, const char *given, const char *expected)
{
	(void)fprintf(stderr, "coppice-lease: --%s: '%s' given, expected %s\n", option, given, expected);
	return false;
}

static bool read_number(const char *option, const char *text, double low, double high, double *out)
{
	char *end, expected[80];
	*out = strtod(text, &end);
	if (end != text && *end == '\0' && *out >= low && *out <= high)
		return true;
	(void)snprintf(expected, sizeof expected, "a number from %.15g to %.15g", low, high);
	return wrong(option, text, expected);
}

/* Part of a key in etcd. */
static bool is_name(const char *text)
{
	size_t length = strlen(text);
	return length > 0 && length < COP_LEASE_TEXT_NAME / 2 &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == length;
}

#define A_NAME "up to 63 of letters, digits, ., _ and -"

/* One option; false: complained of. */
static bool take(options *o, const struct option *row, const char *text)
{
	const struct {
		const char *name, **to;
	} texts[] = {
		{ "etcd", &o->etcd.endpoints },
		{ "etcd-ca", &o->etcd.authority },
		{ "etcd-cert", &o->etcd.certificate },
		{ "etcd-key", &o->etcd.key },
		{ "group", &o->group },
		{ "name", &o->run.name },
		{ "endpoint", &o->endpoint },
		{ "key", &o->keys.own },
		{ "server-key", &o->keys.server },
	};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (strcmp(row->name, texts[i].name) == 0) {
			*texts[i].to = text;
			return true;
		}
	if (strcmp(row->name, "seconds") == 0)
		return read_number(row->name, text, 2.0, MOST_SECONDS, &o->seconds);
	if (strcmp(row->name, "hand-over") == 0)
		return read_number(row->name, text, 0.0, MOST_SECONDS, &o->run.hand_over);
	return read_number(row->name, text, 0.0, 1e15, &o->above);
}

static const struct option known[] = {
	{ "etcd", required_argument, NULL, 'o' },
	{ "group", required_argument, NULL, 'o' },
	{ "name", required_argument, NULL, 'o' },
	{ "endpoint", required_argument, NULL, 'o' },
	{ "key", required_argument, NULL, 'o' },
	{ "server-key", required_argument, NULL, 'o' },
	{ "seconds", required_argument, NULL, 'o' },
	{ "hand-over", required_argument, NULL, 'o' },
	{ "above", required_argument, NULL, 'o' },
	{ "etcd-ca", required_argument, NULL, 'o' },
	{ "etcd-cert", required_argument, NULL, 'o' },
	{ "etcd-key", required_argument, NULL, 'o' },
	{ "foreground", no_argument, NULL, 'f' },
	{ "options", no_argument, NULL, 'l' },
	{ "version", no_argument, NULL, 'v' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

/* What was read, as a whole; false: complained of. */
static bool settle(options *o)
{
	if (o->etcd.endpoints == NULL || o->group == NULL) {
		(void)fprintf(stderr, "coppice-lease: expected --etcd and --group\n%s", usage_text);
		return false;
	}
	if (o->run.name == NULL) {
		if (gethostname(o->name, sizeof o->name - 1) != 0)
			o->name[0] = '\0';
		o->run.name = o->name;
	}
	if (!is_name(o->group))
		return wrong("group", o->group, A_NAME);
	if (!is_name(o->run.name))
		return wrong("name", o->run.name, A_NAME);
	if ((o->keys.own == NULL) != (o->keys.server == NULL))
		return wrong("key", o->keys.own == NULL ? "" : o->keys.own, "both --key and --server-key, or neither");
	(void)snprintf(o->prefix, sizeof o->prefix, "/coppice/%.63s/", o->group);
	o->run.prefix = o->prefix;
	o->run.seconds = (uint64_t)o->seconds;
	o->run.above = (uint64_t)o->above;
	o->etcd.timeout = o->seconds / 6.0;
	return true;
}

/* -1: go on; else the exit status. */
static int read_options(int argc, char **argv, options *o)
{
	int row;
	for (int option; (option = getopt_long(argc, argv, "h", known, &row)) != -1;) {
		switch (option) {
		case 'o':
			if (!take(o, &known[row], optarg))
				return EXIT_USAGE;
			break;
		case 'f':
			o->foreground = true;
			break;
		case 'l':
			return cop_known_options_print(known);
		case 'v':
			(void)puts("coppice-lease " COP_VERSION);
			return EXIT_SUCCESS;
		case 'h':
			(void)fputs(usage_text, stdout);
			return EXIT_SUCCESS;
		default:
			(void)fputs(usage_text, stderr);
			return EXIT_USAGE;
		}
	}
	if (optind < argc) {
		(void)fprintf(stderr, "coppice-lease: unexpected argument '%s'\n%s", argv[optind], usage_text);
		return EXIT_USAGE;
	}
	return settle(o) ? -1 : EXIT_USAGE;
}

/* Until the time, or a signal. */
static void wait_for(int signals, double seconds)
{
	struct pollfd item = { .fd = signals, .events = POLLIN };
	(void)poll(&item, 1, (int)(1000.0 * seconds));
}

static void keep(cop_lease_run *run, int signals)
{
	for (double wait; (wait = cop_lease_run_step(run)) >= 0.0;) {
		wait_for(signals, wait);
		for (int number; cop_signals_take(&number);) {
			if (number == SIGHUP || run->stop)
				continue;
			cop_log_line(run->log, COP_LOG_EVENT(lease_stopping), "signal=%s",
			        number == SIGTERM ? "SIGTERM" : "SIGINT");
			cop_lease_run_stop(run);
		}
	}
}

static int serve(const options *o, cop_log *log)
{
	cop_diag diag = { 0 };
	cop_lease_etcd *etcd = NULL;
	cop_lease_daemon daemon, other;
	int signals = -1;
	cop_err err = cop_lease_etcd_open(&o->etcd, &etcd, &diag);
	const cop_client_keys *keys = o->keys.own != NULL ? &o->keys : NULL;
	cop_lease_daemon_init(&daemon, o->endpoint, keys, o->etcd.timeout);
	cop_lease_daemon_init(&other, o->endpoint, keys, o->etcd.timeout);
	if (err == COP_OK) {
		err = cop_signals_open(&signals);
		if (err != COP_OK)
			cop_diag_message(&diag, "signals cannot be taken");
	}
	if (err == COP_OK) {
		cop_lease_run run = {
			.settings = o->run, .etcd = etcd, .daemon = &daemon, .hand_over = &other, .log = log
		};
		keep(&run, signals);
		cop_signals_close();
	} else {
		(void)fprintf(stderr, "coppice-lease: %s\n", diag.message);
		cop_log_line(log, COP_LOG_EVENT(lease_failed), "reason=\"%s\"", diag.message);
	}
	cop_lease_daemon_fini(&daemon);
	cop_lease_daemon_fini(&other);
	cop_lease_etcd_close(etcd);
	return err == COP_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	cop_log *log;
	options o = { .seconds = 3.0, .run.hand_over = 10.0, .endpoint = "ipc:///run/coppice/admin.ipc" };
	int status = read_options(argc, argv, &o);
	if (status >= 0)
		return status;
	const cop_log_settings settings = { .level = COP_LOG_INFO,
		.foreground = o.foreground || isatty(STDERR_FILENO) != 0,
		.ident = "coppice-lease" };
	if (cop_log_open(&settings, &log) != COP_OK) {
		(void)fputs("coppice-lease: the log cannot be opened\n", stderr);
		return EXIT_FAILURE;
	}
	status = serve(&o, log);
	(void)cop_log_close(log, LOG_DEADLINE_MS);
	return status;
}
