/* The tables. Limits are what memory and the formats bear, not advice; advice is in conf/coppice.conf. */
#include "daemon/config/config_rules.h"

#include <stdio.h>
#include <string.h>

#include "refit/refit_rule.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))
#define MILLISECOND     1e3
#define SECOND          1e6
#define DAY             (86400 * SECOND)
#define KIB             1024.0
#define MIB             (KIB * KIB)
#define GIB             (MIB * KIB)

static const char *const level_words[] = { "error", "warning", "notice", "info", "debug", NULL };
static const char *const sync_words[] = { "interval", "always", "never", NULL };
static const char *const learner_words[] = { "ensemble", "dgt", "value", "rank", NULL };
static const char *const policy_words[] = { "", "epsilon", "squarecb", "fastcb", "matching", NULL };
static const char *const unheard_words[] = { "wait", "decide", NULL };
static const char *const reward_words[] = { "earliest", "last", "sum", "first", NULL };
static const char *const feedback_words[] = { "bins", "one", "two", NULL };
static const char *const drift_words[] = { "none", "adwin", "page-hinkley", NULL };
static const char *const method_words[] = { "tao", "laptao", "forest", NULL };
static const char *const promote_words[] = { "evidence", "bound", "never", "hand", NULL };

#define AT(member) .offset = offsetof(cop_config, member)
#define IN(member) .offset = offsetof(cop_config_model, member)

static const cop_config_rule root_rules[] = {
	{ "state_dir", COP_KIND_TEXT, AT(state_dir) },
	{ "clock_tolerance", COP_KIND_DURATION, AT(clock_tolerance), .low = 0, .high = 3650 * DAY, .applied = true },
	{ "refit_cpu_share", COP_KIND_NUMBER, AT(refit_cpu_share), .low = 0.001, .high = 1, .applied = true },
};
static const cop_config_rule log_rules[] = {
	{ "facility", COP_KIND_FACILITY, AT(log_facility) },
	{ "level", COP_KIND_WORD, AT(log_level), .words = level_words, .applied = true },
};
static const cop_config_rule http_rules[] = {
	{ "listen", COP_KIND_LISTEN, AT(http_listen) },
};
static const cop_config_rule socket_rules[] = {
	{ "requests", COP_KIND_BIND, AT(requests) },
	{ "contexts_bind", COP_KIND_BIND, AT(contexts_bind) },
	{ "contexts_connect", COP_KIND_CONNECT, AT(contexts_connect) },
	{ "feedback_bind", COP_KIND_BIND, AT(feedback_bind) },
	{ "feedback_connect", COP_KIND_CONNECT, AT(feedback_connect) },
	{ "feedback_pull_bind", COP_KIND_BIND, AT(feedback_pull_bind) },
	{ "actions_bind", COP_KIND_BIND, AT(actions_bind) },
	{ "message_limit", COP_KIND_SIZE, AT(message_limit), .low = KIB, .high = COP_CONFIG_WIRE_LIMIT },
	{ "queue_limit", COP_KIND_SIZE, AT(queue_limit), .low = MIB, .high = 1024 * GIB },
};
static const cop_config_rule journal_rules[] = {
	{ "enabled", COP_KIND_FLAG, AT(journal_enabled) },
	{ "sync", COP_KIND_WORD, AT(journal_sync), .words = sync_words },
	{ "interval", COP_KIND_DURATION, AT(journal_interval), .low = MILLISECOND, .high = 60 * SECOND },
	{ "segment", COP_KIND_SIZE, AT(journal_segment), .low = 64 * KIB, .high = 4 * GIB },
	{ "keep", COP_KIND_SIZE, AT(journal_keep), .low = 64 * KIB, .high = 1024 * 1024 * GIB },
	{ "keep_age", COP_KIND_DURATION, AT(journal_age), .low = 0, .high = 3650 * DAY },
	{ "compress", COP_KIND_FLAG, AT(journal_compress) },
};
static const cop_config_rule checkpoint_rules[] = {
	{ "every", COP_KIND_DURATION, AT(checkpoint_every), .low = SECOND, .high = 7 * DAY, .applied = true },
	{ "keep", COP_KIND_COUNT, AT(checkpoint_keep), .low = 1, .high = 1000, .applied = true },
};
#define NUMBER(option, lowest, highest, who, live)                                                                     \
	{                                                                                                              \
#option, COP_KIND_NUMBER, IN(option), .low = lowest, .high = highest, .learners = who, .applied = live \
	}
#define COUNT(option, lowest, highest, who, live)                                                                      \
	{                                                                                                              \
#option, COP_KIND_COUNT, IN(option), .low = lowest, .high = highest, .learners = who, .applied = live  \
	}
#define OF_POLICY(option, lowest, highest, which)                                                                      \
	{                                                                                                              \
#option, COP_KIND_NUMBER, IN(option), .low = lowest, .high = highest, .learners = COP_FOR_POLICY,      \
		                                      .policies = which, .applied = true                               \
	}
#define EPSILON (1u << COP_POLICY_EPSILON)
#define GAMMA   (1u << COP_POLICY_SQUARECB | 1u << COP_POLICY_FASTCB | 1u << COP_POLICY_MATCHING)
static const cop_config_rule model_rules[] = {
	{ "learner", COP_KIND_WORD, IN(learner), .words = learner_words, .learners = COP_FOR_ALL },
	COUNT(features, 0, COP_LEARNER_MAX_FEATURES, COP_FOR_ALL, false),
	COUNT(arms, 2, COP_LEARNER_MAX_ARMS, COP_FOR_ARMS, false),
	COUNT(bits, 1, COP_LEARNER_MAX_BITS, COP_FOR_ALL, false),
	COUNT(max_nonzeros, 1, COP_LEARNER_MAX_NONZEROS, COP_FOR_ALL, false),
	COUNT(max_candidates, 1, 100000, COP_FOR_ALL, false), /* as it was before rank was there */
	COUNT(candidate_features, 0, COP_LEARNER_MAX_FEATURES, COP_FOR_RANK, false),
	{ "policy", COP_KIND_WORD, IN(policy), .words = policy_words, .learners = COP_FOR_POLICY },
	OF_POLICY(epsilon, 0, 1, EPSILON),
	OF_POLICY(epsilon_decay, 0, COP_LEARNER_MAX_EPSILON_DECAY, EPSILON),
	OF_POLICY(epsilon_floor, 0, 1, EPSILON),
	OF_POLICY(gamma, 1e-6, 1e9, GAMMA),
	NUMBER(optimism, 0, 1000, COP_FOR_ENSEMBLE | COP_FOR_RANK, true),
	NUMBER(least_propensity, 0, 1, COP_FOR_POLICY, true),
	{ "share_min", COP_KIND_SHARES, IN(share_min), .learners = COP_FOR_ARMS, .applied = true },
	{ "share_max", COP_KIND_SHARES, IN(share_max), .learners = COP_FOR_ARMS, .applied = true },
	{ "experts", COP_KIND_WORDS, IN(experts), .words = cop_learner_expert_names, .learners = COP_FOR_ENSEMBLE },
	COUNT(height, 1, COP_LEARNER_MAX_HEIGHT, COP_FOR_ALL, false),
	COUNT(trees, 0, COP_LEARNER_MAX_TREES, COP_FOR_ENSEMBLE | COP_FOR_VALUE | COP_FOR_RANK, false),
	NUMBER(learning_rate, 1e-9, COP_LEARNER_MAX_RATE, COP_FOR_ALL, false),
	{ "seed", COP_KIND_SEED, IN(seed), .learners = COP_FOR_ALL },
	{ "reward_window", COP_KIND_DURATION, IN(reward_window), .low = MILLISECOND, .high = 365 * DAY,
	        .learners = COP_FOR_ALL, .applied = true },
	{ "default_loss", COP_KIND_LOSS, IN(default_loss), .learners = COP_FOR_ALL, .applied = true },
	{ "reward", COP_KIND_WORD, IN(reward), .words = reward_words, .learners = COP_FOR_ALL, .applied = true },
	{ "loss_range", COP_KIND_RANGE, IN(loss_range), .learners = COP_FOR_ALL },
	{ "value_range", COP_KIND_RANGE, IN(value_range), .learners = COP_FOR_VALUE },
	NUMBER(delta, 1e-102, 1e100, COP_FOR_VALUE, false),
	NUMBER(delta_decay, 0, COP_LEARNER_MAX_EPSILON_DECAY, COP_FOR_VALUE, false),
	NUMBER(delta_floor, 0, 1e100, COP_FOR_VALUE, false),
	{ "feedback", COP_KIND_WORD, IN(feedback), .words = feedback_words, .learners = COP_FOR_VALUE },
	{ "shared_bias", COP_KIND_FLAG, IN(shared_bias), .learners = COP_FOR_DGT },
	{ "apprentice", COP_KIND_FLAG, IN(apprentice), .learners = COP_FOR_ALL, .applied = true },
	COUNT(pending_max, 1, 100000000, COP_FOR_ALL, true),
	{ "pending_bytes", COP_KIND_SIZE, IN(pending_bytes), .low = 64 * KIB, .high = 1024 * GIB,
	        .learners = COP_FOR_ALL, .applied = true },
	{ "unheard", COP_KIND_WORD, IN(unheard), .words = unheard_words, .learners = COP_FOR_ALL, .applied = true },
	COUNT(unheard_max, 1, 10000000, COP_FOR_ALL, true),
	{ "unheard_bytes", COP_KIND_SIZE, IN(unheard_bytes), .low = KIB, .high = 64 * GIB, .learners = COP_FOR_ALL,
	        .applied = true },
	{ "unheard_age", COP_KIND_DURATION, IN(unheard_age), .low = MILLISECOND, .high = DAY, .learners = COP_FOR_ALL,
	        .applied = true },
	COUNT(explain_keep, 0, 65536, COP_FOR_ALL, true),
	{ "names_bytes", COP_KIND_SIZE, IN(names_bytes), .low = 0, .high = 4 * GIB, .learners = COP_FOR_ALL,
	        .applied = true },
	{ "feature_names", COP_KIND_TEXT, IN(feature_names), .learners = COP_FOR_ALL, .applied = true },
	{ "arm_names", COP_KIND_TEXT, IN(arm_names), .learners = COP_FOR_ARMS, .applied = true },
	{ "start_from", COP_KIND_TEXT, IN(start_from), .learners = COP_FOR_ALL },
};

#define REFIT(member) .offset = offsetof(cop_config_model, refit.member), .learners = COP_FOR_ALL, .applied = true
static const cop_config_rule refit_rules[] = {
	{ "enabled", COP_KIND_FLAG, REFIT(enabled) },
	{ "every", COP_KIND_DURATION, REFIT(every), .low = 0, .high = 365 * DAY },
	{ "least_feedback", COP_KIND_COUNT, REFIT(least_feedback), .low = 1, .high = 1e9 },
	{ "on_drift", COP_KIND_WORD, REFIT(on_drift), .words = drift_words },
	{ "window", COP_KIND_COUNT, REFIT(window), .low = 100, .high = 1e9 },
	{ "holdout", COP_KIND_NUMBER, REFIT(holdout), .low = 0, .high = 0.9 },
	{ "method", COP_KIND_WORD, REFIT(method), .words = method_words },
	{ "height", COP_KIND_COUNT, REFIT(height), .low = 1, .high = COP_REFIT_MAX_HEIGHT },
	{ "alpha", COP_KIND_AUTO, REFIT(alpha), .low = 0, .high = 1e9 },
	{ "idle", COP_KIND_FLAG, REFIT(idle) },
	{ "nice", COP_KIND_COUNT, REFIT(nice), .low = 0, .high = 19 },
	{ "memory", COP_KIND_AUTO_SIZE, REFIT(memory), .low = 16 * MIB, .high = 1024 * GIB },
	{ "time_limit", COP_KIND_DURATION, REFIT(time_limit), .low = SECOND, .high = 7 * DAY },
	{ "promote", COP_KIND_WORD, REFIT(promote), .words = promote_words },
	{ "margin", COP_KIND_NUMBER, REFIT(margin), .low = 0, .high = 1 },
	{ "risk", COP_KIND_NUMBER, REFIT(risk), .low = 1e-9, .high = 0.5 },
	{ "keep", COP_KIND_COUNT, REFIT(keep), .low = 1, .high = 1000 },
};

const cop_config_section cop_config_sections[COP_CONFIG_SECTIONS] = {
	{ "", root_rules, COUNT_OF(root_rules) },
	{ "log", log_rules, COUNT_OF(log_rules) },
	{ "http", http_rules, COUNT_OF(http_rules) },
	{ "sockets", socket_rules, COUNT_OF(socket_rules) },
	{ "journal", journal_rules, COUNT_OF(journal_rules) },
	{ "checkpoint", checkpoint_rules, COUNT_OF(checkpoint_rules) },
};
const cop_config_section cop_config_model_section = { "model", model_rules, COUNT_OF(model_rules) };
const cop_config_section cop_config_refit_section = { "refit", refit_rules, COUNT_OF(refit_rules) };

_Static_assert(COUNT_OF(model_rules) <= COP_CONFIG_RULES, "COP_CONFIG_RULES is too small");

const char *cop_config_learner_text(cop_config_learner learner) { return learner_words[learner]; }
const char *cop_config_policy_text(cop_config_policy policy) { return policy_words[policy]; }
const char *cop_config_drift_text(cop_config_drift drift) { return drift_words[drift]; }
const char *cop_config_method_text(cop_config_method method) { return method_words[method]; }
const char *cop_config_refit_off_text(cop_config_refit_off off)
{
	static const char *const texts[] = { "on", "configuration", "learner", "no journal", "no program",
		"no memory" };
	return texts[off];
}
const char *cop_config_promote_text(cop_config_promote promote) { return promote_words[promote]; }

void cop_config_defaults(cop_config *config)
{
	config->log_level = COP_LOG_INFO;
	config->clock_tolerance = (uint64_t)(365 * DAY);
	config->refit_cpu_share = 0.1;
	config->message_limit = (uint64_t)MIB;
	config->queue_limit = (uint64_t)(256 * MIB);
	config->journal_enabled = true;
	config->journal_sync = COP_SYNC_INTERVAL;
	config->journal_interval = (uint64_t)(10 * MILLISECOND);
	config->journal_segment = (uint64_t)(64 * MIB);
	config->journal_keep = (uint64_t)(10 * GIB);
	config->checkpoint_every = (uint64_t)(60 * SECOND);
	config->checkpoint_keep = 3;
}

double cop_config_default_gamma(const cop_config_model *model)
{
	switch (model->learner) {
	case COP_LEARNER_DGT:
		return 30;
	case COP_LEARNER_VALUE:
		return 0;
	case COP_LEARNER_RANK:
		return model->policy == COP_POLICY_SQUARECB ? 60 : 400;
	default:
		return model->policy == COP_POLICY_SQUARECB ? 100 : 60;
	}
}

double cop_config_default_least(const cop_config_model *model)
{
	cop_learner_settings settings;
	cop_learner_settings_init(&settings);
	(void)snprintf(settings.learner, sizeof settings.learner, "%s", cop_config_learner_text(model->learner));
	(void)snprintf(settings.policy, sizeof settings.policy, "%s", cop_config_policy_text(model->policy));
	return cop_learner_least_propensity(&settings);
}

static void refit_defaults(cop_config_refit *refit)
{
	refit->every = (uint64_t)(3600 * SECOND);
	refit->least_feedback = 1000;
	refit->on_drift = COP_DRIFT_ADWIN;
	refit->window = 200000;
	refit->holdout = 0.2;
	refit->method = COP_METHOD_FOREST;
	refit->height = 6;
	refit->idle = true;
	refit->nice = 19;
	refit->time_limit = (uint64_t)(3600 * SECOND);
	refit->risk = 0.05;
	refit->keep = 5;
}

void cop_config_model_defaults(cop_config_model *model)
{
	bool rank = model->learner == COP_LEARNER_RANK;
	bool mixture = model->learner == COP_LEARNER_ENSEMBLE || rank;
	bool dgt = model->learner == COP_LEARNER_DGT;
	bool value = model->learner == COP_LEARNER_VALUE;
	bool sparse = model->features == 0;
	model->bits = 14;
	model->max_nonzeros = 1024;
	model->max_candidates = COP_LEARNER_DEFAULT_CANDIDATES;
	model->policy = value     ? COP_POLICY_NONE
	                : rank    ? COP_POLICY_FASTCB
	                : mixture ? COP_POLICY_MATCHING
	                          : COP_POLICY_EPSILON;
	model->epsilon = dgt ? 0.3 : mixture ? 0.1 : 0;
	model->gamma = cop_config_default_gamma(model);
	model->optimism = rank ? 0.1 : mixture ? 0.3 : 0;
	model->least_propensity = cop_config_default_least(model);
	model->height = dgt ? 6 : value ? 3 : rank && !sparse ? 5 : 4;
	model->trees = dgt ? 1 : value || (rank && !sparse) ? 16 : sparse ? 8 : 4;
	model->learning_rate = dgt ? 1e-3 : 1;
	model->seed = 1;
	model->reward_window = (uint64_t)(600 * SECOND);
	model->loss_range[1] = 1;
	model->value_range[1] = 1;
	model->delta = value ? 0.1 : 0;
	model->feedback = COP_FEEDBACK_BINS;
	model->shared_bias = true;
	model->pending_max = 1000000;
	model->pending_bytes = (uint64_t)GIB;
	model->unheard_max = 10000;
	model->unheard_bytes = (uint64_t)(16 * MIB);
	model->unheard_age = (uint64_t)(10 * SECOND);
	model->explain_keep = 256;
	model->names_bytes = COP_PLACE_NAMES_BYTES;
	refit_defaults(&model->refit);
}

const char *const cop_config_probe_options[] = { "delta", "delta_decay", "delta_floor", "height", "trees",
	"learning_rate", NULL };

bool cop_config_rule_counts(const cop_config_rule *rule, const cop_config_model *model)
{
	bool bins = model->learner == COP_LEARNER_VALUE && model->feedback == COP_FEEDBACK_BINS;
	for (size_t i = 0; bins && cop_config_probe_options[i] != NULL; i++)
		if (strcmp(rule->name, cop_config_probe_options[i]) == 0)
			return false;
	return rule->policies == 0 || (rule->policies & 1u << model->policy) != 0;
}

bool cop_config_section_shown(const cop_config_section *section, const cop_config *config)
{
	if (strcmp(section->name, "http") == 0)
		return config->http_given;
	return strcmp(section->name, "journal") != 0 || config->journal_given;
}
