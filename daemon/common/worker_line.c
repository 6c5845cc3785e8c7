/* Writer and reader share one table of outcomes. Written text loses control characters and double quotes, so a line
 * stays one line here, in the log and in status; text that was read is cleaned again, since a broken worker may write
 * anything. Outcomes after "failed" are the daemon's own findings about a process, and no line may claim them. */
#include "daemon/common/worker_line.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const outcomes[COP_WORKER_OUTCOMES] = { "made", "nothing", "worse", "memory", "data", "failed",
	"timeout", "crashed", "refused" };

const char *cop_worker_outcome_text(cop_worker_outcome outcome) { return outcomes[outcome]; }

bool cop_worker_outcome_bad(cop_worker_outcome outcome) { return outcome > COP_WORKER_WORSE; }

/* Nothing that would end the line, or a log's or status' text. */
static void clean(char *text)
{
	for (char *c = text; *c != '\0'; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f || *c == '"')
			*c = *c == '"' ? '\'' : '?';
}

size_t cop_worker_line_put(const cop_worker_line *line, char out[COP_WORKER_LINE])
{
	char text[COP_WORKER_TEXT];
	(void)snprintf(text, sizeof text, "%s", line->text);
	clean(text);
	int n = line->result
	                ? snprintf(out, COP_WORKER_LINE - 1, "result %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %.9g %s",
	                          outcomes[line->outcome], line->number, line->learned, line->leaves, line->gain, text)
	                : snprintf(out, COP_WORKER_LINE - 1, "progress %.4f %s", line->share, text);
	size_t length = n < 0 ? 0 : n < COP_WORKER_LINE - 1 ? (size_t)n : COP_WORKER_LINE - 2;
	out[length] = '\n';
	return length + 1;
}

static bool read_number(const char **at, double *out)
{
	char *end;
	*out = strtod(*at, &end);
	bool fine = end != *at && (*end == ' ' || *end == '\0') && isfinite(*out);
	*at = *end == ' ' ? end + 1 : end;
	return fine;
}

static bool read_whole(const char **at, uint64_t *out)
{
	char *end;
	errno = 0;
	if (**at < '0' || **at > '9')
		return false;
	*out = strtoull(*at, &end, 10);
	bool fine = errno == 0 && *end == ' ';
	*at = end + fine;
	return fine;
}

static bool read_outcome(const char **at, cop_worker_outcome *out)
{
	for (unsigned i = 0; i <= COP_WORKER_FAILED; i++) {
		size_t length = strlen(outcomes[i]);
		if (strncmp(*at, outcomes[i], length) != 0 || (*at)[length] != ' ')
			continue;
		*out = (cop_worker_outcome)i;
		*at += length + 1;
		return true;
	}
	return false;
}

bool cop_worker_line_parse(const char *text, cop_worker_line *out)
{
	static const char progress[] = "progress ", result[] = "result ";
	cop_worker_line line = { .share = 1.0 };
	if (strncmp(text, progress, sizeof progress - 1) == 0) {
		text += sizeof progress - 1;
		if (!read_number(&text, &line.share) || line.share < 0.0 || line.share > 1.0)
			return false;
	} else if (strncmp(text, result, sizeof result - 1) == 0) {
		text += sizeof result - 1;
		line.result = true;
		if (!read_outcome(&text, &line.outcome) || !read_whole(&text, &line.number) ||
		        !read_whole(&text, &line.learned) || !read_whole(&text, &line.leaves) ||
		        !read_number(&text, &line.gain) || (line.outcome == COP_WORKER_MADE && line.number == 0))
			return false;
	} else {
		return false;
	}
	(void)snprintf(line.text, sizeof line.text, "%s", text);
	clean(line.text);
	*out = line;
	return true;
}
