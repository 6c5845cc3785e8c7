/* Who can reach the daemon: endpoints and listeners, what they are encrypted with, and the files of keys and tokens. */
#include "daemon/config/config_reach.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *option;
	size_t offset;
	bool bind;
	bool takes; /* contexts or feedback */
	const char *section;
} socket_lists[] = {
	{ "requests", offsetof(cop_config, requests), true, true, "sockets" },
	{ "admin", offsetof(cop_config, admin), true, false, "sockets" },
	{ "contexts_bind", offsetof(cop_config, contexts_bind), true, true, "sockets" },
	{ "feedback_bind", offsetof(cop_config, feedback_bind), true, true, "sockets" },
	{ "feedback_pull_bind", offsetof(cop_config, feedback_pull_bind), true, true, "sockets" },
	{ "actions_bind", offsetof(cop_config, actions_bind), true, false, "sockets" },
	{ "contexts_connect", offsetof(cop_config, contexts_connect), false, true, "sockets" },
	{ "feedback_connect", offsetof(cop_config, feedback_connect), false, true, "sockets" },
	{ "listen", offsetof(cop_config, replica_listen), true, false, "replica" },
	{ "listen", offsetof(cop_config, partition_listen), true, false, "partition" },
};
#define LISTS (sizeof socket_lists / sizeof *socket_lists)

static const cop_config_list *list_at(const cop_config *config, size_t i)
{
	return (const cop_config_list *)(const void *)((const char *)config + socket_lists[i].offset);
}

/* Where an option of list i stands; 0: the file says nothing of its section. */
static uint64_t line_of(cfg_t *root, size_t i)
{
	const char *section = socket_lists[i].section;
	return cfg_size(root, section) == 0 ? 0 : cop_config_line(cfg_getsec(root, section), socket_lists[i].option);
}

/* How often the endpoint stands in the lists that bind, up to and with item `until` of list `last`. */
static unsigned bound_before(const cop_config *config, size_t last, size_t until, const char *endpoint)
{
	unsigned times = 0;
	for (size_t i = 0; i <= last; i++) {
		const cop_config_list *list = list_at(config, i);
		size_t count = i == last ? until : list->count;
		for (size_t j = 0; j < count && socket_lists[i].bind; j++)
			times += strcmp(list->items[j], endpoint) == 0;
	}
	return times;
}

static void check_sockets(cop_config_reading *reading, cfg_t *root, const cop_config *config)
{
	cfg_t *section = cfg_size(root, "sockets") == 0 ? NULL : cfg_getsec(root, "sockets");
	size_t given = 0;
	for (size_t i = 0; i < LISTS; i++) {
		const cop_config_list *list = list_at(config, i);
		given += section == NULL || !socket_lists[i].takes ? 0 : cfg_size(section, socket_lists[i].option);
		for (size_t j = 0; j < list->count && socket_lists[i].bind; j++)
			if (bound_before(config, i, j, list->items[j]) > 0)
				cop_config_complain(reading, line_of(root, i), socket_lists[i].option,
				        "\"%s\" is bound already, expected each endpoint once", list->items[j]);
	}
	for (size_t i = 0; i < config->admin.count; i++)
		if (strchr("@*", config->admin.items[i][strlen("ipc://")]) != NULL &&
		        strncmp(config->admin.items[i], "ipc://", strlen("ipc://")) == 0)
			cop_config_complain(reading, cop_config_line(section, "admin"), "admin",
			        "\"%s\" has no file, expected a path, whose mode says who may administer",
			        config->admin.items[i]);
	if (given == 0 && config->api_listen.count == 0)
		cop_config_complain(reading, section == NULL ? 0 : (uint64_t)section->line, "sockets",
		        "no way in, expected an endpoint in requests or in a contexts or feedback list, or a section "
		        "api");
}

bool cop_config_is_loopback(const char *address)
{
	char host[sizeof "255.255.255.255"];
	struct in_addr four;
	size_t length = (size_t)(strrchr(address, ':') - address);
	if (strncmp(address, "[::1]:", 6) == 0 || strncmp(address, "localhost:", 10) == 0)
		return true;
	if (length >= sizeof host) /* longer than an address in digits: a name */
		return false;
	(void)snprintf(host, sizeof host, "%.*s", (int)length, address);
	return inet_pton(AF_INET, host, &four) == 1 && ntohl(four.s_addr) >> 24 == IN_LOOPBACKNET;
}

/* The same of an endpoint that binds, where the interface may stand for its address. */
static bool is_near(const char *endpoint)
{
	static const char tcp[] = "tcp://";
	const char *address = endpoint + sizeof tcp - 1;
	return strncmp(endpoint, tcp, sizeof tcp - 1) != 0 || strncmp(address, "lo:", 3) == 0 ||
	       cop_config_is_loopback(address);
}

bool cop_config_unknown_model(const cop_config *config, size_t i, char out[COP_CONFIG_UNKNOWN])
{
	const struct {
		const char *option;
		const cop_access *access;
	} files[] = { { "api.tokens", config->api_access }, { "curve.clients", config->curve_access } };
	for (size_t f = 0; f < 2; f++)
		for (size_t e = 0; files[f].access != NULL && e < files[f].access->count; e++) {
			const cop_access_entry *entry = &files[f].access->entries[e];
			const char *name = entry->models;
			for (size_t length; name != NULL; name = name[length] == ',' ? name + length + 1 : NULL) {
				length = strcspn(name, ",");
				if (cop_config_find(config, name, length) != NULL || i-- > 0)
					continue;
				(void)snprintf(out, COP_CONFIG_UNKNOWN,
				        "%s: the line of %s names the model %.*s, which is not there", files[f].option,
				        entry->name, (int)length, name);
				return true;
			}
		}
	return false;
}

const char *cop_config_exposed(const cop_config *config, size_t i)
{
	for (size_t l = 0; l < LISTS && !config->curve_given; l++) {
		const cop_config_list *list = list_at(config, l);
		for (size_t j = 0; j < list->count && socket_lists[l].bind; j++)
			if (!is_near(list->items[j]) && i-- == 0)
				return list->items[j];
	}
	return NULL;
}

const char *cop_config_bound(const cop_config *config, size_t i, const char **option)
{
	for (size_t l = 0; l < LISTS; l++) {
		const cop_config_list *list = list_at(config, l);
		*option = socket_lists[l].option;
		if (socket_lists[l].bind && i < list->count)
			return list->items[i];
		i -= socket_lists[l].bind ? list->count : 0;
	}
	*option = "api: listen";
	if (i < config->api_listen.count)
		return config->api_listen.items[i];
	*option = "http: listen";
	return i == config->api_listen.count ? config->http_listen : NULL;
}

/* What other machines can reach is encrypted, or the file has it that it need not be. */
static void check_exposed(cop_config_reading *reading, cfg_t *root, const cop_config *config)
{
	for (size_t l = 0; l < LISTS && !config->curve_given && !config->insecure; l++) {
		const cop_config_list *list = list_at(config, l);
		for (size_t j = 0; j < list->count && socket_lists[l].bind; j++)
			if (!is_near(list->items[j]))
				cop_config_complain(reading, line_of(root, l), socket_lists[l].option,
				        "\"%s\" can be reached from other machines, expected a section curve, or "
				        "insecure = true in section sockets",
				        list->items[j]);
	}
}

/* What reading the file that the option names came to. */
static void judge_file(
        cop_config_reading *reading, cfg_t *section, const char *option, cop_err err, const cop_diag *diag)
{
	char why[COP_LOG_LINE];
	if (err == COP_OK)
		return;
	cop_diag_text(diag, why, sizeof why);
	reading->out_of_memory |= err == COP_ENOMEM;
	cop_config_complain(reading, cop_config_line(section, option), option, "%s", why);
}

/* Whether the section names a file of tokens, or keys, which is read into *out. */
static bool read_access(
        cop_config_reading *reading, cfg_t *section, const char *option, cop_access_kind kind, cop_access **out)
{
	char path[COP_CONFIG_PATH];
	cop_diag diag = { 0 };
	if (!cop_config_has(section, option))
		return false;
	if (cop_config_locate(reading, section, option, path))
		judge_file(reading, section, option, cop_access_read(path, kind, out, &diag), &diag);
	return true;
}

/* The pair of files that the section names, read into *out. */
static void read_certificate(cop_config_reading *reading, cfg_t *section, cop_certificate **out)
{
	char chain[COP_CONFIG_PATH], key[COP_CONFIG_PATH];
	cop_diag diag = { 0 };
	bool one = cop_config_has(section, "certificate"), other = cop_config_has(section, "key");
	if (one != other) {
		const char *given = one ? "certificate" : "key";
		cop_config_complain(reading, cop_config_line(section, given), given,
		        "is alone, expected certificate and key, or none of them");
		return;
	}
	if (one && cop_config_locate(reading, section, "certificate", chain) &&
	        cop_config_locate(reading, section, "key", key)) {
		cop_err err = cop_certificate_read(chain, key, out, &diag);
		judge_file(reading, section, strcmp(diag.source, key) == 0 ? "key" : "certificate", err, &diag);
	}
}

/* Publishers that the daemon connects to are known by their keys, which takes a key of one's own. */
static void check_peers(cop_config_reading *reading, cfg_t *root, const cop_config *config)
{
	const struct {
		const char *section, *option;
		const cop_config_list *list;
	} lists[] = { { "sockets", "contexts_connect", &config->contexts_connect },
		{ "sockets", "feedback_connect", &config->feedback_connect }, { "replica", "of", &config->replica_of },
		{ "partition", "peers", &config->partition_peers } };
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		for (size_t j = 0; j < lists[i].list->count; j++) {
			char endpoint[COP_CONFIG_ENDPOINT + 1];
			const char *key = cop_config_peer(lists[i].list->items[j], endpoint);
			bool tcp = strncmp(endpoint, "tcp://", 6) == 0;
			bool near = !tcp || cop_config_is_loopback(endpoint + 6);
			uint64_t line = cop_config_line(cfg_getsec(root, lists[i].section), lists[i].option);
			if (key != NULL && !config->curve_given)
				cop_config_complain(reading, line, lists[i].option,
				        "\"%s\" has a server_key, expected a section curve with a key of this daemon's "
				        "own",
				        endpoint);
			else if (key == NULL && config->curve_given && !near)
				cop_config_complain(reading, line, lists[i].option,
				        "\"%s\" is on another machine, expected its server_key=KEY beside a section "
				        "curve",
				        endpoint);
		}
}

static void check_curve(cop_config_reading *reading, cfg_t *root, cop_config *config)
{
	static const char *const options[] = { "key", "clients" };
	char path[COP_CONFIG_PATH];
	cop_diag diag = { 0 };
	check_peers(reading, root, config);
	if (!config->curve_given)
		return;
	cfg_t *section = cfg_getsec(root, "curve");
	for (size_t i = 0; i < 2; i++)
		if (!cop_config_has(section, options[i]))
			cop_config_complain(reading, (uint64_t)section->line, options[i],
			        "missing in section curve, expected a file");
	(void)read_access(reading, section, "clients", COP_ACCESS_KEYS, &config->curve_access);
	if (cop_config_locate(reading, section, "key", path))
		judge_file(reading, section, "key", cop_curve_key_read(path, true, config->curve_secret, &diag), &diag);
}

static void check_api(cop_config_reading *reading, cfg_t *root, cop_config *config)
{
	if (!config->api_given)
		return;
	cfg_t *section = cfg_getsec(root, "api");
	const cop_config_list *listen = &config->api_listen;
	bool open = !read_access(reading, section, "tokens", COP_ACCESS_TOKENS, &config->api_access);
	read_certificate(reading, section, &config->api_pair);
	if (cfg_size(section, "listen") == 0)
		cop_config_complain(reading, (uint64_t)section->line, "listen",
		        "missing in section api, expected { ADDRESS:PORT ... }");
	if (listen->count > COP_CONFIG_LISTENERS)
		cop_config_complain(reading, cop_config_line(section, "listen"), "listen",
		        "%zu addresses are too many, expected at most %d", listen->count, COP_CONFIG_LISTENERS);
	const char *ranking = config->api_personalizer;
	const cop_config_model *model = ranking == NULL ? NULL : cop_config_find(config, ranking, strlen(ranking));
	if (ranking != NULL && (model == NULL || !cop_config_model_is(model, COP_SETTING_OF_RANK)))
		cop_config_complain(reading, cop_config_line(section, "personalizer"), "personalizer",
		        "\"%.64s\" is no model of learner rank, expected one", ranking);
	for (size_t i = 0; i < listen->count; i++) {
		if (open && !cop_config_is_loopback(listen->items[i]))
			cop_config_complain(reading, cop_config_line(section, "listen"), "listen",
			        "\"%s\" can be reached from other machines, expected 127.0.0.1, [::1] or localhost, or "
			        "the option tokens",
			        listen->items[i]);
		for (size_t j = 0; j < i; j++)
			if (strcmp(listen->items[i], listen->items[j]) == 0)
				cop_config_complain(reading, cop_config_line(section, "listen"), "listen",
				        "\"%s\" stands there twice, expected each address once", listen->items[i]);
	}
}

static void check_replica(cop_config_reading *reading, cfg_t *root, const cop_config *config)
{
	if (config->journal_sync == COP_SYNC_REPLICA && config->replica_listen.count == 0)
		cop_config_complain(reading, cop_config_line(cfg_getsec(root, "journal"), "sync"), "sync",
		        "\"replica\" without followers, expected a section replica with listen");
	if (!config->replica_given)
		return;
	cfg_t *section = cfg_getsec(root, "replica");
	if (config->replica_listen.count == 0 && config->replica_of.count == 0)
		cop_config_complain(reading, (uint64_t)section->line, "replica",
		        "nobody to follow and nobody who could, expected listen, of, or both");
	if (!config->journal_enabled)
		cop_config_complain(reading, (uint64_t)section->line, "replica",
		        "followers take a journal, expected enabled = true in section journal");
	if (config->replica_name != NULL && strlen(config->replica_name) > COP_CONFIG_NAME_MAX)
		cop_config_complain(reading, cop_config_line(section, "name"), "name",
		        "longer than %d characters, expected a shorter one", COP_CONFIG_NAME_MAX);
}

/* Models that are merged are all sums, and begin in one place. */
static void check_merged(cop_config_reading *reading, cfg_t *section, const cop_config *config)
{
	uint64_t line = cop_config_line(section, "merge");
	for (size_t i = 0; i < config->partition_merge.count; i++) {
		const char *name = config->partition_merge.items[i];
		const cop_config_model *model = cop_config_find(config, name, strlen(name));
		const char *apart = model == NULL ? NULL : cop_learner_apart(&model->set.learner);
		if (model == NULL)
			cop_config_complain(reading, line, "merge", "\"%.64s\" is no model, expected one's name", name);
		else if (apart != NULL)
			cop_config_complain(reading, line, "merge",
			        "model \"%s\" cannot be merged, since of its learner %s does not add up: %s; expected "
			        "a "
			        "model of learner ridge",
			        name, model->set.learner.learner, apart);
		else if (model->start_from != NULL && config->partition_number != 0)
			cop_config_complain(reading, line, "merge",
			        "model \"%s\" has start_from, whose losses would count once for each instance; "
			        "expected "
			        "it at number 0 alone",
			        name);
	}
}

static void check_partition(cop_config_reading *reading, cfg_t *root, const cop_config *config)
{
	static const char *const options[] = { "of", "number" };
	if (!config->partition_given)
		return;
	cfg_t *section = cfg_getsec(root, "partition");
	for (size_t i = 0; i < sizeof options / sizeof *options; i++)
		if (!cop_config_has(section, options[i]))
			cop_config_complain(reading, (uint64_t)section->line, options[i],
			        "missing in section partition, expected a whole number");
	if (config->partition_number >= config->partition_of)
		cop_config_complain(reading, cop_config_line(section, "number"), "number",
		        "%u is none of %u instances, expected 0 to %u", config->partition_number, config->partition_of,
		        config->partition_of - 1);
	check_merged(reading, section, config);
	if (config->partition_merge.count == 0)
		return;
	if (config->partition_of > COP_CONFIG_MERGED_PARTS)
		cop_config_complain(reading, cop_config_line(section, "of"), "of",
		        "%u instances are too many for merge, expected at most %d", config->partition_of,
		        COP_CONFIG_MERGED_PARTS);
	if (config->partition_listen.count == 0 && config->partition_peers.count == 0)
		cop_config_complain(reading, cop_config_line(section, "merge"), "merge",
		        "there is nobody to merge with, expected listen, peers, or both");
	if (!config->journal_enabled)
		cop_config_complain(reading, cop_config_line(section, "merge"), "merge",
		        "what is merged is recorded, expected enabled = true in section journal");
}

void cop_config_reach_check(cop_config_reading *reading, cfg_t *root, cop_config *config)
{
	check_sockets(reading, root, config);
	if (config->http_given && config->http_listen == NULL && !cop_config_has(cfg_getsec(root, "http"), "listen"))
		cop_config_complain(reading, (uint64_t)cfg_getsec(root, "http")->line, "listen",
		        "missing in section http, expected ADDRESS:PORT");
	check_api(reading, root, config);
	check_curve(reading, root, config);
	check_replica(reading, root, config);
	check_partition(reading, root, config);
	check_exposed(reading, root, config);
}
