/* Text is appended and never looked back at: the caller keeps a family's samples together. Whole numbers are written
 * exactly and doubles with 15 digits. */
#include "daemon/common/exposition.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"

static void put(cop_bytes *out, const char *text) { cop_bytes_put(out, text, strlen(text)); }

void cop_exposition_family(cop_bytes *out, const cop_metric *metric)
{
	put(out, "# HELP ");
	put(out, metric->name);
	put(out, " ");
	put(out, metric->help);
	put(out, "\n# TYPE ");
	put(out, metric->name);
	put(out, " ");
	put(out, cop_metric_type_text(metric->type));
	put(out, "\n");
}

void cop_exposition_escape(const char *text, char *out)
{
	for (size_t left = strlen(text), length; left > 0; text += length, left -= length) {
		length = cop_json_utf8_length((const uint8_t *)text, left);
		if (length == 0) {
			length = 1;
			out += snprintf(out, COP_EXPOSITION_ESCAPED + 1, "\\\\x%02x", (unsigned char)*text);
		} else if (*text == '\n') {
			out = stpcpy(out, "\\n");
		} else {
			if (*text == '"' || *text == '\\')
				*out++ = '\\';
			memcpy(out, text, length);
			out += length;
		}
	}
	*out = '\0';
}

static void put_sample(
        cop_bytes *out, const cop_metric *metric, const char *ending, const char *labels, const char *value)
{
	put(out, metric->name);
	put(out, ending);
	if (labels[0] != '\0') {
		put(out, "{");
		put(out, labels);
		put(out, "}");
	}
	put(out, " ");
	put(out, value);
	put(out, "\n");
}

void cop_exposition_part_whole(
        cop_bytes *out, const cop_metric *metric, const char *ending, const char *labels, uint64_t value)
{
	char text[24];
	(void)snprintf(text, sizeof text, "%" PRIu64, value);
	put_sample(out, metric, ending, labels, text);
}

void cop_exposition_part_number(
        cop_bytes *out, const cop_metric *metric, const char *ending, const char *labels, double value)
{
	char text[40];
	if (isnan(value)) /* libc may write a sign before it */
		(void)snprintf(text, sizeof text, "NaN");
	else
		(void)snprintf(text, sizeof text, "%.15g", value);
	put_sample(out, metric, ending, labels, text);
}

void cop_exposition_whole(cop_bytes *out, const cop_metric *metric, const char *labels, uint64_t value)
{
	cop_exposition_part_whole(out, metric, "", labels, value);
}

void cop_exposition_number(cop_bytes *out, const cop_metric *metric, const char *labels, double value)
{
	cop_exposition_part_number(out, metric, "", labels, value);
}

void cop_exposition_lone_whole(cop_bytes *out, const cop_metric *metric, uint64_t value)
{
	cop_exposition_family(out, metric);
	cop_exposition_whole(out, metric, "", value);
}

void cop_exposition_lone_number(cop_bytes *out, const cop_metric *metric, double value)
{
	cop_exposition_family(out, metric);
	cop_exposition_number(out, metric, "", value);
}
