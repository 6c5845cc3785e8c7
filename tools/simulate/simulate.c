/* coppice simulate: labelled data streamed as a bandit problem. */
#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "simulation.h"
#include "tools/common/command.h"
#include "tools/common/learner_options.h"
#include "tools/common/option_list.h"
#include "tools/common/refit_options.h"

#define NAME       "simulate"
#define MOST_FILES 32
#define JOINED     80

static const char usage_text[] = "usage: coppice simulate --data FILE [--data FILE ...] [OPTION ...]\n\n"
                                 "Streams labelled rows (csv or libsvm, .gz and .zst too; last column is the class\n"
                                 "or the target) as contexts, pays 0/1 loss for arms or squared loss for values,\n"
                                 "and reports the mean loss while learning. With --learner rank the classes are\n"
                                 "candidates that have features of their own.\n\n"
                                 "  --data FILE          rows; may be repeated, all are shuffled together\n"
                                 "  --holdout FILE       rows to evaluate the greedy policy on at the end\n"
                                 "  --seed S             seed of the shuffle, the model and its exploration\n"
                                 "                       (default 1)\n"
                                 "  --events N           stop after N events (default: all rows, times passes)\n"
                                 "  --passes P           passes over the rows, shuffled anew in each (default 1)\n"
                                 "  --in-order           do not shuffle: the rows in the order of the files, one\n"
                                 "                       file after the other\n";

static const char usage_rest[] = "  --items FILE         rank: csv with the features of each class, class 0 first;\n"
                                 "                       without it class k has a 1 in place k and 0 elsewhere, so\n"
                                 "                       that rank knows no more than learners of arms do\n"
                                 "  --bits B             sparse data: names are hashed to 2^B columns, 1 to 24\n"
                                 "                       (default: enough for the data, at least 14)\n"
                                 "  --feedback HOW       value: bins, one or two (default bins; two beside an\n"
                                 "                       option that bins lacks: --delta..., --refit-every)\n"
                                 "  --delta D            value: distance of a probe from the model's value, as a\n"
                                 "                       share of the target's range, up to 0.5 (default 0.1)\n"
                                 "  --delta-decay D      value: the distance shrinks to delta / (1 + D t)^(1/4)\n"
                                 "                       after t losses (default 0)\n"
                                 "  --delta-floor F      value: the distance stays at F or above (default 0)\n"
                                 "  --loss squared|huber value: how a miss costs (default squared)\n"
                                 "  --huber-width W      loss huber: the miss at which it turns linear, as a\n"
                                 "                       share of the target's range (default 0.2)\n"
                                 "  --delay N            feedback arrives about N events late, out of order\n"
                                 "                       (default 0)\n"
                                 "  --missing P          share of feedback that never comes, 0 to 1 (default 0)\n"
                                 "  --curve              print a table of the loss over the events\n"
                                 "  --points N           rows of that table (default 20)\n"
                                 "  --live ENDPOINT      decide and learn in the daemon whose request socket this\n"
                                 "                       is; its configuration then sets how it learns and\n"
                                 "                       explores\n"
                                 "  --model NAME         with --live: the daemon's model\n"
                                 "  --contexts EP --actions EP --feedback-to EP\n"
                                 "                       with --live: go through the daemon's streams instead of\n"
                                 "                       requests\n"
                                 "  --first-id N         with --live: ids count from N (default 0)\n"
                                 "  --value-range L,H    with --live and --learner value: the value_range that the\n"
                                 "                       model must have\n"
                                 "  --json               one JSON object on standard output\n\n"
                                 "Refits beside the learner, in this process:\n";

static const char usage_end[] = "\nAn interrupt (Ctrl-C) ends the run early and prints what there is.\n";

enum {
	DATA = 256,
	HOLDOUT,
	SEED,
	EVENTS,
	PASSES,
	IN_ORDER,
	ITEMS,
	BITS,
	FEEDBACK,
	DELTA_DECAY,
	DELTA_FLOOR,
	DELTA,
	LOSS,
	HUBER_WIDTH,
	DELAY,
	MISSING,
	CURVE,
	POINTS,
	LIVE,
	MODEL,
	CONTEXTS,
	ACTIONS,
	FEEDBACK_TO,
	FIRST_ID,
	VALUE_RANGE,
	JSON,
	HELP,
};

typedef struct options {
	const char *data[MOST_FILES];
	size_t files;
	const char *holdout;
	const char *items_path;
	cop_sim_items items;         /* of learner rank, else empty */
	cop_learner_options learner; /* while options are read; then model.learner */
	cop_refit_options refits;
	cop_model_settings model;
	cop_sim_settings sim;
	cop_sim_endpoints live;
	bool given[HELP - DATA];
	bool json;
	uint64_t points;
} options;

static const struct option own_options[] = {
	{ "data", required_argument, NULL, DATA },
	{ "holdout", required_argument, NULL, HOLDOUT },
	{ "seed", required_argument, NULL, SEED },
	{ "events", required_argument, NULL, EVENTS },
	{ "passes", required_argument, NULL, PASSES },
	{ "in-order", no_argument, NULL, IN_ORDER },
	{ "items", required_argument, NULL, ITEMS },
	{ "bits", required_argument, NULL, BITS },
	{ "feedback", required_argument, NULL, FEEDBACK },
	{ "delta", required_argument, NULL, DELTA },
	{ "delta-decay", required_argument, NULL, DELTA_DECAY },
	{ "delta-floor", required_argument, NULL, DELTA_FLOOR },
	{ "loss", required_argument, NULL, LOSS },
	{ "huber-width", required_argument, NULL, HUBER_WIDTH },
	{ "delay", required_argument, NULL, DELAY },
	{ "missing", required_argument, NULL, MISSING },
	{ "curve", no_argument, NULL, CURVE },
	{ "points", required_argument, NULL, POINTS },
	{ "live", required_argument, NULL, LIVE },
	{ "model", required_argument, NULL, MODEL },
	{ "contexts", required_argument, NULL, CONTEXTS },
	{ "actions", required_argument, NULL, ACTIONS },
	{ "feedback-to", required_argument, NULL, FEEDBACK_TO },
	{ "first-id", required_argument, NULL, FIRST_ID },
	{ "value-range", required_argument, NULL, VALUE_RANGE },
	{ "json", no_argument, NULL, JSON },
	{ "help", no_argument, NULL, HELP },
	{ NULL, 0, NULL, 0 },
};

static bool word(const char *option, const char *text, const char *const *words, size_t *out)
{
	return cop_command_word(NAME, option, text, words, out);
}

static bool read_shape_option(options *o, int option, const char *text)
{
	cop_learner_settings *l = &o->learner.settings;
	size_t place = 0;
	uint64_t whole = 0;
	bool ok;
	switch (option) {
	case BITS:
		ok = cop_command_whole(NAME, "--bits", text, 1, COP_LEARNER_MAX_BITS, &whole);
		l->bits = (unsigned)whole;
		return ok;
	case FEEDBACK:
		ok = word("--feedback", text, cop_value_feedback_words, &place);
		l->feedback = (cop_value_feedback)place;
		return ok;
	case DELTA_DECAY:
		return cop_command_number(
		        NAME, "--delta-decay", text, 0.0, COP_LEARNER_MAX_EPSILON_DECAY, &l->delta_decay);
	case DELTA_FLOOR:
		return cop_command_number(NAME, "--delta-floor", text, 0.0, 0.5, &l->delta_floor);
	default:
		return cop_command_number(NAME, "--delta", text, 1e-6, 0.5, &l->delta);
	}
}

static bool read_range(const char *text, double *low, double *high)
{
	char *end;
	*low = strtod(text, &end);
	if (end != text && *end == ',') {
		const char *second = end + 1;
		*high = strtod(second, &end);
		if (end != second && *end == '\0' && isfinite(*low) && isfinite(*high) && *low < *high)
			return true;
	}
	cop_command_complain(NAME, "--value-range: '%s' given, expected LOW,HIGH with LOW < HIGH", text);
	return false;
}

static bool read_live_option(options *o, int option, const char *text)
{
	switch (option) {
	case LIVE:
		o->live.requests = text;
		return true;
	case MODEL:
		o->live.model = text;
		return true;
	case CONTEXTS:
		o->live.contexts = text;
		return true;
	case ACTIONS:
		o->live.actions = text;
		return true;
	case FEEDBACK_TO:
		o->live.feedback = text;
		return true;
	case FIRST_ID:
		return cop_command_whole(NAME, "--first-id", text, 0, UINT64_MAX / 2, &o->live.first_id);
	default:
		return read_range(text, &o->live.value_low, &o->live.value_high);
	}
}

static bool read_run_option(options *o, int option, const char *text)
{
	static const char *const losses[] = { "squared", "huber", NULL };
	size_t place = 0;
	bool ok = true;
	switch (option) {
	case DATA:
		if (o->files == MOST_FILES) {
			cop_command_complain(NAME, "--data: more than %d files", MOST_FILES);
			return false;
		}
		o->data[o->files++] = text;
		return true;
	case HOLDOUT:
		o->holdout = text;
		return true;
	case ITEMS:
		o->items_path = text;
		return true;
	case SEED:
		ok = cop_command_whole(NAME, "--seed", text, 0, UINT64_MAX, &o->sim.seed);
		o->learner.settings.seed = o->sim.seed;
		return ok;
	case EVENTS:
		return cop_command_whole(NAME, "--events", text, 1, UINT64_MAX / 2, &o->sim.events);
	case PASSES:
		return cop_command_whole(NAME, "--passes", text, 1, 1000000, &o->sim.passes);
	case IN_ORDER:
		o->sim.in_order = true;
		return true;
	case LOSS:
		ok = word("--loss", text, losses, &place);
		o->sim.huber = place == 1;
		return ok;
	case HUBER_WIDTH:
		return cop_command_number(NAME, "--huber-width", text, 1e-6, 1e6, &o->sim.huber_width);
	case DELAY:
		return cop_command_whole(NAME, "--delay", text, 0, 1000000000, &o->sim.delay);
	case MISSING:
		return cop_command_number(NAME, "--missing", text, 0.0, 1.0, &o->sim.missing);
	case CURVE:
		o->sim.curve = o->points;
		return true;
	case POINTS:
		ok = cop_command_whole(NAME, "--points", text, 1, 100000, &o->points);
		o->sim.curve = o->points;
		return ok;
	default:
		o->json = true;
		return true;
	}
}

/* ---- what goes with what ---- */

static bool is_given(const options *o, int option) { return o->given[option - DATA]; }
static bool is_live(const options *o) { return o->live.requests != NULL; }
static bool is_value(const options *o) { return cop_learner_plays_values(&o->learner.settings); }
static bool is_rank(const options *o) { return cop_learner_plays_candidates(&o->learner.settings); }
static bool is_huber(const options *o) { return is_value(o) && o->sim.huber; }
/* With --live the daemon's model has the say. */
static bool has_probes(const options *o) { return is_live(o) || o->learner.settings.feedback != COP_VALUE_BINS; }
static bool is_local_value(const options *o) { return !is_live(o) && is_value(o); }
static bool is_live_value(const options *o) { return is_live(o) && is_value(o); }

/* What only probes have asks for them. */
static void choose_feedback(options *o)
{
	bool probes = is_given(o, DELTA) || is_given(o, DELTA_DECAY) || is_given(o, DELTA_FLOOR);
	if (!is_given(o, FEEDBACK) && (probes || o->refits.settings.every > 0))
		o->learner.settings.feedback = COP_VALUE_TWO;
}

static const struct {
	int option;
	bool (*applies)(const options *o);
	const char *otherwise;
} companions[] = {
	{ ITEMS, is_rank, "--items goes with --learner rank" },
	{ FEEDBACK, is_value, "--feedback goes with --learner value" },
	{ DELTA, is_value, "--delta goes with --learner value" },
	{ DELTA, has_probes, "--delta goes with --feedback one or two" },
	{ DELTA_DECAY, is_local_value, "--delta-decay goes with --learner value, not with --live" },
	{ DELTA_DECAY, has_probes, "--delta-decay goes with --feedback one or two" },
	{ DELTA_FLOOR, has_probes, "--delta-floor goes with --feedback one or two" },
	{ DELTA_FLOOR, is_local_value, "--delta-floor goes with --learner value, not with --live" },
	{ LOSS, is_value, "--loss goes with --learner value" },
	{ HUBER_WIDTH, is_huber, "--huber-width goes with --learner value --loss huber" },
	{ MODEL, is_live, "--model goes with --live" },
	{ CONTEXTS, is_live, "--contexts goes with --live" },
	{ ACTIONS, is_live, "--actions goes with --live" },
	{ FEEDBACK_TO, is_live, "--feedback-to goes with --live" },
	{ FIRST_ID, is_live, "--first-id goes with --live" },
	{ VALUE_RANGE, is_live_value, "--value-range goes with --live and --learner value" },
};

static bool check_together(const options *o)
{
	char text[COP_LEARNER_WRONG_ROOM];
	const char *wrong = cop_learner_options_wrong(&o->learner, is_live(o), text);
	if (wrong == NULL)
		wrong = cop_refit_options_wrong(&o->refits, o->learner.settings.learner);
	if (wrong == NULL && is_live(o) && o->refits.settings.every > 0)
		wrong = "--refit-every does not go with --live: the daemon's configuration sets when it refits";
	for (size_t i = 0; i < sizeof companions / sizeof *companions && wrong == NULL; i++)
		if (is_given(o, companions[i].option) && !companions[i].applies(o))
			wrong = companions[i].otherwise;
	bool streams = o->live.contexts != NULL || o->live.actions != NULL || o->live.feedback != NULL;
	if (o->files == 0)
		wrong = "expected --data FILE";
	else if (wrong == NULL && is_live(o) && o->live.model == NULL)
		wrong = "--live needs --model NAME";
	else if (wrong == NULL && streams &&
	         (o->live.contexts == NULL || o->live.actions == NULL || o->live.feedback == NULL))
		wrong = "--contexts, --actions and --feedback-to are needed together";
	if (wrong != NULL)
		cop_command_complain(NAME, "%s (coppice simulate --help)", wrong);
	return wrong == NULL;
}

/* -1: go on; else the exit status. */
static int read_options(int argc, char **argv, options *o)
{
	struct option joined[JOINED];
	memcpy(joined, own_options, sizeof own_options);
	cop_learner_options_join(joined, JOINED);
	cop_refit_options_join(joined, JOINED);
	optind = 1;
	for (;;) {
		int option = cop_option_list_getopt(argc, argv, "h", joined);
		if (option == -1)
			break;
		if (option == HELP || option == 'h') {
			(void)fputs(usage_text, stdout);
			cop_learner_options_usage(o->learner.learners);
			(void)fputs(usage_rest, stdout);
			cop_refit_options_usage();
			(void)fputs(usage_end, stdout);
			return 0;
		}
		bool ok;
		if (option == '?')
			return COP_EXIT_USAGE;
		if (option < HELP)
			o->given[option - DATA] = true;
		if (cop_learner_options_has(option))
			ok = cop_learner_options_read(&o->learner, option, optarg);
		else if (cop_refit_options_has(option))
			ok = cop_refit_options_read(&o->refits, option, optarg);
		else if (option >= BITS && option <= DELTA)
			ok = read_shape_option(o, option, optarg);
		else if (option >= LIVE && option <= VALUE_RANGE)
			ok = read_live_option(o, option, optarg);
		else
			ok = read_run_option(o, option, optarg);
		if (!ok)
			return COP_EXIT_USAGE;
	}
	if (optind < argc) {
		cop_command_complain(NAME, "unexpected argument '%s'", argv[optind]);
		return COP_EXIT_USAGE;
	}
	choose_feedback(o);
	if (!check_together(o))
		return COP_EXIT_USAGE;
	o->model.learner = o->learner.settings;
	return -1;
}

static cop_err fit_items(options *o, const cop_dataset *data, cop_diag *diag)
{
	size_t classes;
	cop_err err = cop_dataset_classes(data, &classes, diag);
	if (err != COP_OK)
		return err;
	return cop_sim_fit_items(&o->model.learner, data, classes, o->items_path, &o->items, diag);
}

static cop_err fit_target(options *o, const cop_dataset *data, cop_diag *diag)
{
	cop_sim_settings *sim = &o->sim;
	sim->values = is_value(o);
	sim->two_point = cop_learner_losses(&o->model.learner) == 2;
	sim->target_low = 0.0;
	sim->target_high = 1.0;
	if (is_rank(o))
		return fit_items(o, data, diag);
	if (!sim->values)
		return cop_dataset_classes(data, &o->model.learner.arms, diag);
	cop_dataset_target_range(data, &sim->target_low, &sim->target_high);
	if (sim->target_low < sim->target_high)
		return COP_OK;
	cop_diag_of(diag, o->data[0], "the target never varies, expected at least two values");
	return COP_EINVAL;
}

/* What the daemon's model must be for these rows; what the options leave open is as the daemon has it. */
static cop_err fit_daemon(options *o, cop_diag *diag)
{
	const cop_learner_settings *l = &o->model.learner;
	cop_sim_shape shape = {
		.values = o->sim.values,
		.features = l->features,
		.arms = l->arms,
		.candidates = o->items.count,
		.candidate_features = o->items.features,
		.bits = l->bits,
		.bits_given = is_given(o, BITS),
		.feedback_given = is_given(o, FEEDBACK),
		.feedback = l->feedback,
		.delta = is_given(o, DELTA) ? l->delta : 0.0,
		.range_given = is_given(o, VALUE_RANGE),
		.low = o->live.value_low,
		.high = o->live.value_high,
	};
	cop_err err = cop_sim_live_fit(&o->live, &shape, diag);
	o->sim.two_point = shape.feedback == COP_VALUE_TWO;
	o->live.value_low = shape.low;
	o->live.value_high = shape.high;
	return err;
}

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
	(void)number;
	interrupted = 1;
}

/* The first one ends the run, the second one the program. */
static void catch_interrupt(void)
{
	struct sigaction action = { .sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND };
	(void)sigaction(SIGINT, &action, NULL);
	(void)sigaction(SIGTERM, &action, NULL);
}

static cop_err run(options *o, cop_sim_result *result, cop_diag *diag)
{
	cop_dataset *data = NULL;
	cop_dataset *holdout = NULL;
	cop_sim_backend backend;
	cop_sim_files files = { .data = o->data, .count = o->files, .holdout = o->holdout, .values = is_value(o) };
	cop_err err = cop_sim_read(&files, &data, &holdout, diag);
	if (err == COP_OK)
		err = cop_sim_fit_dimension(&o->model.learner, is_given(o, BITS), o->data[0], data, holdout, diag);
	if (err == COP_OK)
		err = fit_target(o, data, diag);
	if (err == COP_OK)
		cop_sim_print_rows(&o->sim, data, is_rank(o) ? o->items.count : o->model.learner.arms);
	if (err == COP_OK && is_live(o))
		err = fit_daemon(o, diag);
	if (err == COP_OK && o->sim.missing > 0.0) /* what never gets feedback makes room */
		o->model.pending_max = 1000 + 4 * (size_t)o->sim.delay;
	o->live.items = &o->items;
	o->live.probes = o->sim.values ? (o->sim.two_point ? 2 : 1) : 0;
	if (err == COP_OK)
		err = is_live(o) ? cop_sim_live(&o->live, &backend, diag)
		                 : cop_sim_local(&o->model, &o->items, &o->refits.settings, &backend, diag);
	if (err == COP_OK) {
		o->sim.data = data;
		o->sim.holdout = holdout;
		catch_interrupt();
		err = cop_sim_run(&o->sim, &backend, result, diag);
		backend.close(backend.state);
	}
	cop_dataset_free(data);
	cop_dataset_free(holdout);
	cop_sim_items_fini(&o->items);
	return err;
}

int cop_command_simulate(int argc, char **argv)
{
	options o = {
		.points = 20,
		.sim = { .seed = 1, .passes = 1, .huber_width = 0.2 },
		.live = { .value_high = 1.0, .timeout = 5.0 },
	};
	static const char *const learners[] = { "ensemble", "dgt", "value", "rank", NULL };
	cop_model_settings_init(&o.model);
	cop_learner_options_init(&o.learner, NAME, learners);
	cop_refit_options_init(&o.refits, NAME);
	int status = read_options(argc, argv, &o);
	if (status >= 0)
		return status;
	o.sim.progress = isatty(STDERR_FILENO) ? stderr : NULL;
	o.sim.stop = &interrupted;
	cop_sim_result result;
	cop_diag diag = { 0 };
	cop_err err = run(&o, &result, &diag);
	if (err != COP_OK)
		return cop_command_failed(NAME, &diag);
	if (o.json)
		err = cop_sim_print_json(&o.sim, &result);
	else
		cop_sim_print_text(&o.sim, &result);
	cop_mem_free(result.curve);
	if (err != COP_OK)
		return cop_command_failed(NAME, &diag);
	if (!result.stopped)
		return fflush(stdout) == 0 ? 0 : COP_EXIT_FAILED;
	cop_command_complain(NAME, "interrupted after %llu events", (unsigned long long)result.events);
	return COP_EXIT_FAILED;
}
