#include "daemon/config/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/config/config_rules.h"
#include "daemon/models/model_table.h"
#include "support.h"

#define TAIL  "sockets { requests = { \"ipc://r.ipc\" } }\n"
#define SMALL TAIL "model m { arms = 2 features = 3 }\n"
/* The section of sockets, left open. */
#define SMALL_AND_SOCKETS "model m { arms = 2 features = 3 }\nsockets { requests = { \"ipc://r.ipc\" } "

FILE *__real_fmemopen(void *buffer, size_t size, const char *mode);
FILE *__wrap_fmemopen(void *buffer, size_t size, const char *mode);

static bool no_streams;

FILE *__wrap_fmemopen(void *buffer, size_t size, const char *mode)
{
	return no_streams ? NULL : __real_fmemopen(buffer, size, mode);
}

static cop_err parse(const char *text, cop_config **config, cop_config_report *report)
{
	cop_config_report_init(report);
	return cop_config_parse(text, strlen(text), "test.conf", NULL, config, report);
}

/* A configuration that must be right; the caller frees it. */
static cop_config *good(const char *text)
{
	cop_config *config;
	cop_config_report report;
	cop_err err = parse(text, &config, &report);
	for (size_t i = 0; i < report.count; i++)
		print_message("%lu: %s\n", (unsigned long)report.items[i].line, report.items[i].message);
	assert_int_equal(err, COP_OK);
	assert_int_equal(report.count, 0);
	cop_config_report_fini(&report);
	return config;
}

/* The text is refused with exactly one message, at this line, that holds this. */
static void refused(cop_err expected, const char *text, uint64_t line, const char *holds)
{
	cop_config *config;
	cop_config_report report;
	assert_int_equal(parse(text, &config, &report), expected);
	assert_null(config);
	for (size_t i = 0; i < report.count; i++)
		if (report.count != 1 || report.items[i].line != line || strstr(report.items[i].message, holds) == NULL)
			print_message(
			        "%s\n=> %lu: %s\n", text, (unsigned long)report.items[i].line, report.items[i].message);
	assert_int_equal(report.count, 1);
	assert_int_equal(report.items[0].line, line);
	assert_non_null(strstr(report.items[0].message, holds));
	assert_string_equal(report.items[0].source, "test.conf");
	cop_config_report_fini(&report);
}

static void test_config_minimal_has_all_defaults(void **state)
{
	(void)state;
	cop_config *config = good(SMALL);
	assert_string_equal(config->state_dir, "/var/lib/coppice");
	assert_string_equal(config->log_facility, "daemon");
	assert_int_equal(config->log_level, COP_LOG_INFO);
	assert_null(config->http_listen);
	assert_false(config->http_given);
	assert_false(config->journal_given);
	assert_int_equal(config->requests.count, 1);
	assert_string_equal(config->requests.items[0], "ipc://r.ipc");
	assert_int_equal(config->message_limit, 1 << 20);
	assert_int_equal(config->checkpoint_every, 60000000);
	assert_int_equal(config->checkpoint_keep, 3);
	assert_int_equal(config->checkpoint_older, 8);
	assert_int_equal(config->journal_interval, 10000);
	assert_int_equal(config->model_count, 1);
	const cop_config_model *model = &config->models[0];
	assert_string_equal(model->name, "m");
	const cop_model_settings *set = &model->set;
	assert_string_equal(set->learner.learner, "ensemble");
	assert_string_equal(set->learner.policy, "matching");
	assert_int_equal(set->learner.experts, 0);
	assert_int_equal(set->learner.arms, 2);
	assert_int_equal(set->learner.features, 3);
	assert_int_equal(set->learner.bits, 14);
	assert_true(set->reward_window == 600.0);
	assert_false(set->has_default_loss);
	assert_int_equal(set->reward, COP_REWARD_EARLIEST);
	assert_int_equal(set->pending_max, 1000000);
	assert_int_equal(model->unheard, COP_UNHEARD_WAIT);
	assert_int_equal(model->unheard_max, 10000);
	assert_int_equal(model->unheard_bytes, 16 << 20);
	assert_int_equal(model->unheard_age, 10000000);
	assert_int_equal(set->explain_keep, 256);
	assert_ptr_equal(cop_config_find(config, "mx", 1), model);
	assert_null(cop_config_find(config, "mx", 2));
	cop_config_free(config);
}

static void test_config_learner_chooses_defaults(void **state)
{
	(void)state;
	cop_config *config = good(TAIL "model d { features = 3 arms = 4 learner = dgt }\n"
	                               "model v { features = 0 learner = value delta = 0.25 value_range = {-1, 3.5} }\n"
	                               "model b { features = 0 learner = value value_range = {-1, 3.5} }\n"
	                               "model r { features = 2 learner = value refit { } }\n");
	const cop_model_settings *value = &config->models[1].set;
	const cop_learner_settings *dgt = &config->models[0].set.learner;
	assert_string_equal(dgt->policy, "epsilon");
	assert_true(dgt->exploration.epsilon == 0.3 && dgt->learning_rate == 1e-3 && !dgt->literal);
	assert_int_equal(dgt->height, 6);
	assert_string_equal(value->learner.policy, "");
	assert_int_equal(value->learner.arms, 0);
	assert_int_equal(value->learner.feedback, COP_VALUE_TWO); /* as only it and one have a delta */
	assert_int_equal(config->models[2].set.learner.feedback, COP_VALUE_BINS);
	assert_int_equal(config->models[3].set.learner.feedback, COP_VALUE_TWO); /* or refits */
	assert_true(value->value_low == -1 && value->value_high == 3.5 && value->learner.delta == 0.25);
	cop_config_free(config);
}

/* What is not given is what lib/online makes of it. */
static void test_config_defaults_are_the_learners_own(void **state)
{
	(void)state;
	cop_config *config = good(TAIL "model ensemble { arms = 3 features = 4 }\n"
	                               "model dgt { learner = dgt arms = 3 features = 4 }\n"
	                               "model value { learner = value features = 4 }\n"
	                               "model ensemble-sparse { arms = 3 features = 0 bits = 5 }\n"
	                               "model dgt-sparse { learner = dgt arms = 3 features = 0 bits = 5 }\n"
	                               "model value-sparse { learner = value features = 0 bits = 5 }\n"
	                               "model rank { learner = rank features = 4 candidate_features = 3 }\n"
	                               "model rank-sparse { learner = rank features = 0 bits = 5 }\n"
	                               "model squarecb { arms = 3 features = 4 policy = squarecb }\n"
	                               "model epsilon { arms = 3 features = 4 policy = epsilon }\n"
	                               "model dgt-fastcb { learner = dgt arms = 3 features = 4 policy = fastcb }\n"
	                               "model rank-squarecb { learner = rank features = 0 policy = squarecb }\n");
	for (size_t i = 0; i < config->model_count; i++) {
		const cop_config_model *model = &config->models[i];
		cop_model_settings settings;
		cop_model_settings_init(&settings);
		cop_learner_settings *bare = &settings.learner;
		const cop_model_settings *set = &model->set;
		const cop_learner_settings *is = &set->learner;
		bool value = strcmp(is->learner, "value") == 0;
		(void)snprintf(bare->learner, sizeof bare->learner, "%s", is->learner);
		bare->features = is->features;
		bare->bits = is->bits;
		bare->arms = is->arms;
		bare->candidate_features = is->candidate_features;
		(void)snprintf(bare->policy, sizeof bare->policy, "%s", is->policy);
		assert_int_equal(is->max_candidates, bare->max_candidates);
		cop_learner *learner;
		assert_int_equal(cop_learner_new(bare, &learner, NULL), COP_OK);
		const cop_learner_settings *filled = &learner->settings;
		assert_string_equal(is->policy, filled->policy);
		assert_int_equal(is->max_nonzeros, filled->max_nonzeros);
		assert_int_equal(is->height, filled->height);
		assert_int_equal(is->trees, filled->trees);
		assert_int_equal(is->seed, filled->seed);
		assert_true(is->learning_rate == filled->learning_rate && is->delta == filled->delta);
		assert_true(is->literal == filled->literal);
		assert_int_equal((int)is->feedback, (int)filled->feedback);
		const cop_policy_settings *e = &is->exploration, *expected = &filled->exploration;
		if (!value) {
			assert_true(e->epsilon == expected->epsilon && e->gamma == expected->gamma);
			assert_true(e->epsilon_decay == expected->epsilon_decay);
			assert_true(e->epsilon_floor == expected->epsilon_floor);
			assert_true(e->shares.least_propensity == expected->shares.least_propensity);
		}
		assert_int_equal(is->experts, filled->experts);
		if (!value && strcmp(is->learner, "dgt") != 0)
			assert_true(e->optimism == expected->optimism);
		assert_true(set->reward_window == settings.reward_window);
		assert_true(set->reward == settings.reward && !settings.has_default_loss);
		assert_true(set->loss_low == settings.loss_low && set->loss_high == settings.loss_high);
		assert_true(set->value_low == settings.value_low && set->value_high == settings.value_high);
		assert_int_equal(set->pending_max, settings.pending_max);
		cop_learner_free(learner);
	}
	cop_config_free(config);
}

static void test_config_experts_are_a_set_of_words(void **state)
{
	(void)state;
	cop_config *config =
	        good(TAIL "model a { arms = 2 features = 3 experts = { forest, \"linear\" } }\n"
	                  "model b { arms = 2 features = 3 experts = trees }\n"
	                  "model c { arms = 2 features = 3 experts = { forest, quadratic, trees, linear } }\n");
	static const unsigned expected[] = { COP_EXPERT_LINEAR | COP_EXPERT_FOREST, COP_EXPERT_TREES, 0 };
	for (size_t i = 0; i < config->model_count; i++)
		assert_int_equal(config->models[i].set.learner.experts, expected[i]);
	cop_config_free(config);
}

static void test_config_delta_defaults_to_a_tenth_of_the_range(void **state)
{
	(void)state;
	cop_config *config = good(TAIL "model v { learner = value features = 4 value_range = {10, 30} }\n");
	assert_true(config->models[0].set.learner.delta == 2);
	cop_config_free(config);
}

static void test_config_refit_section_is_the_models_own(void **state)
{
	(void)state;
	cop_config *config =
	        good(TAIL "model a { arms = 2 features = 3 refit { enabled = true every = 5min holdout = 0.1\n"
	                  " method = laptao alpha = 0.5 promote = hand idle = false } }\n"
	                  "model b { arms = 2 features = 3 refit { } }\n"
	                  "model c { learner = dgt arms = 2 features = 3 height = 4 }\n");
	const cop_config_refit *a = &config->models[0].refit, *b = &config->models[1].refit;
	assert_true(a->given && a->enabled && a->alpha.given && !a->idle);
	assert_int_equal(a->every, 300000000);
	assert_true(a->holdout == 0.1 && a->alpha.value == 0.5);
	assert_string_equal(cop_config_method_text(a->method), "laptao");
	assert_string_equal(cop_config_promote_text(a->promote), "hand");
	assert_string_equal(cop_config_drift_text(a->on_drift), "adwin");
	assert_true(b->given && !b->enabled && !b->alpha.given && b->idle);
	assert_string_equal(cop_config_promote_text(b->promote), "evidence");
	assert_int_equal(b->every, 3600000000);
	assert_false(config->models[2].refit.given);
	assert_int_equal(config->models[2].refit.height, 4);
	cop_config_free(config);
}

/* Printed, read back and printed again: the same text, and no difference. */
static void round_trip(cop_config *config)
{
	cop_bytes first, second;
	cop_bytes_init(&first);
	cop_bytes_init(&second);
	cop_config_print(config, &first);
	assert_int_equal(first.err, COP_OK);
	cop_config *again;
	cop_config_report report;
	cop_config_report_init(&report);
	cop_err err = cop_config_parse((const char *)first.data, first.length, "printed", NULL, &again, &report);
	if (err != COP_OK)
		print_message("%.*s\n%s\n", (int)first.length, (const char *)first.data,
		        report.count == 0 ? "" : report.items[0].message);
	assert_int_equal(err, COP_OK);
	cop_config_print(again, &second);
	assert_int_equal(first.length, second.length);
	assert_memory_equal(first.data, second.data, first.length);
	cop_config_changes changes;
	assert_int_equal(cop_config_diff(config, again, &changes), COP_OK);
	assert_int_equal(changes.count, 0);
	assert_int_equal(config->journal_given, again->journal_given);
	assert_int_equal(config->http_given, again->http_given);
	cop_config_changes_free(&changes);
	cop_config_free(again);
	cop_bytes_fini(&first);
	cop_bytes_fini(&second);
	cop_config_free(config);
}

/* A number's ends, and the nearest values outside them. */
typedef struct limit {
	const char *before; /* what the option stands in, up to it */
	const char *option;
	const char *below, *least, *most, *above; /* NULL: has no such end */
	const char *range;                        /* as the message has it */
} limit;

#define MODEL TAIL "model m { arms = 2 features = 2 "
#define DGT   TAIL "model m { arms = 2 features = 2 learner = dgt "
#define VALUE TAIL "model m { features = 2 learner = value feedback = two value_range = {-1e100, 0} "
#define RANK  TAIL "model m { features = 2 learner = rank "
#define REFIT TAIL "model m { arms = 2 features = 2 refit { "

/* Spelled out: a limit that moves refuses somebody's file. */
static const limit limits[] = {
	{ SMALL, "clock_tolerance", NULL, "0s", "3650d", "87600h1", "from 0us to 3650d" },
	{ SMALL, "clock_tolerance", NULL, "0d", "87600h", "315360000001ms", "from 0us to 3650d" },
	{ SMALL, "refit_cpu_share", "0.00099", "0.001", "1", "1.001", "from 0.001 to 1" },
	{ "model m { arms = 2 features = 2 }\nsockets { requests = { \"ipc://r\" } ", "message_limit", "1023B", "1KiB",
	        "16MiB", "16777217B", "from 1KiB to 16MiB" },
	{ "model m { arms = 2 features = 2 }\nsockets { requests = { \"ipc://r\" } message_limit = 1KiB ",
	        "queue_limit", "1048575B", "1MiB", "1TiB", "1099511627777B", "from 1MiB to 1TiB" },
	{ SMALL "journal { ", "interval", "999us", "1ms", "60s", "60000001us", "from 1ms to 1min" },
	{ SMALL "journal { keep = 1TiB ", "segment", "65535B", "64KiB", "4GiB", "4294967297B", "from 64KiB to 4GiB" },
	{ SMALL "journal { segment = 64KiB ", "keep", "65535B", "64KiB", "1024TiB", "1125899906842625B",
	        "from 64KiB to 1024TiB" },
	{ SMALL "journal { ", "keep_age", NULL, "0s", "3650d", "315360000001ms", "from 0us to 3650d" },
	{ SMALL "checkpoint { ", "every", "999999us", "1s", "7d", "604800001ms", "from 1s to 7d" },
	{ SMALL "checkpoint { ", "keep", "0", "1", "1000", "1001", "from 1 to 1000" },
	{ SMALL "checkpoint { ", "older", "-1", "0", "64", "65", "from 0 to 64" },
	{ SMALL "replica { listen = \"ipc://l\" ", "followers", "0", "1", "16", "17", "from 1 to 16" },
	{ SMALL "replica { listen = \"ipc://l\" ", "compare", "0", "1", "1000000000", "1000000001", "from 1 to 1" },
	{ SMALL "partition { number = 0 ", "of", "0", "1", "65536", "65537", "from 1 to 65536" },
	{ SMALL "partition { of = 65536 ", "number", "-1", "0", "65535", "65536", "from 0 to 65535" },
	{ SMALL "partition { of = 2 number = 0 ", "every", "99999us", "100ms", "1d", "86400001ms", "from 100ms to 1d" },
	{ TAIL "model m { arms = 2 ", "features", "-1", "0", "65536", "65537", "from 0 to 65536" },
	{ TAIL "model m { features = 2 ", "arms", "1", "2", "10000", "10001", "from 2 to 10000" },
	{ MODEL, "bits", "0", "1", "24", "25", "from 1 to 24" },
	{ MODEL, "max_nonzeros", "0", "1", "65536", "65537", "from 1 to 65536" },
	{ MODEL, "max_candidates", "0", "1", "100000", "100001", "from 1 to 100000" },
	{ RANK, "candidate_features", NULL, "1", "65536", "65537", "from 0 to 65536" },
	{ MODEL "policy = epsilon epsilon_floor = 0 ", "epsilon", "-1e-9", "0", "1", "1.000001", "from 0 to 1" },
	{ MODEL "policy = epsilon ", "epsilon_decay", "-1e-9", "0", "1", "1.000001", "from 0 to 1" },
	{ MODEL, "explore_first", "-1", "0", "1000000000", "1000000001", "from 0 to 1000000000" },
	{ MODEL "policy = epsilon epsilon = 1 ", "epsilon_floor", "-1e-9", "0", "1", "1.000001", "from 0 to 1" },
	{ MODEL, "gamma", "9.9e-7", "1e-6", "1e9", "1000000001", "from 1e-06 to 1000000000" },
	{ MODEL, "optimism", "-1e-9", "0", "1000", "1000.001", "from 0 to 1000" },
	{ MODEL, "least_propensity", "-1e-9", "0", "1", "1.000001", "from 0 to 1" },
	{ DGT, "height", "0", "1", "12", "13", "from 1 to 12" },
	{ MODEL, "height", "0", "1", "8", NULL, "from 1 to 12" },
	{ MODEL, "trees", "-1", "0", "64", "65", "from 0 to 64" },
	{ MODEL, "learning_rate", "9.9e-10", "1e-9", "100", "100.001", "from 1e-09 to 100" },
	{ MODEL, "reward_window", "999us", "1ms", "365d", "31536000001ms", "from 1ms to 365d" },
	{ MODEL, "seed", "-1", "0", "18446744073709551615", "18446744073709551616", "from 0 to 18446744073709551615" },
	{ VALUE, "delta", "9.9e-103", "1e-102", "5e99", "1.001e100", "from 1e-102 to 1e+100" },
	{ VALUE, "delta_decay", "-1e-9", "0", "1", "1.000001", "from 0 to 1" },
	{ VALUE "delta = 5e99 ", "delta_floor", "-1e-9", "0", "5e99", "1.001e100", "from 0 to 1e+100" },
	{ MODEL, "pending_max", "0", "1", "100000000", "100000001", "from 1 to 100000000" },
	{ MODEL, "pending_bytes", "65535B", "64KiB", "1TiB", "1099511627777B", "from 64KiB to 1TiB" },
	{ MODEL, "unheard_max", "0", "1", "10000000", "10000001", "from 1 to 10000000" },
	{ MODEL, "unheard_bytes", "1023B", "1KiB", "64GiB", "68719476737B", "from 1KiB to 64GiB" },
	{ MODEL, "unheard_age", "999us", "1ms", "1d", "86400001ms", "from 1ms to 1d" },
	{ MODEL, "holdout", "-1e-9", "0", "0.99", "1", "from 0 to 0.99" },
	{ MODEL "holdout = 0.5 ", "conservative", "-1e-9", "0", "1e100", "1.001e100", "from 0 to 1e+100" },
	{ MODEL "holdout = 0.5 ", "baseline", "-1", "0", "1", NULL, "uniform, caller or a number from 0 to 9999" },
	{ MODEL, "explain_keep", "-1", "0", "65536", "65537", "from 0 to 65536" },
	{ MODEL, "memory", NULL, "0B", "1TiB", "1099511627777B", "from 0B to 1TiB" },
	{ MODEL, "rate", NULL, "0", "1000000000", "1000000001", "from 0 to 1000000000" },
	{ MODEL, "names_bytes", NULL, "0B", "4GiB", "4294967297B", "from 0B to 4GiB" },
	{ REFIT, "every", NULL, "0s", "365d", "31536000001ms", "from 0us to 365d" },
	{ REFIT, "least_feedback", "0", "1", "1000000000", "1000000001", "from 1 to 1000000000" },
	{ REFIT, "window", "99", "100", "1000000000", "1000000001", "from 100 to 1000000000" },
	{ REFIT, "holdout", "-1e-9", "0", "0.9", "0.900001", "from 0 to 0.9" },
	{ REFIT, "height", "0", "1", "20", "21", "from 1 to 20" },
	{ REFIT, "alpha", "-1e-9", "0", "1e9", "1000000001", "auto or a number from 0 to 1000000000" },
	{ REFIT, "nice", "-1", "0", "19", "20", "from 0 to 19" },
	{ REFIT, "memory", "16777215B", "16MiB", "1TiB", "1099511627777B", "from 16MiB to 1TiB" },
	{ REFIT, "time_limit", "999999us", "1s", "7d", "604800001ms", "from 1s to 7d" },
	{ REFIT, "margin", "-1e-9", "0", "1", "1.000001", "from 0 to 1" },
	{ REFIT, "risk", "9.9e-10", "1e-9", "0.5", "0.500001", "from 1e-09 to 0.5" },
	{ REFIT, "keep", "0", "1", "1000", "1001", "from 1 to 1000" },
};

/* The limit's option with this value, every section closed. */
static void write_limit(const limit *l, const char *value, char out[512])
{
	int depth = 0, used = snprintf(out, 512, "%s%s = \"%s\"", l->before, l->option, value);
	for (int i = 0; i < used; i++)
		depth += out[i] == '{' ? 1 : out[i] == '}' ? -1 : 0;
	for (; depth > 0; depth--)
		used += snprintf(out + used, 512 - (size_t)used, " }");
}

/* Refused, and the first message is about the option and names the range. */
static void refused_limit(const limit *l, const char *value)
{
	char text[512], begins[128];
	if (value == NULL)
		return;
	write_limit(l, value, text);
	cop_config *config;
	cop_config_report report;
	assert_int_equal(parse(text, &config, &report), COP_EINVAL);
	(void)snprintf(begins, sizeof begins, "%s: \"%s\" is not allowed, expected ", l->option, value);
	const char *message = report.items[0].message;
	if (strncmp(message, begins, strlen(begins)) != 0 || strstr(message, l->range) == NULL)
		fail_msg("%s\n=> %s", text, message);
	cop_config_report_fini(&report);
}

static void test_config_limit_itself_is_allowed_the_next_value_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
		char text[512];
		const limit *l = &limits[i];
		write_limit(l, l->least, text);
		round_trip(good(text));
		write_limit(l, l->most, text);
		round_trip(good(text));
		refused_limit(l, l->below);
		refused_limit(l, l->above);
	}
}

/* A row that is forgotten above shows here. */
static bool is_among_limits(const char *option)
{
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
		if (strcmp(limits[i].option, option) == 0)
			return true;
	return false;
}

static void test_config_option_with_limits_is_among_the_tested(void **state)
{
	(void)state;
	const cop_config_section *sections[COP_CONFIG_SECTIONS + 2] = { &cop_config_model_section,
		&cop_config_refit_section };
	for (size_t i = 0; i < COP_CONFIG_SECTIONS; i++)
		sections[i + 2] = &cop_config_sections[i];
	for (size_t i = 0; i < COP_CONFIG_SECTIONS + 2; i++)
		for (size_t j = 0; sections[i]->rules[j].name != NULL; j++) {
			const cop_setting rule = cop_config_rules_at(sections[i], j);
			bool bounded = rule.high > 0 && rule.high < 0x1p64 && rule.kind != COP_SETTING_RANGE;
			if ((bounded || strncmp(rule.name, "delta", 5) == 0) && !is_among_limits(rule.name))
				fail_msg("%s", rule.name);
		}
}

/* Whether a file with this value is taken; what is refused is so for this value. */
static bool takes(const char *before, const char *value, const char *after)
{
	char text[4096];
	cop_config *config;
	cop_config_report report;
	(void)snprintf(text, sizeof text, "%s\"%s\"%s", before, value, after);
	cop_err err = parse(text, &config, &report);
	if (err != COP_OK) {
		assert_int_equal(report.count, 1);
		assert_non_null(strstr(report.items[0].message, "is not allowed, expected "));
	}
	cop_config_report_fini(&report);
	cop_config_free(config);
	return err == COP_OK;
}

/* In lists that bind, in lists that connect, and where HTTP listens ("tcp://" left out; only of those). */
static void test_config_address_forms_are_told_apart(void **state)
{
	(void)state;
	static const struct {
		const char *endpoint;
		bool bind, connect, listen;
	} cases[] = {
		{ "tcp://127.0.0.1:1", true, true, true },
		{ "tcp://127.0.0.1:65535", true, true, true },
		{ "tcp://127.0.0.1:0", false, false, false },
		{ "tcp://127.0.0.1:65536", false, false, false },
		{ "tcp://127.0.0.1:", false, false, false },
		{ "tcp://127.0.0.1:5x", false, false, false },
		{ "tcp://127.0.0.1:x5", false, false, false },
		{ "tcp://127.0.0.1:+5", false, false, false },
		{ "tcp://127.0.0.1: 5", false, false, false },
		{ "tcp://127.0.0.1", false, false, false },
		{ "tcp://", false, false, false },
		{ "tcp://:50", false, false, false },
		{ "tcp://*:50", true, false, false },
		{ "tcp://**:50", false, false, false },
		{ "tcp://lo:50", true, true, true },
		{ "tcp://host-1_a.Example:50", false, true, true },
		{ "tcp://ho st:50", false, false, false },
		{ "tcp://a/b:50", false, false, false },
		{ "tcp://a:b:50", false, false, false },
		{ "tcp://::1:50", false, false, false },
		{ "tcp://[::]:50", true, true, true },
		{ "tcp://[::1]:50", true, true, true },
		{ "tcp://[::FFFF:127.0.0.1]:50", true, true, true },
		{ "tcp://[::1:50", false, false, false },
		{ "tcp://[::1x:50", false, false, false },
		{ "tcp://[::g]:50", false, false, false },
		{ "tcp://[]:50", false, false, false },
		{ "tcp://[1]:50", false, false, false },
		{ "tcp://x::1]:50", false, false, false },
		{ "ipc://a", true, true, false },
		{ "ipc://", false, false, false },
		{ "udp://127.0.0.1:50", false, false, false },
		{ "", false, false, false },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *endpoint = cases[i].endpoint;
		assert_int_equal(
		        takes(SMALL_AND_SOCKETS "insecure = true feedback_bind = { ", endpoint, " } }"), cases[i].bind);
		assert_int_equal(takes(SMALL_AND_SOCKETS "feedback_connect = { ", endpoint, " } }"), cases[i].connect);
		bool tcp = strncmp(endpoint, "tcp://", 6) == 0;
		assert_int_equal(takes(SMALL "http { listen = ", endpoint + (tcp ? 6 : 0), " }"), cases[i].listen);
	}
}

/* A value of so many bytes, which begins so, is taken, and of one more not. */
static void takes_at_most(const char *before, const char *begins, size_t length, const char *ends, const char *after)
{
	char value[2048] = "";
	for (size_t more = 0; more < 2; more++) {
		size_t fill = length + more - strlen(begins) - strlen(ends);
		(void)snprintf(value, sizeof value, "%s", begins);
		memset(value + strlen(begins), 'x', fill);
		(void)snprintf(value + strlen(begins) + fill, sizeof value - strlen(begins) - fill, "%s", ends);
		assert_int_equal(strlen(value), length + more);
		assert_int_equal(takes(before, value, after), more == 0);
	}
}

static void test_config_texts_are_bounded_and_printable(void **state)
{
	(void)state;
	static const char bytes[] = { 0x01, 0x08, 0x1f, 0x20, 0x7e, 0x7f, (char)0x80, (char)0xff };
	static const bool taken[] = { false, false, false, true, true, false, true, true };
	for (size_t i = 0; i < sizeof bytes; i++) {
		const char value[] = { 'a', bytes[i], '\0' };
		assert_int_equal(takes(SMALL "state_dir = ", value, ""), taken[i]);
	}
	takes_at_most(SMALL "state_dir = ", "/", 1024, "", "");
	takes_at_most(SMALL_AND_SOCKETS "feedback_bind = { ", "ipc://", 6 + 107, "", " } }");
	takes_at_most(SMALL_AND_SOCKETS "feedback_connect = { ", "tcp://", 256, ":5000", " } }");
}

static void test_config_flags_have_three_words_each(void **state)
{
	(void)state;
	static const char *const words[] = { "false", "no", "off", "true", "yes", "on" };
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		char text[256];
		(void)snprintf(text, sizeof text, SMALL "journal { compress = %s enabled = %s }\n", words[i], words[i]);
		cop_config *config = good(text);
		assert_int_equal(config->journal_compress, i >= 3);
		assert_int_equal(config->journal_enabled, i >= 3);
		cop_config_free(config);
	}
}

static void test_config_quantities_have_digits_and_one_unit(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		uint64_t microseconds; /* 0: refused */
	} durations[] = { { "90s", 90000000 }, { "2 min", 120000000 }, { "90   s", 90000000 }, { "1500ms", 1500000 },
		{ "2h", UINT64_C(7200000000) }, { "1d", UINT64_C(86400000000) }, { "1000001us", 1000001 },
		{ "0090s", 90000000 }, { "s", 0 }, { " 90s", 0 }, { "90s ", 0 }, { "90", 0 }, { "9.5s", 0 },
		{ "90S", 0 }, { "90ss", 0 }, { "-90s", 0 }, { "18446744073709551616us", 0 },
		{ "18446744073709551615d", 0 }, { "213503982334602d", 0 } };
	for (size_t i = 0; i < sizeof durations / sizeof *durations; i++) {
		char text[256];
		uint64_t expected = durations[i].microseconds;
		assert_int_equal(takes(SMALL "checkpoint { every = ", durations[i].text, " }"), expected != 0);
		if (expected == 0)
			continue;
		(void)snprintf(text, sizeof text, SMALL "checkpoint { every = \"%s\" }\n", durations[i].text);
		cop_config *config = good(text);
		assert_int_equal(config->checkpoint_every, expected);
		round_trip(config);
	}
}

static void test_config_ranges_are_two_numbers_in_order(void **state)
{
	(void)state;
	static const struct {
		const char *range;
		bool taken;
	} cases[] = { { "{ -1e100, 1e100 }", true }, { "{ -1.001e100, 0 }", false }, { "{ 0, 1.001e100 }", false },
		{ "{ 0, 1e-100 }", true }, { "{ 0, 9.9e-101 }", false }, { "{ 1, 1 }", false }, { "{ 1, 0 }", false },
		{ "{ -1, 0 }", true }, { "{ nan, 1 }", false }, { "{ 0, nan }", false }, { "{ 0 }", false },
		{ "{ }", false }, { "{ 0, 1, 2 }", false }, { "{ x, 1 }", false } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char text[256];
		(void)snprintf(
		        text, sizeof text, TAIL "model m { arms = 2 features = 2 loss_range = %s }\n", cases[i].range);
		if (cases[i].taken)
			round_trip(good(text));
		else
			refused(COP_EINVAL, text, 2,
			        "is not allowed, expected two numbers {LOW, HIGH} with LOW < HIGH");
	}
}

/* What a message names as allowed, in full. */
static void test_config_message_names_every_word_that_is_allowed(void **state)
{
	(void)state;
	static const struct {
		const char *text, *expected;
	} cases[] = {
		{ "log { level = x }", "expected error, warning, notice, info or debug" },
		{ "log { facility = x }", "expected daemon, user or local0 to local7" },
		{ "http { listen = x }", "expected ADDRESS:PORT, for example 127.0.0.1:5599" },
		{ "journal { sync = x }", "expected interval, always, never or replica" },
		{ "journal { compress = x }", "expected true or false" },
		{ "model n { learner = x features = 2 }",
		        "expected ensemble, dgt, value, rank, trained, trained_value or ridge" },
		{ "model n { arms = 2 features = 2 policy = x }", "expected epsilon, squarecb, fastcb or matching" },
		{ "model n { arms = 2 features = 2 policy = \"\" }", "expected epsilon, squarecb, fastcb or matching" },
		{ "model n { arms = 2 features = 2 unheard = x }", "expected wait or decide" },
		{ "model n { arms = 2 features = 2 reward = x }", "expected earliest, last, sum or first" },
		{ "model n { features = 2 learner = value feedback = x }", "expected bins, one or two" },
		{ "model n { arms = 2 features = 2 experts = { x } }",
		        "expected some of linear, trees, quadratic and forest, each once" },
		{ "model n { arms = 2 features = 2 default_loss = x }", "expected none or a number" },
		{ "model n { arms = 2 features = 2 seed = x }",
		        "expected a whole number from 0 to 18446744073709551615" },
		{ "model n { arms = 2 features = 2 refit { on_drift = x } }", "expected none, adwin or page-hinkley" },
		{ "model n { arms = 2 features = 2 refit { method = x } }", "expected tao, laptao or forest" },
		{ "model n { arms = 2 features = 2 refit { promote = x } }",
		        "expected evidence, bound, never or hand" },
		{ "model n { arms = 2 features = 2 refit { memory = x } }",
		        "expected auto or a size like 64KiB, 1MiB or 10GiB, from 16MiB to 1TiB" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char text[256];
		(void)snprintf(text, sizeof text, SMALL "%s\n", cases[i].text);
		cop_config *config;
		cop_config_report report;
		assert_int_equal(parse(text, &config, &report), COP_EINVAL);
		const char *at = strstr(report.items[0].message, "expected ");
		assert_non_null(at);
		assert_string_equal(at, cases[i].expected);
		cop_config_report_fini(&report);
	}
}

static cop_config_refit_off off_of(const cop_config *config, size_t i)
{
	const cop_config_refit *r = &config->models[i].refit;
	assert_int_equal(r->enabled, r->off == COP_REFIT_ON);
	return r->off;
}

static void test_config_refits_are_on_where_they_can_be(void **state)
{
	(void)state;
	cop_config *config =
	        good(TAIL "model a { arms = 2 features = 3 }\n"
	                  "model b { learner = dgt arms = 2 features = 3 refit { height = 3 } }\n"
	                  "model c { learner = rank features = 0 }\n"
	                  "model d { learner = rank features = 3 candidate_features = 2 }\n"
	                  "model e { arms = 2 features = 0 apprentice = true }\n"
	                  "model f { learner = value features = 3 }\n"
	                  "model g { learner = value features = 3 feedback = two delta_decay = 0.1\n"
	                  " refit { enabled = false } }\n"
	                  "model h { learner = value features = 3 refit { enabled = true } }\n"
	                  "model i { arms = 2 features = 3 refit { enabled = false } }\n"
	                  "model j { learner = value features = 3 feedback = bins refit { every = 1h } }\n");
	static const cop_config_refit_off with[] = { COP_REFIT_ON, COP_REFIT_ON, COP_REFIT_ON, COP_REFIT_ON,
		COP_REFIT_ON, COP_REFIT_OFF_LEARNER, COP_REFIT_OFF_SAID, COP_REFIT_ON, COP_REFIT_OFF_SAID,
		COP_REFIT_OFF_LEARNER };
	for (size_t i = 0; i < config->model_count; i++) /* a text alone, as a journal's, knows of no program */
		assert_int_equal(off_of(config, i), with[i] == COP_REFIT_ON && i < 7 ? COP_REFIT_OFF_PROGRAM : with[i]);
	cop_config_default_refits(config, true);
	for (size_t i = 0; i < config->model_count; i++)
		assert_int_equal(off_of(config, i), with[i]);
	config->journal_enabled = false;
	cop_config_default_refits(config, true);
	assert_int_equal(off_of(config, 0), COP_REFIT_OFF_JOURNAL);
	assert_int_equal(off_of(config, 7), COP_REFIT_ON); /* as it says */
	assert_int_equal(off_of(config, 8), COP_REFIT_OFF_SAID);
	cop_config_free(config);
}

/* What a journal keeps is what held, not what holds where it is read. */
static void test_config_refits_that_are_on_are_printed(void **state)
{
	(void)state;
	cop_config *config = good(TAIL "model a { arms = 2 features = 3 }\n");
	cop_config_default_refits(config, true);
	cop_bytes text;
	cop_bytes_init(&text);
	cop_config_print(config, &text);
	cop_bytes_put_u8(&text, 0);
	assert_non_null(strstr((const char *)text.data, "\trefit {\n\t\tenabled = true\n"));
	cop_bytes_fini(&text);
	round_trip(config);
}

/* Models that fit into the machine's memory alone, but not each beside a second learner. */
static void test_config_refits_that_memory_does_not_hold_are_off(void **state)
{
	(void)state;
	enum { MODELS = 8 };
	char text[2048];
	cop_config *config = good(TAIL "model a { arms = 2 features = 0 names_bytes = 0B }\n");
	uint64_t learner = cop_config_model_bytes(&config->models[0]);
	uint64_t have = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t names = (have - MODELS * learner - learner / 2) / MODELS;
	cop_config_free(config);
	if (names > UINT64_C(4) << 30)
		skip();
	size_t used = (size_t)snprintf(text, sizeof text, "%s", TAIL);
	for (int i = 0; i < MODELS; i++)
		used += (size_t)snprintf(text + used, sizeof text - used,
		        "model m%d { arms = 2 features = 0 names_bytes = %lluB }\n", i, (unsigned long long)names);
	config = good(text);
	cop_config_default_refits(config, true);
	for (size_t i = 0; i < MODELS; i++)
		assert_int_equal(off_of(config, i), COP_REFIT_OFF_MEMORY);
	cop_config_free(config);
}

static void test_config_units_are_read(void **state)
{
	(void)state;
	cop_config *config = good("sockets { requests = {\"ipc://r\"} message_limit = \"64KiB\" }\n"
	                          "checkpoint { every = 7d keep = 9 }\n"
	                          "journal { sync = always interval = \"250 ms\" segment = 1GiB keep = \"2TiB\" }\n"
	                          "model m { arms = 2 features = 3 reward_window = 1h seed = 18446744073709551615 }\n");
	assert_int_equal(config->message_limit, 65536);
	assert_int_equal(config->checkpoint_every, 7ull * 86400 * 1000000);
	assert_int_equal(config->journal_sync, COP_SYNC_ALWAYS);
	assert_int_equal(config->journal_interval, 250000);
	assert_int_equal(config->journal_segment, 1ull << 30);
	assert_int_equal(config->journal_keep, 2ull << 40);
	assert_true(config->journal_given);
	assert_true(config->models[0].set.reward_window == 3600.0);
	assert_true(config->models[0].set.learner.seed == UINT64_MAX);
	cop_config_free(config);
}

static void test_config_one_wrong_value_names_line_and_expectation(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		uint64_t line;
		const char *holds;
	} cases[] = {
		{ SMALL "log {\n level = \"loud\" }", 4, "level: \"loud\" is not allowed, expected error, warning" },
		{ SMALL "log { facility = kern }", 3, "facility: \"kern\"" },
		{ SMALL "log { level = \"lo\tud\" }", 3, "level: \"lo?ud\" is not allowed" },
		{ "sockets { requests = { \"ipc://r\" } message_limit = 16MiB\n queue_limit = 255MiB }\n"
		  "model m { arms = 2 features = 0 }",
		        2, "queue_limit: less than 16 messages, expected at least 16 times message_limit" },
		{ "sockets { requests = { \"tcp://[::g]:50\" } } model m { arms = 2 features = 0 }", 1,
		        "tcp://[::g]:50" },
		{ "sockets { requests = { \"tcp://a/b:50\" } } model m { arms = 2 features = 0 }", 1, "tcp://a/b:50" },
		{ "sockets { requests = { \"ipc://r\x7f\" } } model m { arms = 2 features = 0 }", 1, "ipc://r?" },
		{ SMALL "state_dir = \"\"", 3, "state_dir: \"\"" },
		{ SMALL "http { listen = \"5599\" }", 3, "listen: \"5599\" is not allowed, expected ADDRESS:PORT" },
		{ SMALL "http { }", 3, "listen: missing" },
		{ SMALL "checkpoint { every = 60 }", 3, "every: \"60\" is not allowed, expected a duration" },
		{ SMALL "checkpoint { every = 8d }", 3, "from 1s to 7d" },
		{ SMALL "checkpoint { every = 99999999999999999999s }", 3, "every" },
		{ SMALL "checkpoint { keep = -1 }", 3, "keep: \"-1\" is not allowed, expected a whole number from 1" },
		{ SMALL "journal { segment = 1MB }", 3, "segment: \"1MB\"" },
		{ SMALL "journal {\n segment = 1GiB\n keep = 1MiB }", 5, "keep: less than one segment" },
		{ SMALL "journal { keep = 1048577GiB }", 3, "keep: \"1048577GiB\" is not allowed" },
		{ SMALL "journal { segment = 4097MiB }", 3, "segment: \"4097MiB\" is not allowed" },
		{ SMALL "journal { segment = 63KiB }", 3, "segment: \"63KiB\" is not allowed" },
		{ SMALL "journal { interval = 61s }", 3, "interval: \"61s\" is not allowed" },
		{ SMALL "journal { interval = 999us }", 3, "interval: \"999us\" is not allowed" },
		{ "sockets { requests = { \"ipc://r\",\n \"inproc://x\" } } model m { arms = 2 features = 0 }", 2,
		        "requests: \"inproc://x\"" },
		{ "sockets { requests = { \"tcp://*:99999\" } } model m { arms = 2 features = 0 }", 1,
		        "tcp://*:99999" },
		{ "sockets { requests = { \"tcp://:5000\" } } model m { arms = 2 features = 0 }", 1, "tcp://:5000" },
		{ "sockets { contexts_connect = { \"tcp://*:50\" } } model m { arms = 2 features = 0 }", 1,
		        "tcp://*:50" },
		{ "sockets { requests = { \"tcp://localhost:50\" } } model m { arms = 2 features = 0 }", 1,
		        "\"tcp://localhost:50\" is not allowed, expected tcp://ADDRESS:PORT with an address or "
		        "interface" },
		{ "sockets { actions_bind = { \"tcp://host.example:50\" } requests = { \"ipc://r\" } }\n"
		  "model m { arms = 2 features = 0 }",
		        1, "no host name" },
		{ "sockets { requests = { \"tcp://1.2.3:50\" } } model m { arms = 2 features = 0 }", 1,
		        "tcp://1.2.3:50" },
		{ TAIL "model small { arms = 2 features = 0 }\nmodel m { arms = 10000 features = 0\n bits = 24 }", 4,
		        "model: \"m\" takes about " },
		{ "state_dir = a\n" SMALL "state_dir = a", 4,
		        "state_dir: stands twice, expected once (the first is on line 1)" },
		{ "log { level = info\n }\n" SMALL "log { facility = user }", 5,
		        "log: stands twice, expected once (the first ends on line 2)" },
		{ TAIL "model m { arms = 2 features = 2\n arms = 3 }", 3, "arms: stands twice" },
		{ TAIL "model m { arms = 2 features = 2 loss_range = {0, 1}\n loss_range = {0, 2} }", 3,
		        "loss_range: stands twice" },
		{ "sockets { requests = { \"tcp://[::1:50\" } } model m { arms = 2 features = 0 }", 1,
		        "tcp://[::1:50" },
		{ "sockets { requests = { \"ipc://r\" }\n feedback_bind = { \"ipc://r\" } }\n"
		  "model m { arms = 2 features = 0 }",
		        2, "bound already" },
		{ "model m { arms = 2 features = 0 }", 0, "sockets: no way in" },
		{ "sockets { actions_bind = { \"ipc://a\" }\n }\nmodel m { arms = 2 features = 0 }", 2, "no way in" },
		{ TAIL, 0, "model: 0 sections" },
		{ TAIL "model \"a b\" { arms = 2 features = 0 }", 2, "model: \"a b\" is no name" },
		{ TAIL "model \"\" { arms = 2 features = 0 }", 2, "is no name" },
		{ TAIL "model m {\n learner = forest\n features = 1 }", 3, "learner: \"forest\"" },
		{ TAIL "model m { features = 2\n }", 3, "arms: missing in model \"m\"" },
		{ TAIL "model m { arms = 2\n }", 3, "features: missing" },
		{ TAIL "model m { arms = 1 features = 2 }", 2,
		        "arms: \"1\" is not allowed, expected a whole number from 2" },
		{ TAIL "model m { arms = 2.5 features = 2 }", 2, "arms: \"2.5\"" },
		{ TAIL "model m { learner = value\n arms = 2 features = 2 }", 3,
		        "arms: this learner has no such option" },
		{ TAIL "model m { arms = 2 features = 2\n delta = 1 }", 3, "only in models of learner value" },
		{ TAIL "model m { arms = 2 features = 2 height = 9 }", 2, "height: 9 is too high for this learner" },
		{ TAIL "model m { learner = rank features = 2 candidate_features = 1 height = 9 }", 2,
		        "height: 9 is too high for this learner" },
		{ TAIL "model m { learner = rank features = 2 }", 2, "candidate_features: missing in model \"m\"" },
		{ TAIL "model m { learner = rank features = 2 candidate_features = 0 }", 2,
		        "candidate_features: missing in model \"m\"" },
		{ TAIL "model m { learner = rank features = 0 candidate_features = 2 }", 2,
		        "candidate_features: candidates are sparse when contexts are" },
		{ TAIL "model m { learner = rank features = 2 candidate_features = 2 arms = 2 }", 2,
		        "arms: this learner has no such option" },
		{ TAIL "model m { arms = 2 features = 2 candidate_features = 2 }", 2,
		        "only in models of learner rank" },
		{ TAIL "model m { learner = rank features = 2 candidate_features = 2\n max_candidates = 10001 }", 3,
		        "max_candidates: 10001, expected 1 to 10000" },
		{ TAIL "model m { learner = rank features = 2 candidate_features = 2000\n max_candidates = 9000 }", 3,
		        "max_candidates: 9000 candidates of 2000 features" },
		{ TAIL "model m { arms = 2 features = 2 trees = 65 }", 2, "trees" },
		{ TAIL "model m { arms = 2 features = 2 learner = dgt height = 13 }", 2, "height" },
		{ TAIL "model m { arms = 2 features = 2 epsilon = 1.01 }", 2, "epsilon: \"1.01\"" },
		{ TAIL "model m { arms = 2 features = 2 epsilon = nan }", 2, "epsilon: \"nan\"" },
		{ TAIL "model m { arms = 2 features = 2\n epsilon_floor = 0.2 }", 3,
		        "epsilon_floor: 0.2 is above epsilon" },
		{ TAIL "model m { arms = 2 features = 2 policy = bag }", 2,
		        "policy: \"bag\" is not allowed, expected epsilon, squarecb, fastcb or matching" },
		{ TAIL "model m { arms = 2 features = 2 optimism = -0.1 }", 2,
		        "optimism: \"-0.1\" is not allowed, expected a number from 0 to 1000" },
		{ TAIL "model m { learner = dgt arms = 2 features = 2\n optimism = 0.1 }", 3,
		        "optimism: this learner has no such option, expected it only in models of learner ensemble" },
		{ TAIL "model m { learner = value features = 0\n optimism = 0.1 }", 3,
		        "optimism: this learner has no" },
		{ TAIL "model m { learner = rank features = 0\n experts = { linear } }", 3,
		        "experts: this learner has no such option" },
		{ TAIL "model m { arms = 2 features = 2 least_propensity = 1.1 }", 2,
		        "least_propensity: \"1.1\" is not allowed, expected a number from 0 to 1" },
		{ TAIL "model m { learner = value features = 2\n least_propensity = 0.1 }", 3,
		        "least_propensity: this learner has no such option, expected it only in models of learner "
		        "ensemble or dgt or rank" },
		{ TAIL "model m { learner = rank features = 0\n share_min = { \"0=0.1\" } }", 3,
		        "share_min: this learner has no such option" },
		{ TAIL "model m { arms = 2 features = 2 share_min = { \"0=0.1\",\n \"0=0.2\" } }", 3,
		        "share_min: \"0=0.2\" is not allowed, expected ARM=SHARE, an arm's number from 0 and a share" },
		{ TAIL "model m { arms = 2 features = 2\n share_min = { \"0=0.6\", \"1=0.6\" } }", 3,
		        "share_min: the arms' shares add to more than 1" },
		{ TAIL "model m { arms = 3 features = 2\n share_min = { \"0=0.6\", \"1=0.4\" } }", 3,
		        "share_min: with least_propensity for the other arms" },
		{ TAIL "model m { arms = 2 features = 2\n share_max = { \"0=0.3\", \"1=0.3\" } }", 3,
		        "share_max: all arms' shares add to less than 1" },
		{ TAIL "model m { arms = 2 features = 2 share_min = { \"0=0.3\" }\n share_max = { \"0=0.2\" } }", 2,
		        "share_min: above the same arm's share_max" },
		{ TAIL "model m { arms = 2 features = 2 experts = {\n \"linear\",\n \"stumps\" } }", 4,
		        "experts: \"stumps\" is not allowed, expected some of linear, trees, quadratic and forest, "
		        "each "
		        "once" },
		{ TAIL "model m { arms = 2 features = 2 experts = { linear,\n forest, linear } }", 3,
		        "experts: \"linear\" is not allowed, expected some of linear, trees" },
		{ TAIL "model m { arms = 2 features = 2 experts = { } }", 2, "experts: \"{}\"" },
		{ TAIL "model m { arms = 10000 features = 65536\n experts = { quadratic } }", 3,
		        "experts: none of them can help with so many arms and features" },
		{ TAIL "model m { arms = 2 features = 2 loss_range = {1, 1} }", 2, "loss_range: \"1\"" },
		{ TAIL "model m { arms = 2 features = 2 loss_range = {0, 1e101} }", 2, "loss_range: \"1e101\"" },
		{ TAIL "model m { arms = 2 features = 2 loss_range = {1} }", 2, "loss_range: \"{one number}\"" },
		{ TAIL "model m { arms = 2 features = 2 loss_range = {} }", 2, "loss_range: \"{}\"" },
		{ TAIL "model m { arms = 2 features = 2 loss_range = {0,1,2} }", 2, "loss_range: \"2\"" },
		{ TAIL "model m { arms = 2 features = 2 default_loss = 2 }", 2,
		        "default_loss: 2 is outside loss_range" },
		{ TAIL "model m { learner = value features = 2\n default_loss = 500 }", 3,
		        "default_loss: 500 is outside loss_range, expected none or a number from 0 to 1" },
		{ TAIL "model m { arms = 2 features = 2 default_loss = inf }", 2, "default_loss: \"inf\"" },
		{ TAIL "model m { arms = 2 features = 2 seed = -1 }", 2, "seed" },
		{ TAIL "model m { arms = 2 features = 0 feature_names = f }", 2, "feature_names: sparse" },
		{ TAIL "model m { learner = rank features = 0 candidate_names = f }", 2, "candidate_names: sparse" },
		{ TAIL "model m { arms = 2 features = 2 candidate_names = f }", 2,
		        "candidate_names: this learner has no such option" },
		{ TAIL "model m { learner = value feedback = bins features = 2\n delta = 0.1 }", 3,
		        "only with feedback = \"one\" or \"two\"" },
		{ TAIL "model m { learner = value feedback = bins features = 2\n trees = 3 }", 3,
		        "trees: feedback \"bins\"" },
		{ TAIL "model m { learner = value feedback = bins features = 2\n refit { enabled = true } }", 3,
		        "refit: feedback \"bins\"" },
		{ TAIL "model m { learner = value feedback = two features = 2 delta = 0 }", 2, "delta: \"0\"" },
		{ TAIL "model m { learner = value feedback = one features = 2 delta = 0.6 }", 2, "delta: both probes" },
		{ TAIL "model m { learner = value features = 2 apprentice = true }", 2,
		        "apprentice: contexts have no place for a value" },
		{ TAIL "model m { arms = 2 features = 2 apprentice = perhaps }", 2, "apprentice: \"perhaps\"" },
		{ TAIL "model m { learner = dgt arms = 2 features = 2 shared_bias = maybe }", 2,
		        "shared_bias: \"maybe\"" },
		{ TAIL "model m { arms = 2 features = 2 refit {\n every = soon } }", 3,
		        "every: \"soon\" is not allowed, expected a duration" },
		{ TAIL "model m { arms = 2 features = 2 refit { least_feedback = 0 } }", 2,
		        "least_feedback: \"0\" is not allowed, expected a whole number from 1" },
		{ TAIL "model m { arms = 2 features = 2 refit { on_drift = river } }", 2,
		        "on_drift: \"river\" is not allowed, expected none, adwin or page-hinkley" },
		{ TAIL "model m { arms = 2 features = 2 refit { holdout = 1 } }", 2,
		        "holdout: \"1\" is not allowed, expected a number from 0 to 0.9" },
		{ TAIL "model m { arms = 2 features = 2 refit { alpha = -1 } }", 2,
		        "alpha: \"-1\" is not allowed, expected auto or a number from 0 to" },
		{ TAIL "model m { arms = 2 features = 2 refit { promote = yes } }", 2,
		        "promote: \"yes\" is not allowed, expected evidence, bound, never or hand" },
		{ TAIL "model m { arms = 2 features = 2 refit { nice = 20 } }", 2, "nice: \"20\"" },
		{ TAIL "model m { arms = 2 features = 2 refit { memory = 1MiB } }", 2, "memory: \"1MiB\"" },
		{ TAIL "model m { arms = 2 features = 2 refit { risk = 0 } }", 2, "risk: \"0\"" },
		{ TAIL "model m { learner = dgt arms = 2 features = 2 height = 3\n refit { height = 4 } }", 3,
		        "height: 4 in section refit is more than the model's, expected 1 to 3" },
		{ TAIL "model m { arms = 2 features = 2\n refit { keep = 1 }\n refit { keep = 2 } }", 4,
		        "refit: stands twice, expected once (the first ends on line 3)" },
		{ TAIL "model m { arms = 2 features = 2\n refit { keep = 1 }\n arms = 3 }", 4,
		        "arms: stands twice, expected once (the first is on line 2)" },
		{ TAIL "model m { arms = 2 features = 2\n refit { keep = 1\n keep = 2 } }", 4,
		        "keep: stands twice, expected once (the first is on line 3)" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		refused(COP_EINVAL, cases[i].text, cases[i].line, cases[i].holds);
}

/* As refused, of a text that was read from a file: that of a journal is taken as it stands. */
static void refused_in_file(const char *text, uint64_t line, const char *holds)
{
	cop_config *config;
	cop_config_report report;
	cop_config_report_init(&report);
	assert_int_equal(cop_config_parse(text, strlen(text), "test.conf", ".", &config, &report), COP_EINVAL);
	assert_int_equal(report.count, 1);
	assert_int_equal(report.items[0].line, line);
	assert_non_null(strstr(report.items[0].message, holds));
	cop_config_report_fini(&report);
	cop_config_free(good(text));
}

static void test_config_options_of_another_policy_are_refused(void **state)
{
	(void)state;
	static const char *const texts[][2] = {
		{ "arms = 2 epsilon = 0.1", "epsilon: policy matching has no such option" },
		{ "arms = 2 epsilon_decay = 0.1", "epsilon_decay: policy matching" },
		{ "arms = 2 policy = squarecb epsilon_floor = 0.1", "epsilon_floor: policy squarecb" },
		{ "learner = rank epsilon = 0.1", "expected it only with policy = \"epsilon\"" },
		{ "learner = dgt arms = 2 gamma = 3", "gamma: policy epsilon has no such option" },
	};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		char text[256];
		bool rank = strstr(texts[i][0], "rank") != NULL;
		(void)snprintf(text, sizeof text, TAIL "model m { features = %d %s }\n", rank ? 0 : 2, texts[i][0]);
		refused_in_file(text, 2, texts[i][1]);
	}
	cop_config_free(good(TAIL "model m { features = 2 arms = 2 policy = epsilon epsilon = 0.2 }\n"));
	static const char *const exploring[] = { "matching", "fastcb", "squarecb" };
	for (size_t i = 0; i < 3; i++) {
		char text[256];
		(void)snprintf(text, sizeof text, TAIL "model m { features = 2 arms = 2 policy = %s gamma = 3 }\n",
		        exploring[i]);
		cop_config *config;
		cop_config_report report;
		cop_config_report_init(&report);
		assert_int_equal(cop_config_parse(text, strlen(text), "test.conf", ".", &config, &report), COP_OK);
		assert_true(config->models[0].set.learner.exploration.gamma == 3.0);
		cop_config_report_fini(&report);
		cop_config_free(config);
	}
}

/* What stands on one line is told apart by its option's whole name. */
static void test_config_wrong_options_of_one_line_are_all_named(void **state)
{
	(void)state;
	static const struct {
		const char *options;
		const char *holds[3];
	} cases[] = {
		{ "arms = 2 gamma = x epsilon = 0.1",
		        { "gamma: \"x\"", "epsilon: policy matching has no such option" } },
		{ "arms = 2 epsilon_decay = x epsilon = 0.1",
		        { "epsilon_decay: \"x\"", "epsilon: policy matching has no such option" } },
		{ "arms = 2 policy = squarecb epsilon = x", { "epsilon: \"x\"" } },
		{ "arms = 2 learner = vw epsilon = 0.1", { "learner: \"vw\"" } },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char text[256];
		cop_config *config;
		cop_config_report report;
		(void)snprintf(text, sizeof text, TAIL "model m { features = 2 %s }\n", cases[i].options);
		cop_config_report_init(&report);
		assert_int_equal(cop_config_parse(text, strlen(text), "t", ".", &config, &report), COP_EINVAL);
		size_t count = 0;
		for (; cases[i].holds[count] != NULL; count++)
			if (count >= report.count || strstr(report.items[count].message, cases[i].holds[count]) == NULL)
				fail_msg("%s: not %s", cases[i].options, cases[i].holds[count]);
		assert_int_equal(report.count, count);
		cop_config_report_fini(&report);
	}
}

static void test_config_endpoint_is_bound_once_within_and_among_lists(void **state)
{
	(void)state;
	static const char *const lists[] = { "requests", "contexts_bind", "feedback_bind", "feedback_pull_bind",
		"actions_bind" };
	enum { LISTS = sizeof lists / sizeof *lists };
	for (size_t i = 0; i < LISTS; i++)
		for (size_t j = 0; j < LISTS; j++) {
			char text[256];
			(void)snprintf(text, sizeof text,
			        i == j ? "sockets { %s = { \"ipc://x\", \"ipc://y\",\n\"ipc://x\" } %s = { \"ipc://z\" "
			                 "} }\n%s"
			               : "sockets { %s = { \"ipc://y\", \"ipc://x\" }\n%s = { \"ipc://x\" } }\n%s",
			        lists[i], i == j ? lists[(i + 1) % LISTS] : lists[j],
			        "model m { arms = 2 features = 2 }\n");
			refused(COP_EINVAL, text, i <= j ? 2 : 1,
			        "\"ipc://x\" is bound already, expected each endpoint once");
		}
	cop_config_free(good("sockets { requests = { \"ipc://x\" } contexts_connect = { \"ipc://x\", \"ipc://x\" }\n"
	                     "feedback_connect = { \"ipc://x\" } }\nmodel m { arms = 2 features = 2 }\n"));
}

/* 64 endpoints, and one more. */
static void test_config_endpoints_are_counted(void **state)
{
	(void)state;
	for (unsigned count = 64; count <= 65; count++) {
		char text[4096] = "sockets { requests = { ";
		size_t used = strlen(text);
		for (unsigned i = 0; i < count; i++)
			used += (size_t)snprintf(
			        text + used, sizeof text - used, "%s\"ipc://r%u\"", i > 0 ? ", " : "", i);
		(void)snprintf(text + used, sizeof text - used, " } }\nmodel m { arms = 2 features = 0 }\n");
		if (count == 64)
			cop_config_free(good(text));
		else
			refused(COP_EINVAL, text, 1, "65 endpoints are too many, expected at most 64");
	}
}

static void test_config_variable_that_is_not_set_is_refused(void **state)
{
	(void)state;
	assert_int_equal(unsetenv("COP_TEST_UNSET"), 0);
	assert_int_equal(setenv("COP_TEST_SET", "7", 1), 0);
	refused_in_file("state_dir = \"/x/${COP_TEST_UNSET}/y\"\n" SMALL, 1, "COP_TEST_UNSET is not set");
	refused_in_file("# \"${A}\n/* \"${B} */ // \"${C}\n" SMALL "log { facility = \"user${COP_TEST_UNSET}\" }\n", 5,
	        "COP_TEST_UNSET is not set");
	static const char *const taken[] = { "state_dir = \"/x/${COP_TEST_SET}\"\n" SMALL,
		"state_dir = \"/x/${COP_TEST_UNSET:-y}\"\n" SMALL, "state_dir = \"/x/\\${COP_TEST_UNSET}\"\n" SMALL,
		"state_dir = '/x/${COP_TEST_UNSET}'\n" SMALL };
	for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
		cop_config *config;
		cop_config_report report;
		cop_config_report_init(&report);
		assert_int_equal(cop_config_parse(taken[i], strlen(taken[i]), "t", ".", &config, &report), COP_OK);
		cop_config_report_fini(&report);
		cop_config_free(config);
	}
}

static void test_config_syntax_errors_stop_with_their_line(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		uint64_t line;
		const char *holds;
	} cases[] = {
		{ TAIL "model m {\n epsillon = 0.1 }", 3, "no such option 'epsillon'" },
		{ "\nfoo = 1", 2, "no such option 'foo'" },
		{ "}", 1, "" },

		{ "state_dir = {1, 2}", 1, "{" },
		{ "model { }", 1, "title" },
		{ SMALL "\nmodel m { }", 4, "m" },
		{ "state_dir = \"abc", 1, "end of file" },
		{ SMALL "http { listen = \"1.2.3.4:5\"\n", 3, "ends inside a section" },
		{ SMALL "/* open", 0, "ends inside" },
		{ SMALL "\"\" ", 3, "not understood" },
		{ SMALL "include(\"/etc/passwd\")", 3, "no such option 'include'" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		refused(COP_EFORMAT, cases[i].text, cases[i].line, cases[i].holds);
}

static void test_config_bytes_that_are_no_text_are_refused(void **state)
{
	(void)state;
	cop_config *config;
	cop_config_report report;
	cop_config_report_init(&report);
	assert_int_equal(cop_config_parse("a\0b", 3, "x", NULL, &config, &report), COP_EFORMAT);
	assert_null(config);
	assert_int_equal(report.count, 1);
	cop_config_report_fini(&report);
}

static void test_config_all_wrong_values_are_in_one_report(void **state)
{
	(void)state;
	cop_config *config;
	cop_config_report report;
	assert_int_equal(parse("log { level = x\n facility = y }\n"
	                       "checkpoint { every = 0s }\n"
	                       "model a {\n arms = 0\n epsilon = 2\n gamma = -1 }\n"
	                       "model b { learner = value\n features = x\n feedback = three }\n",
	                         &config, &report),
	        COP_EINVAL);
	unsigned seen = 0;
	for (size_t i = 0; i < report.count; i++)
		seen |= 1u << report.items[i].line;
	/* line 0: sockets; 7: gamma and the missing features */
	assert_int_equal(report.count, 10);
	assert_int_equal(
	        seen, 1u << 0 | 1u << 1 | 1u << 2 | 1u << 3 | 1u << 5 | 1u << 6 | 1u << 7 | 1u << 9 | 1u << 10);
	cop_config_report_fini(&report);
}

/* Of an unknown learner every option may be one; what is wrong in any case is said. */
static void test_config_unknown_learner_hides_no_other_error(void **state)
{
	(void)state;
	cop_config *config;
	cop_config_report report;
	assert_int_equal(parse(TAIL "model m {\n learner = vw\n arms = 1\n delta = 0.1\n default_loss = 7\n"
	                            " epsilon_floor = 0.5\n gamma = x\n}\n",
	                         &config, &report),
	        COP_EINVAL);
	static const char *const holds[] = { "learner: \"vw\"", "arms: \"1\"", "gamma: \"x\"", "features: missing",
		"default_loss: 7 is outside" };
	assert_int_equal(report.count, sizeof holds / sizeof *holds);
	for (size_t i = 0; i < report.count; i++)
		assert_non_null(strstr(report.items[i].message, holds[i]));
	cop_config_report_fini(&report);
}

static void test_config_same_options_in_several_models_are_no_duplicates(void **state)
{
	(void)state;
	cop_config_free(
	        good("sockets { requests = { \"ipc://r\" } requests += { \"ipc://q\", \"tcp://127.0.0.1:50\" } }\n"
	             "log { level = info }\n"
	             "model a { arms = 2 features = 3 loss_range = {0, 2} }\n"
	             "model b { arms = 2 features = 3 loss_range = {0, 2} }\n"
	             "checkpoint { keep = 2 }\n"));
}

/* What passes here at the ends of its range can be made by lib/online. */
static void test_config_limits_are_the_models_own(void **state)
{
	(void)state;
	cop_config *config = good(TAIL
	        "model a { arms = 10000 features = 1 trees = 0 height = 8 epsilon_decay = 1 epsilon = 0 gamma = 1e9\n"
	        " learning_rate = 100 pending_max = 100000000 explain_keep = 65536 default_loss = 1 }\n"
	        "model b { arms = 2 features = 65536 trees = 64 height = 1 learning_rate = 1e-9 gamma = 1e-6\n"
	        " epsilon = 1 epsilon_floor = 1 reward_window = 1ms }\n"
	        "model c { learner = dgt arms = 2 features = 0 bits = 1 max_nonzeros = 65536 height = 12 }\n"
	        "model d { learner = value feedback = two features = 0 bits = 20 trees = 0 height = 12 max_nonzeros = "
	        "1\n"
	        " value_range = {0, 1e100} loss_range = {-1e100, 1e100} default_loss = -1e100 delta = 5e99 }\n"
	        "model e { learner = value feedback = two features = 1 trees = 64 height = 12 value_range = {0, "
	        "1e-100} }\n");
	for (size_t i = 0; i < config->model_count; i++) {
		cop_model_settings settings = config->models[i].set;
		cop_model *model;
		cop_diag diag = { 0 };
		settings.explain_keep /= 1024; /* its room is not what this is about */
		if (cop_model_new(&settings, &model, &diag) != COP_OK)
			fail_msg("%s: %s", config->models[i].name, diag.message);
		cop_model_free(model);
		assert_true(cop_config_model_bytes(&config->models[i]) > 0);
	}
	cop_config_free(config);
}

static void test_config_report_is_bounded(void **state)
{
	(void)state;
	char text[16384] = TAIL;
	size_t used = strlen(text);
	for (int i = 0; i < 60; i++)
		used += (size_t)snprintf(text + used, sizeof text - used, "model m%d { }\n", i);
	cop_config *config;
	cop_config_report report;
	assert_int_equal(parse(text, &config, &report), COP_EINVAL);
	assert_int_equal(report.count, COP_CONFIG_MAX_MESSAGES);
	assert_int_equal(report.omitted, 120 - COP_CONFIG_MAX_MESSAGES);
	cop_config_report_fini(&report);
}

/* Texts of any length: cut, with bytes that are no text as '?'. */
static void test_config_complaint_of_any_length_is_cut(void **state)
{
	(void)state;
	enum { ROOM = sizeof((cop_diag *)NULL)->message };
	char text[2 * ROOM];
	cop_config_report report;
	cop_config_report_init(&report);
	cop_config_reading reading = { .report = &report, .source = "test.conf" };
	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	cop_config_complain(&reading, 7, "option", "%s", text);
	cop_config_complain(&reading, 8, text, "%s", text);
	cop_config_complain(&reading, 9, "", "%s", "\x01\x1f \x7e\x7f");
	assert_true(reading.wrong);
	assert_int_equal(report.count, 3);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(strlen(report.items[i].message), ROOM - 1);
	assert_memory_equal(report.items[0].message, "option: xx", 10);
	assert_string_equal(report.items[2].message, "?? \x7e?");
	assert_int_equal(report.items[2].line, 9);
	cop_config_report_fini(&report);
}

/* 1 MiB of text, and one byte more, given as text and in a file. */
static void test_config_longer_than_a_mebibyte_is_refused(void **state)
{
	(void)state;
	enum { MOST = 1 << 20 };
	char folder[] = "/tmp/cop_config_XXXXXX", path[64];
	char *text = malloc(MOST + 2);
	assert_non_null(text);
	assert_non_null(mkdtemp(folder));
	(void)snprintf(path, sizeof path, "%s/c.conf", folder);
	for (size_t more = 0; more < 2; more++) {
		cop_config *config;
		cop_config_report report;
		(void)snprintf(text, MOST, "%s#", SMALL);
		memset(text + strlen(SMALL) + 1, 'x', MOST + more - strlen(SMALL) - 1);
		for (size_t at = strlen(SMALL) + 100; at + 1 < MOST; at += 100) /* lines, as a person writes them */
			memcpy(&text[at], "\n#", 2);
		text[MOST + more] = '\0';
		assert_int_equal(parse(text, &config, &report), more == 0 ? COP_OK : COP_EFORMAT);
		if (more != 0)
			assert_non_null(strstr(report.items[0].message, "expected at most 1 MiB"));
		cop_config_report_fini(&report);
		cop_config_free(config);
		FILE *file = fopen(path, "w");
		assert_non_null(file);
		assert_int_equal(fwrite(text, 1, MOST + more, file), MOST + more);
		assert_int_equal(fclose(file), 0);
		cop_config_report_init(&report);
		assert_int_equal(cop_config_load(path, NULL, &config, &report), more == 0 ? COP_OK : COP_EFORMAT);
		cop_config_report_fini(&report);
		cop_config_free(config);
	}
	free(text);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder), 0);
}

static void test_config_names_of_models_have_1_to_64_letters(void **state)
{
	(void)state;
	for (size_t length = 1; length <= 65; length++) {
		char name[66] = "", text[256];
		memset(name, 'n', length);
		(void)snprintf(text, sizeof text, TAIL "model %s { arms = 2 features = 2 }\n", name);
		if (length == 65) {
			refused(COP_EINVAL, text, 2, "is no name for a model, expected 1 to 64 of A-Z a-z 0-9 . _ -");
			continue;
		}
		cop_config *config = good(text);
		assert_string_equal(config->models[0].name, name);
		cop_config_free(config);
	}
	static const char allowed[] = "azAZ09._-", others[] = "/ :@[`{^,";
	for (size_t i = 0; i < sizeof allowed - 1; i++) {
		char text[256];
		(void)snprintf(text, sizeof text, TAIL "model \"%c\" { arms = 2 features = 2 }\n", allowed[i]);
		cop_config_free(good(text));
		(void)snprintf(text, sizeof text, TAIL "model \"a%cb\" { arms = 2 features = 2 }\n", others[i]);
		refused(COP_EINVAL, text, 2, "is no name for a model");
	}
}

/* 64, and no more. */
static void test_config_as_many_models_as_allowed_are_taken(void **state)
{
	(void)state;
	char text[16384] = TAIL;
	size_t used = strlen(text);
	for (int i = 0; i < 64; i++)
		used += (size_t)snprintf(
		        text + used, sizeof text - used, "model m%d { arms = 2 features = 1 trees = 0 }\n", i);
	cop_config *config = good(text);
	assert_int_equal(config->model_count, 64);
	assert_string_equal(config->models[63].name, "m63");
	assert_ptr_equal(cop_config_find(config, "m63", 3), &config->models[63]);
	assert_null(cop_config_find(config, "m64", 3));
	cop_config_free(config);
}

static void test_config_too_many_models_are_refused(void **state)
{
	(void)state;
	char text[16384] = TAIL;
	size_t used = strlen(text);
	for (int i = 0; i <= COP_CONFIG_MAX_MODELS; i++)
		used += (size_t)snprintf(text + used, sizeof text - used, "model m%d { arms = 2 features = 1 }\n", i);
	refused(COP_EINVAL, text, 0, "model: 65 sections");
}

static const char *const everything =
        "state_dir = \"/tmp/a \\\"b\\\" \\\\ \\$HOME\"\n"
        "log { facility = local3 level = debug }\n"
        "http { listen = \"[::1]:80\" }\n"
        "sockets { requests = { \"tcp://*:1\", \"tcp://[::1]:2\" } contexts_bind = { \"ipc://a\" }\n"
        " contexts_connect = { \"tcp://host.example:3\" } feedback_bind = { \"ipc://b\" }\n"
        " feedback_connect = { \"ipc:///c\" } feedback_pull_bind = { \"ipc://d\" } actions_bind = { \"ipc://e\" }\n"
        " insecure = true message_limit = 1025B }\n"
        "journal { sync = never interval = 1001us segment = 65537B keep = 1TiB }\n"
        "checkpoint { every = 90s keep = 1 }\n"
        "model a { learner = dgt arms = 3 features = 4 epsilon = 0.123456789012345678 epsilon_decay = 1e-7\n"
        " epsilon_floor = 0.01 height = 12 learning_rate = 0.0001 seed = 7 reward_window = 90min\n"
        " default_loss = 0.5 reward = sum loss_range = {-1, 2} shared_bias = no pending_max = 5 explain_keep = 0 "
        "apprentice = true unheard = decide unheard_max = 7 unheard_bytes = 5KiB unheard_age = 3ms\n"
        " feature_names = \"f\" arm_names = \"a\" start_from = \"m\" }\n"
        "model b { learner = value features = 0 bits = 20 max_nonzeros = 7 max_candidates = 9 value_range = {-5, "
        "\"1e+30\"}\n"
        " delta = 0.3 feedback = one default_loss = \"-1e+30\" loss_range = {\"-1e+31\", 0} }\n"
        "model c { arms = 2 features = 1 policy = epsilon trees = 0 height = 8 optimism = 0 experts = { trees, forest "
        "} least_propensity = 0.25 share_min = { \"1=0.3\", \"0=1e-3\" } share_max = { \"1=0.50000000000000011\" } }\n"
        "model d { learner = rank features = 2 candidate_features = 3 max_candidates = 10000 trees = 64 gamma = "
        "1000000 }\n"
        "model e { learner = rank features = 0 bits = 9 max_nonzeros = 100 policy = epsilon epsilon = 0.5 }\n";

static void test_config_printed_reads_back_equal(void **state)
{
	(void)state;
	round_trip(good(SMALL));
	round_trip(good(everything));
}

static void test_config_baseline_waits_for_its_group_to_return(void **state)
{
	(void)state;
	cop_config *config = good(TAIL "model m { arms = 2 features = 1 holdout = 0 baseline = 1 }\n");
	assert_false(config->models[0].set.has_baseline); /* nobody is held out */
	round_trip(config);
	config = good(TAIL "model m { arms = 2 features = 1 holdout = 0.1 baseline = 1 }\n");
	assert_true(config->models[0].set.has_baseline);
	round_trip(config);
}

static void test_config_built_in_demo_is_valid(void **state)
{
	(void)state;
	cop_config *config;
	cop_config_report report;
	cop_config_report_init(&report);
	assert_int_equal(cop_config_load(NULL, NULL, &config, &report), COP_OK);
	assert_string_equal(config->state_dir, ".");
	assert_string_equal(config->requests.items[0], "ipc://requests.ipc");
	assert_string_equal(config->models[0].name, "demo");
	assert_string_equal(config->models[0].set.learner.policy, "matching");
	assert_int_equal(config->models[0].set.learner.arms, 6);
	assert_int_equal(config->models[0].set.learner.features, 36);
	round_trip(config);
}

/* The comments of conf/coppice.conf say that they show the defaults: so nothing differs from leaving them out. */
static void test_config_example_shows_the_defaults(void **state)
{
	(void)state;
	cop_config *config;
	cop_config_report report;
	cop_config_report_init(&report);
	cop_err err = cop_config_load(COP_CONF_DIR "/coppice.conf", NULL, &config, &report);
	if (err != COP_OK && report.count != 0)
		print_message("%lu: %s\n", (unsigned long)report.items[0].line, report.items[0].message);
	assert_int_equal(err, COP_OK);
	cop_config *plain =
	        good("sockets { requests = { \"tcp://127.0.0.1:5590\", \"ipc:///run/coppice/requests.ipc\" }\n"
	             "admin = { \"ipc:///run/coppice/admin.ipc\" }\n"
	             "contexts_bind = { \"tcp://127.0.0.1:5591\" } feedback_bind = { \"tcp://127.0.0.1:5592\" }\n"
	             "actions_bind = { \"tcp://127.0.0.1:5593\" } }\n"
	             "model front-page { arms = 6 features = 36 }\n");
	cop_config_changes changes;
	cop_config_default_refits(config, false); /* whatever is installed */
	assert_int_equal(cop_config_diff(plain, config, &changes), COP_OK);
	for (size_t i = 0; i < changes.count; i++)
		print_message("%s\n", changes.items[i].text);
	assert_int_equal(changes.count, 0);
	cop_config_changes_free(&changes);
	cop_config_free(plain);
	cop_config_free(config);
}

static void test_config_missing_file_is_reported(void **state)
{
	(void)state;
	cop_config *config;
	cop_config_report report;
	cop_config_report_init(&report);
	assert_int_equal(cop_config_load("/nonexistent/x.conf", NULL, &config, &report), COP_EIO);
	assert_null(config);
	assert_int_equal(report.count, 1);
	assert_string_equal(report.items[0].source, "/nonexistent/x.conf");
	assert_int_equal(report.items[0].line, 0);
	assert_non_null(strstr(report.items[0].message, "cannot be read: No such file"));
	cop_config_report_fini(&report);
	assert_int_equal(cop_config_load("/", NULL, &config, &report), COP_EIO);
	cop_config_report_fini(&report);
}

/* What waits has what the model leaves; a model that is larger is refused. */
static void test_config_memory_bounds_a_model_with_what_waits(void **state)
{
	(void)state;
	cop_config *config = good(TAIL "model a { arms = 2 features = 3 refit { enabled = false } }\n"
	                               "model b { arms = 2 features = 3 memory = 256MiB refit { enabled = false } }\n"
	                               "model c { arms = 2 features = 3 memory = 256MiB pending_bytes = 1MiB }\n"
	                               "model d { arms = 2 features = 3 memory = 256MiB }\n");
	assert_int_equal(config->models[0].set.pending_bytes, 1 << 30);
	uint64_t rest = (256u << 20) - config->models[1].unheard_bytes - cop_config_model_bytes(&config->models[1]);
	assert_int_equal(config->models[1].set.pending_bytes, rest);
	assert_int_equal(config->models[2].set.pending_bytes, 1 << 20);
	assert_true(config->models[3].set.pending_bytes < rest); /* a refit may come */
	cop_config_free(config);
	refused(COP_EINVAL, TAIL "model a { arms = 2 features = 3 memory = 16MiB }\n", 2, "takes about");
	refused(COP_EINVAL, TAIL "model a { arms = 2 features = 3 memory = 256MiB pending_bytes = 256MiB }\n", 2,
	        "that memory leaves for decisions that wait");
}

static void write_file(const char *folder, const char *name, const char *text)
{
	char path[256];
	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
	assert_int_equal(fclose(file), 0);
}

static void remove_file(const char *folder, const char *name)
{
	char path[256];
	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	assert_int_equal(unlink(path), 0);
}

static cop_err load_in(const char *folder, cop_config **config, cop_config_report *report)
{
	char path[256];
	(void)snprintf(path, sizeof path, "%s/c.conf", folder);
	cop_config_report_init(report);
	return cop_config_load(path, NULL, config, report);
}

static void test_config_name_files_are_read_beside_the_file(void **state)
{
	(void)state;
	char folder[] = "/tmp/cop_config_XXXXXX";
	assert_non_null(mkdtemp(folder));
	write_file(folder, "c.conf",
	        TAIL "model m { arms = 2\nfeatures = 3 feature_names = \"f.txt\" arm_names = a.txt }\n");
	write_file(folder, "f.txt", "age\nheight in cm\r\nweight");
	write_file(folder, "a.txt", "left\nright\n");
	cop_config *config;
	cop_config_report report;
	assert_int_equal(load_in(folder, &config, &report), COP_OK);
	assert_int_equal(config->models[0].feature_name_list.count, 3);
	assert_string_equal(config->models[0].feature_name_list.items[1], "height in cm");
	assert_string_equal(config->models[0].arm_name_list.items[1], "right");
	cop_config_free(config);

	static const struct {
		const char *features;
		const char *holds;
	} cases[] = {
		{ "a\nb\n", "f.txt: 2 lines, expected 3" },
		{ "a\nb\nc\nd\n", "f.txt:4: too many lines" },
		{ "a\n\nc\n", "f.txt:2: expected a name" },
		{ "a\nb\na\n", "\"a\" stands twice" },
		{ "a\nb\x01\nc\n", "f.txt:2: expected a name" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		write_file(folder, "f.txt", cases[i].features);
		assert_int_equal(load_in(folder, &config, &report), COP_EINVAL);
		assert_int_equal(report.count, 1);
		assert_int_equal(report.items[0].line, 3);
		assert_non_null(strstr(report.items[0].message, cases[i].holds));
		cop_config_report_fini(&report);
	}
	remove_file(folder, "f.txt");
	assert_int_equal(load_in(folder, &config, &report), COP_EINVAL);
	assert_non_null(strstr(report.items[0].message, "No such file"));
	cop_config_report_fini(&report);
	remove_file(folder, "a.txt");
	remove_file(folder, "c.conf");
	assert_int_equal(rmdir(folder), 0);
}

static void test_config_names_are_trimmed_and_bounded(void **state)
{
	(void)state;
	char folder[] = "/tmp/cop_config_XXXXXX", longest[258];
	assert_non_null(mkdtemp(folder));
	write_file(folder, "c.conf", TAIL "model m { features = 3 arms = 3\narm_names = a.txt }\n");
	memset(longest, 'n', 256);
	for (size_t more = 0; more < 2; more++) {
		cop_config *config;
		cop_config_report report;
		char text[512];
		longest[256 + more] = '\0';
		longest[256] = more == 0 ? '\0' : 'n';
		(void)snprintf(text, sizeof text, "a \t \r\n \tb\tc\r\n%s", longest);
		write_file(folder, "a.txt", text);
		assert_int_equal(load_in(folder, &config, &report), more == 0 ? COP_OK : COP_EINVAL);
		if (more == 0) {
			const cop_config_list *names = &config->models[0].arm_name_list;
			assert_int_equal(names->count, 3);
			assert_string_equal(names->items[0], "a");
			assert_string_equal(names->items[1], " \tb\tc");
			assert_string_equal(names->items[2], longest);
		} else {
			assert_int_equal(report.count, 1);
			assert_int_equal(report.items[0].line, 3);
			assert_non_null(strstr(
			        report.items[0].message, "a.txt:3: expected a name of 1 to 256 printable characters"));
		}
		cop_config_report_fini(&report);
		cop_config_free(config);
	}
	static const struct {
		const char *text, *holds;
	} cases[] = {
		{ "a\nb\n \t\r\n", "a.txt:3: expected a name" },
		{ "a\n\x1f\nc\n", "a.txt:2: expected a name" },
		{ "\x7f\nb\nc\n", "a.txt:1: expected a name" },
		{ "a\nb\n", "a.txt: 2 lines, expected 3" },
		{ "", "a.txt: 0 lines, expected 3" },
		{ "a\nb\nc\n\n", "a.txt:4: expected a name" },
		{ "a\nb\nc\nd", "a.txt:4: too many lines, expected one name for each" },
		{ "c\nb\nc", "a.txt: \"c\" stands twice, expected each name once" },
		{ "b\nb\na", "a.txt: \"b\" stands twice, expected each name once" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cop_config *config;
		cop_config_report report;
		write_file(folder, "a.txt", cases[i].text);
		assert_int_equal(load_in(folder, &config, &report), COP_EINVAL);
		assert_int_equal(report.count, 1);
		assert_int_equal(report.items[0].line, 3);
		if (strstr(report.items[0].message, cases[i].holds) == NULL)
			fail_msg("%s: not %s", report.items[0].message, cases[i].holds);
		cop_config_report_fini(&report);
	}
	cop_config *config;
	cop_config_report report;
	write_file(folder, "c.conf", TAIL "model m { features = 3 arms = 3\narm_names = \".\" }\n");
	assert_int_equal(load_in(folder, &config, &report), COP_EINVAL);
	assert_non_null(strstr(report.items[0].message, "/.: cannot be read"));
	cop_config_report_fini(&report);
	remove_file(folder, "a.txt");
	remove_file(folder, "c.conf");
	assert_int_equal(rmdir(folder), 0);
}

static void test_config_limits_themselves_are_allowed(void **state)
{
	(void)state;
	cop_config *config = good(SMALL "journal { keep = 1048576GiB segment = 4GiB interval = 60s }");
	assert_true(config->journal_keep == UINT64_C(1) << 50 && config->journal_segment == UINT64_C(1) << 32);
	assert_int_equal(config->journal_interval, 60000000);
	cop_config_free(config);
	config = good(SMALL "journal { keep = 64KiB segment = 64KiB interval = 1ms keep_age = 3650d }");
	assert_true(config->journal_keep == 65536 && config->journal_segment == 65536);
	assert_true(config->journal_interval == 1000 && config->journal_age == UINT64_C(3650) * 86400 * 1000000);
	cop_config_free(config);
}

static void test_config_arms_may_be_named_by_their_names(void **state)
{
	(void)state;
	char folder[] = "/tmp/cop_config_XXXXXX";
	assert_non_null(mkdtemp(folder));
	write_file(folder, "a.txt", "left\na=b\n1\nuniform\n");
	static const struct {
		const char *options, *wrong; /* NULL: baseline 1, share_min of arms 0 and 1 */
	} cases[] = {
		{ "baseline = \"a=b\" share_min = { \"left=0.1\", \"a=b=0.2\" } arm_names = a.txt", NULL },
		{ "arm_names = a.txt baseline = 1 share_min = { \"left=0.1\", \"1=0.2\" }",
		        NULL }, /* numbers stay numbers */
		{ "share_min = { \"left=0.1\" }", "share_min: \"left=0.1\" is not allowed, expected ARM=SHARE" },
		{ "share_min = { \"right=0.1\" } arm_names = a.txt", "share_min: \"right=0.1\" is not allowed" },
		{ "baseline = right arm_names = a.txt", "baseline: \"right\" is not allowed" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char text[512];
		cop_config *config;
		cop_config_report report;
		(void)snprintf(text, sizeof text, TAIL "model m { arms = 4\nfeatures = 2 holdout = 0.1 %s }\n",
		        cases[i].options);
		write_file(folder, "c.conf", text);
		cop_err err = load_in(folder, &config, &report);
		assert_int_equal(err, cases[i].wrong == NULL ? COP_OK : COP_EINVAL);
		if (cases[i].wrong != NULL) {
			assert_int_equal(report.count, 1);
			assert_non_null(strstr(report.items[0].message, cases[i].wrong));
			cop_config_report_fini(&report);
			continue;
		}
		const cop_arm_shares *least = &config->models[0].set.learner.exploration.shares.min;
		assert_true(config->models[0].set.baseline == 1.0);
		assert_true(least->count == 2 && least->arm[0] == 0 && least->arm[1] == 1);
		cop_config_free(config);
		cop_config_report_fini(&report);
	}
	write_file(folder, "c.conf",
	        TAIL "model m { arms = 4\nfeatures = 2 holdout = 0.1 baseline = uniform arm_names = a.txt }\n");
	cop_config *config;
	cop_config_report report;
	assert_int_equal(load_in(folder, &config, &report), COP_OK);
	assert_false(config->models[0].set.has_baseline); /* a word stays a word */
	cop_config_free(config);
	cop_config_report_fini(&report);
}

static void test_config_diff_sees_changed_names(void **state)
{
	(void)state;
	char folder[] = "/tmp/cop_config_XXXXXX";
	assert_non_null(mkdtemp(folder));
	write_file(
	        folder, "c.conf", TAIL "model m { arms = 2\nfeatures = 2 arm_names = a.txt feature_names = f.txt }\n");
	for (int features = 0; features < 2; features++) {
		cop_config *old, *next;
		cop_config_report report;
		write_file(folder, "a.txt", "left\nright\n");
		write_file(folder, "f.txt", "size\nage\n");
		assert_int_equal(load_in(folder, &old, &report), COP_OK);
		write_file(folder, features ? "f.txt" : "a.txt", features ? "size\nbehind\n" : "left\nbehind\n");
		assert_int_equal(load_in(folder, &next, &report), COP_OK);
		cop_config_changes changes;
		assert_int_equal(cop_config_diff(old, next, &changes), COP_OK);
		assert_int_equal(changes.count, 1);
		assert_int_equal(changes.items[0].kind, COP_CHANGE_APPLIED);
		assert_string_equal(changes.items[0].text, features ? "model m: feature_names: the file's names changed"
		                                                    : "model m: arm_names: the file's names changed");
		assert_int_equal(cop_config_apply(old, next, &changes), COP_OK);
		cop_config_changes_free(&changes);
		cop_config_free(next);
		assert_string_equal(old->models[0].arm_name_list.items[1], features ? "right" : "behind");
		assert_string_equal(old->models[0].feature_name_list.items[1], features ? "behind" : "age");
		cop_config_free(old);
	}
	remove_file(folder, "a.txt");
	remove_file(folder, "f.txt");
	remove_file(folder, "c.conf");
	assert_int_equal(rmdir(folder), 0);
}

static void test_config_without_a_stream_gives_enomem(void **state)
{
	(void)state;
	cop_config *config;
	cop_config_report report;
	no_streams = true;
	cop_err err = parse(SMALL, &config, &report);
	no_streams = false;
	assert_int_equal(err, COP_ENOMEM);
	assert_null(config);
	cop_config_report_fini(&report);
}

static void test_config_nth_allocation_fails_gives_enomem(void **state)
{
	(void)state;
	char folder[] = "/tmp/cop_config_XXXXXX";
	assert_non_null(mkdtemp(folder));
	write_file(folder, "c.conf", TAIL "model m { arms = 2 features = 1 arm_names = a.txt loss_range = {0, 2} }\n");
	write_file(folder, "a.txt", "left\nright\n");
	unsigned long n = 0;
	cop_err err = COP_ENOMEM;
	while (err == COP_ENOMEM) {
		cop_config *config;
		cop_config_report report;
		cop_test_alloc_fail(++n, 0);
		err = load_in(folder, &config, &report);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		assert_true(err == COP_OK ? config != NULL : config == NULL);
		cop_config_report_fini(&report);
		cop_config_free(config);
	}
	assert_int_equal(err, COP_OK);
	assert_true(n > 10);
	cop_config *old = good(SMALL), *next = good(everything);
	for (n = 0, err = COP_ENOMEM; err == COP_ENOMEM;) {
		cop_config_changes changes;
		cop_test_alloc_fail(++n, 0);
		err = cop_config_diff(old, next, &changes);
		cop_test_alloc_fail(0, 0);
		assert_int_equal(err != COP_OK, cop_test_alloc_failed());
		cop_config_changes_free(&changes);
	}
	assert_int_equal(err, COP_OK);
	cop_config_free(old);
	cop_config_free(next);
	remove_file(folder, "a.txt");
	remove_file(folder, "c.conf");
	assert_int_equal(rmdir(folder), 0);
}

static void test_what_other_machines_reach_is_refused_in_the_clear(void **state)
{
	(void)state;
	static const struct {
		const char *endpoint;
		bool near;
	} cases[] = {
		{ "tcp://127.0.0.1:50", true },
		{ "tcp://127.9.9.9:50", true },
		{ "tcp://[::1]:50", true },
		{ "tcp://lo:50", true },
		{ "ipc://a", true },
		{ "tcp://0.0.0.0:50", false },
		{ "tcp://*:50", false },
		{ "tcp://[::]:50", false },
		{ "tcp://10.0.0.1:50", false },
		{ "tcp://128.0.0.1:50", false },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char text[512];
		(void)snprintf(text, sizeof text, SMALL_AND_SOCKETS "actions_bind = { \"%s\" } }", cases[i].endpoint);
		if (cases[i].near)
			cop_config_free(good(text));
		else
			refused(COP_EINVAL, text, 2, "can be reached from other machines");
		(void)snprintf(text, sizeof text, SMALL_AND_SOCKETS "insecure = true actions_bind = { \"%s\" } }",
		        cases[i].endpoint);
		cop_config *config = good(text);
		const char *exposed = cop_config_exposed(config, 0);
		assert_int_equal(exposed == NULL, cases[i].near);
		if (exposed != NULL)
			assert_string_equal(exposed, cases[i].endpoint);
		assert_null(cop_config_exposed(config, 1));
		cop_config_free(config);
	}
}

static void test_peers_have_keys_of_forty_characters(void **state)
{
	(void)state;
	char endpoint[COP_CONFIG_ENDPOINT + 1];
	assert_null(cop_config_peer("tcp://a:5", endpoint));
	assert_string_equal(endpoint, "tcp://a:5");
	assert_string_equal(cop_config_peer("tcp://a:5 server_key=KEY", endpoint), "KEY");
	assert_string_equal(endpoint, "tcp://a:5");
	refused(COP_EINVAL, SMALL_AND_SOCKETS "contexts_connect = { \"tcp://a:5 server_key=short\" } }", 2,
	        "not allowed");
	refused(COP_EINVAL, SMALL_AND_SOCKETS "contexts_connect = { \"tcp://a:5 \" } }", 2, "not allowed");
	refused(COP_EINVAL,
	        SMALL_AND_SOCKETS
	        "contexts_connect = { 'ipc://a server_key=rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7' } }",
	        2, "not allowed");
	refused(COP_EINVAL,
	        SMALL_AND_SOCKETS
	        "contexts_connect = { 'tcp://a:5 server_key=rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7' } }",
	        2, "expected a section curve");
	refused(COP_EINVAL, SMALL_AND_SOCKETS "}\ncurve { key = k }", 3, "missing in section curve");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_other_machines_reach_is_refused_in_the_clear),
		cmocka_unit_test(test_peers_have_keys_of_forty_characters),
		cmocka_unit_test(test_config_minimal_has_all_defaults),
		cmocka_unit_test(test_config_learner_chooses_defaults),
		cmocka_unit_test(test_config_defaults_are_the_learners_own),
		cmocka_unit_test(test_config_experts_are_a_set_of_words),
		cmocka_unit_test(test_config_delta_defaults_to_a_tenth_of_the_range),
		cmocka_unit_test(test_config_refit_section_is_the_models_own),
		cmocka_unit_test(test_config_refits_are_on_where_they_can_be),
		cmocka_unit_test(test_config_refits_that_are_on_are_printed),
		cmocka_unit_test(test_config_refits_that_memory_does_not_hold_are_off),
		cmocka_unit_test(test_config_units_are_read),
		cmocka_unit_test(test_config_limits_themselves_are_allowed),
		cmocka_unit_test(test_config_limit_itself_is_allowed_the_next_value_refused),
		cmocka_unit_test(test_config_option_with_limits_is_among_the_tested),
		cmocka_unit_test(test_config_address_forms_are_told_apart),
		cmocka_unit_test(test_config_texts_are_bounded_and_printable),
		cmocka_unit_test(test_config_flags_have_three_words_each),
		cmocka_unit_test(test_config_quantities_have_digits_and_one_unit),
		cmocka_unit_test(test_config_ranges_are_two_numbers_in_order),
		cmocka_unit_test(test_config_message_names_every_word_that_is_allowed),
		cmocka_unit_test(test_config_one_wrong_value_names_line_and_expectation),
		cmocka_unit_test(test_config_options_of_another_policy_are_refused),
		cmocka_unit_test(test_config_wrong_options_of_one_line_are_all_named),
		cmocka_unit_test(test_config_endpoint_is_bound_once_within_and_among_lists),
		cmocka_unit_test(test_config_memory_bounds_a_model_with_what_waits),
		cmocka_unit_test(test_config_names_are_trimmed_and_bounded),
		cmocka_unit_test(test_config_endpoints_are_counted),
		cmocka_unit_test(test_config_variable_that_is_not_set_is_refused),
		cmocka_unit_test(test_config_syntax_errors_stop_with_their_line),
		cmocka_unit_test(test_config_bytes_that_are_no_text_are_refused),
		cmocka_unit_test(test_config_all_wrong_values_are_in_one_report),
		cmocka_unit_test(test_config_unknown_learner_hides_no_other_error),
		cmocka_unit_test(test_config_same_options_in_several_models_are_no_duplicates),
		cmocka_unit_test(test_config_limits_are_the_models_own),
		cmocka_unit_test(test_config_report_is_bounded),
		cmocka_unit_test(test_config_complaint_of_any_length_is_cut),
		cmocka_unit_test(test_config_longer_than_a_mebibyte_is_refused),
		cmocka_unit_test(test_config_names_of_models_have_1_to_64_letters),
		cmocka_unit_test(test_config_as_many_models_as_allowed_are_taken),
		cmocka_unit_test(test_config_too_many_models_are_refused),
		cmocka_unit_test(test_config_printed_reads_back_equal),
		cmocka_unit_test(test_config_baseline_waits_for_its_group_to_return),
		cmocka_unit_test(test_config_built_in_demo_is_valid),
		cmocka_unit_test(test_config_example_shows_the_defaults),
		cmocka_unit_test(test_config_missing_file_is_reported),
		cmocka_unit_test(test_config_name_files_are_read_beside_the_file),
		cmocka_unit_test(test_config_arms_may_be_named_by_their_names),
		cmocka_unit_test(test_config_diff_sees_changed_names),
		cmocka_unit_test(test_config_without_a_stream_gives_enomem),
		cmocka_unit_test(test_config_nth_allocation_fails_gives_enomem),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
