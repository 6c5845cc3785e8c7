/* coppice part: which instance of a partition owns each key, one number a line, by the rule that the daemon refuses
 * others' keys by (events/event_id.h). */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "events/event_id.h"
#include "tools/common/command.h"
#include "tools/common/options.h"

#define NAME "part"

static const char usage_text[] = "usage: coppice part --of N [--integers] [--json] KEY ...\n\n"
                                 "Prints the number, from 0, of the instance among N that owns each key: an\n"
                                 "event's unit, where it has one, else its id.\n\n"
                                 "  --of N       instances, 1 to 65536\n"
                                 "  --integers   keys are integers, which are other keys than their digits as text\n"
                                 "  --json       one JSON object: of, and parts with key and part each\n";

typedef struct part {
	uint64_t of;
	bool integers, json;
} part;

static const cop_option rows[] = {
	{ "of", COP_OPTION_WHOLE, COP_OPTION_OF(part, of), .least = 1, .most = COP_EVENT_ID_PARTS },
	{ "integers", COP_OPTION_FLAG, COP_OPTION_OF(part, integers) },
	{ "json", COP_OPTION_FLAG, COP_OPTION_OF(part, json) },
	{ .name = NULL },
};

static bool read_integer(const char *text, cop_event_id *key)
{
	char *end;
	errno = 0;
	if (text[0] == '-') {
		const int64_t value = strtoll(text, &end, 10);
		cop_event_id_from_signed(key, value);
	} else {
		const uint64_t value = strtoull(text, &end, 10);
		cop_event_id_from_unsigned(key, value);
	}
	return errno == 0 && *end == '\0' && strspn(text, "-0123456789") == strlen(text) && end > text;
}

/* json: NULL, where it is printed as a line. */
static cop_err put(const part *p, const char *text, cop_json_writer *json, cop_diag *diag)
{
	cop_event_id key;
	const bool read = p->integers ? read_integer(text, &key)
	                              : cop_event_id_from_bytes(&key, COP_EVENT_ID_STRING, text, strlen(text));
	if (!read) {
		cop_diag_message(diag, "key \"%.80s\": expected %s", text,
		        p->integers ? "an integer of 64 bits" : "1 to 64 bytes");
		return COP_EINVAL;
	}
	const uint32_t owner = cop_event_id_part(&key, (uint32_t)p->of);
	if (json == NULL)
		return printf("%" PRIu32 "\n", owner) > 0 ? COP_OK : COP_EIO;
	cop_json_begin_object(json);
	cop_json_put_text(json, "key", text);
	cop_json_put_unsigned(json, "part", owner);
	cop_json_end_object(json);
	return COP_OK;
}

static cop_err put_all(const part *p, char **keys, cop_json_writer *json, cop_diag *diag)
{
	cop_err err = COP_OK;
	if (json != NULL) {
		cop_json_put_unsigned(json, "of", p->of);
		cop_json_put_array(json, "parts");
	}
	for (; *keys != NULL && err == COP_OK; keys++)
		err = put(p, *keys, json, diag);
	if (json != NULL)
		cop_json_end_array(json);
	return err;
}

int cop_command_part(int argc, char **argv)
{
	part p = { .of = 0 };
	const cop_options options = { NAME, usage_text, .sets = { { rows, &p, NULL } } };
	int status = cop_options_read(&options, argc, argv);
	if (status != COP_OPTIONS_READ)
		return status;
	if (p.of == 0 || optind == argc)
		return cop_command_misused(NAME, "expected --of N and keys (coppice part --help)");
	cop_diag diag = { 0 };
	cop_json_writer *json;
	cop_err err = cop_command_json_begin(p.json, &json);
	if (err == COP_OK)
		err = put_all(&p, argv + optind, json, &diag);
	return cop_command_end(NAME, err, json, &diag);
}
