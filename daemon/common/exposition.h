/* daemon/common/exposition.h: writes the Prometheus text format, version 0.0.4.
 *
 * A family is its two comment lines, then its samples, all of them together. Label values are not escaped: they are
 * names of models ([A-Za-z0-9._-]) and words of our own; others go through cop_exposition_escape. Failures stay in
 * out->err. Any thread, distinct outputs. */
#ifndef COP_DAEMON_COMMON_EXPOSITION_H
#define COP_DAEMON_COMMON_EXPOSITION_H

#include <stdint.h>

#include "base/bytes.h"
#include "daemon/common/metric.h"

#define COP_EXPOSITION_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* `# HELP` and `# TYPE` of a family. */
void cop_exposition_family(cop_bytes *out, const cop_metric *metric);

/* One sample. labels: `key="value",...` without the braces, "" for none. */
void cop_exposition_whole(cop_bytes *out, const cop_metric *metric, const char *labels, uint64_t value);
void cop_exposition_number(cop_bytes *out, const cop_metric *metric, const char *labels, double value);
/* One of a histogram: the family's name is followed by `ending`. */
void cop_exposition_part_whole(
        cop_bytes *out, const cop_metric *metric, const char *ending, const char *labels, uint64_t value);
void cop_exposition_part_number(
        cop_bytes *out, const cop_metric *metric, const char *ending, const char *labels, double value);

#define COP_EXPOSITION_ESCAPED 5u /* bytes that a byte of text takes at most */

/* The text as a label's value. out: room for COP_EXPOSITION_ESCAPED bytes for each of text, and 1. Bytes that are no
 * UTF-8 become \xNN, since readers would refuse the page. */
void cop_exposition_escape(const char *text, char *out);

/* A family of one sample without labels. */
void cop_exposition_lone_whole(cop_bytes *out, const cop_metric *metric, uint64_t value);
void cop_exposition_lone_number(cop_bytes *out, const cop_metric *metric, double value);

#endif
