/* libconfuse judges syntax, names and types; what values may be is judged afterwards, all of it, by the title of the
 * section. The file stays open in memory, for its texts are borrowed. */
#include "daemon/streams/bridge_config.h"

#include <confuse.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

#define BATCH_MOST     4096
#define PARTITION_MARK "%p"

static const char *const levels[] = { "error", "warning", "notice", "info", "debug" };

static FILE *errors_of_parse; /* of the one parse under way */

typedef struct judging {
	FILE *errors;
	const char *path, *section;
	bool wrong;
} judging;

static void complain(judging *j, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void complain(judging *j, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	(void)fprintf(j->errors, "%s: %s", j->path, j->section);
	(void)vfprintf(j->errors, format, args);
	(void)fputc('\n', j->errors);
	va_end(args);
	j->wrong = true;
}

static void __attribute__((format(printf, 2, 0))) on_error(cfg_t *cfg, const char *format, va_list args)
{
	(void)fprintf(errors_of_parse, "%s:%d: ", cfg->filename, cfg->line);
	(void)vfprintf(errors_of_parse, format, args);
	(void)fputc('\n', errors_of_parse);
}

static cfg_t *parse(const char *path, FILE *errors)
{
	cfg_opt_t stream[] = { CFG_STR("engine", "", CFGF_NONE), CFG_STR("servers", "", CFGF_NONE),
		CFG_STR("user", "", CFGF_NONE), CFG_STR("password", "", CFGF_NONE), CFG_STR("topic", "", CFGF_NONE),
		CFG_INT("partitions", 1, CFGF_NONE), CFG_STR("kind", "contexts", CFGF_NONE),
		CFG_STR("model", "", CFGF_NONE), CFG_STR("actions", "", CFGF_NONE),
		CFG_INT("actions_max", 1000000, CFGF_NONE), CFG_STR("dead", "", CFGF_NONE),
		CFG_STR("group", "", CFGF_NONE), CFG_STR("format", "json", CFGF_NONE),
		CFG_STR("start", "oldest", CFGF_NONE), CFG_INT("batch", 64, CFGF_NONE),
		CFG_STR_LIST("options", "{}", CFGF_NONE), CFG_END() };
	cfg_opt_t log[] = { CFG_STR("facility", "daemon", CFGF_NONE), CFG_STR("level", "info", CFGF_NONE), CFG_END() };
	cfg_opt_t file[] = { CFG_STR("daemon", "tcp://127.0.0.1:5590", CFGF_NONE), CFG_STR("key", "", CFGF_NONE),
		CFG_STR("server_key", "", CFGF_NONE), CFG_INT("timeout", 10, CFGF_NONE),
		CFG_STR("metrics", "", CFGF_NONE), CFG_SEC("log", log, CFGF_NONE),
		CFG_SEC("stream", stream, CFGF_MULTI | CFGF_TITLE | CFGF_NO_TITLE_DUPES), CFG_END() };
	cfg_t *cfg = cfg_init(file, CFGF_NONE);
	if (cfg == NULL)
		return NULL;
	errors_of_parse = errors;
	(void)cfg_set_error_function(cfg, on_error);
	int status = cfg_parse(cfg, path);
	if (status == CFG_SUCCESS)
		return cfg;
	if (status == CFG_FILE_ERROR)
		(void)fprintf(errors, "%s: %s\n", path, strerror(errno));
	(void)cfg_free(cfg);
	return NULL;
}

static bool is_word(const char *is, const char *one, const char *other, bool *second)
{
	*second = strcmp(is, other) == 0;
	return *second || strcmp(is, one) == 0;
}

static long bounded(judging *j, cfg_t *cfg, const char *name, long low, long high)
{
	long is = cfg_getint(cfg, name);
	if (is < low || is > high) {
		complain(j, "%s: %ld given, expected %ld to %ld", name, is, low, high);
		return low;
	}
	return is;
}

static const char *needed(judging *j, cfg_t *cfg, const char *name)
{
	const char *text = cfg_getstr(cfg, name);
	if (text[0] == '\0' || strlen(text) >= COP_BROKER_TEXT - 16)
		complain(j, "%s: expected a text of 1 to %d bytes", name, COP_BROKER_TEXT - 17);
	return text;
}

static void judge_engine(judging *j, cfg_t *cfg, cop_bridge_stream *out)
{
	const char *engine = cfg_getstr(cfg, "engine");
	out->class = cop_broker_find(engine);
	if (out->class != NULL)
		return;
	char known[128] = "";
	for (size_t i = 0; cop_broker_at(i) != NULL; i++) {
		size_t used = strlen(known);
		(void)snprintf(known + used, sizeof known - used, "%s%s", i > 0 ? ", " : "", cop_broker_at(i)->name);
	}
	complain(j, "engine: '%s' given, expected one that was built in: %s", engine, known);
}

/* hiredis would take a scheme for a part of the host, and any number for a port. */
static void judge_servers(judging *j, const cop_bridge_stream *out)
{
	if (out->class == NULL || strcmp(out->class->name, "redis") != 0 || out->servers[0] == '/')
		return;
	const char *colon = strrchr(out->servers, ':');
	char *end = NULL;
	const unsigned long port = colon == NULL ? 1 : strtoul(colon + 1, &end, 10);
	if (strpbrk(out->servers, "/, ") != NULL || port < 1 || port > UINT16_MAX || (end != NULL && *end != '\0'))
		complain(j, "servers: '%.80s' given, expected HOST:PORT or the path of a socket", out->servers);
}

/* Its events would be learned twice, as those of two sources. */
static void judge_others(judging *j, const cop_bridge_stream *streams, const cop_bridge_stream *is)
{
	for (const cop_bridge_stream *other = streams; other != is; other++)
		if (other->class == is->class && other->feedback == is->feedback &&
		        strcmp(other->servers, is->servers) == 0 && strcmp(other->topic, is->topic) == 0 &&
		        strcmp(other->model, is->model) == 0 && is->topic[0] != '\0')
			complain(j, "topic: stream \"%.80s\" carries it to the same model; expected it in one of them",
			        other->name);
}

/* The group coppice-NAME holds the hints, which a group with members would refuse. */
static void judge_group(judging *j, cfg_t *cfg, cop_bridge_stream *out)
{
	char hints[COP_BROKER_TEXT];
	out->group = cfg_getstr(cfg, "group");
	(void)snprintf(hints, sizeof hints, "coppice-%.200s", out->name);
	if (strlen(out->group) >= COP_BROKER_TEXT - 16 || strcmp(out->group, hints) == 0)
		complain(j, "group: expected a name of at most %d bytes other than %s", COP_BROKER_TEXT - 17, hints);
	if (out->group[0] != '\0' && out->class != NULL && out->class->group == NULL)
		complain(j, "group: expected none, for %s shares out no partitions", out->class->name);
}

/* A bridge that read what it writes would go in a circle. */
static void judge_names(judging *j, const cop_bridge_stream *out)
{
	const struct {
		const char *option, *is;
	} names[] = { { "actions", out->actions }, { "dead", out->dead } };
	for (size_t i = 0; i < 2; i++) {
		if (strlen(names[i].is) >= COP_BROKER_TEXT - 16)
			complain(j, "%s: expected a text of at most %d bytes", names[i].option, COP_BROKER_TEXT - 17);
		if (names[i].is[0] != '\0' && strcmp(names[i].is, out->topic) == 0)
			complain(j, "%s: '%s' given, expected another than topic", names[i].option, names[i].is);
	}
}

static void judge_stream(judging *j, cfg_t *cfg, cop_bridge_stream *out)
{
	*out = (cop_bridge_stream){ .name = cfg_title(cfg) };
	size_t length = strlen(out->name);
	if (length < 1 || length > COP_WIRE_POSITION_SOURCE)
		complain(j, "the name: expected 1 to %d bytes", COP_WIRE_POSITION_SOURCE);
	judge_engine(j, cfg, out);
	out->servers = needed(j, cfg, "servers");
	judge_servers(j, out);
	out->topic = needed(j, cfg, "topic");
	out->model = needed(j, cfg, "model");
	out->user = cfg_getstr(cfg, "user");
	out->password = cfg_getstr(cfg, "password");
	out->actions = cfg_getstr(cfg, "actions");
	out->dead = cfg_getstr(cfg, "dead");
	judge_names(j, out);
	judge_group(j, cfg, out);
	bool msgpack = false;
	if (!is_word(cfg_getstr(cfg, "kind"), "contexts", "feedback", &out->feedback))
		complain(j, "kind: '%s' given, expected contexts or feedback", cfg_getstr(cfg, "kind"));
	if (!is_word(cfg_getstr(cfg, "format"), "json", "msgpack", &msgpack))
		complain(j, "format: '%s' given, expected json or msgpack", cfg_getstr(cfg, "format"));
	if (!is_word(cfg_getstr(cfg, "start"), "oldest", "newest", &out->newest))
		complain(j, "start: '%s' given, expected oldest or newest", cfg_getstr(cfg, "start"));
	if (out->feedback && out->actions[0] != '\0')
		complain(j, "actions: feedback has none; expected it in a stream of contexts");
	out->json = !msgpack;
	out->partitions = (uint32_t)bounded(j, cfg, "partitions", 1, COP_BRIDGE_CONFIG_READERS);
	out->batch = (size_t)bounded(j, cfg, "batch", 1, BATCH_MOST);
	out->actions_max = (unsigned long)bounded(j, cfg, "actions_max", 0, INT32_MAX);
	bool marked = strstr(out->topic, PARTITION_MARK) != NULL;
	if (out->partitions > 1 && !marked && out->class != NULL && strcmp(out->class->name, "kafka") != 0)
		complain(j, "topic: expected %s in it, for the partition's number", PARTITION_MARK);
}

static cop_err judge_options(judging *j, cfg_t *cfg, cop_bridge_stream *out)
{
	out->option_count = cfg_size(cfg, "options");
	out->options = cop_mem_alloc(out->option_count + 1, sizeof *out->options);
	if (out->options == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < out->option_count; i++) {
		out->options[i] = cfg_getnstr(cfg, "options", (unsigned)i);
		if (strchr(out->options[i], '=') == NULL)
			complain(j, "options: '%s' given, expected NAME=VALUE", out->options[i]);
	}
	if (out->option_count > 0 && out->class != NULL && strcmp(out->class->name, "kafka") != 0)
		complain(j, "options: expected none, for kafka alone has them");
	return COP_OK;
}

static void judge_file(judging *j, cfg_t *cfg, cop_bridge_config *out)
{
	cfg_t *log = cfg_getsec(cfg, "log");
	const char *level = cfg_getstr(log, "level");
	size_t i = 0;
	out->daemon = cfg_getstr(cfg, "daemon");
	out->key = cfg_getstr(cfg, "key");
	out->server_key = cfg_getstr(cfg, "server_key");
	out->metrics = cfg_getstr(cfg, "metrics");
	out->timeout = (double)bounded(j, cfg, "timeout", 1, 3600);
	out->log_facility = cfg_getstr(log, "facility");
	while (i < 5 && strcmp(levels[i], level) != 0)
		i++;
	out->log_level = (cop_log_level)i;
	if (i == 5)
		complain(j, "log: level: '%s' given, expected error, warning, notice, info or debug", level);
	if (!cop_log_facility_known(out->log_facility))
		complain(j, "log: facility: '%s' given, expected daemon, user, local0 ... local7", out->log_facility);
	if ((out->key[0] == '\0') != (out->server_key[0] == '\0'))
		complain(j, "key and server_key go together; expected both or neither");
	if (strncmp(out->daemon, "tcp://", 6) != 0 && strncmp(out->daemon, "ipc://", 6) != 0)
		complain(j, "daemon: '%s' given, expected tcp://HOST:PORT or ipc://PATH", out->daemon);
	if (out->metrics[0] != '\0' && strchr(out->metrics, ':') == NULL)
		complain(j, "metrics: '%s' given, expected ADDRESS:PORT", out->metrics);
	if (out->count == 0)
		complain(j, "expected at least one section stream");
}

static cop_err judge(judging *j, cfg_t *cfg, cop_bridge_config *out)
{
	char section[128];
	out->count = cfg_size(cfg, "stream");
	out->streams = cop_mem_alloc(out->count + 1, sizeof *out->streams);
	if (out->streams == NULL)
		return COP_ENOMEM;
	judge_file(j, cfg, out);
	for (size_t i = 0; i < out->count; i++) {
		cfg_t *stream = cfg_getnsec(cfg, "stream", (unsigned)i);
		(void)snprintf(section, sizeof section, "stream \"%.80s\": ", cfg_title(stream));
		j->section = section;
		judge_stream(j, stream, &out->streams[i]);
		judge_others(j, out->streams, &out->streams[i]);
		if (judge_options(j, stream, &out->streams[i]) != COP_OK)
			return COP_ENOMEM;
		out->readers += out->streams[i].partitions;
	}
	j->section = "";
	if (out->readers > COP_BRIDGE_CONFIG_READERS)
		complain(j, "%zu partitions in all, expected at most %d", out->readers, COP_BRIDGE_CONFIG_READERS);
	return j->wrong ? COP_EINVAL : COP_OK;
}

cop_err cop_bridge_config_load(const char *path, FILE *errors, cop_bridge_config **out)
{
	judging j = { .errors = errors, .path = path, .section = "" };
	*out = NULL;
	cfg_t *cfg = parse(path, errors);
	if (cfg == NULL)
		return COP_EINVAL;
	cop_bridge_config *config = cop_mem_alloc(1, sizeof *config);
	if (config == NULL) {
		(void)cfg_free(cfg);
		return COP_ENOMEM;
	}
	config->file = cfg;
	cop_err err = judge(&j, cfg, config);
	if (err != COP_OK) {
		cop_bridge_config_free(config);
		return err;
	}
	*out = config;
	return COP_OK;
}

void cop_bridge_config_free(cop_bridge_config *config)
{
	if (config == NULL)
		return;
	for (size_t i = 0; config->streams != NULL && i < config->count; i++)
		cop_mem_free(config->streams[i].options);
	cop_mem_free(config->streams);
	(void)cfg_free(config->file);
	cop_mem_free(config);
}

/* The mark becomes the partition's number. */
static void expand(const char *text, uint32_t partition, char out[COP_BROKER_TEXT])
{
	const char *mark = strstr(text, PARTITION_MARK);
	if (mark == NULL)
		(void)snprintf(out, COP_BROKER_TEXT, "%s", text);
	else
		(void)snprintf(out, COP_BROKER_TEXT, "%.*s%" PRIu32 "%s", (int)(mark - text), text, partition,
		        mark + strlen(PARTITION_MARK));
}

void cop_bridge_config_broker(const cop_bridge_stream *stream, uint32_t partition, cop_broker_settings *out)
{
	*out = (cop_broker_settings){
		.name = stream->name,
		.servers = stream->servers,
		.user = stream->user,
		.password = stream->password,
		.partition = partition,
		.group = stream->group,
		.newest = stream->newest,
		.actions_max = stream->actions_max,
		.options = stream->options,
		.option_count = stream->option_count,
	};
	expand(stream->topic, partition, out->topic);
	expand(stream->actions, partition, out->actions);
	expand(stream->dead, partition, out->dead);
}
