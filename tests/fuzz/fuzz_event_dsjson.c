/* Arbitrary bytes as a decision-service log, into a hashed space (also with pairs) or a dense one, as the first byte
 * says: every event keeps what its header promises, and the text of every line passes the scanner read or skipped
 * alike. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/assert.h"
#include "event_checks.h"
#include "events/event_reader.h"
#include "events/json_scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_any(cop_json_scan *scan)
{
	cop_json_scan_span text;
	double number = 0;
	bool truth;
	switch (cop_json_scan_kind(scan)) {
	case COP_JSON_SCAN_NULL:
		(void)cop_json_scan_null(scan);
		break;
	case COP_JSON_SCAN_BOOL:
		(void)cop_json_scan_bool(scan, &truth);
		break;
	case COP_JSON_SCAN_NUMBER:
		(void)cop_json_scan_number(scan, &number);
		COP_ASSERT(isfinite(number));
		break;
	case COP_JSON_SCAN_STRING:
		(void)cop_json_scan_string(scan, &text);
		break;
	case COP_JSON_SCAN_ARRAY:
		for ((void)cop_json_scan_open(scan); cop_json_scan_element(scan);)
			read_any(scan);
		break;
	case COP_JSON_SCAN_OBJECT:
		for ((void)cop_json_scan_open(scan); cop_json_scan_member(scan, &text);)
			read_any(scan);
		break;
	default:
		break;
	}
}

/* Skipping passes over what reading does, but for numbers that are too large, which only reading sees. */
static void check_scan(const char *line, size_t length)
{
	cop_json_scan read, skip;
	cop_json_scan_init(&read, line, length);
	cop_json_scan_init(&skip, line, length);
	read_any(&read);
	(void)cop_json_scan_skip(&skip);
	COP_ASSERT(read.err == skip.err || read.err != COP_OK);
	if (read.err == COP_OK)
		COP_ASSERT(read.at == skip.at && read.depth == 0 && skip.depth == 0);
	COP_ASSERT(cop_json_scan_finish(&read) || read.column <= length + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	cop_stream *stream;
	if (cop_stream_open_memory("fuzz", data + 1, size - 1, &stream, NULL) != COP_OK)
		return 0;
	char *line;
	size_t length;
	while (cop_stream_line(stream, &line, &length) == COP_OK)
		check_scan(line, length);
	cop_stream_free(stream);
	cop_event_reader_settings settings = { .assumed_probability = (data[0] & 4) != 0 ? 0.5 : 0 };
	check_events(&cop_event_format_dsjson, data[0], &settings, data + 1, size - 1);
	return 0;
}
