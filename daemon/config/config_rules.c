/* The tables. Limits are what memory and the formats bear, not advice; advice is in conf/coppice.conf. */
#include "daemon/config/config_rules.h"

#include <stdio.h>
#include <string.h>

#include "refit/refit_rule.h"

#define MILLISECOND 1e3
#define SECOND      1e6
#define DAY         (86400 * SECOND)
#define KIB         1024.0
#define MIB         (KIB * KIB)
#define GIB         (MIB * KIB)

static const char *const level_words[] = { "error", "warning", "notice", "info", "debug", NULL };
static const char *const sync_words[] = { "interval", "always", "never", "replica", NULL };
static const char *const hold_words[] = { "memory", "disk", NULL };
static const char *const lead_words[] = { "hand", NULL };
static const char *const foreign_words[] = { "refuse", "accept", NULL };
static const char *const unheard_words[] = { "wait", "decide", NULL };
static const char *const drift_words[] = { "none", "adwin", "page-hinkley", NULL };
static const char *const method_words[] = { "tao", "laptao", "forest", NULL };
static const char *const automatic[] = { "auto", NULL };
static const char *const promote_words[] = { "evidence", "bound", "never", "hand", NULL };

#define AT(member) .offset = offsetof(cop_config, member)
#define LIVE       .flags = COP_SETTING_IS_LIVE
#define IN(member) .offset = offsetof(cop_config_model, member)

static const cop_setting root_rules[] = {
	{ "state_dir", COP_KIND_TEXT, AT(state_dir) },
	{ "clock_tolerance", COP_SETTING_MICROS, AT(clock_tolerance), .low = 0, .high = 3650 * DAY, LIVE },
	{ "refit_launcher", COP_KIND_TEXT, AT(refit_launcher) },
	{ "refit_cpu_share", COP_SETTING_NUMBER, AT(refit_cpu_share), .low = 0.001, .high = 1, LIVE },
	{ .name = NULL },
};
static const cop_setting log_rules[] = {
	{ "facility", COP_KIND_FACILITY, AT(log_facility) },
	{ "level", COP_SETTING_WORD, AT(log_level), .words = level_words, LIVE },
	{ .name = NULL },
};
static const cop_setting http_rules[] = {
	{ "listen", COP_KIND_LISTEN, AT(http_listen) },
	{ .name = NULL },
};
static const cop_setting api_rules[] = {
	{ "listen", COP_KIND_LISTENERS, AT(api_listen) },
	{ "tokens", COP_KIND_TEXT, AT(api_tokens) },
	{ "certificate", COP_KIND_TEXT, AT(api_certificate) },
	{ "key", COP_KIND_TEXT, AT(api_key) },
	{ "personalizer", COP_KIND_TEXT, AT(api_personalizer) },
	{ .name = NULL },
};
static const cop_setting curve_rules[] = {
	{ "key", COP_KIND_TEXT, AT(curve_key) },
	{ "clients", COP_KIND_TEXT, AT(curve_clients) },
	{ .name = NULL },
};
static const cop_setting socket_rules[] = {
	{ "requests", COP_KIND_BIND, AT(requests) },
	{ "admin", COP_KIND_BIND, AT(admin) },
	{ "contexts_bind", COP_KIND_BIND, AT(contexts_bind) },
	{ "contexts_connect", COP_KIND_CONNECT, AT(contexts_connect) },
	{ "feedback_bind", COP_KIND_BIND, AT(feedback_bind) },
	{ "feedback_connect", COP_KIND_CONNECT, AT(feedback_connect) },
	{ "feedback_pull_bind", COP_KIND_BIND, AT(feedback_pull_bind) },
	{ "actions_bind", COP_KIND_BIND, AT(actions_bind) },
	{ "insecure", COP_SETTING_FLAG, AT(insecure) },
	{ "message_limit", COP_SETTING_SIZE, AT(message_limit), .low = KIB, .high = COP_CONFIG_WIRE_LIMIT },
	{ "queue_limit", COP_SETTING_SIZE, AT(queue_limit), .low = MIB, .high = 1024 * GIB },
	{ .name = NULL },
};
static const cop_setting journal_rules[] = {
	{ "enabled", COP_SETTING_FLAG, AT(journal_enabled) },
	{ "sync", COP_SETTING_WORD, AT(journal_sync), .words = sync_words },
	{ "interval", COP_SETTING_MICROS, AT(journal_interval), .low = MILLISECOND, .high = 60 * SECOND },
	{ "segment", COP_SETTING_SIZE, AT(journal_segment), .low = 64 * KIB, .high = 4 * GIB },
	{ "keep", COP_SETTING_SIZE, AT(journal_keep), .low = 64 * KIB, .high = 1024 * 1024 * GIB },
	{ "keep_age", COP_SETTING_MICROS, AT(journal_age), .low = 0, .high = 3650 * DAY },
	{ "compress", COP_SETTING_FLAG, AT(journal_compress) },
	{ .name = NULL },
};
static const cop_setting checkpoint_rules[] = {
	{ "every", COP_SETTING_MICROS, AT(checkpoint_every), .low = SECOND, .high = 7 * DAY, LIVE },
	{ "keep", COP_SETTING_COUNT, AT(checkpoint_keep), .low = 1, .high = 1000, LIVE },
	{ "older", COP_SETTING_COUNT, AT(checkpoint_older), .low = 0, .high = 64, LIVE },
	{ .name = NULL },
};
static const cop_setting replica_rules[] = {
	{ "name", COP_KIND_TEXT, AT(replica_name) },
	{ "listen", COP_KIND_BIND, AT(replica_listen) },
	{ "of", COP_KIND_CONNECT, AT(replica_of) },
	{ "lead", COP_SETTING_WORD, AT(replica_lead), .words = lead_words },
	{ "followers", COP_SETTING_COUNT, AT(replica_followers), .low = 1, .high = COP_CONFIG_FOLLOWERS, LIVE },
	{ "hold", COP_SETTING_WORD, AT(replica_hold), .words = hold_words, LIVE },
	{ "compare", COP_SETTING_COUNT, AT(replica_compare), .low = 1, .high = 1e9, LIVE },
	{ .name = NULL },
};
static const cop_setting partition_rules[] = {
	{ "of", COP_SETTING_COUNT, AT(partition_of), .low = 1, .high = COP_EVENT_ID_PARTS },
	{ "number", COP_SETTING_COUNT, AT(partition_number), .low = 0, .high = COP_EVENT_ID_PARTS - 1 },
	{ "foreign", COP_SETTING_WORD, AT(partition_foreign), .words = foreign_words, LIVE },
	{ "listen", COP_KIND_BIND, AT(partition_listen) },
	{ "peers", COP_KIND_CONNECT, AT(partition_peers) },
	{ "merge", COP_KIND_NAMES, AT(partition_merge) },
	{ "every", COP_SETTING_MICROS, AT(partition_every), .low = 100 * MILLISECOND, .high = DAY, LIVE },
	{ .name = NULL },
};
/* Of the model's options, those of a daemon alone; the rest of each row is in online/model_options.c. */
static const cop_setting own_rules[] = {
	{ "apprentice", COP_SETTING_FLAG, IN(apprentice) },
	{ "unheard", COP_SETTING_WORD, IN(unheard), .words = unheard_words },
	{ "unheard_max", COP_SETTING_COUNT, IN(unheard_max), .low = 1, .high = 10000000 },
	{ "unheard_bytes", COP_SETTING_SIZE, IN(unheard_bytes), .low = KIB, .high = 64 * GIB },
	{ "unheard_age", COP_SETTING_MICROS, IN(unheard_age), .low = MILLISECOND, .high = DAY },
	{ "memory", COP_SETTING_SIZE, IN(memory), .low = 0, .high = 1024 * GIB },
	{ "rate", COP_SETTING_COUNT, IN(rate), .low = 0, .high = 1e9 },
	{ "names_bytes", COP_SETTING_SIZE, IN(names_bytes), .low = 0, .high = 4 * GIB },
	{ "feature_names", COP_KIND_TEXT, IN(feature_names) },
	{ "candidate_names", COP_KIND_TEXT, IN(candidate_names) },
	{ "arm_names", COP_KIND_TEXT, IN(arm_names) },
	{ "start_from", COP_KIND_TEXT, IN(start_from) },
};

#define REFIT(member) .offset = offsetof(cop_config_model, refit.member), .learners = COP_SETTING_OF_ALL, LIVE
static const cop_setting refit_rules[] = {
	{ "enabled", COP_SETTING_FLAG, REFIT(enabled) },
	{ "every", COP_SETTING_MICROS, REFIT(every), .low = 0, .high = 365 * DAY },
	{ "least_feedback", COP_SETTING_COUNT, REFIT(least_feedback), .low = 1, .high = 1e9 },
	{ "on_drift", COP_SETTING_WORD, REFIT(on_drift), .words = drift_words },
	{ "window", COP_SETTING_COUNT, REFIT(window), .low = 100, .high = 1e9 },
	{ "holdout", COP_SETTING_NUMBER, REFIT(holdout), .low = 0, .high = 0.9 },
	{ "method", COP_SETTING_WORD, REFIT(method), .words = method_words },
	{ "height", COP_SETTING_COUNT, REFIT(height), .low = 1, .high = COP_REFIT_MAX_HEIGHT },
	{ "alpha", COP_SETTING_MAYBE, REFIT(alpha), .words = automatic, .low = 0, .high = 1e9 },
	{ "idle", COP_SETTING_FLAG, REFIT(idle) },
	{ "nice", COP_SETTING_COUNT, REFIT(nice), .low = 0, .high = 19 },
	{ "memory", COP_SETTING_SIZE, REFIT(memory), .words = automatic, .low = 16 * MIB, .high = 1024 * GIB },
	{ "time_limit", COP_SETTING_MICROS, REFIT(time_limit), .low = SECOND, .high = 7 * DAY },
	{ "promote", COP_SETTING_WORD, REFIT(promote), .words = promote_words },
	{ "margin", COP_SETTING_NUMBER, REFIT(margin), .low = 0, .high = 1 },
	{ "risk", COP_SETTING_NUMBER, REFIT(risk), .low = 1e-9, .high = 0.5 },
	{ "keep", COP_SETTING_COUNT, REFIT(keep), .low = 1, .high = 1000 },
	{ .name = NULL },
};

const cop_config_section cop_config_sections[COP_CONFIG_SECTIONS] = {
	{ "", root_rules, NULL },
	{ "log", log_rules, NULL },
	{ "http", http_rules, NULL },
	{ "api", api_rules, NULL },
	{ "curve", curve_rules, NULL },
	{ "sockets", socket_rules, NULL },
	{ "journal", journal_rules, NULL },
	{ "checkpoint", checkpoint_rules, NULL },
	{ "replica", replica_rules, NULL },
	{ "partition", partition_rules, NULL },
};
const cop_config_section cop_config_model_section = { "model", cop_model_options, own_rules };
const cop_config_section cop_config_refit_section = { "refit", refit_rules, NULL };

_Static_assert(offsetof(cop_config_model, set) == 0, "offsets in cop_model_settings are offsets in a cop_config_model");

cop_setting cop_config_rules_at(const cop_config_section *section, size_t i)
{
	cop_setting rule = section->rules[i];
	const cop_setting *own = section->own;
	if (rule.kind != COP_SETTING_OTHER)
		return rule;
	while (strcmp(own->name, rule.name) != 0)
		own++;
	rule.kind = own->kind;
	rule.offset = own->offset;
	rule.low = own->low;
	rule.high = own->high;
	rule.words = own->words;
	return rule;
}

bool cop_config_merges(const cop_config *config, const char *name)
{
	for (size_t i = 0; i < config->partition_merge.count; i++)
		if (strcmp(config->partition_merge.items[i], name) == 0)
			return true;
	return false;
}

bool cop_config_follows(const cop_config *config) { return config->replica_given && config->replica_of.count > 0; }

bool cop_config_model_is(const cop_config_model *model, unsigned learner)
{
	return cop_model_options_learner(&model->set) == learner;
}

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
	config->checkpoint_older = 8;
	config->replica_followers = 1;
	config->replica_compare = 10000;
	config->partition_of = 1;
	config->partition_every = (uint64_t)(10 * SECOND);
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
	cop_model_options_fill(&model->set);
	model->set.explain_keep = 256;
	model->unheard_max = 10000;
	model->unheard_bytes = (uint64_t)(16 * MIB);
	model->unheard_age = (uint64_t)(10 * SECOND);
	model->names_bytes = COP_PLACE_NAMES_BYTES;
	refit_defaults(&model->refit);
}

bool cop_config_section_shown(const cop_config_section *section, const cop_config *config)
{
	if (strcmp(section->name, "http") == 0)
		return config->http_given;
	if (strcmp(section->name, "api") == 0)
		return config->api_given;
	if (strcmp(section->name, "curve") == 0)
		return config->curve_given;
	if (strcmp(section->name, "replica") == 0)
		return config->replica_given;
	if (strcmp(section->name, "partition") == 0)
		return config->partition_given;
	return strcmp(section->name, "journal") != 0 || config->journal_given;
}

/* ---- files of names ---- */

#define NAMES(member, number)                                                                                          \
#member "_names", offsetof(cop_config_model, member##_names), offsetof(cop_config_model, member##_name_list),  \
	        offsetof(cop_learner_settings, number)
const cop_config_names cop_config_name_files[COP_CONFIG_NAMES] = {
	{ NAMES(feature, features) },
	{ NAMES(candidate, candidate_features) },
	{ NAMES(arm, arms) },
};

char *const *cop_config_rules_names_text(const cop_config_names *names, const cop_config_model *model)
{
	return (char *const *)(const void *)((const char *)model + names->text);
}

cop_config_list *cop_config_rules_names_list(const cop_config_names *names, const cop_config_model *model)
{
	return (cop_config_list *)((uintptr_t)model + names->list);
}
