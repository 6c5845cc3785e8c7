/* Texts are indexed by code. A diagnostic is fixed-size and filled by truncation, never by allocation, so that being
 * out of memory can be reported too; line 0 and an empty source mean that there is none. */
#include "base/err.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const texts[COP_ERR_COUNT] = {
	[COP_OK] = "success",
	[COP_EINVAL] = "invalid value",
	[COP_ENOMEM] = "out of memory",
	[COP_EIO] = "input or output error",
	[COP_EFORMAT] = "malformed data",
	[COP_EVERSION] = "written by a newer version",
	[COP_ESHAPE] = "dimensions do not fit",
	[COP_ENONFINITE] = "not a finite number",
	[COP_EDIVERGED] = "update would diverge",
	[COP_ENOTFOUND] = "not found",
	[COP_EEXIST] = "exists already",
	[COP_EFULL] = "bound reached",
	[COP_EEND] = "end of input",
};

const char *cop_err_text(cop_err err)
{
	if ((unsigned)err >= COP_ERR_COUNT)
		return "unknown error";
	return texts[err];
}

static void __attribute__((format(printf, 5, 0)))
fill(cop_diag *diag, const char *source, uint64_t line, uint64_t offset, const char *format, va_list args)
{
	if (diag == NULL)
		return;
	diag->line = line;
	diag->offset = offset;
	(void)snprintf(diag->source, sizeof diag->source, "%s", source == NULL ? "" : source);
	(void)vsnprintf(diag->message, sizeof diag->message, format, args);
}

void cop_diag_message(cop_diag *diag, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fill(diag, NULL, 0, 0, format, args);
	va_end(args);
}

void cop_diag_of(cop_diag *diag, const char *source, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fill(diag, source, 0, 0, format, args);
	va_end(args);
}

void cop_diag_at_line(cop_diag *diag, const char *source, uint64_t line, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fill(diag, source, line, 0, format, args);
	va_end(args);
}

void cop_diag_at_offset(cop_diag *diag, const char *source, uint64_t offset, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fill(diag, source, 0, offset, format, args);
	va_end(args);
}

void cop_diag_text(const cop_diag *diag, char *out, size_t size)
{
	if (diag->source[0] == '\0')
		(void)snprintf(out, size, "%s", diag->message);
	else if (diag->line == 0)
		(void)snprintf(out, size, "%s: %s", diag->source, diag->message);
	else
		(void)snprintf(out, size, "%s:%" PRIu64 ": %s", diag->source, diag->line, diag->message);
}
