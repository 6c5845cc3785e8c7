/* coppice simulate: labelled data streamed as a bandit problem. */
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "command.h"
#include "simulation.h"

#define NAME       "simulate"
#define MOST_FILES 32

static const char usage_text[] =
        "usage: coppice simulate --data FILE [--data FILE ...] [OPTION ...]\n\n"
        "Streams labelled rows (csv or libsvm, .gz and .zst too; last column is the class or the target) as contexts,\n"
        "pays 0/1 loss for arms or squared loss for values, and reports the mean loss while learning.\n\n"
        "  --data FILE          rows; may be repeated, all are shuffled together\n"
        "  --holdout FILE       rows to evaluate the greedy policy on at the end\n"
        "  --seed S             of shuffle and policy (default 1)\n"
        "  --events N           stop after N events (default: all rows, times passes)\n"
        "  --passes P           passes over the rows, shuffled anew in each (default 1)\n"
        "  --learner NAME       ensemble (default), dgt or value\n"
        "  --policy NAME        epsilon or squarecb (default: squarecb for ensemble, epsilon for dgt)\n"
        "  --epsilon E          exploration of epsilon (default 0.1; dgt 0.3)\n"
        "  --gamma G            exploration of squarecb (default 30)\n"
        "  --height H           of the trees\n"
        "  --trees M            additive trees of ensemble and value\n"
        "  --rate R             learning rate: dgt's own (default 0.001), a factor for the others (default 1)\n"
        "  --bits B             sparse data: features are hashed to 2^B (default: enough for the data, at least 14)\n"
        "  --feedback one|two   value: loss at one probe or at two (default two)\n"
        "  --delta D            value: perturbation, as a share of the target's range (default 0.1)\n"
        "  --loss squared|huber value: loss (default squared); --huber-width W (default 0.2)\n"
        "  --literal            dgt: Algorithm 1 to the letter, without the shared leaf bias\n"
        "  --delay N            feedback arrives about N events late, out of order\n"
        "  --missing P          share of feedback that never comes\n"
        "  --curve              table of loss against events (--points N, default 20)\n"
        "  --live ENDPOINT      decide and learn in the daemon whose request socket this is\n"
        "  --model NAME         with --live: the daemon's model\n"
        "  --contexts EP --actions EP --feedback-to EP\n"
        "                       with --live: go through the daemon's streams instead of requests\n"
        "  --first-id N         with --live: ids count from N (default 0)\n"
        "  --value-range L,H    with --live and --learner value: the model's value_range (default 0,1)\n"
        "  --json               one JSON object on standard output\n";

typedef struct options {
	const char *data[MOST_FILES];
	size_t files;
	const char *holdout;
	cop_model_settings model;
	cop_sim_settings sim;
	cop_sim_endpoints live;
	bool bits_given;
	bool json;
	uint64_t points;
} options;

enum {
	DATA = 256,
	HOLDOUT,
	SEED,
	EVENTS,
	PASSES,
	LEARNER,
	POLICY,
	EPSILON,
	GAMMA,
	HEIGHT,
	TREES,
	RATE,
	BITS,
	FEEDBACK,
	DELTA,
	LOSS,
	HUBER_WIDTH,
	LITERAL,
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

static const struct option long_options[] = {
	{ "data", required_argument, NULL, DATA },
	{ "holdout", required_argument, NULL, HOLDOUT },
	{ "seed", required_argument, NULL, SEED },
	{ "events", required_argument, NULL, EVENTS },
	{ "passes", required_argument, NULL, PASSES },
	{ "learner", required_argument, NULL, LEARNER },
	{ "policy", required_argument, NULL, POLICY },
	{ "epsilon", required_argument, NULL, EPSILON },
	{ "gamma", required_argument, NULL, GAMMA },
	{ "height", required_argument, NULL, HEIGHT },
	{ "trees", required_argument, NULL, TREES },
	{ "rate", required_argument, NULL, RATE },
	{ "bits", required_argument, NULL, BITS },
	{ "feedback", required_argument, NULL, FEEDBACK },
	{ "delta", required_argument, NULL, DELTA },
	{ "loss", required_argument, NULL, LOSS },
	{ "huber-width", required_argument, NULL, HUBER_WIDTH },
	{ "literal", no_argument, NULL, LITERAL },
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

static bool read_learner_option(options *o, int option, const char *text)
{
	static const char *const learners[] = { "ensemble", "dgt", "value", NULL };
	static const char *const policies[] = { "epsilon", "squarecb", NULL };
	static const char *const feedbacks[] = { "one", "two", NULL };
	cop_learner_settings *l = &o->model.learner;
	size_t place = 0;
	uint64_t whole = 0;
	bool ok;
	switch (option) {
	case LEARNER:
		ok = word("--learner", text, learners, &place);
		strcpy(l->learner, learners[place]);
		return ok;
	case POLICY:
		ok = word("--policy", text, policies, &place);
		strcpy(l->policy, policies[place]);
		return ok;
	case EPSILON:
		return cop_command_number(NAME, "--epsilon", text, 0.0, 1.0, &l->exploration.epsilon);
	case GAMMA:
		return cop_command_number(NAME, "--gamma", text, 1e-6, 1e9, &l->exploration.gamma);
	case HEIGHT:
		ok = cop_command_whole(NAME, "--height", text, 1, 12, &whole);
		l->height = (unsigned)whole;
		return ok;
	case TREES:
		ok = cop_command_whole(NAME, "--trees", text, 0, 256, &whole);
		l->trees = (size_t)whole;
		return ok;
	case RATE:
		return cop_command_number(NAME, "--rate", text, 1e-9, 100.0, &l->learning_rate);
	case BITS:
		ok = cop_command_whole(NAME, "--bits", text, 1, 24, &whole);
		l->bits = (unsigned)whole;
		o->bits_given = true;
		return ok;
	case FEEDBACK:
		ok = word("--feedback", text, feedbacks, &place);
		l->one_point = place == 0;
		return ok;
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
	case SEED:
		ok = cop_command_whole(NAME, "--seed", text, 0, UINT64_MAX, &o->sim.seed);
		o->model.learner.seed = o->sim.seed;
		return ok;
	case EVENTS:
		return cop_command_whole(NAME, "--events", text, 1, UINT64_MAX / 2, &o->sim.events);
	case PASSES:
		return cop_command_whole(NAME, "--passes", text, 1, 1000000, &o->sim.passes);
	case LOSS:
		ok = word("--loss", text, losses, &place);
		o->sim.huber = place == 1;
		return ok;
	case HUBER_WIDTH:
		return cop_command_number(NAME, "--huber-width", text, 1e-6, 1e6, &o->sim.huber_width);
	case LITERAL:
		o->model.learner.literal = true;
		return true;
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

static bool check_together(const options *o)
{
	const char *wrong = NULL;
	bool streams = o->live.contexts != NULL || o->live.actions != NULL || o->live.feedback != NULL;
	if (o->files == 0)
		wrong = "expected --data FILE";
	else if (o->live.requests == NULL && (streams || o->live.model != NULL))
		wrong = "--model, --contexts, --actions and --feedback-to go with --live";
	else if (o->live.requests != NULL && o->live.model == NULL)
		wrong = "--live needs --model NAME";
	else if (streams && (o->live.contexts == NULL || o->live.actions == NULL || o->live.feedback == NULL))
		wrong = "--contexts, --actions and --feedback-to are needed together";
	if (wrong != NULL)
		cop_command_complain(NAME, "%s (coppice simulate --help)", wrong);
	return wrong == NULL;
}

/* -1: go on; else the exit status. */
static int read_options(int argc, char **argv, options *o)
{
	optind = 1;
	for (;;) {
		int option = getopt_long(argc, argv, "h", long_options, NULL);
		if (option == -1)
			break;
		if (option == HELP || option == 'h') {
			(void)fputs(usage_text, stdout);
			return 0;
		}
		bool ok;
		if (option == '?')
			return COP_EXIT_USAGE;
		if (option >= LEARNER && option <= DELTA)
			ok = read_learner_option(o, option, optarg);
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
	return check_together(o) ? -1 : COP_EXIT_USAGE;
}

static cop_err read_data(const options *o, cop_dataset **data, cop_dataset **holdout, cop_diag *diag)
{
	cop_err err = cop_dataset_read(o->data[0], data, diag);
	for (size_t i = 1; i < o->files && err == COP_OK; i++) {
		cop_dataset *more;
		err = cop_dataset_read(o->data[i], &more, diag);
		if (err != COP_OK)
			break;
		err = cop_dataset_append(*data, more);
		if (err != COP_OK)
			cop_diag_set(
			        diag, o->data[i], 0, 0, "%s: expected rows as in %s", cop_err_text(err), o->data[0]);
		cop_dataset_free(more);
	}
	if (err != COP_OK || o->holdout == NULL)
		return err;
	err = cop_dataset_read(o->holdout, holdout, diag);
	if (err != COP_OK)
		return err;
	err = cop_dataset_align(*data, *holdout);
	if (err != COP_OK)
		cop_diag_set(diag, o->holdout, 0, 0, "%s: expected rows as in %s", cop_err_text(err), o->data[0]);
	return err;
}

/* Sparse rows are widened to the hashed dimension. */
static cop_err fit_dimension(options *o, cop_dataset *data, cop_dataset *holdout, cop_diag *diag)
{
	cop_learner_settings *l = &o->model.learner;
	if (!data->sparse) {
		l->features = data->d;
		return COP_OK;
	}
	while (!o->bits_given && l->bits < 24 && (size_t)1 << l->bits < data->d)
		l->bits++;
	if ((size_t)1 << l->bits < data->d) {
		cop_diag_set(diag, o->data[0], 0, 0, "feature index up to %zu, expected at most 2^%u (--bits)",
		        data->d - 1, l->bits);
		return COP_ESHAPE;
	}
	for (size_t i = 0; i < data->n; i++)
		if (data->start[i + 1] - data->start[i] > l->max_nonzeros)
			l->max_nonzeros = data->start[i + 1] - data->start[i];
	for (size_t i = 0; holdout != NULL && i < holdout->n; i++)
		if (holdout->start[i + 1] - holdout->start[i] > l->max_nonzeros)
			l->max_nonzeros = holdout->start[i + 1] - holdout->start[i];
	data->d = (size_t)1 << l->bits;
	if (holdout != NULL)
		holdout->d = data->d;
	return COP_OK;
}

static cop_err fit_target(options *o, const cop_dataset *data, cop_diag *diag)
{
	cop_sim_settings *sim = &o->sim;
	sim->values = strcmp(o->model.learner.learner, "value") == 0;
	sim->two_point = !o->model.learner.one_point;
	sim->target_low = 0.0;
	sim->target_high = 1.0;
	if (!sim->values)
		return cop_dataset_classes(data, &o->model.learner.arms, diag);
	cop_dataset_target_range(data, &sim->target_low, &sim->target_high);
	if (sim->target_low < sim->target_high)
		return COP_OK;
	cop_diag_set(diag, o->data[0], 0, 0, "the target never varies, expected at least two values");
	return COP_EINVAL;
}

static void print_json(const options *o, const cop_sim_result *r)
{
	cop_json_writer *json;
	const char *text;
	if (cop_json_writer_new(COP_JSON_COMPACT, &json) != COP_OK)
		return;
	cop_json_begin_object(json);
	cop_json_key(json, "events");
	cop_json_unsigned(json, r->events);
	cop_json_key(json, "progressive_loss");
	cop_json_number(json, r->progressive_loss);
	if (o->holdout != NULL) {
		cop_json_key(json, o->sim.values ? "holdout_rmse" : "holdout_accuracy");
		cop_json_number(json, r->holdout);
	}
	cop_json_key(json, "events_per_second");
	cop_json_number(json, (double)r->events / r->seconds);
	cop_json_key(json, "seconds");
	cop_json_number(json, r->seconds);
	if (r->curve_count > 0) {
		cop_json_key(json, "curve");
		cop_json_begin_array(json);
		for (size_t i = 0; i < r->curve_count; i++) {
			cop_json_begin_object(json);
			cop_json_key(json, "events");
			cop_json_unsigned(json, r->curve[i].events);
			cop_json_key(json, "progressive_loss");
			cop_json_number(json, r->curve[i].average);
			cop_json_key(json, "loss_since_last");
			cop_json_number(json, r->curve[i].since);
			if (o->holdout != NULL) {
				cop_json_key(json, o->sim.values ? "holdout_rmse" : "holdout_accuracy");
				cop_json_number(json, r->curve[i].holdout);
			}
			cop_json_end_object(json);
		}
		cop_json_end_array(json);
	}
	cop_json_end_object(json);
	if (cop_json_writer_finish(json, &text, NULL) == COP_OK)
		(void)puts(text);
	cop_json_writer_free(json);
}

static void print_text(const options *o, const cop_sim_result *r)
{
	const char *holdout = o->sim.values ? "holdout RMSE" : "holdout accuracy";
	if (r->curve_count > 0)
		(void)printf("%12s %12s %12s%s%s\n", "events", "average loss", "since last",
		        o->holdout != NULL ? "  " : "", o->holdout != NULL ? holdout : "");
	for (size_t i = 0; i < r->curve_count; i++) {
		(void)printf("%12llu %12.6f %12.6f", (unsigned long long)r->curve[i].events, r->curve[i].average,
		        r->curve[i].since);
		if (o->holdout != NULL)
			(void)printf("  %.6f", r->curve[i].holdout);
		(void)putchar('\n');
	}
	(void)printf("events            %llu\n", (unsigned long long)r->events);
	(void)printf("progressive loss  %.6f\n", r->progressive_loss);
	if (o->holdout != NULL)
		(void)printf("%-17s %.6f\n", holdout, r->holdout);
	(void)printf("events per second %.0f\n", (double)r->events / r->seconds);
}

static cop_err run(options *o, cop_sim_result *result, cop_diag *diag)
{
	cop_dataset *data = NULL;
	cop_dataset *holdout = NULL;
	cop_sim_backend backend;
	cop_err err = read_data(o, &data, &holdout, diag);
	if (err == COP_OK)
		err = fit_dimension(o, data, holdout, diag);
	if (err == COP_OK)
		err = fit_target(o, data, diag);
	if (err == COP_OK && o->sim.missing > 0.0) /* what never gets feedback makes room */
		o->model.pending_max = 1000 + 4 * (size_t)o->sim.delay;
	o->live.probes = o->sim.values ? (o->sim.two_point ? 2 : 1) : 0;
	if (err == COP_OK)
		err = o->live.requests != NULL ? cop_sim_live(&o->live, &backend, diag)
		                               : cop_sim_local(&o->model, &backend, diag);
	if (err == COP_OK) {
		o->sim.data = data;
		o->sim.holdout = holdout;
		err = cop_sim_run(&o->sim, &backend, result, diag);
		backend.close(backend.state);
	}
	cop_dataset_free(data);
	cop_dataset_free(holdout);
	return err;
}

int cop_simulate_command(int argc, char **argv)
{
	options o = {
		.points = 20,
		.sim = { .seed = 1, .passes = 1, .huber_width = 0.2 },
		.live = { .value_high = 1.0, .timeout = 5.0 },
	};
	cop_model_settings_init(&o.model);
	int status = read_options(argc, argv, &o);
	if (status >= 0)
		return status;
	o.sim.progress = isatty(STDERR_FILENO) ? stderr : NULL;
	cop_sim_result result;
	cop_diag diag = { 0 };
	if (run(&o, &result, &diag) != COP_OK)
		return cop_command_failed(NAME, &diag);
	if (o.json)
		print_json(&o, &result);
	else
		print_text(&o, &result);
	cop_mem_free(result.curve);
	return 0;
}
