/* Codes and results are indices into tables of their texts. Text that came from outside is cleaned before it goes into
 * a message: valid UTF-8 and no control characters. */
#include "wire/wire_code.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const code_texts[COP_WIRE_CODE_COUNT] = {
	[COP_WIRE_OK] = "ok",
	[COP_WIRE_BAD_REQUEST] = "bad_request",
	[COP_WIRE_BAD_FEATURES] = "bad_features",
	[COP_WIRE_BAD_LOSS] = "bad_loss",
	[COP_WIRE_UNKNOWN_MODEL] = "unknown_model",
	[COP_WIRE_UNKNOWN_VERB] = "unknown_verb",
	[COP_WIRE_TOO_LARGE] = "too_large",
	[COP_WIRE_BUSY] = "busy",
	[COP_WIRE_NOT_DURABLE] = "not_durable",
	[COP_WIRE_FORBIDDEN] = "forbidden",
	[COP_WIRE_INTERNAL] = "internal",
	[COP_WIRE_APPRENTICE] = "apprentice",
	[COP_WIRE_UNKNOWN_DECISION] = "unknown_decision",
	[COP_WIRE_BEHIND] = "behind",
	[COP_WIRE_NOT_LEADER] = "not_leader",
	[COP_WIRE_OTHER_PART] = "other_part",
};

static const char *const result_texts[COP_WIRE_RESULT_COUNT] = {
	[COP_WIRE_APPLIED] = "applied",
	[COP_WIRE_RECORDED] = "recorded",
	[COP_WIRE_DUPLICATE] = "duplicate",
	[COP_WIRE_LATE] = "late",
	[COP_WIRE_UNKNOWN] = "unknown",
};

static bool find(const char *const *texts, unsigned count, const char *text, size_t length, unsigned *out)
{
	for (unsigned i = 0; i < count; i++) {
		if (strlen(texts[i]) == length && memcmp(texts[i], text, length) == 0) {
			*out = i;
			return true;
		}
	}
	return false;
}

const char *cop_wire_code_text(cop_wire_code code)
{
	return (unsigned)code < COP_WIRE_CODE_COUNT ? code_texts[code] : code_texts[COP_WIRE_INTERNAL];
}

bool cop_wire_code_find(const char *text, size_t length, cop_wire_code *out)
{
	unsigned i;
	if (!find(code_texts, COP_WIRE_CODE_COUNT, text, length, &i) || i == COP_WIRE_OK)
		return false;
	*out = (cop_wire_code)i;
	return true;
}

const char *cop_wire_result_text(cop_wire_result result)
{
	return (unsigned)result < COP_WIRE_RESULT_COUNT ? result_texts[result] : result_texts[COP_WIRE_UNKNOWN];
}

bool cop_wire_result_find(const char *text, size_t length, cop_wire_result *out)
{
	unsigned i;
	if (!find(result_texts, COP_WIRE_RESULT_COUNT, text, length, &i))
		return false;
	*out = (cop_wire_result)i;
	return true;
}

cop_err cop_wire_fault_set(cop_wire_fault *fault, cop_wire_code code, const char *format, ...)
{
	if (fault != NULL) {
		char text[sizeof fault->message];
		va_list args;
		va_start(args, format);
		(void)vsnprintf(text, sizeof text, format, args);
		va_end(args);
		fault->code = code;
		/* A cut in the middle of a character is mended here. */
		cop_wire_text_clean(fault->message, sizeof fault->message, text, strlen(text));
	}
	return code == COP_WIRE_BAD_REQUEST ? COP_EFORMAT : COP_EINVAL;
}

/* Second byte's lower bound for first bytes that could start an overlong form; surrogates and what is above
 * U+10FFFF are excluded by the upper bound. */
static bool second_fits(uint8_t first, uint8_t second)
{
	uint8_t low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
	uint8_t high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
	return second >= low && second <= high;
}

size_t cop_wire_text_step(const char *text, size_t length)
{
	uint8_t first = (uint8_t)text[0];
	if (first < 0x80)
		return 1;
	size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
	if (first < 0xc2 || first > 0xf4 || size > length || !second_fits(first, (uint8_t)text[1]))
		return 0;
	for (size_t i = 2; i < size; i++)
		if (((uint8_t)text[i] & 0xc0) != 0x80)
			return 0;
	return size;
}

void cop_wire_text_clean(char *out, size_t size, const char *text, size_t length)
{
	size_t used = 0, fits = 0; /* fits: where the dots could still stand */
	for (size_t i = 0; i < length;) {
		size_t step = cop_wire_text_step(text + i, length - i);
		bool plain = step > 1 || (step == 1 && (uint8_t)text[i] >= 0x20 && text[i] != 0x7f);
		size_t width = plain ? step : 1;
		if (used + width >= size) {
			used = fits;
			for (int dot = 0; dot < 3 && used + 1 < size; dot++)
				out[used++] = '.';
			break;
		}
		if (plain)
			memcpy(out + used, text + i, width);
		else
			out[used] = '?';
		used += width;
		i += step == 0 ? 1 : step;
		if (used + 3 < size)
			fits = used;
	}
	out[used] = '\0';
}
