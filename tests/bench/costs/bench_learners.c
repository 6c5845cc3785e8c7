/* Events are made once, before anything is measured; their losses follow a linear rule, so that learners do learn. The
 * generator alone decides: two runs do the same work. */
#include "bench_learners.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "learn/learner.h"
#include "tools/common/options.h"
#include "tools/common/command.h"

#define NAME       "events"
#define ROWS       256
#define CANDIDATES 8
#define SECONDS    0.1 /* of a sample */
#define TRIES      5
#define WARM       64 /* events */

typedef struct stream {
	cop_learner *learner;
	size_t entries;         /* of a row */
	float *value;           /* ROWS x entries */
	uint32_t *index;        /* the same, of sparse rows */
	cop_row *row;           /* ROWS */
	cop_row *candidate;     /* ROWS x CANDIDATES, of rankers */
	float *candidate_value; /* with candidate_features each */
	uint64_t events;
} stream;

static void stream_free(stream *s)
{
	cop_learner_free(s->learner);
	cop_mem_free(s->value);
	cop_mem_free(s->index);
	cop_mem_free(s->row);
	cop_mem_free(s->candidate);
	cop_mem_free(s->candidate_value);
}

static void make_rows(stream *s, cop_rng *rng)
{
	size_t d = cop_learner_dimension(&s->learner->settings);
	bool sparse = s->learner->settings.features == 0;
	size_t part = d / s->entries;
	for (size_t i = 0; i < ROWS * s->entries; i++) {
		s->value[i] = (float)cop_rng_normal(rng);
		if (sparse)
			s->index[i] = (uint32_t)(i % s->entries * part + cop_rng_below(rng, part));
	}
	for (size_t i = 0; i < ROWS; i++) {
		const float *value = s->value + i * s->entries;
		const uint32_t *index = s->index + i * s->entries;
		s->row[i] = sparse ? (cop_row){ .d = d, .nnz = s->entries, .index = index, .value = value }
		                   : (cop_row){ .d = d, .dense = value };
	}
}

static void make_candidates(stream *s, cop_rng *rng)
{
	size_t d = s->learner->settings.candidate_features;
	for (size_t i = 0; i < (size_t)ROWS * CANDIDATES; i++) {
		for (size_t j = 0; j < d; j++)
			s->candidate_value[i * d + j] = (float)cop_rng_normal(rng);
		s->candidate[i] = (cop_row){ .d = d, .dense = s->candidate_value + i * d };
	}
}

/* present: entries of a row when the settings are sparse. On error the stream is to be freed all the same. */
static cop_err stream_init(stream *s, const cop_learner_settings *settings, size_t present, cop_diag *diag)
{
	*s = (stream){ 0 };
	cop_rng rng;
	cop_rng_init(&rng, 1, 0);
	cop_err err = cop_learner_new(settings, &s->learner, diag);
	if (err != COP_OK)
		return err;
	bool ranks = s->learner->class->candidates;
	s->entries = settings->features != 0 ? settings->features : present;
	s->value = cop_mem_alloc(ROWS * s->entries, sizeof *s->value);
	s->index = cop_mem_alloc(settings->features != 0 ? 0 : ROWS * s->entries, sizeof *s->index);
	s->row = cop_mem_alloc(ROWS, sizeof *s->row);
	s->candidate = cop_mem_alloc(ranks ? (size_t)ROWS * CANDIDATES : 0, sizeof *s->candidate);
	s->candidate_value =
	        cop_mem_alloc(ranks ? ROWS * CANDIDATES * settings->candidate_features : 0, sizeof *s->candidate_value);
	if (s->value == NULL || s->index == NULL || s->row == NULL || s->candidate == NULL ||
	        s->candidate_value == NULL)
		return COP_ENOMEM;
	make_rows(s, &rng);
	if (ranks)
		make_candidates(s, &rng);
	return COP_OK;
}

static float first_of(const cop_row *row) { return row->dense != NULL ? row->dense[0] : row->value[0]; }

static cop_err one_ranking(stream *s, const cop_row *row, size_t at)
{
	const cop_candidates candidates = { .count = CANDIDATES, .row = s->candidate + at * CANDIDATES };
	cop_decision decision;
	cop_err err = cop_learner_decide(s->learner, row, &candidates, &decision);
	if (err != COP_OK)
		return err;
	const cop_row *played = &candidates.row[decision.arm];
	double loss = first_of(row) * first_of(played) > 0.0F ? 0.0 : 1.0;
	return cop_learner_learn(s->learner, row, &candidates, &decision, &loss, true);
}

/* Decided, answered and learned. */
static cop_err one_event(stream *s)
{
	size_t at = s->events++ % ROWS;
	const cop_row *row = &s->row[at];
	if (s->learner->class->candidates)
		return one_ranking(s, row, at);
	cop_decision decision;
	double loss[2];
	cop_err err = cop_learner_decide(s->learner, row, NULL, &decision);
	if (err != COP_OK)
		return err;
	double target = first_of(row) > 0.0F ? 0.7 : 0.3;
	for (int k = 0; k < 2; k++)
		loss[k] = (decision.probe[k] - target) * (decision.probe[k] - target);
	if (!s->learner->class->values)
		loss[0] = decision.arm == (unsigned)(first_of(row) > 0.0F) ? 0.0 : 1.0;
	return cop_learner_learn(s->learner, row, NULL, &decision, loss, true);
}

static cop_err some_events(stream *s, uint64_t count)
{
	cop_err err = COP_OK;
	for (uint64_t i = 0; i < count && err == COP_OK; i++)
		err = one_event(s);
	return err;
}

/* ---- events per second ---- */

typedef struct subject {
	const char *learner;
	size_t features, present; /* present of 2^18 when features is 0 */
	size_t arms;
	unsigned height;
	size_t trees;
	bool rare; /* only when all are wanted */
} subject;

#define DEFAULT COP_LEARNER_DEFAULT_TREES

static const subject subjects[] = {
	{ "dgt", 8, 0, 7, 6, DEFAULT, true },
	{ "dgt", 16, 0, 7, 6, DEFAULT, true },
	{ "dgt", 54, 0, 7, 2, DEFAULT, true },
	{ "dgt", 54, 0, 7, 6, DEFAULT, false },
	{ "dgt", 54, 0, 7, 8, DEFAULT, true },
	{ "dgt", 54, 0, 7, 10, DEFAULT, true },
	{ "dgt", 54, 0, 7, 12, DEFAULT, true },
	{ "dgt", 128, 0, 7, 6, DEFAULT, true },
	{ "dgt", 784, 0, 10, 6, DEFAULT, false },
	{ "dgt", 4096, 0, 10, 6, DEFAULT, false },
	{ "dgt", 0, 10, 7, 6, DEFAULT, true },
	{ "dgt", 0, 100, 7, 6, DEFAULT, false },
	{ "dgt", 0, 1000, 7, 6, DEFAULT, true },
	{ "ensemble", 54, 0, 7, 0, DEFAULT, false },
	{ "ensemble", 54, 0, 7, 4, 64, false },
	{ "ensemble", 784, 0, 10, 0, DEFAULT, false },
	{ "ensemble", 0, 100, 7, 0, DEFAULT, false },
	{ "value", 54, 0, 0, 0, DEFAULT, false },
};

static cop_learner_settings settings_of(const subject *of)
{
	cop_learner_settings settings;
	cop_learner_settings_init(&settings);
	(void)snprintf(settings.learner, sizeof settings.learner, "%s", of->learner);
	settings.features = of->features;
	if (of->features == 0)
		settings.bits = 18;
	settings.max_nonzeros = of->present > settings.max_nonzeros ? of->present : settings.max_nonzeros;
	settings.arms = of->arms;
	settings.height = of->height;
	settings.trees = of->trees;
	settings.seed = 1;
	return settings;
}

static cop_err events_per_second(const subject *of, double *best)
{
	stream s;
	cop_diag diag;
	cop_learner_settings settings = settings_of(of);
	cop_err err = stream_init(&s, &settings, of->present, &diag);
	*best = 0.0;
	if (err == COP_OK)
		err = some_events(&s, WARM);
	for (int i = 0; i < TRIES && err == COP_OK; i++) {
		uint64_t done = 0;
		double start = cop_command_now();
		double took = 0.0;
		while (took < SECONDS && err == COP_OK) {
			err = some_events(&s, 16);
			done += 16;
			took = cop_command_now() - start;
		}
		*best = (double)done / took > *best ? (double)done / took : *best;
	}
	stream_free(&s);
	return err;
}

static void show(cop_json_writer *json, const subject *of, double rate)
{
	char inputs[32], shape[64] = "";
	(void)snprintf(inputs, sizeof inputs, of->features != 0 ? "%zu" : "%zu of 2^18",
	        of->features != 0 ? of->features : of->present);
	if (of->height != 0)
		(void)snprintf(shape, sizeof shape, "height %u", of->height);
	if (of->trees != DEFAULT)
		(void)snprintf(shape, sizeof shape, "%zu trees, height %u", of->trees, of->height);
	if (json == NULL) {
		(void)printf("%-10s %-14s %5zu %-21s %12.0f %11.2f\n", of->learner, inputs, of->arms, shape, rate,
		        1e6 / rate);
		return;
	}
	cop_json_begin_object(json);
	cop_json_key(json, "learner");
	cop_json_text(json, of->learner);
	cop_json_put_unsigned(
	        json, of->features != 0 ? "features" : "present", of->features != 0 ? of->features : of->present);
	cop_json_put_unsigned(json, "arms", of->arms);
	if (of->height != 0)
		cop_json_put_unsigned(json, "height", of->height);
	if (of->trees != DEFAULT)
		cop_json_put_unsigned(json, "trees", of->trees);
	cop_json_put_number(json, "events_per_second", rate);
	cop_json_end_object(json);
}

cop_err cop_bench_learners(cop_json_writer *json, bool whole)
{
	if (json == NULL) {
		(void)printf(
		        "\n%-10s %-14s %5s %-21s %12s %11s\n", "learner", "inputs", "arms", "", "events/s", "us/event");
	} else {
		cop_json_key(json, "learners");
		cop_json_begin_array(json);
	}
	cop_err err = COP_OK;
	for (size_t i = 0; i < sizeof subjects / sizeof *subjects && err == COP_OK; i++) {
		double rate;
		if (subjects[i].rare && !whole)
			continue;
		err = events_per_second(&subjects[i], &rate);
		if (err == COP_OK)
			show(json, &subjects[i], rate);
	}
	if (json != NULL)
		cop_json_end_array(json);
	return err;
}

/* ---- the command ---- */

static const char usage_text[] = "usage: costs events --learner NAME --events N [OPTION ...]\n\n"
                                 "N made-up events are decided and learned, and nothing is measured: a tool that\n"
                                 "counts instructions runs this (tests/bench/instructions).\n\n"
                                 "  --learner NAME  ensemble, dgt, value or rank\n"
                                 "  --events N\n"
                                 "  --features D    dense features (default 54)\n"
                                 "  --present P     instead: P of 2^B hashed features\n"
                                 "  --bits B        (default 18)\n"
                                 "  --arms K        (default 7)\n"
                                 "  --candidate-features F\n"
                                 "                  rank: of each of 8 candidates (default 8)\n"
                                 "  --height H\n"
                                 "  --trees M       (default: the learner's)\n";

#define NOT_GIVEN UINT64_MAX

typedef struct options {
	const char *learner;
	uint64_t events, features, present, bits, arms, candidate_features, height, trees;
} options;

#define OF(member) COP_OPTION_OF(options, member)

static const cop_option table[] = {
	{ "learner", COP_OPTION_TEXT, OF(learner) },
	{ "events", COP_OPTION_WHOLE, OF(events), 1, 1000000000 },
	{ "features", COP_OPTION_WHOLE, OF(features), 1, COP_LEARNER_MAX_FEATURES },
	{ "present", COP_OPTION_WHOLE, OF(present), 1, COP_LEARNER_MAX_NONZEROS },
	{ "bits", COP_OPTION_WHOLE, OF(bits), 1, COP_LEARNER_MAX_BITS },
	{ "arms", COP_OPTION_WHOLE, OF(arms), 2, COP_LEARNER_MAX_ARMS },
	{ "candidate-features", COP_OPTION_WHOLE, OF(candidate_features), 1, COP_LEARNER_MAX_FEATURES },
	{ "height", COP_OPTION_WHOLE, OF(height), 1, COP_LEARNER_MAX_HEIGHT },
	{ "trees", COP_OPTION_WHOLE, OF(trees), 0, COP_LEARNER_MAX_TREES },
	{ .name = NULL },
};

static subject subject_of(const options *o)
{
	return (subject){
		.learner = o->learner,
		.features = o->present > 0 ? 0 : (size_t)o->features,
		.present = (size_t)o->present,
		.arms = (size_t)o->arms,
		.height = (unsigned)o->height,
		.trees = o->trees == NOT_GIVEN ? DEFAULT : (size_t)o->trees,
	};
}

static int run(const options *o)
{
	const subject of = subject_of(o);
	cop_learner_settings settings = settings_of(&of);
	if (of.features == 0)
		settings.bits = (unsigned)o->bits;
	if (of.features == 0 && of.present > cop_learner_dimension(&settings)) {
		cop_command_complain(NAME, "--present: expected at most 2^%u", settings.bits);
		return COP_EXIT_USAGE;
	}
	if (strcmp(settings.learner, "rank") == 0) {
		settings.candidate_features = (size_t)o->candidate_features;
		settings.max_candidates = CANDIDATES;
	}
	if (strcmp(settings.learner, "rank") == 0 || strcmp(settings.learner, "value") == 0)
		settings.arms = 0;
	stream s;
	cop_diag diag = { 0 };
	cop_err err = stream_init(&s, &settings, of.present, &diag);
	if (err == COP_OK)
		err = some_events(&s, o->events);
	stream_free(&s);
	return cop_command_end(NAME, err, NULL, &diag);
}

int cop_bench_events_command(int argc, char **argv)
{
	options o = { .features = 54, .arms = 7, .trees = NOT_GIVEN, .candidate_features = 8, .bits = 18 };
	const cop_options command = { NAME, usage_text, .sets = { { table, &o, NULL } } };
	int status = cop_options_read(&command, argc, argv);
	if (status != COP_OPTIONS_READ)
		return status;
	if (o.learner != NULL && o.events > 0 && optind == argc)
		return run(&o);
	cop_command_complain(NAME, "expected --learner NAME, --events N and no other word (costs events --help)");
	return COP_EXIT_USAGE;
}
