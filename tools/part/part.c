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

static const char usage_text[] = "usage: coppice part --of N [--integers] KEY ...\n\n"
                                 "Prints the number, from 0, of the instance among N that owns each key: an\n"
                                 "event's unit, where it has one, else its id.\n\n"
                                 "  --of N       instances, 1 to 65536\n"
                                 "  --integers   keys are integers, which are other keys than their digits as text\n";

typedef struct part {
	uint64_t of;
	bool integers;
} part;

static const cop_option rows[] = {
	{ "of", COP_OPTION_WHOLE, COP_OPTION_OF(part, of), .least = 1, .most = COP_EVENT_ID_PARTS },
	{ "integers", COP_OPTION_FLAG, COP_OPTION_OF(part, integers) },
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

static cop_err print(const part *p, const char *text, cop_diag *diag)
{
	cop_event_id key;
	const bool read = p->integers ? read_integer(text, &key)
	                              : cop_event_id_from_bytes(&key, COP_EVENT_ID_STRING, text, strlen(text));
	if (!read) {
		cop_diag_message(diag, "key \"%.80s\": expected %s", text,
		        p->integers ? "an integer of 64 bits" : "1 to 64 bytes");
		return COP_EINVAL;
	}
	return printf("%" PRIu32 "\n", cop_event_id_part(&key, (uint32_t)p->of)) > 0 ? COP_OK : COP_EIO;
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
	cop_err err = COP_OK;
	for (int i = optind; i < argc && err == COP_OK; i++)
		err = print(&p, argv[i], &diag);
	return cop_command_end(NAME, err, NULL, &diag);
}
