#include "replay_options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "evaluate/offpolicy.h"
#include "tools/common/command.h"
#include "tools/common/option_list.h"

#define NAME      COP_REPLAY_NAME
#define JOINED    96
#define MOST_ARMS COP_LEARNER_MAX_ARMS

static const char usage_text[] = "usage: coppice replay --format vw|dsjson|csv|journal FILE [OPTION ...]\n\n"
                                 "Replays a log of bandit decisions (-: standard input; .gz and .zst too): each\n"
                                 "event is predicted, then learned, and the value of the learned policy is\n"
                                 "estimated from it, with intervals. Costs are lower for better.\n\n"
                                 "  --format NAME        how the log is written: vw, dsjson, csv or journal\n"
                                 "  --arms K             number of actions (default: the log is scanned)\n"
                                 "  --candidates N       most candidates of an event, where they have features of\n"
                                 "                       their own (default: scanned)\n"
                                 "  --loss-range L,H     least and greatest cost (default: 0,1 when all costs of\n"
                                 "                       the log lie within, else those of the log)\n"
                                 "  --loss NAME[=W],...  journal: the cost is this named loss, or the sum of W\n"
                                 "                       times loss (default: what was learned)\n"
                                 "  --max-nonzeros N     hashed: most features of an event (default: scanned, at\n"
                                 "                       least 1024)\n"
                                 "  --columns FILE       dense: a file with a column's name in each line, as\n"
                                 "                       --save writes it (default: the log is scanned)\n";

static const char usage_run[] = "  --seed S             seed of the model and its exploration (default 1)\n"
                                "  --events N           stop after N events\n"
                                "  --skip N             pass over the first N events\n"
                                "  --passes P           passes over the log (default 1); estimates are those of\n"
                                "                       the first\n"
                                "  --holdout-after N    events after the first N of each pass are evaluated, not\n"
                                "                       learned\n"
                                "  --policy-value greedy|exploring\n"
                                "                       estimate the value of the best actions (default), or of\n"
                                "                       the policy as it explores\n";

static const char usage_rest[] =

        "  --evaluate POLICY    learn nothing; estimate the value of a saved model (its\n"
        "                       file), of constant:K (always action K, from 0), logged\n"
        "                       (the policy that wrote the log) or uniform\n"
        "  --compare SPEC       several settings over the same events, ranked; SPEC is\n"
        "                       LEARNER[:OPTION=VALUE...] or a policy as of --evaluate,\n"
        "                       several divided by commas, or \"NAME: --OPTION VALUE ...\";\n"
        "                       may be repeated\n"
        "  --threads N          with --compare: number of threads that learn (default:\n"
        "                       one less than there are processors)\n"
        "  --interval METHOD    intervals of the estimates: robust (default), delta,\n"
        "                       cressie-read, bernstein, clopper-pearson or sequence\n"
        "                       (valid at all times)\n"
        "  --level L            coverage of the intervals (default 0.95)\n"
        "  --clip M             weights above M are cut by the estimate clipped and left\n"
        "                       to the model by switch (default: twice the number of\n"
        "                       actions, at least 10)\n"
        "  --progress N         progress table on standard error: a line every N events,\n"
        "                       or with a point (2.0) each N times as many as before\n"
        "                       (default 2.0 on a terminal, else none; 0: none)\n"
        "  --save FILE          write the model and the sums of the estimates there at\n"
        "                       the end (with --compare: those of the best setting)\n"
        "  --names-bytes N      hashed: bytes of features' names that --save keeps\n"
        "                       (default 1048576; 0: no names)\n"
        "  --resume FILE        go on from a file of --save\n"
        "  --dump FILE          write a csv line for each labelled event there, with what\n"
        "                       the estimates are made from\n"
        "  --live ENDPOINT      send the events to the daemon whose request socket this\n"
        "                       is, instead of to a model here; with --rate events a\n"
        "                       second\n"
        "  --model NAME         with --live: the daemon's model; format journal: the\n"
        "                       model whose events are read\n"
        "  --ask                with --live: the daemon decides each context first, and\n"
        "                       actions are compared\n"
        "  --first-id N         with --live: events without an id count from N\n"
        "                       (default 0)\n"
        "  --json               one JSON object on standard output\n\n";

static const char usage_reading[] = "How the log is read:\n" COP_READER_USAGE "\n"
                                    "An interrupt (Ctrl-C) ends the run early and prints what there is.\n";

enum {
	FORMAT = 256,
	ARMS,
	CANDIDATES,
	LOSS_RANGE,
	MAX_NONZEROS,
	SEED,
	EVENTS,
	SKIP,
	PASSES,
	HOLDOUT_AFTER,
	THREADS,
	LEVEL,
	CLIP,
	NAMES_BYTES,
	FIRST_ID,
	POLICY_VALUE,
	EVALUATE,
	COMPARE,
	INTERVAL,
	PROGRESS,
	COLUMNS,
	LOSS,
	SAVE,
	RESUME,
	DUMP,
	LIVE,
	MODEL,
	ASK,
	JSON,
	HELP,
};

static const struct option own_options[] = {
	{ "format", required_argument, NULL, FORMAT },
	{ "arms", required_argument, NULL, ARMS },
	{ "candidates", required_argument, NULL, CANDIDATES },
	{ "loss-range", required_argument, NULL, LOSS_RANGE },
	{ "loss", required_argument, NULL, LOSS },
	{ "max-nonzeros", required_argument, NULL, MAX_NONZEROS },
	{ "columns", required_argument, NULL, COLUMNS },
	{ "seed", required_argument, NULL, SEED },
	{ "events", required_argument, NULL, EVENTS },
	{ "skip", required_argument, NULL, SKIP },
	{ "passes", required_argument, NULL, PASSES },
	{ "holdout-after", required_argument, NULL, HOLDOUT_AFTER },
	{ "policy-value", required_argument, NULL, POLICY_VALUE },
	{ "evaluate", required_argument, NULL, EVALUATE },
	{ "compare", required_argument, NULL, COMPARE },
	{ "threads", required_argument, NULL, THREADS },
	{ "interval", required_argument, NULL, INTERVAL },
	{ "level", required_argument, NULL, LEVEL },
	{ "clip", required_argument, NULL, CLIP },
	{ "progress", required_argument, NULL, PROGRESS },
	{ "save", required_argument, NULL, SAVE },
	{ "resume", required_argument, NULL, RESUME },
	{ "dump", required_argument, NULL, DUMP },
	{ "live", required_argument, NULL, LIVE },
	{ "model", required_argument, NULL, MODEL },
	{ "ask", no_argument, NULL, ASK },
	{ "names-bytes", required_argument, NULL, NAMES_BYTES },
	{ "first-id", required_argument, NULL, FIRST_ID },
	{ "json", no_argument, NULL, JSON },
	{ "help", no_argument, NULL, HELP },
	{ NULL, 0, NULL, 0 },
};

/* While they are read. */
typedef struct reading {
	cop_replay_options *o;
	const char *rate; /* text: what it means is known at the end */
	const char *evaluate;
	const char *compare[COP_REPLAY_MOST_SETTINGS];
	size_t compares;
	bool given[HELP - FORMAT];
} reading;

static bool read_range(const char *text, double *low, double *high)
{
	char *end;
	*low = strtod(text, &end);
	if (end != text && *end == ',') {
		const char *second = end + 1;
		*high = strtod(second, &end);
		if (end != second && *end == '\0' && fabs(*low) <= COP_LOGGED_COST_MAX &&
		        fabs(*high) <= COP_LOGGED_COST_MAX && *low < *high)
			return true;
	}
	cop_command_complain(NAME, "--loss-range: '%s' given, expected LOW,HIGH with LOW < HIGH", text);
	return false;
}

static bool read_size(const char *option, const char *text, uint64_t low, uint64_t high, size_t *out)
{
	uint64_t whole = 0;
	bool ok = cop_command_whole(NAME, option, text, low, high, &whole);
	*out = (size_t)whole;
	return ok;
}

static bool read_number_option(cop_replay_options *o, int option, const char *text)
{
	switch (option) {
	case ARMS:
		return read_size("--arms", text, 2, MOST_ARMS, &o->arms);
	case CANDIDATES:
		return read_size("--candidates", text, 1, COP_LEARNER_MAX_CANDIDATES, &o->candidates);
	case LOSS_RANGE:
		o->has_range = true;
		return read_range(text, &o->low, &o->high);
	case MAX_NONZEROS:
		return read_size("--max-nonzeros", text, 1, COP_LEARNER_MAX_NONZEROS, &o->max_nonzeros);
	case SEED:
		return cop_command_whole(NAME, "--seed", text, 0, UINT64_MAX, &o->seed);
	case EVENTS:
		return cop_command_whole(NAME, "--events", text, 1, UINT64_MAX / 2, &o->events);
	case SKIP:
		return cop_command_whole(NAME, "--skip", text, 0, UINT64_MAX / 2, &o->skip);
	case PASSES:
		return cop_command_whole(NAME, "--passes", text, 1, 1000000, &o->passes);
	case HOLDOUT_AFTER:
		o->holds_out = true;
		return cop_command_whole(NAME, "--holdout-after", text, 1, UINT64_MAX / 2, &o->holdout_after);
	case THREADS:
		return cop_command_whole(NAME, "--threads", text, 1, COP_REPLAY_MOST_SETTINGS, &o->threads);
	case LEVEL:
		return cop_command_number(NAME, "--level", text, 0.5, 0.9999, &o->level);
	case CLIP:
		return cop_command_number(NAME, "--clip", text, 1.0, 1e6, &o->clip);
	case NAMES_BYTES:
		return cop_command_whole(NAME, "--names-bytes", text, 0, (uint64_t)1 << 32, &o->names_bytes);
	default:
		return cop_command_whole(NAME, "--first-id", text, 0, UINT64_MAX / 2, &o->first_id);
	}
}

static bool read_method(cop_replay_options *o, const char *text)
{
	const char *names[16] = { NULL };
	size_t place;
	for (size_t i = 0; i < 15 && cop_offpolicy_method_at(i) != NULL; i++)
		names[i] = cop_offpolicy_method_at(i);
	o->interval = text;
	return cop_command_word(NAME, "--interval", text, names, &place);
}

static bool read_losses(cop_replay_options *o, const char *text)
{
	const char *wrong = cop_named_losses_add_list(&o->losses, text);
	if (wrong != NULL)
		cop_command_complain(NAME, "--loss: '%s' given, %s", text, wrong);
	return wrong == NULL;
}

static bool read_progress(cop_replay_options *o, const char *text)
{
	o->has_progress = true;
	if (!cop_command_number(NAME, "--progress", text, 0.0, 1e15, &o->progress))
		return false;
	o->progress_adds = strchr(text, '.') == NULL;
	if (o->progress == 0.0 || o->progress_adds || o->progress >= 1.001)
		return true;
	cop_command_complain(NAME, "--progress: '%s' given, expected a factor above 1", text);
	return false;
}

static bool read_other_option(reading *r, int option, const char *text)
{
	static const char *const values[] = { "greedy", "exploring", NULL };
	cop_replay_options *o = r->o;
	size_t place = 0;
	bool ok;
	switch (option) {
	case POLICY_VALUE:
		ok = cop_command_word(NAME, "--policy-value", text, values, &place);
		o->exploring = place == 1;
		return ok;
	case EVALUATE:
		r->evaluate = text;
		return true;
	case COMPARE:
		if (r->compares == COP_REPLAY_MOST_SETTINGS) {
			cop_command_complain(NAME, "--compare: given too often, expected at most %d times",
			        COP_REPLAY_MOST_SETTINGS);
			return false;
		}
		r->compare[r->compares++] = text;
		return true;
	case INTERVAL:
		return read_method(o, text);
	case LOSS:
		return read_losses(o, text);
	case PROGRESS:
		return read_progress(o, text);
	case ASK:
		o->ask = true;
		return true;
	case JSON:
		o->json = true;
		return true;
	default:
		break;
	}
	const char **texts[] = { [COLUMNS] = &o->columns,
		[SAVE] = &o->save,
		[RESUME] = &o->resume,
		[DUMP] = &o->dump,
		[LIVE] = &o->live,
		[MODEL] = &o->model,
		[FORMAT] = &o->reader.format };
	*texts[option] = text;
	return true;
}

static int rate_option(void)
{
	bool takes;
	return cop_learner_options_find("rate", 4, &takes);
}

static bool read_option(reading *r, int option, char *text)
{
	if (option == rate_option()) {
		r->rate = text;
		return true;
	}
	if (cop_learner_options_has(option))
		return cop_learner_options_read(&r->o->learner, option, text);
	if (cop_reader_options_has(option))
		return cop_reader_options_read(&r->o->reader, option, text);
	r->given[option - FORMAT] = true;
	return option >= ARMS && option <= FIRST_ID ? read_number_option(r->o, option, text)
	                                            : read_other_option(r, option, text);
}

/* ---- what goes with what ---- */

static bool read_rate(reading *r)
{
	if (r->rate == NULL)
		return true;
	if (r->o->live == NULL)
		return cop_learner_options_read(&r->o->learner, rate_option(), r->rate);
	return cop_command_number(NAME, "--rate", r->rate, 1e-3, 1e9, &r->o->pace);
}

static bool is_given(const reading *r, int option) { return r->given[option - FORMAT]; }

static bool has_learner(const reading *r) { return cop_learner_options_any(&r->o->learner); }

/* A condition and what is said when it holds. */
/* Whether anything was said about where features go. */
static bool places_given(const cop_reader_options *reader)
{
	static const int options[] = { COP_READER_FEATURES, COP_READER_BITS, COP_READER_HASH, COP_READER_KEEP,
		COP_READER_IGNORE, COP_READER_PAIR };
	for (size_t i = 0; i < sizeof options / sizeof *options; i++)
		if (cop_reader_options_given(reader, options[i]))
			return true;
	return false;
}

static const char *find_fault(const reading *r, char text[COP_LEARNER_WRONG_ROOM])
{
	cop_replay_setting plain;
	bool saved = r->o->resume != NULL || (r->evaluate != NULL && !cop_replay_plain_policy(r->evaluate, &plain));
	const cop_replay_options *o = r->o;
	bool input = strcmp(o->path, "-") == 0;
	bool journal = strcmp(o->reader.format, "journal") == 0;
	const struct {
		bool wrong;
		const char *what;
	} faults[] = {
		{ o->model != NULL && o->live == NULL && !journal,
		        "--model goes with --live, or with --format journal" },
		{ o->losses.count > 0 && !journal, "--loss goes with --format journal" },
		{ o->live != NULL && o->model == NULL, "--live needs --model NAME" },
		{ o->ask && o->live == NULL, "--ask goes with --live" },
		{ is_given(r, FIRST_ID) && o->live == NULL, "--first-id goes with --live" },
		{ o->live != NULL && (has_learner(r) || is_given(r, SEED)),
		        "with --live the daemon's configuration sets how it learns" },
		{ o->live != NULL && (o->save != NULL || o->resume != NULL || o->dump != NULL || r->evaluate != NULL ||
		                             r->compares > 0 || o->holds_out || o->passes > 1),
		        "--live goes without --save, --resume, --dump, --evaluate, --compare, --passes and "
		        "--holdout-after" },
		{ r->evaluate != NULL && r->compares > 0,
		        "--evaluate goes without --compare, which takes policies too" },
		{ r->evaluate != NULL && (has_learner(r) || is_given(r, SEED)),
		        "--evaluate learns nothing, and takes no options of a learner" },
		{ r->evaluate != NULL && (o->save != NULL || o->passes > 1 || o->holds_out),
		        "--evaluate learns nothing, and goes without --save, --passes and --holdout-after" },
		{ o->resume != NULL && (r->evaluate != NULL || r->compares > 0),
		        "--resume goes without --evaluate and --compare" },
		{ o->resume != NULL && (has_learner(r) || is_given(r, SEED) || o->arms != 0 || o->has_range ||
		                               o->candidates != 0 || o->max_nonzeros != 0 || is_given(r, POLICY_VALUE)),
		        "--resume goes on as it was saved, and takes no options of the learner, arms or costs" },
		{ saved && places_given(&o->reader),
		        "a saved model brings the places of its features: without --features, --bits, --hash, --keep, "
		        "--ignore and -q" },
		{ r->compares == 0 && is_given(r, THREADS), "--threads goes with --compare" },
		{ input && o->passes > 1, "--passes needs a file that can be read again, not standard input" },
		{ o->columns != NULL && (journal || o->resume != NULL || r->evaluate != NULL ||
		                                o->reader.features == COP_READER_FEATURES_HASHED ||
		                                o->reader.bits != 0 || o->reader.hash_all || o->reader.pair_count > 0),
		        "--columns goes with dense features, and without --resume, --evaluate and --format journal" },
		{ o->reader.bits > COP_LEARNER_MAX_BITS, "--bits: expected 1 to 24" },
	};
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
		if (faults[i].wrong)
			return faults[i].what;
	return o->live != NULL ? NULL : cop_learner_options_wrong(&o->learner, false, text);
}

/* The one setting without --compare. */
static void add_setting(reading *r)
{
	cop_replay_options *o = r->o;
	cop_replay_setting *setting = &o->setting[0];
	o->settings = 1;
	*setting = (cop_replay_setting){ .kind = COP_REPLAY_LEARNS };
	setting->learner = o->learner.settings;
	setting->learner_given = cop_learner_options_given(&o->learner, "learner");
	if (r->evaluate != NULL && !cop_replay_plain_policy(r->evaluate, setting)) {
		setting->kind = COP_REPLAY_FROZEN;
		o->frozen = r->evaluate;
	}
}

static bool check(reading *r)
{
	cop_replay_options *o = r->o;
	if (o->path == NULL || o->reader.format == NULL) {
		cop_command_complain(NAME, "expected %s (coppice replay --help)",
		        o->path == NULL ? "one FILE, or - for standard input" : "--format vw|dsjson|csv|journal");
		return false;
	}
	if (!cop_reader_options_check(&o->reader) || !read_rate(r))
		return false;
	char text[COP_LEARNER_WRONG_ROOM];
	const char *wrong = find_fault(r, text);
	if (wrong != NULL) {
		cop_command_complain(NAME, "%s (coppice replay --help)", wrong);
		return false;
	}
	o->learner.settings.seed = o->seed;
	o->compares = r->compares > 0;
	if (!o->compares)
		add_setting(r);
	if (o->frozen != NULL && access(o->frozen, F_OK) != 0 && errno == ENOENT) {
		cop_command_complain(NAME,
		        "--evaluate: '%s' is no file; expected the file of a saved model, constant:K with K from 0, "
		        "logged or uniform",
		        o->frozen);
		return false;
	}
	for (size_t i = 0; i < r->compares; i++)
		if (!cop_replay_specs_read(r->compare[i], &o->learner, o))
			return false;
	return true;
}

int cop_replay_options_read(int argc, char **argv, cop_replay_options *out)
{
	static const char *const learners[] = { "ensemble", "dgt", "rank", "value", NULL };
	struct option joined[JOINED];
	reading r = { .o = out };
	*out = (cop_replay_options){
		.passes = 1, .seed = 1, .level = 0.95, .progress = 2.0, .names_bytes = COP_PLACE_NAMES_BYTES
	};
	cop_reader_options_init(&out->reader, NAME);
	cop_learner_options_init(&out->learner, NAME, learners);
	cop_reader_options_join(own_options, joined, JOINED);
	cop_learner_options_join(joined, JOINED);
	optind = 1;
	for (int option; (option = cop_option_list_getopt(argc, argv, "h" COP_READER_SHORT_OPTIONS, joined)) != -1;) {
		if (option == HELP || option == 'h') {
			(void)fputs(usage_text, stdout);
			cop_learner_options_usage(learners);
			(void)fputs(usage_run, stdout);
			(void)fputs(usage_rest, stdout);
			(void)fputs(usage_reading, stdout);
			return 0;
		}
		if (option == '?' || !read_option(&r, option, optarg))
			return COP_EXIT_USAGE;
	}
	out->path = optind < argc ? argv[optind] : NULL;
	if (optind + 1 < argc) {
		cop_command_complain(NAME, "unexpected argument '%s'", argv[optind + 1]);
		return COP_EXIT_USAGE;
	}
	return check(&r) ? -1 : COP_EXIT_USAGE;
}
