/* coppiced: reads its options and configuration, then serves. Exit status: 0 stopped as asked, 1 failed, 2 usage, 3
 * leads no longer: it is to be started anew. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/common/known_options.h"
#include "daemon/common/log.h"
#include "daemon/config/bindable.h"
#include "daemon/config/config.h"
#include "daemon/durable/trial.h"
#include "daemon/past_answer.h"
#include "daemon/server.h"
#include "linalg/blas.h"

#define EXIT_USAGE      2
#define EXIT_LED        3
#define MOST_RESETS     COP_CONFIG_MAX_MODELS
#define LOG_DEADLINE_MS 2000

static const char usage_text[] = "usage: coppiced [--config FILE] [--foreground] [--reset-model NAME ...]\n"
                                 "           [--checkpoint-only | --salvaged] [--trust-clock]\n"
                                 "       coppiced [--config FILE] --check | --print-config\n"
                                 "       coppiced [--config FILE] --explain MODEL ID [--at TIME]\n"
                                 "       coppiced [--config FILE] --aside PID MODEL VERB\n\n"
                                 "Serves the models of a configuration: contexts in, actions out, losses in.\n\n"
                                 "  --config FILE       configuration; without it a built-in one for a first try\n"
                                 "                      (see --print-config)\n"
                                 "  --foreground        log to standard error instead of syslog (default when that\n"
                                 "                      is a terminal)\n"
                                 "  --check             read the configuration, report what is wrong or how much\n"
                                 "                      memory models take, and stop\n"
                                 "  --print-config      print the complete effective configuration and stop\n"
                                 "  --reset-model NAME  begin this model anew instead of restoring it; may be\n"
                                 "                      repeated\n"
                                 "  --explain           why the model made a decision of the past, as it would\n"
                                 "                      have been explained then, as JSON; the state folder is\n"
                                 "                      only read, and its daemon may be running. MODEL#1 is the\n"
                                 "                      model begun anew once, MODEL#0 its first life alone\n"
                                 "  --at TIME           with --explain: the last decision of this id up to TIME,\n"
                                 "                      which is unix seconds or like 2026-11-27T10:52:01Z\n"
                                 "                      (default: the last of all)\n"
                                 "  --aside PID         not for use by hand: the daemon of process PID starts this\n"
                                 "                      program to answer questions about the past\n"
                                 "  --checkpoint-only   start from the newest checkpoint alone; the journal is set\n"
                                 "                      aside, under another name\n"
                                 "  --salvaged          accept the gaps of a journal that\n"
                                 "                      `coppice journal salvage` wrote\n"
                                 "  --trust-clock       trust the clock, however far it is ahead of the newest\n"
                                 "                      record\n"
                                 "  --version           print the version and stop\n"
                                 "  --help              print this and stop\n\n"
                                 "SIGHUP reloads the configuration, SIGTERM and SIGINT write a checkpoint and\n"
                                 "stop.\n";

typedef struct options {
	cop_server_options server;
	bool foreground, check, print, explain;
	int aside; /* the daemon that asks; 0: none does */
	cop_past_question question;
	const char *reset[MOST_RESETS + 1];
	size_t resets;
} options;

/* -1: go on; else the exit status. */
static int read_options(int argc, char **argv, options *o)
{
	static const struct option known[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "foreground", no_argument, NULL, 'f' },
		{ "check", no_argument, NULL, 'k' },
		{ "print-config", no_argument, NULL, 'p' },
		{ "explain", no_argument, NULL, 'e' },
		{ "at", required_argument, NULL, 'a' },
		{ "aside", required_argument, NULL, 'd' },
		{ "reset-model", required_argument, NULL, 'r' },
		{ "checkpoint-only", no_argument, NULL, 'o' },
		{ "salvaged", no_argument, NULL, 's' },
		{ "trust-clock", no_argument, NULL, 't' },
		{ "options", no_argument, NULL, 'l' },
		{ "version", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	for (int option; (option = getopt_long(argc, argv, "h", known, NULL)) != -1;) {
		switch (option) {
		case 'c':
			o->server.config_path = optarg;
			break;
		case 'f':
			o->foreground = true;
			break;
		case 'k':
			o->check = true;
			break;
		case 'p':
			o->print = true;
			break;
		case 'e':
			o->explain = true;
			break;
		case 'd':
			o->aside = atoi(optarg);
			break;
		case 'a':
			if (cop_past_time(optarg, &o->question.at))
				break;
			(void)fprintf(stderr,
			        "coppiced: --at: '%s' given, expected unix seconds or a time like "
			        "2026-11-27T10:52:01Z\n",
			        optarg);
			return EXIT_USAGE;
		case 'r':
			if (o->resets < MOST_RESETS)
				o->reset[o->resets++] = optarg;
			break;
		case 's':
			o->server.start.salvaged = true;
			break;
		case 'o':
			o->server.start.checkpoint_only = true;
			break;
		case 't':
			o->server.start.trust_clock = true;
			break;
		case 'l':
			return cop_known_options_print(known);
		case 'v':
			(void)puts("coppiced " COP_VERSION);
			return EXIT_SUCCESS;
		case 'h':
			(void)fputs(usage_text, stdout);
			return EXIT_SUCCESS;
		default:
			(void)fputs(usage_text, stderr);
			return EXIT_USAGE;
		}
	}
	if ((o->explain || o->aside > 0) && optind + 2 == argc) {
		o->question.model = argv[optind];
		o->question.id = argv[optind + 1];
		return -1;
	}
	if (o->explain) {
		(void)fprintf(stderr, "coppiced: --explain: expected MODEL and ID\n%s", usage_text);
		return EXIT_USAGE;
	}
	if (optind == argc)
		return -1;
	(void)fprintf(stderr, "coppiced: unexpected argument '%s'; a configuration is given as --config FILE\n%s",
	        argv[optind], usage_text);
	return EXIT_USAGE;
}

static void print_report(const cop_config_report *report)
{
	for (size_t i = 0; i < report->count; i++) {
		char text[sizeof report->items->source + sizeof report->items->message + 32];
		cop_diag_text(&report->items[i], text, sizeof text);
		(void)fprintf(stderr, "%s\n", text);
	}
	if (report->omitted > 0)
		(void)fprintf(stderr, "and %zu more\n", report->omitted);
}

static int print_config(const cop_config *config)
{
	cop_bytes text;
	cop_bytes_init(&text);
	cop_config_live_put(config, &text);
	cop_config_print(config, &text);
	bool ok = text.err == COP_OK && fwrite(text.data, 1, text.length, stdout) == text.length && fflush(stdout) == 0;
	cop_bytes_fini(&text);
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

static void describe_model(const cop_config_model *model)
{
	const cop_learner_settings *l = &model->set.learner;
	const cop_learner_class *class = cop_learner_find(l->learner);
	uint64_t bytes = cop_config_model_bytes(model);
	(void)printf("ok: model %s about %" PRIu64 " MiB, ", model->name, (bytes + (1u << 20) - 1) >> 20);
	if (class != NULL && class->fixed && l->arms > 0)
		(void)printf("trained, served as it is: %zu classes of %zu features\n", l->arms, l->features);
	else if (class != NULL && class->fixed)
		(void)printf("trained, served as it is: a value of %zu features\n", l->features);
	else
		(void)printf("refits %s%s\n",
		        model->refit.enabled ? "" : "off: ", cop_config_refit_off_text(model->refit.off));
}

static int print_checked(const cop_config *config, const char *const *reset)
{
	char text[COP_LOG_LINE];
	cop_diag diag = { 0 };
	cop_blas_threads(1);
	cop_err err = cop_trial_start(config, reset, NULL, &diag);
	if (err == COP_OK)
		err = cop_bindable_check(config, &diag);
	if (err != COP_OK) {
		cop_diag_text(&diag, text, sizeof text);
		(void)fprintf(stderr, "coppiced: %s\n", diag.message[0] != '\0' ? text : cop_err_text(err));
		return EXIT_FAILURE;
	}
	const char *exposed;
	for (size_t i = 0; (exposed = cop_config_exposed(config, i)) != NULL; i++)
		(void)fprintf(stderr,
		        "coppiced: warning: %s is not encrypted and can be reached from other machines: whoever does "
		        "is "
		        "let in\n",
		        exposed);
	char unknown[COP_CONFIG_UNKNOWN];
	for (size_t i = 0; cop_config_unknown_model(config, i, unknown); i++)
		(void)fprintf(stderr, "coppiced: warning: %s\n", unknown);
	if (config->admin.count == 0)
		(void)fprintf(stderr,
		        "coppiced: warning: nobody can administer: expected admin in section sockets, with a path of "
		        "at "
		        "most %d bytes\n",
		        COP_CONFIG_IPC_PATH);
	for (size_t i = 0; i < config->model_count; i++)
		describe_model(&config->models[i]);
	return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int failed(cop_log *log, const cop_diag *diag)
{
	char text[COP_LOG_LINE];
	cop_diag_text(diag, text, sizeof text);
	cop_log_line(log, COP_LOG_EVENT(failed), "reason=\"%s\"", text);
	(void)fprintf(stderr, "coppiced: %s\n", text);
	return EXIT_FAILURE;
}

static bool resets_known(const options *o, const cop_config *config)
{
	for (size_t i = 0; i < o->resets; i++) {
		if (cop_config_find(config, o->reset[i], strlen(o->reset[i])) != NULL)
			continue;
		(void)fprintf(
		        stderr, "coppiced: --reset-model %s: expected a model of the configuration\n", o->reset[i]);
		return false;
	}
	return true;
}

/* As it was started, for what an instance that follows begins anew with. */
static int begin_again(char **argv)
{
	(void)execv("/proc/self/exe", argv);
	(void)fprintf(stderr, "coppiced: cannot begin anew: %s\n", strerror(errno));
	return EXIT_FAILURE;
}

static int serve(const options *o, cop_config *config, bool *again)
{
	cop_log *log;
	cop_server server;
	cop_diag diag = { 0 };
	cop_log_settings settings = {
		.facility = config->log_facility,
		.level = config->log_level,
		.foreground = o->foreground || isatty(STDERR_FILENO) != 0,
		.ident = "coppiced",
	};
	if (cop_log_open(&settings, &log) != COP_OK) {
		(void)fputs("coppiced: the log cannot be opened\n", stderr);
		cop_config_free(config);
		return EXIT_FAILURE;
	}
	cop_blas_threads(1);
	int status = EXIT_SUCCESS;
	cop_err err = cop_server_open(&server, &o->server, &config, log, &diag);
	if (err == COP_OK)
		err = cop_server_run(&server, &diag);
	if (err != COP_OK)
		status = failed(log, &diag);
	else if (server.lead.ended)
		status = EXIT_LED;
	cop_server_close(&server);
	*again = err == COP_OK && server.again;
	cop_log_line(log, *again ? COP_LOG_EVENT(again) : COP_LOG_EVENT(stopped), "status=%d", status);
	(void)cop_log_close(log, LOG_DEADLINE_MS);
	return status;
}

int main(int argc, char **argv)
{
	options o = { .question.at = (double)INFINITY };
	o.server.start.reset = o.reset;
	int status = read_options(argc, argv, &o);
	if (status >= 0)
		return status;
	cop_config *config;
	cop_config_report report;
	cop_config_report_init(&report);
	const cop_config_origin origin = { .reset = o.reset };
	cop_err err = cop_config_load(o.server.config_path, &origin, &config, &report);
	if (err != COP_OK) {
		print_report(&report);
		if (report.count == 0)
			(void)fprintf(stderr, "coppiced: configuration: %s\n", cop_err_text(err));
		cop_config_report_fini(&report);
		return EXIT_FAILURE;
	}
	cop_config_report_fini(&report);
	bool known = resets_known(&o, config);
	if (o.check || o.print || o.explain || o.aside > 0 || !known) {
		status = !known        ? EXIT_USAGE
		         : o.explain   ? cop_past_answer_explain(config, &o.question)
		         : o.aside > 0 ? cop_past_answer_aside(config, o.aside, o.question.id, o.question.model)
		         : o.print     ? print_config(config)
		                       : print_checked(config, o.reset);
		cop_config_free(config);
		return status;
	}
	bool again = false;
	status = serve(&o, config, &again);
	return again ? begin_again(argv) : status;
}
