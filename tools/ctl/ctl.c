/* coppice ctl: one request to a running daemon, its reply printed. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backup.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/stream.h"
#include "ctl_forget.h"
#include "ctl_id.h"
#include "ctl_text.h"
#include "clients/c/client.h"
#include "tools/common/command.h"
#include "tools/common/options.h"
#include "wire/wire_context.h"
#include "wire/wire_json.h"
#include "wire/wire_put.h"

#define NAME           "ctl"
#define REQUESTS       "tcp://127.0.0.1:5590" /* both as in conf/coppice.conf */
#define ADMIN          "ipc:///run/coppice/admin.ipc"
#define FOLLOW_SECONDS 10.0
#define MOST_WORDS     64 /* verb, model, id; or model, what to do, its name, options */
#define LARGEST_INPUT  ((size_t)16 << 20)

static const char usage_text[] =

        "usage: coppice ctl [OPTION ...] VERB [ARGUMENT ...]\n\n"
        "Sends a request to a running coppiced and prints the answer.\n\n"
        "  status [MODEL]          what the daemon and its models have done\n"
        "  explain MODEL ID        why a pending decision was made\n"
        "  explain MODEL --x X     what the model would do with a context, and why;\n"
        "                          nothing is decided\n"
        "  decide MODEL ID --x X   decide a context; its decision waits for feedback\n"
        "                          under ID\n"
        "  feedback MODEL ID --loss L[,L]\n"
        "                          the loss of a decision (two for two-point values;\n"
        "                          NAME=L,... where losses have names)\n"
        "  positions MODEL         how far the model has taken in each event log\n"
        "  checkpoint              write a checkpoint now\n"
        "  reload                  read the configuration again\n"
        "  model add MODEL [OPTION=VALUE ...]\n"
        "                          serve one more model, of these options of a model's\n"
        "                          section in the configuration file (refit.OPTION for\n"
        "                          its section refit); one that was served before goes\n"
        "                          on from where it was\n"
        "  model set MODEL OPTION=VALUE ...\n"
        "                          change options of a model that is served\n"
        "  model unset MODEL OPTION ...\n"
        "                          use the configuration file's values again\n"
        "  model reset MODEL [OPTION=VALUE ...]\n"
        "                          begin the model anew, perhaps with other options\n"
        "  model remove MODEL      serve the model no longer; what it learned is kept\n"
        "  refit MODEL             fit whole trees to the model's journal now (status\n"
        "                          shows what becomes of it)\n"
        "  promote MODEL [N]       let the challenger serve, or the kept challenger of\n"
        "                          number N\n"
        "  rollback MODEL          let the predecessor serve again\n"
        "  freeze MODEL [--off]    let the model learn nothing more; --off: learn again\n"
        "  forget UNIT [MODEL]     erase all that is kept of a unit, a person or session,\n"
        "                          and learn again without it what was learned from it;\n"
        "                          in all models, or in one\n"
        "  forget --id ID [MODEL]  the same of one decision, or of those of this id\n"
        "  lead [--epoch N] [--for S]\n"
        "                          lead the group of replicas from now on, in an epoch\n"
        "                          above all before (default: the next); with --for only\n"
        "                          S seconds long, unless the order is repeated\n"
        "  follow [--within S]     hand over: once another instance has everything, the\n"
        "                          daemon leads no longer, and ends\n"
        "  backup FOLDER           copy the state, on the daemon's machine, to a new or\n"
        "                          empty folder from which a daemon can start\n\n"
        "  --endpoint EP   the daemon's requests endpoint (default " REQUESTS "),\n"
        "                  or, from checkpoint on, its admin endpoint (default\n"
        "                  " ADMIN "), which takes all verbs\n"
        "  --key FILE      the client's secret key, where the endpoint is encrypted\n"
        "  --server-key FILE\n"
        "                  the daemon's public key\n"
        "  --timeout S     wait so long for an answer (default 5)\n"
        "  --x X           features: a JSON array, or an object of names or indices; or a\n"
        "                  file that holds it (-: standard input)\n"
        "  --loss L[,L]    loss, or two of them, or NAME=L,...\n"
        "  --off           with freeze: learn again\n"
        "  --fresh         with model add: begin anew, whatever was there before\n"
        "  --id            with forget: what follows is a decision's id, not a unit\n"
        "  --no-wait       with forget: do not wait until it is done (status shows it)\n"
        "  --epoch N       with lead: the epoch (default: the next)\n"
        "  --for S         with lead: seconds\n"
        "  --within S      with follow: go on leading when no instance has everything\n"
        "                  after S seconds (default 10)\n"
        "  --string        ID or UNIT is a string even when it is an integer (17, -3; 017\n"
        "                  is one)\n"
        "  --binary        ID or UNIT was sent as binary: its bytes in hexadecimal digits\n"
        "  --json          the answer as JSON on one line\n";

typedef struct options {
	const char *endpoint;
	cop_client_keys keys;
	double timeout;
	const char *x;
	const char *loss;
	cop_ctl_id_rule rule;
	bool off;
	bool fresh;
	bool by_id;
	bool no_wait;
	bool json;
	uint64_t epoch; /* 0: none given; the seconds too */
	double seconds, within;
	const char *words[MOST_WORDS];
	int count; /* of words given */
	const char *verb;
	const char *model; /* "" for none */
	const char *id;    /* NULL: none */
} options;

/* ---- the request's body ---- */

static cop_err bad(const char *source, const char *what, cop_diag *diag)
{
	cop_diag_of(diag, source, "%s", what);
	return COP_EINVAL;
}

static cop_err read_file(const char *path, cop_bytes *out, cop_diag *diag)
{
	cop_stream *stream;
	cop_err err = cop_stream_open_read(path, &stream, diag);
	if (err != COP_OK)
		return err;
	while (err == COP_OK && out->length < LARGEST_INPUT) {
		char part[4096];
		size_t got;
		err = cop_stream_read(stream, part, sizeof part, &got);
		cop_bytes_put(out, part, got);
	}
	if (err != COP_OK && err != COP_EEND)
		*diag = *cop_stream_diag(stream);
	cop_stream_free(stream);
	return err == COP_EEND ? out->err : err;
}

static cop_err put_number(const cop_json *value, cop_bytes *body, cop_diag *diag)
{
	double number;
	if (value == NULL || cop_json_get_number(value, &number) != COP_OK)
		return bad("--x", "expected numbers only", diag);
	cop_wire_put_double(body, number);
	return COP_OK;
}

static cop_err put_features(const cop_json *x, cop_bytes *body, cop_diag *diag)
{
	cop_err err = COP_OK;
	const char *key = NULL;
	const cop_json *value;
	cop_wire_put_text(body, "x");
	switch (cop_json_type_of(x)) {
	case COP_JSON_ARRAY:
		cop_wire_put_array(body, cop_json_size(x));
		for (size_t i = 0; i < cop_json_size(x) && err == COP_OK; i++)
			err = put_number(cop_json_element(x, i), body, diag);
		return err;
	case COP_JSON_OBJECT:
		cop_wire_put_map(body, cop_json_size(x));
		while (err == COP_OK && (value = cop_json_next_member(x, &key)) != NULL) {
			char *end;
			unsigned long index = strtoul(key, &end, 10);
			if (isdigit((unsigned char)*key) && *end == '\0')
				cop_wire_put_unsigned(body, index);
			else
				cop_wire_put_text(body, key);
			err = put_number(value, body, diag);
		}
		return err;
	default:
		return bad("--x", "expected a JSON array of numbers, or an object of names or indices", diag);
	}
}

static cop_err put_x(const options *o, cop_bytes *body, cop_diag *diag)
{
	cop_bytes text;
	cop_json *x = NULL;
	cop_err err = COP_OK;
	cop_bytes_init(&text);
	bool inline_text = o->x[0] == '[' || o->x[0] == '{';
	if (inline_text)
		cop_bytes_put(&text, o->x, strlen(o->x));
	else
		err = read_file(o->x, &text, diag);
	if (err == COP_OK) {
		err = cop_json_parse((const char *)text.data, text.length, &x, diag);
		if (err != COP_OK)
			(void)snprintf(diag->source, sizeof diag->source, "%s", inline_text ? "--x" : o->x);
	}
	if (err == COP_OK)
		err = put_features(x, body, diag);
	cop_json_free(x);
	cop_bytes_fini(&text);
	return err;
}

static cop_err put_id(const options *o, cop_bytes *body, cop_diag *diag)
{
	cop_event_id id;
	cop_err err = cop_ctl_id_read(&o->rule, "ID", o->id, &id, diag);
	if (err != COP_OK)
		return err;
	cop_wire_put_text(body, "id");
	cop_wire_id_put(body, &id);
	return COP_OK;
}

/* NAME=VALUE each. */
static cop_err put_named(const options *o, cop_bytes *body, cop_diag *diag)
{
	cop_loss_weights losses = { .count = 0 };
	if (cop_named_losses_add_list(&losses, o->loss) != NULL)
		return bad("--loss", "expected NAME=L with commas between, each name once", diag);
	cop_wire_put_text(body, "losses");
	cop_wire_put_map(body, (size_t)losses.count);
	for (size_t i = 0; i < losses.count; i++)
		cop_wire_put_key_double(body, losses.name[i], losses.weight[i]);
	return COP_OK;
}

static cop_err put_loss(const options *o, cop_bytes *body, cop_diag *diag)
{
	if (strchr(o->loss, '=') != NULL)
		return put_named(o, body, diag);
	char *end;
	double loss[2] = { strtod(o->loss, &end), 0.0 };
	bool two = *end == ',';
	if (end != o->loss && two) {
		const char *second = end + 1;
		loss[1] = strtod(second, &end);
		two = end != second;
	}
	if (end == o->loss || *end != '\0')
		return bad("--loss", "expected a number, or two with a comma between", diag);
	cop_wire_put_text(body, "loss");
	if (two)
		cop_wire_put_array(body, 2);
	cop_wire_put_double(body, loss[0]);
	if (two)
		cop_wire_put_double(body, loss[1]);
	return COP_OK;
}

static bool is_verb(const options *o, const char *verb) { return strcmp(o->verb, verb) == 0; }

/* OPTION=VALUE as a pair of a map, OPTION alone with nil. */
static cop_err put_options(const options *o, cop_bytes *body, cop_diag *diag)
{
	bool values = strcmp(o->words[1], "unset") != 0;
	cop_wire_put_text(body, "options");
	cop_wire_put_map(body, (size_t)(o->count - 3));
	for (int i = 3; i < o->count; i++) {
		const char *word = o->words[i], *equals = strchr(word, '=');
		if ((equals != NULL) != values || equals == word)
			return bad(word, values ? "expected OPTION=VALUE" : "expected OPTION", diag);
		cop_wire_put_string(body, word, equals == NULL ? strlen(word) : (size_t)(equals - word));
		if (equals == NULL)
			cop_wire_put_nil(body);
		else
			cop_wire_put_text(body, equals + 1);
	}
	return COP_OK;
}

static cop_err put_change(const options *o, cop_bytes *body, cop_diag *diag)
{
	cop_err err = COP_OK;
	size_t map = cop_wire_put_map_open(body);
	cop_wire_put_key_text(body, "do", o->words[1]);
	if (o->count > 3)
		err = put_options(o, body, diag);
	if (o->fresh)
		cop_wire_put_key_bool(body, "fresh", true);
	if (err == COP_OK)
		cop_wire_put_map_close(body, map);
	return err;
}

static void put_leading(const options *o, cop_bytes *body)
{
	if (o->epoch > 0)
		cop_wire_put_key_unsigned(body, "epoch", o->epoch);
	if (o->seconds > 0.0)
		cop_wire_put_key_double(body, "for", o->seconds);
	if (o->within > 0.0)
		cop_wire_put_key_double(body, "within", o->within);
}

static cop_err put_body(const options *o, cop_bytes *body, cop_diag *diag)
{
	if (is_verb(o, "model"))
		return put_change(o, body, diag);
	cop_err err = COP_OK;
	size_t map = cop_wire_put_map_open(body);
	if (is_verb(o, "promote") && o->id != NULL) { /* what stands in an id's place is a number */
		cop_wire_put_key_unsigned(body, "n", strtoull(o->id, NULL, 10));
	} else if (o->off) {
		cop_wire_put_key_bool(body, "on", false);
	} else if (is_verb(o, "lead") || is_verb(o, "follow")) {
		put_leading(o, body);
	} else {
		if (o->id != NULL)
			err = put_id(o, body, diag);
		if (err == COP_OK && o->x != NULL)
			err = put_x(o, body, diag);
		if (err == COP_OK && o->loss != NULL)
			err = put_loss(o, body, diag);
	}
	if (err == COP_OK)
		cop_wire_put_map_close(body, map);
	return err;
}

/* ---- the answer ---- */

static cop_err print_reply(const options *o, const cop_client_reply *reply, cop_diag *diag)
{
	cop_bytes text;
	cop_json *tree = NULL;
	cop_bytes_init(&text);
	cop_err err = cop_wire_json(&text, reply->body, reply->length, 0);
	if (err != COP_OK)
		cop_diag_of(diag, o->endpoint, "the answer is no MessagePack: %s", cop_err_text(err));
	if (err == COP_OK && o->json) {
		(void)fwrite(text.data, 1, text.length, stdout);
		(void)fputc('\n', stdout);
	} else if (err == COP_OK) {
		err = cop_json_parse((const char *)text.data, text.length, &tree, diag);
		if (err == COP_OK && strcmp(o->verb, "status") == 0)
			cop_ctl_text_status(tree, stdout);
		else if (err == COP_OK && strcmp(o->verb, "explain") == 0)
			cop_ctl_text_explain(tree, stdout);
		else if (err == COP_OK)
			cop_ctl_text_table(tree, 0, stdout);
	}
	cop_json_free(tree);
	cop_bytes_fini(&text);
	return err;
}

static cop_err ask(const options *o, cop_diag *diag)
{
	cop_client *client = NULL;
	cop_client_reply reply;
	cop_bytes body;
	cop_bytes_init(&body);
	cop_err err = put_body(o, &body, diag);
	if (err == COP_OK && body.err != COP_OK)
		err = bad("", cop_err_text(body.err), diag);
	if (err == COP_OK)
		err = cop_client_open_keyed(o->endpoint, &o->keys, o->timeout, &client, diag);
	if (err == COP_OK)
		err = cop_client_request(client, o->verb, o->model, body.data, body.length, &reply, diag);
	if (err == COP_OK)
		err = print_reply(o, &reply, diag);
	cop_client_close(client);
	cop_bytes_fini(&body);
	return err;
}

/* ---- arguments ---- */

#define OF(member) COP_OPTION_OF(options, member)

static const cop_option rows[] = {
	{ "endpoint", COP_OPTION_TEXT, OF(endpoint) },
	{ "key", COP_OPTION_TEXT, OF(keys.own) },
	{ "server-key", COP_OPTION_TEXT, OF(keys.server) },
	{ "timeout", COP_OPTION_NUMBER, OF(timeout), .low = 0.001, .high = 86400.0 },
	{ "x", COP_OPTION_TEXT, OF(x) },
	{ "loss", COP_OPTION_TEXT, OF(loss) },
	{ "string", COP_OPTION_FLAG, OF(rule.string) },
	{ "binary", COP_OPTION_FLAG, OF(rule.binary) },
	{ "off", COP_OPTION_FLAG, OF(off) },
	{ "fresh", COP_OPTION_FLAG, OF(fresh) },
	{ "id", COP_OPTION_FLAG, OF(by_id) },
	{ "no-wait", COP_OPTION_FLAG, OF(no_wait) },
	{ "epoch", COP_OPTION_WHOLE, OF(epoch), .least = 1, .most = UINT64_MAX },
	{ "for", COP_OPTION_NUMBER, OF(seconds), .low = 0.001, .high = 1e9 },
	{ "within", COP_OPTION_NUMBER, OF(within), .low = 0.001, .high = 86400.0 },
	{ "json", COP_OPTION_FLAG, OF(json) },
	{ .name = NULL },
};

/* Words beyond the last that counts are only counted. */
static void add_word(options *o, const char *word)
{
	if (o->count < MOST_WORDS)
		o->words[o->count] = word;
	o->count++;
}

/* COP_OPTIONS_READ, or the exit status. Words and options come in any order; a negative number is a word, an id. */
static int read_arguments(int argc, char **argv, options *o)
{
	const cop_options table = { NAME, usage_text, .sets = { { rows, o, NULL } }, .in_order = true };
	int status = COP_OPTIONS_READ;
	bool only_words = false;
	optind = 1;
	while (optind < argc && status == COP_OPTIONS_READ) {
		bool is_word = only_words || (argv[optind][0] == '-' && cop_ctl_id_is_digits(argv[optind] + 1));
		int before = optind;
		if (!is_word)
			status = cop_options_next(&table, argc, argv);
		only_words = only_words || (status == COP_OPTIONS_END && optind > before); /* "--" */
		if (is_word || (status == COP_OPTIONS_END && optind == before))
			add_word(o, argv[optind++]);
		status = status == COP_OPTIONS_END ? COP_OPTIONS_READ : status;
	}
	return status;
}

static bool usage_error(const char *what) { return cop_command_complain(NAME, "%s (coppice ctl --help)", what); }

enum { TAKES_X = 1, TAKES_LOSS = 2 };

/* What each verb takes: arguments beside the verb, and options. */
static const struct form {
	const char *verb;
	int least, most;
	unsigned options; /* exactly these */
	bool numbered;    /* what stands in an id's place is a number */
	bool admin;       /* goes to the endpoint of administration */
	const char *expected;
} forms[] = {
	{ "explain", 1, 1, TAKES_X, false, false, "explain: expected MODEL and either ID or --x X" },
	{ "explain", 2, 2, 0, false, false, "explain: expected MODEL and either ID or --x X" },
	{ "decide", 2, 2, TAKES_X, false, false, "decide: expected MODEL, ID and --x X" },
	{ "feedback", 2, 2, TAKES_LOSS, false, false, "feedback: expected MODEL, ID and --loss L" },
	{ "promote", 1, 2, 0, true, true, "promote: expected MODEL, and perhaps the number of a challenger" },
	{ "positions", 1, 1, 0, false, false, "positions: expected MODEL" },
	{ "refit", 1, 1, 0, false, true, "expected MODEL behind this verb" },
	{ "rollback", 1, 1, 0, false, true, "expected MODEL behind this verb" },
	{ "freeze", 1, 1, 0, false, true, "expected MODEL behind this verb" },
	{ "status", 0, 1, 0, false, false, "status: expected at most MODEL" },
	{ "backup", 1, 1, 0, false, true, "backup: expected FOLDER" },
	{ "model", 2, MOST_WORDS - 1, 0, false, true,
	        "model: expected add, set, unset, reset or remove, MODEL, and at most 61 options" },
	{ "forget", 1, 2, 0, false, true, "forget: expected UNIT, or --id ID, and perhaps MODEL" },
	{ "checkpoint", 0, 0, 0, false, true, "expected no argument behind this verb" },
	{ "reload", 0, 0, 0, false, true, "expected no argument behind this verb" },
	{ "lead", 0, 0, 0, false, true, "expected no argument behind this verb" },
	{ "follow", 0, 0, 0, false, true, "expected no argument behind this verb" },
};

/* Whether the arguments are what the verb takes; fills in the endpoint if none was given. */
static bool check(options *o, int arguments)
{
	unsigned given = (o->x != NULL ? TAKES_X : 0) | (o->loss != NULL ? TAKES_LOSS : 0), taken = 0;
	const char *expected = NULL;
	if ((o->keys.own == NULL) != (o->keys.server == NULL))
		return usage_error("--key and --server-key go together");
	if (o->rule.string && o->rule.binary)
		return usage_error("expected one of --string and --binary");
	if (o->off && !is_verb(o, "freeze"))
		return usage_error("--off goes with freeze");
	if ((o->by_id || o->no_wait) && !is_verb(o, "forget"))
		return usage_error("--id and --no-wait go with forget");
	if ((o->epoch > 0 || o->seconds > 0.0) && !is_verb(o, "lead"))
		return usage_error("--epoch and --for go with lead");
	if (o->within > 0.0 && !is_verb(o, "follow"))
		return usage_error("--within goes with follow");
	if (o->fresh && !is_verb(o, "model"))
		return usage_error("--fresh goes with model add");
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		const struct form *f = &forms[i];
		if (!is_verb(o, f->verb))
			continue;
		bool id = o->id == NULL || !f->numbered || cop_ctl_id_is_digits(o->id);
		if (o->endpoint == NULL)
			o->endpoint = f->admin ? ADMIN : REQUESTS;
		if (arguments >= f->least && arguments <= f->most && given == f->options && id)
			return true;
		taken |= f->options;
		expected = f->expected;
	}
	if (given != 0 && taken == 0)
		return usage_error("--x and --loss go with explain, decide and feedback");
	return expected != NULL
	               ? usage_error(expected)
	               : cop_command_complain(NAME,
	                         "no verb '%s'; expected status, explain, decide, feedback, positions, checkpoint, "
	                         "reload, forget, model, refit, "
	                         "promote, rollback, freeze, lead, follow or backup (coppice ctl --help)",
	                         o->verb);
}

static cop_err forget(const options *o, cop_diag *diag)
{
	cop_ctl_forget_request request = {
		.endpoint = o->endpoint,
		.keys = o->keys,
		.timeout = o->timeout,
		.by_id = o->by_id,
		.model = o->count > 2 ? o->words[2] : "",
		.wait = !o->no_wait,
		.json = o->json,
	};
	cop_err err = cop_ctl_id_read(&o->rule, o->by_id ? "ID" : "UNIT", o->words[1], &request.whom, diag);
	return err == COP_OK ? cop_ctl_forget(&request, diag) : err;
}

static cop_err carry_out(const options *o, cop_diag *diag)
{
	cop_backup_request backup = { o->endpoint, o->keys, o->timeout, o->words[1], o->json };
	if (is_verb(o, "backup"))
		return cop_backup(&backup, diag);
	return is_verb(o, "forget") ? forget(o, diag) : ask(o, diag);
}

int cop_command_ctl(int argc, char **argv)
{
	options o = { .timeout = 5.0, .model = "" };
	int status = read_arguments(argc, argv, &o);
	if (status != COP_OPTIONS_READ)
		return status;
	if (o.count == 0)
		return cop_command_misused(NAME, "expected a verb (coppice ctl --help)");
	o.verb = o.words[0];
	int first = is_verb(&o, "model") ? 2 : 1; /* words before the model's name */
	if (o.count > first)
		o.model = o.words[first];
	if (o.count > 2 && first == 1)
		o.id = o.words[2];
	if (!check(&o, o.count - 1))
		return COP_EXIT_USAGE;
	if (is_verb(&o, "follow")) /* which is answered when it is done */
		o.timeout += o.within > 0.0 ? o.within : FOLLOW_SECONDS;
	cop_diag diag = { 0 };
	return cop_command_end(NAME, carry_out(&o, &diag), NULL, &diag);
}
